//! A disk that fails where a test wants it to.
//!
//! # Design
//!
//! A small library in C (`faults.c`) stands before the C library in a program under test, and
//! fails the calls that it is told to. So every single call can fail, the same one in every run,
//! as anybody, and what the program asked for is known in its order. A small file
//! system that gets full needs root, and has few moments to be full in; `ulimit -f` is one
//! limit for all files; `strace` can do the same, but is one more program to install. In Rust
//! it would be unsafe code, and could not have `open`, whose arguments vary. What goes around
//! the C library is not seen: of timebase, only the rename to a name that must be free.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::NamedTempFile;

use crate::support::repository;

/// The calls that count.
#[derive(Clone, Copy, Debug)]
pub enum Calls {
    Read,
    /// All that needs the disk.
    Write,
    /// The same, and what takes names away.
    Change,
}

/// What happens at a call.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It fails, and works again when it is tried again.
    Once(i32),
    /// It writes a half; from then on all fail.
    Stays(i32),
    Kill,
}

/// A program that meets faults.
pub struct Faults<'p> {
    under: &'p str,
    calls: Calls,
    log: NamedTempFile,
}

impl Faults<'_> {
    /// Calls that are about files below a directory, or about `pipe:`.
    pub fn under(under: &str, calls: Calls) -> Faults<'_> {
        let log = NamedTempFile::new().unwrap();
        Faults { under, calls, log }
    }

    /// Has the program meet a fault at a call, from 1.
    pub fn meet(&self, program: &mut Command, at: usize, fault: Fault) {
        let calls = match self.calls {
            Calls::Read => "read",
            Calls::Write => "write",
            Calls::Change => "change",
        };
        let error = match fault {
            Fault::Once(error) | Fault::Stays(error) => error,
            Fault::Kill => 0,
        };
        program
            .env("LD_PRELOAD", library())
            .env("FAULTS_UNDER", self.under)
            .env("FAULTS_CALLS", calls)
            .env("FAULTS_AT", at.to_string())
            .env("FAULTS_ERROR", error.to_string())
            .env("FAULTS_LOG", self.log.path());
        if matches!(fault, Fault::Stays(_)) {
            program.env("FAULTS_STAYS", "1");
        }
    }

    /// Has the program meet no fault.
    pub fn listen(&self, program: &mut Command) {
        self.meet(program, 0, Fault::Once(0));
    }

    /// The calls so far: the name, and the file.
    pub fn calls(&self) -> Vec<(String, String)> {
        let log = fs::read_to_string(self.log.path()).unwrap();
        let calls = log.lines().map(|line| {
            let line = line.strip_prefix("failed ").unwrap_or(line);
            let (call, file) = line.split_once(' ').unwrap();
            (call.to_owned(), file.to_owned())
        });
        calls.collect()
    }

    /// The call that has failed, if it came to that.
    pub fn failed(&self) -> Option<String> {
        let log = fs::read_to_string(self.log.path()).unwrap();
        let mut failed = log.lines().filter_map(|line| line.strip_prefix("failed "));
        failed.next().map(ToOwned::to_owned)
    }
}

fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = directory.join("libfaults.so");
        // Under a name of its own, as another run may have loaded it.
        let made = NamedTempFile::new_in(directory).unwrap();
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let compiled = Command::new(compiler)
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(made.path())
            .arg(repository().join("tests/hostile/faults.c"))
            .arg("-ldl")
            .status();
        assert!(compiled.unwrap().success(), "a C compiler is needed");
        made.persist(&library).unwrap();
        library
    })
}

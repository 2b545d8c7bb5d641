//! A disk that fails at a chosen call.
//!
//! # Design
//!
//! A small library in C (`faults.c`) comes before the C library in a tested program, and makes
//! chosen calls fail. So every single call can fail, the same one in every run, without special
//! rights, and the order of the program's calls is known. The alternatives: a small file system
//! that gets full needs root, and is full only at few moments; `ulimit -f` is one limit for all
//! files; `strace` can do the same, but is another program to install. In Rust the library would be
//! unsafe code, and could not have `open`, whose arguments vary. It does not see calls that bypass
//! the C library: in timebase, only the rename to a name that must be free.

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
    /// All calls that need the disk.
    Write,
    /// The same, and calls that remove names.
    Change,
}

/// The effect on a call.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It fails, and works if it is tried again.
    Once(i32),
    /// It writes a half; from then on all calls fail.
    Stays(i32),
    Kill,
}

/// A program with faults.
pub struct Faults<'p> {
    under: &'p str,
    calls: Calls,
    log: NamedTempFile,
}

impl Faults<'_> {
    /// Only calls for files below a directory, or for `pipe:`.
    pub fn under(under: &str, calls: Calls) -> Faults<'_> {
        let log = NamedTempFile::new().unwrap();
        Faults { under, calls, log }
    }

    /// Makes the program fail at a call, counted from 1.
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

    /// Lets the program run without a fault.
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

    /// The failed call, if the program reached it.
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
        // Under its own name, because another run may have loaded it.
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

//! Other processes of this program, which end when this one does.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, anyhow, bail};

/// A run of the program.
pub struct Run {
    /// Its warnings.
    pub warnings: Vec<String>,
}

/// The processes that run now.
#[derive(Default)]
pub struct Children {
    running: Mutex<BTreeSet<u32>>,
    is_over: AtomicBool,
    temporary: PathBuf,
}

impl Children {
    /// None runs yet. Their temporary files go to `temporary`.
    pub fn new(temporary: PathBuf) -> Children {
        Children { temporary, ..Children::default() }
    }

    fn running(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no other may begin.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ends all processes, and lets no other begin.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        #[cfg(unix)]
        for id in self.running().iter().filter_map(|id| i32::try_from(*id).ok()) {
            use nix::sys::signal::{Signal, kill};
            let _ = kill(nix::unistd::Pid::from_raw(id), Signal::SIGTERM);
        }
    }

    /// Runs this program, and waits for its end.
    ///
    /// # Errors
    ///
    /// The program's own message if it fails.
    pub fn run(&self, arguments: &[OsString]) -> anyhow::Result<Run> {
        let program = env::current_exe().context("cannot find this program to run it again")?;
        let mut running = self.running();
        if self.is_over() {
            bail!("interrupted");
        }
        let child = Command::new(&program)
            .args(arguments)
            .env("TMPDIR", &self.temporary)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let id = child.id();
        running.insert(id);
        drop(running);
        let ended = child.wait_with_output();
        self.running().remove(&id);
        let ended = ended.with_context(|| format!("cannot wait for {}", program.display()))?;
        let said = String::from_utf8_lossy(&ended.stderr);
        if !ended.status.success() {
            return Err(anyhow!(reason(&said).unwrap_or_else(|| ended.status.to_string())));
        }
        let warnings = said.lines().filter_map(|line| line.strip_prefix("timebase: warning: "));
        let warnings = warnings.map(str::to_owned).collect();
        Ok(Run { warnings })
    }
}

/// The error in the messages of the program, without the words in front of it.
fn reason(said: &str) -> Option<String> {
    let start = said.find("timebase: error: ").map(|at| at + "timebase: error: ".len());
    let start = start.or_else(|| said.find("error: ").map(|at| at + "error: ".len()))?;
    Some(said.get(start..)?.trim_end().to_owned())
}

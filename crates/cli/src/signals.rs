//! Ctrl-C and SIGTERM: what they stop, and that nothing is left behind.

use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::mem;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use rusqlite::InterruptHandle;
use timebase_import::Monitor;
use timebase_store::files::WorkDir;

use crate::messages;

/// The exit code of what a signal ended, as a shell has it of one that Ctrl-C killed.
pub const INTERRUPTED: u8 = 130;

/// How often statements are interrupted that go on.
const AGAIN: Duration = Duration::from_millis(50);

/// What the program is doing, as far as a signal is concerned.
enum Busy {
    /// Nothing that could be stopped: the signal ends the program.
    Idle,
    Import(Arc<Monitor>),
    /// Statements whose interruption ends the program.
    Query(Arc<InterruptHandle>),
    /// Statements whose rows another thread writes.
    Export(Arc<InterruptHandle>, Arc<timebase_export::Monitor>),
    /// A statement typed in a shell, which lives on.
    Statement(Arc<InterruptHandle>),
}

struct State {
    busy: Busy,
    /// Grows when something begins or ends.
    work: u64,
    came: bool,
    /// How many have come for the statement that runs.
    pressed: u32,
    temporary: Option<WorkDir>,
    /// The directory of a file that is not complete yet.
    incomplete: Option<PathBuf>,
}

/// Knows what to do when a signal comes.
pub struct Signals {
    state: Arc<Mutex<State>>,
}

impl Signals {
    /// Takes over the signals of the process; for `main` to call, once.
    pub fn install() -> anyhow::Result<Signals> {
        let signals = Signals::new();
        let state = Arc::clone(&signals.state);
        ctrlc::set_handler(move || stop(&state)).context("cannot handle signals")?;
        Ok(signals)
    }

    fn new() -> Signals {
        let state = State {
            busy: Busy::Idle,
            work: 0,
            came: false,
            pressed: 0,
            temporary: None,
            incomplete: None,
        };
        Signals {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Does `work`; a signal makes it fail by way of `monitor`.
    pub fn during_import<T>(&self, monitor: &Arc<Monitor>, work: impl FnOnce() -> T) -> T {
        self.during(Busy::Import(Arc::clone(monitor)), work)
    }

    /// Does `work`; a signal makes the statement fail that the handle
    /// is for.
    pub fn during_query<T>(&self, handle: InterruptHandle, work: impl FnOnce() -> T) -> T {
        self.during(Busy::Query(Arc::new(handle)), work)
    }

    /// The same where rows are exported: the signal is seen between two statements, too.
    pub fn during_export<T>(
        &self,
        handle: InterruptHandle,
        monitor: &Arc<timebase_export::Monitor>,
        work: impl FnOnce() -> T,
    ) -> T {
        let handle = Arc::new(handle);
        self.during(Busy::Export(handle, Arc::clone(monitor)), work)
    }

    /// The same for a statement typed in a shell: a signal interrupts it, and does not end
    /// the program; unless it is the third one, as a function of SQLite's that runs for long
    /// looks for none.
    pub fn during_statement<T>(&self, handle: InterruptHandle, work: impl FnOnce() -> T) -> T {
        self.during(Busy::Statement(Arc::new(handle)), work)
    }

    /// Whether a signal has come.
    pub fn came(&self) -> bool {
        lock(&self.state).came
    }

    fn during<T>(&self, busy: Busy, work: impl FnOnce() -> T) -> T {
        let mut state = lock(&self.state);
        (state.busy, state.pressed) = (busy, 0);
        state.work = state.work.wrapping_add(1);
        drop(state);
        let result = work();
        let mut state = lock(&self.state);
        state.busy = Busy::Idle;
        state.work = state.work.wrapping_add(1);
        result
    }

    /// A directory that is gone when the program ends, or is killed and runs again.
    pub fn temporary_directory(&self) -> anyhow::Result<PathBuf> {
        let directory =
            WorkDir::new_in(&env::temp_dir()).context("cannot make a temporary directory")?;
        let path = directory.path().to_owned();
        lock(&self.state).temporary = Some(directory);
        Ok(path)
    }

    /// Does `work`, which writes a file in a directory that it removes; a signal that ends
    /// the program at once removes it, too.
    pub fn during_file<T>(&self, directory: &Path, work: impl FnOnce() -> T) -> T {
        lock(&self.state).incomplete = Some(directory.to_owned());
        let result = work();
        lock(&self.state).incomplete = None;
        result
    }

    /// Removes the temporary directory, if there is one. The handler keeps the
    /// state alive until the process ends, so that no destructor would do it.
    pub fn remove_temporary(&self) {
        lock(&self.state).temporary = None;
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The line editor has the terminal in its own mode while it waits for a
/// statement, and would set it back only if it came to an end by itself.
fn restore_terminal() {
    if cfg!(unix) && io::stdin().is_terminal() {
        // Where there is no such program, the shell outside has to do it.
        let _ = process::Command::new("stty").arg("sane").status();
    }
}

fn stop(shared: &Arc<Mutex<State>>) {
    let mut state = lock(shared);
    state.came = true;
    // A second signal finds the program idle and ends it: the first one may
    // have come while it was stuck, in reading a pipe that nobody writes to.
    state.pressed = state.pressed.saturating_add(1);
    match mem::replace(&mut state.busy, Busy::Idle) {
        Busy::Statement(handle) if state.pressed < 3 => {
            interrupt(Arc::clone(&handle), state.work, shared);
            state.busy = Busy::Statement(handle);
        }
        Busy::Idle | Busy::Statement(_) => {
            state.temporary = None;
            if let Some(directory) = state.incomplete.take() {
                let _ = fs::remove_dir_all(directory);
            }
            restore_terminal();
            // The terminal shows ^C on the line where it was typed.
            messages::say("");
            messages::error(&anyhow!("interrupted"));
            process::exit(INTERRUPTED.into());
        }
        Busy::Import(monitor) => monitor.cancel.store(true, Ordering::Relaxed),
        Busy::Query(handle) => interrupt(handle, state.work, shared),
        Busy::Export(handle, monitor) => {
            monitor.cancel.store(true, Ordering::Relaxed);
            interrupt(handle, state.work, shared);
        }
    }
}

/// Interrupts the statements of a work until it is over. Once is not enough: SQLite takes no notice where no statement runs, as
/// before the first one and between two.
fn interrupt(handle: Arc<InterruptHandle>, work: u64, shared: &Arc<Mutex<State>>) {
    handle.interrupt();
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        loop {
            thread::sleep(AGAIN);
            // The next work does not begin meanwhile.
            let state = lock(&shared);
            if state.work != work {
                return;
            }
            handle.interrupt();
        }
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rusqlite::{Connection, ErrorCode};

    use super::*;

    /// Minutes, if nothing stops it.
    const LONG: &str =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000)
                        SELECT count(*) FROM n";

    fn asked(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
        connection.query_row(sql, [], |row| row.get(0))
    }

    #[test]
    fn a_signal_that_comes_before_the_statement_begins_stops_it_too_and_not_the_next() {
        let signals = Signals::new();
        let connection = Connection::open_in_memory().unwrap();
        let handle = || connection.get_interrupt_handle();
        let answer = signals.during_query(handle(), || {
            stop(&signals.state);
            asked(&connection, LONG)
        });
        let code = answer.unwrap_err().sqlite_error_code();
        assert_eq!(code, Some(ErrorCode::OperationInterrupted));
        // Longer than it takes to interrupt a second time.
        let next = signals.during_query(handle(), || {
            thread::sleep(AGAIN * 2);
            asked(&connection, "SELECT 1")
        });
        assert_eq!(next.unwrap(), 1);
    }
}

//! Ctrl-C and SIGTERM: they stop the current work, and leave no temporary files behind.

use std::env;
use std::io::{self, IsTerminal};
use std::mem;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use rusqlite::InterruptHandle;
use timebase_import::Monitor;
use timebase_store::files::WorkDir;

use crate::children::Children;
use crate::messages;

/// The exit code after a signal, as a shell reports it for a program that Ctrl-C killed.
pub const INTERRUPTED: u8 = 130;

/// The interval between interruptions of statements that continue.
const AGAIN: Duration = Duration::from_millis(50);

/// The current work of the program, with the means to stop it.
enum Busy {
    /// No work that could be stopped: the signal ends the program.
    Idle,
    Import(Arc<Monitor>),
    /// Statements whose interruption ends the program.
    Query(Arc<InterruptHandle>),
    /// Statements whose rows another thread writes.
    Export(Arc<InterruptHandle>, Arc<timebase_export::Monitor>),
    /// Other processes of this program.
    Jobs(Arc<Children>),
    /// Work that lasts until a signal ends it.
    Serving,
    /// A statement typed in a shell. The shell continues.
    Statement(Arc<InterruptHandle>),
}

struct State {
    busy: Busy,
    /// This number grows when work begins or ends.
    work: u64,
    came: bool,
    /// The number of signals during the current statement.
    pressed: u32,
    temporary: Option<WorkDir>,
    /// Removes a result that is not complete yet.
    incomplete: Option<Removal>,
}

/// Removes an incomplete result, which the end of the process would leave behind.
pub type Removal = Box<dyn FnOnce() + Send>;

/// Handles signals.
pub struct Signals {
    state: Arc<Mutex<State>>,
}

impl Signals {
    /// Takes over the signals of the process. `main` calls this once.
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
        Signals { state: Arc::new(Mutex::new(state)) }
    }

    /// Does `work`. A signal makes it fail through `monitor`.
    pub fn during_import<T>(&self, monitor: &Arc<Monitor>, work: impl FnOnce() -> T) -> T {
        self.during(Busy::Import(Arc::clone(monitor)), work)
    }

    /// Does `work`. A signal makes the statement of the handle fail.
    pub fn during_query<T>(&self, handle: InterruptHandle, work: impl FnOnce() -> T) -> T {
        self.during(Busy::Query(Arc::new(handle)), work)
    }

    /// The same for an export: the signal is noticed between two statements, too.
    pub fn during_export<T>(
        &self,
        handle: InterruptHandle,
        monitor: &Arc<timebase_export::Monitor>,
        work: impl FnOnce() -> T,
    ) -> T {
        let handle = Arc::new(handle);
        self.during(Busy::Export(handle, Arc::clone(monitor)), work)
    }

    /// Does `work`, which runs other processes. A signal ends these.
    pub fn during_jobs<T>(&self, children: &Arc<Children>, work: impl FnOnce() -> T) -> T {
        self.during(Busy::Jobs(Arc::clone(children)), work)
    }

    /// The same for a statement typed in a shell: a signal interrupts it, and does not end the
    /// program. The third signal does, because a long function of SQLite does not notice
    /// interruptions.
    pub fn during_statement<T>(&self, handle: InterruptHandle, work: impl FnOnce() -> T) -> T {
        self.during(Busy::Statement(Arc::new(handle)), work)
    }

    /// Does `work` until a signal, which then ends the program without an error.
    pub fn until_signal<T>(&self, work: impl FnOnce() -> T) -> T {
        self.during(Busy::Serving, work)
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

    /// A directory that is removed when the program ends. If the program is killed, its next run
    /// removes the directory.
    pub fn temporary_directory(&self) -> anyhow::Result<PathBuf> {
        // A signal waits for the lock, so that it finds the directory.
        let mut state = lock(&self.state);
        let directory =
            WorkDir::new_in(&env::temp_dir()).context("cannot make a temporary directory")?;
        let path = directory.path().to_owned();
        state.temporary = Some(directory);
        Ok(path)
    }

    /// Does `work` with the result that `make` begins. `work` removes the result if it fails. If a
    /// signal ends the program at once, the [`Removal`] does.
    pub fn during_file<F, T>(
        &self,
        make: impl FnOnce() -> anyhow::Result<(F, Removal)>,
        work: impl FnOnce(F) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        // A signal waits for the lock, so that it finds the result.
        let mut state = lock(&self.state);
        let (file, removal) = make()?;
        state.incomplete = Some(removal);
        drop(state);
        let result = work(file);
        lock(&self.state).incomplete = None;
        result
    }

    /// Removes the temporary directory, if there is one. The handler keeps the state alive until
    /// the process ends, so no destructor would do it.
    pub fn remove_temporary(&self) {
        lock(&self.state).temporary = None;
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The line editor sets its own terminal mode while it waits for a statement, and would restore the
/// mode only if it ended by itself.
fn restore_terminal() {
    if cfg!(unix) && io::stdin().is_terminal() {
        // Without this program, the outer shell has to restore the mode.
        let _ = process::Command::new("stty").arg("sane").status();
    }
}

fn stop(shared: &Arc<Mutex<State>>) {
    let mut state = lock(shared);
    state.came = true;
    // A second signal finds the program idle and ends it, because the first one may have come while
    // the program was blocked in reading a pipe without a writer.
    state.pressed = state.pressed.saturating_add(1);
    match mem::replace(&mut state.busy, Busy::Idle) {
        Busy::Statement(handle) if state.pressed < 3 => {
            interrupt(Arc::clone(&handle), state.work, shared);
            state.busy = Busy::Statement(handle);
        }
        Busy::Idle | Busy::Statement(_) => {
            state.temporary = None;
            if let Some(remove) = state.incomplete.take() {
                remove();
            }
            restore_terminal();
            // The terminal shows ^C on the line where it was typed.
            messages::say("");
            messages::error(&anyhow!("interrupted"));
            process::exit(INTERRUPTED.into());
        }
        Busy::Serving => {
            state.temporary = None;
            process::exit(0);
        }
        Busy::Import(monitor) => monitor.cancel.store(true, Ordering::Relaxed),
        Busy::Query(handle) => interrupt(handle, state.work, shared),
        Busy::Jobs(children) => children.stop(),
        Busy::Export(handle, monitor) => {
            monitor.cancel.store(true, Ordering::Relaxed);
            interrupt(handle, state.work, shared);
        }
    }
}

/// Interrupts the statements of a piece of work until it is over. Once is not enough, because
/// SQLite ignores an interruption while no statement runs, as before the first one and between two.
fn interrupt(handle: Arc<InterruptHandle>, work: u64, shared: &Arc<Mutex<State>>) {
    handle.interrupt();
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        loop {
            thread::sleep(AGAIN);
            // The lock keeps the next work from beginning meanwhile.
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

    /// It takes minutes, if nothing stops it.
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
        // This is longer than the interval between interruptions.
        let next = signals.during_query(handle(), || {
            thread::sleep(AGAIN * 2);
            asked(&connection, "SELECT 1")
        });
        assert_eq!(next.unwrap(), 1);
    }
}

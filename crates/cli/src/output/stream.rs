//! Output that its reader sees while it is made.
//!
//! # Design
//!
//! Rows that come slowly are written one by one, and rows that come quickly in large blocks. The first [`AT_ONCE`] rows
//! of each [`TICK`] are written at once. Later ones wait for a full block or the end of the tick, so a row is never
//! held back for longer than a tick, even if the statement then computes for a minute before its next row. This needs a
//! second thread, but no reading of a clock for each row.
//!
//! The same thread notices that the reader has gone, and interrupts the statement. Otherwise `head -3` would wait for
//! the fourth row, which a search may find minutes later.
//!
//! Nothing is written before the first row, so a statement that fails at its begin writes only its error. A failure
//! after that leaves the rows before it, as in any program that writes to a pipe; an array of JSON is not closed then,
//! so its reader notices. The alternative was to hold all output back ([`Whole`](super::Whole)), as for a file: the
//! first row of a long result was then seen together with the last one, and `head -3` waited for millions of rows.

use std::io::{self, Stdout, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rusqlite::InterruptHandle;

use super::Named;
use crate::progress::Running;

/// The longest time that a row waits.
const TICK: Duration = Duration::from_millis(50);

/// The number of rows of a tick that are written one by one.
const AT_ONCE: u32 = 16;

/// The number of bytes that are written together.
const BLOCK: usize = 1 << 16;

/// Does `work`, whose output goes to standard output meanwhile. If its reader goes, this interrupts the statement of
/// `handle`, and returns the error of a broken pipe.
pub fn during<T>(
    running: &Running,
    handle: &InterruptHandle,
    work: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let shared = Mutex::new(Shared {
        pending: Vec::with_capacity(2 * BLOCK),
        out: Named::standard(),
        is_in_line: false,
        passed: 0,
        failure: None,
    });
    thread::scope(|scope| {
        let (stop, stopped) = mpsc::channel::<()>();
        let attending = scope.spawn(|| attend(&shared, running, handle, stopped));
        let mut out = Stream { unfinished: Vec::new(), shared: &shared, running };
        let result = work(&mut out);
        drop(stop);
        // A panic of the other thread is none of the output's.
        let _ = attending.join();
        let written = match result.is_ok() {
            true => out.finish(),
            false => lock(&shared).break_off(running),
        };
        match (lock(&shared).failure.take(), result) {
            // The statement was interrupted because of this.
            (Some(failure), _) => Err(failure.into()),
            (None, Err(error)) => Err(error),
            (None, Ok(value)) => Ok(written.map(|()| value)?),
        }
    })
}

/// Writes rows that have waited for a tick, and watches the reader.
fn attend(
    shared: &Mutex<Shared>,
    running: &Running,
    handle: &InterruptHandle,
    stopped: Receiver<()>,
) {
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let mut shared = lock(shared);
        shared.passed = 0;
        let result = match is_gone() {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => shared.write(running),
        };
        if let Err(failure) = result {
            shared.failure.get_or_insert(failure);
        }
        if shared.failure.is_some() {
            // SQLite ignores an interruption between two statements, so this is repeated at the next tick.
            handle.interrupt();
        }
    }
}

/// Whether nobody reads standard output any more.
#[cfg(unix)]
fn is_gone() -> bool {
    use std::os::fd::AsFd;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    let stdout = io::stdout();
    let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let found = poll(&mut polled, PollTimeout::ZERO).is_ok_and(|count| count > 0);
    let [polled] = polled;
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    found && polled.revents().is_some_and(|events| events.intersects(gone))
}

/// Elsewhere the next write fails.
#[cfg(not(unix))]
fn is_gone() -> bool {
    false
}

fn lock<'a>(shared: &'a Mutex<Shared>) -> MutexGuard<'a, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The output that two threads write.
struct Shared {
    /// Whole rows that are not written yet.
    pending: Vec<u8>,
    out: Named<Stdout>,
    /// Whether the last line that was written has no end.
    is_in_line: bool,
    /// The number of times that rows were passed on in this tick.
    passed: u32,
    /// The reason why nothing can be written any more.
    failure: Option<io::Error>,
}

impl Shared {
    fn write(&mut self, running: &Running) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        // Both may be on one terminal.
        running.end();
        let written = self.out.write_all(&self.pending).and_then(|()| self.out.flush());
        self.is_in_line = self.pending.last() != Some(&b'\n');
        self.pending.clear();
        written
    }

    /// Writes the rows before an error, whose message begins a line of its own.
    fn break_off(&mut self, running: &Running) -> io::Result<()> {
        self.write(running)?;
        if self.is_in_line {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// Output that is shown up to the last call of `flush`, which has to be between two rows.
struct Stream<'s> {
    /// The output since then.
    unfinished: Vec<u8>,
    shared: &'s Mutex<Shared>,
    running: &'s Running,
}

impl Stream<'_> {
    /// Writes everything.
    fn finish(&mut self) -> io::Result<()> {
        let mut shared = lock(self.shared);
        shared.pending.append(&mut self.unfinished);
        shared.write(self.running)
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unfinished.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.running.rows() == 0 {
            return Ok(());
        }
        let mut shared = lock(self.shared);
        if shared.failure.is_some() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        shared.pending.append(&mut self.unfinished);
        shared.passed = shared.passed.saturating_add(1);
        match shared.passed <= AT_ONCE || shared.pending.len() >= BLOCK {
            true => shared.write(self.running),
            false => Ok(()),
        }
    }
}

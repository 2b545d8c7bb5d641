//! The reasons to end an intrinsic early: its data takes too much memory, or its statement was
//! interrupted.

use rusqlite::Connection;
use rusqlite::functions::{ConnectionRef, Context};

use crate::{Error, Result};

/// The most bytes that the data of one call may take, as `docs/hostile-input.md` says.
pub const BYTES: usize = 1 << 31;

/// The number of steps between two looks for an interrupt, some milliseconds.
const STEPS: u32 = 1 << 18;

/// Counts the bytes that a call keeps.
#[derive(Debug)]
pub struct Budget {
    name: &'static str,
    left: usize,
}

impl Budget {
    /// For the function `name`.
    pub fn new(name: &'static str) -> Budget {
        Budget::of(name, BYTES)
    }

    pub fn of(name: &'static str, left: usize) -> Budget {
        Budget { name, left }
    }

    /// # Errors
    ///
    /// If the call would keep more than it may.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(self.exceeded()),
        }
    }

    #[cold]
    fn exceeded(&self) -> Error {
        Error::new(format_args!(
            "{}(): its data needs more than 2 GiB of memory; give it fewer rows, for example \
             those of a shorter time",
            self.name
        ))
    }
}

/// Looks for an interrupt in loops that run no query.
pub struct Watch<'c> {
    conn: &'c Connection,
    steps: u32,
}

impl<'c> Watch<'c> {
    pub fn new(conn: &'c Connection) -> Watch<'c> {
        Watch { conn, steps: 0 }
    }

    /// # Errors
    ///
    /// If the statement was interrupted.
    #[inline]
    pub fn step(&mut self) -> Result<()> {
        self.steps = self.steps.wrapping_add(1);
        match self.steps % STEPS {
            0 => self.look(),
            _ => Ok(()),
        }
    }

    /// Any query fails if its connection was interrupted. SQLite's own function for that exists
    /// from 3.41 on; the extension runs in older ones.
    #[cold]
    fn look(&self) -> Result<()> {
        self.conn.query_row("SELECT 1", [], |_| Ok(()))?;
        Ok(())
    }
}

/// The connection of a call.
pub fn connection<'c>(ctx: &'c Context<'_>) -> Result<ConnectionRef<'c>> {
    // SAFETY: the calling connection is open during the call, and the reference stays in it.
    Ok(unsafe { ctx.get_connection() }?)
}

/// An error of a function, with its code: rusqlite drops the code of an error with a message.
pub fn failed(error: Error) -> rusqlite::Error {
    match error.is_interrupt() {
        true => {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT);
            rusqlite::Error::SqliteFailure(code, None)
        }
        false => error.into(),
    }
}

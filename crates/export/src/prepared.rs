//! A statement by SQLite's own interface, where rusqlite's does not do.

use std::ffi::{CStr, c_int};
use std::ptr;

use rusqlite::{Connection, ffi};

/// A statement, which is finalized when this is dropped.
pub(crate) struct Prepared<'c> {
    database: &'c Connection,
    statement: *mut ffi::sqlite3_stmt,
}

impl<'c> Prepared<'c> {
    /// Prepares it, with the errors of rusqlite, which show where in the text they are.
    pub fn of(database: &'c Connection, sql: &str) -> rusqlite::Result<Self> {
        drop(database.prepare(sql)?);
        let length = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        let mut statement = ptr::null_mut();
        // SAFETY: the connection is open as long as it is borrowed; the text has as many bytes as is said, and SQLite
        // keeps none of it.
        let code = unsafe {
            ffi::sqlite3_prepare_v2(
                database.handle(),
                sql.as_ptr().cast(),
                length,
                &raw mut statement,
                ptr::null_mut(),
            )
        };
        let prepared = Prepared {
            database,
            statement,
        };
        match code {
            ffi::SQLITE_OK => Ok(prepared),
            code => Err(prepared.failure(code)),
        }
    }

    /// The statement, which is open as long as this is there; null if there was nothing in the text.
    pub fn raw(&self) -> *mut ffi::sqlite3_stmt {
        self.statement
    }

    /// What SQLite says went wrong last.
    pub fn failure(&self, code: c_int) -> rusqlite::Error {
        // SAFETY: the connection is open; the message is SQLite's until the next call, and copied before.
        let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.database.handle())) };
        let message = message.to_string_lossy().into_owned();
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message))
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // SAFETY: it was prepared, or is null, and nothing has it any more.
        unsafe { ffi::sqlite3_finalize(self.statement) };
    }
}

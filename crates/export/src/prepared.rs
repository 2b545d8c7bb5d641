//! A statement with SQLite's C interface, for cases that rusqlite does not cover.

use std::ffi::{CStr, c_int};
use std::ptr;

use rusqlite::{Connection, ffi};

/// A statement. Dropping this finalizes it.
pub(crate) struct Prepared<'c> {
    database: &'c Connection,
    statement: *mut ffi::sqlite3_stmt,
}

impl<'c> Prepared<'c> {
    /// Prepares it, with rusqlite's errors, which show the place in the text.
    pub fn of(database: &'c Connection, sql: &str) -> rusqlite::Result<Self> {
        drop(database.prepare(sql)?);
        let length = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        let mut statement = ptr::null_mut();
        // SAFETY: the connection is open as long as it is borrowed; the text has the given number
        // of bytes, and SQLite does not keep it.
        let code = unsafe {
            ffi::sqlite3_prepare_v2(
                database.handle(),
                sql.as_ptr().cast(),
                length,
                &raw mut statement,
                ptr::null_mut(),
            )
        };
        let prepared = Prepared { database, statement };
        match code {
            ffi::SQLITE_OK => Ok(prepared),
            code => Err(prepared.failure(code)),
        }
    }

    /// The statement, which is valid as long as this exists; null if the text was empty.
    pub fn raw(&self) -> *mut ffi::sqlite3_stmt {
        self.statement
    }

    /// SQLite's last error.
    pub fn failure(&self, code: c_int) -> rusqlite::Error {
        // SAFETY: the connection is open; the message is valid until the next call, and copied
        // before that.
        let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.database.handle())) };
        let message = message.to_string_lossy().into_owned();
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message))
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        // SAFETY: the statement was prepared, or is null, and nothing else uses it any more.
        unsafe { ffi::sqlite3_finalize(self.statement) };
    }
}

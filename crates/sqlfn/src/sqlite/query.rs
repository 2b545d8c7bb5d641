//! A query that SQLite has prepared for a statement, and that goes with it.

use std::ffi::{CStr, c_int};
use std::ptr::{self, NonNull};

use rusqlite::ffi;

use super::bytes;
use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::value::ValueRef;

/// A prepared query, of the connection that a statement is of.
pub(super) struct Query(NonNull<ffi::sqlite3_stmt>);

// SAFETY: it is used, and dropped, by calls of its connection and by what SQLite does
// with it in between. Those are by one thread at a time.
unsafe impl Send for Query {}
// SAFETY: as above.
unsafe impl Sync for Query {}

impl Query {
    /// Prepares it for the statement that calls.
    ///
    /// # Safety
    ///
    /// `ctx` is of a call that lasts.
    pub unsafe fn prepare(ctx: *mut ffi::sqlite3_context, sql: &str) -> Result<Query> {
        let mut prepared = ptr::null_mut();
        let size = c_int::try_from(sql.len()).map_err(Error::new)?;
        // SAFETY: as of this function; the text has `size` bytes.
        let conn = unsafe { ffi::sqlite3_context_db_handle(ctx) };
        // SAFETY: the connection that calls is open.
        unsafe {
            let (start, rest) = (sql.as_ptr().cast(), ptr::null_mut());
            ffi::sqlite3_prepare_v3(conn, start, size, 0, &raw mut prepared, rest);
        }
        // SAFETY: as above.
        NonNull::new(prepared)
            .map(Query)
            .ok_or_else(|| unsafe { failure(conn) })
    }

    /// What the first row has in its first column; NULL if there is none.
    #[inline]
    pub fn first(&self, parameters: &[ValueRef<'_>]) -> Result<Answer> {
        let Query(query) = self;
        let query = query.as_ptr();
        let _reset = Reset(query);
        for (place, parameter) in (1..).zip(parameters) {
            // SAFETY: the query is one, and forgets the parameter before that can go.
            unsafe { bind(query, place, *parameter) }?;
        }
        // SAFETY: the query is one, and its connection calls.
        match unsafe { ffi::sqlite3_step(query) } {
            // SAFETY: it has a row.
            ffi::SQLITE_ROW => Ok(unsafe { column(query) }.into()),
            ffi::SQLITE_DONE => Ok(Answer::Null),
            // SAFETY: the query is one.
            _ => Err(unsafe { failure(ffi::sqlite3_db_handle(query)) }),
        }
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        // SAFETY: SQLite drops it with the statement, whose connection is open; or a
        // call does, if SQLite would not keep it.
        unsafe { ffi::sqlite3_finalize(self.0.as_ptr()) };
    }
}

/// Ends a query, however it went.
struct Reset(*mut ffi::sqlite3_stmt);

impl Drop for Reset {
    fn drop(&mut self) {
        // SAFETY: the query lives longer.
        unsafe {
            ffi::sqlite3_reset(self.0);
            ffi::sqlite3_clear_bindings(self.0);
        }
    }
}

/// # Safety
///
/// `query` is one. Texts and blobs stay as they are until it has other parameters.
unsafe fn bind(query: *mut ffi::sqlite3_stmt, place: c_int, parameter: ValueRef<'_>) -> Result<()> {
    // SAFETY: as of this function.
    let code = unsafe {
        match parameter {
            ValueRef::Null => ffi::sqlite3_bind_null(query, place),
            ValueRef::Integer(value) => ffi::sqlite3_bind_int64(query, place, value),
            ValueRef::Real(value) => ffi::sqlite3_bind_double(query, place, value),
            ValueRef::Text(text) => {
                let (start, size) = (text.as_ptr().cast(), text.len() as u64);
                let (stays, encoding) = (ffi::SQLITE_STATIC(), ffi::SQLITE_UTF8 as u8);
                ffi::sqlite3_bind_text64(query, place, start, size, stays, encoding)
            }
            ValueRef::Blob(blob) => {
                let (start, size) = (blob.as_ptr().cast(), blob.len() as u64);
                ffi::sqlite3_bind_blob64(query, place, start, size, ffi::SQLITE_STATIC())
            }
        }
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        // SAFETY: as of this function.
        _ => Err(unsafe { failure(ffi::sqlite3_db_handle(query)) }),
    }
}

/// # Safety
///
/// `query` has a row, and goes on only when the value is not used any more.
unsafe fn column<'a>(query: *mut ffi::sqlite3_stmt) -> ValueRef<'a> {
    // SAFETY: as of this function. A text is read as text only and a blob as a blob
    // only, so that nothing moves what was given.
    unsafe {
        match ffi::sqlite3_column_type(query, 0) {
            ffi::SQLITE_INTEGER => ValueRef::Integer(ffi::sqlite3_column_int64(query, 0)),
            ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_column_double(query, 0)),
            ffi::SQLITE_TEXT => {
                let start = ffi::sqlite3_column_text(query, 0);
                ValueRef::Text(bytes(start, ffi::sqlite3_column_bytes(query, 0)))
            }
            ffi::SQLITE_BLOB => {
                let start = ffi::sqlite3_column_blob(query, 0);
                ValueRef::Blob(bytes(start.cast(), ffi::sqlite3_column_bytes(query, 0)))
            }
            _ => ValueRef::Null,
        }
    }
}

/// What SQLite says went wrong last.
///
/// # Safety
///
/// `conn` is open.
#[cold]
pub(super) unsafe fn failure(conn: *mut ffi::sqlite3) -> Error {
    // SAFETY: the message is SQLite's until the next call, and copied before.
    let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(conn)) };
    Error::new(message.to_string_lossy())
}

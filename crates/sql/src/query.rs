//! A query that SQLite has prepared, for a statement or a virtual table, and that goes
//! with it.

use std::ffi::{CStr, c_int, c_uint};
use std::ptr::{self, NonNull};
use std::slice;

use rusqlite::ffi;

use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::value::{ValueRef, Values};

/// A prepared query, of the connection that a statement or a virtual table is of.
pub(crate) struct Query(NonNull<ffi::sqlite3_stmt>);

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
        // SAFETY: as of this function; the connection that calls is open.
        unsafe { Query::of(ffi::sqlite3_context_db_handle(ctx), sql, 0) }
    }

    /// Prepares it for many statements.
    ///
    /// # Safety
    ///
    /// `conn` is open for as long as the query lives.
    pub unsafe fn keep(conn: *mut ffi::sqlite3, sql: &str) -> Result<Query> {
        // SAFETY: as of this function.
        unsafe { Query::of(conn, sql, ffi::SQLITE_PREPARE_PERSISTENT) }
    }

    /// # Safety
    ///
    /// `conn` is open for as long as the query lives.
    unsafe fn of(conn: *mut ffi::sqlite3, sql: &str, flags: c_uint) -> Result<Query> {
        let mut prepared = ptr::null_mut();
        let size = c_int::try_from(sql.len()).map_err(Error::new)?;
        // SAFETY: as of this function; the text has `size` bytes.
        unsafe {
            let (start, rest) = (sql.as_ptr().cast(), ptr::null_mut());
            ffi::sqlite3_prepare_v3(conn, start, size, flags, &raw mut prepared, rest);
        }
        // SAFETY: as above.
        NonNull::new(prepared)
            .map(Query)
            .ok_or_else(|| unsafe { failure(conn) })
    }

    /// What the first row has in its first column; NULL if there is none.
    #[inline]
    pub fn first(&self, parameters: &[ValueRef<'_>]) -> Result<Answer> {
        let mut running = self.run(parameters)?;
        match running.next()? {
            // The answer is a copy, made before the query ends.
            Some(row) => Ok(row.value(0).unwrap_or(ValueRef::Null).into()),
            None => Ok(Answer::Null),
        }
    }

    /// Begins the query, which ends when what is returned is dropped.
    #[inline]
    pub fn run<'q>(&'q self, parameters: &'q [ValueRef<'q>]) -> Result<Running<'q>> {
        let running = Running {
            query: self,
            parameters,
        };
        for (place, parameter) in (1..).zip(parameters) {
            // SAFETY: the query is one, and forgets the parameter before that can go.
            unsafe { bind(self.0.as_ptr(), place, *parameter) }?;
        }
        Ok(running)
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        // SAFETY: SQLite drops it with the statement, whose connection is open; or a
        // call does, if SQLite would not keep it.
        unsafe { ffi::sqlite3_finalize(self.0.as_ptr()) };
    }
}

/// A query that runs. It ends with this, however it went.
pub(crate) struct Running<'q> {
    query: &'q Query,
    parameters: &'q [ValueRef<'q>],
}

impl Running<'_> {
    /// The next row; `None` if there is no more.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Stepped<'_>>> {
        let query = self.query.0.as_ptr();
        // SAFETY: the query is one, and its connection calls.
        match unsafe { ffi::sqlite3_step(query) } {
            ffi::SQLITE_ROW => Ok(Some(Stepped { query: self.query })),
            ffi::SQLITE_DONE => Ok(None),
            // SAFETY: the query is one.
            _ => Err(unsafe { failure(ffi::sqlite3_db_handle(query)) }),
        }
    }
}

/// The query forgets what it would else point to. Not `sqlite3_clear_bindings`: SQLite
/// then takes it that another value may want another plan, and prepares the query anew
/// whenever it is run, which takes ten times as long as to find a row.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        let query = self.query.0.as_ptr();
        // SAFETY: the query lives longer.
        unsafe { ffi::sqlite3_reset(query) };
        for (place, parameter) in (1..).zip(self.parameters) {
            if matches!(parameter, ValueRef::Text(_) | ValueRef::Blob(_)) {
                // SAFETY: as above.
                unsafe { ffi::sqlite3_bind_null(query, place) };
            }
        }
    }
}

/// The row that a query is at. While it is there, the query cannot go on.
#[derive(Clone, Copy)]
pub(crate) struct Stepped<'q> {
    query: &'q Query,
}

impl Values for Stepped<'_> {
    #[inline]
    fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        let query = self.query.0.as_ptr();
        let index = c_int::try_from(index).ok()?;
        // SAFETY: the query has a row, and stays there.
        unsafe { (index < ffi::sqlite3_data_count(query)).then(|| column(query, index)) }
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
/// `query` has a row with such a column, and goes on only when the value is not used any
/// more.
unsafe fn column<'a>(query: *mut ffi::sqlite3_stmt, index: c_int) -> ValueRef<'a> {
    // SAFETY: as of this function. A text is read as text only and a blob as a blob
    // only, so that nothing moves what was given.
    unsafe {
        match ffi::sqlite3_column_type(query, index) {
            ffi::SQLITE_INTEGER => ValueRef::Integer(ffi::sqlite3_column_int64(query, index)),
            ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_column_double(query, index)),
            ffi::SQLITE_TEXT => {
                let start = ffi::sqlite3_column_text(query, index);
                ValueRef::Text(bytes(start, ffi::sqlite3_column_bytes(query, index)))
            }
            ffi::SQLITE_BLOB => {
                let start = ffi::sqlite3_column_blob(query, index);
                ValueRef::Blob(bytes(start.cast(), ffi::sqlite3_column_bytes(query, index)))
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
    // SAFETY: the connection is open.
    if unsafe { ffi::sqlite3_errcode(conn) } == ffi::SQLITE_INTERRUPT {
        return Error::interrupted();
    }
    // SAFETY: the message is SQLite's until the next call, and copied before.
    let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(conn)) };
    Error::new(message.to_string_lossy())
}

/// # Safety
///
/// `start` is null, or the start of `size` bytes that nobody changes for `'a`.
pub(crate) unsafe fn bytes<'a>(start: *const u8, size: c_int) -> &'a [u8] {
    match usize::try_from(size) {
        // SAFETY: as of this function.
        Ok(size) if size > 0 && !start.is_null() => unsafe { slice::from_raw_parts(start, size) },
        // Empty; or there was no memory for it, and SQLite lets the statement
        // fail whatever is answered.
        _ => &[],
    }
}

//! A prepared query of SQLite, for a statement or a virtual table, which ends with it.

use std::ffi::{CStr, c_int, c_uint};
use std::ptr::{self, NonNull};
use std::slice;

use rusqlite::ffi;
use rusqlite::types::Value;

use crate::answer::Answer;
use crate::error::{Error, Result};
use crate::value::{ValueRef, Values};

/// A prepared query on the connection of a statement or a virtual table.
pub(crate) struct Query(NonNull<ffi::sqlite3_stmt>);

// SAFETY: only calls of its connection use and drop it, and SQLite's own code in between. One
// thread at a time makes those calls.
unsafe impl Send for Query {}
// SAFETY: as above.
unsafe impl Sync for Query {}

impl Query {
    /// Prepares it for the calling statement.
    ///
    /// # Safety
    ///
    /// `ctx` belongs to a current call.
    pub unsafe fn prepare(ctx: *mut ffi::sqlite3_context, sql: &str) -> Result<Query> {
        // SAFETY: by the contract of this function; the calling connection is open.
        unsafe { Query::of(ffi::sqlite3_context_db_handle(ctx), sql, 0) }
    }

    /// Prepares it for many statements.
    ///
    /// # Safety
    ///
    /// `conn` is open for as long as the query lives.
    pub unsafe fn keep(conn: *mut ffi::sqlite3, sql: &str) -> Result<Query> {
        // SAFETY: by the contract of this function.
        unsafe { Query::of(conn, sql, ffi::SQLITE_PREPARE_PERSISTENT) }
    }

    /// # Safety
    ///
    /// `conn` is open for as long as the query lives.
    unsafe fn of(conn: *mut ffi::sqlite3, sql: &str, flags: c_uint) -> Result<Query> {
        // SAFETY: by the contract of this function.
        let prepared = unsafe { prepare(conn, sql, flags) }?;
        // SAFETY: as above.
        prepared.map(Query).ok_or_else(|| unsafe { failure(conn) })
    }

    /// The first column of the first row; NULL if there is no row.
    #[inline]
    pub fn first(&self, parameters: &[ValueRef<'_>]) -> Result<Answer> {
        let mut running = self.run(parameters)?;
        match running.next()? {
            // The answer is a copy, made before the query ends.
            Some(row) => Ok(row.value(0).unwrap_or(ValueRef::Null).into()),
            None => Ok(Answer::Null),
        }
    }

    /// Begins the query. Dropping the result ends it.
    #[inline]
    pub fn run<'q>(&'q self, parameters: &'q [ValueRef<'q>]) -> Result<Running<'q>> {
        let running = Running { query: self, parameters };
        for (place, parameter) in (1..).zip(parameters) {
            // SAFETY: the query is valid, and releases the parameter before that can be dropped.
            unsafe { bind(self.0.as_ptr(), place, *parameter, Bytes::Stay) }?;
        }
        Ok(running)
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        // SAFETY: SQLite drops it with the statement, whose connection is open; or a call drops it
        // if SQLite did not keep it.
        unsafe { ffi::sqlite3_finalize(self.0.as_ptr()) };
    }
}

/// A running query. Dropping this ends it in any case.
pub(crate) struct Running<'q> {
    query: &'q Query,
    parameters: &'q [ValueRef<'q>],
}

impl Running<'_> {
    /// The next row; `None` if there are no more.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Stepped<'_>>> {
        let query = self.query.0.as_ptr();
        // SAFETY: the query is valid, and its connection is in a call.
        let is_row = unsafe { step(query) }?;
        Ok(is_row.then_some(Stepped { query: self.query }))
    }
}

/// Sets the parameters to NULL, so that the query does not point to their bytes. It does not use
/// `sqlite3_clear_bindings`: SQLite would assume that another value may need another plan, and
/// prepare the query again for each run, which takes ten times as long as finding a row.
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

/// A running query that owns its statement and parameters, for the cursor of a virtual table.
pub(crate) struct Steps {
    /// Dropped first: it may point to the parameters.
    query: Query,
    parameters: Vec<Value>,
}

impl Steps {
    /// Prepares a query, before its first row.
    ///
    /// # Safety
    ///
    /// `conn` is open for as long as this lives, and only calls of the connection use this.
    pub unsafe fn prepare(
        conn: *mut ffi::sqlite3,
        sql: &str,
        parameters: Vec<Value>,
    ) -> Result<Steps> {
        // SAFETY: by the contract of this function.
        let query = unsafe { Query::keep(conn, sql) }?;
        let mut steps = Steps { query, parameters: Vec::new() };
        steps.restart(parameters)?;
        Ok(steps)
    }

    /// Begins again, with other parameters.
    pub fn restart(&mut self, parameters: Vec<Value>) -> Result<()> {
        self.rewind();
        let query = self.query.0.as_ptr();
        for (place, parameter) in (1..).zip(&parameters) {
            // SAFETY: the query is valid. The parameters live until others take their places, or
            // until the query is dropped.
            unsafe { bind(query, place, ValueRef::from(parameter), Bytes::Stay) }?;
        }
        self.parameters = parameters;
        Ok(())
    }

    /// Begins again.
    pub fn rewind(&mut self) {
        // SAFETY: the query is valid.
        unsafe { ffi::sqlite3_reset(self.query.0.as_ptr()) };
    }

    /// The next row; `None` if there are no more.
    pub fn next(&mut self) -> Result<Option<Stepped<'_>>> {
        let query = self.query.0.as_ptr();
        // SAFETY: the query is valid, and its connection is in a call.
        let is_row = unsafe { step(query) }?;
        Ok(is_row.then(|| self.row()))
    }

    /// The current row. It has no values before the first row and after the last one.
    pub fn row(&self) -> Stepped<'_> {
        Stepped { query: &self.query }
    }
}

/// The current row of a query. While it is borrowed, the query cannot continue.
#[derive(Clone, Copy)]
pub(crate) struct Stepped<'q> {
    query: &'q Query,
}

impl Values for Stepped<'_> {
    #[inline]
    fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        let query = self.query.0.as_ptr();
        let index = c_int::try_from(index).ok()?;
        // SAFETY: the query has a current row, and stays there.
        unsafe { (index < ffi::sqlite3_data_count(query)).then(|| column(query, index)) }
    }
}

/// Prepares a statement; `None` if there is none in the text.
///
/// # Safety
///
/// `conn` is open for as long as the statement lives.
pub(crate) unsafe fn prepare(
    conn: *mut ffi::sqlite3,
    sql: &str,
    flags: c_uint,
) -> Result<Option<NonNull<ffi::sqlite3_stmt>>> {
    let mut prepared = ptr::null_mut();
    let size = c_int::try_from(sql.len()).map_err(Error::new)?;
    // SAFETY: by the contract of this function; the text has `size` bytes.
    let code = unsafe {
        let (start, rest) = (sql.as_ptr().cast(), ptr::null_mut());
        ffi::sqlite3_prepare_v3(conn, start, size, flags, &raw mut prepared, rest)
    };
    match code {
        ffi::SQLITE_OK => Ok(NonNull::new(prepared)),
        // SAFETY: as above.
        _ => Err(unsafe { failure(conn) }),
    }
}

/// Goes to the next row; `false` if there is none.
///
/// # Safety
///
/// `query` is valid, and its connection is in a call.
#[inline]
pub(crate) unsafe fn step(query: *mut ffi::sqlite3_stmt) -> Result<bool> {
    // SAFETY: by the contract of this function.
    match unsafe { ffi::sqlite3_step(query) } {
        ffi::SQLITE_ROW => Ok(true),
        ffi::SQLITE_DONE => Ok(false),
        // SAFETY: as above.
        _ => Err(unsafe { failure(ffi::sqlite3_db_handle(query)) }),
    }
}

/// The owner of a parameter's bytes.
#[derive(Clone, Copy)]
pub(crate) enum Bytes {
    /// They stay where they are.
    Stay,
    /// SQLite copies them.
    AreCopied,
}

/// Sets a parameter.
///
/// # Safety
///
/// `query` is valid. Texts and blobs that stay do not change until it gets other parameters.
pub(crate) unsafe fn bind(
    query: *mut ffi::sqlite3_stmt,
    place: c_int,
    parameter: ValueRef<'_>,
    bytes: Bytes,
) -> Result<()> {
    let whose = || match bytes {
        Bytes::Stay => ffi::SQLITE_STATIC(),
        Bytes::AreCopied => ffi::SQLITE_TRANSIENT(),
    };
    // SAFETY: by the contract of this function.
    let code = unsafe {
        match parameter {
            ValueRef::Null => ffi::sqlite3_bind_null(query, place),
            ValueRef::Integer(value) => ffi::sqlite3_bind_int64(query, place, value),
            ValueRef::Real(value) => ffi::sqlite3_bind_double(query, place, value),
            ValueRef::Text(text) => {
                let (start, size) = (text.as_ptr().cast(), text.len() as u64);
                let encoding = ffi::SQLITE_UTF8 as u8;
                ffi::sqlite3_bind_text64(query, place, start, size, whose(), encoding)
            }
            ValueRef::Blob(blob) => {
                let (start, size) = (blob.as_ptr().cast(), blob.len() as u64);
                ffi::sqlite3_bind_blob64(query, place, start, size, whose())
            }
        }
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        // SAFETY: by the contract of this function.
        _ => Err(unsafe { failure(ffi::sqlite3_db_handle(query)) }),
    }
}

/// # Safety
///
/// `query` has a current row with such a column, and continues only when nothing uses the value any
/// more.
pub(crate) unsafe fn column<'a>(query: *mut ffi::sqlite3_stmt, index: c_int) -> ValueRef<'a> {
    // SAFETY: by the contract of this function. A text is only read as text and a blob only as a
    // blob, so nothing moves their bytes.
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

/// A name in double quotes, as part of a query.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// SQLite's last error.
///
/// # Safety
///
/// `conn` is open.
#[cold]
pub(crate) unsafe fn failure(conn: *mut ffi::sqlite3) -> Error {
    // SAFETY: the connection is open.
    if unsafe { ffi::sqlite3_errcode(conn) } == ffi::SQLITE_INTERRUPT {
        return Error::interrupted();
    }
    // SAFETY: the message is valid until the next call, and copied before.
    let message = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(conn)) };
    Error::new(message.to_string_lossy())
}

/// # Safety
///
/// `start` is null, or points to `size` bytes that nothing changes for `'a`.
pub(crate) unsafe fn bytes<'a>(start: *const u8, size: c_int) -> &'a [u8] {
    match usize::try_from(size) {
        // SAFETY: by the contract of this function.
        Ok(size) if size > 0 && !start.is_null() => unsafe { slice::from_raw_parts(start, size) },
        // It is empty; or there was no memory for it, and SQLite fails the statement whatever the
        // answer is.
        _ => &[],
    }
}

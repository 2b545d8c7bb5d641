//! A prepared statement with everything that the dialect needs of one: names, arguments that are
//! passed on unread, and the place of an error.

use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rusqlite::{Connection, ffi};

use super::expand::Sql;
use crate::error::{Error, Result};
use crate::query::{self, Bytes, failure};
use crate::value::ValueRef;

/// A prepared statement of a connection.
pub struct Prepared(NonNull<ffi::sqlite3_stmt>);

// SAFETY: only calls of its connection use and drop it. One thread at a time makes those calls.
unsafe impl Send for Prepared {}

/// An error of SQLite with the byte of the statement that it is about, if SQLite knows it.
pub struct Failure {
    pub error: Error,
    pub offset: Option<usize>,
}

impl Failure {
    /// The error with the origin of the statement.
    pub fn explained(self, sql: &Sql) -> Error {
        match self.error.is_interrupt() {
            true => self.error,
            false => sql.explain(self.error.message(), self.offset),
        }
    }
}

impl Prepared {
    /// Prepares a statement; `None` if there is none in the text.
    ///
    /// # Safety
    ///
    /// `conn` is open for as long as the statement lives.
    pub unsafe fn new(
        conn: *mut ffi::sqlite3,
        sql: &str,
        stays: bool,
    ) -> Result<Option<Prepared>, Failure> {
        let flags = match stays {
            true => ffi::SQLITE_PREPARE_PERSISTENT,
            false => 0,
        };
        // SAFETY: by the contract of this function.
        let prepared = unsafe { query::prepare(conn, sql, flags) };
        let prepared = prepared.map_err(|error| {
            // SAFETY: the connection is open.
            let offset = unsafe { ffi::sqlite3_error_offset(conn) };
            let offset = usize::try_from(offset).ok();
            Failure { error, offset }
        });
        Ok(prepared?.map(Prepared))
    }

    fn raw(&self) -> *mut ffi::sqlite3_stmt {
        self.0.as_ptr()
    }

    /// The number of columns of its rows.
    pub fn column_count(&self) -> usize {
        // SAFETY: the statement is valid.
        usize::try_from(unsafe { ffi::sqlite3_column_count(self.raw()) }).unwrap_or(0)
    }

    /// The names of its columns.
    pub fn column_names(&self) -> Vec<String> {
        let name = |index| {
            let index = c_int::try_from(index).unwrap_or(c_int::MAX);
            // SAFETY: the statement is valid; the name is copied before anything else happens.
            unsafe {
                let name = ffi::sqlite3_column_name(self.raw(), index);
                match name.is_null() {
                    true => String::new(),
                    false => CStr::from_ptr(name).to_string_lossy().into_owned(),
                }
            }
        };
        (0..self.column_count()).map(name).collect()
    }

    /// Whether it changes nothing but perhaps temporary data of its own.
    pub fn is_read_only(&self) -> bool {
        // SAFETY: the statement is valid.
        unsafe { ffi::sqlite3_stmt_readonly(self.raw()) != 0 }
    }

    /// The names of its parameters, as they are written; `None` for one without a name.
    pub fn parameters(&self) -> Vec<Option<String>> {
        // SAFETY: the statement is valid; the names are copied.
        unsafe {
            let count = ffi::sqlite3_bind_parameter_count(self.raw());
            let name = |index| {
                let name = ffi::sqlite3_bind_parameter_name(self.raw(), index);
                (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
            };
            (1..=count).map(name).collect()
        }
    }

    /// The place of a parameter; 0 if the statement does not have it.
    pub fn parameter(&self, name: &str) -> c_int {
        match CString::new(name) {
            // SAFETY: the statement is valid, and the name ends with a zero.
            Ok(name) => unsafe { ffi::sqlite3_bind_parameter_index(self.raw(), name.as_ptr()) },
            Err(_) => 0,
        }
    }

    /// Sets a parameter to a copy of a value.
    ///
    /// # Safety
    ///
    /// `value` is a valid value of SQLite's.
    #[inline]
    pub unsafe fn bind(&mut self, place: c_int, value: *mut ffi::sqlite3_value) -> Result<()> {
        // SAFETY: by the contract of this function.
        match unsafe { ffi::sqlite3_bind_value(self.raw(), place, value) } {
            ffi::SQLITE_OK => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// Sets a parameter to a copy of a value.
    pub fn bind_ref(&mut self, place: c_int, value: ValueRef<'_>) -> Result<()> {
        // SAFETY: the statement is valid.
        unsafe { query::bind(self.raw(), place, value, Bytes::AreCopied) }
    }

    /// Goes to the next row; `false` if there is none.
    #[inline]
    pub fn step(&mut self) -> Result<bool> {
        // SAFETY: the statement is valid.
        unsafe { query::step(self.raw()) }
    }

    /// Ends the run of the statement.
    #[inline]
    pub fn reset(&mut self) {
        // SAFETY: the statement is valid.
        unsafe { ffi::sqlite3_reset(self.raw()) };
    }

    /// A column of the current row, as a value that SQLite can copy.
    #[inline]
    pub fn column(&self, index: usize) -> *mut ffi::sqlite3_value {
        let index = c_int::try_from(index).unwrap_or(c_int::MAX);
        // SAFETY: the statement is valid.
        unsafe { ffi::sqlite3_column_value(self.raw(), index) }
    }

    /// The type code of a column of the current row.
    #[inline]
    pub fn column_type(&self, index: usize) -> c_int {
        let index = c_int::try_from(index).unwrap_or(c_int::MAX);
        // SAFETY: the statement is valid.
        unsafe { ffi::sqlite3_column_type(self.raw(), index) }
    }

    /// A column of the current row.
    pub fn value(&self, index: usize) -> ValueRef<'_> {
        let index = c_int::try_from(index).unwrap_or(c_int::MAX);
        // SAFETY: the statement is valid, and stays at its row while the value is borrowed.
        unsafe { query::column(self.raw(), index) }
    }

    fn failure(&self) -> Error {
        // SAFETY: the statement is valid, so its connection is open.
        unsafe { failure(ffi::sqlite3_db_handle(self.raw())) }
    }
}

/// A prepared statement that lives no longer than its connection is borrowed.
pub struct Bound<'c> {
    prepared: Prepared,
    conn: PhantomData<&'c Connection>,
}

impl<'c> Bound<'c> {
    /// Prepares a statement; `None` if there is none in the text. An error has its origin.
    pub fn of(conn: &'c Connection, sql: &Sql) -> Result<Option<Bound<'c>>> {
        // SAFETY: the connection is open for as long as it is borrowed.
        let prepared = unsafe { Prepared::new(conn.handle(), &sql.text, false) };
        let prepared = prepared.map_err(|failure| failure.explained(sql))?;
        let conn = PhantomData;
        Ok(prepared.map(|prepared| Bound { prepared, conn }))
    }
}

impl Deref for Bound<'_> {
    type Target = Prepared;

    fn deref(&self) -> &Prepared {
        &self.prepared
    }
}

impl DerefMut for Bound<'_> {
    fn deref_mut(&mut self) -> &mut Prepared {
        &mut self.prepared
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: by the contract of `new`, the connection is open.
        unsafe { ffi::sqlite3_finalize(self.raw()) };
    }
}

impl AsMut<Prepared> for Prepared {
    fn as_mut(&mut self) -> &mut Prepared {
        self
    }
}

/// The rows of a statement, one after the other, for the cursor of a virtual table.
pub struct Rows<S> {
    statement: Option<S>,
    /// The number of the current row; `None` after the last one.
    row: Option<i64>,
}

impl<S> Default for Rows<S> {
    fn default() -> Rows<S> {
        Rows { statement: None, row: None }
    }
}

impl<S: AsMut<Prepared> + AsRef<Prepared>> Rows<S> {
    /// Takes the statement out, to prepare it for another run.
    pub fn take(&mut self) -> Option<S> {
        self.row = None;
        self.statement.take()
    }

    /// Goes to the first row of a statement.
    pub fn begin(&mut self, statement: S) -> Result<()> {
        self.statement = Some(statement);
        self.step(0)
    }

    /// Goes to the next row.
    pub fn next(&mut self) -> Result<()> {
        self.step(self.number().saturating_add(1))
    }

    fn step(&mut self, row: i64) -> Result<()> {
        let is_row = match &mut self.statement {
            Some(statement) => statement.as_mut().step()?,
            None => false,
        };
        self.row = is_row.then_some(row);
        Ok(())
    }

    pub fn is_end(&self) -> bool {
        self.row.is_none()
    }

    pub fn number(&self) -> i64 {
        self.row.unwrap_or(0)
    }

    pub fn statement(&self) -> Option<&Prepared> {
        self.statement.as_ref().map(AsRef::as_ref)
    }

    /// A column of the current row.
    pub fn value(&self, column: usize) -> ValueRef<'_> {
        let statement = self.statement();
        statement.map_or(ValueRef::Null, |statement| statement.value(column))
    }
}

impl AsRef<Prepared> for Prepared {
    fn as_ref(&self) -> &Prepared {
        self
    }
}

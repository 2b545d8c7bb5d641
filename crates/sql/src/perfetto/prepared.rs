//! A prepared statement with everything that the dialect needs of one: names, arguments that are
//! passed on unread, and the place of an error.

use std::ffi::{CStr, CString, c_int};
use std::ptr::{self, NonNull};

use rusqlite::ffi;

use super::expand::Sql;
use crate::error::{Error, Result};
use crate::query::{bytes, failure};
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
        let fail = |error| Failure {
            error,
            offset: None,
        };
        let size = c_int::try_from(sql.len()).map_err(|error| fail(Error::new(error)))?;
        let flags = match stays {
            true => ffi::SQLITE_PREPARE_PERSISTENT,
            false => 0,
        };
        let mut prepared = ptr::null_mut();
        // SAFETY: by the contract of this function; the text has `size` bytes.
        let code = unsafe {
            let (start, rest) = (sql.as_ptr().cast(), ptr::null_mut());
            ffi::sqlite3_prepare_v3(conn, start, size, flags, &raw mut prepared, rest)
        };
        if code != ffi::SQLITE_OK {
            // SAFETY: the connection is open.
            let (error, offset) = unsafe { (failure(conn), ffi::sqlite3_error_offset(conn)) };
            let offset = usize::try_from(offset).ok();
            return Err(Failure { error, offset });
        }
        Ok(NonNull::new(prepared).map(Prepared))
    }

    fn raw(&self) -> *mut ffi::sqlite3_stmt {
        self.0.as_ptr()
    }

    /// How many columns its rows have.
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
        let (statement, copied) = (self.raw(), ffi::SQLITE_TRANSIENT());
        // SAFETY: the statement is valid; SQLite copies texts and blobs.
        let code = unsafe {
            match value {
                ValueRef::Null => ffi::sqlite3_bind_null(statement, place),
                ValueRef::Integer(value) => ffi::sqlite3_bind_int64(statement, place, value),
                ValueRef::Real(value) => ffi::sqlite3_bind_double(statement, place, value),
                ValueRef::Text(text) => {
                    let (start, size) = (text.as_ptr().cast(), text.len() as u64);
                    let encoding = ffi::SQLITE_UTF8 as u8;
                    ffi::sqlite3_bind_text64(statement, place, start, size, copied, encoding)
                }
                ValueRef::Blob(blob) => {
                    let (start, size) = (blob.as_ptr().cast(), blob.len() as u64);
                    ffi::sqlite3_bind_blob64(statement, place, start, size, copied)
                }
            }
        };
        match code {
            ffi::SQLITE_OK => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// Goes to the next row; `false` if there is none.
    #[inline]
    pub fn step(&mut self) -> Result<bool> {
        // SAFETY: the statement is valid.
        match unsafe { ffi::sqlite3_step(self.raw()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            _ => Err(self.failure()),
        }
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
        let (statement, index) = (self.raw(), c_int::try_from(index).unwrap_or(c_int::MAX));
        // SAFETY: the statement is valid, and stays at its row while the value is borrowed. A text
        // is only read as text and a blob only as a blob, so nothing moves their bytes.
        unsafe {
            match ffi::sqlite3_column_type(statement, index) {
                ffi::SQLITE_INTEGER => {
                    ValueRef::Integer(ffi::sqlite3_column_int64(statement, index))
                }
                ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_column_double(statement, index)),
                ffi::SQLITE_TEXT => {
                    let start = ffi::sqlite3_column_text(statement, index);
                    let size = ffi::sqlite3_column_bytes(statement, index);
                    ValueRef::Text(bytes(start, size))
                }
                ffi::SQLITE_BLOB => {
                    let start = ffi::sqlite3_column_blob(statement, index);
                    let size = ffi::sqlite3_column_bytes(statement, index);
                    ValueRef::Blob(bytes(start.cast(), size))
                }
                _ => ValueRef::Null,
            }
        }
    }

    fn failure(&self) -> Error {
        // SAFETY: the statement is valid, so its connection is open.
        unsafe { failure(ffi::sqlite3_db_handle(self.raw())) }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: by the contract of `new`, the connection is open.
        unsafe { ffi::sqlite3_finalize(self.raw()) };
    }
}

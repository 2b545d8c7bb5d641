//! Reads rows from SQLite in chunks.

use std::ffi::c_int;
use std::slice;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ffi};

use crate::chunk::Chunk;
use crate::columns::Column;
use crate::error::Error;
use crate::prepared::Prepared;

/// The statement to run, and its name in errors.
pub(crate) struct Query<'a> {
    pub table: &'a str,
    pub sql: &'a str,
    pub columns: &'a [Column],
    /// The remedy for a value of a wrong type.
    pub advice: &'static str,
}

impl Query<'_> {
    /// Steps through all rows, and hands over each full chunk, and the last one if it has rows.
    /// Returns the number of rows.
    pub fn read(
        &self,
        database: &Connection,
        mut take: impl FnMut(Chunk) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let unreadable = |error| self.unreadable(error);
        let mut rows = Rows::of(database, self.sql).map_err(unreadable)?;
        let mut before = 0;
        let mut chunk = Chunk::new(self.columns, before);
        while let Some(row) = rows.next().map_err(unreadable)? {
            let pushed = chunk.push(self.columns, |index| Ok(row.value(index)));
            if let Err(misfit) = pushed.map_err(unreadable)? {
                let row = before + chunk.rows as u64 + 1;
                return Err(self.misfit(misfit.column, row, misfit.found));
            }
            if chunk.is_full() {
                before += chunk.rows as u64;
                let next = Chunk::new(self.columns, before);
                take(std::mem::replace(&mut chunk, next))?;
            }
        }
        before += chunk.rows as u64;
        if chunk.rows > 0 {
            take(chunk)?;
        }
        Ok(before)
    }

    fn unreadable(&self, error: rusqlite::Error) -> Error {
        Error::Unreadable { table: self.table.to_owned(), error }
    }

    fn misfit(&self, column: usize, row: u64, found: &'static str) -> Error {
        let column = self.columns.get(column);
        Error::Misfit {
            table: self.table.to_owned(),
            column: column.map_or_else(String::new, |column| column.name.clone()),
            row,
            found,
            expected: column.map_or("", |column| column.kind.name()),
            advice: self.advice.to_owned(),
        }
    }
}

/// A running statement, with SQLite's C interface: rusqlite's checks more of each value than
/// necessary.
struct Rows<'c> {
    statement: Prepared<'c>,
    columns: usize,
}

impl<'c> Rows<'c> {
    fn of(database: &'c Connection, sql: &str) -> rusqlite::Result<Self> {
        let statement = Prepared::of(database, sql)?;
        // SAFETY: the statement was prepared, or is null, for which SQLite returns no columns.
        let columns = unsafe { ffi::sqlite3_column_count(statement.raw()) };
        Ok(Rows { statement, columns: usize::try_from(columns).unwrap_or_default() })
    }

    /// The next row. While it is borrowed, the statement cannot continue.
    fn next(&mut self) -> rusqlite::Result<Option<CurrentRow<'_>>> {
        // SAFETY: the statement was prepared, and its connection is borrowed.
        match unsafe { ffi::sqlite3_step(self.statement.raw()) } {
            ffi::SQLITE_ROW => Ok(Some(CurrentRow(self))),
            ffi::SQLITE_DONE => Ok(None),
            code => Err(self.statement.failure(code)),
        }
    }
}

/// The current row of a statement.
#[derive(Clone, Copy)]
struct CurrentRow<'r>(&'r Rows<'r>);

impl<'r> CurrentRow<'r> {
    /// The value of a column; NULL if there is no such column.
    #[inline]
    fn value(self, index: usize) -> ValueRef<'r> {
        if index >= self.0.columns {
            return ValueRef::Null;
        }
        // SAFETY: the statement has a current row with this column, and only continues when nothing
        // uses the value any more. Only this thread uses it, so reading the value needs no lock. A
        // text is only read as text, and a blob as a blob, so nothing moves the bytes; they are as
        // many as SQLite says.
        unsafe {
            let value = ffi::sqlite3_column_value(self.0.statement.raw(), index as c_int);
            match ffi::sqlite3_value_type(value) {
                ffi::SQLITE_INTEGER => ValueRef::Integer(ffi::sqlite3_value_int64(value)),
                ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_value_double(value)),
                ffi::SQLITE_TEXT => {
                    let start = ffi::sqlite3_value_text(value);
                    ValueRef::Text(bytes(start, ffi::sqlite3_value_bytes(value)))
                }
                ffi::SQLITE_BLOB => {
                    let start = ffi::sqlite3_value_blob(value);
                    ValueRef::Blob(bytes(start.cast(), ffi::sqlite3_value_bytes(value)))
                }
                _ => ValueRef::Null,
            }
        }
    }
}

/// # Safety
///
/// Unless it is null, `start` points to this many bytes, which do not change.
unsafe fn bytes<'a>(start: *const u8, length: c_int) -> &'a [u8] {
    match usize::try_from(length) {
        // SAFETY: by the contract of this function.
        Ok(length) if !start.is_null() => unsafe { slice::from_raw_parts(start, length) },
        _ => &[],
    }
}

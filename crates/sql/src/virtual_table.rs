//! Common parts of table-valued functions: queries that stay prepared, and panics that do not cross
//! SQLite.
//!
//! # Design
//!
//! SQLite calls a table-valued function in a subquery once for each row, so its queries should be
//! prepared once. A function must not keep a prepared query (see `lookup.rs`), but a virtual table
//! may: SQLite disconnects all virtual tables of a connection before it checks whether the
//! connection still has statements. The alternative was to prepare again for each row; that takes
//! ten times as long as finding a row by its key.

use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::ffi;

use crate::database::Row;
use crate::error::{Error, Result};
use crate::query::Query;
use crate::value::ValueRef;

/// The number of queries that stay prepared. A function has a few; some of them depend on the
/// columns that a statement needs.
const KEPT: usize = 16;

/// Queries that a virtual table runs again and again: each is prepared at its first use, and stays
/// prepared.
pub struct Queries {
    conn: *mut ffi::sqlite3,
    prepared: Vec<(Box<str>, Query)>,
}

impl Queries {
    /// Queries of a connection.
    ///
    /// # Safety
    ///
    /// The connection is open for as long as they live, and only calls of the connection use them.
    /// A virtual table owns them, and SQLite disconnects it before it closes the connection.
    pub unsafe fn new(conn: *mut ffi::sqlite3) -> Queries {
        Queries { conn, prepared: Vec::new() }
    }

    /// Calls `each` with the rows of a query with the parameters `?1`, `?2` …, until it stops or
    /// there are no more rows.
    ///
    /// # Errors
    ///
    /// The error of SQLite or of `each`.
    pub fn each(
        &mut self,
        sql: &str,
        parameters: &[ValueRef<'_>],
        mut each: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut running = self.prepared(sql)?.run(parameters)?;
        while let Some(row) = running.next()? {
            if each(&Row::stepped(row))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn prepared(&mut self, sql: &str) -> Result<&Query> {
        let is_it = |(of, _): &(Box<str>, Query)| **of == *sql;
        let at = match self.prepared.iter().position(is_it) {
            Some(at) => at,
            None => {
                // SAFETY: by the contract of `new`.
                let query = unsafe { Query::keep(self.conn, sql) }?;
                if self.prepared.len() == KEPT {
                    self.prepared.remove(0);
                }
                self.prepared.push((sql.into(), query));
                self.prepared.len() - 1
            }
        };
        Ok(&self.prepared[at].1)
    }
}

impl fmt::Debug for Queries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.prepared.iter().map(|(sql, _)| sql);
        f.debug_list().entries(texts).finish()
    }
}

/// The result of `callback`; an error if it panics. rusqlite catches panics in functions, but not
/// in virtual tables, where they would end the process.
///
/// # Errors
///
/// The errors of `callback`, and if it panics.
pub fn caught<T>(callback: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    catch_unwind(AssertUnwindSafe(callback)).unwrap_or_else(|_| Err(Error::panicked().into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

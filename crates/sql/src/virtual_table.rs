//! What table-valued functions share: queries that stay prepared, and panics that end
//! where they are.
//!
//! # Design
//!
//! A table-valued function that stands in a subquery is asked once a row, so what it
//! asks the database is prepared once. A function must not keep that (see `lookup.rs`),
//! but a virtual table may: SQLite disconnects all of a connection before it looks
//! whether that has statements left. Preparing anew for each row was the alternative;
//! it takes ten times as long as to ask for a row by its key.

use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::ffi;

use crate::database::Row;
use crate::error::{Error, Result};
use crate::query::Query;
use crate::value::ValueRef;

/// How many queries stay prepared. A function has a few, of which some are made for the
/// columns that a statement asks for.
const KEPT: usize = 16;

/// Queries that a virtual table asks again and again: each is prepared when it is asked
/// first, and stays so.
pub struct Queries {
    conn: *mut ffi::sqlite3,
    prepared: Vec<(Box<str>, Query)>,
}

impl Queries {
    /// Queries of a connection.
    ///
    /// # Safety
    ///
    /// The connection is open for as long as they live, and they are used by calls of it
    /// only. A virtual table has them, which SQLite disconnects before it closes the
    /// connection.
    pub unsafe fn new(conn: *mut ffi::sqlite3) -> Queries {
        Queries {
            conn,
            prepared: Vec::new(),
        }
    }

    /// Calls `each` with the rows of a query, which has the parameters `?1`, `?2` …, until
    /// it breaks off or there is no more.
    ///
    /// # Errors
    ///
    /// What SQLite says, or `each`.
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
                // SAFETY: as of `new`.
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

/// What `callback` returns; an error if it panics. rusqlite catches panics in functions,
/// but not in virtual tables: there they would end the process.
///
/// # Errors
///
/// Those of `callback`, and if it panics.
pub fn caught<T>(callback: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    catch_unwind(AssertUnwindSafe(callback)).unwrap_or_else(|_| Err(Error::panicked().into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

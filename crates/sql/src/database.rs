//! The database of a call, and the rows of its tables.

use std::ops::ControlFlow;

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::query::Stepped;
use crate::value::{ValueRef, Values, told};

/// A row of a query: columns by their position, and by their name for errors.
///
/// ```
/// use timebase_sql::{Row, ValueRef};
///
/// let values = [ValueRef::Integer(3), ValueRef::Null];
/// let row = Row::new(&values);
/// assert_eq!(row.number(0, "clock_id")?, 3);
/// assert_eq!(row.optional_integer(1, "ts")?, None);
/// assert_eq!(
///     row.integer(1, "ts").unwrap_err().to_string(),
///     "ts must be an integer, not NULL"
/// );
/// # Ok::<(), timebase_sql::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Row<'r>(Columns<'r>);

#[derive(Clone, Copy)]
enum Columns<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Stepped(Stepped<'r>),
    Values(&'r [ValueRef<'r>]),
}

impl<'r> Row<'r> {
    /// A row of given values.
    pub fn new(values: &'r [ValueRef<'r>]) -> Row<'r> {
        Row(Columns::Values(values))
    }

    pub(crate) fn stepped(row: Stepped<'r>) -> Row<'r> {
        Row(Columns::Stepped(row))
    }

    /// An integer.
    ///
    /// # Errors
    ///
    /// If it is anything else.
    #[inline]
    pub fn integer(&self, index: usize, name: &str) -> Result<i64> {
        match self.value(index) {
            Some(ValueRef::Integer(value)) => Ok(value),
            _ => Err(self.must_be(index, name, "an integer")),
        }
    }

    /// An integer, or `None` for NULL.
    ///
    /// # Errors
    ///
    /// If it is anything else.
    #[inline]
    pub fn optional_integer(&self, index: usize, name: &str) -> Result<Option<i64>> {
        match self.value(index) {
            Some(ValueRef::Null) => Ok(None),
            _ => self.integer(index, name).map(Some),
        }
    }

    /// An integer of 32 bits without a sign.
    ///
    /// # Errors
    ///
    /// If it is anything else.
    #[inline]
    pub fn number(&self, index: usize, name: &str) -> Result<u32> {
        u32::try_from(self.integer(index, name)?)
            .map_err(|_| self.must_be(index, name, "between 0 and 4294967295"))
    }

    /// A blob.
    ///
    /// # Errors
    ///
    /// If it is anything else.
    pub fn blob(&self, index: usize, name: &str) -> Result<&[u8]> {
        match self.value(index) {
            Some(ValueRef::Blob(bytes)) => Ok(bytes),
            _ => Err(self.must_be(index, name, "a blob")),
        }
    }

    #[cold]
    fn must_be(&self, index: usize, name: &str, expected: &str) -> Error {
        let got = told(self.value(index));
        Error::new(format_args!("{name} must be {expected}, not {got}"))
    }
}

impl Values for Row<'_> {
    #[inline]
    fn value(&self, index: usize) -> Option<ValueRef<'_>> {
        match &self.0 {
            Columns::Sqlite(row) => row.get_ref(index).ok(),
            Columns::Stepped(row) => row.value(index),
            Columns::Values(values) => values.value(index),
        }
    }
}

/// The database in which a function is called.
///
/// ```
/// use std::ops::ControlFlow;
/// use timebase_sql::Database;
///
/// let conn = rusqlite::Connection::open_in_memory()?;
/// conn.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), ('no number')")?;
/// let mut sum = 0;
/// let read = Database::query(&conn, "SELECT x FROM t", |row| {
///     sum += row.integer(0, "x")?;
///     Ok(ControlFlow::Continue(()))
/// });
/// assert_eq!(sum, 3);
/// assert_eq!(
///     read.unwrap_err().to_string(),
///     "x must be an integer, not the text 'no number'"
/// );
/// # Ok::<(), rusqlite::Error>(())
/// ```
pub trait Database {
    /// Calls `each` with the rows of a query, until it stops or there are no more rows.
    ///
    /// # Errors
    ///
    /// The error of SQLite or of `each`.
    fn query(&self, sql: &str, each: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>)
    -> Result<()>;
}

impl Database for Connection {
    fn query(
        &self,
        sql: &str,
        mut each: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if each(&Row(Columns::Sqlite(row)))?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

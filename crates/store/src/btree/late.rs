//! Tables whose rows are complete in another order than the order of their rowids.

use crate::sort::{Scratch, Sorter};

use crate::btree::database::Database;
use crate::btree::error::Error;
use crate::btree::record::{Cell, Value, trimmed};
use crate::btree::table::{LONGEST, TableBuilder};

/// The rows of a table, in any order. For example, a slice has its number when it begins, and all
/// other columns when it ends.
///
/// They are in a temporary file without a name, so memory does not grow with them. Nearly sorted
/// rows cost less.
///
/// ```
/// use rusqlite::Connection;
/// use timebase_store::btree::{Database, LateTableBuilder, Value};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("late.db");
/// let conn = Connection::open(&path)?;
/// conn.execute_batch("CREATE TABLE slice (id INTEGER PRIMARY KEY, dur)")?;
/// let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'slice'";
/// let root = conn.query_row(sql, [], |row| row.get(0))?;
/// conn.close().map_err(|(_, error)| error)?;
///
/// let mut slices = LateTableBuilder::new(dir.path());
/// slices.push(1, &[Value::Null, Value::Integer(5)])?; // the inner one ends first
/// slices.push(0, &[Value::Null, Value::Integer(20)])?;
/// let mut database = Database::open(&path)?;
/// slices.write(&mut database, root)?;
/// database.finish()?;
///
/// let conn = Connection::open(&path)?;
/// let dur: i64 = conn.query_row("SELECT dur FROM slice WHERE id = 0", [], |row| row.get(0))?;
/// assert_eq!(dur, 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LateTableBuilder {
    records: Sorter<i64>,
    cell: Cell,
}

impl LateTableBuilder {
    /// Begins a table. Its rows are in a temporary file in this directory until they are part of
    /// the database.
    pub fn new(scratch: impl Into<Scratch>) -> Self {
        LateTableBuilder { records: Sorter::new(scratch), cell: Cell::new() }
    }

    /// Adds a row, as [`TableBuilder::push`] does.
    ///
    /// # Errors
    ///
    /// [`Error::TooWide`] for a row that SQLite could not read. Or if writing the temporary file
    /// fails.
    pub fn push(&mut self, rowid: i64, values: &[Value<'_>]) -> Result<(), Error> {
        match self.cell.record(trimmed(values)) {
            Some(size) if size < LONGEST => {
                self.records.push(rowid, self.cell.payload())?;
                self.cell.shrink();
                Ok(())
            }
            _ => Err(Error::TooWide { rowid }),
        }
    }

    /// Fills an empty table, whose root is the page `root`.
    ///
    /// # Errors
    ///
    /// [`Error::NotEmpty`] if that page belongs to something else, [`Error::Order`] if two rows
    /// have the same rowid. Or if reading or writing a file fails.
    pub fn write(self, database: &mut Database, root: u32) -> Result<(), Error> {
        let mut table = TableBuilder::new(database, root)?;
        self.records.finish(|&rowid, record| table.push_record(database, rowid, record))?;
        table.finish(database)
    }
}

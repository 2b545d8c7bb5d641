//! Indexes, whose entries are sorted first; and tables without rowids, whose rows come in order.

use std::io;

use crate::sort::{Scratch, Sorter};

use crate::btree::database::Database;
use crate::btree::entry::Entry;
use crate::btree::error::Error;
use crate::btree::leaves::IndexLeaves;
use crate::btree::record::{Value, trimmed};
use crate::btree::turned::TurnedIndex;

/// The entries of an index over `K` columns of integers and NULLs, at most 8.
///
/// They may come in any order; nearly sorted entries cost less. They are in a temporary file
/// without a name, so memory does not grow with them.
#[derive(Debug)]
pub struct IndexBuilder<const K: usize>(Sorter<Entry<K>, ()>);

impl<const K: usize> IndexBuilder<K> {
    /// Begins an index. Its entries are in a temporary file in this directory until they are part
    /// of the database.
    pub fn new(scratch: impl Into<Scratch>) -> Self {
        const { assert!(K >= 1 && K <= 8) };
        IndexBuilder(Sorter::new(scratch))
    }

    /// Adds the entry of a row.
    ///
    /// # Errors
    ///
    /// If writing the temporary file fails. The first entries do not need the file.
    #[inline]
    pub fn push(&mut self, key: [Option<i64>; K], rowid: i64) -> io::Result<()> {
        self.0.push(Entry::new(key, rowid), &())
    }

    /// Fills an empty index, whose root is the page `root`.
    ///
    /// # Errors
    ///
    /// [`Error::NotEmpty`] if that page belongs to something else. Or if reading the temporary file
    /// or writing the database fails.
    pub fn write(self, database: &mut Database, root: u32) -> Result<(), Error> {
        let mut leaves = IndexLeaves::new(database, root, true)?;
        self.0.finish(|entry, ()| leaves.push(database, entry))?;
        leaves.finish(database)
    }
}

impl IndexBuilder<2> {
    /// Like [`IndexBuilder::write`]; also fills the index of the same columns in the other order.
    ///
    /// # Errors
    ///
    /// As [`IndexBuilder::write`], of both indexes.
    pub fn write_both(
        self,
        database: &mut Database,
        root: u32,
        mut turned: TurnedIndex,
    ) -> Result<(), Error> {
        let mut leaves = IndexLeaves::new(database, root, true)?;
        self.0.finish(|entry, ()| {
            leaves.push(database, entry)?;
            turned.push(database, entry)
        })?;
        leaves.finish(database)?;
        turned.finish(database)
    }
}

/// A table `WITHOUT ROWID` that is filled in the order of its key. It has `K` columns of integers
/// and NULLs, at most 8; the first of them are the key, in the order of their declaration.
#[derive(Debug)]
pub struct KeyedTableBuilder<const K: usize> {
    leaves: IndexLeaves,
    last: Option<Entry<K>>,
}

impl<const K: usize> KeyedTableBuilder<K> {
    /// Begins to fill an empty table, whose root is the page `root`.
    ///
    /// # Errors
    ///
    /// [`Error::NotEmpty`] if that page belongs to something else.
    pub fn new(database: &mut Database, root: u32) -> Result<Self, Error> {
        const { assert!(K >= 1 && K <= 8) };
        Ok(KeyedTableBuilder { leaves: IndexLeaves::new(database, root, false)?, last: None })
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// [`Error::KeyOrder`] if it does not come after the previous row. Or if writing the database
    /// fails.
    #[inline]
    pub fn push(&mut self, database: &mut Database, row: [Option<i64>; K]) -> Result<(), Error> {
        let entry = Entry::new(row, 0);
        if self.last.is_some_and(|last| last >= entry) {
            return Err(Error::KeyOrder);
        }
        self.last = Some(entry);
        self.leaves.push(database, &entry)
    }

    /// Writes the rest.
    ///
    /// # Errors
    ///
    /// If writing the database fails.
    pub fn finish(self, database: &mut Database) -> Result<(), Error> {
        self.leaves.finish(database)
    }
}

/// A table `WITHOUT ROWID` that is filled in the order of its key: two integers, which are its
/// first columns. The other columns may have any values, as long as a row needs no overflow page.
///
/// ```
/// use rusqlite::Connection;
/// use timebase_store::btree::{ClusteredTableBuilder, Database, Value};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("clustered.db");
/// let conn = Connection::open(&path)?;
/// conn.execute_batch("CREATE TABLE t (ts, id, a, b, PRIMARY KEY (ts, id)) WITHOUT ROWID")?;
/// let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 't'";
/// let root = conn.query_row(sql, [], |row| row.get(0))?;
/// conn.close().map_err(|(_, error)| error)?;
///
/// let mut database = Database::open(&path)?;
/// let mut table = ClusteredTableBuilder::new(&mut database, root)?;
/// for id in 0..1000 {
///     let values = [Value::Integer(id / 2), Value::Integer(id), Value::Integer(7), Value::Null];
///     assert!(table.push(&mut database, &values)?);
/// }
/// // One that comes late is the caller's to insert.
/// assert!(!table.push(&mut database, &[Value::Integer(3), Value::Integer(-1)])?);
/// table.finish(&mut database)?;
/// database.finish()?;
///
/// let conn = Connection::open(&path)?;
/// let sql = "SELECT group_concat(id) FROM t WHERE ts = 41 AND b IS NULL";
/// let ids: String = conn.query_row(sql, [], |row| row.get(0))?;
/// assert_eq!(ids, "82,83");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ClusteredTableBuilder {
    leaves: IndexLeaves,
    /// A payload of at most this size needs no overflow page.
    whole: usize,
    last: Option<(i64, i64)>,
}

impl ClusteredTableBuilder {
    /// Begins to fill an empty table, whose root is the page `root`.
    ///
    /// # Errors
    ///
    /// [`Error::NotEmpty`] if that page belongs to something else.
    pub fn new(database: &mut Database, root: u32) -> Result<Self, Error> {
        let usable = database.page_size().get();
        Ok(ClusteredTableBuilder {
            whole: (usable - 12) * 64 / 255 - 23,
            leaves: IndexLeaves::new(database, root, false)?,
            last: None,
        })
    }

    /// Adds a row, and returns whether it did: it does not if the row does not come after the
    /// previous one.
    ///
    /// # Errors
    ///
    /// [`Error::TooWide`] for a row without a key or with overflow. Or if writing the database
    /// fails.
    #[inline]
    pub fn push(&mut self, database: &mut Database, row: &[Value<'_>]) -> Result<bool, Error> {
        let &[Value::Integer(first), Value::Integer(second), ..] = row else {
            return Err(Error::TooWide { rowid: 0 });
        };
        if self.last.is_some_and(|last| last >= (first, second)) {
            return Ok(false);
        }
        self.last = Some((first, second));
        match self.leaves.push_row(database, trimmed(row), self.whole)? {
            true => Ok(true),
            false => Err(Error::TooWide { rowid: second }),
        }
    }

    /// Writes the rest.
    ///
    /// # Errors
    ///
    /// If writing the database fails.
    pub fn finish(self, database: &mut Database) -> Result<(), Error> {
        self.leaves.finish(database)
    }
}

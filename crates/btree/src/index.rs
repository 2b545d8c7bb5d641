//! Indexes, and tables without rowids: their entries are sorted, and written as
//! leaves.

use std::io;
use std::path::Path;

use crate::database::{Database, Error};
use crate::entry::Entry;
use crate::page::{Kind, Page};
use crate::record::Cell;
use crate::sorter::Sorter;
use crate::tree::Tree;

/// The entries of an index over `K` columns of integers and NULLs, at most 8.
///
/// They may come in any order; those that come nearly sorted cost less. They are
/// kept in a temporary file without a name; memory does not grow with them.
#[derive(Debug)]
pub struct IndexBuilder<const K: usize>(Sorter<K>);

impl<const K: usize> IndexBuilder<K> {
    /// Begins an index whose entries are kept in `directory` until they are part
    /// of the database.
    pub fn new(directory: &Path) -> Self {
        const { assert!(K >= 1 && K <= 8) };
        IndexBuilder(Sorter::new(directory))
    }

    /// Adds the entry of a row.
    ///
    /// # Errors
    ///
    /// If the temporary file cannot be written, which the first entries do not
    /// need.
    #[inline]
    pub fn push(&mut self, key: [Option<i64>; K], rowid: i64) -> io::Result<()> {
        self.0.push(Entry::new(key, rowid))
    }

    pub(crate) fn write(self, database: &mut Database, root: u32) -> Result<(), Error> {
        write(self.0, database, root, true)
    }
}

/// Writes the pages of an index.
fn write<const K: usize>(
    entries: Sorter<K>,
    database: &mut Database,
    root: u32,
    with_rowid: bool,
) -> Result<(), Error> {
    let mut leaves = IndexLeaves::new(database, root, with_rowid);
    entries.finish(|entry| leaves.push(entry))?;
    leaves.finish()
}

/// The rows of a table `WITHOUT ROWID`, of `K` columns of integers and NULLs, at
/// most 8, of which the first are the key, in the order of their declaration.
///
/// They may come in any order, but no key twice.
#[derive(Debug)]
pub struct KeyedTableBuilder<const K: usize>(Sorter<K>);

impl<const K: usize> KeyedTableBuilder<K> {
    /// Begins a table whose rows are kept in `directory` until they are part of
    /// the database.
    pub fn new(directory: &Path) -> Self {
        const { assert!(K >= 1 && K <= 8) };
        KeyedTableBuilder(Sorter::new(directory))
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// If the temporary file cannot be written, which the first rows do not need.
    #[inline]
    pub fn push(&mut self, row: [Option<i64>; K]) -> io::Result<()> {
        self.0.push(Entry::new(row, 0))
    }

    pub(crate) fn write(self, database: &mut Database, root: u32) -> Result<(), Error> {
        write(self.0, database, root, false)
    }
}

/// The leaves of an index, written as they fill. Between two leaves stands an
/// entry that only their parent has.
struct IndexLeaves<'d> {
    database: &'d mut Database,
    root: u32,
    tree: Tree,
    leaf: Page,
    with_rowid: bool,
    /// The entry behind a full leaf, which is written when another one follows.
    separator: Option<Vec<u8>>,
    cell: Cell,
}

impl<'d> IndexLeaves<'d> {
    fn new(database: &'d mut Database, root: u32, with_rowid: bool) -> Self {
        let page_size = database.page_size();
        IndexLeaves {
            database,
            root,
            tree: Tree::new(Kind::IndexInterior, page_size),
            leaf: Page::new(Kind::IndexLeaf, page_size),
            with_rowid,
            separator: None,
            cell: Cell::new(),
        }
    }

    #[inline]
    fn push<const K: usize>(&mut self, entry: &Entry<K>) -> Result<(), Error> {
        entry.make(&mut self.cell, self.with_rowid);
        if self.separator.is_some() {
            self.end_leaf()?;
        }
        if !self.leaf.push(self.cell.bytes()) {
            self.separator = Some(self.cell.bytes().to_vec());
        }
        Ok(())
    }

    fn end_leaf(&mut self) -> Result<(), Error> {
        let page = self.database.append(self.leaf.finished(None))?;
        let separator = self.separator.take().unwrap_or_default();
        self.tree.add(self.database, page, &separator)?;
        self.leaf.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        if let Some(last) = self.separator.take() {
            // Nothing follows it: it becomes a leaf of its own, and the entry
            // before it stands between.
            self.separator = self.leaf.pop();
            self.end_leaf()?;
            self.leaf.push(&last);
        }
        if self.tree.is_empty() {
            self.database.set_root(self.root, self.leaf.finished(None));
            return Ok(());
        }
        self.end_leaf()?;
        self.tree.finish(self.database, self.root)
    }
}

//! The leaves of indexes, and of tables without rowids.

use crate::btree::database::Database;
use crate::btree::entry::Entry;
use crate::btree::error::Error;
use crate::btree::page::{Page, PageKind};
use crate::btree::record::{Cell, Value};
use crate::btree::tree::Tree;

/// The leaves of an index, written as they fill. The entry between two leaves is only in their
/// parent.
#[derive(Debug)]
pub(super) struct IndexLeaves {
    root: u32,
    tree: Tree,
    leaf: Page,
    with_rowid: bool,
    /// The entry after a full leaf. It is written when another entry follows.
    separator: Option<Vec<u8>>,
    cell: Cell,
}

impl IndexLeaves {
    pub fn new(database: &mut Database, root: u32, with_rowid: bool) -> Result<Self, Error> {
        database.take(root, PageKind::IndexLeaf)?;
        let page_size = database.page_size();
        Ok(IndexLeaves {
            root,
            tree: Tree::new(PageKind::IndexInterior, page_size),
            leaf: Page::new(PageKind::IndexLeaf, page_size),
            with_rowid,
            separator: None,
            cell: Cell::new(),
        })
    }

    #[inline]
    pub fn push<const K: usize>(
        &mut self,
        database: &mut Database,
        entry: &Entry<K>,
    ) -> Result<(), Error> {
        entry.make(&mut self.cell, self.with_rowid);
        self.push_cell(database)
    }

    /// Adds a row of a table without rowids, if its payload has at most this size; returns whether
    /// it has.
    #[inline]
    pub fn push_row(
        &mut self,
        database: &mut Database,
        row: &[Value<'_>],
        whole: usize,
    ) -> Result<bool, Error> {
        match self.cell.record(row) {
            Some(payload) if payload <= whole => {
                self.cell.head(payload, None);
                self.push_cell(database)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Adds the entry in the cell.
    #[inline]
    fn push_cell(&mut self, database: &mut Database) -> Result<(), Error> {
        if self.separator.is_some() {
            self.end_leaf(database)?;
        }
        if !self.leaf.push(self.cell.bytes()) {
            self.separator = Some(self.cell.bytes().to_vec());
        }
        Ok(())
    }

    fn end_leaf(&mut self, database: &mut Database) -> Result<(), Error> {
        let page = database.append(self.leaf.finished(None))?;
        let separator = self.separator.take().unwrap_or_default();
        self.tree.add(database, page, &separator)?;
        self.leaf.clear();
        Ok(())
    }

    /// Ends the leaf, which is not empty, with this entry after it. A leaf from elsewhere follows:
    /// [`IndexLeaves::adopt`].
    pub fn cut<const K: usize>(
        &mut self,
        database: &mut Database,
        entry: &Entry<K>,
    ) -> Result<(), Error> {
        self.settle(database)?;
        entry.make(&mut self.cell, self.with_rowid);
        self.separator = Some(self.cell.bytes().to_vec());
        self.end_leaf(database)
    }

    /// Adds a leaf that is written already, and the entry after it. It follows an end of a leaf.
    pub fn adopt<const K: usize>(
        &mut self,
        database: &mut Database,
        page: u32,
        entry: &Entry<K>,
    ) -> Result<(), Error> {
        entry.make(&mut self.cell, self.with_rowid);
        self.tree.add(database, page, self.cell.bytes())
    }

    /// Moves an entry after a full leaf into a leaf of its own; the entry before it goes between
    /// the two.
    fn settle(&mut self, database: &mut Database) -> Result<(), Error> {
        if let Some(last) = self.separator.take() {
            self.separator = self.leaf.pop();
            self.end_leaf(database)?;
            self.leaf.push(&last);
        }
        Ok(())
    }

    pub fn finish(mut self, database: &mut Database) -> Result<(), Error> {
        self.settle(database)?;
        if self.tree.is_empty() {
            database.set_root(self.root, self.leaf.finished(None));
            return Ok(());
        }
        self.end_leaf(database)?;
        self.tree.finish(database, self.root)
    }
}

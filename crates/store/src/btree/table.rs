//! The rows of a table, written as they come.

use crate::btree::database::Database;
use crate::btree::error::Error;
use crate::btree::page::{Page, PageKind, PageSize};
use crate::btree::record::{Cell, Value, push_varint, trimmed};
use crate::btree::tree::Tree;

/// A table that is filled in the order of its rowids. Its pages go to the database as soon as they
/// are full, so memory does not grow with it.
#[derive(Debug)]
pub struct TableBuilder {
    root: u32,
    tree: Tree,
    leaf: Page,
    last_rowid: Option<i64>,
    room: Room,
    cell: Cell,
    separator: Vec<u8>,
}

impl TableBuilder {
    /// Begins to fill an empty table, whose root is the page `root`.
    ///
    /// # Errors
    ///
    /// [`Error::NotEmpty`] if that page belongs to something else.
    pub fn new(database: &mut Database, root: u32) -> Result<Self, Error> {
        database.take(root, PageKind::TableLeaf)?;
        let page_size = database.page_size();
        Ok(TableBuilder {
            root,
            tree: Tree::new(PageKind::TableInterior, page_size),
            leaf: Page::new(PageKind::TableLeaf, page_size),
            last_rowid: None,
            room: Room::of(page_size),
            cell: Cell::new(),
            separator: Vec::new(),
        })
    }

    /// Adds a row. `values` are the values of all columns, in the order of the table's declaration;
    /// the column of the rowid's alias is [`Value::Null`]. NULLs at the end are not stored, so the
    /// table must not declare a DEFAULT for a column that may be NULL.
    ///
    /// # Errors
    ///
    /// [`Error::Order`] if the rowid is not greater than the previous one, [`Error::TooWide`] for a
    /// row that SQLite could not read. Or if writing the database fails.
    #[inline]
    pub fn push(
        &mut self,
        database: &mut Database,
        rowid: i64,
        values: &[Value<'_>],
    ) -> Result<(), Error> {
        match self.cell.record(trimmed(values)) {
            Some(payload) if payload < LONGEST => self.push_cell(database, rowid, payload),
            _ => Err(Error::TooWide { rowid }),
        }
    }

    /// Adds a row whose record is already written.
    pub(crate) fn push_record(
        &mut self,
        database: &mut Database,
        rowid: i64,
        record: &[u8],
    ) -> Result<(), Error> {
        self.cell.take(record);
        self.push_cell(database, rowid, record.len())
    }

    /// Adds the row whose record, of this length, is in the cell.
    #[inline]
    fn push_cell(
        &mut self,
        database: &mut Database,
        rowid: i64,
        payload: usize,
    ) -> Result<(), Error> {
        if self.last_rowid.is_some_and(|last| last >= rowid) {
            return Err(Error::Order { rowid });
        }
        self.cell.head(payload, Some(rowid));
        if payload > self.room.whole {
            let local = self.room.local(payload);
            let rest = &self.cell.payload()[local..];
            let page = database.append_overflow(rest)?;
            self.cell.overflow(local, page);
            self.cell.shrink();
        }
        if !self.leaf.push(self.cell.bytes()) {
            self.end_leaf(database)?;
            if !self.leaf.push(self.cell.bytes()) {
                return Err(Error::TooWide { rowid });
            }
        }
        self.last_rowid = Some(rowid);
        Ok(())
    }

    fn end_leaf(&mut self, database: &mut Database) -> Result<(), Error> {
        if let (Some(last), false) = (self.last_rowid, self.leaf.is_empty()) {
            let page = database.append(self.leaf.finished(None))?;
            self.separator.clear();
            push_varint(&mut self.separator, last as u64);
            self.tree.add(database, page, &self.separator)?;
            self.leaf.clear();
        }
        Ok(())
    }

    /// Writes the rest.
    ///
    /// # Errors
    ///
    /// If writing the database fails.
    pub fn finish(mut self, database: &mut Database) -> Result<(), Error> {
        if self.tree.is_empty() {
            database.set_root(self.root, self.leaf.finished(None));
            return Ok(());
        }
        self.end_leaf(database)?;
        self.tree.finish(database, self.root)
    }
}

/// SQLite reads no row of this size.
pub(crate) const LONGEST: usize = 1 << 31;

/// The part of a row in its leaf, by the file format.
#[derive(Debug)]
struct Room {
    /// A payload of at most this size needs no overflow page.
    whole: usize,
    /// The smallest part in the leaf of a payload with overflow.
    least: usize,
    /// The room in an overflow page.
    page: usize,
}

impl Room {
    fn of(page_size: PageSize) -> Self {
        let usable = page_size.get();
        Room { whole: usable - 35, least: (usable - 12) * 32 / 255 - 23, page: usable - 4 }
    }

    /// The size of the part in the leaf for a payload with overflow: the last overflow page is then
    /// full, if there is room for this.
    fn local(&self, payload: usize) -> usize {
        let local = self.least + (payload - self.least) % self.page;
        if local <= self.whole { local } else { self.least }
    }
}

//! The leaves of a table, written aside.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use crate::database::Error;
use crate::page::{Kind, Page, PageSize};
use crate::record::{Value, push_record, push_varint};

const BUFFER: usize = 1 << 20;

/// Rows of a table, in the order of their rowids.
///
/// They are kept in a temporary file without a name; memory does not grow with
/// them.
#[derive(Debug)]
pub struct TableBuilder {
    page_size: PageSize,
    leaves: BufWriter<File>,
    /// The last rowid of each leaf that was written.
    last_rowids: Vec<i64>,
    leaf: Page,
    last_rowid: Option<i64>,
    payload: Vec<u8>,
    cell: Vec<u8>,
}

impl TableBuilder {
    /// Begins a table whose leaves are kept in `directory` until they are part
    /// of the database.
    ///
    /// # Errors
    ///
    /// If no temporary file can be made there.
    pub fn new(page_size: PageSize, directory: &Path) -> io::Result<Self> {
        Ok(TableBuilder {
            page_size,
            leaves: BufWriter::with_capacity(BUFFER, tempfile::tempfile_in(directory)?),
            last_rowids: Vec::new(),
            leaf: Page::new(Kind::TableLeaf, page_size),
            last_rowid: None,
            payload: Vec::new(),
            cell: Vec::new(),
        })
    }

    /// Adds a row. `values` are those of all columns, in the order of the
    /// table's declaration; the column of the rowid's alias is [`Value::Null`].
    ///
    /// # Errors
    ///
    /// [`Error::Order`] if the rowid is not greater than the one before,
    /// [`Error::TooWide`] for a row that does not fit a page, or that the
    /// temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, rowid: i64, values: &[Value]) -> Result<(), Error> {
        if self.last_rowid.is_some_and(|last| last >= rowid) {
            return Err(Error::Order { rowid });
        }
        self.payload.clear();
        self.cell.clear();
        push_record(&mut self.payload, values.iter().copied());
        push_varint(&mut self.cell, self.payload.len() as u64);
        push_varint(&mut self.cell, rowid as u64);
        self.cell.extend_from_slice(&self.payload);
        if !self.leaf.push(&self.cell) {
            self.end_leaf()?;
            // A header beyond one byte, or a payload that would overflow.
            let most = self.page_size.get() - 35;
            if values.len() >= 127 || self.payload.len() > most || !self.leaf.push(&self.cell) {
                return Err(Error::TooWide { rowid });
            }
        }
        self.last_rowid = Some(rowid);
        Ok(())
    }

    fn end_leaf(&mut self) -> io::Result<()> {
        if let (Some(last), false) = (self.last_rowid, self.leaf.is_empty()) {
            self.leaves.write_all(self.leaf.finished(None))?;
            self.last_rowids.push(last);
            self.leaf.clear();
        }
        Ok(())
    }

    pub(crate) fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// The leaves, each with its last rowid.
    pub(crate) fn finish(mut self) -> io::Result<Leaves> {
        self.end_leaf()?;
        let mut file = self.leaves.into_inner().map_err(io::Error::from)?;
        file.rewind()?;
        Ok(Leaves {
            page: vec![0; self.page_size.get()],
            file: BufReader::with_capacity(BUFFER, file),
            last_rowids: self.last_rowids.into_iter(),
        })
    }
}

/// The leaves of a table, in order.
pub(crate) struct Leaves {
    file: BufReader<File>,
    last_rowids: std::vec::IntoIter<i64>,
    page: Vec<u8>,
}

impl Leaves {
    pub fn len(&self) -> usize {
        self.last_rowids.len()
    }

    /// The next leaf and its last rowid.
    pub fn next(&mut self) -> io::Result<Option<(&[u8], i64)>> {
        let Some(last) = self.last_rowids.next() else {
            return Ok(None);
        };
        self.file.read_exact(&mut self.page)?;
        Ok(Some((&self.page, last)))
    }
}

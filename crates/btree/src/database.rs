//! The database that pages are appended to.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::index::IndexBuilder;
use crate::page::{Kind, PageSize};
use crate::record::push_varint;
use crate::table::TableBuilder;
use crate::tree::Tree;

/// Why a table or an index cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No page has so many bytes.
    #[error("a page has a power of two from 512 to 65536 bytes, not {0}")]
    PageSize(u32),
    /// The file is not a database that pages can be appended to.
    #[error("pages cannot be appended to this file: {0}")]
    Unsuitable(&'static str),
    /// The root page is not that of an empty table or index.
    #[error("page {root} is not the root of an empty table or index")]
    NotEmpty {
        /// Its number.
        root: u32,
    },
    /// Rows must come in the order of their rowids.
    #[error("row {rowid} does not come after the one before it")]
    Order {
        /// The one that is out of order.
        rowid: i64,
    },
    /// A row must fit a page, with at most 126 columns.
    #[error("row {rowid} does not fit a page")]
    TooWide {
        /// The one that does not.
        rowid: i64,
    },
}

const BUFFER: usize = 1 << 20;

/// Which byte of a file SQLite locks; the page that holds it is never used.
const LOCK_BYTE: u64 = 1 << 30;

/// A database that nobody has open, being extended.
#[derive(Debug)]
pub struct Database {
    file: BufWriter<File>,
    page_size: PageSize,
    pages: u32,
    /// Pages to write when all others are: roots, which have a place already.
    roots: Vec<(u32, Vec<u8>)>,
}

impl Database {
    /// Opens a database that SQLite has written and closed.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] for what is not one, or has its pages reserved,
    /// vacuumed or logged in a way that this crate does not write.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let length = file.seek(SeekFrom::End(0))?;
        file.rewind()?;
        let mut header = [0; 100];
        file.read_exact(&mut header)?;
        let word = |at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            u32::from_be_bytes(bytes)
        };
        let page_size = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65536,
            size => size.into(),
        };
        let page_size = PageSize::new(page_size)?;
        let pages = word(28);
        let unsuitable = if !header.starts_with(b"SQLite format 3\0") {
            Some("it is not a SQLite database")
        } else if header[18..20] != [1, 1] {
            Some("it has a write-ahead log")
        } else if header[20] != 0 {
            Some("it has reserved space in its pages")
        } else if word(52) != 0 {
            Some("it is vacuumed automatically")
        } else if word(44) != 4 {
            Some("its tables are of an old format")
        } else if u64::from(pages) * page_size.get() as u64 != length {
            Some("it was not closed properly")
        } else {
            None
        };
        if let Some(why) = unsuitable {
            return Err(Error::Unsuitable(why));
        }
        Ok(Database {
            file: BufWriter::with_capacity(BUFFER, file),
            page_size,
            pages,
            roots: Vec::new(),
        })
    }

    /// The size of its pages.
    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// Fills an empty table, whose root is the page `root`.
    ///
    /// # Errors
    ///
    /// [`Error::NotEmpty`] if that page is something else, [`Error::PageSize`]
    /// if the leaves were made for other pages.
    pub fn table(&mut self, root: u32, table: TableBuilder) -> Result<(), Error> {
        if table.page_size() != self.page_size {
            return Err(Error::PageSize(table.page_size().get() as u32));
        }
        self.check_empty(root, Kind::TableLeaf)?;
        let mut leaves = table.finish()?;
        let only = leaves.len() == 1;
        let mut tree = Tree::new(Kind::TableInterior, self.page_size);
        let mut key = Vec::new();
        while let Some((leaf, last_rowid)) = leaves.next()? {
            if only {
                self.roots.push((root, leaf.to_vec()));
                return Ok(());
            }
            let page = self.append(leaf)?;
            key.clear();
            push_varint(&mut key, last_rowid as u64);
            tree.add(self, page, &key)?;
        }
        tree.finish(self, root)
    }

    /// Fills an empty index, whose root is the page `root`.
    ///
    /// # Errors
    ///
    /// [`Error::NotEmpty`] if that page is something else.
    pub fn index<const K: usize>(
        &mut self,
        root: u32,
        index: IndexBuilder<K>,
    ) -> Result<(), Error> {
        self.check_empty(root, Kind::IndexLeaf)?;
        index.write(self, root)
    }

    /// Ends the work: until then the file is as SQLite left it, but longer.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        for (root, page) in std::mem::take(&mut self.roots) {
            self.file.seek(SeekFrom::Start(self.offset(root)))?;
            self.file.write_all(&page)?;
        }
        self.file.seek(SeekFrom::Start(28))?;
        self.file.write_all(&self.pages.to_be_bytes())?;
        self.file.flush()?;
        Ok(())
    }

    fn offset(&self, page: u32) -> u64 {
        u64::from(page.saturating_sub(1)) * self.page_size.get() as u64
    }

    fn check_empty(&mut self, root: u32, kind: Kind) -> Result<(), Error> {
        let there =
            (2..=self.pages).contains(&root) && self.roots.iter().all(|(other, _)| *other != root);
        if !there {
            return Err(Error::NotEmpty { root });
        }
        self.file.seek(SeekFrom::Start(self.offset(root)))?;
        let mut header = [0; 8];
        self.file.get_mut().read_exact(&mut header)?;
        self.file.seek(SeekFrom::End(0))?;
        if header[0] != kind as u8 || header[3..5] != [0, 0] {
            return Err(Error::NotEmpty { root });
        }
        Ok(())
    }

    /// Writes a page behind all others, and tells its number.
    pub(crate) fn append(&mut self, page: &[u8]) -> Result<u32, Error> {
        const FULL: Error = Error::Unsuitable("it has as many pages as a database can have");
        let mut number = self.pages.checked_add(1).ok_or(FULL)?;
        if u64::from(number) == LOCK_BYTE / self.page_size.get() as u64 + 1 {
            self.file.write_all(&vec![0; self.page_size.get()])?;
            number = number.checked_add(1).ok_or(FULL)?;
        }
        if number >= u32::MAX - 1 {
            return Err(FULL);
        }
        self.file.write_all(page)?;
        self.pages = number;
        Ok(number)
    }

    pub(crate) fn set_root(&mut self, root: u32, page: &[u8]) {
        self.roots.push((root, page.to_vec()));
    }
}

//! The database to which pages are appended.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::sort::Quota;

use crate::btree::error::Error;
use crate::btree::page::{PageKind, PageSize};

const BUFFER: usize = 256 << 10;

/// So many bytes go to the disk together.
const EARLY: usize = 32 << 20;

/// SQLite locks this byte of a file; it never uses the page that holds the byte.
const LOCK_BYTE: u64 = 1 << 30;

/// A database that no other program has open, and that this crate extends.
#[derive(Debug)]
pub struct Database {
    file: BufWriter<File>,
    page_size: PageSize,
    pages: u32,
    /// Roots of tables and indexes that are being filled.
    taken: Vec<u32>,
    /// Pages to write after all others: roots, which already have a place.
    roots: Vec<(u32, Vec<u8>)>,
    /// The limit for the file.
    quota: Quota,
    early: EarlySync,
}

/// Has the pages so far written to the disk while more come, by a thread of its own. Otherwise all
/// of them wait for the sync at the end. An import takes 0.96 of the time with this.
#[derive(Debug, Default)]
struct EarlySync {
    /// The bytes since the last time.
    bytes: usize,
    thread: Option<SyncSender<()>>,
}

impl EarlySync {
    /// Tells the thread that these bytes have been appended to the file.
    #[inline]
    fn appended(&mut self, bytes: usize, file: &File) -> io::Result<()> {
        self.bytes += bytes;
        match self.bytes >= EARLY {
            true => self.sync(file),
            false => Ok(()),
        }
    }

    #[cold]
    fn sync(&mut self, file: &File) -> io::Result<()> {
        self.bytes = 0;
        let thread = match &self.thread {
            Some(thread) => thread,
            None => {
                let (sender, asked) = sync_channel(1);
                let file = file.try_clone()?;
                // The sync of the whole file at the end reports a failure, too.
                let work = move || asked.iter().for_each(|()| drop(file.sync_data()));
                thread::Builder::new().spawn(work)?;
                self.thread.insert(sender)
            }
        };
        // If it is still busy, it has a sync to do already.
        let _ = thread.try_send(());
        Ok(())
    }
}

impl Database {
    /// Opens a database that SQLite wrote and closed.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the file is not a database, or if this crate cannot write it: its
    /// pages are reserved, vacuumed or logged in another way.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_counted(path, &Quota::default())
    }

    /// Like [`Database::open`], for a file whose bytes count towards a limit, including those that
    /// it already has.
    ///
    /// ```
    /// use rusqlite::Connection;
    /// use timebase_store::btree::{Database, Quota, TableBuilder, Value};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("small.db");
    /// let conn = Connection::open(&path)?;
    /// conn.execute_batch("CREATE TABLE line (id INTEGER PRIMARY KEY, text)")?;
    /// conn.close().map_err(|(_, error)| error)?;
    ///
    /// let mut database = Database::open_counted(&path, &Quota::of(20_000))?;
    /// let mut lines = TableBuilder::new(&mut database, 2)?;
    /// let written = (0..1000).try_for_each(|id| {
    ///     lines.push(&mut database, id, &[Value::Null, Value::Text("a line of some bytes")])
    /// });
    /// assert!(written.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Database::open`], and if the file is larger than the limit.
    pub fn open_counted(path: &Path, quota: &Quota) -> Result<Self, Error> {
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
        quota.take(length)?;
        Ok(Database {
            quota: quota.clone(),
            early: EarlySync::default(),
            file: BufWriter::with_capacity(BUFFER, file),
            page_size,
            pages,
            taken: Vec::new(),
            roots: Vec::new(),
        })
    }

    /// The size of the database's pages.
    pub(crate) fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// Ends the work. Until then the file is longer, but otherwise as SQLite left it.
    ///
    /// # Errors
    ///
    /// If writing the file fails.
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

    /// Takes the root of an empty table or index, to fill it.
    pub(crate) fn take(&mut self, root: u32, kind: PageKind) -> Result<(), Error> {
        if !(2..=self.pages).contains(&root) || self.taken.contains(&root) {
            return Err(Error::NotEmpty { root });
        }
        self.file.seek(SeekFrom::Start(self.offset(root)))?;
        let mut header = [0; 8];
        self.file.get_mut().read_exact(&mut header)?;
        self.file.seek(SeekFrom::End(0))?;
        if header[0] != kind as u8 || header[3..5] != [0, 0] {
            return Err(Error::NotEmpty { root });
        }
        self.taken.push(root);
        Ok(())
    }

    /// The number of the page after `page`.
    fn behind(&self, page: u32) -> Result<u32, Error> {
        let locked = LOCK_BYTE / self.page_size.get() as u64;
        let step = if u64::from(page) == locked { 2 } else { 1 };
        match page.checked_add(step) {
            Some(next) if next < u32::MAX - 1 => Ok(next),
            _ => Err(Error::Unsuitable("it has as many pages as a database can have")),
        }
    }

    /// Begins the next page, and returns its number.
    fn begin_page(&mut self) -> Result<u32, Error> {
        let number = self.behind(self.pages)?;
        let more = u64::from(number - self.pages) * self.page_size.get() as u64;
        self.quota.take(more)?;
        self.early.appended(self.page_size.get(), self.file.get_ref())?;
        if number - self.pages > 1 {
            self.file.write_all(&vec![0; self.page_size.get()])?;
        }
        self.pages = number;
        Ok(number)
    }

    /// Writes a page after all others, and returns its number.
    pub(crate) fn append(&mut self, page: &[u8]) -> Result<u32, Error> {
        let number = self.begin_page()?;
        self.file.write_all(page)?;
        Ok(number)
    }

    /// Writes the part of a row that does not fit into its leaf as a chain of overflow pages;
    /// returns the first page.
    pub(crate) fn append_overflow(&mut self, rest: &[u8]) -> Result<u32, Error> {
        const LINK: usize = 4;
        let room = self.page_size.get() - LINK;
        let first = self.behind(self.pages)?;
        let mut pieces = rest.chunks(room).peekable();
        while let Some(piece) = pieces.next() {
            let number = self.begin_page()?;
            let next = match pieces.peek() {
                Some(_) => self.behind(number)?,
                None => 0,
            };
            self.file.write_all(&next.to_be_bytes())?;
            self.file.write_all(piece)?;
            if piece.len() < room {
                self.file.write_all(&vec![0; room - piece.len()])?;
            }
        }
        Ok(first)
    }

    /// Keeps a page for a root, which already has a place.
    pub(crate) fn set_root(&mut self, root: u32, page: &[u8]) {
        self.roots.push((root, page.to_vec()));
    }
}

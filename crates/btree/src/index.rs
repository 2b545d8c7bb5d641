//! The entries of an index, or the rows of a table without rowids: sorted a
//! stretch at a time, and merged.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::database::{Database, Error};
use crate::page::{Kind, Page};
use crate::record::{Cell, LONGEST_VARINT, Value, put_varint, varint};
use crate::tree::Tree;

/// How much is sorted at once.
const STRETCH: usize = 8 << 20;

/// How much of all stretches together is in memory while they are merged.
const MERGED: usize = 8 << 20;

/// An entry: the indexed columns, and the rowid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry<const K: usize> {
    /// Of a NULL the least integer.
    key: [i64; K],
    /// A bit for each column that is not NULL.
    present: u8,
    rowid: i64,
}

impl<const K: usize> Entry<K> {
    fn new(key: [Option<i64>; K], rowid: i64) -> Self {
        let mut present = 0;
        for (column, value) in key.iter().enumerate() {
            present |= u8::from(value.is_some()) << column;
        }
        Entry {
            key: key.map(|value| value.unwrap_or(i64::MIN)),
            present,
            rowid,
        }
    }

    fn is_present(&self, column: usize) -> bool {
        self.present >> column & 1 != 0
    }

    /// Makes the cell, which a leaf and an interior page have alike.
    #[inline]
    fn make(&self, cell: &mut Cell, with_rowid: bool) {
        let mut values = [Value::Null; 9];
        for (column, value) in self.key.iter().enumerate() {
            if self.is_present(column) {
                values[column] = Value::Integer(*value);
            }
        }
        values[K] = Value::Integer(self.rowid);
        // Nine numbers have no wide header.
        let values = &values[..K + usize::from(with_rowid)];
        let payload = cell.record(values).unwrap_or_default();
        cell.head(payload, None);
    }
}

impl<const K: usize> Ord for Entry<K> {
    /// SQLite's order: NULL before all integers.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        for column in 0..K {
            let order = self.key[column]
                .cmp(&other.key[column])
                .then_with(|| self.is_present(column).cmp(&other.is_present(column)));
            if order.is_ne() {
                return order;
            }
        }
        self.rowid.cmp(&other.rowid)
    }
}

impl<const K: usize> PartialOrd for Entry<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    /// Nearly always the first column decides. Told apart like this, sorting
    /// needs no jumps that depend on it, and takes half the time.
    #[inline]
    fn lt(&self, other: &Self) -> bool {
        if self.key[0] != other.key[0] {
            self.key[0] < other.key[0]
        } else {
            self.cmp(other).is_lt()
        }
    }
}

/// The entries of an index over `K` columns of integers and NULLs, at most 8.
///
/// They may come in any order; those that come nearly sorted cost less. They are
/// kept in a temporary file without a name; memory does not grow with them.
#[derive(Debug)]
pub struct IndexBuilder<const K: usize> {
    directory: PathBuf,
    stretch: Vec<Entry<K>>,
    /// Sorted stretches, once there is more than one.
    file: Option<BufWriter<File>>,
    /// Where each of them is.
    stretches: Vec<(u64, u64)>,
    written: u64,
}

impl<const K: usize> IndexBuilder<K> {
    /// Begins an index whose entries are kept in `directory` until they are part
    /// of the database.
    ///
    /// # Errors
    ///
    /// If no temporary file can be made there, which is tried when one is needed.
    pub fn new(directory: &Path) -> io::Result<Self> {
        const { assert!(K >= 1 && K <= 8) };
        Ok(IndexBuilder {
            directory: directory.to_owned(),
            stretch: Vec::new(),
            file: None,
            stretches: Vec::new(),
            written: 0,
        })
    }

    /// Adds the entry of a row.
    ///
    /// # Errors
    ///
    /// If the temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, key: [Option<i64>; K], rowid: i64) -> io::Result<()> {
        self.stretch.push(Entry::new(key, rowid));
        if self.stretch.len() == STRETCH / size_of::<Entry<K>>() {
            self.put_aside()?;
        }
        Ok(())
    }

    /// Writes the stretch as differences, which are small where it is sorted.
    fn put_aside(&mut self) -> io::Result<()> {
        self.stretch.sort();
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file = tempfile::tempfile_in(&self.directory)?;
                none.insert(BufWriter::with_capacity(1 << 20, file))
            }
        };
        let start = self.written;
        let mut last = Entry {
            key: [0; K],
            present: 0,
            rowid: 0,
        };
        let mut bytes = [0; LONGEST];
        for entry in self.stretch.drain(..) {
            bytes[0] = entry.present;
            let mut size = 1;
            for column in 0..K {
                size += put_difference(&mut bytes[size..], last.key[column], entry.key[column]);
            }
            size += put_difference(&mut bytes[size..], last.rowid, entry.rowid);
            file.write_all(&bytes[..size])?;
            self.written += size as u64;
            last = entry;
        }
        self.stretches.push((start, self.written));
        Ok(())
    }

    /// Writes the pages of the index.
    pub(crate) fn write(
        mut self,
        database: &mut Database,
        root: u32,
        with_rowid: bool,
    ) -> Result<(), Error> {
        let mut leaves = IndexLeaves::new(database, root, with_rowid);
        self.stretch.sort();
        if let Some(file) = self.file {
            let mut file = file.into_inner().map_err(io::Error::from)?;
            let stretches = std::mem::take(&mut self.stretches);
            merge(&mut file, &stretches, self.stretch, &mut leaves)?;
        } else {
            for entry in self.stretch {
                leaves.push(&entry)?;
            }
        }
        leaves.finish()
    }
}

#[inline]
fn put_difference(bytes: &mut [u8], from: i64, to: i64) -> usize {
    let difference = to.wrapping_sub(from);
    put_varint(bytes, (difference << 1 ^ difference >> 63) as u64)
}

/// A stretch that is read back, a piece at a time.
struct Stretch<const K: usize> {
    next: u64,
    end: u64,
    piece: Vec<u8>,
    at: usize,
    last: Entry<K>,
}

/// As much as an entry can take.
const LONGEST: usize = 1 + 9 * LONGEST_VARINT;

impl<const K: usize> Stretch<K> {
    fn new(start: u64, end: u64) -> Self {
        Stretch {
            next: start,
            end,
            piece: Vec::new(),
            at: 0,
            last: Entry {
                key: [0; K],
                present: 0,
                rowid: 0,
            },
        }
    }

    fn next(&mut self, file: &mut File, piece: usize) -> io::Result<Option<Entry<K>>> {
        if self.piece.len() - self.at < LONGEST && self.next < self.end {
            self.read_on(file, piece)?;
        }
        let Some(&present) = self.piece.get(self.at) else {
            return Ok(None);
        };
        self.at += 1;
        self.last.present = present;
        for column in 0..K {
            self.last.key[column] = self.difference(self.last.key[column])?;
        }
        self.last.rowid = self.difference(self.last.rowid)?;
        Ok(Some(self.last))
    }

    fn read_on(&mut self, file: &mut File, piece: usize) -> io::Result<()> {
        self.piece.drain(..self.at);
        self.at = 0;
        let kept = self.piece.len();
        let more = (piece as u64).min(self.end - self.next) as usize;
        self.piece.resize(kept + more, 0);
        file.seek(SeekFrom::Start(self.next))?;
        file.read_exact(&mut self.piece[kept..])?;
        self.next += more as u64;
        Ok(())
    }

    fn difference(&mut self, from: i64) -> io::Result<i64> {
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let (number, size) = varint(rest).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.at += size;
        let difference = (number >> 1) as i64 ^ -((number & 1) as i64);
        Ok(from.wrapping_add(difference))
    }
}

/// Merges stretches, and `last`, which is in memory.
fn merge<const K: usize>(
    file: &mut File,
    stretches: &[(u64, u64)],
    last: Vec<Entry<K>>,
    leaves: &mut IndexLeaves<'_>,
) -> Result<(), Error> {
    let piece = (MERGED / stretches.len().max(1)).clamp(4 << 10, 1 << 20);
    let mut sources: Vec<Stretch<K>> = stretches
        .iter()
        .map(|&(start, end)| Stretch::new(start, end))
        .collect();
    let mut last = last.into_iter();
    let in_memory = sources.len();
    let mut heap = BinaryHeap::with_capacity(sources.len() + 1);
    for (index, source) in sources.iter_mut().enumerate() {
        heap.extend(
            source
                .next(file, piece)?
                .map(|entry| Reverse((entry, index))),
        );
    }
    heap.extend(last.next().map(|entry| Reverse((entry, in_memory))));
    while let Some(mut least) = heap.peek_mut() {
        let Reverse((entry, index)) = *least;
        leaves.push(&entry)?;
        let next = match sources.get_mut(index) {
            Some(source) => source.next(file, piece)?,
            None => last.next(),
        };
        match next {
            Some(entry) => *least = Reverse((entry, index)),
            None => {
                PeekMut::pop(least);
            }
        }
    }
    Ok(())
}

/// The rows of a table `WITHOUT ROWID`, of `K` columns of integers and NULLs, at
/// most 8, of which the first are the key, in the order of their declaration.
///
/// They may come in any order, but no key twice.
#[derive(Debug)]
pub struct KeyedTableBuilder<const K: usize>(IndexBuilder<K>);

impl<const K: usize> KeyedTableBuilder<K> {
    /// Begins a table whose rows are kept in `directory` until they are part of
    /// the database.
    ///
    /// # Errors
    ///
    /// As of [`IndexBuilder::new`].
    pub fn new(directory: &Path) -> io::Result<Self> {
        IndexBuilder::new(directory).map(KeyedTableBuilder)
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// If the temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, row: [Option<i64>; K]) -> io::Result<()> {
        self.0.push(row, 0)
    }

    pub(crate) fn write(self, database: &mut Database, root: u32) -> Result<(), Error> {
        self.0.write(database, root, false)
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

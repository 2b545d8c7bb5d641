//! Pages: their size, and the layout of cells in them.

use crate::btree::error::Error;
use crate::btree::record::varint;

/// The size of a database's pages: a power of two from 512 to 65536.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageSize(u32);

impl PageSize {
    pub fn new(bytes: u32) -> Result<Self, Error> {
        if bytes.is_power_of_two() && (512..=65536).contains(&bytes) {
            Ok(PageSize(bytes))
        } else {
            Err(Error::PageSize(bytes))
        }
    }

    /// The number of bytes.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

/// The kinds of b-tree pages. The value is the first byte of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PageKind {
    IndexInterior = 0x02,
    TableInterior = 0x05,
    IndexLeaf = 0x0a,
    TableLeaf = 0x0d,
}

impl PageKind {
    pub fn header(self) -> usize {
        match self {
            PageKind::IndexLeaf | PageKind::TableLeaf => 8,
            PageKind::IndexInterior | PageKind::TableInterior => 12,
        }
    }
}

/// The bytes that a cell takes in addition to its own: its place in the array of pointers.
pub(crate) const POINTER: usize = 2;

/// A page that is filled from its end downwards.
#[derive(Debug)]
pub(crate) struct Page {
    kind: PageKind,
    bytes: Box<[u8]>,
    cells: usize,
    /// The start of the last cell.
    content: usize,
}

impl Page {
    pub fn new(kind: PageKind, size: PageSize) -> Self {
        Page { kind, bytes: vec![0; size.get()].into(), cells: 0, content: size.get() }
    }

    /// Adds a cell after the others; returns whether there was room for it.
    #[inline]
    pub fn push(&mut self, cell: &[u8]) -> bool {
        let pointer = self.kind.header() + POINTER * self.cells;
        let free = self.content - pointer;
        if free < POINTER + cell.len() {
            return false;
        }
        self.content -= cell.len();
        self.bytes[self.content..][..cell.len()].copy_from_slice(cell);
        self.bytes[pointer..][..POINTER].copy_from_slice(&(self.content as u16).to_be_bytes());
        self.cells += 1;
        true
    }

    /// Removes the last cell, which begins with the size of the rest.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        let last = self.cells.checked_sub(1)?;
        let (payload, size) = varint(&self.bytes[self.content..])?;
        let end = self.content + size + usize::try_from(payload).ok()?;
        let cell = self.bytes.get(self.content..end)?.to_vec();
        self.content = end;
        self.cells = last;
        Some(cell)
    }

    pub fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// The finished page. Only an interior page has a child to the right.
    pub fn finished(&mut self, right: Option<u32>) -> &[u8] {
        let cells = (self.cells as u16).to_be_bytes();
        // The format writes 65536 as 0.
        let content = (self.content as u16).to_be_bytes();
        self.bytes[0] = self.kind as u8;
        self.bytes[3..5].copy_from_slice(&cells);
        self.bytes[5..7].copy_from_slice(&content);
        if let Some(right) = right {
            self.bytes[8..12].copy_from_slice(&right.to_be_bytes());
        }
        &self.bytes
    }

    /// Empties it, for the next page.
    pub fn clear(&mut self) {
        self.bytes.fill(0);
        self.cells = 0;
        self.content = self.bytes.len();
    }
}

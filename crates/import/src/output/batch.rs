//! Batches of rows, which go from the thread that makes them to the thread that writes them.

use std::ops::Range;
use std::sync::Arc;

use timebase_schema::{Row, Table, tables};
use timebase_trace::wire::packet::PacketType;

use super::doubt::{LateDoubt, Tallies};
use crate::place::Placement;

/// The type of a packet's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RowType {
    None,
    Payload(PacketType),
    /// The bytes are no packet (rule F7).
    Corrupt,
    /// A record of another format than Perfetto's.
    Named(&'static str),
}

/// A row of a packet, with its bytes in the batch. Most rows are packets,
/// so they have a form of their own.
#[derive(Debug, Clone)]
pub(crate) struct PacketRow {
    pub id: i64,
    pub row_type: RowType,
    pub timestamp: Option<u64>,
    pub placement: Placement,
    pub seq_id: u32,
    pub machine: u32,
    pub file: u32,
    /// The number of the packet in its file.
    pub number: i64,
    pub uid: Option<i32>,
    pub pid: Option<i32>,
    pub offset: u64,
    /// The packet's size in bytes.
    pub size: u64,
    /// The range of its bytes in the batch; empty if they are not kept.
    pub data: Range<usize>,
}

impl PacketRow {
    /// The timestamp as a signed number, if it fits. The time of a record of another format than Perfetto's may be
    /// negative.
    pub fn signed_timestamp(&self) -> Option<i64> {
        match self.row_type {
            RowType::Named(_) => self.timestamp.map(|value| value as i64),
            _ => self.timestamp.and_then(|value| i64::try_from(value).ok()),
        }
    }
}

/// One value of a row, with its text or bytes in the batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text { start: u32, size: u32 },
    Blob { start: u32, size: u32 },
}

impl<T: Into<i64>> From<T> for Cell {
    fn from(value: T) -> Self {
        Cell::Integer(value.into())
    }
}

impl Cell {
    /// A timestamp as recorded. SQLite has no integers of 2⁶³ or more,
    /// so such a timestamp becomes the nearest REAL.
    pub fn timestamp(value: u64) -> Self {
        i64::try_from(value).map_or(Cell::Real(value as f64), Cell::Integer)
    }

    /// A value of a column of type REAL, in which SQLite stores whole numbers as integers.
    /// SQLite has no NaN, so it becomes NULL.
    pub fn number(value: f64) -> Self {
        const WHOLE: f64 = (1i64 << 47) as f64;
        let is_whole = value.fract() == 0.0 && value.abs() < WHOLE;
        if value.is_nan() {
            Cell::Null
        } else if is_whole && value.to_bits() != (-0.0f64).to_bits() {
            Cell::Integer(value as i64)
        } else {
            Cell::Real(value)
        }
    }

    pub fn or_null<T: Into<i64>>(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Cell::from)
    }
}

/// A set of arguments in its compact form, with its bytes in the batch. The writing thread makes its row of `arg_set`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetRow {
    pub id: i64,
    pub start: u32,
    pub size: u32,
}

/// Rows that are handed over together. Batches go back and forth between the
/// threads, so that a row needs no allocation.
#[derive(Debug)]
pub(crate) struct Batch {
    pub bytes: Vec<u8>,
    pub packets: Vec<PacketRow>,
    /// The cells of each table's rows, one after the other, by the table's number.
    tables: Vec<Vec<Cell>>,
    cells: usize,
    sets: Vec<SetRow>,
    /// The texts that sets of this batch are the first to name.
    texts: Vec<Arc<str>>,
    /// Tables that get no more rows after this batch.
    pub complete: Vec<Complete>,
    /// Doubts about rows of earlier batches.
    pub doubts: Vec<LateDoubt>,
    /// The old and the new numbers of slices (rule RT12).
    pub renumbered: Vec<(i64, i64)>,
    /// Whether equal rectangles or transforms may have several rows (rule WS16).
    pub has_repeats: bool,
    /// The numbers of rows of the batch that may be wrong.
    pub tallies: Tallies,
}

/// A table that gets no more rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Complete {
    pub table: &'static Table,
    /// The number of its rows that wait for their time.
    pub waiting: u64,
}

impl Default for Batch {
    fn default() -> Self {
        Batch {
            bytes: Vec::new(),
            packets: Vec::new(),
            tables: tables::ALL.iter().map(|_| Vec::new()).collect(),
            cells: 0,
            sets: Vec::new(),
            texts: Vec::new(),
            complete: Vec::new(),
            doubts: Vec::new(),
            renumbered: Vec::new(),
            has_repeats: false,
            tallies: Tallies::default(),
        }
    }
}

impl Batch {
    const BYTES: usize = 128 << 10;
    const ROWS: usize = 2048;
    /// Half a megabyte.
    const CELLS: usize = 1 << 15;

    /// Adds a row of any table except `packet_record`.
    #[inline]
    pub fn push(&mut self, table: &Table, cells: &[Cell]) {
        self.cells += cells.len();
        if let Some(table) = self.tables.get_mut(table.number) {
            // A vector that doubled would have room for two batches.
            if table.capacity() - table.len() < cells.len() && table.len() >= Self::CELLS / 8 {
                table.reserve_exact(Self::CELLS + cells.len() - table.len().min(Self::CELLS));
            }
            table.extend_from_slice(cells);
        }
    }

    /// Adds a row of any table except `packet_record`.
    #[inline]
    pub fn push_row<R: Row<Cell>>(&mut self, row: R) {
        self.push(R::TABLE, row.cells().as_ref());
    }

    /// Adds a set of arguments, and the texts that nobody has sent yet.
    pub fn push_set(&mut self, id: i64, args: &[u8], texts: &[Arc<str>]) {
        self.texts.extend_from_slice(texts);
        if let Some((start, size)) = self.keep(args) {
            self.cells += tables::arg_set::TABLE.columns.len();
            self.sets.push(SetRow { id, start, size });
        }
    }

    /// Takes the sets and the new texts.
    pub fn take_sets(&mut self) -> (Vec<SetRow>, Vec<Arc<str>>) {
        (std::mem::take(&mut self.sets), std::mem::take(&mut self.texts))
    }

    /// Takes the memory of the sets back.
    pub fn return_sets(&mut self, sets: Vec<SetRow>) {
        self.sets = sets;
    }

    /// The rows of a table.
    pub fn rows(&self, table: &Table) -> impl Iterator<Item = &[Cell]> {
        let cells = self.tables.get(table.number);
        let cells = cells.map(Vec::as_slice).unwrap_or_default();
        cells.chunks_exact(table.columns.len())
    }

    /// Keeps a text for a row of this batch.
    pub fn text(&mut self, text: &str) -> Cell {
        match self.keep(text.as_bytes()) {
            Some((start, size)) => Cell::Text { start, size },
            None => Cell::Null,
        }
    }

    /// Keeps bytes for a row of this batch.
    pub fn blob(&mut self, bytes: &[u8]) -> Cell {
        match self.keep(bytes) {
            Some((start, size)) => Cell::Blob { start, size },
            None => Cell::Null,
        }
    }

    /// `None` means more than 4 GiB, which no batch comes near: a batch is handed over
    /// when it has 128 KiB, and a packet, which may be a single event, has at
    /// most 256 MiB.
    fn keep(&mut self, bytes: &[u8]) -> Option<(u32, u32)> {
        let start = u32::try_from(self.bytes.len()).ok()?;
        let size = u32::try_from(bytes.len()).ok()?;
        self.bytes.extend_from_slice(bytes);
        Some((start, size))
    }

    /// The bytes of a cell.
    pub fn kept(&self, start: u32, size: u32) -> &[u8] {
        let (start, size) = (start as usize, size as usize);
        let end = start.saturating_add(size);
        self.bytes.get(start..end).unwrap_or_default()
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= Self::BYTES
            || self.cells >= Self::CELLS
            || self.packets.len() >= Self::ROWS
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        // One huge packet must not stay in every batch's memory.
        self.bytes.shrink_to(2 * Self::BYTES);
        release_or_clear(&mut self.packets);
        release_or_clear(&mut self.sets);
        self.texts = Vec::new();
        self.cells = 0;
        self.complete.clear();
        self.doubts.clear();
        self.renumbered.clear();
        self.has_repeats = false;
        self.tallies = Tallies::default();
        for cells in &mut self.tables {
            release_or_clear(cells);
            cells.shrink_to(2 * Self::CELLS);
        }
    }
}

/// Makes a part of a batch empty. If the part was empty already, its memory is freed: its table
/// probably gets no more rows, and several batches would keep memory for all tables that ever had
/// many rows.
fn release_or_clear<T>(part: &mut Vec<T>) {
    match part.is_empty() {
        true => *part = Vec::new(),
        false => part.clear(),
    }
}

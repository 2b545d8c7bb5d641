//! Rows on their way from the decoding thread to the writing one.

use std::ops::Range;

use timebase_resolver::{Reading, SnapshotId, Source, Unresolved};
use timebase_wire::packet::PacketType;

/// What kind of packet a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowType {
    None,
    Payload(PacketType),
    /// Rule F7.
    Corrupt,
}

/// A row of `packet`, with its bytes in the batch.
#[derive(Debug, Clone)]
pub(crate) struct PacketRow {
    pub row_type: RowType,
    pub timestamp: Option<u64>,
    pub placement: Placement,
    pub seq_id: u32,
    pub machine_id: u32,
    pub uid: Option<i32>,
    pub pid: Option<i32>,
    pub offset: u64,
    /// How many bytes the packet has.
    pub size: u64,
    /// Its bytes in the batch; none if they are not kept.
    pub data: Range<usize>,
}

/// Where a packet stands in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Trace time.
    pub ts: Option<i64>,
    /// The clock it was read from.
    pub clock_id: Option<u32>,
    /// The absolute reading, in the clock's own unit.
    pub clock_ts: Option<i64>,
    pub unresolved: Option<Unresolved>,
}

/// A row of `clock_snapshot`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadingRow {
    pub ts: Option<i64>,
    pub snapshot: SnapshotId,
    pub source: Source,
    pub packet_id: u64,
    /// As recorded.
    pub timestamp: i64,
    pub reading: Reading,
}

/// How much a message of the import matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A row of `import_log`.
#[derive(Debug, Clone)]
pub(crate) struct LogRow {
    pub severity: Severity,
    pub code: &'static str,
    pub packet_id: Option<u64>,
    pub offset: Option<u64>,
    pub message: String,
}

/// A table that is filled row by row, in ascending order of its first column,
/// which is the rowid.
#[derive(Debug)]
pub(crate) struct Table {
    pub name: &'static str,
    /// All of its columns, as `schema/tables.sql` has them.
    pub columns: &'static [&'static str],
    pub indexes: &'static [Index],
}

/// The most columns that a table has.
pub(crate) const MOST_COLUMNS: usize = 16;

/// An index on numbers.
#[derive(Debug)]
pub(crate) struct Index {
    pub name: &'static str,
    pub on: On,
    pub rows: Rows,
}

/// The columns that an index is on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum On {
    One(usize),
    Two(usize, usize),
}

/// Which rows an index has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows {
    /// All. One that is NULL in the first column and not in this one may get
    /// another value when the whole trace is read (rule D2).
    All { waiting: usize },
    /// Those that are not NULL in this column.
    With(usize),
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
    /// A timestamp as recorded. SQLite has no integer for one of 2⁶³ or more;
    /// the nearest number says most.
    pub fn timestamp(value: u64) -> Self {
        i64::try_from(value).map_or(Cell::Real(value as f64), Cell::Integer)
    }

    pub fn or_null<T: Into<i64>>(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Cell::from)
    }
}

/// Rows of one table, cell after cell.
#[derive(Debug)]
pub(crate) struct TableRows {
    pub table: &'static Table,
    pub cells: Vec<Cell>,
}

/// Rows that are handed over together. Batches go back and forth between the
/// threads, so that nothing is allocated a packet.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub bytes: Vec<u8>,
    pub packets: Vec<PacketRow>,
    pub readings: Vec<ReadingRow>,
    pub log: Vec<LogRow>,
    /// Rows of importers, a table each.
    pub tables: Vec<TableRows>,
    cells: usize,
}

impl Batch {
    const BYTES: usize = 128 << 10;
    const ROWS: usize = 2048;
    /// Half a megabyte.
    const CELLS: usize = 1 << 15;

    /// Adds a row of an importer's table.
    pub fn row<const N: usize>(&mut self, table: &'static Table, row: [Cell; N]) {
        debug_assert_eq!(N, table.columns.len());
        self.cells += N;
        for rows in &mut self.tables {
            if std::ptr::eq(rows.table, table) {
                rows.cells.extend_from_slice(&row);
                return;
            }
        }
        self.tables.push(TableRows {
            table,
            cells: row.to_vec(),
        });
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

    /// `None` is beyond 4 GiB, which no batch comes near: it is handed over
    /// when it has 128 KiB, and a packet, of which one event may be all, has at
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

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= Self::BYTES
            || self.cells >= Self::CELLS
            || self.packets.len() >= Self::ROWS
            || self.readings.len() >= Self::ROWS
            || self.log.len() >= Self::ROWS
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        // One huge packet must not stay in every batch's memory.
        self.bytes.shrink_to(2 * Self::BYTES);
        self.packets.clear();
        self.readings.clear();
        self.log.clear();
        self.cells = 0;
        for rows in &mut self.tables {
            rows.cells.clear();
            rows.cells.shrink_to(2 * Self::CELLS);
        }
    }
}

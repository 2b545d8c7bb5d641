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

/// Rows that are handed over together. Batches go back and forth between the
/// threads, so that nothing is allocated a packet.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub bytes: Vec<u8>,
    pub packets: Vec<PacketRow>,
    pub readings: Vec<ReadingRow>,
    pub log: Vec<LogRow>,
}

impl Batch {
    const BYTES: usize = 256 << 10;
    const ROWS: usize = 4096;

    pub fn is_full(&self) -> bool {
        self.bytes.len() >= Self::BYTES
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
    }
}

//! What an import did.

use std::collections::BTreeMap;

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Rows of `packet`.
    pub packets: u64,
    /// Accepted snapshots.
    pub snapshots: u64,
    /// Rejected snapshots (rule N2).
    pub rejected_snapshots: u64,
    /// Rows of `clock`.
    pub clocks: u64,
    /// Rows of `sequence`.
    pub sequences: u64,
    /// Packets that have a `ts`.
    pub on_trace_time: u64,
    /// Packets that have no time of their own.
    pub without_timestamp: u64,
    /// Packets that could not be placed, by reason (rule V7).
    pub unresolved: BTreeMap<&'static str, u64>,
    /// Packets whose payload some table has, or the clocks, or facts.
    pub read: u64,
    /// Packets of which there is nothing but their rows in `packet`, by type. Those that tell of
    /// the recording itself do not count.
    pub unread: BTreeMap<String, u64>,
    /// The tables of events inside of packets.
    pub events: Vec<Events>,
    /// The clock that `ts` is on.
    pub trace_time_clock: String,
    /// The smallest `ts`.
    pub start_ts: Option<i64>,
    /// The greatest `ts`.
    pub end_ts: Option<i64>,
    /// How large the source is, in bytes.
    pub source_bytes: u64,
    /// How large the database is, in bytes.
    pub database_bytes: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How the rows of a table of events fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    /// The table or view: `ftrace_event`, `android_logs`.
    pub table: &'static str,
    /// What they are called in a summary: `kernel`, `log`.
    pub heading: &'static str,
    /// What one of them is called, in plural: `events`, `lines`.
    pub noun: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// How many of them could not be placed, by reason (rule V7).
    pub unresolved: BTreeMap<&'static str, u64>,
}

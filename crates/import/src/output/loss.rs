//! Rows of the table `loss` (rule DT1): what says that something of the recording is missing.
//!
//! # Design
//!
//! A row is the evidence, at its place in time if it has one; how much is missing by which of the
//! recorder's own counters, `stats` tells under the name that trace processor has for it (rule
//! DT2). A column for that name in `loss` was the alternative: most rows are of bundles and
//! switches, which no counter of the recorder is for.
//!
//! Whoever meets the evidence pushes the row, be it a reader, the frame or a tracker; ids are
//! dense, and their order says nothing.

use timebase_schema::tables::loss;

use super::batch::Cell;
use super::rows::Rows;
use crate::summary::LossKind;

/// A piece of evidence that something is missing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub kind: LossKind,
    /// Between which times.
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub machine: Option<u32>,
    pub ucpu: Option<u32>,
    pub seq: Option<u32>,
    pub buffer: Option<u32>,
    /// How many events, packets or chunks.
    pub count: Option<i64>,
    /// The packet that says so.
    pub packet: Option<i64>,
    /// Whether the recording was meant to lose it.
    pub is_meant: bool,
}

impl Loss {
    /// One that nothing is known of.
    pub const fn new(kind: LossKind) -> Loss {
        Loss {
            kind,
            start: None,
            end: None,
            machine: None,
            ucpu: None,
            seq: None,
            buffer: None,
            count: None,
            packet: None,
            is_meant: false,
        }
    }

    /// A number of the trace's, which may be more than a column has room for.
    pub fn counted(self, count: u64) -> Loss {
        Loss {
            count: Some(i64::try_from(count).unwrap_or(i64::MAX)),
            ..self
        }
    }

    /// Makes a row of it.
    pub fn push(self, rows: &mut Rows<'_>) {
        let id = rows.count(&loss::TABLE);
        let kind = rows.text(self.kind.name());
        let severity = rows.text(if self.is_meant { "info" } else { "data_loss" });
        rows.push(loss::Row {
            id: Cell::from(id),
            kind,
            start_ts: Cell::or_null(self.start),
            end_ts: Cell::or_null(self.end),
            machine_id: Cell::or_null(self.machine),
            ucpu: Cell::or_null(self.ucpu),
            seq_id: Cell::or_null(self.seq),
            buffer: Cell::or_null(self.buffer),
            count: Cell::or_null(self.count),
            packet_id: Cell::or_null(self.packet),
            severity,
        });
    }
}

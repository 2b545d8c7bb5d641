//! Rows of the table `loss` (rule DT1): evidence of losses in the recording.
//!
//! # Design
//!
//! A row is the evidence, at its place in time if it has one. `stats` has the size of the loss by
//! the recorder's own counters, under their names in trace processor (rule DT2). The alternative
//! was a column for that name in `loss`. But most rows are of bundles and switches, for which the
//! recorder has no counter.
//!
//! The code that finds the evidence pushes the row: a reader, the frame or a tracker. Ids are
//! dense, and their order has no meaning.

use timebase_schema::tables::loss;

use super::batch::Cell;
use super::rows::Rows;
use crate::summary::LossKind;

/// A piece of evidence of a loss.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    pub kind: LossKind,
    /// The times between which the loss is.
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub machine: Option<u32>,
    pub ucpu: Option<u32>,
    pub seq: Option<u32>,
    pub buffer: Option<u32>,
    /// The number of events, packets or chunks.
    pub count: Option<i64>,
    /// The packet with the evidence.
    pub packet: Option<i64>,
    /// Whether the recording was meant to lose them.
    pub is_meant: bool,
}

impl Loss {
    /// A loss of which only the kind is known.
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

    /// Sets a number from the trace, which may be too large for a column.
    pub fn counted(self, count: u64) -> Loss {
        Loss { count: Some(i64::try_from(count).unwrap_or(i64::MAX)), ..self }
    }

    /// Makes a row of the loss.
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

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

/// What a piece of evidence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossKind {
    /// A bundle that says so of the kernel's events before it.
    KernelEvents,
    /// An event of another thread than the one that its CPU was running.
    Switch,
    /// A packet that says so of those before it on its sequence.
    Packets,
    /// Statistics of a CPU's ring buffer in the kernel.
    KernelBuffer,
    /// Something that was asked for could not be switched on.
    Setup,
    /// Statistics of a buffer of the recorder.
    Buffer,
    /// What the recorder says of who writes into them.
    Writer,
    /// Bytes that cannot be read.
    Damage,
}

impl LossKind {
    fn name(self) -> &'static str {
        match self {
            LossKind::KernelEvents => "kernel_events",
            LossKind::Switch => "switch",
            LossKind::Packets => "packets",
            LossKind::KernelBuffer => "kernel_buffer",
            LossKind::Setup => "setup",
            LossKind::Buffer => "buffer",
            LossKind::Writer => "writer",
            LossKind::Damage => "damage",
        }
    }
}

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

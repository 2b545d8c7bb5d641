//! Times inside payloads, for a trace that is rewritten (rules RW5, RW6).
//!
//! # Design
//!
//! Each reader states by [`Reader::TIMES`](super::reader::Reader::TIMES) whether its payloads have
//! times of their own. There is no default, so a reader without this statement does not compile. If
//! its payloads have times, the reader rewrites them in
//! [`Reader::retime`](super::reader::Reader::retime), in a file next to it.
//!
//! A payload is copied as bytes around the numbers that change. The alternative was to parse it
//! into messages and to write these again. That would lose fields that are newer than the schema,
//! and the order of fields.

use timebase_descriptor::field::{Fields, Value};
use timebase_resolver::{ClockId, SeqId};
use timebase_trace::wire::packet::Header;

use crate::compact::Put;
use crate::place::{EventClock, Generation, Placement, TraceTime};

/// Whether the payloads of a reader have times besides their packet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// No times, or times relative to the packet's.
    OfPacket,
    /// Times that [`Reader::retime`](super::reader::Reader::retime) rewrites.
    Inside,
    /// No times that are converted, but a reference for relative times in other packets.
    References,
}

/// The payloads with times on a clock that the format fixes (rule RW6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fixed {
    KernelEvents,
    LogLines,
    PowerSamples,
    HeapDumps,
    StreamedSamples,
    V8Profiles,
    VulkanMemory,
}

/// A packet whose payload is rewritten.
pub(crate) struct Retimed<'a> {
    pub header: &'a Header<'a>,
    pub payload: &'a [u8],
    pub placement: Placement,
    pub generation: Generation,
    /// Whether the state of its sequence can be trusted (rule S3).
    pub is_valid: bool,
    /// Whether the packet refers to a state that was lost (rule S4).
    pub is_lost: bool,
}

/// The result for a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// The payload does not change.
    Same,
    /// The payload consists of the bytes that were written.
    Changed,
    /// The payload does not change, and the packet gets this time.
    OfPacket(TraceTime),
}

/// The times to which the deltas of a sequence are added, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct References {
    /// In the trace that is read, for track events and streamed samples.
    pub read: Option<i64>,
    /// In the trace that is written, where track events have no deltas.
    pub written: Option<i64>,
}

impl References {
    /// The times from a descriptor.
    pub fn of(time: i64) -> Self {
        References { read: Some(time), written: Some(time) }
    }
}

/// Converts the times of a packet.
pub(crate) trait Retime {
    /// A clock of the trace that is read.
    fn clock(&self, clock: Option<(ClockId, SeqId)>) -> EventClock;

    /// The trace time that an import gives a reading; `None` if it has none.
    fn time(&mut self, clock: &EventClock, timestamp: u64) -> Option<TraceTime>;

    /// The trace time that an import gives a reading without waiting for later snapshots.
    fn time_now(&mut self, clock: &EventClock, timestamp: u64) -> Option<TraceTime>;

    /// The reading to write, of a clock without a sequence, so that it leads to `ts`: of all such
    /// readings, the one nearest to the recorded reading.
    fn reading(&mut self, fixed: Fixed, clock: ClockId, recorded: u64, ts: TraceTime) -> u64;

    /// Like `reading`, for a clock that is written in units of `unit` nanoseconds.
    fn coarse(
        &mut self,
        fixed: Fixed,
        clock: ClockId,
        unit: u64,
        recorded: u64,
        ts: TraceTime,
    ) -> u64;

    /// Reports a reading without a time: it is written unchanged, and counted if the written trace
    /// gives it a time.
    fn unplaced(&mut self, fixed: Fixed, clock: (ClockId, SeqId), recorded: u64);

    /// Reports that a written reading leads this far away from its time; `None` if the distance is
    /// unknown.
    fn off(&mut self, fixed: Fixed, off: Option<u64>);

    /// The trace time that an import of the written trace gives a reading of a clock without a
    /// sequence.
    fn leads_to(&mut self, clock: ClockId, reading: u64) -> Option<TraceTime>;

    /// The known times to which the deltas of a sequence are added.
    fn references(&mut self, generation: Generation) -> &mut References;
}

/// The fields of a message up to the first that cannot be read, each with its bytes.
pub(crate) fn fields(message: &[u8]) -> impl Iterator<Item = (u32, Value<'_>, &[u8])> {
    let mut fields = Fields::new(message);
    std::iter::from_fn(move || {
        let start = fields.at();
        let (number, value) = fields.next().ok().flatten()?;
        Some((number, value, message.get(start..fields.at())?))
    })
}

/// Writes a number.
pub(crate) fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    Put(out).natural(u64::from(field) << 3).natural(value);
}

/// Writes bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    Put(out).natural(u64::from(field) << 3 | 2).bytes(bytes);
}

/// Writes a message in which one number is replaced.
pub(crate) fn put_with(out: &mut Vec<u8>, message: &[u8], field: u32, value: u64) {
    let mut is_written = false;
    for (number, old, bytes) in fields(message) {
        match old {
            Value::Varint(_) if number == field => {
                if !std::mem::replace(&mut is_written, true) {
                    put_number(out, field, value);
                }
            }
            _ => out.extend_from_slice(bytes),
        }
    }
}

//! Times inside of payloads, when a trace is rewritten (rules RW5, RW6).
//!
//! # Design
//!
//! Each reader says by [`Reader::TIMES`](super::reader::Reader::TIMES) whether its payloads have times of
//! their own; it has no default, so a reader that says nothing does not compile. One whose payloads do
//! rewrites them in [`Reader::retime`](super::reader::Reader::retime), in a file beside it.
//!
//! A payload is copied as bytes around the numbers that change. To parse it into messages and write these
//! again was the alternative; it loses fields that are newer than the schema, and the order of fields.

use timebase_descriptor::field::{Fields, Value};
use timebase_resolver::{ClockId, SeqId};
use timebase_trace::wire::packet::Header;

use crate::compact::Put;
use crate::place::{EventClock, Generation, Placement, TraceTime};

/// Whether the payloads of a reader have times of their own, beside their packet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// None, or such as are relative to the packet's.
    OfPacket,
    /// Times that [`Reader::retime`](super::reader::Reader::retime) rewrites.
    Inside,
    /// None that are converted, but what times of other packets are relative to.
    References,
}

/// What has times that are on a clock which the format fixes (rule RW6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fixed {
    KernelEvents,
    LogLines,
    PowerSamples,
    HeapDumps,
    StreamedSamples,
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
    /// Whether it refers to a state that was lost (rule S4).
    pub is_lost: bool,
}

/// What becomes of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// It stays as it is.
    Same,
    /// It has the bytes that were written.
    Changed,
    /// The same, and the packet has this time.
    OfPacket(TraceTime),
}

/// What deltas of a sequence are added to, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct References {
    /// In the trace that is read: those of track events and of streamed samples.
    pub read: Option<i64>,
    /// In the trace that is written, where track events have no deltas.
    pub written: Option<i64>,
}

impl References {
    /// What a descriptor says.
    pub fn of(time: i64) -> Self {
        References {
            read: Some(time),
            written: Some(time),
        }
    }
}

/// Who converts the times of a packet.
pub(crate) trait Retime {
    /// A clock of the trace that is read.
    fn clock(&self, clock: Option<(ClockId, SeqId)>) -> EventClock;

    /// Where an import places a reading; `None` if it cannot.
    fn time(&mut self, clock: &EventClock, timestamp: u64) -> Option<TraceTime>;

    /// The same of one that does not wait for later snapshots.
    fn time_now(&mut self, clock: &EventClock, timestamp: u64) -> Option<TraceTime>;

    /// The reading of a clock of the trace that is written, without a sequence, that leads to a time;
    /// the one nearest to what was recorded.
    fn reading(&mut self, fixed: Fixed, clock: ClockId, recorded: u64, ts: TraceTime) -> u64;

    /// The same of a clock that is written in units of so many nanoseconds.
    fn coarse(
        &mut self,
        fixed: Fixed,
        clock: ClockId,
        unit: u64,
        recorded: u64,
        ts: TraceTime,
    ) -> u64;

    /// A reading of a clock that has no time: it is written as it is, and counted if it has one then.
    fn unplaced(&mut self, fixed: Fixed, clock: (ClockId, SeqId), recorded: u64);

    /// Something was written that leads so far away from its time; `None` if nobody knows where.
    fn off(&mut self, fixed: Fixed, off: Option<u64>);

    /// Where an import of the trace that is written places a reading of a clock without a sequence.
    fn leads_to(&mut self, clock: ClockId, reading: u64) -> Option<TraceTime>;

    /// What deltas of a sequence are added to, as far as it is known.
    fn references(&mut self, generation: Generation) -> &mut References;
}

/// The fields of a message that can be read to its end, each with its bytes.
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

/// Writes a message in which a number has another value.
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

//! Rule D2: what could not be placed when it was read is tried once more, when
//! all snapshots are known.
//!
//! # Design
//!
//! Whatever waits, waits here: packets, snapshots, and rows of events, with the
//! clock and the reading that they had. Records of some ten bytes go to a spool
//! outside of memory, and come back in file order. To read the rows back from the
//! database was there before: each table had a query and a loop of its own, and
//! what is not a row, an event on its way to the timeline, had no place to wait.

use std::io;

use timebase_resolver::{Clock, Reading, Ticks, Unresolved};
use timebase_sort::Scratch;

use super::aside::{EventRow, put_clock, put_reason, take_clock, take_reason};
use super::clocks::Clocks;
use super::sequence::{SequenceIx, Sequences};
use super::time::TraceTime;
use crate::compact::{Put, Take, cut};
use crate::spool::Spool;

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingPacket {
    pub id: i64,
    pub sequence: SequenceIx,
    pub clock: Clock,
    pub clock_ts: Option<Ticks>,
    pub reason: Unresolved,
}

/// What became of something that waited.
#[derive(Debug)]
pub(crate) enum Settled<'a> {
    /// A row of `clock_snapshot`.
    Reading { id: i64, ts: TraceTime },
    /// A `clock_snapshot` packet.
    Snapshot {
        id: i64,
        result: Result<TraceTime, Option<Unresolved>>,
    },
    /// Any other packet.
    Packet {
        id: i64,
        clock_ts: Option<Ticks>,
        result: Result<TraceTime, Unresolved>,
    },
    /// A row of a table of events, or what of it is for the timeline.
    Event(SettledEvent<'a>),
}

/// An event that waited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SettledEvent<'a> {
    pub row: EventRow,
    pub clock: Option<Clock>,
    pub ticks: Option<Ticks>,
    pub result: Result<TraceTime, Unresolved>,
    /// What it is for the timeline; empty for nothing.
    pub event: &'a [u8],
}

/// What waits.
pub(crate) struct Waiting {
    spool: Spool,
    record: Vec<u8>,
}

const PACKET: u64 = 0;
const EVENT: u64 = 1;
const SNAPSHOT: u64 = 2;

impl Waiting {
    /// What does not fit memory is put aside there.
    pub fn new(scratch: &Scratch) -> Self {
        Waiting {
            spool: Spool::new(scratch),
            record: Vec::new(),
        }
    }

    fn begin(&mut self, kind: u64) -> Put<'_> {
        self.record.clear();
        let mut put = Put(&mut self.record);
        put.natural(kind);
        put
    }

    fn end(&mut self) {
        self.spool.push(&self.record);
    }

    pub fn packet(&mut self, packet: &WaitingPacket) {
        let mut put = self.begin(PACKET);
        put.integer(packet.id)
            .natural(packet.sequence.0.into())
            .optional(packet.clock_ts.map(|ticks| ticks.0));
        put_reason(&mut put, Some(packet.reason));
        put_clock(&mut put, Some(packet.clock));
        self.end();
    }

    pub fn event(
        &mut self,
        row: EventRow,
        clock: Option<Clock>,
        timestamp: u64,
        reason: Unresolved,
        event: &[u8],
    ) {
        let mut put = self.begin(EVENT);
        row.put(&mut put);
        put_reason(&mut put, Some(reason));
        put.optional(Ticks::recorded(timestamp).map(|ticks| ticks.0));
        put_clock(&mut put, clock);
        put.rest(event);
        self.end();
    }

    /// A snapshot, whose rows of `clock_snapshot` begin with `first_row`; and the
    /// packet that stands where it does, if one does.
    pub fn snapshot(
        &mut self,
        first_row: i64,
        packet: Option<(i64, SequenceIx)>,
        readings: &[Reading],
    ) {
        let mut put = self.begin(SNAPSHOT);
        put.integer(first_row)
            .optional(packet.map(|(id, _)| id))
            .natural(packet.map_or(0, |(_, sequence)| sequence.0.into()))
            .natural(readings.len() as u64);
        for reading in readings {
            put.integer(reading.value);
            put_clock(&mut put, Some(reading.clock));
        }
        self.end();
    }

    /// Tries everything once more, in the order in which it came.
    pub fn settle(
        self,
        clocks: &mut Clocks,
        sequences: &mut Sequences,
        mut each: impl FnMut(Settled<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.spool.drain(|record| {
            let mut take = Take(record);
            match take.natural()? {
                PACKET => each(settle_packet(take, clocks, sequences)?),
                EVENT => each(Settled::Event(settle_event(take, clocks)?)),
                _ => settle_snapshot(take, clocks, sequences, &mut each),
            }
        })
    }
}

/// With the clock and the reading that it had when it was read.
fn settle_packet(
    mut take: Take<'_>,
    clocks: &mut Clocks,
    sequences: &mut Sequences,
) -> io::Result<Settled<'static>> {
    let id = take.integer()?;
    let sequence = SequenceIx(take.small()?);
    let clock_ts = take.optional()?.map(Ticks);
    let was_unknown = take_reason(&mut take)? == Some(Unresolved::UnknownClock);
    let clock = take_clock(&mut take)?.ok_or_else(cut)?;
    let domain = clocks.domain(clock);
    if was_unknown && domain.is_some_and(|domain| domain.incremental) {
        // It was a delta, read before the first snapshot of its clock (V5).
        let (clock_ts, result) = (None, Err(Unresolved::NoBase));
        return Ok(Settled::Packet {
            id,
            clock_ts,
            result,
        });
    }
    let unit = clocks.unit(clock);
    let result = match clock_ts {
        Some(ticks) => clocks.resolve(clock, ticks, unit),
        None => Err(clocks.overflow(clock)),
    };
    if let Ok(ts) = result {
        sequences.get(sequence).saw(ts);
    }
    Ok(Settled::Packet {
        id,
        clock_ts,
        result,
    })
}

fn settle_event<'a>(mut take: Take<'a>, clocks: &mut Clocks) -> io::Result<SettledEvent<'a>> {
    let row = EventRow::take(&mut take)?;
    let reason = take_reason(&mut take)?.ok_or_else(cut)?;
    let ticks = take.optional()?.map(Ticks);
    let clock = take_clock(&mut take)?;
    let result = match (clock, ticks) {
        (Some(clock), Some(ticks)) if reason.may_resolve_later() => {
            let unit = clocks.unit(clock);
            clocks.resolve(clock, ticks, unit)
        }
        (Some(clock), None) if reason.may_resolve_later() => Err(clocks.overflow(clock)),
        _ => Err(reason),
    };
    Ok(SettledEvent {
        row,
        clock,
        ticks,
        result,
        event: take.rest(),
    })
}

fn settle_snapshot(
    mut take: Take<'_>,
    clocks: &mut Clocks,
    sequences: &mut Sequences,
    each: &mut impl FnMut(Settled<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let first_row = take.integer()?;
    let packet = take.optional()?;
    let sequence = SequenceIx(take.small()?);
    let count = take.natural()?;
    let mut readings = Vec::new();
    for _ in 0..count {
        let value = take.integer()?;
        readings.push(Reading {
            clock: take_clock(&mut take)?.ok_or_else(cut)?,
            value,
            unit: 1,
            incremental: false,
        });
    }
    let (times, unresolved) = clocks.place_readings(&readings);
    for (id, &ts) in (first_row..).zip(&times) {
        if let Some(ts) = ts {
            each(Settled::Reading { id, ts })?;
        }
    }
    // A pair of a bundle says nothing of its packet.
    let Some(id) = packet else { return Ok(()) };
    let result = times.first().copied().flatten().ok_or(unresolved);
    if let Ok(ts) = result {
        sequences.get(sequence).saw(ts);
    }
    each(Settled::Snapshot { id, result })
}

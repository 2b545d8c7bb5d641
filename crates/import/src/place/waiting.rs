//! Rules D2 and X29: what could not be placed when it was read is tried once more at the end of its
//! file, and again when all files are read.
//!
//! # Design
//!
//! Whatever waits, waits here: packets, snapshots, and rows of events, with the
//! clock and the reading that they had. Records of some ten bytes go to a queue
//! outside of memory, and come back in file order. To read the rows back from the
//! database was there before: each table had a query and a loop of its own, and
//! what is not a row, an event on its way to the timeline, had no place to wait.
//!
//! What still has no time at the end of its file goes to a second queue, and is settled for good when
//! that is drained; snapshots go there at once.

use std::io;

use timebase_resolver::{Clock, Reading, Ticks, Unresolved};
use timebase_store::sort::Scratch;

use super::aside::{EventRow, put_clock, put_reason, take_clock, take_reason};
use super::clocks::Clocks;
use super::parts::PartIx;
use super::sequence::{SequenceIx, Sequences};
use super::time::TraceTime;
use crate::compact::{Put, Take, cut};
use crate::spill::SpillQueue;

/// For what a time counts as one that was seen (rule O2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountsFor {
    Nothing = 0,
    /// As a packet's: for packets of its machine.
    ItsMachine = 1,
    /// As an event's: for packets of all machines.
    All = 2,
}

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingPacket {
    pub id: i64,
    pub counts: CountsFor,
    pub sequence: SequenceIx,
    pub part: PartIx,
    pub clock: Clock,
    pub clock_ts: Option<Ticks>,
    pub reason: Unresolved,
}

/// An event that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingEvent<'a> {
    pub row: EventRow,
    pub part: PartIx,
    pub clock: Option<Clock>,
    pub ticks: Option<Ticks>,
    pub reason: Unresolved,
    /// Its place on the timeline, if it keeps that of when it was read: then its time counts as one
    /// that was seen (rule O2).
    pub place: Option<u64>,
    /// What it is for the timeline; empty for nothing.
    pub event: &'a [u8],
}

/// A snapshot that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingSnapshot<'a> {
    /// The first of its rows of `clock_snapshot`.
    pub first_row: i64,
    /// The packet that stands where it does, if one does.
    pub packet: Option<(i64, SequenceIx, PartIx)>,
    pub readings: &'a [Reading],
}

/// What became of something that waited.
#[derive(Debug)]
pub(crate) enum Settled<'a> {
    /// A row of `clock_snapshot`.
    Reading { id: i64, ts: TraceTime },
    /// A `clock_snapshot` packet.
    Snapshot {
        id: i64,
        part: PartIx,
        result: Result<TraceTime, Option<Unresolved>>,
    },
    /// Any other packet.
    Packet {
        id: i64,
        part: PartIx,
        clock: Clock,
        clock_ts: Option<Ticks>,
        counts: CountsFor,
        result: Result<TraceTime, Unresolved>,
    },
    /// The clock of a packet is another than when it was read (rule X29).
    Clock { id: i64, clock: Clock },
    /// A row of a table of events, or what of it is for the timeline.
    Event(SettledEvent<'a>),
    /// A packet stands at the greatest time before it.
    Stands(Stands),
    /// What of a packet stands where that does.
    Untimed(Untimed<'a>),
}

/// A packet without a timestamp that stands behind something that waits to know trace time (rules O2,
/// X25).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stands {
    pub packet: i64,
    /// The row of its machine.
    pub machine: u32,
    /// The greatest time that was known when it was read.
    pub latest: TraceTime,
    /// Whether it is an event itself.
    pub counts: bool,
}

/// What a packet without a timestamp is for the timeline, where something before it or in it waits to
/// know trace time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Untimed<'a> {
    pub packet: i64,
    /// The greatest time that was known when it was read.
    pub latest: TraceTime,
    pub place: u64,
    pub event: &'a [u8],
}

/// An event that waited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SettledEvent<'a> {
    pub row: EventRow,
    pub clock: Option<Clock>,
    pub ticks: Option<Ticks>,
    pub result: Result<TraceTime, Unresolved>,
    /// Its place on the timeline, if it has kept one.
    pub place: Option<u64>,
    /// What it is for the timeline; empty for nothing.
    pub event: &'a [u8],
}

/// What waits.
pub(crate) struct Waiting {
    queue: SpillQueue,
    record: Vec<u8>,
}

const PACKET: u64 = 0;
const EVENT: u64 = 1;
const SNAPSHOT: u64 = 2;
const STANDS: u64 = 3;
const UNTIMED: u64 = 4;

impl Waiting {
    /// What does not fit memory is put aside there.
    pub fn new(scratch: &Scratch) -> Self {
        Waiting {
            queue: SpillQueue::new(scratch),
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
        self.queue.push(&self.record);
    }

    pub fn packet(&mut self, packet: &WaitingPacket) {
        let mut put = self.begin(PACKET);
        put.integer(packet.id)
            .natural(packet.counts as u64)
            .natural(packet.sequence.0.into())
            .natural(packet.part.0.into())
            .optional(packet.clock_ts.map(|ticks| ticks.0));
        put_reason(&mut put, Some(packet.reason));
        put_clock(&mut put, Some(packet.clock));
        self.end();
    }

    /// An event that could not be placed: its row, and what it is for the timeline.
    #[cold]
    pub fn event(&mut self, event: &WaitingEvent<'_>) {
        let mut put = self.begin(EVENT);
        event.row.put(&mut put);
        put.natural(event.part.0.into());
        put_reason(&mut put, Some(event.reason));
        put.optional(event.ticks.map(|ticks| ticks.0))
            .optional(event.place.map(|place| place as i64));
        put_clock(&mut put, event.clock);
        put.rest(event.event);
        self.end();
    }

    /// A packet has no time of its own, and stands behind that.
    #[cold]
    pub fn stands(&mut self, stands: &Stands) {
        let mut put = self.begin(STANDS);
        put.integer(stands.packet)
            .natural(stands.machine.into())
            .integer(stands.latest.0)
            .natural(stands.counts.into());
        self.end();
    }

    /// What such a packet is for the timeline.
    #[cold]
    pub fn untimed(&mut self, untimed: &Untimed<'_>) {
        let mut put = self.begin(UNTIMED);
        put.integer(untimed.packet)
            .integer(untimed.latest.0)
            .natural(untimed.place)
            .rest(untimed.event);
        self.end();
    }

    pub fn snapshot(&mut self, snapshot: &WaitingSnapshot<'_>) {
        let &WaitingSnapshot {
            first_row,
            packet,
            readings,
        } = snapshot;
        let mut put = self.begin(SNAPSHOT);
        put.integer(first_row)
            .optional(packet.map(|(id, ..)| id))
            .natural(packet.map_or(0, |(_, sequence, _)| sequence.0.into()))
            .natural(packet.map_or(0, |(.., part)| part.0.into()))
            .natural(readings.len() as u64);
        for reading in readings {
            put.integer(reading.value);
            put_clock(&mut put, Some(reading.clock));
        }
        self.end();
    }

    /// Tries everything once more, in the order in which it came. What has no time even so
    /// waits in `later`, or is settled without one if there is no later.
    pub fn settle(
        self,
        clocks: &mut Clocks,
        sequences: &mut Sequences,
        mut later: Option<&mut Waiting>,
        mut each: impl FnMut(Settled<'_>, &mut Clocks) -> io::Result<()>,
    ) -> io::Result<()> {
        self.queue.drain(|record| {
            let mut take = Take(record);
            match take.natural()? {
                PACKET => settle_packet(take, clocks, sequences, later.as_deref_mut(), &mut each),
                EVENT => settle_event(take, clocks, later.as_deref_mut(), &mut each),
                STANDS => {
                    let stands = Stands {
                        packet: take.integer()?,
                        machine: take.small()?,
                        latest: TraceTime(take.integer()?),
                        counts: take.natural()? != 0,
                    };
                    each(Settled::Stands(stands), clocks)
                }
                UNTIMED => {
                    let untimed = Untimed {
                        packet: take.integer()?,
                        latest: TraceTime(take.integer()?),
                        place: take.natural()?,
                        event: take.rest(),
                    };
                    each(Settled::Untimed(untimed), clocks)
                }
                _ => settle_snapshot(take, clocks, sequences, &mut each),
            }
        })
    }
}

/// The clock with the tag that its part has by now (rules X14, X29).
fn by_now(clocks: &Clocks, part: PartIx, clock: Clock) -> Clock {
    clocks.parts[part].clock(clock.id, clock.seq)
}

/// With the clock and the reading that it had when it was read.
fn settle_packet(
    mut take: Take<'_>,
    clocks: &mut Clocks,
    sequences: &mut Sequences,
    later: Option<&mut Waiting>,
    each: &mut impl FnMut(Settled<'_>, &mut Clocks) -> io::Result<()>,
) -> io::Result<()> {
    let id = take.integer()?;
    let counts = match take.natural()? {
        0 => CountsFor::Nothing,
        1 => CountsFor::ItsMachine,
        _ => CountsFor::All,
    };
    let sequence = SequenceIx(take.small()?);
    let part = PartIx(take.small()?);
    let clock_ts = take.optional()?.map(Ticks);
    let reason = take_reason(&mut take)?;
    let was_unknown = reason == Some(Unresolved::UnknownClock);
    let read = take_clock(&mut take)?.ok_or_else(cut)?;
    let clock = by_now(clocks, part, read);
    if clock != read {
        each(Settled::Clock { id, clock }, clocks)?;
    }
    clocks.attempt(part, clock);
    let domain = clocks.domain(clock);
    if was_unknown && domain.is_some_and(|domain| domain.incremental) {
        // It was a delta, read before the first snapshot of its clock (V5).
        let settled = Settled::Packet {
            id,
            part,
            clock,
            clock_ts: None,
            counts,
            result: Err(Unresolved::NoBase),
        };
        return each(settled, clocks);
    }
    let unit = clocks.unit(clock);
    let result = match clock_ts {
        Some(ticks) => clocks.resolve(clock, ticks, unit),
        None => Err(clocks.overflow(clock)),
    };
    match (result, later) {
        (Err(reason), Some(later)) => {
            later.packet(&WaitingPacket {
                id,
                counts: CountsFor::Nothing,
                sequence,
                part,
                clock,
                clock_ts,
                reason,
            });
            return Ok(());
        }
        (Ok(ts), _) => sequences[sequence].saw(ts),
        (Err(_), None) => {}
    }
    let settled = Settled::Packet {
        id,
        part,
        clock,
        clock_ts,
        counts,
        result,
    };
    each(settled, clocks)
}

fn settle_event(
    mut take: Take<'_>,
    clocks: &mut Clocks,
    later: Option<&mut Waiting>,
    each: &mut impl FnMut(Settled<'_>, &mut Clocks) -> io::Result<()>,
) -> io::Result<()> {
    let row = EventRow::take(&mut take)?;
    let part = PartIx(take.small()?);
    let reason = take_reason(&mut take)?.ok_or_else(cut)?;
    let ticks = take.optional()?.map(Ticks);
    let place = take.optional()?.map(|place| place as u64);
    let read = take_clock(&mut take)?;
    let clock = read.map(|clock| by_now(clocks, part, clock));
    let may_change = reason.may_resolve_later();
    let result = match clock.filter(|_| may_change) {
        Some(clock) => {
            clocks.attempt(part, clock);
            match ticks {
                Some(ticks) => {
                    let unit = clocks.unit(clock);
                    clocks.resolve(clock, ticks, unit)
                }
                None => Err(clocks.overflow(clock)),
            }
        }
        None => Err(reason),
    };
    let event = take.rest();
    match (result, later) {
        (Err(reason), Some(later)) => {
            later.event(&WaitingEvent {
                row,
                part,
                clock,
                ticks,
                reason,
                place,
                event,
            });
            Ok(())
        }
        _ => {
            let settled = SettledEvent {
                row,
                clock,
                ticks,
                result,
                place,
                event,
            };
            each(Settled::Event(settled), clocks)
        }
    }
}

fn settle_snapshot(
    mut take: Take<'_>,
    clocks: &mut Clocks,
    sequences: &mut Sequences,
    each: &mut impl FnMut(Settled<'_>, &mut Clocks) -> io::Result<()>,
) -> io::Result<()> {
    let first_row = take.integer()?;
    let packet = take.optional()?;
    let sequence = SequenceIx(take.small()?);
    let part = PartIx(take.small()?);
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
    let result = times.first().copied().flatten().ok_or(unresolved);
    for (id, &ts) in (first_row..).zip(&times) {
        if let Some(ts) = ts {
            each(Settled::Reading { id, ts }, clocks)?;
        }
    }
    // A pair of a bundle says nothing of its packet.
    let Some(id) = packet else { return Ok(()) };
    if let Ok(ts) = result {
        sequences[sequence].saw(ts);
    }
    each(Settled::Snapshot { id, part, result }, clocks)
}

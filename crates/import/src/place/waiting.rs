//! Everything that cannot be placed when it is read. It is tried again at the end of its file, and
//! once more when all files are read (rules D2 and X29).
//!
//! # Design
//!
//! Packets, snapshots and rows of events all wait here, with the clock and the reading that they
//! had. Records of some ten bytes go to a queue outside of memory, and come back in file order. The
//! former method was to read the rows back from the database. Then each table had its own query and
//! loop, and an event on its way to the timeline had no place to wait, because it is not a row.
//!
//! Records that still have no time at the end of their file go to a second queue. They are settled
//! for good when the second queue is drained. Snapshots go to the second queue at once.

use std::io;

use timebase_resolver::{Clock, Reading, Ticks, Unresolved};
use timebase_store::sort::Scratch;

use super::aside::EventRow;
use super::clocks::Clocks;
use super::parts::PartIx;
use super::sequence::{SequenceIx, Sequences};
use super::time::TraceTime;
use crate::compact::{Compact, Put, Take, cut, records};
use crate::spill::SpillQueue;

/// The packets for which a time counts as seen (rule O2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountsFor {
    Nothing = 0,
    /// The time of a packet: it counts for packets of its machine.
    ItsMachine = 1,
    /// The time of an event: it counts for packets of all machines.
    All = 2,
}

impl Compact<'_> for CountsFor {
    fn put(&self, put: &mut Put<'_>) {
        put.natural(*self as u64);
    }

    fn take(take: &mut Take<'_>) -> io::Result<Self> {
        match take.natural()? {
            0 => Ok(CountsFor::Nothing),
            1 => Ok(CountsFor::ItsMachine),
            2 => Ok(CountsFor::All),
            _ => Err(cut()),
        }
    }
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
    /// Its place on the timeline, if it keeps the place from when it was read. Then its time counts
    /// as seen (rule O2).
    pub place: Option<u64>,
    /// Its form for the timeline; empty if the timeline does not need it.
    pub event: &'a [u8],
}

/// A snapshot that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingSnapshot<'a> {
    /// The id of its first row in `clock_snapshot`.
    pub first_row: i64,
    /// The packet that has the snapshot's time, if there is one.
    pub packet: Option<PacketOfSnapshot>,
    pub readings: &'a [Reading],
}

/// The packet that has a snapshot's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketOfSnapshot {
    pub id: i64,
    pub sequence: SequenceIx,
    pub part: PartIx,
}

/// The result for a record that waited.
#[derive(Debug)]
pub(crate) enum Settled<'a> {
    /// A row of `clock_snapshot`.
    Reading { id: i64, ts: TraceTime },
    /// A `clock_snapshot` packet.
    Snapshot { id: i64, part: PartIx, result: Result<TraceTime, Option<Unresolved>> },
    /// Any other packet.
    Packet {
        id: i64,
        part: PartIx,
        clock: Clock,
        clock_ts: Option<Ticks>,
        counts: CountsFor,
        result: Result<TraceTime, Unresolved>,
    },
    /// The clock of a packet is not the one from when it was read (rule X29).
    Clock { id: i64, clock: Clock },
    /// A row of a table of events, or its event for the timeline.
    Event(SettledEvent<'a>),
    /// A packet that gets the greatest time before it.
    UntimedPacket(UntimedPacket),
    /// An event that gets the time of its packet, which has none of its own.
    Untimed(Untimed<'a>),
}

/// A packet without a timestamp, after something that waits for trace time to be known (rules O2,
/// X25).
#[derive(Debug, Clone, Copy)]
pub(crate) struct UntimedPacket {
    pub packet: i64,
    /// The row of its machine.
    pub machine: u32,
    /// The greatest time that was known when the packet was read.
    pub latest: TraceTime,
    /// Whether the packet is an event itself.
    pub counts: bool,
}

/// The event of a packet without a timestamp, if something before the packet or in it waits for
/// trace time to be known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Untimed<'a> {
    pub packet: i64,
    /// The greatest time that was known when the packet was read.
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
    /// Its place on the timeline, if it has kept its place.
    pub place: Option<u64>,
    /// Its form for the timeline; empty if the timeline does not need it.
    pub event: &'a [u8],
}

records! {
    WaitingPacket { id, counts, sequence, part, clock_ts, reason, clock }
    WaitingEvent<'a> { row, part, reason, ticks, place, clock, event }
    PacketOfSnapshot { id, sequence, part }
    UntimedPacket { packet, machine, latest, counts }
    Untimed<'a> { packet, latest, place, event }
}

/// The queue of everything that waits.
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
    /// The queue goes to `scratch` if it does not fit into memory.
    pub fn new(scratch: &Scratch) -> Self {
        Waiting { queue: SpillQueue::new(scratch), record: Vec::new() }
    }

    fn push<'a>(&mut self, kind: u64, record: &impl Compact<'a>) {
        self.record.clear();
        let mut put = Put(&mut self.record);
        put.natural(kind);
        record.put(&mut put);
        self.queue.push(&self.record);
    }

    pub fn packet(&mut self, packet: &WaitingPacket) {
        self.push(PACKET, packet);
    }

    /// Adds an event without a time: its row, and its form for the timeline.
    #[cold]
    pub fn event(&mut self, event: &WaitingEvent<'_>) {
        self.push(EVENT, event);
    }

    /// Adds a packet without a timestamp, which gets the greatest time before it.
    #[cold]
    pub fn stands(&mut self, stands: &UntimedPacket) {
        self.push(STANDS, stands);
    }

    /// Adds the event of a packet without a timestamp.
    #[cold]
    pub fn untimed(&mut self, untimed: &Untimed<'_>) {
        self.push(UNTIMED, untimed);
    }

    pub fn snapshot(&mut self, snapshot: &WaitingSnapshot<'_>) {
        let &WaitingSnapshot { first_row, packet, readings } = snapshot;
        self.record.clear();
        let mut put = Put(&mut self.record);
        put.natural(SNAPSHOT);
        first_row.put(&mut put);
        packet.put(&mut put);
        put.natural(readings.len() as u64);
        for reading in readings {
            reading.value.put(&mut put);
            reading.clock.put(&mut put);
        }
        self.queue.push(&self.record);
    }

    /// Tries everything again, in the order in which it was added. Records that still have no time
    /// wait in `later`; without `later`, they are settled without a time.
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
                    let stands = UntimedPacket::take(&mut take)?;
                    each(Settled::UntimedPacket(stands), clocks)
                }
                UNTIMED => each(Settled::Untimed(Untimed::take(&mut take)?), clocks),
                _ => settle_snapshot(take, clocks, sequences, &mut each),
            }
        })
    }
}

/// Whether a record waits until all files are read: it is on the own clock of a file in JSON (rule JS31), and there are
/// more files.
fn waits_for_all(clocks: &Clocks, part: PartIx, are_more: bool) -> bool {
    are_more && clocks.parts[part].json.is_some()
}

/// The clock with the current tag of its part (rules X14, X29).
fn by_now(clocks: &Clocks, part: PartIx, clock: Clock) -> Clock {
    clocks.parts[part].clock(clock.id, clock.seq)
}

/// Settles a packet, with the clock and the reading that it had when it was read.
fn settle_packet(
    mut take: Take<'_>,
    clocks: &mut Clocks,
    sequences: &mut Sequences,
    later: Option<&mut Waiting>,
    each: &mut impl FnMut(Settled<'_>, &mut Clocks) -> io::Result<()>,
) -> io::Result<()> {
    let packet = WaitingPacket::take(&mut take)?;
    let WaitingPacket { id, counts, sequence, part, clock: read, clock_ts, reason } = packet;
    let was_unknown = reason == Unresolved::UnknownClock;
    let clock = by_now(clocks, part, read);
    if clock != read {
        each(Settled::Clock { id, clock }, clocks)?;
    }
    if !waits_for_all(clocks, part, later.is_some()) {
        clocks.attempt(part, clock);
    }
    let unit = clocks.unit_of(clock);
    if was_unknown && unit.is_some_and(|unit| unit.incremental) {
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
        _ if waits_for_all(clocks, part, later.is_some()) => Err(Unresolved::NoPath),
        Some(ticks) => clocks.resolve(clock, ticks, unit),
        None => Err(clocks.overflow(clock)),
    };
    match (result, later) {
        (Err(reason), Some(later)) => {
            let counts = CountsFor::Nothing;
            later.packet(&WaitingPacket { counts, clock, reason, ..packet });
            return Ok(());
        }
        (Ok(ts), _) => sequences[sequence].saw(ts),
        (Err(_), None) => {}
    }
    let settled = Settled::Packet { id, part, clock, clock_ts, counts, result };
    each(settled, clocks)
}

fn settle_event(
    mut take: Take<'_>,
    clocks: &mut Clocks,
    later: Option<&mut Waiting>,
    each: &mut impl FnMut(Settled<'_>, &mut Clocks) -> io::Result<()>,
) -> io::Result<()> {
    let waiting = WaitingEvent::take(&mut take)?;
    let WaitingEvent { row, part, clock: read, ticks, reason, place, event } = waiting;
    let clock = read.map(|clock| by_now(clocks, part, clock));
    let may_change = reason.may_resolve_later();
    let result = match clock.filter(|_| may_change) {
        Some(_) if waits_for_all(clocks, part, later.is_some()) => Err(reason),
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
    match (result, later) {
        (Err(reason), Some(later)) => {
            later.event(&WaitingEvent { clock, reason, ..waiting });
            Ok(())
        }
        _ => {
            let settled = SettledEvent { row, clock, ticks, result, place, event };
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
    let first_row = i64::take(&mut take)?;
    let packet: Option<PacketOfSnapshot> = Compact::take(&mut take)?;
    let count = take.natural()?;
    let mut readings = Vec::new();
    for _ in 0..count {
        let value = i64::take(&mut take)?;
        let clock = Clock::take(&mut take)?;
        readings.push(Reading { clock, value, unit: 1, incremental: false });
    }
    let (times, unresolved) = clocks.place_readings(&readings);
    let result = times.first().copied().flatten().ok_or(unresolved);
    for (id, &ts) in (first_row..).zip(&times) {
        if let Some(ts) = ts {
            each(Settled::Reading { id, ts }, clocks)?;
        }
    }
    // A snapshot in a bundle does not change the bundle's packet.
    let Some(PacketOfSnapshot { id, sequence, part }) = packet else { return Ok(()) };
    if let Ok(ts) = result {
        sequences[sequence].saw(ts);
    }
    each(Settled::Snapshot { id, part, result }, clocks)
}

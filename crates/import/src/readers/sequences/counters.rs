//! Values of counters: the values of an event (rules E15, E17), and their sums
//! (rule E16).
//!
//! # Design
//!
//! Values are summed in the order of the file, and the descriptor that says whether a counter is
//! incremental may come after them. So an event is held if one of its counters has no descriptor
//! yet: it is put aside with its place in the file, as are all later events with values in the same
//! generation of the sequence. After the whole trace was read, their values are summed, and the
//! events take their places. It would be simpler to hold all events with values, but each value
//! would be written twice; the descriptor nearly always comes first.

use std::io;

use rustc_hash::FxHashMap;
use timebase_schema::fields::track_event as field;
use timebase_store::sort::Scratch;
use timebase_trace::Interval;

use super::defaults::Defaults;
use super::event::RawTrackEvent;
use crate::compact::{Put, Take, cut};
use crate::definitions::Uuids;
use crate::output::{Cause, Counter, Example, Fault, Faults, PARSER_ERROR};
use crate::place::{Generation, PartIx, TraceTime};
use crate::readers::packet::PlacedPacket;
use crate::spill::SpillQueue;
use crate::timeline::{Timeline, TrackEvent, UuidIx, Values};

/// The largest number of values of an event, in addition to its own.
const MOST: usize = 8;

/// The reason to drop the values of an event, and so the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wrong {
    MissingUuid,
    MissingValue,
    NoCounter,
    MoreWithoutUuids,
    Mismatch,
    TooMany,
    MoreNoCounter,
}

impl Wrong {
    const ALL: [Wrong; 7] = [
        Wrong::MissingUuid,
        Wrong::MissingValue,
        Wrong::NoCounter,
        Wrong::MoreWithoutUuids,
        Wrong::Mismatch,
        Wrong::TooMany,
        Wrong::MoreNoCounter,
    ];

    fn fault(self) -> Fault {
        match self {
            Wrong::MissingUuid => Fault::new(
                Counter::error(
                    "track_event_counter_missing_track_uuid",
                    "a counter event that names no track is dropped",
                )
                .drops(Cause::NoTrackUuid),
            ),
            Wrong::MissingValue => Fault::new(
                Counter::error(
                    "track_event_counter_missing_value",
                    "a counter event without a value is dropped",
                )
                .drops(Cause::NoValue),
            ),
            Wrong::NoCounter => Fault::new(
                Counter::error(
                    "track_event_counter_invalid_track_uuid",
                    "a counter event on a track without a counter descriptor is dropped",
                )
                .drops(Cause::NotACounter),
            ),
            Wrong::MoreWithoutUuids => Fault::new(
                Counter::error(
                    "track_event_extra_counter_missing_track_uuids",
                    "a track event with extra counter values but no tracks for them is \
                 dropped",
                )
                .drops(Cause::ExtraValues),
            ),
            Wrong::Mismatch => Fault::new(
                Counter::error(
                    "track_event_extra_counter_track_uuid_mismatch",
                    "a track event with more extra counter values than tracks for them \
                 is dropped",
                )
                .drops(Cause::ExtraValues),
            ),
            Wrong::TooMany => Fault::new(
                Counter::error(
                    "track_event_extra_counter_exceeds_max",
                    "a track event with more than 8 extra counter values is dropped",
                )
                .drops(Cause::ExtraValues),
            ),
            Wrong::MoreNoCounter => Fault::new(
                Counter::error(
                    "track_event_extra_counter_invalid_track",
                    "a track event with an extra value for a track without a counter \
                 descriptor is dropped",
                )
                .drops(Cause::ExtraValues),
            ),
        }
    }
}

/// The sums of counters in a generation of a sequence, and whether events with values are
/// held there.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    of: FxHashMap<UuidIx, f64>,
    holds: bool,
}

impl Sums {
    /// The result of a value of a counter (rule E16); `None` if the uuid is not a counter's.
    fn add(&mut self, uuid: UuidIx, value: f64, uuids: &Uuids) -> Option<f64> {
        let counter = uuids.counter(uuid)?;
        let value = counter.scale(value);
        if !counter.is_incremental {
            return Some(value);
        }
        let sum = self.of.entry(uuid).or_insert(0.0);
        *sum += value;
        Some(*sum)
    }

    /// Replaces all values of an event by their results, or returns the first fault, after which
    /// nothing is summed.
    fn add_all(&mut self, read: &mut EventValues, uuids: &Uuids) -> Result<(), Wrong> {
        if let Some((uuid, value)) = &mut read.own {
            *value = self.add(*uuid, *value, uuids).ok_or(Wrong::NoCounter)?;
        }
        for (uuid, value) in &mut read.more {
            let sum = self.add(*uuid, *value, uuids);
            *value = sum.ok_or(Wrong::MoreNoCounter)?;
        }
        read.wrong.map_or(Ok(()), Err)
    }
}

/// The values of an event as they are recorded, up to the first fault.
#[derive(Debug, Default)]
pub(crate) struct EventValues {
    pub own: Option<(UuidIx, f64)>,
    pub more: Vec<(UuidIx, f64)>,
    wrong: Option<Wrong>,
    /// The generation of their sequence.
    generation: Generation,
    /// Whether their results will be known later.
    pub is_held: bool,
}

impl EventValues {
    /// Reads the values of an event.
    pub fn read(
        &mut self,
        event: &RawTrackEvent<'_>,
        is_counter: bool,
        part: PartIx,
        defaults: &Defaults,
        uuids: &mut Uuids,
    ) {
        if is_counter {
            let uuid = event.track_uuid.or(defaults.track_uuid());
            match (uuid, event.counted()) {
                (None, _) => self.wrong = Some(Wrong::MissingUuid),
                (Some(_), None) => self.wrong = Some(Wrong::MissingValue),
                (Some(uuid), Some(value)) => {
                    self.own = Some((uuids.number(part, uuid), value));
                }
            }
        }
        if event.has_more_values && self.wrong.is_none() {
            let integers = event.message.numbers(field::EXTRA_COUNTER_VALUES);
            let integers = integers.map(|value| value as i64 as f64);
            let doubles = event.message.fixed(field::EXTRA_DOUBLE_COUNTER_VALUES);
            let doubles = doubles.map(f64::from_bits);
            let own = event.message.numbers(field::EXTRA_COUNTER_TRACK_UUIDS);
            self.list(integers, own, defaults.more_uuids(), part, uuids);
            let own = event.message.numbers(field::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS);
            self.list(doubles, own, defaults.more_double_uuids(), part, uuids);
        }
    }

    /// Removes all values, for an event in a generation of its sequence.
    pub fn clear(&mut self, generation: Generation) {
        self.own = None;
        self.more.clear();
        self.wrong = None;
        self.generation = generation;
        self.is_held = false;
    }

    /// Pairs values with the event's own uuids, or else with the uuids of the defaults.
    fn list(
        &mut self,
        values: impl Iterator<Item = f64>,
        own: impl Iterator<Item = u64>,
        defaults: &[u64],
        part: PartIx,
        uuids: &mut Uuids,
    ) {
        let mut own = own.peekable();
        let mut defaults = defaults.iter().copied();
        let paired: &mut dyn Iterator<Item = u64> = match own.peek() {
            Some(_) => &mut own,
            None => &mut defaults,
        };
        let (mut paired, mut values) = (paired.peekable(), values.peekable());
        if values.peek().is_some() && paired.peek().is_none() {
            self.wrong = self.wrong.or(Some(Wrong::MoreWithoutUuids));
        }
        for value in values {
            if self.wrong.is_some() {
                return;
            }
            match paired.next() {
                None | Some(0) => self.wrong = Some(Wrong::Mismatch),
                Some(_) if self.more.len() >= MOST => self.wrong = Some(Wrong::TooMany),
                Some(uuid) => self.more.push((uuids.number(part, uuid), value)),
            }
        }
    }

    /// Sums the values. The event is held instead if it waits for its time, if one of its
    /// counters has no descriptor yet, or if an earlier event is held.
    ///
    /// # Errors
    ///
    /// The reason to drop the event.
    pub fn sum(&mut self, sums: &mut Sums, uuids: &Uuids, waits: bool) -> Result<(), Fault> {
        if waits || sums.holds || !self.is_described(uuids) {
            sums.holds = true;
            self.is_held = true;
            return Ok(());
        }
        sums.add_all(self, uuids).map_err(Wrong::fault)
    }

    /// Whether all counters have descriptors already.
    fn is_described(&self, uuids: &Uuids) -> bool {
        let mut all = self.own.iter().chain(&self.more);
        all.all(|(uuid, _)| uuids.descriptor(*uuid).is_some())
    }
}

/// Events with values whose sums are not known yet.
pub(crate) struct HeldValues {
    held: SpillQueue,
    is_holding: bool,
    /// The sums of generations in which events are held, before the first held event.
    sums: FxHashMap<Generation, Sums>,
    record: Vec<u8>,
}

impl HeldValues {
    pub fn new(scratch: &Scratch) -> Self {
        HeldValues {
            held: SpillQueue::new(scratch),
            is_holding: false,
            sums: FxHashMap::default(),
            record: Vec::new(),
        }
    }

    /// Ends a generation of a sequence.
    pub fn keep(&mut self, generation: Generation, sums: &mut Option<Box<Sums>>) {
        if let Some(sums) = sums.take()
            && sums.holds
        {
            self.sums.insert(generation, *sums);
        }
    }

    /// Holds an event that has its place in the timeline.
    pub fn hold(&mut self, ts: TraceTime, place: u64, read: &EventValues, event: &TrackEvent<'_>) {
        self.is_holding = true;
        self.record.clear();
        let mut put = Put(&mut self.record);
        put.integer(ts.0).natural(place);
        write_held(read, Fate::Kept, event, &mut put);
        self.held.push(&self.record);
    }

    /// Holds the values of a dropped event, which it adds to the sums.
    pub fn hold_dropped(&mut self, ts: TraceTime, read: &EventValues, packet: &PlacedPacket<'_>) {
        self.is_holding = true;
        self.record.clear();
        let mut put = Put(&mut self.record);
        put.integer(ts.0).natural(0);
        write_dropped(read, packet, &mut put);
        self.held.push(&self.record);
    }

    /// Writes the record of an event that waits for the time of its packet. `own` is the
    /// event's own time, if it has one.
    pub fn waiting(
        &self,
        own: Option<TraceTime>,
        read: &EventValues,
        event: &TrackEvent<'_>,
        out: &mut Vec<u8>,
    ) {
        out.clear();
        let mut put = Put(out);
        put.natural(HELD).optional(own.map(|TraceTime(ts)| ts));
        write_held(read, Fate::Kept, event, &mut put);
    }

    /// Writes the record of such an event that is dropped.
    pub fn waiting_dropped(
        &self,
        own: Option<TraceTime>,
        read: &EventValues,
        packet: &PlacedPacket<'_>,
        out: &mut Vec<u8>,
    ) {
        out.clear();
        let mut put = Put(out);
        put.natural(HELD).optional(own.map(|TraceTime(ts)| ts));
        write_dropped(read, packet, &mut put);
    }

    /// Gives all held events to the timeline, after the descriptors of all counters are known.
    pub fn release(
        &mut self,
        uuids: &Uuids,
        timeline: &mut Timeline,
        faults: &mut Faults,
    ) -> io::Result<()> {
        if !self.is_holding {
            return Ok(());
        }
        let held = self.held.replace();
        let mut out = Vec::new();
        held.drain(|record| {
            let mut take = Take(record);
            let (ts, place) = (TraceTime(take.integer()?), take.natural()?);
            if self.settle((take, ts), uuids, faults, &mut out)? {
                timeline.push_at(ts, place, &out);
            }
            Ok(())
        })
    }

    /// Writes an event that waited to `out`, after its packet got a time. Returns the event's time,
    /// or `None` if the event is dropped.
    pub fn settled(
        &mut self,
        record: &[u8],
        ts: TraceTime,
        uuids: &Uuids,
        faults: &mut Faults,
        out: &mut Vec<u8>,
    ) -> io::Result<Option<TraceTime>> {
        let mut take = Take(record);
        take.natural()?;
        let own = take.optional()?.map(TraceTime);
        let is_kept = self.settle((take, own.unwrap_or(ts)), uuids, faults, out)?;
        Ok(is_kept.then_some(own.unwrap_or(ts)))
    }

    fn settle(
        &mut self,
        (mut take, ts): (Take<'_>, TraceTime),
        uuids: &Uuids,
        faults: &mut Faults,
        out: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let generation = Generation {
            interval: Interval { sequence: take.small()?, cleared: take.small()? },
            lost: take.small()?,
            lossy: take.natural()? != 0,
        };
        let wrong = match take.natural()? {
            0 => None,
            number => Some(*Wrong::ALL.get(number as usize - 1).ok_or_else(cut)?),
        };
        let is_dropped = take.natural()? == Fate::Dropped as u64;
        // This uuid may differ from the uuid of the event's track (rule L2).
        let own = match take.natural()? {
            0 => None,
            number => Some(UuidIx(u32::try_from(number - 1).map_err(|_| cut())?)),
        };
        let of = (PartIx(take.small()?), take.small()?);
        let mut event = TrackEvent::take(of, take)?;
        let mut read = EventValues {
            own: own.zip(event.value),
            more: event.more_values.iter().collect(),
            wrong,
            generation,
            is_held: false,
        };
        let sums = self.sums.entry(generation).or_default();
        if let Err(wrong) = sums.add_all(&mut read, uuids) {
            drop_event(wrong.fault(), (ts, generation, own), &event, uuids, faults);
            return Ok(false);
        }
        if is_dropped {
            let fault = PARSER_ERROR.dropping(Cause::NoThread);
            drop_event(fault, (ts, generation, own), &event, uuids, faults);
            return Ok(false);
        }
        event.value = read.own.map(|(_, value)| value);
        let mut more = Vec::new();
        event.more_values = Values::write(&read.more, &mut more);
        event.write(out);
        Ok(true)
    }
}

/// Drops an event, which is a value of the counter `own` if it is one.
#[cold]
fn drop_event(
    fault: Fault,
    (ts, generation, own): (TraceTime, Generation, Option<UuidIx>),
    event: &TrackEvent<'_>,
    uuids: &Uuids,
    faults: &mut Faults,
) {
    let example = || {
        let uuid = own.or(event.uuid);
        let (pid, tid) = uuids.ids(uuid, event.thread);
        let name = uuid.and_then(|uuid| uuids.descriptor(uuid)?.name());
        Example {
            packet: Some(event.packet),
            ts: Some(ts.0),
            name: name.map(str::to_owned),
            pid,
            tid,
        }
    };
    let sequence = generation.interval.sequence;
    faults.add_event(fault, event.packet, Some(sequence), example);
}

/// The first number in the record of a track event that waits for its packet's time. No record of
/// `Event` begins with it.
const HELD: u64 = 127;

/// Whether a record that waits for a packet's time is a track event.
pub(in crate::readers) fn is_held(record: &[u8]) -> bool {
    record.first().copied().map(u64::from) == Some(HELD)
}

/// Whether an event is kept after its values were summed.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Kept,
    Dropped,
}

fn write_held(read: &EventValues, fate: Fate, event: &TrackEvent<'_>, put: &mut Put<'_>) {
    let generation = read.generation;
    put.natural(generation.interval.sequence.into())
        .natural(generation.interval.cleared.into())
        .natural(generation.lost.into())
        .natural(generation.lossy.into())
        .natural(read.wrong.map_or(0, |wrong| wrong as u64 + 1))
        .natural(fate as u64)
        .natural(read.own.map_or(0, |(UuidIx(uuid), _)| u64::from(uuid) + 1))
        .natural(event.part.0.into())
        .natural(event.machine.into());
    event.put(put);
}

/// Writes a dropped event, which only has its values.
fn write_dropped(read: &EventValues, packet: &PlacedPacket<'_>, put: &mut Put<'_>) {
    let mut more = Vec::new();
    let event = TrackEvent {
        value: read.own.map(|(_, value)| value),
        more_values: Values::write(&read.more, &mut more),
        ..TrackEvent::empty((packet.part, packet.machine), packet.id)
    };
    write_held(read, Fate::Dropped, &event, put);
}

//! Rewrites the times of a bundle's events for a trace that is written: on BOOTTIME, whichever
//! clock they were read from (rule RW5).

use timebase_descriptor::field::Value;
use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::{
    ftrace_event, ftrace_event_bundle as field, ftrace_event_bundle_compact_sched as column,
};

use super::bundle::{Bundle, RawFtraceEvent, clock_of};
use crate::compact::Put;
use crate::message::Message;
use crate::place::{EventClock, TraceTime};
use crate::readers::retiming::{
    Fixed, Retime, Retimed, Rewritten, fields, put_bytes, put_number, put_with,
};

/// The readings to write for a bundle, of each encoding in file order.
#[derive(Default)]
struct Readings {
    switches: Vec<u64>,
    wakings: Vec<u64>,
    /// `None` for an event that does not change.
    events: Vec<Option<u64>>,
    has_changed: bool,
    has_placed: bool,
    /// The recorded readings without a time.
    unplaced: Vec<u64>,
}

impl Readings {
    /// The reading to write. A reading without a time does not change.
    fn of(&mut self, recorded: u64, clock: &EventClock, to: &mut impl Retime) -> u64 {
        let Some(ts) = to.time(clock, recorded) else {
            self.unplaced.push(recorded);
            return recorded;
        };
        self.has_placed = true;
        let reading = written(recorded, ts, to);
        self.has_changed |= reading != recorded;
        reading
    }
}

fn written(recorded: u64, ts: TraceTime, to: &mut impl Retime) -> u64 {
    to.reading(Fixed::KernelEvents, ClockId::BOOTTIME, recorded, ts)
}

pub(super) fn retime(
    bundle: &Bundle<'_>,
    packet: &Retimed<'_>,
    to: &mut impl Retime,
    out: &mut Vec<u8>,
) -> Rewritten {
    let clock = to.clock(clock_of(packet.header, bundle.clock));
    // The import converts it first (rule O6).
    let begins = bundle.begins.map(|begins| (begins, to.time(&clock, begins)));
    // The order does not matter: all events read one clock, with the same snapshots.
    let mut readings = Readings::default();
    for &timestamp in bundle.columns.switch_timestamps() {
        let reading = readings.of(timestamp, &clock, to);
        readings.switches.push(reading);
    }
    for &timestamp in bundle.columns.waking_timestamps() {
        let reading = readings.of(timestamp, &clock, to);
        readings.wakings.push(reading);
    }
    for event in bundle.events() {
        let timestamp = RawFtraceEvent::parse(event).ok().and_then(|event| event.timestamp);
        let reading = timestamp.map(|timestamp| (timestamp, readings.of(timestamp, &clock, to)));
        let changed = reading.filter(|(recorded, reading)| recorded != reading);
        readings.events.push(changed.map(|(_, reading)| reading));
    }
    let is_unplaced = !readings.has_placed && !readings.unplaced.is_empty();
    let written_on = match is_unplaced {
        true => clock_of(packet.header, bundle.clock),
        false => Some((ClockId::BOOTTIME, SeqId(0))),
    };
    if let Some(clock) = written_on {
        for &recorded in &readings.unplaced {
            to.unplaced(Fixed::KernelEvents, clock, recorded);
        }
    }
    let mut marks = Marks { begins, clock, has_changed: false };
    let (mut has_clock, mut has_pair) = (false, false);
    let mut marked = Vec::new();
    for (number, value, _) in fields(packet.payload) {
        has_clock |= number == field::FTRACE_CLOCK;
        has_pair |= is_of_pair(number);
        if let Some(mark) = mark(number, value) {
            marked.push(marks.of(mark, to));
        }
    }
    if is_unplaced {
        if !has_pair {
            return Rewritten::Same;
        }
        let others = fields(packet.payload).filter(|(number, ..)| !is_of_pair(*number));
        others.for_each(|(.., bytes)| out.extend_from_slice(bytes));
        return Rewritten::Changed;
    }
    if !(readings.has_changed || marks.has_changed || has_clock || has_pair) {
        return Rewritten::Same;
    }
    write(packet.payload, &readings, &marked, out);
    Rewritten::Changed
}

/// Whether a field of a bundle is a reading of its pair of clocks.
fn is_of_pair(number: u32) -> bool {
    matches!(number, field::FTRACE_TIMESTAMP | field::BOOT_TIMESTAMP)
}

/// The time when a bundle's buffer was read before, if the field has it.
fn mark(number: u32, value: Value<'_>) -> Option<u64> {
    match (number, value) {
        (
            field::LAST_READ_EVENT_TIMESTAMP | field::PREVIOUS_BUNDLE_END_TIMESTAMP,
            Value::Varint(mark),
        ) => Some(mark),
        _ => None,
    }
}

/// A bundle's statements about the previous bundle.
struct Marks {
    /// The time that the import reads, which is already converted.
    begins: Option<(u64, Option<TraceTime>)>,
    clock: EventClock,
    has_changed: bool,
}

impl Marks {
    /// The reading to write for such a time; `None` if it has no trace time.
    fn of(&mut self, recorded: u64, to: &mut impl Retime) -> Option<u64> {
        let ts = match self.begins {
            Some((begins, ts)) if begins == recorded => ts,
            _ => to.time(&self.clock, recorded),
        };
        let reading = ts.map(|ts| written(recorded, ts, to));
        self.has_changed |= reading != Some(recorded);
        reading
    }
}

fn write(bundle: &[u8], readings: &Readings, marks: &[Option<u64>], out: &mut Vec<u8>) {
    let mut events = readings.events.iter();
    let mut marks = marks.iter();
    let mut switches = Column::new(&readings.switches);
    let mut wakings = Column::new(&readings.wakings);
    let mut room = Vec::new();
    for (number, value, bytes) in fields(bundle) {
        match (number, value) {
            (field::FTRACE_CLOCK | field::FTRACE_TIMESTAMP | field::BOOT_TIMESTAMP, _) => {}
            (field::EVENT, Value::Bytes(event)) => match events.next() {
                Some(&Some(reading)) => {
                    room.clear();
                    put_with(&mut room, event, ftrace_event::TIMESTAMP, reading);
                    put_bytes(out, field::EVENT, &room);
                }
                _ => out.extend_from_slice(bytes),
            },
            (field::COMPACT_SCHED, Value::Bytes(compact)) => {
                room.clear();
                for (number, value, bytes) in fields(compact) {
                    match number {
                        column::SWITCH_TIMESTAMP => switches.put(number, value, bytes, &mut room),
                        column::WAKING_TIMESTAMP => wakings.put(number, value, bytes, &mut room),
                        _ => room.extend_from_slice(bytes),
                    }
                }
                put_bytes(out, field::COMPACT_SCHED, &room);
            }
            (number, value) if mark(number, value).is_some() => {
                if let Some(&Some(reading)) = marks.next() {
                    put_number(out, number, reading);
                }
            }
            _ => out.extend_from_slice(bytes),
        }
    }
}

/// Timestamps that are written as deltas, one after the other, in one or several fields.
struct Column<'a> {
    readings: std::slice::Iter<'a, u64>,
    last: u64,
}

impl<'a> Column<'a> {
    fn new(readings: &'a [u64]) -> Self {
        Column { readings: readings.iter(), last: 0 }
    }

    /// Writes a field of the column, packed or not. Timestamps without an event keep their deltas.
    fn put(&mut self, number: u32, value: Value<'_>, bytes: &[u8], out: &mut Vec<u8>) {
        match value {
            Value::Varint(delta) => {
                let delta = self.next(delta);
                put_number(out, number, delta);
            }
            Value::Bytes(packed) => {
                let mut deltas = Vec::with_capacity(packed.len());
                for delta in Message(bytes).numbers(number) {
                    let delta = self.next(delta);
                    Put(&mut deltas).natural(delta);
                }
                put_bytes(out, number, &deltas);
            }
            Value::Fixed32(_) | Value::Fixed64(_) => out.extend_from_slice(bytes),
        }
    }

    /// The delta to the next reading, which may be negative.
    fn next(&mut self, recorded: u64) -> u64 {
        let Some(&reading) = self.readings.next() else {
            return recorded;
        };
        let delta = reading.wrapping_sub(self.last);
        self.last = reading;
        delta
    }
}

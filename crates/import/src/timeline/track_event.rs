//! A track event in its compact form: the content that its writer gave it, with texts and arguments
//! from the interned data of its packet.

use std::io;

use timebase_trace::Interval;

use super::label::{Label, put_label, take_label};
use super::legacy::LegacyEvent;
use crate::compact::{Put, Take, cut};
use crate::place::{PartIx, PartKey};

/// The first number in the record of a track event, which no other kind of event has.
pub(super) const TRACK: u64 = 8;

/// A uuid, as its number among the uuids of the trace (`definitions/descriptors.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UuidIx(pub u32);

/// A thread that writers name as their own, as its number (`definitions/descriptors.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WriterThread(pub u32);

/// The type of a track event (rules E7, L3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Begin,
    End,
    Instant,
    Counter,
    /// The phase of a legacy event.
    Phase(u8),
    /// Sets the state of its track from now on.
    State,
    /// A type that is newer than timebase.
    Unknown,
}

/// A track event as it was written. A decoded event takes some hundred bytes, which other events
/// need not carry around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TrackRecord<'a>(pub(super) PartKey, pub(super) &'a [u8]);

impl<'a> TrackRecord<'a> {
    /// Decodes the event.
    ///
    /// # Errors
    ///
    /// If the record is anything else: the temporary file is damaged.
    #[inline]
    pub fn read(self) -> io::Result<TrackEvent<'a>> {
        let TrackRecord(key, record) = self;
        TrackEvent::take((key.part, key.machine), Take(record))
    }
}

/// A track event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TrackEvent<'a> {
    pub part: PartIx,
    pub machine: u32,
    /// Its sequence, as a number among all sequences.
    pub sequence: u32,
    /// The row of its packet.
    pub packet: i64,
    pub kind: EventKind,
    /// The track that it names; `None` if it is on the track of its thread (rule E8).
    pub uuid: Option<UuidIx>,
    /// Its thread by rule L2; for an event that names a track, the thread of its sequence.
    pub thread: Option<WriterThread>,
    pub category: Label<'a>,
    pub name: Label<'a>,
    /// The state of its track from now on, if the state is not its name (rule ST4).
    pub state: Option<Label<'a>>,
    /// In nanoseconds (rule L1).
    pub thread_time: Option<i64>,
    pub instructions: Option<i64>,
    /// The value of a counter (rule E15), and the values of further counters (rule E17).
    pub value: Option<f64>,
    pub more_values: Values<'a>,
    /// Whether its sequence lost packets since its state was cleared (rule DT10).
    pub lossy: bool,
    pub legacy: Option<LegacyEvent<'a>>,
    /// The text of its first annotation, if the event names a thread or a process (rule L6).
    pub note: Option<&'a str>,
    pub flows: Flows<'a>,
    pub stack: Option<EventStack<'a>>,
    pub arguments: Arguments<'a>,
}

/// The callstack of an event (rule FP4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EventStack<'a> {
    /// The interval whose interned data the number refers to, and the number of entries that count
    /// (see `timebase_trace::Interned::get_until`).
    pub interval: Interval,
    pub until: u64,
    pub frames: StackFrames<'a>,
    pub weight: Option<f64>,
}

/// The frames of an event's callstack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackFrames<'a> {
    /// A number of interned data.
    Interned(u64),
    /// A `TrackEvent.Callstack`.
    Inline(&'a [u8]),
}

/// Values of counters that an event also has.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Values<'a>(&'a [u8]);

/// Flows that an event is on (rule G1).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Flows<'a>(&'a [u8]);

/// Arguments of an event, in their compact form.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Arguments<'a> {
    pub main: &'a [u8],
    /// The arguments that count if the event has an owner thread, and whether there should be such
    /// arguments (rule A8).
    pub log: &'a [u8],
    pub has_log: bool,
    pub errors: u32,
    pub log_errors: u32,
    pub unknown: u32,
    /// The event itself, if the schema did not know all of it when it was read.
    pub undecoded: &'a [u8],
}

impl<'a> Values<'a> {
    /// The values that [`Values::write`] wrote.
    pub fn iter(self) -> impl Iterator<Item = (UuidIx, f64)> {
        let mut take = Take(self.0);
        std::iter::from_fn(move || {
            if take.is_empty() {
                return None;
            }
            let uuid = UuidIx(take.small().ok()?);
            let bits = take.natural().ok()?;
            Some((uuid, f64::from_bits(bits.swap_bytes())))
        })
    }

    /// Writes values one after the other.
    pub fn write(values: &[(UuidIx, f64)], out: &'a mut Vec<u8>) -> Values<'a> {
        out.clear();
        for (UuidIx(uuid), value) in values {
            let bits = value.to_bits().swap_bytes();
            Put(out).natural((*uuid).into()).natural(bits);
        }
        Values(out)
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

/// The effect of an event on a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowStep {
    Goes,
    Terminates,
    /// The event submitted a render stage of a GPU, or waited for it (rule GP9).
    Submits,
    Awaits,
}

impl<'a> Flows<'a> {
    /// The flows in their order.
    pub fn iter(self) -> impl Iterator<Item = (FlowStep, u64)> {
        let mut take = Take(self.0);
        std::iter::from_fn(move || {
            if take.is_empty() {
                return None;
            }
            let step = match take.natural().ok()? {
                0 => FlowStep::Goes,
                1 => FlowStep::Terminates,
                2 => FlowStep::Submits,
                _ => FlowStep::Awaits,
            };
            Some((step, take.natural().ok()?))
        })
    }

    /// Writes flows one after the other.
    pub fn write(flows: impl Iterator<Item = (FlowStep, u64)>, out: &'a mut Vec<u8>) -> Flows<'a> {
        out.clear();
        for (step, id) in flows {
            let step = match step {
                FlowStep::Goes => 0,
                FlowStep::Terminates => 1,
                FlowStep::Submits => 2,
                FlowStep::Awaits => 3,
            };
            Put(out).natural(step).natural(id);
        }
        Flows(out)
    }
}

/// A bit for each part that only some events have.
mod has {
    pub const THREAD: u64 = 1 << 0;
    pub const CATEGORY: u64 = 1 << 1;
    pub const NAME: u64 = 1 << 2;
    pub const ARGS: u64 = 1 << 3;
    pub const UUID: u64 = 1 << 4;
    pub const FLOWS: u64 = 1 << 5;
    pub const VALUE: u64 = 1 << 6;
    pub const MORE_VALUES: u64 = 1 << 7;
    pub const THREAD_TIME: u64 = 1 << 8;
    pub const INSTRUCTIONS: u64 = 1 << 9;
    pub const LEGACY: u64 = 1 << 10;
    pub const NOTE: u64 = 1 << 11;
    pub const LOG: u64 = 1 << 12;
    pub const FAULTS: u64 = 1 << 13;
    pub const UNDECODED: u64 = 1 << 14;
    pub const STATE: u64 = 1 << 15;
    pub const LOSSY: u64 = 1 << 16;
    pub const STACK: u64 = 1 << 17;
}

impl EventKind {
    fn number(self) -> u64 {
        match self {
            EventKind::Begin => 0,
            EventKind::End => 1,
            EventKind::Instant => 2,
            EventKind::Counter => 3,
            EventKind::State => 4,
            EventKind::Unknown => 5,
            EventKind::Phase(phase) => 6 + u64::from(phase),
        }
    }

    fn of(number: u64) -> io::Result<Self> {
        Ok(match number {
            0 => EventKind::Begin,
            1 => EventKind::End,
            2 => EventKind::Instant,
            3 => EventKind::Counter,
            4 => EventKind::State,
            5 => EventKind::Unknown,
            phase => EventKind::Phase(u8::try_from(phase - 6).map_err(|_| cut())?),
        })
    }
}

impl<'a> TrackEvent<'a> {
    /// An event of a part, and the part's machine, that does nothing.
    pub fn empty((part, machine): (PartIx, u32), packet: i64) -> Self {
        TrackEvent {
            part,
            machine,
            sequence: 0,
            packet,
            kind: EventKind::Unknown,
            uuid: None,
            thread: None,
            category: Label::None,
            name: Label::None,
            state: None,
            thread_time: None,
            instructions: None,
            value: None,
            more_values: Values::default(),
            lossy: false,
            legacy: None,
            note: None,
            flows: Flows::default(),
            stack: None,
            arguments: Arguments::default(),
        }
    }

    fn parts(&self) -> u64 {
        let arguments = &self.arguments;
        let faults = arguments.errors | arguments.log_errors | arguments.unknown;
        let mut parts = 0;
        for (part, is_there) in [
            (has::THREAD, self.thread.is_some()),
            (has::CATEGORY, self.category != Label::None),
            (has::NAME, self.name != Label::None),
            (has::ARGS, !arguments.main.is_empty()),
            (has::UUID, self.uuid.is_some()),
            (has::FLOWS, !self.flows.0.is_empty()),
            (has::VALUE, self.value.is_some()),
            (has::MORE_VALUES, !self.more_values.0.is_empty()),
            (has::THREAD_TIME, self.thread_time.is_some()),
            (has::INSTRUCTIONS, self.instructions.is_some()),
            (has::LEGACY, self.legacy.is_some()),
            (has::NOTE, self.note.is_some()),
            (has::LOG, arguments.has_log),
            (has::FAULTS, faults != 0),
            (has::STATE, self.state.is_some()),
            (has::LOSSY, self.lossy),
            (has::UNDECODED, !arguments.undecoded.is_empty()),
            (has::STACK, self.stack.is_some()),
        ] {
            if is_there {
                parts |= part;
            }
        }
        parts
    }

    /// Writes the event to `record` as an event of the timeline; the former content of `record` is
    /// removed.
    #[inline]
    pub fn write(&self, record: &mut Vec<u8>) {
        record.clear();
        self.put(Put(record).natural(TRACK).natural(self.part.0.into()));
    }

    /// Appends the event to `put`, without its part.
    #[inline]
    pub fn put(&self, put: &mut Put<'_>) {
        let parts = self.parts();
        put.natural(parts)
            .natural(self.kind.number())
            .natural(self.sequence.into())
            .integer(self.packet);
        if let Some(UuidIx(uuid)) = self.uuid {
            put.natural(uuid.into());
        }
        if let Some(WriterThread(thread)) = self.thread {
            put.natural(thread.into());
        }
        if parts & has::CATEGORY != 0 {
            put_label(put, self.category);
        }
        if parts & has::NAME != 0 {
            put_label(put, self.name);
        }
        if parts & !(has::UUID | has::THREAD | has::CATEGORY | has::NAME | has::ARGS) != 0 {
            self.put_rest(parts, put);
        }
        put.rest(self.arguments.main);
    }

    fn put_rest(&self, parts: u64, put: &mut Put<'_>) {
        if let Some(state) = self.state {
            put_label(put, state);
        }
        if let Some(time) = self.thread_time {
            put.integer(time);
        }
        if let Some(instructions) = self.instructions {
            put.integer(instructions);
        }
        if let Some(value) = self.value {
            put.natural(value.to_bits().swap_bytes());
        }
        if let Some(note) = self.note {
            put.bytes(note.as_bytes());
        }
        let arguments = &self.arguments;
        if parts & has::FAULTS != 0 {
            put.natural(arguments.errors.into())
                .natural(arguments.log_errors.into())
                .natural(arguments.unknown.into());
        }
        for (part, bytes) in [
            (has::MORE_VALUES, self.more_values.0),
            (has::FLOWS, self.flows.0),
            (has::LOG, arguments.log),
            (has::UNDECODED, arguments.undecoded),
        ] {
            if parts & part != 0 {
                put.bytes(bytes);
            }
        }
        if let Some(legacy) = &self.legacy {
            legacy.put(put);
        }
        if let Some(stack) = &self.stack {
            stack.put(put);
        }
    }

    /// Reads an event of a part that [`TrackEvent::put`] wrote.
    #[inline]
    pub fn take(of: (PartIx, u32), mut take: Take<'a>) -> io::Result<Self> {
        let parts = take.natural()?;
        let has = |part| parts & part != 0;
        let kind = EventKind::of(take.natural()?)?;
        let sequence = take.small()?;
        let mut event = TrackEvent { kind, sequence, ..TrackEvent::empty(of, take.integer()?) };
        if has(has::UUID) {
            event.uuid = Some(UuidIx(take.small()?));
        }
        if has(has::THREAD) {
            event.thread = Some(WriterThread(take.small()?));
        }
        if has(has::CATEGORY) {
            event.category = take_label(&mut take)?;
        }
        if has(has::NAME) {
            event.name = take_label(&mut take)?;
        }
        if has(!(has::UUID | has::THREAD | has::CATEGORY | has::NAME | has::ARGS)) {
            event.take_rest(parts, &mut take)?;
        }
        event.arguments.main = take.rest();
        Ok(event)
    }

    fn take_rest(&mut self, parts: u64, take: &mut Take<'a>) -> io::Result<()> {
        let has = |part| parts & part != 0;
        if has(has::STATE) {
            self.state = Some(take_label(take)?);
        }
        if has(has::THREAD_TIME) {
            self.thread_time = Some(take.integer()?);
        }
        if has(has::INSTRUCTIONS) {
            self.instructions = Some(take.integer()?);
        }
        if has(has::VALUE) {
            self.value = Some(f64::from_bits(take.natural()?.swap_bytes()));
        }
        if has(has::NOTE) {
            self.note = Some(std::str::from_utf8(take.bytes()?).map_err(|_| cut())?);
        }
        let arguments = &mut self.arguments;
        if has(has::FAULTS) {
            arguments.errors = take.small()?;
            arguments.log_errors = take.small()?;
            arguments.unknown = take.small()?;
        }
        for (part, bytes) in [
            (has::MORE_VALUES, &mut self.more_values.0),
            (has::FLOWS, &mut self.flows.0),
            (has::LOG, &mut arguments.log),
            (has::UNDECODED, &mut arguments.undecoded),
        ] {
            if has(part) {
                *bytes = take.bytes()?;
            }
        }
        arguments.has_log = has(has::LOG);
        self.lossy = has(has::LOSSY);
        if has(has::LEGACY) {
            self.legacy = Some(LegacyEvent::take(take)?);
        }
        if has(has::STACK) {
            self.stack = Some(EventStack::take(self.sequence, take)?);
        }
        Ok(())
    }
}

impl<'a> EventStack<'a> {
    /// Appends the callstack, without its sequence, which is the event's.
    fn put(&self, put: &mut Put<'_>) {
        put.natural(self.interval.cleared.into()).natural(self.until);
        match self.weight {
            Some(weight) => put.natural(1).natural(weight.to_bits().swap_bytes()),
            None => put.natural(0),
        };
        match self.frames {
            StackFrames::Interned(iid) => put.natural(0).natural(iid),
            StackFrames::Inline(frames) => put.natural(1).bytes(frames),
        };
    }

    fn take(sequence: u32, take: &mut Take<'a>) -> io::Result<Self> {
        let cleared = take.small()?;
        Ok(EventStack {
            interval: Interval { sequence, cleared },
            until: take.natural()?,
            weight: match take.natural()? {
                0 => None,
                _ => Some(f64::from_bits(take.natural()?.swap_bytes())),
            },
            frames: match take.natural()? {
                0 => StackFrames::Interned(take.natural()?),
                _ => StackFrames::Inline(take.bytes()?),
            },
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::label::Name;
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let plain = TrackEvent {
            sequence: 2,
            kind: EventKind::End,
            uuid: Some(UuidIx(4)),
            ..TrackEvent::empty((PartIx(1), 7), 3)
        };
        let (mut values, mut flows) = (Vec::new(), Vec::new());
        let steps = [
            (FlowStep::Goes, u64::MAX),
            (FlowStep::Terminates, 7),
            (FlowStep::Submits, 8),
            (FlowStep::Awaits, u64::MAX),
        ];
        let more = [(UuidIx(9), -0.5), (UuidIx(u32::MAX), f64::INFINITY)];
        let full = TrackEvent {
            kind: EventKind::Phase(b'X'),
            uuid: None,
            thread: Some(WriterThread(5)),
            category: Label::Own("c"),
            name: Label::Known(Name(6)),
            state: Some(Label::None),
            thread_time: Some(-1),
            instructions: Some(i64::MAX),
            value: Some(2.5),
            more_values: Values::write(&more, &mut values),
            lossy: true,
            legacy: Some(LegacyEvent { scope: Some("s"), ..LegacyEvent::default() }),
            note: Some(""),
            flows: Flows::write(steps.into_iter(), &mut flows),
            stack: Some(EventStack {
                interval: Interval { sequence: 2, cleared: 9 },
                until: u64::MAX,
                frames: StackFrames::Interned(3),
                weight: Some(-0.5),
            }),
            arguments: Arguments {
                main: b"main",
                log: b"",
                has_log: true,
                errors: 1,
                log_errors: 2,
                unknown: 3,
                undecoded: b"raw",
            },
            ..plain
        };
        assert_eq!(full.more_values.iter().collect::<Vec<_>>(), more);
        assert_eq!(full.flows.iter().collect::<Vec<_>>(), steps);
        let inline = TrackEvent {
            stack: full.stack.map(|stack| EventStack {
                frames: StackFrames::Inline(b"frames"),
                weight: None,
                ..stack
            }),
            ..plain
        };
        let of = (PartIx(1), 7);
        for event in [plain, full, inline] {
            let mut record = Vec::new();
            event.put(&mut Put(&mut record));
            assert_eq!(TrackEvent::take(of, Take(&record)).unwrap(), event);
        }
        assert!(TrackEvent::take(of, Take(&[0xff])).is_err());
    }
}

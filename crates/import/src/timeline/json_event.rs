//! An event of a trace in Chrome's JSON format, in its compact form (rules JS).

use std::borrow::Cow;
use std::io;

use super::label::{Label, put_label, take_label};
use super::legacy::{FlowDirection, InstantScope};
use crate::compact::{Put, Take, cut};
use crate::place::{PartIx, PartKey};

/// The first number in the record of such an event, which no other kind of event has. It takes one byte.
pub(super) const JSON: u64 = 13;

/// A thread as the events of a JSON trace name it, as its number (`definitions/json.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct JsonThreadIx(pub u32);

/// An event as it was written, which its tracker decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonRecord<'a>(pub(super) PartKey, pub(super) &'a [u8]);

/// An event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct JsonEvent<'a> {
    pub part: PartIx,
    /// The row of its packet.
    pub packet: i64,
    /// Its phase, the first character of `ph`; NUL for an event that only mentions its thread, `P` for a sample of
    /// a profile.
    pub phase: char,
    pub thread: JsonThreadIx,
    pub category: Label<'a>,
    pub name: Label<'a>,
    /// In nanoseconds, as the next two.
    pub dur: Option<i64>,
    pub thread_time: Option<i64>,
    pub thread_dur: Option<i64>,
    pub instant: InstantScope,
    /// The id of an async event or of a flow, in a form that equal ids have.
    pub id: Option<&'a str>,
    /// Whether the id belongs to the process.
    pub is_local: bool,
    /// Whether the end of a flow is bound to the slice around it.
    pub binds_enclosing: bool,
    /// The flow that the event's slice is on (rule JS24).
    pub bind: Option<(&'a str, Option<FlowDirection>)>,
    /// Arguments in their compact form.
    pub args: &'a [u8],
    /// The values, names or states that events of this phase have (`trackers/json`).
    pub payload: &'a [u8],
}

/// The payload of a name or an index of a thread or process (rule JS17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameOf<'a> {
    Thread(&'a str),
    Process(&'a str),
    ThreadIndex(i32),
    ProcessIndex(i32),
}

impl<'a> NameOf<'a> {
    /// Writes the payload.
    pub fn write(self, out: &mut Vec<u8>) {
        let mut put = Put(out);
        match self {
            NameOf::Thread(name) => put.natural(0).rest(name.as_bytes()),
            NameOf::Process(name) => put.natural(1).rest(name.as_bytes()),
            NameOf::ThreadIndex(at) => _ = put.natural(2).integer(at.into()),
            NameOf::ProcessIndex(at) => _ = put.natural(3).integer(at.into()),
        }
    }

    /// Reads the payload.
    ///
    /// # Errors
    ///
    /// If it is anything else: the temporary file is damaged.
    pub fn read(payload: &'a [u8]) -> io::Result<Self> {
        let mut take = Take(payload);
        let kind = take.natural()?;
        let text = |take: Take<'a>| std::str::from_utf8(take.rest()).map_err(|_| cut());
        let index = |mut take: Take<'_>| i32::try_from(take.integer()?).map_err(|_| cut());
        Ok(match kind {
            0 => NameOf::Thread(text(take)?),
            1 => NameOf::Process(text(take)?),
            2 => NameOf::ThreadIndex(index(take)?),
            3 => NameOf::ProcessIndex(index(take)?),
            _ => return Err(cut()),
        })
    }
}

/// The payload of a state of a thread (rule JS27).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ThreadState<'a> {
    pub io_wait: Option<i64>,
    pub cpu: Option<i64>,
    pub blocked_function: Option<Cow<'a, str>>,
}

impl<'a> ThreadState<'a> {
    /// Writes the payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut put = Put(out);
        put.optional(self.io_wait).optional(self.cpu);
        put.natural(self.blocked_function.is_some().into());
        put.rest(self.blocked_function.as_deref().unwrap_or_default().as_bytes());
    }

    /// Reads the payload.
    ///
    /// # Errors
    ///
    /// If it is anything else: the temporary file is damaged.
    pub fn read(payload: &'a [u8]) -> io::Result<Self> {
        let mut take = Take(payload);
        let (io_wait, cpu) = (take.optional()?, take.optional()?);
        let is_blocked = take.natural()? != 0;
        let text = std::str::from_utf8(take.rest()).map_err(|_| cut())?;
        let blocked_function = is_blocked.then_some(text.into());
        Ok(ThreadState { io_wait, cpu, blocked_function })
    }
}

/// The payload of a sample of V8's profiles (rule JS28): the session and the node, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProfileSample {
    pub session: u32,
    pub node: u32,
}

impl ProfileSample {
    /// Writes the payload.
    pub fn write(self, out: &mut Vec<u8>) {
        Put(out).natural(self.session.into()).natural(self.node.into());
    }

    /// Reads the payload.
    ///
    /// # Errors
    ///
    /// If it is anything else: the temporary file is damaged.
    pub fn read(payload: &[u8]) -> io::Result<Self> {
        let mut take = Take(payload);
        Ok(ProfileSample { session: take.small()?, node: take.small()? })
    }
}

/// A bit for each part that only some events have.
mod has {
    pub const CATEGORY: u64 = 1 << 0;
    pub const NAME: u64 = 1 << 1;
    pub const DUR: u64 = 1 << 2;
    pub const ID: u64 = 1 << 3;
    pub const PAYLOAD: u64 = 1 << 4;
    pub const LOCAL: u64 = 1 << 5;
    pub const ENCLOSING: u64 = 1 << 6;
    pub const THREAD_TIME: u64 = 1 << 7;
    pub const THREAD_DUR: u64 = 1 << 8;
    pub const BIND: u64 = 1 << 9;
    pub const OF_PROCESS: u64 = 1 << 10;
    pub const GLOBAL: u64 = 1 << 11;
}

impl<'a> JsonRecord<'a> {
    /// The part of the event.
    pub fn part(self) -> PartIx {
        self.0.part
    }

    /// Decodes the event.
    ///
    /// # Errors
    ///
    /// If the record is anything else: the temporary file is damaged.
    pub fn read(self) -> io::Result<JsonEvent<'a>> {
        JsonEvent::take(self.0.part, Take(self.1))
    }

    /// The bytes of the record, from which [`JsonRecord::again`] makes it again.
    pub fn bytes(self) -> (PartKey, &'a [u8]) {
        (self.0, self.1)
    }

    /// The record of these bytes.
    pub fn again(key: PartKey, bytes: &'a [u8]) -> Self {
        JsonRecord(key, bytes)
    }
}

impl<'a> JsonEvent<'a> {
    /// An event without effects.
    pub fn new(part: PartIx, packet: i64, phase: char, thread: JsonThreadIx) -> Self {
        JsonEvent {
            part,
            packet,
            phase,
            thread,
            category: Label::None,
            name: Label::None,
            dur: None,
            thread_time: None,
            thread_dur: None,
            instant: InstantScope::Thread,
            id: None,
            is_local: false,
            binds_enclosing: false,
            bind: None,
            args: &[],
            payload: &[],
        }
    }

    fn parts(&self) -> u64 {
        let parts = [
            (has::CATEGORY, self.category != Label::None),
            (has::NAME, self.name != Label::None),
            (has::DUR, self.dur.is_some()),
            (has::ID, self.id.is_some()),
            (has::PAYLOAD, !self.payload.is_empty()),
            (has::LOCAL, self.is_local),
            (has::ENCLOSING, self.binds_enclosing),
            (has::THREAD_TIME, self.thread_time.is_some()),
            (has::THREAD_DUR, self.thread_dur.is_some()),
            (has::BIND, self.bind.is_some()),
            (has::OF_PROCESS, self.instant == InstantScope::Process),
            (has::GLOBAL, self.instant == InstantScope::Global),
        ];
        parts.into_iter().fold(0, |all, (part, is_there)| if is_there { all | part } else { all })
    }

    /// Writes the event to `record` as an event of the timeline; the former content of `record` is removed.
    pub fn write(&self, record: &mut Vec<u8>) {
        record.clear();
        let mut put = Put(record);
        put.natural(JSON)
            .natural(self.part.0.into())
            .natural(self.parts())
            .natural(u32::from(self.phase).into())
            .natural(self.thread.0.into())
            .integer(self.packet);
        for label in [self.category, self.name] {
            if label != Label::None {
                put_label(&mut put, label);
            }
        }
        for time in [self.dur, self.thread_time, self.thread_dur].into_iter().flatten() {
            put.integer(time);
        }
        if let Some(id) = self.id {
            put.bytes(id.as_bytes());
        }
        if let Some((id, direction)) = self.bind {
            put.bytes(id.as_bytes()).natural(match direction {
                None => 0,
                Some(FlowDirection::In) => 1,
                Some(FlowDirection::Out) => 2,
                Some(FlowDirection::InOut) => 3,
            });
        }
        if !self.payload.is_empty() {
            put.bytes(self.payload);
        }
        put.rest(self.args);
    }

    fn take(part: PartIx, mut take: Take<'a>) -> io::Result<Self> {
        let parts = take.natural()?;
        let has = |part| parts & part != 0;
        let phase = char::from_u32(take.small()?).ok_or_else(cut)?;
        let thread = JsonThreadIx(take.small()?);
        let mut event = JsonEvent::new(part, take.integer()?, phase, thread);
        if has(has::CATEGORY) {
            event.category = take_label(&mut take)?;
        }
        if has(has::NAME) {
            event.name = take_label(&mut take)?;
        }
        for (part, time) in [
            (has::DUR, &mut event.dur),
            (has::THREAD_TIME, &mut event.thread_time),
            (has::THREAD_DUR, &mut event.thread_dur),
        ] {
            if has(part) {
                *time = Some(take.integer()?);
            }
        }
        if has(has::ID) {
            event.id = Some(text(&mut take)?);
        }
        if has(has::BIND) {
            let id = text(&mut take)?;
            event.bind = Some((
                id,
                match take.natural()? {
                    0 => None,
                    1 => Some(FlowDirection::In),
                    2 => Some(FlowDirection::Out),
                    3 => Some(FlowDirection::InOut),
                    _ => return Err(cut()),
                },
            ));
        }
        if has(has::PAYLOAD) {
            event.payload = take.bytes()?;
        }
        event.is_local = has(has::LOCAL);
        event.binds_enclosing = has(has::ENCLOSING);
        event.instant = match (has(has::OF_PROCESS), has(has::GLOBAL)) {
            (true, _) => InstantScope::Process,
            (_, true) => InstantScope::Global,
            _ => InstantScope::Thread,
        };
        event.args = take.rest();
        Ok(event)
    }
}

fn text<'a>(take: &mut Take<'a>) -> io::Result<&'a str> {
    std::str::from_utf8(take.bytes()?).map_err(|_| cut())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::label::Name;
    use super::*;

    #[test]
    fn the_record_of_a_json_event_is_read_back() {
        let plain = JsonEvent::new(PartIx(3), 70, 'X', JsonThreadIx(4));
        let full = JsonEvent {
            category: Label::Own("c"),
            name: Label::Known(Name(6)),
            dur: Some(i64::MAX),
            thread_time: Some(-1),
            thread_dur: Some(0),
            instant: InstantScope::Process,
            id: Some("s"),
            is_local: true,
            binds_enclosing: true,
            bind: Some(("", Some(FlowDirection::InOut))),
            args: b"args",
            payload: b"payload",
            phase: '\u{1f600}',
            ..plain
        };
        let binds = [None, Some(FlowDirection::In), Some(FlowDirection::Out)];
        let binds = binds.map(|direction| JsonEvent {
            bind: Some(("n1", direction)),
            instant: InstantScope::Global,
            ..plain
        });
        for event in [plain, full].into_iter().chain(binds) {
            let mut record = Vec::new();
            event.write(&mut record);
            let mut take = Take(&record);
            assert_eq!((take.natural().unwrap(), take.natural().unwrap()), (JSON, 3));
            assert_eq!(JsonEvent::take(PartIx(3), take).unwrap(), event);
        }
        assert!(JsonEvent::take(PartIx(0), Take(&[0xff])).is_err());
    }
}

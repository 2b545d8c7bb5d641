//! Events in their compact form.

use std::io;

use timebase_trace::Interval;

use super::json_event::{JSON, JsonRecord};
use super::label::Name;
use super::track_event::{TRACK, TrackRecord};
use crate::compact::{Compact, Put, Take, cut};
use crate::message::Message;
use crate::place::{PartIx, PartKey, PartKeys};

/// Something that happens at one time. Machines are rows of `machine`; pids and tids are those in
/// the trace, taken as uint32. A record has the part of its event, which has the machine and the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    Switch(Switch),
    Waking(Waking),
    Ftrace(FtraceEvent<'a>),
    LogLine(LogLine),
    Packet(PacketEvent<'a>),
    Energy(Energy),
    Track(TrackRecord<'a>),
    Profile(ProfileEvent<'a>),
    /// A packet in which the recording tells something about itself.
    Recorded(PacketEvent<'a>),
    Json(JsonRecord<'a>),
    /// A sequence lost packets before this (rule DT7).
    PacketsLost {
        sequence: u32,
    },
    /// An event that is left out, but whose time counts for later packets without a time (rule O2).
    Nothing,
}

/// A CPU switches from one thread to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switch {
    pub part: PartIx,
    pub machine: u32,
    pub cpu: u32,
    /// The thread that runs until the switch; the compact encoding lacks it.
    pub prev: Option<Prev>,
    pub prev_state: u64,
    pub next_pid: u32,
    pub next_prio: i32,
    pub next_comm: Option<Name>,
}

/// The thread that runs until a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prev {
    pub pid: u32,
    pub comm: Option<Name>,
}

/// A thread wakes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Waking {
    pub part: PartIx,
    pub machine: u32,
    pub cpu: u32,
    pub waker: Waker,
    pub pid: u32,
    pub comm: Option<Name>,
}

/// The thread that wakes another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waker {
    Tid(u32),
    /// The thread that the CPU runs, in an interrupt or not: from the compact encoding.
    Running {
        in_interrupt: bool,
    },
}

/// Any other event of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FtraceEvent<'a> {
    pub part: PartIx,
    pub machine: u32,
    pub cpu: u32,
    /// The thread that was running.
    pub tid: u32,
    /// The interval whose interned data its numbers refer to.
    pub interval: Interval,
    /// Its field of `FtraceEvent`, and the message; empty if no tracker reads it.
    pub field: u32,
    pub message: &'a [u8],
}

/// A line of the Android log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogLine {
    pub part: PartIx,
    pub machine: u32,
    pub pid: u32,
    pub tid: u32,
    /// Its row in `android_logs`.
    pub row: i64,
}

/// A packet, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketEvent<'a> {
    /// The packet's row.
    pub id: i64,
    pub part: PartIx,
    pub file: u32,
    pub machine: u32,
    /// Its field of `TracePacket`.
    pub field: u32,
    /// The pid of its writer, as the recorder states it; 0 if it does not.
    pub trusted_pid: u32,
    /// The interval whose interned data its numbers refer to.
    pub interval: Interval,
    /// Whether the state of its sequence can be trusted (rule S3).
    pub valid: bool,
    pub payload: &'a [u8],
}

impl<'a> PacketEvent<'a> {
    pub fn message(&self) -> Message<'a> {
        Message(self.payload)
    }
}

/// A packet of a profiler, or a sample in one, with the facts that its position in the file
/// decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProfileEvent<'a> {
    pub part: PartIx,
    /// The packet's row.
    pub packet: i64,
    /// Its field of `TracePacket`.
    pub field: u32,
    /// Its sequence, as a number in the definitions of profiles.
    pub writer: u32,
    /// The interval whose interned data its numbers refer to, and the number of entries that count
    /// (see `timebase_trace::Interned::get_until`).
    pub interval: Interval,
    pub until: u64,
    /// The defaults of its sequence, as a number in the definitions of profiles.
    pub defaults: u32,
    pub payload: &'a [u8],
}

/// The energy that has gone through a power rail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Energy {
    pub part: PartIx,
    pub machine: u32,
    /// The session, within which numbers of rails are unique.
    pub session: u64,
    pub index: u32,
    /// In microwatt seconds.
    pub energy: u64,
    /// The time of its packet, if it was known when the packet was read.
    pub packet_ts: Option<i64>,
}

const SWITCH: u64 = 0;
const COMPACT_SWITCH: u64 = 1;
const WAKING: u64 = 2;
const COMPACT_WAKING: u64 = 3;
const FTRACE: u64 = 4;
const LOG_LINE: u64 = 5;
const PACKET: u64 = 6;
const ENERGY: u64 = 7;
// 8 is the number of track events.
const NOTHING: u64 = 9;
const PACKETS_LOST: u64 = 10;
const PROFILE: u64 = 11;
const RECORDED: u64 = 12;
// 13 is the number of events of JSON traces.

impl<'a> Event<'a> {
    /// Writes the event to `record`, whose former content is removed.
    #[inline]
    pub fn write(&self, record: &mut Vec<u8>) {
        record.clear();
        let mut put = Put(record);
        match self {
            Event::Switch(event) => event.put(&mut put),
            Event::Waking(event) => event.put(&mut put),
            Event::Ftrace(event) => {
                put.natural(FTRACE)
                    .natural(event.part.0.into())
                    .natural(event.cpu.into())
                    .natural(event.tid.into())
                    .natural(event.field.into());
                if !event.message.is_empty() {
                    event.interval.put(&mut put);
                    put.rest(event.message);
                }
            }
            Event::LogLine(line) => line.put(put.natural(LOG_LINE)),
            Event::Packet(packet) => packet.put(put.natural(PACKET)),
            Event::Energy(energy) => energy.put(put.natural(ENERGY)),
            Event::Track(TrackRecord(key, record)) => {
                put.natural(TRACK).natural(key.part.0.into()).rest(record);
            }
            Event::Profile(event) => event.put(put.natural(PROFILE)),
            Event::Recorded(packet) => packet.put(put.natural(RECORDED)),
            Event::Json(record) => {
                let (key, record) = record.bytes();
                put.natural(JSON).natural(key.part.0.into()).rest(record);
            }
            Event::PacketsLost { sequence } => {
                put.natural(PACKETS_LOST).natural((*sequence).into());
            }
            Event::Nothing => {
                put.natural(NOTHING);
            }
        }
    }

    /// The part of the event; the loss of packets and an event that is left out have none.
    #[inline]
    pub fn part(&self) -> Option<PartIx> {
        match self {
            Event::Switch(event) => Some(event.part),
            Event::Waking(event) => Some(event.part),
            Event::Ftrace(event) => Some(event.part),
            Event::LogLine(line) => Some(line.part),
            Event::Packet(packet) => Some(packet.part),
            Event::Energy(energy) => Some(energy.part),
            Event::Track(TrackRecord(key, _)) => Some(key.part),
            Event::Profile(event) => Some(event.part),
            Event::Recorded(packet) => Some(packet.part),
            Event::Json(record) => Some(record.part()),
            Event::PacketsLost { .. } | Event::Nothing => None,
        }
    }

    /// Whether a record that [`Event::write`] wrote reports lost packets.
    pub fn tells_of_loss(record: &[u8]) -> bool {
        Take(record).natural().is_ok_and(|kind| kind == PACKETS_LOST)
    }

    /// Whether a record holds an event of a JSON trace, which may be before time 0 (rule JS11).
    pub fn may_be_negative(record: &[u8]) -> bool {
        Take(record).natural().is_ok_and(|kind| kind == JSON)
    }

    /// Reads a record that [`Event::write`] wrote.
    ///
    /// # Errors
    ///
    /// If the record is anything else: the temporary file is damaged.
    #[inline]
    pub fn read(record: &'a [u8], parts: &PartKeys) -> io::Result<Self> {
        let mut take = Take(record);
        let event = match take.natural()? {
            kind @ (SWITCH | COMPACT_SWITCH) => Event::Switch(Switch::take(kind, take, parts)?),
            kind @ (WAKING | COMPACT_WAKING) => Event::Waking(Waking::take(kind, take, parts)?),
            FTRACE => {
                let PartKey { part, machine, .. } = parts.take(&mut take)?;
                let mut event = FtraceEvent {
                    part,
                    machine,
                    cpu: take.small()?,
                    tid: take.small()?,
                    field: take.small()?,
                    interval: Interval::default(),
                    message: &[],
                };
                if !take.0.is_empty() {
                    event.interval = Interval::take(&mut take)?;
                    event.message = take.rest();
                }
                Event::Ftrace(event)
            }
            LOG_LINE => Event::LogLine(LogLine::take(&mut take, parts)?),
            PACKET => Event::Packet(PacketEvent::take(&mut take, parts)?),
            ENERGY => Event::Energy(Energy::take(&mut take, parts)?),
            TRACK => {
                let key = parts.take(&mut take)?;
                Event::Track(TrackRecord(key, take.rest()))
            }
            JSON => {
                let key = parts.take(&mut take)?;
                Event::Json(JsonRecord::again(key, take.rest()))
            }
            PROFILE => Event::Profile(ProfileEvent::take(&mut take, parts)?),
            RECORDED => Event::Recorded(PacketEvent::take(&mut take, parts)?),
            NOTHING => Event::Nothing,
            PACKETS_LOST => Event::PacketsLost { sequence: take.small()? },
            _ => return Err(cut()),
        };
        Ok(event)
    }
}

impl Switch {
    fn put(&self, put: &mut Put<'_>) {
        put.natural(self.prev.map_or(COMPACT_SWITCH, |_| SWITCH))
            .natural(self.part.0.into())
            .natural(self.cpu.into())
            .natural(self.prev_state)
            .natural(self.next_pid.into())
            .integer(self.next_prio.into())
            .natural(number(self.next_comm));
        if let Some(prev) = self.prev {
            put.natural(prev.pid.into()).natural(number(prev.comm));
        }
    }

    fn take(kind: u64, mut take: Take<'_>, parts: &PartKeys) -> io::Result<Self> {
        let PartKey { part, machine, .. } = parts.take(&mut take)?;
        Ok(Switch {
            part,
            machine,
            cpu: take.small()?,
            prev_state: take.natural()?,
            next_pid: take.small()?,
            next_prio: take.integer()? as i32,
            next_comm: name(&mut take)?,
            prev: match kind {
                SWITCH => Some(Prev { pid: take.small()?, comm: name(&mut take)? }),
                _ => None,
            },
        })
    }
}

impl Waking {
    fn put(&self, put: &mut Put<'_>) {
        let (kind, waker) = match self.waker {
            Waker::Tid(tid) => (WAKING, tid),
            Waker::Running { in_interrupt } => (COMPACT_WAKING, in_interrupt.into()),
        };
        put.natural(kind)
            .natural(self.part.0.into())
            .natural(self.cpu.into())
            .natural(waker.into())
            .natural(self.pid.into())
            .natural(number(self.comm));
    }

    fn take(kind: u64, mut take: Take<'_>, parts: &PartKeys) -> io::Result<Self> {
        let PartKey { part, machine, .. } = parts.take(&mut take)?;
        Ok(Waking {
            part,
            machine,
            cpu: take.small()?,
            waker: match (kind, take.small()?) {
                (WAKING, tid) => Waker::Tid(tid),
                (_, flag) => Waker::Running { in_interrupt: flag != 0 },
            },
            pid: take.small()?,
            comm: name(&mut take)?,
        })
    }
}

/// Gives events a compact form: their part, which has the first fields of the list, and the other fields.
macro_rules! events {
    ($($event:ty { $($of_part:ident),*; $($field:ident),* })*) => {$(
        impl<'a> $event {
            fn put(&self, put: &mut Put<'_>) {
                self.part.put(put);
                $(self.$field.put(put);)*
            }

            fn take(take: &mut Take<'a>, parts: &PartKeys) -> io::Result<Self> {
                let key = parts.take(take)?;
                Ok(Self {
                    part: key.part,
                    $($of_part: key.$of_part,)*
                    $($field: Compact::take(take)?,)*
                })
            }
        }
    )*};
}

events! {
    LogLine { machine; pid, tid, row }
    PacketEvent<'a> { file, machine; id, field, trusted_pid, valid, interval, payload }
    ProfileEvent<'a> { ; packet, field, writer, until, defaults, interval, payload }
    Energy { machine; session, index, energy, packet_ts }
}

/// The number of a name; 0 means none.
fn number(name: Option<Name>) -> u64 {
    name.map_or(0, |Name(number)| u64::from(number) + 1)
}

fn name(take: &mut Take<'_>) -> io::Result<Option<Name>> {
    let number = take.natural()?.checked_sub(1);
    match number.map(u32::try_from) {
        None => Ok(None),
        Some(Ok(number)) => Ok(Some(Name(number))),
        Some(Err(_)) => Err(cut()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let parts = PartKeys::new([(1, 10), (2, 11), (3, 12)]);
        let interval = Interval { sequence: 3, cleared: 400 };
        let switch = Switch {
            part: PartIx(1),
            machine: 11,
            cpu: 700,
            prev: Some(Prev { pid: u32::MAX, comm: None }),
            prev_state: u64::MAX,
            next_pid: 7,
            next_prio: -1,
            next_comm: Some(Name(0)),
        };
        let waking = Waking {
            part: PartIx(0),
            machine: 10,
            cpu: 1,
            waker: Waker::Tid(0),
            pid: 5,
            comm: Some(Name(u32::MAX)),
        };
        let ftrace = FtraceEvent {
            part: PartIx(2),
            machine: 12,
            cpu: 3,
            tid: 4,
            interval: Interval::default(),
            field: 5,
            message: &[],
        };
        let line = LogLine { part: PartIx(1), machine: 11, pid: 2, tid: 3, row: 4 };
        let packet = PacketEvent {
            id: 7,
            part: PartIx(1),
            file: 2,
            machine: 11,
            field: 2,
            trusted_pid: 500,
            interval,
            valid: true,
            payload: b"",
        };
        let energy = Energy {
            part: PartIx(1),
            machine: 11,
            session: u64::MAX,
            index: 2,
            energy: 3,
            packet_ts: Some(-4),
        };
        let profile = ProfileEvent {
            part: PartIx(2),
            packet: 3,
            field: 66,
            writer: 1,
            interval,
            until: u64::MAX,
            defaults: 2,
            payload: b"sample",
        };
        for event in [
            Event::Nothing,
            Event::Profile(profile),
            Event::Recorded(packet),
            Event::Energy(energy),
            Event::Switch(switch),
            Event::Switch(Switch { prev: None, ..switch }),
            Event::Waking(waking),
            Event::Waking(Waking { waker: Waker::Running { in_interrupt: true }, ..waking }),
            Event::Ftrace(ftrace),
            Event::Ftrace(FtraceEvent { interval, message: b"message", ..ftrace }),
            Event::LogLine(line),
            Event::Packet(packet),
            Event::Packet(PacketEvent { payload: b"payload", valid: false, ..packet }),
        ] {
            let mut record = Vec::new();
            event.write(&mut record);
            assert_eq!(Event::read(&record, &parts).unwrap(), event);
        }
        for damaged in [&[][..], &[99], &[LOG_LINE as u8, 3]] {
            assert!(Event::read(damaged, &parts).is_err());
        }
    }
}

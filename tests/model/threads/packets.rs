//! The packets of a trace, and the times of their readings. The naive model of clocks answers the
//! questions about clocks.

use super::wire::Message;
use std::collections::BTreeMap;
use timebase_lab::encode::{self, Bundle, ClockSnapshot, FtraceEvent, Reading};
use timebase_lab::naive::{
    self, BOOTTIME, Clock, Imported, MONOTONIC, MONOTONIC_RAW, OF_SEQUENCE, REALTIME,
};

/// A packet with its header.
#[derive(Debug)]
pub struct Read {
    /// The machine's `raw_id`.
    pub machine: u32,
    pub sequence: u32,
    /// Whether it names its sequence (E1).
    pub is_of_sequence: bool,
    pub timestamp: Option<u64>,
    /// S4
    pub distrusted: bool,
    /// S3
    pub valid: bool,
    /// Whether it is an S2 or an S3.
    pub cleared: bool,
    pub lost: bool,
    /// Its `trace_packet_defaults` (S1).
    pub defaults: Option<Message>,
    pub first_on_sequence: bool,
    /// The pid of its writer; 0 if it is not said (J11).
    pub trusted_pid: i64,
    /// The number of S2 on its sequence so far: between two of them, numbers have the same meaning.
    pub interval: usize,
    pub interned: Message,
    /// The number of the payload's field and the payload, if it is readable.
    pub payload: Option<(u32, Message)>,
    /// Whether it is a synchronization_marker.
    pub marker: bool,
}

impl Read {
    pub const FTRACE: u32 = 1;
    pub const TRACK_EVENT: u32 = 11;
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const FTRACE_STATS: u32 = 34;
    pub const ANDROID_LOG: u32 = 39;
    pub const POWER_RAILS: u32 = 40;
    pub const GPU_COUNTERS: u32 = 52;
    pub const STREAMED: u32 = 54;
    pub const VULKAN_MEMORY: u32 = 62;
    pub const SERVICE_EVENT: u32 = 69;
}

/// Fields of `TracePacket` that are no payload.
const HEADER: [u32; 12] = [3, 8, 10, 12, 13, 41, 42, 58, 59, 79, 87, 98];

pub struct Packets {
    pub all: Vec<Read>,
    clocks: Imported,
}

impl Packets {
    pub fn read(trace: &[u8]) -> Packets {
        let messages = Message::parse(trace).unwrap_or_default().messages(1);
        let messages: Vec<Message> =
            messages.into_iter().filter(|message| message.fields().next().is_some()).collect();
        let headers: Vec<encode::Packet> = messages.iter().map(header).collect();
        let clocks = naive::import(&headers);
        let mut states: BTreeMap<(u32, Option<u32>), (bool, usize)> = BTreeMap::new();
        let mut all = Vec::new();
        for (message, header) in messages.iter().zip(&headers) {
            let cleared = header.flags & 1 != 0 || header.incremental_state_cleared;
            let is_of_sequence = header.is_of_sequence();
            let sequence = is_of_sequence.then_some(header.seq);
            let state = states.entry((header.machine_id, sequence)).or_default();
            let lost = header.previous_packet_dropped != 0 && !cleared;
            if !is_of_sequence {
                *state = (false, 0);
            } else if cleared {
                *state = (true, state.1 + 1); // S2
            } else if lost {
                state.0 = false; // S3
            }
            all.push(Read {
                machine: header.machine_id,
                sequence: header.seq,
                is_of_sequence,
                timestamp: header.timestamp,
                distrusted: header.flags & 2 != 0 && !state.0,
                valid: state.0,
                cleared,
                lost,
                defaults: message.message(59),
                first_on_sequence: message.unsigned(87) != 0,
                trusted_pid: i64::from(message.unsigned(79) as i32).max(0),
                interval: state.1,
                interned: message.message(12).unwrap_or_default(),
                payload: payload(message),
                marker: message.has(36),
            });
        }
        Packets { all, clocks }
    }

    /// The packets with this payload that S4 accepts: machine, timestamp, payload.
    pub fn trusted(&self, field: u32) -> impl Iterator<Item = (u32, Option<u64>, &Message)> {
        let trusted = self.all.iter().filter(|packet| !packet.distrusted);
        trusted.filter_map(move |packet| match &packet.payload {
            Some((number, payload)) if *number == field => {
                Some((packet.machine, packet.timestamp, payload))
            }
            _ => None,
        })
    }

    /// Whether two packets are of one interval of a sequence.
    pub fn is_same_interval(&self, one: usize, other: usize) -> bool {
        let [one, other] = [one, other].map(|place| &self.all[place]);
        let of = |p: &Read| (p.machine, p.is_of_sequence, p.sequence, p.interval);
        of(one) == of(other)
    }

    /// The first entry with an iid in a field of interned data, for a packet (W4).
    pub fn interned(&self, packet: usize, field: u32, iid: u64) -> Option<Message> {
        self.interned_until(self.all.len(), packet, field, iid)
    }

    /// The same for entries before the packet with that number.
    pub fn interned_until(
        &self,
        end: usize,
        packet: usize,
        field: u32,
        iid: u64,
    ) -> Option<Message> {
        let sequence = |place: &usize| self.is_same_interval(*place, packet);
        let adding = |place: &usize| self.all[*place].valid && !self.all[*place].distrusted;
        let places = (0..end).filter(adding);
        places
            .filter(sequence)
            .flat_map(|place| self.all[place].interned.messages(field))
            .find(|entry| entry.unsigned(1) == iid)
    }

    /// A packet's own time, and whether only D2 gives it.
    pub fn time_of_packet(&self, index: usize) -> Option<(i64, bool)> {
        let row = &self.clocks.packets[index];
        if self.clocks.taken.contains(&row.id) {
            return row.ts.map(|ts| (ts, false));
        }
        if row.unresolved.as_deref() == Some("no_base") {
            return None;
        }
        let read = &self.all[index];
        let clock = Clock::new(row.clock_id? as u32, read.sequence, read.machine);
        self.place(index, clock, row.clock_ts?.into())
    }

    /// The time of a bundle's timestamp (I1).
    pub fn time_of_bundle(&self, index: usize, timestamp: u64) -> Option<(i64, bool)> {
        let read = &self.all[index];
        let (_, bundle) = read.payload.as_ref()?;
        let id = match bundle.unsigned(5) {
            0 => BOOTTIME,
            2 | 3 => OF_SEQUENCE,
            4 => MONOTONIC_RAW,
            _ => return None,
        };
        let clock = Clock::new(id, read.sequence, read.machine);
        self.place(index, clock, timestamp.into())
    }

    /// The time of a line of `android_log` (I2).
    pub fn time_of_line(&self, index: usize, timestamp: u64) -> Option<(i64, bool)> {
        let clock = Clock::new(REALTIME, 0, self.all[index].machine);
        self.place(index, clock, timestamp.into())
    }

    /// The time of a reading of the machine's MONOTONIC by the snapshots before a packet.
    pub fn time_of_monotonic(&self, index: usize, nanoseconds: i64) -> Option<i64> {
        let clock = Clock::new(MONOTONIC, 0, self.all[index].machine);
        self.convert(self.seen(index), clock, nanoseconds.into())
    }

    /// The time of a reading of the machine's MONOTONIC_COARSE by all snapshots (HP2).
    pub fn time_of_coarse(&self, index: usize, nanoseconds: u64) -> Option<i64> {
        const MONOTONIC_COARSE: u32 = 4;
        let clock = Clock::new(MONOTONIC_COARSE, 0, self.all[index].machine);
        self.convert(self.clocks.snapshots.len(), clock, nanoseconds.into())
    }

    /// The defaults of a packet's sequence (S1).
    pub fn defaults(&self, index: usize) -> Option<Message> {
        let before = (0..=index).rev();
        let mut of_it = before.filter(|place| self.is_same_interval(*place, index));
        let of_it = of_it.find_map(|place| self.all[place].defaults.clone());
        of_it.filter(|_| self.all[index].is_of_sequence)
    }

    /// The time of a reading of the machine's BOOTTIME.
    pub fn time_of_boottime(&self, index: usize, nanoseconds: u128) -> Option<(i64, bool)> {
        let clock = Clock::new(BOOTTIME, 0, self.all[index].machine);
        self.place(index, clock, i128::try_from(nanoseconds).ok()?)
    }

    /// Whether the events of a packet wait for trace time (X25).
    pub fn waits(&self, index: usize) -> bool {
        self.clocks.waiting.contains(&(index as i64))
    }

    /// A time by the snapshots before a packet, or otherwise by all (D1, D2). Waiting for trace
    /// time (O3) does not count as late.
    fn place(&self, index: usize, clock: Clock, ticks: i128) -> Option<(i64, bool)> {
        let all = || self.convert(self.clocks.snapshots.len(), clock, ticks);
        if self.clocks.waiting.contains(&(index as i64)) {
            return all().map(|time| (time, false));
        }
        let first = self.convert(self.seen(index), clock, ticks);
        let first = first.map(|time| (time, false));
        first.or_else(|| Some((all()?, true)))
    }

    /// The number of snapshots before a packet.
    fn seen(&self, index: usize) -> usize {
        let readings = self.clocks.readings.iter();
        let seen = readings.filter(|reading| reading.packet_id <= index as i64);
        seen.map(|r| r.snapshot_id as usize + 1).max().unwrap_or(0)
    }

    /// A reading by the first snapshots of the trace.
    fn convert(&self, snapshots: usize, clock: Clock, ticks: i128) -> Option<i64> {
        let snapshots = &self.clocks.snapshots[..snapshots];
        naive::convert(snapshots, clock, ticks, self.clocks.trace_time).ok()
    }
}

/// The facts about a packet that the model of clocks needs.
fn header(message: &Message) -> encode::Packet {
    let payload = payload(message);
    let of = |field| payload.as_ref().filter(|(number, _)| *number == field);
    let other = payload.as_ref().map(|(field, _)| (*field, Vec::new()));
    let known = [Read::FTRACE, Read::CLOCK_SNAPSHOT, Read::ANDROID_LOG];
    encode::Packet {
        timestamp: message.number(8),
        timestamp_clock_id: message.number(58).map(|id| id as u32),
        seq: message.unsigned(10) as u32,
        is_zero_written: message.has(10) && message.unsigned(10) as u32 == 0,
        flags: message.unsigned(13) as u32,
        incremental_state_cleared: message.unsigned(41) != 0,
        previous_packet_dropped: message.unsigned(42) as u32,
        defaults: message.message(59).map(|defaults| defaults.unsigned(58) as u32),
        machine_id: message.unsigned(98) as u32,
        // So that no packet looks empty.
        uid: Some(0),
        payload: other.filter(|(field, _)| !known.contains(field)),
        clock_snapshot: of(Read::CLOCK_SNAPSHOT).map(|(_, snapshot)| clock_snapshot(snapshot)),
        ftrace_events: of(Read::FTRACE)
            .map(|(_, bundle)| pair(bundle))
            .or_else(|| of(Read::POWER_RAILS).map(|(_, rails)| energies(rails)))
            .or_else(|| of(Read::VULKAN_MEMORY).map(|(_, event)| allocation(event))),
        android_log: of(Read::ANDROID_LOG).map(|(_, log)| {
            let lines = log.messages(1).into_iter();
            lines.map(|line| line.number(5)).collect()
        }),
        ..encode::Packet::default()
    }
}

fn payload(message: &Message) -> Option<(u32, Message)> {
    let field = message.fields().find(|field| !HEADER.contains(field))?;
    Some((field, message.message(field)?))
}

fn clock_snapshot(message: &Message) -> ClockSnapshot {
    let reading = |clock: Message| Reading {
        id: clock.unsigned(1) as u32,
        timestamp: clock.unsigned(2),
        incremental: clock.unsigned(3) != 0,
        unit: clock.unsigned(4),
    };
    ClockSnapshot {
        clocks: message.messages(1).into_iter().map(reading).collect(),
        primary: message.number(2).map(|id| id as i32),
    }
}

/// For power rails, the times on BOOTTIME, like those of a bundle (O1).
fn energies(rails: &Message) -> Bundle {
    let event = |data: Message| FtraceEvent {
        timestamp: data.number(2).map(|ms| ms.saturating_mul(1_000_000)),
        ..FtraceEvent::default()
    };
    Bundle { events: rails.messages(2).into_iter().map(event).collect(), ..Bundle::default() }
}

/// For memory of Vulkan, its time on BOOTTIME (O1).
fn allocation(event: &Message) -> Bundle {
    let event = FtraceEvent { timestamp: event.number(3), ..FtraceEvent::default() };
    Bundle { events: vec![event], ..Bundle::default() }
}

/// For a bundle, its clock and its times.
fn pair(bundle: &Message) -> Bundle {
    let event =
        |event: Message| FtraceEvent { timestamp: event.number(1), ..FtraceEvent::default() };
    // For T1 their exact times do not matter.
    let compact = bundle.message(4).unwrap_or_default();
    let has_compact = compact.has(1) || compact.has(7);
    let compact = has_compact.then(|| FtraceEvent { timestamp: Some(0), ..FtraceEvent::default() });
    // It is converted like the events (O6).
    let begins = bundle.number(10).or_else(|| bundle.number(9));
    let begins =
        begins.map(|begins| FtraceEvent { timestamp: Some(begins), ..FtraceEvent::default() });
    Bundle {
        cpu: bundle.number(1).map(|cpu| cpu as u32),
        clock: bundle.number(5).map(|clock| clock as i32),
        ftrace_timestamp: bundle.number(6).map(u64::cast_signed),
        boot_timestamp: bundle.number(7).map(u64::cast_signed),
        events: bundle.messages(2).into_iter().map(event).chain(compact).chain(begins).collect(),
        ..Bundle::default()
    }
}

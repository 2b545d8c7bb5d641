//! Reading track events in file order: their times, the meaning of their sequence's numbers, and
//! sums (E1 to E4, E15 to E17, L1).

use super::described::{Described, Stands};
use super::packets::{Packets, Read};
use super::wire::Message;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Entries of interned data by field and iid (E2).
pub type Interned = BTreeMap<(u32, u64), Message>;

/// A track event with the data from its sequence.
#[derive(Clone, Debug)]
pub struct TrackEvent {
    pub fields: Message,
    /// The machine's `raw_id` and the number of the sequence.
    pub sequence: (u32, u32),
    pub defaults: Message,
    pub interned: Rc<Interned>,
    pub thread: Option<SequenceThread>,
    /// The pid of the event's writer (J11).
    pub trusted_pid: i64,
    /// L1, in nanoseconds.
    pub thread_time: Option<i64>,
    pub instructions: Option<i64>,
    /// The value of a COUNTER (E16).
    pub value: f64,
    /// E17: uuids and values.
    pub extra: Vec<(u64, f64)>,
    /// Its sequence lost packets since its state was cleared (DT10).
    pub is_lossy: bool,
}

/// The thread of a sequence (L1).
#[derive(Clone, Copy, Debug)]
pub struct SequenceThread {
    pub pid: i64,
    pub tid: i64,
    /// The pid of the writer (J11).
    pub trusted_pid: i64,
}

/// The bases of deltas: time and thread time in microseconds, instructions (L1).
#[derive(Clone, Copy, Debug)]
struct References {
    time: i64,
    thread_time: i64,
    instructions: i64,
}

#[derive(Debug, Default)]
struct State {
    defaults: Message,
    interned: Rc<Interned>,
    thread: Option<SequenceThread>,
    references: Option<References>,
    /// E16, by uuid.
    sums: BTreeMap<u64, f64>,
    /// DT10
    has_packets: bool,
    is_lossy: bool,
}

/// A track event with its time, and whether only D2 gives it.
pub type Placed = ((i64, bool), TrackEvent);

/// The track events of a trace by packet, without those that are dropped here.
pub fn track_events(packets: &Packets, described: &Described) -> BTreeMap<usize, Placed> {
    let mut states: BTreeMap<(u32, u32), State> = BTreeMap::new();
    let mut events = BTreeMap::new();
    for (index, packet) in packets.all.iter().enumerate() {
        let sequence = (packet.machine, packet.sequence);
        if !packet.is_of_sequence {
            continue; // E1, L1
        }
        let state = states.entry(sequence).or_default();
        state.header(packet);
        if packet.distrusted {
            continue; // E1
        }
        match &packet.payload {
            Some((Read::TRACK_EVENT, event)) => {
                if let Some(event) = state.event(packets, described, index, event) {
                    events.insert(index, event);
                }
            }
            Some((Described::THREAD, thread)) if packet.valid => {
                state.set_thread(packet, thread, None)
            }
            Some((Described::TRACK, descriptor)) if packet.valid => {
                if let Some(thread) = descriptor.message(4)
                    && Described::accepts(descriptor)
                {
                    state.set_thread(packet, &thread, descriptor.message(7).as_ref());
                }
            }
            _ => {}
        }
    }
    events
}

/// A sample of a streaming profile (CP).
#[derive(Clone, Debug)]
pub struct Streamed {
    pub packet: usize,
    pub time: i64,
    pub thread: SequenceThread,
    pub callstack: u64,
    pub priority: i32,
}

/// The samples of all streaming profiles in file order, and the counter that goes up for each dropped
/// sample or packet, in the order of the drops.
pub fn streamed(packets: &Packets, described: &Described) -> (Vec<Streamed>, Vec<&'static str>) {
    const INVALID: &str = "streaming_profile_invalid_timestamp";
    let mut states: BTreeMap<(u32, u32), State> = BTreeMap::new();
    let (mut samples, mut dropped) = (Vec::new(), Vec::new());
    for (index, packet) in packets.all.iter().enumerate() {
        let mut unnamed = State::default();
        let state = match packet.is_of_sequence {
            true => states.entry((packet.machine, packet.sequence)).or_default(),
            false => &mut unnamed,
        };
        state.header(packet);
        if packet.distrusted {
            continue;
        }
        match &packet.payload {
            Some((Read::TRACK_EVENT, event)) if packet.is_of_sequence => {
                state.event(packets, described, index, event);
            }
            Some((Described::THREAD, thread)) if packet.valid => {
                state.set_thread(packet, thread, None)
            }
            Some((Read::STREAMED, message)) => {
                let time = state.references.as_ref().map(|references| references.time);
                let (Some(time), Some(thread)) = (time.filter(|time| *time >= 0), state.thread)
                else {
                    dropped.push(INVALID);
                    continue;
                };
                let nanoseconds = time.saturating_mul(1000);
                let converted = packets.time_of_monotonic(index, nanoseconds);
                let mut time = converted.unwrap_or(nanoseconds);
                let (callstacks, deltas) = (message.numbers(1), message.numbers(2));
                for place in 0..callstacks.len().max(deltas.len()) {
                    let Some(delta) = deltas.get(place).map(|delta| delta.cast_signed()) else {
                        dropped.push("stackprofile_parser_error");
                        break;
                    };
                    time = time.saturating_add(delta.saturating_mul(1000));
                    let references = state.references.as_mut().unwrap();
                    references.time = references.time.saturating_add(delta);
                    if references.time < 0 {
                        dropped.push(INVALID);
                        break;
                    }
                    let Some(callstack) = callstacks.get(place) else {
                        continue;
                    };
                    if time < 0 {
                        dropped.push("trace_sorter_negative_timestamp_dropped");
                        continue;
                    }
                    samples.push(Streamed {
                        packet: index,
                        time,
                        thread,
                        callstack: *callstack,
                        priority: message.unsigned(3) as i32,
                    });
                }
            }
            _ => {}
        }
    }
    (samples, dropped)
}

impl State {
    /// S1 to S3, E2, E3
    fn header(&mut self, packet: &Read) {
        self.is_lossy = !packet.cleared && (self.is_lossy || packet.lost && self.has_packets);
        self.has_packets = true;
        if packet.cleared {
            self.defaults = Message::default();
            self.interned = Rc::default();
        }
        if packet.cleared || packet.lost {
            self.references = None;
            self.sums.clear();
        }
        if let Some(defaults) = &packet.defaults {
            self.defaults = defaults.message(11).unwrap_or_default();
        }
        if packet.valid {
            for field in packet.interned.fields() {
                for entry in packet.interned.messages(field) {
                    if let Some(iid) = entry.number(1) {
                        let table = Rc::make_mut(&mut self.interned);
                        table.entry((field, iid)).or_insert(entry);
                    }
                }
            }
        }
    }

    /// L1
    fn set_thread(&mut self, packet: &Read, thread: &Message, chrome_thread: Option<&Message>) {
        let (pid, tid) = Described::pid_and_tid(thread, chrome_thread);
        self.thread = Some(SequenceThread { pid, tid, trusted_pid: packet.trusted_pid });
        self.references = Some(References {
            time: thread.signed(6),
            thread_time: thread.signed(7),
            instructions: thread.signed(8),
        });
    }

    fn event(
        &mut self,
        packets: &Packets,
        described: &Described,
        index: usize,
        event: &Message,
    ) -> Option<Placed> {
        let packet = &packets.all[index];
        let time = self.time(packets, index, event)?;
        let thread_time = self.thread_time(event)?;
        let instructions = self.instructions(event)?;
        let uuid = event.number(11).or(self.defaults.number(11));
        if event.unsigned(9) == STATE && uuid.is_none() {
            return None; // E17
        }
        let mut counting = Counting {
            machine: packet.machine,
            described,
            sums: &mut self.sums,
            defaults: &self.defaults,
        };
        let value = counting.own(event)?;
        let extra = counting.extra(event)?;
        let event = TrackEvent {
            fields: event.clone(),
            sequence: (packet.machine, packet.sequence),
            defaults: self.defaults.clone(),
            interned: Rc::clone(&self.interned),
            thread: self.thread,
            trusted_pid: packet.trusted_pid,
            thread_time,
            instructions,
            value,
            extra,
            is_lossy: self.is_lossy,
        };
        Some((time, event))
    }

    /// E4
    fn time(&mut self, packets: &Packets, index: usize, event: &Message) -> Option<(i64, bool)> {
        let packet = &packets.all[index];
        let own = packets.time_of_packet(index);
        if packet.timestamp.is_some() && own.is_none() {
            return None;
        }
        let microseconds = if event.has(1) {
            let references = self.references.as_mut()?;
            references.time = references.time.saturating_add(event.signed(1));
            references.time
        } else if event.unsigned(16) != 0 {
            event.signed(16)
        } else {
            packet.timestamp?;
            return own;
        };
        let nanoseconds = microseconds.saturating_mul(1000);
        let converted = packets.time_of_monotonic(index, nanoseconds);
        let time = (converted.unwrap_or(nanoseconds), false);
        (nanoseconds >= 0).then_some(time)
    }

    /// L1. The outer `None` is a delta without references.
    fn thread_time(&mut self, event: &Message) -> Option<Option<i64>> {
        let microseconds = if event.has(2) {
            let references = self.references.as_mut()?;
            references.thread_time = references.thread_time.saturating_add(event.signed(2));
            Some(references.thread_time)
        } else {
            event.number(17).map(u64::cast_signed)
        };
        Some(microseconds.map(|us| us.saturating_mul(1000)))
    }

    /// L1
    fn instructions(&mut self, event: &Message) -> Option<Option<i64>> {
        if !event.has(8) {
            return Some(event.number(20).map(u64::cast_signed));
        }
        let references = self.references.as_mut()?;
        references.instructions = references.instructions.saturating_add(event.signed(8));
        Some(Some(references.instructions))
    }
}

/// Adds up deltas while an event is read (E16).
struct Counting<'a> {
    machine: u32,
    described: &'a Described,
    sums: &'a mut BTreeMap<u64, f64>,
    defaults: &'a Message,
}

/// The meaning of the event's type field (E7).
pub const COUNTER: u64 = 4;
pub const STATE: u64 = 5;

impl Counting<'_> {
    /// `None` if the uuid is not a counter's (E16).
    fn value(&mut self, uuid: u64, recorded: f64) -> Option<f64> {
        let descriptor = self.described.of(self.machine, uuid)?;
        let Stands::Counter(counter) = &descriptor.stands else {
            return None;
        };
        let mut value = recorded;
        if counter.signed(4) > 0 {
            value *= counter.signed(4) as f64;
        }
        if counter.unsigned(5) != 0 {
            let sum = self.sums.entry(uuid).or_default();
            *sum += value;
            value = *sum;
        }
        Some(value)
    }

    /// The value of a COUNTER (E15): 0 for other events, `None` if it is dropped.
    fn own(&mut self, event: &Message) -> Option<f64> {
        if event.unsigned(9) != COUNTER {
            return Some(0.0);
        }
        let uuid = event.number(11).or(self.defaults.number(11))?;
        let int = event.has(30).then(|| event.signed(30) as f64);
        let double = event.number(44).map(f64::from_bits);
        self.value(uuid, int.or(double)?)
    }

    /// E17. `None` if the event is dropped.
    fn extra(&mut self, event: &Message) -> Option<Vec<(u64, f64)>> {
        const AT_MOST: usize = 8;
        let ints = event.numbers(12).into_iter();
        let ints: Vec<f64> = ints.map(|value| value.cast_signed() as f64).collect();
        let doubles = event.fixed64s(46).into_iter();
        let doubles: Vec<f64> = doubles.map(f64::from_bits).collect();
        let mut found = Vec::new();
        for (values, uuids) in [(ints, 31), (doubles, 45)] {
            let of = [event, self.defaults];
            let said = of.into_iter().find(|message| message.has(uuids));
            let uuids = said.map_or(Vec::new(), |message| message.numbers(uuids));
            for (place, value) in values.into_iter().enumerate() {
                let uuid = *uuids.get(place).filter(|uuid| **uuid != 0)?;
                if found.len() >= AT_MOST {
                    return None;
                }
                found.push((uuid, self.value(uuid, value)?));
            }
        }
        Some(found)
    }
}

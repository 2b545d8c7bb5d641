//! Traces as bundles of kernel events, so that tests can remove some. Everything else remains
//! unchanged, byte for byte.

use std::collections::BTreeMap;

use timebase_lab::decode::{self, Field};
use timebase_lab::encode::{Message, trace_of};

/// A kernel event, in either encoding.
#[derive(Clone, Debug)]
pub enum Event {
    Full {
        time: u64,
        pid: u64,
        is_switch: bool,
        /// The woken thread.
        wakee: Option<u64>,
        /// The previous and the next thread of a switch.
        threads: Option<(u64, u64)>,
        bytes: Vec<u8>,
    },
    /// Time, previous state, pid, priority, name.
    Switch([u64; 5]),
    /// Time, pid, target cpu, priority, name, flags.
    Waking([u64; 6]),
}

impl Event {
    pub fn time(&self) -> u64 {
        match self {
            Event::Full { time, .. } => *time,
            Event::Switch([time, ..]) | Event::Waking([time, ..]) => *time,
        }
    }

    pub fn is_switch(&self) -> bool {
        matches!(self, Event::Switch(_) | Event::Full { is_switch: true, .. })
    }

    pub fn is_waking(&self) -> bool {
        matches!(self, Event::Waking(_) | Event::Full { wakee: Some(_), .. })
    }

    /// The threads in the event.
    pub fn pids(&self) -> Vec<u64> {
        match self {
            Event::Full { pid, wakee, threads, .. } => {
                let threads = threads.map_or([None, None], |(prev, next)| [Some(prev), Some(next)]);
                let all = [Some(*pid), *wakee].into_iter().chain(threads);
                all.flatten().collect()
            }
            Event::Switch([_, _, pid, ..]) | Event::Waking([_, pid, ..]) => vec![*pid],
        }
    }
}

/// A packet with a bundle.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// The other fields of the packet.
    pub packet: Message,
    /// The other fields of the bundle.
    pub rest: Message,
    pub cpu: u64,
    pub is_lost: bool,
    /// The table of the compact encoding.
    pub names: Vec<Vec<u8>>,
    pub events: Vec<Event>,
}

#[derive(Clone, Debug)]
pub enum Packet {
    Bundle(Bundle),
    Other(Message),
}

fn fields(bytes: &[u8]) -> impl Iterator<Item = Field<'_>> {
    decode::fields(bytes).unwrap().into_iter()
}

fn value(message: &[u8], number: u32) -> Option<u64> {
    let mut all = fields(message);
    all.find(|field| field.number == number).map(|field| field.value.number())
}

fn column(compact: &[u8], number: u32) -> Vec<u64> {
    let mut all = Vec::new();
    for field in fields(compact).filter(|field| field.number == number) {
        let mut packed = field.value.bytes();
        while !packed.is_empty() {
            all.push(decode::varint(&mut packed).unwrap());
        }
    }
    all
}

fn times(compact: &[u8], number: u32) -> Vec<u64> {
    let deltas = column(compact, number).into_iter();
    deltas
        .scan(0_u64, |time, delta| {
            *time += delta;
            Some(*time)
        })
        .collect()
}

fn full(bytes: &[u8]) -> Event {
    let inside = |number| fields(bytes).find(|field| field.number == number);
    let (switch, waking) = (inside(4), inside(20));
    let of = |event: &Option<Field<'_>>, number| {
        let event = event.as_ref()?;
        Some(value(event.value.bytes(), number).unwrap_or(0))
    };
    Event::Full {
        time: value(bytes, 1).unwrap_or(0),
        pid: value(bytes, 2).unwrap_or(0),
        is_switch: switch.is_some(),
        wakee: of(&waking, 2),
        threads: of(&switch, 2).zip(of(&switch, 6)),
        bytes: bytes.to_vec(),
    }
}

/// The packets of a trace.
pub fn read(trace: &[u8]) -> Vec<Packet> {
    let packet = |bytes: &[u8]| {
        let Some(payload) = fields(bytes).find(|field| field.number == 1) else {
            return Packet::Other(Message(bytes.to_vec()));
        };
        let mut bundle = Bundle::default();
        for field in fields(bytes).filter(|field| field.number != 1) {
            bundle.packet.0.extend(field.all);
        }
        for field in fields(payload.value.bytes()) {
            match field.number {
                1 => bundle.cpu = field.value.number(),
                2 => bundle.events.push(full(field.value.bytes())),
                3 => bundle.is_lost = field.value.number() != 0,
                4 => {
                    let compact = field.value.bytes();
                    let names = fields(compact).filter(|field| field.number == 5);
                    bundle.names = names.map(|field| field.value.bytes().to_vec()).collect();
                    let rows = [2, 3, 4, 6].map(|number| column(compact, number));
                    for (n, time) in times(compact, 1).into_iter().enumerate() {
                        let [a, b, c, d] = [0, 1, 2, 3].map(|row: usize| rows[row][n]);
                        bundle.events.push(Event::Switch([time, a, b, c, d]));
                    }
                    let rows = [8, 9, 10, 11, 12].map(|number| column(compact, number));
                    for (n, time) in times(compact, 7).into_iter().enumerate() {
                        let of = |row: usize| rows[row].get(n).copied().unwrap_or(0);
                        let waking = [time, of(0), of(1), of(2), of(3), of(4)];
                        bundle.events.push(Event::Waking(waking));
                    }
                }
                _ => bundle.rest.0.extend(field.all),
            }
        }
        bundle.events.sort_by_key(Event::time);
        Packet::Bundle(bundle)
    };
    fields(trace).map(|field| packet(field.value.bytes())).collect()
}

/// The bytes of a trace of packets.
pub fn write(packets: &[Packet]) -> Vec<u8> {
    let packet = |packet: &Packet| match packet {
        Packet::Other(bytes) => bytes.clone(),
        Packet::Bundle(bundle) => bundle.write(),
    };
    let packets: Vec<Message> = packets.iter().map(packet).collect();
    trace_of(&packets)
}

impl Bundle {
    fn write(&self) -> Message {
        let mut bundle = Message::new().number(1, self.cpu);
        if self.is_lost {
            bundle = bundle.number(3, 1);
        }
        bundle = bundle.and(&self.rest);
        let mut columns: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let mut last = [0; 2];
        for event in &self.events {
            let (numbers, values, kind): (&[u32], &[u64], usize) = match event {
                Event::Full { bytes, .. } => {
                    bundle = bundle.bytes(2, bytes);
                    continue;
                }
                Event::Switch(values) => (&[1, 2, 3, 4, 6], values, 0),
                Event::Waking(values) => (&[7, 8, 9, 10, 11, 12], values, 1),
            };
            for (number, value) in numbers.iter().zip(values) {
                columns.entry(*number).or_default().push(*value);
            }
            let time = values[0];
            let deltas = columns.entry(numbers[0]).or_default();
            if let Some(delta) = deltas.last_mut() {
                *delta = time - last[kind];
            }
            last[kind] = time;
        }
        if !columns.is_empty() {
            let mut compact = Message::new();
            for name in &self.names {
                compact = compact.bytes(5, name);
            }
            for (number, values) in &columns {
                compact = compact.packed(*number, values);
            }
            bundle = bundle.message(4, compact);
        }
        self.packet.clone().message(1, bundle)
    }
}

/// An event in the full encoding.
pub fn full_event(event: Message) -> Event {
    full(&event.0)
}

//! The track events that a cut keeps, with the deltas of those that it leaves out (rules CT2, CT5).
//!
//! # Design
//!
//! Thread times and incremental counters are sums of deltas over a sequence. The deltas of events that are left out are
//! added to the next one that stays, so it leads to the sum that it had. The alternative was to write an event with each
//! sum at the begin of the window. It would need a place before all events that are carried over, and a time.

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_descriptor::field::Value;
use timebase_schema::fields::{
    counter_descriptor, thread_descriptor, trace_packet_defaults as of_packets, track_descriptor,
    track_event as field, track_event_defaults as defaults, track_event_legacy_event as legacy,
};
use timebase_trace::wire::packet::{Header, PacketType};

use crate::message::Message;
use crate::readers::{fields, put_bytes, put_number};

/// The types of track events.
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;
const STATE: u64 = 5;

/// The use of an event that is carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It lies in the window.
    InWindow,
    /// It began a slice. Its flows stay if one of them leads into the window.
    Begin {
        has_flows: bool,
    },
    /// It ended a slice.
    End,
    /// It named its track.
    Name,
    /// Its values are the last of their counters.
    Values,
    State,
}

/// Fields that link slices.
const FLOWS: [u32; 4] = [
    field::FLOW_IDS_OLD,
    field::FLOW_IDS,
    field::TERMINATING_FLOW_IDS_OLD,
    field::TERMINATING_FLOW_IDS,
];

/// The counters of a file that have deltas as values, by uuid.
#[derive(Debug, Default)]
pub(super) struct Incremental(FxHashSet<u64>);

impl Incremental {
    /// Reads a descriptor of a track.
    pub fn read(&mut self, descriptor: &[u8]) {
        let descriptor = Message(descriptor);
        if let Some(counter) = descriptor.bytes(track_descriptor::COUNTER)
            && Message(counter).flag(counter_descriptor::IS_INCREMENTAL)
            && let Some(uuid) = descriptor.natural(track_descriptor::UUID)
        {
            self.0.insert(uuid);
        }
    }
}

/// The deltas of a sequence that wait for an event that stays, and its defaults.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    thread_time: i64,
    instructions: i64,
    /// In microseconds, of streamed samples.
    samples: i64,
    counters: FxHashMap<u64, Sum>,
    defaults: Vec<u8>,
}

/// The deltas of a counter.
#[derive(Debug, Default, Clone, Copy)]
struct Sum {
    whole: i64,
    fraction: f64,
}

impl Deltas {
    /// Applies the header of a packet, and a payload that sets the references of the sequence.
    pub fn begin(&mut self, header: &Header<'_>) {
        if header.clears_state() {
            *self = Deltas::default();
        } else if header.previous_packet_dropped != 0 {
            *self = Deltas { defaults: std::mem::take(&mut self.defaults), ..Deltas::default() };
        }
        if let Some(stated) = header.trace_packet_defaults {
            let events = Message(stated).bytes(of_packets::TRACK_EVENT_DEFAULTS);
            self.defaults = events.unwrap_or_default().to_vec();
        }
        let is_reference = match header.payload {
            Some((PacketType::THREAD_DESCRIPTOR, _)) => true,
            Some((PacketType::TRACK_DESCRIPTOR, payload)) => {
                Message(payload).bytes(track_descriptor::THREAD).is_some_and(has_references)
            }
            _ => false,
        };
        if is_reference {
            (self.thread_time, self.instructions, self.samples) = (0, 0, 0);
        }
    }

    /// Whether the next event changes.
    fn is_empty(&self) -> bool {
        self.thread_time == 0 && self.instructions == 0 && self.counters.is_empty()
    }

    /// Keeps the deltas of samples that are left out.
    pub fn keep_samples(&mut self, deltas: impl Iterator<Item = u64>) {
        self.samples = deltas.fold(self.samples, |sum, delta| sum.wrapping_add(delta as i64));
    }

    /// The deltas of samples that the next one gets.
    pub fn take_samples(&mut self) -> i64 {
        std::mem::take(&mut self.samples)
    }

    /// Keeps the deltas of an event that is left out.
    pub fn keep(&mut self, event: &[u8], incremental: &Incremental) {
        let event = Message(event);
        let add = |sum: &mut i64, number: u32| {
            *sum = sum.wrapping_add(event.number(number).unwrap_or(0) as i64);
        };
        add(&mut self.thread_time, field::THREAD_TIME_DELTA_US);
        add(&mut self.instructions, field::THREAD_INSTRUCTION_COUNT_DELTA);
        if incremental.0.is_empty() {
            return;
        }
        let mut values: Vec<(u64, Sum)> = Vec::new();
        if let Some(value) = event.number(field::COUNTER_VALUE) {
            values.push((self.own(event), Sum { whole: value as i64, fraction: 0.0 }));
        }
        if let Some(value) = event.float(field::DOUBLE_COUNTER_VALUE) {
            values.push((self.own(event), Sum { whole: 0, fraction: value }));
        }
        let whole = event.numbers(field::EXTRA_COUNTER_VALUES);
        let whole = whole.map(|value| Sum { whole: value as i64, fraction: 0.0 });
        values.extend(self.extra(event, EXTRA).into_iter().zip(whole));
        let fractions = event.fixed(field::EXTRA_DOUBLE_COUNTER_VALUES);
        let fractions = fractions.map(|bits| Sum { whole: 0, fraction: f64::from_bits(bits) });
        values.extend(self.extra(event, EXTRA_DOUBLE).into_iter().zip(fractions));
        for (uuid, more) in values.into_iter().filter(|(uuid, _)| incremental.0.contains(uuid)) {
            let sum = self.counters.entry(uuid).or_default();
            sum.whole = sum.whole.wrapping_add(more.whole);
            sum.fraction += more.fraction;
        }
    }

    /// The track of an event.
    fn own(&self, event: Message<'_>) -> u64 {
        let own = event.natural(field::TRACK_UUID);
        own.or(Message(&self.defaults).natural(defaults::TRACK_UUID)).unwrap_or(0)
    }

    /// The tracks of the values beside an event.
    fn extra(&self, event: Message<'_>, [own, default]: [u32; 2]) -> Vec<u64> {
        let uuids: Vec<u64> = event.numbers(own).collect();
        match uuids.is_empty() {
            true => Message(&self.defaults).numbers(default).collect(),
            false => uuids,
        }
    }

    /// The new bytes of an event that stays; `None` if it does not change. The deltas of the event count as written.
    pub fn put(&mut self, event: &[u8]) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let message = Message(event);
        let own = self.own(message);
        let mut extra = self.extra(message, EXTRA).into_iter();
        let mut extra_double = self.extra(message, EXTRA_DOUBLE).into_iter();
        let mut out = Vec::with_capacity(event.len() + 8);
        let mut has_changed = false;
        for (number, value, bytes) in fields(event) {
            let start = out.len();
            match (number, value) {
                (field::THREAD_TIME_DELTA_US, Value::Varint(delta)) => {
                    let more = std::mem::take(&mut self.thread_time);
                    put_number(&mut out, number, delta.wrapping_add(more as u64));
                }
                (field::THREAD_INSTRUCTION_COUNT_DELTA, Value::Varint(delta)) => {
                    let more = std::mem::take(&mut self.instructions);
                    put_number(&mut out, number, delta.wrapping_add(more as u64));
                }
                // A sum with a fraction has another field.
                (field::COUNTER_VALUE, Value::Varint(delta)) if self.has_fraction(own) => {
                    let bits = self.fraction(Some(own), (delta as i64 as f64).to_bits());
                    put_fixed(&mut out, field::DOUBLE_COUNTER_VALUE, bits);
                }
                (field::COUNTER_VALUE, Value::Varint(delta)) => {
                    put_number(&mut out, number, self.whole(Some(own), delta));
                }
                (field::DOUBLE_COUNTER_VALUE, Value::Fixed64(bits)) => {
                    put_fixed(&mut out, number, self.fraction(Some(own), bits));
                }
                (field::EXTRA_COUNTER_VALUES, Value::Varint(delta)) => {
                    put_number(&mut out, number, self.whole(extra.next(), delta));
                }
                (field::EXTRA_COUNTER_VALUES, Value::Bytes(_)) => {
                    let mut packed = Vec::new();
                    for delta in Message(bytes).numbers(number) {
                        let delta = self.whole(extra.next(), delta);
                        crate::compact::Put(&mut packed).natural(delta);
                    }
                    put_bytes(&mut out, number, &packed);
                }
                (field::EXTRA_DOUBLE_COUNTER_VALUES, Value::Fixed64(bits)) => {
                    put_fixed(&mut out, number, self.fraction(extra_double.next(), bits));
                }
                _ => out.extend_from_slice(bytes),
            }
            has_changed |= out.get(start..) != Some(bytes);
        }
        has_changed.then_some(out)
    }

    fn has_fraction(&self, uuid: u64) -> bool {
        self.counters.get(&uuid).is_some_and(|sum| sum.fraction.fract() != 0.0)
    }

    fn whole(&mut self, uuid: Option<u64>, delta: u64) -> u64 {
        let sum = uuid.and_then(|uuid| self.counters.remove(&uuid)).unwrap_or_default();
        delta.wrapping_add(sum.whole as u64).wrapping_add(sum.fraction as i64 as u64)
    }

    fn fraction(&mut self, uuid: Option<u64>, bits: u64) -> u64 {
        let Some(sum) = uuid.and_then(|uuid| self.counters.remove(&uuid)) else {
            return bits;
        };
        (f64::from_bits(bits) + sum.fraction + sum.whole as f64).to_bits()
    }
}

const EXTRA: [u32; 2] = [field::EXTRA_COUNTER_TRACK_UUIDS, defaults::EXTRA_COUNTER_TRACK_UUIDS];
const EXTRA_DOUBLE: [u32; 2] =
    [field::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, defaults::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS];

fn has_references(thread: &[u8]) -> bool {
    let thread = Message(thread);
    [
        thread_descriptor::REFERENCE_TIMESTAMP_US,
        thread_descriptor::REFERENCE_THREAD_TIME_US,
        thread_descriptor::REFERENCE_THREAD_INSTRUCTION_COUNT,
    ]
    .iter()
    .any(|field| thread.number(*field).is_some())
}

fn put_fixed(out: &mut Vec<u8>, number: u32, bits: u64) {
    crate::compact::Put(out).natural(u64::from(number) << 3 | 1);
    out.extend_from_slice(&bits.to_le_bytes());
}

/// Whether an event serves a use.
pub(super) fn serves(event: &[u8], wanted: Use) -> bool {
    let event = Message(event);
    let kind = event.number(field::TYPE).unwrap_or(0);
    match wanted {
        Use::InWindow | Use::Begin { .. } => true,
        Use::Name => event.bytes(field::LEGACY_EVENT).is_none(),
        Use::End => {
            let phase = event.bytes(field::LEGACY_EVENT).and_then(|legacy| {
                Message(legacy).number(legacy::PHASE).and_then(|phase| u8::try_from(phase).ok())
            });
            kind == SLICE_END || phase == Some(b'E')
        }
        Use::Values => {
            kind == COUNTER
                || event.number(field::EXTRA_COUNTER_VALUES).is_some()
                || event.each(field::EXTRA_COUNTER_VALUES).next().is_some()
                || event.fixed(field::EXTRA_DOUBLE_COUNTER_VALUES).next().is_some()
        }
        Use::State => kind == STATE,
    }
}

/// The event as an end, which names its track and makes nothing.
pub(super) fn only_name(event: &[u8]) -> Vec<u8> {
    const KEPT: [u32; 5] =
        [field::CATEGORY_IIDS, field::CATEGORIES, field::NAME_IID, field::NAME, field::TRACK_UUID];
    let mut out = Vec::new();
    put_number(&mut out, field::TYPE, SLICE_END);
    let kept = fields(event).filter(|(number, ..)| KEPT.contains(number));
    kept.for_each(|(.., bytes)| out.extend_from_slice(bytes));
    out
}

/// The event without its flows; `None` if it has none.
pub(super) fn without_flows(event: &[u8]) -> Option<Vec<u8>> {
    let is_flow = |number: u32| FLOWS.contains(&number);
    if !fields(event).any(|(number, ..)| is_flow(number)) {
        return None;
    }
    let mut out = Vec::new();
    let others = fields(event).filter(|(number, ..)| !is_flow(*number));
    others.for_each(|(.., bytes)| out.extend_from_slice(bytes));
    Some(out)
}

/// An event of a slice or another thing, as an event for each of its values. A counter's event stays as it is. One event
/// with all values would have the first counter as its own, and be lost with it if that one's track cannot exist (rule
/// U4).
pub(super) fn only_values(event: &[u8], deltas: &Deltas) -> Option<Vec<Vec<u8>>> {
    let message = Message(event);
    if message.number(field::TYPE) == Some(COUNTER) {
        return None;
    }
    let start = |uuid: u64| {
        let mut out = Vec::new();
        put_number(&mut out, field::TYPE, COUNTER);
        put_number(&mut out, field::TRACK_UUID, uuid);
        out
    };
    let whole = deltas.extra(message, EXTRA).into_iter();
    let whole = whole.zip(message.numbers(field::EXTRA_COUNTER_VALUES)).map(|(uuid, value)| {
        let mut out = start(uuid);
        put_number(&mut out, field::COUNTER_VALUE, value);
        out
    });
    let fractions = deltas.extra(message, EXTRA_DOUBLE).into_iter();
    let fractions = fractions.zip(message.fixed(field::EXTRA_DOUBLE_COUNTER_VALUES));
    let fractions = fractions.map(|(uuid, bits)| {
        let mut out = start(uuid);
        put_fixed(&mut out, field::DOUBLE_COUNTER_VALUE, bits);
        out
    });
    Some(whole.chain(fractions).collect())
}

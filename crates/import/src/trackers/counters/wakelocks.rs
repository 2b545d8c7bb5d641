//! The time for which the kernel's wakelocks were held (rule RT15).

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    kernel_wakelock_data as data, kernel_wakelock_data_wakelock as wakelock,
};

use super::series::{CounterSample, CounterType, Told, Which};
use super::sparse::Sparse;
use crate::message::Message;
use crate::output::{Cause, Counter, Fault};
use crate::timeline::{Name, PacketEvent};
use crate::world::Owner;

const REUSED: Fault = Fault::new(
    Counter::error(
        "kernel_wakelock_reused_id",
        "a number of a wakelock of the kernel is described again; the first description counts",
    )
    .drops_nothing(),
);
const UNKNOWN: Fault = Fault::new(
    Counter::error(
        "kernel_wakelock_unknown_id",
        "the time of a wakelock of the kernel that is not described is left out",
    )
    .drops(Cause::Incomplete),
);

/// The faults of wakelocks.
pub(in super::super) const WAKELOCK_FAULTS: [Fault; 2] = [REUSED, UNKNOWN];

static ZERO: Counter = Counter::data_loss(
    "kernel_wakelock_zero_value_reported",
    "packets in which the recorder got 0 for a wakelock of the kernel that had been held",
)
.recorded();
static NOT_MONOTONIC: Counter = Counter::data_loss(
    "kernel_wakelock_non_monotonic_value_reported",
    "packets in which the recorder got a smaller time than before for a wakelock of the kernel",
)
.recorded();
static TOO_LARGE: Counter = Counter::data_loss(
    "kernel_wakelock_implausibly_large_value_reported",
    "packets in which the recorder got an impossible time for a wakelock of the kernel",
)
.recorded();

/// The recorder's observations, by their bits.
pub(in super::super) const NOTICED: [(u64, &Counter); 3] =
    [(1, &ZERO), (2, &NOT_MONOTONIC), (4, &TOO_LARGE)];

const HELD: CounterType = CounterType::with_unit("android_kernel_wakelock", "ns");

/// Nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// The wakelocks of all machines.
#[derive(Debug, Default)]
pub(super) struct Wakelocks {
    sequences: FxHashMap<(u32, u32), Sequence>,
    sparse: Sparse,
}

/// The descriptions and the times of a sequence since its state was cleared.
#[derive(Debug, Default)]
struct Sequence {
    /// The number of clearings so far.
    cleared: u32,
    named: FxHashMap<u32, (Name, &'static str)>,
    held: BTreeMap<Name, Held>,
}

/// The time for which the wakelocks of a name were held.
#[derive(Debug)]
struct Held {
    kind: &'static str,
    millis: u64,
}

impl Wakelocks {
    /// Takes the times of a `KernelWakelockData`.
    pub fn packet(
        &mut self,
        packet: &PacketEvent<'_>,
        message: Message<'_>,
        sample: &mut CounterSample<'_, '_, '_>,
    ) {
        let machine = packet.machine;
        let key = (machine, packet.interval.sequence);
        let sequence = self.sequences.entry(key).or_default();
        if sequence.cleared != packet.interval.cleared {
            *sequence = Sequence { cleared: packet.interval.cleared, ..Sequence::default() };
        }
        sequence.describe(packet, message, sample);
        let times = message.numbers(data::TIME_HELD_MILLIS);
        for (id, millis) in message.numbers(data::WAKELOCK_ID).zip(times) {
            let Some(&(name, kind)) = sequence.named.get(&(id as u32)) else {
                sample.at.world.faults.add(UNKNOWN, packet.id);
                continue;
            };
            let held = sequence.held.entry(name).or_insert(Held { kind, millis: 0 });
            held.millis = held.millis.wrapping_add(millis);
        }
        for (name, held) in &sequence.held {
            let text = sample.at.world.definitions.names.text(*name).to_owned();
            let which: Which<'_> = &[
                ("wakelock_name", Told::from(text.as_str())),
                ("wakelock_type", Told::from(held.kind)),
            ];
            let track = sample.track(&HELD, Owner::None, which, format_args!("{text}"));
            self.sparse.put(track, held.millis.wrapping_mul(MILLISECOND), sample);
        }
        let flags = message.number(data::ERROR_FLAGS).unwrap_or(0);
        for (bit, counter) in NOTICED {
            if flags & bit != 0 {
                let of = (packet.file, machine);
                sample.at.world.counts.add(counter, of, None, 1);
            }
        }
    }
}

impl Sequence {
    /// Takes the descriptions of a packet; the first one of a number counts.
    fn describe(
        &mut self,
        packet: &PacketEvent<'_>,
        message: Message<'_>,
        sample: &mut CounterSample<'_, '_, '_>,
    ) {
        for described in message.messages(data::WAKELOCK) {
            let id = described.small(wakelock::WAKELOCK_ID).unwrap_or(0);
            let name = described.bytes(wakelock::WAKELOCK_NAME).unwrap_or_default();
            let world = &mut *sample.at.world;
            let name = world.definitions.names.number(name);
            let kind = match described.number(wakelock::WAKELOCK_TYPE) {
                Some(1) => "kernel",
                Some(2) => "native",
                _ => "unknown",
            };
            match self.named.entry(id) {
                Entry::Occupied(_) => world.faults.add(REUSED, packet.id),
                Entry::Vacant(place) => {
                    place.insert((name, kind));
                }
            }
        }
    }
}

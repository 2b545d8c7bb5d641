//! Heap profiles of heapprofd (rules HP).
//!
//! # Design
//!
//! A dump has the sums since the profile began. A row is the difference to the previous dump for the same
//! callstack. So the last sums of each callstack are remembered. Samples wait for the end of their dump,
//! which may be several packets, because stacks may come after the samples that use them.

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::fields::{
    profile_packet as field, profile_packet_heap_sample as sample,
    profile_packet_process_heap_samples as dump,
};
use timebase_schema::tables::{heap_profile, heap_profile_allocation_record};

use super::callstacks::{CallsiteId, Callstacks};
use super::faults::{DUMP_WITHOUT_TIME, MALFORMED, MALFORMED_PACKET, MISSING_PACKET};
use super::heap_stacks::OwnStacks;
use super::heap_stats;
use super::packet::{Packet, some_number};
use super::stacks::KnownStacks;
use crate::message::Message;
use crate::output::Cell;
use crate::place::TraceTime;
use crate::timeline::Name;
use crate::trackers::tracker::TrackerContext;
use crate::world::Upid;

/// The number and the bytes of allocations, and of frees. Frees are below 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    allocated: (i64, i64),
    freed: (i64, i64),
}

impl Sums {
    /// The sums of a sample. Numbers beyond 64 bits wrap, as in trace processor.
    fn of(sample: Message<'_>, has_original_interval: bool) -> Self {
        let number = |field| sample.number(field).unwrap_or(0) as i64;
        match sample.number(sample::SELF_MAX) {
            Some(most) => Sums {
                allocated: (
                    if has_original_interval { number(sample::SELF_MAX_COUNT) } else { 0 },
                    most as i64,
                ),
                freed: (0, 0),
            },
            None => Sums {
                allocated: (number(sample::ALLOC_COUNT), number(sample::SELF_ALLOCATED)),
                freed: (
                    number(sample::FREE_COUNT).wrapping_neg(),
                    number(sample::SELF_FREED).wrapping_neg(),
                ),
            },
        }
    }

    fn with(self, other: Sums, each: impl Fn(i64, i64) -> i64) -> Sums {
        let both =
            |one: (i64, i64), other: (i64, i64)| (each(one.0, other.0), each(one.1, other.1));
        Sums {
            allocated: both(self.allocated, other.allocated),
            freed: both(self.freed, other.freed),
        }
    }

    /// Whether no sum has decreased.
    fn grows(self) -> bool {
        self.allocated.0 >= 0 && self.allocated.1 >= 0 && self.freed.0 <= 0 && self.freed.1 <= 0
    }
}

/// A heap of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Heap {
    upid: Upid,
    name: Name,
}

/// The samples of a dump that waits for its end.
#[derive(Debug)]
struct Pending {
    heap: Heap,
    ts: i64,
    /// Each sample with the number of its callstack.
    samples: Vec<(u64, Sums)>,
}

/// The state of dumps in an interval (rule OP4).
#[derive(Debug)]
pub(super) struct Dumps {
    index: Option<u64>,
    own: OwnStacks,
    pending: Vec<Pending>,
    last: FxHashMap<(Heap, CallsiteId), Sums>,
    seen: FxHashSet<(Heap, u64, CallsiteId)>,
    bases: FxHashMap<(Heap, u64), Sums>,
}

impl Default for Dumps {
    fn default() -> Self {
        Dumps {
            index: None,
            own: OwnStacks::first(),
            pending: Vec::new(),
            last: FxHashMap::default(),
            seen: FxHashSet::default(),
            bases: FxHashMap::default(),
        }
    }
}

/// The rows of `heap_profile` (rule HP3).
pub(super) type Profiled = FxHashSet<(Upid, i64, Option<Name>)>;

impl Dumps {
    /// Takes a packet of a dump.
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        (known, callstacks): (&mut KnownStacks, &mut Callstacks),
        profiled: &mut Profiled,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = packet.message();
        let index = message.number(field::INDEX).unwrap_or(0);
        let expected = self.index.map_or(0, |before| before.wrapping_add(1));
        if index != expected {
            at.world.faults.add(MISSING_PACKET, packet.event.packet);
        }
        self.index = Some(index);
        self.own.read(packet, callstacks, at);
        for dump in message.messages(field::PROCESS_DUMPS) {
            self.dump(dump, packet, profiled, at);
        }
        if message.flag(field::CONTINUED) {
            return;
        }
        for pending in std::mem::take(&mut self.pending) {
            for (stack, now) in &pending.samples {
                let callsite = self.own.stack(*stack).or_else(|| {
                    let used = (Some(pending.heap.upid), *stack);
                    known.stack(used, packet.known(), callstacks, at)
                });
                if let Some(callsite) = callsite {
                    self.sample(&pending, *stack, callsite, *now, (packet, at));
                }
            }
        }
        self.own = OwnStacks::default();
    }

    /// Takes a dump of a process (rules HP2 to HP5).
    fn dump(
        &mut self,
        dump: Message<'_>,
        packet: &Packet<'_>,
        profiled: &mut Profiled,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let world = &mut *at.world;
        let recorded = dump.number(dump::TIMESTAMP).unwrap_or(0);
        let profiles = &world.definitions.profiles;
        let part = packet.writer.part;
        let Some(TraceTime(end)) = profiles.time(part, recorded) else {
            return world.faults.add(DUMP_WITHOUT_TIME, packet.event.packet);
        };
        let start = dump.number(dump::START_TIMESTAMP).unwrap_or(recorded);
        let start = profiles.time(part, start).map_or(end, |TraceTime(ts)| ts);
        let pid = dump.small(dump::PID).unwrap_or(0);
        let upid = world.threads.process(packet.writer.machine, pid.into());
        let names = &mut world.definitions.names;
        let name = some_number(dump.bytes(dump::HEAP_NAME), names);
        let heap = Heap { upid, name: name.unwrap_or_else(|| names.number(b"unknown")) };
        if profiled.insert((upid, end, name)) {
            let id = at.rows.count(&heap_profile::TABLE);
            let heap_name = at.rows.optional_text(name.map(|name| names.text(name)));
            at.rows.push(heap_profile::Row {
                id: Cell::from(id),
                ts: Cell::from(start),
                ts_end: Cell::from(end),
                dur: Cell::from(end.saturating_sub(start)),
                upid: Cell::from(upid.0),
                heap_name,
            });
        }
        heap_stats::count(dump, pid, (start, end), packet, at);
        let has_interval = dump.number(dump::ORIG_SAMPLING_INTERVAL_BYTES).unwrap_or(0) != 0;
        let samples = dump.messages(dump::SAMPLES);
        let samples = samples.map(|sample| {
            let stack = sample.number(sample::CALLSTACK_ID).unwrap_or(0);
            (stack, Sums::of(sample, has_interval))
        });
        self.pending.push(Pending { heap, ts: end, samples: samples.collect() });
    }

    /// Writes the difference of a sample to the previous one (rule HP6).
    fn sample(
        &mut self,
        pending: &Pending,
        stack: u64,
        callsite: CallsiteId,
        now: Sums,
        (packet, at): (&Packet<'_>, &mut TrackerContext<'_, '_>),
    ) {
        let heap = pending.heap;
        let last = self.last.entry((heap, callsite)).or_default();
        if self.seen.insert((heap, stack, callsite)) {
            self.bases.insert((heap, stack), *last);
        }
        let base = self.bases.get(&(heap, stack)).copied();
        let now = now.with(base.unwrap_or_default(), i64::wrapping_add);
        let difference = now.with(*last, i64::wrapping_sub);
        if !difference.grows() {
            let idx = i64::from(heap.upid.0);
            let world = &mut *at.world;
            world.counts.add(&MALFORMED_PACKET, packet.of(), idx, 1);
            return world.faults.add(MALFORMED, packet.event.packet);
        }
        *last = now;
        let world = &mut *at.world;
        let names = &world.definitions.names;
        let is_java = names.text(heap.name) == "com.android.art";
        let heap_name = world.strings.of_name(heap.name, names, at.rows);
        let both = [(difference.allocated, false), (difference.freed, is_java)];
        for ((count, size), is_left_out) in both {
            if (count, size) == (0, 0) || is_left_out {
                continue;
            }
            let id = at.rows.count(&heap_profile_allocation_record::TABLE);
            at.rows.push(heap_profile_allocation_record::Row {
                id: Cell::from(id),
                ts: Cell::from(pending.ts),
                upid: Cell::from(heap.upid.0),
                heap_name: Cell::from(heap_name),
                callsite_id: Cell::from(callsite.0),
                count: Cell::from(count),
                size: Cell::from(size),
            });
        }
    }
}

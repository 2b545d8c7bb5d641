//! Profiles: samples of callstacks, heap profiles, smaps (rules OP to SM).
//!
//! | question | where it is decided |
//! |---|---|
//! | the rows of mappings, frames, symbols and callsites | `callstacks.rs` |
//! | the entries of interned data for numbers | `packet.rs`, `stacks.rs` |
//! | symbols that came after the trace | `symbols.rs` |
//! | the task, the execution and the session of samples, and the rows of samples | `samples.rs` |
//! | samples of linux.perf, and the names of its counters | `perf.rs`, `perf_events.rs` |
//! | samples in the common form, and their counters | `stack_sample.rs`, `counters.rs` |
//! | Chrome's samples | `streamed.rs` |
//! | heap profiles, the stacks inside them, and their counters | `heap.rs`, `heap_stacks.rs`, `heap_stats.rs` |
//! | smaps | `smaps.rs` |
//!
//! The state of a sequence's interval is dropped after the interval's last event, so that it does not grow
//! with the trace.

mod callstacks;
mod counters;
mod faults;
mod heap;
mod heap_stacks;
mod heap_stats;
mod packet;
mod perf;
mod perf_events;
mod samples;
mod smaps;
mod stack_sample;
mod stacks;
mod streamed;
mod symbols;

use std::io;

use rustc_hash::FxHashMap;
use timebase_trace::wire::packet::PacketType;
use timebase_trace::{Interval, Kept};

use self::callstacks::Callstacks;
use self::heap::{Dumps, Profiled};
use self::packet::Packet;
use self::perf::Perf;
use self::samples::Samples;
use self::stack_sample::{KnownAsync, StackSamples};
use self::stacks::KnownStacks;
use super::tracker::At;
use crate::timeline::ProfileEvent;

/// The fields of `InternedData` that are looked up, in intervals that have an event of profiles.
pub(crate) const PROFILES_INTERNED: &[(u32, Kept)] = &[
    (stacks::interned::FUNCTION_NAMES, Kept::Interval),
    (stacks::interned::FRAMES, Kept::Interval),
    (stacks::interned::CALLSTACKS, Kept::Interval),
    (stacks::interned::BUILD_IDS, Kept::Interval),
    (stacks::interned::MAPPING_PATHS, Kept::Interval),
    (stacks::interned::SOURCE_PATHS, Kept::Interval),
    (stacks::interned::MAPPINGS, Kept::Interval),
    (stack_sample::interned::TASKS, Kept::Interval),
    (stack_sample::interned::EXECUTIONS, Kept::Interval),
    (counters::DESCRIPTORS, Kept::Interval),
    (stack_sample::interned::ASYNC_CONTEXTS, Kept::Interval),
];

/// The state of an interval (rule OP4).
#[derive(Debug, Default)]
struct Known {
    stacks: KnownStacks,
    async_contexts: KnownAsync,
    dumps: Option<Box<Dumps>>,
}

/// Follows profiles.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    known: FxHashMap<Interval, Known>,
    callstacks: Callstacks,
    samples: Samples,
    perf: Perf,
    stack_samples: StackSamples,
    profiled: Profiled,
}

impl Profiles {
    /// Takes a packet, or a sample in a packet.
    ///
    /// # Errors
    ///
    /// If records in the temporary file cannot be read back.
    pub fn event(
        &mut self,
        ts: i64,
        event: &ProfileEvent<'_>,
        at: &mut At<'_, '_>,
    ) -> io::Result<()> {
        let Some(writer) = at.world.definitions.profiles.of(event.writer) else {
            return Ok(());
        };
        let packet = &Packet { ts, event, writer };
        let known = self.known.entry(event.interval).or_default();
        let (callstacks, samples) = (&mut self.callstacks, &mut self.samples);
        match PacketType(event.field) {
            PacketType::PERF_SAMPLE => {
                let stacks = (&mut known.stacks, callstacks);
                self.perf.packet(packet, stacks, samples, at);
            }
            PacketType::STACK_SAMPLE => {
                let known = (&mut known.stacks, &mut known.async_contexts);
                self.stack_samples
                    .packet(packet, known, (callstacks, samples), at);
            }
            PacketType::STREAMING_PROFILE_PACKET => {
                let stacks = (&mut known.stacks, callstacks);
                streamed::sample(packet, stacks, samples, at)?;
            }
            PacketType::PROFILE_PACKET => {
                let stacks = (&mut known.stacks, callstacks);
                let dumps = known.dumps.get_or_insert_default();
                dumps.packet(packet, stacks, &mut self.profiled, at);
            }
            PacketType::MODULE_SYMBOLS => symbols::symbolize(packet, callstacks, at),
            PacketType::SMAPS_PACKET => smaps::packet(packet, at),
            _ => {}
        }
        if at.world.definitions.profiles.has_come(event.interval) {
            self.known.remove(&event.interval);
            at.world.interned.forget(event.interval);
        }
        Ok(())
    }

    /// Writes the rest of the rows, because there are no more events.
    pub fn end(&mut self, at: &mut At<'_, '_>) {
        let world = &mut *at.world;
        let names = &world.definitions.names;
        self.callstacks.end(names, &mut world.faults, at.rows);
        self.samples.end(names, at.rows);
        self.perf.end(at.rows);
    }
}

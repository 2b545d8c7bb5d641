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
//! | V8's profiles in track events | `v8.rs` |
//! | names from files with symbols | `native.rs` |
//! | names from mappings of R8 | `obfuscated.rs` |
//! | frames that are in the event itself | `inline.rs` |
//! | callstacks of track events | `track_event_stacks.rs` |
//! | heap profiles, the stacks inside them, and their counters | `heap.rs`, `heap_stacks.rs`, `heap_stats.rs` |
//! | smaps | `smaps.rs` |
//! | processes of Android's runtime that ran out of memory | `art.rs` |
//!
//! The state of a sequence's interval is dropped after the interval's last event, so that it does not grow
//! with the trace.

mod art;
mod callstacks;
mod counters;
mod faults;
mod heap;
mod heap_stacks;
mod heap_stats;
mod inline;
mod native;
mod obfuscated;
mod packet;
mod perf;
mod perf_events;
mod samples;
mod smaps;
mod stack_sample;
mod stacks;
mod streamed;
mod symbols;
mod track_event_stacks;
mod v8;

use std::io;

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::fields::interned_data as interned;
use timebase_trace::wire::packet::PacketType;
use timebase_trace::{Interval, Kept};

use self::art::Runtime;
use self::callstacks::Callstacks;
use self::heap::{Dumps, Profiled};
use self::obfuscated::Methods;
use self::packet::Packet;
use self::perf::Perf;
use self::samples::Samples;
use self::stack_sample::{KnownAsync, StackSamples};
use self::stacks::KnownStacks;
use self::track_event_stacks::{Stack, TrackEventStacks};
use self::v8::V8Profiles;
use super::heap_graphs::HeapGraphs;
use super::mappings::Mappings;
use super::track_events::Stacked;
use super::tracker::TrackerContext;
use crate::timeline::{JsonEvent, ProfileEvent, ProfileSample, TrackEvent};
use crate::world::Utid;

/// The fields of `InternedData` that are looked up, in intervals that have an event of profiles.
pub(crate) const PROFILES_INTERNED: &[(u32, Kept)] = &[
    (interned::FUNCTION_NAMES, Kept::Interval),
    (interned::FRAMES, Kept::Interval),
    (interned::CALLSTACKS, Kept::Interval),
    (interned::BUILD_IDS, Kept::Interval),
    (interned::MAPPING_PATHS, Kept::Interval),
    (interned::SOURCE_PATHS, Kept::Interval),
    (interned::MAPPINGS, Kept::Interval),
    (interned::STACK_SAMPLE_TASK_CONTEXTS, Kept::Interval),
    (interned::STACK_SAMPLE_EXECUTION_CONTEXTS, Kept::Interval),
    (interned::STACK_SAMPLE_COUNTER_DESCRIPTORS, Kept::Interval),
    (interned::STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTORS, Kept::Interval),
];

/// Whether a track event needs the interned data of its interval.
#[inline]
pub(super) fn awaits(event: &TrackEvent<'_>) -> bool {
    event.stack.is_some()
}

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
    track_event_stacks: TrackEventStacks,
    v8: V8Profiles,
    heap_graphs: HeapGraphs,
    mappings: Mappings,
    runtime: Runtime,
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
        at: &mut TrackerContext<'_, '_>,
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
                self.stack_samples.packet(packet, known, (callstacks, samples), at);
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
            PacketType::TRACK_EVENT => {
                self.v8.sample(packet, callstacks, samples, at)?;
            }
            PacketType::MODULE_SYMBOLS => symbols::symbolize(packet, callstacks, at),
            PacketType::SMAPS_PACKET => smaps::packet(packet, at),
            PacketType::HEAP_GRAPH => self.heap_graphs.packet(ts, event, writer, at),
            PacketType::DEOBFUSCATION_MAPPING => {
                self.mappings.add(event.payload, &at.world.scratch)?;
            }
            PacketType::ART_PROCESS_METADATA => self.runtime.packet(packet, callstacks, at),
            _ => {}
        }
        self.has_come(event.interval, at);
        Ok(())
    }

    /// Takes a sample of a JSON trace (rule JS28).
    ///
    /// # Errors
    ///
    /// If the temporary file is damaged.
    pub fn json_sample(
        &mut self,
        ts: i64,
        event: &JsonEvent<'_>,
        utid: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) -> io::Result<()> {
        let sample = (ProfileSample::read(event.payload)?, event.packet);
        let stacks = (&mut self.callstacks, &mut self.samples);
        self.v8.json_sample(ts, sample, utid, stacks, at);
        Ok(())
    }

    /// Takes the callstack of a track event, which has made a row (rule FP4).
    #[cold]
    pub fn track_event(
        &mut self,
        ts: i64,
        event: &TrackEvent<'_>,
        stacked: Option<Stacked>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        if let (Some(stack), Some(stacked)) = (&event.stack, stacked) {
            let known = self.known.entry(stack.interval).or_default();
            let of = Stack { ts, event, stack, stacked };
            let stacks = (&mut known.stacks, &mut self.callstacks);
            self.track_event_stacks.add(&of, stacks, at);
        }
    }

    /// An event that needs the interned data of an interval has come.
    fn has_come(&mut self, interval: Interval, at: &mut TrackerContext<'_, '_>) {
        if at.world.definitions.profiles.has_come(interval) {
            self.known.remove(&interval);
            at.world.interned.forget(interval);
        }
    }

    /// Gives frames, classes and fields the names of mappings (rules DM).
    fn rename(&mut self, at: &mut TrackerContext<'_, '_>) -> io::Result<()> {
        let mappings = std::mem::take(&mut self.mappings);
        let definitions = &at.world.definitions;
        let (names, files) = (&definitions.names, &definitions.name_files.mappings);
        if mappings.are_none(files) {
            self.heap_graphs.end(&FxHashMap::default(), at);
            return Ok(());
        }
        let mut methods = Methods::new(&self.callstacks, names);
        let threads = &at.world.threads;
        let package_of = |upid| {
            let (machine, uid) = threads.user(upid)?;
            definitions.packages.of_process(machine, uid)
        };
        let mut renaming = self.heap_graphs.renaming(names, package_of);
        let wanted: FxHashSet<&str> = methods.wanted().chain(renaming.wanted()).collect();
        let mut used = vec![false; files.len()];
        mappings.each(files, &wanted, |source, class| {
            let is_of_frame = methods.take(source, class);
            let has_any = renaming.take(source, class) || is_of_frame;
            if let Some(used) = source.file.and_then(|place| used.get_mut(place)) {
                *used |= has_any;
            }
        })?;
        if !wanted.is_empty() {
            let unused = files.iter().zip(used).filter(|(_, is_used)| !is_used);
            unused.for_each(|(file, _)| obfuscated::is_unused(file, at.rows));
        }
        let (of_frames, of_classes) = (methods.end(), renaming.end());
        obfuscated::rename(of_frames, &mut self.callstacks, at);
        self.heap_graphs.end(&of_classes, at);
        Ok(())
    }

    /// Writes the rest of the rows, because there are no more events.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) -> io::Result<()> {
        self.v8.end(&mut self.callstacks, at);
        native::symbolize(&mut self.callstacks, at);
        self.heap_graphs.end_graphs(at);
        self.rename(at)?;
        let world = &mut *at.world;
        let names = &world.definitions.names;
        self.callstacks.end(names, &mut world.faults, at.rows);
        self.samples.end(names, at.rows);
        self.perf.end(at.rows);
        Ok(())
    }
}

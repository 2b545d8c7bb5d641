//! The state that the events of a sequence share: their defaults (rule E3), the thread that their
//! writer says it is and the references of its deltas (rule L1), texts by their numbers (rule E2),
//! and the sums of counters (rule E16). All of it depends on the order in the file.
//!
//! A trace may have 100,000 sequences, so data that only few sequences have is boxed, and the texts
//! of interned numbers are noted next to the entries.

use std::io;

use timebase_schema::fields::{thread_descriptor as thread, trace_packet_defaults as defaults};

use timebase_store::sort::Scratch;
use timebase_trace::Interval;

use super::counters::{HeldValues, Sums, is_held};
use super::defaults::Defaults;
use crate::definitions::{Profiles, Uuids};
use crate::message::Message;
use crate::output::Faults;
use crate::pieces::Pieces;
use crate::place::{Generation, SettledEvent, TraceTime};
use crate::timeline::{Timeline, WriterThread};

/// The values to which deltas are added: the sums after the last delta.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::readers) struct References {
    pub time_us: i64,
    pub thread_time_us: i64,
    pub instructions: i64,
}

/// The state of one sequence, in 56 bytes.
#[derive(Debug, Default)]
pub(crate) struct SequenceState {
    /// The generation, without the number of the sequence.
    cleared: u32,
    lost: u32,
    lossy: bool,
    /// Whether there are references of deltas.
    has_references: bool,
    /// The defaults of profilers, by their number in the definitions of profiles.
    pub(in crate::readers) profile_defaults: u32,
    /// One more than the number of the thread that the writer says it is, or 0.
    thread: u32,
    pub(in crate::readers) defaults: Defaults,
    /// The references of deltas. In most sequences they are 0 and stay 0, which takes no memory.
    references: Option<Box<References>>,
    pub(in crate::readers) sums: Option<Box<Sums>>,
}

/// The state of all sequences.
pub(crate) struct Writers {
    all: Pieces<SequenceState>,
    pub(in crate::readers) values: HeldValues,
    record: Vec<u8>,
}

impl Writers {
    /// Starts without sequences. Data that does not fit into memory goes to `scratch`.
    pub fn new(scratch: &Scratch) -> Self {
        Writers { all: Pieces::default(), values: HeldValues::new(scratch), record: Vec::new() }
    }

    /// The state of a sequence in a generation.
    #[inline]
    pub fn state(&mut self, generation: Generation) -> (&mut SequenceState, &mut HeldValues) {
        let place = generation.interval.sequence as usize;
        let state = self.all.reach(place);
        if state.generation(generation.interval.sequence) != generation {
            state.change(generation, &mut self.values);
        }
        (state, &mut self.values)
    }

    /// The state of a sequence in its generation, if any event needed it.
    pub fn known(&self, generation: Generation) -> Option<&SequenceState> {
        let state = self.all.get(generation.interval.sequence as usize)?;
        (state.generation(generation.interval.sequence) == generation).then_some(state)
    }

    /// Applies a packet's `TracePacketDefaults`.
    pub fn defaults(&mut self, generation: Generation, defaults: &[u8], profiles: &mut Profiles) {
        let (state, _) = self.state(generation);
        state.profile_defaults = profiles.defaults(defaults);
        let defaults = Message(defaults).bytes(defaults::TRACK_EVENT_DEFAULTS);
        state.defaults = Defaults::read(Message(defaults.unwrap_or_default()));
    }

    /// Gives the events with values that waited for the descriptors of their counters to the
    /// timeline. There are no more packets, so the state of the sequences is dropped.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub fn release(
        &mut self,
        uuids: &Uuids,
        timeline: &mut Timeline,
        faults: &mut Faults,
    ) -> io::Result<()> {
        for (sequence, mut state) in (0..).zip(std::mem::take(&mut self.all)) {
            self.values.keep(state.generation(sequence), &mut state.sums);
        }
        self.values.release(uuids, timeline, faults)
    }

    /// Gives an event that waited for its packet's time to the timeline. Returns the event's time.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read.
    pub fn settled(
        &mut self,
        event: &SettledEvent<'_>,
        ts: TraceTime,
        uuids: &Uuids,
        timeline: &mut Timeline,
        faults: &mut Faults,
    ) -> io::Result<Option<TraceTime>> {
        let (event, place) = (event.event, event.place);
        if !is_held(event) {
            timeline.push_kept(ts, place, event);
            return Ok(Some(ts));
        }
        let mut record = std::mem::take(&mut self.record);
        let settled = self.values.settled(event, ts, uuids, faults, &mut record)?;
        if let Some(ts) = settled {
            timeline.push_kept(ts, place, &record);
        }
        self.record = record;
        Ok(settled)
    }
}

/// The time in a `ThreadDescriptor` to which times are relative, in microseconds (rule L1).
pub(in crate::readers) fn time_of(descriptor: Message<'_>) -> i64 {
    descriptor.number(thread::REFERENCE_TIMESTAMP_US).unwrap_or(0) as i64
}

impl SequenceState {
    /// The generation of this sequence.
    #[inline]
    fn generation(&self, sequence: u32) -> Generation {
        let interval = Interval { sequence, cleared: self.cleared };
        Generation { interval, lost: self.lost, lossy: self.lossy }
    }

    /// The thread that the writer says it is.
    pub fn thread(&self) -> Option<WriterThread> {
        self.thread.checked_sub(1).map(WriterThread)
    }

    /// The references of its deltas: the values after the last delta.
    pub(in crate::readers) fn references(&mut self) -> Option<&mut References> {
        self.has_references.then(|| &mut **self.references.get_or_insert_default())
    }

    /// Changes to another generation, because the state was cleared or lost (rules S2, S3).
    fn change(&mut self, generation: Generation, values: &mut HeldValues) {
        values.keep(self.generation(generation.interval.sequence), &mut self.sums);
        (self.has_references, self.references) = (false, None);
        if self.cleared != generation.interval.cleared {
            self.defaults = Defaults::default();
            self.profile_defaults = 0;
        }
        self.cleared = generation.interval.cleared;
        (self.lost, self.lossy) = (generation.lost, generation.lossy);
    }

    /// Keeps the thread that the writer says it is, and the references of its deltas. The caller
    /// checks that they can be trusted (rule L1).
    pub fn is_thread(&mut self, WriterThread(thread): WriterThread, descriptor: Message<'_>) {
        let number = |field| descriptor.number(field).unwrap_or(0) as i64;
        self.thread = thread.saturating_add(1);
        let references = References {
            time_us: time_of(descriptor),
            thread_time_us: number(thread::REFERENCE_THREAD_TIME_US),
            instructions: number(thread::REFERENCE_THREAD_INSTRUCTION_COUNT),
        };
        self.has_references = true;
        self.references = (references != References::default()).then(|| references.into());
    }
}

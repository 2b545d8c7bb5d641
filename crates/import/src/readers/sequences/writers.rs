//! What the events of a sequence share: their defaults (rule E3), the thread that their
//! writer says it is and what its times are relative to (rule L1), texts by their
//! numbers (rule E2), and the sums of counters (rule E16). All of it goes with the file.

use std::collections::hash_map::Entry;
use std::io;

use rustc_hash::FxHashMap;
use timebase_store::sort::Scratch;

use super::counters::{HeldValues, Sums, is_held};
use super::defaults::Defaults;
use super::event::field;
use crate::definitions::{Names, Profiles, Uuids, Writer};
use crate::message::Message;
use crate::output::Faults;
use crate::place::{Generation, Place, SettledEvent, TraceTime};
use crate::timeline::{Label, OwnLabel, Timeline, WriterThread};

/// What deltas are added to, as what was added last left it.
#[derive(Debug, Clone, Copy)]
pub(in crate::readers) struct References {
    pub time_us: i64,
    pub thread_time_us: i64,
    pub instructions: i64,
}

/// The state of one sequence.
#[derive(Debug, Default)]
pub(crate) struct SequenceState {
    generation: Generation,
    pub(in crate::readers) defaults: Defaults,
    /// Those of profilers, by their number in the definitions of profiles.
    pub(in crate::readers) profile_defaults: u32,
    pub(in crate::readers) thread: Option<(Writer, WriterThread)>,
    pub(in crate::readers) references: Option<References>,
    labels: FxHashMap<(u32, u64), OwnLabel>,
    pub(in crate::readers) sums: Sums,
}

/// The state of all sequences.
pub(crate) struct Writers {
    all: Vec<SequenceState>,
    pub(in crate::readers) values: HeldValues,
    record: Vec<u8>,
}

impl Writers {
    /// What does not fit memory is put aside there.
    pub fn new(scratch: &Scratch) -> Self {
        Writers {
            all: Vec::new(),
            values: HeldValues::new(scratch),
            record: Vec::new(),
        }
    }

    /// The state of a sequence, as of a part of it.
    #[inline]
    pub fn state(&mut self, generation: Generation) -> (&mut SequenceState, &mut HeldValues) {
        let place = generation.interval.sequence as usize;
        if self.all.len() <= place {
            self.all.resize_with(place + 1, SequenceState::default);
        }
        let state = &mut self.all[place];
        if state.generation != generation {
            state.change(generation, &mut self.values);
        }
        (state, &mut self.values)
    }

    /// A packet brings `TracePacketDefaults`.
    pub fn defaults(&mut self, generation: Generation, defaults: &[u8], profiles: &mut Profiles) {
        const TRACK_EVENT_DEFAULTS: u32 = 11;
        let (state, _) = self.state(generation);
        state.profile_defaults = profiles.defaults(defaults);
        let defaults = Message(defaults).bytes(TRACK_EVENT_DEFAULTS);
        let defaults = Message(defaults.unwrap_or_default());
        state.defaults = Defaults {
            track_uuid: defaults.number(field::TRACK_UUID),
            more_uuids: defaults.numbers(field::MORE_UUIDS).collect(),
            more_double_uuids: defaults.numbers(field::MORE_DOUBLE_UUIDS).collect(),
        };
    }

    /// Events with values that waited for the descriptors of their counters take their
    /// places: there are no more packets.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be written or read back.
    pub fn release(
        &mut self,
        uuids: &Uuids,
        timeline: &mut Timeline,
        faults: &mut Faults,
    ) -> io::Result<()> {
        for state in &mut self.all {
            self.values.keep(state.generation, &mut state.sums);
        }
        self.values.release(uuids, timeline, faults)
    }

    /// What waited for its packet's time goes to the timeline. Tells when it is.
    ///
    /// # Errors
    ///
    /// If what was put aside cannot be read back.
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

/// What a `ThreadDescriptor` says that times are relative to, in microseconds (rule L1).
pub(in crate::readers) fn time_of(descriptor: Message<'_>) -> i64 {
    descriptor.number(6).unwrap_or(0) as i64
}

impl SequenceState {
    /// Rules S2 and S3.
    fn change(&mut self, generation: Generation, values: &mut HeldValues) {
        values.keep(self.generation, &mut self.sums);
        self.references = None;
        if self.generation.interval != generation.interval {
            self.defaults = Defaults::default();
            self.profile_defaults = 0;
            self.labels.clear();
        }
        self.generation = generation;
    }

    /// The writer says which thread it is, and what times are relative to; where that
    /// is not to be trusted, not (rule L1).
    pub fn is_thread(&mut self, thread: (Writer, WriterThread), descriptor: Message<'_>) {
        let number = |field| descriptor.number(field).unwrap_or(0) as i64;
        self.thread = Some(thread);
        self.references = Some(References {
            time_us: time_of(descriptor),
            thread_time_us: number(7),
            instructions: number(8),
        });
    }

    /// Looks up what a number of a field of interned data stands for, whose entries have
    /// a text, so that [`SequenceState::label`] knows it. Tells whether anybody does.
    #[inline]
    pub(in crate::readers) fn look_up(
        &mut self,
        field: u32,
        iid: u64,
        place: &Place,
        names: &mut Names,
    ) -> bool {
        const TEXT: u32 = 2;
        let Entry::Vacant(unknown) = self.labels.entry((field, iid)) else {
            return true;
        };
        let Some(entry) = place.interned.get(self.generation.interval, field, iid) else {
            return false;
        };
        unknown.insert(match Message(entry).text(TEXT) {
            None => OwnLabel::None,
            Some(text) => names.label(&text).into(),
        });
        true
    }

    /// What a number stands for that was looked up.
    #[inline]
    pub(in crate::readers) fn label(&self, field: u32, iid: u64) -> Label<'_> {
        let label = self.labels.get(&(field, iid));
        label.map_or(Label::None, OwnLabel::label)
    }
}

//! Events of traces in Chrome's JSON format (rules JS13 to JS29).
//!
//! # Design
//!
//! Readers have made names into numbers and texts into values. Here an event finds its thread and its track in the order
//! of time, and slices go to the stacks that track events use too. The tracks of async events and of instants, and
//! the flows, are those of legacy track events (`track_events/legacy.rs`).
//!
//! | question | where it is decided |
//! |---|---|
//! | the order of events with equal times (rule JS13) | `ties.rs` |
//! | slices that overlap (rule JS19) | `overflow.rs` |
//! | async events and their ids (rules JS21, JS22) | `asynchronous.rs` |
//! | flows (rules JS23, JS24) | `flows.rs` |
//! | states of threads (rule JS27) | `../sched/json.rs` |
//! | samples of V8's profiles (rule JS28) | `../profiles/v8.rs` |

mod asynchronous;
mod flows;
mod overflow;
mod ties;

use std::io;

use rustc_hash::{FxHashMap, FxHashSet};

use self::asynchronous::AsyncIds;
use self::flows::FlowKinds;
use self::overflow::OverflowLanes;
pub(super) use self::ties::Ties;
use super::sched::{JsonStates, SchedSlices};
use super::track_events::OtherTracks;
use super::tracker::TrackerContext;
use crate::arguments::ArgValue;
use crate::definitions::json_fault as fault;
use crate::timeline::{InstantScope, JsonEvent, Label, NameOf, OwnLabel};
use crate::world::{
    EndOfSlice, MadeSlice, NewSlice, NewTrack, Owner, Rank, SliceId, Spent, TrackId, Upid, Utid,
};

/// The name of a slice without a name.
const NO_NAME: Label<'static> = Label::Own("[No name]");

/// Follows the events of one file.
#[derive(Debug, Default)]
pub(super) struct JsonEvents {
    overflow: FxHashMap<Utid, OverflowLanes>,
    ids: AsyncIds,
    flows: FlowKinds,
    counters: FxHashMap<(Upid, OwnLabel), TrackId>,
    instants: OtherTracks,
    states: JsonStates,
    /// Threads and processes whose index is known.
    indexed_threads: FxHashSet<Utid>,
    indexed_processes: FxHashSet<Upid>,
}

/// An event with its thread and its process.
#[derive(Debug, Clone, Copy)]
struct Located<'a> {
    ts: i64,
    event: &'a JsonEvent<'a>,
    utid: Utid,
    upid: Upid,
}

impl JsonEvents {
    /// Takes an event. Returns the thread of a sample, which the tracker of profiles takes.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be read back.
    pub fn event(
        &mut self,
        ts: i64,
        event: &JsonEvent<'_>,
        slices: &mut SchedSlices,
        at: &mut TrackerContext<'_, '_>,
    ) -> io::Result<Option<Utid>> {
        let Some(utid) = at.world.json_thread(event.thread) else {
            return Ok(None);
        };
        let Some(upid) = at.world.threads.process_of(utid) else {
            return Ok(None);
        };
        let here = &Located { ts, event, utid, upid };
        match event.phase {
            'B' => {
                let track = at.world.tracks.of_thread(utid);
                self.begin(here, track, at);
            }
            'E' => {
                let track = at.world.tracks.of_thread(utid);
                end(here, track, at);
            }
            'X' => self.complete(here, at),
            'i' | 'I' | 'R' => self.instant(here, at),
            'b' | 'e' | 'n' | 'S' | 'F' | 'p' => self.asynchronous(here, at),
            'T' if event.id.is_some() => self.asynchronous(here, at),
            'T' => self.states.state(here.ts, event, utid, slices, at)?,
            's' | 't' | 'f' => self.flow(here, at),
            'C' => self.value(here, at),
            'M' => self.named(here, at)?,
            'P' => return Ok(Some(utid)),
            _ => {}
        }
        Ok(None)
    }

    /// Begins a slice on a track, and binds its flow.
    fn begin(&mut self, here: &Located<'_>, track: TrackId, at: &mut TrackerContext<'_, '_>) {
        let slice = here.slice(track, here.name());
        let made = at.world.begin_slice(slice, here.event.args, at.rows);
        self.bind(here, track, made, at);
    }

    /// Adds a complete slice (rule JS19).
    fn complete(&mut self, here: &Located<'_>, at: &mut TrackerContext<'_, '_>) {
        let track = at.world.tracks.of_thread(here.utid);
        let dur = here.event.dur.unwrap_or_default();
        if dur < 0 {
            at.world.faults.add(fault::NEGATIVE_DURATION, here.event.packet);
            return self.bind(here, track, None, at);
        }
        let slice = here.slice(track, here.name());
        let args = here.event.args;
        if let Ok(made) = at.world.add_unless_overlapping(&slice, dur, args, at.rows) {
            return self.bind(here, track, made, at);
        }
        at.world.faults.add(fault::SPILLED, here.event.packet);
        let lanes = self.overflow.entry(here.utid).or_default();
        let track = lanes.place((here.ts, dur), here.utid, at.world);
        let made = at.world.add_slice(NewSlice { track, ..slice }, dur, args, at.rows);
        self.bind(here, track, made, at);
    }

    /// Adds an instant (rule JS20).
    fn instant(&mut self, here: &Located<'_>, at: &mut TrackerContext<'_, '_>) {
        let machine = at.world.part.machine;
        let mut of_chrome = |upid| {
            let track = self.instants.instants(machine, upid, at.world);
            here.slice_of_no_thread(track)
        };
        let slice = match here.event.instant {
            InstantScope::Process => of_chrome(Some(here.upid)),
            InstantScope::Global => of_chrome(None),
            InstantScope::Thread => here.slice(at.world.tracks.of_thread(here.utid), here.name()),
        };
        at.world.add_slice(slice, 0, here.event.args, at.rows);
    }

    /// Adds a value of a counter (rule JS26).
    fn value(&mut self, here: &Located<'_>, at: &mut TrackerContext<'_, '_>) {
        let Some(value) = here.event.payload.first_chunk() else {
            return;
        };
        let value = f64::from_bits(u64::from_le_bytes(*value));
        let key = (here.upid, OwnLabel::from(here.event.name));
        let world = &mut *at.world;
        let track = match self.counters.get(&key) {
            Some(&track) => track,
            None => {
                let name = world.definitions.names.text_of(&key.1).unwrap_or_default();
                let owner = Owner::Process(here.upid);
                let track = NewTrack::counter(world.part.machine, "json_counter", name, owner);
                let track = world.tracks.get(track.with("name", name));
                self.counters.insert(key, track);
                track
            }
        };
        world.value(here.ts, track, value, None, at.rows);
    }

    /// Gives a thread or a process a name or an index (rule JS17).
    fn named(&mut self, here: &Located<'_>, at: &mut TrackerContext<'_, '_>) -> io::Result<()> {
        if here.event.payload.is_empty() {
            return Ok(());
        }
        let names = &mut at.world.definitions.names;
        let threads = &mut at.world.threads;
        let index = |index: i32| ArgValue::Int(index.into());
        match NameOf::read(here.event.payload)? {
            NameOf::Thread(name) => threads.call_thread(here.utid, Rank::Third, name),
            NameOf::Process(name) => threads.call_process(here.upid, Rank::Second, name),
            NameOf::ThreadIndex(given) => {
                if self.indexed_threads.insert(here.utid) {
                    let args = threads.thread_args(here.utid);
                    args.push("thread_sort_index_hint", index(given), names);
                }
            }
            NameOf::ProcessIndex(given) => {
                if self.indexed_processes.insert(here.upid)
                    && let Some(args) = threads.process_args(here.upid)
                {
                    args.push("process_sort_index_hint", index(given), names);
                }
            }
        }
        Ok(())
    }
}

/// Ends a slice of a thread (rule JS18).
fn end(here: &Located<'_>, track: TrackId, at: &mut TrackerContext<'_, '_>) {
    let event = here.event;
    let end = EndOfSlice {
        category: event.category,
        name: event.name,
        time: event.thread_time,
        ..EndOfSlice::any(here.ts, track)
    };
    let ended = at.world.end_slice(end, event.args, at.rows);
    if ended.is_none() && event.name != Label::None && at.world.top_slice(track).is_some() {
        at.world.unmatched(&here.slice(track, event.name));
    }
}

impl<'a> Located<'a> {
    /// The name of the event's slice, if it needs one.
    fn name(&self) -> Label<'a> {
        match self.event.name {
            Label::None => NO_NAME,
            name => name,
        }
    }

    /// A slice of the event's thread, with its times.
    fn slice(&self, track: TrackId, name: Label<'a>) -> NewSlice<'a> {
        NewSlice {
            name,
            time: Spent { before: self.event.thread_time, within: self.event.thread_dur },
            ..self.slice_of_no_thread(track)
        }
    }

    /// A slice that may have no name, and has no times of a thread.
    fn slice_of_no_thread(&self, track: TrackId) -> NewSlice<'a> {
        NewSlice {
            category: self.event.category,
            packet: Some(self.event.packet),
            ..NewSlice::named(self.ts, track, self.event.name)
        }
    }

    fn made(&self, id: SliceId) -> MadeSlice {
        MadeSlice { id, ts: self.ts }
    }
}

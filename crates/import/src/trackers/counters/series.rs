//! From a value to its track, without making anything for a track that is there
//! (rule M1).
//!
//! # Design
//!
//! A track is remembered by bytes: its type, whose it is, and what else tells it from
//! others of the type, a number or a text as it stands in the trace. They are put
//! together in one place and looked up there. To ask for the track by all that it is
//! was the alternative; but it has a name, which would be put together for each value.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::trackers::tracker::At;
use crate::world::{NewTrack, Owner, ThreadCounter, ThreadValue, TrackId, Upid, Utid, ucpu};

/// What counters of one type have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CounterType {
    track_type: &'static str,
    unit: Option<&'static str>,
}

impl CounterType {
    pub const fn new(track_type: &'static str) -> Self {
        CounterType {
            track_type,
            unit: None,
        }
    }

    pub const fn with_unit(track_type: &'static str, unit: &'static str) -> Self {
        CounterType {
            track_type,
            unit: Some(unit),
        }
    }

    pub fn track_type(&self) -> &'static str {
        self.track_type
    }
}

/// What tells a counter from others of its type and owner; its name follows
/// from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which<'a> {
    Only,
    Number(u32),
    Text(&'a [u8]),
    /// A text and two more.
    Texts(&'a [u8], &'a [u8], u32),
}

/// The tracks that have had values.
#[derive(Debug, Default)]
pub(super) struct CounterTracks {
    by_key: FxHashMap<Box<[u8]>, TrackId>,
    key: Vec<u8>,
    /// How many values were of CPUs that no machine can have.
    pub beyond_cpus: u64,
}

impl CounterTracks {
    /// Puts the bytes together by which a track is remembered.
    fn put_key(&mut self, machine: u32, counter: &CounterType, owner: Owner, which: Which<'_>) {
        let key = &mut self.key;
        key.clear();
        key.extend_from_slice(&machine.to_le_bytes());
        let (tag, owner, second) = match owner {
            Owner::None => (0, 0, 0),
            Owner::Thread(Utid(id)) => (1, id, 0),
            Owner::Process(Upid(id)) => (2, id, 0),
            Owner::Cpu(id) => (3, id, 0),
            Owner::Gpu(id) => (4, id, 0),
            Owner::ProcessOnGpu(Upid(id), gpu) => (5, id, gpu),
        };
        key.push(tag);
        key.extend_from_slice(&owner.to_le_bytes());
        key.extend_from_slice(&second.to_le_bytes());
        let mut text = |text: &[u8]| {
            key.extend_from_slice(&(text.len() as u64).to_le_bytes());
            key.extend_from_slice(text);
        };
        text(counter.track_type.as_bytes());
        match which {
            Which::Only => {}
            Which::Number(number) => key.extend_from_slice(&number.to_le_bytes()),
            Which::Text(which) => text(which),
            Which::Texts(first, second, number) => {
                text(first);
                text(second);
                key.extend_from_slice(&number.to_le_bytes());
            }
        }
    }
}

/// An event or a packet that has values of counters, all of one time.
pub(super) struct CounterSample<'s, 'a, 'o> {
    pub tracks: &'s mut CounterTracks,
    pub at: &'s mut At<'a, 'o>,
    pub ts: i64,
    pub machine: u32,
}

impl CounterSample<'_, '_, '_> {
    /// A value is a row.
    pub fn put(
        &mut self,
        counter: &CounterType,
        owner: Owner,
        which: Which<'_>,
        name: fmt::Arguments<'_>,
        value: f64,
    ) {
        let track = self.track(counter, owner, which, name);
        self.put_on(track, value, &[]);
    }

    /// A value that is of nobody.
    pub fn put_global(
        &mut self,
        counter: &CounterType,
        which: Which<'_>,
        name: fmt::Arguments<'_>,
        value: f64,
    ) {
        self.put(counter, Owner::None, which, name, value);
    }

    /// A value with arguments is a row.
    pub fn put_on(&mut self, track: TrackId, value: f64, args: &[u8]) {
        let (world, rows) = (&mut *self.at.world, &mut *self.at.rows);
        let args = world.arg_set(args, rows);
        world.value(self.ts, track, value, args, rows);
    }

    /// A value of the process of a thread (rule M4).
    pub fn put_of_thread(&mut self, utid: Utid, counter: &'static ThreadCounter, value: f64) {
        let (world, rows) = (&mut *self.at.world, &mut *self.at.rows);
        let value = ThreadValue {
            machine: self.machine,
            utid,
            counter,
            value,
        };
        world.value_of_thread(self.ts, &value, rows);
    }

    /// The track of a counter, which may be new.
    pub fn track(
        &mut self,
        counter: &CounterType,
        owner: Owner,
        which: Which<'_>,
        name: fmt::Arguments<'_>,
    ) -> TrackId {
        self.tracks.put_key(self.machine, counter, owner, which);
        if let Some(&track) = self.tracks.by_key.get(&self.tracks.key[..]) {
            return track;
        }
        let name = name.to_string();
        let mut track = NewTrack::counter(self.machine, counter.track_type, &name, owner);
        if let Some(unit) = counter.unit {
            track = track.with_unit(unit);
        }
        let track = self.at.world.tracks.get(track);
        let key = self.tracks.key.as_slice().into();
        self.tracks.by_key.insert(key, track);
        track
    }

    /// A CPU of the machine; `None` is one that it cannot have.
    pub fn cpu(&mut self, cpu: u32) -> Option<Owner> {
        let owner = ucpu(self.machine, cpu).map(Owner::Cpu);
        self.tracks.beyond_cpus += u64::from(owner.is_none());
        owner
    }

    /// A GPU of the machine.
    pub fn gpu(&mut self, gpu: u32) -> Owner {
        Owner::Gpu(self.at.world.gpus.ugpu(self.machine, gpu))
    }

    /// The process that a pid is (rule P7).
    pub fn process(&mut self, pid: u32) -> Owner {
        let threads = &mut self.at.world.threads;
        Owner::Process(threads.process(self.machine, pid.into()))
    }
}

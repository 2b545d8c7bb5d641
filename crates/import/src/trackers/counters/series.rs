//! Finds the track of a value, without building anything for a known track (rule M1).
//!
//! # Design
//!
//! A track is remembered by bytes: its type, its owner, and the further values that distinguish it
//! from others of the type (a number, or a text as it is in the trace). They are put together in
//! one place and looked up there. The alternative was to ask for the track by its full description.
//! But that includes a name, which would be built for each value.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::trackers::tracker::TrackerContext;
use crate::world::{
    Dimension, NewTrack, Owner, ThreadCounter, ThreadValue, TrackId, Upid, Utid, ucpu,
};

/// The common properties of counters of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CounterType {
    track_type: &'static str,
    unit: Option<&'static str>,
    description: Option<&'static str>,
}

impl CounterType {
    pub const fn new(track_type: &'static str) -> Self {
        CounterType { track_type, unit: None, description: None }
    }

    pub const fn with_unit(track_type: &'static str, unit: &'static str) -> Self {
        CounterType { unit: Some(unit), ..CounterType::new(track_type) }
    }

    pub const fn described(self, description: &'static str) -> Self {
        CounterType { description: Some(description), ..self }
    }

    pub fn track_type(&self) -> &'static str {
        self.track_type
    }
}

/// The dimensions that distinguish a counter from others of its type and owner, in this order
/// (rules TK). Its name follows from them.
pub(super) type Which<'a> = &'a [(&'static str, Told<'a>)];

/// The value of a dimension in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told<'a> {
    Number(i64),
    /// `None` is a dimension with the value NULL.
    Text(Option<&'a [u8]>),
}

impl<'a> From<&'a str> for Told<'a> {
    fn from(text: &'a str) -> Self {
        Told::Text(Some(text.as_bytes()))
    }
}

impl<'a> From<&'a [u8]> for Told<'a> {
    fn from(text: &'a [u8]) -> Self {
        Told::Text(Some(text))
    }
}

impl<'a> From<Option<&'a [u8]>> for Told<'a> {
    fn from(text: Option<&'a [u8]>) -> Self {
        Told::Text(text)
    }
}

impl From<u32> for Told<'_> {
    fn from(number: u32) -> Self {
        Told::Number(number.into())
    }
}

impl From<Told<'_>> for Dimension {
    fn from(told: Told<'_>) -> Self {
        match told {
            Told::Number(number) => Dimension::Int(number),
            Told::Text(text) => {
                Dimension::Text(text.map(|text| String::from_utf8_lossy(text).into()))
            }
        }
    }
}

/// The tracks that have had values.
#[derive(Debug, Default)]
pub(super) struct CounterTracks {
    by_key: FxHashMap<Box<[u8]>, TrackId>,
    key: Vec<u8>,
    /// The number of values for CPUs that no machine can have.
    pub beyond_cpus: u64,
}

impl CounterTracks {
    /// Builds the bytes by which a track is remembered.
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
        let of_type = Told::from(counter.track_type);
        for told in std::iter::once(&of_type).chain(which.iter().map(|(_, told)| told)) {
            match told {
                Told::Number(number) => key.extend_from_slice(&number.to_le_bytes()),
                Told::Text(text) => {
                    // No text is the same as an empty text (rule TK2).
                    let text = text.unwrap_or_default();
                    key.extend_from_slice(&(text.len() as u64).to_le_bytes());
                    key.extend_from_slice(text);
                }
            }
        }
    }
}

/// An event or a packet with values of counters, all at one time.
pub(super) struct CounterSample<'s, 'a, 'o> {
    pub tracks: &'s mut CounterTracks,
    pub at: &'s mut TrackerContext<'a, 'o>,
    pub ts: i64,
    pub machine: u32,
}

impl CounterSample<'_, '_, '_> {
    /// Writes a value as a row.
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

    /// Writes a value without an owner.
    pub fn put_global(
        &mut self,
        counter: &CounterType,
        which: Which<'_>,
        name: fmt::Arguments<'_>,
        value: f64,
    ) {
        self.put(counter, Owner::None, which, name, value);
    }

    /// Writes a value with arguments as a row.
    pub fn put_on(&mut self, track: TrackId, value: f64, args: &[u8]) {
        let (world, rows) = (&mut *self.at.world, &mut *self.at.rows);
        let args = world.arg_set(args, rows);
        world.value(self.ts, track, value, args, rows);
    }

    /// Writes a value of the process of a thread (rule M4).
    pub fn put_of_thread(&mut self, utid: Utid, counter: &'static ThreadCounter, value: f64) {
        let (world, rows) = (&mut *self.at.world, &mut *self.at.rows);
        let value = ThreadValue { machine: self.machine, utid, counter, value };
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
        for &(key, told) in which {
            track = track.with(key, told);
        }
        if counter.description.is_some() {
            track = track.described(counter.description);
        }
        let track = self.at.world.tracks.get(track);
        let key = self.tracks.key.as_slice().into();
        self.tracks.by_key.insert(key, track);
        track
    }

    /// A CPU of the machine; `None` for a CPU that the machine cannot have.
    pub fn cpu(&mut self, cpu: u32) -> Option<Owner> {
        let owner = ucpu(self.machine, cpu).map(Owner::Cpu);
        self.tracks.beyond_cpus += u64::from(owner.is_none());
        owner
    }

    /// A GPU of the machine.
    pub fn gpu(&mut self, gpu: u32) -> Owner {
        Owner::Gpu(self.at.world.gpus.ugpu(self.machine, gpu))
    }

    /// The process with this pid (rule P7).
    pub fn process(&mut self, pid: u32) -> Owner {
        let threads = &mut self.at.world.threads;
        Owner::Process(threads.process(self.machine, pid.into()))
    }
}

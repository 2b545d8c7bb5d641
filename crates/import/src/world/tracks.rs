//! The tracks of slices and values.
//!
//! # Design
//!
//! If a trace has very many tracks, most belong to threads and have nothing except the thread. Such
//! a track takes 16 bytes here and 4 for the thread. All other tracks are boxed once, and a table
//! finds them by their contents. A map from tracks to their numbers, with a copy of each track,
//! took 410 bytes for each.

use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use timebase_schema::tables::track_record;

use super::gpus::Gpus;
use super::machines::{CPUS, Cpus};
use super::numbered::Numbered;
use super::threads::{Upid, Utid};
use crate::arguments::{ArgBuf, ArgValue};
use crate::definitions::Names;
use crate::output::{Cell, Rows};
use crate::pieces::Pieces;
use crate::place::{PartIx, PartKey, PartKeys};

/// A row of `track`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TrackId(pub i64);

/// The owner of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    None,
    Thread(Utid),
    Process(Upid),
    /// A CPU, by its ucpu.
    Cpu(u32),
    /// A GPU, by its ugpu.
    Gpu(u32),
    /// A process on a GPU.
    ProcessOnGpu(Upid, u32),
}

/// The value of a dimension. Dimensions tell tracks of one type apart, besides the owner
/// (rules TK).
#[derive(Debug, Clone)]
pub(crate) enum Dimension {
    Int(i64),
    /// `None` is a dimension that exists and is NULL.
    Text(Option<Box<str>>),
}

impl Dimension {
    /// The value for comparisons: no text is the same as an empty text (rule TK2).
    fn identity(&self) -> Result<i64, &str> {
        match self {
            Dimension::Int(number) => Ok(*number),
            Dimension::Text(text) => Err(text.as_deref().unwrap_or_default()),
        }
    }
}

impl PartialEq for Dimension {
    fn eq(&self, other: &Dimension) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Dimension {}

impl Hash for Dimension {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl From<i64> for Dimension {
    fn from(number: i64) -> Dimension {
        Dimension::Int(number)
    }
}

impl From<u32> for Dimension {
    fn from(number: u32) -> Dimension {
        Dimension::Int(number.into())
    }
}

impl From<&str> for Dimension {
    fn from(text: &str) -> Dimension {
        Dimension::Text(Some(text.into()))
    }
}

impl From<Option<&str>> for Dimension {
    fn from(text: Option<&str>) -> Dimension {
        Dimension::Text(text.map(Into::into))
    }
}

impl<'a> From<&'a Dimension> for ArgValue<'a> {
    fn from(dimension: &'a Dimension) -> ArgValue<'a> {
        match dimension {
            Dimension::Int(number) => ArgValue::Int(*number),
            Dimension::Text(Some(text)) => ArgValue::Text(text),
            Dimension::Text(None) => ArgValue::NoText,
        }
    }
}

/// The definition of a track.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NewTrack {
    pub machine: u32,
    pub track_type: &'static str,
    pub name: Option<Box<str>>,
    pub is_counter: bool,
    pub owner: Owner,
    pub unit: Option<Box<str>>,
    pub description: Option<Box<str>>,
    /// One number for all lanes of a set.
    pub group: Option<i64>,
    /// Dimensions after those of the owner, in this order.
    pub dimensions: Vec<(&'static str, Dimension)>,
    /// Source arguments, before those of its [`Details`].
    pub source: Vec<(&'static str, Dimension)>,
}

impl NewTrack {
    /// A track for slices.
    pub fn slices(
        machine: u32,
        track_type: &'static str,
        name: Option<&str>,
        owner: Owner,
    ) -> Self {
        NewTrack {
            machine,
            track_type,
            name: name.map(Into::into),
            is_counter: false,
            owner,
            unit: None,
            description: None,
            group: None,
            dimensions: Vec::new(),
            source: Vec::new(),
        }
    }

    /// A track for values.
    pub fn counter(machine: u32, track_type: &'static str, name: &str, owner: Owner) -> Self {
        NewTrack { is_counter: true, ..NewTrack::slices(machine, track_type, Some(name), owner) }
    }

    /// The same track with a unit of its values.
    pub fn with_unit(mut self, unit: &str) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// The same track with one more dimension.
    pub fn with(mut self, key: &'static str, value: impl Into<Dimension>) -> Self {
        self.dimensions.push((key, value.into()));
        self
    }

    /// The same track with one more source argument.
    pub fn with_source(mut self, key: &'static str, value: impl Into<Dimension>) -> Self {
        self.source.push((key, value.into()));
        self
    }

    /// The same track with a description, which is also a source argument (rules TK).
    pub fn described(mut self, description: Option<&str>) -> Self {
        self.description = description.map(Into::into);
        self.with_source("description", description)
    }
}

/// All tracks.
#[derive(Debug, Default)]
pub(crate) struct Tracks {
    all: Pieces<Track>,
    /// The current part.
    part: PartIx,
    index: TrackIndex,
    details: FxHashMap<TrackId, Details>,
    /// The new names of tracks that were renamed.
    renamed: FxHashMap<TrackId, Box<str>>,
}

/// The tracks of one part, as they are found (rule X42).
#[derive(Debug, Default)]
pub(crate) struct TrackIndex {
    /// The numbers of the tracks that are found by their contents.
    known: HashTable<u32>,
    /// One more than the number of the track for the execution of a thread, by thread.
    threads: Numbered<u32>,
}

/// A track, with its part.
#[derive(Debug)]
enum Track {
    /// For the execution of a thread.
    OfThread(PartIx, Utid),
    Other(PartIx, Box<NewTrack>),
}

impl Track {
    fn part(&self) -> PartIx {
        match self {
            Track::OfThread(part, _) | Track::Other(part, _) => *part,
        }
    }

    /// The whole definition.
    fn whole(self, key: PartKey) -> NewTrack {
        match self {
            Track::OfThread(_, utid) => {
                NewTrack::slices(key.machine, "thread_execution", None, Owner::Thread(utid))
            }
            Track::Other(_, track) => *track,
        }
    }
}

fn hash(track: &NewTrack) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(track)
}

/// Further data of a track.
#[derive(Debug, Default)]
pub(crate) struct Details {
    pub parent: Option<TrackId>,
    /// Arguments in their compact form: dimensions that do not distinguish tracks, and source
    /// arguments.
    pub dimensions: ArgBuf,
    pub source: ArgBuf,
}

impl Tracks {
    /// The one track with this definition (rule M1).
    pub fn get(&mut self, track: NewTrack) -> TrackId {
        let all = &mut self.all;
        let is_this = |number: &u32| match all.get(*number as usize) {
            Some(Track::Other(_, known)) => **known == track,
            _ => false,
        };
        let hashed = hash(&track);
        if let Some(&number) = self.index.known.find(hashed, is_this) {
            return TrackId(number.into());
        }
        // More than 2³² tracks would not fit into any memory.
        let number = all.len() as u32;
        all.push(Track::Other(self.part, track.into()));
        let rehash = |number: &u32| match all.get(*number as usize) {
            Some(Track::Other(_, known)) => hash(known),
            _ => 0,
        };
        self.index.known.insert_unique(hashed, number, rehash);
        TrackId(number.into())
    }

    /// The one track for the execution of a thread (rules B3, U5).
    #[inline]
    pub fn of_thread(&mut self, utid: Utid) -> TrackId {
        let behind = self.index.threads.of(utid.0);
        if *behind == 0 {
            self.all.push(Track::OfThread(self.part, utid));
            *behind = self.all.len() as u32;
        }
        TrackId(i64::from(*behind) - 1)
    }

    /// Exchanges the tracks of the current part for those of another part.
    pub(super) fn enter(&mut self, part: PartIx, index: &mut TrackIndex) {
        self.part = part;
        std::mem::swap(&mut self.index, index);
    }

    /// A new track (a lane), even if another track has the same definition.
    pub fn add(&mut self, track: NewTrack) -> TrackId {
        let id = TrackId(self.all.len() as i64);
        self.all.push(Track::Other(self.part, track.into()));
        id
    }

    /// The tracks of threads, each with its part and its thread.
    pub fn of_threads(&self) -> impl Iterator<Item = (TrackId, PartIx, Utid)> {
        let all = (0..).map(TrackId).zip(self.all.iter());
        all.filter_map(|(id, track)| match track {
            Track::OfThread(part, utid) => Some((id, *part, *utid)),
            Track::Other(..) => None,
        })
    }

    /// The part of a track.
    pub fn part(&self, id: TrackId) -> PartIx {
        let track = usize::try_from(id.0).ok().and_then(|id| self.all.get(id));
        track.map_or(self.part, Track::part)
    }

    /// The owner of a track.
    pub fn owner(&self, id: TrackId) -> Owner {
        let track = usize::try_from(id.0).ok().and_then(|id| self.all.get(id));
        match track {
            Some(&Track::OfThread(_, utid)) => Owner::Thread(utid),
            Some(Track::Other(_, track)) => track.owner,
            None => Owner::None,
        }
    }

    /// Adds details to a track.
    pub fn describe(&mut self, id: TrackId, details: Details) {
        self.details.insert(id, details);
    }

    /// A track gets another name.
    pub fn rename(&mut self, id: TrackId, name: &str) {
        self.renamed.insert(id, name.into());
    }

    /// Writes the rows of all tracks. `set` returns the number of a set of arguments.
    pub(super) fn end(
        &mut self,
        keys: &PartKeys,
        cpus: &mut Cpus,
        gpus: &Gpus,
        names: &mut Names,
        mut set: impl FnMut(&[u8], &Names, &mut Rows<'_>) -> Option<i64>,
        rows: &mut Rows<'_>,
    ) {
        let (mut dimensions, mut source) = (ArgBuf::default(), ArgBuf::default());
        for (id, track) in (0i64..).zip(std::mem::take(&mut self.all)) {
            let key = keys.get(track.part());
            let mut track = track.whole(key);
            track.name = self.renamed.remove(&TrackId(id)).or(track.name);
            let (mut utid, mut upid, mut ucpu, mut ugpu) = (None, None, None, None);
            let details = self.details.remove(&TrackId(id)).unwrap_or_default();
            dimensions.clear();
            let mut dimension = |key, number: u32| {
                dimensions.push(key, ArgValue::Int(number.into()), names);
            };
            match track.owner {
                Owner::None => {}
                Owner::Thread(Utid(id)) => {
                    utid = Some(id);
                    dimension("utid", id);
                }
                Owner::Process(Upid(id)) => {
                    upid = Some(id);
                    dimension("upid", id);
                }
                Owner::Cpu(id) => {
                    cpus.see(id);
                    ucpu = Some(id);
                    dimension("cpu", id % CPUS);
                }
                Owner::Gpu(id) => {
                    ugpu = Some(id);
                    dimension("ugpu", id);
                    dimension("gpu", gpus.gpu(id).unwrap_or_default());
                }
                Owner::ProcessOnGpu(Upid(process), id) => {
                    (upid, ugpu) = (Some(process), Some(id));
                    dimension("ugpu", id);
                    dimension("gpu", gpus.gpu(id).unwrap_or_default());
                    dimension("upid", process);
                }
            }
            for (key, value) in &track.dimensions {
                dimensions.push(key, value.into(), names);
            }
            dimensions.append(&details.dimensions);
            let dimensions = set(dimensions.as_bytes(), names, rows);
            source.clear();
            for (key, value) in &track.source {
                source.push(key, value.into(), names);
            }
            source.append(&details.source);
            let source = set(source.as_bytes(), names, rows);
            let name = rows.optional_text(track.name.as_deref());
            let track_type = rows.text(track.track_type);
            let unit = rows.optional_text(track.unit.as_deref());
            let description = rows.optional_text(track.description.as_deref());
            rows.push(track_record::Row {
                id: Cell::from(id),
                name,
                r#type: track_type,
                is_counter: Cell::from(i64::from(track.is_counter)),
                parent_id: Cell::or_null(details.parent.map(|track| track.0)),
                machine_id: Cell::from(key.machine),
                dimension_arg_set_id: Cell::or_null(dimensions),
                source_arg_set_id: Cell::or_null(source),
                track_group_id: Cell::or_null(track.group),
                utid: Cell::or_null(utid),
                upid: Cell::or_null(upid),
                ucpu: Cell::or_null(ucpu),
                ugpu: Cell::or_null(ugpu),
                unit,
                description,
                trace_file_id: Cell::from(key.file),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tk2_no_text_is_the_track_of_an_empty_text() {
        let mut tracks = Tracks::default();
        let mut of = |device: Option<&str>| {
            let track = NewTrack::slices(0, "linux_rpm", None, Owner::None);
            tracks.get(track.with("linux_device", device))
        };
        let none = of(None);
        assert_eq!(of(Some("")), none);
        assert_ne!(of(Some("a")), none);
    }
}

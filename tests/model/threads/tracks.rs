//! Tracks: their owners and their facts.

use super::args::{Args, Said};
use super::machines::Machine;
use super::processes::{Upid, Utid};

/// The owner of a track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrackOwner {
    Machine(Machine),
    Thread(Utid),
    Process(Upid),
    Cpu(Machine, u32),
    Gpu(Machine, i64),
    ProcessOnGpu(Upid, i64),
}

/// A track, by the facts that distinguish it.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    pub kind: String,
    pub name: Option<String>,
    pub of: TrackOwner,
    /// The number among tracks with one name: the lane, and whether for instants.
    pub lane: (usize, bool),
    /// The lane's number in its set.
    pub number: Aside<usize>,
    /// The queue of a GPU, whether it is an iid, and the number (GP3).
    pub queue: Option<(bool, i64)>,
    /// The session of a power rail (M10).
    pub session: u64,
    /// The unit of a counter.
    pub unit: Option<String>,
    /// Dimensions that do not follow from its owner, type and name (TK1).
    pub told: Told,
    /// TK3
    pub source: Aside<Vec<(&'static str, Said)>>,
    pub description: Aside<Option<String>>,
    /// The number among the tracks of descriptors and their events.
    pub made: Option<usize>,
}

impl Track {
    pub fn new(kind: &str, name: Option<&str>, of: TrackOwner) -> Track {
        Track {
            kind: kind.to_owned(),
            name: name.map(str::to_owned),
            of,
            lane: (0, false),
            number: Aside::default(),
            queue: None,
            session: 0,
            unit: None,
            told: Told::default(),
            source: Aside::default(),
            description: Aside::default(),
            made: None,
        }
    }

    /// The same with a dimension, which may be a text that is NULL.
    pub fn told(self, key: &'static str, text: Option<String>) -> Track {
        self.with(key, Said::String(text))
    }

    /// The same with one more fact that distinguishes it.
    pub fn with(mut self, key: &'static str, said: Said) -> Track {
        self.told.0.push((key, said));
        self
    }

    pub fn named(kind: &str, name: &str, of: TrackOwner) -> Track {
        Track::new(kind, Some(name), of)
    }

    /// B3
    pub fn of_thread(utid: Utid) -> Track {
        Track::new("thread_execution", None, TrackOwner::Thread(utid))
    }
}

/// Dimensions. A text that is NULL equals an empty text (TK2).
#[derive(Clone, Debug, Default)]
pub struct Told(pub Vec<(&'static str, Said)>);

impl PartialEq for Told {
    fn eq(&self, other: &Told) -> bool {
        let texts = |told: &Told| {
            let all = told.0.iter().cloned();
            let text = |(key, said)| match said {
                Said::String(None) => (key, Said::text("")),
                said => (key, said),
            };
            all.map(text).collect::<Vec<_>>()
        };
        texts(self) == texts(other)
    }
}

/// A fact that does not distinguish a track: the first counts.
#[derive(Clone, Debug, Default)]
pub struct Aside<T>(pub T);

impl<T> PartialEq for Aside<T> {
    fn eq(&self, _: &Aside<T>) -> bool {
        true
    }
}

/// An index in the list of tracks.
pub type TrackId = usize;

/// A row of `track`.
#[derive(Debug)]
pub struct Row {
    pub track: Track,
    pub parent: Option<TrackId>,
    /// U9
    pub source: Args,
    pub is_counter: bool,
}

#[derive(Debug, Default)]
pub struct Tracks(pub Vec<Row>);

impl Tracks {
    /// The row of a track, which is made if it does not exist.
    pub fn find(&mut self, track: &Track) -> TrackId {
        let found = self.0.iter().position(|row| row.track == *track);
        found.unwrap_or_else(|| {
            self.push(Row {
                track: track.clone(),
                parent: None,
                source: Args::default(),
                is_counter: false,
            })
        })
    }

    /// A row for a track that is different from all others.
    pub fn make(&mut self, mut row: Row) -> TrackId {
        row.track.made = Some(self.0.len());
        self.push(row)
    }

    fn push(&mut self, row: Row) -> TrackId {
        self.0.push(row);
        self.0.len() - 1
    }
}

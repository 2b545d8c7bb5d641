//! The part of the world that belongs to one part of the trace (rule X42).
//!
//! # Design
//!
//! Two files of one machine number their tracks and flows independently, but they name the same threads. So
//! the machine's things are in the [`World`] for all parts, and a part's things are in a [`PartWorld`]. The
//! world holds those of the current part, and exchanges them when an event of another part comes; the
//! trackers do not notice. The alternative was to add the part to the key of each map.
//!
//! Tracks, slices, states and values have numbers in the whole import. So their stacks and sums, which are
//! found by these numbers, need no separation.

use super::World;
use super::lanes::Lanes;
use super::thread_counters::ProcessTracks;
use super::tracks::TrackIndex;
use super::uuids::UuidOwners;

use crate::definitions::PartStatements;
use crate::place::{PartIx, PartKey};

/// The things of one part.
#[derive(Debug, Default)]
pub(crate) struct PartWorld {
    pub(super) tracks: TrackIndex,
    lanes: Lanes,
    owners: UuidOwners,
    pub(super) of_processes: ProcessTracks,
}

/// The things of all parts, by the numbers of the parts; `None` for a part without events.
pub(crate) struct PartWorlds(pub Vec<Option<PartWorld>>);

impl PartWorlds {
    /// The things of a part.
    pub fn of(&mut self, PartIx(part): PartIx) -> Option<&mut PartWorld> {
        self.0.get_mut(part as usize)?.as_mut()
    }
}

impl World {
    /// Exchanges the things of the current part and of another one. Twice with the same part, it changes
    /// nothing.
    pub fn exchange(&mut self, key: PartKey, part: &mut PartWorld) {
        self.part = key;
        self.flows.part = key.part;
        self.tracks.enter(key.part, &mut part.tracks);
        std::mem::swap(&mut self.lanes, &mut part.lanes);
        std::mem::swap(&mut self.uuids.owners, &mut part.owners);
        std::mem::swap(&mut self.values.of_processes, &mut part.of_processes);
    }

    /// The statements of the current part, if it states anything.
    #[inline]
    pub fn statements(&self) -> Option<&PartStatements> {
        self.definitions.parts.get(self.part.part)
    }
}

//! Counters that belong to the process of a thread (rule M4), and their tracks.

use rustc_hash::FxHashMap;

use super::threads::Upid;
use super::tracks::{NewTrack, Owner, TrackId, Tracks};

/// A counter of a thread's process, or of the thread if it has no process.
#[derive(Debug)]
pub(crate) struct ThreadCounter {
    /// The types of its tracks.
    pub of_process: &'static str,
    pub of_thread: &'static str,
    pub name: &'static str,
    /// The dimensions that distinguish it from other counters of its type, in addition to its
    /// owner.
    pub dimensions: &'static [(&'static str, &'static str)],
    /// The description for tracks of processes. Tracks of threads have none.
    pub description: Option<&'static str>,
}

impl ThreadCounter {
    pub(super) fn track(&self, machine: u32, track_type: &'static str, owner: Owner) -> NewTrack {
        let track = NewTrack::counter(machine, track_type, self.name, owner);
        let dimensions = self.dimensions.iter();
        dimensions.fold(track, |track, &(key, value)| track.with(key, value))
    }

    fn process_track(&self, machine: u32, upid: Upid) -> NewTrack {
        let track = self.track(machine, self.of_process, Owner::Process(upid));
        match self.description {
            None => track,
            Some(_) => track.described(self.description),
        }
    }
}

/// Tracks of processes, by the address of their [`ThreadCounter`].
#[derive(Debug, Default)]
pub(crate) struct ProcessTracks(FxHashMap<(Upid, usize), TrackId>);

impl ProcessTracks {
    pub(super) fn get(
        &mut self,
        machine: u32,
        upid: Upid,
        counter: &'static ThreadCounter,
        tracks: &mut Tracks,
    ) -> TrackId {
        let key = (upid, std::ptr::from_ref(counter).addr());
        *self.0.entry(key).or_insert_with(|| tracks.get(counter.process_track(machine, upid)))
    }
}

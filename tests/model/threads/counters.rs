//! Counters and their owners (M1, M4).

use super::args::{Args, Said};
use super::processes::{Processes, Upid, Utid};
use super::tracks::{Track, TrackOwner};

/// A row of `counter` with its track.
#[derive(Debug)]
pub struct Counter {
    pub track: Track,
    /// In the end, it belongs to the process of its thread (M4).
    pub of_process: bool,
    pub time: i64,
    pub value: f64,
    pub args: Args,
    /// It may lack deltas (DT10).
    pub is_doubtful: bool,
}

impl Counter {
    /// Its track in the end (M4).
    pub fn settled(&self, processes: &Processes) -> Track {
        let mut track = self.track.clone();
        if let TrackOwner::Thread(utid) = self.track.of
            && self.of_process
        {
            match processes.threads[utid].process {
                Some(upid) => track.of = TrackOwner::Process(upid),
                None => track.kind += "_thread_fallback",
            }
        }
        track
    }

    /// H6
    pub fn say(&mut self, key: &str, said: Said) {
        self.args.say(key, said);
    }
}

#[derive(Debug, Default)]
pub struct Counters(pub Vec<Counter>);

impl Counters {
    pub fn push(&mut self, track: Track, time: i64, value: f64) -> &mut Counter {
        self.0.push(Counter {
            track,
            of_process: false,
            time,
            value,
            args: Args::default(),
            is_doubtful: false,
        });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

/// The counters of one moment.
pub struct Moment<'a> {
    pub counters: &'a mut Counters,
    pub time: i64,
}

impl Moment<'_> {
    pub fn push(&mut self, of: TrackOwner, kind: &str, name: &str, value: f64) -> &mut Counter {
        let track = Track::named(kind, name, of);
        self.counters.push(track, self.time, value)
    }

    pub fn with_unit(&mut self, of: TrackOwner, kind: &str, name: &str, unit: &str, value: f64) {
        self.push(of, kind, name, value).track.unit = Some(unit.to_owned());
    }

    /// M4
    pub fn of_thread(&mut self, thread: Utid, kind: &str, name: &str, value: f64) {
        self.push(TrackOwner::Thread(thread), kind, name, value).of_process = true;
    }

    pub fn of_process(&mut self, process: Upid, kind: &str, name: &str, value: f64) {
        self.push(TrackOwner::Process(process), kind, name, value);
    }
}

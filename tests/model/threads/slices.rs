//! B4 to B6: stacks of slices, and lanes.

use super::machines::Machine;
use super::processes::{Upid, Utid};

/// What a track is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Of {
    Machine(Machine),
    Thread(Utid),
    Process(Upid),
    Cpu(Machine, u32),
    Gpu(Machine, i64),
    ProcessOnGpu(Upid, i64),
}

/// A track of slices.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    pub kind: &'static str,
    pub name: Option<String>,
    pub of: Of,
    /// Of several tracks of one name, which it is: the lane, and whether of instants.
    pub lane: (usize, bool),
    /// GP3: the queue of a GPU, whether it is an iid and the number.
    pub queue: Option<(bool, i64)>,
}

impl Track {
    pub fn new(kind: &'static str, name: &str, of: Of) -> Track {
        Track {
            kind,
            name: Some(name.to_owned()),
            of,
            lane: (0, false),
            queue: None,
        }
    }

    /// B3
    pub fn of_thread(utid: Utid) -> Track {
        Track {
            kind: "thread_execution",
            name: None,
            of: Of::Thread(utid),
            lane: (0, false),
            queue: None,
        }
    }
}

#[derive(Debug)]
pub struct Slice {
    pub time: i64,
    /// −1 while it is open.
    pub duration: i64,
    pub track: Track,
    pub name: Option<String>,
    pub category: Option<&'static str>,
    pub depth: usize,
    pub parent: Option<usize>,
}

/// A lane of a set: what is between its begins and ends.
#[derive(Debug)]
struct Lane {
    /// The set: its kind, its name, and what it is of.
    set: Track,
    cookie: i64,
    /// How many of its begins have no end.
    open: usize,
}

#[derive(Debug, Default)]
pub struct Slices {
    pub all: Vec<Slice>,
    /// The stacks of tracks: slices, the topmost last.
    stacks: Vec<(Track, Vec<usize>)>,
    lanes: Vec<Lane>,
}

/// B4: how deep slices may nest.
const DEPTH: usize = 512;

impl Slices {
    fn stack(&mut self, track: &Track) -> usize {
        let found = self.stacks.iter().position(|(of, _)| of == track);
        found.unwrap_or_else(|| {
            self.stacks.push((track.clone(), Vec::new()));
            self.stacks.len() - 1
        })
    }

    /// B4: takes what has ended off a stack.
    fn settle(&mut self, stack: usize, time: i64, for_instant: bool) {
        while let Some(&top) = self.stacks[stack].1.last() {
            let slice = &self.all[top];
            let end = slice.time + slice.duration;
            let nests = for_instant && slice.duration == 0 && end == time;
            if slice.duration < 0 || end > time || nests {
                break;
            }
            self.stacks[stack].1.pop();
        }
    }

    /// B4. `duration` −1 is a begin.
    pub fn push(
        &mut self,
        time: i64,
        duration: i64,
        track: &Track,
        name: Option<&str>,
        category: Option<&'static str>,
    ) {
        let stack = self.stack(track);
        self.settle(stack, time, duration == 0);
        let below = &self.stacks[stack].1;
        if below.len() >= DEPTH {
            return;
        }
        self.all.push(Slice {
            time,
            duration,
            track: track.clone(),
            name: name.map(str::to_owned),
            category,
            depth: below.len(),
            parent: below.last().copied(),
        });
        let slice = self.all.len() - 1;
        self.stacks[stack].1.push(slice);
    }

    pub fn begin(&mut self, time: i64, track: &Track, name: &str) {
        self.push(time, -1, track, Some(name), None);
    }

    pub fn instant(&mut self, time: i64, track: &Track, name: &str) {
        self.push(time, 0, track, Some(name), None);
    }

    /// B5
    pub fn end(&mut self, time: i64, track: &Track) {
        let stack = self.stack(track);
        self.settle(stack, time, false);
        let slices = &self.stacks[stack].1;
        let open = slices.iter().rposition(|&s| self.all[s].duration < 0);
        if let Some(place) = open {
            let slice = &mut self.all[slices[place]];
            slice.duration = time - slice.time;
            if place + 1 == slices.len() {
                self.stacks[stack].1.pop();
            }
        }
    }

    /// B6: the lane of a set that a begin or an end goes to.
    fn lane(&mut self, set: &Track, cookie: i64) -> usize {
        let lanes = || (0..self.lanes.len()).filter(|&lane| self.lanes[lane].set == *set);
        let same = lanes().find(|&lane| self.lanes[lane].cookie == cookie);
        let free = || lanes().find(|&lane| self.lanes[lane].open == 0);
        let lane = same.or_else(free).unwrap_or_else(|| {
            self.lanes.push(Lane {
                set: set.clone(),
                cookie,
                open: 0,
            });
            self.lanes.len() - 1
        });
        self.lanes[lane].cookie = cookie;
        lane
    }

    fn track_of(&self, lane: usize) -> Track {
        Track {
            lane: (lane, false),
            ..self.lanes[lane].set.clone()
        }
    }

    /// B6. Of S a lane has but one.
    pub fn begin_on_lane(
        &mut self,
        time: i64,
        set: &Track,
        name: &str,
        cookie: i64,
        only_one: bool,
    ) {
        let lane = self.lane(set, cookie);
        if only_one && self.lanes[lane].open > 0 {
            return;
        }
        self.lanes[lane].open += 1;
        self.begin(time, &self.track_of(lane), name);
    }

    /// B6
    pub fn end_on_lane(&mut self, time: i64, set: &Track, cookie: i64) {
        let lane = self.lane(set, cookie);
        self.lanes[lane].open = self.lanes[lane].open.saturating_sub(1);
        self.end(time, &self.track_of(lane));
    }

    /// B6: an instant is over when it begins, so that one lane of instants is enough.
    pub fn instant_on_lane(&mut self, time: i64, set: &Track, name: &str) {
        let lane = Track {
            lane: (0, true),
            ..set.clone()
        };
        self.instant(time, &lane, name);
    }

    /// GP3: a complete slice, on the first lane of a set whose last slice has ended.
    pub fn complete_on_lane(
        &mut self,
        time: i64,
        duration: i64,
        set: &Track,
        name: Option<&str>,
    ) -> Track {
        let of_lane = |lane: usize| Track {
            lane: (lane, false),
            ..set.clone()
        };
        let is_free = |lane: usize| {
            let track = of_lane(lane);
            let mut slices = self.all.iter().filter(|slice| slice.track == track);
            slices.all(|slice| slice.time + slice.duration <= time)
        };
        let track = of_lane((0..).find(|&lane| is_free(lane)).unwrap_or(0));
        self.push(time, duration, &track, name, None);
        track
    }
}

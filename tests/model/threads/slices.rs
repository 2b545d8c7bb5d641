//! Stacks of slices, and lanes of the kernel and atrace (E9 to E13, B4 to B6).

use super::args::{Args, Said};
use super::machines::Machine;
use super::tracks::{Aside, Track, TrackId, Tracks};
use super::translations::Translations;
use std::collections::BTreeSet;

#[derive(Debug)]
pub struct Slice {
    pub time: i64,
    /// −1 while it is open.
    pub duration: i64,
    pub track: TrackId,
    pub name: Option<String>,
    pub category: Option<String>,
    pub depth: usize,
    pub parent: Option<SliceId>,
    pub args: Args,
    pub machine: Machine,
    /// CPU time and instructions at the start, and used (E14).
    pub thread_time: (Option<i64>, Option<i64>),
    pub instructions: (Option<i64>, Option<i64>),
}

/// An index in the list of slices.
pub type SliceId = usize;

/// A lane of a set: the slices between its begins and ends.
#[derive(Debug)]
struct Lane {
    /// The set: its kind, its name, and its owner.
    set: Track,
    cookie: i64,
    /// The number of its begins without an end.
    open: usize,
    /// The number of S, and the time of the last one (H6).
    begins: (i64, i64),
    /// The number among the lanes of its set (TK1).
    number: usize,
}

#[derive(Debug, Default)]
pub struct Slices {
    pub all: Vec<Slice>,
    pub tracks: Tracks,
    pub translations: Translations,
    /// The machine of the current event.
    pub machine: Machine,
    /// The stack of each track: slices, the topmost last.
    stacks: Vec<(TrackId, Vec<SliceId>)>,
    /// The slices that may have the end of another one (DT9).
    pub doubtful: BTreeSet<SliceId>,
    /// The slices whose own ends are owed, and how many slices were closed before.
    owed: Vec<(SliceId, usize)>,
    /// The closed slices, with the names of their ends.
    closed: Vec<(SliceId, Option<String>)>,
    lanes: Vec<Lane>,
    /// Sets with a lane of instants, and its number among the lanes.
    instants: Vec<(Track, usize)>,
}

/// The largest depth of slices (E10).
const DEPTH: usize = 512;

impl Slices {
    pub fn of(translations: Translations) -> Slices {
        Slices { translations, ..Slices::default() }
    }

    fn stack(&mut self, track: TrackId) -> &mut Vec<SliceId> {
        let found = self.stacks.iter().position(|(of, _)| *of == track);
        let place = found.unwrap_or_else(|| {
            self.stacks.push((track, Vec::new()));
            self.stacks.len() - 1
        });
        &mut self.stacks[place].1
    }

    /// The topmost open slice of a category and a name on a track, if there is one (KB).
    pub fn open_named(&mut self, track: TrackId, category: &str, name: &str) -> Option<SliceId> {
        let stack = self.stack(track).clone();
        let fits = |id: &SliceId| {
            let slice = &self.all[*id];
            let called = (slice.category.as_deref(), slice.name.as_deref());
            slice.duration < 0 && called == (Some(category), Some(name))
        };
        stack.into_iter().rev().find(fits)
    }

    /// The topmost slice of a track after the last event on it.
    pub fn top(&mut self, track: TrackId) -> Option<SliceId> {
        self.stack(track).last().copied()
    }

    /// Prepares the stack for a slice that ends at `until`, if it has an end (E9, E12). Returns
    /// whether it fits; if it ends after the slice in which it begins, the slices below that are
    /// ignored.
    fn settle(&mut self, track: TrackId, time: i64, until: Option<i64>) -> bool {
        let is_instant = until == Some(time);
        let mut below_open = false;
        for place in (0..self.stack(track).len()).rev() {
            let id = self.stack(track)[place];
            let slice = &self.all[id];
            let end = slice.time + slice.duration;
            let both_instants = is_instant && slice.duration == 0;
            if slice.duration < 0 {
                below_open = true;
            } else if below_open {
                if end < time {
                    let taken = self.stack(track).split_off(place);
                    for &above in taken[1..].iter().rev() {
                        self.cut(above, end);
                    }
                    below_open = false;
                }
            } else if end < time || end == time && !both_instants {
                self.stack(track).pop();
            } else if until.is_some_and(|until| time < end && end < until) {
                return false;
            }
        }
        true
    }

    /// E9, DT9 (a)
    fn cut(&mut self, slice: SliceId, end: i64) {
        let cut = &mut self.all[slice];
        let duration = end - cut.time;
        if cut.duration != duration {
            self.doubtful.insert(slice);
        }
        if cut.duration < 0 {
            self.owed.push((slice, self.closed.len()));
        }
        cut.duration = duration;
    }

    /// An END of a name closes nothing (DT9 b and c).
    fn closes_nothing(&mut self, track: TrackId, name: Option<&str>) {
        let is_on = |slice: SliceId, all: &[Slice]| all[slice].track == track;
        let is_its = |slice: SliceId, all: &[Slice]| {
            is_on(slice, all) && (name.is_none() || all[slice].name.as_deref() == name)
        };
        let owed = self.owed.iter();
        if let Some(place) = owed.clone().position(|(slice, _)| is_its(*slice, &self.all)) {
            let (_, since) = self.owed.remove(place);
            for (slice, by) in &self.closed[since..] {
                if is_on(*slice, &self.all) && by.as_deref() == name {
                    self.doubtful.insert(*slice);
                }
            }
            return;
        }
        if name.is_none() {
            return;
        }
        let mut all = 0..self.all.len();
        let Some(last) = all.rfind(|slice| is_its(*slice, &self.all)) else {
            return;
        };
        if !self.closed.contains(&(last, None)) {
            return;
        }
        self.doubtful.insert(last);
        let is_owed = self.owed.iter().any(|(slice, _)| is_on(*slice, &self.all));
        let parent = self.all[last].parent.filter(|_| !is_owed);
        self.doubtful.extend(parent.filter(|parent| self.all[*parent].duration < 0));
    }

    /// Adds a slice, if it is made (E10, E12). `duration` −1 is a begin.
    pub fn push(
        &mut self,
        track: TrackId,
        (time, duration): (i64, i64),
        name: Option<&str>,
        category: Option<&str>,
    ) -> Option<SliceId> {
        let until = (duration >= 0).then(|| time.saturating_add(duration));
        if !self.settle(track, time, until) {
            return None;
        }
        let below = self.stack(track).clone();
        if below.len() >= DEPTH {
            return None;
        }
        self.all.push(Slice {
            time,
            duration,
            track,
            name: self.translations.slice(self.machine, name),
            category: category.map(str::to_owned),
            machine: self.machine,
            depth: below.len(),
            parent: below.last().copied(),
            args: Args::default(),
            thread_time: (None, None),
            instructions: (None, None),
        });
        let slice = self.all.len() - 1;
        self.stack(track).push(slice);
        Some(slice)
    }

    /// The closed slice, if any (E11, B5).
    pub fn end(
        &mut self,
        track: TrackId,
        time: i64,
        name: Option<&str>,
        category: Option<&str>,
    ) -> Option<SliceId> {
        self.settle(track, time, None);
        let name = self.translations.slice(self.machine, name);
        let name = name.as_deref();
        let stack = self.stack(track).clone();
        let fits = |id: &SliceId| {
            let slice = &self.all[*id];
            let (of_slice, kind) = (slice.name.as_deref(), slice.category.as_deref());
            let is_named = name.is_none() || of_slice.is_none() || name == of_slice;
            slice.duration < 0 && is_named && (category.is_none() || category == kind)
        };
        let Some(place) = stack.iter().rposition(fits) else {
            self.closes_nothing(track, name);
            return None;
        };
        self.closed.push((stack[place], name.map(str::to_owned)));
        let slice = &mut self.all[stack[place]];
        slice.duration = time - slice.time;
        if place + 1 == stack.len() {
            self.stack(track).pop();
        }
        Some(stack[place])
    }

    pub fn begin(&mut self, time: i64, track: &Track, name: &str) -> Option<SliceId> {
        let track = self.tracks.find(track);
        self.push(track, (time, -1), Some(name), None)
    }

    pub fn instant(&mut self, time: i64, track: &Track, name: &str) -> Option<SliceId> {
        let track = self.tracks.find(track);
        self.push(track, (time, 0), Some(name), None)
    }

    /// The same without name and category (B5).
    pub fn end_any(&mut self, time: i64, track: &Track) -> Option<SliceId> {
        let track = self.tracks.find(track);
        self.end(track, time, None, None)
    }

    /// Adds facts to a slice, if it was made (H6).
    pub fn say(&mut self, slice: Option<SliceId>, key: &str, said: Said) {
        if let Some(slice) = slice {
            self.all[slice].args.say(key, said);
        }
    }

    /// The lane of a set for a begin or an end (B6).
    fn lane(&mut self, set: &Track, cookie: i64) -> usize {
        let lanes = || (0..self.lanes.len()).filter(|&lane| self.lanes[lane].set == *set);
        let same = lanes().find(|&lane| self.lanes[lane].cookie == cookie);
        let free = || lanes().find(|&lane| self.lanes[lane].open == 0);
        let instants = self.instants.iter().filter(|(of, _)| of == set);
        let number = lanes().count() + instants.count();
        let lane = same.or_else(free).unwrap_or_else(|| {
            self.lanes.push(Lane { set: set.clone(), cookie, open: 0, begins: (0, 0), number });
            self.lanes.len() - 1
        });
        self.lanes[lane].cookie = cookie;
        lane
    }

    fn track_of(&self, lane: usize) -> Track {
        Track {
            lane: (lane, false),
            number: Aside(self.lanes[lane].number),
            ..self.lanes[lane].set.clone()
        }
    }

    /// B6
    pub fn begin_on_lane(
        &mut self,
        time: i64,
        set: &Track,
        name: &str,
        cookie: i64,
    ) -> Option<SliceId> {
        let lane = self.lane(set, cookie);
        self.lanes[lane].open += 1;
        self.begin(time, &self.track_of(lane), name)
    }

    /// Begins an S. A lane has only one open S (B6, H6).
    pub fn begin_alone_on_lane(&mut self, time: i64, set: &Track, name: &str, cookie: i64) {
        let lane = self.lane(set, cookie);
        let count = self.lanes[lane].begins.0 + 1;
        self.lanes[lane].begins = (count, time);
        if self.lanes[lane].open == 0 {
            self.lanes[lane].open = 1;
            let slice = self.begin(time, &self.track_of(lane), name);
            self.say(slice, "cookie", Said::Int(cookie));
        }
    }

    /// B6
    pub fn end_on_lane(&mut self, time: i64, set: &Track, cookie: i64) -> Option<SliceId> {
        let lane = self.lane(set, cookie);
        self.lanes[lane].open = self.lanes[lane].open.saturating_sub(1);
        self.end_any(time, &self.track_of(lane))
    }

    /// B6, H6: F
    pub fn end_alone_on_lane(&mut self, time: i64, set: &Track, cookie: i64) {
        let lane = self.lane(set, cookie);
        let (count, last) = self.lanes[lane].begins;
        let slice = self.end_on_lane(time, set, cookie);
        self.say(slice, "legacy_unnestable_begin_count", Said::Int(count));
        self.say(slice, "legacy_unnestable_last_begin_ts", Said::Int(last));
    }

    /// An instant ends when it begins, so one lane of instants is enough (B6).
    pub fn instant_on_lane(&mut self, time: i64, set: &Track, name: &str) -> Option<SliceId> {
        let known = self.instants.iter().find(|(of, _)| of == set);
        let number = known.map_or_else(
            || self.lanes.iter().filter(|lane| lane.set == *set).count(),
            |(_, number)| *number,
        );
        if known.is_none() {
            self.instants.push((set.clone(), number));
        }
        let lane = Track { lane: (0, true), number: Aside(number), ..set.clone() };
        self.instant(time, &lane, name)
    }

    /// A complete slice, on the first lane of a set whose last slice has ended (GP3).
    pub fn complete_on_lane(
        &mut self,
        time: i64,
        duration: i64,
        set: &Track,
        name: Option<&str>,
    ) -> (Track, Option<SliceId>) {
        let of_lane =
            |lane: usize| Track { lane: (lane, false), number: Aside(lane), ..set.clone() };
        let mut lanes = 0..;
        let is_free = |track: &TrackId| {
            let mut slices = self.all.iter().filter(|slice| slice.track == *track);
            slices.all(|slice| slice.time + slice.duration <= time)
        };
        let free = lanes.find(|&lane| is_free(&self.tracks.find(&of_lane(lane))));
        let track = of_lane(free.unwrap_or(0));
        let id = self.tracks.find(&track);
        (track, self.push(id, (time, duration), name, None))
    }
}

//! Lanes: tracks for slices of one name that may overlap (rules B6 and GP3).
//!
//! # Design
//!
//! The rules look for the first lane of some kind. Each kind is an index of its own: lanes by their
//! cookie, lanes without open begins, lanes by the end of their last slice. The alternative was to
//! go through all lanes. But a trace whose begins have no ends has as many lanes as begins, so the
//! time would grow with the square of their number.
//!
//! Sets are found by bytes, so that their names are looked up without a copy.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use rustc_hash::FxHashMap;

use super::tracks::{NewTrack, TrackId, Tracks};

/// The lanes with the same type, name and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SetId(usize);

/// All lanes.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    sets: Vec<Set>,
    known: FxHashMap<Box<[u8]>, SetId>,
    /// The key that is looked up.
    key: Vec<u8>,
}

#[derive(Debug)]
struct Set {
    /// The track of each lane of the set.
    track: NewTrack,
    by_cookie: ByCookie,
    by_time: ByTime,
}

/// Lanes for slices that begin and end by a cookie.
#[derive(Debug, Default)]
struct ByCookie {
    lanes: Vec<Lane>,
    places: FxHashMap<i64, u32>,
    /// The lanes without open begins.
    free: BTreeSet<u32>,
}

#[derive(Debug)]
struct Lane {
    track: TrackId,
    cookie: i64,
    /// The number of open begins.
    open: u64,
    begins: Begins,
}

/// The begins of a lane, including those without a slice, and the time of the last one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begins {
    pub count: i64,
    pub last_ts: i64,
}

/// Lanes for slices with a known duration.
#[derive(Debug, Default)]
struct ByTime {
    tracks: Vec<TrackId>,
    /// The lanes whose last slice has ended.
    free: BTreeSet<u32>,
    /// The ends of the last slices of all other lanes.
    busy: BinaryHeap<Reverse<(i64, u32)>>,
}

impl ByCookie {
    /// Adds a lane for a cookie, without open begins.
    fn add(&mut self, cookie: i64, track: TrackId) {
        let place = self.lanes.len() as u32;
        self.lanes.push(Lane { track, cookie, open: 0, begins: Begins::default() });
        self.free.insert(place);
        self.places.insert(cookie, place);
    }
}

impl Lanes {
    /// The lanes with a type, a name and these numbers.
    pub fn set(
        &mut self,
        track_type: &'static str,
        numbers: &[u64],
        name: &str,
        track: impl FnOnce() -> NewTrack,
    ) -> SetId {
        self.key.clear();
        self.key.extend_from_slice(track_type.as_bytes());
        self.key.push(0);
        for number in numbers {
            self.key.extend_from_slice(&number.to_le_bytes());
        }
        self.key.extend_from_slice(name.as_bytes());
        if let Some(&set) = self.known.get(self.key.as_slice()) {
            return set;
        }
        let set = SetId(self.sets.len());
        if self.sets.is_empty() {
            // Most parts have one set, and a trace may have ten thousand parts.
            self.sets.reserve_exact(1);
        }
        self.sets.push(Set {
            track: NewTrack { group: Some(set.0 as i64), ..track() },
            by_cookie: ByCookie::default(),
            by_time: ByTime::default(),
        });
        self.known.insert(self.key.as_slice().into(), set);
        set
    }

    /// The lane of a begin, which becomes open once more.
    pub fn begin(&mut self, set: SetId, cookie: i64, tracks: &mut Tracks) -> Option<TrackId> {
        let (lanes, place) = self.by_cookie(set, cookie, tracks)?;
        let lane = lanes.lanes.get_mut(place as usize)?;
        lane.open = lane.open.saturating_add(1);
        lanes.free.remove(&place);
        Some(lane.track)
    }

    /// The lane of a begin that does not nest; `None` if the lane is open already.
    pub fn begin_alone(
        &mut self,
        set: SetId,
        ts: i64,
        cookie: i64,
        tracks: &mut Tracks,
    ) -> Option<TrackId> {
        let (lanes, place) = self.by_cookie(set, cookie, tracks)?;
        let lane = lanes.lanes.get_mut(place as usize)?;
        lane.begins = Begins { count: lane.begins.count.saturating_add(1), last_ts: ts };
        if lane.open > 0 {
            return None;
        }
        lane.open = 1;
        lanes.free.remove(&place);
        Some(lane.track)
    }

    /// The lane of an end, with its begins.
    pub fn end(
        &mut self,
        set: SetId,
        cookie: i64,
        tracks: &mut Tracks,
    ) -> Option<(TrackId, Begins)> {
        let (lanes, place) = self.by_cookie(set, cookie, tracks)?;
        let lane = lanes.lanes.get_mut(place as usize)?;
        lane.open = lane.open.saturating_sub(1);
        if lane.open == 0 {
            lanes.free.insert(place);
        }
        Some((lane.track, lane.begins))
    }

    /// Whether a begin or an end of a cookie needs no new lane.
    pub fn has_room(&self, SetId(set): SetId, cookie: i64) -> bool {
        let set = self.sets.get(set);
        set.is_some_and(|set| {
            let lanes = &set.by_cookie;
            lanes.places.contains_key(&cookie) || !lanes.free.is_empty()
        })
    }

    /// The number of lanes.
    pub fn count(&self, SetId(set): SetId) -> u32 {
        let set = self.sets.get(set);
        set.map_or(0, |set| set.by_cookie.lanes.len() as u32)
    }

    /// The first lane.
    pub fn first(&self, SetId(set): SetId) -> Option<TrackId> {
        let first = self.sets.get(set)?.by_cookie.lanes.first();
        first.map(|lane| lane.track)
    }

    /// Adds a lane for a cookie, with a name of its own.
    pub fn add_lane(
        &mut self,
        SetId(set): SetId,
        cookie: i64,
        name: Option<Box<str>>,
        tracks: &mut Tracks,
    ) -> Option<TrackId> {
        let set = self.sets.get_mut(set)?;
        let track = NewTrack { name, ..set.track.clone() };
        let track = tracks.add(track);
        set.by_cookie.add(cookie, track);
        Some(track)
    }

    /// The lane with this cookie, or else the first lane without open begins, or else a new lane.
    fn by_cookie(
        &mut self,
        SetId(set): SetId,
        cookie: i64,
        tracks: &mut Tracks,
    ) -> Option<(&mut ByCookie, u32)> {
        let Set { track, by_cookie: lanes, by_time: others } = self.sets.get_mut(set)?;
        if let Some(&place) = lanes.places.get(&cookie) {
            return Some((lanes, place));
        }
        let place = match lanes.free.first() {
            Some(&place) => {
                let lane = lanes.lanes.get_mut(place as usize)?;
                lanes.places.remove(&lane.cookie);
                lane.cookie = cookie;
                place
            }
            None => {
                let place = lanes.lanes.len() as u32;
                let before = lanes.lanes.len().saturating_add(others.tracks.len());
                lanes.add(cookie, tracks.add(lane(track, before)));
                place
            }
        };
        lanes.places.insert(cookie, place);
        Some((lanes, place))
    }

    /// The lane of a slice with a known duration: the first lane whose last slice has ended by
    /// then. Times do not go back.
    pub fn add(
        &mut self,
        SetId(set): SetId,
        ts: i64,
        dur: i64,
        tracks: &mut Tracks,
    ) -> Option<TrackId> {
        let Set { track, by_time: lanes, by_cookie: others } = self.sets.get_mut(set)?;
        while let Some(&Reverse((end, place))) = lanes.busy.peek()
            && end <= ts
        {
            lanes.busy.pop();
            lanes.free.insert(place);
        }
        let place = lanes.free.pop_first().unwrap_or_else(|| {
            let place = lanes.tracks.len() as u32;
            let before = lanes.tracks.len().saturating_add(others.lanes.len());
            lanes.tracks.push(tracks.add(lane(track, before)));
            place
        });
        lanes.busy.push(Reverse((ts.saturating_add(dur), place)));
        lanes.tracks.get(place as usize).copied()
    }
}

/// The next lane of a set, after this number of lanes of both kinds. The number is a dimension of
/// its track.
fn lane(track: &NewTrack, before: usize) -> NewTrack {
    track.clone().with("track_compressor_idx", before as i64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tracks::Owner;
    use super::*;

    fn set(lanes: &mut Lanes, number: u64, name: &str) -> SetId {
        lanes.set("type", &[number], name, || NewTrack::slices(0, "type", Some(name), Owner::None))
    }

    #[test]
    fn b6_a_lane_is_found_by_its_cookie_or_is_the_first_free_one() {
        let (mut lanes, mut tracks) = (Lanes::default(), Tracks::default());
        let x = set(&mut lanes, 0, "x");
        let mut begin = |cookie| lanes.begin(x, cookie, &mut tracks).unwrap().0;
        assert_eq!([begin(1), begin(2), begin(2), begin(3)], [0, 1, 1, 2]);
        let mut end = |cookie| lanes.end(x, cookie, &mut tracks).unwrap().0.0;
        // The second lane has one begin left.
        assert_eq!([end(2), end(3), end(1)], [1, 2, 0]);
        // An end takes a lane as well, and nothing from below 0.
        assert_eq!([end(9), end(9)], [0, 0]);
        let mut begin = |cookie| lanes.begin(x, cookie, &mut tracks).unwrap().0;
        assert_eq!([begin(1), begin(9), begin(2), begin(4)], [0, 2, 1, 3]);
    }

    #[test]
    fn b6_a_lane_that_does_not_nest_counts_what_it_leaves_out() {
        let (mut lanes, mut tracks) = (Lanes::default(), Tracks::default());
        let x = set(&mut lanes, 0, "x");
        let first = lanes.begin_alone(x, 5, 1, &mut tracks);
        assert_eq!(first, Some(TrackId(0)));
        assert_eq!(lanes.begin_alone(x, 6, 1, &mut tracks), None);
        let begins = Begins { count: 2, last_ts: 6 };
        assert_eq!(lanes.end(x, 1, &mut tracks), Some((TrackId(0), begins)));
        assert_eq!(lanes.begin_alone(x, 7, 2, &mut tracks), Some(TrackId(0)));
        assert_eq!(lanes.end(x, 2, &mut tracks).unwrap().1.count, 3);
    }

    #[test]
    fn b6_gp3_a_slice_goes_where_the_last_one_has_ended() {
        let (mut lanes, mut tracks) = (Lanes::default(), Tracks::default());
        let x = set(&mut lanes, 0, "x");
        let mut add = |ts, dur| lanes.add(x, ts, dur, &mut tracks).unwrap().0;
        assert_eq!([add(0, 10), add(1, 2), add(2, 100), add(3, 1)], [0, 1, 2, 1]);
        assert_eq!([add(10, 0), add(10, 0), add(10, i64::MAX)], [0, 0, 0]);
        assert_eq!(add(10, 5), 1);
        // Cookies have lanes of their own.
        assert_eq!(lanes.begin(x, 1, &mut tracks), Some(TrackId(3)));
    }

    #[test]
    fn b6_sets_are_told_apart_by_number_and_name() {
        let mut lanes = Lanes::default();
        let sets = [set(&mut lanes, 0, "x"), set(&mut lanes, 1, "x"), set(&mut lanes, 0, "")];
        assert_eq!(sets, [SetId(0), SetId(1), SetId(2)]);
        assert_eq!(set(&mut lanes, 1, "x"), SetId(1));
    }
}

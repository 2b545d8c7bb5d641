//! Overflow lanes: the tracks of slices that begin inside another slice of their thread and end after it
//! (rule JS19).
//!
//! # Design
//!
//! A slice takes the first lane of its thread where it fits. A thread may have as many lanes as slices, so lanes are
//! the leaves of a tree that knows the smallest and the greatest end of the innermost slices below each node. It finds
//! the first lane that has room, or that has a slice which has ended, in logarithmic time; each slice ends once.

use crate::world::{NewTrack, Owner, TrackId, Utid, World};

/// The lanes of a thread.
#[derive(Debug, Default)]
pub(super) struct OverflowLanes {
    lanes: Vec<Lane>,
    /// A complete binary tree; the leaves are the last half.
    tree: Vec<Ends>,
}

#[derive(Debug)]
struct Lane {
    track: TrackId,
    /// The ends of the slices that are open, the innermost last.
    open: Vec<i64>,
}

/// The smallest and the greatest end of the innermost slices of some lanes. An empty lane ends at the end of time,
/// because any slice fits inside.
#[derive(Debug, Clone, Copy)]
struct Ends {
    first: i64,
    last: i64,
}

/// The node of no lanes, which nothing finds.
const NONE: Ends = Ends { first: i64::MAX, last: i64::MIN };

impl OverflowLanes {
    /// The track for a slice that begins at `ts` and takes `dur`.
    pub fn place(&mut self, (ts, dur): (i64, i64), utid: Utid, world: &mut World) -> TrackId {
        let end = ts.saturating_add(dur);
        let lane = loop {
            let Some(lane) = self.first(ts, end) else {
                break self.add(utid, world);
            };
            if !self.forget(lane, ts) {
                break lane;
            }
        };
        let track = self.lanes.get_mut(lane).map(|lane| {
            lane.open.push(end);
            lane.track
        });
        self.update(lane);
        track.unwrap_or_else(|| world.tracks.of_thread(utid))
    }

    /// The first lane whose innermost slice ends at `end` or later, or has ended at `ts`.
    fn first(&self, ts: i64, end: i64) -> Option<usize> {
        let is_found = |ends: &Ends| ends.last >= end || ends.first <= ts;
        let mut node = 1;
        is_found(self.tree.get(node)?).then_some(())?;
        while node < self.tree.len() / 2 {
            node *= 2;
            if !is_found(self.tree.get(node)?) {
                node += 1;
            }
        }
        Some(node - self.tree.len() / 2)
    }

    /// Forgets the slices of a lane that have ended at `ts`, and returns whether there were any.
    fn forget(&mut self, lane: usize, ts: i64) -> bool {
        let Some(open) = self.lanes.get_mut(lane).map(|lane| &mut lane.open) else {
            return false;
        };
        let before = open.len();
        while open.last().is_some_and(|&end| end <= ts) {
            open.pop();
        }
        let has_ended = open.len() < before;
        if has_ended {
            self.update(lane);
        }
        has_ended
    }

    /// Adds a lane.
    fn add(&mut self, utid: Utid, world: &mut World) -> usize {
        let (lane, machine) = (self.lanes.len(), world.part.machine);
        let track =
            NewTrack::slices(machine, "thread_overlapping_slice", None, Owner::Thread(utid));
        let track = world.tracks.add(track.with("track_compressor_idx", lane as i64));
        self.lanes.push(Lane { track, open: Vec::new() });
        if self.lanes.len() > self.tree.len() / 2 {
            let leaves = self.lanes.len().next_power_of_two();
            self.tree = vec![NONE; 2 * leaves];
            (0..self.lanes.len()).for_each(|lane| self.update(lane));
        }
        lane
    }

    /// Sets the leaf of a lane, and the nodes above it.
    fn update(&mut self, lane: usize) {
        let mut node = lane + self.tree.len() / 2;
        if let (Some(leaf), Some(lane)) = (self.tree.get_mut(node), self.lanes.get(lane)) {
            let end = lane.open.last().copied().unwrap_or(i64::MAX);
            *leaf = Ends { first: end, last: end };
        }
        while node > 1 {
            node /= 2;
            let below = |node: usize| self.tree.get(node).copied().unwrap_or(NONE);
            let (left, right) = (below(2 * node), below(2 * node + 1));
            if let Some(ends) = self.tree.get_mut(node) {
                let (first, last) = (left.first.min(right.first), left.last.max(right.last));
                *ends = Ends { first, last };
            }
        }
    }
}

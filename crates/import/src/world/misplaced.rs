//! Ends that belong to other slices than the ones that they end (rule DT9): the table `misplaced_end`.
//!
//! # Design
//!
//! Spans that cross on a track are not nested, although slices are: an end closes a slice that is not
//! its own, or a slice is cut because another one ends. The ends that come later tell which. So this
//! module keeps, for each track on which an end is owed, the ends that are owed and the slices that
//! were closed since. A slice may be a row by then. So each doubtful slice becomes a row of
//! `misplaced_end`, and one statement marks all of them after the last row. The alternative was to hold
//! the slices of such a track back; but an owed end may never come.
//!
//! Memory is bounded: an end that is owed while there are too many, and the slices that were closed
//! first, are forgotten. Such a slice is not marked.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use timebase_schema::tables::misplaced_end;

use super::tracks::TrackId;
use crate::definitions::EndNames;
use crate::output::{Cell, Rows};
use crate::timeline::{Label, Name, OwnLabel};

/// The largest number of owed ends of a track, and of closed slices that are remembered for them.
const MOST_OWED: usize = 512;
const MOST_CLOSED: usize = 1 << 12;
/// The largest number of both for all tracks.
const MOST: usize = 1 << 20;
/// The largest number of slices of [`Misplaced::last`].
const MOST_LAST: usize = 1 << 18;

/// The reason why a slice may be wrong: the column `reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// It ended because a slice below it did.
    Cut,
    /// The end that closed it belongs to the slice before it, whose end belongs to one that was cut.
    Slipped,
    /// An end without a name closed it before its own end came.
    Early,
    /// The same end left it open.
    Owed,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Cut => "cut",
            Reason::Slipped => "slipped",
            Reason::Early => "early",
            Reason::Owed => "owed",
        }
    }
}

/// A slice that was cut: its own end is owed.
#[derive(Debug)]
struct OwedEnd {
    slice: i64,
    name: OwnLabel,
    /// The slice that ended.
    by: i64,
    /// The number of slices of its track that had been closed.
    since: u64,
}

/// A slice that an end closed while another end was owed.
#[derive(Debug)]
struct Closed {
    slice: i64,
    /// The name of the end.
    by: OwnLabel,
    /// The number of slices of its track that had been closed.
    at: u64,
}

/// A track on which an end is owed.
#[derive(Debug, Default)]
struct Owing {
    ends: VecDeque<OwedEnd>,
    closed: VecDeque<Closed>,
    next: u64,
}

impl Owing {
    fn len(&self) -> usize {
        self.ends.len() + self.closed.len()
    }

    /// Forgets the closed slices that no owed end can concern any more.
    fn trim(&mut self) {
        let Some(first) = self.ends.front() else {
            return self.closed.clear();
        };
        while self.closed.front().is_some_and(|closed| closed.at < first.since) {
            self.closed.pop_front();
        }
    }
}

/// The newest slice of a name on a track.
#[derive(Debug, Clone, Copy)]
struct Last {
    slice: i64,
    /// Whether an end without a name closed it, and its parent.
    is_early: bool,
    parent: Option<i64>,
}

/// A slice that an end closed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClosedSlice<'a> {
    pub id: i64,
    pub name: Label<'a>,
    pub parent: Option<i64>,
}

/// Ends that may belong to other slices.
#[derive(Debug, Default)]
pub(super) struct Misplaced {
    owing: FxHashMap<TrackId, Owing>,
    /// The number of owed ends and of closed slices of all tracks.
    len: usize,
    /// The newest slices, of names that some ends have, if other ends have none.
    last: FxHashMap<(TrackId, Name), Last>,
}

impl Misplaced {
    /// Whether an end that closes nothing tells nothing.
    pub fn is_empty(&self) -> bool {
        self.owing.is_empty() && self.last.is_empty()
    }

    /// Whether an end with this name that closes a slice may tell something. It does in few traces.
    #[inline]
    pub fn needs_closed(&self, end: Label<'_>, ends: &EndNames) -> bool {
        !self.owing.is_empty() || end == Label::None && ends.are_mixed()
    }

    /// A slice begins.
    #[inline]
    pub fn begins(&mut self, track: TrackId, slice: i64, name: Label<'_>, ends: &EndNames) {
        if let Label::Known(name) = name
            && ends.may_be_early(name)
        {
            self.newest(track, name, slice);
        }
    }

    fn newest(&mut self, track: TrackId, name: Name, slice: i64) {
        if self.last.len() >= MOST_LAST {
            self.last.clear();
        }
        let last = Last { slice, is_early: false, parent: None };
        self.last.insert((track, name), last);
    }

    /// A slice is cut, because the slice `by` below it ended. If it was open, its own end is owed.
    #[cold]
    pub fn cut(
        &mut self,
        track: TrackId,
        slice: (i64, Label<'_>),
        by: i64,
        was_open: bool,
        rows: &mut Rows<'_>,
    ) {
        let (slice, name) = slice;
        if !was_open || self.len >= MOST {
            return push(slice, Reason::Cut, by, None, rows);
        }
        let owing = self.owing.entry(track).or_default();
        if owing.ends.len() >= MOST_OWED
            && let Some(forgotten) = owing.ends.pop_front()
        {
            self.len -= 1;
            push(forgotten.slice, Reason::Cut, forgotten.by, None, rows);
        }
        owing.ends.push_back(OwedEnd { slice, name: name.into(), by, since: owing.next });
        self.len += 1;
    }

    /// An end closed a slice.
    #[inline]
    pub fn closed(
        &mut self,
        track: TrackId,
        slice: ClosedSlice<'_>,
        end: Label<'_>,
        ends: &EndNames,
    ) {
        if !self.owing.is_empty() {
            self.closed_since(track, slice.id, end);
        }
        if end == Label::None
            && let Label::Known(name) = slice.name
            && ends.may_be_early(name)
            && let Some(last) = self.last.get_mut(&(track, name))
            && last.slice == slice.id
        {
            last.is_early = true;
            last.parent = slice.parent;
        }
    }

    fn closed_since(&mut self, track: TrackId, slice: i64, end: Label<'_>) {
        let Some(owing) = self.owing.get_mut(&track) else {
            return;
        };
        if owing.closed.len() >= MOST_CLOSED || self.len >= MOST {
            let forgotten = owing.closed.pop_front();
            self.len -= usize::from(forgotten.is_some());
        }
        owing.closed.push_back(Closed { slice, by: end.into(), at: owing.next });
        owing.next += 1;
        self.len += 1;
    }

    /// An end at `ts` closed nothing. Returns the slice that is doubtful if it is open.
    #[cold]
    pub fn closed_nothing(
        &mut self,
        track: TrackId,
        end: Label<'_>,
        ts: i64,
        rows: &mut Rows<'_>,
    ) -> Option<OwedBelow> {
        if self.pays(track, end, ts, rows) {
            return None;
        }
        let Label::Known(name) = end else { return None };
        let last = self.last.get(&(track, name)).copied();
        let last = last.filter(|last| last.is_early)?;
        push(last.slice, Reason::Early, last.slice, Some(ts), rows);
        let parent = last.parent.filter(|_| !self.owing.contains_key(&track))?;
        Some(OwedBelow { slice: parent, by: last.slice, end: ts })
    }

    /// Whether an end that closed nothing was owed. If it was, the slices that ends of its name have
    /// closed since are doubtful.
    fn pays(&mut self, track: TrackId, end: Label<'_>, ts: i64, rows: &mut Rows<'_>) -> bool {
        let Some(owing) = self.owing.get_mut(&track) else {
            return false;
        };
        let before = owing.len();
        let is_its = |owed: &OwedEnd| end == Label::None || owed.name.is(end);
        let place = owing.ends.iter().position(is_its);
        let Some(owed) = place.and_then(|place| owing.ends.remove(place)) else {
            return false;
        };
        push(owed.slice, Reason::Cut, owed.by, Some(ts), rows);
        for closed in &owing.closed {
            if closed.at >= owed.since && closed.by.is(end) {
                push(closed.slice, Reason::Slipped, owed.slice, Some(ts), rows);
            }
        }
        owing.trim();
        self.len -= before - owing.len();
        if owing.ends.is_empty() {
            self.owing.remove(&track);
        }
        true
    }

    /// Writes the slices that were cut and whose own ends never came.
    pub fn end(&mut self, rows: &mut Rows<'_>) {
        let owing = std::mem::take(&mut self.owing).into_values();
        let mut ends: Vec<_> = owing.flat_map(|owing| owing.ends).collect();
        ends.sort_unstable_by_key(|owed| owed.slice);
        for owed in ends {
            push(owed.slice, Reason::Cut, owed.by, None, rows);
        }
    }
}

/// A slice that is doubtful if it is open: an end without a name that closed the slice above it was its
/// own.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwedBelow {
    pub slice: i64,
    by: i64,
    end: i64,
}

impl OwedBelow {
    /// The slice is open.
    pub fn is_open(self, rows: &mut Rows<'_>) {
        push(self.slice, Reason::Owed, self.by, Some(self.end), rows);
    }
}

fn push(slice: i64, reason: Reason, by: i64, end: Option<i64>, rows: &mut Rows<'_>) {
    let id = rows.count(&misplaced_end::TABLE);
    let reason = rows.text(reason.name());
    rows.push(misplaced_end::Row {
        id: Cell::from(id),
        slice_id: Cell::from(slice),
        reason,
        by_slice_id: Cell::from(by),
        end_ts: Cell::or_null(end),
    });
}

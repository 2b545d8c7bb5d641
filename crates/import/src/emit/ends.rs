//! The ends of slices that are written, in the order of time.
//!
//! # Design
//!
//! A row of `slice` is two events, of which the second comes when its time has come: a heap has the next end of
//! all tracks, and a stack for each track has what is open on it, as the reader of the events does. Both are as
//! large as the slices that are open at one time. The alternative was a sort of all begins and ends together,
//! which takes the disk.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A slice that was begun and not ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub track: i64,
    pub depth: i64,
    /// The time of its end; `i64::MAX` if it has none.
    pub end: i64,
    pub name: Option<i64>,
    pub category: Option<i64>,
    /// The CPU time of the thread at its end.
    pub thread_end: Option<i64>,
}

/// An end that has to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub slice: Open,
    /// Whether another slice is open above it, so that the end has to say which one it means.
    pub is_covered: bool,
    /// Whether readers end others: one above has the same name and category, or one below has ended before, so that
    /// this end cuts what is above that one.
    pub is_taken: bool,
}

/// A slice on the stack of its track.
#[derive(Debug)]
struct Stacked {
    number: u64,
    slice: Open,
    /// The end of a slice below it that has ended already.
    below: Option<i64>,
}

/// All slices that were begun and not ended.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// Ends by time; of one time the slice that began last comes first.
    next: BinaryHeap<Reverse<(i64, Reverse<u64>, i64)>>,
    stacks: HashMap<i64, Vec<Stacked>>,
    begun: u64,
}

impl Ends {
    pub fn begin(&mut self, slice: Open) {
        self.begun += 1;
        if slice.end < i64::MAX {
            self.next.push(Reverse((slice.end, Reverse(self.begun), slice.track)));
        }
        let stacked = Stacked { number: self.begun, slice, below: None };
        self.stacks.entry(slice.track).or_default().push(stacked);
    }

    /// The next end before a time.
    pub fn before(&mut self, ts: i64) -> Option<End> {
        while let Some(Reverse((end, Reverse(number), track))) = self.next.peek().copied() {
            if end >= ts {
                return None;
            }
            self.next.pop();
            if let Some(end) = self.end(track, number) {
                return Some(end);
            }
        }
        None
    }

    /// The next end, at this time, of a slice at a depth or deeper on a track.
    pub fn at(&mut self, ts: i64, track: i64, depth: i64) -> Option<End> {
        let Stacked { number, slice, .. } = self.stacks.get(&track)?.last()?;
        let number = *number;
        match slice.depth >= depth && slice.end <= ts {
            true => self.end(track, number),
            false => None,
        }
    }

    /// The number of endless slices that an event at this time cuts, because one below them has ended before (rule E9). Each
    /// counts once.
    pub fn cut(&mut self, track: i64, ts: i64) -> u64 {
        let mut count = 0;
        for open in self.stacks.get_mut(&track).into_iter().flatten() {
            if open.slice.end == i64::MAX && open.below.take_if(|end| *end < ts).is_some() {
                count += 1;
            }
        }
        count
    }

    /// The next end of all.
    pub fn rest(&mut self) -> Option<End> {
        self.before(i64::MAX)
    }

    fn end(&mut self, track: i64, number: u64) -> Option<End> {
        let stack = self.stacks.get_mut(&track)?;
        let at = stack.iter().rposition(|open| open.number == number)?;
        let Stacked { slice, below, .. } = stack.remove(at);
        let above = stack.get_mut(at..).unwrap_or_default();
        let is_covered = !above.is_empty();
        // An END without a name or a category ends any.
        let is_same = above.iter().any(|Stacked { slice: other, .. }| {
            let has_name = slice.name.is_some() && other.name.is_some();
            (slice.category.is_none() || slice.category == other.category)
                && (!has_name || slice.name == other.name)
        });
        let is_cut = below.is_some_and(|end| end < slice.end);
        let is_taken = is_same || is_cut;
        for other in above {
            other.below.get_or_insert(slice.end);
        }
        if stack.is_empty() {
            self.stacks.remove(&track);
        }
        Some(End { slice, is_covered, is_taken })
    }
}

//! Numbers for rows of `thread_state` that belong to no slice.
//!
//! A slice has four numbers, and its own rows take three of them. A row of no slice takes the fourth number
//! of a slice: the first slice that still has this number and is not before the thread's last row. So the ids
//! of a thread are in the order of time (rule PQ10), as queries from trace processor assume. As a trace
//! begins, threads wait before the first slice. So the numbers begin with those of `EARLY` slices that never
//! were. If no slice so far has its fourth number left, a later slice gives it, and the row may stand after
//! its thread's next row; but then several switches of the thread are missing.
//!
//! The alternative was to number all rows in their order. The numbers would always be in order, but
//! `sched_record` would need a column for each of its rows.

use std::collections::VecDeque;
use std::ops::Range;

/// A row of `sched`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SchedSliceId(pub i64);

/// The number of ranges that are remembered; the numbers of older ranges stay unused.
const RANGES: usize = 4096;

/// The slices before the first one that leave their fourth numbers to rows of no slice. The views in
/// `schema/finish.sql` count them, too.
const EARLY: i64 = 1024;

/// The first of them.
pub(super) const FIRST: SchedSliceId = SchedSliceId(-EARLY);

/// The numbers of a slice's rows in `thread_state`: four from this one on.
pub(super) fn first_number(SchedSliceId(id): SchedSliceId) -> i64 {
    id.saturating_add(EARLY).saturating_mul(4)
}

/// The slices whose fourth number is free.
#[derive(Debug)]
pub(super) struct FreeNumbers {
    /// In order, and apart from each other.
    free: VecDeque<Range<i64>>,
    /// The slice that begins next.
    begun: i64,
    /// The number of slices from `begun` on that have already given their fourth number.
    ahead: i64,
}

impl Default for FreeNumbers {
    fn default() -> Self {
        FreeNumbers { free: std::iter::once(-EARLY..0).collect(), begun: 0, ahead: 0 }
    }
}

impl FreeNumbers {
    /// Notes that a slice begins; slices are numbered 0, 1, 2 ….
    #[inline]
    pub fn begins(&mut self, SchedSliceId(id): SchedSliceId) {
        self.begun = id.saturating_add(1);
        if self.ahead > 0 {
            self.ahead -= 1;
            return;
        }
        match self.free.back_mut() {
            Some(last) if last.end == id => last.end = self.begun,
            _ => {
                self.free.push_back(id..self.begun);
                self.forget();
            }
        }
    }

    /// The first slice from `from` on with a free number. It may be a slice that has not begun yet.
    pub fn take(&mut self, SchedSliceId(from): SchedSliceId) -> SchedSliceId {
        let place = self.free.partition_point(|range| range.end <= from);
        let Some(range) = self.free.get_mut(place) else {
            let id = self.begun.saturating_add(self.ahead);
            self.ahead = self.ahead.saturating_add(1);
            return SchedSliceId(id);
        };
        let id = range.start.max(from);
        let before = range.start..id;
        range.start = id.saturating_add(1);
        if range.is_empty() {
            self.free.remove(place);
        }
        if !before.is_empty() {
            self.free.insert(place, before);
            self.forget();
        }
        SchedSliceId(id)
    }

    fn forget(&mut self) {
        if self.free.len() > RANGES {
            self.free.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn pq10_a_state_before_the_first_slice_has_a_number_before_it() {
        let mut numbers = FreeNumbers::default();
        assert_eq!(numbers.take(FIRST), FIRST);
        numbers.begins(SchedSliceId(0));
        for id in 1 - EARLY..0 {
            assert_eq!(numbers.take(FIRST), SchedSliceId(id));
        }
        assert_eq!(first_number(FIRST), 0);
        // Now the slices give theirs.
        assert_eq!(numbers.take(FIRST), SchedSliceId(0));
        assert_eq!(numbers.take(FIRST), SchedSliceId(1));
    }

    #[test]
    fn pq10_a_state_of_no_slice_takes_the_first_number_behind_its_threads_last() {
        let mut numbers = FreeNumbers { free: VecDeque::new(), ..FreeNumbers::default() };
        for id in 0..5 {
            numbers.begins(SchedSliceId(id));
        }
        assert_eq!(numbers.take(SchedSliceId(2)), SchedSliceId(2));
        assert_eq!(numbers.take(SchedSliceId(2)), SchedSliceId(3));
        assert_eq!(numbers.take(SchedSliceId(0)), SchedSliceId(0));
        assert_eq!(numbers.take(SchedSliceId(3)), SchedSliceId(4));
        // No slice that has begun has a free number there.
        assert_eq!(numbers.take(SchedSliceId(4)), SchedSliceId(5));
        numbers.begins(SchedSliceId(5));
        numbers.begins(SchedSliceId(6));
        assert_eq!(numbers.take(SchedSliceId(2)), SchedSliceId(6));
        assert_eq!(numbers.take(SchedSliceId(0)), SchedSliceId(1));
    }

    #[test]
    fn pq10_no_number_is_taken_twice_however_many_are() {
        let mut numbers = FreeNumbers::default();
        let mut taken = HashSet::new();
        for id in 0..40_000 {
            for from in [0, id / 2, id] {
                if (id ^ from) % 5 < 2 {
                    assert!(taken.insert(numbers.take(SchedSliceId(from)).0));
                }
            }
            numbers.begins(SchedSliceId(id));
        }
        assert!(taken.len() > 20_000, "{}", taken.len());
        assert!(numbers.free.len() <= RANGES);
    }
}

//! Bounds by messages of a relation that is measured (rule AL18).
//!
//! # Design
//!
//! The relation keeps its hops, and so do the times. Where a path goes from one of the two clocks to the
//! other, over however many hops, the error of these hops is at most the distance to the farther bound.
//! The distance bends at each bound's corners, so these end a line, as the readings of a hop do. A line
//! that is cut rounds anew, so a time by lines may change by a nanosecond.
//!
//! The alternative was to give the hops themselves lesser errors. But messages bound two clocks, and say
//! nothing about the clocks between them.

use crate::clock::Clock;
use crate::rows::partition;

use super::exact::real;
use super::knot::distance;

/// A corner of the bounds by messages: when clock A read `value`, clock B read at least `value + earliest`
/// and at most `value + latest`, all in nanoseconds. Straight lines connect them.
///
/// ```
/// use timebase_resolver::CausalBound;
///
/// // Messages say that B was 500 ns to 900 ns ahead.
/// let bound = CausalBound { value: 2_000_000_000, earliest: 500, latest: 900 };
/// assert!(bound.earliest <= bound.latest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CausalBound {
    /// A reading of clock A.
    pub value: i64,
    /// The least that B's reading is more than that of A.
    pub earliest: i64,
    /// The most that it is more.
    pub latest: i64,
}

/// The bounds of two clocks, in the order of clock A's readings.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounds(Vec<CausalBound>);

/// The hops of a path that messages bound.
#[derive(Debug, Clone)]
pub(super) struct Bounded {
    /// The numbers of the first hop, and of the one after the last.
    pub first: usize,
    pub end: usize,
    pub bounds: Bounds,
    /// Whether the first hop starts at clock A.
    pub from_a: bool,
}

/// The bounds between two corners.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    before: CausalBound,
    after: CausalBound,
}

impl Bounds {
    pub fn new(mut corners: Vec<CausalBound>) -> Bounds {
        corners.sort_unstable();
        corners.dedup_by_key(|corner| corner.value);
        Bounds(corners)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The bounds around a reading of clock A; `None` before the first and after the last corner.
    pub fn around(&self, a: i64) -> Option<Segment> {
        let next = partition(self.0.len(), |index| self.0[index].value <= a);
        let before = *self.0.get(next.checked_sub(1)?)?;
        Some(Segment { before, after: *self.0.get(next)? })
    }

    /// The readings of clock A around one between which no bound bends; `None` is no limit.
    pub fn limits(&self, a: i64) -> (Option<i64>, Option<i64>) {
        let first = self.0.first().map(|corner| corner.value);
        let last = self.0.last().map(|corner| corner.value);
        match self.around(a) {
            Some(segment) => (Some(segment.before.value), Some(segment.after.value)),
            None if first.is_some_and(|first| a < first) => (None, first),
            None => (last, None),
        }
    }
}

impl Segment {
    /// The distance from an offset to the farther bound when clock A shows `a`; negative if the offset is
    /// far outside.
    pub fn farther(&self, a: i128, offset: i128) -> f64 {
        let Segment { before, after } = self;
        let since = real(a - i128::from(before.value));
        let share = since / distance(before.value, after.value);
        let at = |before: i64, after: i64| {
            let rise = real(i128::from(after) - i128::from(before));
            real(i128::from(before) - offset) + rise * share
        };
        let latest = at(before.latest, after.latest);
        let earliest = at(before.earliest, after.earliest);
        latest.max(-earliest)
    }

    /// The largest change of a bound in a nanosecond.
    pub fn slope(&self) -> f64 {
        let Segment { before, after } = self;
        let rise = |before: i64, after: i64| real(i128::from(after) - i128::from(before)).abs();
        let most = rise(before.latest, after.latest).max(rise(before.earliest, after.earliest));
        most / distance(before.value, after.value)
    }
}

/// Finds the hops of a path that are bounded together: no hop twice, of several the most hops.
pub(super) fn of_path<'e>(
    find: impl Fn(&(Clock, Clock)) -> Option<&'e Bounds>,
    clocks: &[Clock],
) -> Vec<Bounded> {
    let mut found: Vec<Bounded> = Vec::new();
    for (first, &from) in clocks.iter().enumerate() {
        if found.last().is_some_and(|last| first < last.end) {
            continue;
        }
        let until = clocks.iter().enumerate().skip(first + 1).rev();
        let bounded = until.filter_map(|(end, &to)| {
            let forward = find(&(from, to)).map(|bounds| (bounds, true));
            let (bounds, from_a) = forward.or_else(|| Some((find(&(to, from))?, false)))?;
            Some(Bounded { first, end, bounds: bounds.clone(), from_a })
        });
        found.extend(bounded.take(1));
    }
    found
}

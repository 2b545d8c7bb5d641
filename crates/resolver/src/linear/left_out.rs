//! Readings that are left out, and their distances from the lines around them (rules R3, R5).

use std::ops::Range;

use super::choice::Choice;
use super::exact::{real, rounded};
use super::knot::{Knot, distance, moved};

/// Two numbers that make a segment of readings a line: its begin, and its rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Straight {
    pub from: Knot,
    pub rate: f64,
}

impl Straight {
    /// The distance of a reading above the line.
    fn ahead(&self, at: Knot) -> f64 {
        moved(self.from, at, 1.0) - distance(self.from.a, at.a) * (self.rate - 1.0)
    }

    pub fn off(&self, at: Knot) -> f64 {
        self.ahead(at).abs()
    }

    /// The line at a reading of the source; `None` if no clock can have that reading.
    pub fn at(&self, a: i64) -> Option<i64> {
        let forward = i128::from(a) - i128::from(self.from.a);
        let gained = rounded(real(forward) * (self.rate - 1.0));
        i64::try_from(i128::from(self.from.b) + forward + gained).ok()
    }
}

/// The ignored readings, with the used readings around them.
pub(super) struct LeftOut {
    pub knots: Vec<Knot>,
    /// The number of ignored readings before each used knot, and after all.
    ends: Vec<usize>,
}

impl LeftOut {
    /// The readings that a choice does not use, except in a group with a used reading.
    pub fn new(knots: &[Knot], choice: &Choice) -> LeftOut {
        let mut out = LeftOut { knots: Vec::new(), ends: Vec::with_capacity(choice.used.len()) };
        let mut next = 0;
        let mut group = None;
        let is_out = |index: usize, group: Option<usize>, next_group: Option<usize>| {
            let own = choice.groups.get(index).copied();
            own != group && own != next_group
        };
        for &(used, _) in &choice.used {
            let own = choice.groups.get(used).copied();
            let between = (next..used).filter(|&index| is_out(index, group, own));
            out.knots.extend(between.map(|index| knots[index]));
            out.ends.push(out.knots.len());
            (next, group) = (used + 1, own);
        }
        let after = (next..knots.len()).filter(|&index| is_out(index, group, None));
        out.knots.extend(after.map(|index| knots[index]));
        out
    }

    /// The ignored readings between a used knot and the one before it; for the number after the
    /// last knot, those after it.
    pub fn before(&self, knot: usize) -> &[Knot] {
        self.between(knot, knot)
    }

    /// The ignored readings between the segment before a segment and the segment after it.
    pub fn around(&self, segment: &Range<usize>) -> &[Knot] {
        self.between(segment.start, segment.end)
    }

    /// The ignored readings after the knot before `first`, and before `last`.
    fn between(&self, first: usize, last: usize) -> &[Knot] {
        let end = |knot: usize| self.ends.get(knot).copied().unwrap_or(self.knots.len());
        let start = first.checked_sub(1).map_or(0, end);
        &self.knots[start..end(last)]
    }
}

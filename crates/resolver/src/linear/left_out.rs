//! Readings that are left out, and their distances from the lines around them (rules R3, R5).

use std::ops::Range;

use super::choice::Choice;
use super::exact::{real, rounded};
use super::knot::{Knot, distance, moved};
use super::knots::Knots;

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
    /// For each, the number of used knots before it.
    places: Vec<u32>,
    /// The number of used knots.
    used: usize,
}

impl LeftOut {
    /// The readings that a choice does not use, except in a group with a used reading.
    pub fn new(knots: &Knots, choice: &Choice) -> LeftOut {
        let mut out = LeftOut { knots: Vec::new(), places: Vec::new(), used: 0 };
        let mut between: Vec<(usize, usize)> = Vec::new();
        let mut group = None;
        for (index, (is_used, of)) in choice.all().enumerate() {
            if !is_used {
                between.push((index, of));
                continue;
            }
            out.add(knots, &between, [group, Some(of)]);
            between.clear();
            (out.used, group) = (out.used + 1, Some(of));
        }
        out.add(knots, &between, [group, None]);
        out
    }

    /// Adds readings between two used ones, each with its group.
    fn add(&mut self, knots: &Knots, between: &[(usize, usize)], beside: [Option<usize>; 2]) {
        for &(index, group) in between {
            if !beside.contains(&Some(group)) {
                self.knots.push(knots.at(index));
                self.places.push(self.used as u32);
            }
        }
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
        let is_until = |knot: usize| move |&place: &u32| place as usize <= knot;
        let end = |knot: usize| match knot < self.used {
            true => self.places.partition_point(is_until(knot)),
            false => self.knots.len(),
        };
        let start = first.checked_sub(1).map_or(0, end);
        &self.knots[start..end(last)]
    }
}

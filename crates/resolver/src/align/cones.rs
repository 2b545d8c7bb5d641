//! Upper and lower points, and the cones from them (rule AL9).
//!
//! A lower point is an upper point of −θ, with the negated slopes. So each rule about one side is
//! written once, for upper points, and the lower ones are stored with the other sign.

use super::message::{Direction, Limit};
use crate::linear::real;

/// The origin of the numbers of a pair, so that floating-point numbers hold nanoseconds exactly: a
/// wall clock is 1.7e18 ns ahead of a clock that counts from the start of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Origin {
    pub at: i128,
    pub offset: i128,
}

/// A limit of θ, or of −θ, relative to an origin, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub t: f64,
    /// θ is at most this (upper), or −θ is (lower).
    pub most: f64,
    /// Its place among the messages.
    pub index: u64,
}

impl Origin {
    pub fn point(self, limit: Limit, index: u64) -> Point {
        let offset = real(limit.offset - self.offset);
        let most = match limit.direction {
            Direction::AToB => offset,
            Direction::BToA => -offset,
        };
        Point { t: real(limit.at - self.at), most, index }
    }
}

/// The rates that are possible: θ grows by `least` to `most` ns a ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slopes {
    pub least: f64,
    pub most: f64,
}

impl Slopes {
    pub fn around(middle: f64, by: f64) -> Slopes {
        Slopes { least: middle - by, most: middle + by }
    }

    pub fn middle(self) -> f64 {
        (self.least + self.most) / 2.0
    }

    /// Those of −θ.
    pub fn negated(self) -> Slopes {
        Slopes { least: -self.most, most: -self.least }
    }

    /// The part within others; `None` if there is none.
    pub fn within(self, other: Slopes) -> Option<Slopes> {
        let part = Slopes { least: self.least.max(other.least), most: self.most.min(other.most) };
        (part.least <= part.most).then_some(part)
    }

    /// Twice as far from the middle.
    pub fn doubled(self) -> Slopes {
        Slopes::around(self.middle(), self.most - self.least)
    }

    /// How much θ, at most `most` at `t`, can be at `x`.
    pub fn reach(self, t: f64, most: f64, x: f64) -> f64 {
        match x >= t {
            true => most + self.most * (x - t),
            false => most - self.least * (t - x),
        }
    }
}

/// The points of a pair or of a stretch, both sides in the order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sides {
    pub upper: Vec<Point>,
    /// Of −θ.
    pub lower: Vec<Point>,
}

impl Sides {
    pub fn side(&self, direction: Direction) -> &Vec<Point> {
        match direction {
            Direction::AToB => &self.upper,
            Direction::BToA => &self.lower,
        }
    }

    pub fn side_mut(&mut self, direction: Direction) -> &mut Vec<Point> {
        match direction {
            Direction::AToB => &mut self.upper,
            Direction::BToA => &mut self.lower,
        }
    }

    pub fn len(&self) -> usize {
        self.upper.len() + self.lower.len()
    }

    pub fn has_both(&self) -> bool {
        !self.upper.is_empty() && !self.lower.is_empty()
    }

    pub fn sort(&mut self) {
        for side in [&mut self.upper, &mut self.lower] {
            side.sort_unstable_by(|a, b| {
                a.t.total_cmp(&b.t).then(a.most.total_cmp(&b.most)).then(a.index.cmp(&b.index))
            });
        }
    }

    /// The times of all points, in order.
    pub fn times(&self) -> Vec<f64> {
        let mut times: Vec<f64> = self.upper.iter().chain(&self.lower).map(|p| p.t).collect();
        times.sort_unstable_by(f64::total_cmp);
        times
    }

    /// The first and the last time; `None` without points.
    pub fn span(&self) -> Option<(f64, f64)> {
        let first = self.upper.first().into_iter().chain(self.lower.first());
        let last = self.upper.last().into_iter().chain(self.lower.last());
        let first = first.map(|p| p.t).min_by(f64::total_cmp)?;
        Some((first, last.map(|p| p.t).max_by(f64::total_cmp)?))
    }

    pub fn extend(&mut self, other: Sides) {
        self.upper.extend(other.upper);
        self.lower.extend(other.lower);
        self.sort();
    }

    /// The points for which `is_in` holds, and the others.
    pub fn divided(self, mut is_in: impl FnMut(Direction, &Point) -> bool) -> (Sides, Sides) {
        let (upper, not_upper) =
            self.upper.into_iter().partition(|point| is_in(Direction::AToB, point));
        let (lower, not_lower) =
            self.lower.into_iter().partition(|point| is_in(Direction::BToA, point));
        (Sides { upper, lower }, Sides { upper: not_upper, lower: not_lower })
    }
}

/// Times in order, with the first of each of as many equal parts of the time. A search in all takes
/// a dozen steps, and one in a part two; each message is searched four times.
#[derive(Debug, Clone)]
struct Times {
    t: Vec<f64>,
    /// The parts in a ns.
    density: f64,
    /// The place of the first time in each part, and the number of times.
    starts: Vec<u32>,
}

impl Times {
    fn new(t: Vec<f64>) -> Times {
        let length = t.first().zip(t.last()).map_or(0.0, |(first, last)| last - first);
        let density = if length > 0.0 { t.len() as f64 / length } else { 0.0 };
        let mut times = Times { t, density, starts: Vec::new() };
        let mut starts = Vec::with_capacity(times.t.len() + 2);
        for (place, &t) in (0..).zip(&times.t) {
            while starts.len() <= times.part(t) {
                starts.push(place);
            }
        }
        starts.push(times.t.len() as u32);
        times.starts = starts;
        times
    }

    fn part(&self, x: f64) -> usize {
        let first = self.t.first().copied().unwrap_or_default();
        ((x - first) * self.density) as usize
    }

    /// The number of times that are not after `x`.
    fn until(&self, x: f64) -> usize {
        let part = self.part(x);
        let (Some(&from), Some(&to)) =
            (self.starts.get(part), self.starts.get(part.saturating_add(1)))
        else {
            return self.t.len();
        };
        let inside = self.t.get(from as usize..to as usize).unwrap_or_default();
        from as usize + inside.partition_point(|&t| t <= x)
    }
}

/// The least of the cones of one side: running minima over the points before and after.
#[derive(Debug, Clone)]
struct Ceiling {
    slopes: Slopes,
    times: Times,
    /// The least of `most − slopes.most·t` so far.
    before: Vec<f64>,
    /// The least of `most − slopes.least·t` from here on.
    after: Vec<f64>,
}

impl Ceiling {
    fn new(points: &[Point], slopes: Slopes) -> Ceiling {
        let mut least = f64::INFINITY;
        let mut running = |number: f64| {
            least = least.min(number);
            least
        };
        let before = points.iter().map(|p| running(p.most - slopes.most * p.t)).collect();
        least = f64::INFINITY;
        let mut running = |number: f64| {
            least = least.min(number);
            least
        };
        let mut after: Vec<f64> =
            points.iter().rev().map(|p| running(p.most - slopes.least * p.t)).collect();
        after.reverse();
        let times = Times::new(points.iter().map(|p| p.t).collect());
        Ceiling { slopes, times, before, after }
    }

    /// ∞ without points.
    fn at(&self, x: f64) -> f64 {
        let next = self.times.until(x);
        let before = next.checked_sub(1).and_then(|last| self.before.get(last));
        let before = before.map_or(f64::INFINITY, |least| least + self.slopes.most * x);
        let after = self.after.get(next);
        before.min(after.map_or(f64::INFINITY, |least| least + self.slopes.least * x))
    }

    /// Where the cone of an earlier point meets that of a later one, in order.
    fn meetings(&self) -> impl Iterator<Item = f64> {
        let width = self.slopes.most - self.slopes.least;
        let gaps = self.times.t.windows(2).zip(&self.before).zip(self.after.iter().skip(1));
        let meetings = gaps.map(move |((gap, before), after)| (gap, (after - before) / width));
        meetings.filter(|(gap, x)| gap[0] < *x && *x < gap[1]).map(|(_, x)| x)
    }
}

/// The bounds of θ from points of both sides: hi and lo of rule AL9.
#[derive(Debug, Clone)]
pub(super) struct Cones {
    upper: Ceiling,
    lower: Ceiling,
}

impl Cones {
    pub fn new(points: &Sides, slopes: Slopes) -> Cones {
        Cones {
            upper: Ceiling::new(&points.upper, slopes),
            lower: Ceiling::new(&points.lower, slopes.negated()),
        }
    }

    pub fn slopes(&self) -> Slopes {
        self.upper.slopes
    }

    /// The greatest θ; ∞ without upper points.
    pub fn hi(&self, x: f64) -> f64 {
        self.upper.at(x)
    }

    /// The least θ; −∞ without lower points.
    pub fn lo(&self, x: f64) -> f64 {
        -self.lower.at(x)
    }

    /// The times at which hi or lo bends, between points, each side in order.
    pub fn meetings(&self) -> impl Iterator<Item = f64> {
        self.upper.meetings().chain(self.lower.meetings())
    }

    /// How far a point of this side is from what the other side excludes; below 0 if it is excluded.
    pub fn room(&self, direction: Direction, point: &Point) -> f64 {
        match direction {
            Direction::AToB => point.most + self.lower.at(point.t),
            Direction::BToA => point.most + self.upper.at(point.t),
        }
    }

    /// Whether the bounds contradict each other at one of these times, by more than rounding.
    pub fn contradict_at(&self, times: &[f64]) -> bool {
        times.iter().any(|&t| self.lo(t) > self.hi(t) + ROUNDING)
    }
}

/// The rounding of sums, in ns; differences below it are none. Sums of whole ns and 500 ppm of them
/// are multiples of 0.0005 ns, so none is as large.
pub(super) const ROUNDING: f64 = 0.0101;

/// The two sides.
pub(super) const BOTH: [Direction; 2] = [Direction::AToB, Direction::BToA];

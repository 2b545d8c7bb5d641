//! The stretches of a pair, and the steps between them (rules AL11, AL16).

use super::cones::{BOTH, Point, ROUNDING, Sides, Slopes};
use super::message::Direction;
use super::rates;
use super::steps;
use super::stretch::Stretch;
use super::suspects;
use super::tail::Tail;

/// What was found of violated messages before (rule AL13).
#[derive(Debug, Clone, Default)]
pub(super) struct Before {
    pub is_any_violated: bool,
    /// The times of violated messages just beyond the bounds, from A and from B.
    pub beyond: [Vec<f64>; 2],
}

/// θ over time.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    pub stretches: Vec<Stretch>,
    /// The times between which each step is: after `.0`, before `.1`.
    pub steps: Vec<(f64, f64)>,
    /// Where a clock may have been set near an end.
    pub tails: Vec<Tail>,
}

/// The points that are not accepted.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftOut {
    pub violated: Sides,
    pub suspects: Sides,
}

/// Rules AL10, AL11, AL12, AL15 and AL16.
pub(super) fn solve(points: Sides, drift: Slopes, before: &Before) -> (Course, LeftOut) {
    let mut parts = steps::parts(points, drift);
    for part in &mut parts {
        let agreeing = std::mem::take(&mut part.agreeing);
        part.agreeing = rates::without_wrong_rates(agreeing, &mut part.violated);
    }
    let is_any_violated =
        before.is_any_violated || parts.iter().any(|part| part.violated.len() > 0);
    let mut left_out = LeftOut::default();
    let mut stretches = Vec::with_capacity(parts.len());
    let mut since = f64::NEG_INFINITY;
    for mut part in parts {
        if is_any_violated && part.agreeing.has_both() {
            let is_in = |t: &&f64| since <= **t && **t < part.until;
            let beyond = before.beyond.each_ref().map(|times| times.iter().filter(is_in).count());
            let suspects =
                suspects::without_suspects(&mut part.agreeing, &part.violated, beyond, drift);
            left_out.suspects.extend(suspects);
        }
        since = part.until;
        left_out.violated.extend(part.violated);
        stretches.extend(Stretch::new(part.agreeing, drift));
    }
    (Course::new(stretches), left_out)
}

impl Course {
    /// Of stretches in the order of time.
    pub fn new(stretches: Vec<Stretch>) -> Course {
        let steps = stretches.windows(2).filter_map(|pair| match pair {
            [before, after] => Some(step(before, after)),
            _ => None,
        });
        Course { steps: steps.collect(), stretches, tails: Vec::new() }
    }

    /// With cones of the largest drift (rule AL13).
    pub fn with_drift(&self, drift: Slopes) -> Course {
        let stretches = self.stretches.iter();
        let stretches =
            stretches.filter_map(|s| Stretch::with_slopes(s.points.clone(), drift, drift));
        Course::new(stretches.collect())
    }

    /// The stretches that may hold at this time: several in a step.
    pub fn at(&self, x: f64) -> impl Iterator<Item = &Stretch> {
        let last = self.steps.partition_point(|step| step.0 < x);
        let count = 1 + self.steps.iter().take(last).rev().take_while(|step| x < step.1).count();
        self.stretches.iter().take(last + 1).skip(last + 1 - count)
    }

    /// The time halfway through the stretch with the most accepted points, if none of it is a step;
    /// stretches with both sides come before others, and of equals the first counts.
    pub fn middle_of_most(&self) -> Option<f64> {
        let middle = |(place, stretch): (usize, &Stretch)| {
            let since = place.checked_sub(1).and_then(|step| self.steps.get(step));
            let from = since.map_or(stretch.span.0, |step| step.1.max(stretch.span.0));
            let to = self.steps.get(place).map_or(stretch.span.1, |s| s.0.min(stretch.span.1));
            let middle = from + (to - from) / 2.0;
            let is_alone = from <= to && self.at(middle).nth(1).is_none();
            is_alone.then_some(((stretch.points.has_both(), stretch.points.len()), middle))
        };
        let middles = self.stretches.iter().enumerate().filter_map(middle);
        middles.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|best| best.1)
    }

    /// lo and hi; in a step the lesser and the greater of both sides, and so behind one near an end.
    pub fn bounds(&self, x: f64) -> (f64, f64) {
        let bounds = hull(self.at(x).map(|stretch| stretch.bounds(x)));
        let tails = self.tails.iter().filter(|tail| tail.holds(x));
        tails.fold(bounds, |bounds, tail| tail.widened(bounds))
    }

    /// The corridor of the estimate, likewise.
    pub fn corridor(&self, x: f64) -> (f64, f64) {
        hull(self.at(x).map(|stretch| stretch.corridor(x)))
    }

    /// The estimate; `None` where one side says nothing.
    pub fn estimate(&self, x: f64) -> Option<f64> {
        let mut stretches = self.at(x);
        match (stretches.next(), stretches.next()) {
            (Some(stretch), None) => stretch.estimate(x),
            _ => middle(self.corridor(x)),
        }
    }

    /// How far a point of this side is from what the other side excludes, without a step near an end; below 0 if
    /// it is excluded.
    pub fn room(&self, side: Direction, point: &Point) -> f64 {
        // Of each message, so only the bound that counts.
        match side {
            Direction::AToB => {
                let lo = self.at(point.t).map(|stretch| stretch.lo(point.t)).reduce(f64::min);
                point.most - lo.unwrap_or(f64::NEG_INFINITY)
            }
            Direction::BToA => {
                let hi = self.at(point.t).map(|stretch| stretch.hi(point.t)).reduce(f64::max);
                point.most + hi.unwrap_or(f64::INFINITY)
            }
        }
    }

    /// The accepted points.
    pub fn points(&self, side: Direction) -> impl Iterator<Item = &Point> {
        self.stretches.iter().flat_map(move |stretch| stretch.points.side(side))
    }

    /// The first and the last time of an accepted point.
    pub fn span(&self) -> Option<(f64, f64)> {
        Some((self.stretches.first()?.span.0, self.stretches.last()?.span.1))
    }
}

/// The lesser lo and the greater hi; no bounds without stretches.
fn hull(mut bounds: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let first = bounds.next().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    bounds.fold(first, |a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn middle((lo, hi): (f64, f64)) -> Option<f64> {
    let middle = (lo + hi) / 2.0;
    middle.is_finite().then_some(middle)
}

/// Rule AL11: the step lies after the last point that the stretch after it excludes, and before the
/// first that the one before excludes; if none, beside the cut. A point that the middle of both
/// would turn around is excluded, too.
fn step(before: &Stretch, after: &Stretch) -> (f64, f64) {
    let is_excluded = |side: Direction, point: &Point, by: &Stretch| {
        let (lo, hi) = by.bounds(point.t);
        let both = hull([before.corridor(point.t), after.corridor(point.t)].into_iter());
        let (limit, middle) = match side {
            Direction::AToB => (lo, middle(both)),
            Direction::BToA => (-hi, middle(both).map(|middle| -middle)),
        };
        let least = middle.map_or(limit, |middle| limit.max(middle));
        point.most < least - ROUNDING
    };
    let excluded = |points: &Stretch, by: &Stretch| -> Vec<f64> {
        let of = |side| {
            let points = points.points.side(side).iter();
            points.filter(|p| is_excluded(side, p, by)).map(|p| p.t).collect::<Vec<_>>()
        };
        BOTH.into_iter().flat_map(of).collect()
    };
    let from = excluded(before, after).into_iter().max_by(f64::total_cmp);
    let to = excluded(after, before).into_iter().min_by(f64::total_cmp);
    (from.unwrap_or(before.span.1), to.unwrap_or(after.span.0))
}

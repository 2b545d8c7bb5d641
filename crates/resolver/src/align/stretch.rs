//! The result between two steps: bounds, corridor and estimate (rule AL16).

use super::cones::{BOTH, Cones, ROUNDING, Sides, Slopes};
use super::rates;

/// The half widths of the corridor of the estimate, the first that holds.
const CORRIDORS: [f64; 4] = [20e-6, 50e-6, 100e-6, 250e-6];
/// The least of these if no single rate fits: clocks whose rate wanders by 3 ppm in a second were 6.9 µs
/// off with narrower ones, and are 3.9 µs off.
const UNSTEADY: f64 = 100e-6;
/// Two parallel lines are about as far apart if the distance is within this part of the largest.
const ABOUT: f64 = 0.01;
/// Or within this many ns.
const ABOUT_NS: f64 = 1.0;

/// The accepted points between two steps, and what they say.
#[derive(Debug, Clone)]
pub(super) struct Stretch {
    pub points: Sides,
    /// The first and the last time of a point.
    pub span: (f64, f64),
    bounds: Cones,
    /// The slopes of the bounds beyond the points.
    beyond: Slopes,
    corridor: Cones,
    /// c, with both sides.
    pub rate: Option<f64>,
    /// The corners of the estimate, with both sides.
    line: Vec<(f64, f64)>,
}

impl Stretch {
    /// Of accepted points in the order of time, with the slopes of AL12; `None` without points.
    pub fn new(points: Sides, drift: Slopes) -> Option<Stretch> {
        let slopes = rates::slopes(&points, drift);
        let times = points.times();
        // The rate may have changed by more than AL12 assumes.
        let is_broken = Cones::new(&points, slopes).contradict_at(&times);
        Stretch::with_slopes(points, if is_broken { drift } else { slopes }, drift)
    }

    /// With these slopes.
    pub fn with_slopes(points: Sides, slopes: Slopes, drift: Slopes) -> Option<Stretch> {
        let span = points.span()?;
        let bounds = Cones::new(&points, slopes);
        let beyond = slopes.doubled().within(drift).unwrap_or(drift);
        let rate = points.has_both().then(|| parallel_rate(&points, slopes));
        let times = points.times();
        let is_unsteady = slopes == drift && rates::is_unsteady(&points, drift);
        let widths = CORRIDORS.into_iter().filter(|&width| !is_unsteady || width >= UNSTEADY);
        let corridors = widths.filter_map(|width| {
            let corridor = Slopes::around(rate?, width).within(slopes)?;
            Some(Cones::new(&points, corridor))
        });
        let corridor = corridors.into_iter().find(|corridor| !corridor.contradict_at(&times));
        let corridor = corridor.unwrap_or_else(|| bounds.clone());
        let mut stretch =
            Stretch { points, span, bounds, beyond, corridor, rate, line: Vec::new() };
        if rate.is_some() {
            let middle = |t| (t, (stretch.corridor.lo(t) + stretch.corridor.hi(t)) / 2.0);
            stretch.line = stretch.touching().into_iter().map(middle).collect();
        }
        Some(stretch)
    }

    /// The possible rates, s₁…s₂.
    pub fn slopes(&self) -> Slopes {
        self.bounds.slopes()
    }

    /// lo and hi; infinite without points of the side.
    pub fn bounds(&self, x: f64) -> (f64, f64) {
        (self.lo(x), self.hi(x))
    }

    pub fn lo(&self, x: f64) -> f64 {
        let inside = x.clamp(self.span.0, self.span.1);
        -self.beyond.negated().reach(inside, -self.bounds.lo(inside), x)
    }

    pub fn hi(&self, x: f64) -> f64 {
        let inside = x.clamp(self.span.0, self.span.1);
        self.beyond.reach(inside, self.bounds.hi(inside), x)
    }

    /// The corridor of the estimate.
    pub fn corridor(&self, x: f64) -> (f64, f64) {
        (self.corridor.lo(x), self.corridor.hi(x))
    }

    /// The times of the points that touch the corridor, in order.
    pub fn touching(&self) -> Vec<f64> {
        self.touching_of(&self.corridor)
    }

    /// The times of the points that touch the bounds, in order.
    pub fn touching_bounds(&self) -> Vec<f64> {
        self.touching_of(&self.bounds)
    }

    /// The times at which the bounds bend: at points that touch them, and between these.
    pub fn bends(&self) -> Vec<f64> {
        let mut times = self.touching_bounds();
        times.extend(self.bounds.meetings());
        times
    }

    fn touching_of(&self, cones: &Cones) -> Vec<f64> {
        let mut times = Vec::new();
        for side in BOTH {
            let touch = |t: f64| match side {
                super::Direction::AToB => cones.hi(t),
                super::Direction::BToA => -cones.lo(t),
            };
            let points = self.points.side(side).iter();
            times.extend(points.filter(|p| p.most <= touch(p.t) + ROUNDING).map(|p| p.t));
        }
        times.sort_unstable_by(f64::total_cmp);
        times.dedup();
        times
    }

    /// The line through the middle of the corridor at the points that touch it; `None` without
    /// both sides.
    ///
    /// hi bends down and lo bends up between two such points, so the line stays between them.
    pub fn estimate(&self, x: f64) -> Option<f64> {
        let next = self.line.partition_point(|corner| corner.0 <= x);
        let before = next.checked_sub(1).and_then(|last| self.line.get(last));
        let middle = self.corridor.slopes().middle();
        match (before, self.line.get(next)) {
            (Some(&(t, value)), Some(&(t_after, after))) => {
                Some(value + (after - value) * ((x - t) / (t_after - t)))
            }
            (Some(&(t, value)), None) | (None, Some(&(t, value))) => Some(value + middle * (x - t)),
            (None, None) => None,
        }
    }
}

/// c of rule AL16, within these slopes.
///
/// The distance of the lines is a concave function of the rate, so bisection finds its top, and
/// the two rates at which the lines are nearly as far apart.
fn parallel_rate(points: &Sides, slopes: Slopes) -> f64 {
    let distance = |rate: f64| {
        let [upper, lower] = BOTH.map(|side| {
            let rate = if side == super::Direction::AToB { rate } else { -rate };
            let levels = points.side(side).iter().map(|p| (p.most - rate * p.t, p.t));
            levels.fold((f64::INFINITY, 0.0), |a, b| if b.0 < a.0 { b } else { a })
        });
        // Also its slope: how much later the lowest lower point is than the lowest upper one.
        (upper.0 + lower.0, lower.1 - upper.1)
    };
    let bisect = |mut low: f64, mut high: f64, is_low: &dyn Fn(f64) -> bool| {
        for _ in 0..STEPS {
            let middle = low + (high - low) / 2.0;
            match is_low(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        low + (high - low) / 2.0
    };
    let top = bisect(slopes.least, slopes.most, &|rate| distance(rate).1 > 0.0);
    let most = distance(top).0;
    let enough = most - (most.abs() * ABOUT).max(ABOUT_NS);
    let first = bisect(slopes.least, top, &|rate| distance(rate).0 < enough);
    let last = bisect(top, slopes.most, &|rate| distance(rate).0 >= enough);
    (first + last) / 2.0
}

/// Halvings of 1,000 ppm: below the rounding of an offset after a year.
const STEPS: usize = 50;

//! The relation of a pair of clocks, of messages or measured (rule AL17).

use super::alignment::{Alignment, whole};
use super::tail::Tail;

#[derive(Debug, Clone)]
pub(super) enum Relation {
    Messages(Box<Alignment>),
    Measured(Vec<(i64, i64, u64)>),
}

#[derive(Debug, Clone)]
pub(super) struct Edge {
    pub a: usize,
    pub b: usize,
    pub relation: Relation,
}

/// Steps to find the reading of A at which B shows a time; each leaves 500 ppm of the error.
pub(super) const STEPS: usize = 5;

/// Whether the corridors of estimates or the bounds are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Corridor,
    Bounds,
}

impl Edge {
    /// The bounds of θ less `base` when A shows `at`.
    pub fn bounds(&self, at: i64, base: i128, width: Width) -> (f64, f64) {
        match &self.relation {
            Relation::Messages(alignment) => {
                let x = alignment.relative(at);
                let (lo, hi) = match width {
                    Width::Corridor => alignment.solved.course.corridor(x),
                    Width::Bounds => alignment.solved.course.bounds(x),
                };
                let more = (alignment.solved.origin.offset - base) as f64;
                (lo + more, hi + more)
            }
            Relation::Measured(readings) => {
                let Some((offset, error)) = measured(readings, at, base) else {
                    return (f64::NEG_INFINITY, f64::INFINITY);
                };
                (offset - error, offset + error)
            }
        }
    }

    /// θ about: the middle, or the bound that there is.
    fn about(&self, at: i64) -> Option<i128> {
        let base = match &self.relation {
            Relation::Messages(alignment) => alignment.solved.origin.offset,
            Relation::Measured(readings) => i128::from(readings.first()?.1),
        };
        let (lo, hi) = self.bounds(at, base, Width::Corridor);
        let bound = if lo.is_finite() { lo } else { hi };
        let middle = (lo + hi) / 2.0;
        let about = if middle.is_finite() { middle } else { bound };
        whole(base, about).map(i128::from)
    }

    /// A reading of A with a message or a measurement.
    pub fn start(&self) -> Option<i64> {
        match &self.relation {
            Relation::Messages(alignment) => {
                let span = alignment.solved.course.span()?;
                whole(alignment.solved.origin.at, span.0)
            }
            Relation::Measured(readings) => Some(readings.first()?.0),
        }
    }

    /// The reading of the other clock when `clock` shows `at`, about.
    pub fn other(&self, clock: usize, at: i64) -> Option<i64> {
        if clock == self.a {
            return i64::try_from(i128::from(at) + self.about(at)?).ok();
        }
        let mut a = at;
        if let Some(start) = self.start() {
            a = i64::try_from(i128::from(at) - self.about(start)?).ok()?;
        }
        for _ in 0..STEPS {
            a = i64::try_from(i128::from(at) - self.about(a)?).ok()?;
        }
        Some(a)
    }

    /// The share of violated messages.
    pub fn share(&self) -> f64 {
        match &self.relation {
            Relation::Messages(alignment) => {
                alignment.violated as f64 / (alignment.messages_ab + alignment.messages_ba) as f64
            }
            Relation::Measured(_) => 0.0,
        }
    }

    /// The readings of A beside steps (rule AL11).
    pub fn steps(&self) -> Vec<i64> {
        let Relation::Messages(alignment) = &self.relation else { return Vec::new() };
        let course = &alignment.solved.course;
        let steps = course.steps.iter().flat_map(|&(from, to)| [from, from + 1.0, to - 1.0, to]);
        let steps = steps.chain(course.tails.iter().flat_map(Tail::times));
        steps.filter_map(|t| whole(alignment.solved.origin.at, t)).collect()
    }

    /// The readings of A at which the bounds bend.
    pub fn bends(&self, width: Width) -> Vec<i64> {
        match &self.relation {
            Relation::Messages(alignment) => {
                let course = &alignment.solved.course;
                let touching = course.stretches.iter().flat_map(|stretch| match width {
                    Width::Corridor => stretch.touching(),
                    Width::Bounds => stretch.touching_bounds(),
                });
                let at = |t: f64| whole(alignment.solved.origin.at, t);
                touching.filter_map(at).chain(self.steps()).collect()
            }
            Relation::Measured(readings) => readings.iter().map(|reading| reading.0).collect(),
        }
    }
}

/// The offset less `base`, and its error.
fn measured(readings: &[(i64, i64, u64)], at: i64, base: i128) -> Option<(f64, f64)> {
    let number =
        |reading: &(i64, i64, u64)| ((i128::from(reading.1) - base) as f64, reading.2 as f64);
    let next = readings.partition_point(|reading| reading.0 <= at);
    let before = next.checked_sub(1).and_then(|last| readings.get(last));
    match (before, readings.get(next)) {
        (Some(before), Some(after)) => {
            let part = at.abs_diff(before.0) as f64 / after.0.abs_diff(before.0) as f64;
            let (from, to) = (number(before), number(after));
            Some((from.0 + (to.0 - from.0) * part, from.1.max(to.1)))
        }
        (Some(reading), None) | (None, Some(reading)) => Some(number(reading)),
        (None, None) => None,
    }
}

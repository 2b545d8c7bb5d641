//! Clocks that drift by more than is possible by the limit (rule AL14).
//!
//! # Design
//!
//! Such clocks look as if one of them was set again and again, each time in the same direction, and the bounds of each
//! stretch are too narrow. The same is true of a clock that sleeps again and again, so the steps prove nothing. But the
//! messages of a clock that drifts fit together, with fewer steps or none, around their own rate, and those of a clock
//! that sleeps do not.

use super::bins::Medians;
use super::cones::{Sides, Slopes};
use super::course::{Course, LeftOut};
use super::steps::{CUT, parts};

/// Points of a side from which its rate is estimated.
const LEAST_POINTS: usize = 8;

/// The rate that explains the points better than their solution within `drift` does, if it is beyond `drift`.
pub(super) fn beyond(
    points: Sides,
    drift: Slopes,
    (course, left_out): (&Course, &LeftOut),
) -> Option<f64> {
    let (count, violated) = (points.len(), left_out.violated.len());
    let has_enough = |side: &[_]| side.len() >= LEAST_POINTS;
    if course.steps.is_empty() && 4 * violated <= count
        || !has_enough(&points.upper)
        || !has_enough(&points.lower)
    {
        return None;
    }
    let rates = (Medians::of(&points.upper).rate(), Medians::of(&points.lower).rate());
    let (Some(upper), Some(minus_lower)) = rates else { return None };
    let rate = (upper - minus_lower) / 2.0;
    if (drift.least..=drift.most).contains(&rate) {
        return None;
    }
    let around = parts(points, Slopes::around(rate, (drift.most - drift.least) / 2.0));
    let out: usize = around.iter().map(|part| part.violated.len()).sum();
    let is_better =
        out + CUT * around.len().saturating_sub(1) < violated + CUT * course.steps.len();
    (4 * out <= count && is_better).then_some(rate)
}

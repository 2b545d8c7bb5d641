//! Where one of the clocks was set or slept: the stretches between steps (rule AL11).
//!
//! # Design
//!
//! A step makes the messages on its two sides contradict each other, so most contradicting pairs
//! stand astride it. Cutting there again and again takes as long as one comparison of all pairs, 12
//! times. The alternative, the cheapest segmentation of all, compares the pairs of each possible
//! stretch, and finds the same steps.

use super::cones::{Point, Sides, Slopes};
use super::violated::{conflict, without_conflicts};

/// One more step must explain more violated messages than this.
pub(super) const CUT: usize = 5;
/// The largest number of cuts inside one another.
const DEPTH: u32 = 12;
/// The points of each part of a cut.
const LEAST_POINTS: usize = 3;

/// The points between two steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub agreeing: Sides,
    pub violated: Sides,
    /// It lies before this time, and after that of the part before it: ∞ for the last part.
    pub until: f64,
}

/// Rules AL10 and AL11: the parts in the order of time.
pub(super) fn parts(points: Sides, slopes: Slopes) -> Vec<Part> {
    cut(points, slopes, f64::INFINITY, DEPTH)
}

fn cut(points: Sides, slopes: Slopes, until: f64, depth: u32) -> Vec<Part> {
    let (agreeing, violated) = without_conflicts(points, slopes);
    let whole = Part { agreeing, violated, until };
    if whole.violated.len() <= CUT || depth == 0 {
        return vec![whole];
    }
    let mut all = whole.agreeing.clone();
    all.extend(whole.violated.clone());
    let Some(at) = most_astride(&all, slopes) else {
        return vec![whole];
    };
    let (before, after) = all.divided(|_, point| point.t < at);
    if before.len() < LEAST_POINTS || after.len() < LEAST_POINTS {
        return vec![whole];
    }
    let mut parts = cut(before, slopes, at, depth - 1);
    parts.extend(cut(after, slopes, until, depth - 1));
    let violated: usize = parts.iter().map(|part| part.violated.len()).sum();
    let is_better = violated + CUT * (parts.len() - 1) < whole.violated.len();
    if is_better { parts } else { vec![whole] }
}

/// The time halfway between two points with the most conflicting pairs astride; the first such.
fn most_astride(points: &Sides, slopes: Slopes) -> Option<f64> {
    let times = points.times();
    let place = |point: &Point| times.partition_point(|&t| t < point.t);
    let lower: Vec<(&Point, usize)> = points.lower.iter().map(|p| (p, place(p))).collect();
    // The pairs that begin to stand astride after a place, less those that end there.
    let mut changes = vec![0i64; times.len() + 1];
    for upper in &points.upper {
        let from = place(upper);
        for &(lower, to) in &lower {
            if conflict(upper, lower, slopes) {
                for (place, change) in [(from.min(to), 1), (from.max(to), -1)] {
                    if let Some(sum) = changes.get_mut(place) {
                        *sum += change;
                    }
                }
            }
        }
    }
    let (mut astride, mut most, mut at) = (0, 0, None);
    for (pair, change) in times.windows(2).zip(&changes) {
        astride += change;
        if let &[before, after] = pair
            && before < after
            && astride > most
        {
            (most, at) = (astride, Some(before + (after - before) / 2.0));
        }
    }
    at
}

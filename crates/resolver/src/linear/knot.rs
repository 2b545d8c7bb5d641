//! Readings of a hop, and the distances between them.

use super::exact::real;

/// The number in place of a snapshot's, for readings of samples.
const NO_SNAPSHOT: u32 = u32::MAX;

/// The kind of a gap between two used readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    Line,
    /// The target was set, or slept.
    Step,
    /// A step that may be a change of the rate (rule R4).
    Slide,
}

/// A reading on the line, and the gap after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knot {
    pub a: i64,
    pub b: i64,
    pub snapshot: u32,
    /// Its error, err(i) of rule R5.
    pub error: f32,
    /// w of the gap after it (rule R5).
    pub wander: f32,
    /// The kind of the gap after it.
    pub gap: Gap,
    /// Whether it was left out, and only shows on which side of a step it was (rule R4).
    pub is_corner: bool,
}

/// The distance between two numbers.
pub(super) fn distance(from: i64, to: i64) -> f64 {
    real(i128::from(to) - i128::from(from))
}

/// The movement of b against κ·a between two readings. κ is 1 for nearly all clocks; then the
/// readings are compared as integers.
pub(super) fn moved(from: Knot, to: Knot, kappa: f64) -> f64 {
    let forward = i128::from(to.a) - i128::from(from.a);
    let other = i128::from(to.b) - i128::from(from.b);
    real(other - forward) - real(forward) * (kappa - 1.0)
}

/// The gaps between readings.
pub(super) fn gaps(knots: &[Knot]) -> impl Iterator<Item = (Knot, Knot)> {
    knots.iter().copied().zip(knots.iter().skip(1).copied())
}

/// b per a between two readings with different a.
pub(super) fn rate(from: Knot, to: Knot) -> f64 {
    1.0 + moved(from, to, 1.0) / distance(from.a, to.a)
}

/// The distance of a reading from the straight line through two others.
pub(super) fn off_line(first: Knot, second: Knot, at: Knot) -> f64 {
    let slope = moved(first, second, 1.0) / distance(first.a, second.a);
    (moved(first, at, 1.0) - distance(first.a, at.a) * slope).abs()
}

/// The two numbers in the middle, which are equal for an odd count; `None` without numbers. Changes
/// their order.
pub(super) fn middles(numbers: &mut [f64]) -> Option<[f64; 2]> {
    if numbers.is_empty() {
        return None;
    }
    let middle = numbers.len() / 2;
    let is_odd = numbers.len() % 2 == 1;
    let (before, &mut upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = before.iter().copied().max_by(f64::total_cmp);
    Some([lower.filter(|_| !is_odd).unwrap_or(upper), upper])
}

pub(super) fn median(numbers: &mut [f64]) -> Option<f64> {
    let [lower, upper] = middles(numbers)?;
    Some(lower + (upper - lower) / 2.0)
}

impl Knot {
    /// A snapshot's reading of both clocks of a hop, in nanoseconds.
    pub fn read(a: i64, b: i64, snapshot: u32) -> Knot {
        Knot { a, b, snapshot, error: 0.0, wander: 0.0, gap: Gap::Line, is_corner: false }
    }

    /// A sample, with the possible error of b.
    pub fn sampled(a: i64, b: i64, error: f32) -> Knot {
        Knot { error, ..Knot::read(a, b, NO_SNAPSHOT) }
    }

    /// Its snapshot; none for a sample.
    pub fn snapshot(&self) -> Option<crate::SnapshotId> {
        let is_read = self.snapshot != NO_SNAPSHOT;
        is_read.then_some(crate::SnapshotId(self.snapshot))
    }
}

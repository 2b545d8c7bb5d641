//! Readings of a hop, and how far they are from each other.

/// What the readings of samples have for the number of their snapshot.
const NO_SNAPSHOT: u32 = u32::MAX;

/// What is between two readings that are used.
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
    /// err(i) of rule R5.
    pub error: f32,
    /// w of rule R5 in the gap after it.
    pub wobble: f32,
    /// What the gap after it is.
    pub gap: Gap,
    /// Whether it was left out, and only tells which side of a step it was read on (rule R4).
    pub is_corner: bool,
}

/// How far one number is from another.
pub(super) fn distance(from: i64, to: i64) -> f64 {
    (i128::from(to) - i128::from(from)) as f64
}

/// How far b moves against κ·a between two readings. κ is 1 for nearly all clocks, whose
/// readings are then compared as the integers that they are.
pub(super) fn moved(from: Knot, to: Knot, kappa: f64) -> f64 {
    let forward = i128::from(to.a) - i128::from(from.a);
    let other = i128::from(to.b) - i128::from(from.b);
    (other - forward) as f64 - forward as f64 * (kappa - 1.0)
}

/// b per a between two readings of different a.
pub(super) fn rate(from: Knot, to: Knot) -> f64 {
    1.0 + moved(from, to, 1.0) / distance(from.a, to.a)
}

/// How far a reading is off the straight line through two others.
pub(super) fn off_line(first: Knot, second: Knot, at: Knot) -> f64 {
    let slope = moved(first, second, 1.0) / distance(first.a, second.a);
    (moved(first, at, 1.0) - distance(first.a, at.a) * slope).abs()
}

/// The two numbers in the middle, which of an odd number are one; `None` of no numbers.
/// Changes their order.
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
        Knot {
            a,
            b,
            snapshot,
            error: 0.0,
            wobble: 0.0,
            gap: Gap::Line,
            is_corner: false,
        }
    }

    /// A sample, with how far b may be off.
    pub fn sampled(a: i64, b: i64, error: f32) -> Knot {
        Knot {
            error,
            ..Knot::read(a, b, NO_SNAPSHOT)
        }
    }

    /// The snapshot that it is of; none of a sample.
    pub fn snapshot(&self) -> Option<crate::SnapshotId> {
        let is_read = self.snapshot != NO_SNAPSHOT;
        is_read.then_some(crate::SnapshotId(self.snapshot))
    }
}

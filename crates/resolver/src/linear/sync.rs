//! Samples of machines that asked each other for the time, and which of them are used (rule R9).
//!
//! # Design
//!
//! A sample bounds the offset of two clocks: a message was sent and answered in between, so half of
//! its round trip is a bound, not a guess. Slow rounds bound little, and two samples of one round
//! show no rate. So samples are removed until the remaining ones are narrow for their place, and
//! far enough from each other that a line between two of them runs like a clock. Their middles are
//! the corners of the estimate.
//!
//! One alternative was the shortest line through all bounds. It touches the bounds of slow rounds,
//! where its error is as large as possible. Another was a smoother, which weighs all samples by
//! their bounds; its errors are likely, not certain.

use std::collections::BTreeMap;

use super::choice::TICK;
use super::clocks::LEAST_NOISE;
use super::fit::{LEAST_WANDER, OSCILLATOR};
use super::knot::Knot;

/// A sample of rule X24: when the host's clock read `host_value`, the client's clock read
/// `host_value + offset`, plus or minus `half_round_trip`. All are nanoseconds.
///
/// ```
/// use timebase_resolver::Sample;
///
/// // The client read 50 s, the host 2 s, then the client 50.000003 s.
/// let sample = Sample {
///     host_value: 2_000_000_000,
///     offset: 48_000_001_500,
///     half_round_trip: 1_500,
/// };
/// assert_eq!(sample.client_value(), Some(50_000_001_500));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sample {
    /// The reading of the host's clock.
    pub host_value: i64,
    /// The client's clock read this much more,
    pub offset: i64,
    /// plus or minus this. A value below 0 is an error of the recorder.
    pub half_round_trip: i64,
}

impl Sample {
    /// The reading of the client's clock; `None` if it does not fit 64 bits.
    pub fn client_value(&self) -> Option<i64> {
        self.host_value.checked_add(self.offset)
    }
}

/// A usable sample.
#[derive(Debug, Clone, Copy)]
struct Point {
    host: i64,
    offset: i64,
    /// The possible error of the offset, in ns.
    bound: i64,
    /// The index of the sample.
    index: usize,
}

fn difference(from: i64, to: i64) -> f64 {
    (i128::from(to) - i128::from(from)) as f64
}

impl Point {
    fn new(index: usize, sample: &Sample, is_coarse: bool) -> Option<Point> {
        sample.client_value()?;
        let least = if is_coarse { TICK } else { LEAST_NOISE };
        (sample.half_round_trip >= 0).then(|| Point {
            host: sample.host_value,
            offset: sample.offset,
            bound: sample.half_round_trip.max(least as i64),
            index,
        })
    }

    fn distance(&self, other: &Point) -> f64 {
        difference(self.host, other.host).abs()
    }

    /// The largest difference of the two offsets that needs no explanation.
    fn slack(&self, other: &Point) -> f64 {
        self.bound as f64 + other.bound as f64
    }

    /// Whether it is more than any oscillator drifts.
    fn is_step_to(&self, other: &Point) -> bool {
        let most = OSCILLATOR * self.distance(other) + self.slack(other);
        difference(self.offset, other.offset).abs() > most
    }

    /// Whether the two show no rate, and differ by no more than their errors.
    fn is_too_near(&self, other: &Point) -> bool {
        let is_near = self.slack(other) > OSCILLATOR * self.distance(other);
        self.host == other.host || is_near && !self.is_step_to(other)
    }

    /// The growth of the offset up to a later sample, and its possible error; `None` for a step.
    fn rate_to(&self, later: &Point) -> Option<(f64, f64)> {
        let span = self.distance(later);
        let rate = difference(self.offset, later.offset) / span;
        (!self.is_step_to(later)).then_some((rate, self.slack(later) / span))
    }
}

/// The usable samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Samples that show rates with each other.
    Apart,
    /// Of these, the samples that say more than narrower ones.
    Telling,
}

/// The indices of the used samples.
pub(super) fn used(samples: &[Sample], is_coarse: bool) -> Vec<bool> {
    let mut used = vec![false; samples.len()];
    for point in chosen(samples, is_coarse, Choice::Telling).values() {
        if let Some(used) = used.get_mut(point.index) {
            *used = true;
        }
    }
    used
}

/// The corners of a hop, from used samples. `from_client` says that it leads to the host.
pub(super) fn knots(samples: &[Sample], from_client: bool, is_coarse: bool) -> Vec<Knot> {
    let points = chosen(samples, is_coarse, Choice::Apart);
    let knots = points.values().filter_map(|point| {
        let client = point.host.checked_add(point.offset)?;
        let (a, b) = match from_client {
            true => (client, point.host),
            false => (point.host, client),
        };
        Some(Knot::sampled(a, b, point.bound as f32))
    });
    knots.collect()
}

/// Chooses samples, the narrowest first. They are in the order of their host time.
fn chosen(samples: &[Sample], is_coarse: bool, choice: Choice) -> BTreeMap<i64, Point> {
    let points = samples.iter().enumerate();
    let points = points.filter_map(|(index, sample)| Point::new(index, sample, is_coarse));
    let mut points: Vec<Point> = points.collect();
    points.sort_unstable_by_key(|point| (point.bound, point.host, point.offset, point.index));
    let mut chosen = BTreeMap::new();
    for point in points {
        let around = Around::new(&chosen, &point);
        let is_out =
            around.has_near(&point) || choice == Choice::Telling && around.says_more_than(&point);
        if !is_out {
            chosen.insert(point.host, point);
        }
    }
    chosen
}

/// The samples on both sides of a sample, the nearest first.
struct Around {
    before: [Option<Point>; 2],
    after: [Option<Point>; 2],
}

impl Around {
    fn new(chosen: &BTreeMap<i64, Point>, point: &Point) -> Around {
        let mut before = chosen.range(..=point.host).rev().map(|(_, point)| *point);
        let mut after = chosen.range(point.host..).map(|(_, point)| *point);
        Around { before: [before.next(), before.next()], after: [after.next(), after.next()] }
    }

    fn has_near(&self, point: &Point) -> bool {
        let beside = [self.before[0], self.after[0]];
        beside.iter().flatten().any(|other| point.is_too_near(other))
    }

    /// Whether the samples on both sides, or else the next two, have an error of at most half of
    /// the bound at the point, and the point does not contradict them.
    fn says_more_than(&self, point: &Point) -> bool {
        let line = match (self.before, self.after) {
            ([Some(first), earlier], [Some(second), later]) => {
                let beside = [
                    earlier.and_then(|earlier| earlier.rate_to(&first)),
                    later.and_then(|later| second.rate_to(&later)),
                ];
                Promise::new(first, second, beside)
            }
            ([Some(second), Some(first)], _) | (_, [Some(first), Some(second)]) => {
                Promise::new(first, second, [None, None])
            }
            _ => None,
        };
        line.is_some_and(|line| line.says_more_than(point))
    }
}

/// The error of the line through two samples.
struct Promise {
    first: Point,
    second: Point,
    rate: f64,
    unsure: f64,
    /// The possible change of the rate.
    wander: f64,
}

impl Promise {
    /// `beside` is the growth in the gaps before and after. `None` across a step.
    fn new(first: Point, second: Point, beside: [Option<(f64, f64)>; 2]) -> Option<Promise> {
        let (rate, unsure) = first.rate_to(&second)?;
        // The part of the change of the rate that the samples do not explain.
        let changes = beside.into_iter().flatten();
        let changes = changes.map(|(other, also)| (rate - other).abs() - unsure - also);
        Some(Promise { first, second, rate, unsure, wander: changes.fold(LEAST_WANDER, f64::max) })
    }

    fn says_more_than(&self, point: &Point) -> bool {
        let (first, second) = (&self.first, &self.second);
        let is_between = (first.host..=second.host).contains(&point.host);
        let near = first.distance(point).min(second.distance(point));
        let grows = match is_between {
            true => self.wander,
            false => self.wander + self.unsure,
        };
        let error = first.bound.max(second.bound) as f64 + grows * near;
        let since = difference(first.host, point.host);
        let off = difference(first.offset, point.offset) - self.rate * since;
        let bound = point.bound as f64;
        2.0 * error <= bound && off.abs() <= bound + error
    }
}

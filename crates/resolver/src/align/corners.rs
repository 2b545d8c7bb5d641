//! The corners of a relation that are kept (rule AL17).
//!
//! # Design
//!
//! A line bends at each point that touches a corridor, and a corner of a relation is a snapshot of the
//! clock graph. 20 ranks with 200 collectives have 47,000 of them, of which 600 tell the same. First
//! corners are left out beside which a straight line passes (*line*). All pairs of a clock say how far
//! from it: two clocks that know each other well may both be known badly by a third one. Then other
//! points of the line come back, so that the interval between two of them is hardly longer than those
//! of the corners left out (*bounded*), each side by itself.
//!
//! The alternative was one distance in ns for all. It would have to be that of the tightest pair, where
//! the delays of messages differ a thousandfold. Corners with other values than the estimate's own would
//! be fewer still, but an offset in the tables would be none of rule AL16.

use super::alignment::{AlignmentKnot, Interval};
use super::cones::ROUNDING;

/// The part of the distance to the nearest bound by which a line may pass beside a corner.
const BESIDE: f64 = 0.01;
/// The part of its error by which an interval may be longer.
const LONGER: f64 = 0.05;

/// A corner of how far a clock is ahead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub time: f64,
    pub ahead: f64,
    /// The distance to the nearest bound.
    pub room: f64,
    /// Whether it is kept in any case.
    pub is_kept: bool,
    /// Whether it is in a step, so that it may be anywhere between the corners beside the step.
    pub is_in_step: bool,
}

impl Corner {
    /// The reading of the clock, less its base.
    fn shown(&self) -> f64 {
        self.time + self.ahead
    }
}

/// Moves corners in steps so that the clock never goes back: one that stands still for a while shows the middle of
/// before and after otherwise, and so falls twice. Returns whether it could: a clock may be set back.
pub(super) fn never_back(corners: &mut [Corner]) -> bool {
    let mut next = f64::INFINITY;
    let limits = corners.iter().rev().map(|corner| {
        let limit = next;
        if !corner.is_in_step {
            next = next.min(corner.shown());
        }
        limit
    });
    let limits: Vec<f64> = limits.collect();
    let (mut last, mut goes_on) = (f64::NEG_INFINITY, true);
    for (corner, limit) in corners.iter_mut().zip(limits.into_iter().rev()) {
        let shown = corner.shown();
        let moved = if corner.is_in_step { shown.min(limit).max(last) } else { shown };
        goes_on &= last <= moved + ROUNDING;
        if moved != shown {
            (corner.ahead, corner.is_kept) = (moved - corner.time, true);
        }
        last = last.max(moved);
    }
    goes_on
}

/// Some of these corners, which are in the order of time: the first, the last, and those between
/// which lines pass beside none of the others by more than a part of its room.
pub(super) fn line(corners: &[Corner]) -> Vec<(f64, f64)> {
    let mut rest = corners;
    let mut kept = Vec::new();
    while let Some((from, after)) = rest.split_first() {
        kept.push((from.time, from.ahead));
        let Some(next) = next(from, after) else { break };
        rest = after.get(next..).unwrap_or_default();
    }
    kept
}

/// The last corner to which a line leads from `from` beside all before it; `None` without a later one.
fn next(from: &Corner, after: &[Corner]) -> Option<usize> {
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut last = None;
    for (place, corner) in after.iter().enumerate() {
        let gone = corner.time - from.time;
        if gone <= 0.0 {
            continue;
        }
        let rate = |ahead: f64| (ahead - from.ahead) / gone;
        if last.is_none() || (least..=most).contains(&rate(corner.ahead)) {
            last = Some(place);
        }
        let beside = (corner.room * BESIDE).max(ROUNDING);
        least = least.max(rate(corner.ahead - beside));
        most = most.min(rate(corner.ahead + beside));
        if least > most || corner.is_kept {
            break;
        }
    }
    last
}

/// A point of a line, and whether the line may bend there.
pub(super) type OnLine = (AlignmentKnot, bool);

/// The corners of a line, and the points between them without which an interval would be longer by
/// more than a part. An interval contains those of the points that are left out beside it. `wander`
/// is how much of the time to the nearest corner an interval grows.
pub(super) fn bounded(points: &[OnLine], wander: f64) -> Vec<AlignmentKnot> {
    let mut rest = points;
    let mut kept = Vec::new();
    let mut before = None;
    while let Some((&(knot, _), after)) = rest.split_first() {
        let (next, behind) = Span::from(&knot, after, wander);
        let spans = [before, behind].into_iter().flatten();
        kept.push(spans.fold(knot, |knot, span: Span| span.contained(knot)));
        before = behind;
        rest = after.get(next..).unwrap_or_default();
    }
    kept
}

/// The intervals of neighbors on a line, as distances from it in ns.
#[derive(Debug, Clone, Copy)]
struct Span {
    since: i64,
    /// The greatest distance of a bound, down and up.
    most: [i64; 2],
    /// The least of what the distances may become.
    allowed: [f64; 2],
    least_error: f64,
}

impl Span {
    fn of(knot: &AlignmentKnot) -> Option<Span> {
        let (offset, Interval { earliest, latest }) = (knot.offset?, knot.interval);
        let most = [offset.checked_sub(earliest?)?, latest?.checked_sub(offset)?];
        let error = knot.error()? as f64;
        let allowed = most.map(|most| most as f64 + error * LONGER);
        Some(Span { since: knot.value, most, allowed, least_error: error })
    }

    /// The longest span from a point to a later one, and the later one's place. Without a span, nothing is left out
    /// between them.
    fn from(knot: &AlignmentKnot, after: &[OnLine], wander: f64) -> (usize, Option<Span>) {
        let Some(mut span) = Span::of(knot) else { return (0, None) };
        let mut last = 0;
        for (place, (point, is_bend)) in after.iter().enumerate() {
            let longer = Span::of(point).map(|point| span.and(&point));
            let Some(longer) = longer.filter(|span| span.is_allowed(point.value, wander)) else {
                break;
            };
            (span, last) = (longer, place);
            if *is_bend {
                break;
            }
        }
        (last, (last > 0).then_some(span))
    }

    fn and(&self, other: &Span) -> Span {
        let ([down, up], [other_down, other_up]) = (self.most, other.most);
        let ([may_down, may_up], [other_may_down, other_may_up]) = (self.allowed, other.allowed);
        Span {
            since: self.since,
            most: [down.max(other_down), up.max(other_up)],
            allowed: [may_down.min(other_may_down), may_up.min(other_may_up)],
            least_error: self.least_error.min(other.least_error),
        }
    }

    fn is_allowed(&self, until: i64, wander: f64) -> bool {
        let grown = wander * until.abs_diff(self.since) as f64 / 2.0;
        let most = self.most.into_iter().zip(self.allowed);
        grown <= self.least_error * LONGER && most.into_iter().all(|(m, may)| m as f64 <= may)
    }

    /// A corner whose interval is as long as the span's, and a nanosecond longer for rounded offsets.
    fn contained(&self, knot: AlignmentKnot) -> AlignmentKnot {
        let Some(offset) = knot.offset else { return knot };
        let [down, up] = self.most.map(|most| most.saturating_add(1));
        let interval = Interval {
            earliest: knot.interval.earliest.map(|at| at.min(offset.saturating_sub(down))),
            latest: knot.interval.latest.map(|at| at.max(offset.saturating_add(up))),
        };
        AlignmentKnot { interval, ..knot }
    }
}

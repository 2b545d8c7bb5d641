//! Steps so near an end that no cut pays (rule AL11).
//!
//! # Design
//!
//! After such a step the messages of one side are violated, up to the last one, and those of the other side only look
//! slow. So do wrong pairs look that are the last by chance, so the estimate stays. But the interval gets as long as if
//! the clock had been set. Lesser costs for a cut near an end were the alternative: one wrong pair there would move all
//! events behind it.

use std::collections::BTreeMap;

use super::cones::{BOTH, Point, Slopes};
use super::course::{Course, LeftOut};
use super::message::{Direction, of};
use super::tail::{ENDS, End, Tail};
use super::violated::conflict;

/// The messages of a side that are remembered at each end, of many.
const KEPT: usize = 64;
/// As many violated messages in a row are no chance if less probable.
const CHANCE: f64 = 0.01;

/// The first and the last of some messages of a side, and the place in the order of each end from which on they are kept.
#[derive(Debug, Clone, Default)]
struct Outermost([Vec<Point>; 2], [Option<f64>; 2]);

impl Outermost {
    fn add(&mut self, point: Point) {
        let Outermost(kept, innermost) = self;
        for ((end, kept), innermost) in ENDS.into_iter().zip(kept).zip(innermost) {
            if innermost.is_some_and(|innermost| end.order(point.t) < innermost) {
                continue;
            }
            kept.push(point);
            if kept.len() >= 2 * KEPT {
                kept.sort_by(|a, b| end.order(b.t).total_cmp(&end.order(a.t)));
                kept.truncate(KEPT);
                *innermost = kept.last().map(|point| end.order(point.t));
            }
        }
    }
}

/// What was seen of messages that are not all kept (rule AL13).
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    accepted: [Outermost; 2],
    excluded: [Outermost; 2],
    /// The violated ones that are not among the points, from A and from B.
    pub violated: [u64; 2],
}

impl Seen {
    pub fn add(&mut self, side: Direction, point: Point, is_excluded: bool) {
        let seen = if is_excluded { &mut self.excluded } else { &mut self.accepted };
        of(seen, side).add(point);
    }
}

/// What is known of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'k> {
    pub course: &'k Course,
    pub left_out: &'k LeftOut,
    pub seen: &'k Seen,
    /// The messages from A and from B.
    pub messages: [u64; 2],
    pub drift: Slopes,
}

impl Known<'_> {
    pub fn tails(self) -> Vec<Tail> {
        let tails = BOTH
            .into_iter()
            .zip(0..)
            .flat_map(|side| ENDS.into_iter().zip(0..).map(move |end| self.tail(side, end)));
        tails.flatten().collect()
    }

    fn tail(self, (side, place): (Direction, usize), (end, of_end): (End, usize)) -> Option<Tail> {
        let Known { course, left_out, seen, .. } = self;
        let (stretch, step) = match end {
            End::First => (course.stretches.first()?, course.steps.first().map(|step| step.0)),
            End::Last => (course.stretches.last()?, course.steps.last().map(|step| step.1)),
        };
        let remembered =
            |of: &[Outermost; 2]| of.get(place).and_then(|of| of.0.get(of_end)).cloned();
        let violated = left_out.violated.side(side).iter().copied();
        let violated = violated.chain(remembered(&seen.excluded).unwrap_or_default());
        let violated: BTreeMap<u64, Point> = violated.map(|p| (p.index, p)).collect();
        let suspects = |of: Direction| left_out.suspects.side(of).iter();
        let kept = remembered(&seen.accepted).unwrap_or_default();
        let kept = kept.iter().filter(|p| !violated.contains_key(&p.index));
        let accepted = course.points(side).chain(suspects(side)).chain(kept);
        let last = accepted.map(|p| end.order(p.t)).max_by(f64::total_cmp)?;
        let last = step.map_or(last, |step| last.max(end.order(step)));
        let mut tail: Vec<Point> =
            violated.into_values().filter(|p| end.order(p.t) > last).collect();
        let other = if side == Direction::AToB { Direction::BToA } else { Direction::AToB };
        let is_against = |point: &&Point| {
            tail.iter().any(|p| match side {
                Direction::AToB => conflict(p, point, self.drift),
                Direction::BToA => conflict(point, p, self.drift),
            })
        };
        let against = course.points(other).chain(suspects(other)).filter(is_against);
        let from = against.map(|p| p.t).max_by(|a, b| end.order(*a).total_cmp(&end.order(*b)))?;
        tail.retain(|p| end.order(p.t) > end.order(from));
        let violated = left_out.violated.len() as u64 + seen.violated.iter().sum::<u64>();
        let (all, count) = (self.messages.iter().sum::<u64>(), tail.len() as u64);
        let others = all.saturating_sub(count).max(1);
        let share = violated.saturating_sub(count) as f64 / others as f64;
        if count == 0 || share.powf(count as f64) >= CHANCE {
            return None;
        }
        let farthest = |points: &[Point], sign: f64| {
            let rooms = points.iter().map(|p| sign * course.room(side, p));
            rooms.max_by(f64::total_cmp)
        };
        let by = farthest(&tail, -1.0)?.max(0.0) + farthest(stretch.points.side(side), 1.0)?;
        let (down, up) = if side == Direction::AToB { (by, 0.0) } else { (0.0, by) };
        Some(Tail { from, end, down, up })
    }
}

//! The messages that are kept of many (rule AL13).
//!
//! # Design
//!
//! One reading counts the messages and keeps them if they are few. Of more, a second reading keeps a
//! sample, which shows the violated ones and the rate, and a third one keeps the tightest of the
//! others: only these touch a bound. Convex hulls of all messages would be exact, but a hull that
//! wrong messages have entered does not lose them again.

use super::bins::median;
use super::cones::{BOTH, Origin, Point, ROUNDING, Sides, Slopes};
use super::course::{Before, Course, LeftOut, solve};
use super::drift;
use super::message::{Arrival, Direction, Limit, Messages, PairClocks, of};
use super::tails::{self, Seen};

/// How much is kept. Tests use less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// The messages of a side that are all kept.
    pub side: usize,
    /// The messages of a side in a sample.
    pub sample: u64,
    /// The equal parts of the time,
    pub parts: usize,
    /// and the tightest messages of a side that are kept in each.
    pub tightest: usize,
    /// More violated messages just beyond the bounds mean that the tightest are wrong ones.
    pub beyond: usize,
}

/// Rule AL13.
pub(super) const LIMITS: Limits =
    Limits { side: 2048, sample: 1024, parts: 512, tightest: 4, beyond: 256 };

/// The solution of a pair for one kind of arrival.
#[derive(Debug, Clone, Default)]
pub(super) struct Solved {
    pub origin: Origin,
    pub course: Course,
    pub left_out: LeftOut,
    /// The messages near the ends, if there were too many to keep.
    pub seen: Seen,
    /// What excludes the other messages, if there were too many to keep.
    pub excluding: Option<Course>,
    /// The messages from A and from B.
    pub messages: [u64; 2],
    pub violated: u64,
    /// The rate of the clocks, if it is beyond the largest drift (rule AL14).
    pub too_fast: Option<f64>,
    /// Whether a message has an end (rule AL6).
    pub has_ends: bool,
    /// The first and the last reading of A.
    pub span: Option<(i128, i128)>,
}

/// What to read of a pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub clocks: PairClocks,
    pub arrival: Arrival,
    pub limits: Limits,
}

fn place(direction: Direction) -> usize {
    match direction {
        Direction::AToB => 0,
        Direction::BToA => 1,
    }
}

impl Plan {
    fn drift(self) -> Slopes {
        Slopes::around(0.0, self.clocks.max_drift())
    }

    /// Reads and solves.
    pub fn solve<M: Messages + ?Sized>(self, messages: &M) -> Result<Solved, M::Error> {
        let mut solved = Solved::default();
        let mut kept: [Vec<(Limit, u64)>; 2] = [Vec::new(), Vec::new()];
        messages.each(&mut |message| {
            let limit = self.clocks.limit(&message, self.arrival);
            let index = solved.messages.iter().sum();
            *of(&mut solved.messages, limit.direction) += 1;
            solved.has_ends |= message.ended.is_some();
            let (first, last) = solved.span.unwrap_or((limit.at, limit.at));
            solved.span = Some((first.min(limit.at), last.max(limit.at)));
            let kept = of(&mut kept, limit.direction);
            if kept.len() <= self.limits.side {
                kept.push((limit, index));
            }
        })?;
        let is_all = kept.iter().all(|kept| kept.len() <= self.limits.side);
        if !is_all {
            kept = self.sample(messages, solved.messages)?;
        }
        solved.origin = origin(&kept);
        let mut points = Sides::default();
        for (limit, index) in kept.into_iter().flatten() {
            points.side_mut(limit.direction).push(solved.origin.point(limit, index));
        }
        points.sort();
        (solved.course, solved.left_out) = solve(points.clone(), self.drift(), &Before::default());
        solved.too_fast = drift::beyond(points, self.drift(), (&solved.course, &solved.left_out));
        match is_all {
            true => solved.violated = solved.left_out.violated.len() as u64,
            false => self.refine(messages, &mut solved)?,
        }
        let (course, left_out) = (&solved.course, &solved.left_out);
        let (seen, messages) = (&solved.seen, solved.messages);
        solved.course.tails =
            tails::Known { course, left_out, seen, messages, drift: self.drift() }.tails();
        Ok(solved)
    }

    /// The distance of the messages of a side in a sample.
    fn stride(self, count: u64) -> u64 {
        count.div_ceil(self.limits.sample.max(1)).max(1)
    }

    fn sample<M: Messages + ?Sized>(
        self,
        messages: &M,
        counts: [u64; 2],
    ) -> Result<[Vec<(Limit, u64)>; 2], M::Error> {
        let mut kept = [Vec::new(), Vec::new()];
        let mut seen = [0u64; 2];
        let strides = counts.map(|count| self.stride(count));
        let mut index = 0;
        messages.each(&mut |message| {
            let limit = self.clocks.limit(&message, self.arrival);
            let side = limit.direction;
            let seen = of(&mut seen, side);
            if seen.is_multiple_of(strides.get(place(side)).copied().unwrap_or(1)) {
                of(&mut kept, side).push((limit, index));
            }
            *seen += 1;
            index += 1;
        })?;
        Ok(kept)
    }

    /// Counts what the sample excludes, and solves again with the tightest of the others.
    fn refine<M: Messages + ?Sized>(
        self,
        messages: &M,
        solved: &mut Solved,
    ) -> Result<(), M::Error> {
        let excluding = solved.course.with_drift(self.drift());
        let usual = BOTH.map(|side| {
            let rooms = excluding.points(side).map(|point| excluding.room(side, point));
            median(&mut rooms.collect::<Vec<_>>())
        });
        let mut tightest = Tightest::new(&solved.course, self.limits);
        let mut before = Before::default();
        let (mut excluded, mut excluded_not_sample, mut index) = ([0; 2], [0; 2], 0);
        let mut seen = [0u64; 2];
        let mut beyond = [0; 2];
        let strides = solved.messages.map(|count| self.stride(count));
        messages.each(&mut |message| {
            let limit = self.clocks.limit(&message, self.arrival);
            let (side, point) = (limit.direction, solved.origin.point(limit, index));
            let seen = of(&mut seen, side);
            let is_sample = seen.is_multiple_of(strides.get(place(side)).copied().unwrap_or(1));
            *seen += 1;
            index += 1;
            let room = excluding.room(side, &point);
            solved.seen.add(side, point, room < -ROUNDING);
            if room >= -ROUNDING {
                tightest.add(side, point);
                return;
            }
            *of(&mut excluded, side) += 1;
            *of(&mut excluded_not_sample, side) += u64::from(!is_sample);
            if -room < usual.get(place(side)).copied().unwrap_or_default() {
                *of(&mut beyond, side) += 1;
                let times = of(&mut before.beyond, side);
                if times.len() < self.limits.beyond {
                    times.push(point.t);
                }
            }
        })?;
        if beyond.iter().any(|&beyond| beyond > self.limits.beyond) {
            solved.seen.violated = excluded_not_sample;
        } else {
            solved.seen.violated = excluded;
            before.is_any_violated = excluded != [0; 2];
            let points = tightest.points();
            (solved.course, solved.left_out) = solve(points, self.drift(), &before);
        }
        let others: u64 = solved.seen.violated.iter().sum();
        solved.violated = others + solved.left_out.violated.len() as u64;
        solved.excluding = Some(excluding);
        Ok(())
    }
}

/// The median time and offset, so that a wrong message far away costs no precision.
fn origin(kept: &[Vec<(Limit, u64)>; 2]) -> Origin {
    let middle = |number: fn(&Limit) -> i128| {
        let mut numbers: Vec<i128> = kept.iter().flatten().map(|(l, _)| number(l)).collect();
        let middle = numbers.len() / 2;
        match numbers.is_empty() {
            true => 0,
            false => *numbers.select_nth_unstable(middle).1,
        }
    };
    Origin { at: middle(|limit| limit.at), offset: middle(|limit| limit.offset) }
}

/// The tightest points in each part of the time.
struct Tightest {
    limits: Limits,
    first: f64,
    /// The parts in a ns.
    density: f64,
    /// In the middle of each part.
    rates: Vec<f64>,
    kept: [Vec<Vec<(f64, Point)>>; 2],
}

impl Tightest {
    fn new(course: &Course, limits: Limits) -> Tightest {
        let (first, last) = course.span().unwrap_or_default();
        let parts = vec![Vec::new(); limits.parts];
        let rate = |part: usize| {
            let middle = first + (last - first) * ((part as f64 + 0.5) / limits.parts as f64);
            course.at(middle).next().map_or(0.0, |stretch| stretch.slopes().middle())
        };
        Tightest {
            limits,
            first,
            density: if last > first { limits.parts as f64 / (last - first) } else { 0.0 },
            rates: (0..limits.parts).map(rate).collect(),
            kept: [parts.clone(), parts],
        }
    }

    fn add(&mut self, side: Direction, point: Point) {
        let part = ((point.t - self.first) * self.density) as usize;
        let part = part.min(self.limits.parts.saturating_sub(1));
        let rate = self.rates.get(part).copied().unwrap_or_default();
        let rate = if side == Direction::AToB { rate } else { -rate };
        // Of equals the first.
        let height = point.most - rate * (point.t - self.first);
        let height = (height / ROUNDING).round();
        let Some(kept) = of(&mut self.kept, side).get_mut(part) else { return };
        let place = kept.partition_point(|other| other.0 <= height);
        if place < self.limits.tightest {
            kept.insert(place, (height, point));
            kept.truncate(self.limits.tightest);
        }
    }

    fn points(self) -> Sides {
        let [upper, lower] =
            self.kept.map(|parts| parts.into_iter().flatten().map(|(_, p)| p).collect());
        let mut points = Sides { upper, lower };
        points.sort();
        points
    }
}

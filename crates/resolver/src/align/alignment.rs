//! The result for a pair of clocks.

use std::sync::Arc;

use super::cones::{BOTH, Point};
use super::evidence::Evidence;
use super::message::{Arrival, Direction, Message, Messages, PairClocks};
use super::sample::{LIMITS, Limits, Plan, Solved};
use super::tail::Tail;
use crate::linear::{real, truncated};

/// How messages relate two clocks. All offsets are θ: what B shows, minus a, when A shows a.
#[derive(Debug, Clone)]
pub struct Alignment {
    /// Whether begins or ends of receiving slices count (rule AL6).
    pub arrival: Arrival,
    /// What the messages bound (rule AL14).
    pub sides: Evidence,
    /// The first reading of A in a message.
    pub from: i64,
    /// The last reading of A in a message.
    pub to: i64,
    /// The messages from A to B.
    pub messages_ab: u64,
    /// The messages from B to A.
    pub messages_ba: u64,
    /// The messages that contradict the others (rule AL10).
    pub violated: u64,
    /// The messages that were probably sent before they say (rule AL15).
    pub suspect: u64,
    /// By how many ns B gains on A in a ns of A, if the messages fit together only at a rate beyond
    /// [`PairClocks::max_drift_ppm`] (rule AL14).
    pub too_fast: Option<f64>,
    pub(super) clocks: PairClocks,
    /// Shared by clones, because it has all points: up to half a megabyte.
    pub(super) solved: Arc<Solved>,
}

/// The interval of θ at a time, in ns: rounded away from each other. `None` is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// θ is at least this.
    pub earliest: Option<i64>,
    /// θ is at most this.
    pub latest: Option<i64>,
}

/// A corner of the estimate, or a time at which a one-sided bound bends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlignmentKnot {
    /// The reading of A.
    pub value: i64,
    /// The estimate of θ; `None` if one side says nothing.
    pub offset: Option<i64>,
    /// The bounds of θ.
    pub interval: Interval,
    /// Whether the next knot is after a step: a clock was set, or slept (rule AL11).
    pub step: bool,
}

impl AlignmentKnot {
    /// The distance of the estimate from the farther bound, in ns; `None` if one side says nothing.
    pub fn error(&self) -> Option<i64> {
        let (offset, Interval { earliest, latest }) = (self.offset?, self.interval);
        Some(latest?.saturating_sub(offset).max(offset.saturating_sub(earliest?)))
    }
}

/// Why a message is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutlierKind {
    /// It contradicts the others.
    Violated,
    /// It was probably sent before it says.
    Suspect,
}

/// A message that is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CausalOutlier {
    /// The message.
    pub message: Message,
    /// By how many ns it is beyond the bound of the other side (violated), or below that of the
    /// accepted messages of its own (suspect); 0 if it is not.
    pub by: i64,
    /// Why it is not accepted.
    pub kind: OutlierKind,
}

/// Relates the two clocks of a pair by messages (rules AL1, AL6, AL9 to AL16).
///
/// ```
/// use timebase_resolver::align::{Direction, Evidence, Message, PairClocks, align};
///
/// let message = |direction, sent, arrived| Message {
///     direction,
///     sent,
///     arrived,
///     ended: None,
///     packet_out: 0,
///     packet_in: 0,
/// };
/// // A request and its reply, twice. B shows 4 s more, and gains 10 ppm.
/// let messages = [
///     message(Direction::AToB, 1_000_000_000, 5_000_300_000),
///     message(Direction::BToA, 5_002_100_000, 1_002_300_000),
///     message(Direction::AToB, 101_000_000_000, 105_001_250_000),
///     message(Direction::BToA, 105_003_050_000, 101_002_200_000),
/// ];
/// let Ok(alignment) = align(PairClocks::default(), &messages[..]);
/// assert_eq!(alignment.sides, Evidence::Both);
/// assert_eq!(alignment.estimate(51_000_000_000), Some(4_000_549_989));
/// let interval = alignment.interval(51_000_000_000);
/// assert_eq!(interval.earliest.map(|ns| ns / 1000), Some(3_999_124));
/// assert_eq!(interval.latest.map(|ns| ns / 1000), Some(4_001_975));
/// ```
///
/// # Errors
///
/// If the messages cannot be read.
pub fn align<M: Messages + ?Sized>(
    clocks: PairClocks,
    messages: &M,
) -> Result<Alignment, M::Error> {
    align_within(clocks, messages, LIMITS)
}

pub(super) fn align_within<M: Messages + ?Sized>(
    clocks: PairClocks,
    messages: &M,
    limits: Limits,
) -> Result<Alignment, M::Error> {
    let plan = |arrival| Plan { clocks, arrival, limits };
    let mut arrival = Arrival::Begin;
    let mut solved = plan(arrival).solve(messages)?;
    let count: u64 = solved.messages.iter().sum();
    // AL6
    if solved.has_ends && 20 * solved.violated > count {
        let by_ends = plan(Arrival::End).solve(messages)?;
        if 2 * by_ends.violated < solved.violated {
            (arrival, solved) = (Arrival::End, by_ends);
        }
    }
    Ok(Alignment::new(clocks, arrival, solved))
}

impl Alignment {
    fn new(clocks: PairClocks, arrival: Arrival, mut solved: Solved) -> Alignment {
        let [messages_ab, messages_ba] = solved.messages;
        let sides = Evidence::of(&solved);
        if sides == Evidence::Contradictory {
            solved.course = super::course::Course::default();
        }
        let (from, to) = solved.span.unwrap_or_default();
        Alignment {
            arrival,
            sides,
            from: saturated(from),
            to: saturated(to),
            messages_ab,
            messages_ba,
            violated: solved.violated,
            suspect: solved.left_out.suspects.len() as u64,
            too_fast: solved.too_fast,
            clocks,
            solved: Arc::new(solved),
        }
    }

    /// The number of stretches between steps.
    pub fn stretches(&self) -> usize {
        self.solved.course.stretches.len()
    }

    /// The reading of A halfway between the first and the last message. If a clock was set or slept
    /// then, it is halfway through the stretch with the most accepted messages (rule AL11).
    pub fn middle(&self) -> i64 {
        let middle = self.from.midpoint(self.to);
        let of_stretch = self.solved.course.middle_of_most().filter(|_| self.is_in_step(middle));
        of_stretch.and_then(|t| whole(self.solved.origin.at, t)).unwrap_or(middle)
    }

    /// The bounds of θ when A shows `at` ns.
    pub fn interval(&self, at: i64) -> Interval {
        whole_bounds(self.solved.origin.offset, self.bounds(self.relative(at)))
    }

    /// The estimate of θ when A shows `at` ns; `None` if it is bounded on one side only.
    pub fn estimate(&self, at: i64) -> Option<i64> {
        self.offset(self.solved.course.estimate(self.relative(at))?.round())
    }

    /// Whether a clock was set or slept about when A shows `at` ns, so that the estimate is the middle
    /// of two (rule AL11).
    pub fn is_in_step(&self, at: i64) -> bool {
        self.solved.course.at(self.relative(at)).nth(1).is_some()
    }

    /// By how many ns B gains on A in a ns of A; `None` without an estimate.
    pub fn rate(&self, at: i64) -> Option<f64> {
        self.solved.course.at(self.relative(at)).next()?.rate
    }

    /// The possible rates when A shows `at` ns, s₁ and s₂ of rule AL12.
    pub fn rates(&self, at: i64) -> Option<(f64, f64)> {
        let slopes = self.solved.course.at(self.relative(at)).next()?.slopes();
        Some((slopes.least, slopes.most))
    }

    /// The corners of the estimate, in the order of time. A relation by lines through them is
    /// [`Alignment::estimate`]; the error of each is the distance to the farther bound.
    pub fn knots(&self) -> Vec<AlignmentKnot> {
        let course = &self.solved.course;
        let mut times: Vec<(f64, bool)> = Vec::new();
        for (place, stretch) in course.stretches.iter().enumerate() {
            let since = place.checked_sub(1).and_then(|step| course.steps.get(step));
            let since = since.map_or(f64::NEG_INFINITY, |step| step.1);
            let until = course.steps.get(place).map_or(f64::INFINITY, |step| step.0);
            let inside = stretch.touching().into_iter().filter(|&t| since < t && t < until);
            times.extend(inside.map(|t| (t, false)));
        }
        for &(from, to) in &course.steps {
            // The middle of both sides lies between two jumps.
            times.extend([(from, true), (to, false)]);
            if to - from > 2.0 {
                times.extend([(from + 1.0, false), (to - 1.0, true)]);
            }
        }
        let tails = course.tails.iter().flat_map(Tail::times);
        times.extend(tails.map(|t| (t, course.steps.iter().any(|s| s.0 <= t && t < s.1))));
        self.knots_at(times)
    }

    /// The corners of the bounds, in the order of time (rule AL18): between two of them, neither bends but
    /// toward the other. They begin as long before the first message, and end as long after the last one, as
    /// the messages last.
    pub fn bounds_knots(&self) -> Vec<AlignmentKnot> {
        let course = &self.solved.course;
        let bends = course.stretches.iter().flat_map(|stretch| stretch.bends());
        let steps = course.steps.iter().flat_map(|&(from, to)| [from, from + 1.0, to - 1.0, to]);
        let span = course.span().unwrap_or_default();
        let is_within = |t: &f64| span.0 <= *t && *t <= span.1;
        let is_step = |t: f64| course.steps.iter().any(|step| step.0 <= t && t < step.1);
        let length = span.1 - span.0;
        let ends = [span.0 - length, span.0, span.1, span.1 + length];
        let tails = course.tails.iter().flat_map(Tail::times);
        let times = bends.chain(steps).chain(tails).filter(is_within).chain(ends);
        self.knots_at(times.map(|t| (t, is_step(t))).collect())
    }

    fn knots_at(&self, mut times: Vec<(f64, bool)>) -> Vec<AlignmentKnot> {
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        times.dedup_by_key(|time| time.0);
        let knot = |(t, step): (f64, bool)| {
            let value = whole(self.solved.origin.at, t)?;
            let (offset, interval) = (self.estimate(value), self.interval(value));
            Some(AlignmentKnot { value, offset, interval, step })
        };
        let mut knots: Vec<AlignmentKnot> = times.into_iter().filter_map(knot).collect();
        knots.dedup_by_key(|knot| knot.value);
        knots
    }

    /// Shows the messages that are not accepted, in their order. It reads them once more.
    ///
    /// # Errors
    ///
    /// If the messages cannot be read.
    pub fn outliers<M: Messages + ?Sized>(
        &self,
        messages: &M,
        show: &mut dyn FnMut(CausalOutlier),
    ) -> Result<(), M::Error> {
        self.each(messages, &mut |message, point, kind| {
            if let Some(kind) = kind {
                show(self.outlier(message, &point, kind));
            }
        })
    }

    pub(super) fn outlier(
        &self,
        message: Message,
        point: &Point,
        kind: OutlierKind,
    ) -> CausalOutlier {
        let by = match (kind, message.direction) {
            (OutlierKind::Violated, side) => -self.solved.course.room(side, point),
            (OutlierKind::Suspect, Direction::AToB) => self.bounds(point.t).1 - point.most,
            (OutlierKind::Suspect, Direction::BToA) => -point.most - self.bounds(point.t).0,
        };
        CausalOutlier { message, by: by.max(0.0) as i64, kind }
    }

    fn bounds(&self, x: f64) -> (f64, f64) {
        self.solved.course.bounds(x)
    }

    /// Each message, its point, and why it is not accepted.
    pub(super) fn each<M: Messages + ?Sized>(
        &self,
        messages: &M,
        visit: &mut dyn FnMut(Message, Point, Option<OutlierKind>),
    ) -> Result<(), M::Error> {
        let left_out = &self.solved.left_out;
        let kinds = [
            (&left_out.violated, OutlierKind::Violated),
            (&left_out.suspects, OutlierKind::Suspect),
        ];
        let mut kinds: Vec<(u64, OutlierKind)> = kinds
            .into_iter()
            .flat_map(|(sides, kind)| {
                let points = BOTH.into_iter().flat_map(|side| sides.side(side));
                points.map(move |point| (point.index, kind))
            })
            .collect();
        kinds.sort_unstable();
        let mut kinds = kinds.into_iter().peekable();
        let mut index = 0;
        messages.each(&mut |message| {
            let limit = self.clocks.limit(&message, self.arrival);
            let point = self.solved.origin.point(limit, index);
            let kind = kinds.next_if(|kind| kind.0 == index).map(|kind| kind.1);
            index += 1;
            let excluding = self.solved.excluding.as_ref().filter(|_| kind.is_none());
            let is_excluded = excluding.is_some_and(|course| {
                course.room(message.direction, &point) < -super::cones::ROUNDING
            });
            visit(message, point, kind.or(is_excluded.then_some(OutlierKind::Violated)));
        })
    }

    pub(super) fn relative(&self, at: i64) -> f64 {
        real(i128::from(at) - self.solved.origin.at)
    }

    /// A number relative to the origin as an offset; `None` if it is infinite or too large.
    fn offset(&self, relative: f64) -> Option<i64> {
        whole(self.solved.origin.offset, relative)
    }
}

/// A whole number after `base`; `None` if that is infinite or too large.
pub(super) fn whole(base: i128, after: f64) -> Option<i64> {
    let is_small = after.abs() < 2f64.powi(80);
    is_small.then(|| i64::try_from(base + truncated(after)).ok()).flatten()
}

/// The bounds in whole numbers after `base`, rounded away from each other, but for what is only the
/// rounding of floating-point numbers.
pub(super) fn whole_bounds(base: i128, (lo, hi): (f64, f64)) -> Interval {
    const EXACT: f64 = 1e-3;
    Interval {
        earliest: whole(base, (lo + EXACT).floor()),
        latest: whole(base, (hi - EXACT).ceil()),
    }
}

fn saturated(number: i128) -> i64 {
    number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

//! Lines: the line of a hop around a value, and the line of a path of hops (rules R4–R6).

use std::ops::Range;

use super::bounds::{Bounded, Segment};
use super::exact::{real, rounded, truncated};
use super::fit::Fit;
use super::kin::Offsets;
use super::knot::{Gap, Knot, distance};
use crate::mapping::clamp;
use crate::rows::partition;

/// The basis of an estimate.
///
/// ```
/// # use timebase_resolver::*;
/// # let (device, boottime) = (Clock::host(200), Clock::BOOTTIME);
/// # let mut graph = ClockGraph::new();
/// # for (m, b) in [(0, 0), (10_000_000_002, 10_000_500_002)] {
/// #     let readings = [Reading::new(device, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
/// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// # }
/// # let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
/// let mut cache = cache;
/// let kind = |value| estimates.at(device, ClockNs(value), boottime, &mut cache).map(|at| at.kind);
/// let kinds = [-1, 5_000_000_001, 20_000_000_000].map(kind);
/// assert_eq!(kinds, [Ok(LineKind::Before), Ok(LineKind::Line), Ok(LineKind::After)]);
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LineKind {
    /// The readings around it.
    Line,
    /// The reading before it, because the target was set before the next one, or slept. Or both
    /// readings, if perhaps only its rate changed.
    Step,
    /// The first reading, which is later.
    Before,
    /// The last reading.
    After,
}

impl LineKind {
    /// Its name in `clock_mapping_linear`.
    ///
    /// ```
    /// assert_eq!(timebase_resolver::LineKind::Step.name(), "step");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            LineKind::Line => "line",
            LineKind::Step => "step",
            LineKind::Before => "before",
            LineKind::After => "after",
        }
    }

    /// For several hops, the weakest basis: a step first, then a value before or after all
    /// readings.
    fn weakest(self, other: LineKind) -> LineKind {
        let strength = |kind| match kind {
            LineKind::Step => 0,
            LineKind::Before => 1,
            LineKind::After => 2,
            LineKind::Line => 3,
        };
        match strength(other) < strength(self) {
            true => other,
            false => self,
        }
    }
}

/// A piece of the conversion from one clock to another: in nanoseconds, `target = value + offset +
/// round((value − anchor) · slope)` for start ≤ value < end, with the error `error + (value −
/// anchor) · error_slope`.
///
/// ```
/// # use timebase_resolver::*;
/// # let (device, boottime) = (Clock::host(200), Clock::BOOTTIME);
/// # let mut graph = ClockGraph::new();
/// # for (m, b) in [(0, 0), (10_000_000_002, 10_000_500_002)] {
/// #     let readings = [Reading::new(device, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
/// #     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// # }
/// # let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
/// let line = estimates.line(device, ClockNs(5_000_000_001), boottime, &mut cache).unwrap();
/// assert_eq!((line.start, line.end, line.offset), (Some(5_000_000_001), Some(10_000_000_002), Some(250_000)));
/// assert!(line.holds(7_000_000_000) && !line.holds(0));
/// assert_eq!(line.convert(7_000_000_000), Some(7_000_350_000));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// `None` is no bound.
    pub start: Option<i64>,
    /// `None` is no bound.
    pub end: Option<i64>,
    /// The value where the offset and the error hold: the start, or the end of a line before all
    /// readings.
    pub anchor: i64,
    /// `None` if it does not fit 64 bits (rule R7).
    pub offset: Option<i64>,
    /// The rate of the target, less 1.
    pub slope: f64,
    /// In ns of the target; infinite if unknown.
    pub error: f64,
    /// The growth of the error in each nanosecond.
    pub error_slope: f64,
    /// The basis.
    pub kind: LineKind,
}

/// The lead, after `forward`, of a clock that runs faster by `slope`.
#[inline]
fn ahead(forward: f64, slope: f64) -> i128 {
    rounded(forward * slope)
}

impl Line {
    /// A line that holds no value.
    pub(super) const NOWHERE: Line = Line {
        start: Some(0),
        end: Some(0),
        anchor: 0,
        offset: None,
        slope: 0.0,
        error: 0.0,
        error_slope: 0.0,
        kind: LineKind::Line,
    };

    /// Whether a value is on it.
    #[inline]
    pub fn holds(&self, value: i64) -> bool {
        self.start.is_none_or(|start| start <= value) && self.end.is_none_or(|end| value < end)
    }

    /// A clock's own time, which needs no estimate.
    pub(super) fn identity(value: i64) -> Line {
        Line {
            start: (value >= 0).then_some(0),
            end: (value < 0).then_some(0),
            anchor: 0,
            offset: Some(0),
            slope: 0.0,
            error: 0.0,
            error_slope: 0.0,
            kind: match value < 0 {
                true => LineKind::Before,
                false => LineKind::Line,
            },
        }
    }

    /// The reading of the target, in ns; `None` if it does not fit 64 bits.
    #[inline]
    pub fn convert(&self, value: i64) -> Option<i64> {
        let forward = i128::from(value) - i128::from(self.anchor);
        let to = i128::from(value) + i128::from(self.offset?) + ahead(real(forward), self.slope);
        i64::try_from(to).ok()
    }

    /// The error at the anchor, in ns, and its growth in each nanosecond; `None` if unknown.
    pub fn known_error(&self) -> Option<(f64, f64)> {
        let is_known = self.error.is_finite();
        is_known.then_some((self.error, self.error_slope))
    }

    /// The possible error, in ns; infinite if unknown.
    #[inline]
    pub fn error_at(&self, value: i64) -> f64 {
        self.error + distance(self.anchor, value) * self.error_slope
    }
}

/// A hop around a value: a straight line, and its error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub start: Option<i64>,
    pub end: Option<i64>,
    /// A reading on the line, and the rate of the target, less 1.
    pub from: i64,
    pub to: i64,
    pub slope: f64,
    /// The place where the error holds.
    pub sure: i64,
    pub error: f64,
    pub error_slope: f64,
    pub kind: LineKind,
    /// The readings before and after.
    pub around: [Option<u32>; 2],
}

impl Part {
    /// The reading of the target, which may be any number.
    pub fn value(&self, at: i128) -> i128 {
        let forward = at - i128::from(self.from);
        forward + i128::from(self.to) + ahead(real(forward), self.slope)
    }

    pub fn error_at(&self, at: i128) -> f64 {
        let forward = real(at - i128::from(self.sure));
        self.error + forward * self.error_slope
    }

    /// The rate of the target.
    pub fn rate(&self) -> f64 {
        1.0 + self.slope
    }

    /// The line of a path that has no other hop: the same as [`Parts::line`], without a list.
    pub fn line(&self) -> Line {
        let ends = Ends { start: self.start, end: self.end, kind: self.kind, rate: self.rate() };
        let error = |anchor: i64| match self.error_at(anchor.into()) {
            f64::INFINITY => (f64::INFINITY, 0.0),
            // Like that of several hops, it begins at 0.
            error => (0.0 * self.rate().abs() + error, 0.0 * self.rate().abs() + self.error_slope),
        };
        ends.line(|at| self.value(at), error)
    }

    fn holds(&self, at: i128) -> bool {
        let is_at_least = |start: i64| i128::from(start) <= at;
        let is_below = |end: i64| at < i128::from(end);
        self.start.is_none_or(is_at_least) && self.end.is_none_or(is_below)
    }
}

impl Fit {
    /// The line of the hop around a value (rules R4, R5). There is at least one reading.
    pub(super) fn part(&self, value: i64) -> Part {
        let part = self.known_part(value);
        match self.is_known {
            true => part,
            false => Part { error: f64::INFINITY, error_slope: 0.0, ..part },
        }
    }

    fn known_part(&self, value: i64) -> Part {
        if let Some(offsets) = &self.offsets {
            return self.level_part(offsets, value);
        }
        let knots = &self.knots;
        let count = knots.count_until(value);
        let before = count.checked_sub(1).and_then(|index| knots.get(index));
        match (before, knots.get(count)) {
            (Some(before), Some(after)) if before.gap != Gap::Line => {
                self.step_part(count - 1, &before, &after)
            }
            (Some(before), Some(after)) => line_part(count - 1, &before, &after, value),
            (None, Some(first)) => Part {
                start: None,
                end: Some(first.a),
                kind: LineKind::Before,
                around: [None, Some(0)],
                ..self.beside(&first, 0)
            },
            (Some(last), None) => Part {
                start: Some(last.a),
                end: None,
                kind: LineKind::After,
                around: [Some(count as u32 - 1), None],
                ..self.beside(&last, 1)
            },
            (None, None) => unfitted(),
        }
    }

    /// A line from the first or the last reading outwards.
    fn beside(&self, knot: &Knot, side: usize) -> Part {
        let beyond = self.beyond.get(side).copied().unwrap_or(0.0);
        let (error, error_slope) = match self.outside.is_finite() {
            true => (f64::from(knot.error) + beyond, self.outside),
            false => (f64::INFINITY, 0.0),
        };
        Part {
            from: knot.a,
            to: knot.b,
            slope: match (self.ends, side) {
                (None, _) => self.rate - 1.0,
                (Some([before, _]), 0) => before,
                (Some([_, after]), _) => after,
            },
            sure: knot.a,
            error,
            error_slope: if side == 0 { -error_slope } else { error_slope },
            ..unfitted()
        }
    }

    /// The offset of two clocks of one timekeeper around a value (rule R31).
    fn level_part(&self, offsets: &Offsets, value: i64) -> Part {
        let levels = &offsets.levels;
        let count = partition(levels.len(), |index| levels[index].start <= value);
        let number = count.saturating_sub(1);
        let Some(level) = levels.get(number) else {
            return unfitted();
        };
        let next = levels.get(number + 1);
        let (start, end, error, kind) = match next {
            _ if count == 0 => {
                let error = level.error + self.beyond[0];
                (None, Some(level.start), error, LineKind::Before)
            }
            _ if value < level.end => {
                (Some(level.start), Some(level.end), level.error, LineKind::Line)
            }
            Some(next) => {
                let error = level.error.max(next.error) + offsets.step(level, next).abs();
                (Some(level.end), Some(next.start), error, LineKind::Step)
            }
            None => (Some(level.end), None, level.error + self.beyond[1], LineKind::After),
        };
        let (from, to) = level.corner();
        let read = self.knots.count_until(value);
        let around = [read.checked_sub(1), Some(read).filter(|&read| read < self.knots.len())];
        Part {
            start,
            end,
            from,
            to,
            slope: 0.0,
            sure: from,
            error,
            error_slope: 0.0,
            kind,
            around: around.map(|index| index.map(|index| index as u32)),
        }
    }

    fn step_part(&self, index: usize, before: &Knot, after: &Knot) -> Part {
        let jump = self
            .jumps
            .binary_search_by_key(&(index as u32), |jump| jump.knot)
            .ok()
            .and_then(|found| self.jumps.get(found));
        let rate = match (before.gap, jump) {
            (Gap::Step, Some(jump)) => jump.rate - 1.0,
            (Gap::Line | Gap::Slide, _) => gained(before, after),
            (Gap::Step, None) => self.rate - 1.0,
        };
        Part {
            start: Some(before.a),
            end: Some(after.a),
            from: before.a,
            to: before.b,
            slope: rate,
            sure: before.a,
            error: jump.map_or(f64::INFINITY, |jump| jump.error),
            error_slope: 0.0,
            kind: LineKind::Step,
            around: [Some(index as u32), Some(index as u32 + 1)],
        }
    }
}

/// The rate of the target, less 1, on the straight line between two readings.
fn gained(before: &Knot, after: &Knot) -> f64 {
    let ran =
        (i128::from(after.b) - i128::from(before.b)) - (i128::from(after.a) - i128::from(before.a));
    real(ran) / distance(before.a, after.a)
}

/// A line between two readings: the half of it that is nearer to one of them.
fn line_part(index: usize, before: &Knot, after: &Knot, value: i64) -> Part {
    // For an odd number, the value in the middle is equally near to both.
    let half = after.a.abs_diff(before.a).div_ceil(2);
    let middle = before.a.saturating_add_unsigned(half);
    let is_later = value >= middle;
    let (start, end, sure) = match is_later {
        true => (middle, after.a, after.a),
        false => (before.a, middle, before.a),
    };
    let wander = f64::from(before.wander);
    Part {
        start: Some(start),
        end: Some(end),
        from: before.a,
        to: before.b,
        slope: gained(before, after),
        sure,
        error: before.error.max(after.error).into(),
        error_slope: if is_later { -wander } else { wander },
        kind: LineKind::Line,
        around: [Some(index as u32), Some(index as u32 + 1)],
    }
}

/// The answer for a hop without readings.
fn unfitted() -> Part {
    Part {
        start: None,
        end: None,
        from: 0,
        to: 0,
        slope: 0.0,
        sure: 0,
        error: f64::INFINITY,
        error_slope: 0.0,
        kind: LineKind::Before,
        around: [None, None],
    }
}

/// Larger than the distance of any two values.
const FAR: f64 = 1e20;

/// The values on a line, its kind, and the rate of the target.
struct Ends {
    start: Option<i64>,
    end: Option<i64>,
    kind: LineKind,
    rate: f64,
}

impl Ends {
    /// The line, by the reading of the target at a value, and by the error at the anchor with its growth in each
    /// nanosecond.
    fn line(self, value: impl Fn(i128) -> i128, error: impl FnOnce(i64) -> (f64, f64)) -> Line {
        let mut kind = self.kind;
        let anchor = match (self.start, self.end) {
            (None, Some(end)) => {
                kind = LineKind::Before;
                end
            }
            (Some(_), Some(end)) if kind == LineKind::Before => end,
            (Some(start), end) => {
                // A value that is never reached is before nothing.
                if end.is_none() {
                    kind = LineKind::After;
                }
                start
            }
            (None, None) => 0,
        };
        let offset = |at: i64| value(at.into()) - i128::from(at);
        let slope = match (self.start, self.end) {
            (Some(start), Some(end)) => real(offset(end) - offset(start)) / distance(start, end),
            _ => self.rate - 1.0,
        };
        let (error, error_slope) = error(anchor);
        // The rates of clocks that jump may multiply beyond all numbers.
        let is_finite = [slope, error_slope].into_iter().all(f64::is_finite) && !error.is_nan();
        Line {
            start: self.start,
            end: self.end,
            anchor,
            offset: i64::try_from(offset(anchor)).ok().filter(|_| is_finite),
            slope,
            error,
            error_slope,
            kind,
        }
    }
}

/// The hops of a path around a value, and the value where each begins.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    parts: Vec<Part>,
    bounded: Vec<BoundedParts>,
    /// The numbers of the parts that are no hops.
    of_bounds: Vec<usize>,
    start: Option<i64>,
    end: Option<i64>,
    /// The first and the last value on the line, as values before the last hop. To find them again
    /// for every hop would take the square of the number of hops.
    ends: [i128; 2],
    rate: f64,
}

/// Parts of a path that messages bound together (rule AL18).
#[derive(Debug, Clone)]
struct BoundedParts {
    parts: Range<usize>,
    segment: Segment,
    /// Whether the first of them starts at clock A of the bounds.
    from_a: bool,
}

impl Parts {
    /// The line around a value, of hops by their index.
    pub fn line_around(fits: &[Fit], hops: &[usize], bounded: &[Bounded], value: i64) -> Line {
        match (hops, bounded) {
            (&[hop], []) => fits[hop].part(value).line(),
            _ => Parts::around(hops.iter().map(|&hop| &fits[hop]), bounded, value).line(),
        }
    }

    /// The hops around a value. `bounded` are those that messages bound, in order.
    pub fn around<'f>(
        hops: impl Iterator<Item = &'f Fit>,
        bounded: &[Bounded],
        value: i64,
    ) -> Parts {
        let mut path = Parts {
            parts: Vec::new(),
            bounded: Vec::new(),
            of_bounds: Vec::new(),
            start: None,
            end: None,
            ends: [i64::MIN, i64::MAX].map(i128::from),
            rate: 1.0,
        };
        let mut at = i128::from(value);
        let mut bounded = bounded.iter().peekable();
        let mut first = 0;
        for (number, hop) in hops.enumerate() {
            if let Some(of) = bounded.peek().filter(|of| of.first == number) {
                if of.from_a {
                    path.push_bounds(of, value, at);
                }
                first = path.parts.len();
            }
            let part = hop.part(clamp(at));
            path.push(part, value, at);
            at = part.value(at);
            if let Some(of) = bounded.next_if(|of| of.end == number + 1) {
                let parts = first..path.parts.len();
                if !of.from_a {
                    path.push_bounds(of, value, at);
                }
                let of_a = if of.from_a { parts.start } else { parts.end };
                let reading = path.with_values(value).nth(of_a).map(|(_, at)| clamp(at));
                let segment = reading.and_then(|reading| of.bounds.around(reading));
                let from_a = of.from_a;
                path.bounded.extend(segment.map(|segment| BoundedParts { parts, segment, from_a }));
            }
        }
        path
    }

    /// Ends the line where bounds bend.
    fn push_bounds(&mut self, of: &Bounded, value: i64, at: i128) {
        let (start, end) = of.bounds.limits(clamp(at));
        let same = Part { start, end, error: 0.0, kind: LineKind::Line, ..unfitted() };
        self.of_bounds.push(self.parts.len());
        self.push(same, value, at);
    }

    fn push(&mut self, part: Part, value: i64, at: i128) {
        self.narrow(&part, value, at);
        self.rate *= part.rate();
        self.parts.push(part);
    }

    /// The last value that is on the line.
    fn last(end: Option<i64>) -> i128 {
        end.map_or(i64::MAX.into(), |end| i128::from(end) - 1)
    }

    /// The parts of the hops, with the input of each.
    pub fn with_values(&self, value: i64) -> impl Iterator<Item = (&Part, i128)> {
        self.parts.iter().scan(i128::from(value), |at, part| {
            let before = *at;
            *at = part.value(before);
            Some((part, before))
        })
    }

    /// The hops at a value: each with its input, and with the part of the error that it adds. The last one of
    /// several that messages bound has their error.
    pub fn hops(&self, value: i64) -> Vec<(&Part, i128, f64)> {
        let values: Vec<i128> = self.with_values(value).map(|(_, at)| at).collect();
        let parts = self.parts.iter().zip(&values);
        let mut hops: Vec<_> = parts.map(|(part, &at)| (part, at, part.error_at(at))).collect();
        for of in &self.bounded {
            let before = self.parts.get(..of.parts.start).unwrap_or_default();
            let rate = before.iter().map(Part::rate).product();
            if let Some((error, _)) = self.lesser_error(of, value, rate, &values)
                && let Some([before @ .., last]) = hops.get_mut(of.parts.clone())
            {
                before.iter_mut().for_each(|hop| hop.2 = 0.0);
                last.2 = error;
            }
        }
        for &number in self.of_bounds.iter().rev() {
            hops.remove(number);
        }
        hops
    }

    /// The end of the path on these lines.
    fn value(&self, at: i128) -> i128 {
        self.parts.iter().fold(at, |at, part| part.value(at))
    }

    /// Keeps the values around this one, which led to `at`, whose estimates stay on the line of a
    /// further hop.
    fn narrow(&mut self, part: &Part, value: i64, at: i128) {
        let Some(before) = self.parts.last() else {
            (self.start, self.end) = (part.start, part.end);
            let first = part.start.unwrap_or(i64::MIN);
            self.ends = [first.into(), Parts::last(part.end)];
            return;
        };
        self.ends = self.ends.map(|at| before.value(at));
        let holds = |at: i128| part.holds(clamp(at).into());
        let stays = |at: i128| holds(self.value(at));
        let rate = self.rate;
        // The begin and the end of the hop's line, as values of the source.
        let back = |bound: Option<i64>| {
            let by = real(i128::from(bound?) - at) / rate;
            // If a clock stands still, they are nowhere.
            Some(i128::from(value) + truncated(by.clamp(-FAR, FAR)))
        };
        let (mut lower, mut upper) = (back(part.start), back(part.end));
        if rate < 0.0 {
            (lower, upper) = (upper, lower);
        }
        let least = i128::from(self.start.unwrap_or(i64::MIN));
        let most = i128::from(self.end.unwrap_or(i64::MAX));
        let (mut start, mut end, mut ends) = (self.start, self.end, self.ends);
        if !holds(ends[0]) {
            let first = clamp(change(least, value.into(), lower, |at| !stays(at)));
            (start, ends[0]) = (Some(first), self.value(first.into()));
        }
        if !holds(ends[1]) {
            end = Some(clamp(change(value.into(), most, upper, stays)));
            ends[1] = self.value(Parts::last(end));
        }
        (self.start, self.end, self.ends) = (start, end, ends);
    }

    /// All hops as one line (rule R6).
    pub fn line(&self) -> Line {
        let kinds = self.parts.iter().map(|part| part.kind);
        let kind = kinds.fold(LineKind::Line, LineKind::weakest);
        let ends = Ends { start: self.start, end: self.end, kind, rate: self.rate };
        ends.line(|at| self.value(at), |anchor| self.error(anchor))
    }

    /// The error at a value, and its growth in each nanosecond.
    fn error(&self, anchor: i64) -> (f64, f64) {
        let values: Vec<i128> = self.with_values(anchor).map(|(_, at)| at).collect();
        let parts = || self.parts.iter().zip(&values);
        let mut bounded = self.bounded.iter().peekable();
        let (mut error, mut error_slope, mut rate) = (0.0, 0.0, 1.0);
        let (mut number, mut is_known) = (0, true);
        while let Some((part, &at)) = parts().nth(number) {
            let together = bounded.next_if(|of| of.parts.start == number);
            let lesser = together.and_then(|of| self.lesser_error(of, anchor, rate, &values));
            let (end, own) = match (together, lesser) {
                (Some(of), Some(lesser)) => (of.parts.end, lesser),
                _ => (number + 1, (part.error_at(at), part.error_slope * rate)),
            };
            let passed = self.parts.get(number..end).unwrap_or_default();
            let gained: f64 = passed.iter().map(Part::rate).product();
            error = error * gained.abs() + own.0;
            error_slope = error_slope * gained.abs() + own.1;
            rate *= gained;
            is_known &= own.0 != f64::INFINITY;
            number = end.max(number + 1);
        }
        match is_known {
            true => (error, error_slope),
            false => (f64::INFINITY, 0.0),
        }
    }

    /// The error by the bounds of messages, and its growth, if it is less than that of the parts (rule
    /// AL18). `rate` is that of the parts before.
    fn lesser_error(
        &self,
        of: &BoundedParts,
        anchor: i64,
        rate: f64,
        values: &[i128],
    ) -> Option<(f64, f64)> {
        let (start, end) = (self.start?, self.end?);
        let parts = self.parts.get(of.parts.clone())?.iter();
        let (mut error, mut slope, mut rate) = (0.0, 0.0, rate);
        for (part, &at) in parts.zip(values.get(of.parts.clone())?) {
            let after = part.rate().abs();
            error = error * after + part.error_at(at);
            slope = slope * after + part.error_slope * rate;
            rate *= part.rate();
        }
        // Both bounds are straight here, so the line between the distances at both ends is no less.
        let [first, last] = [start, end].map(|value| self.farther(of, value));
        let (first, last) = (first?, last?);
        let growth = (last - first) / distance(start, end);
        let measured = |value: i64| error + slope * distance(anchor, value);
        let is_less = first + last < measured(start) + measured(end);
        let by_messages = (first + growth * distance(start, anchor), growth);
        (is_less || !error.is_finite()).then_some(by_messages)
    }

    /// The distance of the parts' value from the farther bound by messages.
    fn farther(&self, of: &BoundedParts, value: i64) -> Option<f64> {
        let mut values: Vec<i128> = self.with_values(value).map(|(_, at)| at).collect();
        values.push(self.value(value.into()));
        let (from, to) = (*values.get(of.parts.start)?, *values.get(of.parts.end)?);
        let slope = of.segment.slope();
        match of.from_a {
            true => Some(of.segment.farther(from, to - from)),
            // The bounds hold at another reading of A, which is as far away as the error.
            false if slope < 1.0 => Some(of.segment.farther(to, from - to) / (1.0 - slope)),
            false => None,
        }
    }
}

/// The first number above `low`, and at most `high`, for which a condition fails that holds for
/// `low` and fails for `high`. `guess` is near it.
fn change(low: i128, high: i128, guess: Option<i128>, holds: impl Fn(i128) -> bool) -> i128 {
    let (mut low, mut high) = (low, high);
    let mut at = guess.unwrap_or(low);
    let mut step = 1;
    while high - low > 1 {
        // Far from the guess, bisection is faster.
        let probe = match step < high - low {
            true => at.clamp(low + 1, high - 1),
            false => low + (high - low) / 2,
        };
        match holds(probe) {
            true => {
                low = probe;
                at = probe + step;
            }
            false => {
                high = probe;
                at = probe - step;
            }
        }
        step *= 2;
    }
    high
}

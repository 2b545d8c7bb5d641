//! Clocks of one timekeeper, and two names of one clock (rules R30, R31).
//!
//! # Design
//!
//! The kernel makes MONOTONIC, BOOTTIME and REALTIME from one counter with one rate. Their offset
//! changes only if the machine slept or the wall clock was set. Between such steps it is one
//! number; all that readings show besides are the delays of reading, a microsecond after another
//! one. So these clocks have segments with offsets, not lines with rates, and the error does not
//! grow: neither between readings, nor outside.
//!
//! The search for the steps is like that of `choice.rs`. The cost of a line depends only on the
//! difference of its two readings. So a state is a reading and a flag: whether a step led to it. The
//! predecessors of both states of a reading take a byte.

use std::collections::VecDeque;
use std::ops::Range;

use super::choice::{
    Cost, LEAP, LEAP_NS, LEAPS, LEFT_OUT, MOST_LEFT_OUT, SLIDES, TWO_STEPS, UNIT, short,
};
use super::clocks::{Clocks, Quantum};
use super::exact::{real, rounded};
use super::knot::{Gap, Knot, distance, moved, off_line, rate};
use super::knots::{Knots, Read};
use super::select::{median, places, weighted_median};
use crate::mapping::clamp;

/// The least length of a gap that tells the rate of a coarse clock (rule R1).
const TELLS_COARSE: f64 = 20e9;
/// From this many gaps on, kin may turn out to be strangers, if their rate is off by this factor
/// more than chance.
const GAPS_OF_STRANGERS: usize = 4;
const CONTRADICTS: f64 = 4.0;
/// The time between the readings of a snapshot: at least this, and this factor of the median.
const READ_APART: f64 = 3e3;
const SCATTER: f64 = 3.0;
/// The bounds of the difference of two offsets that costs as much as a reading that is left out.
const LEAST_SCALE: f64 = 6e3;
const MOST_SCALE: f64 = 1e6;
/// From this many readings on, their differences show their scatter.
const SCATTERS: usize = 4;
/// The least error; for one reading; and of twins.
const LEAST_ERROR: f64 = 500.0;
const ERROR_OF_ONE: f64 = 3e3;
const LEAST_ERROR_OF_TWINS: f64 = 100.0;
/// Twins read the same number only by chance if they have just begun to count.
const COUNTS: i128 = 1_000_000;
/// In a step, the largest distance from an offset to a left-out reading on its side, as a part of the
/// step.
pub(super) const ON_A_SIDE: f64 = 0.25;

/// The relation of a hop's two clocks (rule R30).
///
/// ```
/// # use timebase_resolver::*;
/// let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
/// let mut graph = ClockGraph::new();
/// for (m, b) in [(1_000_000_007, 1_000_000_031), (1_000_016_011, 1_000_016_065)] {
///     let readings = [Reading::new(monotonic, m, 1, false)?, Reading::new(boottime, b, 1, false)?];
///     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// }
/// let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
/// let fit = estimates.fit(monotonic, boottime, &mut cache).unwrap();
/// // 30 ns in 16 µs are no drift.
/// assert_eq!((fit.kinship(), fit.drift_ppm()), (Some(Kinship::Kin), None));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kinship {
    /// They come from one timekeeper, so they run equally fast.
    Kin,
    /// They read the same number: one clock with two names.
    Twins,
}

impl Kinship {
    /// Its name in `clock_hop.kin`.
    ///
    /// ```
    /// assert_eq!(timebase_resolver::Kinship::Twins.name(), "twins");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Kinship::Kin => "kin",
            Kinship::Twins => "twins",
        }
    }
}

/// The values of the source for which the offset is the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    /// The first and the last reading.
    pub start: i64,
    pub end: i64,
    pub offset: i128,
    pub error: f64,
    /// The index of its first reading, and of the first one after it.
    pub(super) knots: [usize; 2],
}

/// The offsets of two clocks of one timekeeper, in order.
#[derive(Debug, Clone)]
pub(super) struct Offsets {
    pub kinship: Kinship,
    pub levels: Vec<Level>,
}

impl Offsets {
    /// The movement of the target between two segments.
    pub fn step(&self, level: &Level, next: &Level) -> f64 {
        real(next.offset - level.offset)
    }
}

/// Two clocks that run equally fast.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kin {
    pub(super) kinship: Kinship,
    tick: f64,
    quantum: Quantum,
    target_is_first: bool,
}

/// The offset of the target.
fn offset(knot: &Knot) -> i128 {
    i128::from(knot.b) - i128::from(knot.a)
}

pub(super) fn off(knot: &Knot, level: i128) -> f64 {
    real(offset(knot) - level).abs()
}

impl Kin {
    /// The kinship of two clocks by their kinds and readings, in the order of different values;
    /// `None` for strangers (rule R30).
    pub fn of(knots: &Knots, clocks: &Clocks, quantum: Quantum) -> Option<Kin> {
        let kin = |kinship| Kin {
            kinship,
            tick: clocks.tick(),
            quantum,
            target_is_first: clocks.target_is_first(),
        };
        if are_twins(knots, quantum) {
            return Some(kin(Kinship::Twins));
        }
        let kin = kin(Kinship::Kin);
        (clocks.are_of_one_timekeeper() && !kin.is_contradicted(knots)).then_some(kin)
    }

    /// The most that readings of one offset differ without a step.
    fn slack(&self) -> f64 {
        LEAP_NS + self.tick
    }

    /// Whether the readings show another rate than 1.
    fn is_contradicted(&self, knots: &Knots) -> bool {
        let length = |(from, to): (Knot, Knot)| distance(from.a, to.a);
        let short = short(|| knots.gaps(knots.all()).map(length));
        let least = if self.tick > 0.0 { TELLS_COARSE } else { 0.0 };
        let telling = short.max(least);
        let slack = self.slack() + self.quantum.sum;
        let tells = |&(from, to): &(Knot, Knot)| {
            let length = length((from, to));
            length >= telling && moved(from, to, 1.0).abs() <= LEAP * length + slack
        };
        let told = || knots.gaps(knots.all()).filter(tells);
        let count = told().count();
        if count < GAPS_OF_STRANGERS {
            return false;
        }
        let offs = || knots.windows(knots.all()).map(|[i, j, k]: [Knot; 3]| off_line(i, k, j));
        let scatter = SCATTER * median(offs).unwrap_or(0.0);
        let unsure = READ_APART.max(scatter) + self.tick + self.quantum.sum;
        let chance = (count as f64).sqrt();
        // A delay of reading is a large rate in a short gap.
        let rates = || told().map(|(from, to)| (rate(from, to), distance(from.a, to.a)));
        match (weighted_median(rates), median(|| told().map(length))) {
            (Some(rate), Some(length)) => {
                (rate - 1.0).abs() > CONTRADICTS * unsure / (chance * length)
            }
            _ => false,
        }
    }

    /// A segment with its offset (rule R31b).
    pub(super) fn level(&self, knots: &Knots, segment: Range<usize>) -> Level {
        let offsets = || knots.of(segment.clone()).map(|knot| offset(&knot));
        let is_rough = self.tick > 0.0 || self.quantum.sum > 0.0;
        let offset = match self.kinship {
            // No delay has a known sign here.
            _ if is_rough || self.kinship == Kinship::Twins => {
                let middle = places(offsets, |count| [(count - 1) / 2, count / 2], i128::cmp);
                middle.map_or(0, |[lower, upper]| (lower + upper).div_euclid(2))
            }
            // The later reading is ahead by the delay.
            _ if self.target_is_first => offsets().max().unwrap_or(0),
            _ => offsets().min().unwrap_or(0),
        };
        let end = |index: usize| knots.get(index).map_or(0, |knot| knot.a);
        Level {
            start: end(segment.start),
            end: end(segment.end - 1),
            offset,
            error: 0.0,
            knots: [segment.start, segment.end],
        }
    }

    /// The error that the scatter of readings shows, in segments of three or more.
    pub(super) fn scatter(&self, knots: &Knots, levels: &[Level]) -> f64 {
        let long = || levels.iter().filter(|level| level.knots[1] - level.knots[0] > 2);
        let offs = || {
            long().flat_map(|level| {
                let own = knots.of(level.knots[0]..level.knots[1]);
                own.map(|knot| off(&knot, level.offset))
            })
        };
        let count = long().map(|level| level.knots[1] - level.knots[0]).sum::<usize>() as f64;
        median(offs).map_or(0.0, |usual| SCATTER * (1.0 + 1.0 / count) * usual)
    }

    /// The error of each segment (rule R31d), by all readings. Returns the error that is the same
    /// for all.
    pub(super) fn find_errors(
        &self,
        (read, count): (Read<'_>, usize),
        scatter: f64,
        levels: &mut [Level],
    ) -> f64 {
        if self.kinship == Kinship::Twins {
            let error = LEAST_ERROR_OF_TWINS.max(self.quantum.larger as f64);
            for level in levels {
                level.error = error;
            }
            return error;
        }
        let rough = self.tick + self.quantum.sum;
        let are_few = |level: &Level| level.knots[1] - level.knots[0] < 3;
        let knots = match levels.iter().any(are_few) {
            true => Knots::of_all(read, count),
            false => Knots::default(),
        };
        let ends: Vec<[i64; 2]> = levels.iter().map(|level| [level.start, level.end]).collect();
        for (number, level) in levels.iter_mut().enumerate() {
            let count = level.knots[1] - level.knots[0];
            let mut error = LEAST_ERROR.max(ERROR_OF_ONE / count as f64).max(scatter);
            if count < 3 {
                let first = number.checked_sub(1).and_then(|before| ends.get(before));
                let last = ends.get(number + 1);
                let first = first.map_or(i64::MIN, |ends| ends[0]);
                let last = last.map_or(i64::MAX, |ends| ends[1]);
                let start = first.checked_sub(1).map_or(0, |before| knots.count_until(before));
                let around = knots.of(start..knots.len()).take_while(|knot| knot.a <= last);
                let offs = around.map(|knot| off(&knot, level.offset));
                let farthest = offs.filter(|&off| off <= self.slack()).fold(0.0, f64::max);
                error = error.max(LEAST_ERROR + farthest);
            }
            level.error = rough + error;
        }
        rough + LEAST_ERROR.max(scatter)
    }
}

/// Whether two clocks read the same number.
fn are_twins(knots: &Knots, quantum: Quantum) -> bool {
    let unit = i128::from(quantum.larger.max(1));
    let is_same = |knot: &Knot| offset(knot).abs() < unit && i128::from(knot.a) > COUNTS * unit;
    let same = knots.iter().filter(is_same);
    let (same, all) = (same.count(), knots.len());
    match all {
        0 => false,
        1 | 2 => same == all,
        _ => 2 * same > all,
    }
}

/// No reading.
const NOWHERE: usize = usize::MAX;

/// A way to a reading: by a line (or as the first), or by a step.
#[derive(Debug, Clone, Copy)]
struct Way {
    cost: Cost,
    /// The reading before, and whether a step led to that one.
    from: usize,
    after_step: bool,
}

/// The stored data of the two ways to a reading, in four bits each: how many readings the one before is
/// back, 0 for none, and whether a step led to that one.
#[derive(Debug, Clone, Copy)]
struct Trace(u8);

const AFTER_STEP: u8 = 1 << 3;

impl Trace {
    fn new(index: usize, ways: [Option<Way>; 2]) -> Trace {
        let [line, step] = ways.map(|way| {
            let way = way.filter(|way| way.from != NOWHERE);
            // At most `MOST_LEFT_OUT` readings are between the two.
            way.map_or(0, |way| {
                let flag = if way.after_step { AFTER_STEP } else { 0 };
                (index - way.from) as u8 | flag
            })
        });
        Trace(line | (step << 4))
    }

    /// The reading before a reading, and whether a step led to that one.
    fn before(self, (index, by_step): (usize, bool)) -> Option<(usize, bool)> {
        let way = if by_step { self.0 >> 4 } else { self.0 & 0xf };
        let back = usize::from(way & !AFTER_STEP);
        (back > 0).then(|| (index - back, way & AFTER_STEP != 0))
    }
}

/// The cheapest explanation of the readings (rule R31a).
pub(super) struct Search<'k> {
    knots: &'k Knots,
    /// A difference of two offsets that costs as much as leaving a reading out.
    scale: f64,
    /// A step above this is likely.
    slack: f64,
    /// For the last readings, the cheapest way that is a line, and the cheapest that is a step.
    ways: VecDeque<(Knot, [Option<Way>; 2])>,
    traces: Vec<Trace>,
}

impl<'k> Search<'k> {
    pub(super) fn new(kin: &Kin, knots: &'k Knots) -> Search<'k> {
        let moves = || knots.gaps(knots.all()).map(|(from, to)| moved(from, to, 1.0).abs());
        let usual = match knots.len() < SCATTERS {
            true => 0.0,
            false => median(moves).unwrap_or(0.0),
        };
        let scale = (10.0 * usual).clamp(LEAST_SCALE, MOST_SCALE);
        Search {
            knots,
            scale: scale + kin.tick + kin.quantum.sum,
            slack: kin.slack(),
            ways: VecDeque::new(),
            traces: Vec::with_capacity(knots.len()),
        }
    }

    /// The most readings that may be left out in a row.
    fn most_left_out(&self) -> usize {
        // Of two readings none is wrong.
        if self.knots.len() < 3 { 0 } else { MOST_LEFT_OUT }
    }

    /// The kind of the gap after each used reading; `None` for those that are left out.
    pub(super) fn cheapest(mut self) -> Vec<Option<Gap>> {
        let count = self.knots.len();
        let mut end: Option<(Cost, usize, bool)> = None;
        let knots = self.knots;
        knots.iter().enumerate().for_each(|(index, knot)| {
            let ways = self.ways_to(index, knot);
            self.traces.push(Trace::new(index, ways));
            if self.ways.len() > self.most_left_out() {
                self.ways.pop_front();
            }
            self.ways.push_back((knot, ways));
            let left_out = count - 1 - index;
            if left_out <= self.most_left_out()
                && let Some((cost, by_step)) = cheaper(ways, 0)
            {
                let cost = cost + left_out as Cost * LEFT_OUT;
                if end.is_none_or(|(least, ..)| cost <= least) {
                    end = Some((cost, index, by_step));
                }
            }
        });
        let mut gaps = vec![None; count];
        let mut after = Gap::Line;
        let mut next = end.map(|(_, index, by_step)| (index, by_step));
        while let Some((index, by_step)) = next {
            gaps[index] = Some(after);
            after = if by_step { Gap::Step } else { Gap::Line };
            let trace = self.traces.get(index);
            next = trace.and_then(|trace| trace.before((index, by_step)));
        }
        gaps
    }

    /// The cheapest ways to a reading; of equal ones, that from the earliest reading.
    fn ways_to(&self, index: usize, knot: Knot) -> [Option<Way>; 2] {
        let mut ways: [Option<Way>; 2] = [None, None];
        let mut add = |is_step: bool, way: Way| {
            let best = &mut ways[usize::from(is_step)];
            if best.is_none_or(|best| way.cost < best.cost) {
                *best = Some(way);
            }
        };
        if index <= self.most_left_out() {
            let first = Way { cost: index as Cost * LEFT_OUT, from: NOWHERE, after_step: false };
            add(false, first);
        }
        let first = index - self.ways.len();
        for (from, &(at, before)) in (first..).zip(&self.ways) {
            let left_out = (index - from - 1) as Cost * LEFT_OUT;
            let moved = moved(at, knot, 1.0).abs();
            if moved <= self.scale
                && let Some((cost, after_step)) = cheaper(before, 0)
            {
                let line = rounded((moved / self.scale).powi(2) * UNIT) as Cost;
                let cost = cost + left_out + line;
                add(false, Way { cost, from, after_step });
            }
            let step = if moved > self.slack { LEAPS } else { SLIDES };
            if let Some((cost, after_step)) = cheaper(before, TWO_STEPS) {
                let cost = cost + left_out + step;
                add(true, Way { cost, from, after_step });
            }
        }
        ways
    }
}

/// The cheaper of the two ways to a reading, and whether it is a step, which costs this much more;
/// of equal ones, that from the earlier reading.
fn cheaper([line, step]: [Option<Way>; 2], more: Cost) -> Option<(Cost, bool)> {
    // The first reading has none before it.
    let order = |way: &Way| way.from.wrapping_add(1);
    match (line, step) {
        (Some(line), Some(step)) => {
            let by_step = (step.cost + more, order(&step)) < (line.cost, order(&line));
            let cost = if by_step { step.cost + more } else { line.cost };
            Some((cost, by_step))
        }
        (Some(line), None) => Some((line.cost, false)),
        (None, Some(step)) => Some((step.cost + more, true)),
        (None, None) => None,
    }
}

impl Level {
    /// A value, and the reading of the target at it.
    pub fn corner(&self) -> (i64, i64) {
        (self.start, clamp(i128::from(self.start) + self.offset))
    }
}

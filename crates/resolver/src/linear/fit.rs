//! Fits one hop: the error of each reading, the rates, and the steps (rules R1, R4, R5, R32–R37).
//! `choice.rs` chooses the readings; `kin.rs` fits clocks of one timekeeper.

use std::ops::Range;

use super::choice::{self, Choice, Hop, TICK};
use super::clocks::{Clocks, LEAST_NOISE, Quantum};
use super::kin::{Kin, Kinship, Offsets};
use super::knot::{self, Gap, Knot, distance, gaps, moved, off_line, rate};
use super::knots::{Knots, Read};
use super::left_out::{LeftOut, Straight};
use super::rate::{Measured, Prior, Rate, changed, median_sigma};
use super::select::{Again, median, medians};

/// If the rate of two clocks differs from the nominal one by more than this, they do not count the
/// same unit (rule R1).
const SAME_UNIT: f64 = 1e-3;
/// The largest drift of a clock against another; beyond it, a clock was set (rule R9).
pub(super) const OSCILLATOR: f64 = 500e-6;
/// The least length of a gap that tells the rate of a coarse clock (rule R1).
const TELLS_COARSE: f64 = 20e9;
/// A rate without evidence has an error larger than usual by this factor (rule R9).
const UNSURE: f64 = 10.0;
/// A rate may change by more than usual by this factor (rule R9).
const CHANCE: f64 = 2.0;
/// A time between a snapshot's readings that is no sign of different units (rule R34).
const READ_APART: f64 = 200e3;
/// The least change of a rate (rule R5).
pub(super) const LEAST_WANDER: f64 = 1e-7;
/// The noise, and the least change of a rate, for this many numbers.
const UNTOLD_NOISE: f64 = 1_500.0;
const UNTOLD_WOBBLE: f64 = 1e-6;
/// The least change of a rate outside of the readings (rule R35).
const WANDERS_OUTSIDE: f64 = 1.2e-6;
/// A gap that is less sure than usual by this factor shows no change of the rate (rule R35).
const LESS_SURE: f64 = 10.0;
/// From this many residuals of second neighbours on, they tell the noise in a residual.
const SECONDS: usize = 8;
/// Up to this distance, readings that are left out say something about a segment of one or two
/// (rule R5).
const APART: f64 = 1e6;
/// A gap is long if it is longer than the usual one by this factor.
const LONG: f64 = 1.5;
/// The usual gap is no shorter than those that show changes of the rate, by more than this factor.
const SHORTER: f64 = 0.5;
/// In a step, the largest distance from a line to a left-out reading on its side, as a part of the
/// distance between the lines (rule R4).
const ON_A_SIDE: f64 = 0.25;

/// Further facts about a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jump {
    /// The corner before it.
    pub knot: u32,
    /// The rate of the segment before it.
    pub rate: f64,
    pub error: f64,
}

/// A reading that is not on the line, or that begins a line.
///
/// ```
/// # use timebase_resolver::*;
/// let (monotonic, boottime) = (Clock::host(3), Clock::BOOTTIME);
/// let mut graph = ClockGraph::new();
/// for n in 0..20 {
///     // One of them was read late.
///     let (at, late) = (n * 1_000_000_000, if n == 10 { 3_000_000 } else { 0 });
///     let readings = [Reading::new(monotonic, at, 1, false)?, Reading::new(boottime, at + late, 1, false)?];
///     graph.add_snapshot(Source::Service, &readings, Some(boottime))?;
/// }
/// let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
/// let fit = estimates.fit(monotonic, boottime, &mut cache).unwrap();
/// let [outlier] = fit.outliers[..] else { panic!() };
/// assert_eq!((outlier.snapshot, outlier.deviation_ns), (Some(SnapshotId(10)), 3e6));
/// # Ok::<(), timebase_resolver::Rejected>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct OffLine {
    /// The number of the snapshot in the graph; `None` for a sample (rule R9).
    pub snapshot: Option<crate::SnapshotId>,
    /// The reading of the hop's source, in ns.
    pub from_value: i64,
    /// The reading of its target, in ns.
    pub to_value: i64,
    /// For an outlier, its distance from the line of its neighbours, or from the nearer of two
    /// lines; for a step, the movement of the target against the source. In ns of the target.
    pub deviation_ns: f64,
}

/// The gaps from which a rate is computed.
#[derive(Debug, Clone, Copy)]
enum Tells {
    /// Gaps of at least this length, of a statement (rule R10).
    Long(f64),
    /// Gaps whose rate has at most this error, of samples (rule R9).
    Sure(f64),
    /// Gaps of at least this length with a rate that is possible (rule R33).
    Possible(f64),
}

/// The rate of a segment, and the error of the rate in its first gap.
#[derive(Debug, Clone, Copy)]
struct Pace {
    of: Rate,
    first_sigma: f64,
}

/// The facts about a hop besides its readings.
#[derive(Debug, Clone, Copy)]
struct Facts {
    tick: f64,
    quantum: f64,
    least_noise: f64,
    /// The noise if no reading shows it.
    untold_noise: f64,
    /// The probable deviation of the rate from the nominal one.
    prior: f64,
    is_counter: bool,
    has_errors: bool,
}

impl Facts {
    fn of(clocks: &Clocks, quantum: Quantum) -> Facts {
        Facts {
            tick: clocks.tick(),
            quantum: quantum.sum,
            least_noise: clocks.least_noise(),
            untold_noise: UNTOLD_NOISE,
            prior: clocks.prior(),
            is_counter: clocks.is_counter(),
            has_errors: false,
        }
    }

    /// A statement or samples, whose errors need no estimate.
    const KNOWN: Facts = Facts {
        tick: 0.0,
        quantum: 0.0,
        least_noise: LEAST_NOISE,
        untold_noise: LEAST_NOISE,
        prior: 0.0,
        is_counter: false,
        has_errors: true,
    };

    fn is_coarse(&self) -> bool {
        self.tick > 0.0
    }

    /// The nominal rate, κ of rules R1 and R34, by the gaps that tell one.
    fn nominal_rate<I: Iterator<Item = (Knot, Knot)>>(&self, telling: impl Fn() -> I) -> f64 {
        let unsure = match self.is_counter || self.has_errors {
            true => 0.0,
            false => {
                let lengths = || telling().map(|(from, to)| distance(from.a, to.a));
                let usual = median(lengths).unwrap_or(f64::INFINITY);
                2.0 * (READ_APART + self.tick + self.quantum) / usual
            }
        };
        // Of two gaps, one may be a suspend.
        let off = |rate: &f64| (rate - 1.0).abs();
        let rates = || telling().map(|(from, to)| rate(from, to));
        let measured = medians(rates).into_iter().flatten();
        measured
            .min_by(|one, other| off(one).total_cmp(&off(other)))
            .filter(|measured| off(measured) > SAME_UNIT + unsure)
            .unwrap_or(1.0)
    }
}

/// A fitted hop (rules R1–R5, R30–R37).
///
/// Times are nanoseconds of the target clock; rates are nanoseconds of the target in a nanosecond
/// of the source. [`Estimates`](super::Estimates) has the example.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fit {
    /// The number of snapshots that hold both clocks, or of used samples (rule R9); equal source
    /// values count once.
    pub readings: usize,
    /// The nominal rate, κ of rule R1: 1, unless one of the clocks does not count nanoseconds.
    pub nominal_rate: f64,
    /// The rate, as far as it is known (rule R33).
    pub rate: f64,
    /// The error of the rate, without its changes; infinite if unknown.
    pub rate_error: f64,
    /// The largest difference between a gap's rate and the rate.
    pub rate_spread: f64,
    /// The noise (rule R32).
    pub noise_ns: f64,
    /// The first reading after each step (rule R2).
    pub steps: Vec<OffLine>,
    /// Readings that are left out (rule R3).
    pub outliers: Vec<OffLine>,
    /// The largest error between two readings, without steps.
    pub worst_error_ns: f64,
    /// The largest jump of nearest neighbour at a reading, without steps.
    pub worst_error_nearest_ns: f64,
    pub(super) knots: Knots,
    pub(super) jumps: Vec<Jump>,
    /// The largest distance of ignored readings from the line, before all knots and after all knots
    /// (rule R5).
    pub(super) beyond: [f64; 2],
    /// The least w of a gap, the possible movement of the line in it.
    least_wander: f64,
    /// The usual w of the gaps that show changes of the rate, and their usual length.
    usual_wander: f64,
    usual_length: f64,
    /// The rates, less 1, before the first and after the last corner of a relation that is by lines
    /// in every conversion (rule AL20); `None` for any other hop, whose rate it is on both sides.
    pub(super) ends: Option<[f64; 2]>,
    /// False if the error is unknown.
    pub(super) is_known: bool,
    /// The offsets of clocks of one timekeeper, which have no rates.
    pub(super) offsets: Option<Offsets>,
    tells: Tells,
    /// The possible error of the rate between two readings, with its changes.
    rate_doubt: f64,
    /// Whether the rate differs from the nominal one by more than `rate_doubt`.
    is_drift_known: bool,
    /// The growth of the error outside of the readings (rules R9, R10, R35); infinite if unknown.
    pub(super) outside: f64,
}

/// The possible error of the rate between two samples.
fn unsure(from: Knot, to: Knot) -> f64 {
    f64::from(from.error + to.error) / distance(from.a, to.a)
}

/// The error of the rate between two readings that their errors cause (rule R33).
fn sigma(from: Knot, to: Knot) -> f64 {
    f64::from(from.error).hypot(f64::from(to.error)) / distance(from.a, to.a)
}

/// The other readings of a group say how well a reading is known (rule R32): the number of each used one in
/// such a group, and the least error.
fn grouped(all: &Knots, choice: &Choice, kappa: f64) -> Vec<(u32, f32)> {
    let mut grouped = Vec::new();
    for (number, (used, _)) in choice.used().enumerate() {
        let mut others = choice.beside(used).peekable();
        if others.peek().is_none() {
            continue;
        }
        let at = all.at(used);
        let offs = others.map(|other| moved(at, all.at(other), kappa).abs());
        let least = offs.filter(|&off| off <= APART).fold(0.0, f64::max);
        grouped.push((number as u32, least as f32));
    }
    grouped
}

impl OffLine {
    pub(super) fn new(knot: Knot, deviation_ns: f64) -> OffLine {
        OffLine { snapshot: knot.snapshot(), from_value: knot.a, to_value: knot.b, deviation_ns }
    }
}

impl Fit {
    /// Fits a hop to its readings, in the order of different `a`.
    pub(super) fn new(all: Knots, read: Read<'_>, clocks: &Clocks) -> Fit {
        let quantum = clocks.quantum(&all);
        match Kin::of(&all, clocks, quantum) {
            Some(kin) => kin.fit(all, read),
            None => Fit::of_readings(all, read, Facts::of(clocks, quantum)),
        }
    }

    /// Fits a hop to an assumption or a manifest's statement about its clocks. The error is unknown
    /// unless `is_exact`.
    pub(super) fn said(all: Knots, read: Read<'_>, is_exact: bool) -> Fit {
        Fit { is_known: is_exact, ..Fit::of_readings(all, read, Facts::KNOWN) }
    }

    fn of_readings(all: Knots, read: Read<'_>, facts: Facts) -> Fit {
        let length = |&(from, to): &(Knot, Knot)| distance(from.a, to.a);
        let short = choice::short(|| all.gaps(all.all()).map(|gap| length(&gap)));
        let least = if facts.is_coarse() { TELLS_COARSE } else { 0.0 };
        let telling = short.max(least);
        let told = || all.gaps(all.all()).filter(|gap| length(gap) >= telling);
        let hop = Hop {
            kappa: facts.nominal_rate(told),
            short,
            is_coarse: facts.is_coarse(),
            quantum: facts.quantum,
        };
        let choice = hop.choose(&all);
        let left_out = LeftOut::new(&all, &choice);
        let tells = match facts.has_errors {
            true => Tells::Long(telling),
            false => Tells::Possible(telling),
        };
        let grouped = match facts.has_errors {
            true => Vec::new(),
            false => grouped(&all, &choice, hop.kappa),
        };
        let mut fit = Fit {
            readings: all.len(),
            nominal_rate: hop.kappa,
            rate: hop.kappa,
            worst_error_nearest_ns: hop.worst_nearest(&all, &choice),
            ..Fit::empty(tells)
        };
        // There is no need for memory for both: all of them, and the used ones.
        drop(all);
        fit.knots = choice.read_used(read);
        drop(choice);
        fit.find_errors(&facts);
        for (number, least) in grouped {
            let number = number as usize;
            let error = fit.knots.at(number).error;
            fit.knots.set_error(number, error.max(least));
        }
        let paces = fit.find_rates(&facts);
        let wander = fit.raise_long();
        fit.raise_few(&left_out, &paces, if facts.is_coarse() { TICK } else { APART });
        fit.find_worst();
        fit.find_outliers(&left_out, &paces);
        fit.find_steps();
        fit.find_corners(&left_out, &paces, wander);
        fit.find_jumps(&paces, wander);
        fit
    }

    /// A fit without readings, whose gaps tell rates by this.
    fn empty(tells: Tells) -> Fit {
        Fit {
            readings: 0,
            nominal_rate: 1.0,
            rate: 1.0,
            rate_error: 0.0,
            rate_spread: 0.0,
            noise_ns: 0.0,
            steps: Vec::new(),
            outliers: Vec::new(),
            worst_error_ns: 0.0,
            worst_error_nearest_ns: 0.0,
            knots: Knots::default(),
            jumps: Vec::new(),
            beyond: [0.0; 2],
            least_wander: LEAST_WANDER,
            usual_wander: LEAST_WANDER,
            usual_length: f64::INFINITY,
            ends: None,
            is_known: true,
            offsets: None,
            tells,
            rate_doubt: 0.0,
            is_drift_known: false,
            outside: 0.0,
        }
    }

    /// A fit of clocks whose offset is constant.
    pub(super) fn of_offsets(knots: Knots, offsets: Offsets) -> Fit {
        Fit { knots, offsets: Some(offsets), ..Fit::empty(Tells::Long(0.0)) }
    }

    /// Fits a hop to its used samples (rule R9), each with its error.
    pub(super) fn of_samples(mut knots: Vec<Knot>) -> Fit {
        knots.sort_unstable_by_key(|knot| (knot.a, knot.b));
        knots.dedup_by_key(|knot| knot.a);
        let mut numbers = Vec::with_capacity(knots.len());
        let mut worst_error_nearest_ns = 0.0;
        for index in 1..knots.len() {
            let (from, to) = (knots[index - 1], knots[index]);
            let jump = moved(from, to, 1.0).abs();
            let most = OSCILLATOR * distance(from.a, to.a) + f64::from(from.error + to.error);
            if jump > most {
                knots[index - 1].gap = Gap::Step;
            } else {
                numbers.push(unsure(from, to));
                worst_error_nearest_ns = f64::max(worst_error_nearest_ns, jump);
            }
        }
        let usual = knot::median(&mut numbers);
        numbers.clear();
        numbers.extend(knots.iter().map(|knot| f64::from(knot.error)));
        let mut fit = Fit {
            readings: knots.len(),
            noise_ns: knot::median(&mut numbers).unwrap_or(0.0),
            worst_error_nearest_ns,
            knots: knots.into(),
            ..Fit::empty(Tells::Sure(UNSURE * usual.unwrap_or(0.0)))
        };
        let paces = fit.find_rates(&Facts::KNOWN);
        let wander = fit.raise_wanders();
        fit.find_worst();
        fit.find_steps();
        fit.find_jumps(&paces, wander);
        fit.rate_doubt = fit.rate_spread + wander + usual.unwrap_or(OSCILLATOR);
        fit.outside = fit.rate_doubt;
        fit
    }

    /// The lines through the corners of a relation that follows from messages, each with its error
    /// (rules AL16, AL20). `wander` is how much the rate may change; the error is unknown without it.
    /// No corner is left out, and there are no steps: nearest conversions use the same lines.
    pub(super) fn of_corners(mut knots: Vec<Knot>, wander: Option<f64>) -> Fit {
        let is_long = |(from, to): &(Knot, Knot)| from.a < to.a;
        let gain = |(from, to): (Knot, Knot)| moved(from, to, 1.0) / distance(from.a, to.a);
        let mut rates: Vec<f64> = gaps(&knots).filter(is_long).map(|gap| 1.0 + gain(gap)).collect();
        let end = |gap: Option<(Knot, Knot)>| gap.filter(is_long).map_or(0.0, gain);
        let ends = [end(gaps(&knots).next()), end(gaps(&knots).last())];
        let usual = knot::median(&mut rates).unwrap_or(1.0);
        for knot in &mut knots {
            knot.wander = wander.unwrap_or(0.0) as f32;
        }
        let mut errors: Vec<f64> = knots.iter().map(|knot| knot.error.into()).collect();
        let doubt = wander.unwrap_or(f64::INFINITY);
        let mut fit = Fit {
            readings: knots.len(),
            rate: usual,
            rate_error: doubt,
            rate_spread: rates.iter().map(|rate| (rate - usual).abs()).fold(0.0, f64::max),
            noise_ns: knot::median(&mut errors).unwrap_or(0.0),
            knots: knots.into(),
            ends: Some(ends),
            is_known: wander.is_some(),
            rate_doubt: doubt,
            is_drift_known: wander.is_some() && !rates.is_empty(),
            outside: doubt,
            ..Fit::empty(Tells::Long(0.0))
        };
        fit.find_worst();
        fit
    }

    /// A rate may change little here by chance, so no gap has a smaller w than this part of the
    /// usual one, which this returns (rule R9).
    fn raise_wanders(&mut self) -> f64 {
        let lines = || self.knots.gaps(self.knots.all()).filter(|(from, _)| from.gap == Gap::Line);
        let usual = median(|| lines().map(|(from, _)| f64::from(from.wander)));
        let least = usual.map_or(LEAST_WANDER, |usual| CHANCE * usual);
        for index in self.knots.all() {
            let wander = self.knots.at(index).wander;
            self.knots.set_wander(index, wander.max(least as f32));
        }
        least
    }

    /// If a gap is longer than usual, its w is the movement of the rate in this time (rule R5).
    /// Returns the usual w.
    fn raise_long(&mut self) -> f64 {
        let (usual, long) = (self.usual_wander, self.usual_length);
        for index in 1..self.knots.len() {
            let (from, to) = (self.knots.at(index - 1), self.knots.at(index));
            let span = distance(from.a, to.a);
            if from.gap == Gap::Line && span > LONG * long {
                let least = usual * (span / long).sqrt();
                self.knots.set_wander(index - 1, from.wander.max(least as f32));
            }
        }
        usual
    }

    /// The error of each reading, err(i) of rules R5 and R32.
    fn find_errors(&mut self, facts: &Facts) {
        let segments = self.knots.segments();
        let of = |of: &Range<usize>| self.knots.windows(of.clone());
        let residuals =
            || segments.iter().flat_map(of).map(|[i, j, k]: [Knot; 3]| off_line(i, k, j));
        let of = |of: &Range<usize>| self.knots.windows(of.clone());
        let seconds =
            || segments.iter().flat_map(of).map(|[i, _, j, _, k]: [Knot; 5]| off_line(i, k, j));
        let count = segments.iter().map(|of| of.len().saturating_sub(2)).sum::<usize>() as f64;
        let usual = median(residuals).unwrap_or(0.0);
        let wanders = match seconds().nth(SECONDS - 1).is_some() && usual > 0.0 {
            true => median(seconds).map_or(0.0, |second| (second / usual).powi(2) - 1.0),
            false => 0.0,
        };
        let part = f64::max(1.0 / 9.0, 1.0 - wanders.max(0.0) / 7.0).sqrt();
        // The resolution of the clocks is no scatter of their readings.
        let scatter = (usual - facts.quantum / 2.0).max(0.0);
        let told = 3.0 * part * (1.0 + 1.0 / count.max(1.0)) * scatter;
        let untold = facts.untold_noise / (1.0 + count);
        self.noise_ns = facts.quantum + facts.least_noise.max(untold).max(told);
        for segment in segments {
            for index in segment.clone() {
                let error = self.noise_ns.max(self.residual(&segment, index));
                self.knots.set_error(index, error as f32);
            }
        }
    }

    /// The distance of a reading from the line of its neighbours in its segment.
    fn residual(&self, segment: &Range<usize>, index: usize) -> f64 {
        let knot = |index: usize| self.knots.at(index);
        let at = knot(index);
        // A line far from its two readings is off by more than the reading at the end.
        let beyond = |next: Knot, further: Knot| {
            let (between, away) = (distance(next.a, further.a), distance(at.a, next.a));
            let part = (2.0 * between.abs() / away.abs()).min(1.0);
            off_line(next, further, at) * if self.shrinks_ends() { part } else { 1.0 }
        };
        match index {
            _ if segment.len() < 3 => 0.0,
            _ if index == segment.start => beyond(knot(index + 1), knot(index + 2)),
            _ if index + 1 == segment.end => beyond(knot(index - 1), knot(index - 2)),
            _ => off_line(knot(index - 1), knot(index + 1), at),
        }
    }

    /// The rate of the hop and of its segments, and w of each gap (rules R4, R5, R33, R35).
    fn find_rates(&mut self, facts: &Facts) -> Vec<Pace> {
        let segments = self.knots.segments();
        let measured = Again::new(|| self.measured_in(&segments));
        let all = || measured.iter();
        let count = all().count();
        let prior =
            (!facts.is_counter && (self.nominal_rate == 1.0 || count == 0)).then_some(facts.prior);
        let of_hop = match self.tells {
            Tells::Possible(_) => Prior { rate: self.nominal_rate, error: prior }.with(all),
            Tells::Long(_) | Tells::Sure(_) => self.median_of(all),
        };
        let spread = all().map(|gap| (gap.rate - of_hop.rate).abs());
        let spread = spread.fold(self.rate_spread, f64::max);
        let most = match self.tells {
            Tells::Possible(_) => {
                let usual = median_sigma(all).unwrap_or(f64::INFINITY);
                LESS_SURE * usual.min(prior.unwrap_or(f64::INFINITY))
            }
            Tells::Long(_) | Tells::Sure(_) => f64::INFINITY,
        };
        (self.rate, self.rate_error, self.rate_spread) = (of_hop.rate, of_hop.error, spread);
        if !matches!(self.tells, Tells::Sure(_)) {
            let told = count.max(1) as f64;
            self.least_wander = LEAST_WANDER.max(UNTOLD_WOBBLE / told);
        }
        let is_sure = move |gap: &Measured| gap.sigma <= most;
        self.find_outside(&segments, count, is_sure);
        for segment in &segments {
            self.find_wanders(segment.clone(), is_sure);
        }
        self.find_usual_wander(&segments, is_sure);
        let pace = |segment: &Range<usize>| self.pace(segment, facts.prior);
        segments.iter().map(pace).collect()
    }

    /// The usual w, and the usual length of a gap with it.
    fn find_usual_wander(
        &mut self,
        segments: &[Range<usize>],
        is_sure: impl Fn(&Measured) -> bool,
    ) {
        let gaps = || segments.iter().flat_map(|of| self.knots.gaps(of.clone()));
        let length = |(from, to): (Knot, Knot)| distance(from.a, to.a);
        let is_sure =
            |&(from, to): &(Knot, Knot)| self.measured(from, to).is_some_and(|gap| is_sure(&gap));
        let with_length = |gap: (Knot, Knot)| (f64::from(gap.0.wander), length(gap));
        let sure = Again::new(|| gaps().filter(is_sure).map(with_length));
        let usual = median(|| sure.iter().map(|(wander, _)| wander));
        let of_sure = median(|| sure.iter().map(|(_, length)| length));
        let lengths = median(|| gaps().map(length)).zip(of_sure);
        let usual_length = lengths.map_or(f64::INFINITY, |(all, sure)| all.max(SHORTER * sure));
        self.usual_wander = usual.unwrap_or(self.least_wander);
        self.usual_length = usual_length;
    }

    /// The growth of the error outside, and whether the drift is known (rules R35, R37).
    fn find_outside(
        &mut self,
        segments: &[Range<usize>],
        gaps: usize,
        is_sure: impl Fn(&Measured) -> bool,
    ) {
        if !matches!(self.tells, Tells::Possible(_)) {
            self.is_drift_known = gaps > 0;
            return;
        }
        let sure = self.measured_in(segments).filter(is_sure);
        let changes = sure.map(|gap| changed(gap.rate - self.rate, gap.sigma));
        self.rate_doubt = self.rate_error + 2.0 * changes.fold(0.0, f64::max);
        self.is_drift_known = (self.rate - self.nominal_rate).abs() > self.rate_doubt;
        self.outside = self.rate_doubt + WANDERS_OUTSIDE.max(self.least_wander);
    }

    /// The rate of a gap.
    fn gap(&self, from: Knot, to: Knot) -> Measured {
        Measured {
            rate: rate(from, to),
            sigma: match self.tells {
                Tells::Possible(_) => sigma(from, to),
                Tells::Long(_) | Tells::Sure(_) => 0.0,
            },
        }
    }

    /// The rate of a gap; `None` if it tells none.
    fn measured(&self, from: Knot, to: Knot) -> Option<Measured> {
        let gap = self.gap(from, to);
        self.is_told(from, to, &gap).then_some(gap)
    }

    /// Whether a gap tells a rate.
    fn is_told(&self, from: Knot, to: Knot, gap: &Measured) -> bool {
        let length = distance(from.a, to.a);
        match self.tells {
            Tells::Long(short) => length >= short,
            Tells::Sure(most) => unsure(from, to) <= most,
            Tells::Possible(short) => {
                let most = self.nominal_rate.abs() * SAME_UNIT + gap.sigma;
                length >= short && (gap.rate - self.nominal_rate).abs() <= most
            }
        }
    }

    /// The rates of the gaps in some segments.
    fn measured_in(&self, segments: &[Range<usize>]) -> impl Iterator<Item = Measured> {
        let gaps = segments.iter().flat_map(|segment| self.knots.gaps(segment.clone()));
        gaps.filter_map(|(from, to)| self.measured(from, to))
    }

    /// The median rate of some gaps; that of the hop if there are none.
    fn median_of<I: Iterator<Item = Measured>>(&self, gaps: impl Fn() -> I) -> Rate {
        let rate = median(|| gaps().map(|gap| gap.rate));
        Rate { rate: rate.unwrap_or(self.rate), error: 0.0 }
    }

    /// The rate of a segment.
    fn pace(&self, segment: &Range<usize>, prior: f64) -> Pace {
        let measured = Again::new(|| self.measured_in(std::slice::from_ref(segment)));
        let gaps = || measured.iter();
        let first = self.knots.gaps(segment.clone()).next();
        let of = match self.tells {
            Tells::Possible(_) => Prior { rate: self.rate, error: Some(prior) }.with(gaps),
            Tells::Long(_) | Tells::Sure(_) => self.median_of(gaps),
        };
        Pace { of, first_sigma: first.map_or(0.0, |(from, to)| self.gap(from, to).sigma) }
    }

    /// w of each gap in a segment (rules R5, R35).
    fn find_wanders(&mut self, segment: Range<usize>, is_sure: impl Fn(&Measured) -> bool) {
        let tells =
            |fit: &Fit, from, to, gap: &Measured| fit.is_told(from, to, gap) && is_sure(gap);
        let mut knots = segment.clone().skip(1);
        let next_gap = |fit: &Fit, index: usize| {
            let (from, to) = (fit.knots.at(index - 1), fit.knots.at(index));
            let gap = fit.gap(from, to);
            (gap, tells(fit, from, to, &gap).then_some(gap))
        };
        let mut next = knots.next().map(|index| next_gap(self, index));
        let mut before = None;
        for index in segment {
            let Some((own, told)) = next else { break };
            next = knots.next().map(|index| next_gap(self, index));
            let after = next.and_then(|(_, told)| told);
            let changes = [before, after].into_iter().flatten();
            let changes =
                changes.map(|other| changed(own.rate - other.rate, own.sigma + other.sigma));
            let wander = changes.max_by(f64::total_cmp);
            let wander = wander
                .unwrap_or_else(|| changed(own.rate - self.rate, own.sigma + self.rate_error));
            before = told;
            self.knots.set_wander(index, wander.max(self.least_wander) as f32);
        }
    }

    /// For segments of one or two readings, the error follows from the ignored readings around
    /// them, unless these are off by more than `most` (rule R5).
    fn raise_few(&mut self, left_out: &LeftOut, paces: &[Pace], most: f64) {
        let segments = self.knots.segments().into_iter().zip(paces);
        for (segment, pace) in segments.filter(|(segment, _)| segment.len() < 3) {
            let around = left_out.around(&segment);
            let lines = self.knots.of(segment.clone());
            let lines = lines.map(|from| Straight { from, rate: pace.of.rate });
            let offs = lines.flat_map(|line| around.iter().map(move |&reading| line.off(reading)));
            let least = offs.filter(|&off| off <= most).fold(0.0, f64::max) as f32;
            for index in segment {
                let error = self.knots.at(index).error;
                self.knots.set_error(index, error.max(least));
            }
        }
    }

    /// The largest error between two readings, without steps.
    fn find_worst(&mut self) {
        let lines = self.knots.gaps(self.knots.all()).filter(|(from, _)| from.gap == Gap::Line);
        let errors = lines.map(|(from, to)| {
            let half = (distance(from.a, to.a) / 2.0).floor();
            f64::from(from.error.max(to.error)) + f64::from(from.wander) * half
        });
        self.worst_error_ns = errors.fold(0.0, f64::max);
    }

    /// The line of a segment, through one of its readings.
    fn straight(&self, pace: Option<&Pace>, from: usize) -> Straight {
        Straight { from: self.knots.at(from), rate: pace.map_or(self.rate, |pace| pace.of.rate) }
    }

    /// The ignored readings, and their distances.
    fn find_outliers(&mut self, left_out: &LeftOut, paces: &[Pace]) {
        let mut outliers = Vec::with_capacity(left_out.knots.len());
        let (usual, count) = (self.rate, self.knots.len());
        let segments = self.knots.segments();
        for (number, segment) in segments.iter().enumerate() {
            let lines = if left_out.before(segment.start).is_empty() {
                Vec::new()
            } else if let Some(before) = number.checked_sub(1) {
                let (j, k) = (self.knots.at(segment.start - 1), self.knots.at(segment.start));
                let slides = [Straight { from: j, rate: rate(j, k) }];
                match j.gap {
                    Gap::Slide => slides.to_vec(),
                    Gap::Line | Gap::Step => vec![
                        self.straight(paces.get(before), segment.start - 1),
                        self.straight(paces.get(number), segment.start),
                    ],
                }
            } else {
                vec![Straight { from: self.knots.at(0), rate: usual }]
            };
            for &reading in left_out.before(segment.start) {
                let off = lines.iter().map(|line| line.off(reading));
                let off = off.min_by(f64::total_cmp).unwrap_or(0.0);
                outliers.push(OffLine::new(reading, off));
            }
            for index in segment.start + 1..segment.end {
                let within = left_out.before(index);
                if within.is_empty() {
                    continue;
                }
                let (from, to) = (self.knots.at(index - 1), self.knots.at(index));
                let within = within.iter();
                outliers.extend(
                    within.map(|&reading| OffLine::new(reading, off_line(from, to, reading))),
                );
            }
        }
        if let Some(last) = self.knots.last() {
            let line = Straight { from: last, rate: usual };
            let after = left_out.before(count).iter();
            outliers.extend(after.map(|&reading| OffLine::new(reading, line.off(reading))));
        }
        let largest = |range: Range<usize>| {
            let offs = outliers[range].iter().map(|outlier| outlier.deviation_ns);
            offs.fold(0.0, f64::max)
        };
        let (before, after) = (left_out.before(0).len(), left_out.before(count).len());
        self.beyond = [largest(0..before), largest(outliers.len() - after..outliers.len())];
        self.outliers = outliers;
    }

    /// The readings after steps.
    fn find_steps(&mut self) {
        let steps = self.knots.gaps(self.knots.all()).filter(|(from, _)| from.gap != Gap::Line);
        let steps = steps.map(|(from, to)| OffLine::new(to, moved(from, to, self.nominal_rate)));
        self.steps = steps.collect();
    }

    /// An ignored reading inside a step may show on which side of the step it was; this makes the
    /// step narrower (rule R4). `wander` is the usual w.
    fn find_corners(&mut self, left_out: &LeftOut, paces: &[Pace], wander: f64) {
        let segments = self.knots.segments();
        if segments.len() < 2 || left_out.knots.is_empty() {
            return;
        }
        let mut cornered = Knots::with_capacity(self.knots.len());
        let mut last_of_segment: Option<Knot> = None;
        for (number, segment) in segments.iter().enumerate() {
            for knot in self.knots.of(segment.clone()) {
                if let Some(before) = last_of_segment.replace(knot) {
                    cornered.push(before);
                }
            }
            let Some(next) = segments.get(number + 1) else {
                break;
            };
            let (j, k) = (self.knots.at(segment.end - 1), self.knots.at(next.start));
            let left_out = left_out.before(next.start);
            if j.gap == Gap::Slide || left_out.is_empty() {
                continue;
            }
            let rate = |number: usize| paces.get(number).map(|pace| pace.of.rate);
            let (Some(ends), Some(begins)) = (rate(number), rate(number + 1)) else {
                continue;
            };
            let before = Straight { from: j, rate: ends };
            let after = Straight { from: k, rate: begins };
            let near = before.off(k) * ON_A_SIDE;
            let on = |line: Straight| move |reading: &&Knot| line.off(**reading) <= near;
            let last = left_out.iter().rev().find(on(before)).copied();
            let first = left_out.iter().find(on(after)).copied();
            if let (Some(last), Some(first)) = (last, first)
                && first.a <= last.a
            {
                continue;
            }
            let corner = |at: Knot, line: Straight, gap| {
                let away = distance(line.from.a, at.a).abs();
                Some(Knot {
                    b: line.at(at.a)?,
                    error: line.from.error + (self.outside * away) as f32,
                    wander: wander as f32,
                    gap,
                    is_corner: true,
                    ..at
                })
            };
            let ends = last.and_then(|at| corner(at, before, j.gap));
            if let (Some(corner), Some(end)) = (ends, &mut last_of_segment) {
                (end.gap, end.wander) = (Gap::Line, wander as f32);
                cornered.push(*end);
                *end = corner;
            }
            if let Some(corner) = first.and_then(|at| corner(at, after, Gap::Line))
                && let Some(before) = last_of_segment.replace(corner)
            {
                cornered.push(before);
            }
        }
        if let Some(last) = last_of_segment {
            cornered.push(last);
        }
        self.knots = cornered;
    }

    /// Facts about the steps (rules R4, R5, R35). `wander` is the usual w.
    fn find_jumps(&mut self, paces: &[Pace], wander: f64) {
        let segments = self.knots.segments();
        let after = segments.iter().zip(paces).skip(1);
        for ((segment, pace), (next, next_pace)) in segments.iter().zip(paces).zip(after) {
            let last = segment.end - 1;
            let (before, after) = (self.knots.at(last), self.knots.at(next.start));
            let (later, later_sigma, changes) = match self.knots.gaps(next.clone()).next() {
                Some((from, to)) => {
                    // Nobody measured the rate behind a corner.
                    let is_read = !from.is_corner && !to.is_corner;
                    let sigma = if is_read { next_pace.first_sigma } else { 0.0 };
                    (rate(from, to), sigma, f64::from(from.wander))
                }
                _ => (self.rate, 0.0, wander),
            };
            let Rate { rate, error: unsure } = pace.of;
            let unsure = changed(rate - later, later_sigma) + unsure + changes;
            let line = Straight { from: before, rate };
            let error = f64::from(before.error.max(after.error))
                + line.off(after)
                + unsure * distance(before.a, after.a);
            self.jumps.push(Jump { knot: last as u32, rate, error });
        }
    }

    /// Whether the residual of a reading at the end of a segment counts less if the line is far
    /// away (rule R32).
    fn shrinks_ends(&self) -> bool {
        matches!(self.tells, Tells::Possible(_))
    }

    /// The drift of the target against the source from the nominal rate, in ppm, positive if it is
    /// faster; `None` if the drift is unknown: the readings, which may be few, would show as much by
    /// chance (rule R37).
    pub fn drift_ppm(&self) -> Option<f64> {
        let relative = (self.rate - self.nominal_rate) / self.nominal_rate;
        Some(relative * 1e6).filter(|drift| self.is_drift_known && drift.is_finite())
    }

    /// The error of the drift, in ppm; `None` if the drift is unknown.
    pub fn drift_error_ppm(&self) -> Option<f64> {
        self.drift_ppm()?;
        Some(self.rate_doubt / self.nominal_rate.abs() * 1e6)
    }

    /// The kinship of the two clocks; `None` if they are strangers (rule R30).
    pub fn kinship(&self) -> Option<Kinship> {
        self.offsets.as_ref().map(|offsets| offsets.kinship)
    }

    /// The largest difference between a gap's rate and the hop's, in ppm of the nominal rate; in
    /// ppm of 1 if the target stands still.
    pub fn drift_spread_ppm(&self) -> f64 {
        let nominal = match self.nominal_rate == 0.0 {
            true => 1.0,
            false => self.nominal_rate.abs(),
        };
        self.rate_spread / nominal * 1e6
    }

    /// The interval between snapshots, in seconds, that keeps nearest neighbour within this many
    /// nanoseconds; `None` if it always is, or the drift is unknown, or the relation follows from
    /// messages and not from snapshots.
    pub fn interval_s(&self, within_ns: f64) -> Option<f64> {
        if self.ends.is_some() {
            return None;
        }
        if self.nominal_rate == 1.0 {
            self.drift_ppm()?;
        }
        let interval = within_ns / (self.rate - 1.0).abs() * 1e-9;
        Some(interval).filter(|interval| interval.is_finite())
    }
}

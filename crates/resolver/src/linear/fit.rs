//! One hop, fitted: which of its readings are on the line, which are outliers,
//! where it steps, and how sure each is (rules R1–R3, R5).
//!
//! A reading that is taken out changes what its neighbours are off their lines, so
//! rule R3 goes from worst to next worst. Only readings above the threshold are in
//! the heap, which are few in a trace and bounded by the readings in any.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

/// How far the rate of two clocks may be off what is nominal, before they do not count
/// the same unit (rule R1).
const SAME_UNIT: f64 = 1e-3;
/// How fast a clock may run away from another before it was set (rule R2).
pub(super) const OSCILLATOR: f64 = 500e-6;
/// By how much two readings of one snapshot may be off without a reason (rules R2, R3).
const APART: f64 = 2_000.0;
const OUTLIER: f64 = 1_000.0;
/// Of a clock that only shows its last tick (rules R2, R5).
pub(super) const TICK: f64 = 10e6;
/// How much shorter than usual a gap is whose rate is that of its noise (rule R1).
const SHORT: f64 = 1e-3;
/// How much less sure than usual a rate is that tells nothing (rule R9).
const UNSURE: f64 = 10.0;
/// How much more a rate may change than it usually does (rule R9).
const CHANCE: f64 = 2.0;
/// What the readings of samples have for the number of their snapshot.
const NO_SNAPSHOT: u32 = u32::MAX;
/// The least noise, and the least change of a rate (rule R5).
pub(super) const LEAST_NOISE: f64 = 100.0;
pub(super) const LEAST_WOBBLE: f64 = 1e-7;

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
    /// Whether the gap after it is a step.
    pub steps: bool,
}

/// What is known of a step besides its readings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jump {
    /// The reading before it.
    pub knot: u32,
    /// The median rate of the segment before it.
    pub rate: f64,
    pub size: f64,
}

/// A reading that is not on the line, or that begins one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffLine {
    /// The snapshot, by its number in the graph; `None` of a sample (rule R9).
    pub snapshot: Option<crate::SnapshotId>,
    /// What the source of the hop read, in ns.
    pub from_value: i64,
    /// What its target read, in ns.
    pub to_value: i64,
    /// Of an outlier, how far it is off the line of its neighbours; of a step, how
    /// far the target moved against the source. In ns of the target.
    pub deviation_ns: f64,
}

/// Which gaps tell a rate.
#[derive(Debug, Clone, Copy)]
enum Tells {
    /// Those that are not shorter.
    Long(f64),
    /// Those whose rate is no less sure.
    Sure(f64),
}

/// How much the error grows outside of the readings.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outside {
    /// By what rates were seen to change (rule R5).
    Wanders,
    /// By that, and by how far the usual rate may be off or change (rule R9).
    Unsure(f64),
    /// Not at all: the readings are no readings, but what two clocks are to each other.
    Exact,
}

/// A hop, fitted (rules R1–R5).
///
/// Times are nanoseconds of the target clock, rates are nanoseconds of the target in
/// one of the source. [`Estimates`](super::Estimates) has the example.
#[derive(Debug, Clone)]
pub struct Fit {
    /// How many snapshots hold both clocks, or samples are used (rule R9); of equal source values
    /// one.
    pub readings: usize,
    /// κ of rule R1: 1, unless one of the clocks does not count nanoseconds.
    pub nominal_rate: f64,
    /// The median rate between readings; `None` if there is none to know it by.
    pub median_rate: Option<f64>,
    /// The largest difference of a gap's rate to the median.
    pub rate_spread: f64,
    /// The noise of rule R5.
    pub noise_ns: f64,
    /// The first reading after each step (rule R2).
    pub steps: Vec<OffLine>,
    /// Readings that are left out (rule R3).
    pub outliers: Vec<OffLine>,
    /// The largest error between two readings, without steps.
    pub worst_error_ns: f64,
    /// The largest jump of nearest neighbour at a reading, without steps.
    pub worst_error_nearest_ns: f64,
    pub(super) knots: Vec<Knot>,
    pub(super) jumps: Vec<Jump>,
    /// False if nobody knows how far it is off.
    pub(super) is_known: bool,
    tells: Tells,
    outside: Outside,
}

/// How far one number is from another.
pub(super) fn distance(from: i64, to: i64) -> f64 {
    (i128::from(to) - i128::from(from)) as f64
}

/// How far b moves against κ·a between two readings. κ is 1 for nearly all clocks, whose
/// readings are then compared as the integers that they are.
fn moved(from: Knot, to: Knot, kappa: f64) -> f64 {
    let forward = i128::from(to.a) - i128::from(from.a);
    let other = i128::from(to.b) - i128::from(from.b);
    (other - forward) as f64 - forward as f64 * (kappa - 1.0)
}

/// b per a between two readings of different a.
fn rate(from: Knot, to: Knot) -> f64 {
    1.0 + moved(from, to, 1.0) / distance(from.a, to.a)
}

/// How far a reading is off the straight line through two others.
fn off_line(first: Knot, second: Knot, at: Knot) -> f64 {
    let slope = moved(first, second, 1.0) / distance(first.a, second.a);
    (moved(first, at, 1.0) - distance(first.a, at.a) * slope).abs()
}

/// The two numbers in the middle, which of an odd number are one; `None` of no numbers.
/// Changes their order.
fn middles(numbers: &mut [f64]) -> Option<[f64; 2]> {
    if numbers.is_empty() {
        return None;
    }
    let middle = numbers.len() / 2;
    let is_odd = numbers.len() % 2 == 1;
    let (before, &mut upper, _) = numbers.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = before.iter().copied().max_by(f64::total_cmp);
    Some([lower.filter(|_| !is_odd).unwrap_or(upper), upper])
}

fn median(numbers: &mut [f64]) -> Option<f64> {
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
            steps: false,
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

impl Tells {
    fn holds(self, from: Knot, to: Knot) -> bool {
        match self {
            Tells::Long(short) => distance(from.a, to.a) >= short,
            Tells::Sure(most) => unsure(from, to) <= most,
        }
    }
}

/// How far the rate of two samples may be off.
fn unsure(from: Knot, to: Knot) -> f64 {
    f64::from(from.error + to.error) / distance(from.a, to.a)
}

impl OffLine {
    fn new(knot: Knot, deviation_ns: f64) -> OffLine {
        OffLine {
            snapshot: knot.snapshot(),
            from_value: knot.a,
            to_value: knot.b,
            deviation_ns,
        }
    }
}

impl Fit {
    /// Fits a hop to its readings, in order of `a`. `is_coarse` tells that one of the clocks
    /// only shows its last tick.
    pub(super) fn new(mut knots: Vec<Knot>, is_coarse: bool) -> Fit {
        knots.dedup_by_key(|knot| knot.a);
        let mut numbers: Vec<f64> = gaps(&knots)
            .map(|(from, to)| distance(from.a, to.a))
            .collect();
        let usual = median(&mut numbers).unwrap_or(0.0);
        // In which a tick is more than what an oscillator does.
        let ticks = if is_coarse { TICK / OSCILLATOR } else { 0.0 };
        let short = ticks.max(SHORT * usual);
        numbers.clear();
        let told = gaps(&knots).filter(|(from, to)| distance(from.a, to.a) >= short);
        numbers.extend(told.map(|(from, to)| rate(from, to)));
        // Of two gaps, one may be a suspend.
        let off = |rate: &f64| (rate - 1.0).abs();
        let measured = middles(&mut numbers).into_iter().flatten();
        let kappa = measured
            .min_by(|one, other| off(one).total_cmp(&off(other)))
            .filter(|measured| off(measured) > SAME_UNIT)
            .unwrap_or(1.0);
        let slack = if is_coarse { TICK } else { APART };
        let goes_on = |from: &Knot, to: &Knot| {
            let most = kappa.abs() * OSCILLATOR * distance(from.a, to.a) + slack;
            moved(*from, *to, kappa).abs() <= most
        };
        numbers.clear();
        for segment in knots.chunk_by(goes_on) {
            let inner = segment.windows(3);
            numbers.extend(inner.map(|three| off_line(three[0], three[2], three[1])));
        }
        let usual = median(&mut numbers).unwrap_or(0.0);
        let mut fit = Fit {
            readings: knots.len(),
            nominal_rate: kappa,
            ..Fit::empty(Tells::Long(short))
        };
        numbers.clear();
        let mut residuals = Vec::with_capacity(knots.len());
        // How many readings are kept of all segments up to each.
        let (mut kept, mut ends) = (0, Vec::new());
        for segment in knots.chunk_by(goes_on) {
            for (from, to) in gaps(segment) {
                let jump = moved(from, to, 1.0).abs();
                fit.worst_error_nearest_ns = fit.worst_error_nearest_ns.max(jump);
            }
            let mut sieve = Sieve::new(segment);
            sieve.sift(OUTLIER.max(10.0 * usual), |knot, residual| {
                fit.outliers.push(OffLine::new(knot, residual));
            });
            for index in 0..segment.len() {
                let residual = sieve.holds(index).then(|| sieve.residual(index));
                numbers.extend(residual.filter(|_| sieve.is_inner(index)));
                residuals.push(residual.map_or(f32::NAN, |residual| residual as f32));
            }
            kept += sieve.count;
            ends.push(kept);
        }
        fit.outliers
            .sort_unstable_by_key(|outlier| outlier.from_value);
        for (knot, residual) in knots.iter_mut().zip(residuals) {
            knot.error = residual;
        }
        knots.retain(|knot| !knot.error.is_nan());
        // What is after the last segment is no step.
        ends.pop();
        for end in ends {
            if let Some(last) = knots.get_mut(end - 1) {
                last.steps = true;
            }
        }
        fit.knots = knots;
        fit.find_errors(&mut numbers, is_coarse);
        fit.find_rates(&mut numbers);
        fit
    }

    fn empty(tells: Tells) -> Fit {
        Fit {
            readings: 0,
            nominal_rate: 1.0,
            median_rate: None,
            rate_spread: 0.0,
            noise_ns: 0.0,
            steps: Vec::new(),
            outliers: Vec::new(),
            worst_error_ns: 0.0,
            worst_error_nearest_ns: 0.0,
            knots: Vec::new(),
            jumps: Vec::new(),
            is_known: true,
            tells,
            outside: Outside::Wanders,
        }
    }

    /// Fits a hop to what is assumed or told of its clocks. Nobody knows an error unless that
    /// `is_exact`.
    pub(super) fn said(knots: Vec<Knot>, is_exact: bool) -> Fit {
        Fit {
            is_known: is_exact,
            outside: Outside::Exact,
            ..Fit::new(knots, false)
        }
    }

    /// Fits a hop to samples that are used (rule R9), each with its error.
    pub(super) fn of_samples(mut knots: Vec<Knot>) -> Fit {
        knots.sort_unstable_by_key(|knot| (knot.a, knot.b));
        knots.dedup_by_key(|knot| knot.a);
        let mut numbers = Vec::with_capacity(knots.len());
        let mut worst_error_nearest_ns = 0.0;
        for index in 1..knots.len() {
            let (from, to) = (knots[index - 1], knots[index]);
            let jump = moved(from, to, 1.0).abs();
            let most = OSCILLATOR * distance(from.a, to.a) + f64::from(from.error + to.error);
            knots[index - 1].steps = jump > most;
            if jump <= most {
                numbers.push(unsure(from, to));
                worst_error_nearest_ns = f64::max(worst_error_nearest_ns, jump);
            }
        }
        let usual = median(&mut numbers);
        numbers.clear();
        numbers.extend(knots.iter().map(|knot| f64::from(knot.error)));
        let mut fit = Fit {
            readings: knots.len(),
            noise_ns: median(&mut numbers).unwrap_or(0.0),
            worst_error_nearest_ns,
            knots,
            ..Fit::empty(Tells::Sure(UNSURE * usual.unwrap_or(0.0)))
        };
        fit.find_rates(&mut numbers);
        let wobble = fit.raise_wobbles(&mut numbers);
        fit.outside = Outside::Unsure(wobble + usual.unwrap_or(OSCILLATOR));
        fit
    }

    /// That a rate changes little here and there is chance: no gap wobbles less than so often what
    /// is usual, which this returns (rule R9).
    fn raise_wobbles(&mut self, wobbles: &mut Vec<f64>) -> f64 {
        let lines = || self.knots.windows(2).filter(|gap| !gap[0].steps);
        wobbles.clear();
        wobbles.extend(lines().map(|gap| f64::from(gap[0].wobble)));
        let least = median(wobbles).map_or(LEAST_WOBBLE, |usual| CHANCE * usual);
        let errors = lines().map(|gap| {
            let half = (distance(gap[0].a, gap[1].a) / 2.0).floor();
            f64::from(gap[0].error.max(gap[1].error)) + least.max(gap[0].wobble.into()) * half
        });
        self.worst_error_ns = errors.fold(0.0, f64::max);
        for knot in &mut self.knots {
            knot.wobble = knot.wobble.max(least as f32);
        }
        least
    }

    /// err(i) of rule R5.
    fn find_errors(&mut self, residuals: &mut [f64], is_coarse: bool) {
        let least = if is_coarse { TICK } else { LEAST_NOISE };
        let usual = median(residuals).unwrap_or(0.0);
        self.noise_ns = least.max(3.0 * usual);
        for knot in &mut self.knots {
            knot.error = knot.error.max(self.noise_ns as f32);
        }
    }

    /// The rates of rules R4 and R5.
    fn find_rates(&mut self, rates: &mut Vec<f64>) {
        rates.clear();
        let segments = self.knots.chunk_by(|knot, _| !knot.steps);
        rates.extend(segments.flat_map(|segment| self.rates(segment)).flatten());
        self.median_rate = median(rates);
        let usual = self.usual_rate();
        for rate in rates.iter() {
            self.rate_spread = self.rate_spread.max((rate - usual).abs());
        }
        let mut start = 0;
        while start < self.knots.len() {
            let rest = &self.knots[start..];
            let count = rest.iter().take_while(|knot| !knot.steps).count();
            let end = self.knots.len().min(start + count + 1);
            self.find_wobbles(start..end, usual);
            if let Some(&next) = self.knots.get(end) {
                rates.clear();
                rates.extend(self.rates(&self.knots[start..end]).flatten());
                self.step(end - 1, next, median(rates).unwrap_or(usual));
            }
            start = end;
        }
    }

    /// The rates of the gaps between readings; `None` of one that tells none.
    fn rates<'k>(&self, knots: &'k [Knot]) -> impl Iterator<Item = Option<f64>> + use<'k> {
        let tells = self.tells;
        let gaps = gaps(knots);
        gaps.map(move |(from, to)| tells.holds(from, to).then(|| rate(from, to)))
    }

    /// w of rule R5 in a segment.
    fn find_wobbles(&mut self, segment: Range<usize>, usual: f64) {
        let rates: Vec<Option<f64>> = self.rates(&self.knots[segment.clone()]).collect();
        let knots = &mut self.knots[segment];
        for index in 0..rates.len() {
            let (from, to) = (knots[index], knots[index + 1]);
            let own = rate(from, to);
            let before = index.checked_sub(1).and_then(|before| rates[before]);
            let beside = [before, rates.get(index + 1).copied().flatten()];
            let differences = beside
                .into_iter()
                .flatten()
                .map(|beside| (own - beside).abs());
            let wobble = differences.max_by(f64::total_cmp);
            let wobble = wobble.unwrap_or((own - usual).abs()).max(LEAST_WOBBLE);
            knots[index].wobble = wobble as f32;
            let half = (distance(from.a, to.a) / 2.0).floor();
            let error = f64::from(from.error.max(to.error)) + wobble * half;
            self.worst_error_ns = self.worst_error_ns.max(error);
        }
    }

    fn step(&mut self, before: usize, next: Knot, rate: f64) {
        let size = moved(self.knots[before], next, self.nominal_rate);
        self.steps.push(OffLine::new(next, size));
        self.jumps.push(Jump {
            knot: before as u32,
            rate,
            size: size.abs(),
        });
    }

    /// The median rate of the hop, κ if there is none (rule R4).
    pub(super) fn usual_rate(&self) -> f64 {
        self.median_rate.unwrap_or(self.nominal_rate)
    }

    /// How much the error grows outside of the readings (rules R5, R9).
    pub(super) fn outside(&self) -> f64 {
        match self.outside {
            Outside::Wanders => self.rate_spread + LEAST_WOBBLE,
            Outside::Unsure(unsure) => self.rate_spread + unsure,
            Outside::Exact => 0.0,
        }
    }

    /// By how many ppm the target is faster than the source, both at what is nominal;
    /// `None` if there is nothing to know it by.
    pub fn drift_ppm(&self) -> Option<f64> {
        let relative = self.median_rate? / self.nominal_rate - 1.0;
        Some(relative * 1e6).filter(|drift| drift.is_finite())
    }

    /// The largest difference of a gap's rate to the median, in ppm of the nominal rate; of 1 where
    /// the target stands still.
    pub fn drift_spread_ppm(&self) -> f64 {
        let nominal = match self.nominal_rate == 0.0 {
            true => 1.0,
            false => self.nominal_rate.abs(),
        };
        self.rate_spread / nominal * 1e6
    }

    /// How often a snapshot is needed for nearest neighbour to stay within so many
    /// nanoseconds, in seconds; `None` if it always does.
    pub fn interval_s(&self, within_ns: f64) -> Option<f64> {
        let interval = within_ns / (self.median_rate? - 1.0).abs() * 1e-9;
        Some(interval).filter(|interval| interval.is_finite())
    }
}

fn gaps(knots: &[Knot]) -> impl Iterator<Item = (Knot, Knot)> {
    knots.iter().copied().zip(knots.iter().skip(1).copied())
}

/// A segment while rule R3 takes readings out of it.
struct Sieve<'p> {
    knots: &'p [Knot],
    /// How many are left.
    count: usize,
    /// The neighbours of each that are left; none while all are.
    links: Vec<Links>,
}

/// Where the neighbours are; `NONE` where there is none.
#[derive(Debug, Clone, Copy)]
struct Links {
    before: u32,
    after: u32,
    is_out: bool,
}

const NONE: u32 = u32::MAX;

/// A reading that may be taken out: the worst first, of equal ones the first.
#[derive(Debug, PartialEq)]
struct Candidate {
    residual: f64,
    index: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_residual = self.residual.total_cmp(&other.residual);
        by_residual.then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'p> Sieve<'p> {
    fn new(knots: &'p [Knot]) -> Self {
        Sieve {
            knots,
            count: knots.len(),
            links: Vec::new(),
        }
    }

    fn holds(&self, index: usize) -> bool {
        self.links.get(index).is_none_or(|links| !links.is_out)
    }

    fn before(&self, index: usize) -> Option<usize> {
        match self.links.get(index) {
            Some(links) => (links.before != NONE).then_some(links.before as usize),
            None => index.checked_sub(1),
        }
    }

    fn after(&self, index: usize) -> Option<usize> {
        match self.links.get(index) {
            Some(links) => (links.after != NONE).then_some(links.after as usize),
            None => Some(index + 1).filter(|&after| after < self.knots.len()),
        }
    }

    fn is_inner(&self, index: usize) -> bool {
        self.before(index).is_some() && self.after(index).is_some()
    }

    /// The residual of rule R3.
    fn residual(&self, index: usize) -> f64 {
        let (before, after) = (self.before(index), self.after(index));
        let at = self.knots[index];
        let further = match (before, after) {
            (Some(before), Some(after)) => {
                return off_line(self.knots[before], self.knots[after], at);
            }
            (None, Some(next)) => self.after(next).map(|further| (next, further)),
            (Some(next), None) => self.before(next).map(|further| (next, further)),
            (None, None) => None,
        };
        further.map_or(0.0, |(next, further)| {
            let (next, further) = (self.knots[next], self.knots[further]);
            // What the two may be off, this one is off that many times.
            let reach = distance(at.a, next.a) / distance(next.a, further.a);
            off_line(next, further, at) / (1.0 + 2.0 * reach)
        })
    }

    fn candidate(&self, index: usize, threshold: f64) -> Option<Candidate> {
        let residual = self.residual(index);
        (residual > threshold).then_some(Candidate { residual, index })
    }

    /// Takes out the worst reading while one is off by more than the threshold.
    fn sift(&mut self, threshold: f64, mut each: impl FnMut(Knot, f64)) {
        let all = 0..self.knots.len();
        let candidates = all.filter_map(|index| self.candidate(index, threshold));
        let mut candidates: BinaryHeap<Candidate> = candidates.collect();
        if candidates.is_empty() || self.count < 3 {
            return;
        }
        self.link();
        while let Some(worst) = candidates.pop() {
            if self.count < 3 {
                return;
            }
            let is_known = self.holds(worst.index);
            if !is_known || self.residual(worst.index) != worst.residual {
                continue; // what it is off now is in the heap, too
            }
            let (before, after) = (self.before(worst.index), self.after(worst.index));
            self.take_out(worst.index);
            each(self.knots[worst.index], worst.residual);
            let further_before = before.and_then(|before| self.before(before));
            let further_after = after.and_then(|after| self.after(after));
            let changed = [further_before, before, after, further_after];
            for index in changed.into_iter().flatten() {
                candidates.extend(self.candidate(index, threshold));
            }
        }
    }

    fn link(&mut self) {
        let last = self.knots.len() - 1;
        let links = (0..=last).map(|index| Links {
            before: index.checked_sub(1).map_or(NONE, |before| before as u32),
            after: if index < last { index as u32 + 1 } else { NONE },
            is_out: false,
        });
        self.links = links.collect();
    }

    fn take_out(&mut self, index: usize) {
        let Links { before, after, .. } = self.links[index];
        self.links[index].is_out = true;
        if before != NONE {
            self.links[before as usize].after = after;
        }
        if after != NONE {
            self.links[after as usize].before = before;
        }
        self.count -= 1;
    }
}

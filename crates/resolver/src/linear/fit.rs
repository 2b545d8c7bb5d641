//! Fits one hop: the error of each reading, the rates, and the steps (rules R1, R4, R5).
//! `choice.rs` chooses the readings.

use std::ops::Range;

use super::choice::{self, Choice, Hop, TICK};
use super::exact::{real, rounded};
use super::knot::{Gap, Knot, distance, median, middles, moved, off_line, rate};

/// If the rate of two clocks differs from the nominal one by more than this, they do not count the
/// same unit (rule R1).
const SAME_UNIT: f64 = 1e-3;
/// The largest drift of a clock against another; beyond it, a clock was set (rule R9).
pub(super) const OSCILLATOR: f64 = 500e-6;
/// How long a coarse clock has to be read to know its rate (rule R1).
const TELLS_COARSE: f64 = 20e9;
/// A rate without evidence has an error larger than usual by this factor (rule R9).
const UNSURE: f64 = 10.0;
/// A rate may change by more than usual by this factor (rule R9).
const CHANCE: f64 = 2.0;
/// The least noise, and the least change of a rate (rule R5).
pub(super) const LEAST_NOISE: f64 = 100.0;
pub(super) const LEAST_WOBBLE: f64 = 1e-7;
/// The least noise, and the least change of a rate, for this many numbers.
const UNTOLD_NOISE: f64 = 1_000.0;
const UNTOLD_WOBBLE: f64 = 1e-6;
/// From this many residuals of second neighbours on, they tell the noise in a residual.
const SECONDS: usize = 8;
/// Up to this distance, readings that are left out say something about a segment of one or two
/// (rule R5).
const APART: f64 = 1e6;
/// A gap is long if it is longer than the usual one by this factor.
const LONG: f64 = 1.5;
/// How near to a line a reading that is left out in a step must be, as a part of the distance
/// between the lines (rule R4).
const ON_A_SIDE: f64 = 0.25;

/// Further facts about a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jump {
    /// The corner before it.
    pub knot: u32,
    /// The median rate of the segment before it.
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
    /// Gaps of at least this length.
    Long(f64),
    /// Gaps whose rate has at most this error.
    Sure(f64),
}

/// The growth of the error outside of the readings.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Outside {
    /// By the observed changes of the rate (rule R5).
    Wanders,
    /// By these, and by the possible error or change of the usual rate (rule R9).
    Unsure(f64),
    /// Not at all, because the readings are an exact relation of two clocks.
    Exact,
}

/// A fitted hop (rules R1–R5).
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
    /// The median rate between readings; `None` if it is unknown.
    pub median_rate: Option<f64>,
    /// The largest difference between a gap's rate and the median.
    pub rate_spread: f64,
    /// The noise (rule R5).
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
    /// The largest distance of ignored readings from the line, before all knots and after all knots
    /// (rule R5).
    pub(super) beyond: [f64; 2],
    /// The least w of a gap, the possible movement of the line in it.
    least_wobble: f64,
    /// False if the error is unknown.
    pub(super) is_known: bool,
    tells: Tells,
    outside: Outside,
}

impl Tells {
    fn holds(self, from: Knot, to: Knot) -> bool {
        match self {
            Tells::Long(short) => distance(from.a, to.a) >= short,
            Tells::Sure(most) => unsure(from, to) <= most,
        }
    }
}

/// The possible error of the rate between two samples.
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

/// Two numbers that make a segment of readings a line: its begin, and its rate.
#[derive(Debug, Clone, Copy)]
struct Straight {
    from: Knot,
    rate: f64,
}

impl Straight {
    /// The distance of a reading above the line.
    fn ahead(&self, at: Knot) -> f64 {
        moved(self.from, at, 1.0) - distance(self.from.a, at.a) * (self.rate - 1.0)
    }

    fn off(&self, at: Knot) -> f64 {
        self.ahead(at).abs()
    }

    /// The line at a reading of the source; `None` if no clock can have that reading.
    fn at(&self, a: i64) -> Option<i64> {
        let forward = i128::from(a) - i128::from(self.from.a);
        let gained = rounded(real(forward) * (self.rate - 1.0));
        i64::try_from(i128::from(self.from.b) + forward + gained).ok()
    }
}

/// The ignored readings, with the used readings around them.
struct LeftOut {
    knots: Vec<Knot>,
    /// The number of ignored readings before each used knot, and after all.
    ends: Vec<usize>,
}

impl LeftOut {
    /// The readings that a choice does not use, except in a group with a used reading.
    fn new(knots: &[Knot], choice: &Choice) -> LeftOut {
        let mut out = LeftOut {
            knots: Vec::new(),
            ends: Vec::with_capacity(choice.used.len()),
        };
        let mut next = 0;
        let mut group = None;
        let is_out = |index: usize, group: Option<usize>, next_group: Option<usize>| {
            let own = choice.groups.get(index).copied();
            own != group && own != next_group
        };
        for &(used, _) in &choice.used {
            let own = choice.groups.get(used).copied();
            let between = (next..used).filter(|&index| is_out(index, group, own));
            out.knots.extend(between.map(|index| knots[index]));
            out.ends.push(out.knots.len());
            (next, group) = (used + 1, own);
        }
        let after = (next..knots.len()).filter(|&index| is_out(index, group, None));
        out.knots.extend(after.map(|index| knots[index]));
        out
    }

    /// The ignored readings between a used knot and the one before it; for the number after the
    /// last knot, those after it.
    fn before(&self, knot: usize) -> &[Knot] {
        self.between(knot, knot)
    }

    /// The ignored readings between the segment before a segment and the segment after it.
    fn around(&self, segment: &Range<usize>) -> &[Knot] {
        self.between(segment.start, segment.end)
    }

    /// The ignored readings after the knot before `first`, and before `last`.
    fn between(&self, first: usize, last: usize) -> &[Knot] {
        let end = |knot: usize| self.ends.get(knot).copied().unwrap_or(self.knots.len());
        let start = first.checked_sub(1).map_or(0, end);
        &self.knots[start..end(last)]
    }
}

impl Fit {
    /// Fits a hop to its readings, in the order of `a`. `is_coarse` says that one of the clocks
    /// only shows its last tick.
    pub(super) fn new(knots: Vec<Knot>, is_coarse: bool) -> Fit {
        Fit::of_readings(knots, is_coarse, UNTOLD_NOISE)
    }

    /// `untold` is the noise if no reading shows it.
    fn of_readings(mut knots: Vec<Knot>, is_coarse: bool, untold: f64) -> Fit {
        knots.dedup_by_key(|knot| knot.a);
        let mut numbers: Vec<f64> = gaps(&knots)
            .map(|(from, to)| distance(from.a, to.a))
            .collect();
        let short = choice::short(&mut numbers);
        let least = if is_coarse { TELLS_COARSE } else { 0.0 };
        let tells = Tells::Long(short.max(least));
        numbers.clear();
        let told = gaps(&knots).filter(|&(from, to)| tells.holds(from, to));
        numbers.extend(told.map(|(from, to)| rate(from, to)));
        // Of two gaps, one may be a suspend.
        let off = |rate: &f64| (rate - 1.0).abs();
        let measured = middles(&mut numbers).into_iter().flatten();
        let kappa = measured
            .min_by(|one, other| off(one).total_cmp(&off(other)))
            .filter(|measured| off(measured) > SAME_UNIT)
            .unwrap_or(1.0);
        let hop = Hop {
            kappa,
            short,
            is_coarse,
        };
        let choice = hop.choose(&knots);
        let left_out = LeftOut::new(&knots, &choice);
        let used = choice.used.iter();
        let used = used.map(|&(index, gap)| Knot {
            gap,
            ..knots[index]
        });
        let mut fit = Fit {
            readings: knots.len(),
            nominal_rate: kappa,
            knots: used.collect(),
            ..Fit::empty(tells)
        };
        for pair in choice.used.windows(2) {
            if pair[0].1 == Gap::Line {
                let all = &knots[pair[0].0..=pair[1].0];
                let gaps = gaps(all).filter(|&(from, to)| !hop.leaps(from, to));
                let jumps = gaps.map(|(from, to)| moved(from, to, 1.0).abs());
                fit.worst_error_nearest_ns = jumps.fold(fit.worst_error_nearest_ns, f64::max);
            }
        }
        fit.find_errors(&mut numbers, is_coarse, untold);
        fit.find_rates(&mut numbers);
        let wobble = fit.raise_long(&mut numbers);
        fit.raise_few(&left_out, if is_coarse { TICK } else { APART });
        fit.find_worst();
        fit.find_outliers(&left_out);
        fit.find_steps();
        let medians = fit.medians();
        fit.find_corners(&left_out, &medians, wobble);
        fit.find_jumps(&medians, wobble);
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
            beyond: [0.0; 2],
            least_wobble: LEAST_WOBBLE,
            is_known: true,
            tells,
            outside: Outside::Wanders,
        }
    }

    /// Fits a hop to an assumption or a manifest's statement about its clocks. The error is unknown
    /// unless `is_exact`.
    pub(super) fn said(knots: Vec<Knot>, is_exact: bool) -> Fit {
        Fit {
            is_known: is_exact,
            outside: Outside::Exact,
            ..Fit::of_readings(knots, false, LEAST_NOISE)
        }
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
        fit.find_worst();
        fit.find_steps();
        let medians = fit.medians();
        fit.find_jumps(&medians, wobble);
        fit.outside = Outside::Unsure(wobble + usual.unwrap_or(OSCILLATOR));
        fit
    }

    /// A rate may change little here by chance, so no gap has a smaller w than this part of the
    /// usual one, which this returns (rule R9).
    fn raise_wobbles(&mut self, wobbles: &mut Vec<f64>) -> f64 {
        self.wobbles(wobbles);
        let least = median(wobbles).map_or(LEAST_WOBBLE, |usual| CHANCE * usual);
        for knot in &mut self.knots {
            knot.wobble = knot.wobble.max(least as f32);
        }
        least
    }

    /// w of all gaps that are lines.
    fn wobbles(&self, wobbles: &mut Vec<f64>) {
        wobbles.clear();
        let lines = self.knots.windows(2).filter(|gap| gap[0].gap == Gap::Line);
        wobbles.extend(lines.map(|gap| f64::from(gap[0].wobble)));
    }

    /// If a gap is longer than usual, its w is the movement of the rate in this time (rule R5).
    /// Returns the usual w.
    fn raise_long(&mut self, numbers: &mut Vec<f64>) -> f64 {
        self.wobbles(numbers);
        let usual = median(numbers).unwrap_or(self.least_wobble);
        let lines = self.knots.windows(2).filter(|gap| gap[0].gap == Gap::Line);
        numbers.clear();
        numbers.extend(lines.map(|gap| distance(gap[0].a, gap[1].a)));
        let long = median(numbers).unwrap_or(0.0);
        for index in 1..self.knots.len() {
            let (from, to) = (self.knots[index - 1], self.knots[index]);
            let span = distance(from.a, to.a);
            if from.gap == Gap::Line && span > LONG * long {
                let least = usual * (span / long).sqrt();
                self.knots[index - 1].wobble = from.wobble.max(least as f32);
            }
        }
        usual
    }

    /// The error of each reading, err(i) of rule R5. `untold` is the noise if no reading shows it.
    fn find_errors(&mut self, residuals: &mut Vec<f64>, is_coarse: bool, untold: f64) {
        residuals.clear();
        let mut seconds = Vec::new();
        for segment in self.segments() {
            let knots = &self.knots[segment];
            residuals.extend(knots.windows(3).map(|of| off_line(of[0], of[2], of[1])));
            seconds.extend(knots.windows(5).map(|of| off_line(of[0], of[4], of[2])));
        }
        let count = residuals.len() as f64;
        let usual = median(residuals).unwrap_or(0.0);
        let wanders = match seconds.len() >= SECONDS && usual > 0.0 {
            true => median(&mut seconds).map_or(0.0, |second| (second / usual).powi(2) - 1.0),
            false => 0.0,
        };
        let part = f64::max(1.0 / 9.0, 1.0 - wanders.max(0.0) / 7.0).sqrt();
        let least = if is_coarse { TICK } else { LEAST_NOISE };
        let told = 3.0 * part * (1.0 + 1.0 / count.max(1.0)) * usual;
        self.noise_ns = least.max(untold / (1.0 + count)).max(told);
        for segment in self.segments() {
            for index in segment.clone() {
                let error = self.noise_ns.max(self.residual(&segment, index));
                self.knots[index].error = error as f32;
            }
        }
    }

    /// The distance of a reading from the line of its neighbours in its segment.
    fn residual(&self, segment: &Range<usize>, index: usize) -> f64 {
        let knots = &self.knots[segment.clone()];
        let at = self.knots[index];
        match knots {
            [] | [_] | [_, _] => 0.0,
            [_, next, further, ..] if index == segment.start => off_line(*next, *further, at),
            [.., further, next, _] if index + 1 == segment.end => off_line(*next, *further, at),
            _ => off_line(self.knots[index - 1], self.knots[index + 1], at),
        }
    }

    /// The segments, as ranges of the knots.
    fn segments(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let of = self.knots.chunk_by(|knot, _| knot.gap == Gap::Line);
        let of = of.map(|segment| {
            let from = start;
            start += segment.len();
            from..start
        });
        of.collect()
    }

    /// The rates of the knots and segments (rules R4 and R5).
    fn find_rates(&mut self, rates: &mut Vec<f64>) {
        rates.clear();
        let segments = self.segments();
        for segment in &segments {
            rates.extend(self.rates(&self.knots[segment.clone()]).flatten());
        }
        self.median_rate = median(rates);
        let usual = self.usual_rate();
        for rate in rates.iter() {
            self.rate_spread = self.rate_spread.max((rate - usual).abs());
        }
        if let Tells::Long(_) = self.tells {
            let told = rates.len().max(1) as f64;
            self.least_wobble = LEAST_WOBBLE.max(UNTOLD_WOBBLE / told);
        }
        for segment in segments {
            self.find_wobbles(segment, usual);
        }
    }

    /// The rates of the gaps between readings; `None` for a gap that shows none.
    fn rates<'k>(&self, knots: &'k [Knot]) -> impl Iterator<Item = Option<f64>> + use<'k> {
        let tells = self.tells;
        let gaps = gaps(knots);
        gaps.map(move |(from, to)| tells.holds(from, to).then(|| rate(from, to)))
    }

    /// The median rate of a segment.
    fn median_of(&self, segment: &Range<usize>) -> f64 {
        let rates = self.rates(&self.knots[segment.clone()]).flatten();
        median(&mut rates.collect::<Vec<_>>()).unwrap_or_else(|| self.usual_rate())
    }

    /// The median rate of each segment.
    fn medians(&self) -> Vec<f64> {
        let segments = self.segments();
        segments.iter().map(|of| self.median_of(of)).collect()
    }

    /// w of each gap in a segment (rule R5).
    fn find_wobbles(&mut self, segment: Range<usize>, usual: f64) {
        let rates: Vec<Option<f64>> = self.rates(&self.knots[segment.clone()]).collect();
        let knots = &mut self.knots[segment];
        for index in 0..rates.len() {
            let own = rate(knots[index], knots[index + 1]);
            let before = index.checked_sub(1).and_then(|before| rates[before]);
            let beside = [before, rates.get(index + 1).copied().flatten()];
            let differences = beside
                .into_iter()
                .flatten()
                .map(|beside| (own - beside).abs());
            let wobble = differences.max_by(f64::total_cmp);
            let wobble = wobble.unwrap_or((own - usual).abs());
            knots[index].wobble = wobble.max(self.least_wobble) as f32;
        }
    }

    /// For segments of one or two readings, the error follows from the ignored readings around
    /// them, unless these are off by more than `most` (rule R5).
    fn raise_few(&mut self, left_out: &LeftOut, most: f64) {
        for segment in self
            .segments()
            .into_iter()
            .filter(|segment| segment.len() < 3)
        {
            let rate = self.median_of(&segment);
            let around = left_out.around(&segment);
            let lines = self.knots[segment.clone()].iter();
            let lines = lines.map(|&from| Straight { from, rate });
            let offs = lines.flat_map(|line| around.iter().map(move |&reading| line.off(reading)));
            let least = offs.filter(|&off| off <= most).fold(0.0, f64::max) as f32;
            for knot in &mut self.knots[segment] {
                knot.error = knot.error.max(least);
            }
        }
    }

    /// The largest error between two readings, without steps.
    fn find_worst(&mut self) {
        let lines = self.knots.windows(2).filter(|gap| gap[0].gap == Gap::Line);
        let errors = lines.map(|gap| {
            let half = (distance(gap[0].a, gap[1].a) / 2.0).floor();
            f64::from(gap[0].error.max(gap[1].error)) + f64::from(gap[0].wobble) * half
        });
        self.worst_error_ns = errors.fold(0.0, f64::max);
    }

    /// The line of a segment, through one of its readings.
    fn straight(&self, segment: &Range<usize>, from: usize) -> Straight {
        Straight {
            from: self.knots[from],
            rate: self.median_of(segment),
        }
    }

    /// The ignored readings, and their distances.
    fn find_outliers(&mut self, left_out: &LeftOut) {
        let mut outliers = Vec::with_capacity(left_out.knots.len());
        let (usual, count) = (self.usual_rate(), self.knots.len());
        let segments = self.segments();
        for (number, segment) in segments.iter().enumerate() {
            let lines = if left_out.before(segment.start).is_empty() {
                Vec::new()
            } else if let Some(before) = number.checked_sub(1).and_then(|at| segments.get(at)) {
                let (j, k) = (self.knots[segment.start - 1], self.knots[segment.start]);
                let slides = [Straight {
                    from: j,
                    rate: rate(j, k),
                }];
                match j.gap {
                    Gap::Slide => slides.to_vec(),
                    Gap::Line | Gap::Step => vec![
                        self.straight(before, segment.start - 1),
                        self.straight(segment, segment.start),
                    ],
                }
            } else {
                vec![Straight {
                    from: self.knots[0],
                    rate: usual,
                }]
            };
            for &reading in left_out.before(segment.start) {
                let off = lines.iter().map(|line| line.off(reading));
                let off = off.min_by(f64::total_cmp).unwrap_or(0.0);
                outliers.push(OffLine::new(reading, off));
            }
            for index in segment.start + 1..segment.end {
                let (from, to) = (self.knots[index - 1], self.knots[index]);
                let within = left_out.before(index).iter();
                outliers.extend(
                    within.map(|&reading| OffLine::new(reading, off_line(from, to, reading))),
                );
            }
        }
        if let Some(&last) = self.knots.last() {
            let line = Straight {
                from: last,
                rate: usual,
            };
            let after = left_out.before(count).iter();
            outliers.extend(after.map(|&reading| OffLine::new(reading, line.off(reading))));
        }
        let largest = |range: Range<usize>| {
            let offs = outliers[range].iter().map(|outlier| outlier.deviation_ns);
            offs.fold(0.0, f64::max)
        };
        let (before, after) = (left_out.before(0).len(), left_out.before(count).len());
        self.beyond = [
            largest(0..before),
            largest(outliers.len() - after..outliers.len()),
        ];
        self.outliers = outliers;
    }

    /// The readings after steps.
    fn find_steps(&mut self) {
        let steps = self.knots.windows(2).filter(|gap| gap[0].gap != Gap::Line);
        let steps = steps.map(|gap| OffLine::new(gap[1], moved(gap[0], gap[1], self.nominal_rate)));
        self.steps = steps.collect();
    }

    /// An ignored reading inside a step may show on which side of the step it was; this makes the
    /// step narrower (rule R4). `wobble` is the usual w.
    fn find_corners(&mut self, left_out: &LeftOut, medians: &[f64], wobble: f64) {
        let segments = self.segments();
        let mut cornered = Vec::with_capacity(self.knots.len());
        for (number, segment) in segments.iter().enumerate() {
            cornered.extend_from_slice(&self.knots[segment.clone()]);
            let Some(next) = segments.get(number + 1) else {
                break;
            };
            let (j, k) = (self.knots[segment.end - 1], self.knots[next.start]);
            let left_out = left_out.before(next.start);
            if j.gap == Gap::Slide || left_out.is_empty() {
                continue;
            }
            let rate = |number: usize| medians.get(number).copied();
            let (Some(ends), Some(begins)) = (rate(number), rate(number + 1)) else {
                continue;
            };
            let before = Straight {
                from: j,
                rate: ends,
            };
            let after = Straight {
                from: k,
                rate: begins,
            };
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
                    error: line.from.error + (self.outside() * away) as f32,
                    wobble: wobble as f32,
                    gap,
                    is_corner: true,
                    ..at
                })
            };
            if let (Some(at), Some(end)) = (last, cornered.last_mut())
                && let Some(corner) = corner(at, before, j.gap)
            {
                (end.gap, end.wobble) = (Gap::Line, wobble as f32);
                cornered.push(corner);
            }
            cornered.extend(first.and_then(|at| corner(at, after, Gap::Line)));
        }
        self.knots = cornered;
    }

    /// Facts about the steps (rules R4, R5). `medians` are the rates of the segments, `wobble` is
    /// the usual w.
    fn find_jumps(&mut self, medians: &[f64], wobble: f64) {
        let segments = self.segments();
        for ((segment, next), &rate) in segments.iter().zip(segments.iter().skip(1)).zip(medians) {
            let last = segment.end - 1;
            let (before, after) = (self.knots[last], self.knots[next.start]);
            let (later, changes) = match self.knots[next.clone()] {
                [from, to, ..] => (self::rate(from, to), f64::from(from.wobble)),
                _ => (self.usual_rate(), wobble),
            };
            let unsure = (rate - later).abs() + changes;
            let line = Straight { from: before, rate };
            let error = f64::from(before.error.max(after.error))
                + line.off(after)
                + unsure * distance(before.a, after.a);
            self.jumps.push(Jump {
                knot: last as u32,
                rate,
                error,
            });
        }
    }

    /// The median rate of the hop; κ if there is none (rule R4).
    pub(super) fn usual_rate(&self) -> f64 {
        self.median_rate.unwrap_or(self.nominal_rate)
    }

    /// The growth of the error outside of the readings (rules R5, R9).
    pub(super) fn outside(&self) -> f64 {
        match self.outside {
            Outside::Wanders => self.rate_spread + self.least_wobble,
            Outside::Unsure(unsure) => self.rate_spread + unsure,
            Outside::Exact => 0.0,
        }
    }

    /// How many ppm faster than nominal the target runs against the source; `None` if unknown.
    pub fn drift_ppm(&self) -> Option<f64> {
        let relative = self.median_rate? / self.nominal_rate - 1.0;
        Some(relative * 1e6).filter(|drift| drift.is_finite())
    }

    /// The largest difference between a gap's rate and the median, in ppm of the nominal rate; in
    /// ppm of 1 if the target stands still.
    pub fn drift_spread_ppm(&self) -> f64 {
        let nominal = match self.nominal_rate == 0.0 {
            true => 1.0,
            false => self.nominal_rate.abs(),
        };
        self.rate_spread / nominal * 1e6
    }

    /// The interval between snapshots, in seconds, that keeps nearest neighbour within this many
    /// nanoseconds; `None` if it always is.
    pub fn interval_s(&self, within_ns: f64) -> Option<f64> {
        let interval = within_ns / (self.median_rate? - 1.0).abs() * 1e-9;
        Some(interval).filter(|interval| interval.is_finite())
    }
}

fn gaps(knots: &[Knot]) -> impl Iterator<Item = (Knot, Knot)> {
    knots.iter().copied().zip(knots.iter().skip(1).copied())
}

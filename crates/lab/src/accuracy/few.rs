//! Clocks that were read few times, close together, or coarsely: two clocks with a known truth, and
//! the times after and between their snapshots.

use timebase_resolver::{Clock, ClockGraph, ClockNs, EstimateCache, Estimates, Reading, Source};

use crate::accuracy::error::Error;
use crate::accuracy::off::Off;
use crate::reliability::percent;
use crate::synth::Random;

/// The readings of a clock for which the truth is compared with the estimate, for each seed.
const LOOKS: u64 = 200;
/// The first reading of the clocks, in ns after the start of BOOTTIME.
const BEGIN: u64 = 300_000_123_457;
/// The rate of a clock that wanders changes once in this many ns.
const CHANGES: i64 = 10_000_000;

/// Snapshots of BOOTTIME and another clock.
#[derive(Debug, Clone, PartialEq)]
pub struct FewCase {
    /// Their special feature.
    pub name: &'static str,
    /// The other clock.
    pub clock: Clock,
    /// Nanoseconds in its unit.
    pub unit: i64,
    /// The time between two changes of its value, in ns: 1 or its unit, or a tick.
    pub resolution: i64,
    /// Its largest drift, faster or slower, in millionths; 0 if it comes from one timekeeper with
    /// BOOTTIME.
    pub drift_ppm: i64,
    /// The standard deviation of its rate's change in a second, in 10⁻⁹.
    pub wander_ppb: u64,
    /// The largest delay of its reading after that of BOOTTIME, in ns.
    pub late_ns: u64,
    /// The times of the snapshots, in ns after the first.
    pub snapshots: Vec<i64>,
    /// The times that are compared are between the first snapshot and this many ns after it.
    pub until_ns: u64,
    /// The largest error of linear that is allowed, in ns.
    pub most: f64,
    /// The share of all readings that must be within the stated error.
    pub inside: f64,
}

/// The result for a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FewMeasured {
    /// The number of pairs of clocks.
    pub seeds: u64,
    /// The error of nearest neighbour.
    pub nearest: Off,
    /// The error of the rate-aware conversion.
    pub linear: Off,
    /// The largest error of the worst pair, by the root mean square.
    pub worst_seed: f64,
    /// The share of readings within the stated error, and of the worst pair.
    pub inside: f64,
    /// The smallest share of a pair.
    pub worst_inside: f64,
    /// The median and the largest stated error.
    pub bar: Off,
}

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

impl FewCase {
    /// All cases.
    pub fn all() -> Vec<FewCase> {
        let kin = FewCase {
            name: "",
            clock: Clock::host(3),
            unit: 1,
            resolution: 1,
            drift_ppm: 0,
            wander_ppb: 0,
            late_ns: 100,
            snapshots: vec![0, 16_000],
            until_ns: 10_000_000_000,
            most: 0.0,
            inside: 0.99,
        };
        let raw = FewCase { clock: Clock::host(5), drift_ppm: 100, ..kin.clone() };
        let other = FewCase { clock: Clock::host(128), drift_ppm: 50, ..kin.clone() };
        let seconds = |count: i64| (0..count).map(|second| second * SECOND).collect::<Vec<_>>();
        let close = vec![0, MS, 5 * MS];
        // Two of them are 2 ms apart.
        let uneven = vec![0, 500 * MS, 1000 * MS, 2000 * MS, 2002 * MS, 2800 * MS];
        let of = |name, most, case: FewCase| FewCase { name, most, ..case };
        let coarse = FewCase {
            clock: Clock::host(4),
            resolution: 4 * MS,
            snapshots: seconds(8),
            ..kin.clone()
        };
        let micros = FewCase {
            unit: 1_000,
            resolution: 1_000,
            snapshots: uneven,
            until_ns: 4_000_000_000,
            ..other.clone()
        };
        vec![
            of("a start pair, MONOTONIC", 110.0, kin.clone()),
            of("a start pair, MONOTONIC_RAW", 1_100_000.0, raw),
            of("a start pair, a clock of its own", 550_000.0, other.clone()),
            of(
                "three snapshots in 5 ms, read up to 1 µs apart, MONOTONIC",
                1_100.0,
                FewCase {
                    late_ns: 1_000,
                    snapshots: close.clone(),
                    until_ns: 5_000_000_000,
                    ..kin.clone()
                },
            ),
            of(
                "the same, a clock of its own",
                600_000.0,
                FewCase {
                    late_ns: 1_000,
                    snapshots: close,
                    until_ns: 5_000_000_000,
                    ..other.clone()
                },
            ),
            of(
                "microseconds, one clock with two names",
                1_000.0,
                FewCase { drift_ppm: 0, late_ns: 1, ..micros.clone() },
            ),
            of("microseconds, a clock of its own", 3_000.0, micros),
            of(
                "three snapshots, 1 s apart",
                10_000.0,
                FewCase { snapshots: seconds(3), wander_ppb: 200, ..other.clone() },
            ),
            of(
                "three snapshots, 30 s apart, wander 1 ppm/√s",
                500_000.0,
                FewCase {
                    snapshots: vec![0, 30 * SECOND, 60 * SECOND],
                    until_ns: 90_000_000_000,
                    wander_ppb: 1_000,
                    // Three snapshots show one change of the rate, which may be small by chance.
                    inside: 0.97,
                    ..other
                },
            ),
            of("MONOTONIC_COARSE, a tick of 4 ms", 4.1e6, coarse),
        ]
    }

    /// The errors of many pairs of such clocks.
    ///
    /// ```
    /// use timebase_lab::accuracy::FewCase;
    ///
    /// let [pair, ..] = &FewCase::all()[..] else { panic!() };
    /// let measured = pair.measure(5)?;
    /// assert!(measured.linear.worst <= 100.0 && measured.inside == 1.0);
    /// # Ok::<(), timebase_lab::accuracy::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a reading cannot be converted.
    pub fn measure(&self, seeds: u64) -> Result<FewMeasured, Error> {
        let (mut nearest, mut linear, mut bars) = (Vec::new(), Vec::new(), Vec::new());
        let (mut worst_seed, mut worst_inside) = (0.0, 1.0);
        let mut all_inside = 0.0;
        for seed in 1..=seeds {
            let [by_nearest, by_linear, stated] = self.errors(seed)?;
            let within = by_linear.iter().zip(&stated).filter(|(off, bar)| off <= bar);
            let inside = within.count() as f64 / by_linear.len() as f64;
            worst_inside = f64::min(worst_inside, inside);
            all_inside += inside / seeds as f64;
            worst_seed = f64::max(worst_seed, Off::of(by_linear.clone()).rms);
            nearest.extend(by_nearest);
            linear.extend(by_linear);
            bars.extend(stated);
        }
        Ok(FewMeasured {
            seeds,
            nearest: Off::of(nearest),
            linear: Off::of(linear),
            worst_seed,
            inside: all_inside,
            worst_inside,
            bar: Off::of(bars),
        })
    }

    /// The errors of nearest neighbour, of linear, and the stated ones.
    fn errors(&self, seed: u64) -> Result<[Vec<f64>; 3], Error> {
        let mut random = Random::new(seed);
        let clock = Simulated::new(self, &mut random);
        let mut graph = ClockGraph::new();
        for &at in &self.snapshots {
            let late = random.below(self.late_ns + 1) as i64;
            let reading = |clock, value, unit| Reading { clock, value, unit, incremental: false };
            let readings = [
                reading(Clock::BOOTTIME, boottime(at), 1),
                reading(self.clock, clock.read(at + late), self.unit),
            ];
            graph.add_snapshot(Source::Service, &readings, None)?;
        }
        let (estimates, mut cache) = (Estimates::new(graph), EstimateCache::new());
        let (mut nearest, mut linear, mut bars) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..LOOKS {
            let at = random.below(self.until_ns) as i64;
            let (value, truth) = (ClockNs(clock.read(at)), boottime(at));
            let conversions = cache.conversions();
            let graph = estimates.graph();
            let by_nearest = graph.convert(self.clock, value, Clock::BOOTTIME, conversions);
            let ClockNs(by_nearest) = by_nearest.map_err(Error::Unresolved)?;
            let estimate = estimates.at(self.clock, value, Clock::BOOTTIME, &mut cache);
            let estimate = estimate.map_err(Error::Unresolved)?;
            let ClockNs(by_linear) = estimate.value;
            nearest.push(by_nearest.abs_diff(truth) as f64);
            linear.push(by_linear.abs_diff(truth) as f64);
            bars.push(estimate.error_ns.ceil());
        }
        Ok([nearest, linear, bars])
    }

    /// The missed goals.
    ///
    /// ```
    /// use timebase_lab::accuracy::FewCase;
    ///
    /// let [pair, ..] = &FewCase::all()[..] else { panic!() };
    /// let strict = FewCase { most: 1.0, ..pair.clone() };
    /// assert!(strict.missed(&pair.measure(3)?)[0].ends_with("not 1"));
    /// # Ok::<(), timebase_lab::accuracy::Error>(())
    /// ```
    pub fn missed(&self, measured: &FewMeasured) -> Vec<String> {
        let mut missed = Vec::new();
        if measured.linear.worst > self.most {
            missed.push(format!("{:.0} ns, not {:.0}", measured.linear.worst, self.most));
        }
        if measured.inside < self.inside {
            let (inside, goal) = (percent(measured.inside), percent(self.inside));
            missed.push(format!("{inside} inside, not {goal}"));
        }
        missed
    }
}

fn boottime(at: i64) -> i64 {
    BEGIN.cast_signed() + at
}

/// The other clock, over the time of BOOTTIME since the first snapshot.
struct Simulated {
    resolution: i64,
    origin: i64,
    /// Its lead at multiples of [`CHANGES`], in ns.
    ahead: Vec<f64>,
}

impl Simulated {
    fn new(case: &FewCase, random: &mut Random) -> Simulated {
        let mut even = || random.below(1 << 32) as f64 / f64::from(1u32 << 31) - 1.0;
        let mut rate = case.drift_ppm as f64 * 1e-6 * even();
        // Uniform numbers up to b have a standard deviation of b ÷ √3.
        let in_a_second = SECOND / CHANGES;
        let change = case.wander_ppb as f64 * 1e-9 * (3.0 / in_a_second as f64).sqrt();
        let mut ahead = vec![0.0];
        let mut sum = 0.0;
        for _ in 0..=case.until_ns.cast_signed() / CHANGES {
            sum += rate * CHANGES as f64;
            rate += change * even();
            ahead.push(sum);
        }
        let origin = match case.drift_ppm {
            // Clocks of one timekeeper differ by the time that the machine slept.
            0 if case.unit > 1 => 0,
            0 => -((random.below(BEGIN / 2)) as i64),
            _ => random.below(BEGIN) as i64,
        };
        Simulated { resolution: case.resolution, origin, ahead }
    }

    /// Its reading in ns at this time.
    fn read(&self, at: i64) -> i64 {
        let step = (at / CHANGES) as usize;
        let ahead = |step: usize| self.ahead.get(step).copied().unwrap_or_default();
        let part = (at % CHANGES) as f64 / CHANGES as f64;
        let gained = ahead(step) + (ahead(step + 1) - ahead(step)) * part;
        let value = boottime(at) + self.origin + gained.round() as i64;
        value.div_euclid(self.resolution) * self.resolution
    }
}

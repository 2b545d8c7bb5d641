//! The measured cases, and their goals.

use crate::reliability::percent;
use crate::synth::{Preset, Settings, Size};

use crate::accuracy::measure::MeasuredSeeds;

/// A kind of clocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its special feature.
    pub name: String,
    /// The trace.
    pub settings: Settings,
    /// Its goals.
    pub goals: Option<Goals>,
}

/// Goals of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goals {
    /// The RMS error of linear is at most the RMS error of nearest divided by this.
    pub better: f64,
    /// At least this share of all readings is within the stated error.
    pub inside: f64,
    /// The median of the stated error is at most this many times the median of the true error.
    pub bar: f64,
    /// The largest number of inversions of one clock with linear.
    pub inversions: u64,
}

/// With 50 ppm and a snapshot a second.
const GOALS: Goals = Goals { better: 50.0, inside: 0.99, bar: 15.0, inversions: 0 };

impl Case {
    /// The cases with goals: 50 ppm and a snapshot a second.
    pub fn all() -> [Case; 8] {
        let case = |name: &str, preset, goals| Case {
            name: name.to_owned(),
            settings: Settings::preset(preset),
            goals: Some(goals),
        };
        // Half of 5 µs is a twelfth of nearest neighbour's error: more is impossible.
        let jitter = Goals { better: 10.0, ..GOALS };
        let gigahertz = Goals { better: 1000.0, ..GOALS };
        [
            case("drift", Preset::Drift, GOALS),
            case("wander, 1 ppm/√s", Preset::Wander, GOALS),
            case("read up to 5 µs apart", Preset::Jitter, jitter),
            case("outliers", Preset::Outliers, GOALS),
            case("a suspend", Preset::Suspends, GOALS),
            case("two hops", Preset::TwoHops, GOALS),
            case("three hops", Preset::ThreeHops, GOALS),
            case("2.7 GHz as nanoseconds", Preset::Gigahertz, gigahertz),
        ]
    }

    /// The cases of the naive model with which rules R were chosen: 25 clocks each, with outliers
    /// and a suspend, for 60 snapshots.
    pub fn model() -> Vec<Case> {
        let mut cases = Vec::new();
        for (interval, drift_ppm) in [(1, 5), (1, 50), (10, 5), (10, 50), (30, 5), (30, 50)] {
            for wander_ppb in [200, 1000] {
                for apart_ns in [100, 5000] {
                    let settings = Settings {
                        drift_ppm,
                        wander_ppb,
                        apart_ns,
                        crystals: 25,
                        crystal_snapshot_ns: interval * 1_000_000_000,
                        gap_ns: interval * 600_000,
                        outlier_every: 100,
                        suspends: 1,
                        ..Settings::preset(Preset::Drift).records(100_000)
                    };
                    let (wander, apart) = (f64::from(wander_ppb) / 1e3, apart_ns as f64 / 1e3);
                    cases.push(Case {
                        name: format!("{interval} s, {drift_ppm} ppm, {wander} ppm/√s, {apart} µs"),
                        settings,
                        goals: None,
                    });
                }
            }
        }
        cases
    }

    /// Its settings for an equally long trace with this many readings.
    #[must_use]
    pub fn records(&self, records: u64) -> Settings {
        as_long(&self.settings, records)
    }
}

/// An equally long trace with this many readings.
fn as_long(settings: &Settings, records: u64) -> Settings {
    let long = match settings.size {
        Size::Records(records) => records.saturating_mul(settings.gap_ns),
        Size::Bytes(_) => settings.gap_ns,
    };
    Settings { gap_ns: long / records.max(1), ..settings.clone().records(records) }
}

/// Clocks that are hard for a line between snapshots: their readings are bad, or they are set, or
/// they change.
#[derive(Debug, Clone, PartialEq)]
pub struct HardCase {
    /// Their special feature.
    pub name: &'static str,
    /// The trace.
    pub settings: Settings,
    /// The part of nearest neighbour's error that is known to be possible on lines, both RMS.
    pub possible: f64,
}

/// The distance of two readings, each up to 100 ns late, by the root mean square of uniform
/// numbers.
const DELAYED: u64 = 71;

/// At least this share of all readings must be within the stated error.
const INSIDE: f64 = 0.985;

impl HardCase {
    /// All hard cases: 60 snapshots of four clocks that are 50 ppm off, whose rates wander by 0.2
    /// ppm in a second, with a suspend in the middle, or with the feature in the name instead.
    pub fn all() -> Vec<HardCase> {
        let usual = Settings {
            apart_ns: DELAYED,
            gap_ns: 3_000_000,
            ..Settings::preset(Preset::Suspends).records(20_000)
        };
        let awake = Settings { suspends: 0, ..usual.clone() };
        let wander = |wander_ppb| Settings { wander_ppb, ..usual.clone() };
        let apart = |outlier_every| Settings { outlier_every, ..usual.clone() };
        let set = |set_ns| Settings { set_ns, ..awake.clone() };
        let bend = |bend_ppm| Settings { bend_ppm, ..awake.clone() };
        let every_10_s =
            Settings { crystal_snapshot_ns: 10_000_000_000, gap_ns: 30_000_000, ..usual.clone() };
        let late = Settings { apart_ns: 50 * DELAYED, ..usual.clone() };
        let two_hops = Settings { crystal_hops: 2, ..usual.clone() };
        let three_hops = Settings { crystal_hops: 3, ..apart(20) };
        let hole = Settings { hole_ns: 20_000_000_000, wander_ppb: 1000, ..awake.clone() };
        let pairs = Settings { pair_ns: 6000, ..usual.clone() };
        // At 0 and 0.625 s, and when the machine wakes up at 1 s; none after that.
        let three_snapshots = Settings {
            crystals: 1,
            crystal_snapshot_ns: 1_250_000_000,
            gap_ns: 100_000,
            hole_ns: 10_000_000_000,
            ..usual.clone()
        };
        let ten_suspends = Settings { suspends: 10, ..apart(10) };
        let case = |(name, possible, settings)| HardCase { name, settings, possible };
        [
            ("50 ppm", 0.0016, usual.clone()),
            ("read every 10 s", 0.0042, every_10_s),
            ("no suspend", 0.0016, awake.clone()),
            ("wander, 1 ppm/√s", 0.0068, wander(1000)),
            ("wander, 3 ppm/√s", 0.0198, wander(3000)),
            ("readings up to 5 µs late", 0.0593, late),
            ("5 % of snapshots read apart", 0.0011, apart(20)),
            ("20 % of snapshots read apart", 0.0021, apart(5)),
            ("two hops", 0.0016, two_hops),
            ("three hops, 5 % read apart", 0.0013, three_hops),
            ("set by +100 µs", 0.0016, set(100_000)),
            ("set by −100 µs", 0.0020, set(-100_000)),
            ("a hole of 20 s, wander 1 ppm/√s", 0.0217, hole),
            ("snapshots in pairs 6 µs apart", 0.0012, pairs),
            ("the rate bends by 500 ppm", 0.0376, bend(500)),
            ("the rate bends by 20 ppm", 0.0190, bend(20)),
            ("three snapshots, a suspend", 0.0097, three_snapshots),
            ("ten suspends, 10 % read apart", 0.0013, ten_suspends),
        ]
        .map(case)
        .to_vec()
    }

    /// Its settings for an equally long trace with this many readings.
    #[must_use]
    pub fn records(&self, records: u64) -> Settings {
        as_long(&self.settings, records)
    }

    /// The largest part of nearest neighbour's error that linear may have on lines.
    pub fn most(&self) -> f64 {
        1.5 * self.possible
    }

    /// The missed goals.
    ///
    /// ```
    /// use timebase_lab::accuracy::{HardCase, measure_seeds};
    ///
    /// let directory = tempfile::tempdir()?;
    /// let usual = &HardCase::all()[0];
    /// let measured = measure_seeds(&usual.records(1000), 2, directory.path())?;
    /// assert!(usual.missed(&measured).is_empty());
    /// let strict = HardCase { possible: 1e-6, ..usual.clone() };
    /// assert!(strict.missed(&measured)[0].starts_with("0.001"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn missed(&self, measured: &MeasuredSeeds) -> Vec<String> {
        let mut missed = Vec::new();
        let ratio = measured.all.ratio();
        if ratio > self.most() {
            missed.push(format!("{ratio:.4}, not {:.4}", self.most()));
        }
        if measured.all.inside < INSIDE {
            let (inside, goal) = (percent(measured.all.inside), INSIDE * 100.0);
            missed.push(format!("{inside} inside, not {goal} %"));
        }
        let inverted = measured.all.linear_inversions.of_one_clock;
        if inverted > 0 {
            missed.push(format!("{inverted} inversions, not 0"));
        }
        missed
    }
}

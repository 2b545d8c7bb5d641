//! What is measured, and what is to be reached.

use timebase_synth::{Preset, Settings, Size};

/// A kind of clocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What is special about it.
    pub name: String,
    /// The trace.
    pub settings: Settings,
    /// What is to be reached.
    pub goals: Option<Goals>,
}

/// What is to be reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goals {
    /// The error of linear is at most that of nearest divided by this, both RMS.
    pub better: f64,
    /// So large a share of all readings are within the error that is stated.
    pub inside: f64,
    /// The median of the error that is stated is at most so many times that of the true one.
    pub bar: f64,
    /// How many inversions of one clock linear may have.
    pub inversions: u64,
}

/// With 50 ppm and a snapshot a second.
const GOALS: Goals = Goals {
    better: 50.0,
    inside: 0.99,
    bar: 15.0,
    inversions: 0,
};

impl Case {
    /// Those that have goals: 50 ppm and a snapshot a second.
    pub fn all() -> [Case; 8] {
        let case = |name: &str, preset, goals| Case {
            name: name.to_owned(),
            settings: Settings::preset(preset),
            goals: Some(goals),
        };
        // Half of 5 µs is a twelfth of what nearest neighbour is off by: more cannot be had.
        let jitter = Goals {
            better: 10.0,
            ..GOALS
        };
        let gigahertz = Goals {
            better: 1000.0,
            ..GOALS
        };
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

    /// Those of the naive model by which rules R were chosen: 25 clocks each, with outliers
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

    /// Its settings for as long a trace that has so many readings.
    #[must_use]
    pub fn records(&self, records: u64) -> Settings {
        let long = match self.settings.size {
            Size::Records(records) => records.saturating_mul(self.settings.gap_ns),
            Size::Bytes(_) => self.settings.gap_ns,
        };
        Settings {
            gap_ns: long / records.max(1),
            ..self.settings.clone().records(records)
        }
    }
}

//! The measured sets of several machines.

use crate::synth::{Form, Mix, Set, Settings, Size};

/// A kind of sets.
#[derive(Debug, Clone, PartialEq)]
pub struct SetCase {
    /// Its special feature.
    pub name: &'static str,
    /// The traces.
    pub set: Set,
    /// Its goals.
    pub goal: SetGoal,
}

/// Goals for the times of a set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SetGoal {
    /// At least this share is within the stated error.
    Inside(f64),
    /// No error is stated, because the machines' clocks were never compared, and no time is off by
    /// more than this many nanoseconds.
    Unstated(f64),
}

impl SetCase {
    /// All of them: 100 s of track events, with rounds until the end.
    ///
    /// ```
    /// use timebase_lab::accuracy::SetCase;
    ///
    /// let all = SetCase::all();
    /// assert_eq!(all[1].name, "50 ppm, 20 µs");
    /// assert_eq!(all[1].set.round_trip_ns, 20_000);
    /// ```
    pub fn all() -> [SetCase; 7] {
        let set = |form| {
            let set = Set::of(form);
            Set {
                machine: Settings { mix: Mix { sdk: 1, ..Mix::default() }, ..set.machine },
                ..set
            }
        };
        let case = |name, set| SetCase { name, set, goal: SetGoal::Inside(0.99) };
        let relay = || set(Form::Relay);
        [
            case("50 ppm, 200 µs", relay()),
            case("50 ppm, 20 µs", Set { round_trip_ns: 20_000, jitter_ns: 20_000, ..relay() }),
            case(
                "100 ppm, asked every 10 s",
                Set { guest_drift_ppm: 100, round_interval_ns: 10_000_000_000, ..relay() },
            ),
            case("two guests", Set { guests: 2, ..relay() }),
            case("wander, 1 ppm/√s", Set { guest_wander_ppb: 1000, ..relay() }),
            SetCase {
                name: "a file each, by REALTIME",
                // REALTIME is 100 µs off, and drifts between two snapshots.
                set: set(Form::Files),
                goal: SetGoal::Unstated(200_000.0),
            },
            SetCase {
                name: "a file each, by a manifest",
                // 50 ppm of 100 s.
                set: set(Form::Manifest),
                goal: SetGoal::Unstated(5_100_000.0),
            },
        ]
    }

    /// Its set for equally long traces with this many records.
    #[must_use]
    pub fn records(&self, records: u64) -> Set {
        let machine = &self.set.machine;
        let long = match machine.size {
            Size::Records(records) => records.saturating_mul(machine.gap_ns),
            Size::Bytes(_) => machine.gap_ns,
        };
        Set {
            machine: Settings { gap_ns: long / records.max(1), ..machine.clone().records(records) },
            ..self.set.clone()
        }
    }
}

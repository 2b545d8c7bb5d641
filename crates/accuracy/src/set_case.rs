//! What is measured of several machines.

use timebase_synth::{Form, Mix, Set, Settings, Size};

/// A kind of sets.
#[derive(Debug, Clone, PartialEq)]
pub struct SetCase {
    /// What is special about it.
    pub name: &'static str,
    /// The traces.
    pub set: Set,
    /// So large a share of what guests recorded is to be within the error that is stated; of
    /// machines that nobody has compared there is none.
    pub inside: Option<f64>,
}

impl SetCase {
    /// All of them: 100 s of track events, with rounds until the end.
    ///
    /// ```
    /// use timebase_accuracy::SetCase;
    ///
    /// let all = SetCase::all();
    /// assert_eq!(all[1].name, "50 ppm, 20 µs");
    /// assert_eq!(all[1].set.round_trip_ns, 20_000);
    /// ```
    pub fn all() -> [SetCase; 7] {
        let set = |form| {
            let set = Set::of(form);
            Set {
                machine: Settings {
                    mix: Mix {
                        sdk: 1,
                        ..Mix::default()
                    },
                    ..set.machine
                },
                ..set
            }
        };
        let case = |name, set| SetCase {
            name,
            set,
            inside: Some(0.99),
        };
        let relay = || set(Form::Relay);
        [
            case("50 ppm, 200 µs", relay()),
            case(
                "50 ppm, 20 µs",
                Set {
                    round_trip_ns: 20_000,
                    jitter_ns: 20_000,
                    ..relay()
                },
            ),
            case(
                "100 ppm, asked every 10 s",
                Set {
                    guest_drift_ppm: 100,
                    round_interval_ns: 10_000_000_000,
                    ..relay()
                },
            ),
            case(
                "two guests",
                Set {
                    guests: 2,
                    ..relay()
                },
            ),
            case(
                "wander, 1 ppm/√s",
                Set {
                    guest_wander_ppb: 1000,
                    ..relay()
                },
            ),
            SetCase {
                name: "a file each, by REALTIME",
                set: set(Form::Files),
                inside: None,
            },
            SetCase {
                name: "a file each, by a manifest",
                set: set(Form::Manifest),
                inside: None,
            },
        ]
    }

    /// Its set for as long traces that have so many records.
    #[must_use]
    pub fn records(&self, records: u64) -> Set {
        let machine = &self.set.machine;
        let long = match machine.size {
            Size::Records(records) => records.saturating_mul(machine.gap_ns),
            Size::Bytes(_) => machine.gap_ns,
        };
        Set {
            machine: Settings {
                gap_ns: long / records.max(1),
                ..machine.clone().records(records)
            },
            ..self.set.clone()
        }
    }
}

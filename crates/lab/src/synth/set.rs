//! The knobs of a set: several machines, or several files.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::synth::error::Error;
use crate::synth::settings::{FtraceClock, Mix, Settings, Size};

/// The settings of a set of traces. The [crate's documentation](crate#sets) has a table of the
/// knobs.
///
/// ```
/// use timebase_lab::synth::{Form, Set};
///
/// let mut set = Set::of(Form::Relay);
/// set.guests = 2;
/// set.round_trip_ns = 20_000;
/// assert_eq!(set.files(), ["relay.pftrace"]);
/// assert_eq!(Set { form: Form::Files, ..set }.files(), ["host.pftrace", "vm-1.pftrace", "vm-2.pftrace"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The division of the set into files.
    pub form: Form,
    /// The recording of each machine, or each process. Its [`size`](Settings::size) is the size of
    /// all of them together, and its [`drift_ppm`](Settings::drift_ppm) is for the clocks within a
    /// machine.
    pub machine: Settings,
    /// [`Form::Processes`] and [`Form::Together`]: the number of the host's processes, from 1 to
    /// 100.
    pub processes: u32,
    /// Guests: their number, from 1 to 100, in the other forms.
    pub guests: u32,
    /// Guests: the drift of their BOOTTIME from the host's, in millionths, up to 500. The first,
    /// third … are faster, and the second, fourth … slower.
    pub guest_drift_ppm: u32,
    /// Guests: the wander of these rates, like [`wander_ppb`](Settings::wander_ppb), up to 10,000.
    pub guest_wander_ppb: u32,
    /// Guests: the lead of the first one's BOOTTIME over the host's when the trace begins, in ns,
    /// up to 10¹⁵; the second has twice this lead, and so on.
    pub guest_offset_ns: u64,
    /// Guests: the largest error of their REALTIME against the host's, in ns, up to 10¹⁵.
    pub realtime_apart_ns: u64,
    /// Rounds: the shortest time of a message and its answer, in ns, from 2 to 10⁸.
    pub round_trip_ns: u64,
    /// Rounds: the largest addition to the shortest time, in ns, up to 10⁸.
    pub jitter_ns: u64,
    /// Rounds: the percentage of a round trip by which the message takes more than half, up to 50.
    pub asymmetry_percent: u32,
    /// Rounds: the time from one to the next, in ns, from 10⁹ to 10¹¹. Less than 30 s makes false
    /// rounds (rule X24). Timers are late by a thousandth, so that a slow clock also advances by
    /// this much.
    pub round_interval_ns: u64,
    /// Rounds: the number of packets with rounds, evenly over the trace, the first at its
    /// beginning; at least 1.
    pub sync_packets: u64,
    /// Rounds: the time from a packet's place in the trace to its writing, in ns, up to 10¹⁵. The
    /// packet holds the last rounds before its writing: the head of a trace is written when the
    /// trace is read.
    pub read_after_ns: u64,
}

/// The division of a set into files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A set of one file: guests' packets have a machine id, and other packets hold the rounds
    /// between machines.
    Relay,
    /// A set: a file for each machine, the guests' with a machine id. Only REALTIME relates
    /// them (rule X26).
    Files,
    /// A set: a file for each machine, without machine ids, and a manifest that names the
    /// machines and states the offsets between their clocks at the beginning.
    Manifest,
    /// A set: a file for each of several processes of the host, with snapshots of its own.
    Processes,
    /// A set: the packets of `processes` in one file.
    Together,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 5] =
        [Form::Relay, Form::Files, Form::Manifest, Form::Processes, Form::Together];

    /// Whether its parts are processes of one machine.
    fn is_of_processes(self) -> bool {
        matches!(self, Form::Processes | Form::Together)
    }
}

/// The name of the manifest's file.
pub(crate) const MANIFEST: &str = "manifest.json";

impl Set {
    /// The usual set of a form. For machines: the host and a guest that is 50 ppm faster and asks
    /// every 30 s, within 200 to 400 µs, for 100 s and 100,000 records. For processes: 20 processes
    /// with 10⁹ bytes of SDK packets in total.
    pub fn of(form: Form) -> Self {
        let machine = match form.is_of_processes() {
            true => Settings::default().bytes(1_000_000_000),
            false => Settings {
                gap_ns: 2_000_000,
                mix: Mix { sdk: 3, ftrace: 1, ..Mix::default() },
                ..Settings::default().records(100_000)
            },
        };
        Set {
            form,
            machine: Settings { drift_ppm: 0, ..machine },
            processes: 20,
            guests: 1,
            guest_drift_ppm: 50,
            guest_wander_ppb: 0,
            guest_offset_ns: 50_000_000_000_000,
            realtime_apart_ns: 100_000,
            round_trip_ns: 200_000,
            jitter_ns: 200_000,
            asymmetry_percent: 10,
            round_interval_ns: 30_000_000_000,
            sync_packets: 1,
            read_after_ns: 100_000_000_000,
        }
    }

    /// The names of its traces, in the order in which [`SetTruth`](crate::synth::SetTruth) counts
    /// them. The host's is read first (rule X4), so its clock is trace time.
    pub fn files(&self) -> Vec<String> {
        match self.form {
            Form::Relay => vec!["relay.pftrace".to_owned()],
            Form::Together => vec!["together.pftrace".to_owned()],
            Form::Files | Form::Manifest => {
                let guests = (1..=self.guests).map(|number| format!("vm-{number}.pftrace"));
                [String::from("host.pftrace")].into_iter().chain(guests).collect()
            }
            Form::Processes => {
                let processes = 1..=self.processes;
                processes.map(|number| format!("process-{number}.pftrace")).collect()
            }
        }
    }

    /// The number of its machines or processes.
    pub(crate) fn sources(&self) -> u32 {
        match self.form.is_of_processes() {
            true => self.processes,
            false => 1 + self.guests,
        }
    }

    /// The recording of one of them.
    pub(crate) fn source(&self, number: u32) -> Settings {
        let sources = u64::from(self.sources());
        // The first ones get the remainder.
        let part = |all: u64| all / sources + u64::from(u64::from(number) < all % sources);
        Settings {
            size: match self.machine.size {
                Size::Records(all) => Size::Records(part(all)),
                Size::Bytes(all) => Size::Bytes(part(all)),
            },
            ..self.machine.clone()
        }
    }

    /// Whether all knobs are in their ranges.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.machine.check()?;
        let machine = &self.machine;
        let (mix, many) = (machine.mix, 1..=100);
        let is_read =
            matches!(machine.ftrace_clock, FtraceClock::Boottime | FtraceClock::MonotonicRaw);
        for (knob, range, good) in [
            (
                "machine.mix",
                "of SDK packets, kernel events and log lines",
                [mix.chain, mix.counter, mix.late, mix.crystals] == [0; 4],
            ),
            (
                "machine.mix",
                "without kernel events for processes",
                mix.ftrace == 0 || !self.form.is_of_processes(),
            ),
            ("machine.ftrace_clock", "boottime or monotonic-raw", is_read || mix.ftrace == 0),
            ("machine.suspends", "0", machine.suspends == 0),
            ("machine.realtime_step_ns", "0", machine.realtime_step_ns == 0),
            ("processes", "from 1 to 100", many.contains(&self.processes)),
            ("guests", "from 1 to 100", many.contains(&self.guests)),
            ("guest_drift_ppm", "500 at most", self.guest_drift_ppm <= 500),
            ("guest_wander_ppb", "10,000 at most", self.guest_wander_ppb <= 10_000),
            ("guest_offset_ns", "10^15 at most", self.guest_offset_ns <= LONG),
            ("realtime_apart_ns", "10^15 at most", self.realtime_apart_ns <= LONG),
            ("round_trip_ns", "from 2 to 10^8", (2..=100_000_000).contains(&self.round_trip_ns)),
            ("jitter_ns", "10^8 at most", self.jitter_ns <= 100_000_000),
            ("asymmetry_percent", "50 at most", self.asymmetry_percent <= 50),
            (
                "round_interval_ns",
                "from 10^9 to 10^11",
                (1_000_000_000..=100_000_000_000).contains(&self.round_interval_ns),
            ),
            ("sync_packets", "at least 1", self.sync_packets > 0),
            ("read_after_ns", "10^15 at most", self.read_after_ns <= LONG),
        ] {
            if !good {
                return Err(Error::Settings { knob, range });
            }
        }
        Ok(())
    }
}

/// Eleven days.
const LONG: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_sets_are_in_range_and_what_is_not_is_named() {
        for form in Form::ALL {
            assert!(Set::of(form).check().is_ok(), "{form:?}");
        }
        let said = |set: Set| set.check().err().map(|error| error.to_string());
        let mut set = Set::of(Form::Relay);
        set.asymmetry_percent = 51;
        assert_eq!(said(set).as_deref(), Some("asymmetry_percent must be 50 at most"));
        let mut set = Set::of(Form::Processes);
        set.machine.mix.ftrace = 1;
        assert_eq!(
            said(set).as_deref(),
            Some("machine.mix must be without kernel events for processes")
        );
    }

    #[test]
    fn sources_have_the_whole_size_together() {
        let mut set = Set::of(Form::Processes);
        set.machine = set.machine.records(1_000_003);
        set.processes = 7;
        let records = (0..7).map(|number| match set.source(number).size {
            Size::Records(records) | Size::Bytes(records) => records,
        });
        let records: Vec<u64> = records.collect();
        assert_eq!(records.iter().sum::<u64>(), 1_000_003);
        assert!(records.iter().all(|records| records.abs_diff(142_857) <= 1));
    }
}

//! The options of the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, anyhow, bail};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, ValueEnum};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use timebase_lab::synth::{BOMBS, Bomb, Fleet, Form, Preset, Set, Settings};

use crate::quantity::{count, signed_nanoseconds};

/// Write a Perfetto trace whose true times are known
///
/// A preset sets all knobs of a trace; '--knobs' and '--set' change some of them. The same knobs
/// give the same bytes on every machine.
#[derive(Debug, Parser)]
#[command(
    name = "synth",
    version,
    max_term_width = 100,
    after_help = "\
Numbers may be written 2_000_000, 2M (millions) or 4GiB (times 1024³), times 800ns, 5us, 5ms, 30s,
2min or 1h.

Examples:
  synth trace.pftrace
  synth --preset events --records 10M events.pftrace
  synth --preset mixed --seed 7 --set compression=zstd --truth truth.tsv mixed.pftrace
  synth --preset gigahertz --set crystal_snapshot_ns=10s --truth truth.tsv tsc.pftrace
  synth --bytes 4G - | timebase import - -o large.db
  synth --preset relay --set guests=2 --set machine.gap_ns=20us --truth truth.tsv set/
  synth --fleet 1000 --damaged 2 traces/
  synth --kineto 1M trace.json

The truth is a table with a line for each row that has a timestamp: its table and id, the true
BOOTTIME in ns, and either the largest error in ns that its time may have, or why it must have none.
That of a set has the file and the machine of each row, and the host's BOOTTIME; ids are those that
rows would have if their file was imported alone."
)]
pub struct Flags {
    /// The file for the trace; '-' is standard output. For a set or a fleet, the directory, which
    /// is created
    #[arg(value_name = "OUTPUT", required_unless_present = "show")]
    output: Option<PathBuf>,
    /// The file for the truth, as values separated by tabs
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// The named contents of the trace
    #[arg(long, value_enum, default_value = "packets", value_name = "NAME")]
    preset: Content,
    /// Change the knobs in this JSON file, such as {"drift_ppm": 0}
    #[arg(long, value_name = "FILE")]
    knobs: Option<PathBuf>,
    /// Change a knob, such as 'drift_ppm=0', 'mix.logs=3', or 'machine.gap_ns=3ms' in a set
    #[arg(long = "set", value_name = "KNOB=VALUE")]
    changes: Vec<String>,
    /// Print all knobs and their values as JSON, and write no trace
    #[arg(long, conflicts_with_all = ["bomb", "fleet"])]
    pub show: bool,
    /// A trace with more of one thing than any recording has: '--records' of it, or its full size.
    /// All other options are ignored
    #[arg(long, value_parser = bombs(), value_name = "NAME", hide_possible_values = true, conflicts_with_all = ["truth", "knobs", "changes"])]
    bomb: Option<String>,
    /// This many small traces of phones, of five devices with two builds, instead of one trace.
    /// Only '--damaged', '--seed' and '--records' count then; '--records' is the number in each
    /// trace [default: 1500]
    #[arg(long, value_name = "TRACES", conflicts_with_all = ["truth", "bomb", "bytes", "preset", "knobs", "changes"])]
    fleet: Option<u32>,
    /// A trace of a PyTorch program in Chrome's JSON format, with this many events. Only
    /// '--seed' counts then
    #[arg(long, value_parser = count, value_name = "EVENTS", conflicts_with_all = ["truth", "bomb", "fleet", "bytes", "records", "preset", "knobs", "changes", "show"])]
    pub kineto: Option<u64>,
    /// The percentage of damaged traces in a fleet [default: 2]
    #[arg(long, value_name = "PERCENT", requires = "fleet")]
    damaged: Option<u32>,
    /// The seed of all random choices
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub seed: u64,
    /// The number of records: packets, kernel events and log lines; for a set, in all of its files
    /// together
    #[arg(long, value_parser = count, value_name = "N", conflicts_with = "bytes")]
    records: Option<u64>,
    /// The size of the file, or of all files of a set together
    #[arg(long, value_parser = count, value_name = "SIZE")]
    bytes: Option<u64>,
}

/// The output to write.
#[derive(Debug, PartialEq)]
pub enum Wanted {
    /// One trace.
    Trace(Settings),
    /// Several machines or files.
    Set(Set),
    /// Many small traces.
    Fleet(Fleet),
}

impl Wanted {
    /// All knobs, as '--knobs' reads them.
    pub fn knobs(&self) -> serde_json::Result<String> {
        match self {
            Wanted::Trace(settings) => serde_json::to_string_pretty(settings),
            Wanted::Set(set) => serde_json::to_string_pretty(set),
            Wanted::Fleet(_) => Ok(String::new()),
        }
    }
}

/// A preset: of a trace, or of several files or machines.
#[derive(Debug, Clone, Copy)]
enum Content {
    Trace(Preset),
    Set(Form),
}

impl ValueEnum for Content {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Content>> = LazyLock::new(|| {
            let traces = Preset::ALL.into_iter().map(Content::Trace);
            traces.chain(Form::ALL.into_iter().map(Content::Set)).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Content::Trace(preset) => preset.to_possible_value(),
            Content::Set(form) => form.to_possible_value(),
        }
    }
}

fn bombs() -> PossibleValuesParser {
    PossibleValuesParser::new(BOMBS.iter().map(|bomb| PossibleValue::new(bomb.name)))
}

impl Flags {
    /// The destination of the trace.
    pub fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("-"))
    }

    /// The requested bomb, if there is one, and its size.
    pub fn bomb(&self) -> Option<(&'static Bomb, u64)> {
        let bomb = timebase_lab::synth::bomb(self.bomb.as_deref()?)?;
        Some((bomb, self.records.unwrap_or(bomb.full)))
    }

    /// The preset, with the changes of the other options.
    ///
    /// # Errors
    ///
    /// If a change names an unknown knob, or a value that the knob cannot have.
    pub fn wanted(&self) -> anyhow::Result<Wanted> {
        if let Some(traces) = self.fleet {
            let small = Fleet::default();
            return Ok(Wanted::Fleet(Fleet {
                traces,
                damaged_percent: self.damaged.unwrap_or(small.damaged_percent),
                seed: self.seed,
                records: self.records.unwrap_or(small.records),
            }));
        }
        Ok(match self.preset {
            Content::Trace(preset) => {
                let settings = self.sized(Settings::preset(preset));
                Wanted::Trace(self.changed(&settings)?)
            }
            Content::Set(form) => {
                let mut set = Set::of(form);
                set.machine = self.sized(set.machine);
                Wanted::Set(self.changed(&set)?)
            }
        })
    }

    fn sized(&self, settings: Settings) -> Settings {
        let settings = settings.seed(self.seed);
        match (self.records, self.bytes) {
            (Some(records), _) => settings.records(records),
            (None, Some(bytes)) => settings.bytes(bytes),
            (None, None) => settings,
        }
    }

    /// The knobs with the changes of the file, and then with those of the command line.
    fn changed<T: Serialize + DeserializeOwned>(&self, knobs: &T) -> anyhow::Result<T> {
        let mut knobs = serde_json::to_value(knobs)?;
        if let Some(path) = &self.knobs {
            let said = || path.display().to_string();
            let text = fs::read(path).with_context(said)?;
            let changes = serde_json::from_slice(&text).with_context(said)?;
            merge(&mut knobs, changes);
        }
        for change in &self.changes {
            let (knob, value) = change
                .split_once('=')
                .ok_or_else(|| anyhow!("--set {change} has no value: write KNOB=VALUE"))?;
            let mut place = &mut knobs;
            for name in knob.split('.') {
                let Value::Object(fields) = place else {
                    bail!("--set {change}: there is no such knob; --show prints all");
                };
                place = fields.entry(name).or_insert(Value::Null);
            }
            *place = value_of(value);
        }
        serde_json::from_value(knobs).context("the knobs, which --show prints")
    }
}

/// Overwrites the fields of an object with those of another, also in nested objects.
fn merge(knobs: &mut Value, changes: Value) {
    match (knobs, changes) {
        (Value::Object(knobs), Value::Object(changes)) => {
            for (name, change) in changes {
                // A size is either in records or in bytes.
                match name == "size" {
                    true => drop(knobs.insert(name, change)),
                    false => merge(knobs.entry(name).or_insert(Value::Null), change),
                }
            }
        }
        (knob, change) => *knob = change,
    }
}

/// A value as people type it: a number with or without a unit, JSON, or a word.
fn value_of(text: &str) -> Value {
    let number = count(text).map(Value::from);
    let number = number.or_else(|_| signed_nanoseconds(text).map(Value::from));
    number.unwrap_or_else(|_| {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use timebase_lab::synth::{Compression, Mix, Size};

    fn settings(arguments: &[&str]) -> Settings {
        match wanted(arguments) {
            Wanted::Trace(settings) => settings,
            Wanted::Set(set) => set.machine,
            Wanted::Fleet(fleet) => panic!("{fleet:?}"),
        }
    }

    fn wanted(arguments: &[&str]) -> Wanted {
        let arguments = ["synth", "-"].iter().chain(arguments);
        Flags::try_parse_from(arguments).unwrap().wanted().unwrap()
    }

    #[test]
    fn the_definition_is_consistent() {
        Flags::command().debug_assert();
    }

    #[test]
    fn a_preset_is_as_it_is_until_an_option_changes_it() {
        assert_eq!(settings(&[]), Settings::default());
        let mixed = settings(&["--preset", "mixed", "--set=drift_ppm=0", "--bytes", "4GiB"]);
        assert_eq!(
            mixed,
            Settings {
                drift_ppm: 0,
                size: Size::Bytes(4 << 30),
                ..Settings::preset(Preset::Mixed)
            }
        );
    }

    #[test]
    fn a_clock_is_set_back_by_a_negative_time() {
        let settings =
            settings(&["--preset=wall-clock", "--set=set_ns=-50us", "--set=bend_ppm=-3"]);
        let expected =
            Settings { set_ns: -50_000, bend_ppm: -3, ..Settings::preset(Preset::WallClock) };
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_set_has_its_own_options_and_those_of_its_machines() {
        let asked =
            ["--set=guests=2", "--set=round_trip_ns=20us", "--set=machine.cpus=2", "--records=5k"];
        let relay = Set::of(Form::Relay);
        let expected = Set {
            guests: 2,
            round_trip_ns: 20_000,
            machine: Settings { cpus: 2, ..relay.machine.clone().records(5000) },
            ..relay
        };
        let found = wanted(&[["--preset", "relay"].as_slice(), &asked].concat());
        assert_eq!(found, Wanted::Set(expected));
    }

    #[test]
    fn a_fleet_has_a_seed_and_a_size_and_nothing_else() {
        let asked = ["--fleet", "12", "--seed", "7", "--records", "1k"];
        let expected = Fleet { traces: 12, seed: 7, records: 1000, ..Fleet::default() };
        assert_eq!(wanted(&asked), Wanted::Fleet(expected));
        for wrong in [
            ["--fleet", "12", "--preset", "logs"],
            ["--fleet", "12", "--set", "cpus=2"],
            ["--bomb", BOMBS[0].name, "--knobs", "knobs.json"],
            ["--damaged", "2", "--seed", "1"],
        ] {
            assert!(Flags::try_parse_from(["synth", "d"].iter().chain(&wrong)).is_err());
        }
    }

    #[test]
    fn weights_may_be_changed_one_by_one_or_all_at_once() {
        let one = settings(&["--preset=mixed", "--set=mix.logs=3"]);
        let mixed = Settings::preset(Preset::Mixed).mix;
        assert_eq!(one.mix, Mix { logs: 3, ..mixed });
        let all = settings(&["--preset=mixed", r#"--set=mix={"logs": 3, "late": 1}"#]);
        let expected = Mix { logs: 3, late: 1, ..Mix::default() };
        assert_eq!(all.mix, expected);
        let words = settings(&["--set=compression=zstd", "--set=compact=false"]);
        assert_eq!(words.compression, Compression::Zstd);
        assert!(!words.compact);
    }

    #[test]
    fn knobs_that_are_shown_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("knobs.json");
        let files = Set::of(Form::Files);
        let set =
            Wanted::Set(Set { guests: 7, machine: files.machine.clone().bytes(4096), ..files });
        fs::write(&file, set.knobs().unwrap()).unwrap();
        let file = format!("--knobs={}", file.display());
        assert_eq!(wanted(&["--preset=files", &file]), set);
    }

    #[test]
    fn what_is_no_knob_or_no_value_of_it_is_refused() {
        for (wrong, said) in [
            ("gap=3", "unknown field `gap`"),
            ("mix.logs.all=3", "no such knob"),
            ("cpus=many", "invalid type: string \"many\""),
            ("cpus", "has no value"),
        ] {
            let flags = Flags::try_parse_from(["synth", "-", "--set", wrong]).unwrap();
            let error = format!("{:#}", flags.wanted().unwrap_err());
            assert!(error.contains(said), "{error}");
        }
    }
}

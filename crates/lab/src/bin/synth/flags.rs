//! What can be said on the command line.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, ValueEnum};
use timebase_lab::synth::{
    BOMBS, Bomb, Compression, Fleet, Form, FtraceClock, Mix, Preset, Reference, Set, Settings,
};

use crate::quantity::{count, nanoseconds, signed_nanoseconds};

/// Write a Perfetto trace whose true times are known
///
/// A preset says what the trace holds; every other option changes one thing of it, and has the
/// preset's value if it is not given: the defaults below are those of the preset 'packets'. The same
/// options give the same bytes on every machine.
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
  synth --preset mixed --seed 7 --compress zstd --truth truth.tsv mixed.pftrace
  synth --preset gigahertz --crystal-snapshot 10s --truth truth.tsv tsc.pftrace
  synth --bytes 4G - | timebase import - -o large.db
  synth --preset relay --guests 2 --round-trip 20us --truth truth.tsv set/
  synth --fleet 1000 --damaged 2 traces/

The truth is a table with a line for each row that has a timestamp: its table and id, the true
BOOTTIME in ns, and either the largest error in ns that its time may have, or why it must have none.
That of a set has the file and the machine of each row, and the host's BOOTTIME; ids are those that
rows would have if their file was imported alone."
)]
pub struct Flags {
    /// Where to write the trace; '-' is standard output. Of a set or a fleet, the directory, which is made
    #[arg(value_name = "OUTPUT")]
    pub output: PathBuf,
    /// Where to write the truth, as values separated by tabs
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// What the trace holds
    #[arg(long, value_enum, default_value = "packets", value_name = "NAME")]
    preset: PresetName,
    /// A trace with so many of one thing that no recording has: '--records' of it, or what its
    /// full size is. No other option counts then
    #[arg(long, value_parser = bombs(), value_name = "NAME", hide_possible_values = true, conflicts_with = "truth")]
    bomb: Option<String>,
    /// So many small traces of phones, of five devices with two builds, instead of one. Besides this
    /// only '--damaged', '--seed' and '--records' count then, which are those of each [default: 1500]
    #[arg(long, value_name = "TRACES", conflicts_with_all = ["truth", "bomb", "bytes", "preset"])]
    fleet: Option<u32>,
    /// How many of a hundred traces of a fleet are damaged [default: 2]
    #[arg(long, value_name = "PERCENT", requires = "fleet")]
    damaged: Option<u32>,
    /// What all random choices follow from
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// How many records: packets, kernel events and log lines; of a set, in all of its files
    #[arg(long, value_parser = count, value_name = "N", conflicts_with = "bytes")]
    records: Option<u64>,
    /// How large the file is, or all files of a set together
    #[arg(long, value_parser = count, value_name = "SIZE")]
    bytes: Option<u64>,
    #[command(flatten)]
    clocks: Clocks,
    #[command(flatten)]
    weights: Weights,
    #[command(flatten)]
    sdk: Sdk,
    #[command(flatten)]
    others: Others,
    #[command(flatten)]
    crystals: Crystals,
    #[command(flatten)]
    machines: Machines,
    /// How packets are compressed
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Compression")]
    compress: Option<CompressionName>,
    /// How many bytes of packets are compressed together [default: 65536]
    #[arg(long, value_parser = count, value_name = "SIZE", help_heading = "Compression")]
    compression_batch: Option<u64>,
}

/// What is to be written.
#[derive(Debug, PartialEq)]
pub enum Wanted {
    /// One trace.
    Trace(Settings),
    /// Several machines or files.
    Set(Set),
    /// Many small traces.
    Fleet(Fleet),
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Time and clocks")]
struct Clocks {
    /// The mean time between two records [default: 1us]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    gap: Option<u64>,
    /// How much faster or slower a clock may be than the one below it, in millionths; 0 is exact
    /// [default: 50]
    #[arg(long, value_name = "PPM")]
    drift: Option<u32>,
    /// How many snapshots of the builtin clocks the tracing service takes [default: 10]
    #[arg(long, value_parser = count, value_name = "N")]
    service_snapshots: Option<u64>,
    /// How often the machine is suspended [default: 0]
    #[arg(long, value_name = "N")]
    suspends: Option<u32>,
    /// How long a suspend is [default: 30s]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    suspend_time: Option<u64>,
    /// By how much REALTIME is set back in the middle of the trace, as by DST (1h) or NTP (50ms)
    /// [default: 0]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    realtime_step: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What records there are, by weight (all others are none then)")]
struct Weights {
    /// Packets of the SDK, with deltas on a clock of their sequence
    #[arg(long, value_name = "WEIGHT")]
    sdk: Option<u32>,
    /// Kernel events
    #[arg(long, value_name = "WEIGHT")]
    ftrace: Option<u32>,
    /// Lines of the Android log, on REALTIME
    #[arg(long, value_name = "WEIGHT")]
    logs: Option<u32>,
    /// Packets on a chain of custom clocks
    #[arg(long, value_name = "WEIGHT")]
    chain: Option<u32>,
    /// Packets on a hardware counter with a unit
    #[arg(long, value_name = "WEIGHT")]
    counter: Option<u32>,
    /// Packets on a clock whose snapshots come at the end of the trace
    #[arg(long, value_name = "WEIGHT")]
    late: Option<u32>,
    /// Packets on clocks whose rate changes
    #[arg(long = "crystals", value_name = "WEIGHT")]
    crystals: Option<u32>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Packets of the SDK")]
struct Sdk {
    /// How many sequences there are, up to 1,000,000 [default: 8]
    #[arg(long, value_name = "N")]
    sequences: Option<u32>,
    /// How many packets of a sequence follow a snapshot until the next [default: 25000]
    #[arg(long, value_name = "N")]
    sequence_snapshot_every: Option<u32>,
    /// A unit of the sequences' clocks, in nanoseconds [default: 1]
    #[arg(long, value_name = "NS")]
    sequence_unit: Option<u32>,
    /// How many debug annotations each begin of a slice has, up to 100 [default: 0]
    #[arg(long, value_name = "N")]
    annotations: Option<u32>,
    /// Which clock is read together with the sequences' own [default: boottime]
    #[arg(long, value_enum, value_name = "CLOCK")]
    sequence_reference: Option<ReferenceName>,
    /// One packet in so many has an absolute timestamp, on clock 65; 0 is none [default: 0]
    #[arg(long, value_name = "N")]
    absolute_every: Option<u64>,
    /// Before one packet in so many its sequence lost data; 0 is none [default: 0]
    #[arg(long, value_name = "N")]
    loss_every: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Kernel events, log lines and custom clocks")]
struct Others {
    /// How many CPUs have kernel events [default: 4]
    #[arg(long, value_name = "N")]
    cpus: Option<u32>,
    /// How many kernel events are read out at a time [default: 8400]
    #[arg(long, value_name = "N")]
    events_per_read: Option<u32>,
    /// Whether the scheduler's events are in the compact encoding [default: true]
    #[arg(long, value_name = "BOOL")]
    compact: Option<bool>,
    /// Which clock kernel events are on [default: boottime]
    #[arg(long, value_enum, value_name = "CLOCK")]
    ftrace_clock: Option<FtraceClockName>,
    /// How many log lines are in a packet [default: 100]
    #[arg(long, value_name = "N")]
    lines_per_packet: Option<u32>,
    /// How many custom clocks are in the chain, up to 64 [default: 3]
    #[arg(long, value_name = "N")]
    chain_clocks: Option<u32>,
    /// How many packets on custom clocks follow a snapshot until the next [default: 1000]
    #[arg(long, value_name = "N")]
    clock_snapshot_every: Option<u32>,
    /// A tick of the hardware counter, in nanoseconds [default: 52]
    #[arg(long, value_name = "NS")]
    counter_unit: Option<u32>,
    /// The time between the snapshots that come at the end [default: 1s]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    late_snapshot: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Clocks with a crystal")]
struct Crystals {
    /// How many clocks packets are on, each '--drift' faster or slower than the one below it
    /// [default: 4]
    #[arg(long = "crystal-clocks", value_name = "N")]
    clocks: Option<u32>,
    /// How many hops each of them is from BOOTTIME, up to 16 [default: 1]
    #[arg(long = "crystal-hops", value_name = "N")]
    hops: Option<u32>,
    /// How many kHz they have, all of which say that a tick is a nanosecond [default: 1000000]
    #[arg(long = "crystal-khz", value_name = "KHZ")]
    khz: Option<u32>,
    /// The time between two snapshots of a clock and the one below it [default: 1s]
    #[arg(long = "crystal-snapshot", value_parser = nanoseconds, value_name = "TIME")]
    snapshot: Option<u64>,
    /// How far rates wander in a second, in 10^-9 [default: 0]
    #[arg(long, value_name = "PPB")]
    wander: Option<u32>,
    /// How far apart the clocks of a snapshot are read at most [default: 0]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    apart: Option<u64>,
    /// One snapshot in so many is an outlier; 0 is none [default: 0]
    #[arg(long, value_name = "N")]
    outlier_every: Option<u64>,
    /// How far apart the clocks of an outlier are read at most [default: 200us]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    outlier: Option<u64>,
    /// How long after each snapshot the same clocks are read once more; 0 is not at all [default: 0]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    pair: Option<u64>,
    /// For how long no snapshot is taken in the middle of the trace [default: 0]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    hole: Option<u64>,
    /// How much faster the clocks become there, in millionths; slower, if it is negative [default: 0]
    #[arg(long, value_name = "PPM", allow_negative_numbers = true)]
    bend: Option<i32>,
    /// By how much the clocks that packets are on are set there; back, if it is negative [default: 0]
    #[arg(long = "set", value_parser = signed_nanoseconds, value_name = "TIME", allow_hyphen_values = true)]
    set_by: Option<i64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sets of several machines or files")]
struct Machines {
    /// How many processes there are, of which each is a file [default: 20]
    #[arg(long, value_name = "N")]
    processes: Option<u32>,
    /// How many guests there are [default: 1]
    #[arg(long, value_name = "N")]
    guests: Option<u32>,
    /// How much faster the first guest is than the host, and the second slower, in millionths
    /// [default: 50]
    #[arg(long, value_name = "PPM")]
    guest_drift: Option<u32>,
    /// How far guests' rates wander in a second, in 10^-9 [default: 0]
    #[arg(long, value_name = "PPB")]
    guest_wander: Option<u32>,
    /// How far the first guest is ahead of the host [default: 50000s]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    guest_offset: Option<u64>,
    /// How far REALTIME of guests is off the host's at most [default: 100us]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    realtime_apart: Option<u64>,
    /// How long a message and its answer take at least [default: 200us]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    round_trip: Option<u64>,
    /// How much longer they take at most [default: 200us]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    round_jitter: Option<u64>,
    /// By how much more than half of that the message takes, in hundredths [default: 10]
    #[arg(long, value_name = "PERCENT")]
    asymmetry: Option<u32>,
    /// The time from one round to the next; less than 30s makes false ones [default: 30s]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    round_interval: Option<u64>,
    /// How many packets tell of a guest's rounds [default: 1]
    #[arg(long, value_parser = count, value_name = "N")]
    sync_packets: Option<u64>,
    /// How long after its place in the trace such a packet is written [default: 100s]
    #[arg(long, value_parser = nanoseconds, value_name = "TIME")]
    read_after: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PresetName {
    /// 2,000,000 packets of the SDK on 8 sequences
    Packets,
    /// 3,000,000 kernel events in the compact encoding
    Events,
    /// 1,000,000 log lines
    Logs,
    /// 1,000,000 packets on custom clocks up to 4 hops from BOOTTIME
    Hops,
    /// 1,000,000 packets two hops from BOOTTIME, with 100,000 snapshots
    Snapshots,
    /// 1,000,000 packets on 100,000 sequences
    Sequences,
    /// 1,000,000 records of every kind, with suspends, losses and a step of REALTIME
    Mixed,
    /// 1,000,000 packets on 4 clocks that are 50 ppm off, with a snapshot a second
    Drift,
    /// As 'drift', with rates that change by 1 ppm in a second
    Wander,
    /// As 'drift', with rates that change by 0.2 ppm in a second, as in those that follow, and clocks
    /// that are read up to 5 us apart
    Jitter,
    /// One snapshot in 100 has clocks that were read up to 200 us apart
    Outliers,
    /// The machine is suspended once
    Suspends,
    /// Two hops to BOOTTIME
    TwoHops,
    /// Three hops to BOOTTIME
    ThreeHops,
    /// Counters of 2.7 GHz that say a tick is a nanosecond
    Gigahertz,
    /// All clocks are set by 100 us in the middle of the trace
    WallClock,
    /// They become faster by 20 ppm then
    Bend,
    /// No snapshot is taken for 20 s then
    Hole,
    /// Each snapshot is followed by another one after 6 us
    TwoByTwo,
    /// A set: a host and its guest in one file, which ask each other for the time
    Relay,
    /// A set: a file of the host and one of the guest, which only REALTIME relates
    Files,
    /// A set: the same with a manifest that says how far they are apart
    Manifest,
    /// A set: 20 files of processes of one machine, 1 GB in all
    Processes,
    /// A set: the same packets in one file
    Together,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CompressionName {
    None,
    Zlib,
    Zstd,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ReferenceName {
    Boottime,
    Monotonic,
    Alternating,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FtraceClockName {
    Boottime,
    Global,
    Local,
    MonotonicRaw,
}

fn bombs() -> PossibleValuesParser {
    PossibleValuesParser::new(BOMBS.iter().map(|bomb| PossibleValue::new(bomb.name)))
}

impl Flags {
    /// The bomb that is wanted, if one is, and its size.
    pub fn bomb(&self) -> Option<(&'static Bomb, u64)> {
        let bomb = timebase_lab::synth::bomb(self.bomb.as_deref()?)?;
        Some((bomb, self.records.unwrap_or(bomb.full)))
    }

    /// The preset, with what the other options change.
    pub fn wanted(&self) -> Wanted {
        if let Some(traces) = self.fleet {
            let small = Fleet::default();
            return Wanted::Fleet(Fleet {
                traces,
                damaged_percent: self.damaged.unwrap_or(small.damaged_percent),
                seed: self.seed,
                records: self.records.unwrap_or(small.records),
            });
        }
        match self.preset.into() {
            Kind::Trace(preset) => Wanted::Trace(self.change(Settings::preset(preset))),
            Kind::Set(form) => {
                let mut set = Set::of(form);
                self.machines.change(&mut set);
                set.machine = self.change(set.machine);
                Wanted::Set(set)
            }
        }
    }

    fn change(&self, settings: Settings) -> Settings {
        let mut settings = settings.seed(self.seed);
        settings = match (self.records, self.bytes) {
            (Some(records), _) => settings.records(records),
            (None, Some(bytes)) => settings.bytes(bytes),
            (None, None) => settings,
        };
        self.clocks.change(&mut settings);
        self.weights.change(&mut settings);
        self.sdk.change(&mut settings);
        self.others.change(&mut settings);
        self.crystals.change(&mut settings);
        if let Some(compression) = self.compress {
            settings.compression = compression.into();
        }
        // What is too large is out of range, and said to be.
        let batch = self.compression_batch;
        let batch = batch.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        set(&mut settings.compression_batch, batch);
        settings
    }
}

fn set<T>(knob: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *knob = value;
    }
}

impl Clocks {
    fn change(&self, settings: &mut Settings) {
        set(&mut settings.gap_ns, self.gap);
        set(&mut settings.drift_ppm, self.drift);
        set(&mut settings.service_snapshots, self.service_snapshots);
        set(&mut settings.suspends, self.suspends);
        set(&mut settings.suspend_ns, self.suspend_time);
        set(&mut settings.realtime_step_ns, self.realtime_step);
    }
}

impl Weights {
    fn change(&self, settings: &mut Settings) {
        let given = [
            self.sdk,
            self.ftrace,
            self.logs,
            self.chain,
            self.counter,
            self.late,
            self.crystals,
        ];
        if given.iter().any(Option::is_some) {
            settings.mix = Mix {
                sdk: self.sdk.unwrap_or(0),
                ftrace: self.ftrace.unwrap_or(0),
                logs: self.logs.unwrap_or(0),
                chain: self.chain.unwrap_or(0),
                counter: self.counter.unwrap_or(0),
                late: self.late.unwrap_or(0),
                crystals: self.crystals.unwrap_or(0),
            };
        }
    }
}

impl Sdk {
    fn change(&self, settings: &mut Settings) {
        set(&mut settings.sequences, self.sequences);
        set(
            &mut settings.sequence_snapshot_every,
            self.sequence_snapshot_every,
        );
        set(&mut settings.sequence_unit_ns, self.sequence_unit);
        set(&mut settings.annotations, self.annotations);
        let reference = self.sequence_reference.map(Reference::from);
        set(&mut settings.sequence_reference, reference);
        set(&mut settings.absolute_every, self.absolute_every);
        set(&mut settings.loss_every, self.loss_every);
    }
}

impl Others {
    fn change(&self, settings: &mut Settings) {
        set(&mut settings.cpus, self.cpus);
        set(&mut settings.events_per_read, self.events_per_read);
        set(&mut settings.compact, self.compact);
        let clock = self.ftrace_clock.map(FtraceClock::from);
        set(&mut settings.ftrace_clock, clock);
        set(&mut settings.lines_per_packet, self.lines_per_packet);
        set(&mut settings.chain, self.chain_clocks);
        set(
            &mut settings.clock_snapshot_every,
            self.clock_snapshot_every,
        );
        set(&mut settings.counter_unit_ns, self.counter_unit);
        set(&mut settings.late_snapshot_ns, self.late_snapshot);
    }
}

impl Crystals {
    fn change(&self, settings: &mut Settings) {
        set(&mut settings.crystals, self.clocks);
        set(&mut settings.crystal_hops, self.hops);
        set(&mut settings.crystal_khz, self.khz);
        set(&mut settings.crystal_snapshot_ns, self.snapshot);
        set(&mut settings.wander_ppb, self.wander);
        set(&mut settings.apart_ns, self.apart);
        set(&mut settings.outlier_every, self.outlier_every);
        set(&mut settings.outlier_ns, self.outlier);
        set(&mut settings.pair_ns, self.pair);
        set(&mut settings.hole_ns, self.hole);
        set(&mut settings.bend_ppm, self.bend);
        set(&mut settings.set_ns, self.set_by);
    }
}

impl Machines {
    fn change(&self, knobs: &mut Set) {
        set(&mut knobs.processes, self.processes);
        set(&mut knobs.guests, self.guests);
        set(&mut knobs.guest_drift_ppm, self.guest_drift);
        set(&mut knobs.guest_wander_ppb, self.guest_wander);
        set(&mut knobs.guest_offset_ns, self.guest_offset);
        set(&mut knobs.realtime_apart_ns, self.realtime_apart);
        set(&mut knobs.round_trip_ns, self.round_trip);
        set(&mut knobs.jitter_ns, self.round_jitter);
        set(&mut knobs.asymmetry_percent, self.asymmetry);
        set(&mut knobs.round_interval_ns, self.round_interval);
        set(&mut knobs.sync_packets, self.sync_packets);
        set(&mut knobs.read_after_ns, self.read_after);
    }
}

/// What presets are of.
enum Kind {
    Trace(Preset),
    Set(Form),
}

impl From<PresetName> for Kind {
    fn from(name: PresetName) -> Kind {
        match name {
            PresetName::Packets => Kind::Trace(Preset::Packets),
            PresetName::Events => Kind::Trace(Preset::Events),
            PresetName::Logs => Kind::Trace(Preset::Logs),
            PresetName::Hops => Kind::Trace(Preset::Hops),
            PresetName::Snapshots => Kind::Trace(Preset::Snapshots),
            PresetName::Sequences => Kind::Trace(Preset::Sequences),
            PresetName::Mixed => Kind::Trace(Preset::Mixed),
            PresetName::Drift => Kind::Trace(Preset::Drift),
            PresetName::Wander => Kind::Trace(Preset::Wander),
            PresetName::Jitter => Kind::Trace(Preset::Jitter),
            PresetName::Outliers => Kind::Trace(Preset::Outliers),
            PresetName::Suspends => Kind::Trace(Preset::Suspends),
            PresetName::TwoHops => Kind::Trace(Preset::TwoHops),
            PresetName::ThreeHops => Kind::Trace(Preset::ThreeHops),
            PresetName::Gigahertz => Kind::Trace(Preset::Gigahertz),
            PresetName::WallClock => Kind::Trace(Preset::WallClock),
            PresetName::Bend => Kind::Trace(Preset::Bend),
            PresetName::Hole => Kind::Trace(Preset::Hole),
            PresetName::TwoByTwo => Kind::Trace(Preset::TwoByTwo),
            PresetName::Relay => Kind::Set(Form::Relay),
            PresetName::Files => Kind::Set(Form::Files),
            PresetName::Manifest => Kind::Set(Form::Manifest),
            PresetName::Processes => Kind::Set(Form::Processes),
            PresetName::Together => Kind::Set(Form::Together),
        }
    }
}

impl From<CompressionName> for Compression {
    fn from(name: CompressionName) -> Compression {
        match name {
            CompressionName::None => Compression::None,
            CompressionName::Zlib => Compression::Zlib,
            CompressionName::Zstd => Compression::Zstd,
        }
    }
}

impl From<ReferenceName> for Reference {
    fn from(name: ReferenceName) -> Reference {
        match name {
            ReferenceName::Boottime => Reference::Boottime,
            ReferenceName::Monotonic => Reference::Monotonic,
            ReferenceName::Alternating => Reference::Alternating,
        }
    }
}

impl From<FtraceClockName> for FtraceClock {
    fn from(name: FtraceClockName) -> FtraceClock {
        match name {
            FtraceClockName::Boottime => FtraceClock::Boottime,
            FtraceClockName::Global => FtraceClock::Global,
            FtraceClockName::Local => FtraceClock::Local,
            FtraceClockName::MonotonicRaw => FtraceClock::MonotonicRaw,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use timebase_lab::synth::Size;

    fn settings(arguments: &[&str]) -> Settings {
        match wanted(arguments) {
            Wanted::Trace(settings) => settings,
            Wanted::Set(set) => set.machine,
            Wanted::Fleet(fleet) => panic!("{fleet:?}"),
        }
    }

    fn wanted(arguments: &[&str]) -> Wanted {
        let arguments = ["synth", "-"].iter().chain(arguments);
        Flags::try_parse_from(arguments).unwrap().wanted()
    }

    #[test]
    fn the_definition_is_consistent() {
        Flags::command().debug_assert();
    }

    #[test]
    fn a_preset_is_as_it_is_until_an_option_changes_it() {
        assert_eq!(settings(&[]), Settings::default());
        let mixed = settings(&["--preset", "mixed", "--drift", "0", "--bytes", "4GiB"]);
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
        let settings = settings(&["--preset", "wall-clock", "--set", "-50us", "--bend", "-3"]);
        let expected = Settings {
            set_ns: -50_000,
            bend_ppm: -3,
            ..Settings::preset(Preset::WallClock)
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_set_has_its_own_options_and_those_of_its_machines() {
        let asked = ["--guests", "2", "--round-trip", "20us", "--records", "5k"];
        let relay = Set::of(Form::Relay);
        let expected = Set {
            guests: 2,
            round_trip_ns: 20_000,
            machine: relay.machine.clone().records(5000),
            ..relay
        };
        let found = wanted(&[["--preset", "relay"].as_slice(), &asked].concat());
        assert_eq!(found, Wanted::Set(expected));
    }

    #[test]
    fn a_fleet_has_a_seed_and_a_size_and_nothing_else() {
        let asked = ["--fleet", "12", "--seed", "7", "--records", "1k"];
        let expected = Fleet {
            traces: 12,
            seed: 7,
            records: 1000,
            ..Fleet::default()
        };
        assert_eq!(wanted(&asked), Wanted::Fleet(expected));
        for wrong in [
            ["--fleet", "12", "--preset", "logs"],
            ["--damaged", "2", "--seed", "1"],
        ] {
            assert!(Flags::try_parse_from(["synth", "d"].iter().chain(&wrong)).is_err());
        }
    }

    #[test]
    fn weights_are_those_that_are_given() {
        let settings = settings(&["--preset", "mixed", "--logs", "3", "--late", "1"]);
        assert_eq!(
            settings.mix,
            Mix {
                logs: 3,
                late: 1,
                ..Mix::default()
            }
        );
    }
}

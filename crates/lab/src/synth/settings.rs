//! The knobs, and the presets that benchmarks use.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::synth::error::Error;

/// The settings of a trace. The [crate's documentation](crate#knobs) has a table of all knobs.
///
/// ```
/// use timebase_lab::synth::{Compression, Preset, Settings};
///
/// let mut settings = Settings::preset(Preset::Mixed).records(10_000).seed(7);
/// settings.compression = Compression::Zstd;
/// settings.drift_ppm = 0;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The size of the trace.
    pub size: Size,
    /// The seed of all random choices.
    pub seed: u64,
    /// The mean time between two records, in ns, from 2 to 10⁹.
    pub gap_ns: u64,
    /// The largest difference in rate between a clock and the one below it, in
    /// millionths, up to 100,000. Each clock has a rate of its own. With 0, all
    /// conversions are exact to a clock's unit.
    pub drift_ppm: u32,
    /// The kinds of records.
    pub mix: Mix,
    /// SDK packets: the number of sequences, up to 10⁶.
    pub sequences: u32,
    /// SDK packets: the number of packets after which a sequence takes a new snapshot and clears
    /// its state.
    pub sequence_snapshot_every: u32,
    /// SDK packets: nanoseconds in a unit of clocks 64 and 65, up to 10⁶.
    pub sequence_unit_ns: u32,
    /// SDK packets: debug annotations of each begin of a slice, up to 100.
    pub annotations: u32,
    /// SDK packets: the clock that the snapshots of a sequence hold in addition to its own.
    pub sequence_reference: Reference,
    /// SDK packets: one in this many has an absolute timestamp, on clock 65; 0 is none.
    pub absolute_every: u64,
    /// SDK packets: before one in this many its sequence lost data, and is unresolved until its
    /// next snapshot (rule S4); 0 is none.
    pub loss_every: u64,
    /// The number of the service's snapshots of the six builtin clocks, evenly over the trace, in
    /// addition to those at suspends and steps; at least 1. If the size is in bytes and has no room
    /// for them, there are as many as records.
    pub service_snapshots: u64,
    /// The number of suspends.
    pub suspends: u32,
    /// The length of a suspend, in ns.
    pub suspend_ns: u64,
    /// The step of REALTIME backwards in the middle of the trace, in ns: 0 is none, otherwise
    /// from 10⁶ to 10¹⁵. Later readings of it are unresolved (rule N5).
    pub realtime_step_ns: u64,
    /// Kernel events: the number of CPUs, up to 1024.
    pub cpus: u32,
    /// Kernel events: the number that is read at a time, from all CPUs together.
    pub events_per_read: u32,
    /// Kernel events: whether the scheduler's events have the compact encoding.
    pub compact: bool,
    /// Kernel events: their clock.
    pub ftrace_clock: FtraceClock,
    /// Log lines: the number in a packet.
    pub lines_per_packet: u32,
    /// Chain of custom clocks over MONOTONIC: their number, from 1 to 64. A packet on the last of
    /// them needs one hop more than there are clocks.
    pub chain: u32,
    /// Chain of custom clocks and counter: the number of their packets after which a snapshot reads
    /// two neighbours again.
    pub clock_snapshot_every: u32,
    /// Counter: nanoseconds in a tick, up to 10⁶.
    pub counter_unit_ns: u32,
    /// Late clock: the time between its snapshots, in ns, at least 1000. They are all at the end of
    /// the trace (rule D2).
    pub late_snapshot_ns: u64,
    /// Crystals: the number of clocks for packets, from 1 to 10,000. By turns they begin
    /// [`drift_ppm`](Settings::drift_ppm) faster and slower than the clock below them.
    pub crystals: u32,
    /// Crystals: the number of hops from each of these clocks to BOOTTIME, from 1 to 16. All clocks
    /// on the path have a crystal of their own.
    pub crystal_hops: u32,
    /// Crystals: the ticks in a millisecond of the clocks for packets, from 1000 to 4,000,000. They
    /// always claim that a tick is a nanosecond, like a raw TSC of 2.7 GHz.
    pub crystal_khz: u32,
    /// Crystals: the time between two snapshots of a clock and the one below it, in ns,
    /// from 10⁶ to 10¹⁷.
    pub crystal_snapshot_ns: u64,
    /// Crystals: the wander of rates, in 10⁻⁹, up to 100,000: a random walk that reaches this
    /// distance in a second (standard deviation), and twice the distance in four.
    pub wander_ppb: u32,
    /// Crystals: the largest time between the two readings of a snapshot, either of them first, in
    /// ns, up to a 64th of the time between snapshots.
    pub apart_ns: u64,
    /// Crystals: one snapshot in this many is an outlier; 0 is none.
    pub outlier_every: u64,
    /// Crystals: the largest time between the two readings of an outlier, in ns, up to a 64th of
    /// the time between snapshots.
    pub outlier_ns: u64,
    /// Crystals: the time from each snapshot to a second one of the same clocks, in ns, up to a
    /// 64th of the time between snapshots and more than the time between two readings; 0 is no
    /// second one.
    pub pair_ns: u64,
    /// Crystals: the time without a snapshot in the middle of the trace, in ns, up to 10¹⁷.
    pub hole_ns: u64,
    /// Crystals: how much faster all of them become in the middle of the trace, in millionths, up
    /// to 100,000; negative for slower.
    pub bend_ppm: i32,
    /// Crystals: how far the clocks for packets are set in the middle of the trace, in ns, up to
    /// 10⁹; negative for back, up to a 128th of the time between snapshots.
    pub set_ns: i64,
    /// The compression of packets (rule F3).
    pub compression: Compression,
    /// The number of bytes of packets that are compressed together, up to 64 MiB.
    pub compression_batch: u32,
}

/// The size of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// This many records: packets on a clock of their own, kernel events and log lines. Snapshots,
    /// and the packets that carry events and lines, do not count.
    Records(u64),
    /// This many bytes of the file, plus or minus a packet, or a few hundredths if it is
    /// compressed.
    Bytes(u64),
}

/// The kinds of records, by weight: of all records, `sdk / (sum of the weights)` are SDK packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mix {
    /// Track events of about 30 bytes with deltas on a clock of their sequence
    /// (rule V5).
    pub sdk: u32,
    /// Kernel events, in bundles (rule I1).
    pub ftrace: u32,
    /// Lines of the Android log, on REALTIME (rule I2).
    pub logs: u32,
    /// Packets on a chain of custom clocks (rule V3).
    pub chain: u32,
    /// Packets on a hardware counter that has a unit (rule V4).
    pub counter: u32,
    /// Packets on a clock whose snapshots come at the end (rule D2).
    pub late: u32,
    /// Packets on clocks whose rate changes (rules R).
    pub crystals: u32,
}

impl Mix {
    pub(crate) fn weights(&self) -> [u32; 7] {
        [self.sdk, self.ftrace, self.logs, self.chain, self.counter, self.late, self.crystals]
    }
}

/// The clock that the snapshots of an SDK sequence hold in addition to its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// BOOTTIME: one hop.
    Boottime,
    /// MONOTONIC: two hops, the second over the service's snapshots.
    Monotonic,
    /// BOOTTIME and MONOTONIC by turns.
    Alternating,
}

/// The clock of kernel events (rule I1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FtraceClock {
    /// BOOTTIME, as in bundles that name no clock.
    Boottime,
    /// A clock that is only known by the bundles' pairs.
    Global,
    /// As [`FtraceClock::Global`].
    Local,
    /// MONOTONIC_RAW.
    MonotonicRaw,
}

/// The compression of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// No compression.
    None,
    /// `compressed_packets` (50).
    Zlib,
    /// `zstd_compressed_packets` (133).
    Zstd,
}

/// Named settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// 2,000,000 SDK packets of about 30 bytes on 8 sequences.
    Packets,
    /// 3,000,000 kernel events in the compact encoding, on 4 CPUs.
    Events,
    /// 1,000,000 log lines.
    Logs,
    /// 1,000,000 packets on custom clocks up to 4 hops from BOOTTIME.
    Hops,
    /// 1,000,000 SDK packets two hops from BOOTTIME, with 100,000 snapshots of
    /// the service among them.
    Snapshots,
    /// 1,000,000 SDK packets on 100,000 sequences.
    Sequences,
    /// 1,000,000 records of every kind, with suspends, losses and a step of
    /// REALTIME.
    Mixed,
    /// 1,000,000 packets on 4 clocks that are 50 ppm off, each read together with
    /// BOOTTIME once a second, up to 100 ns apart.
    Drift,
    /// As `drift`, with rates that change by 1 ppm in a second.
    Wander,
    /// As `drift`, with rates that change by 0.2 ppm in a second, as in
    /// the presets that follow, and clocks that are read up to 5 µs apart.
    Jitter,
    /// In one snapshot of a hundred, the clocks were read up to 200 µs apart.
    Outliers,
    /// The machine is suspended once, for 30 s.
    Suspends,
    /// Two hops to BOOTTIME.
    TwoHops,
    /// Three hops.
    ThreeHops,
    /// Counters of 2.7 GHz that claim that a tick is a nanosecond.
    Gigahertz,
    /// All clocks are set by 100 µs in the middle of the trace.
    WallClock,
    /// They become faster by 20 ppm then.
    Bend,
    /// No snapshot is taken for 20 s then.
    Hole,
    /// Each snapshot is followed by another one after 6 µs.
    TwoByTwo,
}

impl Preset {
    /// All presets.
    pub const ALL: [Preset; 19] = [
        Preset::Packets,
        Preset::Events,
        Preset::Logs,
        Preset::Hops,
        Preset::Snapshots,
        Preset::Sequences,
        Preset::Mixed,
        Preset::Drift,
        Preset::Wander,
        Preset::Jitter,
        Preset::Outliers,
        Preset::Suspends,
        Preset::TwoHops,
        Preset::ThreeHops,
        Preset::Gigahertz,
        Preset::WallClock,
        Preset::Bend,
        Preset::Hole,
        Preset::TwoByTwo,
    ];
}

impl Default for Settings {
    /// The preset [`Preset::Packets`], with seed 1.
    fn default() -> Self {
        Settings {
            size: Size::Records(2_000_000),
            seed: 1,
            gap_ns: 1000,
            drift_ppm: 50,
            mix: Mix { sdk: 1, ..Mix::default() },
            sequences: 8,
            sequence_snapshot_every: 25_000,
            sequence_unit_ns: 1,
            annotations: 0,
            sequence_reference: Reference::Boottime,
            absolute_every: 0,
            loss_every: 0,
            service_snapshots: 10,
            suspends: 0,
            suspend_ns: 30_000_000_000,
            realtime_step_ns: 0,
            cpus: 4,
            events_per_read: 8400,
            compact: true,
            ftrace_clock: FtraceClock::Boottime,
            lines_per_packet: 100,
            chain: 3,
            clock_snapshot_every: 1000,
            counter_unit_ns: 52,
            late_snapshot_ns: 1_000_000_000,
            crystals: 4,
            crystal_hops: 1,
            crystal_khz: 1_000_000,
            crystal_snapshot_ns: 1_000_000_000,
            wander_ppb: 0,
            apart_ns: 0,
            outlier_every: 0,
            outlier_ns: 200_000,
            pair_ns: 0,
            hole_ns: 0,
            bend_ppm: 0,
            set_ns: 0,
            compression: Compression::None,
            compression_batch: 1 << 16,
        }
    }
}

impl Settings {
    /// The settings of a preset.
    pub fn preset(preset: Preset) -> Self {
        let packets = Settings::default();
        match preset {
            Preset::Packets => packets,
            Preset::Events => Settings {
                size: Size::Records(3_000_000),
                mix: Mix { ftrace: 1, ..Mix::default() },
                ..packets
            },
            Preset::Logs => Settings {
                size: Size::Records(1_000_000),
                mix: Mix { logs: 1, ..Mix::default() },
                ..packets
            },
            Preset::Hops => Settings {
                size: Size::Records(1_000_000),
                mix: Mix { chain: 1, ..Mix::default() },
                ..packets
            },
            Preset::Snapshots => Settings {
                size: Size::Records(1_000_000),
                service_snapshots: 100_000,
                sequence_reference: Reference::Monotonic,
                ..packets
            },
            Preset::Sequences => {
                Settings { size: Size::Records(1_000_000), sequences: 100_000, ..packets }
            }
            Preset::Mixed => Settings {
                size: Size::Records(1_000_000),
                mix: Mix {
                    sdk: 40,
                    ftrace: 30,
                    logs: 10,
                    chain: 10,
                    counter: 5,
                    late: 5,
                    crystals: 0,
                },
                sequences: 40,
                sequence_snapshot_every: 1000,
                sequence_unit_ns: 1000,
                sequence_reference: Reference::Alternating,
                absolute_every: 16,
                loss_every: 2000,
                service_snapshots: 100,
                suspends: 3,
                realtime_step_ns: 3_600_000_000_000,
                ftrace_clock: FtraceClock::Global,
                ..packets
            },
            Preset::Drift
            | Preset::Wander
            | Preset::Jitter
            | Preset::Outliers
            | Preset::Suspends
            | Preset::TwoHops
            | Preset::ThreeHops
            | Preset::Gigahertz
            | Preset::WallClock
            | Preset::Bend
            | Preset::Hole
            | Preset::TwoByTwo => Settings::crystals(preset, packets),
        }
    }

    /// The settings of a preset for crystals.
    fn crystals(preset: Preset, packets: Settings) -> Self {
        let drift = Settings {
            size: Size::Records(1_000_000),
            gap_ns: 200_000,
            mix: Mix { crystals: 1, ..Mix::default() },
            apart_ns: 100,
            ..packets
        };
        let real = Settings { wander_ppb: 200, ..drift.clone() };
        match preset {
            Preset::Wander => Settings { wander_ppb: 1000, ..drift },
            Preset::Jitter => Settings { apart_ns: 5000, ..real },
            Preset::Outliers => Settings { outlier_every: 100, ..real },
            Preset::Suspends => Settings { suspends: 1, ..real },
            Preset::TwoHops => Settings { crystal_hops: 2, ..real },
            Preset::ThreeHops => Settings { crystal_hops: 3, ..real },
            Preset::Gigahertz => Settings { crystal_khz: 2_700_000, ..real },
            Preset::WallClock => Settings { set_ns: 100_000, ..real },
            Preset::Bend => Settings { bend_ppm: 20, ..real },
            Preset::Hole => Settings { hole_ns: 20_000_000_000, ..real },
            Preset::TwoByTwo => Settings { pair_ns: 6000, ..real },
            _ => drift,
        }
    }

    /// These settings with a size of this many [records](Size::Records).
    #[must_use]
    pub fn records(mut self, records: u64) -> Self {
        self.size = Size::Records(records);
        self
    }

    /// These settings with a size of this many [bytes](Size::Bytes).
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.size = Size::Bytes(bytes);
        self
    }

    /// These settings with another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Whether crystals have an event in the middle of the trace.
    pub(crate) fn has_turn(&self) -> bool {
        self.hole_ns > 0 || self.bend_ppm != 0 || self.set_ns != 0
    }

    /// The largest time between the readings of a crystal's snapshot, including outliers.
    pub(crate) fn largest_apart(&self) -> u64 {
        match self.outlier_every {
            0 => self.apart_ns,
            _ => self.apart_ns.max(self.outlier_ns),
        }
    }

    /// Whether all knobs are in their ranges.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut knobs = self.knobs_of_records().into_iter().chain(self.knobs_of_clocks());
        match knobs.find(|(.., is_good)| !is_good) {
            Some((knob, range, _)) => Err(Error::Settings { knob, range }),
            None => Ok(()),
        }
    }

    /// The knobs of the records: name, range, and whether the value is in its range.
    fn knobs_of_records(&self) -> Vec<(&'static str, &'static str, bool)> {
        let unit = 1..=1_000_000;
        let step = 1_000_000..=1_000_000_000_000_000;
        vec![
            ("gap_ns", "from 2 to 10^9", (2..=1_000_000_000).contains(&self.gap_ns)),
            ("drift_ppm", "100,000 at most", self.drift_ppm <= 100_000),
            ("mix", "more than nothing", self.mix.weights().iter().any(|&weight| weight > 0)),
            ("sequences", "from 1 to 10^6", unit.contains(&self.sequences)),
            ("sequence_snapshot_every", "at least 1", self.sequence_snapshot_every > 0),
            ("sequence_unit_ns", "from 1 to 10^6", unit.contains(&self.sequence_unit_ns)),
            ("annotations", "100 at most", self.annotations <= 100),
            ("service_snapshots", "at least 1", self.service_snapshots > 0),
            ("suspend_ns", "10^17 at most", self.suspend_ns <= 100_000_000_000_000_000),
            (
                "realtime_step_ns",
                "0, or from 10^6 to 10^15",
                self.realtime_step_ns == 0 || step.contains(&self.realtime_step_ns),
            ),
            ("cpus", "from 1 to 1024", (1..=1024).contains(&self.cpus)),
            ("events_per_read", "from 1 to 10^6", unit.contains(&self.events_per_read)),
            ("lines_per_packet", "from 1 to 10^6", unit.contains(&self.lines_per_packet)),
        ]
    }

    /// The same for the clocks besides the kernel's, and for the form of the file.
    fn knobs_of_clocks(&self) -> Vec<(&'static str, &'static str, bool)> {
        let unit = 1..=1_000_000;
        vec![
            ("chain", "from 1 to 64", (1..=64).contains(&self.chain)),
            ("clock_snapshot_every", "at least 1", self.clock_snapshot_every > 0),
            ("counter_unit_ns", "from 1 to 10^6", unit.contains(&self.counter_unit_ns)),
            (
                "late_snapshot_ns",
                "from 1000 to 10^17",
                (1000..=100_000_000_000_000_000).contains(&self.late_snapshot_ns),
            ),
            ("crystals", "from 1 to 10,000", (1..=10_000).contains(&self.crystals)),
            ("crystal_hops", "from 1 to 16", (1..=16).contains(&self.crystal_hops)),
            (
                "crystal_khz",
                "from 1000 to 4,000,000",
                (1000..=4_000_000).contains(&self.crystal_khz),
            ),
            (
                "crystal_snapshot_ns",
                "from 10^6 to 10^17",
                (1_000_000..=100_000_000_000_000_000).contains(&self.crystal_snapshot_ns),
            ),
            ("wander_ppb", "100,000 at most", self.wander_ppb <= 100_000),
            (
                "apart_ns",
                "a 64th of crystal_snapshot_ns at most",
                self.apart_ns <= self.crystal_snapshot_ns / 64,
            ),
            (
                "outlier_ns",
                "a 64th of crystal_snapshot_ns at most",
                self.outlier_every == 0 || self.outlier_ns <= self.crystal_snapshot_ns / 64,
            ),
            (
                "pair_ns",
                "0, or more than twice as far as clocks are read apart, and a 64th of crystal_snapshot_ns at most",
                self.pair_ns == 0
                    || (2 * self.largest_apart() + 2..=self.crystal_snapshot_ns / 64)
                        .contains(&self.pair_ns),
            ),
            ("hole_ns", "10^17 at most", self.hole_ns <= 100_000_000_000_000_000),
            ("bend_ppm", "100,000 at most", self.bend_ppm.unsigned_abs() <= 100_000),
            (
                "set_ns",
                "10^9 at most, and back by a 128th of crystal_snapshot_ns at most",
                self.set_ns <= 1_000_000_000
                    && self.set_ns.min(0).unsigned_abs() <= self.crystal_snapshot_ns / 128,
            ),
            (
                "compression_batch",
                "from 1 to 67,108,864",
                (1..=1 << 26).contains(&self.compression_batch),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_in_range_and_what_is_not_is_named() {
        for preset in Preset::ALL {
            assert!(Settings::preset(preset).check().is_ok(), "{preset:?}");
        }
        let nothing = Settings { mix: Mix::default(), ..Settings::default() };
        let error = nothing.check().err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("mix must be more than nothing"));
    }
}

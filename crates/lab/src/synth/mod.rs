//! Perfetto traces of any size, and sets of them, whose true times are known.
//!
//! ```
//! use timebase_lab::synth::{Expected, Preset, Settings};
//!
//! let settings = Settings::preset(Preset::Hops).records(1000).seed(7);
//! let mut trace = Vec::new();
//! let mut worst = 0;
//! let summary = timebase_lab::synth::write_with_truth(&settings, &mut trace, &mut |truth| {
//!     // The row `truth.row` must have a time this near to `truth.boottime`.
//!     if let Expected::Within(ns) = truth.expected {
//!         worst = worst.max(ns);
//!     }
//!     Ok(())
//! })?;
//! assert_eq!((summary.records, summary.bytes), (1000, trace.len() as u64));
//! assert!((1..1_000_000).contains(&worst));
//! # Ok::<(), timebase_lab::synth::Error>(())
//! ```
//!
//! A trace is streamed: memory is one batch of packets, the kernel events and log lines that wait
//! for their packet, and about 200 bytes for each sequence. The same settings give the same bytes
//! on every machine.
//!
//! # Design
//!
//! There is one true time, BOOTTIME. Every clock is a straight line over another one, with its own
//! rate (`clock.rs`), rounded down to its unit; suspends and steps happen to the machine
//! (`world.rs`). A record has the reading of its clock at the true time. The truth is that time,
//! with the largest possible error of the conversion. The error follows from the rates, the units,
//! and the distance of each hop from the nearest earlier snapshot (`hop.rs`).
//!
//! Clocks of a *crystal* are for measuring the error of conversions. They are no straight lines
//! (`crystal.rs`), and their snapshots are taken at a fixed interval and read one clock after the
//! other (`crystals.rs`). The alternative was to make all clocks like this: all traces of
//! benchmarks would change, and without drift conversions would no longer be exact.
//!
//! The alternative was to compute the exact result of the rules. It would check more, but it would
//! be a second resolver, with the same misunderstandings; a bound from the model of the clocks does
//! not depend on how conversions work. Without drift both are the same: every row must be exact to
//! its clock's unit.
//!
//! Nothing is planned ahead: a record is chosen by weight, written, and forgotten. Merging streams
//! of events by time would be closer to real recorders, but could not reach a given size in bytes.
//!
//! # Knobs
//!
//! The knobs are the fields of [`Settings`]; a [`Preset`] is a named set of their values.
//!
//! | knob | meaning |
//! |---|---|
//! | `size` | records, or bytes of the file |
//! | `seed` | the seed of all random choices |
//! | `gap_ns` | mean time between two records |
//! | `drift_ppm` | largest difference in rate between neighbouring clocks |
//! | `mix` | weights of the kinds of records |
//! | `service_snapshots` | snapshots of the six builtin clocks, on sequence 1 |
//! | `suspends`, `suspend_ns` | MONOTONIC and MONOTONIC_RAW stand still |
//! | `realtime_step_ns` | REALTIME is set back halfway (rule N5) |
//! | `sequences` | sequences of SDK packets, with clocks 64 and 65 of their own |
//! | `sequence_snapshot_every` | packets between snapshots of a sequence |
//! | `sequence_unit_ns` | unit of clocks 64 and 65 |
//! | `annotations` | debug annotations of each begin of a slice |
//! | `sequence_reference` | the clock that snapshots read with them |
//! | `absolute_every` | which SDK packets are on clock 65 |
//! | `loss_every` | the SDK packets before which data was lost (rule S4) |
//! | `cpus`, `events_per_read` | bundles of kernel events |
//! | `compact` | compact scheduler encoding |
//! | `ftrace_clock` | clock of kernel events, with pairs (rule I1) |
//! | `lines_per_packet` | log lines in a packet (rule I2) |
//! | `chain` | custom clocks, each a hop further from MONOTONIC (rule V3) |
//! | `clock_snapshot_every` | packets between snapshots of custom clocks |
//! | `counter_unit_ns` | unit of the hardware counter (rule V4) |
//! | `late_snapshot_ns` | time between the snapshots that come at the end (rule D2) |
//! | `crystals`, `crystal_hops` | clocks with a crystal, each this many hops from BOOTTIME |
//! | `crystal_khz` | ticks in a millisecond of the clocks that packets are on |
//! | `crystal_snapshot_ns` | time between snapshots of a crystal and the clock below it |
//! | `wander_ppb` | how fast the rate of a crystal changes |
//! | `apart_ns` | the time between the two readings of a snapshot |
//! | `outlier_every`, `outlier_ns` | the snapshots with a longer time in between, and that time |
//! | `pair_ns` | the time from each snapshot to a second one |
//! | `hole_ns` | the time without a snapshot in the middle of the trace |
//! | `bend_ppm` | how much faster crystals become there |
//! | `set_ns` | how far the clocks of packets are set there |
//! | `compression`, `compression_batch` | compressed packets (rule F3) |
//!
//! # Sets
//!
//! A [`Set`] is several machines or files ([`write_set`]). There is still one true time, the host's
//! BOOTTIME. A guest's BOOTTIME is a clock with a crystal over it; its other clocks are lines over
//! its own BOOTTIME; and its REALTIME, which somebody keeps right, is a line over the true time.
//! Machines are related by REALTIME, by rounds (`rounds.rs`), or by a manifest. The truth of a set
//! has no largest error of a conversion, only the time of everything: the share of times within the
//! error that an import states is measured.
//!
//! [`Form`] says how a set is divided into files. Its machines record by the knobs above
//! (`machine`), without the knobs for the host's clocks or for events of a machine:
//!
//! | knob | meaning |
//! |---|---|
//! | `processes` | of one machine, each with a file and snapshots of its own |
//! | `guests` | machines in addition to the host |
//! | `guest_drift_ppm`, `guest_wander_ppb` | the error of their rates, and how fast these change |
//! | `guest_offset_ns` | the distance between the machines' starts |
//! | `realtime_apart_ns` | the error of their REALTIME (rule X26) |
//! | `round_trip_ns`, `jitter_ns` | how long a message and its answer take (rule X20) |
//! | `asymmetry_percent` | how much longer the message takes than the answer |
//! | `round_interval_ns` | time between rounds (rule X24) |
//! | `sync_packets`, `read_after_ns` | the place of rounds in a trace, and which rounds |
//!
//! # Fleets
//!
//! A [`Fleet`] is many small traces, of five devices with two builds ([`write_fleet`]), for tools
//! that read folders of traces. It has no truth. Two facts hold for all fleets: on one device,
//! frames take longer with the second build; and another device has a clock with a wrong unit.
//!
//! | knob | meaning |
//! |---|---|
//! | `traces` | their number |
//! | `damaged_percent` | the percentage of damaged ones |
//! | `records` | the least number of records in each |
//!
//! # JSON
//!
//! [`write_kineto`] writes a trace in Chrome's JSON format. It has no truth.

mod bombs;
mod chain;
mod clock;
mod clock_ids;
mod counter;
mod crystal;
mod crystals;
mod encode;
mod error;
mod fleet;
mod ftrace;
mod generator;
mod hop;
mod kineto;
mod late;
mod logs;
mod machines;
mod output;
mod phone;
mod random;
mod rounds;
mod scene;
mod sdk;
mod set;
mod settings;
mod truth;
mod world;

use std::io::{self, Write};

use crate::synth::generator::Generator;

pub use bombs::{BOMBS, Bomb, bomb};
pub use error::Error;
pub use fleet::{Fleet, FleetFile, FleetState, FleetSummary, write_fleet};
pub use generator::Summary;
pub use kineto::write_kineto;
pub use machines::{SetFile, SetSummary, SetTruth, write_set, write_set_with_truth};
pub use random::Random;
pub use set::{Form, Set};
pub use settings::{Compression, FtraceClock, Mix, Preset, Reference, Settings, Size};
pub use truth::{Expected, Reason, Row, Truth};

/// Writes a trace.
///
/// `out` needs no buffer: it gets 64 KiB at a time, or a compressed batch.
///
/// ```
/// use timebase_lab::synth::{Preset, Settings};
///
/// let settings = Settings::preset(Preset::Packets).bytes(100_000);
/// let mut trace = Vec::new();
/// let summary = timebase_lab::synth::write(&settings, &mut trace)?;
/// assert_eq!(summary.bytes, trace.len() as u64);
/// assert!((100_000..100_200).contains(&summary.bytes));
/// # Ok::<(), timebase_lab::synth::Error>(())
/// ```
///
/// # Errors
///
/// If a knob is out of range, before anything is written; or if the trace would last too long. Or
/// the errors of `out`.
pub fn write(settings: &Settings, out: &mut impl Write) -> Result<Summary, Error> {
    Generator::alone(settings, out, None)?.run()
}

/// Writes a trace, and reports the truth of everything in it that has a time, in file order. The
/// [crate's documentation](crate) has an example.
///
/// # Errors
///
/// The errors of [`write()`] and of `truth`.
pub fn write_with_truth(
    settings: &Settings,
    out: &mut impl Write,
    truth: &mut dyn FnMut(Truth) -> io::Result<()>,
) -> Result<Summary, Error> {
    let mut sink = |_, told| truth(told);
    Generator::alone(settings, out, Some(&mut sink))?.run()
}

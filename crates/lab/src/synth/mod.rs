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
//! A trace is streamed: memory is that of one batch of packets, of the kernel
//! events and log lines that wait for their packet, and of about 200 bytes for
//! each sequence. The same settings give the same bytes on every machine.
//!
//! # Design
//!
//! There is one true time, BOOTTIME. Every clock is a straight line over another
//! one, with a rate of its own (`clock.rs`), rounded down to its unit; suspends
//! and steps are what happens to the machine (`world.rs`). A record has the
//! reading of its clock at the true time, and the truth is that time, with the
//! largest error that the conversion may have. The error is worked out from the
//! rates, the units, and how far each hop of the conversion is from the nearest
//! earlier snapshot (`hop.rs`).
//!
//! Clocks of a *crystal* are for who asks how far off a conversion is. Theirs are no
//! straight lines (`crystal.rs`), and their snapshots are taken once in so much time
//! and read one clock after the other (`crystals.rs`). To make the other clocks so was
//! the alternative: all traces of benchmarks would have been others, and without
//! drift conversions would no longer be exact.
//!
//! To compute the very result that the rules lead to was the alternative. It
//! would check more, but it would be a second resolver, with the same
//! misunderstandings; a bound from the model of the clocks knows nothing of how
//! conversions are done. Without drift both are the same: every row must be
//! exact to its clock's unit.
//!
//! Nothing is drawn ahead: a record is chosen by weight, written, and forgotten.
//! To merge streams of events by time would have been nearer to how recorders
//! work, but a size in bytes could not be met.
//!
//! # Knobs
//!
//! The fields of [`Settings`]; [`Preset`] has values of them under a name.
//!
//! | knob | meaning |
//! |---|---|
//! | `size` | records, or bytes of the file |
//! | `seed` | what all random choices follow from |
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
//! | `sequence_reference` | the clock that is read with them |
//! | `absolute_every` | which SDK packets are on clock 65 |
//! | `loss_every` | before which SDK packets data was lost (rule S4) |
//! | `cpus`, `events_per_read` | bundles of kernel events |
//! | `compact` | compact scheduler encoding |
//! | `ftrace_clock` | clock of kernel events, with pairs (rule I1) |
//! | `lines_per_packet` | log lines in a packet (rule I2) |
//! | `chain` | custom clocks, each a hop further from MONOTONIC (rule V3) |
//! | `clock_snapshot_every` | packets between snapshots of custom clocks |
//! | `counter_unit_ns` | unit of the hardware counter (rule V4) |
//! | `late_snapshot_ns` | time between the snapshots that come at the end (rule D2) |
//! | `crystals`, `crystal_hops` | clocks with a crystal, each so many hops from BOOTTIME |
//! | `crystal_khz` | ticks in a millisecond of the clocks that packets are on |
//! | `crystal_snapshot_ns` | time between snapshots of a crystal and the clock below it |
//! | `wander_ppb` | how fast the rate of a crystal changes |
//! | `apart_ns` | how far apart the two clocks of a snapshot are read |
//! | `outlier_every`, `outlier_ns` | which of them are read further apart, and how far |
//! | `pair_ns` | how long after each snapshot there is another one |
//! | `hole_ns` | for how long there is none in the middle of the trace |
//! | `bend_ppm` | how much faster crystals become there |
//! | `set_ns` | by how much the clocks that packets are on are set there |
//! | `compression`, `compression_batch` | compressed packets (rule F3) |
//!
//! # Sets
//!
//! A [`Set`] is several machines or files ([`write_set`]). There is still one true time, the
//! host's BOOTTIME. A guest's BOOTTIME is a clock with a crystal over it, its other clocks
//! are lines over its own BOOTTIME, and its REALTIME, which somebody keeps right, is one over
//! the true time. Machines know of each other by REALTIME, by what they have asked each other
//! (`rounds.rs`), or by a manifest. How far a conversion between them may be off is not told,
//! but when everything happened: that a share of all is within the error that an import states
//! is to be measured.
//!
//! [`Form`] says how a set is divided into files. What its machines record are the knobs above
//! (`machine`), without those whose clocks are the host's, or that happen to a machine:
//!
//! | knob | meaning |
//! |---|---|
//! | `processes` | of one machine, each with a file and snapshots of its own |
//! | `guests` | machines beside the host |
//! | `guest_drift_ppm`, `guest_wander_ppb` | how far off their rates are, and how fast these change |
//! | `guest_offset_ns` | how far apart machines began |
//! | `realtime_apart_ns` | how far their REALTIME is off (rule X26) |
//! | `round_trip_ns`, `jitter_ns` | how long a message and its answer take (rule X20) |
//! | `asymmetry_percent` | how much longer the message takes than the answer |
//! | `round_interval_ns` | time between rounds (rule X24) |
//! | `sync_packets`, `read_after_ns` | where rounds stand in a trace, and which |
//!
//! # Fleets
//!
//! A [`Fleet`] is many small traces, of five devices with two builds ([`write_fleet`]): for who reads
//! folders of traces. No truth is told of them; what is true of all is that one device's frames take
//! longer with the second build, and that another has a clock that is not what it says.
//!
//! | knob | meaning |
//! |---|---|
//! | `traces` | how many |
//! | `damaged_percent` | how many of a hundred are damaged |
//! | `records` | how many records each has at least |

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
/// If a knob is out of range, before anything is written; if the trace would
/// last too long; or those of `out`.
pub fn write(settings: &Settings, out: &mut impl Write) -> Result<Summary, Error> {
    Generator::alone(settings, out, None)?.run()
}

/// Writes a trace, and tells the truth of everything in it that has a time, in
/// file order. The [crate's documentation](crate) has an example.
///
/// # Errors
///
/// As [`write()`], and those of `truth`.
pub fn write_with_truth(
    settings: &Settings,
    out: &mut impl Write,
    truth: &mut dyn FnMut(Truth) -> io::Result<()>,
) -> Result<Summary, Error> {
    let mut sink = |_, told| truth(told);
    Generator::alone(settings, out, Some(&mut sink))?.run()
}

//! Measures the errors of an import's times, by nearest neighbour (rules V) and by the rate (rules
//! R), and whether their stated errors hold.
//!
//! ```
//! use timebase_lab::accuracy::{Case, measure};
//!
//! let directory = tempfile::tempdir()?;
//! let [drift, ..] = Case::all();
//! let measured = measure(&drift.records(2000), directory.path())?;
//! assert_eq!(measured.nearest.count, 2000);
//! // 50 ppm, and a snapshot a second.
//! assert!((20_000.0..40_000.0).contains(&measured.nearest.rms));
//! assert!(measured.linear.rms < 1000.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Design
//!
//! There are four measurements, because none replaces another:
//!
//! * **Generated traces** (`case.rs`, `measure.rs`) have the truth of every reading, but their
//!   clocks follow somebody's idea of clocks. One trace is one random sample, so difficult cases
//!   are measured with many seeds, and the worst result is shown.
//! * **Generated sets** (`set_case.rs`, `measure_set.rs`) are of several machines that asked each
//!   other for the time: their errors are those of a round trip, not of a reading.
//! * **Few readings** (`few.rs`) are two or three snapshots, close together or coarse, and the times
//!   long after them: the bounds matter there, not the lines. They need no trace, so they are many.
//! * **Recorded traces** (`left_out.rs`) have real clocks, but the truth is only known at
//!   snapshots. So each snapshot except the first and the last is left out once, and its readings
//!   are compared with the times from the others. This is harder than an import: gaps are twice as
//!   long.
//!
//! The crate queries databases as users do: `packet.ts` has the result of nearest neighbour, and
//! `packet_interval` has the rest. Calling the resolver would be faster, but would miss the rounding in
//! tables.
//!
//! Errors have no sign. Inversions are counted among neighbouring readings of one clock, where a
//! conversion can avoid them, and among neighbouring readings of any clocks: if these are closer
//! than the errors of the two clocks, nobody knows which was first.

mod case;
mod error;
mod few;
mod left_out;
mod measure;
mod measure_set;
mod off;
mod report;
mod set_case;

pub use case::{Case, Goals, HardCase};
pub use error::Error;
pub use few::{FewCase, FewMeasured};
pub use left_out::{LeftOut, leave_out};
pub use measure::{Inversions, Measured, MeasuredSeeds, measure, measure_seeds};
pub use measure_set::{SetMeasured, Stated, measure_set};
pub use off::Off;
pub use report::{cases, few, left_outs, seeds, set_cases};
pub use set_case::{SetCase, SetGoal};

//! Measures how far the times of an import are from the truth, by nearest neighbour (rules V) and by the
//! rate (rules R), and whether their stated errors hold.
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
//! Three questions, since none answers another:
//!
//! * **Generated traces** (`case.rs`, `measure.rs`) know the truth of every reading, but
//!   their clocks are as somebody thinks that clocks are. One trace is one draw of chance, so
//!   what is hard for a conversion is measured with many seeds, and the worst of them shown.
//! * **Generated sets** (`set_case.rs`, `measure_set.rs`) are of several machines, which know of each
//!   other by what they have asked: there the errors are those of a round trip, not of a reading.
//! * **Recorded traces** (`left_out.rs`) have real clocks, but the truth is known only where
//!   a snapshot was taken. So each snapshot but the first and the last is left out in turn,
//!   and where the others put it is compared with what it says. This is harder than what
//!   imports do: gaps are twice as long.
//!
//! The crate queries databases as users do: `packet.ts` has the result of nearest neighbour, and
//! `packet_interval` has the rest. Calling the resolver would be faster, but would miss the rounding in
//! tables.
//!
//! Errors have no sign. Inversions are counted of readings of one clock, where a conversion can
//! do without, and of any two that follow each other: if those are nearer than what the two
//! clocks are off by, nobody knows which was first.

mod case;
mod error;
mod left_out;
mod measure;
mod measure_set;
mod off;
mod report;
mod set_case;

pub use case::{Case, Goals, HardCase};
pub use error::Error;
pub use left_out::{LeftOut, leave_out};
pub use measure::{Inversions, Measured, MeasuredSeeds, measure, measure_seeds};
pub use measure_set::{SetMeasured, Stated, measure_set};
pub use off::Off;
pub use report::{cases, left_outs, seeds, set_cases};
pub use set_case::{SetCase, SetGoal};

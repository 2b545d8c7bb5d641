//! The statistics of `timebase compare`: which lines of two groups of runs changed, by how much, and how sure that
//! is.
//!
//! A caller adds the [`Values`] of runs, [`compare`]s them, and prints the [`Comparison`]; [`judge`] says whether
//! conditions such as "any > +5 %" fail. [`pattern`] makes the names of lines equal in all runs.
//!
//! | question | decided in |
//! |---|---|
//! | the lines and their statistics (rule CM4) | `line.rs` |
//! | names without numbers (rule CM7) | `pattern.rs` |
//!
//! # Design
//!
//! The crate knows neither traces nor databases: values come from a trace today, and from a table of values tomorrow.

mod compare;
mod comparison;
mod error;
mod estimate;
mod fail_on;
mod judge;
mod line;
mod measure;
mod pattern;
mod run;
mod settings;
mod student;
mod values;

pub use compare::compare;
pub use comparison::{
    Appearance, Call, Compared, Comparison, Counts, LineResult, Mark, NameResult, Note, Row, Scale,
    Shift, Unused, Why,
};
pub use error::{Error, Result};
pub use estimate::Estimate;
pub use fail_on::{Direction, FailOn, LimitUnit};
pub use judge::{Judged, Outcome, Verdict, judge};
pub use line::{Family, Line, Stat, Unit};
pub use measure::{METRICS, MeasureError, Measured, Measuring, Metric, TABLES, measure};
pub use pattern::Names;
pub use run::{Facts, Run, RunId, Side};
pub use settings::{Pairs, Per, Settings};
pub use values::{Value, Values};

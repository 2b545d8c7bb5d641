//! The statistics of `timebase compare`: which lines of two groups of runs changed, by how much, and how sure that
//! is.
//!
//! A caller adds the [`Values`] of runs, [`compare`]s them, and prints the [`Comparison`]; [`judge`] says whether
//! conditions such as "any > +5 %" fail. [`Names`] make the names of lines equal in all runs.
//!
//! | question | decided in |
//! |---|---|
//! | the lines and their statistics (rule CM4) | `line.rs` |
//! | names without numbers (rule CM7) | `pattern.rs` |
//! | the values of one run, from its database (rules CM4 to CM6) | `measure` |
//! | how values are stored (rule CM3) | `values.rs` |
//! | which runs are used; marks and pairs (rules CM11, CM17, CM18) | `runs.rs` |
//! | which lines are large enough, and what divides them (rules CM8, CM12) | `table.rs` |
//! | the error of a difference (rules CM13, CM16, CM17) | `estimate.rs`, `student.rs` |
//! | what all lines share (rule CM14) | `shift.rs` |
//! | the probability of a row (rules CM9, CM10) | `rows.rs` |
//! | which lines are called (rules CM15, CM20) | `correct.rs`, `compare.rs` |
//! | new and gone names (rule CM19) | `names.rs` |
//! | remarks on runs and lines (rules CM8, CM11, CM14, CM17, CM18, CM20) | `notes.rs` |
//! | whether a condition fails (rule CM21) | `fail_on.rs`, `judge.rs` |
//! | the order of lines (rule CM22) | `order.rs` |
//!
//! # Design
//!
//! The statistics know neither traces nor databases: [`measure()`] takes values from a database, and others come from a
//! table of values.
//! They give numbers and types, no text: a terminal, a table and a page say the same thing in different words.
//!
//! The functions of distributions are those of `statrs`. Its incomplete beta function is exact to 10⁻¹⁰, compared
//! with scipy; `student.rs` inverts it, because its own inverse is not. Code of our own would be the same series
//! without the users.
//!
//! A rank test was rejected: at five runs a side it calls nothing among many lines. So was a bootstrap of runs, whose
//! intervals are too narrow at less than ten runs. [Rule CM15] has the figures.
//!
//! [Rule CM15]: https://github.com/timebase/timebase/blob/main/docs/rules/compare.md

mod compare;
mod comparison;
mod correct;
mod error;
mod estimate;
mod fail_on;
mod judge;
mod line;
mod measure;
mod names;
mod notes;
mod order;
mod pattern;
mod rows;
mod run;
mod runs;
mod settings;
mod shift;
mod student;
mod table;
mod values;

pub use compare::{Dots, compare, dots};
pub use comparison::{
    Appearance, Call, Centre, Compared, Comparison, Counts, LineResult, Mark, NameResult, Note,
    Row, Scale, Shift, Unused, Why,
};
pub use error::{Error, Result};
pub use estimate::Estimate;
pub use fail_on::{Direction, FailOn, LimitUnit};
pub use judge::{Judged, Outcome, Verdict, judge};
pub use line::{Family, Line, Stat, Unit};
pub use measure::{
    INDEXES, METRICS, MeasureError, Measured, Measuring, Metric, TABLES, measure, views,
};
pub use pattern::Names;
pub use run::{Facts, Run, RunId, Side};
pub use settings::{Pairs, Per, Settings};
pub use values::{Value, Values};

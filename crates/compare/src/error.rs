//! The reasons why there is no comparison.

use std::fmt;

use thiserror::Error;

/// The reason why there is no comparison.
///
/// ```
/// use timebase_compare::Error;
/// let error = Error::TooManyLines { limit: 1_000_000 };
/// assert_eq!(error.to_string(), "the runs have over 1000000 lines: join names with --name 'REGEX=TEXT'");
/// ```
#[derive(Clone, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The runs have too many different lines.
    #[error("the runs have over {limit} lines: join names with --name 'REGEX=TEXT'")]
    TooManyLines {
        /// The limit.
        limit: usize,
    },
    /// The runs have more values than the numbers of values reach, or there are too many runs.
    #[error("the runs have too many values: compare fewer runs")]
    TooManyValues,
    /// A run is in both groups.
    #[error("the run {run} is on both sides: name it once")]
    OnBothSides {
        /// The run.
        run: String,
    },
    /// A name of two runs of one side.
    #[error("two runs are named {run}: rename one")]
    RunTwice {
        /// The name.
        run: String,
    },
    /// A value that is no finite number.
    #[error("{line} {stat} of the run {run} is {value}: a value must be a finite number")]
    NotFinite {
        /// The run.
        run: String,
        /// The line.
        line: String,
        /// The statistic.
        stat: &'static str,
        /// The value.
        value: String,
    },
    /// Two values of one statistic.
    #[error("{line} {stat} has two values in the run {run}: give one")]
    ValueTwice {
        /// The run.
        run: String,
        /// The line.
        line: String,
        /// The statistic.
        stat: &'static str,
    },
    /// Sides of different lengths that should be pairs.
    #[error(
        "{before} runs before and {after} after are no pairs: give as many of both, or --pair-by REGEX"
    )]
    NoPairs {
        /// The number of runs before.
        before: usize,
        /// The number of runs after.
        after: usize,
    },
    /// Two runs of a side with one key of a pair.
    #[error(
        "the runs {first} and {second} of one side have the same key {key:?}: change --pair-by"
    )]
    PairTwice {
        /// A run.
        first: String,
        /// Another run of the same side.
        second: String,
        /// The key of both.
        key: String,
    },
    /// A run to leave out that is not there.
    #[error("no run is named {name}: --leave-out needs the name of a run, or lossy")]
    NoSuchRun {
        /// The name.
        name: String,
    },
    /// A side whose runs are all left out.
    #[error("no run {side} is left, because all {runs} are left out by {flag}")]
    NoRunLeft {
        /// The side.
        side: &'static str,
        /// The flag that leaves them out.
        flag: &'static str,
        /// The number of its runs.
        runs: usize,
    },
    /// Values by something that no run has.
    #[error("no run has {what}, by which --per divides: choose another --per")]
    NothingToDivideBy {
        /// The thing.
        what: String,
    },
    /// A condition that cannot be read.
    #[error(
        "{text:?} is no condition: write for example 'self:app/layout total > +5 %', or 'any > +5 %'"
    )]
    Condition {
        /// The condition.
        text: String,
    },
    /// A replacement in names that cannot be read.
    #[error("{text:?} is no replacement of names: {reason}; write REGEX=TEXT")]
    Replacement {
        /// The replacement.
        text: String,
        /// The reason.
        reason: String,
    },
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A result, or the reason why there is none.
pub type Result<T, E = Error> = std::result::Result<T, E>;

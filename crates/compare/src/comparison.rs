//! The result of a comparison.
//!
//! An estimate is stored, an interval is not: its quantile takes most of the time of a row, and few rows are printed.

use std::ops::Range;

use crate::estimate::Estimate;
use crate::line::{Family, Line, Stat, Unit};
use crate::run::{Run, RunId};
use crate::settings::Settings;

/// A comparison of two groups of runs.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The choices by which it was made.
    pub settings: Settings,
    /// The runs, by the index of [`RunId`].
    pub runs: Vec<Compared>,
    /// The pairs of used runs, before and after, if runs are pairs.
    pub pairs: Vec<[RunId; 2]>,
    /// The change that all lines share, the first row of the report.
    pub shift: Option<Shift>,
    /// The lines that are large enough, in the order of the report (rule CM22).
    pub lines: Vec<LineResult>,
    /// The statistics of the lines; [`LineResult::rows`] says which.
    pub rows: Vec<Row>,
    /// New and gone names (rule CM19), and those in one or two runs of a side.
    pub names: Vec<NameResult>,
    /// Remarks.
    pub notes: Vec<Note>,
    /// The numbers of lines, and the chance of errors.
    pub counts: Counts,
}

/// The numbers of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Used runs before and after.
    pub runs: [usize; 2],
    /// Lines that were tested, with names by rule CM19.
    pub tested: usize,
    /// Lines of these that are called.
    pub called: usize,
    /// The level at which lines are called (rule CM15).
    pub alpha: f64,
}

/// A run in a comparison.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The run.
    pub run: Run,
    /// The reason if the comparison does not use the run.
    pub unused: Option<Unused>,
    /// Marks by loss and errors (rule CM11).
    pub marks: Vec<Mark>,
    /// The log of the factor by which the run is slower than its side, if there are enough lines (rule CM14).
    pub factor: Option<f64>,
    /// The place of the run in its side, by the begins of recordings, from 0.
    pub place: usize,
    /// Counts and totals of the run are divided by it (rule CM8): `[sure, all]`.
    pub divisor: [f64; 2],
    /// The run's samples: `[sure, all]`.
    pub samples: [f64; 2],
}

/// The reason why a comparison does not use a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// The user named it.
    LeftOut,
    /// The user leaves marked runs out.
    Lossy,
    /// It is one of the first runs that the user skips.
    First,
    /// It has no partner.
    Unpaired,
}

/// The reason for a `!` at a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// A share of the family's time is left out.
    LeftOut(Family, f64),
    /// A share of the recording is lost.
    Lost(f64),
    /// The doctor finds that many errors.
    Errors(u64),
}

/// The change that all lines share (rule CM14).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// As a log of a ratio: `estimate.interval(0.05)` has its 95 % interval.
    pub estimate: Estimate,
    /// The same by the values of all rows (rule CM10).
    pub all: Estimate,
    /// The centres of the lines' differences, which are taken out of the lines: of sure values, and of all.
    pub centres: [Centre; 2],
    /// The time lines by which it was found.
    pub lines: usize,
}

impl Shift {
    /// Loss, if the 95 % interval excludes no shift, and that of all rows does not, or is on the other side.
    pub fn why(&self) -> Option<Why> {
        let side = |estimate: &Estimate| match estimate.interval(0.05) {
            Some([low, _]) if low > 0.0 => 1,
            Some([_, high]) if high < 0.0 => -1,
            _ => 0,
        };
        let [sure, all] = [side(&self.estimate), side(&self.all)];
        (sure != 0 && sure != all).then_some(Why::Loss)
    }
}

/// The robust centre of many differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centre {
    /// Its place, the log of a ratio.
    pub at: f64,
    /// Its error.
    pub error: f64,
}

/// A line of the report.
#[derive(Clone, Debug)]
pub struct LineResult {
    /// The line.
    pub line: Line,
    /// Its statistics: indexes into [`Comparison::rows`].
    pub rows: Range<usize>,
    /// The probability by Simes over its tested statistics.
    pub p: Option<f64>,
    /// Whether any statistic is called.
    pub call: Call,
    /// Its place in the order: the change of its time in a run, in ns; without time, the log of the ratio.
    pub impact: f64,
    /// The share of its time that the sure values leave out (rule CM10).
    pub left_out: f64,
}

/// Whether a statistic is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// It is not seen to change.
    No,
    /// It stands out, among three or four runs (rule CM20).
    StandsOut,
    /// It changed.
    Changed,
}

/// The reason why an interval without 0 is no call (rule CM15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The values of all rows do not show it (rule CM10).
    Loss,
    /// The line has no such change of its own (rule CM14).
    Shared,
}

impl Why {
    /// The name in a table of rows.
    pub fn name(self) -> &'static str {
        match self {
            Why::Loss => "loss",
            Why::Shared => "shared",
        }
    }
}

/// The scale of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Estimates are logs of ratios (rule CM12).
    Ratio,
    /// Estimates are differences, in the unit of the row (rule CM9).
    Difference,
}

/// A statistic of a line.
#[derive(Clone, Debug)]
pub struct Row {
    /// The statistic.
    pub stat: Stat,
    /// The unit of `mean`.
    pub unit: Unit,
    /// The scale of the estimates.
    pub scale: Scale,
    /// The runs with a value, before and after.
    pub n: [u32; 2],
    /// The means of the runs, before and after; NaN without a run.
    pub mean: [f64; 2],
    /// The change as it is.
    pub change: Estimate,
    /// The change beyond that of all lines, if it is what is tested (rule CM14).
    pub beyond: Option<Estimate>,
    /// The tested estimate, by the values of all rows (rule CM10).
    pub all: Estimate,
    /// The probability; `None` if the statistic is only shown or has too few runs.
    pub p: Option<f64>,
    /// The level at which it was judged (rule CM15): an interval has the level 1 − alpha.
    pub alpha: f64,
    /// Whether it is called.
    pub call: Call,
    /// The reason if its interval excludes no change, and it is not called.
    pub why: Option<Why>,
}

impl Row {
    /// The difference of the means, after less before.
    pub fn delta(&self) -> f64 {
        self.mean[1] - self.mean[0]
    }

    /// The estimate that was judged: beyond all lines if there is one.
    pub fn judged(&self) -> Estimate {
        self.beyond.unwrap_or(self.change)
    }

    /// The judged effect: a ratio, or a difference.
    pub fn effect(&self) -> f64 {
        self.shown(self.judged().d)
    }

    /// The interval of the judged effect at the level at which it was judged.
    pub fn interval(&self) -> Option<[f64; 2]> {
        self.interval_of(self.judged(), self.alpha)
    }

    /// The 95 % interval of the judged effect.
    pub fn interval95(&self) -> Option<[f64; 2]> {
        self.interval_of(self.judged(), 0.05)
    }

    /// The interval of an estimate of this row, as shown: of ratios, or of differences.
    pub fn interval_of(&self, estimate: Estimate, alpha: f64) -> Option<[f64; 2]> {
        Some(estimate.interval(alpha)?.map(|end| self.shown(end)))
    }

    /// The smallest change that would be seen, with a power of 80 % (rule CM16), as shown.
    pub fn smallest(&self) -> Option<f64> {
        self.p?;
        Some(self.shown(self.judged().smallest(self.alpha)?))
    }

    /// An estimate as people read it: a ratio, or a difference.
    pub fn shown(&self, d: f64) -> f64 {
        match self.scale {
            Scale::Ratio => d.exp(),
            Scale::Difference => d,
        }
    }
}

/// Whether a name is new or gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appearance {
    /// No run before has it.
    New,
    /// No run after has it.
    Gone,
    /// One or two runs of a side have it.
    Seldom,
}

impl Unused {
    /// The name in a table of runs.
    ///
    /// ```
    /// assert_eq!(timebase_compare::Unused::Lossy.name(), "lossy");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Unused::LeftOut => "left_out",
            Unused::Lossy => "lossy",
            Unused::First => "first",
            Unused::Unpaired => "unpaired",
        }
    }
}

/// A name that too few runs of a side have for a ratio (rule CM19).
#[derive(Clone, Debug)]
pub struct NameResult {
    /// The line.
    pub line: Line,
    /// Whether it is new or gone.
    pub appearance: Appearance,
    /// The runs that have it, before and after.
    pub runs: [u32; 2],
    /// The used runs of each side.
    pub of: [u32; 2],
    /// The mean of its time, samples, bytes or count, in the runs that have it.
    pub mean: f64,
    /// The unit of the mean.
    pub unit: Unit,
    /// Fisher's probability; `None` with less than three runs on a side.
    pub p: Option<f64>,
    /// Whether it is called.
    pub call: Call,
    /// Of a new name the gone one below the same parent that it may have been, and the other way round: indexes
    /// into [`Comparison::names`].
    pub renamed: Option<usize>,
}

/// A remark on a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// The runs differ by over 10 % in length (rule CM8).
    LengthsDiffer {
        /// The shortest.
        shortest: RunId,
        /// The longest.
        longest: RunId,
    },
    /// The sides lost shares that are over 2 points apart (rule CM11).
    LossDiffers {
        /// The family whose rows are left out; `None` for parts of the recording.
        family: Option<Family>,
        /// The mean share, before and after.
        shares: [f64; 2],
    },
    /// Over a quarter of the time lines are called in one direction: the shift and the lines cannot be told apart
    /// (rule CM14).
    OneDirection {
        /// Time lines that are called as slower.
        up: usize,
        /// Time lines that are called as faster.
        down: usize,
        /// Tested time lines.
        of: usize,
    },
    /// All runs of one side were recorded before those of the other: interleave them (rule CM17).
    Interleave,
    /// The run's common factor is far from those of its side (rule CM18).
    OddRun {
        /// The run.
        run: RunId,
        /// The log of the factor against the side's median.
        factor: f64,
    },
    /// The first run of a side is its slowest (rule CM18).
    FirstSlowest {
        /// The run.
        run: RunId,
        /// The log of the factor against the side's median.
        factor: f64,
    },
    /// A side has less than five runs: there are no verdicts (rule CM20).
    FewRuns {
        /// The runs a side that would show a change of 10 % of half of the lines.
        needed: Option<u32>,
    },
    /// No line has values on both sides, so nothing is compared (rule CM19).
    NothingInCommon,
    /// The run has no partner (rule CM17).
    Unpaired {
        /// The run.
        run: RunId,
    },
}

impl Note {
    /// The name in a table of notes.
    ///
    /// ```
    /// assert_eq!(timebase_compare::Note::Interleave.name(), "interleave");
    /// ```
    pub fn name(&self) -> &'static str {
        match self {
            Note::LengthsDiffer { .. } => "lengths_differ",
            Note::LossDiffers { .. } => "loss_differs",
            Note::OneDirection { .. } => "one_direction",
            Note::Interleave => "interleave",
            Note::OddRun { .. } => "odd_run",
            Note::FirstSlowest { .. } => "first_slowest",
            Note::FewRuns { .. } => "few_runs",
            Note::NothingInCommon => "nothing_in_common",
            Note::Unpaired { .. } => "unpaired",
        }
    }

    /// The run that it is about, if it is about one.
    ///
    /// ```
    /// assert_eq!(timebase_compare::Note::Interleave.run(), None);
    /// ```
    pub fn run(&self) -> Option<RunId> {
        match self {
            Note::OddRun { run, .. } | Note::FirstSlowest { run, .. } | Note::Unpaired { run } => {
                Some(*run)
            }
            _ => None,
        }
    }
}

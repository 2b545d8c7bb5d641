//! The data of the page: sentences as the caller says them, and numbers to draw.

use super::flame::Flame;
use super::plot::Unit;

/// A comparison of two groups of runs.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// The names of the sides, before and after.
    pub labels: [String; 2],
    /// The numbers of runs and lines, as a sentence.
    pub said: String,
    /// The change that all lines share.
    pub together: Option<Together>,
    /// Marks of runs, and remarks.
    pub notes: Vec<String>,
    /// Whether `runs` are in the order of their recording, and not in that in which they were given.
    pub is_by_time: bool,
    /// All runs, in order.
    pub runs: Vec<Run>,
    /// The heading of the lines.
    pub title: String,
    /// The lines, by family.
    pub sections: Vec<Section>,
    /// New and gone names.
    pub names: Vec<Names>,
    /// Lines whose change is not called, each with the reason.
    pub not_called: Vec<String>,
    /// The lines without a change.
    pub unseen: Option<Unseen>,
    /// Callstacks.
    pub flames: Vec<Flame>,
    /// Remarks on what the page leaves out.
    pub left_out: Vec<String>,
}

/// The change that all lines share, in words.
#[derive(Clone, Debug)]
pub struct Together {
    /// The change.
    pub change: String,
    /// Its 95 % interval.
    pub interval: Option<String>,
    /// The words after it.
    pub meaning: String,
}

/// A run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// 0 before, 1 after.
    pub side: usize,
    /// The ratio by which all its lines are slower than its side.
    pub factor: Option<f64>,
    /// The words of a mark, if its factor is far from its side's.
    pub odd: Option<String>,
    /// Marks and other remarks.
    pub marks: Vec<String>,
    /// The reason why the comparison does not use it.
    pub unused: Option<String>,
}

/// The lines of a family.
#[derive(Clone, Debug)]
pub struct Section {
    /// The name of the family.
    pub name: String,
    /// What its lines are.
    pub about: String,
    /// The names of the columns.
    pub columns: [String; 6],
    /// Its lines, in order.
    pub lines: Vec<Line>,
    /// The number of further lines.
    pub more: usize,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name, as conditions write it.
    pub name: String,
    /// The texts of its columns: five numbers and the name.
    pub cells: [String; 6],
    /// Remarks on it.
    pub remarks: String,
    /// The direction of its change.
    pub change: Change,
    /// Its plots.
    pub plots: Option<Plots>,
}

/// The direction of a change that is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Change {
    /// It is not called.
    #[default]
    None,
    /// After is larger.
    More,
    /// After is smaller.
    Less,
}

/// The plots of a line.
#[derive(Clone, Debug, Default)]
pub struct Plots {
    /// The values of the runs.
    pub dots: Option<Dots>,
    /// The intervals of its statistics: those of one scale are a plot.
    pub forests: Vec<Forest>,
    /// The durations of its events.
    pub distribution: Option<Distribution>,
}

/// The values of a statistic in the runs.
#[derive(Clone, Debug, Default)]
pub struct Dots {
    /// The name of the statistic.
    pub stat: String,
    /// The unit of the values.
    pub unit: Unit,
    /// The runs that have a value.
    pub values: Vec<Dot>,
    /// The means of the sides, if they have runs.
    pub means: [Option<f64>; 2],
    /// The interval of the change, around the mean after.
    pub interval: Option<[f64; 2]>,
    /// The interval in words.
    pub said: String,
}

/// The value of a run.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    /// The index of the run.
    pub run: usize,
    /// The value by rows without doubt.
    pub value: f64,
    /// The value by all rows, if it differs.
    pub all: Option<f64>,
}

/// Changes with their intervals, on one scale.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// The heading.
    pub title: String,
    /// Whether changes are ratios, and not differences.
    pub is_ratio: bool,
    /// The unit of differences.
    pub unit: Unit,
    /// A row for each statistic.
    pub rows: Vec<Interval>,
}

/// The change of a statistic.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The name of the statistic.
    pub stat: String,
    /// The change: a ratio, or a difference.
    pub effect: f64,
    /// The ends of its interval.
    pub ends: Option<[f64; 2]>,
    /// The change in words.
    pub said: String,
    /// The change and its interval in words.
    pub title: String,
    /// Whether it is called.
    pub change: Change,
}

/// The durations of the events of a line.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// For each side, for each run, the numbers of durations in buckets: bucket b begins at 1.02 ^ b ns.
    pub sides: [Vec<Vec<(i32, i64)>>; 2],
}

/// Names that are new, or gone.
#[derive(Clone, Debug)]
pub struct Names {
    /// The heading.
    pub title: String,
    /// The names, with their numbers.
    pub items: Vec<String>,
    /// The number of further names.
    pub more: usize,
}

/// The lines without a change.
#[derive(Clone, Debug)]
pub struct Unseen {
    /// The sentence about all of them.
    pub said: String,
    /// Line, statistic, before, after, change, and the change that would be seen.
    pub rows: Vec<[String; 6]>,
    /// The number of further lines.
    pub more: usize,
}

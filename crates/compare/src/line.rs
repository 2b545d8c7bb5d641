//! Lines and their statistics (rule CM4): the rows of a comparison.

use std::fmt;

/// A kind of lines. Each has statistics of its own, of which some are tested and others only shown.
///
/// ```
/// use timebase_compare::{Family, Stat};
/// assert_eq!(Family::parse("self"), Some(Family::SelfTime));
/// assert_eq!(Family::Cpu.name(), "cpu");
/// assert!(Family::SelfTime.tests(Stat::P99) && !Family::SelfTime.tests(Stat::Max));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Slices on threads, without inner slices.
    SelfTime,
    /// Slices that are on no thread.
    Async,
    /// The CPU time of threads.
    Cpu,
    /// Threads that are ready, while another thread has the CPU.
    Wait,
    /// Threads that the kernel blocks.
    Blocked,
    /// Frames by layer.
    Frame,
    /// Counters, and memory.
    Counter,
    /// Samples by innermost function.
    Sample,
    /// Memory that was allocated and not freed, by innermost function.
    Heap,
    /// Log lines of the levels E and F, by tag.
    Log,
    /// Metrics of the user.
    Metric,
    /// Slices on threads, with inner slices; only shown.
    Slice,
    /// The CPU time of processes; only shown.
    CpuOfProcess,
}

impl Family {
    /// All families, in the order of the report.
    pub const ALL: [Family; 13] = [
        Family::SelfTime,
        Family::Async,
        Family::Cpu,
        Family::Wait,
        Family::Blocked,
        Family::Frame,
        Family::Counter,
        Family::Sample,
        Family::Heap,
        Family::Log,
        Family::Metric,
        Family::Slice,
        Family::CpuOfProcess,
    ];

    /// The name in values and conditions.
    pub fn name(self) -> &'static str {
        match self {
            Family::SelfTime => "self",
            Family::Async => "async",
            Family::Cpu => "cpu",
            Family::Wait => "wait",
            Family::Blocked => "blocked",
            Family::Frame => "frame",
            Family::Counter => "counter",
            Family::Sample => "sample",
            Family::Heap => "heap",
            Family::Log => "log",
            Family::Metric => "metric",
            Family::Slice => "slice",
            Family::CpuOfProcess => "cpu of process",
        }
    }

    /// The family with that name.
    pub fn parse(name: &str) -> Option<Family> {
        Family::ALL.into_iter().find(|family| family.name() == name)
    }

    /// Whether `stat` of the family is tested; if not, it is only shown.
    pub fn tests(self, stat: Stat) -> bool {
        use Stat::{Count, Jank, Mean, P50, P90, P99, Share, Size, Total};
        match self {
            Family::SelfTime => matches!(stat, Count | Total | P50 | P90 | P99),
            Family::Async => matches!(stat, Count | P50 | P90 | P99),
            Family::Cpu => stat == Total,
            Family::Wait | Family::Blocked => matches!(stat, Count | Total | P50 | P99),
            Family::Frame => matches!(stat, Count | P50 | P90 | P99 | Jank),
            Family::Counter => stat == Mean,
            Family::Sample => stat == Share,
            Family::Heap => stat == Size,
            Family::Log => stat == Count,
            Family::Metric => stat == Stat::Value,
            Family::Slice | Family::CpuOfProcess => false,
        }
    }

    /// Whether any statistic of the family is tested.
    pub fn is_tested(self) -> bool {
        Stat::ALL.into_iter().any(|stat| self.tests(stat))
    }

    /// Whether the factor that all lines share is taken out of the family's times (rule CM14).
    pub fn is_time(self) -> bool {
        matches!(self, Family::SelfTime | Family::Async | Family::Cpu | Family::Frame)
    }

    /// The statistic by which a line has to be large enough (rule CM12); some families need none.
    pub(crate) fn weight(self) -> Option<Stat> {
        match self {
            Family::Counter | Family::Log | Family::Metric => None,
            Family::Sample => Some(Stat::Share),
            Family::Heap => Some(Stat::Size),
            _ => Some(Stat::Total),
        }
    }
}

/// A statistic of a line: a run has one value of each.
///
/// ```
/// use timebase_compare::{Family, Stat, Unit};
/// assert_eq!(Stat::parse("p99"), Some(Stat::P99));
/// assert_eq!(Stat::P99.unit(), Unit::Time);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stat {
    /// The number of events.
    Count,
    /// Their time together.
    Total,
    /// The median.
    P50,
    /// The time that 90 % do not pass.
    P90,
    /// The time that 99 % do not pass.
    P99,
    /// The largest.
    Max,
    /// The share of late frames.
    Jank,
    /// The mean by time.
    Mean,
    /// The share of the run's samples. Its values are numbers of samples, named `self`: a comparison divides
    /// them by the sum of the run.
    Share,
    /// Bytes.
    Size,
    /// The number that a user's metric gives.
    Value,
}

impl Stat {
    /// All statistics.
    pub const ALL: [Stat; 11] = [
        Stat::Count,
        Stat::Total,
        Stat::P50,
        Stat::P90,
        Stat::P99,
        Stat::Max,
        Stat::Jank,
        Stat::Mean,
        Stat::Share,
        Stat::Size,
        Stat::Value,
    ];

    /// The name in values and conditions.
    pub fn name(self) -> &'static str {
        match self {
            Stat::Count => "count",
            Stat::Total => "total",
            Stat::P50 => "p50",
            Stat::P90 => "p90",
            Stat::P99 => "p99",
            Stat::Max => "max",
            Stat::Jank => "jank",
            Stat::Mean => "mean",
            Stat::Share => "self",
            Stat::Size => "size",
            Stat::Value => "value",
        }
    }

    /// The statistic with that name.
    pub fn parse(name: &str) -> Option<Stat> {
        Stat::ALL.into_iter().find(|stat| stat.name() == name)
    }

    /// The unit of its values in a comparison, except the largest of a counter.
    pub fn unit(self) -> Unit {
        match self {
            Stat::Count => Unit::Count,
            Stat::Total | Stat::P50 | Stat::P90 | Stat::P99 | Stat::Max => Unit::Time,
            Stat::Jank | Stat::Share => Unit::Share,
            Stat::Size => Unit::Bytes,
            Stat::Mean | Stat::Value => Unit::Plain,
        }
    }

    /// Whether it is a percentile, or the largest.
    pub(crate) fn is_of_one(self) -> bool {
        matches!(self, Stat::P50 | Stat::P90 | Stat::P99 | Stat::Max)
    }
}

/// The unit of a value.
///
/// ```
/// assert_eq!(timebase_compare::Unit::Time.name(), "ns");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// A number of things.
    Count,
    /// A part of 1; differences are points.
    Share,
    /// Bytes.
    Bytes,
    /// A unit that only the counter or the metric knows.
    Plain,
}

impl Unit {
    /// The name in a table of rows.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Time => "ns",
            Unit::Count => "count",
            Unit::Share => "share",
            Unit::Bytes => "B",
            Unit::Plain => "",
        }
    }
}

/// The events of one name in one process, or the like.
///
/// ```
/// use timebase_compare::{Family, Line};
/// let line = Line::new(Family::SelfTime, "app", "layout");
/// assert_eq!(line.to_string(), "self:app/layout");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The kind.
    pub family: Family,
    /// The process; empty if there is none.
    pub process: String,
    /// The name; empty if the line is of the whole process.
    pub name: String,
}

impl Line {
    /// The line of these names.
    pub fn new(family: Family, process: &str, name: &str) -> Line {
        Line { family, process: process.to_owned(), name: name.to_owned() }
    }
}

/// As conditions write it: `self:app/layout`, or `log:tag` without a process.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if self.process.is_empty() || self.name.is_empty() { "" } else { "/" };
        write!(f, "{}:{}{between}{}", self.family.name(), self.process, self.name)
    }
}

//! What a manifest says, as it says it: paths and names are not looked up yet.

use std::fmt;

/// A manifest. Its entries are named by their numbers in `files`: [`Place::file`](crate::manifest::Place::file).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Each is a row `manifest_attribute.KEY` of `metadata` (rule X31); no key is there twice, and none is empty.
    pub attributes: Vec<(String, Attribute)>,
    /// What it says of files.
    pub files: Vec<FileEntry>,
    /// The clock of the timeline (rule X36).
    pub trace_time: Option<TraceTimeEntry>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// A string.
    Text(String),
    /// An integer of 64 bits.
    Integer(i64),
}

/// An entry of `files`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileEntry {
    /// The exact name of the member (rule X32).
    pub path: String,
    /// Whose packets the file holds.
    pub machines: Machines,
    /// How its clock relates to another one.
    pub clocks: Option<Clocks>,
}

/// Which machines the packets of a file are of. Names are not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Machines {
    /// As the packets say (rule X10).
    #[default]
    ByRaw,
    /// `machine`: all of one (rule X33).
    One(String),
    /// `machines`: each raw id, and the name of its machine (rule X34). At least one.
    Listed(Vec<(u32, String)>),
}

/// `clocks` (rule X35): when `clock` reads T, the reference reads T + `offset_ns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    /// The clock of this file that is related; without one, the file is pinned (rule X37).
    pub clock: Option<Clock>,
    /// Whose clock it is, where the file has several machines.
    pub machine: Option<String>,
    /// The clock that it is related to.
    pub sync_to: ClockReference,
    /// In nanoseconds; not `i64::MIN`.
    pub offset_ns: i64,
}

/// A clock of a file that has an entry (rule X38).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockReference {
    /// The `path` of the entry.
    pub file: String,
    /// Whose clock it is, where the file has several machines.
    pub machine: Option<String>,
    /// Without one, the private clock of the file (rule X37).
    pub clock: Option<Clock>,
}

/// `trace_time` (rule X36).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceTimeEntry {
    /// Which clock of the machine.
    pub clock: Clock,
    /// The `path` of an entry, whose machine it is.
    pub file: Option<String>,
    /// Which machine, where the file has several.
    pub machine: Option<String>,
}

/// A clock that a manifest has a name for (rule X31).
///
/// ```
/// use timebase_import::manifest::Clock;
/// assert_eq!(Clock::from_name("BOOTTIME"), Some(Clock::Boottime));
/// assert_eq!(Clock::from_name("boottime"), None);
/// assert_eq!(Clock::Boottime.id(), 6);
/// assert_eq!(Clock::MonotonicRaw.to_string(), "MONOTONIC_RAW");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the clocks of clock_gettime
pub enum Clock {
    Realtime,
    RealtimeCoarse,
    Monotonic,
    MonotonicCoarse,
    MonotonicRaw,
    Boottime,
}

impl Clock {
    /// In the order of their numbers.
    pub const ALL: [Clock; 6] = [
        Clock::Realtime,
        Clock::RealtimeCoarse,
        Clock::Monotonic,
        Clock::MonotonicCoarse,
        Clock::MonotonicRaw,
        Clock::Boottime,
    ];

    /// The number of a builtin clock in `ClockSnapshot.Clock.clock_id`.
    pub fn id(self) -> u32 {
        match self {
            Clock::Realtime => 1,
            Clock::RealtimeCoarse => 2,
            Clock::Monotonic => 3,
            Clock::MonotonicCoarse => 4,
            Clock::MonotonicRaw => 5,
            Clock::Boottime => 6,
        }
    }

    /// Its name, in capitals.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Realtime => "REALTIME",
            Clock::RealtimeCoarse => "REALTIME_COARSE",
            Clock::Monotonic => "MONOTONIC",
            Clock::MonotonicCoarse => "MONOTONIC_COARSE",
            Clock::MonotonicRaw => "MONOTONIC_RAW",
            Clock::Boottime => "BOOTTIME",
        }
    }

    /// The clock of exactly this name.
    pub fn from_name(name: &str) -> Option<Clock> {
        Clock::ALL.into_iter().find(|clock| clock.name() == name)
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

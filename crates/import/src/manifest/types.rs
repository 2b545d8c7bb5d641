//! The content of a manifest as it is written: paths and names are not looked up yet.

use std::fmt;

/// A manifest. Messages name its entries by their numbers in `files`:
/// [`Place::file`](crate::manifest::Place::file).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Each is a row `manifest_attribute.KEY` of `metadata` (rule X31). No key occurs twice, and
    /// none is empty.
    pub attributes: Vec<(String, Attribute)>,
    /// Its statements about files.
    pub files: Vec<FileEntry>,
    /// The clock of the timeline (rule X36).
    pub trace_time: Option<TraceTimeEntry>,
    /// How clocks are aligned by causality (rule AL20).
    pub align: AlignEntry,
}

/// `align` (rules AL4, AL9, AL20).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlignEntry {
    /// What alignments may change.
    pub mode: Option<Align>,
    /// No clock gains more than this on another one, in millionths.
    pub max_drift_ppm: Option<u32>,
    /// A SELECT of pairs of packets: `packet_out`, `packet_in`.
    pub pairs: Option<String>,
}

/// What the alignment of clocks by causality may change (rule AL20).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Align {
    /// Only relations that are assumed and proven wrong.
    #[default]
    Auto,
    /// Each assumed relation that flows bound on both sides.
    Flows,
    /// Each assumed relation that collectives bound on both sides.
    Collectives,
    /// Each assumed relation that the manifest's pairs bound on both sides.
    Pairs,
    /// As automatically; and the error of a measured relation becomes less where messages bound it.
    Tighten,
    /// Nothing: there are only tables and findings.
    Report,
    /// Nothing, and there are no tables.
    Off,
}

impl Align {
    /// All modes.
    pub const ALL: [Align; 7] = [
        Align::Auto,
        Align::Flows,
        Align::Collectives,
        Align::Pairs,
        Align::Tighten,
        Align::Report,
        Align::Off,
    ];

    /// The name on the command line and in a manifest.
    ///
    /// ```
    /// use timebase_import::manifest::Align;
    /// assert_eq!(Align::Auto.name(), "auto");
    /// assert_eq!(Align::from_name("off"), Some(Align::Off));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Align::Auto => "auto",
            Align::Flows => "flows",
            Align::Collectives => "collectives",
            Align::Pairs => "pairs",
            Align::Tighten => "tighten",
            Align::Report => "report",
            Align::Off => "off",
        }
    }

    /// The mode with this name.
    pub fn from_name(name: &str) -> Option<Align> {
        Align::ALL.into_iter().find(|mode| mode.name() == name)
    }
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
    /// The machines of the file's packets.
    pub machines: Machines,
    /// The relation of its clock to another one.
    pub clocks: Option<Clocks>,
    /// The clock of packets that name none (rule FP2).
    pub default_clock: Option<Clock>,
}

/// The machines of a file's packets. Names are not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Machines {
    /// The packets decide (rule X10).
    #[default]
    ByRaw,
    /// `machine`: all packets are from one machine (rule X33).
    One(String),
    /// `machines`: each raw id, and the name of its machine (rule X34). At least one.
    Listed(Vec<(u32, String)>),
}

/// `clocks` (rule X35): when `clock` reads T, the reference reads T + `offset_ns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    /// The clock of this file that is related; without it, the file is pinned (rule X37).
    pub clock: Option<Clock>,
    /// The machine of the clock, if the file has several machines.
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
    /// The machine of the clock, if the file has several machines.
    pub machine: Option<String>,
    /// The clock; without it, the private clock of the file (rule X37).
    pub clock: Option<Clock>,
}

/// `trace_time` (rule X36).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceTimeEntry {
    /// The clock of the machine.
    pub clock: Clock,
    /// The `path` of the entry with the machine.
    pub file: Option<String>,
    /// The machine, if the file has several.
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

    /// The clock with exactly this name.
    pub fn from_name(name: &str) -> Option<Clock> {
        Clock::ALL.into_iter().find(|clock| clock.name() == name)
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

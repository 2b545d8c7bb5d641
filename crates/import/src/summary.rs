//! What an import did.

use std::collections::BTreeMap;

use timebase_resolver::Unresolved;

/// What an import did.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Rows of `packet`.
    pub packets: u64,
    /// Accepted snapshots.
    pub snapshots: u64,
    /// Rejected snapshots (rule N2).
    pub rejected_snapshots: u64,
    /// Rows of `clock`.
    pub clocks: u64,
    /// Rows of `sequence`.
    pub sequences: u64,
    /// Packets that have a `ts`.
    pub on_trace_time: u64,
    /// Packets that have no time of their own.
    pub without_timestamp: u64,
    /// Packets that could not be placed, by reason (rule V7).
    pub unresolved: BTreeMap<Unresolved, u64>,
    /// Packets whose payload some table has, or the clocks, or facts.
    pub read: u64,
    /// Packets of which there is nothing but their rows in `packet`, by type. Those that tell of
    /// the recording itself do not count.
    pub unread: BTreeMap<String, u64>,
    /// The tables of events inside of packets.
    pub events: Vec<Events>,
    /// What of the recording is missing.
    pub lost: Vec<Lost>,
    /// The clocks that put events at wrong times, the worst first.
    pub clock_faults: Vec<ClockFault>,
    /// Rows that may be wrong, by what they are; none of which all are right.
    pub doubtful: Vec<Doubtful>,
    /// The clock that `ts` is on.
    pub trace_time_clock: String,
    /// How many files were read, if there was not only one.
    pub files: u64,
    /// How many machines there are.
    pub machines: u64,
    /// How each part, what a file holds of a machine, came to trace time.
    pub placements: Vec<Placement>,
    /// The files, of several without a manifest, whose clocks nothing relates to those of the files before them
    /// (rule X41): they are on one timeline because they were named together.
    pub unrelated: Vec<String>,
    /// The smallest `ts`.
    pub start_ts: Option<i64>,
    /// The greatest `ts`.
    pub end_ts: Option<i64>,
    /// How large the source is, in bytes.
    pub source_bytes: u64,
    /// How large the database is, in bytes.
    pub database_bytes: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How what a file holds of a machine came to trace time: a row of the view `placement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// What the file is called.
    pub file: Option<String>,
    /// The row of the machine.
    pub machine: u32,
    /// What it is called, by the manifest or by itself.
    pub machine_name: Option<String>,
    /// Over what.
    pub how: How,
    /// Trace time less BOOTTIME of the part, at its first packet, in nanoseconds.
    pub offset: Option<i64>,
    /// How far that may be off, in nanoseconds; `None` if something is assumed, or nobody knows.
    pub error: Option<i64>,
    /// By how much REALTIME puts it later than it is, in nanoseconds, if that is another boot of the
    /// machine (rule X28).
    pub boots_differ: Option<i64>,
}

/// Over what a part came to trace time, named by what is least known of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// Its clock is trace time.
    TraceTime,
    /// Its snapshots.
    Snapshots,
    /// It has asked another machine for the time.
    RemoteSync,
    /// The manifest says how its clocks relate.
    Manifest,
    /// It is assumed that wall clocks agree.
    Realtime,
    /// It is assumed that its BOOTTIME is that of the other files of its machine.
    SameClock,
    /// Nothing relates it to trace time.
    Unplaced,
}

impl How {
    /// What it is called in `part.how`.
    ///
    /// ```
    /// assert_eq!(timebase_import::How::RemoteSync.name(), "remote_sync");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            How::TraceTime => "trace_time",
            How::Snapshots => "snapshots",
            How::RemoteSync => "remote_sync",
            How::Manifest => "manifest",
            How::Realtime => "realtime",
            How::SameClock => "same_clock",
            How::Unplaced => "unplaced",
        }
    }
}

/// What says that something is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossKind {
    /// A CPU's buffer says that it lost events before some that were read.
    KernelEvents,
    /// An event shows another thread on a CPU than its last switch left there.
    Switch,
    /// A packet says that its sequence dropped packets before it.
    Packets,
    /// The kernel's statistics count events that a CPU's buffer lost.
    KernelBuffer,
    /// Kernel events, atrace or the kernel's symbols could not be set up.
    Setup,
    /// The recording's statistics count what a buffer lost.
    Buffer,
    /// The recording's statistics count what a writer lost.
    Writer,
    /// A profiler says that it lost or skipped samples, or stopped.
    Samples,
    /// heapprofd says that it lost allocations, or stopped.
    Heap,
    /// Bytes of a file are no packets, or a payload cannot be read.
    Damage,
}

impl LossKind {
    const ALL: [LossKind; 10] = [
        LossKind::KernelEvents,
        LossKind::Switch,
        LossKind::Packets,
        LossKind::KernelBuffer,
        LossKind::Setup,
        LossKind::Buffer,
        LossKind::Writer,
        LossKind::Samples,
        LossKind::Heap,
        LossKind::Damage,
    ];

    /// What it is called in the column `kind` of `loss`.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::KernelEvents => "kernel_events",
            LossKind::Switch => "switch",
            LossKind::Packets => "packets",
            LossKind::KernelBuffer => "kernel_buffer",
            LossKind::Setup => "setup",
            LossKind::Buffer => "buffer",
            LossKind::Writer => "writer",
            LossKind::Samples => "samples",
            LossKind::Heap => "heap",
            LossKind::Damage => "damage",
        }
    }

    /// The one of a name.
    pub(crate) fn of_name(name: &str) -> Option<LossKind> {
        LossKind::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// What says that something is missing: rows of the table `loss` of one kind, those that name a CPU, a
/// sequence or a buffer by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// What says it.
    pub kind: LossKind,
    /// Whether the recording was not meant to lose it.
    pub is_data_loss: bool,
    /// How many rows there are.
    pub rows: u64,
    /// How many events, packets or chunks these count.
    pub count: u64,
    /// Of how many CPUs they are.
    pub cpus: u64,
    /// Of how many sequences.
    pub sequences: u64,
    /// Of how many buffers.
    pub buffers: u64,
}

/// What is wrong with a clock: a check of the view `finding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClockCheck {
    /// It runs at another rate than the clocks it is converted to.
    Drift,
    /// Its machine's clocks run at another rate than the host's.
    MachineDrift,
    /// It does not count nanoseconds.
    NotNanoseconds,
    /// It began again at zero because its counter was full.
    Wrapped,
    /// It began again for another reason.
    Restarted,
}

impl ClockCheck {
    const ALL: [ClockCheck; 5] = [
        ClockCheck::Drift,
        ClockCheck::MachineDrift,
        ClockCheck::NotNanoseconds,
        ClockCheck::Wrapped,
        ClockCheck::Restarted,
    ];

    /// What it is called in `finding.check_name`.
    pub fn name(self) -> &'static str {
        match self {
            ClockCheck::Drift => "drift",
            ClockCheck::MachineDrift => "machine_drift",
            ClockCheck::NotNanoseconds => "clock_not_nanoseconds",
            ClockCheck::Wrapped => "clock_wrapped",
            ClockCheck::Restarted => "clock_restarted",
        }
    }

    /// The one of a name.
    pub(crate) fn of_name(name: &str) -> Option<ClockCheck> {
        ClockCheck::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A clock that puts events at wrong times.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockFault {
    /// How it is written, `64@3`; or `machine 1`, whose clocks it is.
    pub clock: String,
    /// The check that tells more.
    pub check: ClockCheck,
    /// By how much it drifts.
    pub ppm: Option<f64>,
    /// How far the worst time is off, in nanoseconds.
    pub worst_ns: u64,
    /// The same for a person, as the check has it.
    pub worst: String,
    /// How many pairs of neighbouring events are in the wrong order by it; `None` if they were not counted.
    pub pairs: Option<u64>,
}

/// How many rows may be wrong: those whose column `doubt` is not NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubtful {
    /// What one row is called in a summary: `thread state`, `slice`.
    pub one: &'static str,
    /// The same in plural: `thread states`, `slices`.
    pub noun: &'static str,
    /// How many there are.
    pub rows: u64,
    /// How many of them may be wrong.
    pub doubtful: u64,
}

/// How the rows of a table of events fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    /// The table or view: `ftrace_event`, `android_logs`.
    pub table: &'static str,
    /// What they are called in a summary: `kernel`, `log`.
    pub heading: &'static str,
    /// What one of them is called: `event`, `line`.
    pub one: &'static str,
    /// The same in plural: `events`, `lines`.
    pub noun: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// How many of them could not be placed, by reason (rule V7).
    pub unresolved: BTreeMap<Unresolved, u64>,
}

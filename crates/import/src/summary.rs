//! The result of an import.

use std::collections::BTreeMap;

use timebase_resolver::Unresolved;

/// The result of an import.
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
    /// Packets whose payload a table has, or which the clocks or facts use.
    pub read: u64,
    /// Packets that have only their rows in `packet`, by type. Packets about the recording itself do not
    /// count.
    pub unread: BTreeMap<String, u64>,
    /// The tables of events inside packets.
    pub events: Vec<Events>,
    /// The losses of the recording.
    pub lost: Vec<Lost>,
    /// The clocks that put events at wrong times, the worst first.
    pub clock_faults: Vec<ClockFault>,
    /// Rows that may be wrong, by kind. A kind without such rows is left out.
    pub doubtful: Vec<Doubtful>,
    /// Slices that ended because another slice did, or before their own end came.
    pub misplaced: u64,
    /// Events that made no row although their packet could be placed, by cause, the most first.
    pub dropped: Vec<Dropped>,
    /// Frames of callstacks without a name.
    pub unnamed: Unnamed,
    /// The number of rows in all tables of window tracing.
    pub windows: u64,
    /// The number of dumps of Java heaps that lack packets.
    pub cut_dumps: u64,
    /// The clock of `ts`.
    pub trace_time_clock: String,
    /// The number of traces that were read; 0 if there is only one file.
    pub files: u64,
    /// The number of machines.
    pub machines: u64,
    /// For each part (a machine's packets in one file), how it came to trace time.
    pub placements: Vec<Placement>,
    /// If there are several files and no manifest: the files whose clocks nothing relates to the clocks of
    /// the files before them (rule X41). They are on one timeline because they were named together.
    pub unrelated: Vec<String>,
    /// The smallest `ts`.
    pub start_ts: Option<i64>,
    /// The greatest `ts`.
    pub end_ts: Option<i64>,
    /// The size of the source, in bytes.
    pub source_bytes: u64,
    /// The size of the database, in bytes.
    pub database_bytes: u64,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The placement of a part (a machine's packets in one file) in trace time: a row of the view `placement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The name of the file.
    pub file: Option<String>,
    /// Whether the file is in Chrome's JSON format.
    pub is_json: bool,
    /// The row of the machine.
    pub machine: u32,
    /// The machine's name, from the manifest or from the machine itself.
    pub machine_name: Option<String>,
    /// The part's way to trace time.
    pub how: How,
    /// Trace time less BOOTTIME of the part, at its first packet, in nanoseconds.
    pub offset: Option<i64>,
    /// The largest error of the offset, in nanoseconds; `None` if something is assumed, or if the error is
    /// unknown.
    pub error: Option<i64>,
    /// If REALTIME shows another boot of the machine, by how much REALTIME puts the part later than it is, in
    /// nanoseconds (rule X28).
    pub boots_differ: Option<i64>,
    /// What messages between its clock and trace time say; `None` if they say nothing of its place.
    pub causal: Option<CausalCheck>,
}

/// What messages say of the place of a part (rule AL20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CausalCheck {
    /// They agree with what is assumed.
    Confirmed {
        /// The number of messages that do.
        messages: u64,
    },
    /// They contradict what is assumed.
    Contradicted {
        /// The assumption is wrong by at least this, in nanoseconds.
        wrong_by: i64,
        /// The mode of `import --align` that follows the messages, if one does.
        mode: Option<&'static str>,
    },
    /// They are too few, go one way only, or contradict each other: `clock_alignment.reason` says which.
    Undecided {
        /// The number of messages.
        messages: u64,
    },
    /// They moved the part.
    Moved {
        /// By how much, in nanoseconds.
        by: u64,
    },
}

/// The way in which a part came to trace time, named by its least certain step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// Its clock is trace time.
    TraceTime,
    /// Its snapshots; for a file in JSON, the statements of its producer.
    Snapshots,
    /// Its machine asked another machine for the time.
    RemoteSync,
    /// Messages between machines prove how their clocks relate (rule AL20).
    Causality,
    /// The manifest says how its clocks relate.
    Manifest,
    /// It is assumed that wall clocks agree.
    Realtime,
    /// It is assumed that its BOOTTIME is the BOOTTIME of the other files of its machine.
    SameClock,
    /// It is in JSON, and its clock is assumed to be REALTIME or trace time (rule JS37).
    Assumed,
    /// Nothing relates it to trace time.
    Unplaced,
}

impl How {
    /// Its name in `part.how`.
    ///
    /// ```
    /// assert_eq!(timebase_import::How::RemoteSync.name(), "remote_sync");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            How::TraceTime => "trace_time",
            How::Snapshots => "snapshots",
            How::RemoteSync => "remote_sync",
            How::Causality => "causality",
            How::Manifest => "manifest",
            How::Realtime => "realtime",
            How::SameClock => "same_clock",
            How::Assumed => "assumed",
            How::Unplaced => "unplaced",
        }
    }
}

/// The source that reports a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossKind {
    /// A CPU's buffer says that it lost events before some of the events that were read.
    KernelEvents,
    /// An event shows another thread on a CPU than the CPU's last switch left there.
    Switch,
    /// A packet says that its sequence dropped packets before it.
    Packets,
    /// The kernel's statistics count events that a CPU's buffer lost.
    KernelBuffer,
    /// Kernel events, atrace or the kernel's symbols could not be set up.
    Setup,
    /// The recording's statistics count losses of a buffer.
    Buffer,
    /// The recording's statistics count losses of a writer.
    Writer,
    /// A profiler says that it lost or skipped samples, or stopped.
    Samples,
    /// heapprofd says that it lost allocations, or stopped.
    Heap,
    /// Bytes of a file are no packets, or a payload cannot be read.
    Damage,
}

impl LossKind {
    /// All kinds, the first of `loss` first.
    pub const ALL: [LossKind; 10] = [
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

    /// Its name in the column `kind` of `loss`.
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

    /// The kind with this name.
    pub(crate) fn of_name(name: &str) -> Option<LossKind> {
        LossKind::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A source of losses: the rows of one kind in the table `loss`. Rows that name a CPU, a sequence or a buffer
/// are apart from the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The source that reports the loss.
    pub kind: LossKind,
    /// Whether it is a data loss: the recording was not meant to lose it.
    pub is_data_loss: bool,
    /// The number of rows.
    pub rows: u64,
    /// The number of events, packets or chunks that these rows count.
    pub count: u64,
    /// The number of CPUs in these rows.
    pub cpus: u64,
    /// The number of sequences in these rows.
    pub sequences: u64,
    /// The number of buffers in these rows.
    pub buffers: u64,
}

/// A fault of a clock: a check of the view `finding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClockCheck {
    /// It runs at another rate than the clocks that it is converted to.
    Drift,
    /// Its machine's clocks run at another rate than the host's.
    MachineDrift,
    /// It does not count nanoseconds.
    NotNanoseconds,
    /// It started again at zero because its counter was full.
    Wrapped,
    /// It started again for another reason.
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

    /// Its name in `finding.check_name`.
    pub fn name(self) -> &'static str {
        match self {
            ClockCheck::Drift => "drift",
            ClockCheck::MachineDrift => "machine_drift",
            ClockCheck::NotNanoseconds => "clock_not_nanoseconds",
            ClockCheck::Wrapped => "clock_wrapped",
            ClockCheck::Restarted => "clock_restarted",
        }
    }

    /// The check with this name.
    pub(crate) fn of_name(name: &str) -> Option<ClockCheck> {
        ClockCheck::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A clock that puts events at wrong times.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockFault {
    /// The clock in its written form, `64@3`; or `machine 1` if the fault is of that machine's clocks.
    pub clock: String,
    /// The check that has the details.
    pub check: ClockCheck,
    /// The drift.
    pub ppm: Option<f64>,
    /// The largest error of a time, in nanoseconds.
    pub worst_ns: u64,
    /// The same as text for a person, from the check.
    pub worst: String,
    /// The number of pairs of neighbouring events that this clock puts in the wrong order; `None` if they
    /// were not counted.
    pub pairs: Option<u64>,
}

/// A kind of rows that may be wrong: their column `doubt` is not NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubtful {
    /// The name of one row in a summary: `thread state`, `slice`.
    pub one: &'static str,
    /// The same in plural: `thread states`, `slices`.
    pub noun: &'static str,
    /// The number of rows.
    pub rows: u64,
    /// The number of rows that may be wrong.
    pub doubtful: u64,
}

/// Frames without a name: neither the recorder nor symbols have one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unnamed {
    /// The number of frames.
    pub frames: u64,
    /// The number of mappings with such frames: rows of the view `unsymbolized_mapping`.
    pub mappings: u64,
}

/// Events that made no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The cause, as in the table `event_fault`: `no_sequence_id`.
    pub cause: String,
    /// The number of events.
    pub events: u64,
}

/// The counts of a table of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    /// The table or view: `ftrace_event`, `android_logs`.
    pub table: &'static str,
    /// The heading of the events in a summary: `kernel`, `log`.
    pub heading: &'static str,
    /// The name of one event: `event`, `line`.
    pub one: &'static str,
    /// The same in plural: `events`, `lines`.
    pub noun: &'static str,
    /// The number of rows.
    pub rows: u64,
    /// The number of rows that could not be placed, by reason (rule V7).
    pub unresolved: BTreeMap<Unresolved, u64>,
}

//! Diagnoses of a recording's configuration: rows of `trace_diagnostics` (rule RT10).
//!
//! # Design
//!
//! The last configuration of each file is read when everything else is known, because the confidence of a
//! diagnosis depends on counters of losses. The texts stand in a table. The alternative was a view over the text of
//! the configuration in `metadata`; but SQL would have to parse that text.

use timebase_schema::fields::{
    data_source_config as source, ftrace_config as ftrace, heapprofd_config as heapprofd,
    trace_config as config, trace_config_buffer_config as buffer,
    trace_config_data_source as data_source,
};
use timebase_schema::tables::trace_diagnostics;

use super::types::PacketTypes;
use crate::message::Message;
use crate::output::{Cell, Fact, Journal, Rows};

/// A kind of diagnosis, with its texts.
struct Diagnosis {
    key: &'static str,
    title: &'static str,
    description: &'static str,
    remediation: &'static str,
}

const LATE_START: Diagnosis = Diagnosis {
    key: "preserve_ftrace_buffer_late_start",
    title: "The kernel's buffers from before the recording are kept, long after boot",
    description: "preserve_ftrace_buffer keeps the events that were in the kernel's buffers. The recording began more than five minutes after boot, so these events may be old.",
    remediation: "Remove preserve_ftrace_buffer, unless the recording continues one from boot.",
};
const TINY_BUFFER: Diagnosis = Diagnosis {
    key: "tiny_ftrace_buffer",
    title: "The kernel's buffers are small",
    description: "buffer_size_kb of the ftrace data source is less than 1024, so a burst of events overwrites events that nobody has read.",
    remediation: "Leave buffer_size_kb out, or set it to 1024 or more.",
};
const LOW_BANDWIDTH: Diagnosis = Diagnosis {
    key: "low_ftrace_drain_bandwidth",
    title: "The kernel's buffers are read too rarely for their size",
    description: "buffer_size_kb and drain_period_ms allow less than 5 MB of events in a second on a CPU.",
    remediation: "Set a larger buffer_size_kb, or a smaller drain_period_ms.",
};
const DRAIN_PERIOD: Diagnosis = Diagnosis {
    key: "extreme_ftrace_drain_period",
    title: "The kernel's buffers are read very often or very rarely",
    description: "drain_period_ms is outside of 100 to 60000 milliseconds. A short period costs CPU time, a long one loses events.",
    remediation: "Leave drain_period_ms out.",
};
const SYSCALLS: Diagnosis = Diagnosis {
    key: "syscalls_without_filter",
    title: "All system calls are recorded",
    description: "The ftrace data source records raw_syscalls, and syscall_events does not say which system calls. They fill the buffers.",
    remediation: "Name the system calls in syscall_events.",
};
const FUNCTION_GRAPH: Diagnosis = Diagnosis {
    key: "function_graph_requires_symbolize_ksyms",
    title: "Functions of the kernel have no names",
    description: "enable_function_graph records functions by their addresses, and symbolize_ksyms is not set.",
    remediation: "Set symbolize_ksyms.",
};
const SYMBOLS: Diagnosis = Diagnosis {
    key: "events_require_symbolize_ksyms",
    title: "Events with functions of the kernel have addresses only",
    description: "The ftrace data source records events that name functions by their addresses, and symbolize_ksyms is not set.",
    remediation: "Set symbolize_ksyms.",
};
const DISCARDS: Diagnosis = Diagnosis {
    key: "discard_buffer_for_streaming",
    title: "A long recording into a file drops new data",
    description: "The recording is written into a file, and the buffer of a data source drops new data when it is full between two writes.",
    remediation: "Set fill_policy to RING_BUFFER, or write more often.",
};
const SAMPLING: Diagnosis = Diagnosis {
    key: "heapprofd_sampling_interval_too_low",
    title: "The heap profiler takes very many samples",
    description: "sampling_interval_bytes of heapprofd is less than 102400. Many samples slow the program, and may be lost.",
    remediation: "Set sampling_interval_bytes to 102400 or more.",
};
const VIDEO: Diagnosis = Diagnosis {
    key: "display_video_not_enabled",
    title: "The video of the display is missing",
    description: "The configuration has the data source android.display.video, but the trace has no frame. Builds for users do not allow it by default.",
    remediation: "Record on a userdebug build, or enable the recording of videos in the developer options.",
};

/// Extensions of `TracePacket`.
const VIDEO_FRAME: u32 = 1000;
const VIDEO_FRAME_ERROR: u32 = 1001;

/// The events with functions of the kernel.
const WITH_SYMBOLS: [&str; 2] = ["workqueue/workqueue_execute_start", "sched/sched_blocked_reason"];
const OF_SYSCALLS: [&str; 2] = ["raw_syscalls/sys_enter", "raw_syscalls/sys_exit"];

/// The facts about a file beside its configuration.
pub(super) struct OfFile<'a> {
    pub file: u32,
    pub journal: &'a Journal,
    pub types: &'a PacketTypes,
}

impl OfFile<'_> {
    /// Whether a counter of the file that has such a name is above 0.
    fn counts(&self, is: impl Fn(&str, &str) -> bool) -> bool {
        let recorded = self.journal.all_recorded();
        let of_file = recorded.filter(|(key, _, value)| key.file == self.file && *value > 0);
        let mut names = of_file.map(|(key, counter, _)| (key.name, counter.meaning.severity));
        let whole = self.journal.counters().filter(|(_, count)| *count > 0);
        let mut whole = whole.map(|(counter, _)| (counter.name, counter.meaning.severity));
        names.any(|(name, severity)| is(name, severity))
            || whole.any(|(name, severity)| is(name, severity))
    }

    fn lost_kernel_events(&self) -> bool {
        self.counts(|name, _| {
            matches!(
                name,
                "ftrace_cpu_has_data_loss"
                    | "ftrace_cpu_overrun_delta"
                    | "ftrace_cpu_commit_overrun_delta"
            )
        })
    }

    /// The last fact of a name.
    fn fact(&self, name: &str) -> Option<&Fact> {
        let facts = self.journal.facts.iter().filter(|fact| fact.name == name);
        let of_file = facts.filter(|fact| fact.about.file.is_none_or(|file| file == self.file));
        of_file.last().map(|fact| &fact.value)
    }

    /// Whether the recording began long after boot.
    fn begins_late(&self) -> bool {
        const LATE: i64 = 300_000_000_000;
        matches!(self.fact("tracing_started_ns"), Some(Fact::Integer(ts)) if *ts > LATE)
    }

    /// Whether the machine has a build for users, by its fingerprint.
    fn is_for_users(&self) -> bool {
        let Some(Fact::Text(fingerprint)) = self.fact("android_build_fingerprint") else {
            return false;
        };
        let variant = fingerprint.rsplit_once(':').map(|(_, variant)| variant);
        variant.and_then(|variant| variant.split('/').next()) == Some("user")
    }

    /// Writes the diagnoses of a configuration as rows.
    pub fn rows(&self, config: Message<'_>, rows: &mut Rows<'_>) {
        for (diagnosis, confidence) in self.diagnoses(config) {
            let id = rows.count(&trace_diagnostics::TABLE);
            let [key, title, description, remediation] =
                [diagnosis.key, diagnosis.title, diagnosis.description, diagnosis.remediation]
                    .map(|text| rows.text(text));
            rows.push(trace_diagnostics::Row {
                id: Cell::from(id),
                key,
                title,
                description,
                remediation,
                confidence: Cell::number(confidence),
                trace_id: Cell::from(self.file),
            });
        }
    }

    fn diagnoses(&self, config: Message<'_>) -> Vec<(&'static Diagnosis, f64)> {
        let mut found = Vec::new();
        let sources = config.messages(config::DATA_SOURCES);
        let sources = sources.flat_map(|source| source.messages(data_source::CONFIG));
        for source in sources {
            for ftrace in source.messages(source::FTRACE_CONFIG) {
                self.kernel_buffers(ftrace, &mut found);
                self.kernel_events(ftrace, &mut found);
            }
            if discards(config, source) {
                found.push((&DISCARDS, 0.8));
            }
            for heapprofd in source.messages(source::HEAPPROFD_CONFIG) {
                let interval = heapprofd.number(heapprofd::SAMPLING_INTERVAL_BYTES).unwrap_or(0);
                if (1..102_400).contains(&interval) {
                    let fails = self.counts(|name, severity| {
                        name.starts_with("heapprofd") && severity == "error"
                    });
                    found.push((&SAMPLING, if fails { 0.9 } else { 0.3 }));
                }
            }
            let name = source.bytes(source::NAME);
            let has_video =
                || [VIDEO_FRAME, VIDEO_FRAME_ERROR].into_iter().any(|kind| self.types.has(kind));
            if name == Some(b"android.display.video") && self.is_for_users() && !has_video() {
                found.push((&VIDEO, 0.7));
            }
        }
        found
    }

    /// The size of the kernel's buffers, and how often they are read.
    fn kernel_buffers(&self, ftrace: Message<'_>, found: &mut Vec<(&'static Diagnosis, f64)>) {
        const MOST: f64 = 0.9;
        let or_lost = |confidence| if self.lost_kernel_events() { MOST } else { confidence };
        if ftrace.flag(ftrace::PRESERVE_FTRACE_BUFFER) && self.begins_late() {
            found.push((&LATE_START, 0.7));
        }
        let size = ftrace.small(ftrace::BUFFER_SIZE_KB).unwrap_or(0);
        if (1..1024).contains(&size) {
            let falling = f64::from(size.saturating_sub(64)) / (1024.0 - 64.0);
            found.push((&TINY_BUFFER, or_lost(MOST - (MOST - 0.2) * falling)));
        }
        let Some(period) = ftrace.small(ftrace::DRAIN_PERIOD_MS).filter(|&period| period > 0)
        else {
            return;
        };
        let rate = f64::from(size) / 1024.0 / (f64::from(period) / 1000.0);
        if size > 0 && rate < 5.0 {
            let confidence = (MOST * (5.0 - rate) / 4.0).min(MOST);
            found.push((&LOW_BANDWIDTH, or_lost(confidence)));
        }
        if !(100..=60_000).contains(&period) {
            found.push((&DRAIN_PERIOD, 0.6));
        }
    }

    /// The kernel events that are recorded.
    fn kernel_events(&self, ftrace: Message<'_>, found: &mut Vec<(&'static Diagnosis, f64)>) {
        let has = |names: &[&str]| {
            let mut events = ftrace.each(ftrace::FTRACE_EVENTS);
            events.any(|event| names.iter().any(|name| name.as_bytes() == event))
        };
        if has(&OF_SYSCALLS) && ftrace.bytes(ftrace::SYSCALL_EVENTS).is_none() {
            let confidence = if self.lost_kernel_events() { 0.9 } else { 0.3 };
            found.push((&SYSCALLS, confidence));
        }
        if !ftrace.flag(ftrace::SYMBOLIZE_KSYMS) {
            if ftrace.flag(ftrace::ENABLE_FUNCTION_GRAPH) {
                found.push((&FUNCTION_GRAPH, 1.0));
            }
            if has(&WITH_SYMBOLS) {
                found.push((&SYMBOLS, 0.6));
            }
        }
    }
}

/// Whether a source of a recording into a file has a buffer that drops new data.
fn discards(config: Message<'_>, source: Message<'_>) -> bool {
    const DISCARD: u64 = 2;
    const WEEK_MS: u32 = 604_800_000;
    let writes = config.flag(config::WRITE_INTO_FILE)
        && config.small(config::FILE_WRITE_PERIOD_MS).unwrap_or(0) < WEEK_MS;
    let name = source.bytes(source::NAME).unwrap_or_default();
    let target = source.small(source::TARGET_BUFFER).unwrap_or(0);
    let mut buffers = config.messages(config::BUFFERS);
    let buffer = usize::try_from(target).ok().and_then(|target| buffers.nth(target));
    writes
        && matches!(name, b"linux.ftrace" | b"track_event")
        && buffer.is_some_and(|buffer| buffer.number(buffer::FILL_POLICY) == Some(DISCARD))
}

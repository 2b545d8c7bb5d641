//! The counters of the kernel's buffers, by the fields that they are in (rule MD5).

use timebase_schema::fields::{ftrace_cpu_stats, ftrace_kprobe_stats as kprobes};

use crate::output::Counter;

/// The counters of a field: of the begin, of the end, and by how much it grew.
pub(super) struct Grows {
    pub field: u32,
    pub counters: [Counter; 3],
    /// Whether the counters say what was lost.
    pub is_loss: bool,
}

/// Fields of a CPU.
pub(super) static CPU: [Grows; 6] = [
    Grows {
        field: 2,
        counters: [
            Counter::info(
                "ftrace_cpu_entries_begin",
                "on CPU idx: events in the buffer when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_entries_end",
                "on CPU idx: events in the buffer when the recording ended",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_entries_delta",
                "on CPU idx: ftrace_cpu_entries_end minus ftrace_cpu_entries_begin, \
                 if the trace has both",
            )
            .recorded(),
        ],
        is_loss: false,
    },
    Grows {
        field: 3,
        counters: [
            Counter::info(
                "ftrace_cpu_overrun_begin",
                "on CPU idx: events that the kernel had overwritten before anything \
                 read them, when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_overrun_end",
                "on CPU idx: events that the kernel had overwritten before anything \
                 read them, when the recording ended",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_overrun_delta",
                "on CPU idx: ftrace_cpu_overrun_end minus ftrace_cpu_overrun_begin, \
                 if the trace has both",
            )
            .recorded(),
        ],
        is_loss: true,
    },
    Grows {
        field: 4,
        counters: [
            Counter::info(
                "ftrace_cpu_commit_overrun_begin",
                "on CPU idx: events that were lost because the buffer wrapped \
                 around to events still being written, when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_commit_overrun_end",
                "on CPU idx: events that were lost because the buffer wrapped \
                 around to events still being written, when the recording ended",
            )
            .recorded(),
            Counter::error(
                "ftrace_cpu_commit_overrun_delta",
                "on CPU idx: ftrace_cpu_commit_overrun_end minus \
                 ftrace_cpu_commit_overrun_begin, if the trace has both",
            )
            .recorded(),
        ],
        is_loss: true,
    },
    Grows {
        field: 5,
        counters: [
            Counter::info(
                "ftrace_cpu_bytes_begin",
                "on CPU idx: bytes in the buffer when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_bytes_end",
                "on CPU idx: bytes in the buffer when the recording ended",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_bytes_delta",
                "on CPU idx: ftrace_cpu_bytes_end minus ftrace_cpu_bytes_begin, if \
                 the trace has both",
            )
            .recorded(),
        ],
        is_loss: false,
    },
    Grows {
        field: 8,
        counters: [
            Counter::info(
                "ftrace_cpu_dropped_events_begin",
                "on CPU idx: events that were lost because the buffer was full, \
                 when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_dropped_events_end",
                "on CPU idx: events that were lost because the buffer was full, \
                 when the recording ended",
            )
            .recorded(),
            Counter::error(
                "ftrace_cpu_dropped_events_delta",
                "on CPU idx: ftrace_cpu_dropped_events_end minus \
                 ftrace_cpu_dropped_events_begin, if the trace has both",
            )
            .recorded(),
        ],
        is_loss: true,
    },
    Grows {
        field: 9,
        counters: [
            Counter::info(
                "ftrace_cpu_read_events_begin",
                "on CPU idx: events that were read, when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_read_events_end",
                "on CPU idx: events that were read, when the recording ended",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_read_events_delta",
                "on CPU idx: ftrace_cpu_read_events_end minus \
                 ftrace_cpu_read_events_begin, if the trace has both",
            )
            .recorded(),
        ],
        is_loss: false,
    },
];

/// Times of a CPU's buffer, in seconds; the counters have nanoseconds.
pub(super) static TIMES: [(u32, [Counter; 2]); 2] = [
    (
        ftrace_cpu_stats::OLDEST_EVENT_TS,
        [
            Counter::info(
                "ftrace_cpu_oldest_event_ts_begin",
                "on CPU idx: the time of the oldest event in the buffer, in ns of \
                 the clock of kernel events, when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_oldest_event_ts_end",
                "on CPU idx: the time of the oldest event in the buffer, in ns of \
                 the clock of kernel events, when the recording ended",
            )
            .recorded(),
        ],
    ),
    (
        ftrace_cpu_stats::NOW_TS,
        [
            Counter::info(
                "ftrace_cpu_now_ts_begin",
                "on CPU idx: the time of this measurement, in ns of the clock of \
                 kernel events, when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_cpu_now_ts_end",
                "on CPU idx: the time of this measurement, in ns of the clock of \
                 kernel events, when the recording ended",
            )
            .recorded(),
        ],
    ),
];

/// Fields of `FtraceKprobeStats`.
pub(super) static KPROBES: [(u32, [Counter; 3]); 2] = [
    (
        kprobes::HITS,
        [
            Counter::info("ftrace_kprobe_hits_begin", "hits of kprobes when the recording began")
                .recorded(),
            Counter::info("ftrace_kprobe_hits_end", "hits of kprobes when the recording ended")
                .recorded(),
            Counter::info(
                "ftrace_kprobe_hits_delta",
                "ftrace_kprobe_hits_end minus ftrace_kprobe_hits_begin, if the \
                 latter is not 0",
            )
            .recorded(),
        ],
    ),
    (
        KPROBE_MISSES,
        [
            Counter::info(
                "ftrace_kprobe_misses_begin",
                "hits of kprobes that the kernel missed, when the recording began",
            )
            .recorded(),
            Counter::info(
                "ftrace_kprobe_misses_end",
                "hits of kprobes that the kernel missed, when the recording ended",
            )
            .recorded(),
            Counter::data_loss(
                "ftrace_kprobe_misses_delta",
                "ftrace_kprobe_misses_end minus ftrace_kprobe_misses_begin, if the \
                 latter is not 0",
            )
            .recorded(),
        ],
    ),
];

pub(super) const KPROBE_MISSES: u32 = 2;

pub(super) static SETUP_ERRORS: Counter = Counter::notice(
    "ftrace_setup_errors",
    "events, categories and features that the configuration asked for, \
     but the recorder could not switch on; import_log names them",
)
.recorded();
pub(super) static SYMBOLS_MISSING: Counter = Counter::notice(
    "ftrace_kernel_symbols_missing",
    "1 if the configuration asked for names of kernel functions, and \
     the kernel gave none",
)
.recorded();
pub(super) static PARSE_ERRORS: Counter = Counter::error(
    "ftrace_parse_errors",
    "pages of kernel events that the recorder could not read",
)
.recorded();
pub(super) static ZERO_LENGTH: Counter = Counter::info(
    "ftrace_abi_errors_skipped_zero_data_length",
    "pages of kernel events that end in zeros, which is harmless",
)
.drops_nothing();

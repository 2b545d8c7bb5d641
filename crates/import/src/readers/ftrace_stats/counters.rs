//! The counters of the kernel's buffers, with their field numbers (rule MD5).

use super::field;
use crate::output::Counter;

/// The counters of a field: at the start, at the end, and the difference.
pub(super) struct Grows {
    pub field: u32,
    pub counters: [Counter; 3],
    /// Whether the counters count lost data.
    pub is_loss: bool,
}

/// The counters at the start and at the end.
macro_rules! phases {
    ($of:literal, $name:literal, $what:literal) => {
        [
            Counter::info(
                concat!($name, "_begin"),
                concat!($of, $what, " when the recording began"),
            )
            .recorded(),
            Counter::info(
                concat!($name, "_end"),
                concat!($of, $what, " when the recording ended"),
            )
            .recorded(),
        ]
    };
}

/// The counters at the start and at the end, and the difference with the severity `$delta`.
macro_rules! grows {
    ($of:literal, $name:literal, $what:literal, $delta:ident if $if:literal) => {{
        let [begin, end] = phases!($of, $name, $what);
        let difference = concat!($of, $name, "_end minus ", $name, "_begin, if ", $if);
        [
            begin,
            end,
            Counter::$delta(concat!($name, "_delta"), difference).recorded(),
        ]
    }};
}

/// The counters of a CPU's fields.
macro_rules! of_cpu {
    ($($field:literal, $is_loss:literal => $delta:ident($name:literal, $what:literal),)*) => {
        [$(Grows {
            field: $field,
            counters: grows!("on CPU idx: ", $name, $what, $delta if "the trace has both"),
            is_loss: $is_loss,
        }),*]
    };
}

/// Fields of a CPU.
pub(super) static CPU: [Grows; 6] = of_cpu! {
    2, false => info("ftrace_cpu_entries", "events in the buffer"),
    3, true => info("ftrace_cpu_overrun", "events that the kernel had overwritten before anything read them,"),
    4, true => error(
        "ftrace_cpu_commit_overrun",
        "events that were lost because the buffer wrapped around to events still being written,"
    ),
    5, false => info("ftrace_cpu_bytes", "bytes in the buffer"),
    8, true => error("ftrace_cpu_dropped_events", "events that were lost because the buffer was full,"),
    9, false => info("ftrace_cpu_read_events", "events that were read,"),
};

/// Times of a CPU's buffer, in seconds; the counters have nanoseconds.
pub(super) static TIMES: [(u32, [Counter; 2]); 2] = [
    (
        field::OLDEST_EVENT_TS,
        phases!(
            "on CPU idx: ",
            "ftrace_cpu_oldest_event_ts",
            "the time of the oldest event in the buffer, in ns of the clock of kernel events,"
        ),
    ),
    (
        field::NOW_TS,
        phases!(
            "on CPU idx: ",
            "ftrace_cpu_now_ts",
            "the time of this measurement, in ns of the clock of kernel events,"
        ),
    ),
];

/// Fields of `FtraceKprobeStats`.
pub(super) static KPROBES: [(u32, [Counter; 3]); 2] = [
    (
        1,
        grows!("", "ftrace_kprobe_hits", "hits of kprobes", info if "the latter is not 0"),
    ),
    (
        KPROBE_MISSES,
        grows!(
            "",
            "ftrace_kprobe_misses",
            "hits of kprobes that the kernel missed,",
            data_loss if "the latter is not 0"
        ),
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
);

//! Statistics of processes (rule M6). They also bind threads to processes: `processes.rs` does this
//! first.

use timebase_schema::fields::{process_stats as stats, process_stats_process as process};

use super::series::{CounterSample, CounterType};
use super::sizes::{self, Size};
use crate::message::Message;

const SMAPS: CounterType = CounterType::new("smaps");
const CHROME: CounterType = CounterType::new("chrome_process_stats");
const OOM_SCORE_ADJ: CounterType = CounterType::new("oom_score_adj");
const RUNTIME: CounterType = CounterType::new("proc_stat_runtime");

/// The last field of a `Process` that is a counter.
const LAST_FIELD: u32 = 24;

/// The number of bytes in the unit of a size.
const KILO: f64 = 1024.0;

/// Takes the counters of a `ProcessStats`.
pub(super) fn packet(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    for counter in [chrome, counter] {
        for process in message.messages(stats::PROCESSES) {
            let pid = process.small(process::PID).unwrap_or(0);
            // If a field occurs twice, the last value counts.
            for field in 1..=LAST_FIELD {
                if let Some(counter) = counter(field)
                    && let Some(value) = process.number(field)
                {
                    let owner = sample.process(pid);
                    let value = match field {
                        process::OOM_SCORE_ADJ => value as i64 as f64,
                        _ => value as f64 * counter.scale,
                    };
                    let which = counter.key.map(|(of, key)| (of, key.into()));
                    let name = format_args!("{}", counter.name);
                    sample.put(&counter.kind, owner, which.as_slice(), name, value);
                }
            }
        }
    }
}

/// The counter for a field of a `Process`.
struct ProcessCounter {
    kind: CounterType,
    name: &'static str,
    /// The dimension, and its value, that distinguishes the counter from others of its type and
    /// process.
    key: Option<(&'static str, &'static str)>,
    scale: f64,
}

/// A counter whose name is a prefix and its key.
macro_rules! keyed {
    ($kind:expr, $dimension:literal, $prefix:literal, $key:literal, $scale:expr) => {
        ProcessCounter {
            kind: $kind,
            name: concat!($prefix, $key),
            key: Some(($dimension, $key)),
            scale: $scale,
        }
    };
}

macro_rules! smaps {
    ($key:literal) => {
        keyed!(SMAPS, "smaps_key", "mem.smaps.", $key, KILO)
    };
}

macro_rules! chrome {
    ($key:literal) => {
        keyed!(CHROME, "key", "chrome.", $key, KILO)
    };
}

macro_rules! runtime {
    ($key:literal) => {
        keyed!(RUNTIME, "proc_stat_runtime_key", "runtime.", $key, 1.0)
    };
}

fn memory(size: &'static Size) -> ProcessCounter {
    ProcessCounter {
        kind: CounterType::new("process_memory").described(size.description),
        name: size.name,
        key: Some(size.dimension),
        scale: KILO,
    }
}

/// The fields that come first for all processes (rule P15).
fn chrome(field: u32) -> Option<ProcessCounter> {
    Some(match field {
        process::CHROME_PRIVATE_FOOTPRINT_KB => chrome!("private_footprint_kb"),
        process::CHROME_PEAK_RESIDENT_SET_KB => chrome!("peak_resident_set_kb"),
        _ => return None,
    })
}

/// Any other field of a `Process`.
fn counter(field: u32) -> Option<ProcessCounter> {
    Some(match field {
        process::VM_SIZE_KB => memory(&sizes::VIRT),
        process::VM_RSS_KB => memory(&sizes::RSS),
        process::RSS_ANON_KB => memory(&sizes::RSS_ANON),
        process::RSS_FILE_KB => memory(&sizes::RSS_FILE),
        process::RSS_SHMEM_KB => memory(&sizes::RSS_SHMEM),
        process::VM_SWAP_KB => memory(&sizes::SWAP),
        process::VM_LOCKED_KB => memory(&sizes::LOCKED),
        process::VM_HWM_KB => memory(&sizes::WATERMARK),
        process::DMABUF_RSS_KB => memory(&sizes::DMABUF),
        process::OOM_SCORE_ADJ => {
            ProcessCounter { kind: OOM_SCORE_ADJ, name: "oom_score_adj", key: None, scale: 1.0 }
        }
        process::SMR_RSS_KB => smaps!("rss"),
        process::SMR_PSS_KB => smaps!("pss"),
        process::SMR_PSS_ANON_KB => smaps!("pss.anon"),
        process::SMR_PSS_FILE_KB => smaps!("pss.file"),
        process::SMR_PSS_SHMEM_KB => smaps!("pss.smem"),
        process::SMR_SWAP_PSS_KB => smaps!("swap.pss"),
        process::RUNTIME_USER_MODE => runtime!("user_ns"),
        process::RUNTIME_KERNEL_MODE => runtime!("kernel_ns"),
        _ => return None,
    })
}

//! Statistics of processes (rule M6). They also bind threads to processes: `processes.rs` does this
//! first.

use super::series::{CounterSample, CounterType};
use super::sizes::{self, Size};
use crate::message::Message;

const SMAPS: CounterType = CounterType::new("smaps");
const CHROME: CounterType = CounterType::new("chrome_process_stats");
const OOM_SCORE_ADJ: CounterType = CounterType::new("oom_score_adj");
const RUNTIME: CounterType = CounterType::new("proc_stat_runtime");

const OOM_SCORE_ADJ_FIELD: u32 = 10;

/// The last field of a `Process` that is a counter.
const LAST_FIELD: u32 = 24;

/// The number of bytes in the unit of a size.
const KILO: f64 = 1024.0;

/// Takes the counters of a `ProcessStats`.
pub(super) fn packet(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    for counter in [chrome, counter] {
        for process in message.messages(1) {
            let pid = process.small(1).unwrap_or(0);
            // If a field occurs twice, the last value counts.
            for field in 1..=LAST_FIELD {
                if let Some(counter) = counter(field)
                    && let Some(value) = process.number(field)
                {
                    let owner = sample.process(pid);
                    let value = match field {
                        OOM_SCORE_ADJ_FIELD => value as i64 as f64,
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
        13 => chrome!("private_footprint_kb"),
        14 => chrome!("peak_resident_set_kb"),
        _ => return None,
    })
}

/// Any other field of a `Process`.
fn counter(field: u32) -> Option<ProcessCounter> {
    Some(match field {
        2 => memory(&sizes::VIRT),
        3 => memory(&sizes::RSS),
        4 => memory(&sizes::RSS_ANON),
        5 => memory(&sizes::RSS_FILE),
        6 => memory(&sizes::RSS_SHMEM),
        7 => memory(&sizes::SWAP),
        8 => memory(&sizes::LOCKED),
        9 => memory(&sizes::WATERMARK),
        24 => memory(&sizes::DMABUF),
        OOM_SCORE_ADJ_FIELD => {
            ProcessCounter { kind: OOM_SCORE_ADJ, name: "oom_score_adj", key: None, scale: 1.0 }
        }
        16 => smaps!("rss"),
        17 => smaps!("pss"),
        18 => smaps!("pss.anon"),
        19 => smaps!("pss.file"),
        20 => smaps!("pss.smem"),
        23 => smaps!("swap.pss"),
        21 => runtime!("user_ns"),
        22 => runtime!("kernel_ns"),
        _ => return None,
    })
}

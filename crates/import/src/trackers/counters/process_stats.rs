//! Statistics of processes (rule M6). Who is bound by them is in `processes.rs`, which
//! comes first.

use super::series::{CounterSample, CounterType, Which};
use crate::message::Message;

const MEMORY: CounterType = CounterType::new("process_memory");
const SMAPS: CounterType = CounterType::new("smaps");
const CHROME: CounterType = CounterType::new("chrome_process_stats");
const OOM_SCORE_ADJ: CounterType = CounterType::new("oom_score_adj");
const RUNTIME: CounterType = CounterType::new("proc_stat_runtime");

const OOM_SCORE_ADJ_FIELD: u32 = 10;

/// The last field of a `Process` that is a counter.
const LAST_FIELD: u32 = 24;

/// How many bytes the unit of a size has.
const KILO: f64 = 1024.0;

/// The counters of a `ProcessStats`.
pub(super) fn packet(message: Message<'_>, sample: &mut CounterSample<'_, '_, '_>) {
    for counter in [chrome, counter] {
        for process in message.messages(1) {
            let pid = process.small(1).unwrap_or(0);
            // Of a number that is said twice the last one counts.
            for field in 1..=LAST_FIELD {
                if let Some((kind, name, scale)) = counter(field)
                    && let Some(value) = process.number(field)
                {
                    let owner = sample.process(pid);
                    let value = match field {
                        OOM_SCORE_ADJ_FIELD => value as i64 as f64,
                        _ => value as f64 * scale,
                    };
                    sample.put(
                        &kind,
                        owner,
                        Which::Number(field),
                        format_args!("{name}"),
                        value,
                    );
                }
            }
        }
    }
}

/// What comes first, of all processes (rule P15).
fn chrome(field: u32) -> Option<(CounterType, &'static str, f64)> {
    let name = match field {
        13 => "chrome.private_footprint_kb",
        14 => "chrome.peak_resident_set_kb",
        _ => return None,
    };
    Some((CHROME, name, KILO))
}

/// Any other field of a `Process`.
fn counter(field: u32) -> Option<(CounterType, &'static str, f64)> {
    Some(match field {
        2 => (MEMORY, "mem.virt", KILO),
        3 => (MEMORY, "mem.rss", KILO),
        4 => (MEMORY, "mem.rss.anon", KILO),
        5 => (MEMORY, "mem.rss.file", KILO),
        6 => (MEMORY, "mem.rss.shmem", KILO),
        7 => (MEMORY, "mem.swap", KILO),
        8 => (MEMORY, "mem.locked", KILO),
        9 => (MEMORY, "mem.rss.watermark", KILO),
        24 => (MEMORY, "mem.dmabuf_rss", KILO),
        OOM_SCORE_ADJ_FIELD => (OOM_SCORE_ADJ, "oom_score_adj", 1.0),
        16 => (SMAPS, "mem.smaps.rss", KILO),
        17 => (SMAPS, "mem.smaps.pss", KILO),
        18 => (SMAPS, "mem.smaps.pss.anon", KILO),
        19 => (SMAPS, "mem.smaps.pss.file", KILO),
        20 => (SMAPS, "mem.smaps.pss.smem", KILO),
        23 => (SMAPS, "mem.smaps.swap.pss", KILO),
        21 => (RUNTIME, "runtime.user_ns", 1.0),
        22 => (RUNTIME, "runtime.kernel_ns", 1.0),
        _ => return None,
    })
}

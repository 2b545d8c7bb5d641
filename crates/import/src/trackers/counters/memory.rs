//! Memory of processes, from kernel events of their threads (rules M4, M5).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    dmabuf_rss_stat_ftrace_event as dmabuf, ftrace_event as field,
    mm_event_record_ftrace_event as record, oom_score_adj_update_ftrace_event as score,
    rss_stat_ftrace_event as rss_stat, rss_stat_throttled_ftrace_event as throttled,
};

use super::series::CounterSample;
use super::sizes::{self, Size};
use crate::message::Message;
use crate::world::{ThreadCounter, Threads, Utid};

/// The kernel events with such values.
pub(super) const EVENTS: &[u32] = &[
    field::RSS_STAT,
    field::OOM_SCORE_ADJ_UPDATE,
    field::MM_EVENT_RECORD,
    field::RSS_STAT_THROTTLED,
    field::DMABUF_RSS_STAT,
];

const fn memory(size: &'static Size) -> ThreadCounter {
    ThreadCounter {
        of_process: "process_memory",
        of_thread: "process_memory_thread_fallback",
        name: size.name,
        dimensions: std::slice::from_ref(&size.dimension),
        description: Some(size.description),
    }
}

/// The sizes, by the member that `rss_stat` names.
static RSS: [ThreadCounter; 5] = [
    memory(&sizes::RSS_FILE),
    memory(&sizes::RSS_ANON),
    memory(&sizes::SWAP),
    memory(&sizes::RSS_SHMEM),
    memory(&sizes::UNRECLAIMABLE),
];

static UNKNOWN: ThreadCounter = memory(&sizes::UNKNOWN);

static DMABUF: ThreadCounter = memory(&sizes::DMABUF);

static OOM_SCORE_ADJ: ThreadCounter = ThreadCounter {
    of_process: "oom_score_adj",
    of_thread: "oom_score_adj_thread_fallback",
    name: "oom_score_adj",
    dimensions: &[],
    description: None,
};

/// The counter for a value of a memory event.
macro_rules! mm_event {
    ($name:literal, $metric:literal) => {
        ThreadCounter {
            of_process: "mm_event",
            of_thread: "mm_event_thread_fallback",
            name: concat!("mem.mm.", $name, ".", $metric),
            dimensions: &[("mm_event_type", $name), ("mm_event_metric", $metric)],
            description: None,
        }
    };
}

/// The count, the longest latency and the average latency of a kind of memory event.
macro_rules! mm_events {
    ($($name:literal)*) => {
        [$([
            mm_event!($name, "count"),
            mm_event!($name, "max_lat"),
            mm_event!($name, "avg_lat"),
        ],)*]
    };
}

/// The counters, by the type that `mm_event_record` names.
static MM_EVENTS: [[ThreadCounter; 3]; 7] = mm_events! {
    "min_flt" "maj_flt" "read_io" "compaction" "reclaim" "swp_flt" "kern_alloc"
};

/// An address space that an event names.
#[derive(Debug, Clone, Copy)]
struct AddressSpace {
    number: u32,
    /// Whether it is the emitter's own address space.
    is_own: bool,
}

/// The owners of address spaces, by machine and number.
#[derive(Debug, Default)]
pub(super) struct MemoryOwners(FxHashMap<(u32, u32), Utid>);

impl MemoryOwners {
    /// Takes the values of an event.
    pub fn event(
        &mut self,
        field: u32,
        message: Message<'_>,
        emitter: Utid,
        sample: &mut CounterSample<'_, '_, '_>,
    ) {
        match field {
            field::RSS_STAT => {
                let (curr, space) = (message.small(rss_stat::CURR), message.small(rss_stat::MM_ID));
                let space = space
                    .zip(curr)
                    .map(|(number, curr)| AddressSpace { number, is_own: curr != 0 });
                let (member, size) =
                    (message.small(rss_stat::MEMBER), message.number(rss_stat::SIZE));
                self.rss(member, size, space, emitter, sample);
            }
            field::RSS_STAT_THROTTLED => {
                let space = AddressSpace {
                    number: message.small(throttled::MM_ID).unwrap_or(0),
                    is_own: message.flag(throttled::CURR),
                };
                let (member, size) =
                    (message.small(throttled::MEMBER), message.number(throttled::SIZE));
                self.rss(member, size, Some(space), emitter, sample);
            }
            field::DMABUF_RSS_STAT => {
                let rss = message.number(dmabuf::RSS).unwrap_or(0) as f64;
                sample.put_of_thread(emitter, &DMABUF, rss);
            }
            field::OOM_SCORE_ADJ_UPDATE => {
                let adj = message.small(score::OOM_SCORE_ADJ).unwrap_or(0) as i16;
                let pid = message.small(score::PID).unwrap_or(0).into();
                let utid = sample.at.world.threads.thread(sample.machine, pid);
                sample.put_of_thread(utid, &OOM_SCORE_ADJ, adj.into());
            }
            field::MM_EVENT_RECORD => {
                let kind = message.small(record::TYPE).unwrap_or(0) as usize;
                let counters = MM_EVENTS.get(kind).into_iter().flatten();
                for (counter, field) in
                    counters.zip([record::COUNT, record::MAX_LAT, record::AVG_LAT])
                {
                    let value = message.small(field).unwrap_or(0);
                    sample.put_of_thread(emitter, counter, value.into());
                }
            }
            _ => {}
        }
    }

    /// Takes a size, of an address space if the event names one.
    fn rss(
        &mut self,
        member: Option<u32>,
        size: Option<u64>,
        space: Option<AddressSpace>,
        emitter: Utid,
        sample: &mut CounterSample<'_, '_, '_>,
    ) {
        let size = size.unwrap_or(0) as i64;
        if size < 0 {
            return;
        }
        let owner = match space {
            None => Some(emitter),
            Some(space) => {
                let threads = &sample.at.world.threads;
                self.owner(sample.machine, space, emitter, threads)
            }
        };
        if let Some(owner) = owner {
            let counter = RSS.get(member.unwrap_or(0) as usize).unwrap_or(&UNKNOWN);
            sample.put_of_thread(owner, counter, size as f64);
        }
    }

    /// The owner of an address space.
    fn owner(
        &mut self,
        machine: u32,
        space: AddressSpace,
        emitter: Utid,
        threads: &Threads,
    ) -> Option<Utid> {
        let is_own = space.is_own;
        let space = (machine, space.number);
        if is_own {
            self.0.insert(space, emitter);
            return Some(emitter);
        }
        let owner = *self.0.get(&space)?;
        if threads.has_not_ended(owner) {
            return Some(owner);
        }
        self.0.remove(&space);
        None
    }
}

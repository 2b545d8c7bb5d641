//! The counters of a heap dump (rule HP4), and the losses that heapprofd reports in it.

use timebase_schema::fields::{
    profile_packet_process_heap_samples as field, profile_packet_process_stats as stats,
};

use super::packet::Packet;
use crate::message::Message;
use crate::output::{Counter, Loss};
use crate::summary::LossKind;
use crate::trackers::tracker::TrackerContext;

static LAST_PROFILE: Counter = Counter::info(
    "heapprofd_last_profile_timestamp",
    "the time of the last dump of the process whose pid is idx",
)
.recorded();
static CLIENT_ERROR: Counter = Counter::error(
    "heapprofd_client_error",
    "why the process whose pid is idx was no longer profiled",
)
.recorded();
static ADJUSTED: Counter = Counter::info(
    "heapprofd_sampling_interval_adjusted",
    "by how many bytes the sampling interval of the process whose pid \
     is idx grew",
)
.recorded();
static DISCONNECTED: Counter = Counter::info(
    "heapprofd_client_disconnected",
    "dumps after the process whose pid is idx disconnected",
)
.recorded();
static CORRUPTED: Counter = Counter::error(
    "heapprofd_buffer_corrupted",
    "dumps of the process whose pid is idx with a corrupted buffer",
)
.recorded();
static REJECTED: Counter = Counter::error(
    "heapprofd_rejected_concurrent",
    "dumps of the process whose pid is idx that another profile of it \
     prevented",
)
.recorded();
static GUARDRAIL: Counter = Counter::error(
    "heapprofd_hit_guardrail",
    "dumps of the process whose pid is idx after heapprofd used too \
     much",
)
.recorded();
static OVERRAN: Counter = Counter::data_loss(
    "heapprofd_buffer_overran",
    "dumps of the process whose pid is idx whose buffer was too small",
)
.recorded();
static UNWIND_TIME: Counter = Counter::info(
    "heapprofd_unwind_time_us",
    "time that unwinding of the process whose pid is idx took, in µs",
)
.recorded();
static UNWIND_SAMPLES: Counter =
    Counter::info("heapprofd_unwind_samples", "unwound samples of the process whose pid is idx")
        .recorded();
static BLOCKED: Counter = Counter::info(
    "heapprofd_client_spinlock_blocked",
    "how long the process whose pid is idx waited for the profiler, in \
     µs",
)
.recorded();

/// `ClientError`: the buffer was full.
const HIT_TIMEOUT: u64 = 1;

/// Counts the losses of a dump and sets its counters, by pid.
pub(super) fn count(
    dump: Message<'_>,
    pid: u32,
    (start, end): (i64, i64),
    packet: &Packet<'_>,
    at: &mut TrackerContext<'_, '_>,
) {
    let (counts, of) = (&mut at.world.counts, packet.of());
    let idx = i64::from(pid as i32);
    counts.set(&LAST_PROFILE, of, idx, packet.ts);
    let client_error = dump.number(field::CLIENT_ERROR).unwrap_or(0);
    if client_error != 0 {
        counts.set(&CLIENT_ERROR, of, idx, client_error as i64);
    }
    let interval = dump.number(field::SAMPLING_INTERVAL_BYTES).unwrap_or(0);
    let original = dump.number(field::ORIG_SAMPLING_INTERVAL_BYTES).unwrap_or(0);
    if original != 0 {
        let adjusted = interval.wrapping_sub(original) as i64;
        counts.set(&ADJUSTED, of, idx, adjusted);
    }
    let has_overran = dump.flag(field::BUFFER_OVERRAN) || client_error == HIT_TIMEOUT;
    let flags = [
        (&DISCONNECTED, dump.flag(field::DISCONNECTED), false),
        (&CORRUPTED, dump.flag(field::BUFFER_CORRUPTED), true),
        (&REJECTED, dump.flag(field::REJECTED_CONCURRENT), true),
        (&GUARDRAIL, dump.flag(field::HIT_GUARDRAIL), true),
        (&OVERRAN, has_overran, true),
    ];
    let mut is_lacking = false;
    for (counter, _, loses) in flags.into_iter().filter(|(_, is_set, _)| *is_set) {
        counts.add(counter, of, idx, 1);
        is_lacking |= loses;
    }
    if let Some(stats) = dump.bytes(field::STATS).map(Message) {
        let number = |field| stats.number(field).unwrap_or(0) as i64;
        counts.add(&UNWIND_TIME, of, idx, number(stats::TOTAL_UNWINDING_TIME_US));
        counts.add(&UNWIND_SAMPLES, of, idx, number(stats::HEAP_SAMPLES));
        counts.add(&BLOCKED, of, idx, number(stats::CLIENT_SPINLOCK_BLOCKED_US));
    }
    if is_lacking {
        let loss = Loss {
            start: Some(start),
            end: Some(end),
            machine: Some(packet.writer.machine),
            seq: Some(packet.writer.sequence),
            packet: Some(packet.event.packet),
            ..Loss::new(LossKind::Heap)
        };
        loss.push(at.rows);
    }
}

//! What is made of events in the order of time: a file a subject.
//!
//! A tracker keeps the state that its subject has, changes the world that all of
//! them share (`world`), and makes rows. The trait [`Tracker`](tracker::Tracker)
//! says in which order it is called; `ARCHITECTURE.md`, how one is added.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing;

mod atrace;
mod buffers;
mod counters;
mod gpu_slices;
mod interrupts;
mod processes;
mod sched;
mod signals;
mod tracker;

pub(crate) use gpu_slices::GPU_INTERNED;
pub(crate) use processes::describes;
pub(crate) use sched::KERNEL_SYMBOLS;
pub(crate) use tracker::follow;

/// Whether a tracker reads an event of the kernel, by its field of `FtraceEvent`.
pub(crate) fn reads_ftrace(field: u32) -> bool {
    READ.binary_search(&field).is_ok()
}

/// The kernel's events that trackers read, beside switches and wakings.
const READ: &[u32] = &[
    3,   // print
    11,  // cpu_frequency
    12,  // cpu_frequency_limits
    13,  // cpu_idle
    14,  // clock_enable
    15,  // clock_disable
    16,  // clock_set_rate
    18,  // sched_blocked_reason
    24,  // softirq_entry
    25,  // softirq_exit
    36,  // irq_handler_entry
    37,  // irq_handler_exit
    80,  // tracing_mark_write
    235, // task_newtask
    236, // task_rename
    240, // sched_process_free
    313, // rss_stat
    314, // ion_heap_shrink
    315, // ion_heap_grow
    324, // signal_deliver
    325, // signal_generate
    326, // oom_score_adj_update
    328, // mm_event_record
    331, // zero
    332, // gpu_frequency
    333, // sde_tracing_mark_write
    334, // mark_victim
    335, // ion_stat
    340, // gpu_mem_total
    341, // thermal_temperature
    342, // cdev_update
    348, // dpu_tracing_mark_write
    349, // g2d_tracing_mark_write
    350, // mali_tracing_mark_write
    351, // dma_heap_stat
    359, // rss_stat_throttled
    467, // lwis_tracing_mark_write
    484, // samsung_tracing_mark_write
    509, // kgsl_gpu_frequency
    579, // dmabuf_rss_stat
];

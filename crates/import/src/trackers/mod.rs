//! What is made of events in the order of time: a file a subject.
//!
//! A tracker keeps the state that its subject has, changes the world that all of
//! them share (`world`), and makes rows. The trait [`Tracker`](tracker::Tracker)
//! says in which order it is called; `ARCHITECTURE.md`, how one is added.

mod processes;
mod sched;
mod tracker;

pub(crate) use processes::describes;
pub(crate) use sched::KERNEL_SYMBOLS;
pub(crate) use tracker::follow;

/// Whether a tracker reads an event of the kernel, by its field of `FtraceEvent`.
pub(crate) fn reads_ftrace(field: u32) -> bool {
    READ.binary_search(&field).is_ok()
}

/// The kernel's events that trackers read, beside switches and wakings.
const READ: &[u32] = &[
    18,  // sched_blocked_reason
    235, // task_newtask
    236, // task_rename
    240, // sched_process_free
];

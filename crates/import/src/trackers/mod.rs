//! What is made of events in the order of time: a file a subject.
//!
//! A tracker keeps the state that its subject has, changes the world that all of
//! them share (`world`), and makes rows. The trait [`Tracker`](tracker::Tracker)
//! says in which order it is called; `ARCHITECTURE.md`, how one is added.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing;

mod all;
mod atrace;
mod buffers;
mod counters;
mod gpu_slices;
mod interrupts;
mod processes;
mod profiles;
mod sched;
mod signals;
mod track_events;
mod tracker;

pub(crate) use all::{follow, reads_ftrace};
pub(crate) use gpu_slices::GPU_INTERNED;
pub(crate) use profiles::PROFILES_INTERNED;
pub(crate) use sched::KERNEL_SYMBOLS;

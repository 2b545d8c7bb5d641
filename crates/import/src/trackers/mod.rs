//! Trackers turn events into rows, in the order of time. Each file has one subject.
//!
//! A tracker keeps the state of its subject, changes the world that all trackers share (`world`),
//! and makes rows. The trait [`Tracker`](tracker::Tracker) has the order of the calls. The crate's
//! `ARCHITECTURE.md` shows how to add a tracker.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing;

mod all;
mod atrace;
mod buffers;
mod chrome_names;
mod counters;
mod events;
mod frames;
mod gpu;
mod heap_graphs;
mod interrupts;
mod json;
mod kernel;
mod mappings;
mod missing_processes;
mod open_state;
mod parts;
mod processes;
mod profiles;
mod records;
mod sched;
mod signals;
mod small;
mod track_events;
mod tracker;
mod winscope;

pub(crate) use all::{counters_of_machines, faults_of_machines, reads_ftrace};
pub(crate) use gpu::{GPU_INTERNED, VULKAN_INTERNED};
pub(crate) use parts::follow;
pub(crate) use profiles::PROFILES_INTERNED;
pub(crate) use winscope::extension_of;

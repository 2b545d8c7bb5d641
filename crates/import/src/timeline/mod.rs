//! The timeline: events of all CPUs and sequences in one order, that of time and,
//! within one time, of the file.
//!
//! # Design
//!
//! A reader meets events in file order and gives those that a tracker subscribes
//! to a compact form, of some ten to thirty bytes. They are sorted outside of
//! memory (`timebase-sort`) while the trace is read, and go to the trackers when
//! it is, because until then an earlier event may come: a ring buffer that was
//! read late, or an event that waited for a snapshot. Those get their place in the
//! order when they have a time, behind others of their time.
//!
//! To sort within a window, and drop what comes later than that, was the
//! alternative; trace processor does so with streaming sessions, and its tables
//! then depend on how the trace was flushed. What nobody subscribes to is not made
//! at all: packets, kernel events and log lines become rows in file order.
//!
//! `docs/benchmarks.md` has what this costs.
//!
//! | question | where it is decided |
//! |---|---|
//! | what an event is | `event.rs`, and a file a subject: `sched.rs` |
//! | in which order they come | `order.rs` |

mod event;
mod order;
mod sched;

pub(crate) use event::{Event, EventKind, write};
pub(crate) use order::Timeline;
pub(crate) use sched::{SchedSwitch, SchedWaking};

//! `ftrace_events`: the kernel's events become rows (rule I1).
//!
//! | subject | file |
//! |---|---|
//! | the content of a bundle | `bundle.rs`, `compact_sched.rs` |
//! | the order of its events | `in_order.rs` |
//! | the kinds of events, and their formats | `formats.rs`, `generic.rs` |
//! | equal arguments of events | `arguments.rs` |
//! | the thread that runs on a CPU | `running.rs` |
//! | the row of an event | `reader.rs` |
//! | the form of an event for the timeline | `sched.rs` |
//! | the final reason why an event has no time | `unresolved.rs` |
//! | the event in a trace that is written | `retiming.rs` |
//!
//! # Design
//!
//! A row of `ftrace_record` has numbers only: the time, packet, CPU and thread, and the numbers of
//! its name and its arguments, which are stored once (`arguments.rs`). That is about 30 bytes for
//! each row. With its name and its arguments as JSON, a row would have 180. The view `ftrace_event`
//! puts them together.
//!
//! The scheduler's events in the compact encoding (`compact_sched.rs`) lack data that the CPU's
//! previous switch has. So the events of a bundle are read in the order of time, in either
//! encoding. Events before the first switch of a CPU cannot be completed, because the running
//! thread is unknown. Perfetto's trace processor drops them, and `ftrace_event` equals its table;
//! timebase puts them into `ftrace_event_partial`.

mod arguments;
mod bundle;
mod compact_sched;
mod formats;
mod generic;
mod in_order;
mod reader;
mod retiming;
mod running;
mod sched;
mod unresolved;

pub(crate) use reader::Ftrace;

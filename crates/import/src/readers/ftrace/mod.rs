//! `ftrace_events`: the kernel's events become rows (rule I1).
//!
//! | question | where it is decided |
//! |---|---|
//! | what a bundle holds | `bundle.rs`, `compact_sched.rs` |
//! | in which order its events come | `in_order.rs` |
//! | what kind of event it is, and which format its kind has | `formats.rs`, `generic.rs` |
//! | which events have the same arguments | `arguments.rs` |
//! | which thread runs on a CPU | `running.rs` |
//! | what row an event is | `reader.rs` |
//! | what it is for the timeline | `sched.rs` |
//! | why it could not be placed, in the end | `unresolved.rs` |
//! | what it is in a trace that is written | `retiming.rs` |
//!
//! # Design
//!
//! A row of `ftrace_record` has numbers only: time, packet, CPU, thread, and
//! the numbers of its name and of its arguments, which are stored once each
//! (`arguments.rs`). That is about 30 bytes a row, where a row with its name and
//! its arguments as JSON would have 180. The view `ftrace_event` puts them
//! together.
//!
//! The scheduler's events of the compact encoding (`compact_sched.rs`) lack what
//! the CPU's previous switch tells, so the events of a bundle are read in the
//! order of time, whatever their encoding. Those before the first switch of a
//! CPU cannot be completed: which thread was running is not known. Perfetto's
//! trace processor drops them, and `ftrace_event` equals its table; here they
//! are rows of `ftrace_event_partial`.

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

//! Where things stand in time: which clock something was read from, what the
//! sequences of packets say of it, and the trace time that follows.
//!
//! | question | where it is decided |
//! |---|---|
//! | which clock is a packet's, and its trace time (rules C4–C6, V4, V5, T2, D1) | `clocks.rs` |
//! | which clock is trace time (rules T1, X25) | `trace_clock.rs` |
//! | whose are the clocks of what a file holds of a machine (rules X13–X17) | `parts.rs` |
//! | what is assumed where nothing relates a part to trace time (rules X26, X27) | `clocks/bridge.rs` |
//! | what machines say that ask each other for the time (rules X19–X24) | `remote.rs` |
//! | what a sequence's packets share (rules S, V5) | `sequence.rs` |
//! | what is a snapshot, whoever took it (rules N, I1, X15, X16) | `snapshot.rs` |
//! | what waits for a later snapshot (rules D2, X29) | `waiting.rs` |
//! | how many packets use a clock | `uses.rs` |
//! | what is a reading, what a time | `time.rs` |
//!
//! `desk.rs` is the way in: all that others do here, in the order in which a
//! packet needs it.

mod aside;
mod clocks;
mod desk;
mod parts;
mod remote;
mod samples;
mod sequence;
mod snapshot;
mod time;
mod trace_clock;
mod uses;
mod waiting;

pub(crate) use aside::{EventRow, put_reason, take_reason};
pub(crate) use clocks::{EventClock, Made, Placement, Whole};
pub(crate) use desk::{Place, Taken, called, file_id, file_key, table_order};
pub(crate) use parts::{Part, PartIx, TRACE_FILE, shared};
pub(crate) use sequence::{CAUSES, SequenceIx};
pub(crate) use snapshot::{Snapshot, recorded};
pub(crate) use time::TraceTime;
pub(crate) use waiting::{Counts, Settled, SettledEvent, Stands, Untimed, WaitingEvent};

//! Where things stand in time: which clock something was read from, what the
//! sequences of packets say of it, and the trace time that follows.
//!
//! | question | where it is decided |
//! |---|---|
//! | which clock is a packet's, and its trace time (rules C4–C6, V4, V5, T, D1) | `clocks.rs` |
//! | what a sequence's packets share (rules S, V5) | `sequence.rs` |
//! | what is a snapshot, whoever took it (rules N, I1) | `snapshot.rs` |
//! | what waits for a later snapshot (rule D2) | `waiting.rs` |
//! | how many packets use a clock | `uses.rs` |
//! | what is a reading, what a time | `time.rs` |
//!
//! `desk.rs` is the way in: all that others do here, in the order in which a
//! packet needs it.

mod aside;
mod clocks;
mod desk;
mod sequence;
mod snapshot;
mod time;
mod uses;
mod waiting;

pub(crate) use aside::{EventRow, put_reason, take_reason};
pub(crate) use clocks::{EventClock, Placement, Whole};
pub(crate) use desk::{Place, Taken, called, table_order};
pub(crate) use sequence::SequenceIx;
pub(crate) use snapshot::{Accepted, Snapshot};
pub(crate) use time::TraceTime;
pub(crate) use waiting::{Settled, SettledEvent};

//! What packets hold: a file a payload, in file order.
//!
//! The trait [`Reader`](reader::Reader) says what a reader does and when it is
//! called. `all.rs` is the list of them, and `frame.rs` what happens to every
//! packet around them.

mod all;
mod android_log;
mod clock_snapshot;
mod extension_descriptor;
mod frame;
mod ftrace;
mod packet_schema;
mod reader;
mod trace_uuid;

pub(crate) use all::settlers;
pub(crate) use frame::{Frame, Keep, counter};
pub(crate) use ftrace::{SchedSwitch, SchedWaking};
pub(crate) use packet_schema::PacketSchema;

//! Reads a Perfetto trace as a stream: files and pipes, compressed or not, to
//! packets.
//!
//! | question | decided in |
//! |---|---|
//! | the input, and whether it is compressed as a whole (rules F4, F5) | `source.rs` |
//! | the types of several files, and archives (rules X1 to X9) | `inputs/` |
//! | where decompression continues after damage (rule Z7) | `members.rs` |
//! | the type of a file that is no trace | `kind.rs` |
//! | where a packet begins and ends (rules F1, F2, F6) | `stream.rs` |
//! | where packets begin again after damage (rules Z) | `resync.rs`, `shape.rs` |
//! | which packets a compressed packet contains (rule F3) | `packets.rs` |
//! | how much of it can be decompressed, and the place of damage (rule Z6) | `carried.rs` |
//! | the meaning of a number of interned data (rule S2) | `interned.rs` |
//! | the text of a trace in Chrome's JSON format (rules JS1 to JS9) | `json/` |
//! | the header of a packet, and the messages that clocks need | `wire/` |
//! | progress and cancellation | `monitor.rs` |
//!
//! This crate knows nothing about clocks, and nothing about the contents of a packet after its header.
//!
//! ```
//! use std::ops::ControlFlow;
//! use timebase_trace::{End, Found, Input, Monitor, Packets, Payload, Source};
//!
//! let monitor = Monitor::default();
//! let trace = Source::File("../../tests/data/system-compressed.pftrace".into());
//! let mut input = Input::open(&trace, &monitor)?;
//!
//! let mut snapshots = 0;
//! let mut packets = Packets::new(&mut input.reader);
//! let end = packets.for_each(|found| {
//!     if let Found::Packet(packet) = found {
//!         let kind = packet.header.packet_type();
//!         snapshots += u64::from(kind.and_then(|kind| kind.name()) == Some("clock_snapshot"));
//!     }
//!     ControlFlow::Continue(Payload::Sound)
//! });
//! assert!(matches!(end, End::Complete));
//! assert!(snapshots > 0);
//! assert!(packets.counts().compressed > 0);
//! # Ok::<(), timebase_trace::SourceError>(())
//! ```
//!
//! # Design
//!
//! A function receives packets one after the other. They borrow from the buffer into which they
//! were read, so no packet needs an allocation. The alternative was an iterator: it would have to
//! keep the buffer of a compressed packet, and the buffer around it, separate from the packets that
//! it lends out of both.

mod carried;
mod inputs;
mod interned;
pub mod json;
mod kind;
mod members;
mod monitor;
mod packets;
mod pieces;
mod resync;
mod shape;
mod source;
mod stream;
#[cfg(test)]
mod testing;
pub mod wire;

pub use inputs::{
    ArchiveDamage, Formats, Inputs, InputsError, PERFETTO, Reads, TraceFile, TraceFormat, TraceType,
};
pub use interned::{Interned, Interval, Kept};
pub use kind::{FileKind, Lacks, OtherFile, Remedy, file_kind, recognize};
pub use monitor::{Monitor, Pass};
pub use packets::{Counts, End, Found, Packet, Packets, Payload, Unreadable};
pub use source::{Digested, Input, Reader, Source, SourceError};
pub use stream::{Damage, PacketStream, RawPacket, Region};

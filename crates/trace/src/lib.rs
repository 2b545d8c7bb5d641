//! Reads a Perfetto trace as a stream: files and pipes, compressed or not, to
//! packets.
//!
//! | question | where it is decided |
//! |---|---|
//! | what is read, and is it compressed as a whole (rules F4, F5) | `source.rs` |
//! | what several files are, and archives (rules X1 to X9) | `inputs/` |
//! | where decompression goes on behind damage (rule Z7) | `members.rs` |
//! | what a file is that is no trace | `kind.rs` |
//! | where a packet begins and ends (rules F1, F2, F6) | `stream.rs` |
//! | where packets begin again behind damage (rules Z) | `resync.rs`, `shape.rs` |
//! | which packets a compressed packet holds (rule F3) | `packets.rs` |
//! | what can be decompressed of it, and where the damage is (rule Z6) | `carried.rs` |
//! | what a number of interned data stands for (rule S2) | `interned.rs` |
//! | what a packet says in its header, and the messages that clocks need | `wire/` |
//! | who wants to see how far it is, or to end it | `monitor.rs` |
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
//! Packets are handed to a function, one after the other, and borrow from the
//! buffer that they were read into; nothing is allocated a packet. An iterator
//! was the alternative: it would have to keep the buffer of a compressed packet
//! and the one it came in apart from what it lends out of both.

mod carried;
mod inputs;
mod interned;
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

pub use inputs::{ArchiveDamage, Inputs, InputsError, Reads, TraceFile, TraceType};
pub use interned::{Interned, Interval, Kept};
pub use kind::{FileKind, OtherFile, file_kind, recognize};
pub use monitor::{Monitor, Pass};
pub use packets::{Counts, End, Found, Packet, Packets, Payload, Unreadable};
pub use source::{Digested, Input, Reader, Source, SourceError};
pub use stream::{Damage, PacketStream, RawPacket, Region};

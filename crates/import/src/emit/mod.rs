//! Writes track events from rows: from the tables of a database to packets.
//!
//! | question | where it is decided |
//! |---|---|
//! | the packets of a JSON trace, in their order | `convert.rs` |
//! | the numbers of processes and threads | `owners.rs` |
//! | the tracks and their uuids | `tracks.rs`, `uuids.rs` |
//! | descriptors of processes, threads and tracks | `descriptors.rs` |
//! | when a slice ends, and which end needs a name | `ends.rs` |
//! | rows of queries as tracks: their columns, and their packets | `found.rs`, `found_packets.rs` |
//! | the place of such tracks | `owned.rs` |
//! | arguments | `arguments.rs` |
//! | samples of callstacks | `samples.rs` |
//! | interned texts, and the header of a packet | `sequence.rs`, `message.rs` |
//!
//! # Design
//!
//! It is the inverse of the readers and trackers of track events: what it writes, they turn into the rows from
//! which it was written. It knows only rows, so it serves any source of rows: the database of a JSON trace, and
//! the results of a query. The alternative was to turn each event of a JSON trace into a packet. The meaning of
//! some events is known only later, so their order, their lanes and their ends would have to be found a second
//! time, and a query has no events.
//!
//! The room is here and not with the command, because it writes the wire format, and the import has its field
//! numbers and readers, against which tests hold it.

mod arguments;
mod convert;
mod descriptors;
mod ends;
mod error;
mod found;
mod found_packets;
mod message;
mod owned;
mod owners;
mod samples;
mod sequence;
mod texts;
mod tracks;
mod uuids;

pub(crate) use convert::{Form, JsonRows, Unlike, Written};
pub(crate) use error::EmitError;
pub(crate) use found::Packets;
pub use found::{Found, FoundError, FoundTrack, FoundTracks};

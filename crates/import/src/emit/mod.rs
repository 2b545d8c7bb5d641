//! Writes track events from rows: from the tables of a database to packets.
//!
//! | question | where it is decided |
//! |---|---|
//! | the rows of JSON traces, and the form of the trace that is written | `rows.rs` |
//! | the packets of these rows, in their order | `events.rs` |
//! | the flows of a slice | `flows.rs` |
//! | what is not as it was, and how users are told | `unlike.rs` |
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
mod descriptors;
mod ends;
mod error;
mod events;
mod flows;
mod found;
mod found_packets;
mod message;
mod owned;
mod owners;
mod rows;
mod samples;
mod sequence;
mod texts;
mod tracks;
mod unlike;
mod uuids;

pub(crate) use error::EmitError;
pub(crate) use events::Written;
pub(crate) use found::Packets;
pub use found::{Found, FoundError, FoundTrack, FoundTracks};
pub(crate) use rows::{Form, JsonRows};
pub(crate) use unlike::Difference;

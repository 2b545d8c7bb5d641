//! Importers, one a payload type.
//!
//! A payload that means something to the import has an importer: a function
//! that is called with the packet and its bytes when the packet is read, and
//! tells where the packet stands in time. [`IMPORTERS`] is the table of them;
//! packets of all other types are placed by their own timestamp.
//!
//! To add one: write `payload/<type>.rs`, with a `pub(super) static IMPORTER`,
//! and name it in the table. Rows go through [`Batch::row`] into the tables of
//! `schema/tables.sql` that it names; what has to be remembered between packets
//! is a type of the importer's own in [`Decoder::states`].
//!
//! [`Batch::row`]: crate::rows::Batch::row
//! [`Decoder::states`]: crate::decoder::Decoder::states

mod android_log;
mod clock_snapshot;
mod extension_descriptor;
mod ftrace_events;
mod trace_uuid;

use std::any::Any;
use std::collections::BTreeMap;

use rusqlite::Connection;
use timebase_wire::field::Malformed;
use timebase_wire::packet::{Header, PacketType};

use crate::decoder::{Decoder, Outlet, Stop};
use crate::rows::{Placement, Table};
use crate::sequence::SequenceIx;

/// A packet whose payload is imported.
pub(crate) struct Packet<'a> {
    pub id: u64,
    pub offset: u64,
    pub header: &'a Header<'a>,
    pub sequence: SequenceIx,
    pub payload: &'a [u8],
    pub outlet: &'a Outlet<'a>,
}

/// Why a payload could not be read; the packet is corrupt then (rule F7).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Corrupt {
    #[error("{0}")]
    Packet(#[from] Malformed),
    #[error("{0}")]
    Message(#[from] prost::DecodeError),
}

/// Why an importer did not come to its end.
#[derive(Debug)]
pub(crate) enum Halt {
    Corrupt(Corrupt),
    Stop(Stop),
}

impl<E: Into<Corrupt>> From<E> for Halt {
    fn from(error: E) -> Self {
        Halt::Corrupt(error.into())
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Halt::Stop(stop)
    }
}

/// How the rows of a table of events fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    /// The table or view: `ftrace_event`, `android_logs`.
    pub table: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// How many of them could not be placed, by reason (rule V7).
    pub unresolved: BTreeMap<&'static str, u64>,
}

/// What is done with the packets of one type.
pub(crate) struct Importer {
    /// Called with each of them.
    pub import: fn(&mut Decoder, &Packet<'_>) -> Result<Placement, Halt>,
    /// Called when the whole trace is read: retries its events (rule D2).
    pub finish: Option<Finish>,
    /// The tables that it fills.
    pub tables: &'static [&'static Table],
}

type Finish = fn(&Connection, &mut Decoder) -> rusqlite::Result<Events>;

const IMPORTERS: &[(PacketType, &Importer)] = &[
    (PacketType::FTRACE_EVENTS, &ftrace_events::IMPORTER),
    (PacketType::CLOCK_SNAPSHOT, &clock_snapshot::IMPORTER),
    (PacketType::ANDROID_LOG, &android_log::IMPORTER),
    (
        PacketType::EXTENSION_DESCRIPTOR,
        &extension_descriptor::IMPORTER,
    ),
    (PacketType::TRACE_UUID, &trace_uuid::IMPORTER),
];

/// The importer of a payload type.
pub(crate) fn importer(packet_type: PacketType) -> Option<&'static Importer> {
    IMPORTERS
        .iter()
        .find(|(imported, _)| *imported == packet_type)
        .map(|(_, importer)| *importer)
}

/// All tables that importers fill.
pub(crate) fn tables() -> impl Iterator<Item = &'static Table> {
    IMPORTERS
        .iter()
        .flat_map(|(_, importer)| importer.tables.iter().copied())
}

/// Ends all importers, and tells of their events.
pub(crate) fn finish(conn: &Connection, decoder: &mut Decoder) -> rusqlite::Result<Vec<Events>> {
    IMPORTERS
        .iter()
        .filter_map(|(_, importer)| importer.finish)
        .map(|finish| finish(conn, decoder))
        .collect()
}

/// What importers remember between packets, each a type of its own.
#[derive(Debug, Default)]
pub(crate) struct States(Vec<Box<dyn Any + Send>>);

impl States {
    /// The state of an importer, new at first. It has to be put back.
    pub fn take<T: Any + Send + Default>(&mut self) -> Box<T> {
        let found = self.0.iter().position(|state| state.is::<T>());
        found
            .map(|index| self.0.swap_remove(index))
            .and_then(|state| state.downcast().ok())
            .unwrap_or_default()
    }

    /// Keeps a state for the next packet.
    pub fn put<T: Any + Send>(&mut self, state: Box<T>) {
        self.0.push(state);
    }
}

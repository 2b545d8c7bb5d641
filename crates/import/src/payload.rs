//! Importers, one a payload type.
//!
//! A payload that means something to the import has an importer: a function
//! that is called with the packet and its bytes when the packet is read, and
//! tells where the packet stands in time. [`importer`] is the table of them;
//! packets of all other types are placed by their own timestamp.

mod clock_snapshot;
mod trace_uuid;

use timebase_wire::field::Malformed;
use timebase_wire::packet::{Header, PacketType};

use crate::decoder::Decoder;
use crate::rows::Placement;
use crate::sequence::SequenceIx;

/// A packet whose payload is imported.
pub(crate) struct Packet<'a> {
    pub id: u64,
    pub offset: u64,
    pub header: &'a Header<'a>,
    pub sequence: SequenceIx,
    pub payload: &'a [u8],
}

/// Why a payload could not be read; the packet is corrupt then (rule F7).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Corrupt {
    #[error("{0}")]
    Packet(#[from] Malformed),
    #[error("{0}")]
    Message(#[from] prost::DecodeError),
}

pub(crate) type Importer = fn(&mut Decoder, &Packet<'_>) -> Result<Placement, Corrupt>;

/// The importer of a payload type.
pub(crate) fn importer(packet_type: PacketType) -> Option<Importer> {
    match packet_type {
        PacketType::CLOCK_SNAPSHOT => Some(clock_snapshot::import),
        PacketType::TRACE_UUID => Some(trace_uuid::import),
        _ => None,
    }
}

//! A packet without a place in time yet.

use timebase_trace::wire::packet::Header;

use super::parts::PartIx;
use super::sequence::SequenceIx;

/// A packet before it has its place in time, with its part and its sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IncomingPacket<'a> {
    pub id: i64,
    /// The position of its bytes in the decompressed stream.
    pub offset: u64,
    pub header: &'a Header<'a>,
    /// The row of its machine.
    pub machine: u32,
    /// The part of its machine in its file.
    pub part: PartIx,
    pub sequence: SequenceIx,
}

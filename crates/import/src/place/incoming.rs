//! A packet that is not placed in time yet.

use timebase_trace::wire::packet::Header;

use super::parts::PartIx;
use super::sequence::SequenceIx;

/// A packet before it has its place in time: whose it is, and where it stands in the trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IncomingPacket<'a> {
    pub id: i64,
    /// Where its bytes are in the decompressed stream.
    pub offset: u64,
    pub header: &'a Header<'a>,
    /// Its machine's row.
    pub machine: u32,
    /// What its file holds of that.
    pub part: PartIx,
    pub sequence: SequenceIx,
}

//! The packet whose payload is read, with its place in time.

use timebase_resolver::Unresolved;
use timebase_trace::wire::packet::Header;

use crate::output::{LogMessage, Rows, Severity};
use crate::place::{Generation, PartIx, Placement, TraceTime};

/// A packet when its reader gets it: it has its place in time.
#[derive(Debug)]
pub(crate) struct PlacedPacket<'a> {
    pub id: i64,
    /// Where its bytes are in the decompressed stream.
    pub offset: u64,
    pub header: &'a Header<'a>,
    /// The state of its sequence that it relies on, and what its numbers of interned data mean.
    pub generation: Generation,
    /// Where it stands in time.
    pub placement: Placement,
    /// Its machine's row.
    pub machine: u32,
    /// What its file holds of that.
    pub part: PartIx,
    /// Whether the state of its sequence can be trusted (rule S3).
    pub valid: bool,
    /// The greatest time before it, where it stands if it has none (rule O2).
    pub latest: TraceTime,
}

impl PlacedPacket<'_> {
    /// Says something about it in the log.
    pub fn say(&self, severity: Severity, code: &'static str, text: String, rows: &mut Rows<'_>) {
        LogMessage::new(severity, code, text)
            .of_packet(self.id, self.offset)
            .push(rows);
    }

    /// Rule S4: whether it refers to a state that was lost, and so is a row and
    /// nothing else.
    pub fn is_lost(&self) -> bool {
        self.placement.unresolved == Some(Unresolved::IncrementalStateLost)
    }
}

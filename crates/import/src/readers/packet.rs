//! The packet whose payload is read.

use timebase_resolver::Unresolved;
use timebase_trace::Interval;
use timebase_trace::wire::packet::Header;

use super::part::Part;
use crate::place::{PartIx, Placement, TraceTime};

/// The packet whose payload is read.
#[derive(Debug)]
pub(crate) struct Packet<'a> {
    pub id: i64,
    /// Where its bytes are in the decompressed stream.
    pub offset: u64,
    pub header: &'a Header<'a>,
    /// The part of its sequence that it is in: what its numbers of interned data
    /// mean.
    pub interval: Interval,
    /// Where it stands in time.
    pub placement: Placement,
    /// Its machine's row.
    pub machine: u32,
    /// What its file holds of that.
    pub of: PartIx,
    /// Whether the state of its sequence can be trusted (rule S3).
    pub valid: bool,
    /// How often that was lost before.
    pub lost: u32,
    /// The greatest time before it, where it stands if it has none (rule O2).
    pub latest: TraceTime,
}

impl Packet<'_> {
    /// The part of its sequence that it is in, up to a loss.
    pub fn part(&self) -> Part {
        Part {
            interval: self.interval,
            lost: self.lost,
        }
    }

    /// Rule S4: whether it refers to a state that was lost, and so is a row and
    /// nothing else.
    pub fn is_lost(&self) -> bool {
        self.placement.unresolved == Some(Unresolved::IncrementalStateLost)
    }
}

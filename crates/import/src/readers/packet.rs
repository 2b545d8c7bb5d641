//! A packet with its place in time.

use timebase_resolver::Unresolved;
use timebase_trace::wire::packet::Header;

use crate::output::{Example, LogMessage, Rows, Severity};
use crate::place::{Generation, PartIx, Placement, TraceTime};

/// A packet with its place in time, in the form that its reader gets.
#[derive(Debug)]
pub(crate) struct PlacedPacket<'a> {
    pub id: i64,
    /// The position of its bytes in the decompressed stream.
    pub offset: u64,
    pub header: &'a Header<'a>,
    /// The generation of its sequence's state, which decides what its numbers of interned data
    /// mean.
    pub generation: Generation,
    /// Its place in time.
    pub placement: Placement,
    /// The row of its machine.
    pub machine: u32,
    /// The part of its machine in its file.
    pub part: PartIx,
    /// Whether the state of its sequence is valid (rule S3).
    pub valid: bool,
    /// The greatest time before it, which it gets if it has no time of its own (rule O2).
    pub latest: TraceTime,
}

impl PlacedPacket<'_> {
    /// Logs a message about the packet.
    pub fn say(&self, severity: Severity, code: &'static str, text: String, rows: &mut Rows<'_>) {
        LogMessage::new(severity, code, text).of_packet(self.id, self.offset).push(rows);
    }

    /// The pid of its writer, as the recorder states it; 0 if it does not.
    pub fn trusted_pid(&self) -> u32 {
        let pid = self.header.trusted_pid;
        pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0)
    }

    /// The packet as an example of an event with a fault.
    pub fn example(&self) -> Example {
        Example {
            packet: Some(self.id),
            ts: self.placement.ts.map(|TraceTime(ts)| ts),
            ..Example::default()
        }
    }

    /// Whether it relies on lost state, and so has only a row (rule S4).
    pub fn is_lost(&self) -> bool {
        self.placement.unresolved == Some(Unresolved::IncrementalStateLost)
    }
}

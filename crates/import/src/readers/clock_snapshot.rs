//! `clock_snapshot`: readings become rows, and the clock graph grows (rules N).

use prost::Message;
use timebase_trace::wire::packet::Header;
use timebase_trace::wire::proto::ClockSnapshot;

use super::corrupt::Corrupt;
use super::reader::{Payload, Reader};
use super::retiming::Times;
use crate::place::Snapshot;

/// The field of the readings.
const CLOCKS: u32 = 1;

/// No system has as many clocks, and a snapshot that has them is all in memory.
const MOST: usize = 1 << 16;

/// Reads what several clocks read at one instant; the frame does the rest, as for
/// snapshots from anywhere.
#[derive(Debug, Default)]
pub(crate) struct Snapshots;

impl Payload<'_> for ClockSnapshot {
    fn parse(payload: &[u8]) -> Result<Self, Corrupt> {
        Corrupt::count(payload, CLOCKS, MOST, "readings")?;
        Ok(ClockSnapshot::decode(payload)?)
    }
}

impl Reader for Snapshots {
    type Payload<'a> = ClockSnapshot;

    const TIMES: Times = Times::OfPacket;

    fn snapshot(snapshot: &ClockSnapshot, header: &Header<'_>) -> Option<Snapshot> {
        Some(Snapshot::of_packet(snapshot, header))
    }
}

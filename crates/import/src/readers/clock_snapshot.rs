//! `clock_snapshot`: readings become rows, and the clock graph grows (rules N).

use timebase_schema::fields::clock_snapshot as snapshot;

use prost::Message;
use timebase_trace::wire::packet::Header;
use timebase_trace::wire::proto::ClockSnapshot;

use super::corrupt::Corrupt;
use super::reader::{Payload, Reader};
use super::retiming::Times;
use crate::place::{CountsFor, Snapshot};

/// The most readings of a snapshot, because all are in memory. No system has as many clocks.
const MOST: usize = 1 << 16;

/// Parses the readings of several clocks at one instant. The frame does the rest, as for snapshots
/// from any other source.
#[derive(Debug, Default)]
pub(crate) struct Snapshots;

impl Payload<'_> for ClockSnapshot {
    fn parse(payload: &[u8]) -> Result<Self, Corrupt> {
        Corrupt::count(payload, snapshot::CLOCKS, MOST, "readings")?;
        Ok(ClockSnapshot::decode(payload)?)
    }
}

impl Reader for Snapshots {
    type Payload<'a> = ClockSnapshot;

    const COUNTS_FOR: CountsFor = CountsFor::Nothing;

    const TIMES: Times = Times::OfPacket;

    fn snapshot(snapshot: &ClockSnapshot, header: &Header<'_>) -> Option<Snapshot> {
        Some(Snapshot::of_packet(snapshot, header))
    }
}

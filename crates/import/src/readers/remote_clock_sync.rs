//! `remote_clock_sync`: a machine has asked another one for the time (rules X19 to X24).

use prost::Message;
use timebase_trace::wire::proto::RemoteClockSync;

use super::corrupt::Corrupt;
use super::reader::{Payload, Reader};
use super::retiming::Times;

/// The field of what was read together.
const SYNCED_CLOCKS: u32 = 1;

/// A recorder writes the last five.
const MOST: usize = 1 << 12;

/// Reads what the clocks of both machines read; the frame does the rest, as for snapshots from
/// anywhere.
#[derive(Debug, Default)]
pub(crate) struct RemoteClockSyncs;

impl Payload<'_> for Box<RemoteClockSync> {
    fn parse(payload: &[u8]) -> Result<Self, Corrupt> {
        Corrupt::count(payload, SYNCED_CLOCKS, MOST, "synced_clocks")?;
        Ok(Box::new(RemoteClockSync::decode(payload)?))
    }
}

impl Reader for RemoteClockSyncs {
    // In a box: what a packet is parsed to is as large as the largest.
    type Payload<'a> = Box<RemoteClockSync>;

    const TIMES: Times = Times::OfPacket;
}

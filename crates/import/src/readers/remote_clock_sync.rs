//! `remote_clock_sync`: a machine asked another machine for the time (rules X19 to X24).

use timebase_schema::fields::remote_clock_sync as sync;

use prost::Message;
use timebase_trace::wire::proto::RemoteClockSync;

use super::corrupt::Corrupt;
use super::reader::{Payload, Reader};
use super::retiming::Times;

/// The most round trips that are read. A recorder writes the last five.
const MOST: usize = 1 << 12;

/// Parses the clock readings of both machines; the frame does the rest, as for snapshots from any
/// other source.
#[derive(Debug, Default)]
pub(crate) struct RemoteClockSyncs;

impl Payload<'_> for Box<RemoteClockSync> {
    fn parse(payload: &[u8]) -> Result<Self, Corrupt> {
        Corrupt::count(payload, sync::SYNCED_CLOCKS, MOST, "synced_clocks")?;
        Ok(Box::new(RemoteClockSync::decode(payload)?))
    }
}

impl Reader for RemoteClockSyncs {
    // In a box, because the enum of all parsed payloads is as large as its largest variant.
    type Payload<'a> = Box<RemoteClockSync>;

    const TIMES: Times = Times::OfPacket;
}

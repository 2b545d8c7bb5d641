//! `trace_uuid`: the trace's own name, for the view `metadata`.

use prost::Message;
use timebase_trace::wire::proto::TraceUuid;

use super::packet::Packet;
use super::reader::{Corrupt, Desk, Reader};

/// Reads the trace's own name.
#[derive(Debug, Default)]
pub(crate) struct Uuid;

impl Reader for Uuid {
    type Payload<'a> = TraceUuid;

    fn parse(payload: &[u8]) -> Result<TraceUuid, Corrupt> {
        Ok(TraceUuid::decode(payload)?)
    }

    fn read(&mut self, uuid: TraceUuid, _packet: &Packet<'_>, desk: &mut Desk<'_, '_>) {
        // Most significant half first, as Perfetto prints it.
        let high = format!("{:016x}", uuid.msb());
        let low = format!("{:016x}", uuid.lsb());
        let (a, b) = high.split_at(8);
        let (b, c) = b.split_at(4);
        let (d, e) = low.split_at(4);
        desk.journal
            .state_of_file("trace_uuid", format!("{a}-{b}-{c}-{d}-{e}"));
    }
}

//! `trace_uuid`: the trace's own name, for the view `metadata`.

use prost::Message;
use timebase_trace::wire::proto::TraceUuid;

use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::Times;
use crate::output::Rows;

/// Reads the trace's own name.
#[derive(Debug, Default)]
pub(crate) struct TraceUuids;

impl Reader for TraceUuids {
    type Payload<'a> = TraceUuid;

    const TIMES: Times = Times::OfPacket;

    fn parse(payload: &[u8]) -> Result<TraceUuid, Corrupt> {
        Ok(TraceUuid::decode(payload)?)
    }

    fn read(
        &mut self,
        uuid: TraceUuid,
        _packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        // Most significant half first, as Perfetto prints it.
        let high = format!("{:016x}", uuid.msb());
        let low = format!("{:016x}", uuid.lsb());
        let (a, b) = high.split_at(8);
        let (b, c) = b.split_at(4);
        let (d, e) = low.split_at(4);
        context
            .journal
            .state_of_file("trace_uuid", format!("{a}-{b}-{c}-{d}-{e}"));
    }
}

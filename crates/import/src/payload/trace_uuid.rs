//! `trace_uuid`: the trace's own name, for the table `metadata`.

use prost::Message;
use timebase_wire::proto::TraceUuid;

use super::{Halt, Importer, Packet};
use crate::decoder::Decoder;
use crate::rows::Placement;

pub(super) static IMPORTER: Importer = Importer {
    import,
    finish: None,
    tables: &[],
};

fn import(decoder: &mut Decoder, packet: &Packet<'_>) -> Result<Placement, Halt> {
    let uuid = TraceUuid::decode(packet.payload)?;
    // Most significant half first, as Perfetto prints it.
    let high = format!("{:016x}", uuid.msb());
    let low = format!("{:016x}", uuid.lsb());
    let (a, b) = high.split_at(8);
    let (b, c) = b.split_at(4);
    let (d, e) = low.split_at(4);
    decoder.trace_uuid = Some(format!("{a}-{b}-{c}-{d}-{e}"));
    let sequence = decoder.sequences.get(packet.sequence);
    Ok(decoder.clocks.place(packet.header, sequence))
}

//! Packets that trackers read unchanged. They are rare compared to kernel events, so their bytes
//! are their compact form.

use timebase_schema::{Table, tables};
use timebase_trace::Kept;
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::properties;
use super::reader::Reader;
use super::retiming::Times;
use crate::message::Message;
use crate::output::{BEFORE_ZERO, Rows};
use crate::place::TraceTime;
use crate::timeline::{self, Event};
use crate::trackers::GPU_INTERNED;

/// Gives packets of a type to the timeline.
#[derive(Debug, Default)]
pub(crate) struct Observed<const TYPE: u32>;

impl<const TYPE: u32> Reader for Observed<TYPE> {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = match PacketType(TYPE) {
        // Some are also facts.
        PacketType::ANDROID_SYSTEM_PROPERTY => &[],
        _ => &[&tables::thread_record::TABLE],
    };

    const INTERNED: &'static [(u32, Kept)] = interned(TYPE);

    const TIMES: Times = Times::OfPacket;

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if packet.is_lost() {
            return;
        }
        if TYPE == PacketType::GPU_RENDER_STAGE_EVENT.0 {
            context.place.interned.keep(packet.generation.interval);
        }
        if TYPE == PacketType::ANDROID_SYSTEM_PROPERTY.0 {
            properties::state(message, packet, context);
        }
        if TYPE == PacketType::PROCESS_TREE.0 {
            let namespaces = &mut context.definitions.namespaces;
            namespaces.read(packet.machine, message);
        }
        // The timeline leaves such a packet out (rule O1), but counts it if it is a frame event
        // (FT1).
        let is_before = packet.placement.ts.is_some_and(|TraceTime(ts)| ts < 0);
        if TYPE == PacketType::FRAME_TIMELINE_EVENT.0 && is_before {
            context.faults.add(BEFORE_ZERO, packet.id);
        }
        observe(PacketType(TYPE), message, packet, context);
    }
}

/// Gives a packet of a type to the timeline.
pub(super) fn observe(
    packet_type: PacketType,
    message: Message<'_>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    let event = Event::Packet(timeline::PacketEvent {
        id: packet.id,
        part: packet.part,
        machine: packet.machine,
        field: packet_type.0,
        trusted_pid: packet.trusted_pid(),
        interval: packet.generation.interval,
        valid: packet.valid,
        payload: message.0,
    });
    context.packet(packet, &event);
}

/// The fields of `InternedData` that the trackers of a type look up.
const fn interned(packet_type: u32) -> &'static [(u32, Kept)] {
    if packet_type == PacketType::GPU_RENDER_STAGE_EVENT.0 { GPU_INTERNED } else { &[] }
}

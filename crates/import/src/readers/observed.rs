//! Packets that trackers read unchanged. They are rare compared to kernel events, so their bytes
//! are their compact form.

use timebase_schema::{Table, tables};
use timebase_trace::Kept;
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::properties;
use super::reader::{Reader, message_readers};
use super::retiming::Times;
use crate::message::Message;
use crate::output::{BEFORE_ZERO, Rows};
use crate::place::TraceTime;
use crate::timeline::{Event, PacketEvent};
use crate::trackers::GPU_INTERNED;

/// The table of packets that are nothing but events.
const TABLES: &[&Table] = &[&tables::thread_record::TABLE];

/// Gives packets of a type to the timeline.
#[derive(Debug, Default)]
pub(crate) struct Observed<const TYPE: u32>;

impl<const TYPE: u32> Reader for Observed<TYPE> {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = TABLES;

    const TIMES: Times = Times::OfPacket;

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        if !packet.is_lost() {
            observe(PacketType(TYPE), message, packet, context);
        }
    }
}

message_readers! {
    /// Reads `gpu_render_stage_event`.
    RenderStages => render_stage, {
        const TABLES: &'static [&'static Table] = TABLES;
        const INTERNED: &'static [(u32, Kept)] = GPU_INTERNED;
    };
    /// Reads `process_tree`.
    ProcessTrees => process_tree, {
        const TABLES: &'static [&'static Table] = TABLES;
    };
    /// Reads `frame_timeline_event`.
    FrameEvents => frame_event, {
        const TABLES: &'static [&'static Table] = TABLES;
    };
    /// Reads `android_system_property`, which makes events and facts.
    SystemProperties => system_property;
}

fn render_stage(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    if packet.is_lost() {
        return;
    }
    context.place.interned.keep(packet.generation.interval);
    observe(PacketType::GPU_RENDER_STAGE_EVENT, message, packet, context);
}

fn process_tree(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    if packet.is_lost() {
        return;
    }
    context.definitions.namespaces.read(packet.machine, message);
    observe(PacketType::PROCESS_TREE, message, packet, context);
}

/// The timeline leaves out an event before 0 (rule O1), but this counts it (FT1).
fn frame_event(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    if packet.is_lost() {
        return;
    }
    let is_before = packet.placement.ts.is_some_and(|TraceTime(ts)| ts < 0);
    if is_before {
        context.faults.add(BEFORE_ZERO, packet.id);
    }
    observe(PacketType::FRAME_TIMELINE_EVENT, message, packet, context);
}

fn system_property(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    if packet.is_lost() {
        return;
    }
    properties::state(message, packet, context);
    observe(PacketType::ANDROID_SYSTEM_PROPERTY, message, packet, context);
}

/// Gives a packet of a type to the timeline.
pub(super) fn observe(
    packet_type: PacketType,
    message: Message<'_>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    let event = Event::Packet(packet_event(packet_type, message, packet, context));
    context.packet(packet, &event);
}

/// A packet of a type, or a part of it, as an event.
pub(super) fn packet_event<'a>(
    packet_type: PacketType,
    message: Message<'a>,
    packet: &PlacedPacket<'_>,
    context: &ImportContext,
) -> PacketEvent<'a> {
    PacketEvent {
        id: packet.id,
        part: packet.part,
        file: context.place.clocks.parts[packet.part].file.id,
        machine: packet.machine,
        field: packet_type.0,
        trusted_pid: packet.trusted_pid(),
        interval: packet.generation.interval,
        valid: packet.valid,
        payload: message.0,
    }
}

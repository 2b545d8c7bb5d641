//! Android's window tracing: statements about windows, layers, views, input and transitions, and ProtoLog's messages
//! (rules WS).
//!
//! # Design
//!
//! One reader has all packet types, because `timebase_schema::WINSCOPE` says which payloads are
//! statements. It passes the payload on, with the two facts that need more than the payload: the
//! number of the packet's sequence, and the trace times of an input event, which only the clocks of this
//! moment know (rule WS7). The alternative was to decode the arguments here, as for track events. But a
//! tracker decodes each payload anyway, because its rows follow from its fields.

use timebase_resolver::{ClockId, SeqId, Ticks};
use timebase_schema::fields::{
    android_input_event as input, android_key_event as key, android_motion_event as motion,
    interned_data as interned, winscope_extensions as extensions,
};
use timebase_schema::{Table, tables};
use timebase_trace::Kept;
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::observed::packet_event;
use super::packet::PlacedPacket;
use super::reader::{Reader, message_readers};
use super::retiming::Times;
use crate::compact::Put;
use crate::definitions::TAG_COLLISION;
use crate::message::Message;
use crate::output::Rows;
use crate::place::TraceTime;
use crate::timeline::Event;
use crate::trackers::extension_of;

/// The fields of `InternedData` that views and messages of ProtoLog refer to.
const INTERNED: &[(u32, Kept)] = &[
    (interned::PROTOLOG_STRING_ARGS, Kept::Interval),
    (interned::PROTOLOG_STACKTRACE, Kept::Interval),
    (interned::VIEWCAPTURE_PACKAGE_NAME, Kept::Interval),
    (interned::VIEWCAPTURE_WINDOW_NAME, Kept::Interval),
    (interned::VIEWCAPTURE_VIEW_ID, Kept::Interval),
    (interned::VIEWCAPTURE_CLASS_NAME, Kept::Interval),
    (interned::VIEWCAPTURE_CONTENT_DESCRIPTION, Kept::Interval),
    (interned::VIEWCAPTURE_TEXT, Kept::Interval),
];

/// Reads the statements in a type of packets.
#[derive(Debug, Default)]
pub(crate) struct Statements<const TYPE: u32>;

impl<const TYPE: u32> Reader for Statements<TYPE> {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = &[&tables::winscope_record::TABLE];

    const INTERNED: &'static [(u32, Kept)] = INTERNED;

    // Times inside are arguments, which stay as they are recorded (rule WS7).
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
        let packet_type = PacketType(TYPE);
        let extension = extension_of(message);
        let (is_interned, times) = match (packet_type, extension) {
            (PacketType::WINSCOPE_EXTENSIONS, None) => return,
            (PacketType::WINSCOPE_EXTENSIONS, Some((field, payload))) => {
                let is_interned = field == extensions::VIEWCAPTURE;
                (is_interned, input_times((field, Message(payload)), packet, context))
            }
            _ => (packet_type == PacketType::PROTOLOG_MESSAGE, None),
        };
        context.schema.pool();
        if is_interned {
            context.place.interned.keep(packet.generation.interval);
        }
        let mut record = Vec::with_capacity(message.0.len() + 32);
        let [event_time, down_time] = times.unwrap_or([None; 2]);
        let sequence = packet.header.trusted_packet_sequence_id;
        let mut put = Put(&mut record);
        put.natural(sequence.into()).optional(event_time).optional(down_time);
        put.rest(message.0);
        let event = Event::Packet(packet_event(packet_type, Message(&record), packet, context));
        context.packet(packet, &event);
    }
}

/// The trace times of an input event: of itself, and of the press that it belongs to.
fn input_times(
    (field, message): (u32, Message<'_>),
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) -> Option<[Option<i64>; 2]> {
    if field != extensions::ANDROID_INPUT_EVENT {
        return None;
    }
    let members = [
        (input::DISPATCHER_MOTION_EVENT, [motion::EVENT_TIME_NANOS, motion::DOWN_TIME_NANOS]),
        (
            input::DISPATCHER_MOTION_EVENT_REDACTED,
            [motion::EVENT_TIME_NANOS, motion::DOWN_TIME_NANOS],
        ),
        (input::DISPATCHER_KEY_EVENT, [key::EVENT_TIME_NANOS, key::DOWN_TIME_NANOS]),
        (input::DISPATCHER_KEY_EVENT_REDACTED, [key::EVENT_TIME_NANOS, key::DOWN_TIME_NANOS]),
    ];
    let (event, times) = members
        .into_iter()
        .find_map(|(member, times)| Some((Message(message.bytes(member)?), times)))?;
    let clocks = &mut context.place.clocks;
    let monotonic = clocks.parts[packet.part].clock(ClockId::MONOTONIC, SeqId(0));
    Some(times.map(|field| {
        let recorded = event.number(field).unwrap_or(0);
        let placed = clocks.nearest(monotonic, Ticks(recorded.cast_signed()));
        placed.map(|TraceTime(ts)| ts)
    }))
}

message_readers! {
    /// Reads the texts of ProtoLog's messages (rule WS20).
    ProtologConfigs => protolog_config;
}

fn protolog_config(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    if packet.is_lost() {
        return;
    }
    let of_part = context.definitions.parts.of(packet.part);
    let collisions = of_part.protolog.read(message);
    context.faults.add_many(TAG_COLLISION, packet.id, collisions);
}

//! Packets of profilers (rules OP to SM). Each packet goes to the timeline with the state at its
//! position in the file: the amount of interned data, and the defaults of its sequence. The tracker
//! of profiles decides the meaning in the order of time.

mod heap;
mod streaming;

use timebase_schema::{Table, tables};

pub(super) use heap::HeapProfiles;
pub(super) use streaming::StreamingProfiles;

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::Times;
use super::trace_stats::of;
use crate::definitions::ProfileWriter;
use crate::message::Message;
use crate::output::Rows;
use crate::timeline::{Event, ProfileEvent};

/// The tables of profiles.
const TABLES: &[&Table] = &[&tables::stack_sample_record::TABLE];

/// Gives packets of a type to the timeline, each at its time.
#[derive(Debug, Default)]
pub(crate) struct Profiled<const TYPE: u32>;

impl<const TYPE: u32> Reader for Profiled<TYPE> {
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
        if packet.is_lost() || !context.events.timeline.is_wanted() {
            return;
        }
        let event = event_of(TYPE, packet, message.0, context);
        context.packet(packet, &Event::Profile(event));
    }
}

/// The event of a packet that needs no interned data.
pub(super) fn profile_event<'a>(
    field: u32,
    packet: &PlacedPacket<'_>,
    payload: &'a [u8],
    context: &mut ImportContext,
) -> ProfileEvent<'a> {
    let (file, machine) = of(&context.place, packet.part);
    let writer = ProfileWriter {
        part: packet.part,
        machine,
        file,
        sequence: packet.header.trusted_packet_sequence_id,
    };
    let interval = packet.generation.interval;
    let profiles = &mut context.definitions.profiles;
    let writer = profiles.writer(writer);
    profiles.expect(interval);
    ProfileEvent {
        part: packet.part,
        packet: packet.id,
        field,
        writer,
        interval,
        until: 0,
        defaults: 0,
        payload,
    }
}

/// The event of a packet, with the state at the packet's position in the file.
fn event_of<'a>(
    field: u32,
    packet: &PlacedPacket<'_>,
    payload: &'a [u8],
    context: &mut ImportContext,
) -> ProfileEvent<'a> {
    let (state, _) = context.writers.state(packet.generation);
    let defaults = state.profile_defaults;
    let interval = packet.generation.interval;
    ProfileEvent {
        until: context.place.interned.keep(interval),
        defaults,
        ..profile_event(field, packet, payload, context)
    }
}

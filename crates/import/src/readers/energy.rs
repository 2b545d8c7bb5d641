//! Energy: the time that power entities spent in each state, and the energy that each consumer used
//! (rules OT2, OT3). The descriptions of entities and consumers hold for the whole trace (rule O4).
//! Their values are events in the order of time.

use timebase_schema::{Table, tables};
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::observed::observe;
use super::packet::PlacedPacket;
use super::reader::message_readers;
use crate::definitions::{Consumer, EntityState};
use crate::message::Message;
use crate::output::{Counter, Fault};

pub(super) const DESCRIPTOR: Fault = Fault::new(
    Counter::error(
        "energy_descriptor_invalid",
        "an energy consumer without id, or a state of a power entity \
     without index, is ignored",
    )
    .drops_nothing(),
);

fn text(message: Message<'_>, field: u32) -> Option<Box<str>> {
    Some(message.text(field)?.into())
}

message_readers! {
    /// Reads `entity_state_residency`.
    EntityStates => entity_states, {
        const TABLES: &'static [&'static Table] = &[&tables::counter_record::TABLE];
    };
    /// Reads `android_energy_estimation_breakdown`.
    EnergyBreakdowns => energy_breakdown, {
        const TABLES: &'static [&'static Table] = &[&tables::counter_record::TABLE];
    };
}

fn entity_states(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    const STATES: u32 = 1;
    if packet.is_lost() {
        return;
    }
    for state in message.messages(STATES) {
        let (Some(entity), Some(index)) = (state.small(1), state.small(2)) else {
            context.faults.add(DESCRIPTOR, packet.id);
            continue;
        };
        let said = EntityState { entity: text(state, 3), state: text(state, 4) };
        let energy = &mut context.definitions.parts.of(packet.part).energy;
        energy.describe_state((entity, index), said);
    }
    observe(PacketType::ENTITY_STATE_RESIDENCY, message, packet, context);
}

fn energy_breakdown(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    const DESCRIPTION: u32 = 1;
    const CONSUMERS: u32 = 1;
    const KIND: PacketType = PacketType::ANDROID_ENERGY_ESTIMATION_BREAKDOWN;
    if packet.is_lost() {
        return;
    }
    let Some(description) = message.bytes(DESCRIPTION) else {
        return observe(KIND, message, packet, context);
    };
    for consumer in Message(description).messages(CONSUMERS) {
        let Some(id) = consumer.small(1) else {
            context.faults.add(DESCRIPTOR, packet.id);
            continue;
        };
        let said = Consumer {
            ordinal: consumer.small(2).unwrap_or(0) as i32,
            kind: text(consumer, 3),
            name: text(consumer, 4),
        };
        let energy = &mut context.definitions.parts.of(packet.part).energy;
        energy.describe_consumer(id, said);
    }
}

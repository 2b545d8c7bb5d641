//! Energy: the time that power entities spent in each state, and the energy that each consumer used
//! (rules OT2, OT3). The descriptions of entities and consumers hold for the whole trace (rule O4).
//! Their values are events in the order of time.

use timebase_schema::fields::{
    android_energy_consumer as consumer, android_energy_consumer_descriptor as descriptor,
    android_energy_estimation_breakdown as breakdown, entity_state_residency as residency,
    entity_state_residency_power_entity_state as state,
};
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
    if packet.is_lost() {
        return;
    }
    for state in message.messages(residency::POWER_ENTITY_STATE) {
        let (Some(entity), Some(index)) =
            (state.small(state::ENTITY_INDEX), state.small(state::STATE_INDEX))
        else {
            context.faults.add(DESCRIPTOR, packet.id);
            continue;
        };
        let said = EntityState {
            entity: text(state, state::ENTITY_NAME),
            state: text(state, state::STATE_NAME),
        };
        let energy = &mut context.definitions.parts.of(packet.part).energy;
        energy.describe_state((entity, index), said);
    }
    observe(PacketType::ENTITY_STATE_RESIDENCY, message, packet, context);
}

fn energy_breakdown(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    const KIND: PacketType = PacketType::ANDROID_ENERGY_ESTIMATION_BREAKDOWN;
    if packet.is_lost() {
        return;
    }
    let Some(description) = message.bytes(breakdown::ENERGY_CONSUMER_DESCRIPTOR) else {
        return observe(KIND, message, packet, context);
    };
    for consumer in Message(description).messages(descriptor::ENERGY_CONSUMERS) {
        let Some(id) = consumer.small(consumer::ENERGY_CONSUMER_ID) else {
            context.faults.add(DESCRIPTOR, packet.id);
            continue;
        };
        let said = Consumer {
            ordinal: consumer.small(consumer::ORDINAL).unwrap_or(0) as i32,
            kind: text(consumer, consumer::TYPE),
            name: text(consumer, consumer::NAME),
        };
        let energy = &mut context.definitions.parts.of(packet.part).energy;
        energy.describe_consumer(id, said);
    }
}

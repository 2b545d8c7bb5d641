//! The time that power entities were in their states, and the energy that consumers used (rules
//! OT2, OT3).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    android_energy_estimation_breakdown as breakdown,
    android_energy_estimation_breakdown_energy_uid_breakdown as of_uid,
    entity_state_residency as list, entity_state_residency_state_residency as residency,
};

use crate::arguments::ArgValue;
use crate::definitions::{ConsumerId, EntityStateId};
use crate::message::Message;
use crate::output::{Cause, Counter, Fault};
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;
use crate::world::{Details, NewTrack, Owner, TrackId, World};

const NO_RESIDENCY: Fault = Fault::new(
    Counter::error(
        "entity_state_residency_invalid",
        "a packet of power entities says nothing of how long they were in a \
     state",
    )
    .drops(Cause::Incomplete),
);
const UNKNOWN_STATE: Fault = Fault::new(
    Counter::error(
        "entity_state_residency_lookup_failed",
        "a state of a power entity that is never described is left out, \
     with the rest of its packet",
    )
    .drops(Cause::Incomplete),
);
const BREAKDOWN: Fault = Fault::new(
    Counter::error(
        "energy_breakdown_missing_values",
        "an energy breakdown without consumer or value, or of an \
     undescribed consumer, is left out",
    )
    .drops(Cause::Incomplete),
);
const OF_UID: Fault = Fault::new(
    Counter::error(
        "energy_uid_breakdown_missing_values",
        "the energy that a user id used is left out where the id or the \
     value is missing",
    )
    .drops(Cause::Incomplete),
);

/// The faults of residencies and breakdowns.
pub(in super::super) const ENERGY_FAULTS: [Fault; 4] =
    [NO_RESIDENCY, UNKNOWN_STATE, BREAKDOWN, OF_UID];

/// The tracks that have had values.
#[derive(Debug, Default)]
pub(super) struct EnergyTracks {
    states: FxHashMap<EntityStateId, TrackId>,
    /// The tracks of consumers, and of the user ids inside them.
    consumers: FxHashMap<(ConsumerId, Option<u32>), TrackId>,
}

impl EnergyTracks {
    /// Takes the times of power entities in their states (rule OT2).
    pub fn residency(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let mut is_there = false;
        for residency in Message(packet.payload).messages(list::RESIDENCY) {
            is_there = true;
            let index = |field| residency.small(field).unwrap_or(0);
            let state = (index(residency::ENTITY_INDEX), index(residency::STATE_INDEX));
            let Some(track) = self.state(state, at.world) else {
                return at.world.faults.add(UNKNOWN_STATE, packet.id);
            };
            let time = residency.number(residency::TOTAL_TIME_IN_STATE_MS).unwrap_or(0);
            at.world.value(ts, track, time as f64, None, at.rows);
        }
        if !is_there {
            at.world.faults.add(NO_RESIDENCY, packet.id);
        }
    }

    fn state(&mut self, id: EntityStateId, world: &mut World) -> Option<TrackId> {
        if let Some(&track) = self.states.get(&id) {
            return Some(track);
        }
        let said = world.definitions.parts.get(world.part.part)?.energy.state(id)?;
        let (entity, state) = (said.entity.as_deref(), said.state.as_deref());
        let name = format!(
            "Entity residency: {} is {}",
            entity.unwrap_or_default(),
            state.unwrap_or_default()
        );
        let track = NewTrack::counter(world.part.machine, "entity_state", &name, Owner::None)
            .with("entity_name", entity)
            .with("state_name", state);
        let track = world.tracks.get(track);
        self.states.insert(id, track);
        Some(track)
    }

    /// Takes the energy of a consumer (rule OT3).
    pub fn breakdown(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(packet.payload);
        let used = message.number(breakdown::ENERGY_UWS).map(|energy| energy as i64 as f64);
        let id = message.small(breakdown::ENERGY_CONSUMER_ID);
        let track = id.and_then(|id| Some((id, self.consumer(id, None, at.world)?)));
        let (Some((id, track)), Some(used)) = (track, used) else {
            return at.world.faults.add(BREAKDOWN, packet.id);
        };
        at.world.value(ts, track, used, None, at.rows);
        for breakdown in message.messages(breakdown::PER_UID_BREAKDOWN) {
            let uid = breakdown.small(of_uid::UID);
            let used = breakdown.number(of_uid::ENERGY_UWS).map(|energy| energy as i64 as f64);
            let track = uid.and_then(|uid| self.consumer(id, Some(uid), at.world));
            match (track, used) {
                (Some(track), Some(used)) => at.world.value(ts, track, used, None, at.rows),
                _ => at.world.faults.add(OF_UID, packet.id),
            }
        }
    }

    /// The track of a consumer, or of a user id inside it.
    fn consumer(&mut self, id: ConsumerId, uid: Option<u32>, world: &mut World) -> Option<TrackId> {
        if let Some(&track) = self.consumers.get(&(id, uid)) {
            return Some(track);
        }
        let said = world.definitions.parts.get(world.part.part)?.energy.consumer(id)?;
        let track_type = match uid {
            None => "android_energy_estimation_breakdown",
            Some(_) => "android_energy_estimation_breakdown_per_uid",
        };
        let mut track = NewTrack {
            is_counter: true,
            ..NewTrack::slices(world.part.machine, track_type, said.name.as_deref(), Owner::None)
        };
        track = track.with("energy_consumer_id", i64::from(id as i32));
        if let Some(uid) = uid {
            track = track.with("uid", i64::from(uid as i32));
        }
        let track = world.tracks.get(track);
        if uid.is_none() {
            let kind = said.kind.as_deref().map_or(ArgValue::NoText, ArgValue::Text);
            let mut details = Details::default();
            let names = &mut world.definitions.names;
            details.source.push("consumer_type", kind, names);
            let ordinal = ArgValue::Int(said.ordinal.into());
            details.source.push("ordinal", ordinal, names);
            world.tracks.describe(track, details);
        }
        self.consumers.insert((id, uid), track);
        Some(track)
    }
}

//! Flows (rules JS23, JS24).

use rustc_hash::FxHashMap;

use super::{JsonEvents, Located};
use crate::timeline::{FlowDirection, OwnLabel};
use crate::trackers::track_events::{INVALID_FLOW, NO_DIRECTION, NO_ENCLOSING, flow_args};
use crate::trackers::tracker::TrackerContext;
use crate::world::{FlowEvent, FlowId, SliceId, Step, TrackId};

/// The numbers of flows: of an id with its category and name, and of a `bind_id` that is no number.
#[derive(Debug, Default)]
pub(super) struct FlowNumbers {
    flows: FxHashMap<(Box<str>, OwnLabel, OwnLabel), u64>,
    texts: FxHashMap<Box<str>, u64>,
}

impl JsonEvents {
    /// A step of a flow in the slice around it, or in the next one.
    pub(super) fn flow(&mut self, here: &Located<'_>, at: &mut TrackerContext<'_, '_>) {
        let event = here.event;
        let Some(id) = event.id else {
            return at.world.faults.add(INVALID_FLOW, event.packet);
        };
        let step = match event.phase {
            's' => Step::Out,
            't' => Step::InOut,
            _ => Step::In,
        };
        let flows = &mut self.flows.flows;
        let next = flows.len() as u64;
        let key = (id.into(), event.category.into(), event.name.into());
        let number = *flows.entry(key).or_insert(next);
        let track = at.world.tracks.of_thread(here.utid);
        let flow = FlowEvent {
            flow: FlowId::Legacy(number),
            step,
            packet: event.packet,
            arg_set_id: flow_args(event.name, event.category, at),
        };
        if step == Step::In && !event.binds_enclosing {
            return at.world.flows.waits(track, flow);
        }
        match at.world.top_slice(track) {
            Some(slice) => at.world.flows.step(flow, slice),
            None => at.world.faults.add(NO_ENCLOSING, event.packet),
        }
    }

    /// Binds the flow of an event to its slice; without one, to the topmost slice of its track.
    pub(super) fn bind(
        &mut self,
        here: &Located<'_>,
        track: TrackId,
        made: Option<SliceId>,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let Some((id, direction)) = here.event.bind else {
            return;
        };
        let packet = here.event.packet;
        let Some(direction) = direction else {
            return at.world.faults.add(NO_DIRECTION, packet);
        };
        let slice = match made {
            Some(id) => Some(here.made(id)),
            None => at.world.top_slice(track),
        };
        let Some(slice) = slice else {
            return at.world.faults.add(NO_ENCLOSING, packet);
        };
        let flow = match id.strip_prefix('n').and_then(|id| id.parse().ok()) {
            Some(id) => FlowId::Json(id),
            None => {
                let next = self.flows.texts.len() as u64;
                FlowId::JsonText(*self.flows.texts.entry(id.into()).or_insert(next))
            }
        };
        let step = match direction {
            FlowDirection::In => Step::In,
            FlowDirection::Out => Step::Out,
            FlowDirection::InOut => Step::InOut,
        };
        at.world.flows.step(FlowEvent { flow, step, packet, arg_set_id: None }, slice);
    }
}

//! Flows (rules JS23, JS24).

use rustc_hash::FxHashMap;

use super::{JsonEvents, Located};
use crate::timeline::{FlowDirection, JsonEvent, OwnLabel};
use crate::trackers::track_events::{INVALID_FLOW, NO_DIRECTION, NO_ENCLOSING, flow_args};
use crate::trackers::tracker::TrackerContext;
use crate::world::{FlowEvent, SliceId, Step, TrackId};

/// The kinds of flows. Their numbers are found later (`world/named_flows.rs`).
#[derive(Debug, Default)]
pub(super) struct FlowKinds {
    all: FxHashMap<(OwnLabel, OwnLabel), FlowKind>,
    /// The category, the name and the kind of the last event.
    last: Option<(OwnLabel, OwnLabel, FlowKind)>,
}

/// The flows of a category and a name: their number, and their set of arguments.
#[derive(Debug, Clone, Copy)]
struct FlowKind {
    number: u32,
    arg_set_id: Option<i64>,
}

impl FlowKinds {
    fn kind(&mut self, event: &JsonEvent<'_>, at: &mut TrackerContext<'_, '_>) -> FlowKind {
        let (category, name) = (event.category, event.name);
        match &self.last {
            Some((c, n, kind)) if c.label() == category && n.label() == name => return *kind,
            _ => {}
        }
        let next = self.all.len() as u32;
        let kind = *self.all.entry((category.into(), name.into())).or_insert_with(|| {
            let arg_set_id = flow_args(name, category, at);
            FlowKind { number: next, arg_set_id }
        });
        self.last = Some((category.into(), name.into(), kind));
        kind
    }
}

/// The number that an id is, or its text.
fn number(id: &str) -> Result<u64, &str> {
    id.strip_prefix('n').and_then(|id| id.parse().ok()).ok_or(id)
}

impl JsonEvents {
    /// A step of a flow in the slice around it, or in the next one.
    pub(super) fn flow(&mut self, here: &Located<'_>, at: &mut TrackerContext<'_, '_>) {
        let event = here.event;
        let Some(id) = event.id else {
            return at.world.faults.add(INVALID_FLOW, event.packet);
        };
        let packet = event.packet;
        let step = match event.phase {
            's' => Step::Out,
            't' => Step::InOut,
            _ => Step::In,
        };
        let kind = self.flows.kind(event, at);
        let flow = at.world.flows.name(kind.number, number(id));
        let track = at.world.tracks.of_thread(here.utid);
        let event = FlowEvent { flow, step, packet, arg_set_id: kind.arg_set_id };
        if step == Step::In && !here.event.binds_enclosing {
            return at.world.flows.waits(track, event);
        }
        match at.world.top_slice(track) {
            Some(slice) => at.world.flows.step(event, slice),
            None => {
                at.world.flows.mention(flow);
                at.world.faults.add(NO_ENCLOSING, packet);
            }
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
        let flow = at.world.flows.bind(number(id));
        let step = match direction {
            FlowDirection::In => Step::In,
            FlowDirection::Out => Step::Out,
            FlowDirection::InOut => Step::InOut,
        };
        at.world.flows.step(FlowEvent { flow, step, packet, arg_set_id: None }, slice);
    }
}

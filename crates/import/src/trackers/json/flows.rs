//! Flows (rules JS23, JS24).

use rustc_hash::FxHashMap;

use super::{JsonEvents, Located};
use crate::timeline::{FlowDirection, JsonEvent, OwnLabel};
use crate::trackers::track_events::{INVALID_FLOW, NO_DIRECTION, NO_ENCLOSING, flow_args};
use crate::trackers::tracker::TrackerContext;
use crate::world::{FlowEvent, FlowId, SliceId, Step, TrackId};

/// The numbers of flows: of an id with its category and name, and of a `bind_id` that is no number. A trace may have a
/// flow for every five events, so an id that is a number takes few bytes.
#[derive(Debug, Default)]
pub(super) struct FlowNumbers {
    kinds: FxHashMap<(OwnLabel, OwnLabel), FlowKind>,
    /// The category, the name and the kind of the last event.
    last: Option<(OwnLabel, OwnLabel, FlowKind)>,
    ids: FxHashMap<(u32, u64), u64>,
    text_ids: FxHashMap<(u32, Box<str>), u64>,
    texts: FxHashMap<Box<str>, u64>,
}

/// The flows of a category and a name: their number, and their set of arguments.
#[derive(Debug, Clone, Copy)]
struct FlowKind {
    number: u32,
    arg_set_id: Option<i64>,
}

impl FlowNumbers {
    fn kind(&mut self, event: &JsonEvent<'_>, at: &mut TrackerContext<'_, '_>) -> FlowKind {
        let (category, name) = (event.category, event.name);
        match &self.last {
            Some((c, n, kind)) if c.label() == category && n.label() == name => return *kind,
            _ => {}
        }
        let next = self.kinds.len() as u32;
        let kind = *self.kinds.entry((category.into(), name.into())).or_insert_with(|| {
            let arg_set_id = flow_args(name, category, at);
            FlowKind { number: next, arg_set_id }
        });
        self.last = Some((category.into(), name.into(), kind));
        kind
    }

    fn number(&mut self, kind: FlowKind, id: &str) -> u64 {
        let next = self.ids.len().saturating_add(self.text_ids.len()) as u64;
        match number(id) {
            Some(id) => *self.ids.entry((kind.number, id)).or_insert(next),
            None => *self.text_ids.entry((kind.number, id.into())).or_insert(next),
        }
    }
}

/// The number that an id is.
fn number(id: &str) -> Option<u64> {
    id.strip_prefix('n').and_then(|id| id.parse().ok())
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
        let kind = self.flows.kind(event, at);
        let number = self.flows.number(kind, id);
        let track = at.world.tracks.of_thread(here.utid);
        let flow = FlowEvent {
            flow: FlowId::Legacy(number),
            step,
            packet: event.packet,
            arg_set_id: kind.arg_set_id,
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
        let flow = match number(id) {
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

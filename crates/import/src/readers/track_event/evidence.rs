//! The flows of a track event as evidence for the relation of clocks (rule AL2).

use crate::evidence::{FlowKey, Role};
use crate::readers::{ImportContext, PlacedPacket};
use crate::timeline::{EventKind, FlowStep, Label, LegacyId, TrackEvent};

/// Puts an event with the time of its packet aside, once for each of its flows.
pub(super) fn put_aside(
    event: &TrackEvent<'_>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    let steps = event.flows.iter().filter_map(|(step, id)| match step {
        FlowStep::Goes => Some((FlowKey::event(id), Role::Through)),
        FlowStep::Terminates => Some((FlowKey::event(id), Role::End)),
        FlowStep::Submits | FlowStep::Awaits => None,
    });
    let bound = event.legacy.and_then(|legacy| {
        let (id, direction) = legacy.bind?;
        Some((FlowKey::event(id), Role::from(direction?)))
    });
    let legacy = legacy(event, context);
    for (flow, role) in steps.chain(bound).chain(legacy) {
        context.flow_moment(packet, flow, role);
    }
}

/// The flow of an event with one of the phases of flows.
fn legacy(event: &TrackEvent<'_>, context: &ImportContext) -> Option<(FlowKey, Role)> {
    let EventKind::Phase(phase) = event.kind else {
        return None;
    };
    let role = Role::of_phase(phase.into())?;
    let Some(LegacyId::Unscoped(id)) = event.legacy?.id else {
        return None;
    };
    let names = &context.definitions.names;
    let text = |label: Label<'_>| match label {
        Label::None => String::new(),
        Label::Known(name) => names.text(name).to_owned(),
        Label::Own(text) => text.to_owned(),
    };
    Some((FlowKey::legacy(id, &text(event.category), &text(event.name)), role))
}

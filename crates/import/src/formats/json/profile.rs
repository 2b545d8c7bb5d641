//! V8's profiles in events of phase `P` (rule JS28).
//!
//! As in track events (`readers/track_event/v8.rs`), the calls are noted for the whole trace, because samples are older
//! than the chunk with their calls.

use timebase_trace::json::{Number, Value, nanoseconds};

use super::fields::{Fields, hexadecimal};
use crate::definitions::v8::{WrittenNode, fault as v8_fault, items, last, node_id};
use crate::definitions::{JsonThread, json_fault as fault};
use crate::formats::session::PlacedRecord;
use crate::place::PartIx;
use crate::readers::JsonTime;
use crate::timeline::{JsonEvent, ProfileSample};

type SessionKey = (PartIx, u64, u32);

/// Reads a part of a profile.
pub(super) fn read(fields: &Fields<Value<'_>>, event: &JsonEvent<'_>, at: &mut PlacedRecord<'_>) {
    let Some(id) = fields.id else {
        return;
    };
    let id = match (id.string(), id.number()) {
        (Some(text), _) => hexadecimal(&text),
        (None, Some(Number::Int(id))) => Some(id as u64),
        _ => None,
    };
    let Some(id) = id else {
        return at.faults(fault::TOKENIZER, 1);
    };
    let Some(data) = last(fields.args, "data") else {
        return;
    };
    let key = (at.packet.part, id, process(event, at));
    if let Some(start) = last(Some(data), "startTime") {
        return match nanoseconds(start) {
            Ok(start) => {
                let machine = at.packet.machine;
                at.context.definitions.v8.begin(key, machine, start);
            }
            Err(_) => at.faults(fault::TOKENIZER, 1),
        };
    }
    let profile = last(Some(data), "cpuProfile");
    for node in items(profile, "nodes") {
        let definitions = &mut at.context.definitions;
        let node = WrittenNode::of(node, &mut definitions.names);
        let added = match (definitions.v8.of(key), node) {
            (Some((_, session)), Some(node)) => session.add(&node),
            _ => Err(v8_fault::INVALID_CALLSITE),
        };
        if let Err(fault) = added {
            at.faults(fault, 1);
        }
    }
    samples(key, (profile, data), event, at);
}

/// Gives the samples to the timeline. The session's time moves on even if a sample is left out.
fn samples(
    key: SessionKey,
    (profile, data): (Option<Value<'_>>, Value<'_>),
    event: &JsonEvent<'_>,
    at: &mut PlacedRecord<'_>,
) {
    let (nodes, deltas) = (items(profile, "samples"), items(Some(data), "timeDeltas"));
    let is_known = at.context.definitions.v8.of(key).is_some();
    if !is_known || nodes.clone().count() != deltas.clone().count() {
        return at.faults(fault::TOKENIZER, 1);
    }
    for (node, delta) in nodes.zip(deltas) {
        let Some((session, state)) = at.context.definitions.v8.of(key) else {
            return;
        };
        let delta = nanoseconds(delta).ok();
        state.time = state.time.saturating_add(delta.unwrap_or(0));
        let time = state.time;
        let (Some(node), Some(_)) = (node_id(node), delta) else {
            at.faults(v8_fault::INVALID_SAMPLE, 1);
            continue;
        };
        let mut payload = Vec::new();
        ProfileSample { session, node }.write(&mut payload);
        at.give_json(JsonTime::At(time), &JsonEvent { payload: &payload, ..*event });
    }
}

/// A number for the process of an event.
fn process(event: &JsonEvent<'_>, at: &mut PlacedRecord<'_>) -> u32 {
    let threads = at.json_threads();
    let pid = threads.get(event.thread).map(|thread| thread.pid.clone());
    pid.map_or(0, |pid| threads.number(JsonThread { pid, tid: None }).0)
}

//! V8's profiles, which Chrome writes as annotations of events of phase `P` (rule FP5).
//!
//! A profile begins with an event that has its start, and goes on in chunks: calls of functions that are new, and
//! samples with the time since the sample before. The calls are noted for the whole trace, because
//! samples are older than the chunk with their calls.

use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::{
    debug_annotation as annotation, debug_annotation_name as name, interned_data as interned,
    track_event as field,
};
use timebase_trace::json::{Kind, Value, nanoseconds};
use timebase_trace::wire::packet::PacketType;

use crate::compact::{Compact, Put};
use crate::definitions::v8::{WrittenNode, fault as v8_fault, items, last, node_id};
use crate::definitions::{V8Sample, Writer};
use crate::message::{Message, text};
use crate::output::{BEFORE_ZERO, Fault};
use crate::place::{PartIx, TraceTime};
use crate::readers::context::ImportContext;
use crate::readers::packet::PlacedPacket;
use crate::readers::profiles::profile_event;
use crate::readers::retiming::{Fixed, Retime, fields, put_bytes};
use crate::readers::sequences::event::RawTrackEvent;
use crate::timeline::{Event, LegacyId};

use crate::readers::sequences::NS_PER_US;

/// The member of a profile's start.
const START: &str = "startTime";

/// Whether an event has a part of a profile.
#[inline]
pub(super) fn is_profile(event: &RawTrackEvent<'_>) -> bool {
    event.phase() == u32::from(b'P')
}

/// A part of a profile.
struct Part<'p> {
    packet: &'p PlacedPacket<'p>,
    session: (PartIx, u64, u32),
    thread: Option<Writer>,
}

/// Reads the parts of profiles in an event of a thread.
pub(super) fn read(
    event: &RawTrackEvent<'_>,
    thread: Option<Writer>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    let pid = thread.map_or(0, |thread| thread.pid);
    let part = Part { packet, session: (packet.part, id(event), pid), thread };
    for annotation in event.message.messages(field::DEBUG_ANNOTATIONS) {
        let Some(json) = annotation.bytes(annotation::LEGACY_JSON_VALUE) else {
            continue;
        };
        if !is_data(annotation, packet, context) {
            continue;
        }
        let json = text(json);
        let read = Value::parse(json.as_bytes()).ok_or(v8_fault::INVALID_SAMPLE);
        if let Err(fault) = read.and_then(|data| part.data(data, context)) {
            context.faults.add(fault, packet.id);
        }
    }
}

/// The number of an event's profile.
fn id(event: &RawTrackEvent<'_>) -> u64 {
    let id = event.legacy.and_then(|legacy| legacy.id());
    id.map_or(0, LegacyId::number)
}

/// Whether an annotation is called `data`.
fn is_data(
    annotation: Message<'_>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) -> bool {
    let name = match annotation.number(annotation::NAME_IID) {
        None | Some(0) => annotation.bytes(annotation::NAME),
        Some(iid) => {
            let interned = &context.place.interned;
            let entry =
                interned.get(packet.generation.interval, interned::DEBUG_ANNOTATION_NAMES, iid);
            entry.and_then(|entry| Message(entry).bytes(name::NAME))
        }
    };
    name == Some(b"data")
}

/// A time in microseconds, in nanoseconds.
fn time(value: Value<'_>) -> Option<i64> {
    nanoseconds(value).ok().filter(|_| value.kind() == Kind::Number)
}

/// An annotation with the start of a profile, as an import of the written trace has to read it (rule RW6).
/// `None` if it stays as it is.
pub(super) fn restarted(message: &[u8], to: &mut impl Retime) -> Option<Vec<u8>> {
    let json = text(Message(message).bytes(annotation::LEGACY_JSON_VALUE)?);
    let ns = u64::try_from(time(last(Value::parse(json.as_bytes()), START)?)?).ok()?;
    let monotonic = to.clock(Some((ClockId::MONOTONIC, SeqId(0))));
    let ts = to.time_now(&monotonic, ns)?;
    let unit = NS_PER_US.unsigned_abs();
    let recorded = ns.checked_div(unit)?;
    let reading = to.coarse(Fixed::V8Profiles, ClockId::MONOTONIC, unit, recorded, ts);
    if reading == recorded {
        return None;
    }
    let mut data: serde_json::Value = serde_json::from_str(&json).ok()?;
    *data.get_mut(START)? = reading.into();
    let json = data.to_string();
    let mut out = Vec::new();
    for (number, value, bytes) in fields(message) {
        match (number, value) {
            (annotation::LEGACY_JSON_VALUE, _) => {
                put_bytes(&mut out, annotation::LEGACY_JSON_VALUE, json.as_bytes())
            }
            _ => out.extend_from_slice(bytes),
        }
    }
    Some(out)
}

impl Part<'_> {
    /// Reads the start of a profile, or a chunk. Returns the reason to leave out the rest.
    fn data(&self, data: Value<'_>, context: &mut ImportContext) -> Result<(), Fault> {
        if let Some(start) = last(Some(data), START) {
            return self.begin(time(start), context);
        }
        let profile = last(Some(data), "cpuProfile");
        let definitions = &mut context.definitions;
        for written in items(profile, "nodes") {
            let session = definitions.v8.of(self.session);
            let node = WrittenNode::of(written, &mut definitions.names);
            let added = match (session, node) {
                (Some((_, session)), Some(node)) => session.add(&node),
                _ => Err(v8_fault::INVALID_CALLSITE),
            };
            if let Err(fault) = added {
                context.faults.add(fault, self.packet.id);
            }
        }
        let (samples, deltas) = (items(profile, "samples"), items(Some(data), "timeDeltas"));
        if samples.clone().count() != deltas.clone().count() {
            return Err(v8_fault::INVALID_SAMPLE);
        }
        for (sample, delta) in samples.zip(deltas) {
            self.sample(node_id(sample), time(delta), context)?;
        }
        Ok(())
    }

    /// Begins a profile at a time of MONOTONIC.
    fn begin(&self, start: Option<i64>, context: &mut ImportContext) -> Result<(), Fault> {
        let start = start.and_then(|start| u64::try_from(start).ok());
        let start = start.ok_or(v8_fault::INVALID_SAMPLE)?;
        let clocks = &mut context.place.clocks;
        let monotonic = Some((ClockId::MONOTONIC, SeqId(0)));
        let monotonic = clocks.event_clock(self.packet.part, monotonic);
        let TraceTime(start) =
            clocks.place_event(&monotonic, start).map_err(|_| v8_fault::INVALID_SAMPLE)?;
        let machine = self.packet.machine;
        context.definitions.v8.begin(self.session, machine, start);
        Ok(())
    }

    /// Gives a sample to the timeline. The session's time moves on even if the sample is left out.
    fn sample(
        &self,
        node: Option<u32>,
        delta: Option<i64>,
        context: &mut ImportContext,
    ) -> Result<(), Fault> {
        let session = context.definitions.v8.of(self.session);
        let (number, session) = session.ok_or(v8_fault::INVALID_SAMPLE)?;
        session.time = session.time.saturating_add(delta.unwrap_or(0));
        let ts = TraceTime(session.time);
        let (Some(node), Some(_)) = (node, delta) else {
            context.faults.add(v8_fault::INVALID_SAMPLE, self.packet.id);
            return Ok(());
        };
        if ts < TraceTime(0) {
            context.faults.add(BEFORE_ZERO, self.packet.id);
            return Ok(());
        }
        let mut record = Vec::new();
        V8Sample { session: number, node, thread: self.thread }.put(&mut Put(&mut record));
        let event = profile_event(PacketType::TRACK_EVENT.0, self.packet, &record, context);
        Event::Profile(event).write(&mut context.events.record);
        context.events.push_record(ts);
        Ok(())
    }
}

//! Track events that make no row, and slices without their name: the causes, and the events as examples
//! (rules FE1, FE4).

use timebase_schema::fields::{event_name as name, interned_data as interned};

use super::{RawTrackEvent, Time};
use crate::definitions::Definitions;
use crate::message::Message;
use crate::output::{Cause, EventFaults, Example, Fault};
use crate::place::{Place, Sequence, TraceTime};
use crate::readers::context::ImportContext;
use crate::readers::packet::PlacedPacket;
use crate::timeline::{EventKind, UuidIx, WriterThread};

/// Counts an event that makes no row.
#[cold]
pub(super) fn drop_event(
    fault: Fault,
    event: &RawTrackEvent<'_>,
    packet: &PlacedPacket<'_>,
    context: &mut ImportContext,
) {
    let ImportContext { place, faults, definitions, writers, .. } = context;
    let generation = packet.generation;
    let example = || {
        let state = writers.known(generation);
        let uuid = state.and_then(|state| state.defaults.track_uuid());
        let uuids = &definitions.uuids;
        let uuid = event.track_uuid.or(uuid);
        let uuid = uuid.and_then(|uuid| uuids.find(packet.part, uuid));
        let (pid, tid) = uuids.ids(uuid, state.and_then(|state| state.thread()));
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let of_interned = || {
            let iid = event.name_iid.filter(|&iid| iid != 0)?;
            let field = interned::EVENT_NAMES;
            let entry = place.interned.get(generation.interval, field, iid)?;
            Message(entry).bytes(name::NAME).map(text)
        };
        let of_track = || Some(uuids.descriptor(uuid?)?.name()?.to_owned());
        Example {
            name: event.name.map(text).or_else(of_interned).or_else(of_track),
            pid,
            tid,
            ..packet.example()
        }
    };
    let sequence = generation.interval.sequence;
    faults.add_event(fault, packet.id, Some(sequence), example);
}

/// Whether a slice gets the name of an event of this kind: a begin, an instant, or a complete event.
pub(super) fn needs_name(kind: EventKind) -> bool {
    match kind {
        EventKind::Begin | EventKind::Instant => true,
        EventKind::Phase(phase) => b"BXiIbSnTpR".contains(&phase),
        EventKind::End | EventKind::Counter | EventKind::State | EventKind::Unknown => false,
    }
}

/// Counts an event that lacks its name although it has a number for it.
#[cold]
pub(super) fn name_missing(
    (event, packet): (&RawTrackEvent<'_>, &PlacedPacket<'_>),
    (time, uuid, thread): (Time, Option<UuidIx>, Option<WriterThread>),
    (place, definitions): (&Place, &Definitions),
    events: &mut EventFaults,
) {
    let Some(cause) = cause(event, packet, place, definitions) else {
        return;
    };
    let uuids = &definitions.uuids;
    let example = || {
        let (pid, tid) = uuids.ids(uuid, thread);
        let ts = match time {
            Time::At(TraceTime(ts)) => Some(ts),
            Time::Later(_) | Time::Unplaced => None,
        };
        Example { packet: Some(packet.id), ts, name: None, pid, tid }
    };
    let sequence = packet.generation.interval.sequence;
    events.add(cause, Some(sequence), 1, example);
}

/// The cause for which the number of a name leads to none. `None` if the event has no such number.
fn cause(
    event: &RawTrackEvent<'_>,
    packet: &PlacedPacket<'_>,
    place: &Place,
    definitions: &Definitions,
) -> Option<Cause> {
    let of_legacy = event.legacy_name_iid();
    let iid = match event.name_iid {
        None | Some(0) => of_legacy.or(event.name_iid)?,
        Some(iid) => iid,
    };
    let interval = packet.generation.interval;
    let is_skipped = definitions.skipped_names.has(interval.sequence, iid);
    if iid == 0 {
        let note = place.interned.note_of(interval, interned::EVENT_NAMES, 0);
        let has_entry = event.name.is_none() && (note.is_some() || is_skipped);
        return has_entry.then_some(Cause::NameZero);
    }
    let sequence = place.sequences.numbered(interval.sequence);
    let is_cleared = sequence.is_some_and(Sequence::is_ever_cleared);
    Some(match (packet.valid, is_cleared, is_skipped) {
        (true, ..) => Cause::NameNotDefined,
        (false, true, _) | (false, false, true) => Cause::NameStateLost,
        (false, false, false) => Cause::NameEarly,
    })
}

//! Rewrites track events for a trace that is written: a time of their own becomes their packet's
//! (rule RW5), and the start of a profile of V8 leads to its time (rule RW6).

use timebase_descriptor::field::Value;
use timebase_resolver::{ClockId, SeqId};
use timebase_schema::fields::track_event as field;

use super::v8;
use crate::place::TraceTime;
use crate::readers::retiming::{Retime, Retimed, Rewritten, fields, put_bytes};
use crate::readers::sequences::NS_PER_US;
use crate::readers::sequences::event::RawTrackEvent;

pub(super) fn retime(
    event: &RawTrackEvent<'_>,
    packet: &Retimed<'_>,
    to: &mut impl Retime,
    out: &mut Vec<u8>,
) -> Rewritten {
    if !packet.header.has_sequence || packet.is_lost {
        return Rewritten::Same;
    }
    let ts = match event.has_time() {
        true => time(event, packet, to),
        false => None,
    };
    if ts.is_none() && !v8::is_profile(event) {
        return Rewritten::Same;
    }
    let mut is_changed = ts.is_some();
    for (number, value, bytes) in fields(packet.payload) {
        match (number, value) {
            (field::TIMESTAMP_DELTA_US | field::TIMESTAMP_ABSOLUTE_US, Value::Varint(_))
                if ts.is_some() => {}
            (field::DEBUG_ANNOTATIONS, Value::Bytes(annotation)) if v8::is_profile(event) => {
                match v8::restarted(annotation, to) {
                    Some(restarted) => {
                        put_bytes(out, field::DEBUG_ANNOTATIONS, &restarted);
                        is_changed = true;
                    }
                    None => out.extend_from_slice(bytes),
                }
            }
            _ => out.extend_from_slice(bytes),
        }
    }
    match (ts, is_changed) {
        (Some(ts), _) => Rewritten::OfPacket(ts),
        (None, true) => Rewritten::Changed,
        (None, false) => Rewritten::Same,
    }
}

/// The time of an event (rule E4); `None` if an import drops the event or cannot place it.
fn time(
    event: &RawTrackEvent<'_>,
    packet: &Retimed<'_>,
    to: &mut impl Retime,
) -> Option<TraceTime> {
    let own = match event.time_delta {
        Some(delta) => {
            let reference = to.references(packet.generation).read.as_mut()?;
            *reference = reference.saturating_add(delta);
            *reference
        }
        None => event.time_absolute,
    };
    let ns = own.saturating_mul(NS_PER_US);
    let reading = u64::try_from(ns).ok()?;
    let placement = &packet.placement;
    let is_unplaced = placement.ts.is_none() && packet.header.timestamp.is_some();
    if is_unplaced && !placement.waits {
        return None;
    }
    let monotonic = to.clock(Some((ClockId::MONOTONIC, SeqId(0))));
    let placed = to.time_now(&monotonic, reading);
    let ts = placed.unwrap_or(TraceTime(ns));
    (ts.0 >= 0).then_some(ts)
}

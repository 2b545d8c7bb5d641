//! Rewrites track events for a trace that is written: a time of their own becomes their packet's
//! (rule RW5).

use timebase_descriptor::field::Value;
use timebase_resolver::{ClockId, SeqId};

use super::NS_PER_US;
use crate::place::TraceTime;
use crate::readers::retiming::{Retime, Retimed, Rewritten, fields};
use crate::readers::sequences::event::{RawTrackEvent, field};

pub(super) fn retime(
    event: &RawTrackEvent<'_>,
    packet: &Retimed<'_>,
    to: &mut impl Retime,
    out: &mut Vec<u8>,
) -> Rewritten {
    if !event.has_time() || !packet.header.has_sequence || packet.is_lost {
        return Rewritten::Same;
    }
    let Some(ts) = time(event, packet, to) else {
        return Rewritten::Same;
    };
    for (number, value, bytes) in fields(packet.payload) {
        let is_time = matches!(
            (number, value),
            (
                field::TIMESTAMP_DELTA_US | field::TIMESTAMP_ABSOLUTE_US,
                Value::Varint(_)
            )
        );
        if !is_time {
            out.extend_from_slice(bytes);
        }
    }
    Rewritten::OfPacket(ts)
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

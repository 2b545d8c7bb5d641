//! The assumptions about parts whose clocks have no known relation to trace time (rules X26, X27).

use timebase_resolver::{Clock, ClockId, Reading, SeqId, Source};

use super::{ClockEffect, Clocks};
use crate::place::parts::{PartIx, shared};

/// Settles the path of a part to trace time, after the path of its file's host part.
#[cold]
pub(super) fn settle(clocks: &mut Clocks, part: PartIx) {
    let Some(trace_time) = clocks.trace_time.clock() else {
        return;
    };
    let host = clocks.parts.host_of(part);
    for part in host.into_iter().chain([part]) {
        if !clocks.parts[part].is_settled {
            clocks.parts[part].is_settled = true;
            settle_one(clocks, part, trace_time);
        }
    }
}

fn settle_one(clocks: &mut Clocks, part: PartIx, trace_time: Clock) {
    let of = &clocks.parts[part];
    let machine = of.machine;
    let boottime = shared(machine, ClockId::BOOTTIME);
    let own = of.clock(ClockId::BOOTTIME, SeqId(0));
    if reaches(clocks, own, trace_time) {
        return; // (a)
    }
    if own != boottime {
        assume(clocks, part, own, boottime); // (b)
    }
    if reaches(clocks, boottime, trace_time) {
        return; // (c)
    }
    let given = clocks.parts[part].given_clock;
    if given.is_some_and(|given| reaches(clocks, shared(machine, given), trace_time)) {
        return; // FP2
    }
    let realtime = shared(machine, ClockId::REALTIME);
    let other = shared(trace_time.machine, ClockId::REALTIME);
    if other != realtime
        && reaches(clocks, boottime, realtime)
        && reaches(clocks, other, trace_time)
    {
        // (d)
        if !reaches(clocks, realtime, other) {
            assume(clocks, part, realtime, other);
        }
        return;
    }
    let reads_realtime = given == Some(ClockId::REALTIME);
    if reads_realtime && other != realtime && reaches(clocks, other, trace_time) {
        assume(clocks, part, realtime, other); // FP2
        return;
    }
    if [ClockId::BOOTTIME, ClockId::TRACE_FILE].contains(&trace_time.id) {
        assume(clocks, part, boottime, trace_time); // (e)
        return;
    }
    if !std::mem::replace(&mut clocks.parts[part].is_unrelatable, true) {
        clocks.made.push(ClockEffect::Unrelatable { part, trace_time }); // (f)
    }
}

/// Whether a path exists.
fn reaches(clocks: &mut Clocks, from: Clock, to: Clock) -> bool {
    let Clocks { graph, cache, .. } = clocks;
    from == to || graph.path(from, to, cache).is_ok()
}

/// Assumes that two clocks have equal readings.
fn assume(clocks: &mut Clocks, part: PartIx, one: Clock, other: Clock) {
    let reading = |clock| Reading {
        clock,
        value: 0,
        // From the snapshots until now, because they decide whether it is accepted.
        unit: clocks.graph.domain(clock).map_or(1, |domain| domain.unit),
        incremental: false,
    };
    let readings = vec![reading(one), reading(other)];
    // It is never rejected: it has two clocks, in their own units.
    let _ = clocks.make(Source::Assumed, Some(part), readings);
}

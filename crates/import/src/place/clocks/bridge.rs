//! The assumptions about parts whose clocks have no known relation to trace time (rules X26, X27, JS37), and
//! the instants that files in JSON share (rule JS35).

use std::collections::BTreeMap;

use timebase_resolver::{Clock, ClockId, Reading, SeqId, Source};

use super::{ClockEffect, Clocks};
use crate::place::parts::{ClockSync, PartIx, WALL_CLOCK_YEARS, shared};

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

/// Relates the clocks of files in JSON to each other and to trace time, after the last file.
pub(super) fn relate_json(clocks: &mut Clocks) {
    let Some(trace_time) = clocks.trace_time.clock() else {
        return;
    };
    let of_files = clocks.parts.of_files();
    let json: Vec<PartIx> =
        of_files.filter(|(_, part)| part.json.is_some()).map(|(part, _)| part).collect();
    relate_syncs(clocks, &json);
    for part in json {
        relate_file(clocks, part, trace_time);
    }
}

/// Rule JS37.
fn relate_file(clocks: &mut Clocks, part: PartIx, trace_time: Clock) {
    let of = &clocks.parts[part];
    let Some(json) = of.json.as_deref() else {
        return;
    };
    let machine = of.machine;
    let own = of.clock(ClockId::TRACE_FILE, SeqId(0));
    let realtime = shared(machine, ClockId::REALTIME);
    let reads_realtime = json.first.is_some_and(|first| WALL_CLOCK_YEARS.contains(&first));
    if reads_realtime && !json.is_anchored {
        assume(clocks, part, own, realtime);
    }
    if reaches(clocks, own, trace_time) {
        return;
    }
    let other = shared(trace_time.machine, ClockId::REALTIME);
    if other != realtime && reaches(clocks, own, realtime) && reaches(clocks, other, trace_time) {
        assume(clocks, part, realtime, other); // X26 (d)
        return;
    }
    assume(clocks, part, own, trace_time);
}

/// Rule JS35: an event that one file issued and one other file received is one instant.
fn relate_syncs(clocks: &mut Clocks, json: &[PartIx]) {
    let mut all: BTreeMap<Box<str>, Vec<(PartIx, ClockSync)>> = BTreeMap::new();
    for &part in json {
        let syncs = clocks.parts[part].json.iter().flat_map(|json| &json.syncs);
        for (id, sync) in syncs {
            all.entry(id.clone()).or_default().push((part, *sync));
        }
    }
    for (id, of_files) in all {
        let of_role = |is_issuer: bool| {
            let files = of_files.iter().copied();
            files.filter(|(_, sync)| sync.issued.is_some() == is_issuer).collect::<Vec<_>>()
        };
        let (issuers, receivers) = (of_role(true), of_role(false));
        let ([issuer], [receiver]) = (&issuers[..], &receivers[..]) else {
            clocks.made.push(ClockEffect::UnpairedSync { id, files: of_files.len() });
            continue;
        };
        let reading = |part: PartIx, value| Reading {
            clock: clocks.parts[part].clock(ClockId::TRACE_FILE, SeqId(0)),
            value,
            unit: 1,
            incremental: false,
        };
        let (from, to) = (issuer.1.issued.unwrap_or(issuer.1.ts), issuer.1.ts);
        let between = ((i128::from(from) + i128::from(to)) / 2) as i64;
        let readings = vec![reading(issuer.0, between), reading(receiver.0, receiver.1.ts)];
        // It is never rejected: it has the clocks of two files.
        let _ = clocks.make(Source::Json, Some(receiver.0), readings);
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
        unit: clocks.graph.unit(clock).map_or(1, |unit| unit.ns),
        incremental: false,
    };
    let readings = vec![reading(one), reading(other)];
    // It is never rejected: it has two clocks, in their own units.
    let _ = clocks.make(Source::Assumed, Some(part), readings);
}

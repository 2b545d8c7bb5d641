//! The clocks of two machines that ask each other for the time (rules X19 to X24).
//!
//! # Design
//!
//! Times by the nearest snapshot equal trace processor's, which takes the mean of all rounds of a
//! packet (X21): the mean is a pair in the graph like any other. The rounds themselves are samples,
//! which conversions by rates use instead. The alternative was to give the samples to the graph,
//! too. Then a slow round would move times that a fast round has right.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timebase_resolver::{self as resolver, Clock, ClockId, Estimates, Reading, SeqId, Source};
use timebase_trace::wire::proto::{ClockSnapshot, RemoteClockSync};

use super::clocks::{ClockEffect, Clocks};
use super::parts::{Part, PartIx};
use super::samples::Sample;

/// Two neighbours are no round if the client's BOOTTIME grew by this much or more.
const ROUND_NS: i128 = 30_000_000_000;

/// The readings of clocks on both sides, without zeros.
struct Readings {
    client: FxHashMap<u32, i64>,
    host: FxHashMap<u32, i64>,
}

impl Readings {
    fn of(side: Option<&ClockSnapshot>) -> FxHashMap<u32, i64> {
        let clocks = side.into_iter().flat_map(|side| &side.clocks);
        let readings = clocks.filter_map(|clock| {
            let value = i64::try_from(clock.timestamp()).ok()?;
            (value != 0).then_some((clock.clock_id(), value))
        });
        readings.collect()
    }

    fn boottime(&self) -> i128 {
        let boottime = self.client.get(&ClockId::BOOTTIME.get());
        boottime.copied().unwrap_or(0).into()
    }
}

/// The offsets of one clock from the rounds of a packet.
#[derive(Default)]
struct Offsets {
    sum: i128,
    count: i128,
}

/// Adds the readings of a packet of `client`, of its clocks and those of `host` (rules X20 to X24).
/// The snapshots of the client must be added before (X19).
pub(crate) fn add(
    clocks: &mut Clocks,
    sync: &RemoteClockSync,
    packet: i64,
    client: PartIx,
    host: PartIx,
) {
    let all: Vec<Readings> = sync
        .synced_clocks
        .iter()
        .map(|synced| Readings {
            client: Readings::of(synced.client_clocks.as_ref()),
            host: Readings::of(synced.host_clocks.as_ref()),
        })
        .collect();
    let mut offsets: FxHashMap<u32, Offsets> = FxHashMap::default();
    let clock_of = |part: &Part, id| part.clock(ClockId(id), SeqId(0));
    for pair in all.windows(2) {
        let [first, second] = pair else { continue };
        let grown = second.boottime() - first.boottime();
        if !(0..ROUND_NS).contains(&grown) {
            continue;
        }
        let mut ids: Vec<u32> = first.client.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let four = [&first.client, &first.host, &second.client, &second.host];
            let [Some(c1), Some(h1), Some(c2), Some(h2)] =
                four.map(|side| side.get(&id).map(|&value| i128::from(value)))
            else {
                continue;
            };
            let mean_host = (h1 + h2) / 2;
            let (o1, o2) = ((c1 + c2) / 2 - h1, c2 - mean_host);
            let of = offsets.entry(id).or_default();
            of.sum += o1 + o2;
            of.count += 2;
            let (client, host) = (&clocks.parts[client], &clocks.parts[host]);
            for (host_value, offset, half) in
                [(h1, o1, (c2 - c1) / 2), (mean_host, o2, (h2 - h1) / 2)]
            {
                let small = |value| i64::try_from(value).ok();
                if let (Some(host_value), Some(offset), Some(half_round_trip)) =
                    (small(host_value), small(offset), small(half))
                {
                    clocks.samples.push(Sample {
                        packet,
                        client: clock_of(client, id),
                        host: clock_of(host, id),
                        host_value,
                        offset,
                        half_round_trip,
                    });
                }
            }
        }
    }
    let mut offsets: Vec<(u32, Offsets)> = offsets.into_iter().collect();
    offsets.sort_unstable_by_key(|&(id, _)| id);
    for (id, Offsets { sum, count }) in offsets {
        let last = all.iter().rev().find_map(|side| side.host.get(&id));
        let offset = sum.checked_div(count).unwrap_or(0);
        let Some(&host_value) = last else { continue };
        let Ok(client_value) = i64::try_from(i128::from(host_value) + offset) else {
            continue;
        };
        let readings = vec![
            reading(clock_of(&clocks.parts[host], id), host_value),
            reading(clock_of(&clocks.parts[client], id), client_value),
        ];
        if let Err(rejected) = clocks.make(Source::RemoteSync, Some(client), readings) {
            clocks.made.push(ClockEffect::NotSynced { part: client, rejected });
        }
    }
}

/// Gives samples to the estimates by rates; returns which of them are used (rule R9).
pub(crate) fn give(samples: &[Sample], estimates: &mut Estimates) -> Vec<bool> {
    let mut hops: BTreeMap<(Clock, Clock), Vec<usize>> = BTreeMap::new();
    for (index, sample) in samples.iter().enumerate() {
        let hop = (sample.client, sample.host);
        hops.entry(hop).or_default().push(index);
    }
    let mut all = vec![false; samples.len()];
    for ((client, host), indices) in hops {
        let of_hop: Vec<resolver::Sample> = indices
            .iter()
            .filter_map(|&index| samples.get(index))
            .map(|sample| resolver::Sample {
                host_value: sample.host_value,
                offset: sample.offset,
                half_round_trip: sample.half_round_trip,
            })
            .collect();
        let used = estimates.add_sync(client, host, &of_hop);
        for (index, is_used) in indices.into_iter().zip(used) {
            if let Some(of_all) = all.get_mut(index) {
                *of_all = is_used;
            }
        }
    }
    all
}

fn reading(clock: Clock, value: i64) -> Reading {
    Reading { clock, value, unit: 1, incremental: false }
}

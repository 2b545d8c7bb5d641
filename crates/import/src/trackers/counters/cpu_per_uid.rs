//! The time that CPUs ran for each user of Android (rules CU).
//!
//! # Design
//!
//! Each packet gives a value to every track of its sequence, although most values have not changed.
//! Among equal values, only the first and the last become rows. The last value is remembered, and
//! becomes a row when another value follows it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timebase_schema::fields::cpu_per_uid_data as data;

use super::series::{CounterSample, CounterType, Told, Which};
use crate::message::Message;
use crate::timeline::PacketEvent;
use crate::world::{Owner, TrackId};

const OF_UID: CounterType = CounterType::with_unit("android_cpu_per_uid", "ms");
const TOTALS: CounterType = CounterType::with_unit("android_cpu_per_uid_totals", "ms");

/// A uid, and a cluster of CPUs.
type Key = (u32, u32);

/// The milliseconds of all machines.
#[derive(Debug, Default)]
pub(super) struct CpuPerUid {
    sequences: FxHashMap<(u32, u32), Sequence>,
    machines: FxHashMap<u32, Totals>,
    written: FxHashMap<TrackId, Written>,
}

/// The values of a sequence since its state was cleared.
#[derive(Debug, Default)]
struct Sequence {
    /// The number of clearings so far.
    cleared: u32,
    clusters: u32,
    values: BTreeMap<Key, u64>,
}

/// The time that a machine has spent since the first packet.
#[derive(Debug, Default)]
struct Totals {
    /// The last value for each key, from any sequence.
    last: FxHashMap<Key, u64>,
    /// By type (whether it is of apps) and cluster.
    sums: BTreeMap<(bool, u32), u64>,
    /// By the first uid of a range, and cluster.
    groups: BTreeMap<Key, u64>,
}

/// The last value of a track.
#[derive(Debug)]
struct Written {
    value: u64,
    /// The time of the last equal value after its row.
    again: Option<i64>,
}

impl CpuPerUid {
    /// Takes the values of a `CpuPerUidData`.
    pub fn packet(
        &mut self,
        packet: &PacketEvent<'_>,
        message: Message<'_>,
        sample: &mut CounterSample<'_, '_, '_>,
    ) {
        let cleared = packet.interval.cleared;
        let key = (packet.machine, packet.interval.sequence);
        let sequence = self.sequences.entry(key).or_default();
        if sequence.cleared != cleared {
            *sequence = Sequence { cleared, ..Sequence::default() };
        }
        let totals = self.machines.entry(packet.machine).or_default();
        sequence.read(message, totals);
        let written = &mut self.written;
        for (&(is_app, cluster), &value) in &totals.sums {
            let kind = if is_app { "Apps" } else { "System" };
            let which = [("type", kind.into()), ("cluster", cluster.into())];
            let name = format_args!("CPU for {kind} CL{cluster}");
            let track = sample.track(&TOTALS, Owner::None, &which, name);
            put(written, track, value, sample);
        }
        let single = sequence.values.iter();
        let single = single.filter(|((uid, _), _)| range(*uid).is_none());
        for (&(uid, cluster), &value) in totals.groups.iter().chain(single) {
            let which: Which<'_> = &[("uid", Told::from(uid)), ("cluster", cluster.into())];
            let name = format_args!("CPU for UID {uid} CL{cluster}");
            let track = sample.track(&OF_UID, Owner::None, which, name);
            put(written, track, value, sample);
        }
    }
}

impl Sequence {
    /// Adds the times of a packet to the values of the sequence (rules CU1 and CU2).
    fn read(&mut self, message: Message<'_>, totals: &mut Totals) {
        if let Some(clusters) = message.small(data::CLUSTER_COUNT) {
            self.clusters = clusters;
        }
        let clusters = self.clusters.max(1);
        let mut times = message.numbers(data::TOTAL_TIME_MS);
        for uid in message.numbers(data::UID) {
            let uid = uid as u32;
            for (cluster, time) in (0..clusters).zip(times.by_ref()) {
                let value = self.values.entry((uid, cluster)).or_default();
                *value = value.wrapping_add(time);
                totals.grow((uid, cluster), *value);
            }
        }
    }
}

impl Totals {
    /// Adds the time since the previous value.
    fn grow(&mut self, (uid, cluster): Key, value: u64) {
        let before = self.last.insert((uid, cluster), value);
        let grown = value.saturating_sub(before.unwrap_or(value));
        let group = range(uid);
        let is_app = package(group.unwrap_or(uid)) >= FIRST_APP;
        let sum = self.sums.entry((is_app, cluster)).or_default();
        *sum = sum.saturating_add(grown);
        if let Some(group) = group {
            let sum = self.groups.entry((group, cluster)).or_default();
            *sum = sum.saturating_add(grown);
        }
    }
}

/// The first uid of an app; smaller uids belong to the system.
const FIRST_APP: u32 = 10_000;

/// A uid without its user.
fn package(uid: u32) -> u32 {
    const USER: u32 = 100_000;
    uid % USER
}

/// The first uid of the range that shares its tracks, if it is in one.
fn range(uid: u32) -> Option<u32> {
    const RANGE: u32 = 10_000;
    let is_in_range = matches!(package(uid), 50_000..60_000 | 90_000..100_000);
    is_in_range.then(|| uid - uid % RANGE)
}

/// Writes a value as a row, unless the previous one is equal (rule CU4).
fn put(
    written: &mut FxHashMap<TrackId, Written>,
    track: TrackId,
    value: u64,
    sample: &mut CounterSample<'_, '_, '_>,
) {
    let now = Written { value, again: None };
    match written.get_mut(&track) {
        Some(before) if before.value == value => {
            before.again = Some(sample.ts);
            return;
        }
        Some(before) => {
            if let Some(ts) = before.again {
                let (world, rows) = (&mut *sample.at.world, &mut *sample.at.rows);
                world.value(ts, track, before.value as f64, None, rows);
            }
            *before = now;
        }
        None => {
            written.insert(track, now);
        }
    }
    sample.put_on(track, value as f64, &[]);
}

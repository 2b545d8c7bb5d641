//! The time that CPUs ran for each user of Android (rules CU, RT14).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use timebase_schema::fields::cpu_per_uid_data as data;
use timebase_schema::tables::android_cpu_per_uid_track;

use super::series::{CounterSample, CounterType, Told, Which};
use super::sparse::Sparse;
use crate::message::Message;
use crate::output::Cell;
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;
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
    sparse: Sparse,
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
    /// The same for each uid outside of a range.
    single: BTreeMap<Key, u64>,
    /// The tracks of uids and ranges.
    tracks: BTreeMap<Key, TrackId>,
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
        for (&(is_app, cluster), &value) in &totals.sums {
            let kind = if is_app { "Apps" } else { "System" };
            let which = [("type", kind.into()), ("cluster", cluster.into())];
            let name = format_args!("CPU for {kind} CL{cluster}");
            let track = sample.track(&TOTALS, Owner::None, &which, name);
            self.sparse.put(track, value, sample);
        }
        let single = sequence.values.iter();
        let single = single.filter(|((uid, _), _)| range(*uid).is_none());
        for (&(uid, cluster), &value) in totals.groups.iter().chain(single) {
            let which: Which<'_> = &[("uid", Told::from(uid)), ("cluster", cluster.into())];
            let name = format_args!("CPU for UID {uid} CL{cluster}");
            let track = sample.track(&OF_UID, Owner::None, which, name);
            totals.tracks.insert((uid, cluster), track);
            self.sparse.put(track, value, sample);
        }
    }

    /// Writes the time that each track has counted (rule RT14).
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        let mut machines: Vec<_> = std::mem::take(&mut self.machines).into_iter().collect();
        machines.sort_unstable_by_key(|(machine, _)| *machine);
        for (_, totals) in machines {
            for (key @ (uid, cluster), track) in &totals.tracks {
                let sum = totals.groups.get(key).or(totals.single.get(key));
                let id = at.rows.count(&android_cpu_per_uid_track::TABLE);
                at.rows.push(android_cpu_per_uid_track::Row {
                    id: Cell::from(id),
                    track_id: Cell::from(track.0),
                    uid: Cell::from(*uid),
                    cluster: Cell::from(*cluster),
                    total_cpu_millis: Cell::from(sum.copied().unwrap_or(0).cast_signed()),
                });
            }
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
        let sum = match group {
            Some(group) => self.groups.entry((group, cluster)).or_default(),
            None => self.single.entry((uid, cluster)).or_default(),
        };
        *sum = sum.saturating_add(grown);
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

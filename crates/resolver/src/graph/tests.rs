//! The rules on small graphs, rule by rule.

use super::*;
use crate::cache::ConversionCache;
use crate::clock::{ClockId, MachineId, SeqId};
use crate::mapping::Mapping;
use crate::time::ClockNs;
use crate::unresolved::Unresolved;
use proptest::prelude::*;

const REALTIME: Clock = Clock { id: ClockId::REALTIME, ..Clock::BOOTTIME };
const MONOTONIC: Clock = Clock { id: ClockId::MONOTONIC, ..Clock::BOOTTIME };
const BOOTTIME: Clock = Clock::BOOTTIME;

fn scoped(id: u32, seq: u32) -> Clock {
    Clock::new(MachineId::HOST, ClockId(id), SeqId(seq))
}

/// A graph, and one cache for all conversions.
#[derive(Default)]
struct Asked {
    graph: ClockGraph,
    cache: ConversionCache,
}

impl Asked {
    fn path(&mut self, from: Clock, to: Clock) -> Result<Vec<Clock>, Unresolved> {
        self.graph.path(from, to, &mut self.cache)
    }

    fn mapping(&mut self, from: Clock, to: Clock) -> Result<Mapping<'_>, Unresolved> {
        self.graph.mapping(from, to, &mut self.cache)
    }
}

impl std::ops::Deref for Asked {
    type Target = ClockGraph;

    fn deref(&self) -> &ClockGraph {
        &self.graph
    }
}

impl std::ops::DerefMut for Asked {
    fn deref_mut(&mut self) -> &mut ClockGraph {
        &mut self.graph
    }
}

fn add_from(
    graph: &mut ClockGraph,
    source: Source,
    readings: &[(Clock, i64)],
) -> Result<SnapshotId, Rejected> {
    let readings: Vec<Reading> = readings
        .iter()
        .map(|&(clock, value)| Reading { clock, value, unit: 1, incremental: false })
        .collect();
    graph.add_snapshot(source, &readings, Some(BOOTTIME))
}

fn graph(snapshots: &[&[(Clock, i64)]]) -> Asked {
    let mut graph = Asked::default();
    for readings in snapshots {
        add_from(&mut graph, Source::Writer, readings).unwrap();
    }
    graph
}

fn convert(asked: &mut Asked, from: Clock, value: i64, to: Clock) -> Result<i64, Unresolved> {
    let Asked { graph, cache } = asked;
    let converted = graph.convert(from, ClockNs(value), to, cache);
    converted.map(|ClockNs(value)| value)
}

fn explain(asked: &mut Asked, from: Clock, value: i64, to: Clock) -> Result<Vec<Hop>, Unresolved> {
    let Asked { graph, cache } = asked;
    graph.explain(from, ClockNs(value), to, cache)
}

#[test]
fn worked_example_multihop() {
    let custom = scoped(64, 2);
    let mut graph = graph(&[
        &[(custom, 1000), (MONOTONIC, 1100)],
        &[(MONOTONIC, 1200), (BOOTTIME, 5200)],
        &[(custom, 3000), (MONOTONIC, 3200)],
        &[(MONOTONIC, 4000), (BOOTTIME, 9000)],
    ]);
    assert_eq!(convert(&mut graph, custom, 3503, BOOTTIME), Ok(7703));
    let hops = explain(&mut graph, custom, 3503, BOOTTIME).unwrap();
    assert_eq!(hops.iter().map(|h| h.value_out).collect::<Vec<_>>(), [3703, 7703]);
    assert_eq!(hops.iter().map(|h| h.snapshot.0).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(convert(&mut graph, scoped(64, 3), 3503, BOOTTIME), Err(Unresolved::UnknownClock));
}

#[test]
fn n5_worked_example_dst() {
    let mut graph = graph(&[
        &[(BOOTTIME, 10010), (REALTIME, 10)],
        &[(BOOTTIME, 10020), (REALTIME, 20)],
        &[(BOOTTIME, 30040), (REALTIME, 40)],
        &[(BOOTTIME, 40030), (REALTIME, 30)],
    ]);
    assert_eq!(convert(&mut graph, REALTIME, 11, BOOTTIME), Err(Unresolved::NonMonotonic));
    assert_eq!(convert(&mut graph, BOOTTIME, 10029, REALTIME), Ok(29));
    assert_eq!(convert(&mut graph, BOOTTIME, 40040, REALTIME), Ok(40));
    assert!(!graph.domain(REALTIME).unwrap().monotonic);
}

#[test]
fn n5_a_clock_that_others_pass_through_is_lost_to_them_too() {
    let custom = scoped(64, 2);
    let mut graph = graph(&[&[(custom, 1), (REALTIME, 10)], &[(REALTIME, 10), (BOOTTIME, 100)]]);
    assert_eq!(convert(&mut graph, custom, 2, BOOTTIME), Ok(101));
    add_from(&mut graph, Source::Writer, &[(REALTIME, 5), (BOOTTIME, 200)]).unwrap();
    assert_eq!(convert(&mut graph, custom, 2, BOOTTIME), Err(Unresolved::NonMonotonic));
    add_from(&mut graph, Source::Writer, &[(custom, 1), (BOOTTIME, 50)]).unwrap();
    assert_eq!(convert(&mut graph, custom, 2, BOOTTIME), Ok(51));
}

#[test]
fn n1_a_rejected_snapshot_changes_nothing() {
    let mut graph = graph(&[&[(MONOTONIC, 10), (BOOTTIME, 20)]]);
    let mut refuse = |readings: &[(Clock, i64)]| {
        add_from(&mut graph, Source::Writer, readings).unwrap_err().code()
    };
    assert_eq!(refuse(&[(MONOTONIC, 5), (BOOTTIME, 19)]), "snapshot_trace_time_backwards");
    assert_eq!(refuse(&[(REALTIME, 5), (REALTIME, 19)]), "snapshot_duplicate_clock");
    assert_eq!(refuse(&[(Clock::host(0), 5)]), "snapshot_no_clock_id");
    assert_eq!(refuse(&[(scoped(64, 0), 5)]), "snapshot_no_sequence_id");
    assert_eq!(graph.domains().len(), 2);
    assert_eq!(graph.snapshots(), 1);
    assert!(graph.domain(MONOTONIC).unwrap().monotonic);
}

#[test]
fn n2_units_and_flags_must_stay() {
    let mut graph = graph(&[&[(scoped(64, 1), 10), (BOOTTIME, 20)]]);
    let mut refuse = |clock, unit, incremental| {
        let reading = Reading::new(clock, 1, unit, incremental).unwrap();
        graph.add_snapshot(Source::Writer, &[reading], Some(BOOTTIME)).unwrap_err().code()
    };
    assert_eq!(refuse(scoped(64, 1), 1000, false), "snapshot_unit_changed");
    assert_eq!(refuse(scoped(64, 1), 1, true), "snapshot_unit_changed");
    assert_eq!(refuse(MONOTONIC, 1, true), "snapshot_incremental_not_scoped");
    assert_eq!(refuse(BOOTTIME, 1000, false), "snapshot_trace_time_unit");
    assert_eq!(
        Reading::new(MONOTONIC, u64::MAX, 1, false),
        Err(Rejected::Overflow { clock: MONOTONIC })
    );
}

#[test]
fn v3_of_the_shortest_paths_the_one_with_the_lowest_clocks() {
    let custom = scoped(64, 1);
    let mut graph = graph(&[
        &[(custom, 0), (Clock::host(5), 0), (Clock::host(4), 0)],
        &[(Clock::host(5), 0), (BOOTTIME, 5)],
        &[(Clock::host(4), 0), (BOOTTIME, 4)],
    ]);
    assert_eq!(convert(&mut graph, custom, 0, BOOTTIME), Ok(4));
    add_from(&mut graph, Source::Writer, &[(custom, 0), (REALTIME, 0)]).unwrap();
    assert_eq!(convert(&mut graph, custom, 0, BOOTTIME), Ok(4));
    add_from(&mut graph, Source::Writer, &[(REALTIME, 0), (BOOTTIME, 1)]).unwrap();
    assert_eq!(convert(&mut graph, custom, 0, BOOTTIME), Ok(1));
    let path = graph.path(custom, BOOTTIME).unwrap();
    assert_eq!(path, [custom, REALTIME, BOOTTIME]);
}

#[test]
fn v2_the_services_snapshots_come_before_those_of_other_writers() {
    let mut graph = graph(&[&[(MONOTONIC, 100), (BOOTTIME, 1100)]]);
    assert_eq!(convert(&mut graph, MONOTONIC, 100, BOOTTIME), Ok(1100));
    let service = [(MONOTONIC, 10), (BOOTTIME, 20), (REALTIME, 30)];
    add_from(&mut graph, Source::Service, &service).unwrap();
    assert_eq!(convert(&mut graph, MONOTONIC, 100, BOOTTIME), Ok(110));
}

#[test]
fn x18_what_is_assumed_is_passed_only_where_there_is_no_other_way() {
    let of = |machine, clock: Clock| Clock { machine: MachineId(machine), ..clock };
    let (guest, custom) = (of(1, BOOTTIME), scoped(64, 1));
    let mut graph = graph(&[&[(guest, 0), (of(1, REALTIME), 10)]]);
    add_from(&mut graph, Source::Assumed, &[(guest, 0), (MONOTONIC, 0)]).unwrap();
    add_from(&mut graph, Source::Writer, &[(MONOTONIC, 0), (BOOTTIME, 7)]).unwrap();
    assert_eq!(convert(&mut graph, guest, 1, BOOTTIME), Ok(8));
    assert_eq!(convert(&mut graph, of(1, REALTIME), 11, BOOTTIME), Ok(8));
    // A longer path, but with measurements.
    add_from(&mut graph, Source::Writer, &[(of(1, REALTIME), 10), (REALTIME, 0)]).unwrap();
    assert_eq!(convert(&mut graph, guest, 1, BOOTTIME), Ok(8));
    add_from(&mut graph, Source::Bundle, &[(custom, 5), (BOOTTIME, 100)]).unwrap();
    add_from(&mut graph, Source::RemoteSync, &[(REALTIME, 0), (custom, 5)]).unwrap();
    assert_eq!(convert(&mut graph, guest, 1, BOOTTIME), Ok(101));
    assert_eq!(
        graph.path(guest, BOOTTIME).unwrap(),
        [guest, of(1, REALTIME), REALTIME, custom, BOOTTIME]
    );
    // The same clocks in a measured snapshot.
    add_from(&mut graph, Source::Bundle, &[(guest, 0), (MONOTONIC, 3)]).unwrap();
    assert_eq!(convert(&mut graph, guest, 1, BOOTTIME), Ok(11));
}

#[test]
fn x14_a_files_own_clock_is_another_than_the_machines() {
    let own = Clock { file: crate::clock::FileTag { order: 2, id: 1 }, ..MONOTONIC };
    let mut graph = graph(&[&[(MONOTONIC, 0), (BOOTTIME, 10)], &[(own, 0), (BOOTTIME, 20)]]);
    assert_eq!(convert(&mut graph, MONOTONIC, 1, BOOTTIME), Ok(11));
    assert_eq!(convert(&mut graph, own, 1, BOOTTIME), Ok(21));
    assert_eq!(convert(&mut graph, own, 1, MONOTONIC), Ok(11));
    assert!(MONOTONIC < own && own < Clock::host(4));
}

#[test]
fn v6_results_may_be_negative_and_never_wrap() {
    let mut graph =
        graph(&[&[(MONOTONIC, 100), (BOOTTIME, 50)], &[(REALTIME, 1), (BOOTTIME, i64::MAX)]]);
    assert_eq!(convert(&mut graph, MONOTONIC, 10, BOOTTIME), Ok(-40));
    assert_eq!(convert(&mut graph, REALTIME, 2, BOOTTIME), Err(Unresolved::Overflow));
    assert_eq!(convert(&mut graph, REALTIME, 0, BOOTTIME), Ok(i64::MAX - 1));
}

#[test]
fn v7_reasons() {
    let other = Clock { machine: MachineId(1), ..BOOTTIME };
    let mut graph = graph(&[&[(other, 1)], &[(BOOTTIME, 1)]]);
    assert_eq!(convert(&mut graph, MONOTONIC, 1, BOOTTIME), Err(Unresolved::UnknownClock));
    assert_eq!(convert(&mut graph, other, 1, BOOTTIME), Err(Unresolved::NoPath));
    assert_eq!(convert(&mut graph, BOOTTIME, 1, MONOTONIC), Err(Unresolved::NoTarget));
    assert_eq!(convert(&mut graph, scoped(64, 0), 1, BOOTTIME), Err(Unresolved::NoSequenceId));
    assert_eq!(convert(&mut graph, MONOTONIC, 1, MONOTONIC), Ok(1));
}

#[test]
fn v_mappings_of_many_clocks_over_a_long_one_equal_their_conversions() {
    let mut graph = Asked::default();
    for i in 0..1000 {
        add_from(&mut graph, Source::Service, &[(MONOTONIC, i * 1000), (BOOTTIME, i * 1001)])
            .unwrap();
    }
    for seq in 1..=200u32 {
        let at = i64::from(seq) * 400;
        add_from(&mut graph, Source::Writer, &[(scoped(64, seq), 0), (MONOTONIC, at)]).unwrap();
    }
    for seq in 1..=200u32 {
        let clock = scoped(64, seq);
        for value in [-1, 0, 12_345, 700_000] {
            let converted = convert(&mut graph, clock, value, BOOTTIME).ok();
            let mapping = graph.mapping(clock, BOOTTIME).unwrap();
            assert_eq!(mapping.convert(value), converted);
            assert_eq!(mapping.steps().count(), 1000);
        }
    }
}

#[test]
fn d1_a_cache_of_another_graph_or_of_fewer_snapshots_is_never_a_reason_for_another_answer() {
    let mut one = ClockGraph::new();
    let mut other = ClockGraph::new();
    add_from(&mut one, Source::Writer, &[(MONOTONIC, 0), (BOOTTIME, 10)]).unwrap();
    add_from(&mut other, Source::Writer, &[(MONOTONIC, 0), (BOOTTIME, 20)]).unwrap();
    let mut cache = ConversionCache::new();
    let mut to_boottime = |graph: &ClockGraph| {
        let converted = graph.convert(MONOTONIC, ClockNs(5), BOOTTIME, &mut cache);
        converted.map(|ClockNs(value)| value)
    };
    // With as many snapshots and the same clocks.
    for _ in 0..3 {
        assert_eq!((to_boottime(&one), to_boottime(&other)), (Ok(15), Ok(25)));
    }
    // A graph that replaces another one in its place is a different graph.
    let first = std::mem::replace(&mut one, other);
    assert_eq!((to_boottime(&one), to_boottime(&first)), (Ok(25), Ok(15)));
    // Later snapshots, one of each kind that affects remembered data.
    type Change<'r> = (Source, &'r [(Clock, i64)], Result<i64, Unresolved>);
    let changes: [Change<'_>; 5] = [
        (Source::Writer, &[(MONOTONIC, 3), (BOOTTIME, 30)], Ok(32)),
        (Source::Writer, &[(MONOTONIC, 4), (REALTIME, 0), (BOOTTIME, 40)], Ok(41)),
        (Source::Writer, &[(MONOTONIC, 5), (BOOTTIME, 50)], Ok(50)),
        (Source::Service, &[(MONOTONIC, 6), (BOOTTIME, 66)], Ok(65)),
        (Source::Service, &[(MONOTONIC, 1), (BOOTTIME, 70)], Err(Unresolved::NonMonotonic)),
    ];
    for (source, readings, expected) in changes {
        add_from(&mut one, source, readings).unwrap();
        assert_eq!(to_boottime(&one), expected);
    }
}

#[test]
fn threads_share_a_graph_and_have_a_cache_each() {
    let snapshots: Vec<_> =
        (0..100).map(|i| [(MONOTONIC, i * 1000), (BOOTTIME, i * 1007)]).collect();
    let snapshots: Vec<&[(Clock, i64)]> = snapshots.iter().map(|both| &both[..]).collect();
    let graph = &graph(&snapshots).graph;
    let sums: Vec<i64> = std::thread::scope(|scope| {
        let convert_all = || {
            let mut cache = ConversionCache::new();
            let mut convert =
                |value| graph.convert(MONOTONIC, ClockNs(value), BOOTTIME, &mut cache);
            (0..100_000).step_by(7).filter_map(|value| convert(value).ok()).map(|at| at.0).sum()
        };
        let threads = [(); 4].map(|()| scope.spawn(convert_all));
        threads.map(|thread| thread.join().unwrap()).to_vec()
    });
    let alone = |value: i64| value + value / 1000 * 7;
    let expected = (0..100_000).step_by(7).map(alone).sum::<i64>();
    assert_eq!(sums, [expected; 4]);
}

/// The answer of a graph with an empty cache.
fn anew(
    snapshots: &[(Source, Vec<(Clock, i64)>)],
    from: Clock,
    value: i64,
    to: Clock,
) -> Result<i64, Unresolved> {
    let mut graph = Asked::default();
    for (source, readings) in snapshots {
        add_from(&mut graph, *source, readings).unwrap();
    }
    let hops = explain(&mut graph, from, value, to)?;
    let last = hops.last().map_or(value.into(), |hop| hop.value_out);
    i64::try_from(last).map_err(|_| Unresolved::Overflow)
}

proptest! {
    /// Snapshots of any clocks, some of which go backwards. Between them are conversions: one, or
    /// enough to make composing a mapping worthwhile.
    #[test]
    fn d1_what_is_remembered_of_conversions_is_what_the_snapshots_say(
        steps in prop::collection::vec(
            (
                // Usually MONOTONIC and BOOTTIME, or the clock of a sequence.
                (
                    0usize..3,
                    prop_oneof![3 => Just(0b101u32), 3 => Just(0b10_001), 1 => 1u32..64],
                    prop::collection::vec(prop_oneof![99 => 0i64..400, 1 => -50i64..0], 6),
                ),
                (
                    prop_oneof![3 => Just(0usize), 2 => Just(4), 2 => 0usize..6],
                    prop_oneof![4 => Just(2usize), 1 => 0usize..6],
                    // None, so that a cache has to add several snapshots at once.
                    prop_oneof![3 => Just(1i64), 3 => Just(0), 1 => Just(500)],
                    0i64..9000,
                ),
            ),
            1..60,
        ),
    ) {
        let clocks = [
            MONOTONIC, REALTIME, BOOTTIME, Clock::host(200), scoped(64, 1), scoped(64, 2),
        ];
        let mut graph = Asked::default();
        let mut now = [0i64; 6];
        let mut snapshots = Vec::new();
        for ((source, held, forward), (from, to, count, value)) in steps {
            let mut readings = Vec::new();
            for (index, clock) in clocks.into_iter().enumerate() {
                now[index] += forward[index];
                if held & (1 << index) != 0 {
                    readings.push((clock, now[index]));
                }
            }
            let source = Source::ALL[source];
            if add_from(&mut graph, source, &readings).is_ok() {
                snapshots.push((source, readings));
            }
            for index in 0..count {
                let value = (value + index * 7919) % 9000;
                let (from, to) = (clocks[from], clocks[to]);
                let converted = convert(&mut graph, from, value, to);
                // Some of many are enough.
                if index % 71 == 0 {
                    prop_assert_eq!(converted, anew(&snapshots, from, value, to));
                }
                if index == 499 && converted.is_ok() {
                    let mapping = graph.mapping(from, to).unwrap();
                    prop_assert_eq!(mapping.convert(value), converted.ok());
                    let steps: Vec<_> = mapping.steps().collect();
                    prop_assert!(steps.windows(2).all(|pair| pair[0].offset != pair[1].offset));
                    prop_assert!(steps.windows(2).all(|pair| pair[0].end == pair[1].start));
                    let step = steps.iter().rfind(|step| step.start.is_none_or(|s| s <= value));
                    prop_assert_eq!(mapping.at(value), *step.unwrap());
                }
            }
        }
    }
}

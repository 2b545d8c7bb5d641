//! Rules AL16 and AL20: hops whose relation follows from messages, by both conversions.

use proptest::prelude::*;

use super::{Asked, SECOND};
use crate::cache::ConversionCache;
use crate::clock::{Clock, ClockId, MachineId};
use crate::graph::{ClockGraph, SnapshotId};
use crate::linear::{CausalKnot, LineKind};
use crate::snapshot::{Reading, Source};
use crate::time::ClockNs;
use crate::unresolved::Unresolved;

const A: Clock = Clock::BOOTTIME;
const B: Clock = Clock { machine: MachineId(1), ..Clock::BOOTTIME };
const OF_A: Clock = Clock { id: ClockId::MONOTONIC, ..A };
const OF_B: Clock = Clock { id: ClockId::MONOTONIC, ..B };
/// MONOTONIC, less BOOTTIME, on each machine.
const BESIDE: [i64; 2] = [-77, 1_000_003];
const WANDER: f64 = 40e-6;

fn add(graph: &mut ClockGraph, source: Source, readings: [(Clock, i64); 2]) -> SnapshotId {
    let read = |(clock, value)| Reading { clock, value, unit: 1, incremental: false };
    graph.add_snapshot(source, &readings.map(read), None).unwrap()
}

fn graph_of(knots: &[CausalKnot]) -> ClockGraph {
    let mut graph = ClockGraph::new();
    for knot in knots {
        let other = knot.other_value().unwrap();
        add(&mut graph, Source::Causality, [(A, knot.value), (B, other)]);
    }
    add(&mut graph, Source::Service, [(A, 0), (OF_A, BESIDE[0])]);
    add(&mut graph, Source::Service, [(B, 0), (OF_B, BESIDE[1])]);
    graph
}

/// Estimates with the knots of a relation.
fn related(knots: &[CausalKnot]) -> Asked {
    let mut asked = Asked::new(graph_of(knots));
    asked.estimates.add_causality(A, B, knots.to_vec(), WANDER);
    asked
}

fn nearest(asked: &mut Asked, from: Clock, value: i64, to: Clock) -> Result<i64, Unresolved> {
    let Asked { estimates, cache } = asked;
    let converted = estimates.graph().convert(from, ClockNs(value), to, cache.conversions());
    converted.map(|ClockNs(value)| value)
}

/// The line through corners, by the text of the rule.
fn naive(corners: &[(i64, i64)], value: i64) -> i128 {
    let next = corners.iter().position(|corner| corner.0 > value);
    let (from, other) = match (corners, next) {
        (&[only], _) => (only, (only.0 + 1, only.1 + 1)),
        (_, Some(0)) => (corners[0], corners[1]),
        (_, Some(next)) => (corners[next - 1], corners[next]),
        (_, None) => (corners[corners.len() - 1], corners[corners.len() - 2]),
    };
    let ran = |from: i64, to: i64| i128::from(to) - i128::from(from);
    let (mut run, mut rise) = (ran(from.0, other.0), ran(from.1, other.1));
    if run < 0 {
        (run, rise) = (-run, -rise);
    }
    let by = ran(from.0, value) * rise;
    i128::from(from.1) + by.signum() * ((2 * by.abs() + run) / (2 * run))
}

/// The error of a value, by the text of the rule.
fn naive_error(corners: &[(i64, i64)], errors: &[i64], value: i64) -> f64 {
    let away = |corner: (i64, i64)| (value - corner.0).abs() as f64 * WANDER;
    let count = corners.len();
    match corners.iter().position(|corner| corner.0 > value) {
        Some(0) => errors[0] as f64 + away(corners[0]),
        Some(next) => {
            let near = away(corners[next - 1]).min(away(corners[next]));
            errors[next - 1].max(errors[next]) as f64 + near
        }
        None => errors[count - 1] as f64 + away(corners[count - 1]),
    }
}

/// Corners of clocks that drift by at most 500 ppm.
fn knots() -> impl Strategy<Value = Vec<CausalKnot>> {
    let length = prop_oneof![2_000i64..9_000, 1_000_000i64..50_000_000, Just(60 * SECOND)];
    let gap = (length, -500i64..=500, 0i64..2_000_000);
    let first = (-SECOND..90_000 * SECOND, prop_oneof![-900i64..900, Just(-4_900 * SECOND)]);
    (first, prop::collection::vec(gap, 1..12)).prop_map(|((value, offset), gaps)| {
        let (mut value, mut offset) = (value, offset);
        let knot = |(length, ppm, error): (i64, i64, i64)| {
            value += length;
            offset += length * ppm / 1_000_000;
            CausalKnot { value, offset, error }
        };
        gaps.into_iter().map(knot).collect()
    })
}

fn values() -> impl Strategy<Value = Vec<(usize, i64)>> {
    let away = prop_oneof![-9i64..9, -40_000_000i64..40_000_000, -300 * SECOND..300 * SECOND];
    prop::collection::vec((0usize..12, away), 12)
}

fn corners(knots: &[CausalKnot]) -> Vec<(i64, i64)> {
    knots.iter().map(|knot| (knot.value, knot.other_value().unwrap())).collect()
}

/// The corners from B to A.
fn back(corners: &[(i64, i64)]) -> Vec<(i64, i64)> {
    corners.iter().map(|&(a, b)| (b, a)).collect()
}

proptest! {
    #[test]
    fn al20_both_conversions_go_by_the_line_through_the_corners_in_both_directions(
        knots in knots(), values in values(), repeated in 0usize..200,
    ) {
        let mut asked = related(&knots);
        let forward = corners(&knots);
        let errors: Vec<i64> = knots.iter().map(|knot| knot.error).collect();
        let many = values.iter().cycle().take(values.len() + repeated);
        for &(near, away) in many {
            let near = forward[near % forward.len()];
            let directions = [(A, B, forward.clone(), near.0), (B, A, back(&forward), near.1)];
            for (from, to, corners, near) in directions {
                let value = near + away;
                let expected = i64::try_from(naive(&corners, value)).unwrap();
                prop_assert_eq!(nearest(&mut asked, from, value, to), Ok(expected));
                // Nothing goes back, and the way back leads to the same value.
                let next = nearest(&mut asked, from, value + 1, to).unwrap();
                prop_assert!((expected..=expected + 2).contains(&next));
                let returned = nearest(&mut asked, to, expected, from).unwrap();
                prop_assert!(returned.abs_diff(value) <= 1);
                let estimate = asked.at(from, ClockNs(value), to).unwrap();
                prop_assert!(estimate.value.0.abs_diff(expected) <= 1);
                let error = naive_error(&corners, &errors, value);
                let off = (estimate.error_ns - error).abs();
                prop_assert!(off <= 1e-6 * error + 0.01, "{} {}", estimate.error_ns, error);
            }
        }
    }

    #[test]
    fn al20_lines_are_part_of_longer_paths(knots in knots(), values in values()) {
        let mut asked = related(&knots);
        let forward = corners(&knots);
        for (near, away) in values {
            let near = forward[near % forward.len()];
            let over = [
                (OF_A, OF_B, forward.clone(), near.0, BESIDE),
                (OF_B, OF_A, back(&forward), near.1, [BESIDE[1], BESIDE[0]]),
            ];
            for (from, to, corners, near, [before, after]) in over {
                let value = near + away;
                let expected = naive(&corners, value) + i128::from(after);
                let expected = i64::try_from(expected).unwrap();
                prop_assert_eq!(nearest(&mut asked, from, value + before, to), Ok(expected));
                let Asked { estimates, cache } = &mut asked;
                let (graph, cache) = (estimates.graph(), cache.conversions());
                let hops = graph.explain(from, ClockNs(value + before), to, cache).unwrap();
                let ends: Vec<i128> = hops.iter().map(|hop| hop.value_out).collect();
                let after = i128::from(after);
                let expected = i128::from(expected);
                prop_assert_eq!(ends, [value.into(), expected - after, expected]);
                let mapping = graph.mapping(from, to, cache).unwrap();
                prop_assert!(mapping.is_by_lines());
                let step = mapping.at(value + before);
                prop_assert!(step.holds(value + before));
                for same in [step.start, step.end.map(|end| end - 1)].into_iter().flatten() {
                    prop_assert_eq!(mapping.convert(same), same.checked_add(step.offset.unwrap()));
                }
                for other in [step.start.map(|start| start - 1), step.end].into_iter().flatten() {
                    prop_assert_ne!(mapping.convert(other), other.checked_add(step.offset.unwrap()));
                }
                let estimate = asked.at(from, ClockNs(value + before), to).unwrap();
                prop_assert!((i128::from(estimate.value.0) - expected).abs() <= 2);
            }
        }
    }

    #[test]
    fn al20_corners_anywhere_in_64_bits_do_not_panic(
        mut read in prop::collection::vec((any::<i64>(), any::<i64>()), 1..5),
        value in any::<i64>(),
    ) {
        read.sort_unstable();
        let mut graph = ClockGraph::new();
        for &(a, b) in &read {
            add(&mut graph, Source::Causality, [(A, a), (B, b)]);
        }
        let mut asked = Asked::new(graph);
        for (from, to) in [(A, B), (B, A)] {
            for value in [value, i64::MIN, i64::MAX] {
                let converted = nearest(&mut asked, from, value, to);
                let at_all = asked.convert(from, ClockNs(value), to);
                prop_assert_eq!(converted == Err(Unresolved::NonMonotonic), at_all == Err(Unresolved::NonMonotonic));
                let Asked { estimates, cache } = &mut asked;
                let hops = estimates.graph().explain(from, ClockNs(value), to, cache.conversions());
                if let Ok(hops) = hops {
                    // Rule V6: neither the offset nor the result may need more than 64 bits.
                    let offset = i64::try_from(hops[0].value_out - hops[0].value_in).ok();
                    let result = offset.and_then(|offset| value.checked_add(offset));
                    let result = result.ok_or(Unresolved::Overflow);
                    prop_assert_eq!(converted, result);
                }
            }
        }
    }
}

/// The corners of the worked example: B is 4 s ahead, gains 10 ppm, and the bounds are 200 µs apart.
fn example() -> [CausalKnot; 2] {
    let knot = |value: i64, offset: i64| CausalKnot {
        value: value * SECOND,
        offset: 4 * SECOND + offset,
        error: 200_000,
    };
    [knot(1, 50_000), knot(101, 1_050_000)]
}

#[test]
fn al16_the_worked_example_and_what_explains_it() {
    let mut asked = related(&example());
    let value = 51 * SECOND;
    assert_eq!(nearest(&mut asked, A, value, B), Ok(55 * SECOND + 550_000));
    let estimate = asked.at(A, ClockNs(value), B).unwrap();
    assert_eq!((estimate.value, estimate.kind), (ClockNs(55 * SECOND + 550_000), LineKind::Line));
    assert_eq!(estimate.error_ns.round(), 2_200_000.0);
    let kinds = [(0, LineKind::Before), (200, LineKind::After)];
    for (at, kind) in kinds {
        assert_eq!(asked.at(A, ClockNs(at * SECOND), B).unwrap().kind, kind);
    }
    let hop = asked.explain(A, ClockNs(value), B).unwrap()[0];
    let [one, other] = [SECOND, 101 * SECOND];
    assert_eq!(hop.before, Some((Some(SnapshotId(0)), one, 5 * SECOND + 50_000)));
    assert_eq!(hop.after, Some((Some(SnapshotId(1)), other, 105 * SECOND + 1_050_000)));
    let fit = asked.fit(A, B).unwrap();
    assert_eq!((fit.readings, fit.steps.len(), fit.outliers.len()), (2, 0, 0));
    assert!((fit.drift_ppm().unwrap() - 10.0).abs() < 1e-6);
    assert!((fit.drift_error_ppm().unwrap() - 40.0).abs() < 1e-6);
    assert_eq!(fit.interval_s(1000.0), None);
    let Asked { estimates, cache } = &mut asked;
    let conversions = cache.conversions();
    let hop = estimates.graph().explain(A, ClockNs(value), B, conversions).unwrap()[0];
    assert_eq!(
        (hop.snapshot, hop.from_value, hop.to_value),
        (SnapshotId(0), one, 5 * SECOND + 50_000)
    );
    assert_eq!((hop.value_in, hop.value_out), (value.into(), (55 * SECOND + 550_000).into()));
}

#[test]
fn al16_a_relation_without_knots_has_no_error() {
    let knots = example();
    let value = ClockNs(51 * SECOND);
    let estimate = |asked: &mut Asked| {
        let estimate = asked.at(A, value, B).unwrap();
        assert_eq!(estimate.value, ClockNs(55 * SECOND + 550_000));
        estimate.error()
    };
    let mut asked = Asked::new(graph_of(&knots));
    assert_eq!(estimate(&mut asked), None);
    assert_eq!(asked.fit(A, B).unwrap().drift_ppm(), None);
    let wrong = CausalKnot { offset: 0, ..knots[0] };
    let cases: [(Vec<CausalKnot>, f64, Option<i64>); 5] = [
        (knots.to_vec(), f64::INFINITY, None),
        (knots.to_vec(), f64::NAN, None),
        (knots[1..].to_vec(), WANDER, None),
        (vec![wrong, knots[1]], WANDER, None),
        (vec![knots[1], knots[0]], 0.0, Some(200_000)),
    ];
    // Later knots replace earlier ones, and nothing is remembered of those.
    for (knots, wander, expected) in cases {
        asked.estimates.add_causality(A, B, knots, wander);
        assert_eq!(estimate(&mut asked), expected);
    }
    // A relation of the same clocks in the other direction.
    let turned = |knot: CausalKnot| CausalKnot {
        value: knot.other_value().unwrap(),
        offset: -knot.offset,
        ..knot
    };
    let mut asked = Asked::new(graph_of(&knots));
    asked.estimates.add_causality(B, A, knots.map(turned).to_vec(), 0.0);
    assert_eq!(estimate(&mut asked), Some(200_000));
    // A better source needs no messages, and they need no assumption.
    let mut graph = graph_of(&knots);
    add(&mut graph, Source::Assumed, [(A, 0), (B, 0)]);
    let mut asked = Asked::new(graph);
    assert_eq!(estimate(&mut asked), None);
    add(asked.estimates.graph_mut(), Source::RemoteSync, [(A, 5), (B, 7)]);
    assert_eq!(nearest(&mut asked, A, 100, B), Ok(102));
    assert_eq!(asked.at(A, ClockNs(100), B).unwrap().value, ClockNs(102));
}

#[test]
fn al20_one_corner_is_a_constant_offset_and_overflows_are_told() {
    let knot = CausalKnot { value: 10, offset: 5, error: 3 };
    let mut asked = related(&[knot]);
    for (value, expected) in [(10, Ok(15)), (-SECOND, Ok(5 - SECOND)), (SECOND, Ok(SECOND + 5))] {
        assert_eq!(nearest(&mut asked, A, value, B), expected);
        assert_eq!(asked.at(A, ClockNs(value), B).unwrap().value, ClockNs(expected.unwrap()));
    }
    assert_eq!(nearest(&mut asked, A, i64::MAX, B), Err(Unresolved::Overflow));
    assert_eq!(asked.convert(A, ClockNs(i64::MAX), B), Err(Unresolved::Overflow));
    assert_eq!(nearest(&mut asked, B, i64::MIN, A), Err(Unresolved::Overflow));
}

#[test]
fn al20_corners_are_no_readings_that_clocks_showed() {
    // Rule N5: an assumption and corners of the same clocks continue only themselves.
    let mut graph = ClockGraph::new();
    add(&mut graph, Source::Assumed, [(A, 50), (B, 900)]);
    for knot in [(0, 500), (1_000_000, 1_000_530)] {
        add(&mut graph, Source::Causality, [(A, knot.0), (B, knot.1)]);
    }
    add(&mut graph, Source::Assumed, [(A, 60), (B, 910)]);
    assert!(graph.domains().all(|domain| domain.monotonic));
    let mut cache = ConversionCache::new();
    assert_eq!(graph.convert(A, ClockNs(500_000), B, &mut cache), Ok(ClockNs(500_515)));
    // A relation by which B goes back leads to B only.
    add(&mut graph, Source::Causality, [(A, 2_000_000), (B, 500_000)]);
    assert_eq!(graph.convert(A, ClockNs(1_500_000), B, &mut cache), Ok(ClockNs(750_265)));
    let back = graph.convert(B, ClockNs(500_515), A, &mut cache);
    assert_eq!(back, Err(Unresolved::NonMonotonic));
}

#[test]
fn al20_corners_with_further_clocks_are_on_the_same_line() {
    let mut graph = ClockGraph::new();
    let further = Clock::host(200);
    for (index, (a, b)) in [(0, 500), (1_000, 1_530), (2_000, 2_500)].into_iter().enumerate() {
        let read = |(clock, value)| Reading { clock, value, unit: 1, incremental: false };
        let readings = [(A, a), (B, b), (further, 0)].map(read);
        let count = if index == 1 { 3 } else { 2 };
        graph.add_snapshot(Source::Causality, &readings[..count], None).unwrap();
    }
    let mut cache = ConversionCache::new();
    for (value, expected) in
        [(-100, 397), (500, 1_015), (1_000, 1_530), (1_500, 2_015), (3_000, 3_470)]
    {
        assert_eq!(graph.convert(A, ClockNs(value), B, &mut cache), Ok(ClockNs(expected)));
    }
}

#[test]
fn al20_a_path_by_lines_is_never_composed() {
    let hour = 3_600 * SECOND;
    let knot = |value, offset| CausalKnot { value, offset, error: 1 };
    let mut asked = related(&[knot(0, 0), knot(hour, hour / 2_000)]);
    // 1.8 billion steps: this would take minutes.
    for index in 0..20_000i64 {
        let value = index * 7_919 * 1_000_003 % hour;
        let expected = naive(&[(0, 0), (hour, hour + hour / 2_000)], value);
        assert_eq!(nearest(&mut asked, A, value, B).map(i128::from), Ok(expected));
    }
    assert_eq!(asked.lines(A, B).unwrap().count(), 4);
    assert!(asked.lines_at_most(A, B).unwrap() < 10);
}

//! Rule AL18: hops that messages bound keep their times, and have the common part as their interval.

use proptest::prelude::*;

use super::{Asked, SECOND};
use crate::clock::{Clock, ClockId, MachineId};
use crate::graph::ClockGraph;
use crate::linear::CausalBound;
use crate::snapshot::{Reading, Source};
use crate::time::ClockNs;

const A: Clock = Clock::BOOTTIME;
const B: Clock = Clock { machine: MachineId(1), ..Clock::BOOTTIME };
/// On a path from A to B.
const BETWEEN: Clock = Clock { id: ClockId::REALTIME, ..A };
/// Beyond A, and beyond B.
const BESIDE: [Clock; 2] =
    [Clock { id: ClockId::MONOTONIC, ..A }, Clock { id: ClockId::MONOTONIC, ..B }];

fn add(graph: &mut ClockGraph, source: Source, readings: [(Clock, i64); 2]) {
    let read = |(clock, value)| Reading { clock, value, unit: 1, incremental: false };
    graph.add_snapshot(source, &readings.map(read), None).unwrap();
}

/// A path of four hops, whose second and third are from A to B; each with readings that are off by some ns.
fn asked(ppm: i64, noise: &[i64], is_stated: bool) -> Asked {
    let mut graph = ClockGraph::new();
    for (second, noise) in (0..).step_by(10).zip(noise) {
        let at = second * SECOND;
        add(&mut graph, Source::Service, [(BESIDE[0], at), (A, at + noise / 7)]);
        add(
            &mut graph,
            Source::Service,
            [(A, at), (BETWEEN, 5 * SECOND + at + at / 1_000_000 * ppm + noise)],
        );
        let source = if is_stated { Source::Json } else { Source::Service };
        if second == 0 || !is_stated {
            add(&mut graph, source, [(BETWEEN, 5 * SECOND + at), (B, 9 * SECOND + at)]);
        }
        add(&mut graph, Source::Service, [(B, 9 * SECOND + at), (BESIDE[1], at)]);
    }
    Asked::new(graph)
}

/// The offset of B, and its error, when A shows a time; `None` if the error is unknown.
fn of_hops(asked: &mut Asked, [from, to]: [Clock; 2], value: i64) -> (i64, Option<f64>) {
    let estimate = asked.estimates.at(from, ClockNs(value), to, &mut asked.cache).unwrap();
    (estimate.value.0, Some(estimate.error_ns).filter(|error| error.is_finite()))
}

/// The distance of an offset from the farther bound, by the text of the rule; `None` outside of the corners.
fn naive(corners: &[CausalBound], a: i64, offset: i64) -> Option<f64> {
    let [before, after] = corners.windows(2).find_map(|two| match *two {
        [before, after] if before.value <= a && a <= after.value => Some([before, after]),
        _ => None,
    })?;
    let share = (a - before.value) as f64 / (after.value - before.value) as f64;
    let between = |one: i64, other: i64| one as f64 + (other - one) as f64 * share;
    let most = between(before.latest, after.latest) - offset as f64;
    let least = offset as f64 - between(before.earliest, after.earliest);
    Some(most.max(least))
}

proptest! {
    #[test]
    fn al18_the_interval_is_the_common_part_and_times_stay(
        ppm in -200i64..200,
        noise in prop::collection::vec(-20_000i64..20_000, 8),
        is_stated: bool,
        is_reversed: bool,
        bounds in prop::collection::vec((0i64..100 * SECOND, 1i64..200_000, 1i64..200_000), 0..12),
        values in prop::collection::vec(-20i64 * SECOND..120 * SECOND, 20),
    ) {
        let mut plain = asked(ppm, &noise, is_stated);
        let mut corners: Vec<CausalBound> = bounds.iter().map(|&(value, below, above)| {
            let shown = of_hops(&mut plain, [A, B], value).0 - value;
            CausalBound { value, earliest: shown - below, latest: shown + above }
        }).collect();
        corners.sort_unstable();
        corners.dedup_by_key(|corner| corner.value);
        let mut bounded = asked(ppm, &noise, is_stated);
        bounded.estimates.add_bounds(A, B, corners.clone());
        let turned = |pair: [Clock; 2]| if is_reversed { [pair[1], pair[0]] } else { pair };
        for value in values {
            let value = if is_reversed { value + 9 * SECOND } else { value };
            // With the hops before and after.
            let (long, short) = (turned(BESIDE), turned([A, B]));
            let begin = if is_reversed { value - 9 * SECOND } else { value };
            let (before, long_error) = of_hops(&mut plain, long, begin);
            let (after, less) = of_hops(&mut bounded, long, begin);
            // Lines that are cut round anew (rule R6).
            prop_assert!((before - after).abs() <= 2, "{} {}", before, after);
            prop_assert!(less.unwrap_or(f64::INFINITY) <= long_error.unwrap_or(f64::INFINITY) + 200_000.0);
            // Alone.
            let (shown, error) = of_hops(&mut plain, short, value);
            let (same, less) = of_hops(&mut bounded, short, value);
            prop_assert!((shown - same).abs() <= 1, "{} {}", shown, same);
            let (a, offset) = if is_reversed { (shown, value - shown) } else { (value, shown - value) };
            match (naive(&corners, a, offset), error) {
                (None, None) => prop_assert_eq!(less, None),
                (None, Some(error)) => prop_assert!((less.unwrap() - error).abs() < 1.0),
                (Some(farther), error) => {
                    // Lines with two corners each: no less than the common part, and mostly not more.
                    let common = error.unwrap_or(f64::INFINITY).min(farther);
                    let less = less.unwrap();
                    prop_assert!(less >= common - 2.0, "{} < {}", less, common);
                    let most = error.unwrap_or(f64::INFINITY);
                    let widest = corners.iter().flat_map(|c| [c.latest, -c.earliest]).max();
                    prop_assert!(less <= most + 1.0 || less <= (widest.unwrap() + offset.abs()) as f64);
                }
            }
        }
    }
}

#[test]
fn al18_at_a_corner_the_error_is_the_distance_to_the_farther_bound() {
    let mut asked = asked(0, &[0; 8], true);
    assert_eq!(of_hops(&mut asked, [A, B], 20 * SECOND), (29 * SECOND, None));
    let corner = |second: i64, below, above| CausalBound {
        value: second * SECOND,
        earliest: 9 * SECOND - below,
        latest: 9 * SECOND + above,
    };
    let corners = vec![corner(10, 100, 50), corner(20, 40, 200), corner(30, 300, 10)];
    asked.estimates.add_bounds(A, B, corners);
    for (second, error) in [(10, 100.0), (20, 200.0), (25, 250.0)] {
        let (_, known) = of_hops(&mut asked, [A, B], second * SECOND);
        assert_eq!(known.map(f64::round), Some(error), "{second}");
        let (_, known) = of_hops(&mut asked, [B, A], (9 + second) * SECOND);
        assert_eq!(known.map(f64::round), Some(error), "{second}");
    }
    for second in [9, 31] {
        assert_eq!(of_hops(&mut asked, [A, B], second * SECOND).1, None);
    }
}

//! Rules R, each on a small hop, and in comparison with a model that follows their text.

use proptest::prelude::*;

use super::*;
use crate::clock::{Clock, ClockId, MachineId, SeqId};
use crate::graph::ClockGraph;
use crate::snapshot::{Reading, Source};
use crate::time::ClockNs;
use crate::unresolved::Unresolved;

mod bounds;
mod causal;
mod few;
mod naive;
mod sync;

use naive::kin::Kin;
use naive::{Kinds, Naive};

const BOOTTIME: Clock = Clock::BOOTTIME;
const SECOND: i64 = 1_000_000_000;

fn monotonic() -> Clock {
    Clock::host(ClockId::MONOTONIC.get())
}

fn custom() -> Clock {
    Clock::new(MachineId::HOST, ClockId(64), SeqId(3))
}

fn other() -> Clock {
    Clock::new(MachineId::HOST, ClockId(65), SeqId(3))
}

/// The two readings of a hop at the begin: no multiples of a thousand, and not the same.
const BEGIN: [i64; 2] = [5_000_234_567, 6_200_345_678];

/// Readings since the begin.
fn since(readings: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let since = |&(a, b): &(i64, i64)| (BEGIN[0] + a, BEGIN[1] + b);
    readings.iter().map(since).collect()
}

/// Snapshots that each hold two clocks.
type Pairs = (Clock, Clock, Vec<(i64, i64)>);

/// Estimates, and one cache for all conversions.
#[derive(Default)]
struct Asked {
    estimates: Estimates,
    cache: EstimateCache,
}

impl Asked {
    fn new(graph: ClockGraph) -> Asked {
        Asked { estimates: Estimates::new(graph), ..Asked::default() }
    }

    fn convert(&mut self, from: Clock, value: ClockNs, to: Clock) -> Result<ClockNs, Unresolved> {
        self.estimates.convert(from, value, to, &mut self.cache)
    }

    fn at(&mut self, from: Clock, value: ClockNs, to: Clock) -> Result<Estimate, Unresolved> {
        self.estimates.at(from, value, to, &mut self.cache)
    }

    fn line(&mut self, from: Clock, value: ClockNs, to: Clock) -> Result<Line, Unresolved> {
        self.estimates.line(from, value, to, &mut self.cache)
    }

    fn lines(
        &mut self,
        from: Clock,
        to: Clock,
    ) -> Result<impl Iterator<Item = Line> + use<'_>, Unresolved> {
        self.estimates.lines(from, to, &mut self.cache)
    }

    fn lines_at_most(&mut self, from: Clock, to: Clock) -> Result<usize, Unresolved> {
        self.estimates.lines_at_most(from, to, &mut self.cache)
    }

    fn fit(&mut self, from: Clock, to: Clock) -> Result<&Fit, Unresolved> {
        self.estimates.fit(from, to, &mut self.cache)
    }

    fn explain(
        &mut self,
        from: Clock,
        value: ClockNs,
        to: Clock,
    ) -> Result<Vec<LinearHop>, Unresolved> {
        self.estimates.explain(from, value, to, &mut self.cache)
    }
}

/// Adds snapshots of two clocks, whose units have this many nanoseconds.
fn add(graph: &mut ClockGraph, (from, to, readings): &Pairs, units: [i64; 2]) {
    for &(a, b) in readings {
        let reading = |clock, value, unit| Reading { clock, value, unit, incremental: false };
        let both = [reading(*from, a, units[0]), reading(*to, b, units[1])];
        graph.add_snapshot(Source::Writer, &both, None).unwrap();
    }
}

fn of_pairs(pairs: &[Pairs]) -> Asked {
    let mut graph = ClockGraph::new();
    for pair in pairs {
        add(&mut graph, pair, [1, 1]);
    }
    Asked::new(graph)
}

/// A hop between strangers, by readings since the begin.
fn of_hop(readings: &[(i64, i64)]) -> Asked {
    of_pairs(&[(custom(), BOOTTIME, since(readings))])
}

/// The estimate, both since the begin.
fn at(estimates: &mut Asked, value: i64) -> (i64, f64, LineKind) {
    let value = ClockNs(BEGIN[0] + value);
    let estimate = estimates.at(custom(), value, BOOTTIME).unwrap();
    let ClockNs(value) = estimate.value;
    (value - BEGIN[1], estimate.error_ns, estimate.kind)
}

fn fit(estimates: &mut Asked) -> &Fit {
    estimates.fit(custom(), BOOTTIME).unwrap()
}

/// A reading of the source, since the begin.
fn read_at(of: &OffLine) -> i64 {
    of.from_value - BEGIN[0]
}

/// Readings a second apart, with b ahead of a by these values.
fn ahead_by(offsets: &[i64]) -> Vec<(i64, i64)> {
    let seconds = (0..).map(|second| second * SECOND);
    seconds.zip(offsets).map(|(a, ahead)| (a, a + ahead)).collect()
}

#[test]
fn r1_a_clock_that_does_not_count_nanoseconds_has_its_own_nominal_rate() {
    let mut estimates = of_hop(&ahead_by(&[0, 50_000, 100_000]));
    assert_eq!(fit(&mut estimates).nominal_rate, 1.0);
    assert!((fit(&mut estimates).drift_ppm().unwrap() - 50.0).abs() < 1e-3);

    // 2.5 ticks a nanosecond, and 2 ppm slower.
    let ticks = [(0, 0), (2_500_005_000, SECOND), (5_000_010_000, 2 * SECOND)];
    let mut estimates = of_hop(&ticks);
    let kappa = fit(&mut estimates).nominal_rate;
    assert!((kappa - 0.4 / (1.0 + 2e-6)).abs() < 1e-12);
    assert_eq!(fit(&mut estimates).steps, []);
    assert_eq!(at(&mut estimates, 1_250_002_500).0, SECOND / 2);
}

#[test]
fn r1_a_suspend_is_no_unit() {
    // An hour of sleep in one of two gaps.
    let mut estimates = of_hop(&ahead_by(&[0, 3600 * SECOND, 3600 * SECOND + 100]));
    let fit = fit(&mut estimates);
    assert_eq!((fit.nominal_rate, fit.steps.len()), (1.0, 1));
    assert_eq!(at(&mut estimates, -SECOND).0, -SECOND - 100);
}

#[test]
fn r1_two_snapshots_right_after_each_other_tell_no_rate() {
    // As at the start of a session: 10 ns more in 6 µs, which are 1,700 ppm.
    let readings = [(0, 80), (6_000, 6_090), (231_000_000, 231_000_090)];
    let mut estimates = of_hop(&readings);
    let fit = fit(&mut estimates);
    // One of the two is used, either one; the other one is no outlier.
    assert_eq!((fit.nominal_rate, fit.knots.len()), (1.0, 2));
    assert_eq!(fit.drift_ppm(), None);
    assert_eq!((fit.steps.len(), fit.outliers.len()), (0, 0));
    // Nothing shows how close together they were read, plus 1 ppm of half of the gap.
    let worst = fit.worst_error_ns;
    assert!((worst - 1500.0 - 115.5).abs() < 0.01, "{worst}");
    // Two readings that are each up to 1.5 µs off leave 9.2 ppm open, and rates change.
    let (to, error, _) = at(&mut estimates, 10 * SECOND);
    assert!((to - 10 * SECOND - 90).abs() < 500);
    assert!((100_000.0..105_000.0).contains(&error), "{error}");
}

#[test]
fn r1_of_readings_right_after_each_other_one_is_used() {
    // Three in a group: the one in the middle counts. This shows in the second group, in which the
    // others are off.
    let mut readings = ahead_by(&[0, 0, 0, 0, 0, 0]);
    readings.splice(
        2..3,
        [
            (2 * SECOND, 2 * SECOND + 300),
            (2 * SECOND + 9, 2 * SECOND + 9),
            (2 * SECOND + 20, 2 * SECOND),
        ],
    );
    let mut estimates = of_hop(&readings);
    let fit = fit(&mut estimates);
    let used: Vec<i64> = fit.knots.iter().map(|knot| knot.a - BEGIN[0]).collect();
    let expected = [0, 1_000_000_000, 2_000_000_009, 3_000_000_000, 4_000_000_000, 5_000_000_000];
    assert_eq!(used, expected);
    assert_eq!((fit.readings, fit.outliers.len()), (8, 0));
}

#[test]
fn r2_what_no_rate_does_is_a_step() {
    // 1,000 ppm of a second and 1 ms may be a line.
    let mut estimates = of_hop(&ahead_by(&[0, 2_000_000]));
    assert_eq!(fit(&mut estimates).steps, []);
    let mut estimates = of_hop(&ahead_by(&[0, 10, 10 + 2_000_001, 2_000_021]));
    let steps = fit(&mut estimates).steps.clone();
    assert_eq!(steps.len(), 1);
    assert_eq!((steps[0].snapshot.unwrap().0, read_at(&steps[0])), (2, 2 * SECOND));
    assert!((steps[0].deviation_ns - 2_000_001.0).abs() < 1e-3);

    // A clock that only shows its last tick is up to 10 ms off without a reason.
    let coarse = Clock::host(4);
    let mut estimates = of_pairs(&[(coarse, custom(), since(&ahead_by(&[0, 9_000_000, 0])))]);
    let fit = estimates.fit(coarse, custom()).unwrap();
    assert_eq!((&fit.steps[..], fit.drift_ppm()), (&[][..], None));
}

/// The steps of a hop, as the second after each, and the readings that are left out.
fn explained(offsets: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let mut estimates = of_hop(&ahead_by(offsets));
    let fit = fit(&mut estimates);
    let seconds = |of: &[OffLine]| of.iter().map(|of| read_at(of) / SECOND).collect();
    (seconds(&fit.steps), seconds(&fit.outliers))
}

#[test]
fn r3_a_snapshot_whose_clocks_were_not_read_together_is_left_out() {
    let mut offsets: Vec<i64> = (0..20).map(|second| second * 100).collect();
    offsets[7] += 150_000;
    let mut estimates = of_hop(&ahead_by(&offsets));
    let fit = fit(&mut estimates);
    assert_eq!((fit.readings, fit.knots.len()), (20, 19));
    let outlier = fit.outliers[0];
    assert_eq!((outlier.snapshot.unwrap().0, read_at(&outlier)), (7, 7 * SECOND));
    assert!((outlier.deviation_ns - 150_000.0).abs() < 1e-3);
    // As if it had not been there.
    assert_eq!(at(&mut estimates, 7 * SECOND).0, 7 * SECOND + 700);

    // At an end, neither its neighbour nor the following reading is left out.
    offsets[7] -= 150_000;
    offsets[0] += 150_000;
    assert_eq!(explained(&offsets), (vec![], vec![0]));
    offsets[19] -= 40_000;
    assert_eq!(explained(&offsets), (vec![], vec![0, 19]));
    // Two readings are a line, whatever their values are.
    assert_eq!(explained(&[0, 400_000]), (vec![], vec![]));
}

#[test]
fn r3_what_explains_a_hop_at_the_least_cost_is_how_it_was() {
    let hop = |from: i64, rate: i64| (from..).step_by(rate as usize).take(10);
    // The wall clock is set by 100 µs: all later readings show it.
    let set: Vec<i64> = hop(0, 100).chain(hop(101_000, 100)).collect();
    assert_eq!(explained(&set), (vec![10], vec![]));
    // The rate changes by 20 ppm: no clock was set, and nothing is left out.
    let bent: Vec<i64> = hop(0, 100).chain(hop(20_000, 20_000)).collect();
    assert_eq!(explained(&bent), (vec![], vec![]));
    // Three of twenty are off, two of them in a row, by different amounts.
    let mut off: Vec<i64> = hop(0, 100).chain(hop(1_000, 100)).collect();
    (off[3], off[11], off[12]) = (70_300, -88_900, 31_200);
    assert_eq!(explained(&off), (vec![], vec![3, 11, 12]));
    // A suspend beside one that is off.
    let mut slept: Vec<i64> = hop(0, 100).chain(hop(SECOND, 100)).collect();
    slept[9] -= 60_000;
    assert_eq!(explained(&slept), (vec![10], vec![9]));
}

#[test]
fn r4_a_small_step_is_a_straight_line() {
    let before = (0..10).map(|second| second * 100);
    let offsets: Vec<i64> = before.chain((10..20).map(|second| 100_000 + second * 100)).collect();
    let mut estimates = of_hop(&ahead_by(&offsets));
    let (to, error, kind) = at(&mut estimates, 9 * SECOND + SECOND / 2);
    assert_eq!((to, kind), (9 * SECOND + SECOND / 2 + 50_950, LineKind::Step));
    assert!((100_000.0..101_000.0).contains(&error), "{error}");
    // The clock may continue at its rate on both sides of it.
    assert_eq!(at(&mut estimates, 9 * SECOND).0, 9 * SECOND + 900);
    assert_eq!(at(&mut estimates, 10 * SECOND + SECOND / 2).2, LineKind::Line);
}

#[test]
fn r4_what_is_left_out_in_a_step_tells_its_side() {
    // 30 s of sleep before 10 s. The snapshots at 8 s and 9 s did not read their clocks together,
    // nor did one at 11 s.
    let slept = 30 * SECOND;
    let ahead = |second: i64| second * 100 + if second >= 10 { slept } else { 0 };
    let mut offsets: Vec<i64> = (0..20).map(ahead).collect();
    offsets[8] += 80_000;
    offsets[9] += 120_000;
    offsets[10] -= 90_000;
    let mut estimates = of_hop(&ahead_by(&offsets));
    assert_eq!(fit(&mut estimates).outliers.len(), 3);
    let mut ahead = |tenths: i64| {
        let value = tenths * SECOND / 10;
        let (to, error, kind) = at(&mut estimates, value);
        (to - value, kind, error < 10_000.0)
    };
    // The earlier line continues to 9 s, the later one begins at 10 s.
    assert_eq!(ahead(85), (850, LineKind::Line, true));
    assert_eq!(ahead(90), (900, LineKind::Step, false));
    assert_eq!(ahead(99), (990, LineKind::Step, false));
    assert_eq!(ahead(100), (slept + 1_000, LineKind::Line, true));
    assert_eq!(ahead(105), (slept + 1_050, LineKind::Line, true));
    // The explanation only shows used readings.
    let value = ClockNs(BEGIN[0] + 9 * SECOND + SECOND / 2);
    let hops = estimates.explain(custom(), value, BOOTTIME).unwrap();
    let around = [hops[0].before, hops[0].after].map(|of| of.unwrap().1 - BEGIN[0]);
    assert_eq!(around, [7 * SECOND, 11 * SECOND]);
}

#[test]
fn r4_the_line_between_and_the_usual_rate_elsewhere() {
    // 100 ns a second; a suspend of a minute between 3 s and 4 s; 100 ns a second.
    let minute = 60 * SECOND;
    let offsets = [0, 100, 200, 300, minute + 300, minute + 400];
    let mut estimates = of_hop(&ahead_by(&offsets));
    let mut ahead = |tenths: i64| {
        let value = tenths * SECOND / 10;
        let (to, _, kind) = at(&mut estimates, value);
        (to - value, kind)
    };
    assert_eq!(ahead(5), (50, LineKind::Line));
    assert_eq!(ahead(30), (300, LineKind::Step));
    assert_eq!(ahead(39), (390, LineKind::Step));
    assert_eq!(ahead(40), (minute + 300, LineKind::Line));
    assert_eq!(ahead(-20), (-200, LineKind::Before));
    assert_eq!(ahead(70), (minute + 600, LineKind::After));

    // One reading: like nearest neighbour.
    let mut estimates = of_hop(&[(1000, 5000)]);
    assert_eq!(
        at(&mut estimates, 400),
        (4400, 1500.0 + 600.0 * (150e-6 + 1.2e-6), LineKind::Before)
    );
    assert_eq!(at(&mut estimates, 1000).0, 5000);
}

#[test]
fn r5_errors_grow_with_the_distance_and_with_what_the_rate_does() {
    // Rates of 0, 1 and 6 µs a second.
    let mut estimates = of_hop(&ahead_by(&[0, 0, 1_000, 7_000]));
    // Inner residuals 500 and 2500; their median is 1500, and there are two.
    let noise = 3.0 * 1500.0 * 1.5;
    assert_eq!(fit(&mut estimates).noise_ns, noise);
    let mut error = |tenths: i64| at(&mut estimates, tenths * SECOND / 10).1;
    let is =
        |error: f64, expected: f64| assert!((error - expected).abs() < 0.02, "{error} {expected}");
    // A difference within the errors of both gaps is no change; the change is at least a third of
    // 1 ppm, because there are three rates.
    let sigma = noise * 2f64.sqrt() / 1e9;
    assert!(2.0 * sigma / 3.0 > 5e-6);
    is(error(0), noise);
    is(error(2), noise + 0.2e9 * 1e-6 / 3.0);
    is(error(5), noise + 0.5e9 * 1e-6 / 3.0);
    is(error(15), noise + 0.5e9 * 1e-6 / 3.0);
    // Outside, the error of the rate, twice its largest change, and 1.2 ppm. Three equally sure
    // rates and the prior make the rate.
    let weight = 2.0 * 3.0 / sigma.powi(2);
    let prior = 1.0 / 150e-6f64.powi(2);
    let (rate, unsure) = (1e-6 * weight / (weight + prior), 1.0 / (weight + prior).sqrt());
    let change = ((6e-6 - rate).powi(2) - sigma.powi(2) / 9.0).sqrt();
    let grows = unsure + 2.0 * change + 1.2e-6;
    is(error(40), noise + grows * 1e9);
    is(error(-10), noise + grows * 1e9);

    // In a step, its size plus the possible movement of the rate up to the next reading. Nothing
    // shows the noise of two segments of two readings; two rates.
    let mut estimates = of_hop(&ahead_by(&[0, 0, SECOND, SECOND]));
    let (_, error, _) = at(&mut estimates, 3 * SECOND / 2);
    let sigma = 1500.0 * 2f64.sqrt() / 1e9;
    let unsure = 1.0 / (1.0 / sigma.powi(2) + prior).sqrt();
    is(error, 1500.0 + 1e9 + (unsure + 0.5e-6) * 1e9);
    let (_, error, _) = at(&mut estimates, SECOND / 2);
    is(error, 1500.0 + 0.5e-6 * 0.5e9);
    // Never below 100 ns, and 0.1 ppm; plus 10 ms for a coarse clock.
    let mut estimates = of_hop(&ahead_by(&[0; 30]));
    let (_, error, _) = at(&mut estimates, SECOND / 2);
    is(error, 100.0 + 1e-7 * 0.5e9);
    let coarse = Clock::host(2);
    let mut estimates = of_pairs(&[(coarse, custom(), since(&ahead_by(&[0, 0, 0])))]);
    let estimate = estimates.at(coarse, ClockNs(BEGIN[0]), custom()).unwrap();
    is(estimate.error_ns, 10e6);
}

#[test]
fn r5_two_readings_are_as_unsure_as_what_is_left_out_around_them() {
    // Two suspends with three readings between them; the one in the middle is off by 50 µs.
    let before = (0..10).map(|second| second * 100);
    let between = [SECOND + 1_000, SECOND + 51_100, SECOND + 1_200];
    let after = (13..23).map(|second| 2 * SECOND + second * 100);
    let offsets: Vec<i64> = before.chain(between).chain(after).collect();
    let mut estimates = of_hop(&ahead_by(&offsets));
    let left_out = fit(&mut estimates).outliers.clone();
    assert_eq!(left_out.len(), 1);
    assert_eq!(read_at(&left_out[0]), 11 * SECOND);
    // It could be any of the three.
    let (_, error, _) = at(&mut estimates, 10 * SECOND);
    assert!((50_000.0..50_200.0).contains(&error), "{error}");
    let (_, error, _) = at(&mut estimates, 5 * SECOND);
    assert!(error < 1_000.0, "{error}");
}

#[test]
fn r6_hops_are_chained_and_their_errors_added() {
    // Twice as fast, then 100 ppm.
    let mut estimates = of_pairs(&[
        (custom(), other(), vec![(1, 3), (1 + SECOND, 3 + 2 * SECOND)]),
        (
            other(),
            BOOTTIME,
            vec![(3, 7_000_007), (3 + 4 * SECOND, 7_000_007 + 4 * SECOND + 400_000)],
        ),
    ]);
    let value = ClockNs(1 + SECOND / 4);
    let estimate = estimates.at(custom(), value, BOOTTIME).unwrap();
    assert_eq!(estimate.value, ClockNs(7_000_007 + SECOND / 2 + 50_000));
    // 1.5 µs and 1 ppm of 0.25 s, at the rate of the hop after it; and the same of 0.5 s.
    let expected = (1500.0 + 250.0) * (1.0 + 1e-4) + (1500.0 + 500.0);
    assert!((estimate.error_ns - expected).abs() < 0.01);

    let hops = estimates.explain(custom(), value, BOOTTIME).unwrap();
    let path: Vec<_> = hops.iter().map(|hop| (hop.from, hop.to)).collect();
    assert_eq!(path, [(custom(), other()), (other(), BOOTTIME)]);
    assert_eq!(
        (hops[0].value_in, hops[0].value_out),
        (i128::from(1 + SECOND / 4), i128::from(3 + SECOND / 2))
    );
    assert_eq!(hops[1].value_out, i128::from(7_000_007 + SECOND / 2 + 50_000));
    assert_eq!(hops[0].rate, 2.0);
    let snapshots = [hops[1].before, hops[1].after].map(|around| around.unwrap().0.unwrap().0);
    assert_eq!(snapshots, [2, 3]);
}

#[test]
fn r7_what_went_backwards_is_refused_and_what_does_not_fit_is_told() {
    let mut estimates = of_pairs(&[(monotonic(), BOOTTIME, vec![(1000, 0), (500, SECOND)])]);
    let converted = estimates.convert(monotonic(), ClockNs(700), BOOTTIME);
    assert_eq!(converted, Err(Unresolved::NonMonotonic));
    // As a target it stays.
    let back = estimates.convert(BOOTTIME, ClockNs(0), monotonic());
    assert_eq!(back, Ok(ClockNs(1000)));

    let mut estimates = of_pairs(&[(monotonic(), BOOTTIME, vec![(0, i64::MAX - 10)])]);
    let mut convert = |value| estimates.convert(monotonic(), ClockNs(value), BOOTTIME);
    assert_eq!(convert(10), Ok(ClockNs(i64::MAX)));
    assert_eq!(convert(11), Err(Unresolved::Overflow));
    assert_eq!(estimates.convert(custom(), ClockNs(0), BOOTTIME), Err(Unresolved::UnknownClock));
}

#[test]
fn r_snapshots_that_come_later_count() {
    let mut estimates = of_hop(&[(0, 0)]);
    assert_eq!(at(&mut estimates, SECOND).0, SECOND);
    let later = (custom(), BOOTTIME, since(&[(1 << 31, (1 << 31) + 2048)]));
    add(estimates.estimates.graph_mut(), &later, [1, 1]);
    assert_eq!(at(&mut estimates, 1 << 30).0, (1 << 30) + 1024);
}

#[test]
fn r_a_cache_of_other_estimates_is_never_a_reason_for_another_answer() {
    let of = |ahead: i64| of_hop(&[(0, 0), (SECOND, SECOND + ahead)]).estimates;
    let (mut one, other) = (of(1000), of(3000));
    let mut cache = EstimateCache::new();
    let mut half = |estimates: &Estimates| {
        let value = BEGIN[0] + SECOND / 2;
        let at = estimates.convert(custom(), ClockNs(value), BOOTTIME, &mut cache);
        at.map(|ClockNs(at)| at - BEGIN[1] - SECOND / 2)
    };
    for _ in 0..3 {
        assert_eq!((half(&one), half(&other)), (Ok(500), Ok(1500)));
    }
    // A graph in the place of another one, with as many snapshots.
    assert_eq!(half(&one), Ok(500));
    *one.graph_mut() = other.into_graph();
    assert_eq!(half(&one), Ok(1500));
}

/// Readings of a hop: gaps, pairs, varying drift, jitter, outliers, small and large steps.
fn readings(most: usize) -> impl Strategy<Value = Vec<(i64, i64)>> {
    let gap = prop_oneof![
        9 => 1_000_000i64..100_000_000,
        2 => 0i64..6_000,
        1 => 1_000_000_000i64..20_000_000_000,
    ];
    let jitter = prop_oneof![
        9 => -200i64..200,
        2 => -20_000i64..20_000,
        1 => -200_000i64..200_000,
        1 => -9_000_000i64..9_000_000,
    ];
    let step = prop_oneof![
        12 => Just(0i64),
        1 => -100_000i64..100_000,
        1 => -5_000_000i64..50_000_000,
    ];
    let wander = prop_oneof![9 => -1.0f64..1.0, 1 => -500.0f64..500.0];
    let each = prop::collection::vec((gap, wander, jitter, step), 1..=most);
    let scale = prop_oneof![3 => Just(1.0f64), 1 => 0.3f64..3.0];
    (0i64..1_000_000_000, -50.0f64..50.0, scale, each).prop_map(|(start, drift, scale, each)| {
        let (mut a, mut b, mut rate) = (start, 5_000_000.0f64, scale * (1.0 + drift * 1e-6));
        let mut readings = Vec::new();
        for (gap, wander, jitter, step) in each {
            readings.push((a, b as i64 + jitter));
            rate += wander * 1e-6;
            a += gap;
            b += gap as f64 * rate + step as f64;
        }
        readings
    })
}

/// Readings with many paths of the same cost.
fn even_readings() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let ahead = prop_oneof![
        6 => Just(0i64),
        1 => Just(1_000),
        2 => Just(5_000),
        2 => Just(100_000),
        2 => Just(2_000_000),
        1 => Just(SECOND),
    ];
    let gap = prop_oneof![5 => Just(SECOND / 10), 1 => Just(5_000), 1 => Just(20 * SECOND)];
    prop::collection::vec((gap, ahead), 1..=MOST).prop_map(|each| {
        let mut a = 0;
        let of = |(gap, ahead)| {
            a += gap;
            (a, a + ahead)
        };
        each.into_iter().map(of).collect()
    })
}

/// Readings of clocks that run equally fast: delays of reading, steps, some that are far off, and
/// numbers that are the same.
fn kin_readings() -> impl Strategy<Value = Vec<(i64, i64)>> {
    let gap = prop_oneof![
        6 => 1_000_000i64..5_000_000_000,
        2 => 10_000i64..1_000_000,
        1 => 10_000_000_000i64..60_000_000_000,
    ];
    let late = prop_oneof![
        8 => 0i64..400,
        3 => 0i64..8_000,
        1 => 0i64..300_000,
        1 => 0i64..4_000_000,
    ];
    let step = prop_oneof![
        10 => Just(0i64),
        1 => 1_000i64..900_000,
        1 => 900_000i64..40_000_000_000,
    ];
    let each = prop::collection::vec((gap, late, step), 1..=MOST);
    let begin = prop_oneof![
        1 => Just((0i64, 0i64)),
        1 => Just((40_000_000_000i64, 0i64)),
        2 => (1_000_000_000i64..60_000_000_000, 0i64..60_000_000_000),
    ];
    let delay = prop_oneof![Just(0i64), Just(1), Just(-1)];
    (begin, delay, each).prop_map(|((start, ahead), delay, each)| {
        let (mut a, mut ahead) = (start, ahead);
        let of = each.into_iter().map(|(gap, late, step)| {
            a += gap;
            ahead += step;
            (a, (a + ahead + delay * late).max(0))
        });
        of.collect()
    })
}

/// The same with a target that does not go backwards, so it may be a source.
fn monotonic_readings() -> impl Strategy<Value = Vec<(i64, i64)>> {
    readings(MOST).prop_map(|mut readings| {
        let mut least = i64::MIN;
        for reading in &mut readings {
            reading.1 = reading.1.max(least);
            least = reading.1;
        }
        readings
    })
}

/// Values to check: at readings, beside them, between, and outside.
fn looks(readings: &[(i64, i64)]) -> Vec<i64> {
    let mut values = Vec::new();
    for pair in readings.windows(2) {
        let (a, b) = (pair[0].0, pair[1].0);
        values.extend([a - 1, a, a + 1, a + (b - a) / 3, a + (b - a) / 2, b - 1]);
    }
    let (first, last) = (readings[0].0, readings[readings.len() - 1].0);
    values.extend([first - 7_000_000, first, last, last + 9_000_000]);
    values
}

/// All paths through this many readings are tried.
const MOST: usize = 9;

/// The number of hops to try: the variable's value, or few.
fn hops() -> u32 {
    let told = std::env::var("TIMEBASE_HOPS").ok();
    told.and_then(|told| told.parse().ok()).unwrap_or(300)
}

/// Two clocks, with their kinds for the model.
fn clocks(number: usize, units: [i64; 2]) -> (Clock, Clock, Kinds) {
    let kinds = Kinds { units, ..Kinds::default() };
    let kin = Kinds { are_builtin: true, may_be_kin: true, ..kinds };
    let host = Clock::host;
    match number {
        0 => (custom(), BOOTTIME, kinds),
        1 => (custom(), host(4), Kinds { is_coarse: true, ..kinds }),
        2 => (
            host(5),
            BOOTTIME,
            Kinds { are_builtin: true, is_raw: true, target_is_first: true, ..kinds },
        ),
        3 => (host(9), BOOTTIME, Kinds { is_tsc: true, ..kinds }),
        4 => (monotonic(), BOOTTIME, Kinds { target_is_first: true, ..kin }),
        5 => (BOOTTIME, monotonic(), kin),
        6 => (host(2), host(1), Kinds { is_coarse: true, ..kin }),
        _ => {
            (host(2), host(5), Kinds { is_coarse: true, are_builtin: true, is_raw: true, ..kinds })
        }
    }
}

/// The numbers to whose multiples readings are rounded down, and the units in snapshots.
fn grains() -> impl Strategy<Value = ([i64; 2], [i64; 2])> {
    prop_oneof![
        6 => Just(([1, 1], [1, 1])),
        1 => Just(([1000, 1], [1, 1])),
        1 => Just(([1, 1000], [1, 1000])),
        1 => Just(([1000, 1000], [1, 1])),
        1 => Just(([1_000_000, 1], [1_000_000, 1])),
        1 => Just(([1, 100_000], [1, 1])),
        1 => Just(([52, 1], [52, 1])),
    ]
}

/// A hop, with its clocks by number.
#[derive(Debug, Clone)]
struct Tried {
    readings: Vec<(i64, i64)>,
    clocks: usize,
    units: [i64; 2],
}

fn tried(readings: impl Strategy<Value = Vec<(i64, i64)>>) -> impl Strategy<Value = Tried> {
    (readings, 0usize..8, grains()).prop_map(|(readings, clocks, (grain, units))| {
        let down = |number: i64, grain: i64| number.div_euclid(grain) * grain;
        let mut readings: Vec<(i64, i64)> =
            readings.into_iter().map(|(a, b)| (down(a, grain[0]), down(b, grain[1]))).collect();
        readings.sort_by_key(|of| of.0);
        Tried { readings, clocks, units }
    })
}

/// The model's line at a value, and whether it is so near to a bound that rounding decides.
enum Model {
    Strangers(Naive),
    Kin(Kin),
}

impl Model {
    fn of(readings: &[(i64, i64)], kinds: Kinds) -> Model {
        match Kin::new(readings, kinds) {
            Some(kin) => Model::Kin(kin),
            None => Model::Strangers(Naive::new(readings, kinds)),
        }
    }

    fn at(&self, value: f64) -> (f64, f64) {
        match self {
            Model::Strangers(naive) => naive.at(value),
            Model::Kin(kin) => {
                let (offset, error) = kin.at(value as i64);
                (offset as f64, error)
            }
        }
    }
}

/// Asserts that a hop equals that of the model.
fn compare(tried: &Tried) -> Result<(), TestCaseError> {
    let (from, to, kinds) = clocks(tried.clocks, tried.units);
    let readings = &tried.readings;
    let mut graph = ClockGraph::new();
    add(&mut graph, &(from, to, readings.clone()), tried.units);
    let mut estimates = Asked::new(graph);
    let model = Model::of(readings, kinds);
    let (used, steps, left_out, kin) = match &model {
        Model::Strangers(naive) => {
            prop_assume!(!naive.is_close);
            let used = naive.segments.iter().flat_map(|of| of.readings.clone());
            (used.collect::<Vec<_>>(), naive.segments.len() - 1, naive.left_out.clone(), None)
        }
        Model::Kin(kin) => {
            let used = kin.levels.iter().flat_map(|of| of.readings.clone());
            let kinship = if kin.are_twins { Kinship::Twins } else { Kinship::Kin };
            (used.collect(), kin.levels.len() - 1, kin.left_out.clone(), Some(kinship))
        }
    };
    let fit = estimates.fit(from, to).unwrap();
    prop_assert_eq!(fit.kinship(), kin);
    let knots = fit.knots.iter().filter(|knot| !knot.is_corner);
    let knots: Vec<_> = knots.map(|knot| (knot.a, knot.b)).collect();
    prop_assert_eq!(knots, used);
    prop_assert_eq!(fit.steps.len(), steps);
    let outliers = fit.outliers.iter();
    let outliers: Vec<_> = outliers.map(|of| (of.from_value, of.to_value)).collect();
    prop_assert_eq!(outliers, left_out);
    if let Model::Strangers(naive) = &model {
        let drift = naive.drift_ppm();
        let is_same = |own: Option<f64>, other: Option<f64>| match (own, other) {
            (Some(own), Some(other)) => (own - other).abs() <= 1e-3 + other.abs() * 1e-6,
            (own, other) => own == other,
        };
        let own = (fit.drift_ppm(), fit.drift_error_ppm());
        prop_assert!(
            naive.is_drift_close() || is_same(own.0, drift.map(|of| of.0)),
            "{own:?} {drift:?}"
        );
        prop_assert!(
            naive.is_drift_close() || is_same(own.1, drift.map(|of| of.1)),
            "{own:?} {drift:?}"
        );
    }
    for value in looks(readings) {
        let estimate = estimates.at(from, ClockNs(value), to).unwrap();
        let (ClockNs(at), error) = (estimate.value, estimate.error_ns);
        let (ahead, expected) = model.at(value as f64);
        let ahead = value as f64 + ahead;
        // If a corner is at half a nanosecond, either neighbour is correct; the end of the line
        // from there, and the result, are rounded, too.
        prop_assert!((at as f64 - ahead).abs() <= 2.01, "{value}: {at} {ahead}");
        prop_assert!(
            (error - expected).abs() <= 0.1 + expected * 1e-5 || error == expected,
            "{value}: {error} {expected}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hops()))]

    #[test]
    fn r1_r2_r3_r4_r5_r32_r33_r34_r35_r37_a_hop_is_what_the_rules_say(tried in tried(readings(MOST))) {
        compare(&tried)?;
    }

    #[test]
    fn r3_ways_that_cost_the_same_are_told_apart(tried in tried(even_readings())) {
        compare(&tried)?;
    }

    #[test]
    fn r30_r31_clocks_of_one_timekeeper_are_what_the_rules_say(tried in tried(kin_readings())) {
        compare(&tried)?;
    }
}

proptest! {
    #[test]
    fn r_what_follows_from_the_rules(readings in readings(40)) {
        let mut estimates = of_hop(&readings);
        let knots = fit(&mut estimates).knots.clone();
        // Exact at the used readings, and in order inside a segment.
        for pair in knots.windows::<2>(knots.all()) {
            let pair = pair.map(|knot| knot::Knot {
                a: knot.a - BEGIN[0],
                b: knot.b - BEGIN[1],
                ..knot
            });
            prop_assert_eq!(at(&mut estimates, pair[0].a).0, pair[0].b);
            if pair[0].gap == knot::Gap::Step || pair[1].b < pair[0].b {
                continue;
            }
            let (a, span) = (pair[0].a, pair[1].a - pair[0].a);
            let parts = (0..=16).flat_map(|part| [-1, 0, 1].map(|beside| span / 16 * part + beside));
            let mut values: Vec<i64> = parts.map(|at| (a + at).clamp(a, pair[1].a)).collect();
            values.sort_unstable();
            let times: Vec<i64> = values.iter().map(|&at| self::at(&mut estimates, at).0).collect();
            prop_assert!(times.is_sorted(), "{values:?} {times:?}");
        }
    }

    #[test]
    fn r4_where_the_offset_never_changes_it_is_nearest_neighbour(
        gaps in prop::collection::vec(1i64..1_000_000_000_000, 1..30),
        ahead in -1_000_000_000_000_000_000i64..1_000_000_000_000_000_000,
        values in prop::collection::vec(-1_000_000_000_000i64..20_000_000_000_000, 20),
    ) {
        let mut a = 0;
        let mut readings = Vec::new();
        for gap in gaps {
            readings.push((a, a + ahead));
            a += gap;
        }
        let mut estimates = of_hop(&readings);
        for value in values {
            prop_assert_eq!(at(&mut estimates, value).0, value + ahead);
        }
    }

    /// Two hops, the second of which may be set back: the result for a value of the first equals
    /// the chained estimates, except for rounding, at steps perhaps a nanosecond later.
    #[test]
    fn r6_a_path_is_its_hops_one_after_the_other(first in monotonic_readings(), second in readings(MOST)) {
        let kinds = clocks(0, [1, 1]).2;
        let (one, two) = (Model::of(&first, kinds), Model::of(&second, kinds));
        let mut estimates = of_pairs(&[
            (custom(), other(), first.clone()),
            (other(), BOOTTIME, second),
        ]);
        for value in looks(&first) {
            let estimate = estimates.at(custom(), ClockNs(value), BOOTTIME).unwrap();
            let ClockNs(to) = estimate.value;
            let near = |off: f64| {
                let middle = value as f64 + one.at(value as f64).0 + off;
                let (ahead, error) = two.at(middle);
                let before = one.at(value as f64).1;
                let expected = middle - off + ahead;
                // The rate after the first hop is the rate of the second one around here.
                let rate = 1.0 + two.at(middle + 1e3).0 / 1e3 - ahead / 1e3;
                let sum = error + before * rate.abs();
                (to as f64 - expected).abs() <= 3.0 + rate.abs()
                    && (estimate.error_ns - sum).abs() <= 1.0 + 1e-3 * sum + before * 1e-3
            };
            let is_near = [0.0, 1.0, -1.0, 500.0, -500.0, 1001.0, -1001.0].into_iter().any(near);
            prop_assert!(is_near, "{value}: {estimate:?}");
        }
    }

    #[test]
    fn r6_all_lines_are_those_around_each_value(first in monotonic_readings(), second in readings(MOST)) {
        let mut estimates = of_pairs(&[
            (custom(), other(), first.clone()),
            (other(), BOOTTIME, second),
        ]);
        let lines: Vec<Line> = estimates.lines(custom(), BOOTTIME).unwrap().collect();
        prop_assert_eq!(lines[0].start, None);
        prop_assert_eq!(lines[lines.len() - 1].end, None);
        prop_assert!(lines.windows(2).all(|pair| pair[0].end == pair[1].start));
        let anchored = |line: &&Line| match line.kind {
            LineKind::Before => Some(line.anchor) == line.end,
            _ => Some(line.anchor) == line.start,
        };
        prop_assert_eq!(lines.iter().filter(anchored).count(), lines.len());
        // In no order, so that an array is made in the end.
        let mut values = looks(&first);
        values.sort_by_key(|value| value.wrapping_mul(0x5851_f42d_4c95_7f2d));
        for value in values.iter().cycle().take(200) {
            let line = estimates.line(custom(), ClockNs(*value), BOOTTIME).unwrap();
            let expected = lines.iter().find(|line| line.holds(*value));
            prop_assert_eq!(Some(&line), expected);
        }
    }
}

#[test]
fn r1_a_clock_that_stands_still_has_a_spread_too() {
    let still: Vec<_> = (0..4).map(|second| (second * SECOND, 5)).collect();
    let mut estimates = of_hop(&still);
    let fit = fit(&mut estimates);
    assert_eq!(fit.nominal_rate, 0.0);
    assert_eq!(fit.drift_spread_ppm(), 0.0);
    assert_eq!(fit.drift_ppm(), None);
}

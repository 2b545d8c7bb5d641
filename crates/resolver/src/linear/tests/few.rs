//! Few and coarse readings: rules R30 to R37, each on a small hop.

use proptest::prelude::*;

use super::*;

/// BOOTTIME − MONOTONIC in the first two snapshots of a recording, and MONOTONIC_RAW.
const PAIR: [(i64, i64, i64); 2] = [
    (313_320_509_337, 313_320_509_257, 313_072_407_237),
    (313_320_525_311, 313_320_525_261, 313_072_423_200),
];

fn estimate(readings: &[(i64, i64)], from: Clock, to: Clock, value: i64) -> (i64, f64) {
    let mut estimates = of_pairs(&[(from, to, readings.to_vec())]);
    let estimate = estimates.at(from, ClockNs(value), to).unwrap();
    let ClockNs(value) = estimate.value;
    (value, estimate.error_ns.ceil())
}

fn kinship(readings: &[(i64, i64)], from: Clock, to: Clock) -> Option<Kinship> {
    let mut estimates = of_pairs(&[(from, to, readings.to_vec())]);
    estimates.fit(from, to).unwrap().kinship()
}

#[test]
fn r30_clocks_of_one_timekeeper_are_kin_and_others_are_not() {
    let host = Clock::host;
    let apart = [(5_000_000_001, 9_000_000_123)];
    for (from, to) in [(1, 6), (2, 4), (3, 6), (6, 1), (4, 1)] {
        assert_eq!(kinship(&apart, host(from), host(to)), Some(Kinship::Kin));
    }
    for (from, to) in [(5, 6), (9, 6), (3, 5), (3, 10)] {
        assert_eq!(kinship(&apart, host(from), host(to)), None);
    }
    let guest = Clock { machine: MachineId(1), ..monotonic() };
    assert_eq!(kinship(&apart, guest, BOOTTIME), None);
    assert_eq!(kinship(&apart, custom(), BOOTTIME), None);
}

#[test]
fn r30_one_clock_with_two_names_are_twins() {
    // In nanoseconds, the same number.
    let same = |a: i64| (a, a);
    let (one, two, three) =
        (same(5_000_000_001), same(6_000_000_007), (7_000_000_003, 7_000_000_004));
    let of = |readings: &[(i64, i64)]| kinship(readings, custom(), BOOTTIME);
    assert_eq!(of(&[one]), Some(Kinship::Twins));
    assert_eq!(of(&[one, three]), None);
    assert_eq!(of(&[one, two, three]), Some(Kinship::Twins));
    assert_eq!(of(&[one, two, three, (8_000_000_003, 8_000_000_004)]), None);
    // Two clocks that began to count together agree by chance.
    assert_eq!(of(&[same(1_000_000)]), None);
    assert_eq!(of(&[same(1_000_001)]), Some(Kinship::Twins));
    // In microseconds, both within one.
    let micros = |a: i64, more: i64| (a * 1000, a * 1000 + more);
    let readings = [micros(5_000_001, 999), micros(6_000_003, 1), micros(7_000_007, 500)];
    assert_eq!(of(&readings), Some(Kinship::Twins));
    let readings = [micros(5_000_001, 1000), micros(6_000_003, 1), micros(7_000_007, -1001)];
    assert_eq!(of(&readings), None);
}

#[test]
fn r30_kin_that_drift_apart_are_strangers() {
    // 50 µs a second between MONOTONIC and BOOTTIME: nothing on earth, but it was recorded.
    let drifts = |count: i64, ns: i64| -> Vec<(i64, i64)> {
        since(&ahead_by(&(0..count).map(|second| second * ns).collect::<Vec<_>>()))
    };
    let of = |readings: &[(i64, i64)]| kinship(readings, monotonic(), BOOTTIME);
    assert_eq!(of(&drifts(5, 50_000)), None);
    // Three gaps say nothing.
    assert_eq!(of(&drifts(4, 50_000)), Some(Kinship::Kin));
    // 4 · 3 µs / (√4 · 1 s) are 6 ppm.
    assert_eq!(of(&drifts(5, 5_900)), Some(Kinship::Kin));
    assert_eq!(of(&drifts(5, 6_100)), None);
    // A machine that sleeps does not drift.
    let slept: Vec<i64> = (0..6).map(|second| second * second * SECOND).collect();
    assert_eq!(of(&since(&ahead_by(&slept))), Some(Kinship::Kin));
}

#[test]
fn r31_a_start_pair_is_no_rate() {
    let readings = PAIR.map(|(monotonic, boottime, _)| (monotonic, boottime));
    // 8 s later, the line of both would be 15 ms off.
    let value = 321_320_525_311;
    assert_eq!(estimate(&readings, monotonic(), BOOTTIME, value), (value - 50, 1500.0));
    // In the other direction the delay has the other sign.
    let back = readings.map(|(a, b)| (b, a));
    assert_eq!(estimate(&back, BOOTTIME, monotonic(), value), (value + 50, 1500.0));
    // It holds at any distance, also before.
    assert_eq!(estimate(&readings, monotonic(), BOOTTIME, 1_000), (950, 1500.0));
}

#[test]
fn r31_a_step_has_the_offset_before_it_and_the_error_of_both_and_its_size() {
    // 30 s of sleep, and a snapshot in it that was read apart but shows its side.
    let offsets = [-40, -20, -30, -2_000_000, 30 * SECOND - 10, 30 * SECOND - 50, 30 * SECOND - 30];
    let mut estimates = of_pairs(&[(monotonic(), BOOTTIME, since(&ahead_by(&offsets)))]);
    let fit = estimates.fit(monotonic(), BOOTTIME).unwrap();
    assert_eq!((fit.steps.len(), fit.outliers.len()), (1, 1));
    assert_eq!(fit.steps[0].deviation_ns, 30e9 + 10.0);
    assert_eq!(fit.outliers[0].deviation_ns, 2e6 - 20.0);
    assert_eq!((fit.drift_ppm(), fit.drift_error_ppm(), fit.interval_s(1e3)), (None, None, None));
    let mut ahead = |tenths: i64| {
        let value = BEGIN[0] + tenths * SECOND / 10;
        let estimate = estimates.at(monotonic(), ClockNs(value), BOOTTIME).unwrap();
        let ClockNs(to) = estimate.value;
        (to - value - (BEGIN[1] - BEGIN[0]), estimate.error_ns, estimate.kind)
    };
    // Three readings each: 3 µs / 3. The median distance from both offsets is 15 ns.
    assert_eq!(ahead(5), (-20, 1000.0, LineKind::Line));
    // The reading that is left out shows that the machine did not sleep yet.
    assert_eq!(ahead(29), (-20, 1000.0, LineKind::Line));
    assert_eq!(ahead(30), (-20, 30_000_001_010.0, LineKind::Step));
    assert_eq!(ahead(35), (-20, 30_000_001_010.0, LineKind::Step));
    assert_eq!(ahead(40), (30 * SECOND - 10, 1000.0, LineKind::Line));
    assert_eq!(ahead(900), (30 * SECOND - 10, 1000.0, LineKind::After));
    assert_eq!(ahead(-900), (-20, 1000.0, LineKind::Before));
}

#[test]
fn r31_readings_left_out_in_a_step_are_its_corners() {
    let slept = 30 * SECOND;
    let offsets = [0, -20, -30, -70_000, slept - 80_000, slept - 10, slept, slept - 30];
    let mut estimates = of_pairs(&[(monotonic(), BOOTTIME, since(&ahead_by(&offsets)))]);
    assert_eq!(estimates.fit(monotonic(), BOOTTIME).unwrap().outliers.len(), 2);
    let mut kind = |tenths: i64| {
        let value = BEGIN[0] + tenths * SECOND / 10;
        let estimate = estimates.at(monotonic(), ClockNs(value), BOOTTIME).unwrap();
        let ClockNs(to) = estimate.value;
        (to - value - (BEGIN[1] - BEGIN[0]), estimate.kind)
    };
    assert_eq!(kind(29), (0, LineKind::Line));
    assert_eq!(kind(30), (0, LineKind::Step));
    assert_eq!(kind(39), (0, LineKind::Step));
    assert_eq!(kind(40), (slept, LineKind::Line));
}

#[test]
fn r31_coarse_kin_have_the_median_offset() {
    let host = Clock::host;
    let offsets = [0, -4_000_000, -1_000_001, -2_000_000];
    let readings = since(&ahead_by(&offsets));
    let mut estimates = of_pairs(&[(host(4), host(6), readings)]);
    let estimate = estimates.at(host(4), ClockNs(BEGIN[0]), host(6)).unwrap();
    // −1.5 ms and a half, rounded down; the median distance of four is 1 ms.
    let ahead = BEGIN[1] - 1_500_001;
    assert_eq!(estimate.value, ClockNs(ahead));
    let off = (500_000.0 + 1_500_001.0) / 2.0;
    assert_eq!(estimate.error_ns, 10e6 + 3.0 * (1.0 + 1.0 / 4.0) * off);
}

/// A clock of microseconds, and MONOTONIC.
const MICROS: [(i64, i64); 6] = [
    (451_001_205_000, 451_001_205_972),
    (451_501_711_000, 451_501_711_347),
    (452_001_522_000, 452_001_522_575),
    (453_000_615_000, 453_000_615_006),
    (453_002_302_000, 453_002_302_854),
    (453_770_715_000, 453_770_715_336),
];
const MICROS_AT: i64 = 452_504_428_000;

#[test]
fn r31_twins_of_microseconds_have_the_median_offset_within_one() {
    let without: Vec<(i64, i64)> = [&MICROS[..4], &MICROS[5..]].concat();
    let at = |readings: &[(i64, i64)]| estimate(readings, custom(), monotonic(), MICROS_AT);
    assert_eq!(at(&MICROS), (MICROS_AT + 461, 1000.0));
    assert_eq!(at(&without), (MICROS_AT + 347, 1000.0));
}

#[test]
fn r32_a_clock_of_microseconds_has_the_noise_of_its_unit_once() {
    // Far enough from each other to be no twins.
    let away = 7_000_000;
    let of = |readings: &[(i64, i64)]| -> Vec<(i64, i64)> {
        readings.iter().map(|&(a, b)| (a, b + away)).collect()
    };
    let without: Vec<(i64, i64)> = [&MICROS[..4], &MICROS[5..]].concat();
    let at = |readings: &[(i64, i64)]| {
        let (value, error) = estimate(&of(readings), custom(), monotonic(), MICROS_AT);
        (value - away, error)
    };
    // 288.6 by the line; its corner in the middle is at half a nanosecond.
    for (readings, error) in [(&MICROS[..], 1654.0), (&without, 1531.0)] {
        let (value, found) = at(readings);
        assert!((MICROS_AT + 288..=MICROS_AT + 289).contains(&value), "{value}");
        assert_eq!(found, error);
    }
}

#[test]
fn r32_other_readings_of_a_group_say_how_well_one_is_known() {
    // Two readings 1 µs apart, 400 µs different; and two that differ by more than a clock explains.
    let group = |apart: i64| {
        let readings = [(0, 0), (1_000, apart + 1_000), (SECOND, SECOND), (2 * SECOND, 2 * SECOND)];
        let mut estimates = of_hop(&readings);
        let first = fit(&mut estimates).knots.at(0);
        f64::from(first.error)
    };
    assert_eq!(group(400_000), 400_000.0);
    assert!(group(1_100_000) < 10_000.0);
}

#[test]
fn r33_r35_one_gap_and_what_clocks_usually_do() {
    // MONOTONIC_RAW in a start pair: any rate within 500 ppm.
    let readings = PAIR.map(|(_, boottime, raw)| (raw, boottime));
    let (value, error) = estimate(&readings, Clock::host(5), BOOTTIME, 321_072_423_200);
    assert_eq!((value, error), (321_320_525_552, 4_011_072.0));
    // A TSC that was read once may run at any rate: no error outside is known.
    let mut estimates =
        of_pairs(&[(Clock::host(9), BOOTTIME, vec![(5_000_000_001, 7_000_000_003)])]);
    let estimate = estimates.at(Clock::host(9), ClockNs(6_000_000_000), BOOTTIME).unwrap();
    assert_eq!((estimate.error(), estimate.interval()), (None, None));
    assert_eq!(estimate.value, ClockNs(8_000_000_002));
}

#[test]
fn r34_two_snapshots_right_after_each_other_show_no_other_unit() {
    let of = |from: Clock, length: i64, more: i64| {
        let readings = since(&[(0, 0), (length, length + more)]);
        let mut estimates = of_pairs(&[(from, BOOTTIME, readings)]);
        estimates.fit(from, BOOTTIME).unwrap().nominal_rate
    };
    // 1,000 ppm and 2 · 200 µs / 1 s.
    assert_eq!(of(custom(), SECOND, 1_399_000), 1.0);
    assert!(of(custom(), SECOND, 1_401_000) > 1.001);
    assert_eq!(of(custom(), 16_000, 300_000), 1.0);
    // A TSC never counts nanoseconds.
    assert!(of(Clock::host(9), SECOND, 1_100_000) > 1.001);
}

#[test]
fn r35_a_rate_that_changes_is_known_by_its_gaps() {
    // 0 and 400 ppm by turns, each for 10 s: no noise explains that.
    let mut readings = vec![(0, 0)];
    for turn in 0..12 {
        let (a, b) = readings[turn];
        let more = if turn < 6 { 0 } else { 4_000_000 };
        readings.push((a + 10 * SECOND, b + 10 * SECOND + more));
    }
    let mut estimates = of_hop(&readings);
    let found = fit(&mut estimates).clone();
    assert_eq!(found.steps, []);
    // The rate is between both, and not known well enough to be called a drift.
    assert!((found.rate - 1.0002).abs() < 2e-5, "{}", found.rate);
    assert_eq!(found.drift_ppm(), None);
    let end = 120 * SECOND;
    let [(_, at_end, _), (_, later, _)] =
        [end, end + SECOND].map(|value| at(&mut estimates, value));
    assert!((400e3..500e3).contains(&(later - at_end)), "{at_end} {later}");
}

#[test]
fn r37_a_drift_is_stated_only_if_it_is_known() {
    let of = |offsets: &[i64]| {
        let mut estimates = of_hop(&ahead_by(offsets));
        let fit = fit(&mut estimates);
        (fit.drift_ppm(), fit.drift_error_ppm())
    };
    // 30 ppm in a second, when one of two readings may be 1.5 µs off; and 1 ppm.
    let (drift, error) = of(&[0, 30_000]);
    assert!((29.9..30.0).contains(&drift.unwrap()) && (2.1..2.2).contains(&error.unwrap()));
    assert_eq!(of(&[0, 1_000]), (None, None));
    // Ten of them show it.
    let many: Vec<i64> = (0..10).map(|second| second * 1_000).collect();
    let (drift, error) = of(&many);
    assert!((drift.unwrap() - 1.0).abs() < 0.001 && error.unwrap() < 0.1);
    assert_eq!(of(&[0]), (None, None));
}

/// A hop of few snapshots: a clock with a rate that is off by up to so many ppm, and readings that
/// are late.
fn snapshots(most_ppm: f64) -> impl Strategy<Value = Vec<(i64, i64)>> {
    let gap = (10_000f64.ln()..2e9f64.ln()).prop_map(|ln| ln.exp() as i64);
    let late = 0i64..200;
    let each = prop::collection::vec((gap, late), 2..=9);
    (each, -most_ppm..=most_ppm, prop::bool::ANY).prop_map(|(each, ppm, is_micros)| {
        let mut a = 0;
        let of = each.into_iter().map(|(gap, late)| {
            a += gap;
            let b = a + (a as f64 * ppm * 1e-6) as i64 + late;
            (if is_micros { (BEGIN[0] + a) / 1000 * 1000 - BEGIN[0] } else { a }, b)
        });
        of.collect()
    })
}

/// The bounds of a hop: in the middle of its gaps, and after its last reading.
fn bounds(readings: &[(i64, i64)], values: &[i64], [from, to]: [Clock; 2]) -> Vec<f64> {
    let mut estimates = of_pairs(&[(from, to, since(readings))]);
    let at = |&value: &i64| estimates.at(from, ClockNs(BEGIN[0] + value), to).unwrap().error_ns;
    values.iter().map(at).collect()
}

#[test]
fn r36_one_more_snapshot_makes_no_bound_much_larger() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, TestRunner};
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        ),
    );
    let mut worst = Vec::new();
    for number in 0..4 * hops() {
        let (clocks, most_ppm) = match number % 3 {
            0 => ([custom(), BOOTTIME], 100.0),
            // Clocks of one timekeeper never drift apart.
            1 => ([monotonic(), BOOTTIME], 0.0),
            _ => ([Clock::host(5), BOOTTIME], 100.0),
        };
        let readings = snapshots(most_ppm).new_tree(&mut runner).unwrap().current();
        let (before, last) = (&readings[..readings.len() - 1], readings[readings.len() - 1].0);
        let first = readings[0].0;
        let middle = first + (last - first) / 2;
        let values = [first - SECOND, first, middle, last, last + SECOND, last + 10 * SECOND];
        let [few, more] = [before, &readings].map(|of| bounds(of, &values, clocks));
        let grown = few.iter().zip(&more).map(|(few, more)| more / few);
        worst.push((
            grown.fold(0.0, f64::max),
            (few, more),
            readings.clone(),
            clocks.map(|clock| clock.id),
        ));
    }
    worst.sort_by(|one, other| one.0.total_cmp(&other.0));
    let last = &worst[worst.len() - 1];
    let most = &worst[worst.len() * 99 / 100];
    assert!(last.0 <= 20.0, "{last:?} {}", most.0);
    assert!(most.0 <= 6.0, "{most:?}");
}

#[test]
fn r31_r33_hostile_readings_do_not_overflow() {
    let host = Clock::host;
    let far =
        [(0, i64::MAX), (1, 0), (i64::MAX / 2, i64::MAX), (i64::MAX - 1, 1), (i64::MAX, i64::MAX)];
    for clocks in
        [[custom(), BOOTTIME], [monotonic(), BOOTTIME], [host(2), host(1)], [host(9), BOOTTIME]]
    {
        for count in 1..=far.len() {
            let mut estimates = of_pairs(&[(clocks[0], clocks[1], far[..count].to_vec())]);
            for value in [0, 1, i64::MAX / 3, i64::MAX - 1, i64::MAX, i64::MIN] {
                let _ = estimates.at(clocks[0], ClockNs(value), clocks[1]);
                let _ = estimates.explain(clocks[0], ClockNs(value), clocks[1]);
            }
            assert!(estimates.lines(clocks[0], clocks[1]).unwrap().count() >= 2);
        }
    }
}

//! Rule R9: hops between machines that asked each other for the time.

use proptest::prelude::*;

use super::naive::median as naive_median;
use super::{Asked, SECOND};
use crate::clock::{Clock, ClockId, MachineId};
use crate::graph::ClockGraph;
use crate::linear::{LineKind, Sample};
use crate::snapshot::{Reading, Source};
use crate::time::ClockNs;

const HOST: Clock = Clock::BOOTTIME;
const GUEST: Clock = Clock { machine: MachineId(1), ..Clock::BOOTTIME };

fn reading(clock: Clock, value: i64) -> Reading {
    Reading { clock, value, unit: 1, incremental: false }
}

/// A guest and its host, with one pair of rule X21, which is far off.
fn of_samples(samples: &[Sample]) -> (Asked, Vec<bool>) {
    let mut graph = ClockGraph::new();
    let pair = [reading(GUEST, 7), reading(HOST, 3600 * SECOND)];
    graph.add_snapshot(Source::RemoteSync, &pair, None).unwrap();
    let mut estimates = Asked::new(graph);
    let used = estimates.estimates.add_sync(GUEST, HOST, samples);
    (estimates, used)
}

/// The samples of consecutive synchronizations (rule X20), from (client, host) in ns: every two
/// neighbours are a round.
fn rounds(synchronized: &[(i64, i64)]) -> Vec<Sample> {
    let of = |pair: &[(i64, i64)]| {
        let ((c1, h1), (c2, h2)) = (pair[0], pair[1]);
        if c2 - c1 >= 30 * SECOND || c2 < c1 {
            return vec![];
        }
        let sample = |host_value, offset, trip: i64| Sample {
            host_value,
            offset,
            half_round_trip: trip / 2,
        };
        let middle = (h1 + h2) / 2;
        vec![sample(h1, (c1 + c2) / 2 - h1, c2 - c1), sample(middle, c2 - middle, h2 - h1)]
    };
    synchronized.windows(2).flat_map(of).collect()
}

fn sample(host_value: i64, offset: i64, half_round_trip: i64) -> Sample {
    Sample { host_value, offset, half_round_trip }
}

/// The time of a guest's reading on the host, and its possible error.
fn at(estimates: &mut Asked, value: i64) -> (i64, f64, LineKind) {
    let estimate = estimates.at(GUEST, ClockNs(value), HOST).unwrap();
    (estimate.value.0, estimate.error_ns, estimate.kind)
}

#[test]
fn r9_xe4_a_round_is_two_samples_of_which_one_is_used() {
    let (client, host) =
        ([50 * SECOND, 50 * SECOND + 3_000], [2 * SECOND + 1_000, 2 * SECOND + 4_000]);
    let samples = rounds(&[(client[0], host[0]), (client[1], host[1])]);
    let offset = 48 * SECOND + 500;
    assert_eq!(samples, [sample(host[0], offset, 1_500), sample(host[0] + 1_500, offset, 1_500)]);
    let (mut estimates, used) = of_samples(&samples);
    assert_eq!(used, [true, false]);
    let (to, error, _) = at(&mut estimates, 50 * SECOND + SECOND / 10);
    assert_eq!(to, 2_099_999_500);
    // One sample shows no rate: 500 ppm, plus 0.1 ppm.
    assert!((error - 1_500.0 - 0.099_998 * 500.1e3).abs() < 1.0, "{error}");
}

#[test]
fn r9_xe4_a_false_round_does_not_matter() {
    let second = |seconds: f64| (seconds * 1e9).round() as i64;
    let synchronized =
        [(50.0, 2.0), (50.000_002, 2.000_002), (60.0, 12.0), (60.000_002, 12.000_002)];
    let samples = rounds(&synchronized.map(|(client, host)| (second(client), second(host))));
    assert_eq!(samples.len(), 6);
    assert_eq!(samples[2].half_round_trip, 4_999_999_000);
    let (mut estimates, used) = of_samples(&samples);
    assert_eq!(used, [true, false, false, false, true, false]);
    let (to, error, kind) = at(&mut estimates, 61 * SECOND);
    assert_eq!((to, kind), (12_999_999_000, LineKind::After));
    // Half a round trip, and the error of the rate that two of them leave in 10 s.
    assert!((1_000.0..1_500.0).contains(&error), "{error}");
    // In between, half a round trip.
    let (to, error, kind) = at(&mut estimates, 55 * SECOND);
    assert_eq!((to, kind), (6_999_999_000, LineKind::Line));
    assert!((1_000.0..2_100.0).contains(&error), "{error}");
}

#[test]
fn r9_xe4_drift_is_followed() {
    let samples = [
        sample(2 * SECOND, 48_000_001_000, 1_000),
        sample(2 * SECOND + 1_000, 48_000_001_000, 1_000),
        sample(62 * SECOND, 48_006_001_000, 1_000),
        sample(62 * SECOND + 1_000, 48_006_001_000, 1_000),
    ];
    let (mut estimates, used) = of_samples(&samples);
    assert_eq!(used, [true, false, true, false]);
    let (to, error, _) = at(&mut estimates, 110_006_000_000);
    assert_eq!(to, 61_999_999_000);
    assert!((1_000.0..1_001.0).contains(&error), "{error}");
    let fit = estimates.fit(GUEST, HOST).unwrap();
    assert!((fit.drift_ppm().unwrap() + 99.99).abs() < 1e-3);
    assert_eq!((fit.readings, fit.steps.len(), fit.outliers.len()), (2, 0, 0));
    // No snapshot has the values of a sample.
    let hops = estimates.explain(GUEST, ClockNs(60 * SECOND), HOST).unwrap();
    let around =
        (Some((None, 50_000_001_000, 2 * SECOND)), Some((None, 110_006_001_000, 62 * SECOND)));
    assert_eq!((hops[0].before, hops[0].after), around);
}

#[test]
fn r9_which_samples_are_used() {
    let offset = 48 * SECOND;
    for (samples, expected) in [
        // An error of the recorder; twice the same; a value that does not fit 64 bits.
        (
            vec![sample(0, offset, -1), sample(5, offset, 0), sample(5, offset, 0)],
            vec![false, true, false],
        ),
        (vec![sample(i64::MAX, offset, 1)], vec![false]),
        // A slow round among fast ones that do not contradict it, and one that they do contradict.
        (
            vec![
                sample(0, offset, 100),
                sample(30 * SECOND, offset + 9_000, 10_000),
                sample(60 * SECOND, offset, 100),
            ],
            vec![true, false, true],
        ),
        (
            vec![
                sample(0, offset, 100),
                sample(30 * SECOND, offset + 20_000, 10_000),
                sample(60 * SECOND, offset, 100),
            ],
            vec![true, true, true],
        ),
        // A round that is slower by less than the error of those around it: 100 ns and 0.1 ppm of
        // 30 s.
        (
            vec![
                sample(0, offset, 100),
                sample(30 * SECOND, offset, 6_000),
                sample(60 * SECOND, offset, 100),
            ],
            vec![true, true, true],
        ),
        // At an end.
        (
            vec![
                sample(0, offset, 100),
                sample(30 * SECOND, offset, 100),
                sample(60 * SECOND, offset, 10_000),
            ],
            vec![true, true, false],
        ),
        // Too close for a rate, which is 500 ppm of 2 s; unless the guest's clock was set.
        (
            vec![sample(0, offset, 600_000), sample(2 * SECOND, offset + 1_000, 400_001)],
            vec![false, true],
        ),
        (
            vec![sample(0, offset, 600_000), sample(2 * SECOND, offset + 1_000, 400_000)],
            vec![true, true],
        ),
        (
            vec![sample(0, offset, 600_000), sample(2 * SECOND, offset + SECOND, 600_000)],
            vec![true, true],
        ),
    ] {
        assert_eq!(of_samples(&samples).1, expected, "{samples:?}");
    }
    let coarse = Clock { id: ClockId::REALTIME_COARSE, ..GUEST };
    let host = Clock { machine: MachineId::HOST, ..coarse };
    // A tick of 10 ms for each: 500 ppm of 40 s.
    let samples =
        [sample(0, offset, 5), sample(39 * SECOND, offset, 5), sample(40 * SECOND, offset, 5)];
    let used = Asked::default().estimates.add_sync(coarse, host, &samples);
    assert_eq!(used, [true, false, true]);
}

#[test]
fn r9_a_clock_that_was_set_is_a_step() {
    let minute = 60 * SECOND;
    let offsets = [0, 0, 0, minute, minute, minute];
    let samples = (0..)
        .zip(offsets)
        .map(|(half_minutes, ahead)| sample(half_minutes * 30 * SECOND, SECOND + ahead, 5_000));
    let (mut estimates, used) = of_samples(&samples.collect::<Vec<_>>());
    assert_eq!(used, [true; 6]);
    let steps = &estimates.fit(GUEST, HOST).unwrap().steps;
    assert_eq!((steps.len(), steps[0].snapshot), (1, None));
    let (to, error, kind) = at(&mut estimates, 62 * SECOND);
    assert_eq!((to, kind), (61 * SECOND, LineKind::Step));
    assert!(error >= 0.999_999 * minute as f64);
    let (to, _, kind) = at(&mut estimates, SECOND + minute + 130 * SECOND);
    assert_eq!((to, kind), (130 * SECOND, LineKind::Line));
}

#[test]
fn r9_other_sources_and_clocks_have_no_samples() {
    for source in [Source::Manifest, Source::Service, Source::Bundle] {
        let mut graph = ClockGraph::new();
        let pair = [reading(GUEST, 100), reading(HOST, 200)];
        graph.add_snapshot(source, &pair, None).unwrap();
        graph.add_snapshot(Source::RemoteSync, &pair, None).unwrap();
        let mut estimates = Asked::new(graph);
        estimates.estimates.add_sync(GUEST, HOST, &[sample(0, 5_000, 100)]);
        // The pairs of rule X21 come later.
        let expected = if source == Source::Bundle { -4_900 } else { 200 };
        assert_eq!(at(&mut estimates, 100).0, expected, "{source:?}");
    }
    let (mut estimates, used) = of_samples(&[sample(0, 5_000, -1)]);
    assert_eq!(used, [false]);
    assert_eq!(at(&mut estimates, 7).0, 3600 * SECOND);
    // Later samples count, and data about them is not remembered wrongly.
    estimates.estimates.add_sync(GUEST, HOST, &[sample(0, 5_000, 100)]);
    estimates.cache.forget();
    assert_eq!(at(&mut estimates, 5_007).0, 7);
    assert_eq!(estimates.lines_at_most(GUEST, HOST), Ok(4));
}

#[test]
fn r10_what_is_told_of_one_machine_is_exact() {
    let clock = Clock::host(200);
    let mut graph = ClockGraph::new();
    let pair = [reading(clock, 0), reading(HOST, 500)];
    graph.add_snapshot(Source::Manifest, &pair, None).unwrap();
    let day = ClockNs(86_400 * SECOND);
    let told = Asked::new(graph).at(clock, day, HOST).unwrap();
    assert_eq!(told.value, ClockNs(86_400 * SECOND + 500));
    assert_eq!((told.error(), told.kind), (Some(100), LineKind::After));
}

#[test]
fn r10_what_is_told_of_two_machines_or_assumed_has_no_error() {
    for source in [Source::Manifest, Source::Assumed] {
        let mut graph = ClockGraph::new();
        let pair = [reading(GUEST, 0), reading(HOST, 500)];
        graph.add_snapshot(source, &pair, None).unwrap();
        let beyond = [reading(HOST, 0), reading(Clock::host(3), 7)];
        graph.add_snapshot(Source::Service, &beyond, None).unwrap();
        let mut estimates = Asked::new(graph);
        let day = 86_400 * SECOND;
        let estimate = estimates.at(GUEST, ClockNs(day), HOST).unwrap();
        assert_eq!((estimate.value, estimate.error()), (ClockNs(day + 500), None));
        assert_eq!(estimate.interval(), None);
        // The same holds if the path continues.
        let estimate = estimates.at(GUEST, ClockNs(day), Clock::host(3)).unwrap();
        assert_eq!((estimate.value, estimate.error()), (ClockNs(day + 507), None));
        let lines: Vec<_> = estimates.lines(GUEST, Clock::host(3)).unwrap().collect();
        assert!(lines.iter().all(|line| line.known_error().is_none() && line.offset == Some(507)));
        assert!(lines.iter().all(|line| line.error_slope == 0.0 && line.slope == 0.0));
        let hops = estimates.explain(GUEST, ClockNs(5), Clock::host(3)).unwrap();
        assert_eq!(
            hops.iter().map(|hop| hop.error_ns.is_finite()).collect::<Vec<_>>(),
            [false, true]
        );
    }
}

/// The samples that the rule uses, as (host, offset, bound), computed by the rule alone.
fn naive_used(samples: &[Sample]) -> Vec<(i64, i64, f64)> {
    let mut order: Vec<(i64, i64, i64)> = samples
        .iter()
        .filter(|sample| sample.half_round_trip >= 0)
        .map(|sample| (sample.half_round_trip.max(100), sample.host_value, sample.offset))
        .collect();
    order.sort_unstable();
    let mut used: Vec<(i64, i64, f64)> = Vec::new();
    for (bound, host, offset) in order {
        let bound = bound as f64;
        let slack = |other: &(i64, i64, f64)| bound + other.2;
        let far = |other: &(i64, i64, f64)| 500e-6 * (other.0 - host).abs() as f64;
        let apart = |other: &(i64, i64, f64)| (other.1 - offset).abs() as f64;
        let place = used.partition_point(|other| other.0 < host);
        let beside = used[place.saturating_sub(1)..used.len().min(place + 1)].iter();
        let mut near = beside.filter(|&other| {
            other.0 == host
                || slack(other) > far(other) && apart(other) <= far(other) + slack(other)
        });
        if near.next().is_some() {
            continue;
        }
        let line = match (place, used.len() - place) {
            (0, 0 | 1) | (1, 0) => None,
            (0, _) => Some(0),
            (_, 0) => Some(place - 2),
            _ => Some(place - 1),
        };
        let says_more = line.is_some_and(|line| {
            let Some((rate, unsure)) = naive_gap(&used, line) else {
                return false;
            };
            let is_between = line + 1 == place;
            let beside = [line.checked_sub(1), Some(line + 1)].into_iter().flatten();
            let changes = beside.filter(|_| is_between).filter_map(|gap| naive_gap(&used, gap));
            let changes = changes.map(|(other, also)| (rate - other).abs() - unsure - also);
            let wander = changes.fold(1e-7, f64::max);
            let (first, second) = (used[line], used[line + 1]);
            let near = (first.0 - host).abs().min((second.0 - host).abs()) as f64;
            let grows = if is_between { wander } else { wander + unsure };
            let promised = first.2.max(second.2) + grows * near;
            let off = (offset - first.1) as f64 - rate * (host - first.0) as f64;
            2.0 * promised <= bound && off.abs() <= bound + promised
        });
        if !says_more {
            used.insert(place, (host, offset, bound));
        }
    }
    used
}

/// The rate of the offset in a gap, and its possible error; `None` for a step, or if there is no
/// such gap.
fn naive_gap(used: &[(i64, i64, f64)], gap: usize) -> Option<(f64, f64)> {
    let (from, to) = (used.get(gap)?, used.get(gap + 1)?);
    let (span, grown) = ((to.0 - from.0) as f64, (to.1 - from.1) as f64);
    let slack = from.2 + to.2;
    (grown.abs() <= 500e-6 * span + slack).then_some((grown / span, slack / span))
}

/// The estimate and its error at a value of the host's clock, in a gap or beyond the ends.
fn naive_at(used: &[(i64, i64, f64)], host: i64) -> (f64, f64) {
    let gaps: Vec<_> = (0..used.len() - 1).map(|gap| naive_gap(used, gap)).collect();
    let usual_unsure = naive_median(gaps.iter().flatten().map(|gap| gap.1).collect());
    let tells = |gap: Option<usize>| {
        let (rate, unsure) = (*gaps.get(gap?)?)?;
        (unsure <= 10.0 * usual_unsure?).then_some(rate)
    };
    let rates: Vec<f64> = (0..gaps.len()).filter_map(|gap| tells(Some(gap))).collect();
    let usual = naive_median(rates.clone()).unwrap_or(0.0);
    let wander = |gap: usize| -> Option<f64> {
        let (own, _) = gaps[gap]?;
        let beside = [gap.checked_sub(1), Some(gap + 1)].into_iter().filter_map(tells);
        let most = beside.map(|rate| (rate - own).abs()).max_by(f64::total_cmp);
        Some(most.unwrap_or((usual - own).abs()).max(1e-7))
    };
    let wanders: Vec<f64> = (0..gaps.len()).filter_map(wander).collect();
    let least = naive_median(wanders).map_or(1e-7, |median| 2.0 * median);
    let outside = |end: (i64, i64, f64)| {
        let far = (host - end.0) as f64;
        let spread = rates.iter().map(|rate| (rate - usual).abs()).fold(0.0, f64::max);
        let grows = spread + least + usual_unsure.unwrap_or(500e-6);
        (end.1 as f64 + usual * far, end.2 + grows * far.abs())
    };
    let after = used.partition_point(|sample| sample.0 <= host);
    if after == 0 {
        return outside(used[0]);
    }
    let Some(&next) = used.get(after) else {
        return outside(used[after - 1]);
    };
    let (gap, last) = (after - 1, used[after - 1]);
    let bound = last.2.max(next.2);
    match (gaps[gap], wander(gap)) {
        (Some((rate, _)), Some(wander)) => {
            let near = (host - last.0).min(next.0 - host) as f64;
            let ahead = last.1 as f64 + rate * (host - last.0) as f64;
            (ahead, bound + wander.max(least) * near)
        }
        _ => {
            let start = (0..gap).rev().find(|&gap| gaps[gap].is_none()).map_or(0, |step| step + 1);
            let before = (start..gap).filter_map(|gap| tells(Some(gap))).collect();
            let rate = naive_median(before).unwrap_or(usual);
            let ahead = last.1 as f64 + rate * (host - last.0) as f64;
            let span = (next.0 - last.0) as f64;
            let missed = ((next.1 - last.1) as f64 - rate * span).abs();
            let later = naive_gap(used, gap + 1).map_or(usual, |(rate, _)| rate);
            let changes = gaps.get(gap + 1).and_then(|_| wander(gap + 1)).unwrap_or(0.0);
            let unsure = (rate - later).abs() + changes.max(least);
            (ahead, bound + missed + unsure * span)
        }
    }
}

/// Rounds of any quality: sometimes two in quick succession, slow ones, the guest's clock set.
fn any_samples() -> impl Strategy<Value = Vec<Sample>> {
    let gap = prop_oneof![
        6 => 1_000_000_000i64..60_000_000_000,
        2 => 0i64..5_000,
        1 => 1_000_000i64..50_000_000,
    ];
    let bound = prop_oneof![6 => 0i64..20_000, 2 => 20_000i64..9_000_000, 1 => Just(-5i64)];
    let off = -1.3f64..1.3;
    let step = prop_oneof![20 => Just(0i64), 1 => -2_000_000_000i64..5_000_000_000];
    let each = prop::collection::vec((gap, -2.0f64..2.0, bound, off, step), 1..40);
    (-60.0f64..60.0, each).prop_map(|(mut drift, each)| {
        let (mut host, mut ahead) = (0, 5e9);
        let mut samples = Vec::new();
        for (gap, wander, bound, off, step) in each {
            samples.push(sample(host, (ahead + off * bound as f64) as i64, bound));
            drift += wander;
            ahead += drift * 1e-6 * gap as f64 + step as f64;
            host += gap;
        }
        samples
    })
}

/// The guest's reading when the host's clock reads this value.
fn back(estimates: &mut Asked, host: i64) -> (i64, f64) {
    let estimate = estimates.at(HOST, ClockNs(host), GUEST).unwrap();
    (estimate.value.0, estimate.error_ns)
}

proptest! {
    #[test]
    fn r9_a_hop_is_what_the_rule_says(samples in any_samples()) {
        let expected = naive_used(&samples);
        let (mut estimates, used) = of_samples(&samples);
        let mut found: Vec<_> = samples
            .iter()
            .zip(&used)
            .filter(|(_, used)| **used)
            .map(|(sample, _)| (sample.host_value, sample.offset, sample.half_round_trip.max(100) as f64))
            .collect();
        found.sort_unstable_by_key(|found| found.0);
        prop_assert_eq!(&found, &expected);
        if expected.is_empty() {
            return Ok(());
        }
        // Used samples are used again, as when a database is read.
        let kept: Vec<Sample> = samples.iter().zip(&used).filter(|(_, used)| **used).map(|(sample, _)| *sample).collect();
        let (mut again, _) = of_samples(&[]);
        again.estimates.add_used_sync(GUEST, HOST, kept);
        let hosts = expected.windows(2).flat_map(|pair| {
            let (a, b) = (pair[0].0, pair[1].0);
            [a - 1, a, a + 1, a + (b - a) / 3, a + (b - a) / 2, b - 1]
        });
        let ends = [expected[0].0 - 7 * SECOND, expected[expected.len() - 1].0 + 9 * SECOND];
        for host in hosts.chain(ends) {
            let (ahead, error) = naive_at(&expected, host);
            let (to, stated) = back(&mut estimates, host);
            prop_assert!((to as f64 - host as f64 - ahead).abs() <= 1.01, "{host}: {to} {ahead}");
            prop_assert!((stated - error).abs() <= 0.1 + error * 1e-5, "{host}: {stated} {error}");
            prop_assert_eq!(back(&mut again, host), (to, stated));
        }
    }

    #[test]
    fn r9_what_follows_from_the_rule(samples in any_samples()) {
        let expected = naive_used(&samples);
        let (mut estimates, _) = of_samples(&samples);
        // If the guest's clock was set back, it showed the same reading twice.
        let is_forward = expected.windows(2).all(|pair| pair[0].0 + pair[0].1 < pair[1].0 + pair[1].1);
        for (&(host, offset, bound), next) in expected.iter().zip(expected.iter().skip(1).map(Some).chain([None])) {
            // At a used sample, the result is that sample, with an error of at least half its round
            // trip.
            let (to, stated) = back(&mut estimates, host);
            prop_assert_eq!(to, host + offset);
            prop_assert!(stated >= bound);
            let Some(&next) = next else { continue };
            if naive_gap(&[(host, offset, bound), next], 0).is_none() {
                continue;
            }
            // Continuous and increasing up to the next sample, and invertible.
            let span = next.0 - host;
            let parts = (0..64).map(|part| host + span / 64 * part);
            let hosts: Vec<i64> = parts.chain([next.0 - 1, next.0]).collect();
            let guests: Vec<i64> = hosts.iter().map(|&host| back(&mut estimates, host).0).collect();
            prop_assert!(guests.is_sorted(), "{hosts:?} {guests:?}");
            let last = &guests[guests.len() - 2..];
            prop_assert!(last[1] - last[0] <= 2);
            if is_forward {
                for (&host, &guest) in hosts.iter().zip(&guests) {
                    let (to, _, kind) = at(&mut estimates, guest);
                    prop_assert!((to - host).abs() <= 1 || kind == LineKind::Step, "{host} {guest} {to}");
                }
            }
        }
    }

    #[test]
    fn r9_no_samples_break_it(
        samples in prop::collection::vec((any::<i64>(), any::<i64>(), any::<i64>()), 0..12),
        values in prop::collection::vec(any::<i64>(), 12),
    ) {
        let samples: Vec<Sample> = samples.into_iter().map(|(host, offset, half)| sample(host, offset, half)).collect();
        let (mut estimates, _) = of_samples(&samples);
        let kept = samples.iter().copied().filter(|sample| sample.half_round_trip >= 0).collect();
        for value in values {
            let _ = estimates.at(GUEST, ClockNs(value), HOST);
            let _ = estimates.at(HOST, ClockNs(value), GUEST);
        }
        estimates.estimates.add_used_sync(GUEST, HOST, kept);
        let lines = estimates.lines(GUEST, HOST).unwrap().count();
        prop_assert!(lines <= estimates.lines_at_most(GUEST, HOST).unwrap() + 1, "{lines}");
    }
}

struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// The behaviour of a guest's clock and of messages, in ns except for the ppm.
#[derive(Debug)]
struct Link {
    drift: f64,
    wander: f64,
    there: f64,
    back: f64,
    jitter: f64,
    every: f64,
}

/// The simulation of a link for half an hour, and the errors of the estimates.
#[derive(Debug)]
struct Outcome {
    /// The share within the stated error.
    inside: f64,
    mean: f64,
    /// The median.
    stated: f64,
}

fn simulated(link: &Link, seed: u64) -> Outcome {
    const SECONDS: usize = 1800;
    let mut random = Random(seed);
    let (mut rate, mut ahead) = (link.drift, vec![48e9]);
    for second in 0..SECONDS {
        rate += link.wander * 1e-6 * random.normal();
        ahead.push(ahead[second] + rate * 1e9);
    }
    let client = |t: f64| {
        let second = ((t / 1e9) as usize).min(SECONDS - 1);
        let part = t / 1e9 - second as f64;
        t + ahead[second] + part * (ahead[second + 1] - ahead[second])
    };
    let mut synchronized = Vec::new();
    let mut t = 2e9;
    while t < 1700e9 {
        let slow = if random.uniform() < 0.1 { 50.0 } else { 1.0 };
        let mut delay = |base: f64| slow * (base + random.exponential(link.jitter));
        let asked = t + delay(link.there);
        let answered = asked + delay(link.back);
        let told = answered + delay(link.there);
        let readings = [(client(t), asked), (client(answered), told)];
        synchronized.extend(readings.map(|(client, host)| (client as i64, host as i64)));
        // Some follow soon after another round, and make a false round with it.
        t = told + link.every * if random.uniform() < 0.1 { 0.2e9 } else { 1e9 };
    }
    let (mut estimates, _) = of_samples(&rounds(&synchronized));
    let (mut inside, mut sum, mut stated) = (0, 0.0, vec![]);
    const LOOKS: u32 = 4000;
    for _ in 0..LOOKS {
        let t = 1e9 + random.uniform() * 1790e9;
        let (to, error, _) = at(&mut estimates, client(t) as i64);
        let off = (to as f64 - t).abs();
        // The rounding of the readings, their middles and the result.
        inside += u32::from(off <= error + 3.0);
        sum += off;
        stated.push(error);
    }
    Outcome {
        inside: f64::from(inside) / f64::from(LOOKS),
        mean: sum / f64::from(LOOKS),
        stated: naive_median(stated).unwrap(),
    }
}

/// Drift and wander of a clock in ppm and ppm/√s, against delays in both directions, jitter and its
/// frequency, in ns.
#[test]
fn r9_what_is_stated_holds_and_is_not_much_too_large() {
    for (drift, wander) in [(100e-6, 0.0), (-30e-6, 0.02), (50e-6, 0.2), (5e-6, 1.0)] {
        for (there, back, jitter) in
            [(1e3, 1e3, 500.0), (50e3, 50e3, 50e3), (20e3, 200e3, 1e3), (1e6, 1e6, 5e6)]
        {
            for (seed, every) in [(1, 30.0), (2, 30.0), (3, 120.0)] {
                let link = Link { drift, wander, there, back, jitter, every };
                let outcome = simulated(&link, seed);
                assert!(outcome.inside >= 0.999, "{link:?} {outcome:?}");
                // On an even and fast link, half a round trip; otherwise the movement of the rate.
                let trip = there.max(back) + 2.0 * jitter;
                let wanders = wander * 1e3 * every.powf(1.5);
                assert!(outcome.mean <= trip + 2.0 * wanders, "{link:?} {outcome:?}");
                assert!(
                    outcome.stated <= 3.0 * trip + 0.1e3 * every + 4.0 * wanders,
                    "{link:?} {outcome:?}"
                );
            }
        }
    }
}

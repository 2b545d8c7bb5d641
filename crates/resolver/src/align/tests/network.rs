//! Rules AL17 and AL19.

use super::*;

/// What clock `clock` shows at a true time, in ns.
fn shows(clock: usize, t: i64) -> i64 {
    t + [0, 3_000_000_000, -20_000][clock] + t / 1_000_000 * [0, 30, -10][clock]
}

/// Messages that take 100 µs and more, each 100 ms.
fn talk(dice: &mut Dice, (a, b): (usize, usize), directions: &[Direction]) -> AlignedPair {
    let mut messages = Vec::new();
    for round in 0..100 {
        for &direction in directions {
            let sent = round * SECOND / 10 + dice.between(0, SECOND / 20);
            let arrived = sent + 100_000 + dice.between(0, 50_000);
            let (from, to) = if direction == A_TO_B { (a, b) } else { (b, a) };
            let (sent, arrived) = (shows(from, sent), shows(to, arrived));
            messages.push(Message { direction, sent, arrived, ..message(direction, 0, 0) });
        }
    }
    AlignedPair { a, b, alignment: solved(&messages) }
}

fn truth(from: usize, to: usize, t: i64) -> (i64, i64) {
    (shows(from, t), shows(to, t) - shows(from, t))
}

#[test]
fn al17_chains_carry_and_rings_bound_both_sides() {
    let mut dice = Dice::new(1);
    let chain = vec![
        talk(&mut dice, (1, 0), &[A_TO_B, B_TO_A]),
        talk(&mut dice, (1, 2), &[A_TO_B, B_TO_A]),
    ];
    let ring = [(0, 1), (1, 2), (2, 0)].map(|pair| talk(&mut dice, pair, &[A_TO_B])).to_vec();
    for (pairs, most) in [(chain, 500_000), (ring, 700_000)] {
        let network = Network::new(3, pairs, &[], &[]);
        assert_eq!(network.dropped(), [0usize; 0]);
        for t in (1..9).map(|second| second * SECOND) {
            for (from, to) in [(0, 2), (2, 0), (0, 1), (1, 2)] {
                let (at, truth) = truth(from, to, t);
                let Interval { earliest: Some(least), latest: Some(most_at) } =
                    network.interval(from, to, at)
                else {
                    panic!()
                };
                assert!(least <= truth && truth <= most_at, "{least} {truth} {most_at}");
                assert!(most_at - least < most, "{}", most_at - least);
                let estimate = network.estimate(from, to, at).unwrap();
                assert!((estimate - truth).abs() < 50_000, "{estimate} {truth}");
                assert!(least <= estimate && estimate <= most_at);
            }
        }
        assert!(network.knots(2).len() > 10);
    }
}

#[test]
fn al17_a_loop_tightens_and_the_estimate_satisfies_all_pairs() {
    let mut dice = Dice::new(2);
    let both = [A_TO_B, B_TO_A];
    let pairs: Vec<AlignedPair> =
        [(0, 1), (1, 2), (0, 2)].map(|pair| talk(&mut dice, pair, &both)).to_vec();
    let network = Network::new(3, pairs.clone(), &[], &[]);
    for pair in &pairs {
        for t in (0..200).map(|part| part * SECOND / 20) {
            let at = shows(pair.a, t);
            let (alone, all) = (pair.alignment.interval(at), network.interval(pair.a, pair.b, at));
            let estimate = network.estimate(pair.a, pair.b, at).unwrap();
            assert!(all.earliest >= alone.earliest && all.latest <= alone.latest);
            // A nanosecond of rounding.
            assert!(all.earliest <= Some(estimate + 1) && Some(estimate - 1) <= all.latest);
        }
    }
}

#[test]
fn al17_measured_relations_and_clocks_that_nothing_relates() {
    let mut dice = Dice::new(3);
    let pairs = vec![talk(&mut dice, (0, 1), &[A_TO_B, B_TO_A])];
    let readings = vec![(0, -20_000, 50), (10 * SECOND, -120_000, 50)];
    let measured = [MeasuredPair { a: 0, b: 2, readings }];
    let network = Network::new(4, pairs, &measured, &[]);
    let (at, truth) = truth(1, 2, 5 * SECOND);
    let estimate = network.estimate(1, 2, at).unwrap();
    assert!((estimate - truth).abs() < 30_000, "{estimate} {truth}");
    assert_eq!(network.interval(0, 2, 5 * SECOND).latest, Some(-69_950));
    assert_eq!(network.estimate(0, 3, SECOND), None);
    assert_eq!(network.interval(0, 3, SECOND), Interval::default());
}

#[test]
fn al17_a_loop_that_contradicts_itself_loses_its_worst_pair() {
    let mut dice = Dice::new(4);
    let both = [A_TO_B, B_TO_A];
    let mut pairs: Vec<AlignedPair> =
        [(0, 1), (1, 2), (0, 2)].map(|pair| talk(&mut dice, pair, &both)).to_vec();
    // 0 and 2 are related as 0 and 1 are.
    pairs[2].alignment = pairs[0].alignment.clone();
    let network = Network::new(3, pairs.clone(), &[], &[]);
    assert!(network.is_contradictory(0) && network.estimate(0, 1, SECOND).is_none());
    assert_eq!(network.interval(0, 1, SECOND), Interval::default());
    pairs[2].alignment.violated = 1;
    let network = Network::new(3, pairs, &[], &[]);
    assert_eq!(network.dropped(), [2]);
    assert!(!network.is_contradictory(0) && network.estimate(0, 1, SECOND).is_some());
}

#[test]
fn al19_ends_of_collectives_move_the_estimate_not_the_interval() {
    let mut dice = Dice::new(5);
    let mut messages = Vec::new();
    let mut ends = Vec::new();
    // Clock 1 is always 2 ms late, so the middle of the bounds is 1 ms off.
    for round in 0..100 {
        let start = round * SECOND / 10;
        let late = start + 2_000_000;
        let mut end = || late + 100_000 + dice.between(0, 5_000);
        let (end_0, end_1) = (end(), end());
        let message =
            |direction, sent, arrived| Message { sent, arrived, ..message(direction, 0, 0) };
        messages.push(message(A_TO_B, shows(0, start), shows(1, end_1)));
        messages.push(message(B_TO_A, shows(1, late), shows(0, end_0)));
        ends.push(CollectiveEnds(vec![(0, shows(0, end_0)), (1, shows(1, end_1))]));
    }
    let pairs = || vec![AlignedPair { a: 0, b: 1, alignment: solved(&messages) }];
    let (without, with) =
        (Network::new(2, pairs(), &[], &[]), Network::new(2, pairs(), &[], &ends));
    let few = Network::new(2, pairs(), &[], &ends[..7]);
    for t in (1..9).map(|second| second * SECOND) {
        let (at, truth) = truth(0, 1, t);
        let off = |network: &Network| (network.estimate(0, 1, at).unwrap() - truth).abs();
        assert!(off(&without) > 900_000 && off(&with) < 5_000, "{}", off(&with));
        assert_eq!(off(&few), off(&without));
        assert_eq!(with.interval(0, 1, at), without.interval(0, 1, at));
    }
}

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
        let knots = network.knots(&[KnotsOf { from: 0, to: 2, wander: 40e-6 }]);
        assert!(knots.iter().all(|knots| knots.len() > 2));
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

/// What B shows more, when A shows `at`, by the lines through corners, and the interval's distance.
fn by_corners(knots: &[AlignmentKnot], wander: f64, at: i64) -> (f64, f64) {
    let next = knots.partition_point(|knot| knot.value <= at).clamp(1, knots.len() - 1);
    let (before, after) = (knots[next - 1], knots[next]);
    let [gone, left] = [at - before.value, after.value - at].map(|time| time as f64);
    let [from, to] = [before, after].map(|knot| knot.offset.unwrap() as f64);
    let error = before.error().unwrap().max(after.error().unwrap()) as f64;
    (from + (to - from) * gone / (gone + left), error + wander * gone.min(left).max(0.0))
}

#[test]
fn al17_few_corners_tell_what_all_of_them_do() {
    let mut dice = Dice::new(6);
    let both = [A_TO_B, B_TO_A];
    let mut pairs = [(0, 1), (0, 2), (1, 2)].map(|pair| talk(&mut dice, pair, &both)).to_vec();
    // Clocks 1 and 2 know each other to 2 µs, and clock 0 knows them to 100 µs.
    let mut near = Vec::new();
    for round in 0..400 {
        for direction in both {
            let sent = round * SECOND / 40 + dice.between(0, SECOND / 50);
            let arrived = sent + 1_000 + dice.between(0, 3_000);
            let (from, to) = if direction == A_TO_B { (1, 2) } else { (2, 1) };
            let (sent, arrived) = (shows(from, sent), shows(to, arrived));
            near.push(Message { direction, sent, arrived, ..message(direction, 0, 0) });
        }
    }
    pairs[2].alignment = solved(&near);
    let network = Network::new(3, pairs.clone(), &[], &[]);
    for message in &near {
        let (from, to, sent, arrived) = match message.direction {
            Direction::AToB => (1, 2, message.sent, message.arrived),
            Direction::BToA => (2, 1, message.sent, message.arrived),
        };
        let shown = sent + network.estimate(from, to, sent).unwrap();
        assert!(shown <= arrived + 1, "{message:?} {shown}");
    }
    let width = |pair: &AlignedPair| {
        let (least, most) = pair.alignment.rates(pair.alignment.middle()).unwrap();
        most - least
    };
    // The way from 0 to 1 may lead by 2.
    let detour = width(&pairs[2]);
    let asked = [(0, 1), (0, 2), (1, 2)].map(|(from, to)| {
        let direct = pairs.iter().find(|pair| (pair.a, pair.b) == (from, to)).unwrap();
        KnotsOf { from, to, wander: width(direct) + detour }
    });
    for (knots, of) in network.knots(&asked).iter().zip(asked) {
        let mut longer = 0.0;
        // Of 1,200 messages.
        assert!((3..500).contains(&knots.len()), "{of:?} {}", knots.len());
        for t in (10..990).map(|part| part * SECOND / 100) {
            let (at, truth) = truth(of.from, of.to, t);
            let (offset, error) = by_corners(knots, of.wander, at);
            let estimate = network.estimate(of.from, of.to, at).unwrap();
            assert!((offset - estimate as f64).abs() < 2.0, "{of:?} {offset} {estimate}");
            assert!((offset - truth as f64).abs() <= error + 1.0, "{of:?} {offset} {truth}");
            let interval = network.interval(of.from, of.to, at);
            let (least, most) = (interval.earliest.unwrap(), interval.latest.unwrap());
            let far = (most - estimate).max(estimate - least) as f64;
            assert!(far <= error + 2.0, "{of:?} {far} {error}");
            longer += error / far / 980.0;
        }
        // Mostly because an error holds as far as the next corner, and grows on the way.
        assert!(longer < 1.4, "{of:?} {longer}");
    }
}

//! Rules AL, each on a few messages, and in comparison with a model that follows their text.

use std::collections::BTreeSet;

use super::alignment::align_within;
use super::message::{Direction, Message, PairClocks};
use super::sample::Limits;
use super::*;

mod corners;
mod naive;
mod network;
mod random;

use random::{Dice, World};

const SECOND: i64 = 1_000_000_000;
const A_TO_B: Direction = Direction::AToB;
const B_TO_A: Direction = Direction::BToA;

/// A message, in µs.
fn message(direction: Direction, sent_us: i64, arrived_us: i64) -> Message {
    let (sent, arrived) = (sent_us * 1000, arrived_us * 1000);
    Message { direction, sent, arrived, ended: None, packet_out: sent_us, packet_in: arrived_us }
}

fn solved(messages: &[Message]) -> Alignment {
    let Ok(alignment) = align(PairClocks::default(), messages);
    alignment
}

fn outliers(alignment: &Alignment, messages: &[Message]) -> Vec<CausalOutlier> {
    let mut found = Vec::new();
    let Ok(()) = alignment.outliers(messages, &mut |outlier| found.push(outlier));
    found
}

/// The messages of the rules' example.
fn example() -> [Message; 5] {
    [
        message(A_TO_B, 1_000_000, 5_000_300),
        message(B_TO_A, 5_002_100, 1_002_300),
        message(A_TO_B, 60_000_000, 63_900_000),
        message(A_TO_B, 101_000_000, 105_001_250),
        message(B_TO_A, 105_003_050, 101_002_200),
    ]
}

#[test]
fn al1_al9_al10_al12_al14_al16_the_worked_example() {
    let messages = example();
    let alignment = solved(&messages);
    assert_eq!(alignment.sides, Evidence::Both);
    assert_eq!((alignment.messages_ab, alignment.messages_ba), (3, 2));
    assert_eq!((alignment.violated, alignment.suspect, alignment.stretches()), (1, 0, 1));
    let outliers = outliers(&alignment, &messages);
    let [outlier] = outliers[..] else { panic!("{outliers:?}") };
    assert_eq!((outlier.message, outlier.kind), (messages[2], OutlierKind::Violated));
    // lo at 60 s is −200 − 14.5·59 or 850 − 34.5·41 µs.
    assert!((outlier.by - 99_436_000).abs() < 2000, "{outlier:?}");
    let (least, most) = alignment.rates(51 * SECOND).unwrap();
    assert!((least + 14.5e-6).abs() < 1e-8 && (most - 34.5e-6).abs() < 1e-8, "{least} {most}");
    assert!((alignment.rate(51 * SECOND).unwrap() - 10e-6).abs() < 1e-8);
    // Within a fifth of a microsecond: the example's figures leave out what 2 ms of drift change.
    let near =
        |offset: Option<i64>, us: i64| (offset.unwrap() - (4_000_000 + us) * 1000).abs() < 200;
    let interval = alignment.interval(51 * SECOND);
    assert!(near(interval.latest, 1975) && near(interval.earliest, -875), "{interval:?}");
    assert!(near(alignment.estimate(51 * SECOND), 550));
}

#[test]
fn al20_the_worked_example_against_its_wall_clocks() {
    let messages = example();
    let alignment = solved(&messages);
    let Ok(compared) = alignment.compare(&messages[..], &mut |_| Some(4_004_000_000));
    assert_eq!((compared.inverted, compared.inverted_of_all), (2, 3));
    assert_eq!(compared.wrong_by / 1000, 3_700);
    assert_eq!((compared.inverted_ab, compared.worst), (2, Some((1_000_000, 5_000_300))));
    assert_eq!((compared.accepted_ab, compared.accepted_ba), (2, 2));
    assert_eq!(alignment.decision(&compared), Decision::Few);
}

#[test]
fn al18_an_error_explains_a_part_of_the_distance() {
    let messages = example();
    let alignment = solved(&messages);
    let compare = |error| {
        let measured = &mut |_| Some((4_004_000_000, error));
        let Ok(compared) = alignment.compare_measured(&messages[..], measured, &mut |_| {});
        (compared.wrong_by / 1000, compared.unexplained / 1000)
    };
    assert_eq!(compare(0), (3_700, 3_700));
    assert_eq!(compare(700_000), (3_700, 3_000));
    assert_eq!(compare(u64::MAX), (3_700, 0));
}

/// Requests and replies that take 100 µs, a second apart; B shows 4 s more.
fn rounds(count: i64) -> Vec<Message> {
    let round = |second: i64| {
        let sent = second * 1_000_000;
        [message(A_TO_B, sent, sent + 4_000_100), message(B_TO_A, sent + 4_000_300, sent + 400)]
    };
    (0..count).flat_map(round).collect()
}

#[test]
fn al20_auto_moves_what_is_proven_wrong() {
    let decide = |messages: &[Message], assumed: i64| {
        let alignment = solved(messages);
        let Ok(compared) = alignment.compare(messages, &mut |_| Some(assumed));
        alignment.decision(&compared)
    };
    let all = rounds(10);
    assert_eq!(decide(&all, 4_001_000_000), Decision::Replace);
    assert_eq!(decide(&all, 4_000_000_000), Decision::Confirm);
    assert_eq!(decide(&rounds(9), 4_001_000_000), Decision::Few);
    let one_way: Vec<Message> = all.iter().copied().filter(|m| m.direction == A_TO_B).collect();
    assert_eq!(decide(&one_way, 4_001_000_000), Decision::OneSided);
    let mut wrong = rounds(13);
    for message in wrong.iter_mut().take(4).filter(|message| message.direction == A_TO_B) {
        message.arrived -= SECOND;
    }
    assert_eq!(decide(&wrong, 4_001_000_000), Decision::Violated);
    // Two of the accepted messages are turned around.
    let mut late = rounds(20);
    for message in late.iter_mut().skip(4).filter(|message| message.direction == A_TO_B) {
        message.arrived += 2_000_000;
    }
    assert_eq!(decide(&late, 4_001_000_000), Decision::Confirm);
}

#[test]
fn al14_what_the_messages_bound() {
    let sides = |messages: &[Message]| solved(messages).sides;
    let all = rounds(4);
    let from = |direction| all.iter().copied().filter(move |m| m.direction == direction);
    assert_eq!(sides(&[]), Evidence::None);
    assert_eq!(sides(&from(A_TO_B).collect::<Vec<_>>()), Evidence::Upper);
    assert_eq!(sides(&from(B_TO_A).collect::<Vec<_>>()), Evidence::Lower);
    let mut wrong = all.clone();
    for message in wrong.iter_mut().take(6).filter(|message| message.direction == A_TO_B) {
        message.arrived -= SECOND;
    }
    let alignment = solved(&wrong);
    assert_eq!((alignment.sides, alignment.violated), (Evidence::Contradictory, 3));
    assert_eq!(alignment.interval(0), Interval::default());
    assert_eq!(alignment.estimate(0), None);
    // One of four is not over a quarter.
    let mut one = rounds(2);
    one[0].arrived -= SECOND;
    assert_eq!(solved(&one).sides, Evidence::Both);
}

#[test]
fn al14_a_bound_on_one_side_has_no_estimate() {
    let one_way: Vec<Message> = rounds(3).into_iter().filter(|m| m.direction == A_TO_B).collect();
    let alignment = solved(&one_way);
    assert_eq!(alignment.estimate(SECOND), None);
    let latest = |at| alignment.interval(at).latest;
    assert_eq!(alignment.interval(SECOND).earliest, None);
    assert_eq!(latest(SECOND), Some(4_000_100_000));
    // 500 ppm of half a second.
    assert_eq!(latest(SECOND / 2), Some(4_000_350_000));
    let knots = alignment.knots();
    assert_eq!((knots.len(), knots[0].error()), (3, None));
    let both = solved(&rounds(3)).knots();
    // The middle of 4,000,100 and 3,999,900 µs, or a little drift beside it.
    assert!(both.iter().all(|knot| knot.error().is_some_and(|ns| ns.abs_diff(100_000) < 100)));
}

#[test]
fn al1_a_clock_of_microseconds_is_a_microsecond_unsure() {
    let clocks = PairClocks { unit_a: 1000, ..PairClocks::default() };
    let messages = rounds(2);
    let Ok(alignment) = align(clocks, &messages[..]);
    let interval = alignment.interval(-1000);
    assert_eq!(interval.latest, Some(4_000_101_000));
    // The send counts 1 µs earlier, and the arrival at A 1 µs later.
    assert_eq!(alignment.from, -1000);
}

#[test]
fn al6_ends_of_slices_that_wait() {
    let mut messages = rounds(20);
    for message in &mut messages {
        message.ended = Some(message.arrived);
        message.arrived -= SECOND / 2;
    }
    let alignment = solved(&messages);
    assert_eq!((alignment.arrival, alignment.violated), (Arrival::End, 0));
    assert_eq!(alignment.interval(0).latest, Some(4_000_100_000));
    // Begins that agree count, though ends would do as well.
    let mut messages = rounds(20);
    messages.iter_mut().for_each(|message| message.ended = Some(message.arrived + SECOND));
    assert_eq!(solved(&messages).arrival, Arrival::Begin);
    // 5 % are not more than 5 %.
    messages[0].arrived -= SECOND;
    messages[1].arrived -= SECOND;
    let alignment = solved(&messages);
    assert_eq!((alignment.arrival, alignment.violated), (Arrival::Begin, 2));
}

#[test]
fn al11_a_clock_that_was_set() {
    let mut messages = rounds(40);
    for message in messages.iter_mut().skip(40) {
        match message.direction {
            Direction::AToB => message.arrived += 20_000_000,
            Direction::BToA => message.sent += 20_000_000,
        }
    }
    let alignment = solved(&messages);
    assert_eq!((alignment.stretches(), alignment.violated), (2, 0));
    // The clock was set forward: before it, B received a message at 19 s too early for what comes
    // after, and after it B sent one too late for what comes before.
    let is_in_step = |us: i64| alignment.is_in_step(us * 1000);
    assert_eq!(
        [19_000_000, 19_000_001, 20_000_399, 20_000_400].map(is_in_step),
        [false, true, true, false]
    );
    let middle = alignment.interval(19 * SECOND + SECOND / 2);
    assert!(middle.latest.unwrap() - middle.earliest.unwrap() > 20_000_000);
    let steps: Vec<(i64, bool)> =
        alignment.knots().iter().map(|knot| (knot.value, knot.step)).filter(|k| k.1).collect();
    assert_eq!(steps, [(19_000_000_000, true), (20_000_399_999, true)]);
    // Five wrong messages make no step.
    let mut five = rounds(40);
    for message in five.iter_mut().skip(70).filter(|m| m.direction == A_TO_B) {
        message.arrived -= SECOND;
    }
    let alignment = solved(&five);
    assert_eq!((alignment.stretches(), alignment.violated), (1, 5));
}

/// Requests and replies ten times a second for 20 s; B's clock is ahead by this, in ns, at each time of A.
fn ahead_by(ahead: impl Fn(i64) -> i64) -> Vec<Message> {
    let round = |number: i64| {
        let sent = number * SECOND / 10;
        let message =
            |direction, sent, arrived| Message { sent, arrived, ..message(direction, 0, 0) };
        let (there, back) = (sent + 100_000, sent + 300_000);
        [
            message(A_TO_B, sent, there + ahead(there)),
            message(B_TO_A, back + ahead(back), back + 100_000),
        ]
    };
    (0..200).flat_map(round).collect()
}

/// Rounds of which the first or the last ones are those of a B that was set by so many µs before or after.
fn rounds_set_near_an_end(is_first: bool, messages_behind: usize, by: i64) -> Vec<Message> {
    let mut messages = rounds(100);
    let behind = |place: usize| match is_first {
        true => place < messages_behind,
        false => place >= 200 - messages_behind,
    };
    for (_, message) in (0..).zip(&mut messages).filter(|(place, _)| behind(*place)) {
        match message.direction {
            A_TO_B => message.arrived += by * 1000,
            B_TO_A => message.sent += by * 1000,
        }
    }
    messages
}

#[test]
fn al11_behind_a_step_near_an_end_the_interval_has_both() {
    for (is_first, by) in [(true, 20_000), (true, -20_000), (false, 20_000), (false, -20_000)] {
        for behind in 2..=9 {
            let case = format!("{by} µs, {behind} messages, first: {is_first}");
            let alignment = solved(&rounds_set_near_an_end(is_first, behind, by));
            assert_eq!((alignment.sides, alignment.stretches()), (Evidence::Both, 1), "{case}");
            let (end, near) = if is_first { (0, 10) } else { (99, 89) };
            let width = |second: i64| {
                let interval = alignment.interval(second * SECOND);
                let (least, most) = (interval.earliest.unwrap(), interval.latest.unwrap());
                assert!((least..=most).contains(&(4 * SECOND)), "{case}");
                (least, most, most - least)
            };
            assert!(width(50).2 < 300_000 && width(near).2 < 300_000, "{case}");
            let (least, most, _) = width(end);
            assert!((least..=most).contains(&(4 * SECOND + by * 1000)), "{case}: {least} {most}");
            // The estimate stays.
            let estimate = alignment.estimate(end * SECOND).unwrap();
            assert!(estimate.abs_diff(4 * SECOND) < 100_000, "{case}: {estimate}");
            let wide = |knot: &AlignmentKnot| knot.error().unwrap() > 19_000_000;
            let knots = alignment.knots();
            assert!(knots.iter().any(wide) && !knots.iter().all(wide), "{case}");
        }
    }
}

#[test]
fn al11_a_wrong_pair_near_an_end_is_left_out_as_any_other() {
    let width = |wrong: &[usize]| {
        let mut messages = rounds(100);
        for &place in wrong {
            match messages[place].direction {
                A_TO_B => messages[place].arrived -= 50_000_000,
                B_TO_A => messages[place].sent += 50_000_000,
            }
        }
        let alignment = solved(&messages);
        assert_eq!(alignment.violated, wrong.len() as u64, "{wrong:?}");
        let interval = alignment.interval(99 * SECOND + 1_000_000);
        interval.latest.unwrap() - interval.earliest.unwrap()
    };
    // One that a later message contradicts, and the last one of some.
    assert!(width(&[196]) < 300_000);
    assert!(width(&[20, 64, 110, 150, 199]) < 300_000);
    // The only one, which nothing contradicts.
    assert!(width(&[199]) > 50_000_000);
}

#[test]
fn al11_the_middle_is_that_of_the_stretch_with_the_most_messages_if_a_clock_was_set_then() {
    let of = |at: i64, by: i64| {
        let messages = ahead_by(|t| if t < at { 0 } else { by });
        let alignment = solved(&messages);
        assert_eq!(alignment.stretches(), 2);
        assert!(!alignment.is_in_step(alignment.middle()));
        alignment.middle()
    };
    // The messages are from 0 to 19.9004 s. None is in the middle of that time.
    assert_eq!(of(5 * SECOND, 20_000_000), 9_950_200_000);
    // A clock that is set back has as many before as after, so the first stretch counts.
    assert!((4 * SECOND..6 * SECOND).contains(&of(9_960_000_000, -20_000_000)));
    // If it is set forward, the last message before it from B fits to both stretches, and is in the second.
    assert!((14 * SECOND..16 * SECOND).contains(&of(9_960_000_000, 20_000_000)));
}

#[test]
fn al14_clocks_that_drift_by_more_than_is_possible_are_refused() {
    for ppm in [-1_200, 1_000] {
        let messages = ahead_by(|t| t / 1_000_000 * ppm);
        let alignment = solved(&messages);
        assert_eq!(alignment.sides, Evidence::Contradictory);
        assert_eq!(alignment.too_fast.map(|rate| (rate * 1e6).round() as i64), Some(ppm));
        assert_eq!((alignment.estimate(SECOND), alignment.knots().len()), (None, 0));
        let clocks = PairClocks { max_drift_ppm: 2_000, ..PairClocks::default() };
        let Ok(alignment) = align(clocks, &messages[..]);
        assert_eq!((alignment.sides, alignment.too_fast), (Evidence::Both, None));
        assert_eq!((alignment.stretches(), alignment.violated), (1, 0));
    }
    // A clock that sleeps each 4 s for 10 ms loses 2,500 ppm, but it does not drift.
    let alignment = solved(&ahead_by(|t| t.div_euclid(4 * SECOND) * -10_000_000));
    assert_eq!((alignment.sides, alignment.too_fast), (Evidence::Both, None));
    assert_eq!((alignment.stretches(), alignment.violated), (5, 0));
}

#[test]
fn al15_messages_that_sink_into_the_corridor() {
    let mut messages = rounds(64);
    assert_eq!(solved(&messages).suspect, 0);
    // One is beyond by 1 s; so three each side may hide, whatever else.
    messages[0].arrived -= SECOND;
    let alignment = solved(&messages);
    assert_eq!((alignment.violated, alignment.suspect), (1, 6));
    // At most an eighth of a side.
    let mut few = rounds(16);
    few[0].arrived -= SECOND;
    assert_eq!(solved(&few).suspect, 3);
}

#[test]
fn al18_a_measured_relation_outside_of_the_interval() {
    let alignment = solved(&rounds(10));
    let Interval { latest: Some(latest), .. } = alignment.interval(SECOND) else { panic!() };
    assert_eq!(alignment.contradicts(SECOND, latest, 0), None);
    assert_eq!(alignment.contradicts(SECOND, latest + 1_000, 0), None);
    assert_eq!(alignment.contradicts(SECOND, latest + 1_001, 0), Some(1_001));
    assert_eq!(alignment.contradicts(SECOND, latest + 1_001, 1), None);
    assert!(alignment.contradicts(SECOND, latest - 10_000_000, 50_000).is_some());
}

#[test]
fn al16_numbers_as_large_as_a_wall_clocks_keep_nanoseconds() {
    let shift = |message: &Message| Message {
        sent: message.sent
            + if message.direction == B_TO_A { 1_700_000_000_000_000_123 } else { 0 },
        arrived: message.arrived
            + if message.direction == A_TO_B { 1_700_000_000_000_000_123 } else { 0 },
        ..*message
    };
    let messages = example();
    let shifted = messages.each_ref().map(shift);
    let (plain, far) = (solved(&messages), solved(&shifted));
    for at in (0..120).map(|second| second * SECOND) {
        let estimate = plain.estimate(at).map(|offset| offset + 1_700_000_000_000_000_123);
        assert_eq!(far.estimate(at), estimate);
    }
    // The largest numbers are no error.
    let extremes = [i64::MIN, -1, 0, 1, i64::MAX];
    for (sent, arrived) in extremes.into_iter().flat_map(|s| extremes.map(|a| (s, a))) {
        for direction in [A_TO_B, B_TO_A] {
            let extreme = Message { sent, arrived, direction, ..messages[0] };
            let mut messages = rounds(3);
            messages.push(extreme);
            let alignment = solved(&messages);
            alignment.knots();
            outliers(&alignment, &messages);
            for at in extremes {
                alignment.interval(at);
                alignment.estimate(at);
            }
            solved(&[extreme]).interval(0);
        }
    }
}

/// The messages as the naive model has them, relative to 4 s.
fn naive_points(messages: &[Message]) -> Vec<naive::Point> {
    let point = |(index, message): (usize, &Message)| {
        let (t, theta) = match message.direction {
            Direction::AToB => (message.sent, message.arrived - message.sent),
            Direction::BToA => (message.arrived, message.sent - message.arrived),
        };
        naive::Point {
            t: t as f64,
            theta: theta as f64,
            is_upper: message.direction == A_TO_B,
            index: index as u64,
        }
    };
    messages.iter().enumerate().map(point).collect()
}

fn places(sides: &cones::Sides) -> BTreeSet<u64> {
    sides.upper.iter().chain(&sides.lower).map(|point| point.index).collect()
}

#[test]
fn al9_to_al16_are_those_of_the_naive_model() {
    let mut seen = (0, 0, 0, 0, 0, 0);
    for seed in 0..500 {
        let world = World::random(seed);
        let messages = world.messages();
        let alignment = solved(&messages);
        let mut naive = naive::solve(&naive_points(&messages), &naive::Before::default());
        naive.find_tails(&naive_points(&messages), &naive.violated.clone());
        seen.5 += naive.tails.len();
        let left_out = &alignment.solved.left_out;
        assert_eq!(places(&left_out.violated), naive.violated, "seed {seed}: {world:?}");
        assert_eq!(places(&left_out.suspects), naive.suspects, "seed {seed}: {world:?}");
        seen.0 += naive.violated.len();
        seen.1 += naive.suspects.len();
        seen.2 += naive.steps.len();
        seen.3 += usize::from(naive.stretches.iter().any(|s| s.c.is_none()));
        if alignment.sides == Evidence::Contradictory {
            seen.4 += 1;
            continue;
        }
        let course = &alignment.solved.course;
        assert_eq!(course.stretches.len(), naive.stretches.len(), "seed {seed}");
        for (stretch, naive) in course.stretches.iter().zip(&naive.stretches) {
            let slopes = stretch.slopes();
            assert!((slopes.least - naive.s1).abs() < 1e-12, "seed {seed}: {slopes:?}");
            assert!((slopes.most - naive.s2).abs() < 1e-12, "seed {seed}: {slopes:?}");
            assert_eq!(stretch.rate.is_some(), naive.c.is_some());
            let (rate, naive) = (stretch.rate.unwrap_or(0.0), naive.c.unwrap_or(0.0));
            assert!((rate - naive).abs() < 1e-10, "seed {seed}: {rate} {naive}");
        }
        let mut dice = Dice::new(seed);
        let near = |a: Option<i64>, b: f64| match a {
            Some(a) => (a as f64 - b).abs() < 1.5,
            None => !b.is_finite(),
        };
        for _ in 0..60 {
            let at = dice.between(-world.span / 4, world.span * 5 / 4);
            let (lo, hi) = naive.bounds(at as f64);
            let interval = alignment.interval(at);
            assert!(near(interval.earliest, lo), "seed {seed} at {at}: {interval:?} {lo}");
            assert!(near(interval.latest, hi), "seed {seed} at {at}: {interval:?} {hi}");
            let estimate = naive.estimate(at as f64).unwrap_or(f64::NAN);
            assert!(near(alignment.estimate(at), estimate), "seed {seed} at {at}: {estimate}");
        }
        let Ok(compared) = alignment.compare(&messages[..], &mut |at| alignment.estimate(at));
        assert_eq!(compared.inverted, 0, "seed {seed}: {world:?}");
    }
    assert!(seen.0 > 1000 && seen.1 > 300 && seen.2 > 30 && seen.3 > 10 && seen.4 > 3, "{seen:?}");
    assert!(seen.5 > 10, "{seen:?}");
}

/// A small edition of rule AL13.
const FEW: Limits = Limits { side: 64, sample: 32, parts: 16, tightest: 4, beyond: 8 };

#[test]
fn al13_of_many_messages_are_those_of_the_naive_model() {
    let mut seen = (0, 0, 0, 0);
    for seed in 0..200 {
        let mut world = World::random(seed);
        world.count = 400;
        let messages = world.messages();
        let Ok(alignment) = align_within(PairClocks::default(), &messages[..], FEW);
        if alignment.solved.excluding.is_none() {
            continue;
        }
        let numbers = [FEW.sample as usize, FEW.parts, FEW.tightest, FEW.beyond];
        let (mut naive, excluded) = naive::solve_many(&naive_points(&messages), numbers);
        let left_out = &alignment.solved.left_out;
        assert_eq!(places(&left_out.violated), naive.violated, "seed {seed}: {world:?}");
        let violated: BTreeSet<u64> = excluded.union(&naive.violated).copied().collect();
        naive.find_tails(&naive_points(&messages), &violated);
        seen.3 += naive.tails.len();
        assert_eq!(alignment.violated, violated.len() as u64, "seed {seed}: {world:?}");
        seen.0 += excluded.len();
        seen.1 += naive.suspects.len();
        if alignment.sides == Evidence::Contradictory {
            seen.2 += 1;
            continue;
        }
        assert_eq!(places(&left_out.suspects), naive.suspects, "seed {seed}: {world:?}");
        let shown = outliers(&alignment, &messages).len();
        assert_eq!(shown, violated.union(&naive.suspects).count(), "seed {seed}: {world:?}");
        let course = &alignment.solved.course;
        let kept: usize = course.stretches.iter().map(|stretch| stretch.points.len()).sum();
        assert!(kept <= 2 * FEW.parts * FEW.tightest, "{kept}");
        let mut dice = Dice::new(seed);
        for _ in 0..30 {
            let at = dice.between(0, world.span);
            let (lo, hi) = course.bounds(alignment.relative(at));
            let (naive_lo, naive_hi) = naive.bounds(at as f64);
            let base = alignment.solved.origin.offset as f64;
            let is_same = |a: f64, b: f64| (a - b).abs() < 1.0 || a == b;
            assert!(is_same(lo + base, naive_lo) && is_same(hi + base, naive_hi), "seed {seed}");
        }
    }
    assert!(seen.0 > 1000 && seen.1 > 100 && seen.2 > 3 && seen.3 > 5, "{seen:?}");
}

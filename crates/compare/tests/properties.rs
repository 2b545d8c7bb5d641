//! Properties of comparisons of random values.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::random::Random;
use common::{all_lines, comparison, row_of, runs};
use timebase_compare::{
    Appearance, Call, Comparison, Estimate, Facts, FailOn, Family, Line, Note, Pairs, Row, RunId,
    Scale, Settings, Side, Stat, Value, Values, Why, compare, judge,
};

/// A value of a run: side and number of the run, line, statistic.
type Datum = (Side, usize, Line, Stat, Value);

const STATS: [Stat; 5] = [Stat::Count, Stat::Total, Stat::P50, Stat::P90, Stat::P99];

/// Lines with changes, doubt, missing and equal values, in some runs that are hot.
fn data(random: &mut Random, n: [usize; 2], lines: usize) -> Vec<Datum> {
    let hot = n.map(|n| (0..n).map(|_| 0.05 * random.normal()).collect::<Vec<f64>>());
    let mut data = Vec::new();
    for number in 0..lines {
        let family = [Family::SelfTime, Family::Async, Family::Frame][random.below(3)];
        let line = Line::new(family, "app", &format!("line {number}"));
        let change = if random.chance(0.2) { 0.4 * random.normal() } else { 0.0 };
        let spread = [0.0, 0.01, 0.1][random.below(3)];
        let gaps = [0.0, 0.0, 0.3, 0.8][random.below(4)];
        for side in Side::BOTH {
            for (run, hot) in hot[side.index()].iter().enumerate() {
                if random.chance(gaps) {
                    continue;
                }
                for stat in STATS {
                    let log = side.index() as f64 * change + hot + spread * random.normal();
                    let all = (9.0 + log).exp();
                    let sure = Some(all * if random.chance(0.1) { 0.9 } else { 1.0 });
                    let value = Value { sure, all: Some(all) };
                    data.push((side, run, line.clone(), stat, value));
                }
            }
        }
    }
    data
}

/// The values, whose runs come in this order.
fn values(data: &[Datum], order: &[(Side, usize)]) -> Values {
    let mut values = Values::new();
    let add = |values: &mut Values, &(side, run): &(Side, usize)| {
        let start = Some(run as i64 * 2 + i64::from(side == Side::After));
        let facts = Facts { ns: 1e9 + run as f64, start, ..Facts::default() };
        values.run(&format!("{side:?}/{run}"), side, facts).unwrap()
    };
    let ids: Vec<RunId> = order.iter().map(|run| add(&mut values, run)).collect();
    for (side, run, line, stat, value) in data {
        let at = order.iter().position(|one| *one == (*side, *run)).unwrap();
        values.add(ids[at], line, *stat, *value).unwrap();
    }
    values
}

fn order(n: [usize; 2]) -> Vec<(Side, usize)> {
    Side::BOTH.iter().flat_map(|&side| (0..n[side.index()]).map(move |run| (side, run))).collect()
}

/// All of a comparison but the numbers of runs.
fn text(comparison: &Comparison) -> String {
    let Comparison { shift, lines, rows, names, counts, .. } = comparison;
    let notes: Vec<String> =
        comparison.notes.iter().map(|note| note_text(note, comparison)).collect();
    format!("{shift:?} {lines:?} {rows:?} {names:?} {counts:?} {notes:?}")
}

fn note_text(note: &Note, comparison: &Comparison) -> String {
    let name = |run: &RunId| &comparison.runs[run.index()].run.name;
    match note {
        Note::OddRun { run, factor } => format!("odd {} {factor}", name(run)),
        Note::FirstSlowest { run, factor } => format!("first {} {factor}", name(run)),
        Note::LengthsDiffer { shortest, longest } => {
            format!("{} {}", name(shortest), name(longest))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn cm13_cm14_the_order_of_runs_changes_nothing() {
    let mut random = Random(1);
    for round in 0..60 {
        let n = [1 + random.below(8), 1 + random.below(8)];
        let lines = [5, 60][round % 2];
        let mut data = data(&mut random, n, lines);
        let mut order = order(n);
        let is = text(&comparison(&values(&data, &order)));
        random.shuffle(&mut data);
        random.shuffle(&mut order);
        assert_eq!(is, text(&comparison(&values(&data, &order))));
    }
}

fn mirrored(one: Estimate, other: Estimate, what: &str) {
    let same =
        |a: f64, b: f64| (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-12 * a.abs().max(1.0);
    assert!(same(one.d, -other.d) && same(one.se, other.se), "{what}: {one:?} {other:?}");
    assert!(same(one.df, other.df), "{what}: {one:?} {other:?}");
}

#[test]
fn cm13_to_cm21_swapped_sides_mirror_everything() {
    let mut random = Random(2);
    for round in 0..60 {
        let n = [1 + random.below(8), 1 + random.below(8)];
        let n = if round % 3 == 0 { [n[0]; 2] } else { n };
        let data = data(&mut random, n, [5, 60][round % 2]);
        let swap = |side: Side| if side == Side::Before { Side::After } else { Side::Before };
        let swapped: Vec<Datum> =
            data.iter().cloned().map(|(side, run, l, s, v)| (swap(side), run, l, s, v)).collect();
        let pairs = (round % 3 == 0).then_some(Pairs::Order);
        let settings = Settings { pairs, ..all_lines() };
        let all = [values(&data, &order(n)), values(&swapped, &order([n[1], n[0]]))];
        let [is, other] = all.each_ref().map(|values| compare(values, &settings).unwrap());
        assert_eq!(is.counts.called, other.counts.called);
        assert_eq!(is.shift.is_some(), other.shift.is_some());
        if let (Some(is), Some(other)) = (is.shift, other.shift) {
            mirrored(is.estimate, other.estimate, "shift");
        }
        for (line, swapped) in is.lines.iter().zip(&other.lines) {
            assert_eq!((&line.line, line.call), (&swapped.line, swapped.call));
            let rows = is.rows[line.rows.clone()].iter().zip(&other.rows[swapped.rows.clone()]);
            for (row, swapped) in rows {
                let what = format!("{} {:?}", line.line, row.stat);
                mirrored(row.change, swapped.change, &what);
                mirrored(row.judged(), swapped.judged(), &what);
                assert_eq!((row.call, row.why), (swapped.call, swapped.why), "{what}");
            }
        }
        let gone = |comparison: &Comparison, wanted| {
            comparison.names.iter().filter(|name| name.appearance == wanted).count()
        };
        assert_eq!(gone(&is, Appearance::New), gone(&other, Appearance::Gone));
        for (text, swapped) in [
            ("self:app/line 1 total > +5 %", "self:app/line 1 total < -4.7619047619047619 %"),
            ("self:app/line 1 total > +200 ns", "self:app/line 1 total < -200 ns"),
            ("any > +1 ms", "any < -1 ms"),
        ] {
            let outcome = |values: &Values, comparison: &Comparison, text: &str| {
                let verdict = judge(values, comparison, &[FailOn::parse(text).unwrap()]);
                verdict.unwrap().exit_code(false)
            };
            let code = outcome(&all[0], &is, text);
            assert_eq!(code, outcome(&all[1], &other, swapped), "{text}");
        }
    }
}

/// All times of the runs after, multiplied.
fn multiplied(data: &[Datum], by: f64) -> Vec<Datum> {
    let times = data.iter().cloned().map(|(side, run, line, stat, value)| {
        let is_longer = side == Side::After && stat != Stat::Count;
        let by = if is_longer { by } else { 1.0 };
        let [sure, all] = [value.sure, value.all].map(|value| value.map(|value| value * by));
        (side, run, line, stat, Value { sure, all })
    });
    times.collect()
}

#[test]
fn cm14_doubled_times_change_the_shift_and_nothing_beyond() {
    let mut random = Random(3);
    for _ in 0..20 {
        let n = [3 + random.below(6), 3 + random.below(6)];
        let data = data(&mut random, n, 80);
        let doubled = multiplied(&data, 2.0);
        let [is, other] = [&data, &doubled].map(|data| comparison(&values(data, &order(n))));
        let [one, double] = [&is, &other].map(|comparison| comparison.shift.unwrap().estimate);
        assert!((double.d - one.d - 2_f64.ln()).abs() < 1e-9, "{one:?} {double:?}");
        assert!((double.se - one.se).abs() < 1e-9);
        for line in &is.lines {
            let twin = other.lines.iter().find(|other| other.line == line.line).unwrap();
            let rows = is.rows[line.rows.clone()].iter().zip(&other.rows[twin.rows.clone()]);
            for (row, twin) in rows.filter(|(row, _)| row.p.is_some()) {
                assert!((row.judged().d - twin.judged().d).abs() < 1e-9, "{}", line.line);
                assert!((row.judged().se - twin.judged().se).abs() < 1e-9, "{}", line.line);
            }
        }
    }
    // Among equal lines, none is called beyond the shift.
    let (mut values, [before, after]) = runs(5, 5);
    for number in 0..30 {
        let line = Line::new(Family::SelfTime, "app", &number.to_string());
        for (run, by) in
            before.iter().map(|run| (run, 1.0)).chain(after.iter().map(|run| (run, 2.0)))
        {
            let ms = by * (100.0 + random.uniform());
            values.add(*run, &line, Stat::Total, Value::sure(ms)).unwrap();
        }
    }
    let is = comparison(&values);
    assert_eq!(is.counts.called, 0);
    let [low, high] = is.shift.unwrap().estimate.interval(0.05).unwrap();
    assert!(low < 2_f64.ln() && 2_f64.ln() < high);
    let absolute = compare(&values, &Settings { absolute: true, ..all_lines() }).unwrap();
    assert_eq!((absolute.counts.called, absolute.shift), (30, None));
}

/// Thirty and more lines in five runs a side: `change` gives the log of each value.
fn many(change: impl Fn(usize, Side, usize) -> f64) -> Values {
    let (mut values, sides) = runs(5, 5);
    let mut random = Random(4);
    for number in 0..40 {
        let line = Line::new(Family::SelfTime, "app", &number.to_string());
        for side in Side::BOTH {
            for (run, id) in sides[side.index()].iter().enumerate() {
                let log = change(number, side, run) + 0.01 * random.normal();
                values.add(*id, &line, Stat::Total, Value::sure(1e6 * log.exp())).unwrap();
            }
        }
    }
    values
}

#[test]
fn cm14_a_line_needs_a_change_of_its_own() {
    // All lines but one are slower by a fifth.
    let shift = |number: usize, side, _| if number > 0 && side == Side::After { 0.2 } else { 0.0 };
    let is = comparison(&many(shift));
    let row = row_of(&is, "0", Stat::Total);
    assert!(row.interval().unwrap()[1] < 1.0);
    assert_eq!((row.call, row.why.map(|why| why.name())), (Call::No, Some("shared")));
    // Half of the change is enough.
    let shift = |number: usize, side, _| match (number, side) {
        (0, Side::After) => -0.25,
        (_, Side::After) => 0.2,
        _ => 0.0,
    };
    assert_eq!(row_of(&comparison(&many(shift)), "0", Stat::Total).call, Call::Changed);
    // A condition does not fail without it either.
    let shift = |number: usize, side, _| if number > 0 && side == Side::After { -0.2 } else { 0.0 };
    let values = many(shift);
    let is = comparison(&values);
    for text in ["self:app/0 total > +5 %", "self:app/0 total > 10000 ns"] {
        let condition = FailOn::parse(text).unwrap();
        assert_eq!(judge(&values, &is, &[condition]).unwrap().exit_code(false), 3, "{text}");
    }
}

#[test]
fn cm14_a_hot_run_hides_no_line() {
    // A run is slower by half, and a line after by a third.
    let hot = |number: usize, side, run| {
        let is_hot = (side, run) == (Side::Before, 2);
        let changed = number == 7 && side == Side::After;
        f64::from(is_hot) * 0.5 + f64::from(changed) * 0.3
    };
    let values = many(hot);
    let is = comparison(&values);
    assert_eq!(row_of(&is, "7", Stat::Total).call, Call::Changed);
    assert_eq!(is.counts.called, 1);
    let absolute = compare(&values, &Settings { absolute: true, ..all_lines() }).unwrap();
    assert_eq!(absolute.counts.called, 0);
}

#[test]
fn cm10_cm14_a_side_that_lost_events_has_no_shift() {
    let (mut values, sides) = runs(5, 5);
    let mut random = Random(6);
    for number in 0..40 {
        let line = Line::new(Family::SelfTime, "app", &number.to_string());
        for side in Side::BOTH {
            for id in &sides[side.index()] {
                let all = 1e6 * (0.01 * random.normal()).exp();
                let lost = if side == Side::After { 0.1 } else { 0.0 };
                let value = Value { sure: Some(all * (1.0 - lost)), all: Some(all) };
                values.add(*id, &line, Stat::Total, value).unwrap();
                let middle = Value::sure(1e3 * (0.01 * random.normal()).exp());
                values.add(*id, &line, Stat::P50, middle).unwrap();
            }
        }
    }
    let is = comparison(&values);
    let shift = is.shift.unwrap();
    // The sure values alone show one, between that of totals and that of medians.
    assert!(shift.estimate.interval(0.05).unwrap()[1] < -0.02, "{shift:?}");
    assert!(shift.all.d.abs() < 0.01, "{shift:?}");
    assert_eq!(shift.why(), Some(Why::Loss));
    assert_eq!(is.counts.called, 0);
}

#[test]
fn cm14_a_quarter_of_lines_in_one_direction() {
    let one_direction = |part: usize| {
        let up =
            move |number: usize, side, _| f64::from(number < part && side == Side::After) * 0.5;
        let is = comparison(&many(up));
        is.notes.into_iter().find(|note| matches!(note, Note::OneDirection { .. }))
    };
    assert_eq!(one_direction(10), None);
    assert_eq!(one_direction(11), Some(Note::OneDirection { up: 11, down: 0, of: 40 }));
}

#[test]
fn cm18_odd_and_first_runs_are_named() {
    let odd = |_, side, run| match (side, run) {
        (Side::Before, 3) => 0.5,
        (Side::After, 0) => 0.02,
        _ => 0.0,
    };
    let values = many(odd);
    let is = comparison(&values);
    let names: Vec<&str> = is
        .notes
        .iter()
        .filter_map(|note| match note {
            Note::OddRun { run, .. } => Some(is.runs[run.index()].run.name.as_str()),
            _ => None,
        })
        .collect();
    assert!(names.contains(&"old/03"), "{:?}", is.notes);
    let first = is.notes.iter().find_map(|note| match note {
        Note::FirstSlowest { run, factor } => Some((run.index(), *factor)),
        _ => None,
    });
    let (first, factor) = first.unwrap();
    assert_eq!(is.runs[first].run.name, "new/00");
    assert!((factor - 0.02).abs() < 0.01, "{factor}");
    assert!(is.runs.iter().all(|run| run.unused.is_none()), "odd runs stay");
    let skipped = compare(&values, &Settings { skip_first: 1, ..all_lines() }).unwrap();
    assert_eq!(skipped.counts.runs, [4, 4]);
    assert!(skipped.runs[0].unused.is_some() && skipped.runs[5].unused.is_some());
}

#[test]
fn cm22_called_lines_come_first_by_their_size() {
    let mut random = Random(5);
    let is = comparison(&values(&data(&mut random, [10, 10], 60), &order([10, 10])));
    let key = |line: &timebase_compare::LineResult| (line.line.family, line.call == Call::No);
    for pair in is.lines.windows(2) {
        let [one, other] = [&pair[0], &pair[1]];
        let in_order =
            key(one) < key(other) || (key(one) == key(other) && one.impact >= other.impact);
        assert!(in_order, "{} {}", one.line, other.line);
    }
    assert!(is.counts.called > 3, "{:?}", is.counts);
    let largest = |row: &Row| row.scale == Scale::Ratio && row.delta() > 0.0;
    assert!(is.rows.iter().any(largest));
}

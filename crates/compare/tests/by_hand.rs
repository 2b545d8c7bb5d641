//! The statistics of small sets of values, computed by hand or by scipy.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::{all_lines, comparison, row_of, runs};
use timebase_compare::{
    Appearance, Call, Comparison, Error, Estimate, Facts, FailOn, Family, Judged, Line, Mark, Note,
    Outcome, Pairs, Per, Scale, Settings, Side, Stat, Unused, Value, Values, Why, compare, dots,
    judge,
};

/// Four lines of one statistic, in ms, five runs a side.
const LINES: [(&str, [f64; 5], [f64; 5]); 4] = [
    ("layout", [100.0, 104.0, 96.0, 102.0, 98.0], [121.0, 125.0, 117.0, 119.0, 123.0]),
    ("draw", [50.0, 52.0, 48.0, 51.0, 49.0], [51.0, 49.0, 50.0, 52.0, 48.0]),
    ("decode", [10.0, 30.0, 20.0, 15.0, 25.0], [15.0, 25.0, 35.0, 20.0, 30.0]),
    ("upload", [8.0; 5], [8.0; 5]),
];

fn by_hand() -> Values {
    let (mut values, [before, after]) = runs(5, 5);
    for (name, old, new) in LINES {
        let line = Line::new(Family::SelfTime, "app", name);
        for (run, ms) in before.iter().chain(&after).zip(old.into_iter().chain(new)) {
            values.add(*run, &line, Stat::Total, Value::sure(ms * 1e6)).unwrap();
        }
    }
    values
}

#[test]
fn cm24_dots_of_samples_are_shares_with_the_mean_of_their_row() {
    let (mut values, [before, after]) = runs(3, 3);
    for (name, samples) in [("draw", 10.0), ("layout", 30.0)] {
        let line = Line::new(Family::Sample, "app", name);
        for run in before.iter().chain(&after) {
            values.add(*run, &line, Stat::Share, Value::sure(samples)).unwrap();
        }
    }
    let comparison = comparison(&values);
    let lines: Vec<usize> = (0..comparison.lines.len()).collect();
    let dots = dots(&values, &comparison, &lines).unwrap();
    assert_eq!(dots.len(), 2);
    for dots in dots {
        let line = &comparison.lines[dots.line];
        let share = if line.line.name == "draw" { 0.25 } else { 0.75 };
        assert_eq!(comparison.rows[line.rows.start].mean, [share; 2]);
        assert_eq!(dots.values.len(), 6);
        assert!(dots.values.iter().all(|(_, value)| *value == Value::sure(share)), "{dots:?}");
    }
}

#[test]
fn cm12_cm13_cm15_the_table_by_hand() {
    let comparison = comparison(&by_hand());
    let table: Vec<String> = LINES
        .map(|(name, ..)| {
            let row = row_of(&comparison, name, Stat::Total);
            let percent = |ends: [f64; 2]| ends.map(|end| format!("{:+.1}", 100.0 * (end - 1.0)));
            let low_high = |ends: Option<[f64; 2]>| percent(ends.unwrap()).join(" ");
            let judged = row.judged();
            format!(
                "{name} {:+.2} {:.5} {:.3} {:.5} | {} | {}",
                100.0 * (row.effect() - 1.0),
                judged.se,
                judged.df,
                row.p.unwrap(),
                low_high(row.interval95()),
                low_high(row.interval()),
            )
        })
        .into();
    assert_eq!(
        table,
        [
            "layout +21.02 0.01836 7.725 0.00001 | +16.0 +26.3 | +14.0 +28.4",
            "draw +0.00 0.02001 8.000 1.00000 | -4.5 +4.7 | -6.2 +6.6",
            "decode +28.47 0.24500 7.516 0.33826 | -27.4 +127.5 | -42.2 +185.8",
            "upload +0.00 0.00126 8.000 1.00000 | -0.3 +0.3 | -0.4 +0.4",
        ]
    );
    let called: Vec<&Line> = comparison
        .lines
        .iter()
        .filter(|line| line.call == Call::Changed)
        .map(|line| &line.line)
        .collect();
    assert_eq!(called, [&Line::new(Family::SelfTime, "app", "layout")]);
    assert_eq!((comparison.counts.tested, comparison.counts.called), (4, 1));
    assert_eq!(comparison.lines[0].line.name, "layout");
}

/// Two sides of one line.
fn two(family: Family, stat: Stat, before: &[f64], after: &[f64]) -> Values {
    let (mut values, sides) = runs(before.len(), after.len());
    let line = Line::new(family, "app", "line");
    for (runs, of_side) in sides.iter().zip([before, after]) {
        for (run, value) in runs.iter().zip(of_side) {
            values.add(*run, &line, stat, Value::sure(*value)).unwrap();
        }
    }
    values
}

fn p_of(values: &Values) -> Option<f64> {
    row_of(&comparison(values), "line", Stat::Count).p
}

#[test]
fn cm13_equal_counts_have_an_error() {
    let p = p_of(&two(Family::Log, Stat::Count, &[8.0; 5], &[9.0; 5])).unwrap();
    assert_eq!(format!("{p:.4}"), "0.0006");
    let p = p_of(&two(Family::Log, Stat::Count, &[8000.0; 5], &[8001.0; 5])).unwrap();
    assert!(p > 0.9, "{p}");
}

#[test]
fn cm9_shares_and_values_of_0_are_compared_by_differences() {
    let values = two(Family::Frame, Stat::Jank, &[0.10, 0.12, 0.11], &[0.13, 0.15, 0.146]);
    let comparison = comparison(&values);
    let row = row_of(&comparison, "line", Stat::Jank);
    assert_eq!(row.scale, Scale::Difference);
    assert!((row.effect() - 0.032).abs() < 1e-12, "+3.2 points: {}", row.effect());
    // Equal shares have a deviation of 0.2 points.
    let values = two(Family::Frame, Stat::Jank, &[0.0; 4], &[0.001; 4]);
    let row = row_of(&common::comparison(&values), "line", Stat::Jank).clone();
    assert!((row.change.se - 0.002 * 0.5_f64.sqrt()).abs() < 1e-15);
    // Equal values around 0 have one of 0.2 % of their sizes' mean.
    let values = two(Family::Counter, Stat::Mean, &[-100.0; 4], &[100.0; 4]);
    let row = row_of(&common::comparison(&values), "line", Stat::Mean).clone();
    assert_eq!(row.scale, Scale::Difference);
    assert!((row.change.se - 0.2 * 0.5_f64.sqrt()).abs() < 1e-12);
    let values = two(Family::Counter, Stat::Mean, &[0.0; 4], &[0.0; 4]);
    let row = row_of(&common::comparison(&values), "line", Stat::Mean).clone();
    assert_eq!((row.effect(), row.p, row.interval()), (0.0, Some(1.0), Some([0.0, 0.0])));
}

#[test]
fn cm9_samples_are_shares_of_their_run() {
    let (mut values, [before, after]) = runs(3, 3);
    for (at, run) in before.iter().chain(&after).enumerate() {
        // The runs have different numbers of samples, and the same shares.
        let scale = (at + 1) as f64;
        for (name, count) in [("main", 30.0), ("idle", 70.0)] {
            let line = Line::new(Family::Sample, "app", name);
            values.add(*run, &line, Stat::Share, Value::sure(count * scale)).unwrap();
        }
    }
    let comparison = comparison(&values);
    let row = row_of(&comparison, "main", Stat::Share);
    assert_eq!(row.mean, [0.3, 0.3]);
    assert_eq!(row.p, Some(1.0));
}

/// A line whose sure and other values change by these factors, and its row.
fn doubtful(sure: f64, all: f64) -> (Comparison, timebase_compare::Row) {
    let (mut values, [before, after]) = runs(5, 5);
    let line = Line::new(Family::SelfTime, "app", "line");
    for (at, (old, new)) in before.iter().zip(&after).enumerate() {
        let base = 100.0 + at as f64;
        values.add(*old, &line, Stat::Total, Value::sure(base)).unwrap();
        let value = Value { sure: Some(base * sure), all: Some(base * all) };
        values.add(*new, &line, Stat::Total, value).unwrap();
    }
    let comparison = comparison(&values);
    let row = row_of(&comparison, "line", Stat::Total).clone();
    (comparison, row)
}

#[test]
fn cm10_both_values_decide() {
    let (comparison, row) = doubtful(0.9, 1.0);
    assert_eq!((row.call, row.why), (Call::No, Some(Why::Loss)), "a side lost a tenth");
    assert_eq!(row.p, Some(1.0));
    let left_out = comparison.lines[0].left_out;
    assert!((left_out - 0.05).abs() < 1e-12, "{left_out}");
    let (_, row) = doubtful(0.9, 1.1);
    assert_eq!((row.p, row.why), (Some(1.0), Some(Why::Loss)), "the directions differ");
    let (_, row) = doubtful(1.3, 1.2);
    assert_eq!((row.call, row.why), (Call::Changed, None));
    assert_eq!(row.p, row.all.p(), "the larger probability counts");
    assert!((row.effect() - 1.3).abs() < 1e-12, "the sure value is shown");
}

#[test]
fn cm12_a_line_needs_a_share_of_its_family_and_three_runs() {
    let (mut values, [before, after]) = runs(3, 3);
    for run in before.iter().chain(&after) {
        for (name, total) in [("large", 9989.0), ("enough", 10.1), ("small", 0.9)] {
            let line = Line::new(Family::Cpu, "app", name);
            values.add(*run, &line, Stat::Total, Value::sure(total)).unwrap();
        }
        let line = Line::new(Family::Counter, "app", "tiny");
        values.add(*run, &line, Stat::Mean, Value::sure(1e-6)).unwrap();
    }
    let names = |min_share| {
        let settings = Settings { min_share, ..Settings::default() };
        let comparison = compare(&values, &settings).unwrap();
        let lines = comparison.lines.into_iter();
        let mut names: Vec<String> = lines.map(|line| line.line.name).collect();
        names.sort();
        names
    };
    assert_eq!(names(0.001), ["enough", "large", "tiny"]);
    assert_eq!(names(0.0), ["enough", "large", "small", "tiny"]);
}

#[test]
fn cm20_few_runs() {
    let spread = |n: usize, at: f64| -> Vec<f64> { (0..n).map(|i| at + i as f64 / 10.0).collect() };
    for n in 1..=5 {
        let values = two(Family::Counter, Stat::Mean, &spread(n, 10.0), &spread(5, 30.0));
        let comparison = comparison(&values);
        let row = row_of(&comparison, "line", Stat::Mean);
        assert!(row.effect() > 2.8, "{n}: there is always a ratio");
        assert_eq!(row.interval95().is_some(), n >= 2, "{n}");
        assert_eq!(row.p.is_some(), n >= 3, "{n}");
        assert_eq!(row.smallest().is_some(), n >= 3, "{n}");
        let call = match n {
            1 | 2 => Call::No,
            3 | 4 => Call::StandsOut,
            _ => Call::Changed,
        };
        assert_eq!(row.call, call, "{n}");
        let few = comparison.notes.iter().any(|note| matches!(note, Note::FewRuns { .. }));
        assert_eq!(few, n < 5, "{n}");
    }
}

#[test]
fn cm20_the_runs_that_10_percent_need() {
    // The deviation of logs is 0.1: scipy finds a power of 80 % at 5 % with 19 runs a side.
    let e = 0.1_f64;
    let side = [(-e).exp(), 1.0, e.exp()];
    let comparison = comparison(&two(Family::Counter, Stat::Mean, &side, &side));
    let needed = comparison.notes.iter().find_map(|note| match note {
        Note::FewRuns { needed } => *needed,
        _ => None,
    });
    assert_eq!(needed, Some(19));
}

#[test]
fn cm16_the_smallest_change_that_would_be_seen() {
    let layout = Estimate { d: 0.0, se: 0.02, df: 8.0 };
    let row = row_of(&comparison(&by_hand()), "draw", Stat::Total).clone();
    // scipy: (t.ppf(1 - 0.0125 / 2, 8) + t.ppf(0.8, 8)) * 0.0200051
    let row = timebase_compare::Row { change: layout, ..row };
    let smallest = row.smallest().unwrap();
    assert!((smallest - 1.08535).abs() < 1e-4, "{smallest}");
}

fn named<'a>(comparison: &'a Comparison, name: &str) -> &'a timebase_compare::NameResult {
    comparison.names.iter().find(|found| found.line.name == name).unwrap()
}

#[test]
fn cm19_new_and_gone_names() {
    let (mut values, [before, after]) = runs(6, 6);
    let add = |values: &mut Values, run, name: &str, ms: f64| {
        let line = Line::new(Family::SelfTime, "app", name);
        values.add(run, &line, Stat::Total, Value::sure(ms)).unwrap();
        values.add(run, &line, Stat::Count, Value::sure(3.0)).unwrap();
    };
    for (at, (old, new)) in before.iter().zip(&after).enumerate() {
        add(&mut values, *old, "gone", 4.0);
        add(&mut values, *new, "new", 4.0 + at as f64);
        add(&mut values, *old, "both", 4.0);
        add(&mut values, *new, "both", 4.0);
        if at < 2 {
            add(&mut values, *old, "seldom", 4.0);
        }
        add(&mut values, *new, "seldom", 4.0);
    }
    for name in ["gone", "new"] {
        values.parent(&Line::new(Family::SelfTime, "app", name), "frame").unwrap();
    }
    let comparison = comparison(&values);
    let new = named(&comparison, "new");
    assert_eq!((new.appearance, new.runs, new.of), (Appearance::New, [0, 6], [6, 6]));
    assert_eq!((new.mean, new.call), (6.5, Call::Changed));
    // 2 of all 924 choices of six runs.
    assert!((new.p.unwrap() - 2.0 / 924.0).abs() < 1e-12);
    let gone = new.renamed.map(|at| &comparison.names[at]).unwrap();
    assert_eq!((gone.line.name.as_str(), gone.appearance), ("gone", Appearance::Gone));
    let seldom = named(&comparison, "seldom");
    assert_eq!((seldom.appearance, seldom.runs), (Appearance::Seldom, [2, 6]));
    assert_eq!(comparison.counts.tested, 4, "names are tested with the lines");
    assert_eq!(comparison.lines.len(), 1);
}

#[test]
fn cm8_counts_and_totals_are_divided() {
    let facts = |ns, frames| Facts { ns, frames, ..Facts::default() };
    let mut values = Values::new();
    for (name, side, ns, frames) in [
        ("a", Side::Before, 1e9, 10.0),
        ("b", Side::Before, 1e9, 10.0),
        ("c", Side::After, 2e9, 5.0),
        ("d", Side::After, 2e9, 0.0),
    ] {
        let run = values.run(name, side, facts(ns, frames)).unwrap();
        let self_time = Line::new(Family::SelfTime, "app", "draw");
        let slice = Line::new(Family::Slice, "app", "frame #");
        for (line, stat, value) in [
            (&self_time, Stat::Total, 20.0),
            (&self_time, Stat::P50, 7.0),
            (&slice, Stat::Count, 4.0),
        ] {
            values.add(run, line, stat, Value::sure(value)).unwrap();
        }
    }
    let means = |per: Per, stat| {
        let settings = Settings { per, ..all_lines() };
        let comparison = compare(&values, &settings).unwrap();
        row_of(&comparison, "draw", stat).mean
    };
    assert_eq!(means(Per::Run, Stat::Total), [20.0, 20.0]);
    assert_eq!(means(Per::Second, Stat::Total), [20.0, 10.0]);
    assert_eq!(means(Per::Second, Stat::P50), [7.0, 7.0]);
    assert_eq!(means(Per::Frame, Stat::Total), [2.0, 4.0], "a run without frames has no value");
    assert_eq!(means(Per::Slice("frame 12".to_owned()), Stat::Total), [5.0, 5.0]);
    let settings = Settings { per: Per::Slice("none".to_owned()), ..all_lines() };
    let error = compare(&values, &settings).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no run has slices named none, by which --per divides: choose another --per"
    );
    let longer = |note: &Note| {
        matches!(note, Note::LengthsDiffer { shortest, longest }
        if shortest.index() == 0 && longest.index() == 2)
    };
    assert!(comparison(&values).notes.iter().any(longer));
}

#[test]
fn cm11_lossy_runs_are_marked_and_stay() {
    let mut values = Values::new();
    for (name, side, share) in [
        ("a", Side::Before, 0.0),
        ("b", Side::Before, 0.01),
        ("c", Side::After, 0.08),
        ("d", Side::After, 0.0),
    ] {
        let left_out = vec![(Family::SelfTime, share)];
        let errors = u64::from(name == "d");
        values.run(name, side, Facts { left_out, errors, ..Facts::default() }).unwrap();
    }
    let result = comparison(&values);
    let marks: Vec<_> = result.runs.iter().map(|run| run.marks.clone()).collect();
    assert_eq!(
        marks,
        [vec![], vec![], vec![Mark::LeftOut(Family::SelfTime, 0.08)], vec![Mark::Errors(1)]]
    );
    assert!(result.runs.iter().all(|run| run.unused.is_none()));
    let differ = Note::LossDiffers { family: Some(Family::SelfTime), shares: [0.005, 0.04] };
    assert!(result.notes.contains(&differ), "{:?}", result.notes);
    let unused = |leave_out: &str, max_loss: f64| {
        let leave_out = vec![leave_out.to_owned()];
        let settings = Settings { leave_out, max_loss, ..Settings::default() };
        let result = compare(&values, &settings)?;
        Ok::<_, Error>(result.runs.into_iter().map(|run| run.unused).collect::<Vec<_>>())
    };
    let lossy = Some(Unused::Lossy);
    assert_eq!(unused("lossy", 0.1).unwrap(), [None, None, None, lossy]);
    assert_eq!(unused("a", 0.05).unwrap(), [Some(Unused::LeftOut), None, None, None]);
    assert!(matches!(unused("e", 0.05), Err(Error::NoSuchRun { .. })));
    let none = unused("lossy", 0.05);
    assert!(matches!(none, Err(Error::NoRunLeft { side: "after", runs: 2, .. })), "{none:?}");
}

#[test]
fn cm17_pairs() {
    let values = || two(Family::Counter, Stat::Mean, &[10.0, 20.0, 40.0], &[11.0, 22.0, 44.0]);
    let paired = |pairs| compare(&values(), &Settings { pairs: Some(pairs), ..all_lines() });
    let row = row_of(&paired(Pairs::Order).unwrap(), "line", Stat::Mean).clone();
    // Each run is slower by a tenth; the deviation of a difference is at least √2 times that of a side.
    assert!((row.change.se - 0.002 * 2_f64.sqrt() / 3_f64.sqrt()).abs() < 1e-12);
    assert_eq!((row.change.df, row.n), (2.0, [3, 3]));
    // Names end with the numbers of runs.
    let key = Pairs::By("/0([12])".parse().unwrap());
    let result = paired(key).unwrap();
    assert_eq!(result.counts.runs, [2, 2]);
    assert_eq!(row_of(&result, "line", Stat::Mean).mean, [30.0, 33.0]);
    let unpaired = result.notes.iter().filter(|note| matches!(note, Note::Unpaired { .. }));
    assert_eq!(unpaired.count(), 2);
    let twice = paired(Pairs::By("old|new".parse().unwrap()));
    assert!(matches!(twice, Err(Error::PairTwice { .. })), "{twice:?}");
    let values = two(Family::Counter, Stat::Mean, &[1.0], &[1.0, 2.0]);
    let settings = Settings { pairs: Some(Pairs::Order), ..all_lines() };
    let error = compare(&values, &settings).unwrap_err();
    assert_eq!(error, Error::NoPairs { before: 1, after: 2 });
}

#[test]
fn cm17_sides_one_after_the_other() {
    let interleave = |starts: [i64; 4]| {
        let mut values = Values::new();
        for (at, start) in starts.into_iter().enumerate() {
            let side = if at < 2 { Side::Before } else { Side::After };
            let facts = Facts { start: Some(start), ..Facts::default() };
            values.run(&at.to_string(), side, facts).unwrap();
        }
        comparison(&values).notes.contains(&Note::Interleave)
    };
    assert!(interleave([1, 2, 3, 4]) && interleave([3, 4, 1, 2]));
    assert!(!interleave([1, 3, 2, 4]));
}

#[test]
fn cm2_a_run_has_one_side_and_one_name() {
    let mut values = Values::new();
    values.run("a", Side::Before, Facts::default()).unwrap();
    let error = values.run("a", Side::After, Facts::default()).unwrap_err();
    assert_eq!(error.to_string(), "the run a is on both sides: name it once");
    let error = values.run("a", Side::Before, Facts::default()).unwrap_err();
    assert_eq!(error.to_string(), "two runs are named a: rename one");
}

#[test]
fn cm3_values_are_finite_and_come_once() {
    let (mut values, [before, _]) = runs(1, 1);
    let line = Line::new(Family::Log, "", "tag");
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let value = Value { sure: Some(1.0), all: Some(wrong) };
        let error = values.add(before[0], &line, Stat::Count, value).unwrap_err();
        assert!(matches!(error, Error::NotFinite { .. }), "{error}");
    }
    values.add(before[0], &line, Stat::Count, Value::default()).unwrap();
    assert!(values.is_empty(), "no value is no row");
    values.add(before[0], &line, Stat::Count, Value::sure(1.0)).unwrap();
    values.add(before[0], &line, Stat::Count, Value::sure(1.0)).unwrap();
    let error = compare(&values, &Settings::default()).unwrap_err();
    assert_eq!(error.to_string(), "log:tag count has two values in the run old/00: give one");
}

#[test]
fn cm3_over_a_million_lines_are_an_error() {
    let (mut values, [before, _]) = runs(1, 1);
    let mut add = |name: usize| {
        let line = Line::new(Family::SelfTime, "app", &name.to_string());
        values.add(before[0], &line, Stat::Total, Value::sure(1.0))
    };
    (0..1_000_000).for_each(|name| add(name).unwrap());
    add(7).unwrap();
    assert_eq!(add(1_000_000), Err(Error::TooManyLines { limit: 1_000_000 }));
}

#[test]
fn cm20_an_empty_side() {
    let values = two(Family::Counter, Stat::Mean, &[], &[1.0, 2.0, 3.0]);
    let result = comparison(&values);
    assert!(result.lines.is_empty());
    assert_eq!((result.names[0].appearance, result.names[0].p), (Appearance::New, None));
    let empty = comparison(&Values::new());
    assert_eq!((empty.rows.len(), empty.names.len()), (0, 0));
}

fn judged(values: &Values, settings: &Settings, texts: &[&str]) -> (Vec<Judged>, u8) {
    let comparison = compare(values, settings).unwrap();
    let conditions: Vec<FailOn> = texts.iter().map(|text| FailOn::parse(text).unwrap()).collect();
    let verdict = judge(values, &comparison, &conditions).unwrap();
    let code = verdict.exit_code(false);
    (verdict.conditions, code)
}

#[test]
fn cm21_conditions() {
    // layout: +16.0 % to +26.3 % alone; in ms +17.2 to +24.8.
    for (text, code) in [
        ("self:app/layout total > +5 %", 1),
        ("self:app/layout total > +30 %", 0),
        ("self:app/layout total > +20 %", 3),
        ("self:app/layout total < -5 %", 0),
        ("self:app/layout total > 10 ms", 1),
        ("self:app/layout total > +20 ms", 3),
        ("self:app/layout total > +30000us", 0),
        ("self:app/layout total > +1 points", 2),
        ("self:app/layout p50 > +5 %", 2),
        ("self:app/other total > +5 %", 2),
        ("any > +5 %", 1),
        ("any > +50 %", 3),
        ("any > +200 %", 0),
        ("any < -99 %", 0),
        ("any > +5 points", 2),
    ] {
        assert_eq!(judged(&by_hand(), &all_lines(), &[text]).1, code, "{text}");
    }
    let (conditions, code) = judged(&by_hand(), &all_lines(), &["any > +5 %"]);
    let by = conditions[0].decided_by.as_ref().unwrap();
    assert_eq!((by.0.name.as_str(), by.1, code), ("layout", Stat::Total, 1));
    assert_eq!(conditions[0].outcome, Outcome::Fails);
    let [low, high] = conditions[0].interval.unwrap();
    assert_eq!(format!("{low:.1} {high:.1}"), "14.0 28.4");
    for wrong in ["", "any", "> 5 %", "any > 5 parsecs", "any > x %", "any > nan %", "any < -100 %"]
    {
        assert!(FailOn::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn cm21_named_metrics_are_corrected_among_themselves() {
    let one = "self:app/layout total > +5 %";
    let alone = judged(&by_hand(), &all_lines(), &[one]).0;
    let three =
        judged(&by_hand(), &all_lines(), &[one, "self:app/draw total > +5 %", "any > 9 %", one]).0;
    assert_eq!((alone[0].alpha, three[0].alpha), (0.05, 0.05 / 3.0));
    let [low, high] = alone[0].interval.unwrap();
    assert_eq!(format!("{low:.1} {high:.1}"), "16.0 26.3");
}

#[test]
fn cm21_undecided_may_pass_and_few_runs_have_no_answer() {
    let values = by_hand();
    let comparison = comparison(&values);
    let condition = FailOn::parse("self:app/layout total > +20 %").unwrap();
    let verdict = judge(&values, &comparison, &[condition]).unwrap();
    assert_eq!((verdict.exit_code(false), verdict.exit_code(true)), (3, 0));
    let values = two(Family::Metric, Stat::Value, &[1.0, 1.1], &[2.0, 2.1, 2.2]);
    for text in ["line > +5 %", "metric:app/line > +5 %", "any > +5 %"] {
        let (conditions, code) = judged(&values, &all_lines(), &[text]);
        assert_eq!((conditions[0].outcome, code), (Outcome::FewRuns, 2), "{text}");
    }
    // A named metric needs three runs, a verdict on any five.
    let values = two(Family::Metric, Stat::Value, &[1.0, 1.01, 1.02], &[2.0, 2.01, 2.02]);
    assert_eq!(judged(&values, &all_lines(), &["line > +5 %"]).1, 1);
    assert_eq!(judged(&values, &all_lines(), &["any > +5 %"]).1, 3);
}

#[test]
fn cm21_both_values_judge() {
    let (mut values, [before, after]) = runs(5, 5);
    let line = Line::new(Family::Metric, "", "startup");
    for (at, (old, new)) in before.iter().zip(&after).enumerate() {
        let base = 100.0 + at as f64;
        values.add(*old, &line, Stat::Value, Value::sure(base)).unwrap();
        let value = Value { sure: Some(base * 1.3), all: Some(base) };
        values.add(*new, &line, Stat::Value, value).unwrap();
    }
    assert_eq!(judged(&values, &all_lines(), &["startup > +5 %"]).1, 3);
    assert_eq!(judged(&values, &all_lines(), &["startup > +50 %"]).1, 0);
}

#[test]
fn cm4_families_and_their_tested_statistics() {
    let tested = |family: Family| {
        let stats = Stat::ALL.into_iter().filter(|&stat| family.tests(stat)).map(Stat::name);
        format!("{} {}", family.name(), stats.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(
        Family::ALL.map(tested),
        [
            "self count total p50 p90 p99",
            "async count p50 p90 p99",
            "cpu total",
            "wait count total p50 p99",
            "blocked count total p50 p99",
            "frame count p50 p90 p99 jank",
            "counter mean",
            "sample self",
            "heap size",
            "log count",
            "metric value",
            "slice ",
            "cpu of process ",
        ]
    );
    for family in Family::ALL {
        assert_eq!(Family::parse(family.name()), Some(family));
    }
    assert!(Stat::ALL.into_iter().all(|stat| Stat::parse(stat.name()) == Some(stat)));
}

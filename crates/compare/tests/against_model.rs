//! Random sets of values, against a naive model of the rules.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use common::integral::two_sided;
use common::model::{self, Case, Datum};
use common::random::Random;
use timebase_compare::{
    Call, Comparison, Estimate, Facts, Family, Line, Pairs, Per, Scale, Settings, Side, Stat,
    Value, Values, Why, compare,
};

/// Families with their statistics, as the SQL of the metrics has them.
const FAMILIES: [(&str, &[&str]); 12] = [
    ("self", &["count", "total", "p50", "p90", "p99", "max"]),
    ("async", &["count", "total", "p50", "p90", "p99", "max"]),
    ("cpu", &["total"]),
    ("wait", &["count", "total", "p50", "p90", "p99", "max"]),
    ("blocked", &["count", "total", "p50", "p99"]),
    ("frame", &["count", "total", "p50", "p90", "p99", "jank"]),
    ("counter", &["mean", "max"]),
    ("sample", &["self"]),
    ("heap", &["size"]),
    ("log", &["count"]),
    ("metric", &["value"]),
    ("slice", &["count", "total", "p50"]),
];

fn random_case(random: &mut Random) -> Case {
    let is_paired = random.chance(0.2);
    let most = if random.chance(0.2) { 3 } else { 9 };
    let before = 1 + random.below(most);
    let after = if is_paired { before } else { 1 + random.below(9) };
    let n = [before, after];
    let seconds =
        random.chance(0.2).then(|| n.map(|n| (0..n).map(|_| 1.0 + random.uniform()).collect()));
    let mut data = Vec::new();
    let shared = [0.0, 0.03, -0.2][random.below(3)];
    let machine = if random.chance(0.5) { 0.05 } else { 0.0 };
    let machines = n.map(|n| (0..n).map(|_| machine * random.normal()).collect::<Vec<f64>>());
    let lines = if random.chance(0.5) { 40 + random.below(20) } else { 1 + random.below(12) };
    for number in 0..lines {
        let kind = if random.chance(0.7) { random.below(3) } else { random.below(FAMILIES.len()) };
        let name = format!("line {number}");
        let (family, stats) = FAMILIES[kind];
        line(random, (family, stats, name), shared, &machines, &mut data);
    }
    random.shuffle(&mut data);
    let min_share = [0.0, 0.001, 0.02][random.below(3)];
    Case { data, n, min_share, is_absolute: random.chance(0.2), is_paired, seconds }
}

/// The values of a line in all runs.
fn line(
    random: &mut Random,
    (family, stats, name): (&'static str, &[&'static str], String),
    shared: f64,
    machines: &[Vec<f64>; 2],
    data: &mut Vec<Datum>,
) {
    let change = if random.chance(0.3) { random.normal() * 0.3 } else { 0.0 };
    let spread = if random.chance(0.1) { 0.0 } else { 0.1 * random.uniform() };
    let missing = if random.chance(0.2) { 0.5 * random.uniform() } else { 0.0 };
    let doubts = [0, 1].map(|_| if random.chance(0.2) { 0.3 * random.uniform() } else { 0.0 });
    let zeros = if random.chance(0.1) { 0.2 } else { 0.0 };
    for (side, machines) in machines.iter().enumerate() {
        for (run, machine) in machines.iter().enumerate() {
            if random.chance(missing) {
                continue;
            }
            for (at, stat) in stats.iter().enumerate() {
                let log = side as f64 * (change + shared) + machine + spread * random.normal();
                let mut all = (5.0 + at as f64 + log).exp();
                if *stat == "jank" {
                    all = random.below(5) as f64 / 10.0;
                }
                if ["count", "self"].contains(stat) {
                    all = (all / 20.0).round();
                }
                if random.chance(zeros) {
                    all = [0.0, -1.0][random.below(2)];
                }
                let sure = if random.chance(0.05 * doubts[side]) {
                    None
                } else {
                    Some(all * (1.0 - doubts[side] * random.uniform()))
                };
                let all = Some(all).filter(|_| !random.chance(0.02));
                let name = name.clone();
                data.push(Datum { family, name, stat, side, run, sure, all });
            }
        }
    }
}

fn of_crate(case: &Case) -> Comparison {
    let mut values = Values::new();
    let ids = Side::BOTH.map(|side| {
        let n = case.n[side.index()];
        let run = |run: usize| {
            let ns = case.seconds.as_ref().map_or(0.0, |seconds| 1e9 * seconds[side.index()][run]);
            let facts = Facts { ns, ..Facts::default() };
            values.run(&format!("{side:?}/{run}"), side, facts).unwrap()
        };
        (0..n).map(run).collect::<Vec<_>>()
    });
    for Datum { family, name, stat, side, run, sure, all } in &case.data {
        let line = Line::new(Family::parse(family).unwrap(), "app", name);
        let value = Value { sure: *sure, all: *all };
        values.add(ids[*side][*run], &line, Stat::parse(stat).unwrap(), value).unwrap();
    }
    let settings = Settings {
        min_share: case.min_share,
        absolute: case.is_absolute,
        pairs: case.is_paired.then_some(Pairs::Order),
        per: if case.seconds.is_some() { Per::Second } else { Per::Run },
        ..Settings::default()
    };
    compare(&values, &settings).unwrap()
}

#[track_caller]
fn near(one: f64, other: f64, what: &str) {
    let both_nan = one.is_nan() && other.is_nan();
    let tolerance = 1e-9 * other.abs().max(1.0);
    assert!(both_nan || (one - other).abs() <= tolerance, "{what}: {one} is not {other}");
}

#[track_caller]
fn same(one: Estimate, other: model::Estimate, what: &str) {
    near(one.d, other.d, what);
    near(one.se, other.se, what);
    if !one.se.is_nan() {
        near(one.df, other.df, what);
    }
}

/// Compares all rows, and counts them and the called ones.
fn check(case: &Case) -> [usize; 3] {
    let is = of_crate(case);
    let by_rules = model::compare(case);
    assert_eq!(is.rows.len(), by_rules.rows.len());
    assert_eq!(is.counts.tested, by_rules.tested);
    assert_eq!(is.shift.is_some(), by_rules.shift.is_some());
    if let (Some(shift), Some(by_rules)) = (is.shift, by_rules.shift) {
        let both = [shift.estimate, shift.all].into_iter().zip(shift.centres);
        for ((estimate, centre), [d, se, m, error]) in both.zip(by_rules) {
            near(estimate.d, d, "shift");
            near(estimate.se, se, "shift");
            near(centre.at, m, "centre");
            near(centre.error, error, "error");
        }
    }
    for (run, factor) in is.runs.iter().zip(by_rules.factors.iter().flatten().flatten()) {
        near(run.factor.unwrap(), *factor, "factor");
    }
    let mut called = 0;
    for line in &is.lines {
        for row in &is.rows[line.rows.clone()] {
            let what = format!("{} {}", line.line, row.stat.name());
            let other = by_rules.rows.iter().find(|other| {
                (other.family, other.name.as_str(), other.stat)
                    == (line.line.family.name(), line.line.name.as_str(), row.stat.name())
            });
            let other = other.unwrap();
            assert_eq!(row.n.map(|n| n as usize), other.n, "{what}");
            assert_eq!(row.scale == Scale::Ratio, other.is_log, "{what}");
            near(row.mean[0], other.mean[0], &what);
            near(row.mean[1], other.mean[1], &what);
            same(row.change, other.change, &what);
            same(row.judged(), other.judged, &what);
            assert_eq!(row.p.is_some(), other.p.is_some(), "{what}");
            near(row.p.unwrap_or(0.0), other.p.unwrap_or(0.0), &what);
            near(row.alpha, other.alpha, &what);
            assert_eq!(row.call != Call::No, other.is_called, "{what}");
            assert_eq!(row.why.map(Why::name), other.why, "{what}");
            called += usize::from(other.is_called);
            cm15_interval(row, &what);
        }
    }
    assert_eq!(is.names.len(), by_rules.names.len());
    for (name, p, is_called) in &by_rules.names {
        let found = is
            .names
            .iter()
            .find(|found| format!("{}:{}", found.line.family.name(), found.line.name) == *name);
        let found = found.unwrap();
        assert_eq!(found.p.is_some(), p.is_some());
        near(found.p.unwrap_or(0.0), p.unwrap_or(0.0), name);
        assert_eq!(found.call != Call::No, *is_called, "{name}");
    }
    [is.rows.len(), called, usize::from(is.shift.is_some())]
}

/// An interval ends where its level does, and excludes no change exactly if the row is called or says why not.
fn cm15_interval(row: &timebase_compare::Row, what: &str) {
    let judged = row.judged();
    let Some(ends) = judged.interval(row.alpha) else {
        assert!(judged.se.is_nan() && row.p.is_none());
        return;
    };
    if judged.se > 0.0 {
        near(two_sided((ends[1] - judged.d) / judged.se, judged.df), row.alpha, what);
    }
    let excludes = ends[0] > 0.0 || ends[1] < 0.0;
    if row.p.is_some() {
        assert_eq!(excludes, row.call != Call::No || row.why.is_some(), "{what}");
    }
}

#[test]
fn cm8_to_cm15_random_values_against_the_model() {
    let mut random = Random(2026);
    let mut sums = [0; 3];
    for _ in 0..500 {
        let counts = check(&random_case(&mut random));
        sums = [0, 1, 2].map(|at| sums[at] + counts[at]);
    }
    // The sets reach all of it: rows, calls and shifts.
    assert!(sums[0] > 20_000 && sums[1] > 300 && sums[2] > 60, "{sums:?}");
}

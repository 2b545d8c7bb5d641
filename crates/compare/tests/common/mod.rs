//! Sets of values for tests.

#![allow(dead_code)]

pub mod integral;
pub mod model;
pub mod random;

use timebase_compare::{
    Comparison, Facts, LineResult, Row, RunId, Settings, Side, Stat, Values, compare,
};

/// Values of `before` and `after` runs, none yet.
pub fn runs(before: usize, after: usize) -> (Values, [Vec<RunId>; 2]) {
    let mut values = Values::new();
    let runs =
        [(Side::Before, "old", before), (Side::After, "new", after)].map(|(side, name, n)| {
            let name = |number| format!("{name}/{number:02}");
            (0..n).map(|n| values.run(&name(n), side, Facts::default()).unwrap()).collect()
        });
    (values, runs)
}

/// A comparison of all lines.
pub fn comparison(values: &Values) -> Comparison {
    compare(values, &all_lines()).unwrap()
}

/// Settings under which no line is too small.
pub fn all_lines() -> Settings {
    Settings { min_share: 0.0, ..Settings::default() }
}

/// The line of that name.
pub fn line_of<'a>(comparison: &'a Comparison, name: &str) -> &'a LineResult {
    comparison.lines.iter().find(|line| line.line.name == name).unwrap()
}

/// A statistic of the line of that name.
pub fn row_of<'a>(comparison: &'a Comparison, name: &str, stat: Stat) -> &'a Row {
    let rows = &comparison.rows[line_of(comparison, name).rows.clone()];
    rows.iter().find(|row| row.stat == stat).unwrap()
}

//! The comparison.

use crate::comparison::{Call, Comparison, Counts, LineResult, NameResult, Row, Why};
use crate::correct::{LEVEL, level, simes};
use crate::error::Result;
use crate::line::{Family, Stat};
use crate::names;
use crate::notes::{self, VERDICT};
use crate::order;
use crate::rows::{Shared, Tried, row};
use crate::run::RunId;
use crate::runs::choose;
use crate::settings::Settings;
use crate::shift::common;
use crate::table::{Column, Large, Table, Which};
use crate::values::{Value, Values};

/// Compares the runs before with those after.
///
/// ```
/// use timebase_compare::{Facts, Family, Line, Settings, Side, Stat, Value, Values, compare};
///
/// let mut values = Values::new();
/// let layout = Line::new(Family::SelfTime, "app", "layout");
/// let ms = [[100, 104, 96, 102, 98], [121, 125, 117, 119, 123]];
/// for (side, ms) in Side::BOTH.into_iter().zip(ms) {
///     for (number, ms) in ms.into_iter().enumerate() {
///         let run = values.run(&format!("{side:?}/{number}"), side, Facts::default())?;
///         values.add(run, &layout, Stat::Total, Value::sure(f64::from(ms) * 1e6))?;
///     }
/// }
/// let comparison = compare(&values, &Settings::default())?;
/// let row = &comparison.rows[0];
/// assert_eq!(format!("{:+.2} %", 100.0 * (row.effect() - 1.0)), "+21.02 %");
/// let [low, high] = row.interval95().unwrap();
/// assert_eq!(format!("{low:.3} {high:.3}"), "1.160 1.263");
/// # Ok::<(), timebase_compare::Error>(())
/// ```
pub fn compare(values: &Values, settings: &Settings) -> Result<Comparison> {
    let (mut runs, pairs) = choose(values.runs(), settings)?;
    let table = Table::new(values, &mut runs, &pairs, settings)?;
    let large = table.large(settings.min_share);
    let (names, lines): (Vec<Large>, Vec<Large>) =
        large.into_iter().partition(|large| names::is_name(large, table.n));
    // CM19: a name that only repeats one of another family is no name of its own.
    let names = Vec::from_iter(
        names.into_iter().filter(|large| values.line(large.line).family.is_tested()),
    );
    let common = common(&table, &lines, runs.len());
    if let Some(common) = &common {
        for (run, factor) in runs.iter_mut().zip(&common.factors) {
            run.factor = Some(*factor).filter(|_| run.unused.is_none());
        }
    }
    // CM14: without the shift, factors are only shown.
    let shared = common.as_ref().filter(|_| !settings.absolute);
    let shared = shared.map(|common| Shared { factors: &common.factors, shift: common.shift });
    let mut tests = Tests::default();
    for large in &lines {
        tests.line(&table, large, shared);
    }
    for large in &names {
        tests.names.push(names::name(&table, large));
    }
    let numbers: Vec<u32> = names.iter().map(|large| large.line).collect();
    names::connect(&table, &numbers, &mut tests.names);
    let counts = Counts { runs: table.n, ..tests.judge() };
    let shift = shared.map(|shared| shared.shift);
    let Tests { lines, tried, names } = tests;
    let rows: Vec<Row> = tried.into_iter().map(|tried| tried.row).collect();
    let settings = settings.clone();
    let mut comparison =
        Comparison { settings, runs, pairs, shift, lines, rows, names, notes: Vec::new(), counts };
    order::put(&mut comparison);
    comparison.notes = notes::notes(&comparison);
    Ok(comparison)
}

/// The values of a statistic in one run, for a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Dots {
    /// The line: an index into [`Comparison::lines`].
    pub line: usize,
    /// The statistic.
    pub stat: Stat,
    /// The used runs and their values, divided as in the means of the row (rules CM8, CM9).
    pub values: Vec<(RunId, Value)>,
}

/// The values of the runs behind the rows of some lines, given as indexes into [`Comparison::lines`].
///
/// ```
/// use timebase_compare::{Facts, Family, Line, Settings, Side, Stat, Value, Values, compare, dots};
///
/// let mut values = Values::new();
/// let layout = Line::new(Family::SelfTime, "app", "layout");
/// for (name, side, ms) in [("a", Side::Before, 1.0), ("b", Side::After, 2.0)] {
///     let run = values.run(name, side, Facts::default())?;
///     values.add(run, &layout, Stat::Total, Value::sure(ms * 1e6))?;
/// }
/// let comparison = compare(&values, &Settings::default())?;
/// let dots = dots(&values, &comparison, &[0])?;
/// assert_eq!(dots[0].values[1].1, Value::sure(2e6));
/// # Ok::<(), timebase_compare::Error>(())
/// ```
pub fn dots(values: &Values, comparison: &Comparison, lines: &[usize]) -> Result<Vec<Dots>> {
    let mut runs = comparison.runs.clone();
    let table = Table::new(values, &mut runs, &comparison.pairs, &comparison.settings)?;
    let mut dots = Vec::new();
    for &line in lines {
        let number = comparison.lines.get(line).and_then(|of| values.number(&of.line));
        for column in number.map(|number| table.columns(number)).unwrap_or_default() {
            dots.push(Dots { line, stat: column.stat, values: table.dots(&column) });
        }
    }
    Ok(dots)
}

/// All that is tested.
#[derive(Default)]
struct Tests {
    lines: Vec<LineResult>,
    tried: Vec<Tried>,
    names: Vec<NameResult>,
}

impl Tests {
    /// Adds a line with its rows.
    fn line(&mut self, table: &Table<'_>, large: &Large, shared: Option<Shared<'_>>) {
        let line = table.values.line(large.line);
        let columns = table.columns(large.line);
        let start = self.tried.len();
        self.tried.extend(columns.iter().map(|column| row(table, line.family, column, shared)));
        let rows = start..self.tried.len();
        let of_line = self.tried.get(rows.clone()).unwrap_or_default();
        let mut ps: Vec<f64> = of_line.iter().filter_map(|tried| tried.row.p).collect();
        self.lines.push(LineResult {
            line,
            rows,
            p: simes(&mut ps),
            call: Call::No,
            impact: 0.0,
            left_out: left_out(table, &columns),
        });
    }

    /// CM15: judges all lines and names, and metrics of the user among themselves.
    fn judge(&mut self) -> Counts {
        let is_metric = |family: Family| family == Family::Metric;
        let level_of = |metrics: bool| {
            let lines = self.lines.iter().map(|line| (line.line.family, line.p));
            let names = self.names.iter().map(|name| (name.line.family, name.p));
            let all = lines.chain(names).filter(|(family, _)| is_metric(*family) == metrics);
            let mut ps: Vec<f64> = all.filter_map(|(_, p)| p).collect();
            (level(&mut ps, LEVEL), ps.len())
        };
        let [(alpha, traced), (of_metrics, metrics)] = [false, true].map(level_of);
        let level_of = |family| if is_metric(family) { of_metrics } else { alpha };
        let mut counts = Counts { tested: traced + metrics, alpha, ..Counts::default() };
        for line in &mut self.lines {
            let tried = self.tried.get_mut(line.rows.clone()).unwrap_or_default();
            line.call = judge_rows(tried, level_of(line.line.family));
            counts.called += usize::from(line.call != Call::No);
        }
        for name in &mut self.names {
            if name.p.is_some_and(|p| p <= level_of(name.line.family)) {
                name.call = call(name.of);
                counts.called += 1;
            }
        }
        counts
    }
}

/// Judges the rows of a line at its level.
fn judge_rows(tried: &mut [Tried], of_line: f64) -> Call {
    let mut ps: Vec<f64> = tried.iter().filter_map(|tried| tried.row.p).collect();
    let alpha = level(&mut ps, of_line);
    let mut best = Call::No;
    for Tried { row, sure, is_shared } in tried {
        let Some(p) = row.p else { continue };
        row.alpha = alpha;
        if p <= alpha {
            row.call = call(row.n);
            best = best.max(row.call);
        } else if *sure <= alpha {
            row.why = Some(if *is_shared { Why::Shared } else { Why::Loss });
        }
    }
    best
}

/// CM20: a verdict needs five runs a side.
fn call(n: [u32; 2]) -> Call {
    let is_enough = n.iter().all(|&n| n as usize >= VERDICT);
    if is_enough { Call::Changed } else { Call::StandsOut }
}

/// CM10: the share of a line's time that the sure values leave out; without times, of its number.
fn left_out(table: &Table<'_>, columns: &[Column]) -> f64 {
    let of = |stat| columns.iter().find(|column| column.stat == stat);
    let Some(column) = of(Stat::Total).or(of(Stat::Count)) else { return 0.0 };
    let sum = |which| {
        let mut values = table.all_of(column, which);
        values.sort_unstable_by(f64::total_cmp);
        values.iter().sum::<f64>()
    };
    let all = sum(Which::All);
    if all > 0.0 { (1.0 - sum(Which::Sure) / all).max(0.0) } else { 0.0 }
}

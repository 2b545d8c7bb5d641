//! The values of a comparison by line and statistic, as the rules use them: of used runs, divided (rule CM8), and of
//! lines that are large enough (rule CM12).

use crate::comparison::{Compared, Scale};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, mean, of_pairs, of_sides};
use crate::line::{Family, Stat};
use crate::run::{RunId, Side};
use crate::settings::{Per, Settings};
use crate::values::{Given, Index, Value, Values};
use timebase_sql::standard::pattern;

/// CM13, CM9: a side's deviation is at least 0.2 %, or 0.2 points.
pub(crate) const LEAST_DEVIATION: f64 = 0.002;
/// CM13: the deviation of a count that is rounded to a whole number.
const ROUNDED: f64 = 0.29;
/// CM12, CM19: a ratio needs values in three runs of a side.
pub(crate) const ENOUGH: usize = 3;

/// One of the two values (rule CM10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Without rows with doubt.
    Sure,
    /// With them.
    All,
}

/// A value of a run.
#[derive(Clone, Copy)]
struct At {
    run: u32,
    /// The value without rows with doubt, and that of all rows; NaN if there is none.
    values: [f64; 2],
}

/// A statistic of a line: its values in the used runs.
pub(crate) struct Column {
    pub stat: Stat,
    pub scale: Scale,
    /// Whether some value of all rows is not the sure value.
    pub differs: bool,
    sides: [Vec<At>; 2],
    /// The least deviation of logs.
    floors: [f64; 2],
}

/// A used run.
#[derive(Clone, Copy)]
struct Used {
    side: Side,
    pair: usize,
    divisor: [f64; 2],
    samples: [f64; 2],
}

/// The lines of the used runs.
pub(crate) struct Table<'a> {
    pub values: &'a Values,
    index: Index,
    /// By the number of a run.
    used: Vec<Option<Used>>,
    /// The used runs of each side.
    pub n: [usize; 2],
    /// The number of pairs, if runs are pairs.
    pairs: Option<usize>,
}

/// A line that is large enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Large {
    pub line: u32,
    /// The used runs of each side that have a value.
    pub runs: [usize; 2],
}

impl<'a> Table<'a> {
    /// The table of chosen runs. It sets what their values are divided by.
    pub fn new(
        values: &'a Values,
        runs: &mut [Compared],
        pairs: &[[RunId; 2]],
        settings: &Settings,
    ) -> Result<Table<'a>> {
        let index = values.index()?;
        divide(values, &index, runs, &settings.per)?;
        let mut used: Vec<Option<Used>> = runs
            .iter()
            .map(|run| {
                let Compared { divisor, samples, .. } = *run;
                let side = run.run.side;
                run.unused.is_none().then_some(Used { side, pair: 0, divisor, samples })
            })
            .collect();
        for (number, pair) in pairs.iter().enumerate() {
            for id in pair {
                if let Some(Some(used)) = used.get_mut(id.index()) {
                    used.pair = number;
                }
            }
        }
        let count = |side| used.iter().flatten().filter(|used| used.side == side).count();
        let n = Side::BOTH.map(count);
        let pairs = settings.pairs.is_some().then_some(pairs.len());
        Ok(Table { values, index, used, n, pairs })
    }

    /// CM12: the lines that have enough of their family, in the order of their names.
    pub fn large(&self, min_share: f64) -> Vec<Large> {
        let weights: Vec<Option<f64>> =
            self.index.lines.iter().map(|&line| self.weight(line)).collect();
        let mut sums = [0.0; Family::ALL.len()];
        for (&line, weight) in self.index.lines.iter().zip(&weights) {
            if let Some(sum) = sums.get_mut(self.values.family(line) as usize) {
                *sum += weight.unwrap_or(0.0);
            }
        }
        let lines = self.index.lines.iter().zip(weights).filter(|&(&line, weight)| {
            let sum = sums.get(self.values.family(line) as usize).copied().unwrap_or(0.0);
            weight.is_none_or(|weight| weight >= min_share * sum)
        });
        lines
            .map(|(&line, _)| Large { line, runs: self.runs_with(line) })
            .filter(|large| large.runs != [0, 0])
            .collect()
    }

    /// The time, samples or bytes of a line in all used runs.
    fn weight(&self, line: u32) -> Option<f64> {
        let stat = self.values.family(line).weight()?;
        let of_line = self.values.of_line(&self.index, line);
        let mut values: Vec<f64> = of_line
            .filter(|given| given.stat == stat && self.used(given.run).is_some())
            .filter_map(|given| given.value.all.or(given.value.sure))
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        (!values.is_empty()).then(|| values.iter().sum())
    }

    fn runs_with(&self, line: u32) -> [usize; 2] {
        let of_line = self.values.of_line(&self.index, line);
        let mut runs: Vec<u32> = of_line.map(|given| given.run).collect();
        runs.sort_unstable();
        runs.dedup();
        let mut counts = [0; 2];
        for used in runs.into_iter().filter_map(|run| self.used(run)) {
            counts[used.side.index()] += 1;
        }
        counts
    }

    fn used(&self, run: u32) -> Option<Used> {
        *self.used.get(run as usize)?
    }

    /// All lines, in the order of their names.
    pub fn lines(&self) -> impl Iterator<Item = u32> + '_ {
        self.index.lines.iter().copied()
    }

    /// The statistics of a line.
    pub fn columns(&self, line: u32) -> Vec<Column> {
        let mut columns: Vec<Column> = Vec::new();
        let mut raw = [Vec::new(), Vec::new()];
        for given in self.values.of_line(&self.index, line) {
            let Some(used) = self.used(given.run) else { continue };
            if columns.last().is_none_or(|column| column.stat != given.stat) {
                finish(columns.last_mut(), &mut raw);
                columns.push(Column::new(given.stat));
            }
            if let Some(column) = columns.last_mut() {
                column.add(given, used, &mut raw);
            }
        }
        finish(columns.last_mut(), &mut raw);
        columns.retain(|column| column.sides.iter().any(|side| !side.is_empty()));
        columns
    }

    /// The values of a column by sides, changed by `change`, which gets the run. Of pairs only those count that
    /// have both values, and both sides are in their order.
    fn sides(
        &self,
        column: &Column,
        which: Which,
        change: impl Fn(Side, u32, f64) -> f64,
    ) -> [Vec<f64>; 2] {
        let of_side = |side: Side| {
            let values = column.sides[side.index()].iter();
            values
                .map(|at| (at.run, at.values[which as usize]))
                .filter(|(_, value)| !value.is_nan())
        };
        let Some(pairs) = self.pairs else {
            return Side::BOTH
                .map(|side| of_side(side).map(|(run, value)| change(side, run, value)).collect());
        };
        let [before, after] = Side::BOTH.map(|side| {
            let mut aligned = vec![None; pairs];
            for (run, value) in of_side(side) {
                let place = self.used(run).and_then(|used| aligned.get_mut(used.pair));
                if let Some(place) = place {
                    *place = Some(change(side, run, value));
                }
            }
            aligned
        });
        let both =
            before.into_iter().zip(after).filter_map(|(before, after)| Some((before?, after?)));
        let (before, after) = both.unzip();
        [before, after]
    }

    /// The values as they are.
    pub fn plain(&self, column: &Column, which: Which) -> [Vec<f64>; 2] {
        self.sides(column, which, |_, _, value| value)
    }

    /// The values of both sides, also of runs without a partner in this column.
    pub fn all_of(&self, column: &Column, which: Which) -> Vec<f64> {
        let values = column.sides.iter().flatten().map(|at| at.values[which as usize]);
        values.filter(|value| !value.is_nan()).collect()
    }

    /// The values of a column with their runs.
    pub fn dots(&self, column: &Column) -> Vec<(RunId, Value)> {
        let some = |value: f64| Some(value).filter(|value| !value.is_nan());
        let dot = |at: &At| {
            let [sure, all] = at.values.map(some);
            (RunId(at.run), Value { sure, all })
        };
        column.sides.iter().flatten().map(dot).collect()
    }

    /// The values as logs, with their runs: rule CM14 takes their medians.
    pub fn logs(&self, column: &Column) -> [Vec<(u32, f64)>; 2] {
        Side::BOTH.map(|side| {
            let values = column.sides[side.index()].iter();
            let sure = values.filter(|at| !at.values[0].is_nan());
            sure.map(|at| (at.run, at.values[0].ln())).collect()
        })
    }

    /// The numbers of runs with a sure value, or of pairs with both.
    pub fn n_of(&self, column: &Column) -> [usize; 2] {
        self.sides(column, Which::Sure, |_, _, _| 0.0).map(|side| side.len())
    }

    /// The difference of a column in its scale, without the factors of runs if these are given.
    pub fn estimate(&self, column: &Column, which: Which, factors: Option<&[f64]>) -> Estimate {
        let factor =
            |run: u32| factors.and_then(|all| all.get(run as usize)).copied().unwrap_or(0.0);
        match column.scale {
            Scale::Ratio => {
                let sides = self.sides(column, which, |_, run, value| value.ln() - factor(run));
                self.difference(sides, column.floors[which as usize])
            }
            Scale::Difference => self.of_values(column, which, |_, _, value| value),
        }
    }

    /// The difference of a column's values, changed by `change`.
    pub fn of_values(
        &self,
        column: &Column,
        which: Which,
        change: impl Fn(Side, u32, f64) -> f64,
    ) -> Estimate {
        let sides = self.sides(column, which, change);
        // CM9
        let floor = if is_share(column.stat) {
            LEAST_DEVIATION
        } else {
            let mut sizes: Vec<f64> = sides.iter().flatten().map(|value| value.abs()).collect();
            sizes.sort_unstable_by(f64::total_cmp);
            if sizes.is_empty() { 0.0 } else { column.floors[which as usize] * mean(&sizes) }
        };
        self.difference(sides, floor)
    }

    /// The difference of two sides, or of the factors of runs.
    fn difference(&self, mut sides: [Vec<f64>; 2], floor: f64) -> Estimate {
        if self.pairs.is_none() {
            return of_sides(&mut sides, floor);
        }
        let [before, after] = sides;
        let mut differences: Vec<f64> =
            before.iter().zip(&after).map(|(before, after)| after - before).collect();
        of_pairs(&mut differences, floor)
    }

    /// The difference of the factors of all used runs, by the number of a run.
    pub fn of_factors(&self, factors: &[f64]) -> Estimate {
        let mut column = Column::new(Stat::Total);
        for (run, used) in (0..).zip(&self.used) {
            let factor = factors.get(run as usize).copied();
            if let (Some(used), Some(factor)) = (used, factor) {
                column.sides[used.side.index()].push(At { run, values: [factor; 2] });
            }
        }
        let sides = self.sides(&column, Which::Sure, |_, _, factor| factor);
        self.difference(sides, LEAST_DEVIATION)
    }
}

/// CM9: shares are compared in points.
pub(crate) fn is_share(stat: Stat) -> bool {
    matches!(stat, Stat::Share | Stat::Jank)
}

impl Column {
    fn new(stat: Stat) -> Column {
        let scale = if is_share(stat) { Scale::Difference } else { Scale::Ratio };
        let sides = [Vec::new(), Vec::new()];
        Column { stat, scale, differs: false, sides, floors: [LEAST_DEVIATION; 2] }
    }

    fn add(&mut self, given: Given, used: Used, raw: &mut [Vec<f64>; 2]) {
        let Value { sure, all } = given.value;
        let [sure, all] = [sure, all.or(sure)].map(|value| value.unwrap_or(f64::NAN));
        let by = divisor(given.stat, used);
        // A run without anything to divide by has no value.
        let quotient = |value: f64, by: f64| if by > 0.0 { value / by } else { f64::NAN };
        let values = [quotient(sure, by[0]), quotient(all, by[1])];
        if values.iter().all(|value| value.is_nan()) {
            return;
        }
        // CM9: a log needs a value above 0.
        if values.iter().any(|value| *value <= 0.0) {
            self.scale = Scale::Difference;
        }
        // A missing sure value is another one, too.
        self.differs |= values[0] != values[1];
        for (raw, value) in raw.iter_mut().zip([sure, all]) {
            raw.extend(Some(value).filter(|value| !value.is_nan()));
        }
        self.sides[used.side.index()].push(At { run: given.run, values });
    }
}

/// Sets the least deviations of a column by its raw values, which it empties.
fn finish(column: Option<&mut Column>, raw: &mut [Vec<f64>; 2]) {
    if let Some(column) = column.filter(|column| column.stat == Stat::Count) {
        for (floor, raw) in column.floors.iter_mut().zip(&mut *raw) {
            raw.sort_unstable_by(f64::total_cmp);
            let mean = mean(raw);
            if mean > 0.0 {
                // CM13
                *floor = LEAST_DEVIATION.max(ROUNDED / mean);
            }
        }
    }
    raw.iter_mut().for_each(Vec::clear);
}

/// Sure and all values are divided by these.
fn divisor(stat: Stat, used: Used) -> [f64; 2] {
    match stat {
        Stat::Share => used.samples,
        // CM8: percentiles and means are of one event already.
        Stat::Count | Stat::Total => used.divisor,
        _ => [1.0; 2],
    }
}

/// CM8, CM9: the divisors and samples of all runs.
fn divide(values: &Values, index: &Index, runs: &mut [Compared], per: &Per) -> Result<()> {
    let mut sums = vec![[0.0; 2]; runs.len()];
    match per {
        Per::Run => {}
        Per::Second => runs.iter_mut().for_each(|run| run.divisor = [run.run.facts.ns / 1e9; 2]),
        Per::Frame => runs.iter_mut().for_each(|run| run.divisor = [run.run.facts.frames; 2]),
        Per::Slice(name) => {
            let patterned = pattern(name);
            for &line in &index.lines {
                let line_name = || values.line(line).name;
                let is_meant = || line_name() == *name || line_name() == patterned;
                if values.family(line) == Family::Slice && is_meant() {
                    add(values, index, (line, Stat::Count), &mut sums);
                }
            }
            runs.iter_mut().zip(&sums).for_each(|(run, sum)| run.divisor = *sum);
            sums.fill([0.0; 2]);
        }
    }
    for &line in index.lines.iter().filter(|&&line| values.family(line) == Family::Sample) {
        add(values, index, (line, Stat::Share), &mut sums);
    }
    runs.iter_mut().zip(sums).for_each(|(run, sum)| run.samples = sum);
    let has_some = |run: &Compared| run.unused.is_none() && run.divisor[1] > 0.0;
    if runs.iter().any(|run| run.unused.is_none()) && !runs.iter().any(has_some) {
        let what = match per {
            Per::Run | Per::Second => "a length".to_owned(),
            Per::Frame => "frames".to_owned(),
            Per::Slice(name) => format!("slices named {name}"),
        };
        return Err(Error::NothingToDivideBy { what });
    }
    Ok(())
}

/// Adds the values of a statistic of a line to sums, by the number of a run.
fn add(values: &Values, index: &Index, (line, stat): (u32, Stat), sums: &mut [[f64; 2]]) {
    for given in values.of_line(index, line).filter(|given| given.stat == stat) {
        if let Some(sums) = sums.get_mut(given.run as usize) {
            let Value { sure, all } = given.value;
            sums[0] += sure.unwrap_or(0.0);
            sums[1] += all.or(sure).unwrap_or(0.0);
        }
    }
}

//! Verdicts of conditions (rule CM21).

use crate::comparison::{Comparison, Scale};
use crate::correct::LEVEL;
use crate::error::Result;
use crate::estimate::mean;
use crate::fail_on::{Direction, FailOn, LimitUnit};
use crate::line::{Family, Line, Stat, Unit};
use crate::notes::VERDICT;
use crate::rows::{self, Beyond, Shared};
use crate::run::Side;
use crate::table::{Column, ENOUGH, Table, Which};
use crate::values::Values;

/// The outcome of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The interval is on the good side of the limit.
    Passes,
    /// The interval is beyond the limit.
    Fails,
    /// The limit is in the interval, or its two values disagree.
    Undecided,
    /// No line is named so, or no statistic of it has values.
    Unknown,
    /// A side has less than three runs with a value.
    FewRuns,
    /// The statistic cannot be compared in that unit.
    WrongUnit,
}

/// A condition with its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The outcome.
    pub outcome: Outcome,
    /// The statistic that decided: the named one, or of any the one that fails, or else is undecided.
    pub decided_by: Option<(Line, Stat)>,
    /// The interval of that statistic by the sure values, in the unit of the condition; of percent, the change in
    /// percent.
    pub interval: Option<[f64; 2]>,
    /// The level of the interval is 1 − alpha.
    pub alpha: f64,
}

/// The outcomes of all conditions.
///
/// ```
/// use timebase_compare::{Outcome, Verdict};
/// let verdict = Verdict { conditions: Vec::new() };
/// assert_eq!(verdict.exit_code(false), 0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The outcomes, in the order of the conditions.
    pub conditions: Vec<Judged>,
}

impl Verdict {
    /// The exit code: 0 passes, 1 fails, 3 undecided, 2 for a condition that has no answer. `undecided_passes`
    /// is `--undecided pass`.
    pub fn exit_code(&self, undecided_passes: bool) -> u8 {
        match self.conditions.iter().map(rank).max() {
            None | Some(0) => 0,
            Some(1) if undecided_passes => 0,
            Some(1) => 3,
            Some(2) => 1,
            Some(_) => 2,
        }
    }
}

/// Judges conditions by a comparison and the values that it compared.
///
/// ```
/// use timebase_compare::{FailOn, Facts, Line, Family, Settings, Side, Stat, Value, Values, compare, judge};
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
/// let condition = FailOn::parse("self:app/layout total > +5 %")?;
/// assert_eq!(judge(&values, &comparison, &[condition])?.exit_code(false), 1);
/// # Ok::<(), timebase_compare::Error>(())
/// ```
pub fn judge(values: &Values, comparison: &Comparison, conditions: &[FailOn]) -> Result<Verdict> {
    let mut runs = comparison.runs.clone();
    let table = Table::new(values, &mut runs, &comparison.pairs, &comparison.settings)?;
    let factors: Vec<f64> = runs.iter().map(|run| run.factor.unwrap_or(0.0)).collect();
    let shared = comparison.shift.map(|shift| Shared { factors: &factors, shift });
    let judge = Judge { table, shared, comparison };
    let named = conditions.iter().filter(|condition| condition.metric.is_some()).count();
    // Bonferroni
    let alpha = LEVEL / named.max(1) as f64;
    let conditions = conditions.iter().map(|condition| match &condition.metric {
        Some(metric) => judge.named(condition, metric, alpha),
        None => judge.any(condition),
    });
    Ok(Verdict { conditions: conditions.collect() })
}

struct Judge<'a> {
    table: Table<'a>,
    shared: Option<Shared<'a>>,
    comparison: &'a Comparison,
}

/// The estimates of a statistic in the unit of a condition, by sure and by all values.
struct Tested {
    n: [u32; 2],
    both: [Beyond; 2],
}

impl Judge<'_> {
    fn named(&self, condition: &FailOn, metric: &str, alpha: f64) -> Judged {
        let none = |outcome| Judged { outcome, decided_by: None, interval: None, alpha };
        let mut judged: Option<Judged> = None;
        for line in self.table.lines() {
            let name = self.table.values.line(line);
            let Some(stats) = stats(&name, metric) else { continue };
            let columns = self.table.columns(line);
            for column in columns.iter().filter(|column| stats.contains(&column.stat)) {
                let decided_by = Some((name.clone(), column.stat));
                let next = match self.tested(name.family, column, condition.unit) {
                    None => Judged { decided_by, ..none(Outcome::WrongUnit) },
                    Some(tested) if tested.n.iter().any(|&n| (n as usize) < ENOUGH) => {
                        Judged { decided_by, ..none(Outcome::FewRuns) }
                    }
                    Some(tested) => Judged {
                        decided_by,
                        outcome: outcome(condition, &tested, alpha),
                        interval: shown(condition, tested.both[0].estimate.interval(alpha)),
                        alpha,
                    },
                };
                if judged.as_ref().is_none_or(|known| rank(&next) > rank(known)) {
                    judged = Some(next);
                }
            }
        }
        judged.unwrap_or_else(|| none(Outcome::Unknown))
    }

    /// Judges all tested statistics, each at the level of the report.
    fn any(&self, condition: &FailOn) -> Judged {
        let few = self.table.n.iter().any(|&n| n < ENOUGH);
        let outcome_without = if few { Outcome::FewRuns } else { Outcome::Unknown };
        let mut judged =
            Judged { outcome: outcome_without, decided_by: None, interval: None, alpha: LEVEL };
        let mut is_first = true;
        for line in &self.comparison.lines {
            let rows = self.comparison.rows.get(line.rows.clone()).unwrap_or_default();
            if rows.iter().all(|row| row.p.is_none()) {
                continue;
            }
            let number = self.table.values.number(&line.line);
            let columns = number.map(|number| self.table.columns(number));
            for column in columns.iter().flatten() {
                let row = rows.iter().find(|row| row.stat == column.stat && row.p.is_some());
                let Some(row) = row else { continue };
                let Some(tested) = self.tested(line.line.family, column, condition.unit) else {
                    continue;
                };
                let mut outcome = outcome(condition, &tested, row.alpha);
                // CM20
                if outcome == Outcome::Fails && tested.n.iter().any(|&n| (n as usize) < VERDICT) {
                    outcome = Outcome::Undecided;
                }
                let next = Judged {
                    outcome,
                    decided_by: Some((line.line.clone(), row.stat)),
                    interval: shown(condition, tested.both[0].estimate.interval(row.alpha)),
                    alpha: row.alpha,
                };
                if is_first || rank(&next) > rank(&judged) {
                    judged = next;
                }
                is_first = false;
            }
        }
        if judged.outcome == Outcome::Passes {
            // No statistic in particular decided that.
            judged = Judged { decided_by: None, interval: None, ..judged };
        }
        judged
    }

    /// The estimates of a statistic in a unit; `None` if it has no estimate there.
    fn tested(&self, family: Family, column: &Column, unit: LimitUnit) -> Option<Tested> {
        let of_stat = rows::unit(family, column.stat);
        let fits = match unit {
            LimitUnit::Percent => column.scale == Scale::Ratio,
            LimitUnit::Points => of_stat == Unit::Share,
            // Only the user knows the unit of a metric.
            LimitUnit::Time => of_stat == Unit::Time || family == Family::Metric,
            LimitUnit::Plain => !matches!(of_stat, Unit::Share | Unit::Time),
        };
        if !fits {
            return None;
        }
        let n = self.table.n_of(column).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let shared =
            self.shared.filter(|_| family.tests(column.stat) && rows::loses_shift(family, column));
        let both = [Which::Sure, Which::All].map(|which| match unit {
            LimitUnit::Percent => {
                let factors = shared.map(|shared| shared.factors);
                rows::beyond(self.table.estimate(column, which, factors), which, shared)
            }
            _ => self.difference(column, which, shared),
        });
        Some(Tested { n, both })
    }

    /// The difference of means, in the unit of the values.
    fn difference(&self, column: &Column, which: Which, shared: Option<Shared<'_>>) -> Beyond {
        let Some(Shared { factors, shift }) = shared else {
            let estimate = self.table.of_values(column, which, |_, _, value| value);
            return Beyond { estimate, is_own: true };
        };
        let factor = |run: u32| factors.get(run as usize).copied().unwrap_or(0.0);
        let own = self.table.of_values(column, which, |_, run, value| value * (-factor(run)).exp());
        let centre = shift.centres[which as usize];
        // Half of the shift is taken from each side, so that swapped sides have the same difference.
        let level = |side, run, value: f64| {
            let half = centre.at / 2.0;
            value * (if side == Side::After { -half } else { half } - factor(run)).exp()
        };
        let beyond = self.table.of_values(column, which, level);
        let mut all = self.table.all_of(column, which);
        all.sort_unstable_by(f64::total_cmp);
        let beyond = beyond.less(0.0, centre.error * mean(&all));
        Beyond { estimate: beyond, is_own: rows::is_own(own.d, beyond.d) }
    }
}

/// The statistics of a line that a condition names, if it names the line.
fn stats(line: &Line, metric: &str) -> Option<Vec<Stat>> {
    let name = line.to_string();
    let family = Family::Metric.name();
    let of_metric = name.strip_prefix(family).and_then(|name| name.strip_prefix(':'));
    let is_named = of_metric == Some(metric) || line.name == metric || name == metric;
    if line.family == Family::Metric && is_named {
        return Some(vec![Stat::Value]);
    }
    let stat = metric.strip_prefix(&name)?.strip_prefix(' ')?;
    Some(vec![Stat::parse(stat.trim_start())?])
}

fn outcome(condition: &FailOn, tested: &Tested, alpha: f64) -> Outcome {
    let limit = match condition.unit {
        LimitUnit::Percent => (condition.limit / 100.0).ln_1p(),
        _ => condition.limit,
    };
    let [sure, all] = tested.both.map(|effect| effect.estimate);
    let Some(ends) = sure.interval(alpha) else { return Outcome::FewRuns };
    let of_all = if all == sure { Some(ends) } else { all.interval(alpha) };
    let (sure, Some(all)) = (ends, of_all) else { return Outcome::FewRuns };
    let is_above = |end: f64| end > limit;
    let is_below = |end: f64| end < limit;
    let above = is_above(sure[0]) && is_above(all[0]);
    let below = is_below(sure[1]) && is_below(all[1]);
    let (fails, passes) = match condition.direction {
        Direction::Above => (above, below),
        Direction::Below => (below, above),
    };
    match (fails && tested.both.iter().all(|effect| effect.is_own), passes) {
        (true, _) => Outcome::Fails,
        (_, true) => Outcome::Passes,
        _ => Outcome::Undecided,
    }
}

/// An interval in the unit of a condition.
fn shown(condition: &FailOn, interval: Option<[f64; 2]>) -> Option<[f64; 2]> {
    Some(interval?.map(|end| match condition.unit {
        LimitUnit::Percent => 100.0 * end.exp_m1(),
        LimitUnit::Points => 100.0 * end,
        LimitUnit::Time | LimitUnit::Plain => end,
    }))
}

/// Worse outcomes are larger.
fn rank(judged: &Judged) -> u8 {
    match judged.outcome {
        Outcome::Passes => 0,
        Outcome::Undecided => 1,
        Outcome::Fails => 2,
        Outcome::Unknown | Outcome::FewRuns | Outcome::WrongUnit => 3,
    }
}

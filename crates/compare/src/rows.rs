//! The rows of a line: estimates, and the probabilities by which they are judged (rules CM9, CM10, CM12 to CM14).

use crate::comparison::{Call, Row, Scale, Shift};
use crate::estimate::{Estimate, mean};
use crate::line::{Family, Stat, Unit};
use crate::table::{Column, ENOUGH, Table, Which};

/// What all lines share, as far as it is taken out.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub factors: &'a [f64],
    pub shift: Shift,
}

/// A row, and how its sure values alone are judged.
pub(crate) struct Tried {
    pub row: Row,
    /// The probability by the sure values, if it needs no change of its own.
    pub sure: f64,
    /// Whether the sure values show no change of the line's own.
    pub is_shared: bool,
}

/// The row of a statistic.
pub(crate) fn row(
    table: &Table<'_>,
    family: Family,
    column: &Column,
    shared: Option<Shared<'_>>,
) -> Tried {
    let n = table.n_of(column);
    let is_tested = family.tests(column.stat) && n.iter().all(|&n| n >= ENOUGH);
    let shared = shared.filter(|_| is_tested && loses_shift(family, column));
    let judge = |which| beyond(table, column, which, shared);
    let sure = judge(Which::Sure);
    let all = if column.differs { judge(Which::All) } else { sure };
    // CM10: the larger probability, if both go in one direction.
    let p = if sure.estimate.d * all.estimate.d > 0.0 { sure.p().max(all.p()) } else { 1.0 };
    let row = Row {
        stat: column.stat,
        unit: unit(family, column.stat),
        scale: column.scale,
        n: n.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        mean: table.plain(column, Which::Sure).map(|mut side| {
            side.sort_unstable_by(f64::total_cmp);
            mean(&side)
        }),
        change: match shared {
            Some(_) => table.estimate(column, Which::Sure, None),
            None => sure.estimate,
        },
        beyond: shared.map(|_| sure.estimate),
        all: all.estimate,
        p: is_tested.then_some(p),
        alpha: crate::correct::LEVEL,
        call: Call::No,
        why: None,
    };
    let alone = sure.estimate.p().unwrap_or(1.0);
    Tried { row, sure: alone, is_shared: !sure.is_own }
}

/// The unit of a row.
pub(crate) fn unit(family: Family, stat: Stat) -> Unit {
    // The largest value of a counter is no time.
    if family == Family::Counter { Unit::Plain } else { stat.unit() }
}

/// CM14: the times of time lines are tested beyond what all share; CM9: those with values of 0 are not.
pub(crate) fn loses_shift(family: Family, column: &Column) -> bool {
    family.is_time()
        && column.scale == Scale::Ratio
        && matches!(column.stat, Stat::Total | Stat::P50 | Stat::P90 | Stat::P99)
}

/// An estimate, and whether the change is the line's own.
#[derive(Clone, Copy)]
pub(crate) struct Beyond {
    pub estimate: Estimate,
    pub is_own: bool,
}

impl Beyond {
    fn p(&self) -> f64 {
        if self.is_own { self.estimate.p().unwrap_or(1.0) } else { 1.0 }
    }
}

/// What is tested: beyond the shift, if it is taken out.
pub(crate) fn beyond(
    table: &Table<'_>,
    column: &Column,
    which: Which,
    shared: Option<Shared<'_>>,
) -> Beyond {
    let Some(Shared { factors, shift }) = shared else {
        return Beyond { estimate: table.estimate(column, which, None), is_own: true };
    };
    let own = table.estimate(column, which, Some(factors));
    let beyond = own.less(shift.centre, shift.error);
    Beyond { estimate: beyond, is_own: is_own(own.d, beyond.d) }
}

/// CM14: the line's own change has the direction of that beyond the shift, and at least half of its size.
pub(crate) fn is_own(own: f64, beyond: f64) -> bool {
    own * beyond > 0.0 && own.abs() >= beyond.abs() / 2.0
}

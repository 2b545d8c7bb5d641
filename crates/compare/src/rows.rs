//! The rows of a line: estimates, and the probabilities by which they are judged (rules CM9, CM10, CM12 to CM14).

use crate::comparison::{Call, Row, Scale, Shift};
use crate::estimate::{Estimate, mean};
use crate::line::{Family, Stat, Unit};
use crate::table::{Column, ENOUGH, Table, Which};

/// The factors and the shift that all lines share, as far as they are taken out.
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
    let factors = shared.map(|shared| shared.factors);
    let own = table.estimate(column, Which::Sure, factors);
    let sure = beyond(own, Which::Sure, shared);
    let own = if column.differs { table.estimate(column, Which::All, factors) } else { own };
    let all = beyond(own, Which::All, shared);
    let sure_p = sure.estimate.p().unwrap_or(1.0);
    let all_p = if all == sure { sure_p } else { all.estimate.p().unwrap_or(1.0) };
    // CM10: the larger probability, if both go in one direction.
    let agree = sure.estimate.d * all.estimate.d > 0.0 && sure.is_own && all.is_own;
    let p = if agree { sure_p.max(all_p) } else { 1.0 };
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
    Tried { row, sure: sure_p, is_shared: !sure.is_own }
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
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Beyond {
    pub estimate: Estimate,
    pub is_own: bool,
}

/// The tested estimate, from one without the factors of runs: it loses the shift as well, if that is shared.
pub(crate) fn beyond(own: Estimate, which: Which, shared: Option<Shared<'_>>) -> Beyond {
    let Some(Shared { shift, .. }) = shared else {
        return Beyond { estimate: own, is_own: true };
    };
    let centre = shift.centres[which as usize];
    let beyond = own.less(centre.at, centre.error);
    Beyond { estimate: beyond, is_own: is_own(own.d, beyond.d) }
}

/// CM14: the line's own change has the direction of that beyond the shift, and at least half of its size.
pub(crate) fn is_own(own: f64, beyond: f64) -> bool {
    own * beyond > 0.0 && own.abs() >= beyond.abs() / 2.0
}

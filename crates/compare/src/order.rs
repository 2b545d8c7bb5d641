//! The order of the report (rule CM22).

use crate::comparison::{Call, Comparison, LineResult, Row, Scale};
use crate::line::{Family, Stat};

/// Puts lines in order: by family, called ones first, then by the size of the change, never by probability.
pub(crate) fn put(comparison: &mut Comparison) {
    let rows = &comparison.rows;
    for line in &mut comparison.lines {
        line.impact = impact(line, rows.get(line.rows.clone()).unwrap_or_default());
    }
    comparison.lines.sort_by(|one, other| {
        let key = |line: &LineResult| (line.line.family, line.call == Call::No);
        let by_size = other.impact.total_cmp(&one.impact);
        key(one).cmp(&key(other)).then(by_size).then_with(|| one.line.cmp(&other.line))
    });
    let mut ordered = Vec::with_capacity(rows.len());
    for line in &mut comparison.lines {
        let start = ordered.len();
        ordered.extend_from_slice(rows.get(line.rows.clone()).unwrap_or_default());
        line.rows = start..ordered.len();
    }
    comparison.rows = ordered;
}

/// The largest change among the called statistics, or among all of a line that is not called.
fn impact(line: &LineResult, rows: &[Row]) -> f64 {
    let counts = rows.iter().any(|row| row.call != Call::No);
    let rows_that_count = rows.iter().filter(|row| !counts || row.call != Call::No);
    let sizes: Vec<f64> = if has_time(line.line.family) {
        rows_that_count.filter_map(|row| time(row, rows)).collect()
    } else {
        rows_that_count.map(log_ratio).collect()
    };
    sizes.into_iter().filter(|size| !size.is_nan()).max_by(f64::total_cmp).unwrap_or(0.0)
}

fn has_time(family: Family) -> bool {
    use Family::{Async, Blocked, Cpu, CpuOfProcess, Frame, SelfTime, Slice, Wait};
    matches!(family, SelfTime | Async | Cpu | Wait | Blocked | Frame | Slice | CpuOfProcess)
}

/// The change of a run's time, in ns. That of a percentile is multiplied by the number of events.
fn time(row: &Row, rows: &[Row]) -> Option<f64> {
    let of = |stat| rows.iter().find(|row| row.stat == stat);
    match row.stat {
        Stat::Total => Some(row.delta().abs()),
        Stat::Count => Some(of(Stat::Total)?.delta().abs()),
        stat if stat.is_of_one() && stat != Stat::Max => {
            let calls =
                of(Stat::Count).map_or(1.0, |count| f64::midpoint(count.mean[0], count.mean[1]));
            Some(row.delta().abs() * calls)
        }
        _ => None,
    }
}

/// The size of a change without a unit.
fn log_ratio(row: &Row) -> f64 {
    match row.scale {
        Scale::Ratio => row.judged().d.abs(),
        Scale::Difference if row.delta() == 0.0 => 0.0,
        Scale::Difference if row.mean.iter().all(|&mean| mean > 0.0) => {
            (row.mean[1] / row.mean[0]).ln().abs()
        }
        Scale::Difference => f64::INFINITY,
    }
}

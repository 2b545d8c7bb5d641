//! The part of a change that all lines share (rule CM14).
//!
//! A machine is hot for a run, or for a session of runs. The factor of a run is the median over many lines; it makes
//! the runs of a side equal. The centre of all lines' changes makes the sides equal. A mean would follow the lines
//! that changed; the biweight gives these no weight, and keeps most of the precision of a mean.

use crate::comparison::{Centre, Scale, Shift};
use crate::estimate::{Estimate, mean, median};
use crate::line::Stat;
use crate::table::{Column, ENOUGH, Large, Table, Which};

/// Fewer time lines say nothing about what all share.
const LEAST_LINES: usize = 30;
/// The centre converges in some ten steps.
const MOST_STEPS: usize = 200;
/// A step of the centre that is none.
const CONVERGED: f64 = 1e-13;

/// The factors of runs, and the shift between the sides.
pub(crate) struct Common {
    /// The logs of factors, by the number of a run; 0 of an unused run.
    pub factors: Vec<f64>,
    pub shift: Shift,
}

/// The differences of all sharing columns, by the sure values and by all.
type Differences = [Vec<Estimate>; 2];

/// The factors and the shift, if there are enough lines.
pub(crate) fn common(table: &Table<'_>, large: &[Large], runs: usize) -> Option<Common> {
    let time_lines = || large.iter().filter(|large| table.values.family(large.line).is_time());
    let mut deviations: Vec<Vec<f64>> = vec![Vec::new(); runs];
    let mut lines = 0;
    for large in time_lines() {
        let columns = sharing(table, large);
        columns.iter().for_each(|column| deviate(table, column, &mut deviations));
        lines += usize::from(!columns.is_empty());
    }
    if lines < LEAST_LINES {
        return None;
    }
    let factors: Vec<f64> =
        deviations.into_iter().map(|mut all| median(&mut all).unwrap_or(0.0)).collect();
    let mut differences = Differences::default();
    for column in time_lines().flat_map(|large| sharing(table, large)) {
        let sure = table.estimate(&column, Which::Sure, Some(&factors));
        let all = || table.estimate(&column, Which::All, Some(&factors));
        differences[0].push(sure);
        differences[1].push(if column.differs { all() } else { sure });
    }
    let of_factors = table.of_factors(&factors);
    let [sure, all] = differences.map(|estimates| centre(&estimates));
    let estimate = |centre: Centre| of_factors.less(-centre.at, centre.error);
    let shift = Shift { estimate: estimate(sure), all: estimate(all), centres: [sure, all], lines };
    Some(Common { factors, shift })
}

/// The tested totals and medians of a line, with logs in enough runs.
fn sharing(table: &Table<'_>, large: &Large) -> Vec<Column> {
    let family = table.values.family(large.line);
    let mut columns = table.columns(large.line);
    columns.retain(|column| {
        matches!(column.stat, Stat::Total | Stat::P50)
            && family.tests(column.stat)
            && column.scale == Scale::Ratio
            && table.n_of(column).iter().all(|&n| n >= ENOUGH)
    });
    columns
}

/// Adds the deviation of each run from the mean of its side.
fn deviate(table: &Table<'_>, column: &Column, deviations: &mut [Vec<f64>]) {
    for side in table.logs(column) {
        let mut sorted: Vec<f64> = side.iter().map(|(_, log)| *log).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mean = mean(&sorted);
        for (run, log) in side {
            if let Some(of_run) = deviations.get_mut(run as usize) {
                of_run.push(log - mean);
            }
        }
    }
}

/// The biweight centre of differences, and its error.
fn centre(estimates: &[Estimate]) -> Centre {
    let mut sorted: Vec<f64> = estimates.iter().map(|estimate| estimate.d).collect();
    let mut centre = median(&mut sorted).unwrap_or(0.0);
    for _ in 0..MOST_STEPS {
        let before = centre;
        centre = weigh(estimates, centre).at;
        if (centre - before).abs() <= CONVERGED {
            break;
        }
    }
    Centre { at: centre, error: weigh(estimates, centre).error }
}

/// The next centre, and the error of this one.
fn weigh(estimates: &[Estimate], m: f64) -> Centre {
    let mut distances: Vec<f64> = estimates.iter().map(|estimate| (estimate.d - m).abs()).collect();
    let spread = 1.4826 * median(&mut distances).unwrap_or(0.0);
    let [mut sum, mut moved, mut off, mut squares] = [0.0; 4];
    for Estimate { d, se, .. } in estimates {
        let u = (d - m) / (4.0 * spread.max(*se));
        if u.abs() < 1.0 {
            let least = (spread / 2.0).max(*se);
            let weight = (1.0 - u * u) * (1.0 - u * u) / (least * least);
            sum += weight;
            moved += weight * (d - m);
            off += weight * (d - m) * (d - m);
            squares += weight * weight;
        }
    }
    if sum > 0.0 {
        let error = 1.1 * (off * squares / sum).sqrt() / sum;
        Centre { at: m + moved / sum, error }
    } else {
        Centre { at: m, error: 0.0 }
    }
}

//! Differences of two sides, with their errors (rules CM12, CM13, CM16, CM17).
//!
//! All sums are over sorted values, so that the order of runs changes no bit of them.

use crate::student::{quantile, two_sided};

/// An effect with its error: a difference of means, of logs or of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The difference, after less before; NaN if a side has no run.
    pub d: f64,
    /// Its standard error; NaN if there are too few runs.
    pub se: f64,
    /// The degrees of freedom; NaN if there are too few runs.
    pub df: f64,
}

impl Estimate {
    /// The interval with the level 1 − `alpha`; `None` with too few runs.
    ///
    /// ```
    /// use timebase_compare::Estimate;
    /// let layout = Estimate { d: 0.1908, se: 0.01836, df: 7.725 };
    /// let [low, high] = layout.interval(0.05).unwrap().map(f64::exp);
    /// assert_eq!(format!("{low:.3} {high:.3}"), "1.160 1.263");
    /// ```
    pub fn interval(&self, alpha: f64) -> Option<[f64; 2]> {
        let half = quantile(alpha, self.df)? * self.se;
        Some([self.d - half, self.d + half])
    }

    /// The probability of a difference as far from 0, if there is none.
    pub fn p(&self) -> Option<f64> {
        two_sided(self.d, self.se, self.df)
    }

    /// CM16: the smallest difference that is seen at the level `alpha` in 80 % of comparisons.
    pub(crate) fn smallest(&self, alpha: f64) -> Option<f64> {
        Some((quantile(alpha, self.df)? + quantile(0.4, self.df)?) * self.se)
    }

    /// The estimate less `centre`, which has the error `error` (rule CM14).
    pub(crate) fn less(self, centre: f64, error: f64) -> Estimate {
        Estimate { d: self.d - centre, se: self.se.hypot(error), df: self.df }
    }
}

/// The mean of sorted values; NaN of none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let rough = values.iter().sum::<f64>() / n;
    // A second pass takes out the rounding of the first one.
    rough + values.iter().map(|value| value - rough).sum::<f64>() / n
}

/// The variance of sorted values around their mean, by two passes; NaN of less than two.
fn variance(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    if values.len() < 2 { f64::NAN } else { squares / (values.len() - 1) as f64 }
}

/// The median of values, whose order it changes; `None` of none.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let is_even = values.len().is_multiple_of(2);
    let (less, &mut upper, _) = values.select_nth_unstable_by(values.len() / 2, f64::total_cmp);
    let lower = less.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
    Some(f64::midpoint(lower.unwrap_or(upper), upper))
}

/// CM13: the difference of two sides, which it sorts. A deviation is at least `floor`.
pub(crate) fn of_sides(sides: &mut [Vec<f64>; 2], floor: f64) -> Estimate {
    for side in sides.iter_mut() {
        side.sort_unstable_by(f64::total_cmp);
    }
    let [before, after] = &*sides;
    let means = [mean(before), mean(after)];
    let d = means[1] - means[0];
    let n = [before.len() as f64, after.len() as f64];
    if before.len() < 2 || after.len() < 2 {
        return Estimate { d, se: f64::NAN, df: f64::NAN };
    }
    let square = floor * floor;
    let variances = [variance(before, means[0]).max(square), variance(after, means[1]).max(square)];
    let [v0, v1] = [variances[0] / n[0], variances[1] / n[1]];
    let pooled = ((n[0] - 1.0) * variances[0] + (n[1] - 1.0) * variances[1]) / (n[0] + n[1] - 2.0);
    let se = (v0 + v1).max(pooled * (1.0 / n[0] + 1.0 / n[1])).sqrt();
    // Without any deviation the quotient has no value; that of equal deviations is its limit.
    let [v0, v1] = if v0 + v1 > 0.0 { [v0 / (v0 + v1), v1 / (v0 + v1)] } else { [0.5, 0.5] };
    let df = 1.0 / (v0 * v0 / (n[0] - 1.0) + v1 * v1 / (n[1] - 1.0));
    Estimate { d, se, df }
}

/// CM17: the mean of the differences of pairs, which it sorts.
pub(crate) fn of_pairs(differences: &mut [f64], floor: f64) -> Estimate {
    differences.sort_unstable_by(f64::total_cmp);
    let d = mean(differences);
    let n = differences.len() as f64;
    let variance = variance(differences, d).max(2.0 * floor * floor);
    if differences.len() < 2 {
        return Estimate { d, se: f64::NAN, df: f64::NAN };
    }
    Estimate { d, se: (variance / n).sqrt(), df: n - 1.0 }
}

//! Rates with their uncertainty (rules R33 and R35).
//!
//! Two readings that are 16 µs apart and 30 ns off show a rate of 1,880 ppm, plus or minus as much.
//! So a rate is the mean of the measured rate and the usual rate of clocks, each with the weight of
//! its certainty: 150 ppm is nearly all that those two readings can say, and nothing is left of it
//! after ten snapshots.

use super::select::weighted_median;

/// The rate of a gap, and its error, which the errors of its two readings cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub rate: f64,
    pub sigma: f64,
}

/// An estimated rate, and its error; infinite if unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub rate: f64,
    pub error: f64,
}

/// The estimate of a rate before its measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prior {
    pub rate: f64,
    /// `None` if any rate is as likely.
    pub error: Option<f64>,
}

impl Prior {
    /// The rate by this and by some gaps.
    pub fn with<I: Iterator<Item = Measured>>(self, gaps: impl Fn() -> I) -> Rate {
        let own = self.error.map_or(0.0, certainty);
        let of_gaps: f64 = gaps().map(|gap| certainty(gap.sigma)).sum();
        // Two gaps confirm each other.
        let are_several = gaps().nth(1).is_some();
        let weight = if are_several { 2.0 * of_gaps } else { of_gaps };
        let all = own + weight;
        let shown = median_rate(gaps).map_or(0.0, |shown| shown - self.rate);
        Rate {
            rate: self.rate + if all > 0.0 { shown * weight / all } else { 0.0 },
            error: 1.0 / all.sqrt(),
        }
    }
}

fn certainty(error: f64) -> f64 {
    1.0 / (error * error)
}

/// The weighted median of the rates of gaps.
fn median_rate<I: Iterator<Item = Measured>>(gaps: impl Fn() -> I) -> Option<f64> {
    weighted_median(|| gaps().map(|gap| (gap.rate, 1.0 / gap.sigma)))
}

/// The weighted median of their errors.
pub(super) fn median_sigma<I: Iterator<Item = Measured>>(gaps: impl Fn() -> I) -> Option<f64> {
    weighted_median(|| gaps().map(|gap| (gap.sigma, 1.0 / gap.sigma)))
}

/// The part of a difference of two rates that is more than their errors explain.
pub(super) fn changed(difference: f64, sigma: f64) -> f64 {
    (difference * difference - sigma * sigma / 9.0).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r33_a_median_with_weights_is_at_half_of_all_weight() {
        let median = |of: &[(f64, f64)]| weighted_median(|| of.iter().copied());
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[(7.0, 3.0)]), Some(7.0));
        // Equal weights: the median.
        assert_eq!(median(&[(3.0, 1.0), (1.0, 1.0), (9.0, 1.0)]), Some(3.0));
        assert_eq!(median(&[(3.0, 2.0), (1.0, 2.0), (9.0, 2.0), (4.0, 2.0)]), Some(3.5));
        // Two: their mean.
        assert_eq!(median(&[(1.0, 1.0), (5.0, 3.0)]), Some(4.0));
        // The first of three stands at 4, the second at 9, and half is at 5.5.
        assert_eq!(median(&[(10.0, 8.0), (20.0, 2.0), (30.0, 1.0)]), Some(13.0));
    }

    #[test]
    fn r33_a_rate_is_between_what_clocks_do_and_what_is_seen() {
        let prior = Prior { rate: 1.0, error: Some(150e-6) };
        let nothing = prior.with(|| [].into_iter());
        assert_eq!(nothing.rate, 1.0);
        assert!((nothing.error - 150e-6).abs() < 1e-15);
        // One gap as sure as the prior counts half.
        let gap = Measured { rate: 1.0002, sigma: 150e-6 };
        let half = prior.with(|| [gap].into_iter());
        assert!((half.rate - 1.0001).abs() < 1e-12);
        assert!((half.error - 150e-6 / 2f64.sqrt()).abs() < 1e-12);
        // Two of them count four times as much as one.
        let two = prior.with(|| [gap, gap].into_iter());
        assert!((two.rate - 1.00016).abs() < 1e-12);
        assert!((two.error - 150e-6 / 5f64.sqrt()).abs() < 1e-12);
        // Nothing is known.
        let unknown = Prior { rate: 0.4, error: None };
        assert_eq!(unknown.with(|| [].into_iter()).rate, 0.4);
        assert_eq!(unknown.with(|| [].into_iter()).error, f64::INFINITY);
        assert!((unknown.with(|| [gap].into_iter()).rate - 1.0002).abs() < 1e-12);
    }

    #[test]
    fn r35_a_change_is_what_chance_does_not_explain() {
        assert_eq!(changed(5.0, 9.0), 4.0);
        assert_eq!(changed(1.0, 9.0), 0.0);
        assert_eq!(changed(-2.5, 0.0), 2.5);
        assert_eq!(changed(1.0, f64::INFINITY), 0.0);
    }
}

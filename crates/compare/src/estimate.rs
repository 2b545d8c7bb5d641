//! Estimates (rules CM12, CM13, CM16, CM17).

/// An effect with its error: a difference of means, of logs or of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The difference, after less before.
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
        let half = crate::student::quantile(alpha, self.df)? * self.se;
        Some([self.d - half, self.d + half])
    }

    /// The probability of a difference as far from 0, if there is none.
    pub fn p(&self) -> Option<f64> {
        crate::student::two_sided(self.d, self.se, self.df)
    }

    /// The smallest difference that is seen at the level `alpha` in 80 % of comparisons.
    pub(crate) fn smallest(&self, alpha: f64) -> Option<f64> {
        Some(
            (crate::student::quantile(alpha, self.df)? + crate::student::quantile(0.4, self.df)?)
                * self.se,
        )
    }
}

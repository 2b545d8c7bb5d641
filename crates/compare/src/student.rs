//! Student's t distribution.

use statrs::function::beta::{beta_reg, inv_beta_reg};

/// The probability of a t as far from 0 as `d` / `se`. `None` without degrees of freedom.
pub(crate) fn two_sided(d: f64, se: f64, df: f64) -> Option<f64> {
    if !(df > 0.0 && se >= 0.0) {
        return None;
    }
    if d == 0.0 {
        return Some(1.0);
    }
    let t = d / se;
    // P(|T| > t) is the regularized incomplete beta function at df / (df + t²).
    Some(beta_reg(df / 2.0, 0.5, (df / (df + t * t)).clamp(0.0, 1.0)))
}

/// The t that is passed, in both directions together, with the probability `alpha`.
pub(crate) fn quantile(alpha: f64, df: f64) -> Option<f64> {
    if !(df > 0.0 && alpha > 0.0 && alpha <= 1.0) {
        return None;
    }
    let x = inv_beta_reg(df / 2.0, 0.5, alpha);
    Some((df * (1.0 - x) / x).sqrt())
}

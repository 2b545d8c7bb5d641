//! Student's t distribution.

use std::f64::consts::{PI, SQRT_2};

use statrs::function::beta::checked_beta_reg;
use statrs::function::erf::erfc_inv;
use statrs::function::gamma::ln_gamma;

/// Newton's method needs two or three steps.
const MOST_STEPS: usize = 50;

/// The probability of a t as far from 0 as `d` / `se`. `None` without degrees of freedom.
pub(crate) fn two_sided(d: f64, se: f64, df: f64) -> Option<f64> {
    if !(df > 0.0 && se >= 0.0) || d.is_nan() {
        return None;
    }
    if d == 0.0 {
        return Some(1.0);
    }
    let t = d / se;
    // P(|T| > t) is the regularized incomplete beta function at df / (df + t²).
    checked_beta_reg(df / 2.0, 0.5, df / (df + t * t)).ok()
}

/// The t that is passed, in both directions together, with the probability `alpha`.
pub(crate) fn quantile(alpha: f64, df: f64) -> Option<f64> {
    if !(df > 0.0 && alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    // The inverse of statrs is off by 3e-6 at 100,000 degrees of freedom, and slower. Newton's method is in logs of t
    // and of its probability, which are nearly a line; Wallace's formula is where it begins.
    let z = SQRT_2 * erfc_inv(alpha);
    let scale = (df - 5.0 / 6.0) / (df - 2.0 / 3.0 + 0.1 / df).powi(2);
    let mut t = (df * (z * z * scale.abs()).exp_m1()).sqrt().clamp(1e-12, 1e12);
    for _ in 0..MOST_STEPS {
        let p = two_sided(t, 1.0, df)?;
        let step = ((p / alpha).ln() * p / (2.0 * density(t, df) * t)).clamp(-1.0, 1.0);
        t *= step.exp();
        // The number of right digits doubles with each step.
        if step.abs() < 1e-6 {
            break;
        }
    }
    Some(t)
}

fn density(t: f64, df: f64) -> f64 {
    let ln_factor = ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0) - (df * PI).ln() / 2.0;
    (ln_factor - (df + 1.0) / 2.0 * (t * t / df).ln_1p()).exp()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn cm13_the_distribution_is_that_of_scipy() {
        // 2 * scipy.stats.t.sf(t, df)
        for (t, df, p) in [
            (10.39, 7.725, 8.242281660836757e-06),
            (0.5, 1.0, 0.7048327646991335),
            (2.0, 2.5, 0.1573914957579659),
            (5.4585, 8.0, 0.0006026011158585894),
            (40.0, 3.0, 3.4380680789158506e-05),
            (1e-6, 9.0, 0.9999992239301823),
            (3.0, 1e4, 0.002706448189997666),
            (12.0, 38.7, 1.2933300504744082e-14),
            (0.001, 4.0, 0.99925000015625),
        ] {
            let is = two_sided(-t, 1.0, df).unwrap();
            assert!((is - p).abs() < 1e-10 * p, "{t} {df}: {is} {p}");
        }
        // scipy.stats.t.isf(alpha / 2, df)
        for (alpha, df, t) in [
            (0.05, 8.0, 2.3060041352041662),
            (0.0125, 7.725, 3.237413311426787),
            (5e-6, 7.5, 11.4882516769297),
            (1e-9, 4.2, 224.29644801900767),
            (0.4, 1.0, 1.3763819204711736),
            (0.05, 2.0, 4.302652729749464),
            (0.05, 1e5, 1.95998770753461),
            (5e-7, 38.3, 6.031862739577364),
            (0.9, 5.0, 0.1321751752316873),
            (1e-12, 1.0, 636619772367.5814),
            (1e-15, 60.0, 10.818376149255773),
            (0.999, 2.0, 0.0014142142694804078),
            (1e-9, 2.0, 31622.776577966713),
        ] {
            let is = quantile(alpha, df).unwrap();
            assert!((is - t).abs() < 1e-9 * t, "{alpha} {df}: {is} {t}");
        }
    }

    #[test]
    fn cm20_without_runs_there_is_no_probability() {
        assert_eq!(two_sided(1.0, f64::NAN, f64::NAN), None);
        assert_eq!(quantile(0.05, f64::NAN), None);
        assert_eq!(two_sided(0.0, 0.0, 8.0), Some(1.0));
        assert_eq!(two_sided(1.0, 0.0, 8.0), Some(0.0));
    }
}

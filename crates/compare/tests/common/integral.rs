//! Student's t by integration.

use std::f64::consts::FRAC_PI_2;

/// The probability of |T| > |t|. With tan θ = t / √df, the density is that of cos^(df − 1) θ.
pub fn two_sided(t: f64, df: f64) -> f64 {
    if t.abs() == 0.0 {
        return 1.0;
    }
    let rest = (df.sqrt() / t.abs()).atan();
    integral(rest, df) / integral(FRAC_PI_2, df)
}

/// The integral of sin^(df − 1) from 0 to `end`, by Simpson. The substitution x = end · u³ has no corner at 0.
fn integral(end: f64, df: f64) -> f64 {
    const STEPS: i32 = 1000;
    let at = |step: i32| {
        let u = f64::from(step) / f64::from(STEPS);
        let x = end * u.powi(3);
        x.sin().powf(df - 1.0) * 3.0 * end * u * u
    };
    let inner: f64 = (1..STEPS).map(|step| at(step) * if step % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (at(0) + inner + at(STEPS)) / (3.0 * f64::from(STEPS))
}

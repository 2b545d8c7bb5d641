//! Corrections for many tests (rule CM15).

/// The share of calls that chance may make.
pub(crate) const LEVEL: f64 = 0.05;

/// The probability of a line by Simes over its statistics; `None` without any.
pub(crate) fn simes(ps: &mut [f64]) -> Option<f64> {
    ps.sort_unstable_by(f64::total_cmp);
    let n = ps.len() as f64;
    let scaled = (1..).zip(&*ps).map(|(rank, p): (u32, &f64)| p * n / f64::from(rank));
    scaled.min_by(f64::total_cmp)
}

/// Benjamini and Hochberg: the level at which each of the probabilities is judged. They are sorted.
pub(crate) fn level(ps: &mut [f64], level: f64) -> f64 {
    ps.sort_unstable_by(f64::total_cmp);
    let m = ps.len().max(1) as f64;
    let called = (1..).zip(&*ps).filter(|(rank, p): &(u32, _)| **p <= level * f64::from(*rank) / m);
    let called = called.map(|(rank, _)| rank).max().unwrap_or(1);
    level * f64::from(called) / m
}

/// Fisher's exact probability: `with` of `n` runs of each side have something.
pub(crate) fn fisher(with: [u32; 2], n: [u32; 2]) -> f64 {
    use statrs::function::factorial::ln_binomial;
    let all = with[0] + with[1];
    let ln_of = |before: u32| {
        let ways = |n: u32, k: u32| ln_binomial(u64::from(n), u64::from(k));
        ways(n[0], before) + ways(n[1], all - before) - ways(n[0] + n[1], all)
    };
    let seen = ln_of(with[0]);
    let least = all.saturating_sub(n[1]);
    let most = all.min(n[0]);
    // Equal probabilities differ by their rounding.
    let as_rare = (least..=most).map(ln_of).filter(|ln| *ln <= seen + 1e-7);
    as_rare.map(f64::exp).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cm19_fishers_probabilities() {
        // scipy.stats.fisher_exact
        for (with, n, p) in [
            ([5, 0], [5, 5], 0.007936507936507936),
            ([0, 10], [10, 10], 1.082508822446903e-05),
            ([2, 7], [10, 12], 0.09907120743034056),
            ([2, 40], [40, 40], 1.6017530547847222e-20),
            ([1, 1], [10, 10], 1.0),
        ] {
            assert!(
                (fisher(with, n) - p).abs() < 1e-9 * p,
                "{with:?} of {n:?}: {}",
                fisher(with, n)
            );
        }
    }

    #[test]
    fn cm15_the_level_is_where_calls_end() {
        assert_eq!(level(&mut [0.9, 0.001, 0.5, 0.7], 0.05), 0.05 / 4.0);
        assert_eq!(level(&mut [0.02, 0.001, 0.5, 0.7], 0.05), 0.05 * 2.0 / 4.0);
        // A probability above its own line is called with a larger one below its line.
        assert_eq!(level(&mut [0.02, 0.024], 0.05), 0.05);
        assert_eq!(level(&mut [], 0.05), 0.05);
        assert_eq!(simes(&mut [0.04, 0.01, 0.5]), Some(0.03));
        assert_eq!(simes(&mut []), None);
    }
}

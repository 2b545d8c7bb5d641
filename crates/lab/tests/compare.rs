//! Comparisons of simulated runs are wrong as seldom as they should be. `cargo bench -- compare` prints the figures.

#![allow(clippy::unwrap_used)]

use timebase_lab::compare::{CompareCase, share_of_failures};

/// Comparisons of each case; the bench has more.
const COMPARISONS: u64 = 200;

#[test]
fn cm10_cm13_to_cm15_cm17_cm20_few_comparisons_are_wrong() {
    for case in CompareCase::all() {
        let measured = case.measure(COMPARISONS).unwrap();
        let missed = case.missed(&measured);
        assert!(missed.is_empty(), "{}: {missed:?}, {measured:?}", case.name);
    }
}

#[test]
fn cm21_a_limit_fails_seldom_at_its_value_and_mostly_beyond() {
    let at_limit = share_of_failures(1.05_f64.ln(), 1000).unwrap();
    assert!(at_limit < 0.025 + 3.0 * (0.025 * 0.975 / 1000.0_f64).sqrt(), "{at_limit}");
    let beyond = share_of_failures(1.10_f64.ln(), 1000).unwrap();
    assert!(beyond > 0.85, "{beyond}");
}

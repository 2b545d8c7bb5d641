//! Random cases.

use std::fmt::Debug;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Checks the same cases in every run, a share of all; PROPTEST_CASES asks for more of them. The
/// simplest case that fails is shown.
pub fn for_all<C: Debug>(
    share: u32,
    cases: impl Strategy<Value = C>,
    check: impl Fn(&C) -> Result<(), TestCaseError>,
) {
    let all = Config::default();
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: 4096,
        cases: all.cases / share,
        ..all
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    match TestRunner::new_with_rng(config, rng).run(&cases, |case| check(&case)) {
        Ok(()) => {}
        Err(TestError::Fail(why, case)) => panic!("{why}\nfor {case:?}"),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

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

/// Random numbers (xorshift) from a seed other than 0.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

//! Random numbers that are the same on every machine and in every version: PCG64 (MCG), whose crate
//! tests it against reference vectors. This module computes numbers below a bound itself, because
//! `rand` has changed its method between versions.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

/// Random numbers that only depend on a seed.
///
/// ```
/// use timebase_lab::synth::Random;
///
/// let mut random = Random::new(7);
/// assert!(random.below(6) < 6);
/// assert_eq!(Random::new(7).below(1000), Random::new(7).below(1000));
/// ```
#[derive(Debug, Clone)]
pub struct Random(Pcg64Mcg);

impl Random {
    /// The numbers of this seed, from the first one.
    pub fn new(seed: u64) -> Self {
        // Only the upper half differs: after the first multiplication, seeds that differ by 1 have
        // nothing in common.
        let state = u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15;
        let mut random = Pcg64Mcg::new(state);
        random.next_u64();
        Random(random)
    }

    /// A number from 0 to `bound` − 1; 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_below_their_bound_and_reach_all_of_it() {
        let mut random = Random::new(1);
        let mut seen = [false; 7];
        for _ in 0..1000 {
            seen[random.below(7) as usize] = true;
        }
        assert_eq!(seen, [true; 7]);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn seeds_that_are_near_have_different_numbers() {
        let first = |seed| Random::new(seed).below(u64::MAX);
        assert_ne!(first(1), first(2));
        assert_ne!(first(0), first(1));
    }
}

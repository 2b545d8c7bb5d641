//! A clock that drifts against another one.

use crate::synth::hop::Paced;
use crate::synth::random::Random;

/// Rates are in units of 2⁻⁴⁰, about 10⁻¹². A power of two, so that a reading
/// costs a multiplication and a shift.
pub(crate) const RATE_BITS: u32 = 40;

/// The largest rate of an oscillator: a tenth.
pub(crate) const MAX_RATE: i64 = (1 << RATE_BITS) / 10;

/// A clock that is a straight line over its parent: `origin + elapsed + rate × elapsed`, rounded
/// down to its unit.
///
/// Times are below 2⁶⁰ ns and rates below a tenth, so nothing here overflows.
#[derive(Debug, Clone)]
pub(crate) struct Drifting {
    /// Its reading, in ns, when its parent reads `parent_origin`.
    origin: i64,
    parent_origin: i64,
    /// Its rate against its parent, less 1.
    rate: i64,
    /// Nanoseconds in a tick.
    pub unit: i64,
}

impl Drifting {
    /// A clock whose rate is drawn from −`drift_ppm` to +`drift_ppm`.
    pub fn new(
        random: &mut Random,
        drift_ppm: u32,
        parent_origin: i64,
        origin: i64,
        unit: u32,
    ) -> Self {
        let largest = (i64::from(drift_ppm) * (1 << RATE_BITS) / 1_000_000).min(MAX_RATE);
        let rate = random.below(largest.unsigned_abs() * 2 + 1) as i64 - largest;
        Drifting { origin, parent_origin, rate, unit: i64::from(unit.max(1)) }
    }

    /// Its reading, in its own unit, when its parent reads `parent` ns.
    #[inline]
    pub fn ticks(&self, parent: i64) -> i64 {
        let elapsed = parent - self.parent_origin;
        let drift = ((i128::from(elapsed) * i128::from(self.rate)) >> RATE_BITS) as i64;
        let value = self.origin + elapsed + drift;
        if self.unit == 1 { value } else { value.div_euclid(self.unit) }
    }
}

impl Paced for Drifting {
    fn drift_over(&self, distance: i64) -> i64 {
        drift_over(distance, self.rate.into())
    }

    /// Less than a unit, as are the two of a hop, which cancel each other partly. Without drift and
    /// with a unit of 1, nothing is rounded.
    fn rounding(&self) -> i64 {
        if self.rate == 0 { self.unit - 1 } else { self.unit }
    }

    fn doubt(&self, before: i64) -> i64 {
        // The parent may be a tenth slower.
        let doubt = before + self.unit;
        doubt + doubt / 8 + 1
    }
}

/// The largest error of a clock with this rate after `distance` ns, rounded up.
pub(crate) fn drift_over(distance: i64, rate: i128) -> i64 {
    let product = i128::from(distance) * rate.abs();
    ((product + (1 << RATE_BITS) - 1) >> RATE_BITS) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(rate: i64, unit: i64) -> Drifting {
        Drifting { origin: 5000, parent_origin: 1000, rate, unit }
    }

    #[test]
    fn a_clock_of_rate_0_is_its_parent_with_an_offset() {
        assert_eq!(clock(0, 1).ticks(1234), 5234);
        assert_eq!(clock(0, 100).ticks(1234), 52);
        assert_eq!((clock(0, 1).rounding(), clock(0, 100).rounding()), (0, 99));
    }

    #[test]
    fn a_clock_that_is_faster_gains_and_one_that_is_slower_loses() {
        let thousandth = (1 << RATE_BITS) / 1000;
        assert_eq!(clock(thousandth, 1).ticks(1_001_000), 1_005_999); // rounded down
        assert_eq!(clock(-thousandth, 1).ticks(1_001_000), 1_004_000);
        assert_eq!(clock(thousandth, 1).drift_over(1_000_000), 1000);
    }

    #[test]
    fn rates_are_within_what_was_asked_for() {
        let mut random = Random::new(3);
        let rates: Vec<i64> = (0..100)
            .map(|_| Drifting::new(&mut random, 50, 0, 0, 1).drift_over(1_000_000_000))
            .collect();
        assert!(rates.iter().all(|&rate| rate <= 50_000));
        assert!(rates.iter().any(|&rate| rate > 25_000));
        assert_eq!(Drifting::new(&mut random, 0, 0, 0, 1).rate, 0);
    }
}

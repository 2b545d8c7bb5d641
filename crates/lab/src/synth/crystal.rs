//! A realistic clock: its rate is off, and changes.
//!
//! The rate is a random walk over the time of the clock below. It takes a step once in 10 ms, of a
//! uniform random number. After some tens of steps, the sum is almost normal, and it is the same on
//! every machine; logarithms may not be.

use crate::synth::clock::{MAX_RATE, RATE_BITS, drift_over};
use crate::synth::hop::Paced;
use crate::synth::random::Random;
use crate::synth::settings::Settings;

/// Between two changes of the rate, in ns of the parent.
const STEP: i64 = 10_000_000;

/// Uniform numbers from −b to b have a standard deviation of b ÷ √3, and there are 100 steps in a
/// second: b is this many billionths of the deviation for a second.
const LARGEST_CHANGE: u128 = 173_205_081;

/// The frequency in kHz of a clock that ticks once in a nanosecond.
const NANOSECONDS: u32 = 1_000_000;

/// A clock with a crystal.
#[derive(Debug, Clone)]
pub(crate) struct Crystal {
    random: Random,
    /// Its reading in ticks at the beginning.
    origin: i64,
    khz: u32,
    /// The reading of its parent, in ns.
    parent: i64,
    /// The time that it has counted, in 2⁻⁴⁰ ns.
    elapsed: i128,
    /// Its rate against its parent, less 1, also in 2⁻⁴⁰.
    rate: i64,
    /// The lowest and the highest rate so far.
    rates: (i64, i64),
    /// The largest change of the rate.
    change: u64,
    next_change: i64,
    /// The largest time between reading it and its parent, in ns.
    apart: i64,
}

/// The readings of a clock and its parent at the beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning {
    /// In ns.
    pub parent: i64,
    /// In ticks.
    pub origin: i64,
}

impl Crystal {
    /// A clock of `khz` kHz that is faster or slower than its parent.
    pub fn new(
        settings: &Settings,
        random: Random,
        Beginning { parent, origin }: Beginning,
        khz: u32,
        is_faster: bool,
    ) -> Self {
        let drift = i64::from(settings.drift_ppm) * (1 << RATE_BITS) / 1_000_000;
        let rate = match is_faster {
            true => drift.min(MAX_RATE),
            false => -drift.min(MAX_RATE),
        };
        let wander = (u128::from(settings.wander_ppb) << RATE_BITS) / 1_000_000_000;
        Crystal {
            random,
            origin,
            khz,
            parent,
            elapsed: 0,
            rate,
            rates: (rate, rate),
            change: (wander * LARGEST_CHANGE / 1_000_000_000) as u64,
            next_change: parent + STEP,
            apart: settings.largest_apart() as i64,
        }
    }

    /// Its parent has advanced to `parent` ns.
    #[inline]
    pub fn go_on(&mut self, parent: i64) {
        while self.change > 0 && self.next_change <= parent {
            self.go_on_evenly(self.next_change);
            let change = self.random.below(2 * self.change + 1) as i64 - self.change as i64;
            self.turn_to(self.rate + change);
            self.next_change += STEP;
        }
        self.go_on_evenly(parent);
    }

    fn go_on_evenly(&mut self, parent: i64) {
        let passed = i128::from(parent - self.parent);
        self.elapsed += passed * i128::from((1 << RATE_BITS) + self.rate);
        self.parent = parent;
    }

    /// Makes it faster by this many millionths.
    pub fn bend(&mut self, ppm: i32) {
        self.turn_to(self.rate + i64::from(ppm) * (1 << RATE_BITS) / 1_000_000);
    }

    /// Sets it forward by this many ns.
    pub fn set(&mut self, ns: i64) {
        self.origin += (i128::from(ns) * i128::from(self.khz) / i128::from(NANOSECONDS)) as i64;
    }

    fn turn_to(&mut self, rate: i64) {
        self.rate = rate.clamp(-MAX_RATE, MAX_RATE);
        self.rates = (self.rates.0.min(self.rate), self.rates.1.max(self.rate));
    }

    /// Its reading in ticks, this many ns of its parent after the last advance.
    #[inline]
    pub fn ticks(&self, later: i64) -> i64 {
        let more = i128::from(later) * i128::from((1 << RATE_BITS) + self.rate);
        let elapsed = (self.elapsed + more) * i128::from(self.khz);
        self.origin + (elapsed.div_euclid(i128::from(NANOSECONDS)) >> RATE_BITS) as i64
    }

    /// Its largest drift from its parent so far, if a tick counts as a nanosecond.
    fn largest_rate(&self) -> i128 {
        let (low, high) = self.rates;
        let rate = |rate: i64| {
            let ticks = i128::from((1 << RATE_BITS) + rate) * i128::from(self.khz);
            (ticks / i128::from(NANOSECONDS) - (1 << RATE_BITS)).abs() + 1
        };
        match self.khz == NANOSECONDS && self.rates == (0, 0) {
            true => 0,
            false => rate(low).max(rate(high)),
        }
    }
}

impl Paced for Crystal {
    fn drift_over(&self, distance: i64) -> i64 {
        drift_over(distance, self.largest_rate())
    }

    fn rounding(&self) -> i64 {
        i64::from(self.largest_rate() > 0)
    }

    fn doubt(&self, before: i64) -> i64 {
        // A tick may take this many ns of the parent, which may be a tenth slower.
        let tick = i64::from(NANOSECONDS.div_ceil(self.khz));
        let doubt = (before + 1) * tick;
        doubt + doubt / 8 + 1 + self.apart
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crystal(wander_ppb: u32, khz: u32, seed: u64) -> Crystal {
        let settings = Settings { wander_ppb, ..Settings::default() };
        let is_faster = seed.is_multiple_of(2);
        let beginning = Beginning { parent: 1000, origin: 5000 };
        Crystal::new(&settings, Random::new(seed), beginning, khz, is_faster)
    }

    #[test]
    fn a_clock_that_does_not_wander_is_as_far_off_as_it_shall() {
        for seed in 0..10 {
            let mut clock = crystal(0, NANOSECONDS, seed);
            clock.go_on(1000 + 1_000_000_000);
            let off = clock.ticks(0) - 5000 - 1_000_000_000;
            let expected = [49_999, -50_000][seed as usize % 2];
            assert_eq!(off, expected);
        }
    }

    #[test]
    fn a_clock_that_bends_and_one_that_is_set_go_on_from_there() {
        let second = 1_000_000_000;
        let mut clock = crystal(0, 2_000_000, 0);
        clock.go_on(1000 + second);
        let before = clock.ticks(0);
        clock.bend(450);
        assert_eq!(clock.ticks(0), before);
        clock.go_on(1000 + 2 * second);
        // 500 ppm.
        assert_eq!(clock.ticks(0) - before, 2 * second + 1_000_000);
        clock.set(-70);
        assert_eq!(clock.ticks(0) - before, 2 * second + 1_000_000 - 140);
        let off = (clock.largest_rate() - (1 << RATE_BITS)) as f64 / (1_u64 << RATE_BITS) as f64;
        assert!((off - 2.0 * 500e-6).abs() < 1e-9, "{off}");
    }

    #[test]
    fn it_does_not_matter_how_often_a_clock_is_asked() {
        let (mut often, mut once) = (crystal(1000, 2_700_000, 1), crystal(1000, 2_700_000, 1));
        for parent in (1000..3_000_000_000).step_by(1_234_567) {
            often.go_on(parent);
        }
        often.go_on(3_000_000_000);
        once.go_on(3_000_000_000);
        assert_eq!(often.ticks(0), once.ticks(0));
        assert!((once.ticks(0) - 8_100_000_000).abs() < 1_000_000);
    }

    #[test]
    fn rates_wander_by_as_much_as_was_asked_for() {
        // The rates of 400 clocks after 4 s. They are twice as far off as after one second.
        let ppm = |rate: i64| rate as f64 * 1e6 / (1_u64 << RATE_BITS) as f64;
        let moved = (0..400).map(|seed| {
            let mut clock = crystal(1000, NANOSECONDS, seed);
            let begin = clock.rate;
            clock.go_on(1000 + 4_000_000_000);
            ppm(clock.rate - begin)
        });
        let deviation = (moved.map(|ppm| ppm * ppm).sum::<f64>() / 400.0).sqrt();
        assert!((1.85..2.15).contains(&deviation), "{deviation}");
    }

    #[test]
    fn a_reading_before_or_after_is_on_the_same_line() {
        let mut clock = crystal(0, 2_700_000, 1);
        clock.go_on(1_000_000);
        let now = clock.ticks(0);
        assert!((clock.ticks(100) - now - 270).abs() <= 1);
        assert!((clock.ticks(-100) - now + 270).abs() <= 1);
    }
}

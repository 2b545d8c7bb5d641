//! Compared times are measured alternately: a temporary disturbance of the machine affects both.

use std::time::Duration;

use crate::Result;

/// Times of the measured code, each with one of its yardstick from just before or after it.
#[derive(Debug, Default)]
pub struct Pairs {
    pub ours: Vec<Duration>,
    pub yardstick: Vec<Duration>,
}

impl Pairs {
    /// Runs both this many times. Every other time the yardstick runs first, because the second one
    /// has warmer caches, or a busier disk.
    pub fn run(
        runs: usize,
        mut ours: impl FnMut() -> Result<Duration>,
        mut yardstick: impl FnMut() -> Result<Duration>,
    ) -> Result<Pairs> {
        let mut pairs = Pairs::default();
        for run in 0..runs {
            if run % 2 == 0 {
                pairs.ours.push(ours()?);
                pairs.yardstick.push(yardstick()?);
            } else {
                pairs.yardstick.push(yardstick()?);
                pairs.ours.push(ours()?);
            }
        }
        Ok(pairs)
    }

    /// The ratio of the measured time to the yardstick's.
    pub fn ratio(&self) -> Spread {
        let pairs = self.ours.iter().zip(&self.yardstick);
        Spread::of(pairs.map(|(ours, yardstick)| ours.as_secs_f64() / yardstick.as_secs_f64()))
    }
}

/// The median of some numbers, and their quartiles.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Spread {
    pub fn of(numbers: impl Iterator<Item = f64>) -> Spread {
        let mut numbers: Vec<f64> = numbers.collect();
        numbers.sort_unstable_by(f64::total_cmp);
        let last = numbers.len() - 1;
        // Interpolates between two numbers.
        let at = |part: f64| {
            let place = part * last as f64;
            let (below, above) = (numbers[place as usize], numbers[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Spread { low: at(0.25), median: at(0.5), high: at(0.75) }
    }

    pub fn scaled(self, by: f64) -> Spread {
        Spread { low: self.low * by, median: self.median * by, high: self.high * by }
    }
}

/// The middle one.
pub fn median(times: &[Duration]) -> Duration {
    Duration::from_secs_f64(Spread::of(times.iter().map(Duration::as_secs_f64)).median)
}

//! Clocks with a known truth, and random delays.

use crate::synth::Random;

/// Random numbers of some distributions.
pub(super) struct Dice(Random);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Random::new(seed))
    }

    /// Evenly from 0 to 1, never 0.
    pub fn even(&mut self) -> f64 {
        (self.0.below(1 << 53) + 1) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.even()
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.even().ln()
    }

    /// About a standard normal number.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.even()).sum::<f64>() - 6.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound as u64) as usize
    }

    pub fn is(&mut self, probability: f64) -> bool {
        self.even() <= probability
    }
}

/// How a clock runs against true time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Running {
    /// At a constant rate, in ppm.
    Even(f64),
    /// The rate starts within 20 ppm, and wanders by this many ppm in √s.
    Wander(f64),
    /// Two slews of 500 ppm, one up and one down, of 2 to 6 s.
    Slews,
    /// It is set by this many ns, once.
    Set(f64),
    /// It sleeps for 7 s, once, and wanders.
    Suspend,
}

/// The time between two corners, in ns.
const STEP: f64 = 10e6;
const SECOND: f64 = 1e9;

/// A clock: what it shows, less true time, at the multiples of [`STEP`].
pub(super) struct Clock {
    ahead: Vec<f64>,
    /// A step at a true time, by ns.
    step: (f64, f64),
}

impl Clock {
    /// `ahead` ns at the beginning.
    pub fn new(running: Running, ahead: f64, duration: f64, dice: &mut Dice) -> Clock {
        let count = (duration * 1.2 / STEP) as usize + 2;
        let mut rate = match running {
            Running::Even(ppm) => ppm,
            Running::Slews => 0.0,
            _ => dice.between(-20.0, 20.0),
        };
        let wander = match running {
            Running::Wander(ppm) => ppm,
            Running::Suspend => 1.0,
            _ => 0.0,
        } * (STEP / SECOND).sqrt();
        let slew = |from: f64, rate: f64, dice: &mut Dice| {
            let begin = dice.between(from, from + 0.3) * duration;
            (begin, begin + dice.between(2.0, 6.0) * SECOND, rate)
        };
        let slews = match running {
            Running::Slews => {
                let first = if dice.is(0.5) { 500.0 } else { -500.0 };
                vec![slew(0.1, first, dice), slew(0.5, -first, dice)]
            }
            _ => Vec::new(),
        };
        let step = match running {
            Running::Set(by) => (dice.between(0.3, 0.7) * duration, by),
            Running::Suspend => (dice.between(0.3, 0.7) * duration, 7.0 * SECOND),
            _ => (f64::INFINITY, 0.0),
        };
        let mut clock = Clock { ahead: vec![ahead], step };
        let mut now = ahead;
        for place in 0..count {
            let t = place as f64 * STEP;
            let slewed = slews.iter().filter(|slew| slew.0 <= t && t < slew.1);
            now += (rate + slewed.map(|slew| slew.2).sum::<f64>()) * 1e-6 * STEP;
            rate += wander * dice.normal();
            clock.ahead.push(now);
        }
        clock
    }

    /// What it shows, less true time.
    pub fn ahead(&self, t: f64) -> f64 {
        let place = (t / STEP).max(0.0);
        let at = |place: usize| self.ahead.get(place).or(self.ahead.last()).copied();
        let (from, to) = (at(place as usize), at(place as usize + 1));
        let part = place - place.floor();
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        from + (to - from) * part + if t >= self.step.0 { self.step.1 } else { 0.0 }
    }

    /// What it shows, in ns after `start`.
    pub fn shows(&self, t: f64, start: i64) -> i64 {
        start + t.round() as i64 + self.ahead(t).round() as i64
    }
}

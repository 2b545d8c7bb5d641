//! The two clocks of a hop, and the properties of their readings by kind and unit (rules R30, R32,
//! R33).

use super::choice::TICK;
use super::knots::Knots;
use crate::clock::{Clock, ClockId};

/// The clocks of one timekeeper: the kernel's, but for the raw one.
const TIMEKEEPER: [ClockId; 5] = [
    ClockId::REALTIME,
    ClockId::REALTIME_COARSE,
    ClockId::MONOTONIC,
    ClockId::MONOTONIC_COARSE,
    ClockId::BOOTTIME,
];

/// The order in which the tracing service reads its clocks.
const READ_ORDER: [ClockId; 6] = [
    ClockId::BOOTTIME,
    ClockId::REALTIME_COARSE,
    ClockId::MONOTONIC_COARSE,
    ClockId::REALTIME,
    ClockId::MONOTONIC,
    ClockId::MONOTONIC_RAW,
];

/// The least noise of two clocks that the service reads, one system call after the other, and of
/// others.
const LEAST_NOISE_OF_CALLS: f64 = 500.0;
pub(super) const LEAST_NOISE: f64 = 100.0;
/// The error of a rate without evidence (rule R33). Nobody adjusts the raw clock.
const PRIOR: f64 = 150e-6;
const PRIOR_OF_RAW: f64 = 500e-6;
/// The powers of ten that a clock of nanoseconds may have as its resolution.
const RESOLUTIONS: [i64; 4] = [1_000_000, 100_000, 10_000, 1_000];

/// The clocks of a hop, each with the nanoseconds in its unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    pub clocks: [Clock; 2],
    pub units: [i64; 2],
}

/// The resolution of two clocks' readings, in ns; 0 if it is a nanosecond.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantum {
    pub sum: f64,
    pub larger: i64,
}

impl Clocks {
    fn ids(&self) -> [ClockId; 2] {
        self.clocks.map(|clock| clock.id)
    }

    fn any_is(&self, id: ClockId) -> bool {
        self.ids().contains(&id)
    }

    /// The error of a clock that only shows its last tick; 0 if neither clock does.
    pub fn tick(&self) -> f64 {
        match self.ids().into_iter().any(ClockId::is_coarse) {
            true => TICK,
            false => 0.0,
        }
    }

    /// Whether they count an oscillator, and their rate is only known by measuring it.
    pub fn is_counter(&self) -> bool {
        self.any_is(ClockId::TSC)
    }

    /// Whether both come from one timekeeper.
    pub fn are_of_one_timekeeper(&self) -> bool {
        let [from, to] = self.clocks;
        from.machine == to.machine && self.ids().iter().all(|id| TIMEKEEPER.contains(id))
    }

    /// Whether the service reads the target before the source.
    pub fn target_is_first(&self) -> bool {
        let place = |id: &ClockId| READ_ORDER.iter().position(|read| read == id);
        let [from, to] = self.ids();
        place(&to) < place(&from)
    }

    /// The least noise of a reading (rule R32).
    pub fn least_noise(&self) -> f64 {
        let are_builtin = self.ids().iter().all(|id| READ_ORDER.contains(id));
        match (self.tick() > 0.0, are_builtin) {
            (true, _) => TICK,
            (false, true) => LEAST_NOISE_OF_CALLS,
            (false, false) => LEAST_NOISE,
        }
    }

    /// The probable deviation of the rate from the nominal one.
    pub fn prior(&self) -> f64 {
        match self.any_is(ClockId::MONOTONIC_RAW) || self.is_counter() {
            true => PRIOR_OF_RAW,
            false => PRIOR,
        }
    }

    /// The resolution of readings.
    pub fn quantum(&self, knots: &Knots) -> Quantum {
        let [from, to] = self.units;
        let quanta = [
            quantum(from, knots.iter().map(|knot| knot.a)),
            quantum(to, knots.iter().map(|knot| knot.b)),
        ];
        Quantum {
            sum: quanta.iter().map(|&quantum| quantum as f64).sum(),
            larger: quanta[0].max(quanta[1]),
        }
    }
}

fn quantum(unit: i64, readings: impl Iterator<Item = i64> + Clone) -> i64 {
    if unit > 1 {
        return unit;
    }
    // A clock that begins at 0 shows no resolution by that.
    let mut told = readings.filter(|&reading| reading != 0).peekable();
    if told.peek().is_none() {
        return 0;
    }
    let divides = |power: &i64| told.clone().all(|reading| reading % power == 0);
    RESOLUTIONS.into_iter().find(divides).unwrap_or(0)
}

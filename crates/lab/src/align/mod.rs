//! How well clocks are aligned by causality, on simulated clocks whose truth is known.
//!
//! The cases are those with which the rules AL were chosen; the seeds are others.

mod clocks;
mod group;
mod pair;
mod report;

pub use clocks::Running;
pub use group::{GroupWorld, Ranks};
pub use pair::{Delay, Fault, Pace, PairWorld};
pub use report::align_cases;

use timebase_resolver::align::Interval;

/// What the clocks show when a recording begins, in ns.
const START: i64 = 5_000_000_123_457;

/// Simulated clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AlignWorld {
    /// Two clocks.
    Pair(PairWorld),
    /// Several.
    Group(GroupWorld),
}

/// A kind of clocks and messages, and what is expected of it.
#[derive(Debug, Clone, PartialEq)]
pub struct AlignCase {
    /// Its special feature.
    pub name: &'static str,
    /// How it is simulated.
    pub world: AlignWorld,
    /// The root mean square of the estimate's error when the rules were chosen, in µs; `None` if the
    /// messages must be refused.
    pub rms_us: Option<f64>,
}

/// The results of some seeds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measured {
    /// The number of seeds.
    pub seeds: u64,
    /// The times that were looked at, with an estimate, outside of steps.
    pub looks: u64,
    /// Of these, the truth is within the interval.
    pub inside: u64,
    /// The sum of squared errors of the estimate, in ns².
    squares: f64,
    /// That of wall clocks that are taken to agree.
    squares_of_wall_clocks: f64,
    /// The sum of the distances to the farther bound, in ns.
    bars: f64,
    /// The messages.
    pub messages: u64,
    /// Those that contradict the others.
    pub violated: u64,
    /// Those that may be stamped late.
    pub suspect: u64,
    /// The accepted ones that arrive before they were sent by the estimate.
    pub inverted: u64,
    /// All that arrive before they were sent by the wall clocks.
    pub inverted_by_wall_clocks: u64,
    /// The seeds without an estimate.
    pub refused: u64,
}

impl Measured {
    fn add(&mut self, truth: f64, estimate: Option<i64>, interval: Interval) {
        let Interval { earliest: Some(least), latest: Some(most) } = interval else { return };
        let Some(estimate) = estimate else { return };
        self.looks += 1;
        self.inside += u64::from(least as f64 <= truth + 1.0 && truth <= most as f64 + 1.0);
        self.squares += (estimate as f64 - truth).powi(2);
        self.squares_of_wall_clocks += truth.powi(2);
        self.bars += (most - estimate).max(estimate - least) as f64;
    }

    /// The share of times at which the truth is within the interval.
    pub fn share_inside(&self) -> f64 {
        self.inside as f64 / self.looks as f64
    }

    /// The root mean square of the estimate's error, in µs.
    pub fn rms_us(&self) -> f64 {
        (self.squares / self.looks as f64).sqrt() / 1e3
    }

    /// That of wall clocks that are taken to agree, in µs.
    pub fn wall_clocks_us(&self) -> f64 {
        (self.squares_of_wall_clocks / self.looks as f64).sqrt() / 1e3
    }

    /// The mean distance of the estimate to the farther bound, in µs.
    pub fn bar_us(&self) -> f64 {
        self.bars / self.looks as f64 / 1e3
    }
}

/// No message is wrong; 20 a second each way for a minute.
const SOUND: PairWorld = PairWorld {
    running: Running::Wander(0.3),
    seconds: 60.0,
    pace: Pace::PerSecond(20.0),
    delay: Delay::Exponential([100e3; 2]),
    fault: Fault::Sound,
};

const RANKS: Ranks = Ranks { every_ms: 50.0, is_uneven: false, has_last: false, wrong: 0.0 };

impl AlignCase {
    /// All cases.
    pub fn all() -> Vec<AlignCase> {
        let mut cases = Self::clocks();
        cases.extend(Self::messages());
        cases.extend(Self::groups());
        cases
    }

    fn pair(name: &'static str, rms_us: f64, world: PairWorld) -> AlignCase {
        AlignCase { name, world: AlignWorld::Pair(world), rms_us: Some(rms_us) }
    }

    fn clocks() -> Vec<AlignCase> {
        let run = |running| PairWorld { running, ..SOUND };
        let slow = PairWorld { pace: Pace::PerSecond(1.0), ..run(Running::Slews) };
        let long = PairWorld { seconds: 600.0, ..run(Running::Even(200.0)) };
        vec![
            Self::pair("offset only", 3.2, run(Running::Even(0.0))),
            Self::pair("50 ppm", 3.3, run(Running::Even(50.0))),
            Self::pair("200 ppm, 10 min", 6.7, long),
            Self::pair("wander 1 ppm/√s", 3.3, run(Running::Wander(1.0))),
            Self::pair("wander 3 ppm/√s", 3.1, run(Running::Wander(3.0))),
            Self::pair("slews of 500 ppm", 17.0, run(Running::Slews)),
            Self::pair("slews, 1 message/s", 101.0, slow),
            Self::pair("set by 20 ms", 3.4, run(Running::Set(20e6))),
        ]
    }

    fn messages() -> Vec<AlignCase> {
        let fault = |fault| PairWorld { fault, ..SOUND };
        let pace = |pace| PairWorld { pace, ..SOUND };
        let delay = |delay| PairWorld { delay, ..SOUND };
        let suspend =
            PairWorld { running: Running::Suspend, fault: Fault::Mispaired(0.05), ..SOUND };
        let too_fast = PairWorld { running: Running::Even(1000.0), ..SOUND };
        let refused = |name, fault| AlignCase {
            name,
            world: AlignWorld::Pair(PairWorld { fault, ..SOUND }),
            rms_us: None,
        };
        vec![
            Self::pair("delays 500, 50 µs", 225.0, delay(Delay::Exponential([500e3, 50e3]))),
            Self::pair("delays Pareto 1.2", 5.3, delay(Delay::Pareto(1.2))),
            Self::pair("3 messages", 120.0, pace(Pace::Count(3))),
            Self::pair("10 messages", 39.0, pace(Pace::Count(10))),
            Self::pair("bursts", 3.0, pace(Pace::Bursts)),
            Self::pair("mispaired 5 %", 3.6, fault(Fault::Mispaired(0.05))),
            Self::pair("5 % with a neighbour", 3.6, fault(Fault::Neighbour(0.05))),
            Self::pair("mispaired 20 %", 4.0, fault(Fault::Mispaired(0.2))),
            Self::pair("sends late: 2 %", 4.2, fault(Fault::Late(0.02, 1e6))),
            Self::pair("sends late: 20 %", 10.0, fault(Fault::Late(0.2, 200e3))),
            Self::pair("sends late: all by 80 µs", 3.3, fault(Fault::AllLate(80e3))),
            Self::pair("receiving slices wait", 4.9, fault(Fault::Waits)),
            Self::pair("suspend 7 s, 5 % mispaired", 3.7, suspend),
            refused("all sends 1 ms late", Fault::AllLate(1e6)),
            AlignCase { world: AlignWorld::Pair(too_fast), ..refused("1,000 ppm", Fault::Sound) },
            refused("ids that mean nothing", Fault::Meaningless),
        ]
    }

    fn groups() -> Vec<AlignCase> {
        let group = |name, rms_us, world| AlignCase {
            name,
            world: AlignWorld::Group(world),
            rms_us: Some(rms_us),
        };
        let ranks = |name, rms_us, ranks| group(name, rms_us, GroupWorld::Ranks(ranks));
        vec![
            ranks("8 ranks, each 50 ms", 3.5, RANKS),
            ranks("8 ranks, 3 s", 15.0, Ranks { every_ms: 3000.0, is_uneven: true, ..RANKS }),
            ranks("8 ranks, one always last", 3.4, Ranks { has_last: true, ..RANKS }),
            ranks("8 ranks, 2 % wrong", 3.6, Ranks { wrong: 0.02, ..RANKS }),
            group("chain of 3", 4.7, GroupWorld::Chain),
            group("triangle", 2.7, GroupWorld::Triangle),
            group("ring, one way", 19.0, GroupWorld::Ring),
        ]
    }

    /// Simulates the seeds from 1 on.
    ///
    /// ```
    /// use timebase_lab::align::AlignCase;
    ///
    /// let [offset, ..] = &AlignCase::all()[..] else { panic!() };
    /// let measured = offset.measure(2);
    /// assert_eq!((measured.share_inside(), measured.inverted), (1.0, 0));
    /// assert!(measured.rms_us() < 6.0 && measured.inverted_by_wall_clocks > 1000);
    /// ```
    pub fn measure(&self, seeds: u64) -> Measured {
        let mut measured = Measured { seeds, ..Measured::default() };
        for seed in 1..=seeds {
            match self.world {
                AlignWorld::Pair(pair) => pair.measure(seed, &mut measured),
                AlignWorld::Group(group) => group.measure(seed, &mut measured),
            }
        }
        measured
    }

    /// The missed goals: 99 % inside, one and a half times the error of the table, and no accepted
    /// message turned around; or refused, all seeds.
    pub fn missed(&self, measured: &Measured) -> Vec<String> {
        let mut missed = Vec::new();
        let Some(rms) = self.rms_us else {
            if measured.refused < measured.seeds {
                missed.push(format!("{} of {} refused", measured.refused, measured.seeds));
            }
            return missed;
        };
        if measured.share_inside() < 0.99 || measured.looks == 0 {
            missed.push(format!("{:.1} % inside", 100.0 * measured.share_inside()));
        }
        if measured.rms_us() > 1.5 * rms {
            missed.push(format!("{:.1} µs, not {rms}", measured.rms_us()));
        }
        if measured.inverted > 0 {
            missed.push(format!("{} messages turned around", measured.inverted));
        }
        missed
    }
}

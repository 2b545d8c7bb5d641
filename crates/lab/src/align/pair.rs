//! Messages between two clocks.

use timebase_resolver::align::{Alignment, Direction, Message, PairClocks, align};

use super::clocks::{Clock, Dice, Running};
use super::{Measured, START};

/// The delay of a message from being sent to being received, in ns, each way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// At least this, plus an exponential part with a mean of 100 µs.
    Exponential([f64; 2]),
    /// 50 µs to the power law of this exponent.
    Pareto(f64),
}

/// What is wrong with the messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Nothing.
    Sound,
    /// This share has the arrival of any other message.
    Mispaired(f64),
    /// This share has the arrival of the message before or after.
    Neighbour(f64),
    /// This share was stamped after it was sent, by an exponential time of this mean in ns.
    Late(f64, f64),
    /// All were stamped this many ns after they were sent.
    AllLate(f64),
    /// The receiving slices began up to 50 ms before the arrival, and end after it.
    Waits,
    /// Each arrival is that of any message.
    Meaningless,
}

/// When messages are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// This many a second each way, about evenly.
    PerSecond(f64),
    /// This many each way.
    Count(usize),
    /// Six bursts of 0.2 s with 200 messages each way.
    Bursts,
}

/// A pair of clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairWorld {
    /// How B runs against A.
    pub running: Running,
    /// In s.
    pub seconds: f64,
    /// When messages are sent.
    pub pace: Pace,
    /// How long they take.
    pub delay: Delay,
    /// What is wrong with them.
    pub fault: Fault,
}

impl PairWorld {
    fn times(&self, dice: &mut Dice) -> Vec<f64> {
        let duration = self.seconds * 1e9;
        // One in each of so many equal parts of the time.
        let even = |count: usize, dice: &mut Dice| {
            let part = duration / count as f64;
            (0..count).map(|place| (place as f64 + dice.even()) * part).collect::<Vec<f64>>()
        };
        let mut times: Vec<f64> = match self.pace {
            Pace::PerSecond(rate) => even((rate * self.seconds) as usize, dice),
            Pace::Count(count) => even(count, dice),
            Pace::Bursts => {
                let begin = |place: usize| (place as f64 + 0.5) * duration / 6.0;
                let of = (0..1200).map(|place| begin(place / 200) + dice.between(0.0, 0.2e9));
                of.collect()
            }
        };
        times.sort_by(f64::total_cmp);
        times
    }

    fn delay(&self, direction: Direction, dice: &mut Dice) -> f64 {
        match self.delay {
            Delay::Exponential([there, back]) => {
                let least = if direction == Direction::AToB { there } else { back };
                least + dice.exponential(100e3)
            }
            Delay::Pareto(exponent) => 50e3 * dice.even().powf(-1.0 / exponent).min(1e5),
        }
    }

    /// The messages that `from` sends and `to` receives.
    pub(super) fn messages(
        &self,
        (from, to): (&Clock, &Clock),
        direction: Direction,
        dice: &mut Dice,
    ) -> Vec<Message> {
        let mut messages = Vec::new();
        for sent in self.times(dice) {
            let arrived = sent + self.delay(direction, dice);
            let late = match self.fault {
                Fault::Late(share, mean) if dice.is(share) => dice.exponential(mean),
                Fault::AllLate(by) => by,
                _ => 0.0,
            };
            let (waits, ends) = match self.fault {
                Fault::Waits => (dice.between(0.0, 50e6), Some(dice.exponential(20e3))),
                _ => (0.0, None),
            };
            messages.push(Message {
                direction,
                sent: from.shows(sent + late, START),
                arrived: to.shows(arrived - waits, START),
                ended: ends.map(|after| to.shows(arrived + after, START)),
                packet_out: messages.len() as i64,
                packet_in: messages.len() as i64,
            });
        }
        let arrivals: Vec<i64> = messages.iter().map(|message| message.arrived).collect();
        for (place, message) in messages.iter_mut().enumerate() {
            let other = match self.fault {
                Fault::Mispaired(share) if dice.is(share) => dice.below(arrivals.len()),
                Fault::Neighbour(share) if dice.is(share) => {
                    (place + 2 * dice.below(2)).saturating_sub(1)
                }
                Fault::Meaningless => dice.below(arrivals.len()),
                _ => place,
            };
            if let Some(&arrived) = arrivals.get(other) {
                message.arrived = arrived;
            }
        }
        messages
    }

    /// Both clocks and their messages.
    pub(super) fn generate(&self, seed: u64) -> (Clock, Vec<Message>) {
        let mut dice = Dice::new(seed);
        let duration = self.seconds * 1e9;
        let a = Clock::new(Running::Even(0.0), 0.0, duration, &mut dice);
        let ahead = dice.between(-10e6, 10e6);
        let b = Clock::new(self.running, ahead, duration, &mut dice);
        let mut messages = self.messages((&a, &b), Direction::AToB, &mut dice);
        messages.extend(self.messages((&b, &a), Direction::BToA, &mut dice));
        (b, messages)
    }

    /// The errors of a seed; `None` if the messages are refused.
    pub(super) fn measure(&self, seed: u64, measured: &mut Measured) {
        let (b, messages) = self.generate(seed);
        let Ok(alignment) = align(PairClocks::default(), &messages[..]);
        // Between the first and the last message, by A.
        let (from, to) = ((alignment.from - START) as f64, (alignment.to - START) as f64);
        for look in 0..LOOKS {
            let t = from + (to - from) * (look as f64 + 0.5) / LOOKS as f64;
            let at = START + t.round() as i64;
            let truth = b.ahead(t.round());
            let estimate = alignment.estimate(at).filter(|_| !alignment.is_in_step(at));
            measured.add(truth, estimate, alignment.interval(at));
        }
        measured.violated += alignment.violated;
        measured.suspect += alignment.suspect;
        measured.messages += messages.len() as u64;
        measured.refused += u64::from(alignment.estimate(alignment.middle()).is_none());
        measured.inverted += inverted(&alignment, &messages, |at| alignment.estimate(at));
        let by_wall_clocks = |message: &&Message| message.arrived < message.sent;
        measured.inverted_by_wall_clocks += messages.iter().filter(by_wall_clocks).count() as u64;
    }
}

/// The times of a pair that are compared with the truth.
pub(super) const LOOKS: usize = 300;

/// The accepted messages that a relation turns around.
pub(super) fn inverted(
    alignment: &Alignment,
    messages: &[Message],
    mut estimate: impl FnMut(i64) -> Option<i64>,
) -> u64 {
    let Ok(compared) = alignment.compare(messages, &mut |at| estimate(at));
    compared.inverted
}

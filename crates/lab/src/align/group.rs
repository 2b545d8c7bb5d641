//! Messages between several clocks, and collectives of ranks.

use timebase_resolver::align::{
    AlignedPair, CollectiveEnds, Direction, Message, Network, PairClocks, align,
};

use super::clocks::{Clock, Dice, Running};
use super::pair::{Delay, Fault, LOOKS, Pace, PairWorld, inverted};
use super::{Measured, START};

/// Clocks that send messages to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GroupWorld {
    /// 0 ↔ 1 ↔ 2.
    Chain,
    /// 0 ↔ 1 ↔ 2 ↔ 0.
    Triangle,
    /// 0 → 1 → 2 → 0.
    Ring,
    /// Eight ranks in all-to-alls.
    Ranks(Ranks),
}

/// Eight ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranks {
    /// A collective each so many ms.
    pub every_ms: f64,
    /// Some begin up to 10 ms late.
    pub is_uneven: bool,
    /// The last rank is always 0.5 ms later than the others.
    pub has_last: bool,
    /// The share of participations with the number of the one after.
    pub wrong: f64,
}

const SECONDS: f64 = 60.0;
const RANKS: usize = 8;

/// A pair with its messages.
struct Talk {
    a: usize,
    b: usize,
    messages: Vec<Message>,
}

impl GroupWorld {
    /// The errors of a seed.
    pub(super) fn measure(&self, seed: u64, measured: &mut Measured) {
        let mut dice = Dice::new(seed);
        let count = if let GroupWorld::Ranks(_) = self { RANKS } else { 3 };
        let clock = |place: usize, dice: &mut Dice| {
            let (running, ahead) = match place {
                0 => (Running::Even(0.0), 0.0),
                _ => (Running::Wander(0.3), dice.between(-10e6, 10e6)),
            };
            Clock::new(running, ahead, SECONDS * 1e9, dice)
        };
        let clocks: Vec<Clock> = (0..count).map(|place| clock(place, &mut dice)).collect();
        let (talks, ends) = match self {
            GroupWorld::Ranks(ranks) => ranks.talks(&clocks, &mut dice),
            GroupWorld::Chain => (talks(&clocks, &[(0, 1), (1, 2)], false, &mut dice), Vec::new()),
            GroupWorld::Triangle => {
                (talks(&clocks, &[(0, 1), (1, 2), (0, 2)], false, &mut dice), Vec::new())
            }
            GroupWorld::Ring => {
                (talks(&clocks, &[(0, 1), (1, 2), (2, 0)], true, &mut dice), Vec::new())
            }
        };
        let pairs = talks.iter().map(|talk| {
            let Ok(alignment) = align(PairClocks::default(), &talk.messages[..]);
            measured.violated += alignment.violated;
            measured.suspect += alignment.suspect;
            measured.messages += talk.messages.len() as u64;
            AlignedPair { a: talk.a, b: talk.b, alignment }
        });
        let pairs: Vec<AlignedPair> = pairs.collect();
        let network = Network::new(count, pairs.clone(), &[], &ends);
        for look in 0..LOOKS {
            let t = SECONDS * 1e9 * (look as f64 + 0.5) / LOOKS as f64;
            let at = START + t.round() as i64;
            let others = clocks.iter().enumerate().skip(1);
            for (place, clock) in others.filter(|(place, _)| count > 3 || *place == 2) {
                let truth = clock.ahead(t.round());
                measured.add(truth, network.estimate(0, place, at), network.interval(0, place, at));
            }
        }
        for (talk, pair) in talks.iter().zip(&pairs) {
            let estimate = |at| network.estimate(talk.a, talk.b, at);
            measured.inverted += inverted(&pair.alignment, &talk.messages, estimate);
            let by_wall_clocks = |message: &&Message| message.arrived < message.sent;
            let count = talk.messages.iter().filter(by_wall_clocks).count() as u64;
            measured.inverted_by_wall_clocks += count;
        }
    }
}

fn talks(clocks: &[Clock], pairs: &[(usize, usize)], one_way: bool, dice: &mut Dice) -> Vec<Talk> {
    let world = PairWorld {
        running: Running::Even(0.0),
        seconds: SECONDS,
        pace: Pace::PerSecond(20.0),
        delay: Delay::Exponential([100e3; 2]),
        fault: Fault::Sound,
    };
    let talk = |&(a, b): &(usize, usize)| {
        let (from, to) = (clocks.get(a)?, clocks.get(b)?);
        let mut messages = world.messages((from, to), Direction::AToB, dice);
        if !one_way {
            messages.extend(world.messages((to, from), Direction::BToA, dice));
        }
        Some(Talk { a, b, messages })
    };
    pairs.iter().filter_map(talk).collect()
}

impl Ranks {
    /// The begins and ends of each collective by the ranks' clocks.
    fn collectives(&self, clocks: &[Clock], dice: &mut Dice) -> Vec<Vec<(i64, i64)>> {
        let every = self.every_ms * 1e6;
        let count = (SECONDS * 1e9 / every) as usize;
        let mut collectives: Vec<Vec<(i64, i64)>> = Vec::with_capacity(count);
        for place in 0..count {
            let begin = (place as f64 + 0.3) * every;
            let skew = if self.is_uneven && dice.is(0.5) { 10e6 } else { 200e3 };
            let starts = (0..clocks.len()).map(|rank| {
                let late =
                    if self.has_last && rank + 1 == clocks.len() { skew + 500e3 } else { 0.0 };
                begin + late + dice.between(0.0, skew)
            });
            let starts: Vec<f64> = starts.collect();
            let end = starts.iter().copied().fold(0.0, f64::max) + 60e3 + dice.exponential(20e3);
            let shown = clocks.iter().zip(&starts).map(|(clock, &start)| {
                let end = end + dice.exponential(10e3);
                (clock.shows(start, START), clock.shows(end, START))
            });
            collectives.push(shown.collect());
        }
        let all = collectives.clone();
        for (place, collective) in collectives.iter_mut().enumerate() {
            for (rank, participation) in collective.iter_mut().enumerate() {
                let next = all.get(place + 1).and_then(|next| next.get(rank));
                if let Some(next) = next.filter(|_| dice.is(self.wrong)) {
                    *participation = *next;
                }
            }
        }
        collectives
    }

    fn talks(&self, clocks: &[Clock], dice: &mut Dice) -> (Vec<Talk>, Vec<CollectiveEnds>) {
        let collectives = self.collectives(clocks, dice);
        let message = |direction, sent: (i64, i64), received: (i64, i64)| Message {
            direction,
            sent: sent.0,
            arrived: received.1,
            ended: None,
            packet_out: 0,
            packet_in: 0,
        };
        let mut talks = Vec::new();
        for a in 0..clocks.len() {
            for b in a + 1..clocks.len() {
                let both = collectives.iter().filter_map(|c| Some((*c.get(a)?, *c.get(b)?)));
                let messages = both.flat_map(|(in_a, in_b)| {
                    [message(Direction::AToB, in_a, in_b), message(Direction::BToA, in_b, in_a)]
                });
                talks.push(Talk { a, b, messages: messages.collect() });
            }
        }
        let ends = collectives.iter().map(|collective| {
            CollectiveEnds(collective.iter().map(|times| times.1).enumerate().collect())
        });
        (talks, ends.collect())
    }
}

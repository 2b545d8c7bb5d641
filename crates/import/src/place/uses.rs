//! The number of packets that use each clock, for the table `clock`.
//!
//! # Design
//!
//! A trace may have 200,000 clocks, so the clocks of snapshots are counted by their number in the clock graph, in 8 bytes
//! each. A map from each clock to its count took 40. Only a clock that no snapshot had by then is in a map.

use rustc_hash::FxHashMap;
use timebase_resolver::{Clock, ClockGraph};

use crate::pieces::Pieces;

/// The number of packets that were read from each clock.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// By the number of the clock in the graph.
    counted: Pieces<u64>,
    /// The clocks that were in no snapshot yet.
    others: FxHashMap<Clock, u64>,
    /// The clock of the last packets and their number, because consecutive packets mostly use one
    /// clock.
    last: Option<(Clock, u64)>,
    /// Whether nobody asks for the numbers.
    is_off: bool,
}

impl Uses {
    /// Counts nothing.
    pub fn off() -> Self {
        Uses { is_off: true, ..Uses::default() }
    }

    /// Counts a packet.
    #[inline]
    pub fn count(&mut self, clock: Clock, graph: &ClockGraph) {
        match &mut self.last {
            _ if self.is_off => {}
            Some((last, packets)) if *last == clock => *packets += 1,
            _ => {
                self.settle(graph);
                self.last = Some((clock, 1));
            }
        }
    }

    fn settle(&mut self, graph: &ClockGraph) {
        let Some((clock, packets)) = self.last.take() else {
            return;
        };
        let Some(number) = graph.number(clock) else {
            *self.others.entry(clock).or_default() += packets;
            return;
        };
        *self.counted.reach(number) += packets;
    }

    /// The number of packets of a clock.
    pub fn of(&mut self, clock: Clock, graph: &ClockGraph) -> u64 {
        self.settle(graph);
        let counted = graph.number(clock).and_then(|number| self.counted.get(number));
        let others = self.others.get(&clock);
        counted.copied().unwrap_or(0) + others.copied().unwrap_or(0)
    }

    /// The clocks of packets that no snapshot had when they came.
    pub fn without_snapshot(&mut self, graph: &ClockGraph) -> impl Iterator<Item = Clock> {
        self.settle(graph);
        self.others.keys().copied()
    }
}

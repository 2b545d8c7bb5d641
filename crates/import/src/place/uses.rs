//! How many packets use each clock, for the table `clock`.

use rustc_hash::FxHashMap;
use timebase_resolver::Clock;

/// How many packets were read from each clock.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    counted: FxHashMap<Clock, u64>,
    /// The clock of the last packets, and how many they are: consecutive packets
    /// mostly use one clock.
    last: Option<(Clock, u64)>,
}

impl Uses {
    /// Counts a packet.
    #[inline]
    pub fn count(&mut self, clock: Clock) {
        match &mut self.last {
            Some((last, packets)) if *last == clock => *packets += 1,
            _ => {
                self.settle();
                self.last = Some((clock, 1));
            }
        }
    }

    fn settle(&mut self) {
        if let Some((clock, packets)) = self.last.take() {
            *self.counted.entry(clock).or_default() += packets;
        }
    }

    /// All clocks that were counted, and how often.
    pub fn counted(&mut self) -> &FxHashMap<Clock, u64> {
        self.settle();
        &self.counted
    }
}

//! The number of packets that use each clock, for the table `clock`.

use rustc_hash::FxHashMap;
use timebase_resolver::Clock;

/// The number of packets that were read from each clock.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    counted: FxHashMap<Clock, u64>,
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
    pub fn count(&mut self, clock: Clock) {
        match &mut self.last {
            _ if self.is_off => {}
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

    /// All counted clocks, with their numbers of packets.
    pub fn counted(&mut self) -> &FxHashMap<Clock, u64> {
        self.settle();
        &self.counted
    }
}

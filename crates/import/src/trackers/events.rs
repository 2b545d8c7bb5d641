//! Sets of kernel events.

/// A set of kernel events, by their fields of `FtraceEvent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Events([u64; WORDS]);

const WORDS: usize = 16;
const BITS: u32 = u64::BITS;

impl Events {
    /// Fields from this number on are in no set.
    pub const COUNT: usize = WORDS * BITS as usize;

    /// The events of a list.
    pub const fn new(fields: &[u32]) -> Events {
        let mut events = Events([0; WORDS]);
        let mut place = 0;
        while place < fields.len() {
            events = events.with(fields[place]);
            place += 1;
        }
        events
    }

    /// The same events, and one more.
    pub const fn with(mut self, field: u32) -> Events {
        self.0[(field / BITS) as usize] |= 1 << (field % BITS);
        self
    }

    /// The events of both sets.
    pub const fn and(mut self, other: &Events) -> Events {
        let mut word = 0;
        while word < WORDS {
            self.0[word] |= other.0[word];
            word += 1;
        }
        self
    }

    /// Whether no event is in both sets.
    pub const fn is_disjoint(&self, other: &Events) -> bool {
        let mut word = 0;
        while word < WORDS {
            if self.0[word] & other.0[word] != 0 {
                return false;
            }
            word += 1;
        }
        true
    }

    /// Whether an event is in the set.
    #[inline]
    pub fn has(&self, field: u32) -> bool {
        let word = self.0.get((field / BITS) as usize);
        word.is_some_and(|word| word >> (field % BITS) & 1 != 0)
    }
}

//! The last step of the conversions between two clocks.
//!
//! A table of slots, which a multiplication finds. A conversion on the same step as the last one
//! only reads a slot, and a slot is a cache line; further data is in a second table. So readings in
//! order take 4 ns for each conversion over one hop of 1,000 snapshots, and 98 ns without the
//! table. If two pairs of clocks share a slot, the later one has it; if that happens often, the
//! table grows, up to a limit.
//!
//! The alternative was a hash table from clocks to indices, and a step for every clock after it: 9
//! ns for a conversion instead of 3.5, and 40 more bytes for each clock. It is better with very
//! many clocks at random, most of which have no slot here: with 100,000 clocks it takes 16 ns, and
//! going hop by hop, as long as the cache misses, 460 ns. (With 10,000 clocks it is 10 ns against
//! 3.6.)

use crate::clock::Clock;
use crate::routes::SetIx;

/// The first and the largest number of slots, as powers of two: 64 KiB and 1 MiB, plus a fifth of
/// that in the second table.
const FEWEST: u32 = 10;
const MOST: u32 = 14;

/// A pair of clocks, in few numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    from: u64,
    to: u64,
    machines: u64,
    files: u64,
}

impl Key {
    #[inline]
    pub fn new(from: Clock, to: Clock) -> Key {
        Key {
            from: u64::from(from.seq.0) << 32 | u64::from(from.id.0),
            to: u64::from(to.seq.0) << 32 | u64::from(to.id.0),
            machines: u64::from(to.machine.0) << 32 | u64::from(from.machine.0),
            files: u64::from(to.file.order) << 32 | u64::from(from.file.order),
        }
    }

    /// The golden ratio spreads consecutive sequences evenly.
    #[inline]
    fn slot(self, shift: u32) -> usize {
        let of = self.machines.rotate_left(16) ^ self.files.rotate_left(8);
        let mixed = self.from.rotate_left(32) ^ self.to ^ of;
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
    }

    /// It does not branch for each of the numbers, because most conversions need all of them.
    #[inline]
    fn is(self, other: Key) -> bool {
        let clocks = (self.from ^ other.from) | (self.to ^ other.to);
        clocks | (self.machines ^ other.machines) | (self.files ^ other.files) == 0
    }
}

/// The step around the last conversion.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub key: Key,
    pub start: i64,
    /// The length of the step after its start.
    pub span: u64,
    pub offset: i64,
    /// The number of snapshots at that time.
    pub generation: u32,
}

const _: () = assert!(size_of::<Slot>() == 64);

/// The origin of the step.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin {
    /// The number of conversions of the slot's generation that missed the step.
    pub misses: u32,
    /// If the path is one hop over one set: that set, and the number of its rows then. The step is
    /// valid until the set has more.
    pub set: SetIx,
    /// 0 for any other path.
    pub rows: u32,
}

impl Slot {
    /// Whether it has the answer for a value.
    #[inline]
    pub fn covers(&self, value: i64, generation: u32) -> bool {
        self.generation == generation && value.wrapping_sub(self.start) as u64 <= self.span
    }
}

#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// Empty before the first conversion.
    slots: Box<[Slot]>,
    /// An entry for each slot.
    origins: Box<[Origin]>,
    /// The shift that leaves as many bits of a product as needed to number the slots.
    shift: u32,
    /// The evictions in this table: a pair of clocks lost its slot to another pair.
    lost: usize,
}

impl Recent {
    #[inline]
    pub fn find(&self, key: Key) -> Option<&Slot> {
        let slot = self.slots.get(key.slot(self.shift))?;
        slot.key.is(key).then_some(slot)
    }

    pub fn find_mut(&mut self, key: Key) -> Option<(&mut Slot, &mut Origin)> {
        let index = key.slot(self.shift);
        let slot = self.slots.get_mut(index)?;
        let origin = self.origins.get_mut(index)?;
        slot.key.is(key).then_some((slot, origin))
    }

    pub fn put(&mut self, slot: Slot, origin: Origin) {
        if self.slots.is_empty() {
            self.start(FEWEST);
        } else if self.lost > self.slots.len() && self.shift > 64 - MOST {
            self.start(64 - self.shift + 1);
        }
        let index = slot.key.slot(self.shift);
        let place = &mut self.slots[index];
        let lost = !place.key.is(slot.key) && !place.key.is(Key::default());
        self.lost += usize::from(lost);
        *place = slot;
        self.origins[index] = origin;
    }

    /// An empty slot contains something true: clock 0 shows its own time.
    fn start(&mut self, bits: u32) {
        self.slots = Box::default(); // before the next one exists
        self.slots = vec![Slot::default(); 1 << bits].into();
        self.origins = vec![Origin::default(); 1 << bits].into();
        self.shift = 64 - bits;
        self.lost = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ClockId, MachineId, SeqId};

    fn slot(seq: u32) -> Slot {
        let clock = Clock::new(MachineId::HOST, ClockId(64), SeqId(seq));
        Slot { key: Key::new(clock, Clock::BOOTTIME), offset: seq.into(), ..Slot::default() }
    }

    #[test]
    fn a_slot_is_found_by_its_clocks_only_and_the_table_grows_within_bounds() {
        let mut recent = Recent::default();
        assert!(recent.find(slot(1).key).is_none());
        for round in 0..20 {
            for seq in 1..=10_000 {
                recent.put(slot(seq), Origin::default());
                let found = recent.find(slot(seq).key).map(|slot| slot.offset);
                assert_eq!(found, Some(seq.into()));
                let other = recent.find(slot(seq + round).key);
                assert!(other.is_none_or(|slot| slot.offset == i64::from(seq + round)));
            }
        }
        assert_eq!(recent.slots.len(), 1 << MOST);
        let kept = (1..=10_000).filter(|&seq| recent.find(slot(seq).key).is_some());
        assert!(kept.count() > 9_000);
    }
}

//! Records in memory: keys, and their payloads one after another.

use std::cmp::Ordering;

use crate::sort::key::Key;
use crate::sort::number::{LONGEST_NUMBER, put_number, take_number};
use crate::sort::payload::Payload;

/// The bits of a digit of a rank: more would need more places than a cache has lines for.
const DIGIT: u32 = 9;

/// With more digits, or with fewer records, comparing keys is as fast.
const PASSES: u32 = 5;
const FEW: usize = if cfg!(test) { 2 } else { 2048 };

/// Records that take `limit` bytes together, or a single larger record.
#[derive(Debug)]
pub(crate) struct Records<K: Key, P: Payload + ?Sized> {
    limit: usize,
    slots: Vec<Slot<K, P>>,
    /// Their payloads, each after its size.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Slot<K: Key, P: Payload + ?Sized> {
    key: K,
    place: P::Place,
}

impl<K: Key, P: Payload + ?Sized> Records<K, P> {
    pub fn new(limit: usize) -> Self {
        Records { limit, slots: Vec::new(), bytes: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The bytes that a record with a payload of this size takes.
    #[inline]
    pub fn taken_by(payload: usize) -> usize {
        let kept = match P::HAS_BYTES {
            true => payload.saturating_add(LONGEST_NUMBER),
            false => 0,
        };
        kept.saturating_add(size_of::<Slot<K, P>>())
    }

    /// Whether there is room for another record.
    #[inline]
    pub fn has_room(&self, payload: usize) -> bool {
        let used = self.slots.len() * size_of::<Slot<K, P>>() + self.bytes.len();
        used.saturating_add(Self::taken_by(payload)) <= self.limit
    }

    #[inline]
    pub fn push(&mut self, key: K, payload: &[u8]) {
        self.push_key(key);
        if P::HAS_BYTES {
            let mut size = [0; LONGEST_NUMBER];
            let taken = put_number(&mut size, payload.len() as u64);
            let place = self.bytes_for(taken + payload.len());
            place.extend_from_slice(&size[..taken]);
            place.extend_from_slice(payload);
        }
    }

    /// Adds a key. Its payload with its size, if it has one, comes next.
    #[inline]
    pub fn push_key(&mut self, key: K) {
        if self.slots.len() == self.slots.capacity() {
            self.grow();
        }
        let place = P::place(self.bytes.len());
        self.slots.push(Slot { key, place });
    }

    /// Twice the former size, but no more than needed.
    #[cold]
    fn grow(&mut self) {
        let (len, all) = (self.slots.len(), self.limit / size_of::<Slot<K, P>>());
        let more = len.max(64).min(all.saturating_sub(len)).max(1);
        self.slots.reserve_exact(more);
    }

    /// The place to which the bytes of a payload with its size are added, with room for this many.
    #[inline]
    pub fn bytes_for(&mut self, more: usize) -> &mut Vec<u8> {
        let (len, capacity) = (self.bytes.len(), self.bytes.capacity());
        if capacity - len < more {
            let doubled = capacity.max(1024).min(self.limit.saturating_sub(len));
            self.bytes.reserve_exact(doubled.max(more));
        }
        &mut self.bytes
    }

    /// Sorts them by their keys; equal keys keep their order.
    pub fn sort(&mut self) {
        // Records of a thread or a track often are in order already, so the first rank may do.
        for ranks in 1..=K::RANKS {
            if self.slots.is_sorted() {
                return;
            }
            self.sort_by_ranks(ranks);
        }
        // Only keys of the same ranks are not in order, so this mostly compares neighbours.
        self.slots.sort();
    }

    /// Sorts them by so many ranks of their keys, if each has few digits: one pass for each digit,
    /// from the last digit of the last rank to the first digit of the first rank.
    fn sort_by_ranks(&mut self, ranks: usize) {
        if self.slots.len() < FEW {
            return;
        }
        let ranks: Vec<Rank> = (0..ranks).map(|number| Rank::of(number, &self.slots)).collect();
        if ranks.iter().map(|rank| rank.passes).sum::<u32>() > PASSES {
            return;
        }
        let mut others = self.slots.clone();
        for rank in ranks.iter().rev() {
            for pass in 0..rank.passes {
                rank.sort(pass, &self.slots, &mut others);
                std::mem::swap(&mut self.slots, &mut others);
            }
        }
    }

    /// The least and the greatest key, after sorting.
    pub fn ends(&self) -> Option<(K, K)> {
        Some((self.slots.first()?.key, self.slots.last()?.key))
    }

    /// All records in their order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (&K, &P)> {
        self.slots.iter().map(|slot| {
            let (size, payload) = self.payload(slot);
            (&slot.key, P::of(payload.get(size..).unwrap_or_default()))
        })
    }

    /// All records in their order; for payloads, the size and the bytes.
    #[inline]
    pub fn iter_sized(&self) -> impl Iterator<Item = (&K, &[u8])> {
        self.slots.iter().map(|slot| (&slot.key, self.payload(slot).1))
    }

    /// A payload with its size before it, and the length of that size.
    #[inline]
    fn payload(&self, slot: &Slot<K, P>) -> (usize, &[u8]) {
        if !P::HAS_BYTES {
            return (0, &[]);
        }
        let rest = self.bytes.get(P::at(slot.place)..).unwrap_or_default();
        let (payload, size) = take_number(rest).unwrap_or_default();
        (size, rest.get(..size + payload as usize).unwrap_or_default())
    }

    /// Empties it, for the next records. It frees the memory of a huge record.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.bytes.clear();
        if self.bytes.capacity() > self.limit {
            self.bytes = Vec::new();
        }
    }
}

/// A rank of the keys of some records.
struct Rank {
    number: usize,
    least: i64,
    /// The number of digits that differ, and their bits.
    passes: u32,
    bits: u32,
}

impl Rank {
    fn of<K: Key, P: Payload + ?Sized>(number: usize, slots: &[Slot<K, P>]) -> Self {
        let all = || slots.iter().map(|slot| slot.key.rank(number));
        let (least, greatest) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
        let range = greatest.wrapping_sub(least) as u64;
        let bits = u64::BITS - range.leading_zeros();
        let passes = bits.div_ceil(DIGIT);
        Rank { number, least, passes, bits: bits.div_ceil(passes.max(1)) }
    }

    /// Puts records into the order of a digit. Records with the same digit keep their order.
    fn sort<K: Key, P: Payload + ?Sized>(
        &self,
        pass: u32,
        slots: &[Slot<K, P>],
        sorted: &mut [Slot<K, P>],
    ) {
        let digit = |slot: &Slot<K, P>| {
            let above = slot.key.rank(self.number).wrapping_sub(self.least) as u64;
            (above >> (pass * self.bits)) as usize & ((1 << self.bits) - 1)
        };
        let mut places = [0; 1 << DIGIT];
        for slot in slots {
            places[digit(slot)] += 1;
        }
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for slot in slots {
            let place: &mut usize = &mut places[digit(slot)];
            sorted[*place] = *slot;
            *place += 1;
        }
    }
}

impl<K: Key, P: Payload + ?Sized> Clone for Slot<K, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Key, P: Payload + ?Sized> Copy for Slot<K, P> {}

impl<K: Key, P: Payload + ?Sized> PartialEq for Slot<K, P> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Key, P: Payload + ?Sized> Eq for Slot<K, P> {}

impl<K: Key, P: Payload + ?Sized> Ord for Slot<K, P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<K: Key, P: Payload + ?Sized> PartialOrd for Slot<K, P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    /// The comparison for sorting; a key may have a faster one than `cmp`.
    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.key < other.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_alone_take_nothing_else() {
        assert_eq!(size_of::<Slot<i64, ()>>(), 8);
        assert_eq!(size_of::<Slot<(i64, u64), [u8]>>(), 24);
        let mut records = Records::<i64, ()>::new(800);
        for key in 0..100 {
            assert!(records.has_room(0));
            records.push(key, &[]);
        }
        assert!(!records.has_room(0));
        assert_eq!(records.slots.capacity(), 100);
        assert_eq!(records.bytes.capacity(), 0);
    }

    #[test]
    fn keys_and_payloads_together_take_no_more_than_the_limit() {
        let mut records = Records::<i64, [u8]>::new(10_000);
        while records.has_room(20) {
            records.push(0, &[0; 20]);
        }
        let slots = size_of::<Slot<i64, [u8]>>() * records.slots.len();
        assert!((9_900..=10_000).contains(&(slots + records.bytes.len())));
        assert!(records.slots.capacity() * 16 <= 10_000);
        assert!(records.bytes.capacity() <= 10_000);
    }

    #[test]
    fn memory_of_a_huge_record_is_given_back() {
        let mut records = Records::<i64, [u8]>::new(1000);
        assert!(!records.has_room(5000));
        records.push(0, &[0; 5000]);
        records.clear();
        assert_eq!(records.bytes.capacity(), 0);
        assert!(records.is_empty());
    }
}

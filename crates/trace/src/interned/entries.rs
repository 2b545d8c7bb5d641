//! The entries of one interval.
//!
//! # Design
//!
//! A trace may have 100,000 sequences with a few names each, so the entries of an interval are one
//! piece of memory: each entry behind its field, its number, its age and the caller's note. A few
//! are found by going through them; more have an index. A map with an allocation
//! for each entry was the former way, and took 55 MB for 700,000 names of 100,000 sequences, a map
//! of the caller with what it had made of them another 34.
//!
//! Sequences of one program mostly have the same names, so the first short entries of a trace are also in a list of all
//! sequences, and equal ones only have their number in it: 700,000 names take 8 MB, and 15 without the list. It has a fixed
//! size, so nobody counts how many refer to an entry; a list that grows would have to.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::ops::RangeInclusive;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// The field and the number of an entry.
pub(super) type Key = (u32, u64);

/// Up to this many entries are found without an index.
const FEW: u32 = 8;

/// The largest number of entries in the list of all sequences, and the sizes of such entries.
const COMMON: usize = 1 << 12;
const COMMON_SIZES: RangeInclusive<usize> = 4..=64;

/// The first short entries of a trace.
#[derive(Debug, Default)]
pub(super) struct Common {
    all: Vec<Box<[u8]>>,
    by_entry: HashTable<u32>,
}

impl Common {
    /// The number of an entry, if it is in the list or gets into it.
    fn number(&mut self, entry: &[u8]) -> Option<u32> {
        if !COMMON_SIZES.contains(&entry.len()) {
            return None;
        }
        let all = &mut self.all;
        let is_it = |&number: &u32| all.get(number as usize).is_some_and(|known| **known == *entry);
        if let Some(&number) = self.by_entry.find(hash_of(entry), is_it) {
            return Some(number);
        }
        if all.len() >= COMMON {
            return None;
        }
        let number = all.len() as u32;
        all.push(entry.into());
        let rehash = |number: &u32| all.get(*number as usize).map_or(0, |known| hash_of(known));
        self.by_entry.insert_unique(hash_of(entry), number, rehash);
        Some(number)
    }

    fn get(&self, number: u64) -> Option<&[u8]> {
        Some(self.all.get(usize::try_from(number).ok()?)?)
    }
}

fn hash_of(entry: &[u8]) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(entry)
}

/// The entries of an interval: each has its field, its number, the caller's note, its age, one more than its size, and its
/// bytes. For an entry in the list of all sequences, there is a 0 and its number in the list.
#[derive(Debug, Default)]
pub(super) struct Entries {
    bytes: Vec<u8>,
    count: u32,
    /// The places of the entries by their keys, if there are more than a few. (No process has the memory for an interval of
    /// 4 GiB.)
    index: Option<Box<HashTable<u32>>>,
}

/// An entry.
#[derive(Debug)]
pub(super) struct KeptEntry<'a> {
    /// The number of serialized `InternedData` that were added before it.
    pub since: u64,
    pub note: [u8; NOTE],
    stored: Stored<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Stored<'a> {
    Here(&'a [u8]),
    /// In the list of all sequences.
    Common(u64),
}

impl<'a> KeptEntry<'a> {
    /// The bytes of the entry.
    pub fn entry(&self, common: &'a Common) -> Option<&'a [u8]> {
        match self.stored {
            Stored::Here(entry) => Some(entry),
            Stored::Common(number) => common.get(number),
        }
    }
}

/// The size of the caller's note.
const NOTE: usize = size_of::<u32>();

impl Entries {
    /// Adds an entry, unless there is one with this key.
    pub fn add(&mut self, key: Key, since: u64, entry: &[u8], common: &mut Common) {
        if self.place(key).is_none() {
            let number = common.number(entry).map(|number| Stored::Common(number.into()));
            let stored = number.unwrap_or(Stored::Here(entry));
            self.push(key, &KeptEntry { since, note: [0; NOTE], stored });
        }
    }

    /// Adds entries with other keys.
    pub fn append(&mut self, other: Entries) {
        if self.count == 0 {
            *self = other;
            return;
        }
        let mut at = 0;
        while let Some((key, rest)) = take_key(&other.bytes, at) {
            let Some((entry, next)) = take_entry(&other.bytes, rest) else {
                return;
            };
            if self.place(key).is_none() {
                self.push(key, &entry);
            }
            at = next;
        }
    }

    /// None, with the memory of these.
    pub fn cleared(mut self) -> Entries {
        self.bytes.clear();
        self.count = 0;
        self.index = None;
        self
    }

    /// The entry of a key.
    #[inline]
    pub fn get(&self, key: Key) -> Option<KeptEntry<'_>> {
        let (_, rest) = take_key(&self.bytes, self.place(key)?)?;
        Some(take_entry(&self.bytes, rest)?.0)
    }

    /// The note of an entry.
    #[inline]
    pub fn note_of(&self, key: Key) -> Option<u32> {
        let (_, rest) = take_key(&self.bytes, self.place(key)?)?;
        let note = self.bytes.get(rest..)?.first_chunk()?;
        Some(u32::from_le_bytes(*note))
    }

    /// Sets the note of an entry.
    pub fn note(&mut self, key: Key, note: u32) {
        let place = self.place(key);
        let rest = place.and_then(|place| take_key(&self.bytes, place));
        let rest = rest.and_then(|(_, rest)| self.bytes.get_mut(rest..rest + NOTE));
        if let Some(old) = rest {
            old.copy_from_slice(&note.to_le_bytes());
        }
    }

    /// The start of a key's entry.
    #[inline]
    fn place(&self, key: Key) -> Option<usize> {
        let Some(index) = &self.index else {
            return self.search(key);
        };
        let is_it = |&place: &u32| self.key(place) == Some(key);
        index.find(hash(key), is_it).map(|&place| place as usize)
    }

    #[inline]
    fn key(&self, place: u32) -> Option<Key> {
        Some(take_key(&self.bytes, place as usize)?.0)
    }

    fn search(&self, key: Key) -> Option<usize> {
        let mut at = 0;
        while let Some((found, rest)) = take_key(&self.bytes, at) {
            if found == key {
                return Some(at);
            }
            at = take_entry(&self.bytes, rest)?.1;
        }
        None
    }

    fn push(&mut self, (field, iid): Key, entry: &KeptEntry<'_>) {
        let place = self.bytes.len();
        let &KeptEntry { since, note, stored } = entry;
        let (length, bytes) = match stored {
            Stored::Here(bytes) => (bytes.len() as u64 + 1, bytes),
            Stored::Common(_) => (0, &[][..]),
        };
        // By a quarter: to double would waste a third of what many sequences have.
        let most = bytes.len() + 5 * LONGEST + NOTE;
        if self.bytes.capacity() - place < most {
            let number = match stored {
                Stored::Here(_) => 0,
                Stored::Common(number) => size(number),
            };
            let size = size(field.into()) + size(iid) + size(since) + size(length) + number;
            self.bytes.reserve_exact((size + NOTE + bytes.len()).max(place / 4));
        }
        put(&mut self.bytes, field.into());
        put(&mut self.bytes, iid);
        self.bytes.extend(note);
        put(&mut self.bytes, since);
        put(&mut self.bytes, length);
        match stored {
            Stored::Here(bytes) => self.bytes.extend(bytes),
            Stored::Common(number) => put(&mut self.bytes, number),
        }
        self.count = self.count.saturating_add(1);
        if self.index.is_some() {
            self.insert((field, iid), place);
        } else if self.count > FEW {
            self.index = Some(Box::default());
            let mut at = 0;
            while let Some((key, rest)) = take_key(&self.bytes, at) {
                let Some((_, next)) = take_entry(&self.bytes, rest) else {
                    return;
                };
                self.insert(key, at);
                at = next;
            }
        }
    }

    fn insert(&mut self, key: Key, place: usize) {
        let Some(mut index) = self.index.take() else {
            return;
        };
        let rehash = |place: &u32| self.key(*place).map_or(0, hash);
        index.insert_unique(hash(key), place as u32, rehash);
        self.index = Some(index);
    }
}

fn hash(key: Key) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(key)
}

/// The key of the entry at a place, and where the rest of it begins.
#[inline]
fn take_key(bytes: &[u8], at: usize) -> Option<(Key, usize)> {
    let (field, at) = take(bytes, at)?;
    let (iid, at) = take(bytes, at)?;
    Some(((field as u32, iid), at))
}

/// An entry behind its key, and where the next one begins.
#[inline]
fn take_entry(bytes: &[u8], at: usize) -> Option<(KeptEntry<'_>, usize)> {
    let note = *bytes.get(at..)?.first_chunk()?;
    let (since, at) = take(bytes, at + NOTE)?;
    let (length, at) = take(bytes, at)?;
    let Some(size) = length.checked_sub(1) else {
        let (number, end) = take(bytes, at)?;
        return Some((KeptEntry { since, note, stored: Stored::Common(number) }, end));
    };
    let end = at.checked_add(usize::try_from(size).ok()?)?;
    let stored = Stored::Here(bytes.get(at..end)?);
    Some((KeptEntry { since, note, stored }, end))
}

/// The longest form of a number.
const LONGEST: usize = 10;

/// The length of a number, seven bits in a byte.
fn size(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A number, and where it ends.
#[inline]
fn take(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    match *bytes.get(at)? {
        short @ 0..0x80 => Some((short.into(), at + 1)),
        _ => take_long(bytes, at),
    }
}

fn take_long(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some((number, at));
        }
        shift += 7;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::{HashMap, hash_map};

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_are_those_of_a_map(
            added in prop::collection::vec(
                (0u32..40, prop_oneof![0u64..4, Just(u64::MAX), Just(1 << 35)], 0usize..200, any::<u32>()),
                0..60,
            ),
            split in 0usize..60,
        ) {
            let mut map = HashMap::new();
            let (mut first, mut second) = (Entries::default(), Entries::default());
            let mut common = Common::default();
            for (number, (field, iid, length, note)) in added.into_iter().enumerate() {
                let (key, since) = ((field, iid), (number as u64) << (number % 50));
                let entry = vec![number as u8; length];
                let is_second = second.get(key).is_some() || first.get(key).is_none() && number >= split;
                let entries = if is_second { &mut second } else { &mut first };
                entries.add(key, since, &entry, &mut common);
                if let hash_map::Entry::Vacant(new) = map.entry(key) {
                    entries.note(key, note);
                    new.insert((since, note, entry));
                }
            }
            let count = map.len();
            first.append(second);
            prop_assert_eq!(first.count as usize, count);
            for (key, (since, note, entry)) in map {
                prop_assert_eq!(first.note_of(key), Some(note));
                let found = first.get(key).unwrap();
                prop_assert_eq!(found.since, since);
                prop_assert_eq!(u32::from_le_bytes(found.note), note);
                prop_assert_eq!(found.entry(&common), Some(&*entry));
            }
            prop_assert!(first.get((41, 0)).is_none());
            prop_assert!(first.cleared().get((0, 0)).is_none());
        }
    }
    #[test]
    fn the_list_of_all_sequences_has_short_entries_and_a_limit() {
        let mut common = Common::default();
        assert_eq!(
            [b"draw", b"swap", b"draw"].map(|entry| common.number(entry)),
            [Some(0), Some(1), Some(0)]
        );
        assert_eq!((common.number(b"dr"), common.number(&[7; 65])), (None, None));
        for number in 0..2 * COMMON as u64 {
            common.number(&number.to_le_bytes());
        }
        assert_eq!(common.all.len(), COMMON);
        assert_eq!((common.number(b"other"), common.number(b"swap")), (None, Some(1)));
        assert_eq!((common.get(1), common.get(1 << 40)), (Some(&b"swap"[..]), None));
    }
}

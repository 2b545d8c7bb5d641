//! The entries of one interval.
//!
//! # Design
//!
//! A trace may have 100,000 sequences with a few names each, so the entries of an interval are one
//! piece of memory: each entry behind its field, its number, its age and the caller's note. A few
//! are found by going through them; more have an index. A map with an allocation
//! for each entry was the former way, and took 55 MB for 700,000 names of 100,000 sequences, a map
//! of the caller with what it had made of them another 34; both are 17 MB now. One text for equal
//! entries of all sequences was the alternative: it must be counted how many refer to it, and the
//! texts are shorter than that.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// The field and the number of an entry.
pub(super) type Key = (u32, u64);

/// Up to this many entries are found without an index.
const FEW: u32 = 8;

/// The entries of an interval.
#[derive(Debug, Default)]
pub(super) struct Entries {
    bytes: Vec<u8>,
    count: u32,
    /// The entries by their keys, if there are more than a few.
    index: Option<Box<HashTable<Indexed>>>,
}

/// The key of an entry, its place, and its note again: most calls need no more.
#[derive(Debug)]
struct Indexed {
    iid: u64,
    place: u64,
    field: u32,
    note: u32,
}

impl Indexed {
    fn key(&self) -> Key {
        (self.field, self.iid)
    }
}

/// An entry.
#[derive(Debug)]
pub(super) struct KeptEntry<'a> {
    /// The number of serialized `InternedData` that were added before it.
    pub since: u64,
    pub note: [u8; NOTE],
    pub entry: &'a [u8],
}

/// The size of the caller's note.
const NOTE: usize = size_of::<u32>();

impl Entries {
    /// Adds an entry, unless there is one with this key.
    pub fn add(&mut self, key: Key, since: u64, entry: &[u8]) {
        if self.place(key).is_none() {
            self.push(key, since, [0; NOTE], entry);
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
                self.push(key, entry.since, entry.note, entry.entry);
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
        match &self.index {
            Some(index) => Some(index.find(hash(key), |entry| entry.key() == key)?.note),
            None => self.get(key).map(|entry| u32::from_le_bytes(entry.note)),
        }
    }

    /// Sets the note of an entry.
    pub fn note(&mut self, key: Key, note: u32) {
        if let Some(index) = &mut self.index
            && let Some(entry) = index.find_mut(hash(key), |entry| entry.key() == key)
        {
            entry.note = note;
        }
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
        let found = index.find(hash(key), |entry| entry.key() == key)?;
        usize::try_from(found.place).ok()
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

    fn push(&mut self, (field, iid): Key, since: u64, note: [u8; NOTE], entry: &[u8]) {
        let place = self.bytes.len();
        // By a quarter: to double would waste a third of what many sequences have.
        let most = entry.len() + 4 * LONGEST + NOTE;
        if self.bytes.capacity() - place < most {
            let size = size(field.into()) + size(iid) + size(since) + size(entry.len() as u64);
            self.bytes.reserve_exact((size + NOTE + entry.len()).max(place / 4));
        }
        put(&mut self.bytes, field.into());
        put(&mut self.bytes, iid);
        self.bytes.extend(note);
        put(&mut self.bytes, since);
        put(&mut self.bytes, entry.len() as u64);
        self.bytes.extend(entry);
        self.count = self.count.saturating_add(1);
        if self.index.is_some() {
            self.insert((field, iid), place, note);
        } else if self.count > FEW {
            self.index = Some(Box::default());
            let mut at = 0;
            while let Some((key, rest)) = take_key(&self.bytes, at) {
                let Some((entry, next)) = take_entry(&self.bytes, rest) else {
                    return;
                };
                self.insert(key, at, entry.note);
                at = next;
            }
        }
    }

    fn insert(&mut self, (field, iid): Key, place: usize, note: [u8; NOTE]) {
        if let Some(index) = &mut self.index {
            let entry = Indexed { iid, place: place as u64, field, note: u32::from_le_bytes(note) };
            index.insert_unique(hash((field, iid)), entry, |entry| hash(entry.key()));
        }
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
    let (size, at) = take(bytes, at)?;
    let end = at.checked_add(usize::try_from(size).ok()?)?;
    let entry = bytes.get(at..end)?;
    Some((KeptEntry { since, note, entry }, end))
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
            for (number, (field, iid, length, note)) in added.into_iter().enumerate() {
                let (key, since) = ((field, iid), (number as u64) << (number % 50));
                let entry = vec![number as u8; length];
                let is_second = second.get(key).is_some() || first.get(key).is_none() && number >= split;
                let entries = if is_second { &mut second } else { &mut first };
                entries.add(key, since, &entry);
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
                prop_assert_eq!(found.entry, entry);
            }
            prop_assert!(first.get((41, 0)).is_none());
            prop_assert!(first.cleared().get((0, 0)).is_none());
        }
    }
}

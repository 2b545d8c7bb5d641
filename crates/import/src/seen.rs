//! Remembers bytes with the numbers that they got, in bounded memory.
//!
//! There are two generations. When the younger is full, the older is forgotten. Bytes that come
//! again after that get another number, which costs a row. Where that would change an answer, such rows are
//! merged in the end, if any were forgotten. So memory does not grow with bytes that never repeat.

use std::hash::Hasher;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// The approximate size of an entry in addition to its key.
const ENTRY: usize = 48;

/// The bytes that were seen, with their numbers.
#[derive(Debug)]
pub(crate) struct Seen {
    young: Generation,
    old: Generation,
    /// The size of the young generation in bytes, and its limit.
    bytes: usize,
    generation: usize,
    has_forgotten: bool,
}

/// Keys one after the other, so that a key needs no memory of its own.
#[derive(Debug, Default)]
struct Generation {
    keys: Vec<u8>,
    entries: HashTable<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The place of the key.
    start: u32,
    size: u32,
    id: i64,
}

impl Seen {
    /// An empty memory. A generation may take this number of bytes, less than 4 GB.
    pub fn new(generation: usize) -> Self {
        let (young, old) = Default::default();
        Seen { young, old, bytes: 0, generation, has_forgotten: false }
    }

    /// The number that these bytes got, if they were seen.
    #[inline]
    pub fn get(&mut self, key: &[u8]) -> Option<i64> {
        let hash = hash(key);
        if let Some(id) = self.young.get(hash, key) {
            return Some(id);
        }
        let id = self.old.remove(hash, key)?;
        self.remember(hash, key, id);
        Some(id)
    }

    /// Remembers a number.
    pub fn insert(&mut self, key: &[u8], id: i64) {
        self.remember(hash(key), key, id);
    }

    fn remember(&mut self, hash: u64, key: &[u8], id: i64) {
        let size = key.len().saturating_add(ENTRY);
        if self.bytes.saturating_add(size) > self.generation {
            std::mem::swap(&mut self.old, &mut self.young);
            self.has_forgotten |= !self.young.entries.is_empty();
            self.young.clear();
            self.bytes = 0;
        }
        if size <= self.generation {
            self.bytes += size;
            self.young.insert(hash, key, id);
        } else {
            self.has_forgotten = true;
        }
    }

    /// Whether some bytes may get another number if they come again.
    pub fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }
}

fn hash(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}

impl Generation {
    fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
    }

    #[inline]
    fn get(&self, hash: u64, key: &[u8]) -> Option<i64> {
        let found = self.entries.find(hash, |entry| entry.key(&self.keys) == key);
        found.map(|entry| entry.id)
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Option<i64> {
        let found = self.entries.find_entry(hash, |entry| entry.key(&self.keys) == key);
        found.ok().map(|entry| entry.remove().0.id)
    }

    /// Adds a key that is not there.
    fn insert(&mut self, hash_of: u64, key: &[u8], id: i64) {
        let (start, size) = (self.keys.len() as u32, key.len() as u32);
        self.keys.extend_from_slice(key);
        let keys = &self.keys;
        let entry = Entry { start, size, id };
        self.entries.insert_unique(hash_of, entry, |entry| hash(entry.key(keys)));
    }
}

impl Entry {
    fn key(self, keys: &[u8]) -> &[u8] {
        let from = keys.get(self.start as usize..).unwrap_or_default();
        from.get(..self.size as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_memory_is_bounded() {
        const GENERATION: usize = 6 << 20;
        let mut seen = Seen::new(GENERATION);
        seen.insert(b"often", 0);
        assert!(!seen.has_forgotten());
        for i in 0..1_000_000i64 {
            seen.insert(&i.to_le_bytes(), i + 1);
            if i % 1000 == 0 {
                assert_eq!(seen.get(b"often"), Some(0));
            }
        }
        let entries = seen.young.entries.len() + seen.old.entries.len();
        assert!(entries < 2 * GENERATION / ENTRY, "{entries} entries");
        assert_eq!(seen.get(&0i64.to_le_bytes()), None);
        assert!(seen.has_forgotten());
        seen.insert(&vec![0; 2 * GENERATION], 7);
        assert_eq!(seen.get(&vec![0; 2 * GENERATION]), None);
    }
}

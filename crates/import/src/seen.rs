//! Remembers bytes with the numbers that they got, in bounded memory.
//!
//! There are two generations. When the younger is full, the older is forgotten. Bytes that come
//! again after that get another number, which costs a row and changes no answer. So memory does not
//! grow with bytes that never repeat.

use rustc_hash::FxHashMap;

/// The approximate size of an entry in addition to its key.
const ENTRY: usize = 48;

/// The bytes that were seen, with their numbers.
#[derive(Debug)]
pub(crate) struct Seen {
    young: FxHashMap<Box<[u8]>, i64>,
    old: FxHashMap<Box<[u8]>, i64>,
    /// The size of the young generation in bytes, and its limit.
    bytes: usize,
    generation: usize,
}

impl Seen {
    /// An empty memory. A generation may take this number of bytes.
    pub fn new(generation: usize) -> Self {
        Seen { young: FxHashMap::default(), old: FxHashMap::default(), bytes: 0, generation }
    }

    /// The number that these bytes got, if they were seen.
    #[inline]
    pub fn get(&mut self, key: &[u8]) -> Option<i64> {
        if let Some(&id) = self.young.get(key) {
            return Some(id);
        }
        let (key, id) = self.old.remove_entry(key)?;
        self.remember(key, id);
        Some(id)
    }

    /// Remembers a number.
    pub fn insert(&mut self, key: &[u8], id: i64) {
        self.remember(key.into(), id);
    }

    fn remember(&mut self, key: Box<[u8]>, id: i64) {
        let size = key.len() + ENTRY;
        if self.bytes + size > self.generation {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        if size <= self.generation {
            self.bytes += size;
            self.young.insert(key, id);
        }
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
        for i in 0..1_000_000i64 {
            seen.insert(&i.to_le_bytes(), i + 1);
            if i % 1000 == 0 {
                assert_eq!(seen.get(b"often"), Some(0));
            }
        }
        let entries = seen.young.len() + seen.old.len();
        assert!(entries < 2 * GENERATION / ENTRY, "{entries} entries");
        assert_eq!(seen.get(&0i64.to_le_bytes()), None);
        seen.insert(&vec![0; 2 * GENERATION], 7);
        assert_eq!(seen.get(&vec![0; 2 * GENERATION]), None);
    }
}

//! An entry of an index, and SQLite's order of entries.

use std::cmp::Ordering;

use crate::sort::{Key, LONGEST_NUMBER, put_difference, take_difference};

use crate::btree::record::{Cell, Value};

/// An entry: the indexed columns, and the rowid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<const K: usize> {
    /// For a NULL, the least integer.
    pub key: [i64; K],
    /// A bit for each column that is not NULL.
    pub present: u8,
    pub rowid: i64,
}

impl<const K: usize> Entry<K> {
    #[inline]
    pub fn new(key: [Option<i64>; K], rowid: i64) -> Self {
        let mut present = 0;
        for (column, value) in key.iter().enumerate() {
            present |= u8::from(value.is_some()) << column;
        }
        Entry { key: key.map(|value| value.unwrap_or(i64::MIN)), present, rowid }
    }

    fn is_present(&self, column: usize) -> bool {
        self.present >> column & 1 != 0
    }

    /// Makes the cell. It is the same in a leaf and in an interior page.
    #[inline]
    pub fn make(&self, cell: &mut Cell, with_rowid: bool) {
        let mut values = [Value::Null; 9];
        for (column, value) in self.key.iter().enumerate() {
            if self.is_present(column) {
                values[column] = Value::Integer(*value);
            }
        }
        values[K] = Value::Integer(self.rowid);
        cell.entry(&values[..K + usize::from(with_rowid)]);
    }
}

impl Entry<2> {
    /// The entry of the same row in the index of the columns in the other order.
    #[inline]
    pub fn turned(&self) -> Self {
        let [first, second] = self.key;
        Entry {
            key: [second, first],
            present: (self.present & 1) << 1 | self.present >> 1 & 1,
            rowid: self.rowid,
        }
    }
}

impl<const K: usize> Key for Entry<K> {
    const FIRST: Self = Entry { key: [0; K], present: 0, rowid: 0 };

    const LONGEST: usize = 1 + (K + 1) * LONGEST_NUMBER;

    /// Those of columns. A NULL and the least integer have the same.
    const RANKS: usize = if K > 1 { 2 } else { 1 };

    #[inline]
    fn rank(&self, number: usize) -> i64 {
        self.key[number]
    }

    #[inline]
    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
        bytes[0] = self.present;
        let mut size = 1;
        for (value, after) in self.key.iter().zip(&after.key) {
            size += put_difference(*after, *value, &mut bytes[size..]);
        }
        size + put_difference(after.rowid, self.rowid, &mut bytes[size..])
    }

    #[inline]
    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
        let mut entry = *after;
        entry.present = *bytes.first()?;
        let mut at = 1;
        for value in entry.key.iter_mut().chain([&mut entry.rowid]) {
            let (read, size) = take_difference(*value, bytes.get(at..)?)?;
            *value = read;
            at += size;
        }
        Some((entry, at))
    }
}

impl<const K: usize> Ord for Entry<K> {
    /// SQLite's order: NULL before all integers.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        for column in 0..K {
            let order = self.key[column]
                .cmp(&other.key[column])
                .then_with(|| self.is_present(column).cmp(&other.is_present(column)));
            if order.is_ne() {
                return order;
            }
        }
        self.rowid.cmp(&other.rowid)
    }
}

impl<const K: usize> PartialOrd for Entry<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    /// The first column nearly always decides. With this separate comparison, sorting needs no
    /// jumps that depend on it, and takes half the time.
    #[inline]
    fn lt(&self, other: &Self) -> bool {
        if self.key[0] != other.key[0] {
            self.key[0] < other.key[0]
        } else {
            self.cmp(other).is_lt()
        }
    }
}

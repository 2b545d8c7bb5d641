//! The keys for sorting.

use std::fmt::Debug;

use crate::sort::number::{LONGEST_NUMBER, put_difference, take_difference};

/// A key. It has an order, and can be written as its difference from the previous key, which is
/// small if keys are sorted.
///
/// If keys are equal, only their payloads may differ.
///
/// ```
/// use timebase_store::sort::{Key, LONGEST_NUMBER, put_difference, take_difference};
///
/// /// A process, and when it did something.
/// #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
/// struct Moment {
///     process: u8,
///     ts: i64,
/// }
///
/// impl Key for Moment {
///     const FIRST: Self = Moment { process: 0, ts: 0 };
///     const LONGEST: usize = 1 + LONGEST_NUMBER;
///
///     const RANKS: usize = 2;
///
///     fn rank(&self, number: usize) -> i64 {
///         [self.process.into(), self.ts][number]
///     }
///
///     fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
///         bytes[0] = self.process;
///         1 + put_difference(after.ts, self.ts, &mut bytes[1..])
///     }
///
///     fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
///         let (&process, rest) = bytes.split_first()?;
///         let (ts, size) = take_difference(after.ts, rest)?;
///         Some((Moment { process, ts }, 1 + size))
///     }
/// }
/// ```
pub trait Key: Copy + Ord + Debug + Send + 'static {
    /// The first key of a stretch is written as the difference from this key.
    const FIRST: Self;

    /// The largest number of bytes that `put` writes.
    const LONGEST: usize;

    /// The number of ranks of a key.
    const RANKS: usize;

    /// A rank, by its number from 0 to `RANKS`. Of two keys that differ in a rank, the first rank
    /// that differs tells which is less. Sorting is faster if few keys have the same ranks.
    fn rank(&self, number: usize) -> i64;

    /// Writes the key as its difference from `after`, at the start of `bytes`, which has at least
    /// `LONGEST` bytes. Returns the number of bytes written, at least one.
    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize;

    /// Reads the key back, with the number of bytes read. `None` means that the bytes are no key.
    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)>;
}

impl Key for i64 {
    const FIRST: Self = 0;
    const LONGEST: usize = LONGEST_NUMBER;
    const RANKS: usize = 1;

    #[inline]
    fn rank(&self, _: usize) -> i64 {
        *self
    }

    #[inline]
    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
        put_difference(*after, *self, bytes)
    }

    #[inline]
    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
        take_difference(*after, bytes)
    }
}

/// A time, and an order among equal times.
impl Key for (i64, u64) {
    const FIRST: Self = (0, 0);
    const LONGEST: usize = 2 * LONGEST_NUMBER;
    const RANKS: usize = 1;

    #[inline]
    fn rank(&self, _: usize) -> i64 {
        self.0
    }

    #[inline]
    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
        let size = put_difference(after.0, self.0, bytes);
        size + put_difference(after.1 as i64, self.1 as i64, &mut bytes[size..])
    }

    #[inline]
    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
        let (first, size) = take_difference(after.0, bytes)?;
        let (second, more) = take_difference(after.1 as i64, bytes.get(size..)?)?;
        Some(((first, second as u64), size + more))
    }
}

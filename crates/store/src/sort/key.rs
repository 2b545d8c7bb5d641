//! What is sorted by.

use std::fmt::Debug;

use crate::sort::number::{LONGEST_NUMBER, put_difference, take_difference};

/// A key: it is ordered, and can be written as its difference to the key before
/// it, which is small where keys are sorted.
///
/// Keys that are equal may be told apart by nothing but their payload.
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
    /// What the first key of a stretch is written as a difference to.
    const FIRST: Self;

    /// As many bytes as `put` writes at most.
    const LONGEST: usize;

    /// Writes the key as its difference to `after`, at the start of `bytes`, which
    /// are at least `LONGEST`; tells how many of them it takes, at least one.
    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize;

    /// Reads it back, with how many bytes it took. `None`: the bytes are no key.
    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)>;
}

impl Key for i64 {
    const FIRST: Self = 0;
    const LONGEST: usize = LONGEST_NUMBER;

    #[inline]
    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
        put_difference(*after, *self, bytes)
    }

    #[inline]
    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
        take_difference(*after, bytes)
    }
}

/// A time, and the order among equal ones.
impl Key for (i64, u64) {
    const FIRST: Self = (0, 0);
    const LONGEST: usize = 2 * LONGEST_NUMBER;

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

//! The part of a rank in a collective, and the orders in which records are sorted.

use timebase_store::sort::{Key, LONGEST_NUMBER, put_difference, take_difference};

use crate::compact::records;
use crate::evidence::{Located, Role};

/// The part of a rank in a collective: its kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Participation {
    pub file: i64,
    /// The place of its first kernel among all kernels.
    pub row: i64,
    pub clock: u64,
    pub start: i64,
    pub end: i64,
    pub packet: i64,
    /// The number of its group.
    pub group: u64,
    /// A hash of its statements about its data.
    pub data: u64,
    pub has_empty_split: bool,
    pub seq: Option<i64>,
    /// The ranks that the arguments name.
    pub source: Option<i64>,
    pub destination: Option<i64>,
    pub root: Option<i64>,
    /// The launch of its first kernel.
    pub launch: Option<i64>,
}

records! {
    Participation {
        file, row, clock, start, end, packet, group, data, has_empty_split, seq, source,
        destination, root, launch
    }
}

impl Participation {
    /// Adds another kernel.
    pub fn extend(&mut self, kernel: &Participation) {
        self.start = self.start.min(kernel.start);
        self.end = self.end.max(kernel.end);
        self.launch = [self.launch, kernel.launch].into_iter().flatten().min();
    }

    pub fn clock(&self) -> usize {
        usize::try_from(self.clock).unwrap_or(usize::MAX)
    }

    pub fn starts(&self) -> Located {
        Located { clock: self.clock(), at: self.start, role: Role::Start, packet: self.packet }
    }

    pub fn ends(&self) -> Located {
        Located { clock: self.clock(), at: self.end, role: Role::End, packet: self.packet }
    }
}

/// A place in an order by four numbers, the first one before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order(pub [i64; 4]);

impl Key for Order {
    const FIRST: Self = Order([0; 4]);
    const LONGEST: usize = 4 * LONGEST_NUMBER;
    const RANKS: usize = 4;

    #[inline]
    fn rank(&self, number: usize) -> i64 {
        self.0.get(number).copied().unwrap_or_default()
    }

    #[inline]
    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
        let mut size = 0;
        for (number, after) in self.0.into_iter().zip(after.0) {
            size += put_difference(after, number, bytes.get_mut(size..).unwrap_or_default());
        }
        size
    }

    #[inline]
    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
        let (mut numbers, mut size) = (after.0, 0);
        for number in &mut numbers {
            let (taken, more) = take_difference(*number, bytes.get(size..)?)?;
            *number = taken;
            size += more;
        }
        Some((Order(numbers), size))
    }
}

//! The durations of all lines of a run, in order.
//!
//! # Design
//!
//! The durations of a line are a list in memory, which is sorted when all are known. A run with many durations moves them
//! to a sorter on the disk, whose memory is bounded. The sorter alone takes several times as long for the usual run,
//! because it sorts by the line too, and packs what it writes.

use std::io;
use std::path::Path;

use timebase_store::sort::{
    Key, LONGEST_NUMBER, Quota, Scratch, Sorter, put_difference, take_difference,
};

/// So many durations stay in memory: at most 16 MB with the room that lists keep.
pub const IN_MEMORY: usize = 1 << 19;

/// A duration of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lasted {
    pub line: i64,
    pub dur: i64,
    pub is_sure: bool,
}

impl Key for Lasted {
    const FIRST: Self = Lasted { line: 0, dur: 0, is_sure: false };
    const LONGEST: usize = 1 + 2 * LONGEST_NUMBER;
    const RANKS: usize = 2;

    fn rank(&self, number: usize) -> i64 {
        if number == 0 { self.line } else { self.dur }
    }

    fn put(&self, after: &Self, bytes: &mut [u8]) -> usize {
        let Some((first, rest)) = bytes.split_first_mut() else { return 0 };
        *first = self.is_sure.into();
        let size = put_difference(after.line, self.line, rest);
        let rest = rest.get_mut(size..).unwrap_or_default();
        1 + size + put_difference(after.dur, self.dur, rest)
    }

    fn take(after: &Self, bytes: &[u8]) -> Option<(Self, usize)> {
        let (first, rest) = bytes.split_first()?;
        let (line, size) = take_difference(after.line, rest)?;
        let (dur, other) = take_difference(after.dur, rest.get(size..)?)?;
        Some((Lasted { line, dur, is_sure: *first != 0 }, 1 + size + other))
    }
}

/// The durations of all lines.
pub struct Durations {
    scratch: Scratch,
    limit: usize,
    held: Held,
}

enum Held {
    /// The durations of each line, and whether they are sure; and the number of all.
    Memory {
        of_lines: Vec<Vec<(i64, bool)>>,
        number: usize,
    },
    Disk(Sorter<Lasted, ()>),
}

impl Durations {
    /// None yet. More than `limit` go to files in `scratch`.
    pub fn new(scratch: &Path, limit: usize) -> Durations {
        let held = Held::Memory { of_lines: Vec::new(), number: 0 };
        Durations { scratch: Scratch::new(scratch, &Quota::default()), limit, held }
    }

    /// Adds a duration. Lines are numbers from 0.
    pub fn push(&mut self, line: i64, dur: i64, is_sure: bool) -> io::Result<()> {
        let (of_lines, number) = match &mut self.held {
            Held::Memory { of_lines, number } => (of_lines, number),
            Held::Disk(sorter) => return sorter.push(Lasted { line, dur, is_sure }, &()),
        };
        let at = usize::try_from(line).unwrap_or_default();
        if at >= of_lines.len() {
            of_lines.resize_with(at.saturating_add(1), Vec::new);
        }
        if let Some(durations) = of_lines.get_mut(at) {
            durations.push((dur, is_sure));
        }
        *number += 1;
        if *number > self.limit {
            let mut sorter = Sorter::new(self.scratch.clone());
            for (line, durations) in (0..).zip(std::mem::take(of_lines)) {
                for (dur, is_sure) in durations {
                    sorter.push(Lasted { line, dur, is_sure }, &())?;
                }
            }
            self.held = Held::Disk(sorter);
        }
        Ok(())
    }

    /// Calls `each` with all durations: by line, the shortest first.
    pub fn finish<E: From<io::Error>>(
        self,
        mut each: impl FnMut(Lasted) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.held {
            Held::Disk(sorter) => sorter.finish(|lasted, ()| each(*lasted)),
            Held::Memory { of_lines, .. } => {
                for (line, mut durations) in (0..).zip(of_lines) {
                    durations.sort_unstable_by_key(|(dur, _)| *dur);
                    for (dur, is_sure) in durations {
                        each(Lasted { line, dur, is_sure })?;
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cm4_durations_come_back_from_the_disk_in_order() {
        let mut bytes = [0; Lasted::LONGEST];
        let before = Lasted { line: 7, dur: i64::MIN, is_sure: true };
        for lasted in [before, Lasted { line: 9, dur: i64::MAX, is_sure: false }] {
            let size = lasted.put(&before, &mut bytes);
            assert_eq!(Lasted::take(&before, &bytes[..size]), Some((lasted, size)));
        }
    }

    #[test]
    fn cm4_durations_have_one_order_in_memory_and_on_the_disk() -> io::Result<()> {
        // A simple generator is enough: any numbers will do.
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let pushed: Vec<Lasted> = (0..2_000)
            .map(|_| {
                let dur = if next(100) == 0 { i64::MAX } else { next(500) as i64 - 5 };
                Lasted { line: next(9) as i64, dur, is_sure: next(3) > 0 }
            })
            .collect();
        let in_order = |limit: usize| -> io::Result<Vec<Lasted>> {
            let mut durations = Durations::new(&std::env::temp_dir(), limit);
            for lasted in &pushed {
                durations.push(lasted.line, lasted.dur, lasted.is_sure)?;
            }
            let mut all = Vec::new();
            durations.finish::<io::Error>(|lasted| {
                all.push(lasted);
                Ok(())
            })?;
            assert!(all.is_sorted_by_key(|lasted| (lasted.line, lasted.dur)));
            all.sort();
            Ok(all)
        };
        let mut expected = pushed.clone();
        expected.sort();
        for limit in [0, 1, 1_000, 1_999, 2_000] {
            assert!(in_order(limit)? == expected, "{limit}");
        }
        Ok(())
    }
}

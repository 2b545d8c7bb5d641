//! What a rewriting has done, and what it could not do.

use std::collections::BTreeMap;

use crate::readers::Fixed;

/// What a rewriting did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewritten {
    /// Packets that were read.
    pub packets: u64,
    /// Packets that were written.
    pub written: u64,
    /// Packets and events that stand elsewhere than the nearest snapshot puts them, where a reader that
    /// knows no rates shows them.
    pub moved: Moved,
    /// Packets that nobody can place; they have their clock and timestamp.
    pub unplaced: u64,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
    /// Times that no reading of the clock leads to which the format asks for (rule RW6).
    pub unmet: Vec<Unmet>,
    /// The clock that times are told on.
    pub trace_time_clock: String,
    /// How many files were written; several are members of a zip.
    pub files: u64,
    /// How large the source is, in bytes, decompressed.
    pub source_bytes: u64,
    /// How large what was written is, in bytes.
    pub written_bytes: u64,
    /// What the user should know of the source.
    pub warnings: Vec<String>,
    /// The files whose clocks nothing relates to those of the files before, so that the order of their
    /// events is random (rule X41).
    pub unrelated: Vec<String>,
}

/// How far times moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// How many did.
    pub count: u64,
    /// Of how many packets and events that have a time.
    pub of: u64,
    /// By how much half of them moved at most, to three digits, in nanoseconds.
    pub median: u64,
    /// By how much the one that moved most, in nanoseconds.
    pub largest: u64,
}

/// What is not in the trace that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// What it is, in words: of one, and of several.
    pub what: [&'static str; 2],
    /// How many there were.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Times that are not met.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmet {
    /// What has them, in words: of one, and of several.
    pub what: [&'static str; 2],
    /// How many there are.
    pub count: u64,
    /// How far the one that is furthest off is from its time, in nanoseconds; `None` if one leads nowhere.
    pub largest: Option<u64>,
}

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Left {
    Packet,
    Payload,
    TooLarge,
    Region,
    Sync,
}

impl Left {
    fn what(self) -> [&'static str; 2] {
        match self {
            Left::Packet => ["packet that cannot be read", "packets that cannot be read"],
            Left::Payload => [
                "payload that cannot be read",
                "payloads that cannot be read",
            ],
            Left::TooLarge => ["packet that is too large", "packets that are too large"],
            Left::Region => ["damaged place", "damaged places"],
            Left::Sync => [
                "synchronization of two machines, of which the packet stays,",
                "synchronizations of two machines, of which the packets stay,",
            ],
        }
    }
}

/// What has a time that is not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missed {
    Packet,
    Inside(Fixed),
}

impl Missed {
    fn what(self) -> [&'static str; 2] {
        match self {
            Missed::Packet => ["packet", "packets"],
            Missed::Inside(Fixed::KernelEvents) => ["kernel event", "kernel events"],
            Missed::Inside(Fixed::LogLines) => ["log line", "log lines"],
            Missed::Inside(Fixed::HeapDumps) => ["heap dump", "heap dumps"],
            Missed::Inside(Fixed::StreamedSamples) => ["packet of samples", "packets of samples"],
            Missed::Inside(Fixed::VulkanMemory) => {
                ["event of Vulkan's memory", "events of Vulkan's memory"]
            }
            Missed::Inside(Fixed::PowerSamples) => {
                ["sample of a power rail", "samples of power rails"]
            }
        }
    }
}

/// Counts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub written: u64,
    pub unplaced: u64,
    left: BTreeMap<Left, (u64, u64)>,
    missed: BTreeMap<Missed, (u64, Option<u64>)>,
    moves: Moves,
}

impl Tally {
    pub fn left(&mut self, what: Left, count: u64, bytes: u64) {
        let (counted, sum) = self.left.entry(what).or_default();
        *counted = counted.saturating_add(count);
        *sum = sum.saturating_add(bytes);
    }

    /// So many times are off by so much; `None` if their readings lead nowhere, or they have none.
    pub fn missed(&mut self, what: Missed, more: u64, off: Option<u64>) {
        if more == 0 {
            return;
        }
        let (count, largest) = self.missed.entry(what).or_insert((0, Some(0)));
        *count = count.saturating_add(more);
        *largest = largest.zip(off).map(|(largest, off)| largest.max(off));
    }

    /// Something has a time, so far from where the nearest snapshot puts it.
    #[inline]
    pub fn moved(&mut self, by: u64) {
        self.moves.of += 1;
        if by > 0 {
            self.moves.count(by);
        }
    }

    /// All of it, for who asked.
    pub fn told(self) -> Rewritten {
        let left_out = self.left.into_iter().filter(|(_, (count, _))| *count > 0);
        let left_out = left_out.map(|(left, (count, bytes))| LeftOut {
            what: left.what(),
            count,
            bytes,
        });
        let unmet = self.missed.into_iter();
        let unmet = unmet.map(|(missed, (count, largest))| Unmet {
            what: missed.what(),
            count,
            largest,
        });
        Rewritten {
            written: self.written,
            unplaced: self.unplaced,
            left_out: left_out.collect(),
            unmet: unmet.collect(),
            moved: self.moves.told(),
            ..Rewritten::default()
        }
    }
}

/// How many moves there are of each size, in classes that are narrower than two percent.
#[derive(Debug, Default)]
struct Moves {
    of: u64,
    largest: u64,
    /// As many as the largest needs.
    classes: Vec<u64>,
}

/// How many classes lie between a size and its double.
const CLASSES: u32 = 6;

impl Moves {
    fn count(&mut self, by: u64) {
        self.largest = self.largest.max(by);
        let class = usize::from(class(by));
        if class >= self.classes.len() {
            self.classes.resize(class + 1, 0);
        }
        if let Some(count) = self.classes.get_mut(class) {
            *count += 1;
        }
    }

    fn told(&self) -> Moved {
        let count: u64 = self.classes.iter().sum();
        let mut before = 0;
        let median = (0..).zip(&self.classes).find(|(_, here)| {
            before += **here;
            before >= count.div_ceil(2)
        });
        Moved {
            count,
            of: self.of,
            median: median.map_or(0, |(class, _)| least(class).min(self.largest)),
            largest: self.largest,
        }
    }
}

/// The class of a size: its highest bit, and the six bits behind it.
fn class(by: u64) -> u16 {
    let bits = u64::BITS - by.leading_zeros();
    let shift = bits.saturating_sub(CLASSES + 1);
    // Below 64 · 128.
    (u64::from(shift) << CLASSES).saturating_add(by >> shift) as u16
}

/// The least size of a class.
fn least(class: u16) -> u64 {
    let class = u64::from(class);
    let shift = (class >> CLASSES).saturating_sub(1);
    class.saturating_sub(shift << CLASSES) << shift.min(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_moves_is_known_to_two_digits() {
        for by in [1, 5, 63, 64, 127, 128, 1000, 123_456_789, u64::MAX] {
            let known = least(class(by));
            assert!(known <= by && by - known <= by >> 6, "{by} {known}");
        }
        let mut moves = Moves::default();
        for by in [1, 2, 3, 1000, 5000] {
            moves.count(by);
        }
        let told = moves.told();
        assert_eq!((told.count, told.median, told.largest), (5, 3, 5000));
    }

    #[test]
    fn a_time_that_leads_nowhere_has_no_largest_difference() {
        let mut tally = Tally::default();
        tally.missed(Missed::Packet, 0, None);
        tally.missed(Missed::Packet, 1, Some(4));
        tally.missed(Missed::Packet, 1, None);
        tally.missed(Missed::Packet, 1, Some(5));
        let told = tally.told();
        assert_eq!(told.unmet.len(), 1);
        assert!(
            told.unmet
                .iter()
                .all(|unmet| unmet.count == 3 && unmet.largest.is_none())
        );
    }
}

//! The results of a rewrite, and the things that it could not do.

use std::collections::BTreeMap;

use crate::emit::FoundTrack;
use crate::readers::Fixed;
use crate::rewrite::cut::Cut;

/// The results of a rewrite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewritten {
    /// Packets that were read.
    pub packets: u64,
    /// Packets that were written.
    pub written: u64,
    /// Packets and events that no longer stand where the nearest snapshot puts them. A reader that
    /// knows no rates shows them at the new time.
    pub moved: Moved,
    /// Packets that cannot be placed; they keep their clock and timestamp.
    pub unplaced: u64,
    /// The things that were left out.
    pub left_out: Vec<LeftOut>,
    /// Times to which no reading of the required clock leads (rule RW6).
    pub unmet: Vec<Unmet>,
    /// Things that differ in the trace that was made of a JSON trace (rule CV1).
    pub unlike: Vec<Unlike>,
    /// The tracks of rows that were found (rules CN).
    pub tracks: Vec<FoundTrack>,
    /// The number of traces that were in Chrome's JSON format.
    pub converted: u64,
    /// The clock of trace time.
    pub trace_time_clock: String,
    /// The number of files written. Several files are members of a zip.
    pub files: u64,
    /// The size of the source in bytes, decompressed.
    pub source_bytes: u64,
    /// The size of the output in bytes.
    pub written_bytes: u64,
    /// The SHA-256 of each file that was read.
    pub sha256: Vec<String>,
    /// The part that was cut out, if not all of the trace was wanted.
    pub cut: Option<Cut>,
    /// Warnings for the user about the source.
    pub warnings: Vec<String>,
    /// The files whose clocks have no relation to the clocks of the files before, so that the order
    /// of their events is random (rule X41).
    pub unrelated: Vec<String>,
}

/// The distances that times moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// The number of packets and events that moved.
    pub count: u64,
    /// The number of packets and events with a time.
    pub of: u64,
    /// The median of the moves in nanoseconds, to three digits.
    pub median: u64,
    /// The largest move in nanoseconds.
    pub largest: u64,
}

/// Things that the written trace does not contain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The kind of thing in words, as singular and plural.
    pub what: [&'static str; 2],
    /// The number of things.
    pub count: u64,
    /// The number of their bytes.
    pub bytes: u64,
}

/// Packets or events with a time that the output cannot express exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmet {
    /// The kind of packet or event in words, as singular and plural.
    pub what: [&'static str; 2],
    /// The number of packets or events.
    pub count: u64,
    /// The largest distance from the right time, in nanoseconds; `None` if one has a reading that
    /// leads nowhere.
    pub largest: Option<u64>,
}

/// Things of a JSON trace that are not the same in the written trace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unlike {
    /// The things and their fate, as singular and plural.
    pub what: [&'static str; 2],
    /// The number of things.
    pub count: u64,
}

/// The reason why something is left out.
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
            Left::Payload => ["payload that cannot be read", "payloads that cannot be read"],
            Left::TooLarge => ["packet that is too large", "packets that are too large"],
            Left::Region => ["damaged place", "damaged places"],
            Left::Sync => [
                "synchronization of two machines (its packet stays)",
                "synchronizations of two machines (their packets stay)",
            ],
        }
    }
}

/// The kinds of packets and events with a time that the output cannot express exactly.
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
            Missed::Inside(Fixed::V8Profiles) => ["profile of V8", "profiles of V8"],
            Missed::Inside(Fixed::VulkanMemory) => {
                ["event of Vulkan's memory", "events of Vulkan's memory"]
            }
            Missed::Inside(Fixed::PowerSamples) => {
                ["sample of a power rail", "samples of power rails"]
            }
        }
    }
}

/// The counts of a rewrite.
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

    /// Counts `more` times that are off by `off`; `None` if their readings lead nowhere, or they
    /// have none.
    pub fn missed(&mut self, what: Missed, more: u64, off: Option<u64>) {
        if more == 0 {
            return;
        }
        let (count, largest) = self.missed.entry(what).or_insert((0, Some(0)));
        *count = count.saturating_add(more);
        *largest = largest.zip(off).map(|(largest, off)| largest.max(off));
    }

    /// Counts a time, and its distance from the time that the nearest snapshot gives.
    #[inline]
    pub fn moved(&mut self, by: u64) {
        self.moves.of += 1;
        if by > 0 {
            self.moves.count(by);
        }
    }

    /// The results for the caller.
    pub fn told(self) -> Rewritten {
        let left_out = self.left.into_iter().filter(|(_, (count, _))| *count > 0);
        let left_out =
            left_out.map(|(left, (count, bytes))| LeftOut { what: left.what(), count, bytes });
        let unmet = self.missed.into_iter();
        let unmet =
            unmet.map(|(missed, (count, largest))| Unmet { what: missed.what(), count, largest });
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

/// The number of moves of each size, in classes narrower than two percent.
#[derive(Debug, Default)]
struct Moves {
    of: u64,
    largest: u64,
    /// Up to the class of the largest move.
    classes: Vec<u64>,
}

/// The number of bits after the highest bit that tell a class: 64 classes lie between a size and its
/// double.
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

/// The class of a size: its highest bit, and the six bits after it.
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
        assert!(told.unmet.iter().all(|unmet| unmet.count == 3 && unmet.largest.is_none()));
    }
}

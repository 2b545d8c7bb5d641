//! The order of events with equal times in a file that has complete events (rule JS13): first the ends, then complete
//! events, the longer ones first, then the rest.
//!
//! # Design
//!
//! The timeline gives events in file order. Those of one time are collected here, and given on when the next time comes. Nearly
//! always they are few. Many, as from a program that does not set its times, are sorted outside of memory.

use std::io;
use std::ops::Range;

use rustc_hash::FxHashMap;
use timebase_store::sort::{Scratch, Sorter};

use crate::place::{PartIx, PartKey};
use crate::timeline::{JsonRecord, JsonThreadIx};

/// More bytes of events with one time are not kept in memory.
const ROOM: usize = 4 << 20;

/// The events of one time and one file, until they are all there.
pub(in crate::trackers) struct Ties {
    scratch: Scratch,
    ts: i64,
    key: PartKey,
    /// Whether the file has complete events.
    is_sorted: bool,
    /// The records, one after the other, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    sorter: Option<Sorter<Place>>,
    /// The number of events that have a place.
    count: u64,
    /// The begins of each thread that no end has taken.
    begins: FxHashMap<JsonThreadIx, u64>,
}

/// The place of an event among those of its time: its class and duration, then its place in the file.
type Place = (i64, u64);

impl Ties {
    /// Starts without events. Events that do not fit into memory go to `scratch`.
    pub fn new(scratch: &Scratch) -> Self {
        Ties {
            scratch: scratch.clone(),
            ts: 0,
            key: PartKey::default(),
            is_sorted: false,
            bytes: Vec::new(),
            ends: Vec::new(),
            sorter: None,
            count: 0,
            begins: FxHashMap::default(),
        }
    }

    /// Whether an event of this time and file goes with the others.
    pub fn has_room(&self, ts: i64, part: PartIx) -> bool {
        self.is_empty() || (self.ts, self.key.part) == (ts, part)
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty() && self.sorter.is_none()
    }

    /// Adds an event, which [`Ties::has_room`] for. `is_sorted` says that the file has complete events.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read back.
    pub fn add(&mut self, ts: i64, record: JsonRecord<'_>, is_sorted: bool) -> io::Result<()> {
        let (key, bytes) = record.bytes();
        (self.ts, self.key, self.is_sorted) = (ts, key, is_sorted);
        if let Some(mut sorter) = self.sorter.take() {
            sorter.push(self.place(bytes)?, bytes)?;
            self.sorter = Some(sorter);
            return Ok(());
        }
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        match self.bytes.len() > ROOM {
            true => self.spill(),
            false => Ok(()),
        }
    }

    /// The place of the next event in file order.
    fn place(&mut self, bytes: &[u8]) -> io::Result<Place> {
        let class = match self.is_sorted {
            true => self.class(JsonRecord::again(self.key, bytes))?,
            false => 0,
        };
        self.count += 1;
        Ok((class, self.count))
    }

    /// The class of an event.
    fn class(&mut self, record: JsonRecord<'_>) -> io::Result<i64> {
        const REST: i64 = i64::MAX;
        let event = record.read()?;
        Ok(match event.phase {
            'B' => {
                *self.begins.entry(event.thread).or_default() += 1;
                REST
            }
            'E' => match self.begins.get_mut(&event.thread) {
                Some(open) if *open > 0 => {
                    *open -= 1;
                    REST
                }
                _ => i64::MIN,
            },
            // A negative duration makes no slice.
            'X' => event.dur.map_or(REST, |dur| -dur.max(0)),
            _ => REST,
        })
    }

    fn spill(&mut self) -> io::Result<()> {
        let mut sorter = Sorter::new(&self.scratch);
        let bytes = std::mem::take(&mut self.bytes);
        for range in ranges(&std::mem::take(&mut self.ends)) {
            let bytes = bytes.get(range).unwrap_or_default();
            sorter.push(self.place(bytes)?, bytes)?;
        }
        self.sorter = Some(sorter);
        Ok(())
    }

    /// Gives all events in their order, and starts anew. An event that is alone needs no place.
    ///
    /// # Errors
    ///
    /// Those of `each`, or if a temporary file cannot be read back.
    pub fn give(
        &mut self,
        mut each: impl FnMut(i64, JsonRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let (ts, key) = (self.ts, self.key);
        let mut give = |bytes: &[u8]| each(ts, JsonRecord::again(key, bytes));
        let given = match self.sorter.take() {
            Some(sorter) => sorter.finish(|_, bytes| give(bytes)),
            None if self.ends.len() == 1 => give(&self.bytes),
            None => self.give_kept(give),
        };
        self.bytes.clear();
        self.ends.clear();
        self.begins.clear();
        self.count = 0;
        given
    }

    fn give_kept(&mut self, mut give: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        let mut events = Vec::with_capacity(self.ends.len());
        for range in ranges(&std::mem::take(&mut self.ends)) {
            let bytes = bytes.get(range).unwrap_or_default();
            events.push((self.place(bytes)?, bytes));
        }
        events.sort_unstable_by_key(|(place, _)| *place);
        events.into_iter().try_for_each(|(_, bytes)| give(bytes))
    }
}

/// The places of records, of which the ends are known.
fn ranges(ends: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let begins = std::iter::once(0).chain(ends.iter().copied());
    begins.zip(ends.iter().copied()).map(|(begin, end)| begin..end)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::place::PartKeys;
    use crate::timeline::{Event, JsonEvent};

    /// The packets of events of these phases and durations, in the order in which they are given. A payload makes
    /// them large.
    fn order(events: &[(char, Option<i64>)], payload: usize) -> Vec<i64> {
        let directory = tempfile::tempdir().unwrap();
        let mut ties = Ties::new(&directory.path().into());
        let (keys, payload) = (PartKeys::new([(0, 0)]), vec![7; payload]);
        let mut record = Vec::new();
        for (packet, &(phase, dur)) in (0..).zip(events) {
            let event = JsonEvent::new(PartIx(0), packet, phase, JsonThreadIx(0));
            JsonEvent { dur, payload: &payload, ..event }.write(&mut record);
            match Event::read(&record, &keys).unwrap() {
                Event::Json(record) => ties.add(5, record, true).unwrap(),
                _ => unreachable!(),
            }
        }
        let mut order = Vec::new();
        ties.give(|ts, record| {
            assert_eq!(ts, 5);
            order.push(record.read()?.packet);
            Ok(())
        })
        .unwrap();
        assert!(ties.is_empty());
        order
    }

    #[test]
    fn js13_ends_come_first_and_longer_slices_before_shorter_ones() {
        let events = [
            ('i', None),
            ('X', Some(5)),
            ('B', None),
            ('E', None), // of the B before it
            ('X', Some(10)),
            ('E', None),
            ('X', None),
        ];
        // Few bytes, and more than there is room for.
        for payload in [0, 1 << 20] {
            assert_eq!(order(&events, payload), [5, 4, 1, 0, 2, 3, 6], "{payload}");
        }
        assert_eq!(order(&[('i', None)], 0), [0]);
    }
}

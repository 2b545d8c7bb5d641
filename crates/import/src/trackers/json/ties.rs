//! The order of events with equal times in a file that has complete events (rule JS13): first the ends, then complete
//! events, the longer ones first, then the rest.
//!
//! # Design
//!
//! The timeline gives events in file order. Those of one time are collected here, and given on when the next time comes. Nearly
//! always they are few. Many, as from a program that does not set its times, are sorted outside of memory.

use std::io;

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
    /// The records, one after the other, and for each its place in the order and its end among the bytes.
    bytes: Vec<u8>,
    events: Vec<(Place, usize)>,
    sorter: Option<Sorter<Place>>,
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
            bytes: Vec::new(),
            events: Vec::new(),
            sorter: None,
            count: 0,
            begins: FxHashMap::default(),
        }
    }

    /// Whether an event of this time and file goes with the others.
    pub fn has_room(&self, ts: i64, part: PartIx) -> bool {
        self.count == 0 || (self.ts, self.key.part) == (ts, part)
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an event, which [`Ties::has_room`] for. `is_sorted` says that the file has complete events.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read back.
    pub fn add(&mut self, ts: i64, record: JsonRecord<'_>, is_sorted: bool) -> io::Result<()> {
        let class = match is_sorted {
            true => self.class(record)?,
            false => 0,
        };
        let (key, bytes) = record.bytes();
        (self.ts, self.key) = (ts, key);
        let place = (class, self.count);
        self.count += 1;
        if let Some(sorter) = &mut self.sorter {
            return sorter.push(place, bytes);
        }
        self.bytes.extend_from_slice(bytes);
        self.events.push((place, self.bytes.len()));
        match self.bytes.len() > ROOM {
            true => self.spill(),
            false => Ok(()),
        }
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
        let mut start = 0;
        for (place, end) in self.events.drain(..) {
            sorter.push(place, self.bytes.get(start..end).unwrap_or_default())?;
            start = end;
        }
        self.bytes.clear();
        self.sorter = Some(sorter);
        Ok(())
    }

    /// Gives all events in their order, and starts anew.
    ///
    /// # Errors
    ///
    /// Those of `each`, or if a temporary file cannot be read back.
    pub fn give(
        &mut self,
        mut each: impl FnMut(i64, JsonRecord<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let (ts, key) = (self.ts, self.key);
        self.count = 0;
        self.begins.clear();
        if let Some(sorter) = self.sorter.take() {
            return sorter.finish(|_, bytes| each(ts, JsonRecord::again(key, bytes)));
        }
        let mut start = 0;
        let mut events: Vec<(Place, usize, usize)> = Vec::with_capacity(self.events.len());
        for (place, end) in self.events.drain(..) {
            events.push((place, start, end));
            start = end;
        }
        events.sort_unstable();
        for (_, start, end) in events {
            let bytes = self.bytes.get(start..end).unwrap_or_default();
            each(ts, JsonRecord::again(key, bytes))?;
        }
        self.bytes.clear();
        Ok(())
    }
}

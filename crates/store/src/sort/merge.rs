//! Merges all runs, on its own thread.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::sort::key::Key;
use crate::sort::number::LONGEST_NUMBER;
use crate::sort::payload::Payload;
use crate::sort::records::Records;
use crate::sort::runs::{Runs, ended};
use crate::sort::source::{RunCursor, Stored};

/// The memory for pieces of all runs together during the merge.
const MERGED: usize = 8 << 20;

/// The least and the most that is read of a run at once.
const LEAST_PIECE: usize = 1 << 10;
const LARGEST_PIECE: usize = 256 << 10;

/// The size of the batches that the merging thread hands over.
const BATCH: usize = 128 << 10;

/// The number of batches: one is filled, one is used, one is in between.
const BATCHES: usize = 3;

/// Gives all records in order.
pub(crate) fn merged<K: Key, P: Payload + ?Sized, E: From<io::Error>>(
    runs: Runs<K>,
    mut each: impl FnMut(&K, &P) -> Result<(), E>,
) -> Result<(), E> {
    let (full, batches) = channel();
    let (empty, emptied) = channel();
    let outlet = Outlet {
        batch: Records::new(BATCH),
        spare: (1..BATCHES).map(|_| Records::new(BATCH)).collect(),
        full,
        emptied,
    };
    let merging = thread::Builder::new().spawn(move || merge::<K, P>(runs, outlet))?;
    for mut batch in batches {
        batch.iter().try_for_each(|(key, payload)| each(key, payload))?;
        batch.clear();
        // At the end, nobody takes it back.
        let _ = empty.send(batch);
    }
    Ok(merging.join().unwrap_or_else(|_| Err(ended()))?)
}

/// Records on their way from the merging thread.
struct Outlet<K: Key, P: Payload + ?Sized> {
    batch: Records<K, P>,
    /// All batches that are not in transit.
    spare: Vec<Records<K, P>>,
    full: Sender<Records<K, P>>,
    emptied: Receiver<Records<K, P>>,
}

/// The receiver does not want more.
struct Closed;

impl<K: Key, P: Payload + ?Sized> Outlet<K, P> {
    /// Makes room for a record. A record that is larger than a batch is alone: no other batch is in
    /// transit meanwhile.
    #[cold]
    fn make_room(&mut self, payload: usize) -> Result<(), Closed> {
        self.send()?;
        if !self.batch.has_room(payload) {
            while self.spare.len() < BATCHES - 1 {
                let batch = self.emptied()?;
                self.spare.push(batch);
            }
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), Closed> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let full = mem::replace(&mut self.batch, Records::new(BATCH));
        self.full.send(full).map_err(|_| Closed)?;
        self.batch = match self.spare.pop() {
            Some(spare) => spare,
            None => self.emptied()?,
        };
        Ok(())
    }

    fn emptied(&mut self) -> Result<Records<K, P>, Closed> {
        self.emptied.recv().map_err(|_| Closed)
    }
}

/// A run other than the one that currently gives records.
struct Waiting<K> {
    key: K,
    stretch: u32,
    source: Box<RunCursor<K>>,
}

impl<K: Key> Waiting<K> {
    fn new(source: Box<RunCursor<K>>) -> Self {
        Waiting { key: source.key, stretch: source.stretch, source }
    }
}

impl<K: Key> Ord for Waiting<K> {
    /// The greatest run is the one whose record comes first.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.key.cmp(&other.key);
        order.then(self.stretch.cmp(&other.stretch)).reverse()
    }
}

impl<K: Key> PartialOrd for Waiting<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Key> PartialEq for Waiting<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<K: Key> Eq for Waiting<K> {}

/// Merges runs until the receiver does not want more.
fn merge<K: Key, P: Payload + ?Sized>(runs: Runs<K>, mut outlet: Outlet<K, P>) -> io::Result<()> {
    let Runs { file, ends, runs } = runs;
    let piece = (MERGED / runs.len().max(1)).clamp(LEAST_PIECE, LARGEST_PIECE);
    let piece = piece.max(K::LONGEST + LONGEST_NUMBER);
    let mut stored = Stored { file, ends, piece };
    let mut waiting = BinaryHeap::with_capacity(runs.len());
    for run in runs {
        let mut source = Box::new(RunCursor::new(run.stretches));
        if source.advance(&mut stored)? {
            waiting.push(Waiting::new(source));
        }
    }
    while let Some(Waiting { mut source, .. }) = waiting.pop() {
        loop {
            let payload = match P::HAS_BYTES {
                true => source.payload()?,
                false => 0,
            };
            if !outlet.batch.has_room(payload) && outlet.make_room(payload).is_err() {
                return Ok(());
            }
            source.give(payload, &mut outlet.batch, &mut stored)?;
            if !source.advance(&mut stored)? {
                break;
            }
            // Most records come after one of the same run, and are only compared with the first
            // record of all other runs.
            let Some(next) = waiting.peek() else { continue };
            let is_first =
                source.key < next.key || source.key == next.key && source.stretch < next.stretch;
            if is_first {
                continue;
            }
            if let Some(mut next) = waiting.peek_mut() {
                source = mem::replace(&mut *next, Waiting::new(source)).source;
            }
        }
    }
    // If the receiver stopped, the reason is the receiver's.
    let _ = outlet.send();
    Ok(())
}

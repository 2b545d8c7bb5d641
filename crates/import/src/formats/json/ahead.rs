//! The two threads that read a file: one finds pieces and the fields of events, the other takes them.
//!
//! # Design
//!
//! The thread of the file decompresses and hashes its bytes, finds and validates its pieces, and looks for the fields of
//! events, which needs no state of the import. All the rest needs the state, so it is one thread's. A batch has a copy
//! of its text, which costs a fortieth of what the thread does.
//!
//! The alternative was to let several threads find events, each in its own piece of the file. Where an event begins can
//! only be guessed in the middle of a text, and the thread with the state would not be faster.

use std::io::{self, Read};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use timebase_trace::End;
use timebase_trace::json::{self, JsonPieces, Place};

use super::fields::Fields;

/// Pieces with the fields of events.
pub(super) type Batch = json::Batch<Fields<Place>>;

/// The number of batches that may wait between the threads.
const BATCHES: usize = 1;

/// The bytes after which a batch is full.
const SIZE: usize = 512 << 10;

/// Finds the pieces of a file while another thread takes them in batches.
///
/// # Errors
///
/// The errors of `take`, or the error of the input.
pub(super) fn read(
    input: &mut dyn Read,
    take: impl FnOnce(&mut dyn Iterator<Item = Batch>) -> io::Result<End> + Send,
) -> io::Result<End> {
    let (full, batches) = sync_channel(BATCHES);
    thread::scope(|scope| {
        let taking = scope.spawn(move || take(&mut batches.into_iter()));
        let found = find(input, &full);
        drop(full);
        // Without a result, the thread has panicked.
        let end = taking.join().unwrap_or(Ok(End::Stopped))?;
        found.map(|()| end)
    })
}

/// Sends the pieces of a file until nobody takes them any more.
fn find(input: &mut dyn Read, full: &SyncSender<Batch>) -> io::Result<()> {
    let mut pieces = JsonPieces::new(input);
    let mut batch = Batch::default();
    let failed = loop {
        match pieces.next() {
            Ok(Some(piece)) => {
                batch.add(&piece, |event| Fields::of(event).map(|part| event.place_of(part)));
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
        if batch.size() >= SIZE && full.send(std::mem::take(&mut batch)).is_err() {
            return Ok(());
        }
    };
    // Whoever no longer takes batches has said why.
    let _ = full.send(batch);
    failed.map_or(Ok(()), Err)
}

//! Reads the bytes of a file on one thread, while another thread takes packets out of them.
//!
//! # Design
//!
//! The thread of the file reads, hashes and decompresses. It needs no state of the import, and is at most three pieces
//! ahead. The alternative was to find packets on this thread, too, and to read their headers and payloads. But where a
//! packet ends is known only when its payload was readable (rule Z3), so each packet would be parsed on both threads, or
//! the parsed form, which borrows from the bytes, would need a second form that does not.

use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use timebase_trace::End;

/// The number of pieces that may wait between the threads.
const PIECES: usize = 1;

/// The size of a piece.
const SIZE: usize = 256 << 10;

/// Reads a file while another thread takes its bytes.
///
/// # Errors
///
/// The errors of `take`. An error of the input is an error of the reader that `take` gets.
pub(super) fn read(
    input: &mut dyn Read,
    take: impl FnOnce(&mut dyn Read) -> io::Result<End> + Send,
) -> io::Result<End> {
    let (full, pieces) = sync_channel(PIECES);
    let (emptied, empty) = channel();
    let mut ahead = Ahead { pieces, emptied, piece: Piece::default(), at: 0 };
    thread::scope(|scope| {
        let taking = scope.spawn(move || take(&mut ahead));
        fill(input, full, &empty);
        // Without a result, the thread has panicked.
        taking.join().unwrap_or(Ok(End::Stopped))
    })
}

/// Bytes of a file, at the beginning of a buffer.
#[derive(Default)]
struct Piece {
    buffer: Vec<u8>,
    size: usize,
}

/// Sends the pieces of a file until it ends, or until nobody takes them any more.
fn fill(input: &mut dyn Read, full: SyncSender<io::Result<Piece>>, empty: &Receiver<Piece>) {
    loop {
        let mut piece = empty.try_recv().unwrap_or_default();
        piece.buffer.resize(SIZE, 0);
        let read = input.read(&mut piece.buffer);
        let (sent, is_end) = match read {
            Ok(0) => return,
            Ok(size) => (Ok(Piece { size, ..piece }), false),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // Bytes may follow after damage.
            Err(error) => {
                let is_end = error.kind() != ErrorKind::InvalidData;
                (Err(error), is_end)
            }
        };
        if full.send(sent).is_err() || is_end {
            return;
        }
    }
}

/// The bytes that the other thread reads.
struct Ahead {
    pieces: Receiver<io::Result<Piece>>,
    emptied: Sender<Piece>,
    piece: Piece,
    /// The number of bytes of the piece that are taken.
    at: usize,
}

impl Read for Ahead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.size {
            let Ok(next) = self.pieces.recv() else {
                return Ok(0);
            };
            let last = std::mem::replace(&mut self.piece, next?);
            self.at = 0;
            // At the end, nobody fills it again.
            let _ = self.emptied.send(last);
        }
        let rest = self.piece.buffer.get(self.at..self.piece.size).unwrap_or_default();
        let size = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..size), rest.get(..size)) {
            to.copy_from_slice(from);
        }
        self.at += size;
        Ok(size)
    }
}

//! Reads the bytes of a file on one thread, while another thread takes packets out of them.
//!
//! # Design
//!
//! The thread of the file reads, hashes and decompresses. It needs no state of the import, and is at most three pieces
//! ahead. Packets are taken on the caller's thread, which follows events later: memory that one thread frees serves
//! another one badly. The alternative was to find packets on this thread, too, and to read their headers and payloads. But where a
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

/// Takes the bytes of a file while another thread reads ahead.
///
/// # Errors
///
/// The errors of `take`. An error of the input is an error of the reader that `take` gets.
pub(super) fn read(
    input: &mut (dyn Read + Send),
    take: impl FnOnce(&mut dyn Read) -> io::Result<End>,
) -> io::Result<End> {
    let (full, pieces) = sync_channel(PIECES);
    let (emptied, empty) = channel();
    thread::scope(|scope| {
        scope.spawn(move || fill(input, &full, &empty));
        // Without it, nobody takes pieces any more.
        let mut ahead = Ahead { pieces, emptied, piece: Piece::default(), at: 0 };
        take(&mut ahead)
    })
}

/// Bytes of a file, at the beginning of a buffer.
#[derive(Default)]
struct Piece {
    buffer: Vec<u8>,
    size: usize,
}

/// Sends the pieces of a file until it ends, or until nobody takes them any more.
fn fill(input: &mut dyn Read, full: &SyncSender<io::Result<Piece>>, empty: &Receiver<Piece>) {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;

    /// Gives some bytes or an error with each call, and then nothing.
    struct Parts(VecDeque<Result<Vec<u8>, ErrorKind>>);

    impl Read for Parts {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front() {
                Some(Ok(bytes)) => (&bytes[..]).read(buf),
                Some(Err(kind)) => Err(kind.into()),
                None => Ok(0),
            }
        }
    }

    fn part() -> impl Strategy<Value = Result<Vec<u8>, ErrorKind>> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 1..300).prop_map(Ok),
            Just(Err(ErrorKind::InvalidData)),
            Just(Err(ErrorKind::Interrupted)),
        ]
    }

    proptest! {
        #[test]
        fn bytes_and_errors_are_those_of_the_input(
            parts in prop::collection::vec(part(), 0..12),
            size in 1usize..400,
        ) {
            let mut expected = Vec::new();
            for part in &parts {
                match part {
                    Ok(bytes) => expected.extend(bytes.iter().copied().map(Ok)),
                    Err(ErrorKind::Interrupted) => {}
                    Err(kind) => expected.push(Err(*kind)),
                }
            }
            let mut found = Vec::new();
            let end = read(&mut Parts(parts.into()), |input| {
                let mut buf = vec![0; size];
                loop {
                    match input.read(&mut buf) {
                        Ok(0) => return Ok(End::Complete),
                        Ok(read) => found.extend(buf[..read].iter().copied().map(Ok)),
                        Err(error) => found.push(Err(error.kind())),
                    }
                }
            });
            prop_assert_eq!(end.unwrap(), End::Complete);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn who_wants_no_more_need_not_read_to_the_end() {
        let end = read(&mut io::repeat(1), |input| {
            input.read_exact(&mut [0; 3])?;
            Ok(End::Stopped)
        });
        assert_eq!(end.unwrap(), End::Stopped);
    }

    #[test]
    fn after_an_error_of_the_source_there_is_nothing() {
        let mut parts = Parts([Err(ErrorKind::Other), Ok(vec![1])].into());
        let end = read(&mut parts, |input| {
            assert_eq!(input.read(&mut [0; 3]).unwrap_err().kind(), ErrorKind::Other);
            assert_eq!(input.read(&mut [0; 3])?, 0);
            Ok(End::Complete)
        });
        assert!(end.is_ok());
    }
}

//! The bytes of a trace that are in memory, by their position in the stream.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

/// The number of bytes that one read asks for.
const CHUNK: usize = 256 << 10;

/// A buffer that grows at its end and is released at its beginning.
pub(super) struct Input<R> {
    reader: R,
    bytes: Vec<u8>,
    /// The bytes in use.
    used: Range<usize>,
    /// The position of the first byte in use.
    first: u64,
    is_at_end: bool,
    /// The first damage of the compression.
    loss: Option<Loss>,
}

/// Damage of the compression around the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    /// The position in the text.
    pub at: u64,
    /// Whether the compressed data ends early.
    pub is_cut: bool,
}

/// The byte that stands for lost ones. No JSON has it outside of strings.
const LOST: u8 = 0xff;

impl<R: Read> Input<R> {
    pub fn new(reader: R) -> Input<R> {
        Input { reader, bytes: Vec::new(), used: 0..0, first: 0, is_at_end: false, loss: None }
    }

    #[cfg(test)]
    pub fn memory(&self) -> usize {
        self.bytes.len()
    }

    /// The position after the last byte in memory.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.used.len() as u64)
    }

    /// The bytes from a position on; none if the position is not in memory.
    pub fn from(&self, position: u64) -> &[u8] {
        let skipped = position.checked_sub(self.first).and_then(|skipped| skipped.try_into().ok());
        let used = self.bytes.get(self.used.clone());
        skipped.zip(used).and_then(|(skipped, used): (usize, _)| used.get(skipped..)).unwrap_or(&[])
    }

    /// The bytes between two positions; none if some are not in memory.
    pub fn between(&self, start: u64, end: u64) -> &[u8] {
        let size = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        self.from(start).get(..size).unwrap_or(&[])
    }

    /// Forgets the bytes before a position.
    pub fn release(&mut self, before: u64) {
        let size = before.saturating_sub(self.first).min(self.used.len() as u64);
        self.used.start += size as usize;
        self.first += size;
    }

    /// The first damage of the compression until now.
    pub fn loss(&self) -> Option<Loss> {
        self.loss
    }

    /// Reads more bytes. Without more, the answer is `false`. After damage of the compression, the reader may
    /// continue with other data.
    pub fn fill(&mut self) -> io::Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        self.make_room();
        let room = self.bytes.get_mut(self.used.end..).unwrap_or_default();
        loop {
            match self.reader.read(room) {
                Ok(size) => {
                    self.used.end += size.min(room.len());
                    self.is_at_end = size == 0;
                    return Ok(size > 0);
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::UnexpectedEof => {
                        self.is_at_end = true;
                        self.lose(true);
                        return Ok(false);
                    }
                    ErrorKind::InvalidData => {
                        if let Some(next) = self.bytes.get_mut(self.used.end) {
                            *next = LOST;
                            self.used.end += 1;
                        }
                        self.lose(false);
                        return Ok(true);
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    fn lose(&mut self, is_cut: bool) {
        let at = self.end();
        self.loss.get_or_insert(Loss { at, is_cut });
    }

    /// Moves the bytes in use to the front if they are the smaller part, or else takes more memory.
    fn make_room(&mut self) {
        if self.used.is_empty() {
            self.used = 0..0;
        }
        if self.bytes.len() - self.used.end >= CHUNK / 2 {
            return;
        }
        if self.used.start > 0 && self.used.start >= self.used.len() {
            self.bytes.copy_within(self.used.clone(), 0);
            self.used = 0..self.used.len();
        }
        if self.bytes.len() - self.used.end < CHUNK / 2 {
            let size = (self.bytes.len() * 2).max(self.used.end + CHUNK);
            self.bytes.resize(size, 0);
        }
    }
}

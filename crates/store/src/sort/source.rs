//! A run that is read back piece by piece.

use std::io::{self, Read, Seek, SeekFrom};
use std::vec;

use crate::sort::key::Key;
use crate::sort::number::{LONGEST_NUMBER, take_number};
use crate::sort::payload::Payload;
use crate::sort::records::Records;
use crate::sort::scratch::ScratchFile;

/// The file of all runs.
#[derive(Debug)]
pub(crate) struct Stored {
    pub file: ScratchFile,
    /// The end of each stretch, and the start of the next.
    pub ends: Vec<u64>,
    /// The number of bytes to read at once.
    pub piece: usize,
}

/// A run and its current record: the key is read, the payload is next.
#[derive(Debug)]
pub(crate) struct RunCursor<K> {
    stretches: vec::IntoIter<u32>,
    /// The stretch of the record. It orders equal keys of two runs.
    pub stretch: u32,
    pub key: K,
    piece: Vec<u8>,
    at: usize,
    /// The part of the stretch that is not in the piece.
    next: u64,
    end: u64,
}

/// This only happens if somebody changes the file.
fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a record that was put aside cannot be read back")
}

impl<K: Key> RunCursor<K> {
    pub fn new(stretches: Vec<u32>) -> Self {
        RunCursor {
            stretches: stretches.into_iter(),
            stretch: 0,
            key: K::FIRST,
            piece: Vec::new(),
            at: 0,
            next: 0,
            end: 0,
        }
    }

    /// Goes to the next record; returns whether there is one.
    #[inline]
    pub fn advance(&mut self, stored: &mut Stored) -> io::Result<bool> {
        if self.piece.len() - self.at < K::LONGEST + LONGEST_NUMBER && !self.read_on(stored)? {
            return Ok(false);
        }
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let (key, size) = K::take(&self.key, rest).ok_or_else(damaged)?;
        if size == 0 || size > rest.len() {
            return Err(damaged());
        }
        self.key = key;
        self.at += size;
        Ok(true)
    }

    /// Reads another piece, if there is one; returns whether anything is left.
    #[cold]
    fn read_on(&mut self, stored: &mut Stored) -> io::Result<bool> {
        if self.next == self.end {
            if self.at < self.piece.len() {
                return Ok(true);
            }
            let Some(stretch) = self.stretches.next() else {
                return Ok(false);
            };
            let start = match stretch.checked_sub(1) {
                Some(before) => stored.ends.get(before as usize),
                None => Some(&0),
            };
            let end = stored.ends.get(stretch as usize);
            self.next = *start.ok_or_else(damaged)?;
            self.end = *end.ok_or_else(damaged)?;
            self.stretch = stretch;
            self.key = K::FIRST;
        }
        self.piece.drain(..self.at);
        self.at = 0;
        let kept = self.piece.len();
        let more = (stored.piece as u64).min(self.end - self.next) as usize;
        // If the buffer grew by itself, it would take twice as much.
        self.piece.reserve_exact(more);
        self.piece.resize(kept + more, 0);
        stored.file.seek(SeekFrom::Start(self.next))?;
        stored.file.read_exact(&mut self.piece[kept..])?;
        self.next += more as u64;
        Ok(true)
    }

    /// The length of the payload with its size before it.
    #[inline]
    pub fn payload(&self) -> io::Result<usize> {
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let (payload, size) = take_number(rest).ok_or_else(damaged)?;
        let left = rest.len() as u64 + (self.end - self.next);
        match payload.checked_add(size as u64) {
            Some(all) if all <= left => usize::try_from(all).map_err(|_| damaged()),
            _ => Err(damaged()),
        }
    }

    /// Adds the record to others. The part of the payload that is not in the piece is read directly
    /// into its place.
    #[inline]
    pub fn give<P: Payload + ?Sized>(
        &mut self,
        payload: usize,
        records: &mut Records<K, P>,
        stored: &mut Stored,
    ) -> io::Result<()> {
        records.push_key(self.key);
        if !P::HAS_BYTES {
            return Ok(());
        }
        let bytes = records.bytes_for(payload);
        let rest = self.piece.get(self.at..).unwrap_or_default();
        if let Some(whole) = rest.get(..payload) {
            bytes.extend_from_slice(whole);
            self.at += payload;
            return Ok(());
        }
        bytes.extend_from_slice(rest);
        self.at = self.piece.len();
        let more = (payload - rest.len()) as u64;
        stored.file.seek(SeekFrom::Start(self.next))?;
        if (&mut stored.file).take(more).read_to_end(bytes)? as u64 != more {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.next += more;
        Ok(())
    }
}

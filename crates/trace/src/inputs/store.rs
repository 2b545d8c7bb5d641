//! Bytes that can be read at any position: a file, or a temporary copy.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Take};

use timebase_store::sort::ScratchFile;

/// A file that is open, or a temporary one.
pub(super) enum Store {
    File(File),
    Aside(ScratchFile),
}

impl Store {
    /// A range of the bytes.
    pub fn section(&mut self, at: u64, size: u64) -> io::Result<Take<&mut Store>> {
        self.seek(SeekFrom::Start(at))?;
        Ok(self.take(size))
    }

    /// Reads at a position until the buffer is full or the bytes end; returns the number of bytes.
    pub fn read_at(&mut self, at: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.seek(SeekFrom::Start(at))?;
        let mut size = 0;
        while let Some(free) = buf.get_mut(size..).filter(|free| !free.is_empty()) {
            match self.read(free) {
                Ok(0) => break,
                Ok(read) => size += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(size)
    }
}

impl Read for Store {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Store::File(file) => file.read(buf),
            Store::Aside(file) => file.read(buf),
        }
    }
}

impl Seek for Store {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Store::File(file) => file.seek(to),
            Store::Aside(file) => file.seek(to),
        }
    }
}

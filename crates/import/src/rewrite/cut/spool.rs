//! Bytes that may be written later, in a temporary file.

use std::io::{self, Read, Seek, SeekFrom, Write};

use timebase_store::sort::ScratchFile;

/// The interned data of packets that were left out.
pub(super) struct Spool {
    file: ScratchFile,
    size: u64,
}

/// A place in the spool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub start: u64,
    pub size: u64,
}

impl Spool {
    pub fn new(file: ScratchFile) -> Spool {
        Spool { file, size: 0 }
    }

    pub fn put(&mut self, bytes: &[u8]) -> io::Result<Piece> {
        self.file.seek(SeekFrom::Start(self.size))?;
        self.file.write_all(bytes)?;
        let piece = Piece { start: self.size, size: bytes.len() as u64 };
        self.size += piece.size;
        Ok(piece)
    }

    /// Appends a piece to bytes.
    pub fn get(&mut self, piece: &Piece, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(piece.start))?;
        Read::by_ref(&mut self.file).take(piece.size).read_to_end(bytes).map(drop)
    }
}

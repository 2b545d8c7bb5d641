//! The output of a rewritten trace.

use std::io::{self, BufWriter, Read, Seek, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use timebase_store::sort::{Quota, Scratch};

use super::behind::Behind;
use super::packed::{BUFFER, Counted, Packed, Written};

/// The compression of a whole trace (rule RW11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// The compression of a file that is read.
    pub fn of_source(compression: Option<&str>) -> Packing {
        match compression {
            Some("gzip") => Packing::Gzip,
            Some("zstd") => Packing::Zstd,
            _ => Packing::Plain,
        }
    }

    /// The compression that the extension of a name means.
    pub fn of_name(name: &std::path::Path) -> Packing {
        let ending = name.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("gz") => Packing::Gzip,
            Some("zst") => Packing::Zstd,
            _ => Packing::Plain,
        }
    }
}

/// The field of the packets of a trace, and its wire type.
const PACKET: u8 = 1 << 3 | 2;

/// A trace on its way to a file.
pub(crate) struct Output {
    behind: Behind,
    is_empty: bool,
}

impl Output {
    /// # Errors
    ///
    /// If there is no memory to compress in, or no thread to write on.
    pub fn new(file: Written, packing: Packing, quota: &Quota) -> io::Result<Output> {
        let file = Counted::new(file, quota);
        let buffered = |file| BufWriter::with_capacity(BUFFER, file);
        let packed = match packing {
            Packing::Plain => Packed::Plain(file),
            Packing::Gzip => {
                Packed::Gzip(Box::new(GzEncoder::new(buffered(file), Compression::default())))
            }
            Packing::Zstd => Packed::Zstd(zstd::Encoder::new(buffered(file), 0)?),
        };
        Ok(Output { behind: Behind::new(packed)?, is_empty: true })
    }

    /// Continues after bytes that are written already.
    ///
    /// # Errors
    ///
    /// If there is no thread to write on.
    pub fn of(file: Counted) -> io::Result<Output> {
        Ok(Output { behind: Behind::new(Packed::Plain(file))?, is_empty: false })
    }

    /// Writes bytes that are no packet.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take them, or they cannot be read.
    pub fn copy(&mut self, bytes: &mut impl Read) -> io::Result<()> {
        io::copy(bytes, &mut self.behind).map(drop)
    }

    /// Writes a packet.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take it.
    pub fn packet(&mut self, packet: &[u8]) -> io::Result<()> {
        self.is_empty = false;
        let mut head = [0; 11];
        let mut size = packet.len() as u64;
        let mut length = 1;
        head[0] = PACKET;
        for byte in &mut head[1..] {
            length += 1;
            *byte = size as u8 & 0x7f;
            size >>= 7;
            if size == 0 {
                break;
            }
            *byte |= 0x80;
        }
        let head = head.get(..length).unwrap_or_default();
        self.behind.write_all(head)?;
        self.behind.write_all(packet)
    }

    /// Whether no packet was written.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Drops the written bytes, and returns an empty file to write to instead.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take the rest in memory.
    pub fn abandon(self, scratch: &Scratch, quota: &Quota) -> io::Result<Written> {
        match self.finish()? {
            (Written::File(mut file), size) => {
                file.set_len(0)?;
                file.rewind()?;
                quota.give_back(size);
                Ok(Written::File(file))
            }
            (Written::Aside(_), _) => scratch.file().map(Written::Aside),
        }
    }

    /// Ends the file, and returns it with its size.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take the rest.
    pub fn finish(self) -> io::Result<(Written, u64)> {
        let counted = self.behind.finish()?;
        Ok((counted.file, counted.size))
    }
}

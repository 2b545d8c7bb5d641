//! The file that a trace is written to, and its compressor.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use flate2::write::GzEncoder;
use timebase_store::sort::{Quota, ScratchFile};

/// A file whose bytes are counted before they are written.
pub(crate) struct Counted {
    pub file: Written,
    quota: Quota,
    pub size: u64,
}

/// The file of a trace: the destination, or a temporary file.
pub(crate) enum Written {
    File(File),
    Aside(ScratchFile),
}

impl Counted {
    pub fn new(file: Written, quota: &Quota) -> Counted {
        Counted { file, quota: quota.clone(), size: 0 }
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.file {
            Written::File(file) => {
                self.quota.take(bytes.len() as u64)?;
                file.write(bytes)?
            }
            // A temporary file counts itself.
            Written::Aside(file) => file.write(bytes)?,
        };
        self.size = self.size.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Written::File(file) => file.flush(),
            Written::Aside(file) => file.flush(),
        }
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Written::File(file) => file.seek(to),
            Written::Aside(file) => file.seek(to),
        }
    }
}

/// A file and its compressor.
pub(super) enum Packed {
    Plain(Counted),
    Gzip(Box<GzEncoder<BufWriter<Counted>>>),
    Zstd(zstd::Encoder<'static, BufWriter<Counted>>),
}

impl Packed {
    pub fn writer(&mut self) -> &mut dyn Write {
        match self {
            Packed::Plain(writer) => writer,
            Packed::Gzip(writer) => writer,
            Packed::Zstd(writer) => writer,
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take the rest.
    pub fn finish(self) -> io::Result<Counted> {
        let writer = match self {
            Packed::Plain(file) => return Ok(file),
            Packed::Gzip(writer) => writer.finish()?,
            Packed::Zstd(writer) => writer.finish()?,
        };
        writer.into_inner().map_err(|error| error.into_error())
    }
}

/// The number of bytes that are written at once.
pub(super) const BUFFER: usize = 256 << 10;

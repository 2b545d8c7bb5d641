//! Where a trace goes that is written.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use timebase_store::sort::{Quota, ScratchFile};

/// How a trace is compressed as a whole (rule RW11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// What the end of a name says.
    pub fn of_name(name: &std::path::Path) -> Packing {
        let ending = name.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("gz") => Packing::Gzip,
            Some("zst") => Packing::Zstd,
            _ => Packing::Plain,
        }
    }
}

/// A file that is counted before it is written.
pub(crate) struct Counted {
    file: Written,
    quota: Quota,
    size: u64,
}

/// The file of a trace: that of a destination, or one that is put aside.
pub(crate) enum Written {
    File(File),
    Aside(ScratchFile),
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.file {
            Written::File(file) => {
                self.quota.take(bytes.len() as u64)?;
                file.write(bytes)?
            }
            // It counts itself.
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

enum Packed {
    Plain(BufWriter<Counted>),
    Gzip(Box<GzEncoder<BufWriter<Counted>>>),
    Zstd(zstd::Encoder<'static, BufWriter<Counted>>),
}

impl Packed {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Packed::Plain(writer) => writer,
            Packed::Gzip(writer) => writer,
            Packed::Zstd(writer) => writer,
        }
    }
}

/// How much is written at once.
const BUFFER: usize = 256 << 10;

/// The field of the packets of a trace, and its wire type.
const PACKET: u8 = 1 << 3 | 2;

/// A trace on its way to a file.
pub(crate) struct Output {
    packed: Packed,
}

impl Output {
    /// # Errors
    ///
    /// If there is no memory to compress in.
    pub fn new(file: Written, packing: Packing, quota: &Quota) -> io::Result<Output> {
        let counted = Counted {
            file,
            quota: quota.clone(),
            size: 0,
        };
        let writer = BufWriter::with_capacity(BUFFER, counted);
        let packed = match packing {
            Packing::Plain => Packed::Plain(writer),
            Packing::Gzip => Packed::Gzip(Box::new(GzEncoder::new(writer, Compression::default()))),
            Packing::Zstd => Packed::Zstd(zstd::Encoder::new(writer, 0)?),
        };
        Ok(Output { packed })
    }

    /// Writes a packet.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take it.
    pub fn packet(&mut self, packet: &[u8]) -> io::Result<()> {
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
        match &mut self.packed {
            Packed::Plain(writer) => {
                writer.write_all(head)?;
                writer.write_all(packet)
            }
            packed => {
                let writer = packed.writer();
                writer.write_all(head)?;
                writer.write_all(packet)
            }
        }
    }

    /// There are no more. Gives the file back, and tells its size.
    ///
    /// # Errors
    ///
    /// If the disk or a limit does not take what is left.
    pub fn finish(self) -> io::Result<(Written, u64)> {
        let writer = match self.packed {
            Packed::Plain(writer) => writer,
            Packed::Gzip(writer) => writer.finish()?,
            Packed::Zstd(writer) => writer.finish()?,
        };
        let counted = writer.into_inner().map_err(|error| error.into_error())?;
        Ok((counted.file, counted.size))
    }
}

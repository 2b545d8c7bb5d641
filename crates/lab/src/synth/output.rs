//! Packets on their way into the file: numbered, framed, and compressed in batches (rule F3).
//! Several machines may share a file.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use crate::synth::encode;
use crate::synth::settings::Compression;

/// The number of bytes to write at once without compression.
const UNCOMPRESSED_BATCH: usize = 1 << 16;

/// The default levels of both libraries.
const ZSTD_LEVEL: i32 = 3;
const ZLIB_LEVEL: u32 = 6;

/// The field of `Trace`.
const PACKET: u32 = 1;

/// The field of `TracePacket`.
const MACHINE_ID: u32 = 98;

pub(crate) struct Output<W> {
    out: W,
    packets: u64,
    events: u64,
    lines: u64,
    batch: Vec<u8>,
    batch_bytes: usize,
    compressor: Compressor,
    carrier: Vec<u8>,
    written: u64,
    /// The sizes before and after compression.
    compressed: (u64, u64),
}

enum Compressor {
    None,
    Zlib,
    Zstd(zstd::bulk::Compressor<'static>),
}

impl<W: Write> Output<W> {
    pub fn new(out: W, compression: Compression, batch_bytes: u32) -> io::Result<Self> {
        let compressor = match compression {
            Compression::None => Compressor::None,
            Compression::Zlib => Compressor::Zlib,
            Compression::Zstd => Compressor::Zstd(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
        };
        let batch_bytes = match compression {
            Compression::None => UNCOMPRESSED_BATCH,
            _ => batch_bytes as usize,
        };
        Ok(Output {
            out,
            packets: 0,
            events: 0,
            lines: 0,
            batch: Vec::with_capacity(batch_bytes.min(UNCOMPRESSED_BATCH)),
            batch_bytes,
            compressor,
            carrier: Vec::new(),
            written: 0,
            // Before the first batch, packets are assumed to shrink to a quarter.
            compressed: (4, 1),
        })
    }

    /// Writes a packet. Returns its number, and its size before compression.
    #[inline]
    fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<(u64, u64)> {
        let before = self.batch.len();
        encode::message(&mut self.batch, PACKET, write);
        let bytes = self.batch.len() - before;
        let id = self.packets;
        self.packets += 1;
        if self.batch.len() >= self.batch_bytes {
            self.end_batch()?;
        }
        Ok((id, bytes as u64))
    }

    fn end_batch(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let (field, compressed) = match &mut self.compressor {
            Compressor::None => {
                self.out.write_all(&self.batch)?;
                self.written += self.batch.len() as u64;
                self.batch.clear();
                return Ok(());
            }
            Compressor::Zlib => {
                let level = flate2::Compression::new(ZLIB_LEVEL);
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(&self.batch)?;
                (50, encoder.finish()?)
            }
            Compressor::Zstd(zstd) => (133, zstd.compress(&self.batch)?),
        };
        self.carrier.clear();
        encode::message(&mut self.carrier, PACKET, |out| {
            encode::bytes(out, field, &compressed);
        });
        self.out.write_all(&self.carrier)?;
        self.written += self.carrier.len() as u64;
        self.compressed.0 += self.batch.len() as u64;
        self.compressed.1 += self.carrier.len() as u64;
        self.batch.clear();
        Ok(())
    }

    /// The size of this many bytes of packets in the file: exact without compression.
    fn size_of(&self, bytes: u64) -> u64 {
        match self.compressor {
            Compressor::None => bytes,
            _ => {
                let (of, to) = self.compressed;
                let size = u128::from(bytes) * u128::from(to) / u128::from(of);
                u64::try_from(size).unwrap_or(u64::MAX)
            }
        }
    }

    /// Writes the rest, and returns the contents of the file.
    fn finish(&mut self) -> io::Result<Written> {
        self.end_batch()?;
        self.out.flush()?;
        Ok(Written {
            packets: self.packets,
            events: self.events,
            lines: self.lines,
            bytes: self.written,
        })
    }
}

/// The contents of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    /// Packets, including those inside compressed packets, but not the latter.
    pub packets: u64,
    pub events: u64,
    pub lines: u64,
    /// Its size.
    pub bytes: u64,
}

/// A machine's way into a file.
pub(crate) struct Port<W> {
    file: Rc<RefCell<Output<W>>>,
    /// The machine id in its packets; the host's have none.
    machine_id: u32,
    /// The size of its packets before compression.
    bytes: u64,
}

impl<W: Write> Port<W> {
    pub fn new(file: Output<W>) -> Self {
        Port { file: Rc::new(RefCell::new(file)), machine_id: 0, bytes: 0 }
    }

    /// The way of another machine into the same file.
    pub fn shared(&self, machine_id: u32) -> Self {
        Port { file: Rc::clone(&self.file), machine_id, bytes: 0 }
    }

    /// Writes a packet. Returns its number in the file.
    #[inline]
    pub fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<u64> {
        let machine_id = self.machine_id;
        let (id, bytes) = self.file.borrow_mut().packet(|out| {
            write(out);
            if machine_id != 0 {
                encode::number(out, MACHINE_ID, machine_id.into());
            }
        })?;
        self.bytes += bytes;
        Ok(id)
    }

    /// The number of the next kernel event in the file.
    pub fn next_event(&self) -> u64 {
        let events = &mut self.file.borrow_mut().events;
        *events += 1;
        *events - 1
    }

    /// The number of the next log line in the file.
    pub fn next_line(&self) -> u64 {
        let lines = &mut self.file.borrow_mut().lines;
        *lines += 1;
        *lines - 1
    }

    /// This machine's share of the file's size, if `more` bytes of packets were added and it ended
    /// then: exact without compression.
    pub fn size_with(&self, more: u64) -> u64 {
        self.file.borrow().size_of(self.bytes + more)
    }

    /// Writes the rest, of all machines.
    pub fn finish(&self) -> io::Result<Written> {
        self.file.borrow_mut().finish()
    }
}

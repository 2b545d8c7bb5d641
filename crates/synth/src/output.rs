//! Packets on their way into the file: numbered, framed, and compressed in
//! batches (rule F3).

use std::io::{self, Write};

use crate::encode;
use crate::settings::Compression;

/// How much is written at a time if nothing is compressed.
const UNCOMPRESSED_BATCH: usize = 1 << 16;

/// The default levels of both libraries.
const ZSTD_LEVEL: i32 = 3;
const ZLIB_LEVEL: u32 = 6;

/// The field of `Trace`.
const PACKET: u32 = 1;

pub(crate) struct Output<W> {
    out: W,
    packets: u64,
    batch: Vec<u8>,
    batch_bytes: usize,
    compressor: Compressor,
    carrier: Vec<u8>,
    written: u64,
    /// How many bytes were compressed, and to how many.
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
            batch: Vec::with_capacity(batch_bytes.min(UNCOMPRESSED_BATCH)),
            batch_bytes,
            compressor,
            carrier: Vec::new(),
            written: 0,
            // Until a batch tells, a packet is taken to shrink to a quarter.
            compressed: (4, 1),
        })
    }

    /// Writes a packet. Its number is the answer.
    #[inline]
    pub fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<u64> {
        encode::message(&mut self.batch, PACKET, write);
        let id = self.packets;
        self.packets += 1;
        if self.batch.len() >= self.batch_bytes {
            self.end_batch()?;
        }
        Ok(id)
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

    /// How many packets there are, those inside of compressed ones counted, and
    /// those not.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// How large the file would be if `more` bytes of packets were added and it
    /// ended then: exact if nothing is compressed.
    pub fn size_with(&self, more: u64) -> u64 {
        let waiting = self.batch.len() as u64 + more;
        match self.compressor {
            Compressor::None => self.written + waiting,
            _ => {
                let (of, to) = self.compressed;
                let waiting = u128::from(waiting) * u128::from(to) / u128::from(of);
                self.written + u64::try_from(waiting).unwrap_or(u64::MAX)
            }
        }
    }

    /// Writes what is left, and tells how large the file is.
    pub fn finish(&mut self) -> io::Result<u64> {
        self.end_batch()?;
        self.out.flush()?;
        Ok(self.written)
    }
}

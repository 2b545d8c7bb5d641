//! The bytes of a member, which are unpacked and checked during reading.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::source::{Bytes, Flaw};

use super::listing::{How, Packed};
use super::store::Store;

/// The number of bytes to unpack at once: a decompressor that meets damage loses its output since
/// the last call.
const STEP: usize = 16 << 10;

/// The number of bytes to read from an archive at once.
pub(super) const CHUNK: usize = 64 << 10;

/// Opens a packed member in a store.
pub(super) fn open<'s>(
    store: &'s mut Store,
    packed: &Packed,
    flaw: &Arc<Mutex<Flaw>>,
) -> io::Result<Bytes<'s>> {
    let section = store.section(packed.at, packed.size)?;
    let flaw = Arc::clone(flaw);
    Ok(match (packed.how, packed.crc) {
        (How::AsTheyAre, None) => Box::new(section),
        (How::AsTheyAre, Some(_)) => Box::new(Checked::new(section, packed, flaw)),
        (How::Deflated(_), _) => {
            let inflate = Inflate::new(BufReader::with_capacity(CHUNK, section));
            Box::new(Checked::new(inflate, packed, flaw))
        }
    })
}

/// Unpacks deflated bytes. Damaged bytes cause an error of the kind `InvalidData`, an early end the
/// kind `UnexpectedEof`; nothing follows after either.
pub(super) struct Inflate<R> {
    pub reader: R,
    state: Decompress,
    is_done: bool,
}

impl<R: BufRead> Inflate<R> {
    pub fn new(reader: R) -> Inflate<R> {
        Inflate { reader, state: Decompress::new(false), is_done: false }
    }

    /// The number of unpacked bytes.
    pub fn taken(&self) -> u64 {
        self.state.total_in()
    }
}

impl<R: BufRead> Read for Inflate<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let size = buf.len().min(STEP);
        let buf = buf.get_mut(..size).unwrap_or_default();
        if buf.is_empty() {
            return Ok(0);
        }
        while !self.is_done {
            let bytes = self.reader.fill_buf()?;
            let is_end = bytes.is_empty();
            let (taken, made) = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(bytes, buf, FlushDecompress::None);
            let taken = self.state.total_in() - taken;
            let made = self.state.total_out() - made;
            self.reader.consume(usize::try_from(taken).unwrap_or(usize::MAX));
            let broken = match status {
                Ok(Status::StreamEnd) => {
                    self.is_done = true;
                    None
                }
                Ok(_) if made > 0 => None,
                Ok(_) if is_end => Some(ErrorKind::UnexpectedEof),
                Ok(_) if taken > 0 => None,
                Ok(_) | Err(_) => Some(ErrorKind::InvalidData),
            };
            if let Some(kind) = broken {
                self.is_done = true;
                let at = self.taken();
                let what = format!("its deflated bytes are damaged or end at byte {at} of them");
                return Err(io::Error::new(kind, what));
            }
            if made > 0 {
                return Ok(usize::try_from(made).unwrap_or(size));
            }
        }
        Ok(0)
    }
}

/// Compares the bytes with the archive's size and checksum.
struct Checked<R> {
    reader: R,
    crc: Crc,
    size: u64,
    expected_crc: Option<u32>,
    expected_size: Option<u64>,
    is_cut: bool,
    flaw: Arc<Mutex<Flaw>>,
}

impl<R> Checked<R> {
    fn new(reader: R, packed: &Packed, flaw: Arc<Mutex<Flaw>>) -> Checked<R> {
        Checked {
            reader,
            crc: Crc::new(),
            size: 0,
            expected_crc: packed.crc,
            expected_size: packed.unpacked(),
            is_cut: packed.is_cut,
            flaw,
        }
    }

    fn flaw(&self) -> MutexGuard<'_, Flaw> {
        self.flaw.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a problem at the end, if none was reported before.
    fn check(&self) {
        let mut flaw = self.flaw();
        if flaw.is_lost || self.is_cut {
            return;
        }
        if let Some(expected) = self.expected_size.filter(|&size| size != self.size) {
            let size = self.size;
            let text = format!("it has {size} bytes, and {expected} by what the archive says");
            flaw.text = Some(text);
            flaw.is_lost = size < expected;
        } else if let Some(expected) = self.expected_crc.filter(|&crc| crc != self.crc.sum()) {
            let sum = self.crc.sum();
            let text = format!(
                "its checksum (CRC-32) is {sum:08x}, and {expected:08x} by what the archive says: \
                 some of its bytes are wrong"
            );
            flaw.text = Some(text);
        }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.reader.read(buf) {
            Ok(0) if !buf.is_empty() => {
                self.check();
                Ok(0)
            }
            Ok(size) => {
                self.crc.update(buf.get(..size).unwrap_or_default());
                self.size += size as u64;
                Ok(size)
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) =>
            {
                let mut flaw = self.flaw();
                flaw.is_lost = true;
                // If the archive is cut, the report is about the archive.
                if !self.is_cut {
                    flaw.text.get_or_insert(error.to_string());
                }
                drop(flaw);
                Err(error)
            }
            Err(error) => Err(error),
        }
    }
}

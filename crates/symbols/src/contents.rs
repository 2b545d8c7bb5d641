//! The contents of a section, decompressed to a temporary file if they are compressed.

use std::io::{self, Read, Write};
use std::rc::Rc;

use flate2::read::ZlibDecoder;
use gimli::Reader;
use timebase_store::sort::Scratch;

use crate::bytes::{Bytes, word};
use crate::elf::{COMPRESSED, Elf, Section};
use crate::error::SymbolError;
use crate::pages::Pages;

const ZLIB: u32 = 1;
const ZSTD: u32 = 2;

/// The most that a section is larger than its compressed form: zlib cannot do more than 1032.
const MOST_TIMES: u64 = 1032;

/// The contents of a section by its name, without the dot; empty if there is none.
pub(crate) fn contents(elf: &Elf, name: &str, scratch: &Scratch) -> Result<Bytes, SymbolError> {
    if let Some(section) = elf.section_named(name) {
        return match section.flags & COMPRESSED {
            0 => stored(elf, section),
            _ => compressed(elf, section, scratch),
        };
    }
    // The older way to say that a section is compressed.
    let old = name.strip_prefix(".debug_").map(|rest| format!(".zdebug_{rest}"));
    match old.and_then(|name| elf.section_named(&name)) {
        Some(section) => compressed_by_name(elf, section, scratch),
        None => Ok(elf.bytes.none()),
    }
}

/// The contents of a section as they are.
pub(crate) fn stored(elf: &Elf, section: &Section) -> Result<Bytes, SymbolError> {
    elf.bytes.range(section.offset, section.size).ok_or_else(|| {
        let what = format_args!(
            "its section {} ends behind the end of the file, so the file is incomplete",
            section.name
        );
        SymbolError::new(&elf.path, Some(section.offset), what)
    })
}

fn compressed(elf: &Elf, section: &Section, scratch: &Scratch) -> Result<Bytes, SymbolError> {
    let mut bytes = stored(elf, section)?;
    let mut header = || -> gimli::Result<(u32, u64)> {
        let kind = bytes.read_u32()?;
        if elf.is_64 {
            bytes.read_u32()?;
        }
        let size = word(&mut bytes, elf.is_64)?;
        word(&mut bytes, elf.is_64)?;
        Ok((kind, size))
    };
    let (kind, size) = header().map_err(|error| elf.damaged(&section.name, &error))?;
    let whole = match kind {
        ZLIB => decompressed(&bytes, ZlibDecoder::new(Raw(bytes.clone())), size, scratch),
        ZSTD => zstd::Decoder::new(Raw(bytes.clone()))
            .and_then(|decoder| decompressed(&bytes, decoder, size, scratch)),
        _ => Err(io::Error::other(format!("its compression {kind} is unknown"))),
    };
    whole.map_err(|error| failed(elf, section, &error))
}

fn compressed_by_name(
    elf: &Elf,
    section: &Section,
    scratch: &Scratch,
) -> Result<Bytes, SymbolError> {
    let mut bytes = stored(elf, section)?;
    let mut header = [0; 12];
    let read = bytes.read_slice(&mut header);
    read.map_err(|error| elf.damaged(&section.name, &error))?;
    let [magic @ .., a, b, c, d, e, f, g, h] = header;
    if magic != *b"ZLIB" {
        return Err(failed(elf, section, &io::Error::other("its compression is unknown")));
    }
    let size = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    let decoder = ZlibDecoder::new(Raw(bytes.clone()));
    decompressed(&bytes, decoder, size, scratch).map_err(|error| failed(elf, section, &error))
}

fn failed(elf: &Elf, section: &Section, error: &io::Error) -> SymbolError {
    let what = format_args!("its section {} cannot be decompressed: {error}", section.name);
    SymbolError::new(&elf.path, Some(section.offset), what)
}

/// Decompresses as many bytes as the section says that it has.
fn decompressed(
    bytes: &Bytes,
    decoder: impl Read,
    size: u64,
    scratch: &Scratch,
) -> io::Result<Bytes> {
    if size > bytes.len().saturating_mul(MOST_TIMES) {
        return Err(io::Error::other(format!("{} bytes cannot contain {size}", bytes.len())));
    }
    let mut file = scratch.file()?;
    let copied = io::copy(&mut decoder.take(size), &mut file)?;
    if copied < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.flush()?;
    let pages = Pages::new(file, Some(bytes.at()))?;
    Ok(Bytes::of(&Rc::new(pages), bytes.endian()))
}

/// A range of a file as a stream.
struct Raw(Bytes);

impl Read for Raw {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let size = self.0.len().min(buf.len() as u64) as usize;
        let buf = buf.get_mut(..size).unwrap_or_default();
        self.0.read_slice(buf).map_err(io::Error::other)?;
        Ok(size)
    }
}

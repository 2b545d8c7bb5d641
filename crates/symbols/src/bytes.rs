//! A range of a file as gimli reads it.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use gimli::{Endianity, Error, Reader, ReaderOffsetId, Result, RunTimeEndian};

use crate::pages::{Page, Pages};

/// The longest text that is read. A mangled name of C++ may have many thousands of bytes.
const LONGEST: u64 = 1 << 20;

/// A range of a file. Reading moves its start.
#[derive(Clone)]
pub(crate) struct Bytes {
    pages: Rc<Pages>,
    endian: RunTimeEndian,
    start: u64,
    end: u64,
    /// The page that was read last.
    page: Option<Page>,
}

impl Bytes {
    /// The whole file.
    pub fn of(pages: &Rc<Pages>, endian: RunTimeEndian) -> Bytes {
        Bytes { pages: pages.clone(), endian, start: 0, end: pages.size(), page: None }
    }

    /// A range of the file; `None` if the file ends before the end of the range.
    pub fn range(&self, start: u64, size: u64) -> Option<Bytes> {
        let end = start.checked_add(size).filter(|end| *end <= self.pages.size())?;
        Some(Bytes { start, end, ..self.clone() })
    }

    /// Nothing, at the start of the file.
    pub fn none(&self) -> Bytes {
        Bytes { start: 0, end: 0, ..self.clone() }
    }

    /// The number of bytes that were read from the file.
    pub fn read_so_far(&self) -> u64 {
        self.pages.read()
    }

    /// The offset in the file of the next byte.
    pub fn at(&self) -> u64 {
        self.pages.told(self.start)
    }

    /// The rest of the range that is on one page.
    fn piece(&mut self) -> Result<&[u8]> {
        let start = self.start;
        let holds = |page: &Page| {
            start.checked_sub(page.start).is_some_and(|at| at < page.bytes.len() as u64)
        };
        if !self.page.as_ref().is_some_and(holds) {
            let page = self.pages.page(start);
            self.page = Some(page.map_err(|_| Error::UnexpectedEof(self.offset_id()))?);
        }
        let left = self.end.saturating_sub(start);
        let piece = self.page.as_ref().and_then(|page| {
            let piece = page.bytes.get((start - page.start) as usize..)?;
            piece.get(..left.min(piece.len() as u64) as usize)
        });
        Ok(piece.unwrap_or_default())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({}..{})", self.start, self.end)
    }
}

impl Reader for Bytes {
    type Endian = RunTimeEndian;
    type Offset = u64;

    fn endian(&self) -> RunTimeEndian {
        self.endian
    }

    fn len(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    fn empty(&mut self) {
        self.end = self.start;
    }

    fn truncate(&mut self, len: u64) -> Result<()> {
        if len > self.len() {
            return Err(Error::UnexpectedEof(self.offset_id()));
        }
        self.end = self.start.saturating_add(len);
        Ok(())
    }

    fn offset_from(&self, base: &Bytes) -> u64 {
        self.start.saturating_sub(base.start)
    }

    fn offset_id(&self) -> ReaderOffsetId {
        ReaderOffsetId(self.at())
    }

    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<u64> {
        id.0.checked_sub(self.at()).filter(|offset| *offset <= self.len())
    }

    fn find(&self, byte: u8) -> Result<u64> {
        let mut rest = self.clone();
        while rest.len() > 0 && rest.start.saturating_sub(self.start) < LONGEST {
            let piece = rest.piece()?;
            if let Some(at) = piece.iter().position(|found| *found == byte) {
                return Ok(rest.start.saturating_sub(self.start).saturating_add(at as u64));
            }
            let size = piece.len() as u64;
            rest.skip(size.max(1))?;
        }
        Err(Error::UnexpectedEof(self.offset_id()))
    }

    fn skip(&mut self, len: u64) -> Result<()> {
        if len > self.len() {
            return Err(Error::UnexpectedEof(self.offset_id()));
        }
        self.start = self.start.saturating_add(len);
        Ok(())
    }

    fn split(&mut self, len: u64) -> Result<Bytes> {
        let mut first = self.clone();
        first.truncate(len)?;
        self.skip(len)?;
        Ok(first)
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        if self.len() > LONGEST {
            return Err(Error::UnexpectedEof(self.offset_id()));
        }
        let mut bytes = vec![0; self.len() as usize];
        self.clone().read_slice(&mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        let text = String::from_utf8(self.to_slice()?.into_owned());
        text.map(Cow::Owned).map_err(|_| Error::BadUtf8)
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        Ok(Cow::Owned(String::from_utf8_lossy(&self.to_slice()?).into_owned()))
    }

    fn read_slice(&mut self, buf: &mut [u8]) -> Result<()> {
        if buf.len() as u64 > self.len() {
            return Err(Error::UnexpectedEof(self.offset_id()));
        }
        let mut rest = buf;
        while !rest.is_empty() {
            let piece = self.piece()?;
            let size = piece.len().min(rest.len());
            let (now, later) = rest.split_at_mut(size);
            now.copy_from_slice(piece.get(..size).unwrap_or_default());
            rest = later;
            if size == 0 {
                return Err(Error::UnexpectedEof(self.offset_id()));
            }
            self.start = self.start.saturating_add(size as u64);
        }
        Ok(())
    }
}

/// A number of 32 or 64 bits.
pub(crate) fn word(bytes: &mut Bytes, is_64: bool) -> Result<u64> {
    match is_64 {
        true => bytes.read_u64(),
        false => bytes.read_u32().map(u64::from),
    }
}

/// The order of bytes of a file.
pub(crate) fn endian(is_big: bool) -> RunTimeEndian {
    let endian = if is_big { RunTimeEndian::Big } else { RunTimeEndian::Little };
    debug_assert_eq!(endian.is_big_endian(), is_big);
    endian
}

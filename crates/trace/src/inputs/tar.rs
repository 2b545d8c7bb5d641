//! The contents of a tar archive: ustar, GNU's format and pax (rule X8).
//!
//! # Design
//!
//! Headers are read one after the other, and what stands between them is passed over, so that a
//! member can be read where it is. The crate `tar` does that, too, but reads a name of any length
//! into memory (a `.tar.gz` of a megabyte can hold one of a gigabyte), and gives an archive up at
//! its first damaged header. Here a header that is none begins a damaged region, up to the next
//! with `ustar` and a right checksum. So these 400 lines bound the memory for a name to 64 KiB, and keep the members after damage.
//!
//! Two blocks of zeros are the end. Headers after it are read all the same, because joined archives
//! have them; anything else there is ignored.

use std::io;
use std::ops::{ControlFlow, Range};

use super::error::InputsError;
use super::listing::{Listing, NO_HEADER, Packed, is_skipped};
use super::store::Store;

/// The size of headers; everything else is padded to a multiple of it.
const BLOCK: u64 = 512;

/// The largest length of a name.
const LONGEST_NAME: u64 = 64 << 10;

/// The largest number of pax bytes before a file, which include its attributes.
const LONGEST_PAX: u64 = 1 << 20;

/// The facts from earlier blocks about the next file.
#[derive(Default)]
struct Before {
    name: Option<Vec<u8>>,
    size: Option<u64>,
    is_sparse: bool,
    /// The place of the first of these blocks.
    at: Option<u64>,
}

/// Finds the contents of an archive, in their order.
pub(super) fn list(
    store: &mut Store,
    size: u64,
    listing: &mut Listing<'_>,
) -> Result<(), InputsError> {
    let search = Search {
        store,
        size,
        listing,
        window: Window::default(),
        before: Before::default(),
        lost: None,
        zeros: 0,
        is_ended: false,
        at: 0,
    };
    search.run()
}

/// The search for the headers of an archive, from one to the next.
struct Search<'s, 'm> {
    store: &'s mut Store,
    size: u64,
    listing: &'s mut Listing<'m>,
    window: Window,
    before: Before,
    /// The offset at which a header is missing, and whether it is after the end of the archive.
    lost: Option<(u64, bool)>,
    /// The number of blocks of zeros just read.
    zeros: u64,
    is_ended: bool,
    /// The current offset.
    at: u64,
}

/// The end of an archive.
enum End {
    Whole,
    /// The listing has the missing part.
    Cut,
}

impl Search<'_, '_> {
    fn run(mut self) -> Result<(), InputsError> {
        while self.at < self.size {
            let next = match self.header()? {
                ControlFlow::Continue(Some((header, stated))) => self.entry(&header, stated)?,
                ControlFlow::Continue(None) => {
                    self.at += BLOCK;
                    ControlFlow::Continue(())
                }
                ControlFlow::Break(end) => ControlFlow::Break(end),
            };
            match next {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(End::Whole) => break,
                ControlFlow::Break(End::Cut) => return Ok(()),
            }
        }
        self.finish();
        Ok(())
    }

    fn failed(&self, error: io::Error) -> InputsError {
        self.listing.failed(self.at, error)
    }

    /// The next block, if it is a header, and the size that this states.
    fn header(&mut self) -> Result<ControlFlow<End, Option<(Header, u64)>>, InputsError> {
        self.listing.go_on().map_err(|error| self.failed(error))?;
        let block = self.window.block(self.store, self.at, self.size);
        let block = block.map_err(|error| self.listing.failed(self.at, error))?;
        let is_zero = block.iter().all(|&byte| byte == 0);
        let Ok(block) = <[u8; BLOCK as usize]>::try_from(block) else {
            if is_zero || self.lost.is_some() || self.is_ended {
                return Ok(ControlFlow::Break(End::Whole));
            }
            self.listing.cut(self.size, "inside of the header of a file");
            return Ok(ControlFlow::Break(End::Cut));
        };
        if is_zero {
            self.zeros += 1;
            self.is_ended |= self.zeros > 1;
            return Ok(ControlFlow::Continue(None));
        }
        let header = Header(block);
        let is_expected = self.lost.is_none() && self.zeros == 0;
        self.zeros = 0;
        let found = header.size().filter(|_| {
            let is_marked = header.field(257..262) == b"ustar";
            header.has_right_checksum() && (is_marked || is_expected)
        });
        let Some(stated) = found else {
            self.lost.get_or_insert((self.at, self.is_ended));
            self.before = Before::default();
            return Ok(ControlFlow::Continue(None));
        };
        if let Some((lost, _)) = self.lost.take() {
            self.listing.damaged(lost, self.at - lost, NO_HEADER);
        }
        self.is_ended = false;
        Ok(ControlFlow::Continue(Some((header, stated))))
    }

    /// Reads the entry of a header.
    fn entry(&mut self, header: &Header, stated: u64) -> Result<ControlFlow<End>, InputsError> {
        self.listing.count()?;
        let begin = self.at + BLOCK;
        let kind = header.kind();
        let data = match kind {
            EntryKind::Link | EntryKind::Other => 0,
            EntryKind::File | EntryKind::Sparse | EntryKind::Passed => {
                self.before.size.unwrap_or(stated)
            }
            EntryKind::HardLink if self.follows(begin) => 0,
            EntryKind::HardLink
            | EntryKind::Name
            | EntryKind::LinkName
            | EntryKind::Pax
            | EntryKind::Global => stated,
        };
        let there = data.min(self.size - begin.min(self.size));
        let is_cut = there < data;
        match kind {
            EntryKind::Name | EntryKind::Pax if !is_cut => self.say(kind, begin, data)?,
            EntryKind::File | EntryKind::Sparse => {
                let packed = Packed { is_cut, ..Packed::as_they_are(begin, there) };
                self.file(header, packed)?;
                if is_cut {
                    return Ok(ControlFlow::Break(End::Cut));
                }
            }
            EntryKind::Name | EntryKind::LinkName | EntryKind::Pax | EntryKind::Global => {}
            EntryKind::HardLink | EntryKind::Link | EntryKind::Passed | EntryKind::Other => {
                self.before = Before::default();
            }
        }
        if is_cut {
            self.listing.cut(self.size, "inside of what stands before a file");
            return Ok(ControlFlow::Break(End::Cut));
        }
        self.at = begin.saturating_add(data.div_ceil(BLOCK).saturating_mul(BLOCK));
        Ok(ControlFlow::Continue(()))
    }

    /// Whether the next header follows at once.
    fn follows(&mut self, at: u64) -> bool {
        let Ok(block) = self.window.block(self.store, at, self.size) else {
            return false;
        };
        block.iter().all(|&byte| byte == 0)
            || <[u8; BLOCK as usize]>::try_from(block)
                .is_ok_and(|block| Header(block).has_right_checksum())
    }

    /// Takes the name or the attributes that precede a file.
    fn say(&mut self, kind: EntryKind, begin: u64, size: u64) -> Result<(), InputsError> {
        let limit = match kind {
            EntryKind::Name => LONGEST_NAME,
            _ => LONGEST_PAX,
        };
        if size > limit {
            return Err(InputsError::HeaderTooLong {
                archive: self.listing.archive().to_owned(),
                offset: self.at,
                size,
                limit,
            });
        }
        let mut text = vec![0; usize::try_from(size).unwrap_or(0)];
        let read = self.store.read_at(begin, &mut text);
        read.map_err(|error| self.listing.failed(begin, error))?;
        self.before.at.get_or_insert(self.at);
        match kind {
            EntryKind::Name => self.before.name = Some(text),
            _ => self.before.pax(&text),
        }
        Ok(())
    }

    fn file(&mut self, header: &Header, packed: Packed) -> Result<(), InputsError> {
        let before = std::mem::take(&mut self.before);
        let name = before.name.unwrap_or_else(|| header.name());
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let is_wanted = !is_skipped(name);
        if is_wanted && (before.is_sparse || header.kind() == EntryKind::Sparse) {
            let name = self.listing.shown(name);
            return Err(InputsError::Sparse { name });
        }
        let is_cut = packed.is_cut;
        if is_wanted {
            self.listing.add(name, packed)?;
        }
        if is_cut {
            let what = format!("inside of {}", self.listing.shown(name));
            self.listing.cut(self.size, &what);
        }
        Ok(())
    }

    /// Lists the damage at the end if a header or a file is missing there.
    fn finish(self) {
        if let Some((lost, is_behind)) = self.lost {
            if !is_behind {
                self.listing.damaged(lost, self.size - lost, NO_HEADER);
            }
        } else if self.before.at.is_some() && !self.is_ended {
            self.listing.cut(self.size, "before the file of which it says the name");
        }
    }
}

/// The meaning of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    File,
    /// A sparse file: GNU's tar left out its holes.
    Sparse,
    /// A link that may carry the bytes of its target.
    HardLink,
    /// A link, a device, a directory, a pipe: without bytes.
    Link,
    /// It has the name of the next file.
    Name,
    /// It has the target of the next link.
    LinkName,
    /// It has attributes of the next file, or of all following files.
    Pax,
    Global,
    /// A program's own entry, with bytes.
    Passed,
    Other,
}

struct Header([u8; BLOCK as usize]);

impl Header {
    fn field(&self, range: Range<usize>) -> &[u8] {
        self.0.get(range).unwrap_or_default()
    }

    fn kind(&self) -> EntryKind {
        match self.0.get(156).copied().unwrap_or(0) {
            b'1' => EntryKind::HardLink,
            b'2'..=b'4' | b'6' => EntryKind::Link,
            b'5' => EntryKind::Other,
            b'L' => EntryKind::Name,
            b'K' => EntryKind::LinkName,
            b'x' => EntryKind::Pax,
            b'g' => EntryKind::Global,
            b'S' => EntryKind::Sparse,
            b'A'..=b'Z' => EntryKind::Passed,
            _ => EntryKind::File,
        }
    }

    /// The sum of all bytes, with blanks in place of the sum itself. Old programs took bytes as
    /// signed.
    fn has_right_checksum(&self) -> bool {
        let Some(stated) = octal(self.field(148..156)) else {
            return false;
        };
        let blank = |(i, &byte): (usize, &u8)| match i {
            148..156 => b' ',
            _ => byte,
        };
        let bytes = || self.0.iter().enumerate().map(blank);
        let unsigned: i64 = bytes().map(i64::from).sum();
        let signed: i64 = bytes().map(|byte| i64::from(byte.cast_signed())).sum();
        [unsigned, signed].contains(&i64::try_from(stated).unwrap_or(-1))
    }

    /// The number of following bytes.
    fn size(&self) -> Option<u64> {
        let field = self.field(124..136);
        match field.split_first() {
            // A number in base 256, in the lower 64 bits.
            Some((0x80, rest)) => {
                let (high, low) = rest.split_at_checked(3)?;
                let low = u64::from_be_bytes(low.try_into().ok()?);
                (high == [0; 3]).then_some(low)
            }
            Some((first, _)) if *first >= 0x80 => None,
            _ => octal(field),
        }
    }

    fn name(&self) -> Vec<u8> {
        let text = |range| {
            let field = self.field(range);
            field.split(|&byte| byte == 0).next().unwrap_or_default()
        };
        let name = text(0..100);
        // GNU's format has other data in place of ustar's prefix.
        let is_ustar = self.field(257..263) == b"ustar\0";
        match text(345..500) {
            prefix if is_ustar && !prefix.is_empty() => [prefix, b"/", name].concat(),
            _ => name.to_owned(),
        }
    }
}

/// A number as text, between blanks and zeros; an empty text is 0.
fn octal(field: &[u8]) -> Option<u64> {
    let text = field.split(|&byte| byte == 0).next().unwrap_or_default();
    text.trim_ascii().iter().try_fold(0_u64, |number, &byte| {
        let digit = byte.checked_sub(b'0').filter(|&digit| digit < 8)?;
        number.checked_mul(8)?.checked_add(digit.into())
    })
}

impl Before {
    /// Attributes: each is its length, a blank, `key=value` and a line feed. An unreadable one ends
    /// them.
    fn pax(&mut self, mut text: &[u8]) {
        while let Some((record, rest)) = pax_record(text) {
            text = rest;
            let Some(at) = record.iter().position(|&byte| byte == b'=') else {
                return;
            };
            let (key, value) = record.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            match key {
                b"path" if !value.is_empty() => self.name = Some(value.to_owned()),
                b"size" => self.size = decimal(value).or(self.size),
                _ => self.is_sparse |= key.starts_with(b"GNU.sparse."),
            }
        }
    }
}

/// The first record, without length and line feed, and the rest.
fn pax_record(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let digits = text.iter().position(|&byte| byte == b' ')?;
    let length = usize::try_from(decimal(text.get(..digits)?)?).ok()?;
    let (record, rest) = text.split_at_checked(length)?;
    let record = record.get(digits + 1..)?.strip_suffix(b"\n")?;
    Some((record, rest))
}

fn decimal(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A part of the archive in memory, because headers are close together if files are small, and
/// during the search for a header.
#[derive(Default)]
struct Window {
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Its blocks.
    const BLOCKS: u64 = 16;

    /// The block at a position; shorter at the end.
    fn block(&mut self, store: &mut Store, at: u64, size: u64) -> io::Result<&[u8]> {
        let end = at.saturating_add(BLOCK).min(size);
        let has = self.at..=self.at + self.bytes.len() as u64;
        if !(has.contains(&at) && has.contains(&end)) {
            let length = (Window::BLOCKS * BLOCK).min(size.saturating_sub(at));
            self.at = at;
            self.bytes.resize(usize::try_from(length).unwrap_or(0), 0);
            let read = store.read_at(at, &mut self.bytes)?;
            self.bytes.truncate(read);
        }
        let from = usize::try_from(at.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let rest = self.bytes.get(from..).unwrap_or_default();
        Ok(rest.get(..BLOCK as usize).unwrap_or(rest))
    }
}

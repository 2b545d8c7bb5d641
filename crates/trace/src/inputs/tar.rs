//! The contents of a tar archive: ustar, GNU's format and pax (rule X8).
//!
//! # Design
//!
//! Headers are read one after the other, and the data between them is skipped, so a member can be
//! read in place. The crate `tar` does that, too. But it reads a name of any length into memory (a
//! `.tar.gz` of a megabyte can hold a name of a gigabyte), and gives up on an archive at the first
//! damaged header. Here an invalid header begins a damaged region, which ends at the next header
//! with `ustar` and a correct checksum.
//!
//! Two blocks of zeros are the end. Headers after it are read all the same, because joined archives
//! have them; anything else there is ignored.

use std::ops::Range;

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
    let mut window = Window::default();
    let mut before = Before::default();
    // The place of an expected but invalid header, and whether it is after the end.
    let mut lost: Option<(u64, bool)> = None;
    let mut zeros = 0_u64;
    let mut is_ended = false;
    let mut at = 0;
    while at < size {
        let failed = |listing: &Listing<'_>, error| listing.failed(at, error);
        listing.go_on().map_err(|error| failed(listing, error))?;
        let block = window.block(store, at, size);
        let block = block.map_err(|error| failed(listing, error))?;
        let is_zero = block.iter().all(|&byte| byte == 0);
        let Ok(block) = <[u8; BLOCK as usize]>::try_from(block) else {
            if !is_zero && lost.is_none() && !is_ended {
                listing.cut(size, "inside of the header of a file");
                return Ok(());
            }
            break;
        };
        if is_zero {
            zeros += 1;
            is_ended |= zeros > 1;
            at += BLOCK;
            continue;
        }
        let header = Header(block);
        let is_expected = lost.is_none() && zeros == 0;
        zeros = 0;
        let found = header.size().filter(|_| {
            let is_marked = header.field(257..262) == b"ustar";
            header.has_right_checksum() && (is_marked || is_expected)
        });
        let Some(stated) = found else {
            lost.get_or_insert((at, is_ended));
            before = Before::default();
            at += BLOCK;
            continue;
        };
        if let Some((lost, _)) = lost.take() {
            listing.damaged(lost, at - lost, NO_HEADER);
        }
        is_ended = false;
        listing.count()?;
        let begin = at + BLOCK;
        let kind = header.kind();
        let data = match kind {
            Kind::Link | Kind::Other => 0,
            Kind::File | Kind::Sparse | Kind::Passed => before.size.unwrap_or(stated),
            Kind::HardLink if follows(&mut window, store, begin, size) => 0,
            Kind::HardLink | Kind::Name | Kind::LinkName | Kind::Pax | Kind::Global => stated,
        };
        let there = data.min(size - begin.min(size));
        let is_cut = there < data;
        let limit = match kind {
            Kind::Name => LONGEST_NAME,
            Kind::Pax => LONGEST_PAX,
            _ => u64::MAX,
        };
        if data > limit && !is_cut {
            return Err(InputsError::HeaderTooLong {
                archive: listing.archive().to_owned(),
                offset: at,
                size: data,
                limit,
            });
        }
        match kind {
            Kind::Name | Kind::Pax if !is_cut => {
                let mut text = vec![0; usize::try_from(data).unwrap_or(0)];
                let read = store.read_at(begin, &mut text);
                read.map_err(|error| listing.failed(begin, error))?;
                before.at.get_or_insert(at);
                match kind {
                    Kind::Name => before.name = Some(text),
                    _ => before.pax(&text),
                }
            }
            Kind::File | Kind::Sparse => {
                let before = std::mem::take(&mut before);
                let name = before.name.unwrap_or_else(|| header.name());
                let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
                let is_wanted = !is_skipped(name);
                if is_wanted && (before.is_sparse || kind == Kind::Sparse) {
                    let name = listing.shown(name);
                    return Err(InputsError::Sparse { name });
                }
                if is_wanted {
                    let packed = Packed {
                        is_cut,
                        ..Packed::as_they_are(begin, there)
                    };
                    listing.add(name, packed)?;
                }
                if is_cut {
                    let what = format!("inside of {}", listing.shown(name));
                    listing.cut(size, &what);
                    return Ok(());
                }
            }
            Kind::Name | Kind::LinkName | Kind::Pax | Kind::Global => {}
            Kind::HardLink | Kind::Link | Kind::Passed | Kind::Other => before = Before::default(),
        }
        if is_cut {
            listing.cut(size, "inside of what stands before a file");
            return Ok(());
        }
        at = begin.saturating_add(data.div_ceil(BLOCK).saturating_mul(BLOCK));
    }
    if let Some((lost, is_behind)) = lost {
        if !is_behind {
            listing.damaged(lost, size - lost, NO_HEADER);
        }
    } else if before.at.is_some() && !is_ended {
        listing.cut(size, "before the file of which it says the name");
    }
    Ok(())
}

/// Whether the next header follows immediately.
fn follows(window: &mut Window, store: &mut Store, at: u64, size: u64) -> bool {
    let Ok(block) = window.block(store, at, size) else {
        return false;
    };
    block.iter().all(|&byte| byte == 0)
        || <[u8; BLOCK as usize]>::try_from(block)
            .is_ok_and(|block| Header(block).has_right_checksum())
}

/// The meaning of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
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

    fn kind(&self) -> Kind {
        match self.0.get(156).copied().unwrap_or(0) {
            b'1' => Kind::HardLink,
            b'2'..=b'4' | b'6' => Kind::Link,
            b'5' => Kind::Other,
            b'L' => Kind::Name,
            b'K' => Kind::LinkName,
            b'x' => Kind::Pax,
            b'g' => Kind::Global,
            b'S' => Kind::Sparse,
            b'A'..=b'Z' => Kind::Passed,
            _ => Kind::File,
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
    fn block(&mut self, store: &mut Store, at: u64, size: u64) -> std::io::Result<&[u8]> {
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

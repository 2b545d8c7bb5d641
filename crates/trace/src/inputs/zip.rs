//! The contents of a zip archive (rule X8).
//!
//! # Design
//!
//! Local headers are read one after the other, and members where they are. The crates `zip`,
//! `async_zip` and `rc-zip` need the directory at the end, which a cut archive lacks. As a stream,
//! they refuse a member with a data descriptor (its sizes come after its data), as `zip` 9.8 does. But
//! every program that pipes a zip makes only such members. None of the crates finds a member after
//! damage. This file does both; `flate2` unpacks.
//!
//! The directory is a second opinion, for a local header that lacks the size of a member, or has an
//! impossible one. Without the directory, unpacking a member finds its end; the end of a stored
//! member is at a descriptor with exactly the number of bytes before it.
//!
//! An invalid header begins a damaged region. It ends at the next header that the directory has, or
//! without the directory, at the next bytes that look like a header.

use std::collections::BTreeMap;
use std::io::{BufReader, ErrorKind, Read};

use memchr::memmem;

use super::error::InputsError;
use super::listing::{ENTRIES, How, Listing, NO_HEADER, Packed, is_skipped};
use super::member::{CHUNK, Inflate};
use super::store::Store;

/// Finds the contents of an archive, in their order.
pub(super) fn list(
    store: &mut Store,
    size: u64,
    listing: &mut Listing<'_>,
) -> Result<(), InputsError> {
    let mut zip = Zip { store, size, listing, directory: None, inflated: 0 };
    let mut at = 0;
    while at < size {
        let next = zip.next(at)?;
        if next <= at {
            break;
        }
        at = next;
    }
    Ok(())
}

/// The kinds of records in an archive, by their first four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Local,
    Descriptor,
    /// The directory, or any other record after all members.
    Directory,
}

impl Mark {
    fn of(bytes: &[u8]) -> Option<Mark> {
        match bytes {
            [b'P', b'K', 3, 4, ..] => Some(Mark::Local),
            [b'P', b'K', 7, 8, ..] => Some(Mark::Descriptor),
            [b'P', b'K', 1, 2, ..] | [b'P', b'K', 5, 6, ..] | [b'P', b'K', 6, 6..=8, ..] => {
                Some(Mark::Directory)
            }
            _ => None,
        }
    }
}

/// The size of the fixed part of a local header, and of an entry of the directory.
const LOCAL: usize = 30;
const ENTRY: usize = 46;

/// The largest size of a descriptor: its mark, a checksum, two sizes.
const DESCRIPTOR: usize = 24;

/// A size that is in another place (zip64).
const ELSEWHERE: u64 = 0xffff_ffff;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

/// A header's facts about a member.
#[derive(Debug, Clone, Copy)]
struct Header {
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    unpacked: u64,
}

impl Header {
    /// Both kinds of headers have these fields in the same order, from `at` on.
    fn of(bytes: &[u8], at: usize) -> Option<Header> {
        Some(Header {
            flags: u16_at(bytes, at)?,
            method: u16_at(bytes, at + 2)?,
            crc: u32_at(bytes, at + 8)?,
            packed: u32_at(bytes, at + 12)?.into(),
            unpacked: u32_at(bytes, at + 16)?.into(),
        })
    }

    fn is_encrypted(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether its sizes are after its bytes.
    fn has_descriptor(&self) -> bool {
        self.flags & DESCRIBED != 0
    }

    fn is_readable(&self) -> bool {
        !self.is_encrypted() && matches!(self.method, STORED | DEFLATED)
    }

    /// Replaces the sizes and `others` that hold 0xffffffff by the 64-bit values in the extra
    /// field, in this order.
    fn widen(&mut self, extra: &[u8], others: &mut [&mut u64]) {
        let mut wide = zip64(extra).unwrap_or_default();
        let own = [&mut self.unpacked, &mut self.packed];
        for number in own.into_iter().chain(others.iter_mut().map(|other| &mut **other)) {
            if *number == ELSEWHERE
                && let Some((first, rest)) = wide.split_first_chunk()
            {
                *number = u64::from_le_bytes(*first);
                wide = rest;
            }
        }
    }
}

/// The flag of a member whose sizes are said behind its bytes.
const DESCRIBED: u16 = 8;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The extra field with sizes of 64 bits.
fn zip64(mut extra: &[u8]) -> Option<&[u8]> {
    loop {
        let size = usize::from(u16_at(extra, 2)?);
        let (field, rest) = extra.get(4..)?.split_at_checked(size)?;
        if u16_at(extra, 0)? == 1 {
            return Some(field);
        }
        extra = rest;
    }
}

/// The directory at the end.
#[derive(Default)]
struct Directory {
    /// The entries by the positions of their local headers.
    entries: BTreeMap<u64, Header>,
    /// Its own start.
    at: u64,
}

struct Zip<'z, 'l> {
    store: &'z mut Store,
    size: u64,
    listing: &'z mut Listing<'l>,
    /// Present after the search for it.
    directory: Option<Directory>,
    /// The number of bytes that were unpacked to find the ends of members.
    inflated: u64,
}

impl Zip<'_, '_> {
    /// Some bytes, as far as they exist.
    fn read(&mut self, at: u64, size: usize) -> Result<Vec<u8>, InputsError> {
        let there = usize::try_from(self.size.saturating_sub(at)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; size.min(there)];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let read = self.store.read_at(at, &mut bytes);
        let read = read.map_err(|error| self.listing.failed(at, error))?;
        bytes.truncate(read);
        Ok(bytes)
    }

    fn go_on(&self, at: u64) -> Result<(), InputsError> {
        let go_on = self.listing.go_on();
        go_on.map_err(|error| self.listing.failed(at, error))
    }

    /// Reads the record at a position; returns the position of the next one, or the same position
    /// if there is none.
    fn next(&mut self, at: u64) -> Result<u64, InputsError> {
        self.go_on(at)?;
        let head = self.read(at, LOCAL)?;
        match Mark::of(&head) {
            Some(Mark::Local) if head.len() == LOCAL => self.local(at, &head),
            Some(Mark::Local) => Ok(self.cut(at, "inside of the header of a file")),
            Some(Mark::Directory) => Ok(at),
            // The directory is cut.
            None if head == *b"PK\x01" => Ok(at),
            Some(Mark::Descriptor) | None if head.len() < 4 && b"PK\x03\x04".starts_with(&head) => {
                Ok(self.cut(at, "inside of a header"))
            }
            Some(Mark::Descriptor) | None => {
                let next = self.next_header(at + 1)?;
                self.listing.damaged(at, next - at, NO_HEADER);
                Ok(next)
            }
        }
    }

    /// The archive ends there. No record follows.
    fn cut(&mut self, at: u64, what: &str) -> u64 {
        self.listing.cut(self.size, what);
        at
    }

    /// A member.
    fn local(&mut self, at: u64, head: &[u8]) -> Result<u64, InputsError> {
        self.listing.count()?;
        let length = |at| usize::from(u16_at(head, at).unwrap_or(0));
        let (name, extra) = (length(26), length(28));
        let Some(mut header) = Header::of(head, 6) else {
            return Ok(at);
        };
        let text = self.read(at + LOCAL as u64, name + extra)?;
        let Some((name, extra)) =
            text.split_at_checked(name).filter(|_| text.len() == name + extra)
        else {
            return Ok(self.cut(at, "inside of the header of a file"));
        };
        header.widen(extra, &mut []);
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let begin = at + (LOCAL + text.len()) as u64;
        let there = self.size - begin;

        let is_known = header.packed > 0 || !header.has_descriptor();
        let is_odd = header.packed == 0 || header.packed > there || !header.is_readable();
        let entry = match is_odd {
            true => self.directory()?.entries.get(&at).copied(),
            false => None,
        };
        let second = match entry.filter(|entry| entry.packed <= there) {
            Some(second) if !is_known && !self.fits(begin, &second)? => None,
            second => second,
        };
        let is_known = is_known || second.is_some();
        let header = second.map_or(header, |second| Header {
            flags: second.flags | header.flags & DESCRIBED,
            ..second
        });

        let is_wanted = !is_skipped(name);
        if is_wanted {
            self.refuse(name, &header)?;
        }
        let (next, packed) = match is_known {
            true => self.sized(begin, &header, second.is_some())?,
            false if !header.is_readable() => (self.next_header(begin)?, None),
            false if header.method == STORED => self.stored(begin)?,
            false => self.deflated(begin)?,
        };
        let is_cut = packed.as_ref().is_some_and(|packed| packed.is_cut);
        if let Some(mut packed) = packed.filter(|_| is_wanted) {
            if let Some(entry) = entry.filter(|_| !packed.is_cut) {
                packed.crc = Some(entry.crc);
            }
            self.listing.add(name, packed)?;
        }
        if is_cut {
            let what = format!("inside of {}", self.listing.shown(name));
            return Ok(self.cut(at, &what));
        }
        Ok(next)
    }

    /// Refuses a member that cannot be unpacked.
    fn refuse(&self, name: &[u8], header: &Header) -> Result<(), InputsError> {
        let name = || self.listing.shown(name);
        if header.is_encrypted() {
            return Err(InputsError::Encrypted { name: name() });
        }
        let method = match header.method {
            STORED | DEFLATED => return Ok(()),
            9 => "Deflate64".to_owned(),
            12 => "bzip2".to_owned(),
            14 => "LZMA".to_owned(),
            93 => "zstd".to_owned(),
            95 => "xz".to_owned(),
            98 => "PPMd".to_owned(),
            number => format!("method {number}"),
        };
        Err(InputsError::Method { name: name(), method })
    }

    /// A member of known length: its end, and its kind.
    fn sized(
        &mut self,
        begin: u64,
        header: &Header,
        is_sure: bool,
    ) -> Result<(u64, Option<Packed>), InputsError> {
        let there = self.size - begin;
        let end = begin + header.packed.min(there);
        let how = match header.method {
            DEFLATED if header.packed > 0 => How::Deflated(Some(header.unpacked)),
            _ => How::AsTheyAre,
        };
        let mut packed =
            Packed { how, crc: Some(header.crc), ..Packed::as_they_are(begin, end - begin) };
        if header.packed > there {
            packed.is_cut = true;
            packed.crc = None;
            return Ok((end, Some(packed)));
        }
        if !header.has_descriptor() {
            return Ok((end, Some(packed)));
        }
        let (next, crc) = self.behind(end, header.packed, header.unpacked)?;
        if !is_sure && header.crc == 0 {
            packed.crc = crc;
        }
        Ok((next, Some(packed)))
    }

    /// A stored member whose length is only in its descriptor: the descriptor is where its size
    /// equals the number of bytes before it.
    fn stored(&mut self, begin: u64) -> Result<(u64, Option<Packed>), InputsError> {
        let mut mark = begin;
        let mut last = None;
        loop {
            // A descriptor without a mark is recognized by the next record.
            for before in [0, 12, 20] {
                let Some(end) = mark.checked_sub(before).filter(|&end| end >= begin) else {
                    continue;
                };
                let size = end - begin;
                let behind = self.read(end, BEHIND)?;
                if Mark::of(&behind) == Some(Mark::Descriptor) {
                    last = Some(end);
                }
                if let Some((length, crc)) = descriptor(&behind, size, size)
                    && is_followed(&behind, length)
                {
                    let packed = Packed { crc: Some(crc), ..Packed::as_they_are(begin, size) };
                    return Ok((end + length as u64, Some(packed)));
                }
            }
            match self.find(mark + 1, |_| true)? {
                Some(found) => mark = found,
                None => break,
            }
        }
        // The archive may end inside the descriptor.
        let end = last.filter(|&last| self.size - last < DESCRIPTOR as u64);
        let packed =
            Packed { is_cut: true, ..Packed::as_they_are(begin, end.unwrap_or(self.size) - begin) };
        Ok((self.size, Some(packed)))
    }

    /// A deflated member of unknown length: unpacking it finds its end.
    fn deflated(&mut self, begin: u64) -> Result<(u64, Option<Packed>), InputsError> {
        let failed = |listing: &Listing<'_>, error| listing.failed(begin, error);
        let section = self.store.section(begin, self.size - begin);
        let section = section.map_err(|error| failed(self.listing, error))?;
        let mut inflate = Inflate::new(BufReader::with_capacity(CHUNK, section));
        let mut unpacked = 0;
        let mut chunk = vec![0; CHUNK];
        let broken = loop {
            let go_on = self.listing.go_on();
            match go_on.and_then(|()| inflate.read(&mut chunk)) {
                Ok(0) => break None,
                Ok(size) => unpacked += size as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
        };
        let size = inflate.taken();
        self.inflated += size;
        let packed =
            Packed { how: How::Deflated(Some(unpacked)), ..Packed::as_they_are(begin, size) };
        let unknown = |size, is_cut| Packed {
            how: How::Deflated(None),
            is_cut,
            ..Packed::as_they_are(begin, size)
        };
        match broken.map(|error| (error.kind(), error)) {
            None => {
                let (next, crc) = self.behind(begin + size, size, unpacked)?;
                Ok((next, Some(Packed { crc, ..packed })))
            }
            Some((ErrorKind::UnexpectedEof, _)) => {
                Ok((self.size, Some(unknown(self.size - begin, true))))
            }
            Some((ErrorKind::InvalidData, _)) => {
                // The bytes unpacked after the damage may have been the next members. But searching
                // there repeatedly would take too long if there are many such places.
                let is_cheap = self.inflated / 4 <= self.size;
                let from = match is_cheap {
                    true => begin,
                    false => begin + size,
                };
                let next = self.next_header(from)?;
                Ok((next, Some(unknown(next - begin, false))))
            }
            Some((_, error)) => Err(failed(self.listing, error)),
        }
    }

    /// If a member's descriptor follows its bytes: the position of the next header, and the
    /// checksum.
    fn behind(
        &mut self,
        end: u64,
        packed: u64,
        unpacked: u64,
    ) -> Result<(u64, Option<u32>), InputsError> {
        let behind = self.read(end, BEHIND)?;
        Ok(match descriptor(&behind, packed, unpacked) {
            Some((length, crc)) => (end + length as u64, Some(crc)),
            None if behind.len() < DESCRIPTOR && !is_followed(&behind, 0) => {
                self.cut(end, "inside of what stands behind a file");
                (self.size, None)
            }
            None => (end, None),
        })
    }

    /// Whether a member may have the length that the directory gives.
    fn fits(&mut self, begin: u64, header: &Header) -> Result<bool, InputsError> {
        let behind = self.read(begin + header.packed, BEHIND)?;
        let descriptor = descriptor(&behind, header.packed, header.unpacked);
        Ok(descriptor.is_some() || is_followed(&behind, 0))
    }

    /// The position of the next header, or of the directory, or the end.
    fn next_header(&mut self, from: u64) -> Result<u64, InputsError> {
        self.directory()?;
        if let Some(directory) = &self.directory
            && !directory.entries.is_empty()
        {
            let known = directory.entries.range(from..).next();
            let next = known.map_or(directory.at, |(&at, _)| at);
            return Ok(next.clamp(from, self.size));
        }
        let found = self.find(from, is_header)?;
        Ok(found.unwrap_or(self.size))
    }

    /// Searches for a mark; `is_it` gets the bytes that begin with it.
    fn find(
        &mut self,
        from: u64,
        is_it: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<u64>, InputsError> {
        // Little at first: if there are many marks, the next one is near.
        let mut length = 512;
        let mut at = from;
        while at < self.size {
            self.go_on(at)?;
            let bytes = self.read(at, length)?;
            let is_last = at + bytes.len() as u64 >= self.size || bytes.len() < length;
            for place in memmem::find_iter(&bytes, b"PK") {
                let there = bytes.get(place..).unwrap_or_default();
                if there.len() < LOCAL && !is_last {
                    break;
                }
                if Mark::of(there).is_some() && is_it(there) {
                    return Ok(Some(at + place as u64));
                }
            }
            if is_last {
                return Ok(None);
            }
            at += (bytes.len() - (LOCAL - 1)) as u64;
            length = (length * 2).min(CHUNK);
        }
        Ok(None)
    }

    /// The directory; empty if it is missing or unreadable.
    fn directory(&mut self) -> Result<&Directory, InputsError> {
        let directory = match self.directory.take() {
            Some(directory) => directory,
            None => self.read_directory()?.unwrap_or_default(),
        };
        Ok(self.directory.insert(directory))
    }

    fn read_directory(&mut self) -> Result<Option<Directory>, InputsError> {
        /// The sizes of the end record, its comment, and the locator of the 64-bit end record.
        const END: usize = 22;
        const COMMENT: usize = 65_535;
        const LOCATOR: usize = 20;
        let length = (END + COMMENT + LOCATOR) as u64;
        let from = self.size.saturating_sub(length);
        let tail = self.read(from, END + COMMENT + LOCATOR)?;
        let Some(end) = memmem::rfind(&tail, b"PK\x05\x06") else {
            return Ok(None);
        };
        let number = |at| u32_at(&tail, end + at).map(u64::from);
        let Some(mut at) = number(16) else {
            return Ok(None);
        };
        if let Some(locator) = end.checked_sub(LOCATOR)
            && let Some(locator) = tail.get(locator..).filter(|at| at.starts_with(b"PK\x06\x07"))
            && let Some(wide) = u64_at(locator, 8)
        {
            let wide = self.read(wide, 56)?;
            if wide.starts_with(b"PK\x06\x06") {
                at = u64_at(&wide, 48).unwrap_or(at);
            }
        }
        let mut directory = Directory { entries: BTreeMap::new(), at: at.min(self.size) };
        while directory.entries.len() < ENTRIES {
            self.go_on(at)?;
            let entry = self.read(at, ENTRY)?;
            if !entry.starts_with(b"PK\x01\x02") {
                break;
            }
            let length = |at| usize::from(u16_at(&entry, at).unwrap_or(0));
            let (name, extra, comment) = (length(28), length(30), length(32));
            let (Some(mut header), Some(local)) = (Header::of(&entry, 8), u32_at(&entry, 42))
            else {
                break;
            };
            let mut local = u64::from(local);
            if [header.packed, header.unpacked, local].contains(&ELSEWHERE) {
                let extra = self.read(at + (ENTRY + name) as u64, extra)?;
                header.widen(&extra, &mut [&mut local]);
            }
            if local < directory.at {
                directory.entries.insert(local, header);
            }
            at += (ENTRY + name + extra + comment) as u64;
        }
        Ok(Some(directory))
    }
}

/// The number of bytes to read after a member: its descriptor, and the next mark.
const BEHIND: usize = DESCRIPTOR + 4;

/// The descriptor at this position, if it has these sizes: its length, and the checksum. It may
/// have a mark or none, and sizes of 64 bits or 32.
fn descriptor(bytes: &[u8], packed: u64, unpacked: u64) -> Option<(usize, u32)> {
    let mut fitting = None;
    for mark in [4, 0] {
        if (mark == 4) != (Mark::of(bytes) == Some(Mark::Descriptor)) {
            continue;
        }
        let narrow = |at| u32_at(bytes, at).map(u64::from);
        let wide = |at| u64_at(bytes, at);
        let sizes = mark + 4;
        let both = [
            (sizes + 16, wide(sizes), wide(sizes + 8)),
            (sizes + 8, narrow(sizes), narrow(sizes + 4)),
        ];
        for (length, first, second) in both {
            if first != Some(packed) || second != Some(unpacked) {
                continue;
            }
            let found = u32_at(bytes, mark).map(|crc| (length, crc));
            if is_followed(bytes, length) {
                return found;
            }
            fitting = fitting.or(found);
        }
    }
    fitting
}

/// Whether a header or the directory begins there, or the archive ends; the end may be inside such
/// a mark.
fn is_followed(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    match Mark::of(rest) {
        Some(Mark::Local | Mark::Directory) => true,
        Some(Mark::Descriptor) => false,
        None => {
            let marks: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x01\x02"];
            bytes.len() < BEHIND && marks.iter().any(|mark| mark.starts_with(rest))
        }
    }
}

/// Whether a header or the directory may begin like this.
fn is_header(bytes: &[u8]) -> bool {
    match Mark::of(bytes) {
        Some(Mark::Local) => {
            let is_version = bytes.get(4).is_some_and(|&version| version <= 63);
            let is_method = u16_at(bytes, 8).is_some_and(|method| method < 100);
            let has_name = u16_at(bytes, 26).is_some_and(|length| length > 0);
            bytes.len() >= LOCAL && is_version && is_method && has_name
        }
        Some(Mark::Directory) => true,
        Some(Mark::Descriptor) | None => false,
    }
}

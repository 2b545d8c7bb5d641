//! The contents of archives of any format: members, and damaged places.

use std::io;
use std::sync::atomic::Ordering;

use crate::monitor::Monitor;
use crate::source::SourceError;

use super::error::InputsError;

/// The largest number of entries in an archive, including directories and links.
pub(super) const ENTRIES: usize = 100_000;

/// Why a place is damaged.
pub(super) const NO_HEADER: &str = "no header of a file is where one should be";

/// The largest total length of their names.
const NAMES: usize = 64 << 20;

/// A place where an archive is damaged, or ends too early (rules X8, F6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveDamage {
    /// Its start, in bytes of the decompressed archive.
    pub offset: u64,
    /// The number of bytes that are left out; 0 if the archive is cut.
    pub size: u64,
    /// The problem.
    pub why: String,
    /// Whether the archive ends there.
    pub is_cut: bool,
}

/// The place of a file's bytes.
#[derive(Debug, Clone)]
pub(super) struct Packed {
    pub at: u64,
    /// Their number, as stored.
    pub size: u64,
    pub how: How,
    /// The checksum of the unpacked bytes, if known.
    pub crc: Option<u32>,
    /// Whether the archive ends inside the file.
    pub is_cut: bool,
}

/// The way in which bytes are stored.
#[derive(Debug, Clone, Copy)]
pub(super) enum How {
    AsTheyAre,
    /// Deflated, with the unpacked size if known.
    Deflated(Option<u64>),
}

impl Packed {
    pub fn as_they_are(at: u64, size: u64) -> Packed {
        Packed { at, size, how: How::AsTheyAre, crc: None, is_cut: false }
    }

    /// Whether its bytes are stored as they are, and unchecked.
    pub fn is_as_it_is(&self) -> bool {
        matches!(self.how, How::AsTheyAre) && self.crc.is_none()
    }

    /// Its unpacked size, if known.
    pub fn unpacked(&self) -> Option<u64> {
        match self.how {
            How::AsTheyAre => Some(self.size),
            How::Deflated(size) => size,
        }
    }
}

/// A member to read.
#[derive(Debug)]
pub(super) struct Member {
    pub name: Vec<u8>,
    pub packed: Packed,
}

/// The contents of an archive so far.
pub(super) struct Listing<'a> {
    pub members: Vec<Member>,
    pub damage: Vec<ArchiveDamage>,
    archive: &'a str,
    monitor: &'a Monitor,
    entries: usize,
    names: usize,
}

impl<'a> Listing<'a> {
    pub fn new(archive: &'a str, monitor: &'a Monitor) -> Listing<'a> {
        Listing { members: Vec::new(), damage: Vec::new(), archive, monitor, entries: 0, names: 0 }
    }

    /// The archive's name.
    pub fn archive(&self) -> &str {
        self.archive
    }

    /// Records that another entry begins.
    pub fn count(&mut self) -> Result<(), InputsError> {
        self.entries += 1;
        match self.entries > ENTRIES {
            true => Err(InputsError::TooMany { archive: self.archive.to_owned(), limit: ENTRIES }),
            false => Ok(()),
        }
    }

    pub fn add(&mut self, name: &[u8], packed: Packed) -> Result<(), InputsError> {
        self.names += name.len();
        if self.names > NAMES {
            return Err(InputsError::NamesTooLong {
                archive: self.archive.to_owned(),
                limit: NAMES,
            });
        }
        self.members.push(Member { name: name.to_owned(), packed });
        Ok(())
    }

    /// Records that the archive ends too early.
    pub fn cut(&mut self, offset: u64, where_: &str) {
        self.damage.push(ArchiveDamage {
            offset,
            size: 0,
            why: format!("the archive ends {where_}"),
            is_cut: true,
        });
    }

    pub fn damaged(&mut self, offset: u64, size: u64, why: &str) {
        self.damage.push(ArchiveDamage { offset, size, why: why.to_owned(), is_cut: false });
    }

    /// The error for an archive that cannot be read.
    pub fn failed(&self, offset: u64, error: io::Error) -> InputsError {
        let source_name = self.archive.to_owned();
        InputsError::Source(SourceError::Read { source_name, offset, error })
    }

    /// Stops long work if the import is cancelled.
    pub fn go_on(&self) -> io::Result<()> {
        match self.monitor.cancel.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// The name of a member in messages.
    pub fn shown(&self, name: &[u8]) -> String {
        format!("{} in {}", quoted(name), self.archive)
    }
}

/// A name from an archive, for people: control characters are escaped, and a long name is
/// shortened.
pub(super) fn quoted(name: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(name);
    let mut shown = String::from("'");
    for (i, c) in text.chars().enumerate() {
        match c {
            _ if i == LONGEST => {
                shown.push('…');
                break;
            }
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown.push('\'');
    shown
}

/// Whether a member's name says to pass over it: a directory, or a path with a hidden component
/// (rule X2).
pub(super) fn is_skipped(name: &[u8]) -> bool {
    let is_hidden = |part: &[u8]| part.starts_with(b".") && part != b"." && part != b"..";
    name.ends_with(b"/") || name.split(|&byte| byte == b'/').any(is_hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x2_directories_and_hidden_components_are_skipped() {
        for name in ["a/", ".a", "a/.b", ".a/b", "./.b", "...", "a/.b/c", "__/._a"] {
            assert!(is_skipped(name.as_bytes()), "{name}");
        }
        for name in ["a", "./a", "../a", "a/../b", "a.b", "/a", "", "a//b", "a/.."] {
            assert!(!is_skipped(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_in_messages_are_of_one_line() {
        assert_eq!(quoted(b"a\n\x1b[1m\xff"), "'a\\n\\u{1b}[1m\u{fffd}'");
        assert!(quoted(&[b'a'; 70_000]).len() < 300);
    }
}

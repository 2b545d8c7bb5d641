//! The type of a file, by its bytes (rules X3, X5), and its place in the order of processing (rule
//! X4).

use std::io::{self, Cursor, ErrorKind, Read};

use crate::kind::SQLITE;
use crate::members::{Compression, Members};
use crate::stream::PACKET;

/// The type of a file depends on this many bytes: a tar has its mark after 257 bytes.
pub(super) const HEAD: usize = 512;

/// The type of a text that may be JSON depends on this many bytes.
const TEXT_HEAD: usize = 64 << 10;

/// Whether a text begins with a brace or a bracket, after a byte order mark and white space.
fn may_be_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
    let first = head.iter().find(|byte| !is_space(byte));
    // A text of spaces only may begin later.
    first.is_none_or(|byte| matches!(byte, b'{' | b'['))
}

/// A format of traces.
///
/// ```
/// use timebase_trace::{PERFETTO, TraceFormat};
///
/// static LINES: TraceFormat = TraceFormat::new("lines", |begin| begin.starts_with(b"ts,"));
/// assert_ne!(&LINES, PERFETTO);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TraceFormat {
    /// The text in the column `trace_type` of `trace_file`.
    pub name: &'static str,
    /// Whether a file that begins like this is in the format, after decompression. It gets the first 512 bytes, or
    /// fewer of a smaller file; of a text that begins with a brace or a bracket, up to 64 KiB.
    pub recognizes: fn(&[u8]) -> bool,
    /// Whether the times of a file are on a clock of the file's own, unless the file says more of it.
    pub has_own_clock: bool,
}

impl TraceFormat {
    /// A format with its name and the function that recognizes it.
    pub const fn new(name: &'static str, recognizes: fn(&[u8]) -> bool) -> Self {
        TraceFormat { name, recognizes, has_own_clock: false }
    }

    /// The same format, with times on a clock of each file's own.
    pub const fn with_own_clock(self) -> Self {
        TraceFormat { has_own_clock: true, ..self }
    }
}

impl PartialEq for TraceFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TraceFormat {}

/// Perfetto's format: a protobuf message `Trace`.
pub const PERFETTO: &TraceFormat =
    &TraceFormat::new("proto", |begin| begin.first() == Some(&PACKET));

/// The formats that an import reads. The first one that recognizes a file reads it.
pub type Formats = &'static [&'static TraceFormat];

/// The type of a file's contents; for a file that is compressed as a whole, the type of its
/// decompressed contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceType {
    /// A trace in this format.
    Trace(&'static TraceFormat),
    /// A manifest (rule X30).
    Manifest,
    /// A zip archive.
    Zip,
    /// A tar archive.
    Tar,
    /// Unknown or empty contents (rule X7).
    Unknown,
}

impl TraceType {
    /// The text in the column `trace_type` of `trace_file`.
    ///
    /// ```
    /// assert_eq!(timebase_trace::TraceType::Manifest.name(), "perfetto_manifest");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            TraceType::Trace(format) => format.name,
            TraceType::Manifest => "perfetto_manifest",
            TraceType::Zip => "zip",
            TraceType::Tar => "tar",
            TraceType::Unknown => "unknown",
        }
    }

    /// A trace in Perfetto's format.
    pub const PERFETTO: TraceType = TraceType::Trace(PERFETTO);

    /// The type for the first bytes. The checks have the order of rule X3.
    pub(super) fn of(head: &[u8], formats: Formats) -> TraceType {
        let format = || formats.iter().find(|format| (format.recognizes)(head));
        match archive(head) {
            Some(archive) => archive,
            None if is_manifest(head) => TraceType::Manifest,
            None => format().map_or(TraceType::Unknown, |format| TraceType::Trace(format)),
        }
    }

    /// The type of a file that is alone: if its type is unknown, it is read as a Perfetto trace, of which the begin
    /// may be damaged.
    pub(super) fn alone(head: &[u8], formats: Formats) -> TraceType {
        match TraceType::of(head, formats) {
            TraceType::Unknown => TraceType::PERFETTO,
            known => known,
        }
    }

    /// Whether it is a zip or a tar.
    pub(super) fn is_archive(self) -> bool {
        matches!(self, TraceType::Zip | TraceType::Tar)
    }
}

/// The type of archive that begins like this (rule X1).
pub(super) fn archive(head: &[u8]) -> Option<TraceType> {
    if head.get(257..262) == Some(b"ustar") {
        Some(TraceType::Tar)
    } else if head.starts_with(b"PK\x03\x04") {
        Some(TraceType::Zip)
    } else {
        None
    }
}

/// Whether a manifest begins like this.
pub(super) fn is_manifest(head: &[u8]) -> bool {
    let is_space = |byte: u8| byte.is_ascii_whitespace() || byte == 0x0b;
    let first = head.iter().take(128).filter(|&&byte| !is_space(byte));
    let mark = b"{\"perfetto_manifest\"";
    first.take(mark.len()).eq(mark)
}

/// The result of looking at one of several files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looked {
    pub content: TraceType,
    pub compression: Option<Compression>,
    pub is_database: bool,
}

impl Looked {
    /// Looks at the first bytes of a file.
    ///
    /// # Errors
    ///
    /// If reading fails. Damaged compression is no error: later reads show it.
    pub fn at(mut reader: impl Read, formats: Formats) -> io::Result<Looked> {
        let (head, error) = begin_of(&mut reader);
        failure(error)?;
        let is_database = head.starts_with(SQLITE);
        let compression = match archive(&head) {
            Some(_) => None,
            None => Compression::of(&head),
        };
        let content = match compression {
            None => TraceType::of(&head, formats),
            Some(compression) => {
                let whole = Cursor::new(head).chain(reader);
                let mut members = Members::new(whole, compression)?;
                match begin_of(&mut members) {
                    // Its type is unknown; its reader reports the damage.
                    (head, Some(error)) if head.is_empty() => {
                        failure(Some(error))?;
                        TraceType::PERFETTO
                    }
                    (head, _) => TraceType::of(&head, formats),
                }
            }
        };
        Ok(Looked { content, compression, is_database })
    }

    /// The place of its class in the order of processing (rule X4).
    pub fn class(&self) -> u8 {
        match (self.compression, self.content) {
            (Some(_), _) => 2,
            (None, TraceType::Manifest) => 0,
            (None, TraceType::Trace(_)) => 1,
            (None, _) => 3,
        }
    }
}

/// Whether an error means that the file cannot be read; not that it is damaged, or ends.
fn failure(error: Option<io::Error>) -> io::Result<()> {
    match error {
        Some(error)
            if !matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// The first bytes, and the error that stopped reading.
pub(super) fn begin_of(reader: &mut impl Read) -> (Vec<u8>, Option<io::Error>) {
    begin_until(reader, |_| false)
}

/// The same for a stream whose bytes may come late. If it begins with a packet, and is no text that
/// begins with an empty line, then it is no archive, and this does not wait for the rest. (In a
/// tar, the first file's name would begin with a line feed.)
pub(super) fn begin_of_stream(reader: &mut impl Read) -> (Vec<u8>, Option<io::Error>) {
    begin_until(reader, |head| {
        let is_text = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'{';
        head.first() == Some(&PACKET) && head.get(1).is_some_and(|byte| !is_text(byte))
    })
}

fn begin_until(
    reader: &mut impl Read,
    is_enough: impl Fn(&[u8]) -> bool,
) -> (Vec<u8>, Option<io::Error>) {
    let mut head = vec![0; HEAD];
    let mut size = 0;
    loop {
        if size == HEAD && may_be_json(&head) {
            head.resize(TEXT_HEAD, 0);
        }
        // The first read asks for as many bytes as an input does, because damaged compression gives
        // more to a caller that asks for less.
        let wanted = match size < SQLITE.len() {
            true => SQLITE.len(),
            false => head.len(),
        };
        let free = head.get_mut(size..wanted).unwrap_or_default();
        if free.is_empty() {
            return (head, None);
        }
        let error = match reader.read(free) {
            Ok(0) => None,
            Ok(read) => {
                size += read;
                let begins = head.get(..size).unwrap_or_default();
                if size >= SQLITE.len() && is_enough(begins) {
                    None
                } else {
                    continue;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Some(error),
        };
        head.truncate(size);
        return (head, error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(head: &[u8]) -> TraceType {
        TraceType::of(head, &[PERFETTO])
    }

    #[test]
    fn x3_what_a_member_is_follows_from_its_bytes_in_order() {
        let mut tar = vec![0; HEAD];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(of(&tar), TraceType::Tar);
        tar[..4].copy_from_slice(b"PK\x03\x04");
        assert_eq!(of(&tar), TraceType::Tar, "a tar before a zip");
        assert_eq!(of(b"PK\x03\x04"), TraceType::Zip);
        assert_eq!(of(b"PK\x05\x06"), TraceType::Unknown);
        assert_eq!(of(b"\n"), TraceType::PERFETTO);
        assert_eq!(of(b""), TraceType::Unknown);
        assert_eq!(of(b"\x1f\x8b\x08"), TraceType::Unknown);
    }

    #[test]
    fn x3_a_manifest_is_told_by_128_bytes_without_white_space() {
        let at = |spaces: usize| {
            let text = format!("{}{{ \"perfetto_\tmanifest\"", " ".repeat(spaces));
            of(text.as_bytes())
        };
        assert_eq!(at(0), TraceType::Manifest);
        assert_eq!(at(106), TraceType::Manifest);
        assert_eq!(at(107), TraceType::Unknown);
        assert_eq!(
            of(b"\n{\x0b\"perfetto_manifest\""),
            TraceType::Manifest,
            "before a trace, which begins with the same byte"
        );
        assert_eq!(of(b"{\"perfetto_manifes"), TraceType::Unknown);
        assert_eq!(of(b"{\"a\": \"perfetto_manifest\""), TraceType::Unknown);
    }
}

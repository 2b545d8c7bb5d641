//! The type of a file, by its first bytes: a database, a compressed file, and files that users
//! mistake for a trace.
//!
//! # Design
//!
//! Only a SQLite database is distinguished from a trace before reading: no trace can begin with its
//! 16 bytes (`S` is a tag with a wire type that F1 does not have). Archives are distinguished by
//! rule X1 (`inputs/content.rs`). Everything else is first read as a trace, and [`recognize`] names
//! its type if nothing in it was readable. The alternative was to look at the first bytes before;
//! but a packet may begin with any bytes, and a trace must not be refused because its first packet
//! looks like a text.
//!
//! The marks of tracing formats are here; the crate `infer` knows those of others (pictures,
//! archives).

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::memmem;
use timebase_descriptor::field::varint;

use crate::shape;
use crate::stream::PACKET;

pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];
pub(crate) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
pub(crate) const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// The number of bytes that shows the type of a file.
pub(crate) const HEAD: usize = 4096;

/// The type of the file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A SQLite database.
    Database,
    /// Anything else.
    Trace,
}

/// Distinguishes a database from a trace by the first bytes of the file.
///
/// # Errors
///
/// If the file cannot be read.
pub fn file_kind(path: &Path) -> io::Result<FileKind> {
    let mut head = Vec::new();
    File::open(path)?.take(SQLITE.len() as u64).read_to_end(&mut head)?;
    Ok(if head == SQLITE { FileKind::Database } else { FileKind::Trace })
}

/// The type of a file that is no trace, and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherFile {
    /// The type, with its article.
    pub what: String,
    /// The advice.
    pub remedy: Remedy,
    /// The reason why a text is no trace.
    pub lacks: Option<Lacks>,
    /// Whether the type is certain, although the file may look like packets or contain some.
    pub is_sure: bool,
}

impl OtherFile {
    fn new(what: impl Into<String>, remedy: Remedy) -> OtherFile {
        OtherFile { what: what.into(), remedy, lacks: None, is_sure: false }
    }
}

impl fmt::Display for OtherFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.what, self.remedy)
    }
}

/// The part of a trace that a text does not have, shown as the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lacks {
    /// An object without a member `traceEvents`.
    TraceEvents,
    /// An object whose member `traceEvents` is something else.
    Events,
    /// A list without events.
    Phase,
    /// A text in another encoding.
    Utf8,
}

impl fmt::Display for Lacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lacks::TraceEvents => "it has no list 'traceEvents'",
            Lacks::Events => "its 'traceEvents' is no list of events",
            Lacks::Phase => "no object at the begin of its list has a phase 'ph'",
            Lacks::Utf8 => "it is no text in UTF-8",
        })
    }
}

/// The advice for a file that is no trace. It is shown as a sentence without its period, to which a
/// program can add its own way to follow the advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Any other advice, as a sentence.
    Sentence(&'static str),
    /// Decompress it: it is a SQLite database, perhaps one that an import made.
    Database,
    /// Import a trace with it as a descriptor.
    Descriptor,
    /// Decompress it with another program.
    Decompress {
        /// The command that writes the contents of the file named after it to standard output.
        command: &'static str,
    },
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::Sentence(sentence) => f.write_str(sentence),
            Remedy::Database => f.write_str("Decompress it"),
            Remedy::Descriptor => f.write_str("Give it to the import of a trace"),
            Remedy::Decompress { command } => {
                write!(f, "Decompress it first: {command} FILE")
            }
        }
    }
}

/// Other formats of traces and profiles that have recognizable first bytes.
const MARKS: [(&[u8], &str); 16] = [
    (b"PERFILE2", "a recording of Linux perf (perf.data)"),
    (b"SIMPLEPERF", "a recording of simpleperf"),
    (b"\x10\x00\x04\x46\x78\x54\x16\x00", "a Fuchsia trace"),
    (b"\x17\x08\x44tracing", "a recording of trace-cmd (trace.dat)"),
    (b"JAVA PROFILE 1.0", "a Java heap dump (hprof)"),
    (b"*version\n", "a method trace of Android's runtime"),
    (b"SLOW", "a method trace of Android's runtime"),
    (b"\xd4\xc3\xb2\xa1", PCAP),
    (b"\xa1\xb2\xc3\xd4", PCAP),
    (b"\x4d\x3c\xb2\xa1", PCAP),
    (b"\xa1\xb2\x3c\x4d", PCAP),
    (b"\x0a\x0d\x0d\x0a", PCAP),
    (b"# ninja log", "a log of ninja"),
    (b"\xc1\x1f\xfc\xc1", "a trace in the Common Trace Format"),
    (b"TRACE:", "a compressed recording of atrace"),
    (b"--------- beginning of ", "an Android log as text"),
];

const PCAP: &str = "a capture of network packets (pcap)";

const CHROME_JSON: &str = "a trace in Chrome's JSON format";

const JSON: Remedy = Remedy::Sentence(
    "A trace in Chrome's JSON format is an object with a list 'traceEvents', or a list of objects with a phase 'ph'",
);

/// A text in another encoding than UTF-8.
const UTF_16: Remedy =
    Remedy::Sentence("Convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8 FILE > trace.json");

const NOT_PERFETTO: Remedy =
    Remedy::Sentence("timebase reads what Perfetto records; ui.perfetto.dev may show this one");

/// The text format of protobuf has the names of fields.
const PBTXT: Remedy = Remedy::Sentence("Encode it first: traceconv binary FILE trace.pftrace");

/// The type of a file without anything readable as a trace, by its first bytes; `None` if they show
/// nothing.
///
/// ```
/// let other = timebase_trace::recognize(br#"{"traceEvents": []}"#).unwrap();
/// assert_eq!(other.what, "a trace in Chrome's JSON format");
/// ```
pub fn recognize(head: &[u8]) -> Option<OtherFile> {
    if let Some((_, what)) = MARKS.iter().find(|(mark, _)| head.starts_with(mark)) {
        return Some(OtherFile::new(*what, NOT_PERFETTO));
    }
    let known = archive(head).or_else(|| utf_16(head)).or_else(|| text(head));
    known.or_else(|| bare_packets(head)).or_else(|| {
        let found = infer::get(head)?;
        Some(OtherFile::new(format!("a file of the type {}", found.mime_type()), EXPECTED))
    })
}

/// The messages of a `Trace` without the tag that each of them has there, by a program that wrote the packets
/// themselves.
fn bare_packets(head: &[u8]) -> Option<OtherFile> {
    const EACH: Remedy = Remedy::Sentence(
        "In a trace, each packet follows the byte 0x0a and its length as a varint, because a trace is a message Trace \
         whose field 1 repeats. Write the packets in this way",
    );
    let what = match is_packet(head, head.len() < HEAD) {
        true => "a TracePacket by itself",
        // As `writeDelimitedTo` writes messages.
        false => {
            let (size, length) = varint(head).ok()??;
            let packet = head.get(length..)?;
            let size = usize::try_from(size).ok()?;
            let is_whole = size <= packet.len();
            let packet = packet.get(..size).unwrap_or(packet);
            if !is_packet(packet, is_whole) {
                return None;
            }
            "a series of TracePackets with their lengths, but without their tags"
        }
    };
    Some(OtherFile::new(what, EACH))
}

/// Whether bytes have the shape of a packet (rule Z2) with a time or a writer, and with contents.
fn is_packet(bytes: &[u8], is_whole: bool) -> bool {
    /// The number of fields that may be checked.
    const WORK: u64 = 10_000;
    let mut work = WORK;
    let evidence = shape::packet(bytes, is_whole, &mut work);
    evidence.is_some_and(|evidence| evidence.identified && evidence.known > 1)
}

const EXPECTED: Remedy = Remedy::Sentence(
    "Expected a trace of Perfetto (.pftrace, .perfetto-trace) or in Chrome's JSON format (.json), optionally compressed with gzip or zstd",
);

/// The facts for an archive that was not opened as one.
const ARCHIVE: Remedy = Remedy::Sentence(
    "Import it as a file of its own, compressed once at most: the traces in it are imported together",
);

/// A container that may hold a trace.
fn archive(head: &[u8]) -> Option<OtherFile> {
    let surely = |other: OtherFile| OtherFile { is_sure: true, ..other };
    if head.starts_with(SQLITE) {
        return Some(surely(OtherFile::new("a SQLite database", Remedy::Database)));
    }
    if head.starts_with(b"PK\x03\x04") {
        return Some(surely(zip(head)));
    }
    if is_descriptor(head) {
        let what = "a schema of protobuf messages (FileDescriptorSet)";
        return Some(surely(OtherFile::new(what, Remedy::Descriptor)));
    }
    if head.starts_with(&GZIP) || head.starts_with(&ZSTD) {
        let once = "Decompress it once; compressed once, a trace is read as it is";
        return Some(OtherFile::new("compressed a second time", Remedy::Sentence(once)));
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some(surely(OtherFile::new("a tar archive", ARCHIVE)));
    }
    let programs: [(&[u8], &str, &str); 4] = [
        (b"\xfd7zXZ\0", "xz", "xz -dc"),
        (b"BZh", "bzip2", "bzip2 -dc"),
        (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip", "7z e -so"),
    ];
    let (_, name, command) = programs.iter().find(|(mark, ..)| head.starts_with(mark))?;
    Some(OtherFile::new(format!("compressed with {name}"), Remedy::Decompress { command }))
}

/// A list of files, which begins with the name of the first.
fn is_descriptor(head: &[u8]) -> bool {
    let name = || {
        let (_, length) = varint(head.strip_prefix(&[PACKET])?).ok()??;
        let file = head.get(1 + length..)?.strip_prefix(&[PACKET])?;
        let (size, length) = varint(file).ok()??;
        file.get(length..)?.get(..usize::try_from(size).ok()?)
    };
    name().is_some_and(|name| memmem::find(name, b".proto").is_some())
}

/// A zip archive: its first entry shows its origin.
fn zip(head: &[u8]) -> OtherFile {
    let length = |at: usize| {
        let bytes = head.get(at..at + 2)?.try_into().ok()?;
        Some(usize::from(u16::from_le_bytes(bytes)))
    };
    let name = length(26).and_then(|length| head.get(30..30 + length));
    let name = name.and_then(|name| std::str::from_utf8(name).ok());
    let name = name.filter(|name| !name.is_empty() && !name.contains(char::is_control));
    let is_report = name.is_some_and(|name| {
        ["version.txt", "main_entry.txt", "dumpstate_log"].contains(&name)
            || name.starts_with("FS/")
            || name.starts_with("bugreport-")
    });
    if is_report {
        return OtherFile::new("an Android bug report (zip)", ARCHIVE);
    }
    let what = match name {
        Some(name) => format!("a zip archive, whose first file is '{name}'"),
        None => "a zip archive".to_owned(),
    };
    OtherFile::new(what, ARCHIVE)
}

/// A text in UTF-16: it begins with a byte order mark, or with a brace or a bracket of two bytes.
fn utf_16(head: &[u8]) -> Option<OtherFile> {
    let is_utf_16 = match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [b'{' | b'[', 0, next, 0, ..] | [0, b'{' | b'[', 0, next, ..] => *next != 0,
        _ => false,
    };
    is_utf_16
        .then(|| OtherFile { lacks: Some(Lacks::Utf8), ..OtherFile::new("text in UTF-16", UTF_16) })
}

fn text(head: &[u8]) -> Option<OtherFile> {
    let text = as_text(head)?;
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let has = |word: &str| text.contains(word);
    let lower = start.get(..15).unwrap_or(start).to_ascii_lowercase();
    let other = if begins_json(start) {
        let json = if has("\"traceEvents\"") || (start.starts_with('[') && has("\"ph\"")) {
            OtherFile::new(
                CHROME_JSON,
                Remedy::Sentence("timebase imports such a trace if an event in it can be read"),
            )
        } else if has("\"preprocessedProfileVersion\"")
            || (has("\"meta\"") && has("\"processType\""))
        {
            OtherFile::new(
                "a profile of Firefox",
                Remedy::Sentence(
                    "timebase reads what Perfetto records; profiler.firefox.com shows this one",
                ),
            )
        } else {
            OtherFile::new("JSON", JSON)
        };
        let lacks = match (start.starts_with('['), has("\"traceEvents\"")) {
            (true, _) => Lacks::Phase,
            (false, true) => Lacks::Events,
            (false, false) => Lacks::TraceEvents,
        };
        OtherFile { lacks: Some(lacks), ..json }
    } else if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        let marks = ["Android System Trace", "trace-viewer", "trace_viewer", "\"trace-data\""];
        if marks.into_iter().any(has) {
            OtherFile::new(
                "a systrace report (a web page with the kernel's trace as text)",
                Remedy::Sentence(
                    "timebase reads what Perfetto records: record the same events with perfetto or ui.perfetto.dev, which also shows this one",
                ),
            )
        } else {
            OtherFile::new(
                "a web page",
                Remedy::Sentence(
                    "Was it downloaded? Then the address may need a login, or lead to a page about the file",
                ),
            )
        }
    } else if lower.starts_with("<?xml") {
        OtherFile::new("XML", EXPECTED)
    } else if start.starts_with("# tracer:") {
        OtherFile::new(
            "the kernel's trace as text (ftrace, systrace)",
            Remedy::Sentence(
                "timebase reads what Perfetto records: record the same events with perfetto or tracebox",
            ),
        )
    } else if is_text_packet(start) {
        OtherFile::new("a trace in protobuf's text format (.pbtxt)", PBTXT)
    } else if has("data_sources") || (has("buffers") && (has("size_kb") || has("fill_policy"))) {
        OtherFile::new(
            "a configuration for a recording, as text",
            Remedy::Sentence("Record with it first: perfetto --txt -c FILE -o trace.pftrace"),
        )
    } else {
        OtherFile::new("text", EXPECTED)
    };
    Some(other)
}

/// Whether a text begins with a packet in protobuf's text format: `packet {`, after comments.
fn is_text_packet(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let rest = first.and_then(|line| line.strip_prefix("packet"));
    let rest = rest.map(|rest| rest.trim_start());
    rest.is_some_and(|rest| rest.trim_start_matches(':').trim_start().starts_with(['{', '<']))
}

/// Whether a text begins like an object or an array. A section of a configuration is also in
/// brackets.
fn begins_json(text: &str) -> bool {
    let Some(inside) = text.strip_prefix(['{', '[']) else {
        return false;
    };
    let is_first = |c: char| c.is_ascii_digit() || matches!(c, '"' | '{' | '}' | '[' | ']' | '-');
    inside.trim_start().starts_with(is_first)
}

/// The bytes, if they are text, except for a character that is cut at their end.
fn as_text(head: &[u8]) -> Option<&str> {
    // A shorter text may be the beginning of a trace by chance. No field of a trace begins with a brace or a bracket.
    let shortest = if matches!(head.first(), Some(b'{' | b'[')) { 2 } else { 8 };
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(head.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let is_text = |c: char| !c.is_control() || c.is_ascii_whitespace();
    (text.len() >= shortest && text.chars().all(is_text)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(head: &[u8]) -> Option<String> {
        recognize(head).map(|other| other.what)
    }

    #[test]
    fn what_says_nothing_is_not_named() {
        assert_eq!(what(b""), None);
        assert_eq!(what(b"\n\x04ab"), None, "shorter than any text");
        assert_eq!(what(&[0x0a, 2, 0x58, 1, 0x0a, 2, 0x58, 2]), None);
        assert_eq!(what(b"text and \xff more"), None);
    }

    #[test]
    fn a_text_may_be_cut_in_the_middle_of_a_character() {
        assert_eq!(what(b"some text \xe2\x82").as_deref(), Some("text"));
        let json = "\u{feff}\n {\"a\": 1}";
        assert_eq!(what(json.as_bytes()).as_deref(), Some("JSON"));
    }

    #[test]
    fn brackets_alone_are_no_json() {
        assert_eq!(what(b"[workspace]\nmembers = []").as_deref(), Some("text"));
        assert_eq!(what(b"[ {\"a\": 1}, 2]").as_deref(), Some("JSON"));
        assert_eq!(what(b"[\n  1, 2, 3]").as_deref(), Some("JSON"));
        assert_eq!(what(b"{}").as_deref(), Some("JSON"));
    }

    #[test]
    fn json_that_is_no_trace_says_what_it_lacks() {
        let lacks = |head: &[u8]| recognize(head).and_then(|other| other.lacks);
        assert_eq!(lacks(b"{\"name\": \"app\"}"), Some(Lacks::TraceEvents));
        assert_eq!(lacks(b"{\"traceEvents\": {}}"), Some(Lacks::Events));
        assert_eq!(lacks(b"[1, 2]"), Some(Lacks::Phase));
        assert_eq!(lacks(b"[workspace]"), None);
    }

    #[test]
    fn text_in_utf_16_is_told_by_its_mark_or_its_brace() {
        for head in [&b"\xff\xfe{\0"[..], b"\xfe\xff\0{", b"{\0\"\0", b"\0[\0{", b"[\0\n\0"] {
            assert_eq!(what(head).as_deref(), Some("text in UTF-16"), "{head:?}");
        }
        for head in [&b"{\0\0\0"[..], b"\0\0\0{", b"{\0"] {
            assert_eq!(what(head), None, "{head:?}");
        }
    }

    #[test]
    fn packets_without_their_tags_are_told_from_other_bytes() {
        // timestamp, trusted_packet_sequence_id, and an empty track_event
        let packet = [0x40, 1, 0x50, 2, 0x5a, 0];
        let bare = Some("a TracePacket by itself");
        assert_eq!(what(&packet).as_deref(), bare);
        assert_eq!(what(&packet.repeat(2000)[..HEAD]).as_deref(), bare);
        let delimited = [&[6][..], &packet, &[6], &packet].concat();
        assert_eq!(
            what(&delimited).as_deref(),
            Some("a series of TracePackets with their lengths, but without their tags")
        );
        for other in
            [&packet[..5], &[0x40, 1], &[0x5a, 0], &[5, 0x40, 1, 0x50, 2, 0x5a], &[0x0f; 40]]
        {
            assert_eq!(what(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_text_of_packets_is_told_from_a_configuration() {
        let pbtxt = Some("a trace in protobuf's text format (.pbtxt)");
        for text in [
            "# recorded\n\npacket: {\n  trace_config { buffers { size_kb: 4 } }\n}",
            "packet {timestamp: 1}",
            "packet <\n timestamp: 1 >",
        ] {
            assert_eq!(what(text.as_bytes()).as_deref(), pbtxt, "{text}");
        }
        assert_eq!(what(b"packet loss was seen").as_deref(), Some("text"));
    }

    #[test]
    fn a_damaged_zip_is_a_zip() {
        for name in [&b""[..], b"\xff\xff", b"\x04\0\0\0"] {
            let head = [&b"PK\x03\x04"[..], &[0; 22], name].concat();
            assert_eq!(what(&head).as_deref(), Some("a zip archive"));
        }
    }
}

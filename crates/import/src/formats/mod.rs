//! The formats of traces that an import reads.
//!
//! # Design
//!
//! A format turns the bytes of a file into records and events. A record is a row of `packet` with its place in time;
//! whatever is known of a packet (its path over snapshots, its doubt, the damage around it) is known of the records of all
//! formats. An event is the same compact form that a track event of Perfetto has (`timeline/track_event.rs`), so
//! everything after the timeline (threads, tracks, slices, flows, arguments, rows) knows no formats. Only JSON has an
//! event (`timeline/json_event.rs`) and a tracker (`trackers/json`) of its own.
//!
//! A record that is no packet gets the header of a packet that has only a time and a clock. The alternatives were to convert
//! other formats into packets, which would be parsed again, and to put the place in time behind a trait: for one
//! more form of a header, each packet would take an indirect call.
//!
//! To add a format: a folder or a file here with a type that implements [`Format`], and a line in [`READERS`]. `csv.rs` is an
//! example, for tests only. So are the methods of `PlacedRecord` that it calls: the first format that needs them
//! removes their `cfg(test)`. ARCHITECTURE.md has all steps.

mod ahead;
#[cfg(test)]
mod csv;
mod json;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::io::{self, Read};

use timebase_trace::{End, Formats, PERFETTO, TraceFormat, TraceType};

pub(crate) use self::session::FileSession;

/// A format of traces.
pub(crate) trait Format {
    /// Its name, and how its files are recognized.
    const FORMAT: &'static TraceFormat;

    /// Reads a file to its end, or until nobody wants more rows. Bytes without records are no error, but
    /// damage that the session notes.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written, or the import needs too much memory.
    fn read(input: &mut (dyn Read + Send), session: &mut FileSession<'_, '_>) -> io::Result<End>;

    /// Reads a file for its statements about clocks only, before the import reads it. Rows are dropped.
    ///
    /// # Errors
    ///
    /// The errors of [`Format::read`].
    fn survey(input: &mut (dyn Read + Send), session: &mut FileSession<'_, '_>) -> io::Result<End> {
        Self::read(input, session)
    }
}

/// Perfetto's format. The frame reads it (`frame.rs`).
struct Perfetto;

impl Format for Perfetto {
    const FORMAT: &'static TraceFormat = PERFETTO;

    fn read(input: &mut (dyn Read + Send), session: &mut FileSession<'_, '_>) -> io::Result<End> {
        ahead::read(input, |input| session.frame.read_file(input, session.rows))
    }

    fn survey(input: &mut (dyn Read + Send), session: &mut FileSession<'_, '_>) -> io::Result<End> {
        ahead::read(input, |input| {
            let kept = session.kept.as_deref_mut();
            session.frame.survey_file(input, kept, session.rows)
        })
    }
}

type ReadFile = fn(&mut (dyn Read + Send), &mut FileSession<'_, '_>) -> io::Result<End>;

/// The functions of a format.
struct Reader {
    format: &'static TraceFormat,
    read: ReadFile,
    survey: ReadFile,
}

const fn reader<F: Format>() -> Reader {
    Reader { format: F::FORMAT, read: F::read, survey: F::survey }
}

/// All formats: a line for each.
const READERS: &[Reader] = &[
    // A text may begin with the byte that begins a packet.
    reader::<json::Json>(),
    reader::<Perfetto>(),
    #[cfg(test)]
    reader::<csv::Csv>(),
];

/// The formats that the import recognizes.
pub static FORMATS: Formats = &{
    let mut formats = [PERFETTO; READERS.len()];
    let mut number = 0;
    while number < formats.len() {
        formats[number] = READERS[number].format;
        number += 1;
    }
    formats
};

/// Reads a file of this type for the import, or only for its clocks.
///
/// # Errors
///
/// The errors of [`Format::read`].
pub(crate) fn read(
    kind: TraceType,
    is_survey: bool,
    input: &mut (dyn Read + Send),
    session: &mut FileSession<'_, '_>,
) -> io::Result<End> {
    let reader = READERS.iter().find(|reader| TraceType::Trace(reader.format) == kind);
    match reader {
        Some(reader) if is_survey => (reader.survey)(input, session),
        Some(reader) => (reader.read)(input, session),
        None => Ok(End::Complete),
    }
}

//! Parts of an import by themselves, for the benchmarks and fuzzers of this repository.
//!
//! Decoding and writing overlap, so the time of one import does not show the time of each. An import without rows has no use
//! outside of this repository. The benchmark measures the stages before the rows with `timebase-trace`, as anyone can. The
//! alternative was to read the clock around every stage of every packet: that takes about as long as the stages of a small
//! packet.

use std::path::Path;
use std::time::{Duration, Instant};

use timebase_store::sort::Scratch;
use timebase_trace::{Monitor, Source};

use crate::error::Error;
use crate::import::{self, Stopwatch};
use crate::limits::Limits;
use crate::options::Options;
use crate::pipeline::{self, Broken};
use crate::readers::PacketSchema;
use crate::summary::Summary;

/// An import whose parts were timed.
#[derive(Debug, Clone)]
pub struct Timed {
    /// The time for making rows into pages, and for writing these.
    pub writing: Duration,
    /// The time after the last batch of rows: indexes, late rows, and the sync of the file.
    pub finishing: Duration,
    /// The summary of the import.
    pub summary: Summary,
}

/// Imports a trace as [`import()`](crate::import()) does, and times the parts that come after the rows.
///
/// ```
/// use timebase_import::{Options, Source, stages};
///
/// let trace = Source::File("../../tests/data/sdk.pftrace".into());
/// let dir = tempfile::tempdir()?;
/// let begun = std::time::Instant::now();
/// let timed = stages::timed(&trace, &dir.path().join("a.db"), &Options::default())?;
/// assert!(timed.writing + timed.finishing < begun.elapsed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As those of [`import()`](crate::import()).
pub fn timed(source: &Source, destination: &Path, options: &Options) -> Result<Timed, Error> {
    let mut stopwatch = Stopwatch::default();
    let summary = import::timed(
        std::slice::from_ref(source),
        destination,
        options,
        &Monitor::default(),
        &mut stopwatch,
    )?;
    Ok(Timed {
        writing: stopwatch.writing,
        finishing: stopwatch.last_batch.map_or(Duration::ZERO, |last| last.elapsed()),
        summary,
    })
}

/// Imports a source without keeping its rows, and returns how long that took. It runs all code that depends on
/// the content of a trace, in a tenth of the time that a small trace takes otherwise.
///
/// ```
/// use timebase_import::{Options, Source, stages};
///
/// let trace = Source::File("../../tests/data/sdk.pftrace".into());
/// let dir = tempfile::tempdir()?; // for temporary files
/// stages::thrown_away(&trace, dir.path(), &Options::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As those of [`import()`](crate::import()) that concern the source.
pub fn thrown_away(
    source: &Source,
    directory: &Path,
    options: &Options,
) -> Result<Duration, Error> {
    let monitor = Monitor::default();
    let begun = Instant::now();
    let limits = Limits::new(options);
    let scratch = Scratch::new(directory, &limits.disk);
    let mut files = import::open(std::slice::from_ref(source), options, &scratch, &monitor)?;
    let schema = PacketSchema::new(&options.descriptors)?;
    let frame = import::frame(schema, options, &scratch, &limits, None);
    let wanted = frame.wanted().clone();
    let read = pipeline::both(
        frame,
        wanted,
        &monitor,
        |_| Ok(()),
        |frame, rows| pipeline::read_all(&mut files, frame, rows),
    );
    match read.and_then(|(_, read, _)| read) {
        Ok(_) => Ok(begun.elapsed()),
        Err(Broken::Source(error)) => Err(error.into()),
        Err(Broken::Refused(refused)) => Err(Error::Manifest(refused)),
        Err(Broken::Write(_) | Broken::Read) => Err(Error::Stopped),
    }
}

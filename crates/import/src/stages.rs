//! Parts of an import by themselves, for the benchmarks and fuzzers of this repository.
//!
//! Decoding and writing overlap, so one import cannot tell what each takes, and nothing that is public has rows that go
//! nowhere: a trace cannot be refused by its rows, so nobody else has a use for them. What comes before rows is measured by
//! `timebase-trace`, as anyone can. To read the clock around every stage of every packet was the alternative: it takes about as
//! long as the stages of a small packet.

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
    /// Rows were made into pages, and pages written.
    pub writing: Duration,
    /// What was left when the last row was written: indexes, the rows of what is
    /// known only then, and the file's way to the disk.
    pub finishing: Duration,
    /// What the import did.
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
        finishing: stopwatch
            .last_batch
            .map_or(Duration::ZERO, |last| last.elapsed()),
        summary,
    })
}

/// Goes through the source as an import does, but for its rows, which are thrown
/// away: all of an import that depends on what is in a trace, in a tenth of the time of
/// one of a small trace. Tells how long it took.
///
/// ```
/// use timebase_import::{Options, Source, stages};
///
/// let trace = Source::File("../../tests/data/sdk.pftrace".into());
/// let dir = tempfile::tempdir()?; // for what is put aside
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
    match pipeline::run(&mut files, frame, &monitor, |_| Ok(())) {
        Ok(_) => Ok(begun.elapsed()),
        Err(Broken::Source(error)) => Err(error.into()),
        Err(Broken::Refused(refused)) => Err(Error::Manifest(refused)),
        Err(Broken::Write(_) | Broken::Read) => Err(Error::Stopped),
    }
}

//! Where the time of an import goes.
//!
//! Decoding and writing overlap, so one import cannot tell. The trace is gone
//! through four times, each time with one stage more, and a stage is the
//! difference. To read the clock around every stage of every packet was the
//! alternative: it takes about as long as the stages of a small packet.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use timebase_store::sort::Scratch;
use timebase_trace::{Input, Monitor, PacketStream, Packets, Payload, Source};

use crate::error::Error;
use crate::import::{self, Stopwatch};
use crate::limits::Limits;
use crate::options::Options;
use crate::pipeline::{self, Broken};
use crate::readers::PacketSchema;
use crate::summary::Summary;

/// How long the stages of an import take, each by itself.
#[derive(Debug, Clone)]
pub struct Stages {
    /// Bytes are read, hashed, decompressed if the file is compressed as a
    /// whole, and split into packets.
    pub reading: Duration,
    /// Compressed packets are decompressed, and the headers of all are read.
    pub decoding: Duration,
    /// All else that the decoding thread does: packets, and the events in them,
    /// are placed on trace time and made into rows.
    pub resolving: Duration,
    /// Rows are made into pages, and pages written.
    pub writing: Duration,
    /// What is left when the last row is written: indexes, the rows of what is
    /// known only then, and the file's way to the disk.
    pub finishing: Duration,
    /// The whole import, in which the first three stages and writing overlap.
    pub import: Duration,
    /// What it did.
    pub summary: Summary,
}

/// Measures the stages of the import of a trace file, in about three times as
/// long as the import takes. The database is made in `directory`, and removed.
/// What is still on the disk and not in memory costs the first stage more than
/// it would cost the import.
///
/// ```
/// use timebase_import::{Options, stages};
///
/// let trace = "../../tests/data/sdk.pftrace".as_ref();
/// let dir = tempfile::tempdir()?;
/// let stages = stages(trace, dir.path(), &Options::default())?;
/// let each = stages.resolving.as_secs_f64() / stages.summary.packets as f64;
/// println!("{:.0} ns a packet", each * 1e9);
/// assert!(stages.writing + stages.finishing < stages.import);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As those of [`import()`](crate::import).
pub fn stages(trace: &Path, directory: &Path, options: &Options) -> Result<Stages, Error> {
    let source = Source::File(trace.into());
    let read = through(&source, |input| {
        let mut stream = PacketStream::new(&mut input.reader);
        while !matches!(stream.next(), Ok(None)) {}
    })?;
    let decoded = through(&source, |input| {
        let mut packets = Packets::new(&mut input.reader);
        packets.for_each(|found| {
            std::hint::black_box(found);
            ControlFlow::Continue(Payload::Sound)
        });
    })?;
    let resolved = thrown_away(&source, directory, options)?;

    let create = |error| Error::Create {
        path: directory.into(),
        error,
    };
    let directory = tempfile::tempdir_in(directory).map_err(create)?;
    let database = directory.path().join("stages.db");
    let mut stopwatch = Stopwatch::default();
    let monitor = Monitor::default();
    let begun = Instant::now();
    let summary = import::timed(
        std::slice::from_ref(&source),
        &database,
        options,
        &monitor,
        &mut stopwatch,
    )?;
    Ok(Stages {
        reading: read,
        decoding: decoded.saturating_sub(read),
        resolving: resolved.saturating_sub(decoded),
        writing: stopwatch.writing,
        finishing: stopwatch
            .last_batch
            .map_or(Duration::ZERO, |last| last.elapsed()),
        import: begun.elapsed(),
        summary,
    })
}

/// Goes through the source as an import does, but for its rows, which are thrown
/// away: all of an import that depends on what is in a trace, in a tenth of the time of
/// one of a small trace. Tells how long it took.
///
/// ```
/// use timebase_import::{Options, Source, thrown_away};
///
/// let trace = Source::File("../../tests/data/sdk.pftrace".into());
/// let dir = tempfile::tempdir()?; // for what is put aside
/// thrown_away(&trace, dir.path(), &Options::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As those of [`import()`](crate::import) that concern the source.
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

/// Opens the source, goes through it, and tells how long it took.
fn through(source: &Source, go: impl FnOnce(&mut Input<'_>)) -> Result<Duration, Error> {
    let monitor = Monitor::default();
    let begun = Instant::now();
    let mut input = Input::open(source, &monitor)?;
    go(&mut input);
    if let Some(failure) = input.failed() {
        return Err(failure.into());
    }
    input.digest();
    Ok(begun.elapsed())
}

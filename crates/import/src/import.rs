//! An import from its beginning to its end: the order in which everything is done.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use timebase_trace::{End, Input, Monitor, Source, SourceError};

use crate::describe::{describe, summarize};
use crate::error::{Error, WriteError};
use crate::frame::{Frame, Keep};
use crate::identity::check_database;
use crate::options::Options;
use crate::output::{self, Destination, KeyedRow, Message, SettledRows, Severity, Writer};
use crate::pipeline::{self, Broken, Read};
use crate::readers::PacketSchema;
use crate::subjects::Wanted;
use crate::summary::Summary;
use crate::verdict::ReadTrace;

/// What an import notes of its own time.
#[derive(Default)]
pub(crate) struct Stopwatch {
    /// Sum of what the batches of rows took to be written.
    pub writing: Duration,
    /// When the last of them was.
    pub last_batch: Option<Instant>,
}

/// Imports a trace into a new database. The crate has an example.
///
/// The database appears at `destination` when it is complete, or not at all.
///
/// # Errors
///
/// [`Error`] says for the user what was wrong with which file. Damage inside a
/// trace is an error only with [`Options::strict`] or if nothing of it could be
/// read; otherwise it is in [`Summary::warnings`] and the table `import_log`.
pub fn import(
    source: &Source,
    destination: &Path,
    options: &Options,
    monitor: &Monitor,
) -> Result<Summary, Error> {
    let mut stopwatch = Stopwatch::default();
    timed(source, destination, options, monitor, &mut stopwatch)
}

pub(crate) fn timed(
    source: &Source,
    destination: &Path,
    options: &Options,
    monitor: &Monitor,
    stopwatch: &mut Stopwatch,
) -> Result<Summary, Error> {
    let cancelled = || monitor.cancel.load(Ordering::Relaxed);
    let mut input = open(source, monitor)?;
    let schema = PacketSchema::new(&options.descriptors)?;
    let destination = Destination::create(destination, options.overwrite)?;
    let failed = |error: WriteError| destination.write_error(error);
    let mut writer = writer(&destination)?;

    let frame = frame(schema, options, destination.directory());
    let read = pipeline::run(&mut input, frame, monitor, |batch| {
        let begun = Instant::now();
        writer.write(batch)?;
        stopwatch.writing += begun.elapsed();
        Ok(())
    });
    stopwatch.last_batch = Some(Instant::now());
    let Read {
        mut frame,
        end,
        settled,
        rows,
    } = read.map_err(|broken| match broken {
        Broken::Write(error) => failed(error),
        Broken::Read => Error::Stopped,
    })?;
    if cancelled() {
        return Err(Error::Cancelled);
    }
    if let Some(failure) = input.failure(source) {
        return Err(failure.into());
    }
    // What is refused is refused before the indexes are made.
    let mut trace = ReadTrace {
        source,
        rows,
        strict: options.strict,
        compression: input.compression(),
        other: None,
    };
    if trace.is_unread(&frame) {
        trace.other = input.recognize();
    }
    let damage = match end {
        End::Complete => {
            if input.is_empty() {
                return Err(SourceError::Empty {
                    source_name: source.to_string(),
                }
                .into());
            }
            trace.emptiness()?;
            None
        }
        End::Damaged(damage) => Some(trace.damage(&damage, &frame)?),
        End::Stopped => return Err(Error::Stopped),
    };
    let mut warnings = Vec::new();
    warnings.extend(damage.iter().map(|said| format!("{source}: {}", said.text)));
    warnings.extend(trace.corruption(&frame)?);

    let finishing = Finishing {
        destination: &destination,
        cancelled: &cancelled,
    };
    let conn = finishing.run(writer, &mut frame, settled, damage.as_ref())?;
    let digest = input.digest();
    let summarized = summarize(&conn, &mut frame, &trace)
        .and_then(|summary| describe(&conn, &digest, &frame, &trace, &summary).map(|()| summary));
    let mut summary = summarized.map_err(|error| failed(error.into()))?;
    let closed = conn
        .execute_batch("COMMIT")
        .and_then(|()| conn.close().map_err(|(_, error)| error));
    closed.map_err(|error| failed(error.into()))?;
    if cancelled() {
        return Err(Error::Cancelled);
    }
    summary.source_bytes = digest.size;
    summary.warnings = warnings;
    summary.database_bytes = destination.complete()?;
    Ok(summary)
}

/// Opens the source.
pub(crate) fn open<'a>(source: &Source, monitor: &'a Monitor) -> Result<Input<'a>, Error> {
    Input::open(source, monitor).map_err(|error| {
        let cancelled = monitor.cancel.load(Ordering::Relaxed);
        match (error, source) {
            _ if cancelled => Error::Cancelled,
            (SourceError::IsDatabase { .. }, Source::File(path)) if !is_ours(path) => {
                Error::ImportsForeignDatabase { path: path.clone() }
            }
            (error, _) => error.into(),
        }
    })
}

/// Whether timebase made a database, be it another version.
fn is_ours(path: &Path) -> bool {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let checked = conn.map(|conn| check_database(&conn));
    !matches!(checked, Ok(Err(Error::ForeignDatabase { .. })))
}

/// A trace of which nothing was read.
pub(crate) fn frame(schema: PacketSchema, options: &Options, directory: &Path) -> Frame {
    let keep = Keep {
        data: options.keep_data,
        events: Wanted::of(&options.subjects),
    };
    Frame::new(schema, keep, directory)
}

/// A writer of an empty database with its tables.
fn writer(destination: &Destination) -> Result<Writer, Error> {
    let failed = |error: WriteError| destination.write_error(error);
    let conn = destination.open()?;
    let roots = output::create(&conn).map_err(|error| failed(error.into()))?;
    conn.close()
        .map_err(|(_, error)| failed(error.into()))
        .and_then(|()| {
            Writer::new(destination.file(), roots, destination.directory()).map_err(failed)
        })
}

/// Everything that needs the whole trace.
struct Finishing<'a> {
    destination: &'a Destination,
    cancelled: &'a dyn Fn() -> bool,
}

impl Finishing<'_> {
    fn run(
        &self,
        writer: Writer,
        frame: &mut Frame,
        settled: SettledRows,
        damage: Option<&Message>,
    ) -> Result<Connection, Error> {
        let failed = |error: WriteError| self.destination.write_error(error);
        let place = &mut frame.place;
        let built = writer
            .finish(frame.journal.waiting())
            .and_then(|(mut steps, rest)| {
                let far = output::mappings(&mut steps, place)?;
                steps.finish()?;
                Ok((rest, far))
            });
        let (rest, far) = built.map_err(failed)?;
        let conn = self.destination.open()?;
        let late = || -> Result<bool, WriteError> {
            output::resume(&conn)?;
            let indexes = output::drop_indexes(&conn, &rest.postponed)?;
            if let Some(message) = damage {
                message.insert(&conn)?;
            }
            KeyedRow::insert_all(&rest.keyed, &conn)?;
            settled.apply(&conn)?;
            if (self.cancelled)() {
                return Ok(false);
            }
            for far in &far {
                output::used_steps(&conn, place, far)?;
            }
            if !far.is_empty() {
                bounded().insert(&conn)?;
            }
            output::indexes_and_views(&conn, &indexes)?;
            Ok(!(self.cancelled)())
        };
        match late().map_err(failed)? {
            true => Ok(conn),
            false => Err(Error::Cancelled),
        }
    }
}

/// That `clock_mapping` is not whole.
fn bounded() -> Message {
    Message {
        severity: Severity::Info,
        code: "clock_mapping_bounded",
        packet_id: None,
        offset: None,
        text: "clock_mapping holds, for clocks of several hops, only the steps that readings \
               of their packets fall in"
            .into(),
    }
}

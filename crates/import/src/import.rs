//! An import from its beginning to its end: the order in which everything is done.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use timebase_sort::Scratch;
use timebase_trace::{End, Input, Monitor, Source, SourceError};

use crate::describe::{describe, summarize};
use crate::error::{Error, HowFar, WriteError};
use crate::frame::{Frame, Keep};
use crate::identity::check_database;
use crate::limits::Limits;
use crate::options::{Conversion, Options};
use crate::output::{
    self, Destination, KeyedRow, Message, Room, SettledRows, Severity, Solved, Writer,
};
use crate::pipeline::{self, Broken, Read};
use crate::place::Whole;
use crate::readers::PacketSchema;
use crate::subjects::Wanted;
use crate::summary::Summary;
use crate::twice::{NotAside, NotFound, Opened, Twice};
use crate::verdict::ReadTrace;

/// A source that was opened.
enum ToRead<'a> {
    Once(Input<'a>),
    Twice(Opened<'a>),
}

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
    let opened = match options.conversion {
        Conversion::Nearest => ToRead::Once(open(source, monitor)?),
        Conversion::Linear => {
            let opened = Opened::open(source, monitor);
            ToRead::Twice(opened.map_err(|error| not_opened(error, source, monitor))?)
        }
    };
    let schema = PacketSchema::new(&options.descriptors)?;
    let destination = Destination::create(destination, options.overwrite)?;
    let undertaking = Undertaking {
        source,
        destination: &destination,
        options,
        monitor,
        limits: Limits::new(options),
    };
    let failed = |error: WriteError| undertaking.failure(error);
    let scratch = undertaking.scratch();
    let mut writer = undertaking.writer(&scratch)?;

    let mut twice = None;
    let (mut input, whole, size) = match opened {
        ToRead::Once(input) => (input, None, None),
        ToRead::Twice(opened) => {
            let twice = twice.insert(undertaking.put_aside(opened, &scratch)?);
            let (whole, size) = (undertaking.find(twice, &scratch)?, twice.size());
            let input = twice.input(source, monitor);
            let input = input.map_err(|error| refused(error, monitor))?;
            (input, Some(whole), Some(size))
        }
    };
    let frame = frame(schema, options, &scratch, &undertaking.limits, whole);
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
    if !frame.place.is_as_found() {
        return Err(undertaking.changed());
    }
    // What is refused is refused before the indexes are made.
    let mut trace = ReadTrace {
        source,
        rows,
        strict: options.strict,
        conversion: options.conversion,
        compression: input.compression(),
        other: None,
    };
    if trace.is_unread(&frame) || frame.damage.is_at_begin() || !frame.place.is_used() {
        trace.other = input.recognize();
    }
    if end == End::Stopped {
        return Err(Error::Stopped);
    }
    if !frame.damage.is_any() {
        if input.is_empty() {
            return Err(SourceError::Empty {
                source_name: source.to_string(),
            }
            .into());
        }
        trace.emptiness()?;
    }
    let mut warnings = Vec::new();
    warnings.extend(trace.damage(&frame)?);
    warnings.extend(trace.corruption(&frame)?);

    let conn = undertaking.finish(writer, &mut frame, settled)?;
    let digest = input.digest();
    let is_whole = size.is_none_or(|size| digest.sha256.is_none() || digest.size == size);
    if cancelled() {
        return Err(Error::Cancelled);
    }
    // Of what is left behind the last packet.
    if let Some(failure) = input.failure(source) {
        return Err(failure.into());
    }
    if !is_whole {
        return Err(undertaking.changed());
    }
    let summarized = summarize(&conn, &mut frame, &trace)
        .and_then(|summary| describe(&conn, &digest, &frame, &trace, &summary).map(|()| summary));
    let summarized = summarized.map_err(WriteError::from);
    let mut summary = undertaking.with_sqlite(&conn, summarized)?;
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
    let opened = Input::open(source, monitor);
    opened.map_err(|error| not_opened(error, source, monitor))
}

fn not_opened(error: SourceError, source: &Source, monitor: &Monitor) -> Error {
    match (refused(error, monitor), source) {
        (Error::Source(SourceError::IsDatabase { .. }), Source::File(path)) if !is_ours(path) => {
            Error::ImportsForeignDatabase { path: path.clone() }
        }
        (error, _) => error,
    }
}

/// That the source cannot be read; which it cannot be either if the user wants no more.
fn refused(error: SourceError, monitor: &Monitor) -> Error {
    match monitor.cancel.load(Ordering::Relaxed) {
        true => Error::Cancelled,
        false => error.into(),
    }
}

/// Whether timebase made a database, be it another version. Nobody knows of one that comes out of a
/// pipe: there may be no second one to come, for which opening it would wait.
fn is_ours(path: &Path) -> bool {
    if !path.is_file() {
        return true;
    }
    // To SQLite, names such as `file:a.db` and `:memory:` are not those of files.
    let name = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let conn = Connection::open_with_flags(name, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let checked = conn.map(|conn| check_database(&conn));
    !matches!(checked, Ok(Err(Error::ForeignDatabase { .. })))
}

/// A trace of which nothing was read; `whole` is what an earlier pass over it has found.
pub(crate) fn frame(
    schema: PacketSchema,
    options: &Options,
    scratch: &Scratch,
    limits: &Limits,
    whole: Option<Whole>,
) -> Frame {
    let keep = Keep {
        data: options.keep_data,
        events: Wanted::of(&options.subjects),
    };
    Frame::new(schema, keep, scratch, limits.memory.watch(), whole)
}

/// What is imported, where to, and within which limits.
struct Undertaking<'a> {
    source: &'a Source,
    destination: &'a Destination,
    options: &'a Options,
    monitor: &'a Monitor,
    limits: Limits,
}

impl Undertaking<'_> {
    /// Where temporary files go.
    fn scratch(&self) -> Scratch {
        Scratch::new(self.destination.directory(), &self.limits.disk)
    }

    /// What it means for the user that something could not be done: a limit was reached, or the
    /// disk did not take it.
    fn failure(&self, error: WriteError) -> Error {
        if self.limits.memory.is_exceeded()
            && let Some(limit) = self.options.max_memory
        {
            return Error::TooMuchMemory {
                source_name: self.source.to_string(),
                limit,
                read: self.how_far(),
            };
        }
        match self.options.max_size {
            Some(limit) if self.limits.disk.is_exceeded() => Error::TooLarge {
                path: self.destination.path().to_owned(),
                limit,
                read: self.how_far(),
            },
            _ => self.destination.write_error(error),
        }
    }

    /// What the source says is not what it said when it was read for its snapshots.
    fn changed(&self) -> Error {
        Error::Changed {
            source_name: self.source.to_string(),
        }
    }

    /// A trace that is to be read twice, wherever it comes from.
    fn put_aside(&self, opened: Opened<'_>, scratch: &Scratch) -> Result<Twice, Error> {
        let aside = opened.put_aside(self.source, scratch);
        aside.map_err(|error| match error {
            NotAside::Source(error) => refused(error, self.monitor),
            NotAside::Write(error) => self.failure(error),
        })
    }

    /// The first pass over it.
    fn find(&self, twice: &mut Twice, scratch: &Scratch) -> Result<Whole, Error> {
        let schema = PacketSchema::default();
        let frame = frame(schema, self.options, scratch, &self.limits, None);
        let found = twice.find(self.source, frame, self.monitor);
        match found {
            _ if self.monitor.cancel.load(Ordering::Relaxed) => Err(Error::Cancelled),
            Ok(whole) => Ok(whole),
            Err(NotFound::Source(error)) => Err(error.into()),
            Err(NotFound::Broken(Broken::Write(error))) => Err(self.failure(error)),
            Err(NotFound::Broken(Broken::Read) | NotFound::Stopped) => Err(Error::Stopped),
        }
    }

    fn how_far(&self) -> HowFar {
        let of = match self.source {
            Source::File(path) => path.metadata().ok().filter(|found| found.is_file()),
            Source::Stdin | Source::Pieces => None,
        };
        HowFar {
            bytes: self.monitor.bytes_read.load(Ordering::Relaxed),
            of: of.map(|found| found.len()),
            packets: self.monitor.packets.load(Ordering::Relaxed),
        }
    }

    /// The same of what SQLite has done, which does not tell a full disk from a database that may not
    /// be larger.
    fn with_sqlite<T>(&self, conn: &Connection, done: Result<T, WriteError>) -> Result<T, Error> {
        done.map_err(|error| {
            if error.is_disk_full() && Room::is_full(conn) {
                self.limits.disk.exceed();
            }
            self.failure(error)
        })
    }

    /// A writer of an empty database with its tables.
    fn writer(&self, scratch: &Scratch) -> Result<Writer, Error> {
        let destination = self.destination;
        let conn = destination.open()?;
        let created = output::create(&conn, scratch.quota()).map_err(WriteError::from);
        let roots = self.with_sqlite(&conn, created)?;
        conn.close()
            .map_err(|(_, error)| self.failure(error.into()))?;
        let writer = Writer::new(destination.file(), roots, scratch);
        writer.map_err(|error| self.failure(error))
    }

    /// Does everything that needs the whole trace.
    fn finish(
        &self,
        writer: Writer,
        frame: &mut Frame,
        settled: SettledRows,
    ) -> Result<Connection, Error> {
        let is_cancelled = || self.monitor.cancel.load(Ordering::Relaxed);
        let place = &mut frame.place;
        let built = writer
            .finish(frame.journal.waiting())
            .and_then(|(mut writer, rest)| {
                let solved = Solved::write(&mut writer, place)?;
                writer.finish()?;
                Ok((rest, solved))
            });
        let (rest, solved) = built.map_err(|error| self.failure(error))?;
        let conn = self.destination.open()?;
        let late = || -> Result<bool, WriteError> {
            output::resume(&conn)?;
            let mut room = Room::new(&conn, &self.limits.disk)?;
            let indexes = output::drop_indexes(&conn, &rest.postponed)?;
            KeyedRow::insert_all(&rest.keyed, &conn)?;
            settled.apply(&conn)?;
            if is_cancelled() {
                return Ok(false);
            }
            let (lacks_steps, lacks_lines) = solved.lacks();
            if lacks_steps || lacks_lines {
                solved.insert_used(&conn, place)?;
            }
            if lacks_steps {
                let text = "clock_mapping holds, for clocks of several hops, only the steps that \
                            readings of their packets fall in";
                let code = "clock_mapping_bounded";
                bounded(code, text).insert(&conn)?;
            }
            if lacks_lines {
                let text = "clock_mapping_linear holds, for some clocks, only the lines that \
                            readings of their packets fall in";
                let code = "clock_mapping_linear_bounded";
                bounded(code, text).insert(&conn)?;
            }
            output::indexes_and_views(&conn, &indexes, &mut room)?;
            Ok(!is_cancelled())
        };
        match self.with_sqlite(&conn, late())? {
            true => Ok(conn),
            false => Err(Error::Cancelled),
        }
    }
}

/// That mappings of clocks are not whole.
fn bounded(code: &'static str, text: &str) -> Message {
    Message {
        severity: Severity::Info,
        code,
        packet_id: None,
        offset: None,
        size: None,
        text: text.into(),
    }
}

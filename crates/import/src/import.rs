//! The order of all steps of an import.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use timebase_sql::packets::Packer;
use timebase_store::sort::{Quota, Scratch};
use timebase_trace::{InputsError, Monitor, Pass, Reads, Source, SourceError};

use crate::align::{self, AlignError, Aligned};
use crate::definitions::NameFiles;
use crate::describe::{Derived, ReadTrace, describe, summarize};
use crate::error::{Error, HowFar, WriteError, is_full};

use crate::files::{Files, Opening};
use crate::formats::FORMATS;
use crate::frame::{Finished, Frame, Keep};
use crate::identity::check_database;
use crate::limits::Limits;
use crate::manifest::Align;
use crate::options::{Conversion, Options, Views};
use crate::output::{
    self, Destination, KeyedRow, LateDoubt, LogMessage, NewDatabase, Opened, Pages, Placed, Room,
    SettledRows, Severity, Sink, Solved, SolvedSink, Statements, Writer,
};
use crate::pipeline::{self, Broken, Ended, FileRead, SinkOfThreads, Writing};
use crate::place::Whole;
use crate::readers::{ImportContext, PacketSchema};
use crate::subjects::{Subject, Wanted};
use crate::summary::{How, Summary};
use crate::unsure;
use crate::verdict::Verdict;
use crate::watched::watched;

/// Times that an import measures of itself.
#[derive(Default)]
pub(crate) struct Stopwatch {
    /// The time for writing all batches of rows.
    pub writing: Duration,
    /// The time of the last batch.
    pub last_batch: Option<Instant>,
}

/// Imports a trace, an archive of traces, or several traces (rule X1) into a new database. The crate has
/// an example.
///
/// The database appears at `destination` when it is complete, or not at all.
///
/// # Errors
///
/// [`Error`] names the file and the problem for the user. Damage inside a
/// trace is an error only with [`Options::strict`] or if no part of the trace could be
/// read; otherwise it is in [`Summary::warnings`] and the table `import_log`.
pub fn import(
    sources: &[Source],
    destination: &Path,
    options: &Options,
    monitor: &Monitor,
) -> Result<Summary, Error> {
    let mut stopwatch = Stopwatch::default();
    timed(sources, destination, options, monitor, &mut stopwatch)
}

pub(crate) fn timed(
    sources: &[Source],
    destination: &Path,
    options: &Options,
    monitor: &Monitor,
    stopwatch: &mut Stopwatch,
) -> Result<Summary, Error> {
    let limits = Limits::new(options);
    let beside = Scratch::new(output::parent(destination), &limits.disk);
    // A file that is not a trace is reported before anything is created at the destination.
    let mut files = open(sources, options, &beside, monitor)
        .map_err(|error| not_put_aside(error, destination, options, &limits, monitor))?;
    let into = Into { sources, destination, options, limits: &limits, monitor };
    into.import(&mut files, stopwatch)
}

/// A new database, and the settings of the import that makes it.
pub(crate) struct Into<'a> {
    pub sources: &'a [Source],
    pub destination: &'a Path,
    pub options: &'a Options,
    pub limits: &'a Limits,
    pub monitor: &'a Monitor,
}

impl Into<'_> {
    /// Imports files that are open.
    ///
    /// # Errors
    ///
    /// Those of [`import()`].
    pub fn import(
        &self,
        files: &mut Files<'_>,
        stopwatch: &mut Stopwatch,
    ) -> Result<Summary, Error> {
        let Into { sources, options, monitor, .. } = *self;
        twice(files, monitor, |files, aligned| {
            let schema = PacketSchema::new(&options.descriptors)?;
            let new = NewDatabase::create(self.destination, options)?;
            let file = new.file().to_path_buf();
            let destination = Destination::File(new);
            let limits = self.limits.clone();
            let is_dropped = false;
            let job = Job { sources, destination, options, monitor, limits, aligned, is_dropped };
            let scratch = job.scratch();
            let pages = Pages::create(&file, files.inputs.total(), &options.tables(), &scratch)
                .map_err(|error| job.failure(error))?;
            job.run(files, schema, pages, stopwatch)
        })
    }
}

/// The statement of messages about clocks (rules AL), from an import with all events into a database that is dropped.
///
/// # Errors
///
/// Those of [`import()`].
pub(crate) fn aligned(
    sources: &[Source],
    directory: &Path,
    options: &Options,
    monitor: &Monitor,
) -> Result<Option<Aligned>, Error> {
    let limits = Limits::new(options);
    let options = &Options {
        keep_data: false,
        overwrite: true,
        subjects: Subject::ALL.to_vec(),
        views: Views::Named(Vec::new()),
        ..options.clone()
    };
    let mut files = open(sources, options, &Scratch::new(directory, &limits.disk), monitor)?;
    begin(Pass::First, monitor, &files);
    let schema = PacketSchema::new(&options.descriptors)?;
    let new = NewDatabase::create(&directory.join("alignment.db"), options)?;
    let file = new.file().to_path_buf();
    let destination = Destination::File(new);
    let job =
        Job { sources, destination, options, monitor, limits, aligned: None, is_dropped: true };
    let pages = Pages::create(&file, files.inputs.total(), &options.tables(), &job.scratch());
    let pages = pages.map_err(|error| job.failure(error))?;
    match job.run(&mut files, schema, pages, &mut Stopwatch::default())? {
        Ran::Done(_) | Ran::Dropped => Ok(None),
        Ran::Again(aligned) => Ok(Some(aligned)),
    }
}

/// The end of a pass over all files.
enum Ran {
    Done(Box<Summary>),
    /// Messages prove assumptions wrong, so all files are to be read once more.
    Again(Aligned),
    /// The database is not wanted, and there are no messages.
    Dropped,
}

/// Runs an import, and once more if clocks are aligned after the first pass (rule AL20).
fn twice(
    files: &mut Files<'_>,
    monitor: &Monitor,
    mut run: impl FnMut(&mut Files<'_>, Option<Aligned>) -> Result<Ran, Error>,
) -> Result<Summary, Error> {
    begin(Pass::Only, monitor, files);
    let mut aligned = None;
    loop {
        match run(files, aligned.take())? {
            Ran::Done(summary) => return Ok(*summary),
            Ran::Dropped => return Err(Error::Stopped),
            Ran::Again(found) => {
                files.relations = found.relations.clone();
                aligned = Some(found);
                begin(Pass::Second, monitor, files);
            }
        }
    }
}

/// Imports into the main database of a connection, in memory or not, that has no tables yet. The
/// import is one transaction, or a part of the open transaction.
///
/// It is slower than [`import()`], which writes pages and not rows. [`Options::max_size`] only
/// limits the temporary files, and [`Options::overwrite`] has no effect.
///
/// ```
/// use rusqlite::Connection;
/// use timebase_import::{Monitor, Options, Source, import_into};
///
/// let mut conn = Connection::open_in_memory()?;
/// let trace = Source::File("../../tests/data/nearest.pftrace".into());
/// let summary = import_into(&[trace], &mut conn, &Options::default(), &Monitor::default())?;
/// let packets: i64 = conn.query_row("SELECT count(*) FROM packet", [], |row| row.get(0))?;
/// assert_eq!(u64::try_from(packets)?, summary.packets);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The same as for [`import()`], and if the database has tables. After an error, nothing is
/// changed.
pub fn import_into(
    sources: &[Source],
    conn: &mut Connection,
    options: &Options,
    monitor: &Monitor,
) -> Result<Summary, Error> {
    let conn = &*conn;
    let write_error = |error: rusqlite::Error| Destination::Connection(conn).write_error(error);
    let count = "SELECT count(*) FROM main.sqlite_schema";
    let count = conn.query_row(count, [], |row| row.get::<_, i64>(0));
    if count.map_err(write_error)? > 0 {
        let path = Destination::Connection(conn).path();
        return Err(Error::NotEmpty { path });
    }
    conn.execute_batch("SAVEPOINT timebase_import").map_err(write_error)?;
    let imported = lent(sources, conn, options, monitor);
    let end = match imported {
        Ok(_) => "RELEASE timebase_import",
        Err(_) => "ROLLBACK TO timebase_import; RELEASE timebase_import",
    };
    let ended = conn.execute_batch(end).map_err(write_error);
    imported.and_then(|summary| ended.map(|()| summary))
}

/// Imports into a connection, in a transaction that the caller ends.
fn lent(
    sources: &[Source],
    conn: &Connection,
    options: &Options,
    monitor: &Monitor,
) -> Result<Summary, Error> {
    let limits = Limits::new(options);
    let destination = Destination::Connection(conn);
    let path = destination.path();
    let scratch = Scratch::new(&destination.directory(), &limits.disk);
    let mut files = open(sources, options, &scratch, monitor)
        .map_err(|error| not_put_aside(error, &path, options, &limits, monitor))?;
    twice(&mut files, monitor, |files, aligned| {
        if aligned.is_some() {
            let undone = conn.execute_batch("ROLLBACK TO timebase_import");
            undone.map_err(|error| Destination::Connection(conn).write_error(error))?;
        }
        let destination = Destination::Connection(conn);
        let limits = limits.clone();
        let is_dropped = false;
        let job = Job { sources, destination, options, monitor, limits, aligned, is_dropped };
        let schema = PacketSchema::new(&options.descriptors)?;
        let statements = Statements::create(conn, &options.tables())
            .map_err(|error| job.failure(error.into()))?;
        job.run(files, schema, statements, &mut Stopwatch::default())
    })
}

/// Warnings for the user.
struct Warnings {
    told: Vec<String>,
    /// Messages for the log, each with its file.
    log: Vec<(LogMessage, u32)>,
}

/// Starts a pass over all files. Its bytes are those of the members, not of their archive; the
/// bytes of a manifest have been read.
fn begin(pass: Pass, monitor: &Monitor, files: &Files<'_>) {
    let read = match pass {
        // For a stream, its first bytes have been read as well.
        Pass::Only => monitor.bytes_read.load(Ordering::Relaxed),
        Pass::Copy | Pass::First | Pass::Second => files.read_ahead(),
    };
    monitor.begin(pass, files.inputs.total());
    monitor.bytes_read.store(read, Ordering::Relaxed);
}

/// The error for the user if a source that can be read only once could not be put aside.
fn not_put_aside(
    error: Error,
    destination: &Path,
    options: &Options,
    limits: &Limits,
    monitor: &Monitor,
) -> Error {
    let path = destination.to_owned();
    match (error, options.max_size) {
        (Error::Inputs(InputsError::PutAside(_)), Some(limit)) if limits.disk.is_exceeded() => {
            let read =
                HowFar { bytes: monitor.bytes_read.load(Ordering::Relaxed), of: None, packets: 0 };
            Error::TooLarge { path, limit, read }
        }
        (Error::Inputs(InputsError::PutAside(error)), _) if is_full(&error) => {
            Error::DiskFull { path }
        }
        (error, _) => error,
    }
}

/// Opens the files of an import.
pub(crate) fn open<'a>(
    sources: &[Source],
    options: &Options,
    scratch: &Scratch,
    monitor: &'a Monitor,
) -> Result<Files<'a>, Error> {
    let may_align = match options.align {
        Some(Align::Report | Align::Off) => false,
        Some(Align::Tighten) => true,
        _ => sources.len() > 1,
    };
    let opening = Opening {
        manifest: options.manifest.as_deref(),
        formats: FORMATS,
        reads: match options.conversion {
            Conversion::Nearest if !options.split && !may_align => Reads::Once,
            _ => Reads::Again,
        },
        split: options.split,
    };
    let opened = Files::open(sources, opening, scratch, monitor).and_then(|mut files| {
        files.default_clock = options.default_clock;
        let said = files.said.as_ref().and_then(|manifest| manifest.align.mode);
        files.align = options.align.or(said).unwrap_or_default();
        let is_stored = |source: &Source| matches!(source, Source::File(path) if path.is_file());
        files.can_be_read_again = opening.reads == Reads::Again || sources.iter().all(is_stored);
        let has_pairs = files.said.as_ref().is_some_and(|said| said.align.pairs.is_some());
        if files.align == Align::Pairs && !has_pairs {
            let place = crate::manifest::Place::default().field("align").field("pairs");
            let what = "is required by the mode 'pairs': a SELECT of packet_out and packet_in";
            return Err(Error::Manifest(place.refused(what)));
        }
        files.check(options.split)?;
        Ok(files)
    });
    opened.map_err(|error| match (error, sources) {
        _ if monitor.cancel.load(Ordering::Relaxed) => Error::Cancelled,
        (error @ Error::Source(SourceError::IsDatabase { .. }), [Source::File(path)]) => {
            match check(path) {
                Some(Error::ForeignDatabase { path }) => Error::ImportsForeignDatabase { path },
                Some(other) => other,
                None => error,
            }
        }
        (error, _) => error,
    })
}

/// The reason why a database is none of timebase. For a database from a pipe it is unknown: opening the pipe would
/// wait for a second database, which may never come.
fn check(path: &Path) -> Option<Error> {
    if !path.is_file() {
        return None;
    }
    // For SQLite, `file:a.db` and `:memory:` are not names of files.
    let name = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let conn = Connection::open_with_flags(name, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let path = path.to_owned();
    match check_database(&conn).err()? {
        Error::ForeignDatabase { .. } => Some(Error::ForeignDatabase { path }),
        Error::HeaderOnly { .. } => Some(Error::HeaderOnly { path }),
        _ => None,
    }
}

/// The state of an import before anything is read; `whole` is the result of an earlier pass over
/// the trace.
pub(crate) fn frame(
    schema: PacketSchema,
    options: &Options,
    scratch: &Scratch,
    limits: &Limits,
    whole: Option<Whole>,
) -> Frame {
    let events = Wanted::of(&options.subjects).with_state_of(options.state_of);
    let keep = Keep { data: options.keep_data, events };
    Frame::new(schema, keep, scratch, limits.memory.watch(), whole)
}

/// An import: its sources, its destination, and its limits.
struct Job<'a> {
    sources: &'a [Source],
    destination: Destination<'a>,
    options: &'a Options,
    monitor: &'a Monitor,
    limits: Limits,
    /// The result of the first pass, in the second one.
    aligned: Option<Aligned>,
    /// Whether only what messages say of clocks is wanted.
    is_dropped: bool,
}

impl<'a> Job<'a> {
    /// Does the whole import, after the files and the database were opened.
    fn run(
        self,
        files: &mut Files<'_>,
        schema: PacketSchema,
        sink: impl SinkOfThreads,
        stopwatch: &mut Stopwatch,
    ) -> Result<Ran, Error> {
        // A source that is read twice may not change between the passes.
        let size = files.inputs.total();
        let size = size.filter(|_| self.options.conversion == Conversion::Linear);
        let packer = match self.options.is_compact && self.options.keep_data {
            true => Some(Packer::new().map_err(|error| self.failure(error.into()))?),
            false => None,
        };
        let mut writer = Writer::new(sink, packer);
        let Ended { mut frame, files: read, finished, rows } =
            self.read(files, schema, &mut writer, stopwatch)?;
        let Finished { settled, machines, switches } = finished;
        if !frame.context.place.clocks.are_as_found() {
            return Err(self.changed());
        }
        // A trace is refused before the indexes are built.
        let warnings = self.warnings(files, &read)?;
        let names = |file: u32| files.inputs.title(file as usize).to_owned();
        // The statement of the user may read any view.
        let views = match files.said.as_ref().is_some_and(|said| said.align.pairs.is_some()) {
            true => Late::Made(&Views::All),
            false => Late::Written(&self.options.views),
        };
        let (conn, mut derived) = self.finish(writer, &mut frame, settled, views, &names)?;
        if self.options.state_of.is_some() {
            self.step(&conn, || output::write_switches(&conn, &switches))?;
        }
        if let Some(aligned) = self.align(&conn, &mut frame, files, &mut derived)? {
            return Ok(Ran::Again(aligned));
        }
        if self.is_dropped {
            return Ok(Ran::Dropped);
        }
        let archive = files.inputs.digest()?;
        let sizes: u64 = read.iter().map(|file| file.digest.size).sum();
        let is_whole = size.is_none_or(|size| size == sizes.saturating_add(files.read_ahead()))
            || read.iter().any(|file| file.digest.sha256.is_none());
        self.go_on()?;
        if !is_whole {
            return Err(self.changed());
        }
        let trace = ReadTrace {
            files,
            read: &read,
            archive: archive.as_ref(),
            derived: &derived,
            machines,
            rows,
            conversion: self.options.conversion,
            is_compact: self.options.is_compact,
        };
        let mut summary = self.summarize(&conn, &mut frame, &trace, &warnings.log)?;
        conn.close().map_err(|error| self.failure(error))?;
        self.go_on()?;
        summary.source_bytes = match &archive {
            Some(archive) => archive.size,
            None => sizes.saturating_add(files.read_ahead()),
        };
        summary.warnings.splice(0..0, warnings.told);
        summary.warnings.extend(derived.warning);
        summary.database_bytes = self.destination.complete()?;
        Ok(Ran::Done(Box::new(summary)))
    }

    /// Aligns clocks by causality (rules AL): fills the tables, or returns the relations with which everything is read once
    /// more.
    fn align(
        &self,
        conn: &Connection,
        frame: &mut Frame,
        files: &Files<'_>,
        derived: &mut Derived,
    ) -> Result<Option<Aligned>, Error> {
        if files.align == Align::Off {
            return Ok(None);
        }
        let said = files.said.as_ref().map(|manifest| &manifest.align);
        let settings = align::Settings {
            mode: files.align,
            max_drift_ppm: said.and_then(|said| said.max_drift_ppm).unwrap_or(align::MAX_DRIFT_PPM),
            pairs: said.and_then(|said| said.pairs.as_deref()),
            by_lines: self.options.conversion == Conversion::Linear,
        };
        let lacks_events = !self.options.subjects.contains(&Subject::Slices);
        let is_assumed = |placed: &Placed| {
            matches!(placed.how, How::Realtime | How::SameClock | How::Assumed | How::Unplaced)
        };
        let mut other = None;
        if lacks_events
            && self.aligned.is_none()
            && files.can_be_read_again
            && derived.placed.iter().any(is_assumed)
            && files.traces().len() > 1
        {
            let directory = self.destination.directory();
            other = aligned(self.sources, &directory, self.options, self.monitor)?;
            if let Some(other) = other.take_if(|other| !other.relations.is_empty()) {
                return Ok(Some(other));
            }
        }
        let ImportContext { place, evidence, .. } = &mut frame.context;
        let (scratch, trace_time) = (self.scratch(), place.trace_time());
        place.with_estimates(|place, estimates, _| {
            let known = align::Known {
                conn,
                estimates,
                parts: &place.clocks.parts,
                ranks: &files.ranks,
                placed: &derived.placed,
                trace_time,
                scratch: &scratch,
            };
            let mut found = None;
            let aligned = match self.aligned.as_ref().or(other.as_ref()) {
                Some(aligned) => aligned,
                None => {
                    let all = || align::align(&known, evidence, &settings);
                    match watched(conn, &self.monitor.cancel, all) {
                        Ok(all) => found = all,
                        Err(AlignError::Pairs(error)) => {
                            self.go_on()?;
                            let place = crate::manifest::Place::default().field("align");
                            return Err(Error::Manifest(place.field("pairs").refused(error)));
                        }
                        Err(AlignError::Write(error)) => {
                            self.go_on()?;
                            return self.with_sqlite(conn, Err(error));
                        }
                    }
                    self.go_on()?;
                    let Some(found) = &mut found else { return Ok(None) };
                    if !found.relations.is_empty() && !files.can_be_read_again {
                        found.give_up();
                    }
                    found
                }
            };
            if self.is_dropped || self.aligned.is_none() && !aligned.relations.is_empty() {
                return Ok(found);
            }
            self.step(conn, || aligned.write(&known))?;
            aligned.tell(&mut derived.placed, trace_time);
            derived.warning = aligned.warning.as_ref().map(|warning| warning.text.clone());
            Ok(None)
        })
    }

    /// Reads all files, and writes the rows of their packets.
    fn read(
        &self,
        files: &mut Files<'_>,
        schema: PacketSchema,
        writer: &mut Writer<impl SinkOfThreads>,
        stopwatch: &mut Stopwatch,
    ) -> Result<Ended, Error> {
        let (options, monitor) = (self.options, self.monitor);
        let name_files = match self.is_dropped {
            false => NameFiles::open(options)?,
            true => NameFiles::default(),
        };
        let scratch = self.scratch();
        let whole = match options.conversion {
            Conversion::Nearest => None,
            Conversion::Linear => Some(self.find(files, &scratch)?),
        };
        if whole.is_some() {
            begin(Pass::Second, monitor, files);
        }
        let mut frame = frame(schema, options, &scratch, &self.limits, whole);
        frame.context.definitions.name_files = name_files;
        let writing = Writing { writer, time: &mut stopwatch.writing };
        let read = pipeline::run(files, frame, monitor, writing);
        stopwatch.last_batch = Some(Instant::now());
        self.go_on()?;
        read.map_err(|broken| self.broken(broken))
    }

    /// Makes the summary, and writes what the import says of itself into the database.
    fn summarize(
        &self,
        conn: &Connection,
        frame: &mut Frame,
        trace: &ReadTrace<'_>,
        log: &[(LogMessage, u32)],
    ) -> Result<Summary, Error> {
        let mut summary = self.step(conn, || summarize(conn, frame, trace))?;
        self.step(conn, || describe(conn, frame, trace, &summary))?;
        let (packets, conversion) = (summary.packets, self.options.conversion);
        summary.clock_faults =
            self.step(conn, || unsure::clock_faults(conn, packets, conversion))?;
        let insert =
            |(message, file): &(LogMessage, u32)| message.insert(conn, (Some(*file), None));
        self.step(conn, || log.iter().try_for_each(insert))?;
        if frame.context.has_zeros {
            self.step(conn, || output::log_zeros(conn))?;
        }
        Ok(summary)
    }

    /// Does one of the steps after all rows. It ends early if the user cancels the import.
    fn step<T, E>(&self, conn: &Connection, step: impl FnOnce() -> Result<T, E>) -> Result<T, Error>
    where
        WriteError: From<E>,
    {
        let done = watched(conn, &self.monitor.cancel, step);
        self.go_on()?;
        self.with_sqlite(conn, done.map_err(WriteError::from))
    }

    /// Checks that the user has not cancelled the import.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if the user has.
    fn go_on(&self) -> Result<(), Error> {
        match self.monitor.cancel.load(Ordering::Relaxed) {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }

    /// The place for temporary files.
    fn scratch(&self) -> Scratch {
        Scratch::new(&self.destination.directory(), &self.limits.disk)
    }

    /// The error for the user if something could not be written: a limit was reached, or the
    /// disk refused it.
    fn failure(&self, error: WriteError) -> Error {
        if self.limits.memory.is_exceeded()
            && let Some(limit) = self.options.max_memory
        {
            return Error::TooMuchMemory { source_name: self.name(), limit, read: self.how_far() };
        }
        match self.options.max_size {
            Some(limit) if self.limits.disk.is_exceeded() => {
                Error::TooLarge { path: self.destination.path(), limit, read: self.how_far() }
            }
            _ => self.destination.write_error(error),
        }
    }

    /// The name of all sources together.
    fn name(&self) -> String {
        match self.sources {
            [source] => source.to_string(),
            sources => format!("one of {} files", sources.len()),
        }
    }

    /// The source has changed since its snapshots were read.
    fn changed(&self) -> Error {
        Error::Changed { source_name: self.name() }
    }

    fn broken(&self, broken: Broken) -> Error {
        match broken {
            Broken::Write(error) => self.failure(error),
            Broken::Source(error) => error.into(),
            Broken::Refused(refused) => Error::Manifest(refused),
            Broken::Read => Error::Stopped,
        }
    }

    /// The first pass over the files.
    fn find(&self, files: &mut Files<'_>, scratch: &Scratch) -> Result<Whole, Error> {
        begin(Pass::First, self.monitor, files);
        let schema = PacketSchema::default();
        let frame = frame(schema, self.options, scratch, &self.limits, None);
        let found = pipeline::survey(files, frame, None, self.monitor);
        match found {
            _ if self.monitor.cancel.load(Ordering::Relaxed) => Err(Error::Cancelled),
            Ok(frame) => Ok(frame.context.place.found()),
            Err(broken) => Err(self.broken(broken)),
        }
    }

    /// The warnings about the files.
    ///
    /// # Errors
    ///
    /// If a warning is an error, because there is no other trace, or the import is strict.
    fn warnings(&self, files: &Files<'_>, read: &[FileRead]) -> Result<Warnings, Error> {
        let strict = self.options.strict;
        let mut warnings = Warnings { told: Vec::new(), log: Vec::new() };
        for damage in files.inputs.damage() {
            let (source_name, why) = (files.title(), damage.why.clone());
            if strict {
                return Err(Error::Damaged { source_name, why });
            }
            warnings.told.push(format!("{source_name}: {why}"));
        }
        let ignored = files.manifest.iter().flat_map(|manifest| &manifest.warnings);
        warnings.told.extend(ignored.map(|warning| format!("the manifest: {warning}")));
        let mut traces = 0;
        let mut unknown = None;
        for file in read {
            for setting in files.ignored(&file.file, self.options.split) {
                warnings.told.push(format!("{}, in Chrome's JSON format: {setting}", file.title));
            }
            if files.is_alone {
                let name = &file.title;
                warnings.told.extend(Verdict { file, name, strict }.warnings()?);
                traces += 1;
                continue;
            }
            let name = file.title.clone();
            if !file.file.is_trace() {
                let of = file.other.clone();
                let what = of.as_ref().map(|of| format!(" but {}", of.what));
                let what = what.unwrap_or_default();
                warnings.told.push(format!("{name}: not a trace{what}, left out"));
                let error = Error::UnknownMember { name, of };
                if strict {
                    return Err(error);
                }
                unknown.get_or_insert(error);
                continue;
            }
            let verdict = |name| Verdict { file, name, strict }.warnings();
            match verdict(&file.title) {
                Ok(told) => {
                    warnings.told.extend(told);
                    traces += 1;
                }
                Err(error) if strict => return Err(error),
                // The other files can still be imported.
                Err(error) => {
                    warnings.told.push(error.to_string());
                    // The database calls files by their names.
                    let named = files.inputs.files().get(file.file.id);
                    let named = named.and_then(|file| file.name.as_deref());
                    if let Err(error) = verdict(named.unwrap_or(&file.title)) {
                        let text = error.to_string();
                        let message = LogMessage::new(Severity::Error, "not_a_trace", text);
                        warnings.log.push((message, file.file.tag.id));
                    }
                }
            }
        }
        if traces == 0 && files.manifest.is_none() {
            let members = read.len();
            let why = match (warnings.told.as_slice(), unknown) {
                ([_], Some(unknown)) => unknown.to_string(),
                ([one], None) => one.clone(),
                (_, Some(unknown)) => {
                    format!("none of its {members} files is a trace: {unknown}")
                }
                (_, None) => format!("none of its {members} files is a trace"),
            };
            let source_name = files.title();
            return Err(Error::NoTrace { source_name, why });
        }
        if traces == 0 {
            let why = "it has a manifest, but no trace";
            warnings.told.push(format!("{}: {why}", files.title()));
        }
        Ok(warnings)
    }

    fn how_far(&self) -> HowFar {
        let sizes = self.sources.iter().map(|source| match source {
            Source::File(path) => {
                let found = path.metadata().ok().filter(|found| found.is_file());
                found.map(|found| found.len())
            }
            _ => None,
        });
        HowFar {
            bytes: self.monitor.bytes_read.load(Ordering::Relaxed),
            of: sizes.sum(),
            packets: self.monitor.packets.load(Ordering::Relaxed),
        }
    }

    /// The same error for a step of SQLite, which does not distinguish a full disk from a database
    /// at its size limit. A statement that needs several pages at once leaves fewer than the limit.
    fn with_sqlite<T>(&self, conn: &Connection, done: Result<T, WriteError>) -> Result<T, Error> {
        done.map_err(|error| {
            let limit = self.options.max_size.map(|size| size.0);
            if error.is_disk_full() && (Room::is_full(conn) || !self.destination.has_no_room(limit))
            {
                self.limits.disk.exceed();
            }
            self.failure(error)
        })
    }

    /// Does everything that needs the whole trace.
    fn finish(
        &self,
        writer: Writer<impl Sink>,
        frame: &mut Frame,
        settled: SettledRows,
        views: Late<'_>,
        names: &dyn Fn(u32) -> String,
    ) -> Result<(Opened<'a>, Derived), Error> {
        let is_cancelled = || self.monitor.cancel.load(Ordering::Relaxed);
        let place = &mut frame.context.place;
        let waiting = frame.context.journal.waiting();
        let finished = writer.finish(waiting, &is_cancelled);
        self.go_on()?;
        let (mut writer, rest) = finished.map_err(|error| self.failure(error))?;
        let solved = Solved::write(&mut writer, place, &is_cancelled);
        self.go_on()?;
        let solved = solved.and_then(|solved| writer.finish().map(|()| solved));
        let solved = solved.map_err(|error| self.failure(error))?;
        let mut derived = place.with_estimates(|place, estimates, used| Derived {
            placed: output::placed(place, estimates),
            used: used.to_vec(),
            tallies: rest.tallies,
            warning: None,
        });
        let conn = self.destination.open()?;
        let late = || -> Result<(), WriteError> {
            let is_lent = matches!(conn, Opened::Lent(_));
            if !is_lent {
                output::resume(&conn)?;
            }
            let no_limit = Quota::default();
            let quota = match is_lent {
                false => &self.limits.disk,
                true => &no_limit,
            };
            let mut room = Room::new(&conn, quota)?;
            let indexes = output::drop_indexes(&conn, &rest.postponed)?;
            KeyedRow::insert_all(&rest.keyed, &conn)?;
            derived.tallies.states.doubtful += LateDoubt::mark_all(&rest.doubts, &conn)?;
            derived.tallies.slices.doubtful += output::mark_misplaced(&conn)?;
            output::renumber(&conn, &rest.renumbered)?;
            if rest.has_repeats {
                output::merge_repeats(&conn)?;
            }
            settled.apply(&conn)?;
            if is_cancelled() {
                return Ok(());
            }
            output::insert_parts(&conn, &derived.placed, names)?;
            let (lacks_steps, lacks_lines) = solved.lacks();
            if lacks_steps || lacks_lines {
                solved.insert_used(&conn, place)?;
            }
            if lacks_steps {
                let text = "clock_mapping holds, for clocks of several hops or that messages relate, only the \
                            steps that readings of their packets fall in";
                let code = "clock_mapping_bounded";
                bounded(code, text).insert(&conn, (None, None))?;
            }
            if lacks_lines {
                let text = "clock_mapping_linear holds, for some clocks, only the lines that \
                            readings of their packets fall in";
                let code = "clock_mapping_linear_bounded";
                bounded(code, text).insert(&conn, (None, None))?;
            }
            output::indexes(&conn, &indexes, &mut room)?;
            match views {
                Late::Written(views) if !is_lent => output::write_views(&conn, views)?,
                Late::Written(views) | Late::Made(views) => output::make_views(&conn, views)?,
            }
            Ok(())
        };
        self.step(&conn, late)?;
        Ok((conn, derived))
    }
}

/// The views of a database, which are made after all rows.
#[derive(Clone, Copy)]
enum Late<'v> {
    /// The import itself reads them.
    Made(&'v Views),
    /// They are first read when the database is opened again, if the import opened it.
    Written(&'v Views),
}

/// The message that mappings of clocks are incomplete.
fn bounded(code: &'static str, text: &str) -> LogMessage {
    LogMessage::new(Severity::Info, code, text.into())
}

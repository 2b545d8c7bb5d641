//! The threads of an import: one reads files, one interprets, one writes.
//!
//! # Design
//!
//! | thread | does | waits for |
//! |---|---|---|
//! | of the file (`formats/ahead.rs`, `formats/json/ahead.rs`) | reads, hashes and decompresses; finds the events of JSON | room for a piece |
//! | that interprets (`frame`, `readers`, then `trackers`) | places packets, reads payloads, follows events | bytes, and later merged events; room for a batch |
//! | that sorts, later merges (`timebase_store::sort`) | orders the timeline | stretches of events, and later room for records |
//! | that writes (`output/writer.rs`) | makes sets of arguments, records and pages | batches of rows |
//!
//! The thread that the import is called on interprets, and afterwards finishes the database. So it has one heap for both:
//! on a thread of its own, what the trackers had freed by then stayed with the allocator as holes, and an import of 100,000
//! sequences took 14 MB more. But only this thread may use a connection of the caller, so with one it writes.
//!
//! All queues are bounded: there are three pieces of 256 KiB, two stretches of 512 KiB, and four batches. The thread that
//! interprets has most to do, so work goes to another thread if it does not need the state. Of an import of 2,000,000 track
//! events, hashing and reading are 4 % of all processor time, and with four arguments for each slice, the JSON of sets is 8 %.
//! The writing thread has the texts of keys for it: each text that is new goes along with the first set after it.
//!
//! Other cuts were rejected: the numbers of sets stay on the thread that interprets, because flows and values keep such numbers
//! in records of their own. Trackers need events in order and one world, so two threads could not share them. To decode
//! records of the timeline where they are merged would need an event that owns its bytes.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::manifest::{Align, Refused};
use timebase_schema::tables;
use timebase_trace::{Digested, End, Input, Monitor, OtherFile, SourceError, TraceType};

use crate::error::WriteError;
use crate::files::{File, Files};
use crate::formats::{self, FileSession};
use crate::frame::{Finished, Frame, ReadFile, SnapshotPackets};
use crate::output::{Batch, LogMessage, Outlet, Pages, Rows, Severity, Sink, Statements, Writer};
use crate::subjects::Wanted;
use crate::world::ArgRows;

/// The number of batches that may wait between the threads.
const BATCHES: usize = 2;

/// A file of an import, after it was read.
pub(crate) struct FileRead {
    pub file: File,
    /// The name of the file in messages to the user.
    pub title: String,
    pub read: ReadFile,
    pub digest: Digested,
    /// The compression of the whole file.
    pub compression: Option<&'static str>,
    /// Whether it has no bytes.
    pub is_empty: bool,
    /// The file's type if it is no trace. It is determined only if something suggests that the file
    /// is no trace.
    pub other: Option<OtherFile>,
    /// The fault of this file that its archive reports.
    pub flaw: Option<String>,
}

impl FileRead {
    /// A file that was read to its end; `is_doubtful` if it may be no trace.
    ///
    /// # Errors
    ///
    /// If the bytes after its last packet cannot be read.
    pub fn new(
        file: File,
        title: String,
        read: ReadFile,
        is_doubtful: bool,
        mut input: Input<'_>,
    ) -> Result<FileRead, Broken> {
        let other = is_doubtful.then(|| input.recognize()).flatten();
        let digest = input.digest();
        match input.failed() {
            Some(failure) => Err(failure.into()),
            None => Ok(FileRead {
                title,
                compression: input.compression(),
                is_empty: input.is_empty(),
                other,
                digest,
                flaw: input.damage(),
                read,
                file,
            }),
        }
    }
}

/// The result of the reading thread.
pub(crate) struct Ended {
    pub frame: Frame,
    pub files: Vec<FileRead>,
    pub finished: Finished,
    /// The number of rows of each table, by the table's number.
    pub rows: Vec<i64>,
}

/// The reason why a pipeline broke.
pub(crate) enum Broken {
    /// The output could not be written.
    Write(WriteError),
    /// A file cannot be read.
    Source(SourceError),
    /// The manifest does not allow something.
    Refused(Refused),
    /// The reading thread ended without a result, or nobody takes its rows any more.
    Read,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Broken::Write(error.into())
    }
}

impl From<SourceError> for Broken {
    fn from(error: SourceError) -> Self {
        Broken::Source(error)
    }
}

/// Reads all files, while another thread takes the batches of rows.
pub(crate) fn run<S: SinkOfThreads>(
    files: &mut Files<'_>,
    frame: Frame,
    monitor: &Monitor,
    writing: Writing<'_, S>,
) -> Result<Ended, Broken> {
    let wanted = frame.wanted().clone();
    let read = |frame: &mut Frame, rows: &mut Rows<'_>| read_all(files, frame, rows);
    let (frame, run, rows) = S::both(frame, wanted, monitor, writing, read)?;
    let (files, finished) = run?;
    Ok(Ended { frame, files, finished, rows })
}

/// Reads all files, and ends the trace.
pub(crate) fn read_all(
    files: &mut Files<'_>,
    frame: &mut Frame,
    rows: &mut Rows<'_>,
) -> Result<(Vec<FileRead>, Finished), Broken> {
    begin(files, frame, rows)?;
    let mut read = Vec::with_capacity(files.order.len());
    for file in files.order.clone() {
        let title = files.inputs.title(file.id).to_owned();
        let is_trace = file.is_trace();
        if file.kind == TraceType::Manifest {
            continue;
        } else if !is_trace {
            let named = files.inputs.files().get(file.id);
            let name = named.and_then(|file| file.name.as_deref());
            unknown(&file, name.unwrap_or(&title), rows);
        }
        let rules = files.rules(&file);
        let mut input = files.inputs.open_file(file.id)?;
        if is_trace {
            frame.begin_file(file.tag, file.has_own_clock(), rules, rows);
            let mut session = FileSession::new(frame, rows);
            let end = formats::read(file.kind, false, &mut input.reader, &mut session);
            // A format passes on the error of its source, which is none of the output.
            if let Some(failure) = input.failed() {
                return Err(failure.into());
            }
            stopped(frame, end?)?;
        }
        if let Some(failure) = input.failed() {
            return Err(failure.into());
        }
        let of_frame = match is_trace {
            true => frame.end_file(rows)?,
            false => ReadFile::default(),
        };
        let is_doubtful = !is_trace || of_frame.is_doubtful() || !frame.context.place.is_used();
        read.push(FileRead::new(file, title, of_frame, is_doubtful, input)?);
    }
    let finished = frame.finish(rows)?;
    match rows.stopped() {
        true => Err(Broken::Read),
        false => Ok((read, finished)),
    }
}

/// Goes through all files for their snapshots. The rows made meanwhile are dropped. `kept` gets the
/// packets with snapshots if there is only one file.
pub(crate) fn survey(
    files: &mut Files<'_>,
    frame: Frame,
    mut kept: Option<&mut SnapshotPackets>,
    monitor: &Monitor,
) -> Result<Frame, Broken> {
    let wanted = frame.wanted().clone();
    let (frame, run, _) = both(
        frame,
        wanted,
        monitor,
        |_| Ok(()),
        |frame, rows| {
            begin(files, frame, rows)?;
            for file in files.traces() {
                let rules = files.rules(&file);
                frame.begin_file(file.tag, file.has_own_clock(), rules, rows);
                if let Some(stated) = files.stated(&file) {
                    FileSession::new(frame, rows).repeat(&stated);
                    frame.end_file(rows)?;
                    continue;
                }
                let mut input = files.inputs.open_ahead(file.id)?;
                let mut session = FileSession::survey(frame, kept.as_deref_mut(), rows);
                let end = formats::read(file.kind, true, &mut input.reader, &mut session);
                if let Some(failure) = input.failed() {
                    return Err(failure.into());
                }
                stopped(frame, end?)?;
                frame.end_file(rows)?;
            }
            Ok(())
        },
    )?;
    run?;
    Ok(frame)
}

/// Applies the manifest before all files.
pub(crate) fn begin(
    files: &Files<'_>,
    frame: &mut Frame,
    rows: &mut Rows<'_>,
) -> Result<(), Broken> {
    frame.begin(rows);
    if let Some(manifest) = &files.manifest {
        frame.follow_manifest(manifest, &files.tags(), rows);
        stopped(frame, End::Complete)?;
    }
    frame.align(&files.relations, rows);
    if files.align != Align::Off && files.relations.is_empty() {
        frame.context.evidence.ask(files.traces().len() > 1);
    }
    frame.name_ranks(files.manifest.as_ref(), &files.rank_names);
    let traces = files.traces();
    let has_trace_time =
        files.manifest.as_ref().is_some_and(|manifest| manifest.trace_time.is_some());
    if let Some(first) = traces.first()
        && traces.iter().all(File::has_own_clock)
        && !has_trace_time
    {
        frame.take_file_clock(first.tag, &files.rules(first));
        stopped(frame, End::Complete)?;
    }
    for damage in files.inputs.damage() {
        let (severity, code) = match damage.is_cut {
            true => (Severity::Warning, "cut"),
            false => (Severity::Error, "damaged"),
        };
        rows.at(Some(0), None);
        let message = LogMessage {
            offset: Some(damage.offset),
            size: Some(damage.size),
            ..LogMessage::new(severity, code, damage.why.clone())
        };
        message.push(rows);
        rows.at(None, None);
    }
    Ok(())
}

/// Rule X7: logs a file that is no trace.
fn unknown(file: &File, name: &str, rows: &mut Rows<'_>) {
    rows.at(Some(file.tag.id), None);
    let text = format!("{name} is no trace, and is left out");
    LogMessage::new(Severity::Warning, "unknown_member", text).push(rows);
    rows.at(None, None);
}

/// Returns an error if a file was not read to its end.
pub(crate) fn stopped(frame: &mut Frame, end: End) -> Result<(), Broken> {
    match (frame.refused.take(), end) {
        (Some(refused), _) => Err(Broken::Refused(refused)),
        (None, End::Stopped) => Err(Broken::Read),
        (None, End::Complete) => Ok(()),
    }
}

/// A writer of rows, and the time that it takes.
pub(crate) struct Writing<'w, S> {
    pub writer: &'w mut Writer<S>,
    pub time: &'w mut Duration,
}

impl<S: Sink> Writing<'_, S> {
    fn take(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let begun = Instant::now();
        self.writer.write(batch)?;
        *self.time += begun.elapsed();
        Ok(())
    }
}

/// A sink that knows which thread may use it.
pub(crate) trait SinkOfThreads: Sink + Sized {
    /// Runs `read` and the writer on two threads.
    fn both<S: Send, T: Send>(
        state: S,
        wanted: Wanted,
        monitor: &Monitor,
        writing: Writing<'_, Self>,
        read: impl FnOnce(&mut S, &mut Rows<'_>) -> Result<T, Broken> + Send,
    ) -> Result<Both<S, T>, Broken>;
}

impl SinkOfThreads for Pages {
    fn both<S: Send, T: Send>(
        state: S,
        wanted: Wanted,
        monitor: &Monitor,
        mut writing: Writing<'_, Self>,
        read: impl FnOnce(&mut S, &mut Rows<'_>) -> Result<T, Broken> + Send,
    ) -> Result<Both<S, T>, Broken> {
        both(state, wanted, monitor, move |batch| writing.take(batch), read)
    }
}

impl SinkOfThreads for Statements<'_> {
    fn both<S: Send, T: Send>(
        mut state: S,
        wanted: Wanted,
        monitor: &Monitor,
        mut writing: Writing<'_, Self>,
        read: impl FnOnce(&mut S, &mut Rows<'_>) -> Result<T, Broken> + Send,
    ) -> Result<Both<S, T>, Broken> {
        let (outlet, batches) = queue(monitor);
        thread::scope(|scope| {
            let reading = scope.spawn(move || {
                let mut rows = Rows::new(outlet, wanted);
                let read = read(&mut state, &mut rows);
                (state, read, rows.counts())
            });
            let types = batches.take(|batch| writing.take(batch))?;
            let (state, read, counts) = reading.join().map_err(|_| Broken::Read)?;
            Ok((state, read, with_types(counts, types)))
        })
    }
}

/// The result of reading: its state, what it returned, and the number of rows of each table.
type Both<S, T> = (S, Result<T, Broken>, Vec<i64>);

/// Runs `read` on this thread, and `take` on its own.
pub(crate) fn both<S, T>(
    mut state: S,
    wanted: Wanted,
    monitor: &Monitor,
    take: impl FnMut(&Batch) -> Result<(), WriteError> + Send,
    read: impl FnOnce(&mut S, &mut Rows<'_>) -> Result<T, Broken>,
) -> Result<Both<S, T>, Broken> {
    let (outlet, batches) = queue(monitor);
    thread::scope(|scope| {
        let writing = scope.spawn(move || batches.take(take));
        let mut rows = Rows::new(outlet, wanted);
        let read = read(&mut state, &mut rows);
        let counts = rows.counts(); // no more batches come
        let types = writing.join().map_err(|_| Broken::Read)??;
        Ok((state, read, with_types(counts, types)))
    })
}

/// The batches of rows between two threads.
struct Batches {
    full: Receiver<Batch>,
    emptied: Sender<Batch>,
}

fn queue(monitor: &Monitor) -> (Outlet<'_>, Batches) {
    let (full_sender, full) = sync_channel(BATCHES);
    let (empty_sender, emptied) = channel();
    let outlet = Outlet { full: full_sender, emptied, monitor };
    (outlet, Batches { full, emptied: empty_sender })
}

impl Batches {
    /// Takes all batches. Returns the number of types of arguments.
    fn take(self, mut take: impl FnMut(&Batch) -> Result<(), WriteError>) -> Result<i64, Broken> {
        let mut sets = ArgRows::default();
        for mut batch in self.full {
            sets.write(&mut batch);
            take(&batch).map_err(Broken::Write)?;
            batch.clear();
            // A reading thread that has ended takes no more batches.
            let _ = self.emptied.send(batch);
        }
        Ok(sets.types())
    }
}

/// The numbers of rows, with that of the types of arguments.
fn with_types(mut counts: Vec<i64>, types: i64) -> Vec<i64> {
    if let Some(known) = counts.get_mut(tables::arg_type::TABLE.number) {
        *known = types;
    }
    counts
}

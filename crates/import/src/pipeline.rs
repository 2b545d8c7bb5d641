//! The two threads of an import: one reads and interprets, the other writes.

use std::io;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use crate::manifest::Refused;
use timebase_trace::{Digested, End, Input, Monitor, OtherFile, SourceError, TraceType};

use crate::error::WriteError;
use crate::files::{File, Files};
use crate::frame::{Finished, Frame, ReadFile};
use crate::output::{Batch, LogMessage, Outlet, Rows, Severity};
use crate::subjects::Wanted;

/// How many batches may wait between the threads.
const BATCHES: usize = 2;

/// A file of an import, when it was read.
pub(crate) struct FileRead {
    pub file: File,
    /// What to call it when the user is told of it.
    pub title: String,
    pub read: ReadFile,
    pub digest: Digested,
    /// How it is compressed as a whole.
    pub compression: Option<&'static str>,
    /// Whether it has no bytes.
    pub is_empty: bool,
    /// What it is if it is no trace. It is asked only where something speaks against its being one.
    pub other: Option<OtherFile>,
    /// What the archive that it is in says is wrong with it.
    pub flaw: Option<String>,
}

impl FileRead {
    /// Of a file that was read to its end; `is_doubtful` if it may be no trace.
    ///
    /// # Errors
    ///
    /// If the bytes behind its last packet cannot be read.
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

/// What the reading thread ends with.
pub(crate) struct Ended {
    pub frame: Frame,
    pub files: Vec<FileRead>,
    pub finished: Finished,
    /// How many rows each table has got, by its number.
    pub rows: Vec<i64>,
}

/// Why a pipeline broke.
pub(crate) enum Broken {
    /// What was made could not be written.
    Write(WriteError),
    /// A file cannot be read.
    Source(SourceError),
    /// The manifest does not let it be.
    Refused(Refused),
    /// The reading thread ended without a word, or nobody wants its rows any more.
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

/// Reads on a thread of its own while this one takes the batches of rows.
pub(crate) fn run(
    files: &mut Files<'_>,
    frame: Frame,
    monitor: &Monitor,
    take: impl FnMut(&Batch) -> Result<(), WriteError>,
) -> Result<Ended, Broken> {
    let wanted = frame.wanted().clone();
    let (frame, run, rows) = both(frame, wanted, monitor, take, |frame, rows| {
        begin(files, frame, rows)?;
        let mut read = Vec::new();
        for file in files.order.clone() {
            let title = files.inputs.title(file.id).to_owned();
            match file.kind {
                TraceType::Manifest => continue,
                TraceType::Proto => {}
                _ if files.is_alone => {}
                _ => {
                    let named = files.inputs.files().get(file.id);
                    let name = named.and_then(|file| file.name.as_deref());
                    unknown(&file, name.unwrap_or(&title), rows);
                }
            }
            let rules = files.rules(&file);
            let mut input = files.inputs.open_file(file.id)?;
            let is_trace = file.kind == TraceType::Proto || files.is_alone;
            if is_trace {
                frame.begin_file(file.tag, rules, rows);
                let end = frame.read_file(&mut input.reader, rows)?;
                stopped(frame, end)?;
            }
            if let Some(failure) = input.failed() {
                return Err(failure.into());
            }
            let of_frame = match is_trace {
                true => frame.end_file(rows)?,
                false => ReadFile::default(),
            };
            let is_doubtful =
                is_trace && (of_frame.is_doubtful() || !frame.context.place.is_used());
            read.push(FileRead::new(file, title, of_frame, is_doubtful, input)?);
        }
        let finished = frame.finish(rows)?;
        match rows.stopped() {
            true => Err(Broken::Read),
            false => Ok((read, finished)),
        }
    })?;
    let (files, finished) = run?;
    Ok(Ended {
        frame,
        files,
        finished,
        rows,
    })
}

/// Goes through all files for their snapshots. What becomes rows meanwhile is thrown away.
pub(crate) fn survey(
    files: &mut Files<'_>,
    frame: Frame,
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
                let mut input = files.inputs.open_ahead(file.id)?;
                frame.begin_file(file.tag, rules, rows);
                let end = frame.survey_file(&mut input.reader, rows)?;
                stopped(frame, end)?;
                if let Some(failure) = input.failed() {
                    return Err(failure.into());
                }
                frame.end_file(rows)?;
            }
            Ok(())
        },
    )?;
    run?;
    Ok(frame)
}

/// What the manifest says comes before all files.
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

/// Rule X7.
fn unknown(file: &File, name: &str, rows: &mut Rows<'_>) {
    rows.at(Some(file.tag.id), None);
    let text = format!("{name} is no trace, and is left out");
    LogMessage::new(Severity::Warning, "unknown_member", text).push(rows);
    rows.at(None, None);
}

/// Whether a file was not read to its end.
pub(crate) fn stopped(frame: &mut Frame, end: End) -> Result<(), Broken> {
    match (frame.refused.take(), end) {
        (Some(refused), _) => Err(Broken::Refused(refused)),
        (None, End::Stopped) => Err(Broken::Read),
        (None, End::Complete) => Ok(()),
    }
}

/// What the reading thread ends with, whatever it has read, and how many rows each table has got.
type Both<S, T> = (S, Result<T, Broken>, Vec<i64>);

/// What reads, on a thread of its own, and what takes rows, on this one.
pub(crate) fn both<S: Send, T: Send>(
    mut state: S,
    wanted: Wanted,
    monitor: &Monitor,
    mut take: impl FnMut(&Batch) -> Result<(), WriteError>,
    read: impl FnOnce(&mut S, &mut Rows<'_>) -> Result<T, Broken> + Send,
) -> Result<Both<S, T>, Broken> {
    let (full_sender, full) = sync_channel(BATCHES);
    let (empty_sender, emptied) = channel();
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let outlet = Outlet {
                full: full_sender,
                emptied,
                monitor,
            };
            let mut rows = Rows::new(outlet, wanted);
            let read = read(&mut state, &mut rows);
            (state, read, rows.counts())
        });
        for mut batch in full {
            take(&batch).map_err(Broken::Write)?;
            batch.clear();
            // One who has ended takes no more batches.
            let _ = empty_sender.send(batch);
        }
        reading.join().map_err(|_| Broken::Read)
    })
}

//! The two threads of an import: one reads and interprets, the other writes.

use std::io;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use timebase_trace::{End, Input, Monitor};

use crate::error::WriteError;
use crate::frame::Frame;
use crate::output::{Batch, Outlet, Rows, SettledRows};

/// How many batches may wait between the threads.
const BATCHES: usize = 2;

/// What the reading thread ends with.
pub(crate) struct Read {
    pub frame: Frame,
    pub end: End,
    /// What is to be changed of rows that waited.
    pub settled: SettledRows,
    /// How many rows each table has got, by its number.
    pub rows: Vec<i64>,
}

/// Why a pipeline broke.
pub(crate) enum Broken {
    /// What was made could not be written.
    Write(WriteError),
    /// The reading thread ended without a word.
    Read,
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Broken::Write(error.into())
    }
}

/// Reads on a thread of its own while this one takes the batches of rows.
pub(crate) fn run(
    input: &mut Input<'_>,
    frame: Frame,
    monitor: &Monitor,
    take: impl FnMut(&Batch) -> Result<(), WriteError>,
) -> Result<Read, Broken> {
    let (frame, run, rows) = both(input, frame, monitor, take, |frame, bytes, rows| {
        frame.run(bytes, rows)
    })?;
    let (end, settled) = run?;
    Ok(Read {
        frame,
        end,
        settled,
        rows,
    })
}

/// Goes through a trace for its snapshots. What becomes rows meanwhile is thrown away.
pub(crate) fn survey(
    input: &mut Input<'_>,
    frame: Frame,
    monitor: &Monitor,
) -> Result<(Frame, End), Broken> {
    let (frame, end, _) = both(
        input,
        frame,
        monitor,
        |_| Ok(()),
        |frame, bytes, rows| frame.survey(bytes, rows),
    )?;
    Ok((frame, end?))
}

/// What reads, on a thread of its own, and what takes rows, on this one.
fn both<T: Send>(
    input: &mut Input<'_>,
    mut frame: Frame,
    monitor: &Monitor,
    mut take: impl FnMut(&Batch) -> Result<(), WriteError>,
    read: impl FnOnce(&mut Frame, &mut dyn io::Read, &mut Rows<'_>) -> T + Send,
) -> Result<(Frame, T, Vec<i64>), Broken> {
    let (full_sender, full) = sync_channel(BATCHES);
    let (empty_sender, emptied) = channel();
    let reader = &mut input.reader;
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let outlet = Outlet {
                full: full_sender,
                emptied,
                monitor,
            };
            let mut rows = Rows::new(outlet, frame.wanted().clone());
            let read = read(&mut frame, reader, &mut rows);
            (frame, read, rows.counts())
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

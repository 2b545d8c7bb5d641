//! Exports tables of a database into a folder.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use rusqlite::Connection;
use serde_json::{Map, Value, json};

use crate::chunk::Chunk;
use crate::columns::{Schema, Table, unreadable};
use crate::error::Error;
use crate::file::{Compression, Contents, ParquetFile};
use crate::folder::Folder;
use crate::rows::Query;
use crate::trace::Trace;

/// The number of threads that wait for the disk.
const SYNCING: usize = 16;

/// The subject and the options of an export.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The tables, each once.
    pub tables: Vec<&'a Table>,
    /// The compression of pages.
    pub compression: Compression,
    /// Columns that all tables get, with their values; [`check_labels`](crate::check_labels) has
    /// checked them.
    pub labels: Vec<(String, String)>,
    /// Whether to replace a trace that the folder already has.
    pub overwrite: bool,
}

/// The progress of an export, for other threads.
#[derive(Debug, Default)]
pub struct Monitor {
    /// The number of finished tables.
    pub tables: AtomicUsize,
    /// The number of rows read so far, of all tables.
    pub rows: AtomicU64,
    /// Other threads set this to stop the export.
    pub cancel: AtomicBool,
}

/// The result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The trace.
    pub trace: Trace,
    /// The rows of each table.
    pub tables: Vec<(String, u64)>,
    /// The total size of the files in bytes.
    pub bytes: u64,
}

/// Messages to the thread that makes Parquet.
enum Step<'a> {
    Begin(&'a Table),
    Rows(Chunk),
    End,
}

/// Exports tables of a database, in its current state, to a folder of traces.
///
/// One thread steps through the rows while another one makes Parquet from the rows before.
///
/// # Errors
///
/// [`Error`] says what is wrong. The folder is then unchanged.
///
/// The [crate] has an example.
pub fn export(
    database: &Connection,
    folder: &Folder,
    schema: &Schema,
    options: &Options<'_>,
    monitor: &Monitor,
) -> Result<Summary, Error> {
    let unreadable = |error| Error::Unreadable { table: "the database".to_owned(), error };
    // One transaction, so all tables are of one moment.
    let transaction = database.unchecked_transaction().map_err(unreadable)?;
    let trace = Trace::of(&transaction)?;
    if folder.has(&trace.id) && !options.overwrite {
        return Err(Error::Exists { path: folder.path().to_owned(), trace_id: trace.id });
    }
    let (steps, taken) = sync_channel(0);
    let (read, made) = thread::scope(|scope| {
        let making = scope.spawn(|| make(taken, folder, &trace, options));
        let read = read(&transaction, options, monitor, |step| steps.send(step).is_ok());
        drop(steps);
        // A panic of the thread becomes our own.
        let made = making.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (read, made)
    });
    // If it cannot write, the reader only notices that nobody takes its rows.
    let bytes = made?;
    let rows = read?;
    drop(transaction);
    if monitor.cancel.load(Ordering::Relaxed) {
        return Err(Error::Cancelled);
    }
    let names: Vec<&str> = options.tables.iter().map(|t| t.name.as_str()).collect();
    let asked: BTreeSet<&str> = names.iter().copied().collect();
    let others = schema.names().filter(|name| !asked.contains(name));
    let summary = Summary {
        trace,
        tables: options.tables.iter().map(|table| table.name.clone()).zip(rows).collect(),
        bytes,
    };
    let said = said(&summary, options).to_string();
    folder.complete(&summary.trace.id, &names, others, said.as_bytes())?;
    Ok(summary)
}

/// Reads all tables, until `give` says that the receiver is gone.
fn read<'a>(
    database: &Connection,
    options: &Options<'a>,
    monitor: &Monitor,
    mut give: impl FnMut(Step<'a>) -> bool,
) -> Result<Vec<u64>, Error> {
    let cancelled = || monitor.cancel.load(Ordering::Relaxed);
    let blocks = "SELECT EXISTS (SELECT 1 FROM packet_block)";
    let blocks = database.query_row(blocks, [], |row| row.get(0));
    let is_compact = blocks.map_err(unreadable)?;
    let mut counts = Vec::new();
    for &table in &options.tables {
        if cancelled() || !give(Step::Begin(table)) {
            return Err(Error::Cancelled);
        }
        let sql = match is_compact && table.name == "packet" {
            true => Cow::Owned(table.sql.replace("\"data\"", "packet_data(\"id\")")),
            false => Cow::Borrowed(table.sql.as_str()),
        };
        let source = Query { table: &table.name, sql: &sql, columns: &table.columns, advice: "" };
        let rows = source.read(database, |chunk| {
            monitor.rows.fetch_add(chunk.rows as u64, Ordering::Relaxed);
            match !cancelled() && give(Step::Rows(chunk)) {
                true => Ok(()),
                false => Err(Error::Cancelled),
            }
        })?;
        if !give(Step::End) {
            return Err(Error::Cancelled);
        }
        monitor.tables.fetch_add(1, Ordering::Relaxed);
        counts.push(rows);
    }
    Ok(counts)
}

/// Makes a file for each table, and returns their total size.
fn make<'a>(
    steps: Receiver<Step<'a>>,
    folder: &Folder,
    trace: &Trace,
    options: &'a Options<'a>,
) -> Result<u64, Error> {
    let mut bytes = 0;
    let mut files = Vec::new();
    let mut open: Option<(ParquetFile<'a, Arc<File>>, Arc<File>, PathBuf)> = None;
    for step in steps {
        match (step, &mut open) {
            (Step::Begin(table), open) => {
                let path = folder.destination(&table.name, &trace.id);
                let file = folder.create(&table.name);
                let file = Arc::new(file.map_err(|error| Error::write(&path, error))?);
                let contents = Contents {
                    table: &table.name,
                    columns: &table.columns,
                    labels: &options.labels,
                    compression: options.compression,
                    path: path.clone(),
                    advice: "",
                };
                let parquet = ParquetFile::new(contents, Arc::clone(&file))?;
                *open = Some((parquet, file, path));
            }
            (Step::Rows(chunk), Some((parquet, _, _))) => parquet.write(chunk)?,
            (Step::End, open) => {
                if let Some((mut parquet, file, path)) = open.take() {
                    parquet.finish()?;
                    let size = file.metadata();
                    bytes += size.map_err(|error| Error::write(&path, error))?.len();
                    files.push((file, path));
                }
            }
            (Step::Rows(_), None) => {}
        }
    }
    sync(&files)?;
    Ok(bytes)
}

/// Waits until all files are on the disk. A file system writes many files at once if several
/// threads wait: one after the other, the files of a small trace took longer than everything else.
fn sync(files: &[(Arc<File>, PathBuf)]) -> Result<(), Error> {
    let part = files.len().div_ceil(SYNCING).max(1);
    thread::scope(|scope| {
        let wait = |files: &[(Arc<File>, PathBuf)]| {
            files.iter().try_for_each(|(file, path)| {
                file.sync_all().map_err(|error| Error::write(path, error))
            })
        };
        let waiting: Vec<_> =
            files.chunks(part).map(|files| scope.spawn(move || wait(files))).collect();
        waiting.into_iter().try_for_each(|waiting| {
            let result = waiting.join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// The file that marks a trace as complete.
fn said(summary: &Summary, options: &Options<'_>) -> Value {
    let trace = &summary.trace;
    let tables: Map<String, Value> =
        summary.tables.iter().map(|(name, rows)| (name.clone(), json!(rows))).collect();
    let labels: Map<String, Value> =
        options.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "trace_id": trace.id,
        "version": env!("CARGO_PKG_VERSION"),
        "layout": trace.layout,
        "source": trace.source,
        "hash": trace.sha256,
        "size": trace.size,
        "tables": tables,
        "labels": labels,
        "conversion": trace.conversion,
        "compression": options.compression.name(),
    })
}

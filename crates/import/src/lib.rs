//! Imports a Perfetto trace into a SQLite database.
//!
//! Data flows one way: bytes (`source.rs`, `stream.rs`) become packets
//! (`decoder.rs`), packets become rows (`rows.rs`), and rows go into the
//! database (`writer.rs`). What a packet's clock is, and where that puts it on
//! trace time, is decided in `clocks.rs`; what is special about a payload, in
//! its importer under `payload/`.
//!
//! # Design
//!
//! * **Two threads.** One reads, decodes and converts; the other writes. Rows
//!   cross in batches that go back when they are written, so that nothing is
//!   allocated a packet and memory is that of a few batches. One thread for all
//!   was the alternative: decoding takes about as long as writing, and would be
//!   added to it. (What an index has to sort, further threads sort: they are
//!   those of `timebase-btree`.) Several threads that decode were not tried, as
//!   two cores have enough to do.
//! * **Pages, not statements.** Rows come in the order of their tables, so they
//!   are put together to pages (`bulk.rs`), and SQLite makes only what is known
//!   at the end. Prepared inserts were the alternative: they took 1.2 s of the
//!   1.5 s for 2,000,000 packets of 30 bytes.
//! * **Plain tables, no journal.** The database is built
//!   beside its destination under another name and moved there when it is
//!   complete (`destination.rs`). A journal would double what is written, to
//!   protect a file that nobody has seen.
//! * **Read once.** What cannot be placed yet is written as it is and tried
//!   again at the end from the database (`retry.rs`), so that memory does not
//!   grow with what is unresolved.
//!
//! ```
//! use std::path::{Path, PathBuf};
//! use timebase_import::{Monitor, Options, Source, import};
//!
//! # let dir = tempfile::tempdir()?;
//! # let out = dir.path().join("nearest.db");
//! let trace = Source::File("../../tests/data/nearest.pftrace".into());
//! let summary = import(&trace, &out, &Options::default(), &Monitor::default())?;
//! assert_eq!(summary.snapshots, 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bulk;
mod clocks;
mod decoder;
mod descriptor;
mod destination;
mod error;
mod finish;
mod payload;
mod retry;
mod rows;
mod sequence;
mod source;
mod stages;
mod stream;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::Instant;

use rusqlite::Connection;
use timebase_descriptor::Pool;
use timebase_resolver::Clock;
use timebase_schema::{APPLICATION_ID, VERSION};

use crate::clocks::Clocks;
use crate::decoder::{Decoder, End, Outlet};
use crate::destination::Destination;
use crate::error::WriteError;
use crate::finish::FarClocks;
use crate::rows::{Batch, LogRow, Severity};
use crate::source::Input;
use crate::stages::Stopwatch;
use crate::stream::StreamError;
use crate::writer::{Roots, Writer};

pub use error::Error;
pub use payload::Events;
pub use source::{FileKind, Source, file_kind};
pub use stages::{Stages, stages};

/// How many batches may wait between the threads.
const BATCHES: usize = 2;

/// How to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether the packets' bytes are stored.
    pub keep_data: bool,
    /// Whether the events inside of packets become rows.
    pub keep_events: bool,
    /// Files that extend the schema of packets, each a serialized
    /// `FileDescriptorSet`.
    pub descriptors: Vec<PathBuf>,
    /// Whether a trace that is cut or damaged anywhere is refused.
    pub strict: bool,
    /// Whether an existing database is replaced.
    pub overwrite: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            keep_data: true,
            keep_events: true,
            descriptors: Vec::new(),
            strict: false,
            overwrite: false,
        }
    }
}

/// A look at an import from another thread.
#[derive(Debug, Default)]
pub struct Monitor {
    /// How many bytes of the source have been read.
    pub bytes_read: AtomicU64,
    /// How many packets have been decoded.
    pub packets: AtomicU64,
    /// Set it to end the import.
    pub cancel: AtomicBool,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Rows of `packet`.
    pub packets: u64,
    /// Accepted snapshots.
    pub snapshots: u64,
    /// Rejected snapshots (rule N2).
    pub rejected_snapshots: u64,
    /// Rows of `clock`.
    pub clocks: u64,
    /// Rows of `sequence`.
    pub sequences: u64,
    /// Packets that have a `ts`.
    pub on_trace_time: u64,
    /// Packets that have no time of their own.
    pub without_timestamp: u64,
    /// Packets that could not be placed, by reason (rule V7).
    pub unresolved: BTreeMap<&'static str, u64>,
    /// The tables of events inside of packets.
    pub events: Vec<Events>,
    /// The clock that `ts` is on.
    pub trace_time_clock: String,
    /// The smallest `ts`.
    pub start_ts: Option<i64>,
    /// The greatest `ts`.
    pub end_ts: Option<i64>,
    /// How large the source is, in bytes.
    pub source_bytes: u64,
    /// How large the database is, in bytes.
    pub database_bytes: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Imports a trace into a new database.
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
    timed_import(
        source,
        destination,
        options,
        monitor,
        &mut Stopwatch::default(),
    )
}

fn timed_import(
    source: &Source,
    destination: &Path,
    options: &Options,
    monitor: &Monitor,
    stopwatch: &mut Stopwatch,
) -> Result<Summary, Error> {
    let mut input = Input::open(source, monitor).map_err(|error| {
        let cancelled = monitor.cancel.load(Ordering::Relaxed);
        if cancelled { Error::Cancelled } else { error }
    })?;
    let decoder = decoder(options)?;
    let destination = Destination::create(destination, options.overwrite)?;
    let conn = destination.open()?;
    let failed = |error: rusqlite::Error| destination.write_error(error);
    let roots = writer::create(&conn).map_err(failed)?;
    conn.close().map_err(|(_, error)| failed(error))?;

    let written = write(
        &mut input,
        &roots,
        &destination,
        decoder,
        monitor,
        stopwatch,
    );
    let (mut decoder, end, writer) = written.map_err(|error| match error {
        Some(error) => destination.write_error(error),
        None => Error::Stopped,
    })?;
    let cancelled = || monitor.cancel.load(Ordering::Relaxed);
    if cancelled() {
        return Err(Error::Cancelled);
    }
    if let Some(failure) = input.failure(source) {
        return Err(failure);
    }
    // What is refused is refused before the indexes are made.
    let damage = match end {
        End::Complete => None,
        End::Damaged(damage) => Some(damage_row(source, &damage, &decoder, options)?),
        End::Stopped => return Err(Error::Stopped),
    };
    let corrupt = corruption(source, &decoder, options)?;

    let build = |writer: Writer, clocks: &mut Clocks| {
        let (mut steps, postponed) = writer.finish()?;
        let far = finish::mappings(&mut steps, clocks)?;
        steps.finish()?;
        Ok((postponed, far))
    };
    let (postponed, far) = build(writer, &mut decoder.clocks)
        .map_err(|error: WriteError| destination.write_error(error))?;
    let conn = destination.open()?;
    writer::resume(&conn).map_err(failed)?;
    let indexes = finish::drop_indexes(&conn, &postponed).map_err(failed)?;
    let mut warnings = Vec::new();
    if let Some(row) = damage {
        writer::log(&conn, &row).map_err(failed)?;
        warnings.push(format!("{source}: {}", row.message));
    }
    warnings.extend(corrupt);

    let digest = input.digest();
    let finished = finish(&conn, &mut decoder, &indexes, &far, &cancelled);
    let mut summary = finished.map_err(|error| match error {
        Some(error) => failed(error),
        None => Error::Cancelled,
    })?;
    describe(&conn, source, &digest, &decoder, &summary).map_err(failed)?;
    conn.execute_batch("COMMIT").map_err(failed)?;
    conn.close().map_err(|(_, error)| failed(error))?;
    if cancelled() {
        return Err(Error::Cancelled);
    }
    summary.source_bytes = digest.size;
    summary.warnings = warnings;
    summary.database_bytes = destination.complete()?;
    Ok(summary)
}

/// A decoder that knows the schema that the user names.
fn decoder(options: &Options) -> Result<Decoder, Error> {
    let mut pool = None;
    let mut descriptors = Vec::new();
    for path in &options.descriptors {
        let pool = pool.get_or_insert_with(Pool::perfetto);
        descriptors.push((path, descriptor::read(path, pool)?));
    }
    let mut decoder = Decoder::new(options.keep_data, options.keep_events, pool);
    for (path, set) in &descriptors {
        decoder.descriptor(&path.to_string_lossy(), None, set);
    }
    Ok(decoder)
}

/// Writes what the decoder makes of the input.
fn write(
    input: &mut Input<'_>,
    roots: &Roots,
    destination: &Destination,
    decoder: Decoder,
    monitor: &Monitor,
    stopwatch: &mut Stopwatch,
) -> Result<(Decoder, End, Writer), Option<WriteError>> {
    let mut writer = Writer::new(destination.file(), roots, destination.directory())?;
    let (decoder, end) = transfer(input, decoder, monitor, |batch| {
        let begun = Instant::now();
        writer.write(batch)?;
        stopwatch.writing += begun.elapsed();
        Ok(())
    })?;
    stopwatch.last_batch = Some(Instant::now());
    Ok((decoder, end, writer))
}

/// Decodes on a thread of its own while this one takes the batches. An error of
/// `None` is a decoder that ended without a word.
fn transfer(
    input: &mut Input<'_>,
    mut decoder: Decoder,
    monitor: &Monitor,
    mut take: impl FnMut(&Batch) -> Result<(), WriteError>,
) -> Result<(Decoder, End), Option<WriteError>> {
    let (full_sender, full) = sync_channel(BATCHES);
    let (empty_sender, emptied) = channel();
    let reader = &mut input.reader;
    thread::scope(|scope| {
        let decoding = scope.spawn(move || {
            let outlet = Outlet {
                full: full_sender,
                emptied,
                monitor,
            };
            let end = decoder.run(reader, &outlet);
            (decoder, end)
        });
        for mut batch in full {
            take(&batch)?;
            batch.clear();
            // A decoder that has ended takes no more batches.
            let _ = empty_sender.send(batch);
        }
        decoding.join().map_err(|_| None)
    })
}

/// What damage means: an error if it is all there is or the user is strict,
/// otherwise a row of the import log.
fn damage_row(
    source: &Source,
    damage: &StreamError,
    decoder: &Decoder,
    options: &Options,
) -> Result<LogRow, Error> {
    let source_name = source.to_string();
    let plausible = matches!(
        damage,
        StreamError::Cut {
            plausible: true,
            ..
        }
    );
    let read = decoder.counters.packets - decoder.counters.packets_corrupt;
    if read == 0 && !plausible {
        return Err(Error::NotATrace {
            source_name,
            why: damage.to_string(),
        });
    }
    if options.strict {
        return Err(Error::Damaged {
            source_name,
            why: damage.to_string(),
        });
    }
    let (severity, code, offset) = match *damage {
        StreamError::Cut { offset, .. } | StreamError::CutBetween { offset } => {
            (Severity::Warning, "cut", offset)
        }
        StreamError::NoPacket { offset }
        | StreamError::TooLarge { offset, .. }
        | StreamError::Compression { offset, .. } => (Severity::Error, "damaged", offset),
    };
    Ok(LogRow {
        severity,
        code,
        packet_id: None,
        offset: Some(offset),
        message: format!(
            "{damage}; the {} packets before it are imported",
            decoder.counters.packets
        ),
    })
}

/// Packets that could not be read: an error if there are no others or the user
/// is strict, otherwise a warning.
fn corruption(
    source: &Source,
    decoder: &Decoder,
    options: &Options,
) -> Result<Option<String>, Error> {
    let counters = &decoder.counters;
    let corrupt = counters.packets_corrupt;
    if corrupt == 0 {
        return Ok(None);
    }
    let source_name = source.to_string();
    let why = format!("{corrupt} of {} packets cannot be read", counters.packets);
    if corrupt == counters.packets {
        return Err(Error::NotATrace { source_name, why });
    }
    if options.strict {
        return Err(Error::Damaged { source_name, why });
    }
    Ok(Some(format!(
        "{source_name}: {why}; they are rows of type 'corrupt', and import_log says why"
    )))
}

/// Everything that needs the whole trace. An error of `None` is the user's wish.
fn finish(
    conn: &Connection,
    decoder: &mut Decoder,
    indexes: &[String],
    far: &[FarClocks],
    cancelled: &dyn Fn() -> bool,
) -> Result<Summary, Option<rusqlite::Error>> {
    let go_on = || if cancelled() { Err(None) } else { Ok(()) };
    retry::retry(conn, decoder)?;
    go_on()?;
    let events = payload::finish(conn, decoder)?;
    go_on()?;
    let clocks = finish::clocks(conn, &mut decoder.clocks)?;
    for far in far {
        finish::used_steps(conn, &mut decoder.clocks, far)?;
    }
    if !far.is_empty() {
        writer::log(
            conn,
            &LogRow {
                severity: Severity::Info,
                code: "clock_mapping_bounded",
                packet_id: None,
                offset: None,
                message:
                    "clock_mapping holds, for clocks of several hops, only the steps that readings \
                      of their packets fall in"
                        .into(),
            },
        )?;
    }
    let sequences = finish::sequences(conn, decoder)?;
    go_on()?;
    finish::indexes_and_views(conn, indexes)?;
    go_on()?;
    let unresolved = retry::unresolved(conn)?;
    let (start_ts, end_ts) =
        conn.query_row("SELECT start_ts, end_ts FROM trace_bounds", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    Ok(Summary {
        packets: decoder.counters.packets,
        snapshots: decoder.clocks.graph.snapshots().into(),
        rejected_snapshots: decoder.counters.snapshots_rejected,
        clocks,
        sequences,
        on_trace_time: decoder.counters.packets_on_trace_time,
        without_timestamp: decoder.counters.packets_without_timestamp,
        unresolved,
        events,
        trace_time_clock: decoder.clocks.trace_time().to_string(),
        start_ts,
        end_ts,
        source_bytes: 0,
        database_bytes: 0,
        warnings: Vec::new(),
    })
}

/// Fills `stats` and `metadata`.
fn describe(
    conn: &Connection,
    source: &Source,
    digest: &source::Digested,
    decoder: &Decoder,
    summary: &Summary,
) -> rusqlite::Result<()> {
    let counters = &decoder.counters;
    finish::stat(conn, "packets", summary.packets)?;
    finish::stat(conn, "packets_on_trace_time", summary.on_trace_time)?;
    finish::stat(conn, "packets_without_timestamp", summary.without_timestamp)?;
    finish::stat(conn, "packets_corrupt", counters.packets_corrupt)?;
    for (reason, count) in &summary.unresolved {
        finish::stat(conn, &format!("packets_unresolved_{reason}"), *count)?;
    }
    finish::stat(conn, "compressed_packets", counters.compressed_packets)?;
    finish::stat(
        conn,
        "compressed_packets_damaged",
        counters.compressed_packets_damaged,
    )?;
    finish::stat(
        conn,
        "compressed_packets_nested",
        counters.compressed_packets_nested,
    )?;
    finish::stat(conn, "snapshots", summary.snapshots)?;
    finish::stat(conn, "snapshots_rejected", summary.rejected_snapshots)?;
    for events in &summary.events {
        finish::stat(conn, events.table, events.rows)?;
        for (reason, count) in &events.unresolved {
            finish::stat(
                conn,
                &format!("{}_unresolved_{reason}", events.table),
                *count,
            )?;
        }
    }
    for (name, count) in &counters.of_importers {
        finish::stat(conn, name, *count)?;
    }
    finish::stat(conn, "clocks", summary.clocks)?;
    finish::stat(conn, "sequences", summary.sequences)?;
    finish::stat(conn, "trace_bytes", counters.trace_bytes)?;

    let trace_time: Clock = decoder.clocks.trace_time();
    finish::metadata(conn, "trace_time_clock_id", trace_time.id.get())?;
    finish::metadata(conn, "trace_uuid", decoder.trace_uuid.as_deref())?;
    finish::metadata(conn, "tool", "timebase")?;
    finish::metadata(conn, "tool_version", env!("CARGO_PKG_VERSION"))?;
    finish::metadata(conn, "source", source.to_string())?;
    finish::metadata(conn, "source_size", digest.size as i64)?;
    finish::metadata(conn, "source_sha256", digest.sha256.as_deref())
}

/// Checks that a database is one that this version of timebase can read.
///
/// # Errors
///
/// [`Error::ForeignDatabase`], [`Error::SchemaVersion`] or
/// [`Error::Unreadable`].
pub fn check_database(conn: &Connection) -> Result<(), Error> {
    let path = conn.path().unwrap_or_default().into();
    let pragma = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let versions = pragma("application_id").and_then(|id| Ok((id, pragma("user_version")?)));
    match versions {
        Err(error) => Err(Error::Unreadable { path, error }),
        Ok((APPLICATION_ID, VERSION)) => Ok(()),
        Ok((APPLICATION_ID, found)) => Err(Error::SchemaVersion {
            path,
            found,
            expected: VERSION,
        }),
        Ok(_) => Err(Error::ForeignDatabase { path }),
    }
}

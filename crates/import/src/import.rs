//! An import from its beginning to its end: the order in which everything is
//! done, and what may still go wrong.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ToSql};
use timebase_schema::{self as schema, tables};
use timebase_trace::{Damage, Digested, End, Input, Monitor, Source};

use crate::error::{Error, WriteError};
use crate::frame::{Frame, Keep, counter};
use crate::options::Options;
use crate::output::{self, Destination, KeyedRow, Message, SettledRows, Severity, Writer};
use crate::pipeline::{self, Broken, Read};
use crate::place::Place;
use crate::readers::{self, PacketSchema};
use crate::summary::{Events, Summary};
use crate::trackers::Trackers;

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

    let frame = frame(
        schema,
        Trackers::default(),
        options,
        destination.directory(),
    );
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
    let trace = ReadTrace {
        source,
        rows,
        strict: options.strict,
    };
    let damage = match end {
        End::Complete => None,
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
    let settled = std::mem::replace(
        &mut frame.settled,
        SettledRows::new(destination.directory()),
    );
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
        if cancelled {
            Error::Cancelled
        } else {
            error.into()
        }
    })
}

/// A trace of which nothing was read.
pub(crate) fn frame(
    schema: PacketSchema,
    trackers: Trackers,
    options: &Options,
    directory: &Path,
) -> Frame {
    let keep = Keep {
        data: options.keep_data,
        events: options.keep_events,
    };
    Frame::new(schema, trackers, keep, directory)
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

/// A trace that was read, however it ended.
struct ReadTrace<'a> {
    source: &'a Source,
    /// How many rows each table has got, by its number.
    rows: Vec<i64>,
    strict: bool,
}

impl ReadTrace<'_> {
    fn count(&self, table: &schema::Table) -> u64 {
        self.rows[table.number].unsigned_abs()
    }

    fn packets(&self) -> u64 {
        self.count(&tables::packet::TABLE)
    }

    /// How many packets cannot be read, and how many have a payload that cannot.
    fn corrupt(&self, frame: &Frame) -> (u64, u64) {
        let counter = |name| frame.journal.counter(name);
        (
            counter(counter::PACKETS_CORRUPT),
            counter(counter::PAYLOADS_CORRUPT),
        )
    }

    /// What damage means: an error if it is all there is or the user is strict,
    /// otherwise a message.
    fn damage(&self, damage: &Damage, frame: &Frame) -> Result<Message, Error> {
        let source_name = self.source.to_string();
        let why = damage.to_string();
        let plausible = matches!(
            damage,
            Damage::Cut {
                plausible: true,
                ..
            }
        );
        let (packets, payloads) = self.corrupt(frame);
        if self.packets() == packets + payloads && !plausible {
            return Err(Error::NotATrace { source_name, why });
        }
        if self.strict {
            return Err(Error::Damaged { source_name, why });
        }
        let (severity, code, offset) = match *damage {
            Damage::Cut { offset, .. } | Damage::CutBetween { offset } => {
                (Severity::Warning, "cut", offset)
            }
            Damage::NoPacket { offset }
            | Damage::TooLarge { offset, .. }
            | Damage::Compression { offset, .. } => (Severity::Error, "damaged", offset),
        };
        Ok(Message {
            severity,
            code,
            packet_id: None,
            offset: Some(offset),
            text: format!(
                "{damage}; the {} packets before it are imported",
                self.packets()
            ),
        })
    }

    /// Packets and payloads that could not be read: an error if there are no others
    /// or the user is strict, otherwise warnings.
    fn corruption(&self, frame: &Frame) -> Result<Vec<String>, Error> {
        let (packets, payloads) = self.corrupt(frame);
        let all = self.packets();
        let mut what = Vec::new();
        if packets > 0 {
            what.push((
                format!("{packets} of {all} packets cannot be read"),
                "they are rows of type 'corrupt', and import_log says why",
            ));
        }
        if payloads > 0 {
            what.push((
                format!("the payloads of {payloads} of {all} packets cannot be read"),
                "the packets are rows without what their payloads hold, and import_log says why",
            ));
        }
        let Some((why, _)) = what.first() else {
            return Ok(Vec::new());
        };
        let (source_name, why) = (self.source.to_string(), why.clone());
        if packets + payloads == all {
            return Err(Error::NotATrace { source_name, why });
        }
        if self.strict {
            return Err(Error::Damaged { source_name, why });
        }
        let warnings = what
            .iter()
            .map(|(why, then)| format!("{source_name}: {why}; {then}"));
        Ok(warnings.collect())
    }
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
            settled.apply(&conn, &mut readers::settlers(&conn)?)?;
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

/// Fills `clock` and `sequence`, and tells what there is.
fn summarize(
    conn: &Connection,
    frame: &mut Frame,
    trace: &ReadTrace<'_>,
) -> rusqlite::Result<Summary> {
    let clocks = output::clocks(conn, &mut frame.place)?;
    let sequences = output::sequences(conn, &frame.place)?;
    let bounds = "SELECT start_ts, end_ts FROM trace_bounds";
    let (start_ts, end_ts) = conn.query_row(bounds, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let journal = &frame.journal;
    let events = tables::ALL.iter().filter_map(|table| match table.events? {
        schema::Events::Rows {
            name,
            heading,
            noun,
        } => Some(Events {
            table: name,
            heading,
            noun,
            rows: trace.count(table),
            unresolved: journal.reasons(table).by_name(),
        }),
        schema::Events::PartOf(_) => None,
    });
    let events = events.collect();
    Ok(Summary {
        packets: trace.packets(),
        snapshots: frame.place.graph().snapshots().into(),
        rejected_snapshots: journal.counter(counter::SNAPSHOTS_REJECTED),
        clocks,
        sequences,
        on_trace_time: journal.packets_on_trace_time,
        without_timestamp: journal.counter(counter::PACKETS_WITHOUT_TIMESTAMP),
        unresolved: journal.reasons(&tables::packet::TABLE).by_name(),
        events,
        trace_time_clock: frame.place.trace_time().to_string(),
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
    digest: &Digested,
    frame: &Frame,
    trace: &ReadTrace<'_>,
    summary: &Summary,
) -> rusqlite::Result<()> {
    let counts = &frame.counts;
    let mut stats: Vec<(String, u64)> = [
        ("packets", summary.packets),
        ("packets_on_trace_time", summary.on_trace_time),
        ("compressed_packets", counts.compressed),
        ("compressed_packets_damaged", counts.compressed_damaged),
        ("compressed_packets_nested", counts.nested),
        ("snapshots", summary.snapshots),
        ("clocks", summary.clocks),
        ("sequences", summary.sequences),
        ("trace_bytes", counts.bytes),
    ]
    .into_iter()
    .chain(frame.journal.counters())
    .map(|(name, count)| (name.to_owned(), count))
    .collect();
    let packets = ("packets", None, &summary.unresolved);
    let events = summary.events.iter();
    let events = events.map(|events| (events.table, Some(events.rows), &events.unresolved));
    for (name, rows, unresolved) in [packets].into_iter().chain(events) {
        stats.extend(rows.map(|rows| (name.to_owned(), rows)));
        for (reason, count) in unresolved {
            stats.push((format!("{name}_unresolved_{reason}"), *count));
        }
    }
    output::stats(conn, stats)?;

    let trace_time = trace_time_of(&frame.place);
    let facts: [(&str, &dyn ToSql); 7] = [
        ("trace_time_clock_id", &trace_time),
        ("trace_uuid", &frame.journal.fact("trace_uuid")),
        ("tool", &"timebase"),
        ("tool_version", &env!("CARGO_PKG_VERSION")),
        ("source", &trace.source.to_string()),
        ("source_size", &(digest.size as i64)),
        ("source_sha256", &digest.sha256),
    ];
    output::metadata(conn, &facts)
}

fn trace_time_of(place: &Place) -> u32 {
    place.trace_time().id.get()
}

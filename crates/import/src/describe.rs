//! What the import tells of itself: the summary, and the tables `stats` and
//! `metadata`.

use rusqlite::{Connection, ToSql};
use timebase_schema::{self as schema, tables};
use timebase_trace::Digested;

use crate::frame::{Frame, counter};
use crate::output;
use crate::summary::{Events, Summary};
use crate::verdict::ReadTrace;

/// Fills `clock` and `sequence`, and tells what there is.
pub(crate) fn summarize(
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
pub(crate) fn describe(
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

    let trace_time = frame.place.trace_time().id.get();
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

//! What the import tells of itself: the summary, and the tables `stats` and
//! `fact`.

use rusqlite::{Connection, ToSql};
use timebase_resolver::Unresolved;
use timebase_schema::{self as schema, tables};
use timebase_trace::Digested;

use crate::frame::{Frame, counter};
use crate::output::{self, Counter, Meaning};
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
    let wanted = tables::ALL.iter().filter(|table| frame.wanted().has(table));
    let events = wanted.filter_map(|table| match table.events? {
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
        read: frame.read,
        unread: frame.unread(),
        events,
        trace_time_clock: frame.place.trace_time().to_string(),
        start_ts,
        end_ts,
        source_bytes: 0,
        database_bytes: 0,
        warnings: Vec::new(),
    })
}

/// Fills `stats` and `fact`.
pub(crate) fn describe(
    conn: &Connection,
    digest: &Digested,
    frame: &Frame,
    trace: &ReadTrace<'_>,
    summary: &Summary,
) -> rusqlite::Result<()> {
    let counts = &frame.counts;
    let counters = [
        (Counter::info("packets"), summary.packets),
        (
            Counter::info("packets_on_trace_time"),
            summary.on_trace_time,
        ),
        (Counter::info("compressed_packets"), counts.compressed),
        (
            Counter::error("compressed_packets_damaged"),
            counts.compressed_damaged,
        ),
        (Counter::error("compressed_packets_nested"), counts.nested),
        (Counter::info("snapshots"), summary.snapshots),
        (Counter::info("clocks"), summary.clocks),
        (Counter::info("sequences"), summary.sequences),
        (Counter::info("trace_bytes"), counts.bytes),
    ];
    let counters = counters.into_iter().chain(frame.journal.counters());
    let mut stats: Vec<(String, Meaning, u64)> = counters
        .map(|(counter, count)| (counter.name.to_owned(), counter.meaning, count))
        .collect();
    let packets = ("packets", None, &summary.unresolved);
    let events = summary.events.iter();
    let events = events.map(|events| (events.table, Some(events.rows), &events.unresolved));
    for (name, rows, unresolved) in [packets].into_iter().chain(events) {
        stats.extend(rows.map(|rows| (name.to_owned(), Meaning::INFO, rows)));
        for (&reason, count) in unresolved {
            let name = format!("{name}_unresolved_{reason}");
            stats.push((name, meaning_of(reason), *count));
        }
    }
    output::stats(conn, stats)?;

    let trace_time = frame.place.trace_time().id.get();
    let size = digest.size as i64;
    let source = trace.source.to_string();
    let tables = frame.wanted().names();
    let conversion = trace.conversion.name();
    let data = if frame.keeps_data() { "all" } else { "none" };
    let mut facts: Vec<(&str, &dyn ToSql)> = vec![
        ("conversion", &conversion),
        ("import_data", &data),
        ("import_tables", &tables),
        ("trace_time_clock_id", &trace_time),
        ("trace_type", &"proto"),
        ("trace_size_bytes", &size),
        ("tool", &"timebase"),
        ("tool_version", &env!("CARGO_PKG_VERSION")),
        ("source", &source),
        ("source_size", &size),
        ("source_sha256", &digest.sha256),
    ];
    let stated = frame.journal.facts();
    facts.extend(stated.map(|(name, fact)| (name, fact as &dyn ToSql)));
    output::facts(conn, &facts)
}

/// What it means that something could not be placed, for this reason.
fn meaning_of(reason: &str) -> Meaning {
    match Unresolved::from_code(reason) {
        Some(Unresolved::IncrementalStateLost) => Meaning::DATA_LOSS,
        _ => Meaning::ERROR,
    }
}

//! Imports of kernel events with everything derived from them, compared with SQLite's inserts of
//! the same rows; and queries of the events, compared with a table of the same columns.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::Value;
use timebase_import::Options;
use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings};

use crate::child::import_in_child;
use crate::imports::{discard, import};
use crate::inserts::{Rows, same_rows};
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, progress, truth};

/// The tables with many rows.
const TABLES: [&str; 7] = [
    "ftrace_record",
    "ftrace_args",
    "packet_record",
    "sched_record",
    "thread_state_record",
    "slice_record",
    "counter_record",
];

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let (trace, truths) = match &bench.events {
        Some(trace) => (Trace::of_file(trace), Vec::new()),
        None => Trace::generate_with_truth(bench, "events", &settings(bench))?,
    };
    let ours = bench.directory().join("events.db");
    let bare = bench.directory().join("bare.db");
    let options = Options::default();
    progress("importing events");
    import(&trace, &ours, &options)?;
    truth::check(&ours, &truths)?;
    drop(truths);
    let rows = TABLES.map(|name| Rows::read(&ours, name));
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
    let events = rows.first().map_or(0, Rows::len) as u64;
    let all: u64 = rows.iter().map(|rows| rows.len() as u64).sum();
    if events == 0 {
        return Err(format!("{} has no kernel events", trace.path.display()).into());
    }
    Rows::insert_all(&rows, &bare)?;
    for name in TABLES {
        same_rows(&ours, &bare, name)?;
    }
    let pairs = Pairs::run(
        bench.runs(),
        || discard(&ours, import(&trace, &ours, &options)?),
        || discard(&bare, Rows::insert_all(&rows, &bare)?),
    )?;
    drop(rows);
    let cost = import_in_child(&trace, &ours)?;
    table.add(
        Row::new(format!("import of {} kernel events, {} rows", grouped(events), grouped(all)))
            .pairs(&pairs, "bare inserts of the same rows")
            .count(events)
            .memory(cost.peak_memory)
            .target(Target::Ratio(1.25)),
    );
    import(&trace, &ours, &options)?;
    view_against_table(bench, table, &ours)
}

/// The events of the generator.
pub fn settings(bench: &Bench) -> Settings {
    Settings::preset(Preset::Events).records(bench.size(3_000_000, 300_000))
}

/// The queries of a client, on the view and on a table with the same columns.
fn view_against_table(bench: &Bench, table: &mut Table, database: &Path) -> Result<()> {
    progress("asking for events");
    let conn = Connection::open(database)?;
    conn.execute_batch(
        "CREATE TABLE plain AS SELECT * FROM ftrace_event;
         CREATE INDEX plain_ts ON plain (ts);",
    )?;
    let window = "ts BETWEEN (SELECT min(ts) + (max(ts) - min(ts)) * 2 / 5 FROM plain) \
                  AND (SELECT min(ts) + (max(ts) - min(ts)) / 2 FROM plain)";
    let next_pid = "sum(json_extract(args, '$.next_pid'))";
    for (what, select, most) in [
        (
            "events by name",
            "SELECT name, count(*), min(ts) FROM # GROUP BY name".to_owned(),
            Some(0.4),
        ),
        (
            "one argument of all switches",
            format!("SELECT {next_pid} FROM # WHERE name = 'sched_switch'"),
            None,
        ),
        ("a tenth of the time", format!("SELECT name, {next_pid} FROM # WHERE {window}"), None),
        (
            "all columns of all events",
            "SELECT sum(length(name) + length(args) + cpu + tid + ts % 7) FROM #".to_owned(),
            None,
        ),
    ] {
        let (mut of_view, mut of_plain) = (Vec::new(), Vec::new());
        let pairs = Pairs::run(
            bench.runs(),
            || ask(&conn, &select, "ftrace_event", &mut of_view),
            || ask(&conn, &select, "plain", &mut of_plain),
        )?;
        assert_eq!(of_view, of_plain, "the view says what the table says");
        let row = Row::new(format!("query of {what}")).pairs(&pairs, "a plain table");
        table.add(match most {
            Some(most) => row.target(Target::Ratio(most)),
            None => row,
        });
    }
    Ok(())
}

/// Runs a query, and adds its rows to `found`.
pub fn ask(
    conn: &Connection,
    select: &str,
    from: &str,
    found: &mut Vec<Vec<Value>>,
) -> Result<Duration> {
    let mut statement = conn.prepare(&select.replace('#', from))?;
    let columns = statement.column_count();
    let begun = Instant::now();
    let rows = statement.query_map([], |row| (0..columns).map(|i| row.get(i)).collect())?;
    let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let time = begun.elapsed();
    found.extend(rows);
    Ok(time)
}

//! Imports of track events and their slices, compared with SQLite's inserts of the same rows; and
//! queries of slices and their arguments, compared with plain tables.

use std::path::Path;

use rusqlite::Connection;
use timebase_import::Options;
use timebase_lab::reliability::grouped;
use timebase_lab::synth::{Preset, Settings};

use crate::child::import_in_child;
use crate::events::ask;
use crate::imports::{discard, import};
use crate::inserts::{Rows, same_rows};
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, progress};

/// The tables with many rows.
const TABLES: [&str; 3] = ["packet_record", "slice_record", "arg_set"];

const THREADS: u32 = 16;
const ANNOTATIONS: u32 = 4;

/// The tables to compare the views with.
const PLAIN: &str = "
    CREATE TABLE plain_slice AS SELECT * FROM slice;
    CREATE UNIQUE INDEX plain_slice_id ON plain_slice (id);
    CREATE INDEX plain_slice_ts ON plain_slice (ts);
    CREATE INDEX plain_slice_track ON plain_slice (track_id, ts);
    CREATE TABLE plain_thread_track (id INTEGER PRIMARY KEY, utid);
    INSERT INTO plain_thread_track SELECT id, utid FROM thread_track;
    CREATE TABLE plain_thread (utid INTEGER PRIMARY KEY, tid, name, upid);
    INSERT INTO plain_thread SELECT utid, tid, name, upid FROM thread;
    CREATE TABLE plain_process (upid INTEGER PRIMARY KEY, pid, name);
    INSERT INTO plain_process SELECT upid, pid, name FROM process;";

/// `#` comes before the names of tables.
const QUERIES: [(&str, &str); 4] = [
    (
        "the time of slices by name",
        "SELECT name, sum(dur), count(*) FROM #slice GROUP BY name ORDER BY 1",
    ),
    (
        "one argument of all slices of a name",
        "SELECT count(*), sum(args ->> '$.\"debug.argument 1\"') FROM #slice WHERE name = 'step 7'",
    ),
    (
        "children of slices",
        "SELECT count(*), sum(c.dur)
         FROM (SELECT * FROM #slice WHERE depth = 0 AND dur > 0 ORDER BY id LIMIT 20000) AS p
         JOIN #slice AS c ON c.track_id = p.track_id AND c.ts BETWEEN p.ts AND p.ts + p.dur
          AND c.parent_id = p.id",
    ),
    (
        "slices by process",
        "SELECT p.pid, count(*), sum(s.dur) FROM #slice AS s JOIN #thread_track AS k ON k.id = s.track_id
         JOIN #thread AS t USING (utid) JOIN #process AS p USING (upid) GROUP BY p.upid ORDER BY 1",
    ),
];

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    for annotations in [0, ANNOTATIONS] {
        import_of(bench, table, annotations)?;
    }
    Ok(())
}

fn import_of(bench: &Bench, table: &mut Table, annotations: u32) -> Result<()> {
    let events = bench.size(2_000_000, 200_000);
    let settings = Settings {
        sequences: THREADS,
        annotations,
        ..Settings::preset(Preset::Packets).records(events)
    };
    let what = match annotations {
        0 => format!("{} track events", grouped(events)),
        _ => format!("{} with {annotations} arguments each", grouped(events)),
    };
    progress(format_args!("importing {what}"));
    let trace = Trace::generate(bench, "slices", &settings)?;
    let ours = bench.directory().join("slices.db");
    let bare = bench.directory().join("bare.db");
    let options = Options::default();
    import(&trace, &ours, &options)?;
    let rows = TABLES.map(|name| Rows::read(&ours, name));
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
    let all: u64 = rows.iter().map(|rows| rows.len() as u64).sum();
    assert_eq!(rows[1].len() as u64, events / 2, "slices");
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
        Row::new(format!("import of {what}, {} rows", grouped(all)))
            .pairs(&pairs, "bare inserts of the same rows")
            .count(events)
            .memory(cost.peak_memory)
            .target(Target::Ratio(1.25)),
    );
    if annotations > 0 {
        import(&trace, &ours, &options)?;
        queries(bench, table, &ours)?;
    }
    Ok(())
}

fn queries(bench: &Bench, table: &mut Table, database: &Path) -> Result<()> {
    progress("asking for slices");
    let conn = Connection::open(database)?;
    conn.execute_batch(PLAIN)?;
    for (what, select) in QUERIES {
        let (mut of_views, mut of_plain) = (Vec::new(), Vec::new());
        let pairs = Pairs::run(
            bench.runs(),
            || ask(&conn, select, "", &mut of_views),
            || ask(&conn, select, "plain_", &mut of_plain),
        )?;
        assert!(!of_views.is_empty(), "{what} has an answer");
        assert_eq!(of_views, of_plain, "the views say what the tables say");
        let row = Row::new(format!("query of {what}"));
        table.add(row.pairs(&pairs, "plain tables").target(Target::Ratio(1.3)));
    }
    Ok(())
}

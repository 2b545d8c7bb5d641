//! Typical queries of scheduling, slices and counters: of the views, compared with plain tables of
//! the same rows with the same indexes.

use std::path::Path;

use rusqlite::Connection;
use timebase_import::Options;

use crate::events::{self, ask};
use crate::imports::import;
use crate::pairs::Pairs;
use crate::table::{Row, Table, Target};
use crate::traces::Trace;
use crate::{Bench, Result, progress, system};

/// The queried views, and indexes of the compared tables.
const PLAIN: &str = "
    CREATE TABLE plain_sched AS SELECT * FROM sched;
    CREATE INDEX plain_sched_ts ON plain_sched (ts);
    CREATE INDEX plain_sched_utid ON plain_sched (utid, ts);
    CREATE TABLE plain_thread_state AS SELECT * FROM thread_state;
    CREATE INDEX plain_thread_state_utid ON plain_thread_state (utid, ts);
    CREATE TABLE plain_slice AS SELECT * FROM slice;
    CREATE INDEX plain_slice_ts ON plain_slice (ts);
    CREATE INDEX plain_slice_track ON plain_slice (track_id, ts);
    CREATE TABLE plain_counter AS SELECT * FROM counter;
    CREATE INDEX plain_counter_track ON plain_counter (track_id, ts);
    CREATE TABLE plain_thread (utid INTEGER PRIMARY KEY, tid, name, upid);
    INSERT INTO plain_thread SELECT utid, tid, name, upid FROM thread;
    CREATE TABLE plain_process (upid INTEGER PRIMARY KEY, pid, name);
    INSERT INTO plain_process SELECT upid, pid, name FROM process;";

/// The question, the query, and the largest share of the time of plain tables that it may take.
type Query = (&'static str, &'static str, f64);

/// Queries of scheduling; `#` comes before the names of tables.
const SCHEDULING: [Query; 4] = [
    (
        "CPU time by process",
        "SELECT p.name, p.pid, sum(s.dur) FROM #sched AS s JOIN #thread AS t USING (utid)
         LEFT JOIN #process AS p USING (upid) WHERE s.dur > 0 GROUP BY p.upid ORDER BY 3 DESC, 2",
        1.3,
    ),
    (
        "CPU time by upid",
        "SELECT upid, p.name, sum(s.dur) FROM #sched AS s JOIN #thread AS t USING (utid)
         LEFT JOIN #process AS p USING (upid) GROUP BY upid ORDER BY 1",
        0.4,
    ),
    (
        "the time in each state",
        "SELECT state, count(*), sum(dur) FROM #thread_state GROUP BY state ORDER BY 1",
        1.3,
    ),
    (
        "the ten longest waits for a CPU, and what ran then",
        "WITH wait AS (
           SELECT ts, dur, utid FROM #thread_state WHERE state IN ('R', 'R+')
           ORDER BY dur DESC, ts, utid LIMIT 10)
         SELECT w.ts, w.dur, t.name, o.name, count(*), sum(s.dur)
         FROM wait AS w JOIN #thread AS t USING (utid)
         JOIN #sched AS s ON s.ts BETWEEN w.ts AND w.ts + w.dur
         JOIN #thread AS o ON o.utid = s.utid
         GROUP BY w.ts, w.utid, o.utid ORDER BY 1, 2, 6 DESC, 4",
        1.3,
    ),
];

/// Queries of slices and counters.
const SYSTEM: [Query; 2] = [
    (
        "a counter with what ran at each value",
        "SELECT t.name, c.value, count(*) FROM #counter AS c
         JOIN #sched AS s ON s.ts = (SELECT max(ts) FROM #sched WHERE ts <= c.ts)
         JOIN #thread AS t ON t.utid = s.utid
         WHERE c.track_id = (SELECT min(id) FROM counter_track) GROUP BY 1, 2 ORDER BY 1, 2",
        1.3,
    ),
    (
        "slices by name",
        "SELECT name, count(*), sum(dur), max(dur) FROM #slice GROUP BY name ORDER BY 1",
        1.3,
    ),
];

pub fn run(bench: &Bench, table: &mut Table) -> Result<()> {
    let scheduling = match &bench.events {
        Some(trace) => Trace::of_file(trace),
        None => Trace::generate(bench, "events", &events::settings(bench))?,
    };
    compare(bench, table, &scheduling, &SCHEDULING)?;
    drop(scheduling);
    compare(bench, table, &system::trace(bench)?, &SYSTEM)
}

fn compare(bench: &Bench, table: &mut Table, trace: &Trace, queries: &[Query]) -> Result<()> {
    let database = bench.directory().join("queries.db");
    import(trace, &database, &Options::default())?;
    let conn = with_plain_tables(&database)?;
    for &(what, select, most) in queries {
        progress(what);
        let (mut of_views, mut of_plain) = (Vec::new(), Vec::new());
        let pairs = Pairs::run(
            bench.runs(),
            || ask(&conn, select, "", &mut of_views),
            || ask(&conn, select, "plain_", &mut of_plain),
        )?;
        assert!(!of_views.is_empty(), "{what} has an answer");
        assert_eq!(of_views, of_plain, "the views say what the tables say");
        let row = Row::new(format!("query of {what}"));
        table.add(row.pairs(&pairs, "plain tables").target(Target::Ratio(most)));
    }
    Ok(())
}

fn with_plain_tables(database: &Path) -> Result<Connection> {
    progress("making plain tables");
    let conn = Connection::open(database)?;
    conn.execute_batch(PLAIN)?;
    Ok(conn)
}

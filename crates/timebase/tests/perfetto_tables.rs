//! The tables that modules of PerfettoSQL read, with modules that are written as Perfetto's are: the
//! order of rows, on which modules rely (PQ10), tables of many rows, and the cost of functions.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use timebase::Import;
use timebase_sql::perfetto::{self, Packages};

/// The rows of each table.
const ROWS: i64 = 400;

/// Numbers that look random, the same ones in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as i64 % bound
    }
}

/// A column of a table.
struct Column {
    name: String,
    declared: String,
}

fn columns(conn: &Connection, table: &str) -> Vec<Column> {
    let sql = "SELECT name, type FROM pragma_table_info(?1)";
    let mut statement = conn.prepare(sql).unwrap();
    let columns =
        statement.query_map([table], |row| Ok(Column { name: row.get(0)?, declared: row.get(1)? }));
    columns.unwrap().map(Result::unwrap).collect()
}

fn names(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(sql).unwrap();
    let names = statement.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

/// A value as SQL. Only ids are in the order of rows, and the times of `sched_record`, as its rows
/// are in the order of time.
fn value(random: &mut Random, table: &str, column: &Column, row: i64) -> String {
    match (table, column.name.as_str(), column.declared.as_str()) {
        ("sched_record", "ts", _) => (10 * row).to_string(),
        // The values of a sample are together, in the order of samples.
        ("stack_sample_record", "counter_id", _) => row.to_string(),
        ("stack_sample_record", "counters", _) => "1".to_owned(),
        ("arg_set", "id", _) => (2 * row).to_string(),
        ("ftrace_args", "id", _) => (2 * row + 1).to_string(),
        (_, "id", _) => row.to_string(),
        ("arg_set" | "ftrace_args", "args", _) => format!("'{{\"key\": {}}}'", random.below(9)),
        ("ftrace_name", "name", _) => format!("'name {}'", (row * 7919) % 1009),
        ("arg_type", _, "TEXT") => "NULL".to_owned(),
        (_, _, "TEXT") => format!("'text {}'", random.below(30)),
        _ => random.below(ROWS).to_string(),
    }
}

/// Fills all tables of a database with the layout of an import.
fn fill(conn: &Connection) {
    let mut random = Random(7);
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'";
    for table in names(conn, tables) {
        let columns = columns(conn, &table);
        let mut script = format!("DELETE FROM {table};");
        for row in 0..ROWS {
            let values = columns.iter().map(|column| value(&mut random, &table, column, row));
            let values: Vec<String> = values.collect();
            let values = values.join(", ");
            write!(script, "INSERT OR IGNORE INTO {table} VALUES ({values});").unwrap();
        }
        conn.execute_batch(&script).unwrap();
    }
}

/// The prelude of the modules here: trace processor's tables as its own prelude has them, as far as
/// the tests need them.
const PRELUDE: &str = "
    CREATE PERFETTO VIEW sched AS
    SELECT id, ts, dur, ucpu AS cpu, utid, end_state, priority, ucpu, ts + dur AS ts_end FROM __intrinsic_sched_slice;
    CREATE PERFETTO VIEW thread_state AS SELECT *, ucpu AS cpu FROM __intrinsic_thread_state;
    CREATE PERFETTO VIEW slice AS SELECT *, category AS cat, id AS slice_id FROM __intrinsic_slice;
    CREATE PERFETTO VIEW state AS SELECT * FROM __intrinsic_state;";

/// For each state in which a thread runs, the last one before it in which it waited for a CPU.
const RUNNABLE: &str = "
    CREATE PERFETTO TABLE previous_runnable(id JOINID(thread_state.id), previous_id JOINID(thread_state.id)) AS
    SELECT id, previous_id FROM (
        SELECT id, state, max(id) FILTER (WHERE state != 'Running') OVER by_thread AS previous_id
        FROM thread_state WHERE state GLOB 'R*' AND dur != -1
        WINDOW by_thread AS (PARTITION BY utid ORDER BY id))
    WHERE state = 'Running' ORDER BY id;";

/// The begins of the first `count` seconds of the trace. The rows of `sched` number them.
const SECONDS: &str = "
    CREATE PERFETTO FUNCTION seconds(count LONG) RETURNS TABLE(number LONG) AS
    SELECT id AS number FROM sched LIMIT $count;";

/// Functions that read the arguments of a slice, and the slices in it.
const TASKS: &str = "
    CREATE PERFETTO FUNCTION argument(arg_set_id LONG, key STRING) RETURNS STRING AS
    WITH x AS (SELECT extract_arg($arg_set_id, $key) AS value) SELECT value || '' FROM x;
    CREATE PERFETTO FUNCTION first_inside(slice_id LONG) RETURNS LONG AS
    SELECT id FROM descendant_slice($slice_id) ORDER BY depth, ts LIMIT 1;
    CREATE PERFETTO TABLE tasks AS
    SELECT id, name, argument(arg_set_id, 'vec') AS vector, argument(arg_set_id, 'signal.sig') AS signal,
        first_inside(id) AS inside
    FROM slice WHERE (SELECT count() FROM ancestor_slice(slice.id) AS a WHERE a.name GLOB '*x*') = 0;";

/// A connection to the database of a trace, with the modules above.
fn of_trace(trace: &str) -> Connection {
    let mut conn = Connection::open_in_memory().unwrap();
    let trace = Import::new(format!("../../tests/data/{trace}.pftrace"));
    trace.into_connection(&mut conn).unwrap();
    with_modules(conn)
}

fn with_modules(conn: Connection) -> Connection {
    timebase::sql::register(&conn).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let modules = [
        ("prelude", "views", PRELUDE),
        ("own", "runnable", RUNNABLE),
        ("own", "seconds", SECONDS),
        ("own", "tasks", TASKS),
    ];
    for (package, name, text) in modules {
        let package = folder.path().join(package);
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join(name).with_extension("sql"), text).unwrap();
    }
    let mut packages = Packages::default();
    packages.add_folder(folder.path()).unwrap();
    perfetto::run(&conn, "INCLUDE PERFETTO MODULE own.*", &packages).unwrap();
    conn
}

/// A connection with filled tables, and trace processor's tables over them.
fn filled() -> Connection {
    let mut conn = Connection::open_in_memory().unwrap();
    let trace = Import::new("../../tests/data/late-frame.pftrace");
    trace.into_connection(&mut conn).unwrap();
    fill(&conn);
    with_modules(conn)
}

/// The values of the first column of a script's last statement.
fn integers(conn: &Connection, script: &str) -> Vec<i64> {
    let last = perfetto::run(conn, script, &Packages::default()).unwrap();
    let mut last = last.unwrap();
    let values = last.query_map([], |row| row.get(0)).unwrap();
    values.map(Result::unwrap).collect()
}

/// The first id of a query that is not greater than the one before it.
fn first_back(conn: &Connection, sql: &str) -> Option<(i64, i64)> {
    let mut statement = conn.prepare(sql).unwrap();
    let ids = statement.query_map([], |row| row.get(0)).unwrap();
    let ids: Vec<i64> = ids.map(Result::unwrap).collect();
    assert!(ids.len() > 10, "{} rows: {sql}", ids.len());
    ids.windows(2).map(|pair| (pair[0], pair[1])).find(|(before, id)| before >= id)
}

#[test]
fn pq10_every_table_that_modules_read_is_scanned_in_the_order_of_ids() {
    let conn = filled();
    let views = "SELECT name FROM sqlite_temp_schema WHERE name LIKE '\\_\\_intrinsic%' ESCAPE '\\'
        AND (type = 'view' OR name = '__intrinsic_thread_state')";
    let views = names(&conn, views);
    assert!(views.len() > 35, "{}", views.len());
    let mut wrong = Vec::new();
    for view in views {
        let others = columns(&conn, &view).into_iter().map(|column| column.name);
        let others: Vec<String> = others.filter(|name| name != "id").collect();
        let mut subsets = vec![String::new(), format!(", {}", others.join(", "))];
        for (index, first) in others.iter().enumerate() {
            subsets.push(format!(", {first}"));
            let pairs = others[index + 1..].iter();
            subsets.extend(pairs.map(|second| format!(", {first}, {second}")));
        }
        for subset in subsets {
            // An ORDER BY of the view would be lost in a join.
            for from in [view.clone(), format!("{view} CROSS JOIN (SELECT 1)")] {
                let sql = format!("SELECT id{subset} FROM {from}");
                if let Some(back) = first_back(&conn, &sql) {
                    wrong.push(format!("{sql}: {back:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The table is still found by its indexes.
#[test]
fn pq10_a_search_still_uses_an_index() {
    let conn = filled();
    for (table, search, index) in [
        ("slice", "track_id = 7", "slice_record_track"),
        ("slice", "ts BETWEEN 7 AND 8", "slice_record_ts"),
        ("slice", "id = 7", "PRIMARY KEY"),
        ("counter", "track_id = 7 AND ts < 100", "counter_record_track"),
        ("sched_slice", "utid = 7", "sched_record_utid"),
        ("sched_slice", "ts < 7", "PRIMARY KEY"),
        ("thread", "upid = 7", "thread_record_upid"),
        ("thread", "name = 'text 7'", "thread_record_name"),
        ("flow", "slice_in = 7", "flow_in"),
        ("ftrace_event", "name = 'name 7'", "ftrace_record_name"),
        ("state", "track_id = 7", "state_record_track"),
    ] {
        let sql = format!("EXPLAIN QUERY PLAN SELECT * FROM __intrinsic_{table} WHERE {search}");
        let mut statement = conn.prepare(&sql).unwrap();
        let steps = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        let is_search = |step: &String| step.starts_with("SEARCH") && step.contains(index);
        assert!(steps.iter().any(is_search), "{search}: {steps:#?}");
    }
}

#[test]
fn pq10_modules_that_count_by_the_ids_of_sched_get_every_number() {
    for trace in ["desktop", "system"] {
        let conn = of_trace(trace);
        assert_eq!(integers(&conn, "SELECT * FROM seconds(5)"), [0, 1, 2, 3, 4]);
        assert_eq!(integers(&conn, "SELECT id FROM sched LIMIT 3"), [0, 1, 2]);
    }
}

/// Trace processor has 5,347 such rows, also for the threads that wait as the trace begins.
#[test]
fn pq10_modules_that_go_back_by_the_ids_of_states_find_those_before_the_first_slice() {
    let conn = of_trace("desktop");
    let found = "SELECT count(*) FROM previous_runnable AS p JOIN thread_state AS s USING (id)
        JOIN sched AS k ON k.utid = s.utid AND k.ts = s.ts AND k.dur = s.dur
        WHERE p.previous_id IS NOT NULL";
    assert_eq!(integers(&conn, found), [5347]);
    let later = "SELECT count(*) FROM previous_runnable AS p JOIN thread_state AS s USING (id)
        JOIN thread_state AS b ON b.id = p.previous_id WHERE b.ts >= s.ts OR b.utid <> s.utid";
    assert_eq!(integers(&conn, later), [0]);
}

#[test]
fn pq2_states_of_tracks_are_there_after_an_include() {
    let conn = of_trace("more/36");
    let before = "SELECT count(*) FROM main.state";
    let after = "SELECT count(*) FROM state";
    assert_eq!(integers(&conn, before), [9]);
    assert_eq!(integers(&conn, after), [9]);
    assert!(perfetto::take_unread(&conn, after).unwrap().is_empty());
}

/// The view looks up the arguments of each row in another table, and there are more rows than one
/// batch.
#[test]
fn pq3_a_table_of_many_rows_may_come_from_a_view_with_subqueries() {
    let conn = of_trace("desktop");
    let script = "CREATE PERFETTO TABLE e AS SELECT id, args FROM main.ftrace_event;
        SELECT count(*) FROM e JOIN main.ftrace_event AS f USING (id) WHERE e.args IS f.args";
    assert_eq!(integers(&conn, script), [20423]);
}

/// A function's query is prepared once, and not for each call of the body that calls the function.
#[test]
fn pq12_queries_inside_of_functions_are_prepared_once() {
    let mut conn = of_trace("desktop");
    let tasks = integers(
        &conn,
        "SELECT count(*) FROM tasks WHERE vector IS NOT NULL OR signal IS NOT NULL",
    );
    assert!(tasks[0] > 1000, "{tasks:?}");
    let compiled = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&compiled);
    let count = move |context: AuthContext<'_>| {
        if let AuthAction::Select = context.action {
            seen.fetch_add(1, Ordering::Relaxed);
        }
        Authorization::Allow
    };
    conn.authorizer(Some(count)).unwrap();
    let calls = "SELECT count(argument(arg_set_id, 'vec')), count(first_inside(id)) FROM slice";
    let called = integers(&conn, calls);
    assert!(called[0] > 100, "{called:?}");
    let selects = compiled.load(Ordering::Relaxed);
    assert!(selects < 200, "{selects}");
    // Nothing keeps the connection open.
    conn.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).unwrap();
    assert!(conn.close().is_ok());
}

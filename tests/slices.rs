//! Slices around a slice, and flows: the views for any client, and the functions, which must agree.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use crate::support::{Imported, repository};

const DESKTOP: &str = "tests/data/desktop.pftrace";
const APP: &str = "tests/data/app.pftrace";

/// A trace as a database, with the functions of slices.
fn imported(trace: &str) -> Imported {
    let db = Imported::of(&repository().join(trace), &[]);
    timebase_sql::slices::register(&db.conn).unwrap();
    db
}

/// Slices made by hand in an empty database: id, ts, dur, depth and parent, on one track.
///
/// The first contains one that lasts longer, one that begins only after its end, and one without an
/// end; the second begins as the first ends, with two instants in it; the third has no end.
const ODD: [(i64, i64, i64, i64, Option<i64>); 10] = [
    (0, 0, 5000, 0, None),
    (1, 1000, 100_000, 1, Some(0)),
    (2, 4000, -1, 2, Some(1)),
    (3, 5000, 500, 0, None),
    (4, 5000, 0, 1, Some(3)),
    (5, 5000, 0, 2, Some(4)),
    (6, 10_000, 1, 1, Some(0)),
    (7, 20_000, -1, 0, None),
    (8, 20_000, 10, 1, Some(7)),
    (9, 30_000, -1, 1, Some(7)),
];

fn odd() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(&timebase_schema::finish()).unwrap();
    for (id, ts, dur, depth, parent) in ODD {
        let sql = "INSERT INTO slice_record (id, ts, dur, track_id, depth, parent_id) VALUES (?, ?, ?, 7, ?, ?)";
        conn.execute(sql, (id, ts, dur, depth, parent)).unwrap();
    }
    timebase_sql::slices::register(&conn).unwrap();
    conn
}

fn pairs(conn: &Connection, sql: &str) -> Vec<(i64, Option<i64>)> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn the_views_say_what_the_functions_say() {
    let (desktop, app) = (imported(DESKTOP), imported(APP));
    for (conn, at_least) in [(&desktop.conn, 400), (&app.conn, 1000), (&odd(), 5)] {
        for (view, function) in
            [("slice_ancestor", "ancestor_slice"), ("slice_descendant", "descendant_slice")]
        {
            let of_view = format!("SELECT slice_id, id FROM {view} ORDER BY slice_id, id");
            let of_function = format!(
                "SELECT s.id, f.id FROM slice AS s JOIN {function}(s.id) AS f ORDER BY s.id, f.id"
            );
            let found = pairs(conn, &of_view);
            assert!(found.len() >= at_least, "{view} {}", found.len());
            assert_eq!(found, pairs(conn, &of_function));
        }
        let is =
            "SELECT count(*) FROM slice_ancestor WHERE slice_is_ancestor(id, slice_id) IS NOT 1";
        let others: i64 = conn.query_row(is, [], |row| row.get(0)).unwrap();
        assert_eq!(others, 0);
    }
}

#[test]
fn what_lies_in_a_slice_began_before_it_ended() {
    let below = |of: i64| {
        let sql =
            format!("SELECT id, depth FROM slice_descendant WHERE slice_id = {of} ORDER BY id");
        let found = pairs(&odd(), &sql).into_iter();
        found.map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(below(0), [1, 2]);
    assert_eq!(below(1), [2]);
    assert_eq!(below(3), [4, 5]);
    assert_eq!(below(4), [5]);
    assert_eq!(below(7), [8, 9]);
}

#[test]
fn the_views_have_the_columns_of_slices() {
    let db = imported(APP);
    for view in ["slice_ancestor", "slice_descendant"] {
        let columns = "id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, args";
        let sql = format!(
            "SELECT count(*) FROM (SELECT {columns} FROM {view} EXCEPT SELECT {columns} FROM slice)"
        );
        assert_eq!(db.count(&sql), 0, "{view}");
    }
}

/// The steps of a query.
fn plan(conn: &Connection, sql: &str) -> Vec<String> {
    let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = plan.query_map([], |row| row.get(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

#[test]
fn slices_around_a_slice_are_found_without_reading_all() {
    let conn = odd();
    for sql in [
        "SELECT * FROM slice_ancestor WHERE slice_id = 7",
        "SELECT * FROM slice_descendant WHERE slice_id = 7",
        "SELECT d.id FROM thread AS t JOIN thread_track AS k USING (utid) JOIN slice AS s ON s.track_id = k.id
         JOIN slice_descendant AS d ON d.slice_id = s.id WHERE t.utid = 7 AND s.ts > 7",
    ] {
        for step in plan(&conn, sql) {
            let is_read = ["SCAN s", "SCAN a", "SCAN d", "SCAN p", "SCAN slice_record"];
            assert!(!is_read.contains(&step.as_str()), "{sql}: {step}");
        }
    }
}

/// The self time of slices, computed in a loop.
fn self_durs(slices: &[(i64, i64, i64, Option<i64>)]) -> Vec<(i64, Option<i64>)> {
    let ends: BTreeMap<i64, Option<i64>> =
        slices.iter().map(|&(id, ts, dur, _)| (id, (dur >= 0).then_some(ts + dur))).collect();
    let mut found: BTreeMap<i64, Option<i64>> =
        slices.iter().map(|&(id, _, dur, _)| (id, (dur >= 0).then_some(dur))).collect();
    for &(id, ts, _, parent) in slices {
        let Some((parent, end)) = parent.and_then(|parent| Some((parent, ends[&parent]?))) else {
            continue;
        };
        let until = ends[&id].unwrap_or(end).min(end);
        let left = found.get_mut(&parent).unwrap().as_mut().unwrap();
        *left -= (until - ts).max(0);
    }
    found.into_iter().collect()
}

#[test]
fn self_time_is_what_children_leave() {
    let (desktop, app) = (imported(DESKTOP), imported(APP));
    for conn in [&desktop.conn, &app.conn, &odd()] {
        let mut statement = conn.prepare("SELECT id, ts, dur, parent_id FROM slice").unwrap();
        let rows =
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
        let slices: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
        let found = pairs(conn, "SELECT id, self_dur FROM slice_self_dur ORDER BY id");
        assert_eq!(found, self_durs(&slices));
    }
    // It only has trace processor's columns, so that it can be joined with slice.
    let sql = "SELECT name, self_dur FROM slice JOIN slice_self_dur USING (id)";
    let statement = app.conn.prepare(sql).unwrap();
    assert!(statement.column_names().eq(["name", "self_dur"]));
    let statement = app.conn.prepare("SELECT * FROM slice_self_dur").unwrap();
    assert!(statement.column_names().eq(["id", "self_dur"]));
    let odd = pairs(&odd(), "SELECT id, self_dur FROM slice_self_dur WHERE id < 4 ORDER BY id");
    let expected = [(0, Some(1000)), (1, Some(3000)), (2, None), (3, Some(500))];
    assert_eq!(odd, expected);
}

/// Flows, and the neighbours of a slice when following flows.
struct Graph {
    flows: Vec<(i64, i64, i64)>,
    above: BTreeSet<(i64, i64)>,
}

impl Graph {
    fn of(db: &Imported) -> Graph {
        let mut statement = db.conn.prepare("SELECT id, slice_out, slice_in FROM flow").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let mut statement = db.conn.prepare("SELECT slice_id, id FROM slice_ancestor").unwrap();
        let above = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        Graph {
            flows: rows.unwrap().map(Result::unwrap).collect(),
            above: above.unwrap().map(Result::unwrap).collect(),
        }
    }

    /// Whether a slice is inside another one, or is the same.
    fn is_within(&self, slice: i64, other: i64) -> bool {
        slice == other || self.above.contains(&(slice, other))
    }

    /// The flows of chains `flow[0] -> flow[1] …` as in trace processor's documentation, found by
    /// extending them until nothing changes.
    fn closure(
        &self,
        start: i64,
        begins: impl Fn((i64, i64, i64), i64) -> Option<i64>,
    ) -> Vec<i64> {
        let mut found = BTreeSet::new();
        let mut reached = vec![start];
        while let Some(slice) = reached.pop() {
            for &flow in &self.flows {
                if let Some(next) = begins(flow, slice)
                    && found.insert(flow.0)
                {
                    reached.push(next);
                }
            }
        }
        found.into_iter().collect()
    }
}

#[test]
fn flows_are_those_of_the_chains_that_continue() {
    let db = imported(APP);
    let graph = Graph::of(&db);
    let following =
        |(_, from, to): (i64, i64, i64), slice| graph.is_within(from, slice).then_some(to);
    let preceding =
        |(_, from, to): (i64, i64, i64), slice| graph.is_within(slice, to).then_some(from);
    let onwards = |(_, from, to): (i64, i64, i64), slice| (from == slice).then_some(to);
    let back = |(_, from, to): (i64, i64, i64), slice| (to == slice).then_some(from);
    let mut flows = 0;
    for start in 0..db.count("SELECT count(*) FROM slice") {
        let connected = [graph.closure(start, onwards), graph.closure(start, back)].concat();
        let connected: BTreeSet<i64> = connected.into_iter().collect();
        for (function, expected) in [
            ("following_flow", graph.closure(start, following)),
            ("preceding_flow", graph.closure(start, preceding)),
            ("directly_connected_flow", connected.into_iter().collect()),
        ] {
            let sql = format!("SELECT id, NULL FROM {function}({start}) ORDER BY id");
            let found: Vec<i64> = pairs(&db.conn, &sql).into_iter().map(|(id, _)| id).collect();
            assert_eq!(found, expected, "{function}({start})");
            flows += found.len();
        }
    }
    assert!(flows > 1000, "{flows}");
}

#[test]
fn flows_have_the_slices_at_both_ends() {
    let db = imported(APP);
    let columns = |end: &str| {
        let of_slice =
            ["ts", "dur", "name", "track_id", "utid", "thread_name", "upid", "process_name"];
        of_slice.map(|name| format!("{name}_{end}")).join(", ")
    };
    let of_view = format!(
        "SELECT id, delay, {}, {} FROM flow_with_slices ORDER BY id",
        columns("out"),
        columns("in")
    );
    let side = |s: &str| {
        let of_slice =
            ["ts", "dur", "name", "track_id", "utid", "thread_name", "upid", "process_name"];
        of_slice.map(|name| format!("{s}.{name}")).join(", ")
    };
    let slices = "SELECT s.id, s.ts, s.dur, s.name, s.track_id, o.utid, o.thread_name, o.upid, o.process_name
         FROM slice AS s LEFT JOIN thread_or_process_slice AS o ON o.id = s.id";
    let by_joins = format!(
        "WITH s AS MATERIALIZED ({slices})
         SELECT f.id, iif(a.dur < 0, NULL, b.ts - a.ts - a.dur), {}, {}
         FROM flow AS f JOIN s AS a ON a.id = f.slice_out JOIN s AS b ON b.id = f.slice_in ORDER BY f.id",
        side("a"),
        side("b")
    );
    let rows = db.rows(&of_view);
    assert!(rows.len() > 200, "{}", rows.len());
    assert_eq!(rows, db.rows(&by_joins));
}

#[test]
fn flows_are_found_from_their_slices() {
    let conn = odd();
    for end in ["slice_out", "slice_in"] {
        let joined = format!(
            "SELECT s.id, f.name_out, f.delay FROM slice AS s LEFT JOIN flow_with_slices AS f ON f.{end} = s.id WHERE s.id = 7"
        );
        let steps = plan(&conn, &joined);
        let is_found = |step: &String| step.contains(&format!("({end}=?)"));
        assert!(steps.iter().any(is_found), "{steps:?}");
    }
}

//! Tests the functions with SQL.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rusqlite::types::Value;
use rusqlite::{Connection, ffi};

const FUNCTIONS: [&str; 5] = [
    "ancestor_slice",
    "descendant_slice",
    "following_flow",
    "preceding_flow",
    "directly_connected_flow",
];

/// Slices of two tracks, whose names show their nesting, and flows.
///
/// ```text
/// track 1  a0 ──────────────────────  b0 ─────  c0 (open) ───────
///            aa1 ───── ab1 ──────       ba1 ·     ca1 ──
///              aaa2 ─    aba2 (open)      baa2 ·     caa2 (open)
/// track 2     x0 ───────      y0 ──       z0 ─
/// ```
///
/// `b0` begins as `a0` ends, `ba1` and `baa2` are instants where `b0` begins, and `ab1`
/// lasts longer than `a0`.
const DATABASE: &str = "
    CREATE TABLE slice (
      id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track_id INTEGER, category TEXT, name TEXT,
      depth INTEGER, parent_id INTEGER, arg_set_id INTEGER);
    CREATE INDEX slice_track ON slice (track_id, ts);
    INSERT INTO slice (id, name, ts, dur, track_id, depth, parent_id) VALUES
      (0, 'a0', 10, 90, 1, 0, NULL), (1, 'aa1', 20, 20, 1, 1, 0), (2, 'aaa2', 25, 5, 1, 2, 1),
      (3, 'x0', 22, 30, 2, 0, NULL), (4, 'ab1', 50, 70, 1, 1, 0), (5, 'aba2', 60, -1, 1, 2, 4),
      (6, 'y0', 70, 20, 2, 0, NULL), (7, 'b0', 100, 50, 1, 0, NULL), (8, 'ba1', 100, 0, 1, 1, 7),
      (9, 'baa2', 100, 0, 1, 2, 8), (10, 'z0', 105, 5, 2, 0, NULL), (11, 'c0', 200, -1, 1, 0, NULL),
      (12, 'ca1', 210, 30, 1, 1, 11), (13, 'caa2', 215, -1, 1, 2, 12);
    CREATE TABLE flow (
      id INTEGER PRIMARY KEY, slice_out INTEGER, slice_in INTEGER, trace_id INTEGER, arg_set_id INTEGER);
    CREATE INDEX flow_out ON flow (slice_out);
    CREATE INDEX flow_in ON flow (slice_in);
    INSERT INTO flow VALUES
      (0, 2, 3, 100, NULL), (1, 3, 6, 100, NULL), (2, 6, 7, 101, 5), (3, 9, 10, 102, NULL), (4, 4, 6, 103, NULL),
      (5, 10, 12, 104, NULL);";

fn connect() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    conn
}

fn database() -> Connection {
    let conn = connect();
    conn.execute_batch(DATABASE).unwrap();
    conn
}

fn ask(conn: &Connection, sql: &str) -> Value {
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn refusal(conn: &Connection, sql: &str) -> String {
    let mut statement = match conn.prepare(sql) {
        Ok(statement) => statement,
        Err(error) => return error.to_string(),
    };
    let got = statement.query_row([], |row| row.get::<_, Value>(0));
    got.unwrap_err().to_string()
}

/// The first column of all rows, in their order.
fn all(conn: &Connection, sql: &str) -> Vec<Value> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The names of the slices that a function returns for a slice with this name.
fn names(conn: &Connection, function: &str, of: &str) -> String {
    let sql = format!(
        "SELECT f.name FROM slice AS s CROSS JOIN {function}(s.id) AS f WHERE s.name = '{of}'"
    );
    let names = all(conn, &sql).into_iter().map(|name| match name {
        Value::Text(name) => name,
        other => format!("{other:?}"),
    });
    names.collect::<Vec<_>>().join(" ")
}

/// The flows that a function returns for a slice with this name.
fn flows(conn: &Connection, function: &str, of: &str) -> Vec<Value> {
    let sql = format!(
        "SELECT f.id FROM slice AS s CROSS JOIN {function}(s.id) AS f WHERE s.name = '{of}'"
    );
    all(conn, &sql)
}

fn integers<const N: usize>(values: [i64; N]) -> Vec<Value> {
    values.map(Value::Integer).to_vec()
}

#[test]
fn ancestors_are_what_a_slice_lies_in_the_outermost_first() {
    let conn = database();
    for (of, above) in [
        ("a0", ""),
        ("aa1", "a0"),
        ("aaa2", "a0 aa1"),
        ("baa2", "b0 ba1"),
        ("caa2", "c0 ca1"),
        ("x0", ""),
    ] {
        assert_eq!(names(&conn, "ancestor_slice", of), above, "{of}");
    }
}

#[test]
fn descendants_are_what_lies_in_a_slice_in_the_order_of_time() {
    let conn = database();
    for (of, below) in [
        ("a0", "aa1 aaa2 ab1 aba2"),
        ("aa1", "aaa2"),
        ("aaa2", ""),
        ("ab1", "aba2"),
        ("aba2", ""),
        // The slice that begins as a0 ends, and none of a0's.
        ("b0", "ba1 baa2"),
        ("ba1", "baa2"),
        ("baa2", ""),
        ("c0", "ca1 caa2"),
        ("ca1", "caa2"),
        ("x0", ""),
    ] {
        assert_eq!(names(&conn, "descendant_slice", of), below, "{of}");
    }
}

#[test]
fn flows_are_followed_through_what_lies_in_a_slice() {
    let conn = database();
    for (of, following) in [
        // aaa2 → x0 → y0 → b0, in which baa2 → z0 → ca1, and ab1 → y0.
        ("a0", &integers([0, 4, 1, 2, 3, 5])[..]),
        ("aaa2", &integers([0, 1, 2, 3, 5])),
        ("aba2", &[]),
        ("b0", &integers([3, 5])),
        ("ca1", &[]),
    ] {
        assert_eq!(flows(&conn, "following_flow", of), following, "{of}");
    }
}

#[test]
fn flows_are_followed_back_through_what_a_slice_lies_in() {
    let conn = database();
    for (of, preceding) in [
        ("a0", &[][..]),
        ("x0", &integers([0])),
        ("y0", &integers([1, 4, 0])),
        // It is inside b0, to which y0 led.
        ("baa2", &integers([2, 1, 4, 0])),
        ("caa2", &integers([5, 3, 2, 1, 4, 0])),
    ] {
        assert_eq!(flows(&conn, "preceding_flow", of), preceding, "{of}");
    }
}

#[test]
fn directly_connected_flows_go_both_ways_and_leave_out_relatives() {
    let conn = database();
    for (of, connected) in [
        ("a0", &[][..]),
        ("x0", &integers([0, 1, 2])),
        ("y0", &integers([1, 4, 2, 0])),
        ("b0", &integers([2, 1, 4, 0])),
        ("z0", &integers([3, 5])),
    ] {
        assert_eq!(flows(&conn, "directly_connected_flow", of), connected, "{of}");
    }
}

#[test]
fn a_flow_is_there_once_also_in_a_circle() {
    let conn = database();
    conn.execute_batch("INSERT INTO flow (id, slice_out, slice_in) VALUES (6, 12, 2), (7, 3, 3), (8, 99, 3), (9, 3, NULL)")
        .unwrap();
    let circle = integers([0, 1, 7, 9, 2, 3, 5, 6]);
    assert_eq!(flows(&conn, "following_flow", "aaa2"), circle);
    for function in ["preceding_flow", "directly_connected_flow"] {
        let found = all(&conn, &format!("SELECT id FROM {function}(3)"));
        let distinct: BTreeSet<String> = found.iter().map(|id| format!("{id:?}")).collect();
        assert_eq!(found.len(), distinct.len(), "{function}");
        assert!(found.contains(&Value::Integer(8)), "{function}");
    }
}

#[test]
fn rows_have_the_columns_of_their_table() {
    let conn = database();
    let columns = |function: &str| {
        let sql = format!("SELECT group_concat(name) FROM pragma_table_info('{function}')");
        ask(&conn, &sql)
    };
    let of_slice = "id,ts,dur,track_id,category,name,depth,parent_id,arg_set_id";
    assert_eq!(columns("ancestor_slice"), Value::Text(of_slice.into()));
    let of_flow = "id,slice_out,slice_in,trace_id,arg_set_id";
    assert_eq!(columns("preceding_flow"), Value::Text(of_flow.into()));
    for function in ["ancestor_slice(2)", "descendant_slice(7)"] {
        let sql =
            format!("SELECT count(*) FROM (SELECT * FROM {function} EXCEPT SELECT * FROM slice)");
        assert_eq!(ask(&conn, &sql), Value::Integer(0), "{function}");
    }
    let sql = "SELECT (SELECT count(*) FROM (SELECT * FROM following_flow(0) INTERSECT SELECT * FROM flow))";
    assert_eq!(ask(&conn, sql), Value::Integer(6));
}

#[test]
fn a_column_that_is_not_asked_for_is_not_looked_up() {
    let conn = database();
    conn.execute_batch(
        "ALTER TABLE slice RENAME TO of_slices;
         CREATE VIEW slice AS
         SELECT id, ts, dur, track_id, parent_id, depth, json_extract(name, '$') AS args FROM of_slices",
    )
    .unwrap();
    for (sql, answer) in [
        ("SELECT count(*) FROM descendant_slice(0)", 4),
        ("SELECT sum(id) FROM descendant_slice(0)", 12),
        ("SELECT sum(depth) FROM descendant_slice(0)", 6),
    ] {
        assert_eq!(ask(&conn, sql), Value::Integer(answer), "{sql}");
    }
    let said = refusal(&conn, "SELECT args FROM descendant_slice(0)");
    assert_eq!(said, "descendant_slice(): slice cannot be used: malformed JSON");
}

#[test]
fn they_are_joined_and_asked_in_subqueries() {
    let conn = database();
    let roots = "SELECT group_concat(coalesce(a.name, '-'), ' ') FROM
        (SELECT s.id FROM slice AS s ORDER BY id) AS s LEFT JOIN ancestor_slice(s.id) AS a ON a.depth = 0";
    let expected = "- a0 a0 - a0 a0 - - b0 b0 - - c0 c0";
    assert_eq!(ask(&conn, roots), Value::Text(expected.into()));
    let counts = "SELECT group_concat((SELECT count(*) FROM descendant_slice(s.id)), ' ')
        FROM (SELECT id FROM slice ORDER BY id) AS s";
    let expected = "4 1 0 0 1 0 0 2 1 0 0 2 1 0";
    assert_eq!(ask(&conn, counts), Value::Text(expected.into()));
    // One function inside another, and the same one twice, alternately.
    let nested = "SELECT count(*) FROM descendant_slice(0) AS d JOIN ancestor_slice(d.id) AS a
        JOIN ancestor_slice(a.id)";
    assert_eq!(ask(&conn, nested), Value::Integer(2));
    let either =
        "SELECT group_concat(start_id || name, ' ') FROM ancestor_slice WHERE start_id IN (2, 9)";
    assert_eq!(ask(&conn, either), Value::Text("2a0 2aa1 9b0 9ba1".into()));
}

#[test]
fn whether_a_slice_is_an_ancestor() {
    let conn = database();
    for (ancestor, descendant, is) in [
        ("0", "2", Value::Integer(1)),
        ("1", "2", Value::Integer(1)),
        ("2", "1", Value::Integer(0)),
        ("4", "2", Value::Integer(0)),
        ("0", "0", Value::Integer(0)),
        ("8", "9", Value::Integer(1)),
        ("9", "8", Value::Integer(0)),
        ("3", "2", Value::Integer(0)),
        ("0", "99", Value::Null),
        ("99", "0", Value::Null),
        ("NULL", "0", Value::Null),
        ("0", "NULL", Value::Null),
    ] {
        let call = format!("SELECT slice_is_ancestor({ancestor}, {descendant})");
        assert_eq!(ask(&conn, &call), is, "{call}");
    }
}

#[test]
fn null_is_no_row() {
    let conn = database();
    for function in FUNCTIONS {
        let sql = format!("SELECT count(*) FROM {function}(NULL)");
        assert_eq!(ask(&conn, &sql), Value::Integer(0));
    }
}

#[test]
fn a_wrong_argument_is_an_error_that_names_it() {
    let conn = database();
    for (call, expected) in [
        (
            "* FROM ancestor_slice('2')",
            "ancestor_slice(): argument 1 (start_id) must be an integer, not the text '2'",
        ),
        (
            "* FROM descendant_slice(1.0)",
            "descendant_slice(): argument 1 (start_id) must be an integer, not the real number 1",
        ),
        (
            "* FROM following_flow(x'00')",
            "following_flow(): argument 1 (start_id) must be an integer, not a blob",
        ),
        (
            "* FROM preceding_flow(99)",
            "preceding_flow(): argument 1 (start_id) must be the id of a slice, not 99",
        ),
        (
            "* FROM descendant_slice(-1)",
            "descendant_slice(): argument 1 (start_id) must be the id of a slice, not -1",
        ),
        (
            "* FROM ancestor_slice(CAST(x'ff' AS TEXT))",
            "ancestor_slice(): argument 1 (start_id) must be UTF-8",
        ),
        (
            "* FROM directly_connected_flow",
            "directly_connected_flow() needs the argument (start_id)",
        ),
        (
            "slice_is_ancestor(1, 'a')",
            "slice_is_ancestor(): argument 2 (descendant_id) must be an integer, not the text 'a'",
        ),
    ] {
        assert_eq!(refusal(&conn, &format!("SELECT {call}")), expected);
    }
    let said = refusal(&conn, "SELECT * FROM ancestor_slice(1, 2)");
    assert!(said.contains("too many arguments on ancestor_slice()"), "{said}");
}

#[test]
fn a_database_without_slices_is_told() {
    let conn = connect();
    for (call, function, table) in [
        ("* FROM ancestor_slice(1)", "ancestor_slice", "slice"),
        ("* FROM following_flow(1)", "following_flow", "flow"),
        ("slice_is_ancestor(1, 2)", "slice_is_ancestor", "slice"),
    ] {
        assert_eq!(
            refusal(&conn, &format!("SELECT {call}")),
            format!(
                "{function}(): this database has no table {table} (no such table: main.{table}); \
                 make one with `timebase import`"
            )
        );
    }
    // They exist as soon as the tables do.
    conn.execute_batch(DATABASE).unwrap();
    assert_eq!(names(&conn, "ancestor_slice", "aaa2"), "a0 aa1");
    conn.execute_batch("DROP TABLE slice; CREATE TABLE slice (id INTEGER, name)").unwrap();
    assert_eq!(
        refusal(&conn, "SELECT * FROM descendant_slice(1)"),
        "descendant_slice(): slice cannot be used: no such column: d.parent_id"
    );
}

#[test]
fn a_table_made_of_what_a_function_answers_is_told() {
    let conn = database();
    assert_eq!(names(&conn, "ancestor_slice", "aaa2"), "a0 aa1");
    conn.execute_batch(
        "ALTER TABLE slice RENAME TO of_slices;
         CREATE VIEW slice AS
         SELECT id, ts, dur, track_id, parent_id, (SELECT max(name) FROM ancestor_slice(s.id)) AS name
         FROM of_slices AS s",
    )
    .unwrap();
    assert_eq!(
        refusal(&conn, "SELECT name FROM ancestor_slice(2)"),
        "ancestor_slice(): a table that it reads is a view that calls it; define the view without the call",
    );
    assert_eq!(ask(&conn, "SELECT count(*) FROM ancestor_slice(2)"), Value::Integer(2));
}

#[test]
fn a_view_may_use_them() {
    let conn = database();
    conn.execute_batch(
        "PRAGMA trusted_schema = OFF;
         CREATE VIEW below AS SELECT s.id, d.name FROM slice AS s JOIN descendant_slice(s.id) AS d",
    )
    .unwrap();
    assert_eq!(
        ask(&conn, "SELECT group_concat(name) FROM below WHERE id = 7"),
        Value::Text("ba1,baa2".into())
    );
}

#[test]
fn what_they_have_prepared_goes_with_the_connection() {
    let conn = database();
    assert_eq!(names(&conn, "ancestor_slice", "aaa2"), "a0 aa1");
    // SAFETY: the connection is open.
    let prepared = unsafe { ffi::sqlite3_next_stmt(conn.handle(), std::ptr::null_mut()) };
    assert!(!prepared.is_null());
    conn.close().unwrap();
}

#[test]
fn slices_are_found_by_key_and_by_track() {
    let conn = database();
    let by_id = "SEARCH main.slice USING INTEGER PRIMARY KEY (rowid=?)";
    for (sql, expected) in [
        (super::IS_SLICE, &[by_id][..]),
        (super::PARENT, &[by_id]),
        (
            super::walk::ON_TRACK,
            &[
                "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH d USING INDEX slice_track (track_id=? AND ts>? AND ts<?)",
            ],
        ),
        (super::walk::TO, &["SEARCH main.flow USING INDEX flow_in (slice_in=?)"]),
        (super::walk::FROM, &["SEARCH main.flow USING INDEX flow_out (slice_out=?)"]),
    ] {
        let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = plan.query_map([1], |row| row.get(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert_eq!(steps, expected);
    }
}

/// Slices with arbitrary parents, including circles, and flows between arbitrary slices.
fn any_database() -> impl Strategy<Value = Vec<(i64, i64, i64, Option<i64>, i64)>> {
    let row = (0..20i64, -1..10i64, 1..3i64, prop::option::of(0..12i64), 0..12i64);
    prop::collection::vec(row, 1..12)
}

proptest! {
    #[test]
    fn no_database_has_them_go_on_without_end(rows in any_database()) {
        let conn = database();
        conn.execute_batch("DELETE FROM slice; DELETE FROM flow").unwrap();
        for (id, (ts, dur, track, parent, flow)) in (0i64..).zip(rows) {
            let slice = "INSERT INTO slice (id, ts, dur, track_id, parent_id) VALUES (?, ?, ?, ?, ?)";
            conn.execute(slice, (id, ts, dur, track, parent)).unwrap();
            conn.execute("INSERT INTO flow (slice_out, slice_in) VALUES (?, ?)", (id, flow)).unwrap();
        }
        for function in FUNCTIONS {
            let sql = format!(
                "SELECT count(*) = count(DISTINCT f.id) FROM slice AS s CROSS JOIN {function}(s.id) AS f GROUP BY s.id"
            );
            for is_once in all(&conn, &sql) {
                prop_assert_eq!(is_once, Value::Integer(1));
            }
        }
        all(&conn, "SELECT slice_is_ancestor(a.id, b.id) FROM slice AS a, slice AS b");
    }
}

//! Tests `extract_arg` with SQL.

use proptest::prelude::*;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

fn connect() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    conn
}

/// Two sets of arguments of all types.
fn database() -> Connection {
    let conn = connect();
    conn.execute_batch(
        "CREATE TABLE args (
           id INTEGER PRIMARY KEY, arg_set_id INTEGER, flat_key TEXT, key TEXT, int_value INTEGER,
           string_value TEXT, real_value REAL, value_type TEXT, display_value TEXT);
         CREATE INDEX args_set ON args (arg_set_id);
         INSERT INTO args VALUES
           (0, 1, 'debug.count', 'debug.count', -3, NULL, NULL, 'int', '-3'),
           (1, 1, 'debug.size', 'debug.size', 4294967296, NULL, NULL, 'uint', '4294967296'),
           (2, 1, 'debug.name', 'debug.name', NULL, 'f', NULL, 'string', 'f'),
           (3, 1, 'debug.empty', 'debug.empty', NULL, '', NULL, 'string', ''),
           (4, 1, 'debug.ratio', 'debug.ratio', NULL, NULL, 0.5, 'real', '0.5'),
           (5, 1, 'debug.done', 'debug.done', 1, NULL, NULL, 'bool', 'true'),
           (6, 1, 'debug.open', 'debug.open', 0, NULL, NULL, 'bool', 'false'),
           (7, 1, 'debug.at', 'debug.at', 48879, NULL, NULL, 'pointer', '0xbeef'),
           (8, 1, 'debug.none', 'debug.none', NULL, NULL, NULL, 'null', NULL),
           (9, 1, 'debug.raw', 'debug.raw', NULL, '{\"a\":1}', NULL, 'json', '{\"a\":1}'),
           (10, 1, 'debug.list.x', 'debug.list[0].x', 10, NULL, NULL, 'int', '10'),
           (11, 1, 'debug.list.x', 'debug.list[1].x', 11, NULL, NULL, 'int', '11'),
           (12, 2, 'debug.count', 'debug.count', 4, NULL, NULL, 'int', '4'),
           (13, 2, 'it''s \"ä\"', 'it''s \"ä\"', 5, NULL, NULL, 'int', '5'),
           (14, 2, 'twice', 'twice', 6, NULL, NULL, 'int', '6'),
           (15, 2, 'twice', 'twice', 7, NULL, NULL, 'int', '7');",
    )
    .unwrap();
    conn
}

fn ask(conn: &Connection, sql: &str) -> Value {
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn refusal(conn: &Connection, sql: &str) -> String {
    let got = conn.query_row(sql, [], |row| row.get::<_, Value>(0));
    got.unwrap_err().to_string()
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn an_argument_has_the_value_that_its_type_says() {
    let conn = database();
    for (key, value) in [
        ("debug.count", Value::Integer(-3)),
        ("debug.size", Value::Integer(1 << 32)),
        ("debug.name", text("f")),
        ("debug.empty", text("")),
        ("debug.ratio", Value::Real(0.5)),
        ("debug.done", Value::Integer(1)),
        ("debug.open", Value::Integer(0)),
        ("debug.at", Value::Integer(0xbeef)),
        ("debug.none", Value::Null),
        ("debug.raw", text(r#"{"a":1}"#)),
    ] {
        assert_eq!(ask(&conn, &format!("SELECT extract_arg(1, '{key}')")), value, "{key}");
    }
}

#[test]
fn an_argument_is_found_by_its_whole_key_in_its_set() {
    let conn = database();
    for (call, value) in [
        ("extract_arg(1, 'debug.list[1].x')", Value::Integer(11)),
        ("extract_arg(2, 'debug.count')", Value::Integer(4)),
        (r#"extract_arg(2, 'it''s "ä"')"#, Value::Integer(5)),
        ("extract_arg(2, 'twice')", Value::Integer(6)),
        ("extract_arg(1, 'debug.list.x')", Value::Null),
        ("extract_arg(1, 'debug.list')", Value::Null),
        ("extract_arg(1, 'count')", Value::Null),
        ("extract_arg(1, 'DEBUG.COUNT')", Value::Null),
        ("extract_arg(1, 'debug.count' || char(0))", Value::Null),
        ("extract_arg(2, 'debug.name')", Value::Null),
        ("extract_arg(3, 'debug.count')", Value::Null),
        ("extract_arg(-1, '')", Value::Null),
    ] {
        assert_eq!(ask(&conn, &format!("SELECT {call}")), value, "{call}");
    }
}

#[test]
fn null_is_null() {
    let conn = database();
    for call in ["NULL, 'debug.count'", "1, NULL", "NULL, NULL"] {
        assert_eq!(ask(&conn, &format!("SELECT extract_arg({call})")), Value::Null);
    }
    // A NULL argument needs no table.
    assert_eq!(ask(&connect(), "SELECT extract_arg(NULL, 'x')"), Value::Null);
}

#[test]
fn a_wrong_argument_is_an_error_that_names_it() {
    let conn = database();
    let set = "extract_arg(): argument 1 (arg_set_id) must be an integer, not ";
    let key = "extract_arg(): argument 2 (key) must be ";
    for (call, expected) in [
        ("'1', 'debug.count'", format!("{set}the text '1'")),
        ("1.0, 'debug.count'", format!("{set}the real number 1")),
        ("x'01', 'debug.count'", format!("{set}a blob")),
        ("1, 5", format!("{key}a text, not 5")),
        ("NULL, 5", format!("{key}a text, not 5")),
        ("1, x'00'", format!("{key}a text, not a blob")),
        ("1, CAST(x'ff' AS TEXT)", format!("{key}UTF-8, not the text '\u{fffd}'")),
    ] {
        assert_eq!(refusal(&conn, &format!("SELECT extract_arg({call})")), expected);
    }
    assert!(refusal(&conn, "SELECT extract_arg(1)").contains("wrong number of arguments"));
}

#[test]
fn a_database_without_arguments_is_told() {
    let conn = connect();
    let call = "SELECT extract_arg(1, 'debug.count')";
    assert_eq!(
        refusal(&conn, call),
        "extract_arg(): this database has no arguments (no such table: main.args); \
         make one with `timebase import`"
    );
    conn.execute_batch("CREATE TABLE args (key, value)").unwrap();
    assert_eq!(
        refusal(&conn, call),
        "extract_arg(): args cannot be used: no such column: value_type"
    );
}

#[test]
fn arguments_may_be_a_view_and_change() {
    let conn = database();
    conn.execute_batch(
        "ALTER TABLE args RENAME TO arg;
         CREATE VIEW args AS SELECT * FROM arg WHERE id <> 14",
    )
    .unwrap();
    assert_eq!(ask(&conn, "SELECT extract_arg(2, 'twice')"), Value::Integer(7));
    conn.execute_batch("UPDATE arg SET int_value = 8 WHERE id = 15").unwrap();
    assert_eq!(ask(&conn, "SELECT extract_arg(2, 'twice')"), Value::Integer(8));
    let own = "DROP VIEW args;
               CREATE VIEW args AS SELECT *, extract_arg(arg_set_id, 'x') AS y FROM arg WHERE y IS NULL";
    conn.execute_batch(own).unwrap();
    assert_eq!(
        refusal(&conn, "SELECT extract_arg(2, 'twice')"),
        "extract_arg(): a table that it reads is a view that calls it; define the view without the call"
    );
}

#[test]
fn a_view_of_events_may_show_their_arguments() {
    let conn = database();
    conn.execute_batch(
        "PRAGMA trusted_schema = OFF;
         CREATE TABLE slice (id INTEGER PRIMARY KEY, arg_set_id INTEGER);
         INSERT INTO slice VALUES (0, 1), (1, 2), (2, NULL), (3, 1);
         CREATE VIEW counted AS SELECT id, extract_arg(arg_set_id, 'debug.count') AS count FROM slice",
    )
    .unwrap();
    let all = "SELECT group_concat(coalesce(count, 'none'), ' ') FROM counted";
    assert_eq!(ask(&conn, all), text("-3 4 none -3"));
    assert_eq!(ask(&conn, "SELECT id FROM counted WHERE count = 4"), Value::Integer(1));
}

#[test]
fn arguments_are_found_by_their_set() {
    let conn = database();
    let explained = format!("EXPLAIN QUERY PLAN {}", super::VALUE);
    let mut plan = conn.prepare(&explained).unwrap();
    let steps = plan.query_map(params![1, "x"], |row| row.get(3)).unwrap();
    let steps: Vec<String> = steps.map(Result::unwrap).collect();
    assert_eq!(steps, ["SEARCH main.args USING INDEX args_set (arg_set_id=?)"]);
}

/// A database with timebase's tables.
fn stored() -> Connection {
    let conn = connect();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(
        r#"INSERT INTO arg_type VALUES (0, '{"debug.size":"uint","q\"":"uint"}', '{"debug.list[1].x":"debug.list.x"}');
           INSERT INTO arg_set VALUES
             (0, '{"debug.count":-3,"debug.size":18446744073709551615,"q\"":5,"debug.list[1].x":"a","t":true}', 0),
             (2, '{"debug.count":4,"":6,"it''s ä":0.5,"none":null,"inf":9e999,"line\nfeed":7}', NULL);
           INSERT INTO ftrace_args (id, args) VALUES (1, '{"pid":5,"list":[1, 2]}');"#,
    )
    .unwrap();
    conn.execute_batch(&timebase_schema::finish()).unwrap();
    conn
}

#[test]
fn a_set_of_a_database_of_timebase_is_not_taken_apart() {
    let conn = stored();
    for (call, value) in [
        ("0, 'debug.count'", Value::Integer(-3)),
        ("0, 'debug.size'", Value::Integer(-1)),
        ("0, 'debug.list[1].x'", text("a")),
        ("0, 't'", Value::Integer(1)),
        ("2, 'debug.count'", Value::Integer(4)),
        ("2, 'it''s ä'", Value::Real(0.5)),
        ("2, 'none'", Value::Null),
        ("2, 'inf'", Value::Real(f64::INFINITY)),
        ("1, 'pid'", Value::Integer(5)),
        ("1, 'list'", text("[1,2]")),
        // Keys that no path can express.
        ("0, 'q\"'", Value::Integer(5)),
        ("2, ''", Value::Integer(6)),
        ("2, 'line' || char(10) || 'feed'", Value::Integer(7)),
        ("0, 'debug'", Value::Null),
        ("0, 'debug.list'", Value::Null),
        ("0, '$'", Value::Null),
        ("0, 'debug.count' || char(0)", Value::Null),
        ("4, 'debug.count'", Value::Null),
    ] {
        let sql = format!("SELECT extract_arg({call})");
        assert_eq!(ask(&conn, &sql), value, "{call}");
    }
    let differ = "SELECT count(*) FROM args WHERE extract_arg(arg_set_id, key) IS NOT
                    coalesce(int_value, string_value, real_value)";
    assert_eq!(ask(&conn, differ), Value::Integer(0));
    let explained = format!("EXPLAIN QUERY PLAN {}", super::STORED);
    let mut plan = conn.prepare(&explained).unwrap();
    let steps = plan.query_map(params![1, "x"], |row| row.get(3)).unwrap();
    let steps: Vec<String> = steps.map(Result::unwrap).collect();
    for table in ["arg_set", "ftrace_args"] {
        let search = format!("{table} USING INTEGER PRIMARY KEY (rowid=?)");
        let finds = |step: &String| step.starts_with("SEARCH") && step.ends_with(&search);
        assert!(steps.iter().any(finds), "{steps:#?}");
    }
}

proptest! {
    #[test]
    fn no_arguments_do_harm(set in any::<i64>(), key in ".{0,12}") {
        let conn = database();
        let got = conn.query_row("SELECT extract_arg(?, ?)", params![set, key], |row| row.get::<_, Value>(0));
        prop_assert!(got.is_ok());
    }
}

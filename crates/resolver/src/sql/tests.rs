//! The SQL functions on a small database.

use rusqlite::types::Value;
use rusqlite::{Connection, Error};

fn database() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(include_str!("../../../../schema/tables.sql"))
        .unwrap();
    conn.execute_batch(include_str!("../../../../schema/finish.sql"))
        .unwrap();
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, clock_id, seq_id, clock_value, ts) VALUES
           (0, 64, 2, 1000, 5100), (0, 3, 0, 1100, 5100),
           (1, 3, 0, 1200, 5200), (1, 6, 0, 5200, 5200), (1, 1, 0, 1652903999999999990, 5200);",
    )
    .unwrap();
    super::register(&conn).unwrap();
    conn
}

fn ask(conn: &Connection, sql: &str) -> Value {
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn refusal(conn: &Connection, sql: &str) -> String {
    let error = conn
        .query_row(sql, [], |row| row.get::<_, Value>(0))
        .unwrap_err();
    match error {
        Error::SqliteFailure(_, Some(message)) => message,
        error => error.to_string(),
    }
}

#[test]
fn functions_answer() {
    let conn = database();
    assert_eq!(
        ask(&conn, "SELECT to_boottime(64, 2, 1003)"),
        Value::Integer(5103)
    );
    assert_eq!(
        ask(&conn, "SELECT to_boottime('MONOTONIC', 7, 1003, 0)"),
        Value::Integer(5003)
    );
    assert_eq!(
        ask(&conn, "SELECT convert_clock(6, 0, 5203, 64, 2)"),
        Value::Integer(1103)
    );
    assert_eq!(ask(&conn, "SELECT to_boottime(64, 3, 1003)"), Value::Null);
    assert_eq!(
        ask(&conn, "SELECT why_unresolved(64, 3, 1003)"),
        Value::Text("unknown_clock".into())
    );
    assert_eq!(
        ask(&conn, "SELECT why_unresolved(64, 0, 1003)"),
        Value::Text("no_sequence_id".into())
    );
    assert_eq!(
        ask(&conn, "SELECT why_unresolved(64, 2, 1003)"),
        Value::Null
    );
    assert_eq!(ask(&conn, "SELECT to_boottime(64, 2, NULL)"), Value::Null);
    assert_eq!(ask(&conn, "SELECT to_boottime(NULL, 0, NULL)"), Value::Null);
    assert_eq!(ask(&conn, "SELECT clock_id('BOOTTIME')"), Value::Integer(6));
    assert_eq!(
        ask(&conn, "SELECT clock_name(9)"),
        Value::Text("TSC".into())
    );
    assert_eq!(ask(&conn, "SELECT clock_name(200)"), Value::Null);
    assert_eq!(
        ask(&conn, "SELECT to_monotonic(5203)"),
        Value::Integer(1203)
    );
    assert_eq!(
        ask(&conn, "SELECT abs_time_str(5205)"),
        Value::Text("2022-05-18T19:59:59.999999995".into())
    );
}

#[test]
fn clock_path_shows_every_hop() {
    let conn = database();
    let sql = "SELECT group_concat(step || ' ' || from_clock || '→' || to_clock || ' ' || \
               snapshot_id || ': ' || from_value || '=' || to_value || ' ' || value_in || '→' || \
               value_out, '; ') FROM clock_path(64, 2, 1003)";
    let expected =
        "1 64@2→MONOTONIC 0: 1000=1100 1003→1103; 2 MONOTONIC→BOOTTIME 1: 1200=5200 1103→5103";
    assert_eq!(ask(&conn, sql), Value::Text(expected.into()));
    let count = "SELECT count(*) FROM clock_path(64, 2, 1003, 'MONOTONIC')";
    assert_eq!(ask(&conn, count), Value::Integer(1));
    assert_eq!(
        ask(&conn, "SELECT count(*) FROM clock_path(64, 3, 1003)"),
        Value::Integer(0)
    );
    // As a JOIN: two hops for 64@2, one for each reading of MONOTONIC and REALTIME.
    let joined = "SELECT count(*) FROM clock_snapshot AS s, \
                  clock_path(s.clock_id, s.seq_id, s.clock_value)";
    assert_eq!(ask(&conn, joined), Value::Integer(5));
    assert!(refusal(&conn, "SELECT * FROM clock_path").contains("needs the arguments"));
    assert!(refusal(&conn, "SELECT * FROM clock_path(1, 2)").contains("needs the arguments"));
    assert!(
        refusal(&conn, "SELECT * FROM clock_path(x'00', 2, 3)").contains("argument 1 (clock_id)")
    );
}

#[test]
fn clock_path_names_snapshots_as_the_table_does() {
    let conn = database();
    conn.execute_batch("UPDATE clock_snapshot SET snapshot_id = snapshot_id + 40")
        .unwrap();
    let sql = "SELECT group_concat(snapshot_id) FROM clock_path(64, 2, 1003)";
    assert_eq!(ask(&conn, sql), Value::Text("40,41".into()));
}

#[test]
fn a_wrong_argument_is_named() {
    let conn = database();
    let cases = [
        (
            "to_boottime(0, 0, 1)",
            "to_boottime(): argument 1 (clock_id) must be a clock number (1 to 4294967295) or name, not 0",
        ),
        (
            "to_boottime(9223372036854775807, 0, 1)",
            "not 9223372036854775807",
        ),
        ("to_boottime(x'00', 0, 1)", "not a blob"),
        (
            "to_boottime(3, -1, 1)",
            "argument 2 (seq_id) must be between 0 and 4294967295",
        ),
        (
            "to_boottime(3, 0, 1.5)",
            "argument 3 (ts) must be an integer, not the real number 1.5",
        ),
        (
            "to_boottime(3, 0, 'x')",
            "argument 3 (ts) must be an integer, not the text 'x'",
        ),
        ("to_boottime(3, 0, 1, 'x')", "argument 4 (machine_id)"),
        ("convert_clock(3, 0, 1, 0, 0)", "argument 4 (to_clock_id)"),
        ("clock_id(5)", "argument 1 (name) must be a text"),
        ("to_realtime('x')", "to_realtime(): argument 1 (ts)"),
        (
            "to_boottime(3, 0)",
            "wrong number of arguments to function to_boottime()",
        ),
    ];
    for (call, expected) in cases {
        let message = refusal(&conn, &format!("SELECT {call}"));
        assert!(message.contains(expected), "{call}: {message}");
    }
}

#[test]
fn a_wrong_text_is_shown_in_short() {
    let conn = database();
    let long = refusal(
        &conn,
        "SELECT to_boottime(3, 0, printf('%.*c', 100000, 'x'))",
    );
    assert!(
        long.ends_with(&format!("not the text '{}…'", "x".repeat(60))),
        "{long}"
    );
    let zero = refusal(&conn, "SELECT to_boottime(3, 0, 'a' || char(0) || 'b')");
    assert!(
        zero.ends_with("must be an integer, not the text 'a\\0b'"),
        "{zero}"
    );
    let no_text = "CAST(x'4dff' AS TEXT)";
    for call in [
        format!("SELECT to_boottime({no_text}, 0, 1)"),
        format!("SELECT count(*) FROM clock_path({no_text}, 0, 1)"),
    ] {
        let message = refusal(&conn, &call);
        assert!(
            message.contains("(): argument 1 (clock_id) must be UTF-8"),
            "{message}"
        );
    }
}

#[test]
fn rows_added_to_clock_snapshot_are_seen_by_the_next_statement() {
    let conn = database();
    assert_eq!(
        ask(&conn, "SELECT to_boottime(3, 0, 2001)"),
        Value::Integer(6001)
    );
    let add = "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 2000), (9, 6, 9000)";
    conn.execute_batch(&format!("BEGIN; {add}")).unwrap();
    assert_eq!(
        ask(&conn, "SELECT to_boottime(3, 0, 2001)"),
        Value::Integer(9001)
    );
    conn.execute_batch("ROLLBACK").unwrap();
    assert_eq!(
        ask(&conn, "SELECT to_boottime(3, 0, 2001)"),
        Value::Integer(6001)
    );
    conn.execute_batch("CREATE TABLE other (x); INSERT INTO other VALUES (1)")
        .unwrap();
    assert_eq!(
        ask(&conn, "SELECT to_boottime(3, 0, 2001)"),
        Value::Integer(6001)
    );
}

#[test]
fn rows_added_by_another_connection_are_seen_too() {
    let dir = std::env::temp_dir().join(format!("timebase-sql-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("shared.db");
    database()
        .execute("VACUUM INTO ?1", [path.to_str().unwrap()])
        .unwrap();
    let conn = Connection::open(&path).unwrap();
    super::register(&conn).unwrap();
    assert_eq!(
        ask(&conn, "SELECT to_boottime(3, 0, 2001)"),
        Value::Integer(6001)
    );
    let add = "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 2000), (9, 6, 9000)";
    Connection::open(&path).unwrap().execute_batch(add).unwrap();
    assert_eq!(
        ask(&conn, "SELECT to_boottime(3, 0, 2001)"),
        Value::Integer(9001)
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_database_of_another_kind_is_told() {
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    let message = refusal(&conn, "SELECT to_boottime(3, 0, 1)");
    assert!(
        message.contains("to_boottime(): this is not a timebase database"),
        "{message}"
    );
}

#[test]
fn a_timebase_database_of_another_version_is_told() {
    let older = "PRAGMA user_version = 1; ALTER TABLE clock_snapshot DROP COLUMN source";
    for change in [older, "PRAGMA user_version = 3"] {
        let conn = database();
        conn.execute_batch(change).unwrap();
        for sql in [
            "SELECT to_boottime(3, 0, 1104)",
            "SELECT why_unresolved(3, 0, 1104)",
            "SELECT to_realtime(5200)",
            "SELECT count(*) FROM clock_path(3, 0, 1104)",
        ] {
            let message = refusal(&conn, sql);
            let found = change.split([' ', ';']).nth(3).unwrap();
            let expected = format!(
                "(): this database has version {found} of timebase's tables, and this timebase \
                 reads version 2: import the trace again"
            );
            assert!(message.ends_with(&expected), "{message}");
        }
        // What asks no clock has no need of the tables.
        assert_eq!(ask(&conn, "SELECT clock_id('BOOTTIME')"), Value::Integer(6));
    }
}

#[test]
fn a_database_that_timebase_did_not_make_may_have_any_version() {
    let conn = database();
    conn.execute_batch("PRAGMA application_id = 0; PRAGMA user_version = 7")
        .unwrap();
    let sql = "SELECT to_boottime(3, 0, 1104)";
    assert_eq!(ask(&conn, sql), Value::Integer(5104));
}

#[test]
fn the_tables_are_of_the_version_that_the_functions_read() {
    let conn = database();
    let id = super::APPLICATION_ID;
    assert_eq!(ask(&conn, "PRAGMA application_id"), Value::Integer(id));
    let version = super::SCHEMA_VERSION;
    assert_eq!(ask(&conn, "PRAGMA user_version"), Value::Integer(version));
}

#[test]
fn a_call_after_one_that_panicked_begins_anew() {
    let session = super::session::SharedSession::default();
    let panicked = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _held = super::session::lock("test", &session).unwrap();
            panic!("on purpose");
        });
        thread.join()
    });
    assert!(panicked.is_err());
    drop(super::session::lock("test", &session).unwrap());
    assert!(!session.is_poisoned());
}

#[test]
fn a_snapshot_added_by_hand_that_cannot_be_one_is_told() {
    let conn = database();
    conn.execute_batch("INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 1), (9, 3, 2)")
        .unwrap();
    let message = refusal(&conn, "SELECT to_boottime(3, 0, 1)");
    assert!(
        message.contains("snapshot 9: clock MONOTONIC is read twice"),
        "{message}"
    );
}

#[test]
fn a_clock_snapshot_that_needs_the_clocks_is_told() {
    let conn = database();
    conn.execute_batch(
        "ALTER TABLE clock_snapshot RENAME TO stored;
         CREATE VIEW clock_snapshot AS
         SELECT *, to_boottime(clock_id, seq_id, clock_value) AS boottime FROM stored
         WHERE boottime IS NOT NULL;",
    )
    .unwrap();
    for sql in [
        "SELECT to_boottime(3, 0, 1104)",
        "SELECT count(*) FROM clock_path(3, 0, 1104)",
    ] {
        let message = refusal(&conn, sql);
        assert!(message.contains("cannot be made of"), "{message}");
    }
}

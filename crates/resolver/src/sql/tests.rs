//! The SQL functions on a small database.

use rusqlite::types::Value;
use rusqlite::{Connection, Error};

mod alignments;
mod files;
mod samples;

fn database() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(&timebase_schema::finish()).unwrap();
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
    let error = conn.query_row(sql, [], |row| row.get::<_, Value>(0)).unwrap_err();
    match error {
        Error::SqliteFailure(_, Some(message)) => message,
        error => error.to_string(),
    }
}

#[test]
fn functions_answer() {
    let conn = database();
    assert_eq!(ask(&conn, "SELECT to_boottime(64, 2, 1003)"), Value::Integer(5103));
    assert_eq!(ask(&conn, "SELECT to_boottime('MONOTONIC', 7, 1003, 0)"), Value::Integer(5003));
    assert_eq!(ask(&conn, "SELECT convert_clock(6, 0, 5203, 64, 2)"), Value::Integer(1103));
    assert_eq!(ask(&conn, "SELECT to_boottime(64, 3, 1003)"), Value::Null);
    assert_eq!(
        ask(&conn, "SELECT why_unresolved(64, 3, 1003)"),
        Value::Text("unknown_clock".into())
    );
    assert_eq!(
        ask(&conn, "SELECT why_unresolved(64, 0, 1003)"),
        Value::Text("no_sequence_id".into())
    );
    assert_eq!(ask(&conn, "SELECT why_unresolved(64, 2, 1003)"), Value::Null);
    assert_eq!(ask(&conn, "SELECT to_boottime(64, 2, NULL)"), Value::Null);
    assert_eq!(ask(&conn, "SELECT to_boottime(NULL, 0, NULL)"), Value::Null);
    assert_eq!(ask(&conn, "SELECT clock_id('BOOTTIME')"), Value::Integer(6));
    assert_eq!(ask(&conn, "SELECT clock_name(9)"), Value::Text("TSC".into()));
    assert_eq!(ask(&conn, "SELECT clock_name(200)"), Value::Null);
    assert_eq!(ask(&conn, "SELECT to_monotonic(5203)"), Value::Integer(1203));
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
    assert_eq!(ask(&conn, "SELECT count(*) FROM clock_path(64, 3, 1003)"), Value::Integer(0));
    // With a JOIN: two hops for 64@2, one for each reading of MONOTONIC and REALTIME.
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
    conn.execute_batch("UPDATE clock_snapshot SET snapshot_id = snapshot_id + 40").unwrap();
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
        ("to_boottime(9223372036854775807, 0, 1)", "not 9223372036854775807"),
        ("to_boottime(x'00', 0, 1)", "not a blob"),
        ("to_boottime(3, -1, 1)", "argument 2 (seq_id) must be between 0 and 4294967295"),
        ("to_boottime(3, 0, 1.5)", "argument 3 (ts) must be an integer, not the real number 1.5"),
        ("to_boottime(3, 0, 'x')", "argument 3 (ts) must be an integer, not the text 'x'"),
        ("to_boottime(3, 0, 1, 'x')", "argument 4 (machine_id)"),
        ("convert_clock(3, 0, 1, 0, 0)", "argument 4 (to_clock_id)"),
        ("clock_id(5)", "argument 1 (name) must be a text"),
        ("to_realtime('x')", "to_realtime(): argument 1 (ts)"),
        ("to_boottime(3, 0)", "wrong number of arguments to function to_boottime()"),
    ];
    for (call, expected) in cases {
        let message = refusal(&conn, &format!("SELECT {call}"));
        assert!(message.contains(expected), "{call}: {message}");
    }
}

#[test]
fn c7_a_clock_is_written_as_it_is_printed() {
    let conn = database();
    for (call, value) in [
        ("to_boottime('64@2', 0, 1003)", 5103),
        ("to_boottime('64@2', NULL, 1003)", 5103),
        ("to_boottime('64@2', 2, 1003)", 5103),
        ("to_boottime('64@2 of machine 0', 2, 1003, 0)", 5103),
        ("to_boottime('64', 2, 1003)", 5103),
        ("to_boottime('monotonic', 0, 1003)", 5003),
        ("to_boottime('3', 0, 1003)", 5003),
        ("convert_clock('boottime', 0, 5203, '64@2', 0)", 1103),
        ("convert_clock('BootTime', 0, 5203, '64@2', NULL)", 1103),
        ("(SELECT value_out FROM clock_path('64@2', 0, 1003) WHERE step = 2)", 5103),
        ("(SELECT value_out FROM clock_path(6, 0, 5203, '64@2') WHERE step = 2)", 1103),
        ("clock_id('64@3')", 64),
        ("clock_id('realtime')", 1),
        ("clock_id('REALTIM')", 2_557_397_649),
    ] {
        assert_eq!(ask(&conn, &format!("SELECT {call}")), Value::Integer(value), "{call}");
    }
    assert_eq!(ask(&conn, "SELECT clock_name('tsc')"), Value::Text("TSC".into()));
    assert_eq!(ask(&conn, "SELECT clock_name('64@3')"), Value::Null);
    let unknown = Value::Text("unknown_clock".into());
    for call in [
        "why_unresolved('64@3', 0, 1003)",
        "why_unresolved('64@2 of machine 1', 0, 1003)",
        "why_unresolved('REALTIME of machine 1', 0, 1003, 1)",
    ] {
        assert_eq!(ask(&conn, &format!("SELECT {call}")), unknown, "{call}");
    }
    for (call, expected) in [
        (
            "to_boottime('64@2', 3, 1)",
            "to_boottime(): argument 2 (seq_id) must be 0 or 2, as '64@2' says, not 3",
        ),
        (
            "to_boottime('64@2 of machine 1', 0, 1, 4)",
            "argument 4 (machine_id) must be 0 or 1, as '64@2 of machine 1' says, not 4",
        ),
        (
            "convert_clock(3, 0, 1, '64@2', 5)",
            "convert_clock(): argument 5 (to_seq_id) must be 0 or 2, as '64@2' says, not 5",
        ),
        (
            "to_boottime('64@', 0, 1)",
            "to_boottime(): argument 1 (clock_id) must be number@sequence, as in 64@3, not the text '64@'",
        ),
        ("to_boottime('64@99999999999', 0, 1)", "not the text '64@99999999999'"),
        ("to_boottime('', 0, 1)", "not the text ''"),
        ("to_boottime('BOOT TIME', 0, 1)", "without spaces"),
        ("to_boottime('6' || char(0), 0, 1)", "not the text '6\\0'"),
        ("why_unresolved('6@3', 0, 1)", "only the clocks 64 to 127 are of a sequence"),
        ("clock_id('')", "clock_id(): argument 1 (name) must be a clock number"),
        ("clock_name('@3')", "clock_name(): argument 1 (id) must be number@sequence"),
    ] {
        let message = refusal(&conn, &format!("SELECT {call}"));
        assert!(message.contains(expected), "{call}: {message}");
    }
    let message = refusal(&conn, "SELECT * FROM clock_path('64@2', 3, 1)");
    assert!(message.contains("clock_path(): argument 2 (seq_id) must be 0 or 2"), "{message}");
}

#[test]
fn c8_a_name_that_the_trace_does_not_have_is_an_error() {
    let conn = database();
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES
           (2, 4144414090, 10), (2, 6, 9010);
         INSERT INTO clock_record VALUES (0, 2309349742, 0, -1, NULL, 'global', 1, 0, 1, 0, NULL, NULL, 7, NULL, NULL)",
    )
    .unwrap();
    let snapshot = "SELECT to_boottime('com.example.my_subsystem', 0, 13)";
    assert_eq!(ask(&conn, snapshot), Value::Integer(9013));
    // No snapshot has it, but packets use it.
    let used = "SELECT why_unresolved('com.example', 0, 13)";
    assert_eq!(ask(&conn, used), Value::Text("unknown_clock".into()));
    // Nothing uses these, but they are builtin.
    for call in ["why_unresolved('TSC', 0, 1)", "why_unresolved('tsc', 0, 1)"] {
        let reason = ask(&conn, &format!("SELECT {call}"));
        assert_eq!(reason, Value::Text("unknown_clock".into()), "{call}");
    }
    let meant = "must be a clock of the trace, not the text 'REALTIM'; did you mean REALTIME?";
    for (call, argument) in [
        ("to_boottime('REALTIM', 0, 1)", "to_boottime(): argument 1 (clock_id)"),
        ("to_boottime('REALTIM', 0, NULL)", "to_boottime(): argument 1 (clock_id)"),
        ("to_boottime('REALTIM', NULL, 1, 0)", "to_boottime(): argument 1 (clock_id)"),
        ("convert_clock(NULL, 0, 1, 'REALTIM', 0)", "convert_clock(): argument 4 (to_clock_id)"),
        ("why_unresolved('REALTIM', 0, 1)", "why_unresolved(): argument 1 (clock_id)"),
        (
            "(SELECT count(*) FROM clock_path(3, 0, 1, 'REALTIM'))",
            "clock_path(): argument 4 (to_clock_id)",
        ),
    ] {
        let message = refusal(&conn, &format!("SELECT {call}"));
        assert!(message.contains(&format!("{argument} {meant}")), "{call}: {message}");
    }
    let other = refusal(&conn, "SELECT to_boottime('com.example.other', 0, 1)");
    assert!(other.ends_with("; none has the number of this name, 2625591186"), "{other}");
    // A number need not exist in the trace.
    assert_eq!(ask(&conn, "SELECT to_boottime(2625591186, 0, 1)"), Value::Null);
}

#[test]
fn c8_the_names_of_a_database_with_nothing_but_snapshots_are_those_of_them() {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (0, 4144414090, 10), (0, 6, 9010)",
    )
    .unwrap();
    super::register(&conn).unwrap();
    let known = "SELECT to_boottime('com.example.my_subsystem', 0, 13)";
    assert_eq!(ask(&conn, known), Value::Integer(9013));
    let message = refusal(&conn, "SELECT to_boottime('com.example', 0, 13)");
    assert!(message.contains("must be a clock of the trace"), "{message}");
}

#[test]
fn k3_k4_a_wall_clock_leads_back_to_trace_time() {
    let conn = database();
    let text = |sql: &str| match ask(&conn, sql) {
        Value::Text(text) => text,
        other => panic!("{sql}: {other:?}"),
    };
    let local = "abs_time_str(5205, 'Europe/Berlin')";
    assert_eq!(text(&format!("SELECT {local}")), "2022-05-18T21:59:59.999999995+02:00");
    for shown in [
        local,
        "abs_time_str(5205)",
        "abs_time_str(5205, '-05:30')",
        "'2022-05-18T21:59:59.999999995[Europe/Berlin]'",
    ] {
        let back = format!("SELECT from_abs_time_str({shown})");
        assert_eq!(ask(&conn, &back), Value::Integer(5205), "{shown}");
    }
    for null in [
        "abs_time_str(NULL, 'UTC')",
        "abs_time_str(5205, NULL)",
        "from_abs_time_str(NULL)",
        // Its REALTIME does not fit 64 bits.
        "abs_time_str(9223372036854775807, 'UTC')",
    ] {
        assert_eq!(ask(&conn, &format!("SELECT {null}")), Value::Null, "{null}");
    }
    for (call, expected) in [
        (
            "abs_time_str(1, 'Berlin')",
            "abs_time_str(): argument 2 (zone) must be a time zone such as Europe/Berlin",
        ),
        ("abs_time_str(1, 2)", "abs_time_str(): argument 2 (zone) must be a text, not 2"),
        (
            "from_abs_time_str('noon')",
            "from_abs_time_str(): argument 1 (text) must be a time such as 2026-11-21T16:21:30.5",
        ),
        ("from_abs_time_str(1)", "from_abs_time_str(): argument 1 (text) must be a text, not 1"),
        ("from_abs_time_str('2026-10-25T02:30[Europe/Berlin]')", "fold"),
        ("from_abs_time_str('3026-10-25T02:30')", "1677 to 2262"),
    ] {
        let message = refusal(&conn, &format!("SELECT {call}"));
        assert!(message.contains(expected), "{call}: {message}");
    }
}

#[test]
fn a_wrong_text_is_shown_in_short() {
    let conn = database();
    let long = refusal(&conn, "SELECT to_boottime(3, 0, printf('%.*c', 100000, 'x'))");
    assert!(long.ends_with(&format!("not the text '{}…'", "x".repeat(60))), "{long}");
    let zero = refusal(&conn, "SELECT to_boottime(3, 0, 'a' || char(0) || 'b')");
    assert!(zero.ends_with("must be an integer, not the text 'a\\0b'"), "{zero}");
    let no_text = "CAST(x'4dff' AS TEXT)";
    for call in [
        format!("SELECT to_boottime({no_text}, 0, 1)"),
        format!("SELECT count(*) FROM clock_path({no_text}, 0, 1)"),
    ] {
        let message = refusal(&conn, &call);
        assert!(message.contains("(): argument 1 (clock_id) must be UTF-8"), "{message}");
    }
}

#[test]
fn rows_added_to_clock_snapshot_are_seen_by_the_next_statement() {
    let conn = database();
    assert_eq!(ask(&conn, "SELECT to_boottime(3, 0, 2001)"), Value::Integer(6001));
    let add = "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 2000), (9, 6, 9000)";
    conn.execute_batch(&format!("BEGIN; {add}")).unwrap();
    assert_eq!(ask(&conn, "SELECT to_boottime(3, 0, 2001)"), Value::Integer(9001));
    conn.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ask(&conn, "SELECT to_boottime(3, 0, 2001)"), Value::Integer(6001));
    conn.execute_batch("CREATE TABLE other (x); INSERT INTO other VALUES (1)").unwrap();
    assert_eq!(ask(&conn, "SELECT to_boottime(3, 0, 2001)"), Value::Integer(6001));
}

#[test]
fn rows_added_by_another_connection_are_seen_too() {
    let dir = std::env::temp_dir().join(format!("timebase-sql-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("shared.db");
    database().execute("VACUUM INTO ?1", [path.to_str().unwrap()]).unwrap();
    let conn = Connection::open(&path).unwrap();
    super::register(&conn).unwrap();
    assert_eq!(ask(&conn, "SELECT to_boottime(3, 0, 2001)"), Value::Integer(6001));
    let add = "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 2000), (9, 6, 9000)";
    Connection::open(&path).unwrap().execute_batch(add).unwrap();
    assert_eq!(ask(&conn, "SELECT to_boottime(3, 0, 2001)"), Value::Integer(9001));
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_database_of_another_kind_is_told() {
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    let message = refusal(&conn, "SELECT to_boottime(3, 0, 1)");
    assert!(message.contains("to_boottime(): this is not a timebase database"), "{message}");
}

#[test]
fn a_timebase_database_of_another_version_is_told() {
    let older = "PRAGMA user_version = 1; DROP VIEW finding; DROP VIEW trace_bounds; DROP VIEW time_outlier; \
         ALTER TABLE clock_snapshot DROP COLUMN source";
    for (change, advice) in [
        (older, "import the trace again"),
        ("PRAGMA user_version = 99", "a newer timebase made it, so update timebase"),
    ] {
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
                 reads version {}: {advice}",
                timebase_schema::VERSION
            );
            assert!(message.ends_with(&expected), "{message}");
        }
        // A function without a clock does not need the tables.
        assert_eq!(ask(&conn, "SELECT clock_id('BOOTTIME')"), Value::Integer(6));
    }
}

#[test]
fn a_database_that_timebase_did_not_make_may_have_any_version() {
    let conn = database();
    conn.execute_batch("PRAGMA application_id = 0; PRAGMA user_version = 8").unwrap();
    let sql = "SELECT to_boottime(3, 0, 1104)";
    assert_eq!(ask(&conn, sql), Value::Integer(5104));
}

#[test]
fn the_tables_are_of_the_version_that_the_functions_read() {
    let conn = database();
    let id = timebase_schema::APPLICATION_ID;
    assert_eq!(ask(&conn, "PRAGMA application_id"), Value::Integer(id));
    let version = timebase_schema::VERSION;
    assert_eq!(ask(&conn, "PRAGMA user_version"), Value::Integer(version));
}

#[test]
fn a_snapshot_added_by_hand_that_cannot_be_one_is_told() {
    let conn = database();
    conn.execute_batch("INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value) VALUES (9, 3, 1), (9, 3, 2)")
        .unwrap();
    let message = refusal(&conn, "SELECT to_boottime(3, 0, 1)");
    assert!(message.contains("snapshot 9: clock MONOTONIC is read twice"), "{message}");
}

#[test]
fn a_clock_snapshot_that_needs_the_clocks_is_told() {
    let conn = database();
    conn.execute_batch(
        "DROP VIEW finding; ALTER TABLE clock_snapshot RENAME TO stored;
         CREATE VIEW clock_snapshot AS
         SELECT *, to_boottime(clock_id, seq_id, clock_value) AS boottime FROM stored
         WHERE boottime IS NOT NULL;",
    )
    .unwrap();
    for sql in ["SELECT to_boottime(3, 0, 1104)", "SELECT count(*) FROM clock_path(3, 0, 1104)"] {
        let message = refusal(&conn, sql);
        assert!(message.contains("define it without the call"), "{message}");
    }
}

#[test]
fn a_call_after_one_whose_clock_snapshot_needed_the_clocks_answers() {
    let conn = database();
    conn.execute_batch(
        "DROP VIEW finding; ALTER TABLE clock_snapshot RENAME TO stored;
         CREATE VIEW clock_snapshot AS
         SELECT * FROM stored WHERE to_realtime(ts) IS NOT NULL;",
    )
    .unwrap();
    for sql in [
        "SELECT to_boottime(3, 0, 1104)",
        "SELECT convert_clock(3, 0, 1104, 1, 0)",
        "SELECT to_realtime(5200)",
        "SELECT count(*) FROM clock_path(3, 0, 1104)",
    ] {
        let message = refusal(&conn, sql);
        assert!(
            message.ends_with("clock_snapshot is defined by a call that reads clock_snapshot; define it without the call"),
            "{message}"
        );
    }
    conn.execute_batch("DROP VIEW clock_snapshot; ALTER TABLE stored RENAME TO clock_snapshot")
        .unwrap();
    let sql = "SELECT to_boottime(3, 0, 1104)";
    assert_eq!(ask(&conn, sql), Value::Integer(5104));
}

/// From here on, a reading 2001 of MONOTONIC is 9001 instead of 6001.
const ADD: &str = "INSERT INTO clock_snapshot (snapshot_id, ts, clock_id, clock_value) \
     VALUES (9, 9000, 3, 2000), (9, 9000, 6, 9000), (9, 9000, 1, 77)";

#[test]
fn a_statement_that_is_run_again_sees_what_was_added_in_between() {
    let conn = database();
    let mut statement = conn.prepare("SELECT to_boottime(3, 0, 2001)").unwrap();
    let mut run = || statement.query_row([], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(run(), 6001);
    conn.execute_batch(&format!("BEGIN; {ADD}")).unwrap();
    assert_eq!(run(), 9001);
    conn.execute_batch("ROLLBACK").unwrap();
    assert_eq!(run(), 6001);
    // A statement that is stopped halfway and begun again.
    let mut statement = conn.prepare("SELECT to_boottime(3, 0, 2001) FROM clock_snapshot").unwrap();
    let mut rows = statement.query([]).unwrap();
    assert_eq!(rows.next().unwrap().unwrap().get(0), Ok(6001));
    drop(rows);
    conn.execute_batch(ADD).unwrap();
    let mut rows = statement.query([]).unwrap();
    assert_eq!(rows.next().unwrap().unwrap().get(0), Ok(9001));
}

const NUMBERS: &str = "WITH RECURSIVE n (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n LIMIT 9)";

#[test]
fn statements_that_run_by_turns_see_one_graph_each_from_beginning_to_end() {
    let conn = database();
    // The second calls the functions for the first time when it is at row 2.
    let sql = |calls| format!("{NUMBERS} SELECT CASE WHEN n >= ?1 THEN {calls} END FROM n");
    let calls = "to_boottime(3, 0, 2001) || ' ' || coalesce(to_realtime(9000), '')";
    let mut first = conn.prepare(&sql(calls)).unwrap();
    let mut second = conn.prepare(&sql(calls)).unwrap();
    let mut first = first.query([0]).unwrap();
    let mut second = second.query([2]).unwrap();
    let (old, new) = ("6001 1652904000000003790", "9001 77");
    for row in 0..9 {
        if row == 1 {
            conn.execute_batch(&format!("BEGIN; {ADD}")).unwrap();
        }
        if row == 5 {
            // A third statement: the first two no longer have its version.
            conn.execute_batch("DELETE FROM clock_snapshot WHERE clock_id <> 6").unwrap();
            assert_eq!(ask(&conn, "SELECT to_boottime(3, 0, 2001)"), Value::Null);
        }
        let seen = first.next().unwrap().unwrap().get(0);
        assert_eq!(seen, Ok(old.to_owned()), "row {row}");
        let seen = second.next().unwrap().unwrap().get(0);
        assert_eq!(seen, Ok((row >= 2).then(|| new.to_owned())), "row {row}");
    }
    drop((first, second));
    conn.execute_batch("ROLLBACK").unwrap();
    let sql = format!("SELECT {calls}");
    assert_eq!(ask(&conn, &sql), Value::Text(old.into()));
}

#[test]
fn k1_readings_of_a_change_that_is_rolled_back_are_not_kept() {
    let conn = database();
    let mut statement = conn.prepare("SELECT to_boottime(3, 0, 2001) FROM clock_snapshot").unwrap();
    let mut rows = statement.query([]).unwrap();
    rows.next().unwrap();
    conn.execute_batch(&format!("BEGIN; {ADD}")).unwrap();
    assert_eq!(ask(&conn, "SELECT to_realtime(9000)"), Value::Integer(77));
    drop(rows);
    conn.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ask(&conn, "SELECT to_realtime(9000)"), Value::Integer(1_652_904_000_000_003_790));
}

#[test]
fn a_trigger_and_the_statement_that_fires_it_both_call() {
    let conn = database();
    conn.execute_batch(
        "CREATE TABLE source (x); CREATE TABLE target (x, y);
         CREATE TRIGGER fired AFTER INSERT ON source BEGIN
           INSERT INTO target VALUES (new.x, to_boottime(3, 0, 2001));
         END;
         INSERT INTO source
         SELECT to_boottime(3, 0, 1000 + id) FROM clock_snapshot ORDER BY id;",
    )
    .unwrap();
    let sql = "SELECT group_concat((x - 5000) || ' ' || y, ', ') FROM target";
    let expected = "1 6001, 2 6001, 3 6001, 4 6001, 5 6001";
    assert_eq!(ask(&conn, sql), Value::Text(expected.into()));
}

/// With statistics, SQLite also calls functions when it plans a statement.
#[test]
fn a_call_by_the_planner_is_answered() {
    let conn = database();
    conn.execute_batch(&format!(
        "CREATE TABLE t (x); CREATE INDEX t_x ON t (x); {NUMBERS} INSERT INTO t SELECT n FROM n;
         ANALYZE;"
    ))
    .unwrap();
    let sql = "SELECT count(*) FROM t WHERE x < to_boottime(3, 0, 2001) - 5996";
    let mut statement = conn.prepare(sql).unwrap();
    let mut run = || statement.query_row([], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(run(), 5);
    conn.execute_batch(ADD).unwrap();
    assert_eq!(run(), 9);
}

#[test]
fn an_interrupted_load_is_begun_anew() {
    let conn = database();
    conn.execute_batch(
        "DROP VIEW finding; ALTER TABLE clock_snapshot RENAME TO stored;
         CREATE VIEW clock_snapshot AS SELECT * FROM stored WHERE interrupt_once() ORDER BY id;",
    )
    .unwrap();
    let handle = conn.get_interrupt_handle();
    let is_first = std::sync::atomic::AtomicBool::new(true);
    let flags = rusqlite::functions::FunctionFlags::SQLITE_UTF8;
    conn.create_scalar_function("interrupt_once", 0, flags, move |_| {
        if is_first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            handle.interrupt();
        }
        Ok(true)
    })
    .unwrap();
    let sql = "SELECT to_boottime(3, 0, 2001)";
    let message = refusal(&conn, sql);
    assert!(message.contains("interrupted"), "{message}");
    assert_eq!(ask(&conn, sql), Value::Integer(6001));
}

#[test]
fn a_function_is_not_replaced_while_a_statement_runs() {
    let conn = database();
    let mut statement = conn.prepare("SELECT to_boottime(3, 0, 2001) FROM clock_snapshot").unwrap();
    let mut rows = statement.query([]).unwrap();
    rows.next().unwrap();
    let error = super::register(&conn).unwrap_err().to_string();
    assert!(error.contains("due to active statements"), "{error}");
    assert_eq!(rows.next().unwrap().unwrap().get(0), Ok(6001));
    drop(rows);
    super::register(&conn).unwrap();
}

#[test]
fn threads_that_use_a_connection_one_after_the_other_are_answered() {
    let mut conn = database();
    for _again in 0..3 {
        let thread = std::thread::spawn(move || {
            assert_eq!(ask(&conn, "SELECT to_boottime(3, 0, 2001)"), Value::Integer(6001));
            conn
        });
        conn = thread.join().unwrap();
        conn.execute_batch("UPDATE clock_snapshot SET ts = ts + 1").unwrap();
    }
}

/// Snapshot 1 goes back on MONOTONIC (rule N5), and is not in order in the table.
#[test]
fn n5_snapshots_come_in_order_of_their_numbers_however_the_rows_are_stored() {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value, ts) VALUES
           (7, 3, 500, 700), (3, 3, 900, 700), (3, 6, 100, 700), (7, 6, 200, 700);",
    )
    .unwrap();
    super::register(&conn).unwrap();
    let why = ask(&conn, "SELECT why_unresolved(3, 0, 500)");
    assert_eq!(why, Value::Text("non_monotonic".into()));
    let sql = "SELECT group_concat(snapshot_id || ': ' || value_out) \
               FROM clock_path(6, 0, 250, 'MONOTONIC')";
    assert_eq!(ask(&conn, sql), Value::Text("7: 550".into()));
    // Of several readings with the same ts, the first in the table counts (rule K1).
    assert_eq!(ask(&conn, "SELECT to_monotonic(701)"), Value::Integer(501));
}

#[test]
fn v4_clocks_of_different_units_take_turns() {
    let conn = database();
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, clock_id, seq_id, clock_value, unit_multiplier_ns)
         VALUES (2, 64, 5, 2000, 1000), (2, 6, 0, 6000, 1)",
    )
    .unwrap();
    let sql = format!(
        "{NUMBERS} SELECT group_concat(to_boottime(64, 2 + n % 2 * 3, 3 + n % 2)) FROM n WHERE n < 4"
    );
    assert_eq!(ask(&conn, &sql), Value::Text("4103,8000,4103,8000".into()));
    // Ticks that do not fit 64 bits in nanoseconds (rule V6).
    let sql = "SELECT why_unresolved(64, 5, 9223372036854775807)";
    assert_eq!(ask(&conn, sql), Value::Text("overflow".into()));
}

/// `clock_snapshot` as an endless view, with readings in this order.
fn endless(snapshot_id: &str) -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(&format!(
        "CREATE VIEW clock_snapshot AS
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n)
         SELECT i AS id, i AS ts, 3 + 3 * (i % 2) AS clock_id, i / 2 AS clock_value, {snapshot_id} AS snapshot_id,
           0 AS machine_id, 0 AS seq_id, 1 AS unit_multiplier_ns, 0 AS is_incremental, 'writer' AS source FROM n"
    ))
    .unwrap();
    super::register(&conn).unwrap();
    conn
}

#[test]
fn readings_without_an_end_are_too_many() {
    for snapshot_id in ["i / 2", "(i / 2) * 7919 % 100003"] {
        let expected = format!(
            "to_boottime(): clock_snapshot cannot be used: it has more than {} rows, which are as many \
             readings as are loaded",
            super::read::MOST
        );
        let conn = endless(snapshot_id);
        assert_eq!(refusal(&conn, "SELECT to_boottime(3, 0, 5)"), expected);
    }
}

#[test]
fn an_interrupted_load_is_an_interruption_and_can_be_tried_again() {
    let mut conn = database();
    let sql = "SELECT to_boottime(64, 2, 1003)";
    let ask = |conn: &Connection| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    // After this many steps, which fall before and into each of the queries.
    for steps in (1..400).step_by(7) {
        let mut is_first = true;
        conn.progress_handler(steps, Some(move || std::mem::take(&mut is_first))).unwrap();
        if let Err(error) = ask(&conn) {
            assert_eq!(
                error.sqlite_error_code(),
                Some(rusqlite::ErrorCode::OperationInterrupted),
                "{error}"
            );
        }
        conn.progress_handler(0, None::<fn() -> bool>).unwrap();
        assert_eq!(ask(&conn), Ok(5103));
        // Another version of the table, which is loaded again.
        conn.execute_batch("UPDATE clock_snapshot SET packet_id = 5").unwrap();
    }
}

/// Two hops: of 64@2, which is 100 ppm fast, and of MONOTONIC_RAW, which is 10 ppm slow.
fn drifting() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(&timebase_schema::finish()).unwrap();
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, clock_id, seq_id, clock_value) VALUES
           (0, 64, 2, 1), (0, 5, 0, 3), (1, 64, 2, 1000000001), (1, 5, 0, 1000100003),
           (2, 5, 0, 3), (2, 6, 0, 10), (3, 5, 0, 2000000003), (3, 6, 0, 1999980010);",
    )
    .unwrap();
    super::register(&conn).unwrap();
    conn
}

#[test]
fn r6_functions_answer_where_a_reading_was_and_how_sure_that_is() {
    let conn = drifting();
    let integer = |sql: &str| match ask(&conn, sql) {
        Value::Integer(value) => value,
        other => panic!("{other:?}"),
    };
    let at = integer("SELECT to_boottime_linear(64, 2, 400000001)");
    assert!((at - 400_036_010).abs() <= 1, "{at}");
    assert_eq!(integer("SELECT to_boottime_linear('64@2', 0, 400000001, 0)"), at);
    // 1.5 µs and 1 ppm of 0.4 s for the first hop, and for the second: nothing shows that they
    // are less.
    let error = integer("SELECT boottime_error(64, 2, 400000001)");
    assert!((3800..=3801).contains(&error), "{error}");
    let interval = "SELECT earliest || ' ' || estimate || ' ' || latest || ' ' || kind \
                    FROM boottime_interval(64, 2, 400000001)";
    let expected = format!("{} {at} {} line", at - error, at + error);
    assert_eq!(ask(&conn, interval), Value::Text(expected));
    let kind = "SELECT kind FROM boottime_interval('MONOTONIC_RAW', 0, 2000000004, 0)";
    assert_eq!(ask(&conn, kind), Value::Text("after".into()));

    for nothing in [
        "to_boottime_linear(64, 3, 1)",
        "to_boottime_linear(64, 2, NULL)",
        "boottime_error(64, 3, 1)",
        "boottime_error(NULL, 2, 1)",
        "(SELECT estimate FROM boottime_interval(64, 3, 1))",
    ] {
        assert_eq!(ask(&conn, &format!("SELECT {nothing}")), Value::Null);
    }
    assert_eq!(
        refusal(&conn, "SELECT boottime_error(64, 2, 'noon')"),
        "boottime_error(): argument 3 (ts) must be an integer, not the text 'noon'"
    );
    assert_eq!(
        refusal(&conn, "SELECT * FROM boottime_interval(64, 2)"),
        "boottime_interval() needs the arguments (clock_id, seq_id, ts)"
    );
    let unknown = refusal(&conn, "SELECT * FROM boottime_interval('MONOTINIC', 0, 1)");
    assert!(unknown.contains("boottime_interval(): argument 1"), "{unknown}");
    assert!(unknown.contains("MONOTONIC"), "{unknown}");
}

#[test]
fn r_snapshots_that_are_added_by_hand_count_for_estimates() {
    let conn = drifting();
    let sql = "SELECT to_boottime_linear('MONOTONIC_RAW', 0, 2500000000)";
    let before = ask(&conn, sql);
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, clock_id, seq_id, clock_value) VALUES
           (4, 5, 0, 3000000001), (4, 6, 0, 3000000003);",
    )
    .unwrap();
    assert_ne!(ask(&conn, sql), before);
}

//! Several files and machines: the owner of an argument's clock (rule X14).

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{ask, refusal};

/// An archive (0) of four traces, which were read in the order 2, 1, 3, 4. File 2 is the first of
/// machine 0, and file 3 the first of machine 1. On machine 0, file 1 is isolated, file 3 is not,
/// and file 4 is pinned. The distance of BOOTTIME of trace time distinguishes the clocks.
fn merged() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(&timebase_schema::finish()).unwrap();
    conn.execute_batch(
        "INSERT INTO trace_file (id, name, processing_order, is_container, packets) VALUES
           (0, 'all.zip', NULL, 1, 0), (1, 'b', 1, 0, 5), (2, 'a', 0, 0, 5), (3, 'c', 2, 0, 5),
           (4, 'd', 3, 0, 5);
         INSERT INTO machine (id, raw_id, packets) VALUES (0, 0, 5), (1, 42, 5);
         INSERT INTO part (trace_file_id, machine_id, own_from, is_pinned, how) VALUES
           (2, 0, NULL, 0, 'trace_time'), (1, 0, 7, 0, 'snapshots'), (3, 0, NULL, 0, 'trace_time'),
           (3, 1, NULL, 0, 'remote_sync'), (4, 0, NULL, 1, 'manifest');
         INSERT INTO clock_snapshot
           (snapshot_id, machine_id, clock_id, seq_id, trace_file_id, clock_value, ts) VALUES
           (0, 0, 6, 0, NULL, 100, 100), (0, 0, 3, 0, NULL, 90, 100),
           (1, 0, 6, 0, 1, 1000, 500), (1, 0, 3, 0, 1, 480, 500), (1, 0, 6, 0, NULL, 500, 500),
           (2, 0, 64, 2, 2, 0, 3), (2, 0, 6, 0, NULL, 3, 3),
           (3, 0, 64, 2, 1, 0, 4), (3, 0, 6, 0, NULL, 4, 4),
           (4, 0, 64, 5, 3, 0, 5), (4, 0, 6, 0, NULL, 5, 5),
           (5, 1, 6, 0, NULL, 0, 70), (5, 0, 6, 0, NULL, 70, 70),
           (6, 0, 11, 0, 4, 0, 80), (6, 0, 6, 0, NULL, 80, 80);",
    )
    .unwrap();
    crate::sql::register(&conn).unwrap();
    conn
}

fn answers(conn: &Connection, cases: &[(&str, Option<i64>)]) {
    for &(call, expected) in cases {
        let expected = expected.map_or(Value::Null, Value::Integer);
        assert_eq!(ask(conn, &format!("SELECT {call}")), expected, "{call}");
    }
}

#[test]
fn x14_the_fifth_argument_is_the_file_and_its_part_tells_whose_clock_it_is() {
    let conn = merged();
    answers(
        &conn,
        &[
            // The machine's clock, without a file or with a file whose part has no clocks of its
            // own.
            ("to_boottime(3, 0, 95)", Some(105)),
            ("to_boottime(3, 0, 95, 0)", Some(105)),
            ("to_boottime(3, 0, 95, 0, NULL)", Some(105)),
            ("to_boottime(3, 0, 95, 0, 2)", Some(105)),
            ("to_boottime(3, 0, 95, 0, 3)", Some(105)),
            ("to_boottime(3, 0, 95, 0, 4)", Some(105)),
            // The clock of the isolated part, whose BOOTTIME is not trace time.
            ("to_boottime(3, 0, 485, 0, 1)", Some(505)),
            ("to_boottime('MONOTONIC', 0, 485, 0, 1)", Some(505)),
            ("to_boottime(6, 0, 1005, 0, 1)", Some(505)),
            ("to_boottime(6, 0, 1005)", Some(1005)),
            // A file's private clock.
            ("to_boottime(11, 0, 5, 0, 4)", Some(85)),
            ("to_boottime(11, 0, 5, 0, 3)", None),
            ("to_boottime(11, 0, 5)", None),
            // Sequence-scoped clocks, in any file.
            ("to_boottime(64, 2, 10, 0, 2)", Some(13)),
            ("to_boottime(64, 2, 10, 0, 1)", Some(14)),
            ("to_boottime(64, 2, 10, 0, 3)", None),
            ("to_boottime(64, 5, 10, 0, 3)", Some(15)),
            ("to_boottime(64, 5, 10)", Some(15)),
            ("to_boottime(64, 5, 10, 0, NULL)", Some(15)),
            ("to_boottime('64@5', 0, 10)", Some(15)),
            ("to_boottime(64, 7, 10)", None),
            // Another machine.
            ("to_boottime('BOOTTIME', 0, 1, 1)", Some(71)),
            ("to_boottime(6, 0, 1, 1, 3)", Some(71)),
            ("to_boottime(6, 0, 1, NULL, 3)", None),
            ("to_boottime_linear(64, 2, 10, 0, 1)", Some(14)),
            ("boottime_error(64, 2, 0, 0, 1)", Some(1500)),
            ("convert_clock(3, 0, 485, 6, 0, 0, 1)", Some(1005)),
            ("convert_clock(6, 0, 15, 64, 5)", Some(10)),
            ("convert_clock(6, 0, 14, '64@2 in file 1', 0, 0)", Some(10)),
            ("convert_clock(6, 0, 1005, 3, 0, 0, NULL)", Some(995)),
        ],
    );
}

#[test]
fn x14_what_is_not_resolved_is_told_with_a_file_by_the_form_with_a_target() {
    let conn = merged();
    let reason = |call: &str| ask(&conn, &format!("SELECT why_unresolved({call})"));
    let unknown = Value::Text("unknown_clock".into());
    assert_eq!(reason("64, 2, 1, 6, 0, 0, 3"), unknown);
    assert_eq!(reason("64, 2, 1, 6, 0, 0, 1"), Value::Null);
    // Five arguments are still a clock and another one, and four a clock on a machine.
    assert_eq!(reason("6, 0, 1, 200, 0"), Value::Text("no_target".into()));
    assert_eq!(reason("6, 0, 1, 1"), Value::Null);
    assert_eq!(reason("200, 0, 1, 1"), unknown);
}

#[test]
fn x14_a_clock_of_several_files_needs_its_file() {
    let conn = merged();
    for (call, expected) in [
        (
            "to_boottime(64, 2, 1)",
            "to_boottime(): argument 1 (clock_id) does not say which 64@2 is meant, that of file \
             2 and 1: give one as argument 5 (trace_file_id)",
        ),
        (
            "convert_clock(6, 0, 1, 64, 2)",
            "convert_clock(): argument 4 (to_clock_id) does not say which 64@2 is meant",
        ),
        (
            "(SELECT count(*) FROM clock_path('64@2', 0, 1))",
            "give one as argument 7 (trace_file_id)",
        ),
        (
            "(SELECT latest FROM boottime_interval(64, 2, 1))",
            "boottime_interval(): argument 1 (clock_id) does not say which",
        ),
        (
            "to_boottime(3, 0, 1, 0, 9)",
            "argument 5 (trace_file_id) must be the id of a row of trace_file that was read, not 9",
        ),
        (
            "to_boottime(3, 0, 1, 0, 0)",
            "argument 5 (trace_file_id) must be the id of a row of trace_file that was read, not 0",
        ),
        (
            "to_boottime('BOOTTIME in file 9', 0, 1)",
            "argument 1 (clock_id) must be of a file in the table trace_file that was read",
        ),
        (
            "to_boottime('BOOTTIME in file 1', 0, 1, 0, 2)",
            "argument 5 (trace_file_id) must be NULL or 1, as 'BOOTTIME in file 1' says, not 2",
        ),
        (
            "to_boottime(3, 0, 1, 0, 'b')",
            "argument 5 (trace_file_id) must be an integer, not the text 'b'",
        ),
        (
            "to_boottime('BOOTTIME in file', 0, 1)",
            "argument 1 (clock_id) must be a clock number or a name without spaces",
        ),
    ] {
        let message = refusal(&conn, &format!("SELECT {call}"));
        assert!(message.contains(expected), "{call}: {message}");
    }
}

#[test]
fn x10_a_machine_is_a_row_and_its_raw_id_is_told_from_it() {
    let conn = merged();
    for (call, expected) in [
        (
            "to_boottime(6, 0, 1, 42)",
            "to_boottime(): argument 4 (machine_id) must be the id of a row of machine, not 42; \
             there are 0 to 1, and 42 is the raw_id of 1",
        ),
        (
            "convert_clock(6, 0, 1, 3, 0, 7)",
            "convert_clock(): argument 6 (machine_id) must be the id of a row of machine, not 7; \
             there are 0 to 1",
        ),
        (
            "to_boottime('BOOTTIME of machine 7', 0, 1)",
            "argument 1 (clock_id) must be of a machine in the table machine, not the text \
             'BOOTTIME of machine 7'; there are 0 to 1",
        ),
    ] {
        let message = refusal(&conn, &format!("SELECT {call}"));
        assert!(message.ends_with(expected), "{call}: {message}");
    }
}

#[test]
fn x14_tables_that_are_functions_take_the_machine_and_the_file() {
    let conn = merged();
    let hops = "SELECT group_concat(from_clock || '→' || to_clock, ', ') FROM ";
    for (from, expected) in [
        (
            "clock_path(3, 0, 485, NULL)",
            Value::Null, // no target
        ),
        (
            "clock_path(3, 0, 485) WHERE trace_file_id = 1",
            Value::Text("MONOTONIC in file 1→BOOTTIME".into()),
        ),
        (
            "clock_path(3, 0, 485, 6, 0, 0, 1)",
            Value::Text("MONOTONIC in file 1→BOOTTIME in file 1".into()),
        ),
        (
            "clock_path_linear('64@2 in file 2', 0, 1)",
            Value::Text("64@2 in file 2→BOOTTIME".into()),
        ),
        (
            "clock_path_linear(6, 0, 1, 6, 0, 1) WHERE trace_file_id IS NULL",
            Value::Null, // no hop
        ),
    ] {
        assert_eq!(ask(&conn, &format!("{hops}{from}")), expected, "{from}");
    }
    let sql = "SELECT estimate FROM boottime_interval(3, 0, 480, 0, 1)";
    assert_eq!(ask(&conn, sql), Value::Integer(500));
    // A JOIN with the owner of each clock.
    let sql = "SELECT sum(to_boottime(clock_id, seq_id, clock_value, machine_id, trace_file_id) IS NOT ts)
               FROM clock_snapshot";
    assert_eq!(ask(&conn, sql), Value::Integer(0));
    let sql = "SELECT count(DISTINCT s.trace_file_id) FROM clock_snapshot AS s, \
               clock_path(s.clock_id, s.seq_id, 5, 3, 0, s.machine_id, s.trace_file_id)";
    assert_eq!(ask(&conn, sql), Value::Integer(4));
}

#[test]
fn x14_what_clock_path_prints_can_be_given() {
    let conn = merged();
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, machine_id, clock_id, trace_file_id, clock_value)
         VALUES (9, 1, 6, 3, 0), (9, 0, 6, NULL, 30)",
    )
    .unwrap();
    let sql = "SELECT from_clock FROM clock_path('BOOTTIME of machine 1 in file 3', 0, 1)";
    let printed = Value::Text("BOOTTIME of machine 1 in file 3".into());
    assert_eq!(ask(&conn, sql), printed);
    // The machine's clock, because the part has no clocks of its own.
    answers(
        &conn,
        &[
            ("to_boottime('BOOTTIME of machine 1 in file 3', 0, 1)", Some(31)),
            ("to_boottime(6, 0, 1, 1, 3)", Some(71)),
        ],
    );
}

#[test]
fn x25_boottime_is_that_of_the_machine_of_trace_time() {
    let conn = merged();
    conn.execute_batch("INSERT INTO fact (name, value) VALUES ('trace_time_machine_id', 1)")
        .unwrap();
    answers(
        &conn,
        &[
            ("to_boottime(6, 0, 1, 1)", Some(1)),
            ("to_boottime(6, 0, 71)", Some(1)),
            ("to_boottime_linear(6, 0, 71)", Some(1)),
            ("(SELECT value_out FROM clock_path(6, 0, 71))", Some(1)),
            ("(SELECT estimate FROM boottime_interval(6, 0, 71))", Some(1)),
        ],
    );
}

#[test]
fn k1_the_readings_are_those_of_the_machine_of_trace_time_of_all_its_files() {
    let conn = merged();
    conn.execute_batch(
        "INSERT INTO clock_snapshot (snapshot_id, machine_id, clock_id, trace_file_id, clock_value, ts)
         VALUES (7, 1, 1, NULL, 5000, 600), (7, 1, 6, NULL, 530, 600),
                (8, 0, 1, NULL, 9000, 700), (8, 0, 6, NULL, 700, 700);",
    )
    .unwrap();
    answers(
        &conn,
        &[
            ("to_monotonic(110)", Some(100)),
            // A reading of an isolated part, at 500.
            ("to_monotonic(505)", Some(485)),
            ("to_realtime(705)", Some(9005)),
            ("from_abs_time_str(abs_time_str(705))", Some(705)),
        ],
    );
    conn.execute_batch("INSERT INTO fact (name, value) VALUES ('trace_time_machine_id', 1);")
        .unwrap();
    // The facts are those of the last change of clock_snapshot.
    conn.execute_batch("UPDATE clock_snapshot SET packet_id = 1").unwrap();
    answers(&conn, &[("to_realtime(705)", Some(5105)), ("to_monotonic(505)", None)]);
}

#[test]
fn x14_without_tables_of_files_all_is_of_one_file() {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(
        "CREATE TABLE clock_snapshot (id INTEGER PRIMARY KEY, ts, snapshot_id, machine_id, clock_id,
           seq_id, clock_value, unit_multiplier_ns, is_incremental, source);
         INSERT INTO clock_snapshot VALUES
           (0, 0, 0, 0, 64, 2, 0, 1, 0, 'writer'), (1, 0, 0, 0, 6, 0, 100, 1, 0, 'writer');",
    )
    .unwrap();
    crate::sql::register(&conn).unwrap();
    answers(
        &conn,
        &[
            ("to_boottime(64, 2, 5)", Some(105)),
            ("to_boottime(64, 2, 5, 0, 0)", Some(105)),
            ("to_boottime(64, 2, 5, 7)", None),
        ],
    );
    // A copy of the table from an import of several files, without the other tables.
    conn.execute_batch(
        "ALTER TABLE clock_snapshot ADD trace_file_id;
         UPDATE clock_snapshot SET trace_file_id = 3 WHERE clock_id = 64;",
    )
    .unwrap();
    answers(
        &conn,
        &[
            ("to_boottime(64, 2, 5)", Some(105)),
            ("to_boottime(64, 2, 5, 0, 3)", Some(105)),
            ("to_boottime(64, 2, 5, 0, 0)", None),
        ],
    );
}

#[test]
fn x14_rows_added_by_hand_are_of_the_only_file() {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(
        "INSERT INTO trace_file (id, processing_order, is_container, packets) VALUES
           (0, NULL, 1, 0), (1, 0, 0, 5);
         INSERT INTO clock_snapshot (snapshot_id, clock_id, seq_id, trace_file_id, clock_value)
         VALUES (0, 64, 2, 1, 0), (0, 6, 0, NULL, 100), (1, 64, 2, NULL, 50), (1, 6, 0, NULL, 170)",
    )
    .unwrap();
    crate::sql::register(&conn).unwrap();
    answers(
        &conn,
        &[
            ("to_boottime(64, 2, 5)", Some(105)),
            ("to_boottime(64, 2, 55)", Some(175)),
            ("to_boottime(64, 2, 55, 0, 1)", Some(175)),
        ],
    );
}

#[test]
fn x14_tables_of_files_that_cannot_be_are_told() {
    for (sql, expected) in [
        (
            "UPDATE trace_file SET processing_order = 'first' WHERE id = 1",
            "trace_file: processing_order must be an integer, not the text 'first'",
        ),
        (
            "DELETE FROM trace_file WHERE id = 1",
            "snapshot 1: trace_file_id must be a file that trace_file has as read, not 1",
        ),
        (
            "UPDATE clock_snapshot SET trace_file_id = 'b' WHERE clock_id = 11",
            "snapshot 6: trace_file_id must be an integer, not the text 'b'",
        ),
        (
            "UPDATE part SET own_from = 3, machine_id = -1 WHERE trace_file_id = 2",
            "part: machine_id must be between 0 and 4294967295, not -1",
        ),
        (
            "DROP VIEW finding; DROP TABLE part; CREATE VIEW part AS
             WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n)
             SELECT n AS trace_file_id, 0 AS machine_id, 1 AS own_from, 0 AS is_pinned FROM n",
            "part has more than 32768 rows",
        ),
    ] {
        let conn = merged();
        conn.execute_batch(sql).unwrap();
        conn.execute_batch("UPDATE clock_snapshot SET packet_id = 1").unwrap();
        let message = refusal(&conn, "SELECT to_boottime(6, 0, 1)");
        let expected = format!("to_boottime(): clock_snapshot cannot be used: {expected}");
        assert!(message.starts_with(&expected), "{sql}: {message}");
    }
    // Machines are only read for a better error.
    let conn = merged();
    conn.execute_batch("UPDATE machine SET raw_id = 'big' WHERE id = 1").unwrap();
    answers(&conn, &[("to_boottime(6, 0, 1, 42)", None)]);
}

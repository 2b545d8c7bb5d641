//! The functions with `remote_clock_sync`, and unknown errors (rules R9, X26).

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{ask, refusal};

/// A guest (1) whose clock is 100 ppm fast, by two pairs of averages and by samples.
fn synchronized() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(&timebase_schema::finish()).unwrap();
    conn.execute_batch(
        "INSERT INTO trace_file (id, processing_order, is_container, packets) VALUES (0, 0, 0, 5);
         INSERT INTO machine (id, raw_id, packets) VALUES (0, 0, 5), (1, 7, 5);
         INSERT INTO clock_snapshot (snapshot_id, machine_id, clock_id, clock_value, source) VALUES
           (0, 1, 6, 110003001000, 'remote_sync'), (0, 0, 6, 62000000000, 'remote_sync');
         INSERT INTO remote_clock_sync
           (packet_id, machine_id, clock_id, host_machine_id, host_value, offset, half_round_trip, used)
         VALUES (3, 1, 6, 0, 2000000000, 48000001000, 1000, 1),
           (3, 1, 6, 0, 30000000000, 49000000000, 5000000, 0),
           (3, 1, 6, 0, 62000000000, 48006001000, 1000, 1);",
    )
    .unwrap();
    crate::sql::register(&conn).unwrap();
    conn
}

fn answers(conn: &Connection, cases: &[(&str, Value)]) {
    for (call, expected) in cases {
        assert_eq!(&ask(conn, &format!("SELECT {call}")), expected, "{call}");
    }
}

#[test]
fn r9_xe4_the_linear_functions_answer_by_samples() {
    let conn = synchronized();
    answers(
        &conn,
        &[
            // By the average, as before.
            ("to_boottime(6, 0, 110006000000, 1)", Value::Integer(62_002_999_000)),
            ("to_boottime_linear(6, 0, 110006000000, 1)", Value::Integer(61_999_999_000)),
            ("boottime_error(6, 0, 110006000000, 1)", Value::Integer(1_001)),
            (
                "(SELECT earliest || ' ' || latest FROM boottime_interval(6, 0, 110006000000, 1))",
                Value::Text("61999997999 62000000001".into()),
            ),
            (
                "(SELECT before_snapshot_id || ' ' || before_from_value FROM clock_path_linear('BOOTTIME of machine 1', 0, 70000000000))",
                Value::Null,
            ),
            (
                "(SELECT before_from_value || ' ' || after_to_value FROM clock_path_linear('BOOTTIME of machine 1', 0, 70000000000))",
                Value::Text("50000001000 62000000000".into()),
            ),
            // The way back.
            (
                "(SELECT value_out FROM clock_path_linear(6, 0, 61999999000, 'BOOTTIME of machine 1'))",
                Value::Integer(110_006_000_000),
            ),
        ],
    );
}

#[test]
fn r9_samples_of_a_file_are_of_its_own_clocks() {
    let conn = synchronized();
    conn.execute_batch(
        "INSERT INTO part (trace_file_id, machine_id, own_from, is_pinned, how) VALUES (0, 1, 2, 0, 'remote_sync');
         UPDATE clock_snapshot SET trace_file_id = 0 WHERE machine_id = 1;
         UPDATE remote_clock_sync SET trace_file_id = 0;",
    )
    .unwrap();
    let linear = "to_boottime_linear(6, 0, 110006000000, 1, 0)";
    answers(&conn, &[(linear, Value::Integer(61_999_999_000))]);
    // They do not belong to the machine's clock.
    conn.execute_batch(
        "UPDATE remote_clock_sync SET trace_file_id = NULL; UPDATE clock_snapshot SET packet_id = 1;",
    )
    .unwrap();
    answers(&conn, &[(linear, Value::Integer(62_002_999_000))]);
}

#[test]
fn r9_samples_that_cannot_be_are_told() {
    for (sql, expected) in [
        (
            "UPDATE remote_clock_sync SET offset = 'x'",
            "remote_clock_sync: offset must be an integer, not the text 'x'",
        ),
        (
            "UPDATE remote_clock_sync SET host_trace_file_id = 4",
            "remote_clock_sync: host_trace_file_id must be a file that trace_file has as read, not 4",
        ),
        (
            "DROP TABLE remote_clock_sync; CREATE VIEW remote_clock_sync AS
             WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n)
             SELECT 1 AS machine_id, 6 AS clock_id, NULL AS trace_file_id, 0 AS host_machine_id, n AS host_value,
               NULL AS host_trace_file_id, 0 AS offset, 0 AS half_round_trip, 1 AS used FROM n",
            "remote_clock_sync has more than 32768 rows",
        ),
    ] {
        let conn = synchronized();
        conn.execute_batch(sql).unwrap();
        let message = refusal(&conn, "SELECT to_boottime_linear(6, 0, 1)");
        let expected = format!("to_boottime_linear(): clock_snapshot cannot be used: {expected}");
        assert!(message.starts_with(&expected), "{message}");
    }
    // A table of another program breaks nothing either.
    let conn = synchronized();
    conn.execute_batch(
        "UPDATE remote_clock_sync SET host_value = 9223372036854775807 - id % 2, offset = 4611686018427387904 * (id % 2), used = 1",
    )
    .unwrap();
    answers(&conn, &[("to_boottime_linear(6, 0, 110006000000, 1) IS NULL", Value::Integer(0))]);
    conn.execute_batch("DROP TABLE remote_clock_sync; UPDATE clock_snapshot SET packet_id = 1")
        .unwrap();
    answers(
        &conn,
        &[("to_boottime_linear(6, 0, 110006000000, 1)", Value::Integer(62_002_999_000))],
    );
}

#[test]
fn x26_r10_what_is_assumed_has_no_error() {
    let conn = synchronized();
    conn.execute_batch(
        "UPDATE clock_snapshot SET source = 'assumed', clock_value = 0; DELETE FROM remote_clock_sync;",
    )
    .unwrap();
    answers(
        &conn,
        &[
            ("to_boottime(6, 0, 500, 1)", Value::Integer(500)),
            ("to_boottime_linear(6, 0, 500, 1)", Value::Integer(500)),
            ("boottime_error(6, 0, 500, 1)", Value::Null),
            (
                "(SELECT earliest IS NULL AND latest IS NULL AND estimate = 500 FROM boottime_interval(6, 0, 500, 1))",
                Value::Integer(1),
            ),
            (
                "(SELECT error_ns IS NULL FROM clock_path_linear('BOOTTIME of machine 1', 0, 500))",
                Value::Integer(1),
            ),
        ],
    );
}

#[test]
fn x26_packet_interval_has_no_bounds_where_nobody_knows_the_error() {
    let conn = synchronized();
    conn.execute_batch(
        "INSERT INTO fact (name, value) VALUES ('trace_time_clock_id', 6);
         INSERT INTO packet_common (id, clock_id, seq_id, machine_id, trace_file_id, first_id, is_absolute)
         VALUES (0, 6, 0, 1, 0, 0, 0), (1, 6, 0, 0, 0, 0, 0);
         INSERT INTO packet_record (id, ts, common_id, clock_ts, offset, size) VALUES (0, 15, 0, 10, 0, 1), (1, 10, 1, 10, 0, 1);
         INSERT INTO part (trace_file_id, machine_id, own_from, is_pinned, how)
         VALUES (0, 0, NULL, 0, 'trace_time'), (0, 1, NULL, 0, 'same_clock');
         INSERT INTO clock_record VALUES
           (0, 6, 0, -1, 'BOOTTIME', 'builtin', 1, 0, 1, 1, 0, 0, 1, NULL, 0),
           (1, 6, 0, -1, 'BOOTTIME', 'builtin', 1, 0, 1, 1, 0, 0, 1, NULL, 1);
         INSERT INTO clock_route VALUES (0, 6, 0, -1, 6, 0), (1, 6, 0, -1, 6, 1);
         INSERT INTO clock_line VALUES
           (0, 0, NULL, 0, 0.0, 2.5, 0.0, 'line'), (1, -9223372036854775808, NULL, 5, 0.0, NULL, 0.0, 'after');",
    )
    .unwrap();
    let rows = "SELECT group_concat(id || ': ' || coalesce(earliest, '-') || ' ' || ts || ' ' || coalesce(latest, '-'), ', ')
                FROM (SELECT * FROM packet_interval ORDER BY id)";
    assert_eq!(ask(&conn, rows), Value::Text("0: - 15 -, 1: 7 10 13".into()));
    let errors = "SELECT group_concat(error IS NULL) FROM clock_mapping_linear";
    assert_eq!(ask(&conn, errors), Value::Text("0,1".into()));
}

//! The functions with `clock_alignment`: relations that follow from messages (rules AL16, AL20).

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{ask, refusal};

/// Machine 1 is 4 s ahead of the host (0) and gains 10 ppm, by messages that bound it to 200 µs.
fn aligned() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(&timebase_schema::finish()).unwrap();
    conn.execute_batch(
        "INSERT INTO trace_file (id, processing_order, is_container, packets) VALUES (0, 0, 0, 5);
         INSERT INTO machine (id, raw_id, packets) VALUES (0, 0, 5), (1, 7, 5);
         INSERT INTO clock_snapshot (snapshot_id, machine_id, clock_id, clock_value, source) VALUES
           (0, 0, 6, 1000000000, 'causality'), (0, 1, 6, 5000050000, 'causality'),
           (1, 0, 6, 101000000000, 'causality'), (1, 1, 6, 105001050000, 'causality');
         INSERT INTO clock_alignment (id, machine_a, clock_a, machine_b, clock_b, evidence, arrival, sides,
           messages_ab, messages_ba, violated, suspect, unpaired, undirected, stretches, rate_error_ppm,
           inverted, used, reason, accepted_ab, accepted_ba, inverted_ab)
         VALUES (0, 0, 6, 1, 6, 'flows', 'begin', 'both', 3, 2, 1, 0, 0, 0, 1, 40.0, 3, 1, '', 3, 2, 3),
           (1, 0, 6, 1, 6, 'pairs', 'begin', 'both', 3, 2, 1, 0, 0, 0, 1, 900.0, 3, 0, '', 3, 2, 3);
         INSERT INTO clock_alignment_knot (alignment_id, value, offset, earliest, latest, step) VALUES
           (0, 1000000000, 4000050000, 3999900000, 4000250000, 0), (0, 2000000000, NULL, NULL, 4000000000, 0),
           (0, 101000000000, 4001050000, 4000850000, 4001250000, 0), (1, 1000000000, 0, 0, 0, 0);",
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
fn al16_al20_the_functions_answer_by_the_lines_of_messages() {
    let conn = aligned();
    let middle = Value::Integer(51_000_000_000);
    answers(
        &conn,
        &[
            ("to_boottime(6, 0, 55000550000, 1)", middle.clone()),
            ("to_boottime_linear(6, 0, 55000550000, 1)", middle),
            ("boottime_error(6, 0, 55000550000, 1)", Value::Integer(2_200_020)),
            ("boottime_error(6, 0, 105001050000, 1)", Value::Integer(200_000)),
            (
                "(SELECT snapshot_id || ' ' || from_value || ' ' || to_value || ' ' || value_out
                  FROM clock_path(6, 0, 51000000000, 'BOOTTIME of machine 1'))",
                Value::Text("0 1000000000 5000050000 55000550000".into()),
            ),
            (
                "(SELECT before_snapshot_id || ' ' || after_snapshot_id || ' ' || kind || ' ' || value_out
                  FROM clock_path_linear(6, 0, 51000000000, 'BOOTTIME of machine 1'))",
                Value::Text("0 1 line 55000550000".into()),
            ),
        ],
    );
}

#[test]
fn al16_knots_that_are_not_used_or_missing_tell_no_error() {
    let (time, error) =
        ("to_boottime_linear(6, 0, 55000550000, 1)", "boottime_error(6, 0, 55000550000, 1)");
    for sql in [
        "UPDATE clock_alignment SET used = 0",
        "UPDATE clock_alignment SET rate_error_ppm = NULL",
        "UPDATE clock_alignment_knot SET latest = NULL WHERE value = 1000000000",
        "DROP TABLE clock_alignment",
    ] {
        let conn = aligned();
        conn.execute_batch(sql).unwrap();
        answers(&conn, &[(time, Value::Integer(51_000_000_000)), (error, Value::Null)]);
    }
    // A table of another program breaks nothing either.
    let conn = aligned();
    conn.execute_batch(
        "UPDATE clock_alignment_knot SET earliest = -9223372036854775808, latest = 9223372036854775807",
    )
    .unwrap();
    answers(&conn, &[(time, Value::Integer(51_000_000_000))]);
}

#[test]
fn al16_knots_of_a_file_are_of_its_own_clocks() {
    let conn = aligned();
    conn.execute_batch(
        "INSERT INTO part (trace_file_id, machine_id, own_from, is_pinned, how) VALUES (0, 1, 2, 0, 'causality');
         UPDATE clock_snapshot SET trace_file_id = 0 WHERE machine_id = 1;",
    )
    .unwrap();
    let error = "boottime_error(6, 0, 105001050000, 1, 0)";
    answers(&conn, &[(error, Value::Null)]);
    conn.execute_batch(
        "UPDATE clock_alignment SET file_b = 0; UPDATE clock_snapshot SET packet_id = 1;",
    )
    .unwrap();
    answers(&conn, &[(error, Value::Integer(200_000))]);
}

#[test]
fn al16_knots_that_cannot_be_are_told() {
    for (sql, expected) in [
        (
            "UPDATE clock_alignment_knot SET offset = 'x'",
            "clock_alignment_knot: offset must be an integer, not the text 'x'",
        ),
        (
            "UPDATE clock_alignment SET rate_error_ppm = 'x'",
            "clock_alignment_knot: rate_error_ppm must be a number",
        ),
        (
            "UPDATE clock_alignment SET file_b = 4",
            "clock_alignment_knot: file_b must be a file that trace_file has as read, not 4",
        ),
    ] {
        let conn = aligned();
        conn.execute_batch(sql).unwrap();
        let message = refusal(&conn, "SELECT to_boottime_linear(6, 0, 1)");
        let expected = format!("to_boottime_linear(): clock_snapshot cannot be used: {expected}");
        assert!(message.starts_with(&expected), "{message}");
    }
}

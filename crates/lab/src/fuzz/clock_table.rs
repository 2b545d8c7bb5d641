//! Untrusted databases: the tables that SQL functions read, with arbitrary rows.

use arbitrary::{Arbitrary, Unstructured};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use timebase_resolver::Source;

use crate::fuzz::sql_functions::{Any, register, run};

/// The tables, without constraints.
const TABLES: [(&str, &[&str]); 10] = [
    (
        "clock_snapshot",
        &[
            "snapshot_id",
            "clock_id",
            "clock_value",
            "machine_id",
            "seq_id",
            "unit_multiplier_ns",
            "is_incremental",
            "source",
            "ts",
            "id",
            "trace_file_id",
        ],
    ),
    ("metadata", &["name", "value"]),
    ("clock", &["clock_id"]),
    ("descriptor", &["id", "data", "source"]),
    ("slice", &["id", "ts", "dur", "track_id", "name", "depth", "parent_id"]),
    ("flow", &["id", "slice_out", "slice_in"]),
    ("trace_file", &["id", "processing_order"]),
    ("part", &["trace_file_id", "machine_id", "own_from", "is_pinned"]),
    ("machine", &["id", "raw_id"]),
    (
        "remote_clock_sync",
        &[
            "machine_id",
            "clock_id",
            "trace_file_id",
            "host_machine_id",
            "host_trace_file_id",
            "host_value",
            "offset",
            "half_round_trip",
            "used",
        ],
    ),
];

/// The calls, with constants.
const QUERIES: [&str; 16] = [
    "SELECT to_boottime(3, 0, 1104)",
    "SELECT to_boottime('REALTIME', 0, 9223372036854775807)",
    "SELECT to_boottime(64, 1, -9223372036854775807 - 1)",
    "SELECT convert_clock(3, 0, 5, 6, 0, 0, 1), to_boottime(64, 1, 5, 1, 2)",
    "SELECT convert_clock(6, 0, 5, 3, 0), convert_clock(128, 0, 5, 1, 0)",
    "SELECT why_unresolved(3, 0, 5), to_boottime_linear(3, 0, 5, 1), boottime_error(3, 0, 5, 1, 1)",
    "SELECT * FROM clock_path(3, 0, 5)",
    "SELECT * FROM clock_path(1, 0, 9223372036854775807)",
    "SELECT to_realtime(5), to_monotonic(5), abs_time_str(5)",
    "SELECT from_abs_time_str('2026-11-21T16:21:30.5')",
    "SELECT packet_json(x'40d0085a024801'), packet_field(x'40d008', 'timestamp')",
    "SELECT * FROM ancestor_slice(1)",
    "SELECT id FROM descendant_slice(0) UNION ALL SELECT id FROM experimental_slice_layout('0,1,2')",
    "SELECT * FROM following_flow(1)",
    "SELECT * FROM preceding_flow(1)",
    "SELECT * FROM directly_connected_flow(1), slice_is_ancestor(0, 1)",
];

#[derive(Debug, Arbitrary)]
struct Input {
    /// The existing tables and columns; usually all.
    missing: Option<(u8, u8)>,
    rows: Vec<InputRow>,
    queries: u16,
}

#[derive(Debug, Arbitrary)]
struct InputRow {
    table: u8,
    values: Vec<Any>,
    /// The number of values that are small integers instead.
    plain: u16,
}

/// Makes a database with arbitrary rows in the tables that SQL functions read, and calls the
/// functions.
///
/// They return a result or an SQL error; nothing panics, nothing takes long.
///
/// ```
/// timebase_lab::fuzz::clock_table(&[0, 1, 2, 3]);
/// ```
pub fn clock_table(bytes: &[u8]) {
    let mut unstructured = Unstructured::new(bytes);
    let Ok(input) = Input::arbitrary(&mut unstructured) else {
        return;
    };
    let conn = Connection::open_in_memory().unwrap();
    for (index, (table, columns)) in (0u8..).zip(TABLES) {
        let missing = input.missing.filter(|(of, _)| of % 32 == index);
        let gone = missing.map(|(_, column)| usize::from(column) % (columns.len() + 1));
        let there = (0..).zip(columns).filter(|(at, _)| Some(*at) != gone).map(|(_, name)| *name);
        let there: Vec<&str> = there.collect();
        if gone == Some(columns.len()) || there.is_empty() {
            continue;
        }
        conn.execute_batch(&format!("CREATE TABLE {table} ({})", there.join(", "))).unwrap();
    }
    let _ =
        conn.execute("INSERT INTO metadata (name, value) VALUES ('clock_snapshot_version', 1)", []);
    for (number, row) in (0i64..).zip(&input.rows) {
        insert(&conn, row, number);
    }
    register(&conn);
    for (index, sql) in QUERIES.iter().enumerate() {
        if input.queries & (1 << index) == 0 {
            let _ = run(&conn, sql, &[]);
        }
    }
}

fn insert(conn: &Connection, row: &InputRow, number: i64) {
    let (table, columns) = TABLES[usize::from(row.table) % TABLES.len()];
    let values = columns.iter().enumerate().map(|(at, column)| {
        let given = row.values.get(at).map(Any::value);
        match row.plain & (1 << at) {
            0 => given.unwrap_or(Value::Integer(number % 3)),
            _ if *column == "source" => {
                let source = Source::ALL[(number / 2) as usize % Source::ALL.len()];
                Value::Text(source.name().to_owned())
            }
            _ => Value::Integer((number / 2) % 7),
        }
    });
    let values: Vec<_> = values.collect();
    let places = vec!["?"; columns.len()].join(", ");
    let sql = format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", "));
    // A column may be missing.
    if let Ok(mut statement) = conn.prepare(&sql) {
        statement.execute(params_from_iter(values)).unwrap();
    }
}

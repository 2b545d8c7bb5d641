//! Whole imports.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use rusqlite::{Connection, OpenFlags};
use timebase_import::{Error, Monitor, Options, Source};
use timebase_resolver::Source as ClockSource;

use crate::fuzz::scratch;

/// The rules that every database must satisfy; the query has a row for each violation.
const INVARIANTS: &str = include_str!("invariants.sql");

/// Tables whose ids are 0, 1, 2 …
const COUNTED: [&str; 12] = [
    "packet_record",
    "clock_snapshot",
    "process_record",
    "thread_record",
    "machine",
    "sched_record",
    "slice_record",
    "state_record",
    "counter_record",
    "heap_graph_object_record",
    "heap_graph_reference_record",
    "heap_graph_field",
];

/// Tables, their columns that are ids of other tables, and those tables.
const REFERENCES: &[(&str, &[(&str, &str)])] = &[
    ("clock_snapshot", &[("packet_id", "packet_record")]),
    (
        "ftrace_record",
        &[("packet_id", "packet_record"), ("name_id", "ftrace_name"), ("args_id", "ftrace_args")],
    ),
    (
        "ftrace_partial",
        &[("packet_id", "packet_record"), ("name_id", "ftrace_name"), ("args_id", "ftrace_args")],
    ),
    ("android_log_record", &[("packet_id", "packet_record")]),
    ("android_log_thread", &[("id", "android_log_record"), ("utid", "thread_record")]),
    (
        "process_record",
        &[("parent_upid", "process_record"), ("arg_set_id", "arg_set"), ("machine_id", "machine")],
    ),
    (
        "thread_record",
        &[("upid", "process_record"), ("arg_set_id", "arg_set"), ("machine_id", "machine")],
    ),
    ("thread_emitting", &[("utid", "thread_record"), ("machine_id", "machine")]),
    ("cpu_record", &[("machine_id", "machine"), ("arg_set_id", "arg_set")]),
    ("cpu_available_frequencies", &[("ucpu", "cpu_record")]),
    (
        "sched_record",
        &[
            ("utid", "thread_record"),
            ("ucpu", "cpu_record"),
            ("end_state", "string"),
            ("waker_utid", "thread_record"),
        ],
    ),
    (
        "thread_state_record",
        &[
            ("utid", "thread_record"),
            ("ucpu", "cpu_record"),
            ("state", "string"),
            ("blocked_function", "string"),
            ("waker_utid", "thread_record"),
        ],
    ),
    ("thread_state", &[("waker_id", "thread_state")]),
    (
        "spurious_sched_wakeup",
        &[
            ("utid", "thread_record"),
            ("waker_utid", "thread_record"),
            ("thread_state_id", "thread_state"),
        ],
    ),
    (
        "track_record",
        &[
            ("parent_id", "track_record"),
            ("machine_id", "machine"),
            ("utid", "thread_record"),
            ("upid", "process_record"),
            ("ucpu", "cpu_record"),
            ("ugpu", "gpu_record"),
            ("dimension_arg_set_id", "arg_set"),
            ("source_arg_set_id", "arg_set"),
        ],
    ),
    (
        "slice_record",
        &[
            ("track_id", "track_record"),
            ("name", "string"),
            ("category", "string"),
            ("arg_set_id", "arg_set"),
            ("packet_id", "packet_record"),
        ],
    ),
    (
        "state_record",
        &[
            ("track_id", "track_record"),
            ("category", "string"),
            ("value", "string"),
            ("arg_set_id", "arg_set"),
        ],
    ),
    (
        "flow",
        &[("slice_out", "slice_record"), ("slice_in", "slice_record"), ("arg_set_id", "arg_set")],
    ),
    ("gpu_slice_record", &[("id", "slice_record"), ("upid", "process_record")]),
    ("counter_record", &[("track_id", "track_record"), ("arg_set_id", "arg_set")]),
    ("gpu_record", &[("machine_id", "machine"), ("arg_set_id", "arg_set")]),
    ("heap_graph", &[("upid", "process_record")]),
    (
        "heap_graph_class",
        &[("superclass_id", "heap_graph_class"), ("classloader_id", "heap_graph_object_record")],
    ),
    (
        "heap_graph_object_record",
        &[
            ("upid", "process_record"),
            ("type_id", "heap_graph_class"),
            ("root_reference_id", "heap_graph_reference_record"),
            ("object_data_id", "heap_graph_object_data_record"),
        ],
    ),
    (
        "heap_graph_reference_record",
        &[
            ("owner_id", "heap_graph_object_record"),
            ("owned_id", "heap_graph_object_record"),
            ("field_id", "heap_graph_field"),
        ],
    ),
    ("linux_interrupt_mapping", &[("machine_id", "machine")]),
    (
        "journald_record",
        &[("packet_id", "packet_record"), ("utid", "thread_record"), ("arg_set_id", "arg_set")],
    ),
    ("trace_import_log", &[("trace_id", "trace_file"), ("arg_set_id", "arg_set")]),
    ("heap_graph_java_oome_details", &[("heap_graph_id", "heap_graph")]),
    (
        "heap_graph_thread_callsite",
        &[
            ("heap_graph_id", "heap_graph"),
            ("utid", "thread_record"),
            ("callsite_id", "stack_profile_callsite"),
        ],
    ),
    ("android_cpu_per_uid_track", &[("track_id", "track_record")]),
    ("android_track_event_process", &[("upid", "process_record")]),
    ("arg_set", &[("type_id", "arg_type")]),
    ("descriptor", &[("packet_id", "packet_record")]),
    ("import_log", &[("packet_id", "packet_record")]),
    ("unsure_record", &[("packet_id", "packet_record"), ("log_id", "import_log")]),
];

/// All of these rules, as one query.
fn invariants() -> String {
    let counted = COUNTED.iter().map(|table| {
        format!(
            " UNION ALL SELECT '{table}: ids' FROM \
             (SELECT count(*) AS n, min(id) AS first, max(id) AS last FROM {table}) \
             WHERE first <> 0 OR last <> n - 1"
        )
    });
    let references = REFERENCES.iter().flat_map(|(table, columns)| {
        columns.iter().map(move |(column, of)| {
            format!(
                " UNION ALL SELECT '{table}: {column} ' || {column} FROM {table} \
                 WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT id FROM {of})"
            )
        })
    });
    let sources = ClockSource::ALL.map(|source| format!("'{}'", source.name()));
    let invariants = INVARIANTS.replace("SOURCES", &sources.join(", "));
    counted.chain(references).fold(invariants, |all, one| all + &one)
}

/// Imports a file with these bytes.
///
/// The import ends. It makes a database that passes SQLite's check, in which every view is readable
/// and `invariants.sql` finds nothing. Or it gives a reason why there is none, and leaves nothing
/// behind.
///
/// ```
/// timebase_lab::fuzz::import(&[0x0a, 2, 0x40, 1]); // a packet with a timestamp
/// ```
pub fn import(bytes: &[u8]) {
    let dir = scratch();
    let trace = dir.path().join("trace");
    let database = dir.path().join("trace.db");
    fs::write(&trace, bytes).unwrap();
    let source = Source::File(trace);
    let done =
        timebase_import::import(&[source], &database, &Options::default(), &Monitor::default());
    match done {
        Ok(_) => whole(&database, bytes),
        Err(
            Error::Source(_)
            | Error::NotATrace { .. }
            | Error::OtherFile { .. }
            | Error::OtherFileInside { .. }
            | Error::ImportsForeignDatabase { .. }
            | Error::HeaderOnly { .. },
        ) => {
            let left = fs::read_dir(dir.path()).unwrap().count();
            assert_eq!(left, 1, "a refused trace leaves nothing behind");
        }
        Err(error) => panic!("{error}"),
    }
}

/// Reads a file with these bytes like [`import()`], but makes no database. It tries ten times as
/// many inputs in the same time; [`import()`] then gets the new ones.
///
/// ```
/// timebase_lab::fuzz::rows(&[0x0a, 2, 0x40, 1]);
/// ```
pub fn rows(bytes: &[u8]) {
    let dir = scratch();
    let trace = dir.path().join("trace");
    fs::write(&trace, bytes).unwrap();
    let source = Source::File(trace);
    match timebase_import::stages::thrown_away(&source, dir.path(), &Options::default()) {
        Ok(_)
        | Err(Error::Source(_) | Error::ImportsForeignDatabase { .. } | Error::HeaderOnly { .. }) =>
            {}
        Err(error) => panic!("{error}"),
    }
}

static INVARIANTS_QUERY: OnceLock<String> = OnceLock::new();

fn whole(path: &Path, bytes: &[u8]) {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let mut broken = conn.prepare(INVARIANTS_QUERY.get_or_init(invariants)).unwrap();
    let mut rows = broken.query([]).unwrap();
    if let Some(row) = rows.next().unwrap() {
        panic!("{}", row.get::<_, String>(0).unwrap());
    }
    // Every fourth of them, because reading all views takes as long as everything else.
    if bytes.iter().fold(0u8, |sum, &byte| sum.wrapping_mul(3).wrapping_add(byte)) % 4 != 0 {
        return;
    }
    let mut names = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").unwrap();
    let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap();
    for name in names.map(Result::unwrap) {
        read(&conn, &name);
    }
}

/// Reads a view to its end, and all of its texts as text.
fn read(conn: &Connection, view: &str) {
    let sql = format!("SELECT * FROM {view} LIMIT 1000");
    let mut statement = conn.prepare(&sql).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap_or_else(|error| panic!("{view}: {error}")) {
        for column in 0..columns {
            if let rusqlite::types::ValueRef::Text(text) = row.get_ref(column).unwrap() {
                assert!(std::str::from_utf8(text).is_ok(), "{view}: {text:?}");
            }
        }
    }
}

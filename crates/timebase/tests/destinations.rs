//! The rows are the same for every kind of input and destination.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value;
use timebase::{Conversion, Error, Import};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")
}

/// The traces and archives of the program's tests.
fn traces() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["", "merge", "repro"] {
        for entry in fs::read_dir(data().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if matches!(extension, Some("pftrace" | "zip" | "tar")) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 50, "{found:?}");
    found
}

type Rows = Vec<Vec<Value>>;

/// All tables with their rows, in the order of their keys, and SQLite's statements of the schema.
fn contents(conn: &Connection) -> BTreeMap<String, Rows> {
    let read = |sql: &str| -> Rows {
        let mut statement = conn.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows =
            statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect());
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    };
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema
                  WHERE name NOT GLOB 'sqlite_stat*' ORDER BY type, name";
    let mut all = BTreeMap::from([
        ("the schema".to_owned(), read(schema)),
        ("the layout".to_owned(), read("SELECT * FROM pragma_application_id, pragma_user_version")),
    ]);
    for row in &all["the schema"].clone() {
        let [Value::Text(kind), Value::Text(name), ..] = &row[..] else {
            continue;
        };
        if kind == "table" {
            let columns = conn.prepare(&format!("SELECT * FROM {name}")).unwrap().column_count();
            let order: Vec<String> = (1..=columns).map(|column| column.to_string()).collect();
            // A number that occurs nowhere else.
            let which = match name.as_str() {
                "fact" => {
                    "WHERE name NOT IN ('imported_at', 'import_ns', 'clock_snapshot_version')"
                }
                _ => "",
            };
            let sql = format!("SELECT * FROM {name} {which} ORDER BY {}", order.join(", "));
            all.insert(name.clone(), read(&sql));
        }
    }
    all
}

/// Says which tables differ, and their first difference.
fn assert_equal(file: &Connection, other: &Connection, of: &str) {
    let (file, other) = (contents(file), contents(other));
    assert_eq!(file.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>(), "{of}");
    for (table, rows) in &file {
        let others = &other[table];
        let differs = rows.iter().zip(others).find(|(row, other)| row != other);
        assert!(
            differs.is_none() && rows.len() == others.len(),
            "{of}: {table} has {} and {} rows; {differs:?}",
            rows.len(),
            others.len()
        );
    }
}

#[test]
fn a_connection_gets_the_rows_of_a_file() {
    let directory = tempfile::tempdir().unwrap();
    for (number, trace) in traces().into_iter().enumerate() {
        for conversion in [Conversion::Nearest, Conversion::Linear] {
            let of = format!("{}, {}", trace.display(), conversion.name());
            let database = directory.path().join(format!("{number}-{}.db", conversion.name()));
            let into_file = Import::new(&trace).conversion(conversion).into_file(&database);
            let mut conn = Connection::open_in_memory().unwrap();
            let into_memory = Import::new(&trace).conversion(conversion).into_connection(&mut conn);
            match (into_file, into_memory) {
                (Ok(file), Ok(mut memory)) => {
                    memory.database_bytes = file.database_bytes;
                    assert_eq!(format!("{file:?}"), format!("{memory:?}"), "{of}");
                    assert_equal(&Connection::open(&database).unwrap(), &conn, &of);
                }
                (file, memory) => {
                    assert_eq!(
                        file.unwrap_err().to_string(),
                        memory.unwrap_err().to_string(),
                        "{of}"
                    );
                    assert_eq!(contents(&conn)["the schema"], Rows::new(), "{of}");
                }
            }
        }
    }
}

#[test]
fn a_reader_gives_the_rows_of_its_bytes() {
    let trace = data().join("system-compressed.pftrace");
    for conversion in [Conversion::Nearest, Conversion::Linear] {
        let mut of_reader = Connection::open_in_memory().unwrap();
        Import::from_reader(File::open(&trace).unwrap())
            .conversion(conversion)
            .into_connection(&mut of_reader)
            .unwrap();
        let mut of_file = Connection::open_in_memory().unwrap();
        Import::new(&trace).conversion(conversion).into_connection(&mut of_file).unwrap();
        let rows = |conn| contents(conn)["sched_record"].clone();
        assert!(rows(&of_file).len() > 1000);
        assert_eq!(rows(&of_reader), rows(&of_file));
    }
}

#[test]
fn a_database_with_tables_is_left_alone() {
    let mut conn = Connection::open_in_memory().unwrap();
    conn.execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)").unwrap();
    let error = Import::new(data().join("nearest.pftrace")).into_connection(&mut conn).unwrap_err();
    assert!(matches!(error, Error::NotEmpty { .. }), "{error}");
    assert_eq!(contents(&conn)["mine"], vec![vec![Value::Integer(1)]]);
}

#[test]
fn an_import_is_a_part_of_the_transaction_that_is_open() {
    let mut conn = Connection::open_in_memory().unwrap();
    conn.execute_batch("BEGIN").unwrap();
    Import::new(data().join("nearest.pftrace")).into_connection(&mut conn).unwrap();
    assert!(!conn.is_autocommit());
    conn.execute_batch("ROLLBACK").unwrap();
    assert_eq!(contents(&conn)["the schema"], Rows::new());
    assert_eq!(contents(&conn)["the layout"], vec![vec![Value::Integer(0), Value::Integer(0)]]);
}

#[test]
fn a_connection_of_a_file_has_the_rows_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("trace.db");
    let mut conn = Connection::open(&database).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    let summary = Import::new(data().join("app.pftrace")).into_connection(&mut conn).unwrap();
    assert!(summary.database_bytes > 0);
    drop(conn);
    let conn = Connection::open(&database).unwrap();
    let journal: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(journal, "wal");
    assert!(contents(&conn)["slice_record"].len() > 10);
}

#[test]
fn an_interrupted_import_leaves_nothing() {
    let mut conn = Connection::open_in_memory().unwrap();
    let monitor = timebase::Monitor::default();
    monitor.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let error = Import::new(data().join("app.pftrace"))
        .monitor(&monitor)
        .into_connection(&mut conn)
        .unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(contents(&conn)["the schema"], Rows::new());
}

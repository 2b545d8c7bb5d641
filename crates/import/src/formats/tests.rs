//! A format that is no Perfetto trace, through an import.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use crate::{Monitor, Options, Source, import};

const LINES: &str = "ts,dur,tid,name\n\
    1000,500,7,outer\n\
    1100,100,7,inner\n\
    no line\n\
    1200,,,depth=3\n\
    1300,50,8,other\n";

struct Imported {
    conn: Connection,
    warnings: Vec<String>,
    _directory: tempfile::TempDir,
}

/// Imports files, whose names end in `.csv` or `.pftrace`.
fn imported(files: &[(&str, &[u8])]) -> Imported {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (files.iter())
        .map(|(name, bytes)| {
            let path = directory.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    let sources: Vec<Source> = paths.into_iter().map(Source::File).collect();
    let database = directory.path().join("trace.db");
    let summary = import(&sources, &database, &Options::default(), &Monitor::default()).unwrap();
    Imported {
        conn: Connection::open(&database).unwrap(),
        warnings: summary.warnings.clone(),
        _directory: directory,
    }
}

impl Imported {
    fn rows(&self, sql: &str) -> Vec<String> {
        let mut statement = self.conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }
}

const SLICES: &str = "SELECT s.ts || ' ' || s.dur || ' ' || s.depth || ' ' || s.name || ' ' || t.tid
    FROM slice AS s JOIN thread_track AS k ON k.id = s.track_id JOIN thread AS t USING (utid) ORDER BY s.id";

#[test]
fn a_format_for_tests_has_records_slices_and_values() {
    let imported = imported(&[("a.csv", LINES.as_bytes())]);
    assert_eq!(
        imported.rows(SLICES),
        ["1000 500 0 outer 7", "1100 100 1 inner 7", "1300 50 0 other 8"]
    );
    assert_eq!(
        imported.rows("SELECT c.ts || ' ' || c.value || ' ' || k.name FROM counter AS c JOIN track AS k ON k.id = c.track_id"),
        ["1200 3.0 depth"]
    );
    let packets = "SELECT type || ' ' || ts || ' ' || clock_id || ' ' || offset || ' ' || CAST(data AS TEXT) FROM packet";
    assert_eq!(
        imported.rows(packets),
        [
            "csv_line 1000 6 16 1000,500,7,outer\n",
            "csv_line 1100 6 33 1100,100,7,inner\n",
            "csv_line 1200 6 58 1200,,,depth=3\n",
            "csv_line 1300 6 73 1300,50,8,other\n"
        ]
    );
    assert_eq!(imported.rows("SELECT trace_type FROM trace_file"), ["csv"]);
}

#[test]
fn z1_bytes_that_are_no_record_are_damage_in_any_format() {
    let imported = imported(&[("a.csv", LINES.as_bytes())]);
    let lines = "SELECT code || ' ' || offset || ' ' || size || ' ' || message FROM import_log";
    let why = "the text from byte 50 is no line of four fields that begins with a time";
    assert_eq!(imported.rows(lines), [format!("json_damaged 50 8 {why}")]);
    assert!(imported.warnings[0].contains(why), "{:?}", imported.warnings);
    let losses = "SELECT kind || ' ' || start_ts || ' ' || end_ts FROM loss";
    assert_eq!(imported.rows(losses), ["damage 1100 1200"]);
    let findings = "SELECT check_name FROM finding WHERE check_name = 'trace_damaged'";
    assert_eq!(imported.rows(findings), ["trace_damaged"]);
}

#[test]
fn x4_a_format_for_tests_stands_beside_a_perfetto_trace() {
    let app = fs::read("../../tests/data/app.pftrace").unwrap();
    let imported = imported(&[("app.pftrace", &app), ("z.csv", LINES.as_bytes())]);
    assert_eq!(
        imported.rows("SELECT name || ' ' || trace_type FROM trace_file WHERE trace_type IS NOT NULL ORDER BY id"),
        ["app.pftrace proto", "z.csv csv"]
    );
    let of_csv = "SELECT s.name FROM slice AS s JOIN track AS k ON k.id = s.track_id
        JOIN trace_file AS f ON f.id = k.trace_file_id WHERE f.name = 'z.csv' ORDER BY s.id";
    assert_eq!(imported.rows(of_csv), ["outer", "inner", "other"]);
}

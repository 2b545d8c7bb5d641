//! The program: imports files to a database, and queries it.

use super::archive::File;
use super::graph::Clock;
use crate::support::{self, Place, Said};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// The database of an import. It is gone when this is.
pub struct Database {
    pub connection: Connection,
    /// The program's messages during the import.
    pub summary: String,
    _place: Place,
}

/// A row of `packet`, with the rows to which it refers.
#[derive(Debug, PartialEq)]
pub struct PacketRow {
    pub file: String,
    pub number: i64,
    /// `machine.raw_id`
    pub raw_id: Option<u64>,
    pub machine_name: Option<String>,
    pub ts: Option<i64>,
    pub unresolved: Option<String>,
    pub id: i64,
    pub kind: Option<String>,
    pub clock_ts: Option<i64>,
}

/// Several files as arguments, in this order, and a manifest for `--manifest`. The error is the
/// program's refusal.
pub fn import(files: &[File], manifest: Option<&str>) -> Result<Database, String> {
    import_with(files, manifest, &[])
}

/// The same with more arguments.
pub fn import_with(
    files: &[File],
    manifest: Option<&str>,
    more: &[&str],
) -> Result<Database, String> {
    let place = Place::new();
    let directory = place.path("inputs");
    std::fs::create_dir(&directory).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        assert!(!path.exists(), "{name} is there twice");
        std::fs::write(&path, bytes).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let mut args = Vec::new();
    for file in files {
        args.push(write(&file.name, &file.bytes));
    }
    if let Some(manifest) = manifest {
        args.push("--manifest".to_owned());
        args.push(write("the.manifest", manifest.as_bytes()));
    }
    args.extend(more.iter().map(|arg| String::from(*arg)));
    run(place, &args)
}

/// One file, such as an archive.
pub fn import_archive(name: &str, bytes: &[u8]) -> Result<Database, String> {
    import(&[File::new(name, bytes)], None)
}

/// Runs the program with these inputs.
pub fn run(place: Place, args: &[String]) -> Result<Database, String> {
    let (found, said) = program(&place, args);
    match said.code {
        Some(0) => {}
        Some(1) => {
            assert!(!found.exists(), "a refused import leaves nothing behind");
            return Err(said.stderr);
        }
        code => panic!("{args:?} ended with {code:?}\n{}", said.stderr),
    }
    let connection = Connection::open(found).unwrap();
    let check = "PRAGMA integrity_check";
    let check: String = connection.query_row(check, [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    timebase_resolver::sql::register(&connection).unwrap();
    Ok(Database { connection, summary: said.stderr, _place: place })
}

fn program(place: &Place, args: &[String]) -> (PathBuf, Said) {
    let out = place.path("out.db");
    let mut command = Command::new(support::PROGRAM);
    command.current_dir(support::repository());
    command.arg("import").args(args).arg("-o").arg(&out);
    let said = command.output().unwrap().into();
    (out, said)
}

impl Database {
    pub fn rows<T>(&self, sql: &str, read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>) -> Vec<T> {
        let mut statement = self.connection.prepare(sql).unwrap();
        let rows = statement.query_map([], read).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    /// The rows of a query, each as its values separated by spaces.
    pub fn lines(&self, sql: &str) -> Vec<String> {
        let rows = support::rows(&self.connection, sql);
        rows.iter().map(|row| row.join(" ")).collect()
    }

    /// In the order of processing.
    pub fn packets(&self) -> Vec<PacketRow> {
        let sql = "
            SELECT f.name, p.number, m.raw_id, m.name, p.ts, p.unresolved, p.id, p.type, p.clock_ts
            FROM packet AS p
            JOIN trace_file AS f ON f.id = p.trace_file_id
            LEFT JOIN machine AS m ON m.id = p.machine_id
            ORDER BY p.id";
        self.rows(sql, |row| {
            let raw_id: Option<i64> = row.get(2)?;
            Ok(PacketRow {
                file: row.get(0)?,
                number: row.get(1)?,
                raw_id: raw_id.map(i64::cast_unsigned),
                machine_name: row.get(3)?,
                ts: row.get(4)?,
                unresolved: row.get(5)?,
                id: row.get(6)?,
                kind: row.get(7)?,
                clock_ts: row.get(8)?,
            })
        })
    }

    /// The times of all kernel events, by their packets.
    pub fn events(&self) -> BTreeMap<i64, Vec<Option<i64>>> {
        let mut events: BTreeMap<i64, Vec<Option<i64>>> = BTreeMap::new();
        let sql = "SELECT packet_id, ts FROM ftrace_event ORDER BY id";
        for (packet, ts) in self.rows(sql, |row| Ok((row.get(0)?, row.get(1)?))) {
            events.entry(packet).or_default().push(ts);
        }
        events
    }

    pub fn machine(&self, raw_id: u64) -> Option<i64> {
        let sql = "SELECT id FROM machine WHERE raw_id = ?1";
        let found = self.connection.query_row(sql, [raw_id.cast_signed()], |row| row.get(0));
        found.optional().unwrap()
    }

    pub fn file(&self, name: &str) -> i64 {
        let sql = "SELECT id FROM trace_file WHERE name = ?1";
        self.connection.query_row(sql, [name], |row| row.get(0)).unwrap()
    }

    /// The function: a clock's file is none if the machine owns it.
    pub fn to_boottime(&self, clock: Clock, file: Option<i64>, ticks: i64) -> Option<i64> {
        let machine = self.machine(clock.machine);
        let sql = "SELECT to_boottime(?1, ?2, ?3, ?4, ?5)";
        let arguments = params![clock.id, clock.seq, ticks, machine, file];
        self.connection.query_row(sql, arguments, |row| row.get(0)).unwrap()
    }

    /// The packets in a view, by their ids (D5).
    pub fn resync(&self) -> BTreeMap<i64, Option<i64>> {
        let sql = "SELECT id, resync_ts FROM packet_resync";
        let rows = self.rows(sql, |row| Ok((row.get(0)?, row.get(1)?)));
        rows.into_iter().collect()
    }

    /// The codes of the log with their files and machines (raw ids).
    pub fn log(&self) -> Vec<(String, Option<String>, Option<i64>)> {
        let sql = "
            SELECT l.code, f.name, m.raw_id FROM import_log AS l
            LEFT JOIN trace_file AS f ON f.id = l.trace_file_id
            LEFT JOIN machine AS m ON m.id = l.machine_id
            ORDER BY l.id";
        self.rows(sql, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    pub fn logged(&self, code: &str) -> usize {
        let log = self.log();
        log.iter().filter(|(logged, _, _)| logged == code).count()
    }

    /// The contents of all tables: the rows of each by their contents. Files have their names, and
    /// facts about the input as a whole are left out.
    pub fn content(&self) -> BTreeMap<String, Vec<String>> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        let tables = self.rows(sql, |row| row.get::<_, String>(0));
        let files: BTreeMap<i64, String> = self
            .rows("SELECT id, name FROM trace_file", |row| {
                Ok((row.get(0)?, row.get::<_, Option<String>>(1)?))
            })
            .into_iter()
            .map(|(id, name)| (id, if id == 0 { None } else { name }.unwrap_or_default()))
            .collect();
        let mut content = BTreeMap::new();
        for table in tables {
            let mut statement =
                self.connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
            let names = statement.column_names();
            let columns: Vec<String> = names.map(String::from).collect();
            let mut rows = statement.query([]).unwrap();
            let mut lines = Vec::new();
            while let Some(row) = rows.next().unwrap() {
                let line = line_of(&table, &columns, &files, row);
                lines.extend(line);
            }
            lines.sort();
            content.insert(table, lines);
        }
        content
    }
}

/// Columns that name a file by its id.
fn is_of_file(table: &str, column: &str) -> bool {
    column.ends_with("trace_file_id")
        || column == "file"
        || column == "to_file"
        || table == "stats" && column == "trace_id"
        || table == "trace_file" && ["id", "parent_id"].contains(&column)
}

/// A row as text, unless it is about the input as a whole.
fn line_of(
    table: &str,
    columns: &[String],
    files: &BTreeMap<i64, String>,
    row: &Row<'_>,
) -> Option<String> {
    let value = |n: usize| row.get::<_, Value>(n).unwrap();
    let text = |column: &str| {
        let place = columns.iter().position(|c| c == column)?;
        match value(place) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    };
    let is_input = table == "trace_file" && value(0) == Value::Integer(0);
    let is_of_whole =
        columns.iter().position(|c| c == "file").map(value) == Some(Value::Integer(-1));
    let tells_of_input = text("name").is_some_and(|name| {
        let of_input = ["trace_id", "trace_size_bytes", "trace_type", "trace_uuid"];
        name.starts_with("source")
            || name == "clock_snapshot_version" // of this import
            || is_of_whole && of_input.contains(&name.as_str())
    });
    if is_input || tells_of_input {
        return None;
    }
    // Objects of the clock graph have numbers in the order of files, and so have their counters.
    let is_number = |column: &str| {
        let is_made =
            ["clock_hop", "clock_route", "clock_line"].iter().any(|t| table.starts_with(t));
        let is_counted = ["stats", "fact"].contains(&table) && column == "id";
        is_counted || is_made && ["id", "hop_id", "route_id", "line_id"].contains(&column)
    };
    let columns = columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| !is_number(column));
    let values = columns.map(|(n, column)| {
        let value = value(n);
        match value {
            Value::Integer(id) if is_of_file(table, column) => {
                format!("{column}={:?}", files.get(&id))
            }
            Value::Text(text) => format!("{column}={}", with_names(text, files)),
            value => format!("{column}={value:?}"),
        }
    });
    Some(values.collect::<Vec<_>>().join(" "))
}

/// A text with the names of files.
fn with_names(text: String, files: &BTreeMap<i64, String>) -> String {
    let named = |text: String, (id, name): (&i64, &String)| {
        text.replace(&format!("in file {id}"), &format!("in file {name:?}"))
    };
    files.iter().fold(text, named)
}

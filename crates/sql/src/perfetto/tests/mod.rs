//! The dialect on a connection.

mod calls;
mod functions;
mod modules;
mod objects;
mod scripts;

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

use super::{Packages, register, run};

/// A connection with the dialect and an empty database.
pub fn connect() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    register(&conn).unwrap();
    conn
}

/// A folder with modules: names and texts.
pub fn folder(modules: &[(&str, &str)]) -> (TempDir, Packages) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), modules);
    let mut packages = Packages::default();
    packages.add(folder.path().to_str().unwrap()).unwrap();
    (folder, packages)
}

fn write(folder: &Path, modules: &[(&str, &str)]) {
    for (name, text) in modules {
        let path = folder.join(name.replace('.', "/")).with_extension("sql");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// The rows of a script's last statement: values separated by blanks, rows by line breaks.
pub fn try_rows(conn: &Connection, script: &str, packages: &Packages) -> Result<String, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let statement = run(conn, script, packages).map_err(|error| told(&error))?;
    let Some(mut statement) = statement else {
        return Ok("nothing".to_owned());
    };
    let count = statement.column_count();
    let mut rows = statement.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().map_err(|error| told(&error))? {
        let values = (0..count).map(|index| match row.get(index).unwrap() {
            Value::Null => "NULL".to_owned(),
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => format!("{value:?}"),
            Value::Text(text) => text,
            Value::Blob(bytes) => format!("{bytes:?}"),
        });
        lines.push(values.collect::<Vec<_>>().join(" "));
    }
    Ok(lines.join("\n"))
}

pub fn rows(conn: &Connection, script: &str) -> String {
    try_rows(conn, script, &Packages::default()).unwrap()
}

pub fn refusal(conn: &Connection, script: &str) -> String {
    try_rows(conn, script, &Packages::default()).unwrap_err()
}

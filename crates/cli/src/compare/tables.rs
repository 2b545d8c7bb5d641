//! A trace of a folder of tables, as a database with the tables that values come from.

use std::path::Path;

use anyhow::Context;
use rusqlite::{Connection, params_from_iter};
use timebase_compare::TABLES;
use timebase_export::{ParquetTable, ReadError, Schema};

/// The reason why a row of a table was not copied.
#[derive(Debug, thiserror::Error)]
enum CopyError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] rusqlite::Error),
}

/// Makes a new database with the tables of one trace, and returns the names of tables that the folder does not have.
pub fn load(folder: &Path, trace_id: &str, conn: &Connection) -> anyhow::Result<Vec<String>> {
    let schema = Schema::of(&TABLES.map(str::to_owned))?;
    let mut missing = Vec::new();
    for name in TABLES {
        let path = folder.join(name).join(format!("trace_id={trace_id}")).join("part-0.parquet");
        if path.is_file() {
            copy(&path, name, conn)?;
        } else {
            let table = schema.table(name).with_context(|| format!("there is no table {name}"))?;
            let columns: Vec<String> =
                table.columns.iter().map(|column| quoted(&column.name)).collect();
            conn.execute_batch(&format!("CREATE TABLE {name} ({})", columns.join(", ")))?;
            missing.push(name.to_owned());
        }
    }
    Ok(missing)
}

fn copy(path: &Path, name: &str, conn: &Connection) -> anyhow::Result<()> {
    let table = ParquetTable::open(path)?;
    let columns: Vec<String> = table.columns().iter().map(|name| quoted(name)).collect();
    conn.execute_batch(&format!("CREATE TABLE {name} ({})", columns.join(", ")))?;
    let places = vec!["?"; columns.len()].join(", ");
    let mut insert = conn.prepare(&format!("INSERT INTO {name} VALUES ({places})"))?;
    let copied = table.rows::<CopyError>(|row| {
        insert.execute(params_from_iter(row))?;
        Ok(())
    });
    copied.with_context(|| format!("cannot read the table {name}"))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

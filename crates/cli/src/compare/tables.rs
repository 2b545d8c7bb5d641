//! A trace of a folder of tables, as a database with the tables that values come from.

use std::path::Path;

use anyhow::{Context, bail};
use rusqlite::{Connection, params_from_iter};
use timebase_compare::TABLES;
use timebase_export::{ParquetTable, ReadError};

/// So many missing tables are named.
const SHOWN: usize = 3;

/// The reason why a row of a table was not copied.
#[derive(Debug, thiserror::Error)]
enum CopyError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] rusqlite::Error),
}

/// Makes a new database with the tables of one trace. The values of any family come from several tables, so all have
/// to be there; an export writes those without rows, too.
pub fn load(folder: &Path, trace_id: &str, conn: &Connection) -> anyhow::Result<()> {
    let path =
        |name: &str| folder.join(name).join(format!("trace_id={trace_id}")).join("part-0.parquet");
    let missing: Vec<&str> = TABLES.into_iter().filter(|name| !path(name).is_file()).collect();
    if !missing.is_empty() {
        let shown: Vec<&str> = missing.iter().take(SHOWN).copied().collect();
        let more = match missing.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        bail!(
            "{} has no table {}{more}, from which values come; export the traces again, without --tables",
            folder.display(),
            shown.join(", ")
        );
    }
    for name in TABLES {
        copy(&path(name), name, conn)?;
    }
    Ok(())
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

//! The table of descriptors that extend the schema for one database.

use std::fs;
use std::path::Path;

use rusqlite::{Connection, params};
use timebase_descriptor::Pool;

use crate::error::Error;
use crate::rows::Table;

pub(crate) static TABLE: Table = Table {
    name: "descriptor",
    columns: &["source", "packet_id", "data"],
    bulk: None,
};

/// Reads a file of the user's: a serialized `FileDescriptorSet`.
pub(crate) fn read(path: &Path, pool: &mut Pool) -> Result<Vec<u8>, Error> {
    let set = fs::read(path).map_err(|error| Error::Open {
        source_name: path.display().to_string(),
        error,
    })?;
    pool.extend(&set).map_err(|error| Error::Descriptor {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    Ok(set)
}

/// Keeps a descriptor in the database.
pub(crate) fn store(conn: &Connection, source: &Path, set: &[u8]) -> rusqlite::Result<()> {
    let source = source.to_string_lossy();
    conn.execute(
        "INSERT INTO descriptor (source, data) VALUES (?1, ?2)",
        params![source, set],
    )?;
    Ok(())
}

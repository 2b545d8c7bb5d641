//! The table of descriptors that extend the schema for one database.

use std::fs;
use std::path::Path;

use timebase_descriptor::Pool;

use crate::error::Error;
use crate::rows::Table;

pub(crate) static TABLE: Table = Table {
    name: "descriptor",
    columns: &["id", "source", "packet_id", "data"],
    indexes: &[],
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

//! Checks whether timebase made a database, and computes the ids of traces.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sha2::{Digest, Sha256};
use timebase_schema::{APPLICATION_ID, VERSION};

use crate::error::Error;

/// The number of bytes of a file's hash that make up the id of its trace.
const ID_BYTES: usize = 16;

/// The number of hexadecimal digits of these bytes.
pub(crate) const ID_DIGITS: usize = 2 * ID_BYTES;

/// The id of a trace, from a hash.
pub(crate) fn id_of(hash: impl AsRef<[u8]>) -> String {
    let bytes = hash.as_ref().iter().take(ID_BYTES);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// The `trace_id` that the database of a file will have, if all of the file can be read: the first 32 digits of its SHA-256.
///
/// ```
/// # let file = tempfile::NamedTempFile::new()?;
/// assert_eq!(timebase_import::trace_id(file.path())?, "e3b0c44298fc1c149afbf4c8996fb924");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If the file cannot be read.
pub fn trace_id(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(id_of(hash.finalize())),
            Ok(size) => hash.update(buffer.get(..size).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Checks that this version of timebase can read a database.
///
/// ```
/// let conn = rusqlite::Connection::open_in_memory()?;
/// assert!(timebase_import::check_database(&conn).is_err());
/// # Ok::<(), rusqlite::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::ForeignDatabase`], [`Error::SchemaVersion`] or
/// [`Error::Unreadable`].
pub fn check_database(conn: &Connection) -> Result<(), Error> {
    let path = PathBuf::from(conn.path().unwrap_or_default());
    let pragma = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let versions = pragma("application_id").and_then(|id| Ok((id, pragma("user_version")?)));
    match versions {
        Err(_) if is_header_only(&path) => Err(Error::HeaderOnly { path }),
        Err(error) => Err(Error::Unreadable { path, error }),
        Ok((APPLICATION_ID, VERSION)) => Ok(()),
        Ok((APPLICATION_ID, found)) => Err(Error::SchemaVersion { path, found, expected: VERSION }),
        Ok(_) => Err(Error::ForeignDatabase { path }),
    }
}

/// Whether a file ends inside of its first page (FP8), so it has no tables, whoever made it.
fn is_header_only(path: &Path) -> bool {
    /// The place of the page size in a database.
    const PAGE_SIZE: std::ops::Range<usize> = 16..18;

    let head = || -> io::Result<(Vec<u8>, u64)> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut head = Vec::new();
        file.take(PAGE_SIZE.end as u64).read_to_end(&mut head)?;
        Ok((head, length))
    };
    head().is_ok_and(|(head, length)| {
        let size = head.get(PAGE_SIZE).and_then(|size| size.try_into().ok());
        // The number 1 means 65,536, and a page has at least 512 bytes.
        let size = match size.map_or(0, u16::from_be_bytes) {
            1 => 1 << 16,
            size => u64::from(size.max(512)),
        };
        length < size
    })
}

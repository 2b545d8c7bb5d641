//! Whether a database is one of ours.

use rusqlite::Connection;
use timebase_schema::{APPLICATION_ID, VERSION};

use crate::error::Error;

/// Checks that a database is one that this version of timebase can read.
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
    let path = conn.path().unwrap_or_default().into();
    let pragma = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let versions = pragma("application_id").and_then(|id| Ok((id, pragma("user_version")?)));
    match versions {
        Err(error) => Err(Error::Unreadable { path, error }),
        Ok((APPLICATION_ID, VERSION)) => Ok(()),
        Ok((APPLICATION_ID, found)) => Err(Error::SchemaVersion {
            path,
            found,
            expected: VERSION,
        }),
        Ok(_) => Err(Error::ForeignDatabase { path }),
    }
}

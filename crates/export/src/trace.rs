//! The trace of a database.

use rusqlite::{Connection, OptionalExtension};

use crate::error::Error;

/// The number of hexadecimal digits that distinguish traces.
const DIGITS: usize = 32;

/// The facts of a database about its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The first digits of its hash.
    pub id: String,
    /// The file, as the import's command line named it.
    pub source: Option<String>,
    /// Its SHA-256; `None` if there are several files, or if the import did not read it to its end.
    pub sha256: Option<String>,
    /// Its size in bytes.
    pub size: Option<i64>,
    /// The conversion of times.
    pub conversion: Option<String>,
    /// `user_version` of the database.
    pub layout: i64,
}

impl Trace {
    /// Reads the facts from a database.
    ///
    /// # Errors
    ///
    /// [`Error::Nameless`] if it has no id of its trace, [`Error::Unreadable`] if it cannot be
    /// read.
    ///
    /// ```
    /// # let database = rusqlite::Connection::open_in_memory()?;
    /// database.execute_batch(
    ///     "CREATE TABLE fact (name, file DEFAULT -1, value);
    ///      INSERT INTO fact (name, value) VALUES ('trace_id', '0123456789abcdef0123456789abcdef')",
    /// )?;
    /// let trace = timebase_export::Trace::of(&database)?;
    /// assert_eq!(trace.id, "0123456789abcdef0123456789abcdef");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(database: &Connection) -> Result<Trace, Error> {
        let read = || -> rusqlite::Result<Trace> {
            let text = |name| {
                let sql = "SELECT CAST(value AS TEXT) FROM fact WHERE name = ?1 AND file = -1";
                let found = database.query_row(sql, [name], |row| row.get(0));
                found.optional().map(Option::flatten)
            };
            let size: Option<String> = text("source_size")?;
            let id: Option<String> = text("trace_id")?;
            Ok(Trace {
                id: id.unwrap_or_default(),
                source: text("source")?,
                sha256: text("source_sha256")?,
                size: size.and_then(|size| size.parse().ok()),
                conversion: text("conversion")?,
                layout: database.pragma_query_value(None, "user_version", |row| row.get(0))?,
            })
        };
        let trace =
            read().map_err(|error| Error::Unreadable { table: "metadata".to_owned(), error })?;
        // The id becomes the name of a directory.
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match trace.id.len() == DIGITS && trace.id.bytes().all(is_digit) {
            true => Ok(trace),
            false => Err(Error::Nameless),
        }
    }
}

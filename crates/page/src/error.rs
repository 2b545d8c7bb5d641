use thiserror::Error;

/// Why there is no page.
///
/// ```
/// let nothing = rusqlite::Connection::open_in_memory()?;
/// let error = timebase_page::html(&nothing, "a.db", &[]).unwrap_err();
/// assert_eq!(error.to_string(), "cannot read its packets: no such table: packet");
/// # Ok::<(), rusqlite::Error>(())
/// ```
#[derive(Debug, Error)]
pub enum Error {
    /// The database cannot be read.
    #[error("cannot read its {what}: {error}")]
    Unreadable {
        /// What was to be read of it.
        what: &'static str,
        /// Why that failed.
        error: rusqlite::Error,
    },
    /// A picture cannot be drawn.
    #[error("cannot draw {what}: {why}")]
    Drawing {
        /// What it is of.
        what: &'static str,
        /// What the plotting library says.
        why: String,
    },
}

/// Says what was read when SQLite failed.
pub(crate) trait Reading<T> {
    fn reading(self, what: &'static str) -> Result<T, Error>;
}

impl<T> Reading<T> for rusqlite::Result<T> {
    fn reading(self, what: &'static str) -> Result<T, Error> {
        self.map_err(|error| Error::Unreadable { what, error })
    }
}

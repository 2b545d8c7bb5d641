use std::fmt;
use thiserror::Error;

/// The reason why there is no page.
///
/// ```
/// let nothing = rusqlite::Connection::open_in_memory()?;
/// let error = timebase_page::html(&nothing, "a.db", &[]).unwrap_err();
/// assert_eq!(error.to_string(), "cannot read its packets: no such table: packet");
/// assert_eq!(format!("{error:?}"), error.to_string());
/// # Ok::<(), rusqlite::Error>(())
/// ```
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// The database cannot be read.
    #[error("cannot read its {what}: {error}")]
    Unreadable {
        /// The thing to read.
        what: &'static str,
        /// The reason.
        error: rusqlite::Error,
    },
    /// A picture cannot be drawn.
    #[error("cannot draw {what}: {why}")]
    Drawing {
        /// The subject of the picture.
        what: &'static str,
        /// The message of the plotting library.
        why: String,
    },
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Adds what was being read when SQLite failed.
pub(crate) trait Reading<T> {
    fn reading(self, what: &'static str) -> Result<T, Error>;
}

impl<T> Reading<T> for rusqlite::Result<T> {
    fn reading(self, what: &'static str) -> Result<T, Error> {
        self.map_err(|error| Error::Unreadable { what, error })
    }
}

//! Errors as SQL has them: a message.

use std::fmt;

/// Why a function has no answer, as the user reads it.
///
/// ```
/// let error = timebase_sqlfn::Error::new("f(): not the text 'a\0b'");
/// assert_eq!(error.to_string(), r"f(): not the text 'a\0b'");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<str>);

/// What a function has for its result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// SQLite's messages end at a zero byte, and rusqlite drops one that has any:
    /// they are written as `\0`.
    pub fn new(message: impl fmt::Display) -> Error {
        Error(message.to_string().replace('\0', "\\0").into())
    }

    /// What a function says of whose code there was a panic.
    pub(crate) fn panicked() -> Error {
        Error("unwinding panic".into())
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// What SQLite says, without its code.
impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::new(error)
    }
}

/// For what is registered with rusqlite, such as a virtual table.
impl From<Error> for rusqlite::Error {
    fn from(error: Error) -> rusqlite::Error {
        rusqlite::Error::UserFunctionError(Box::new(error))
    }
}

//! Errors as SQL has them: a message.

use std::fmt;

use rusqlite::{ErrorCode, ffi};

/// Why a function has no answer, as the user reads it.
///
/// ```
/// let error = timebase_sql::Error::new("f(): not the text 'a\0b'");
/// assert_eq!(error.to_string(), r"f(): not the text 'a\0b'");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: Box<str>,
    is_interrupt: bool,
}

/// What a function has for its result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// SQLite's messages end at a zero byte, and rusqlite drops one that has any:
    /// they are written as `\0`.
    pub fn new(message: impl fmt::Display) -> Error {
        Error {
            message: message.to_string().replace('\0', "\\0").into(),
            is_interrupt: false,
        }
    }

    /// What a function says of whose code there was a panic.
    pub(crate) fn panicked() -> Error {
        Error::new("unwinding panic")
    }

    /// What a function says whose query was interrupted. SQLite is told by its code, so that the
    /// statement that called counts as interrupted, too.
    pub(crate) fn interrupted() -> Error {
        Error {
            is_interrupt: true,
            ..Error::new("interrupted")
        }
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether somebody interrupted a query of the function's: nothing is to be added to that.
    pub fn is_interrupt(&self) -> bool {
        self.is_interrupt
    }
}

/// A result that may be missing, as a table may that a database need not have; but not because
/// somebody interrupted the query for it, which has to end what asks for it, too.
///
/// ```
/// use timebase_sql::{Error, unless_interrupted};
///
/// assert_eq!(unless_interrupted(Ok(7)), Ok(Some(7)));
/// assert_eq!(unless_interrupted::<i64>(Err(Error::new("no such table: t"))), Ok(None));
/// ```
///
/// # Errors
///
/// That of a query that [was interrupted](Error::is_interrupt).
pub fn unless_interrupted<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_interrupt() => Err(error),
        Err(_) => Ok(None),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// What SQLite says, without its code.
impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Error::interrupted(),
            _ => Error::new(error),
        }
    }
}

/// For what is registered with rusqlite, such as a virtual table.
impl From<Error> for rusqlite::Error {
    fn from(error: Error) -> rusqlite::Error {
        if error.is_interrupt {
            let code = ffi::Error::new(ffi::SQLITE_INTERRUPT);
            return rusqlite::Error::SqliteFailure(code, Some(error.message.into()));
        }
        rusqlite::Error::UserFunctionError(Box::new(error))
    }
}

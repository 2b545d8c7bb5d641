//! Errors in SQL: a message.

use std::fmt;

use rusqlite::{ErrorCode, ffi};

/// The reason why a function has no answer, for the user.
///
/// ```
/// let error = timebase_sql::Error::new("f(): not the text 'a\0b'");
/// assert_eq!(error.to_string(), r"f(): not the text 'a\0b'");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    message: Box<str>,
    is_interrupt: bool,
    lacks_module: bool,
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The result of a function.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// SQLite's messages end at a zero byte, and rusqlite drops a message that has any, so zero
    /// bytes are written as `\0`.
    pub fn new(message: impl fmt::Display) -> Error {
        Error {
            message: message.to_string().replace('\0', "\\0").into(),
            is_interrupt: false,
            lacks_module: false,
        }
    }

    /// The same error with another message.
    pub(crate) fn with(self, message: impl fmt::Display) -> Error {
        Error { message: Error::new(message).message, ..self }
    }

    /// The same error, of a module that no folder has.
    pub(crate) fn of_missing_module(self) -> Error {
        Error { lacks_module: true, ..self }
    }

    /// The message of a function that panicked.
    pub(crate) fn panicked() -> Error {
        Error::new("unwinding panic")
    }

    /// The error of a function whose query was interrupted. Its code tells SQLite that the calling
    /// statement was interrupted, too.
    pub(crate) fn interrupted() -> Error {
        Error { is_interrupt: true, ..Error::new("interrupted") }
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether an INCLUDE names a module of PerfettoSQL that no folder has.
    pub fn lacks_module(&self) -> bool {
        self.lacks_module
    }

    /// Whether the function's query was interrupted. Then nothing must be added to the message.
    pub fn is_interrupt(&self) -> bool {
        self.is_interrupt
    }
}

/// Accepts a missing result, for example because a table does not exist in every database. But if
/// the query for it was interrupted, the error must also end the calling statement.
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
/// The error of a query that [was interrupted](Error::is_interrupt).
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

/// The message of SQLite, without its code.
impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Error::interrupted(),
            _ => Error::new(error),
        }
    }
}

/// For objects that are registered with rusqlite, such as a virtual table.
impl From<Error> for rusqlite::Error {
    fn from(error: Error) -> rusqlite::Error {
        if error.is_interrupt {
            let code = ffi::Error::new(ffi::SQLITE_INTERRUPT);
            return rusqlite::Error::SqliteFailure(code, Some(error.message.into()));
        }
        rusqlite::Error::UserFunctionError(Box::new(error))
    }
}

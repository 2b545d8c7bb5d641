//! The reasons for a failed export.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The reason why there is no Parquet.
///
/// ```
/// use timebase_export::Error;
/// let error = Error::Full { path: "tables/slice".into() };
/// assert_eq!(error.to_string(), "cannot write tables/slice: the disk is full; nothing was changed");
/// ```
#[derive(Error)]
#[non_exhaustive]
pub enum Error {
    /// A column without a type.
    #[error(
        "the column {column} of {table} has no type: add computed columns to crates/export/src/columns.rs"
    )]
    Untyped {
        /// The table or view.
        table: String,
        /// Its column.
        column: String,
    },
    /// A table cannot be read.
    #[error("cannot read {table}")]
    Unreadable {
        /// The table, or the other thing to read.
        table: String,
        /// The reason.
        #[source]
        error: rusqlite::Error,
    },
    /// A value does not have the type of its column.
    #[error(
        "{table}, column {column}, row {row}: the value is {found}, but the column has the type {expected}{advice}"
    )]
    Misfit {
        /// The table, or `the result`.
        table: String,
        /// The column's name.
        column: String,
        /// The number of its row, counted from 1.
        row: u64,
        /// The type of the value.
        found: &'static str,
        /// The expected type.
        expected: &'static str,
        /// The remedy, or nothing.
        advice: String,
    },
    /// The disk is full.
    #[error("cannot write {path}: the disk is full; nothing was changed", path = path.display())]
    Full {
        /// The thing to write.
        path: PathBuf,
    },
    /// Writing failed.
    #[error("cannot write {path}: {error}", path = path.display())]
    Unwritable {
        /// The thing to write.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The destination of a result takes no more bytes; its own error says why.
    #[error(transparent)]
    Out(io::Error),
    /// A file is in the place of a folder.
    #[error("{path} is not a folder; name a new or an empty folder", path = path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A folder contains something else.
    #[error(
        "{path} contains {entry}, so an export did not make this folder; name a new or an empty folder",
        path = path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The other contents.
        entry: String,
    },
    /// The folder already has the trace.
    #[error("{path} already has this trace, {trace_id}", path = path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
        /// The trace.
        trace_id: String,
    },
    /// A database does not say which trace it has.
    #[error("its metadata has no trace_id of 32 hexadecimal digits: import the trace again")]
    Nameless,
    /// A label that cannot be a column.
    #[error("the label {name:?} {why}")]
    Label {
        /// The label, as the user gave it.
        name: String,
        /// The problem.
        why: String,
    },
    /// Another thread stopped it.
    #[error("interrupted; nothing was changed")]
    Cancelled,
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        // Some sentences leave SQLite's reason to the chain of errors.
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl Error {
    /// The error for a failed write, or for a full disk.
    pub(crate) fn write(path: &Path, error: io::Error) -> Error {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full { path },
            _ => Error::Unwritable { path, error },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_the_message_with_its_reason() {
        let error =
            Error::Unreadable { table: "slice".to_owned(), error: rusqlite::Error::InvalidQuery };
        assert_eq!(format!("{error:?}"), "cannot read slice: Query is not read-only");
        let error = Error::Nameless;
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}

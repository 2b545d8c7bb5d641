//! Why there is nothing to read.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why there is no Parquet.
///
/// ```
/// use timebase_export::Error;
/// let error = Error::Full { path: "tables/slice".into() };
/// assert_eq!(error.to_string(), "cannot write tables/slice: the disk is full; nothing was changed");
/// ```
#[derive(Debug, Error)]
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
        /// The table, or what else was to be read.
        table: String,
        /// Why not.
        #[source]
        error: rusqlite::Error,
    },
    /// A value is not of the type of its column.
    #[error(
        "{table}, column {column}, row {row}: the value is {found}, but the column has the type {expected}{advice}"
    )]
    Misfit {
        /// The table, or `the result`.
        table: String,
        /// The column's name.
        column: String,
        /// Which row it is, counted from 1.
        row: u64,
        /// What the value is.
        found: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What can be done about it, or nothing.
        advice: String,
    },
    /// The disk is full.
    #[error("cannot write {path}: the disk is full; nothing was changed", path = path.display())]
    Full {
        /// What was to be written.
        path: PathBuf,
    },
    /// Something cannot be written.
    #[error("cannot write {path}: {error}", path = path.display())]
    Unwritable {
        /// What was to be written.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// What a result is written to takes no more; its error says what it is.
    #[error(transparent)]
    Out(io::Error),
    /// What should be a folder is a file.
    #[error("{path} is not a folder; name a new or an empty folder", path = path.display())]
    NotAFolder {
        /// What was named.
        path: PathBuf,
    },
    /// A folder with something else in it.
    #[error(
        "{path} contains {entry}, so an export did not make this folder; name a new or an empty folder",
        path = path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What is in it.
        entry: String,
    },
    /// The trace is in the folder already.
    #[error(
        "{path} already has this trace, {trace_id}; --force replaces it",
        path = path.display()
    )]
    Exists {
        /// The folder.
        path: PathBuf,
        /// The trace.
        trace_id: String,
    },
    /// A database that does not say of which trace it is.
    #[error("its metadata has no trace_id of 32 hexadecimal digits: import the trace again")]
    Nameless,
    /// A label that cannot be a column.
    #[error("the label {name:?} {why}")]
    Label {
        /// As it was given.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// It was asked to stop.
    #[error("interrupted; nothing was changed")]
    Cancelled,
}

impl Error {
    /// That something cannot be written, or that there is no room for it.
    pub(crate) fn write(path: &Path, error: io::Error) -> Error {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full { path },
            _ => Error::Unwritable { path, error },
        }
    }
}

//! The errors of an import.
//!
//! Each message says what is wrong. A program adds advice for its user in its own words, such as a
//! flag, by the variant of the error.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::manifest::Refused;
use timebase_symbols::{MappingError, SymbolError};
use timebase_trace::{InputsError, OtherFile, SourceError};

use crate::size::Size;

/// The reason why there is no database.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say it
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Inputs(InputsError),
    #[error("{0}")]
    Manifest(Refused),
    #[error("the manifest {name} is larger than the limit of {limit} bytes")]
    ManifestTooLarge { name: String, limit: u64 },
    #[error("{source_name} has no trace in it; {why}")]
    NoTrace { source_name: String, why: String },
    #[error(
        "{name} is not a trace{of}",
        of = of.as_ref().map(|of| format!(", but {of}")).unwrap_or_default()
    )]
    UnknownMember { name: String, of: Option<OtherFile> },
    #[error(
        "{source_name} is not a trace: {why}. Expected a trace of Perfetto (.pftrace, .perfetto-trace) or in Chrome's JSON format (.json), optionally compressed with gzip or zstd"
    )]
    NotATrace { source_name: String, why: String },
    #[error("{source_name} is not a trace: {why}. It is {other}")]
    OtherFile { source_name: String, why: String, other: Box<OtherFile> },
    #[error(
        "{source_name} is compressed with {compression}, and does not contain a Perfetto trace: {why}. It contains {other}"
    )]
    OtherFileInside {
        source_name: String,
        compression: &'static str,
        why: String,
        other: Box<OtherFile>,
    },
    #[error("{source_name} is in Chrome's JSON format: {setting}")]
    NotForJson { source_name: String, setting: NotForJson },
    #[error("{source_name} is damaged: {why}")]
    Damaged { source_name: String, why: String },
    #[error("{path} exists", path = path.display())]
    Exists { path: PathBuf },
    #[error("{path} has tables already; import the trace into a new database", path = path.display())]
    NotEmpty { path: PathBuf },
    #[error("{path} is not a SQLite database, so timebase does not replace it", path = path.display())]
    NotReplaceable { path: PathBuf },
    #[error("{path} is a database of another program, so timebase does not replace it", path = path.display())]
    OfOthers { path: PathBuf },
    #[error(
        "{path} is in use, or was not closed properly ({beside} exists); close the programs that \
         use it, or open it once with SQLite",
        path = path.display(), beside = beside.display()
    )]
    InUse { path: PathBuf, beside: PathBuf },
    #[error("{path} is a directory", path = path.display())]
    IsDirectory { path: PathBuf },
    #[error("{path} is a device or a pipe, which cannot hold a database", path = path.display())]
    NotAFile { path: PathBuf },
    #[error(
        "cannot create {path}: there is no directory {directory}; create it first",
        path = path.display(), directory = directory.display()
    )]
    NoDirectory { path: PathBuf, directory: PathBuf },
    #[error("cannot create {path}: {error}", path = path.display())]
    Create { path: PathBuf, error: io::Error },
    #[error("no space left to write {path}; nothing was changed", path = path.display())]
    DiskFull { path: PathBuf },
    #[error(
        "{path} and the temporary files of its import would take more than {limit} of disk, {read}; nothing was changed",
        path = path.display()
    )]
    TooLarge { path: PathBuf, limit: Size, read: HowFar },
    #[error("{source_name} needs more than {limit} of memory, {read}; nothing was changed")]
    TooMuchMemory { source_name: String, limit: Size, read: HowFar },
    #[error("writing {path} failed: {error}; nothing was changed", path = path.display())]
    Write { path: PathBuf, error: Box<dyn std::error::Error + Send + Sync> },
    #[error(
        "another program removed the unfinished file of {path}; nothing was changed. Import the trace again",
        path = path.display()
    )]
    Removed { path: PathBuf },
    #[error("cannot open {path}: {error}", path = path.display())]
    OpenDescriptor { path: PathBuf, error: io::Error },
    #[error(
        "{path} is not a valid descriptor: {why}. Expected a serialized FileDescriptorSet, as `protoc --include_imports --descriptor_set_out` writes it",
        path = path.display()
    )]
    Descriptor { path: PathBuf, why: String },
    #[error(transparent)]
    Symbols(#[from] SymbolError),
    #[error(transparent)]
    Mapping(#[from] MappingError),
    #[error(
        "{source_name} changed during the import, which reads it twice for linear conversion; nothing was written. Import it again when nothing writes to it, or import a copy"
    )]
    Changed { source_name: String },
    #[error("interrupted; nothing was changed")]
    Cancelled,
    #[error(
        "{path} is no database of timebase: it has only the begin of a SQLite database",
        path = path.display()
    )]
    HeaderOnly { path: PathBuf },
    #[error("{path} is a SQLite database, but timebase did not make it", path = path.display())]
    ForeignDatabase { path: PathBuf },
    #[error(
        "{path} is a SQLite database, not a Perfetto trace, and timebase did not make it. Query it with another SQLite client, such as sqlite3",
        path = path.display()
    )]
    ImportsForeignDatabase { path: PathBuf },
    #[error(
        "{path} has the database layout {found}, but this version of timebase reads {expected}; {}",
        timebase_schema::other_version(*found),
        path = path.display()
    )]
    SchemaVersion { path: PathBuf, found: i64, expected: i64 },
    #[error("{path} cannot be read as a database: {error}", path = path.display())]
    Unreadable { path: PathBuf, error: rusqlite::Error },
    #[error("the import stopped unexpectedly; please report this, with the trace if you can")]
    Stopped,
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An option of an import that means nothing for traces in Chrome's JSON format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotForJson {
    /// [`Options::default_clock`](crate::Options::default_clock).
    DefaultClock,
    /// [`Options::split`](crate::Options::split).
    Split,
}

impl fmt::Display for NotForJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotForJson::DefaultClock => {
                "its events are on the file's own clock, so a default clock means nothing for them"
            }
            NotForJson::Split => {
                "nothing in it shows where a recording begins, so it cannot be split"
            }
        })
    }
}

/// The part of a trace that was read when its import ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HowFar {
    /// Bytes of the file.
    pub bytes: u64,
    /// The size of the file; `None` for a pipe.
    pub of: Option<u64>,
    /// Packets.
    pub packets: u64,
}

impl From<InputsError> for Error {
    fn from(error: InputsError) -> Self {
        match error {
            InputsError::Source(error) => Error::Source(error),
            error => Error::Inputs(error),
        }
    }
}

impl fmt::Display for HowFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HowFar { bytes, of, packets } = self;
        match of {
            Some(of) if of == bytes => write!(f, "with all of the trace read")?,
            Some(of) => write!(f, "with {bytes} of the trace's {of} bytes read")?,
            None => write!(f, "with {bytes} bytes of the trace read")?,
        }
        write!(f, " ({packets} packets)")
    }
}

/// An error while writing the database.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Bulk(#[from] timebase_store::btree::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Bulk(error.into())
    }
}

impl WriteError {
    /// Whether there is no space left on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            WriteError::Sqlite(error) => {
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
            }
            WriteError::Bulk(timebase_store::btree::Error::Io(error)) => is_full(error),
            WriteError::Bulk(_) => false,
        }
    }

    /// Whether SQLite only reports that the system failed, without the reason.
    pub fn is_of_system(&self) -> bool {
        matches!(self, WriteError::Sqlite(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure))
    }
}

/// Whether nothing more can be written: the disk is full, or the user's quota is used up.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

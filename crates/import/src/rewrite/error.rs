//! The errors of a rewriting, with advice for the user.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::error::{Error, HowFar};
use crate::size::Size;

/// The reason why there is no trace.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages say it
#[non_exhaustive]
pub enum RewriteError {
    #[error(transparent)]
    Read(#[from] Error),
    #[error(
        "{path} is a database that timebase made; rewriting needs the trace that it was made of{of}",
        path = path.display(),
        of = of.as_ref().map(|of| format!(", {of}")).unwrap_or_default()
    )]
    IsDatabase { path: PathBuf, of: Option<String> },
    #[error(
        "{path}: timebase does not write Chrome's JSON format, which has no place for most of what a trace holds, and rounds times to microseconds in many readers; name a file such as {instead}",
        path = path.display(), instead = path.with_extension("pftrace").display()
    )]
    ToJson { path: PathBuf },
    #[error(
        "the tracks of found rows belong into one trace, and these are several, or have a manifest; write one trace first, or put each track into the trace that has its rows"
    )]
    TracksOfSeveral,
    #[error(
        "{source_name} is a trace of Perfetto, and --one-file makes one trace of JSON traces and at most one of Perfetto, and takes no manifest beside that; leave --one-file out, and they become a zip"
    )]
    OneFileOfPerfetto { source_name: String },
    #[error(
        "the times are on {clock}, and one trace has other machines only on BOOTTIME; write a zip, without --one-file"
    )]
    OneFileOfMachines { clock: String },
    #[error(
        "{path}: one trace is written as it is, and not as a zip; name a file such as {instead}",
        path = path.display(), instead = path.with_extension("pftrace").display()
    )]
    ToZip { path: PathBuf },
    #[error("cannot read the rows of {source_name}: {error}")]
    Rows { source_name: String, error: String },
    #[error("{path} exists", path = path.display())]
    Exists { path: PathBuf },
    #[error("{path} is a trace that is read", path = path.display())]
    IsInput { path: PathBuf },
    #[error("{path} is a database, so timebase does not replace it with a trace", path = path.display())]
    NotReplaceable { path: PathBuf },
    #[error("{path} is a directory", path = path.display())]
    IsDirectory { path: PathBuf },
    #[error("{path} is a device or a pipe", path = path.display())]
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
        "{path} and the temporary files beside it would take more than {limit}, {read}; nothing was changed",
        path = path.display()
    )]
    TooLarge { path: PathBuf, limit: Size, read: HowFar },
    #[error(
        "rewriting {source_name} needs more than {limit} of memory, {read}; nothing was changed"
    )]
    TooMuchMemory { source_name: String, limit: Size, read: HowFar },
    #[error("writing {path} failed: {error}; nothing was changed", path = path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error(
        "{source_name} changed while timebase read it, more than once; nothing was written. Rewrite it again when nothing writes to it, or rewrite a copy"
    )]
    Changed { source_name: String },
    #[error("{why}")]
    Window { why: String },
    #[error("track '{name}': {why}")]
    Track { name: String, why: String },
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

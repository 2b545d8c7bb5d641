//! What keeps a measurement from being made. What is wrong with an import is no
//! error: it is what is measured.

use std::io;
use std::path::PathBuf;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read, or not be written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The program cannot be started.
    #[error("cannot run {}: {error}", program.display())]
    Program {
        /// Which.
        program: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A trace is damaged before anything is done to it.
    #[error(
        "{name}: byte {offset} is not where a packet starts: only a trace that is whole can be damaged"
    )]
    Framing {
        /// Of the trace.
        name: String,
        /// Where its framing breaks.
        offset: usize,
    },
    /// A compressed packet of a trace is damaged before anything is done to it.
    #[error("{name}: the compressed packet at byte {offset} cannot be read: {why}")]
    Compressed {
        /// Of the trace.
        name: String,
        /// Where the packet starts.
        offset: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A file is compressed as a whole.
    #[error("{name} is compressed as a whole: decompress it first")]
    CompressedFile {
        /// Of the file.
        name: String,
    },
    /// There is nothing to damage.
    #[error("{name} has no packets")]
    Empty {
        /// Of the trace.
        name: String,
    },
    /// The import of an undamaged trace is not what it has to be.
    #[error("the import of {name}, undamaged: {what}")]
    Undamaged {
        /// Of the trace.
        name: String,
        /// What is wrong with its rows.
        what: String,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |error| Error::File { path, error }
    }
}

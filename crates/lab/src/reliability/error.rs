//! The reasons why a measurement is impossible. A failed import is no error: it is a result.

use std::io;
use std::path::PathBuf;

/// The reason why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's message.
        error: io::Error,
    },
    /// The program cannot be started.
    #[error("cannot run {}: {error}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// The system's message.
        error: io::Error,
    },
    /// A trace is damaged before anything was done to it.
    #[error(
        "{name}: byte {offset} is not where a packet starts: only a trace that is whole can be damaged"
    )]
    Framing {
        /// The trace.
        name: String,
        /// The place where its framing breaks.
        offset: usize,
    },
    /// A compressed packet of a trace is damaged before anything was done to it.
    #[error("{name}: the compressed packet at byte {offset} cannot be read: {why}")]
    Compressed {
        /// The trace.
        name: String,
        /// The start of the packet.
        offset: usize,
        /// The problem.
        why: String,
    },
    /// A file is compressed as a whole.
    #[error("{name} is compressed as a whole: decompress it first")]
    CompressedFile {
        /// The file.
        name: String,
    },
    /// There is nothing to damage.
    #[error("{name} has no packets")]
    Empty {
        /// The trace.
        name: String,
    },
    /// The import of an undamaged trace has a wrong result.
    #[error("the import of {name}, undamaged: {what}")]
    Undamaged {
        /// The trace.
        name: String,
        /// The problem with its rows.
        what: String,
    },
}

impl Error {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |error| Error::File { path, error }
    }
}

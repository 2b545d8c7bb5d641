//! What keeps a measurement from being made.

use std::io;

use timebase_resolver::{Rejected, Unresolved};

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read, or not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The trace cannot be made.
    #[error(transparent)]
    Synth(#[from] crate::synth::Error),
    /// It cannot be imported.
    #[error(transparent)]
    Import(#[from] timebase_import::Error),
    /// The database cannot be asked.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    /// A reading has no time.
    #[error("packet {id} has no known time")]
    Unplaced {
        /// Whose.
        id: i64,
    },
    /// A reading of a set has no time.
    #[error("packet {number} of {file} has no known time")]
    UnplacedIn {
        /// In which file.
        file: String,
        /// Which packet of it.
        number: i64,
    },
    /// A snapshot that was imported is refused.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// A reading of it cannot be converted.
    #[error("a reading of a snapshot that is left out cannot be converted: {0}")]
    Unresolved(Unresolved),
}

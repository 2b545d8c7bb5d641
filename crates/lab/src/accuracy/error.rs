//! The reasons why a measurement is impossible.

use std::io;

use timebase_resolver::{Rejected, Unresolved};

/// The reason why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The trace cannot be made.
    #[error(transparent)]
    Synth(#[from] crate::synth::Error),
    /// It cannot be imported.
    #[error(transparent)]
    Import(#[from] timebase_import::Error),
    /// The database cannot be queried.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    /// A reading has no time.
    #[error("packet {id} has no known time")]
    Unplaced {
        /// The table of the reading.
        id: i64,
    },
    /// A reading of a set has no time.
    #[error("packet {number} of {file} has no known time")]
    UnplacedIn {
        /// The file.
        file: String,
        /// The number of its packet.
        number: i64,
    },
    /// The resolver refuses a snapshot that the import accepted.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The resolver cannot convert a reading of the import.
    #[error("a reading of a snapshot that is left out cannot be converted: {0}")]
    Unresolved(Unresolved),
}

//! The reasons why rows cannot be written as packets.

use std::io;

/// The reason why the writing of rows ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmitError {
    #[error("{0}")]
    Write(#[from] io::Error),
    #[error("{0}")]
    Rows(#[from] rusqlite::Error),
}

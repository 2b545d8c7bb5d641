//! The errors of files with symbols.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

/// A file, or a part of it, that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct SymbolError {
    /// The file.
    pub path: PathBuf,
    /// The offset of the damage, if one is known.
    pub offset: Option<u64>,
    /// A sentence without its subject: what is wrong.
    pub what: String,
}

impl SymbolError {
    pub(crate) fn new(path: &Path, offset: Option<u64>, what: impl Display) -> SymbolError {
        SymbolError { path: path.to_owned(), offset, what: what.to_string() }
    }
}

impl Display for SymbolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(offset) = self.offset {
            write!(f, ", at byte {offset}")?;
        }
        write!(f, ": {}", self.what)
    }
}

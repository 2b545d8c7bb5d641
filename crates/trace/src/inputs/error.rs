//! Why inputs cannot be opened.

use std::fmt;
use std::io;

use crate::source::SourceError;

/// The reason why inputs cannot be opened.
#[derive(thiserror::Error)]
#[allow(missing_docs)] // the messages explain them
#[non_exhaustive]
pub enum InputsError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("there is nothing to read; name a trace, an archive of traces, or several traces")]
    Nothing,
    /// The directory of temporary files is full or not writable.
    #[error("cannot copy an input to a temporary file: {0}")]
    PutAside(io::Error),
    #[error(
        "{first} and {second} have the same name, '{name}', which must identify a file in a manifest and in the tables; rename one of them, or import an archive that has them in two directories"
    )]
    SameName { first: String, second: String, name: String },
    #[error("standard input is named twice, but can be read only once")]
    StandardInputTwice,
    #[error(
        "{name} is {archive}, which timebase only reads as the single argument; import it alone, or unpack it and import its files"
    )]
    ArchiveInside { name: String, archive: &'static str },
    #[error("{name} is encrypted; decrypt the archive first, or unpack it and import its files")]
    Encrypted { name: String },
    #[error(
        "{name} is compressed with {method}, but timebase only reads stored or deflated members of zip archives; unpack the archive and import its files, or recreate it with `zip -r`"
    )]
    Method { name: String, method: String },
    #[error(
        "{name} is a sparse file, which timebase does not read from an archive; recreate the archive without --sparse, or unpack it and import its files"
    )]
    Sparse { name: String },
    #[error("{archive} has more than {limit} entries; unpack it and import the traces")]
    TooMany { archive: String, limit: usize },
    #[error(
        "the file names in {archive} have more than {limit} bytes in total; unpack it and import the traces"
    )]
    NamesTooLong { archive: String, limit: usize },
    #[error(
        "in {archive}, the header with the name of a file, at byte {offset}, has {size} bytes, more than the limit of {limit}; unpack the archive and import its files"
    )]
    HeaderTooLong { archive: String, offset: u64, size: u64, limit: u64 },
}

/// As a sentence: a `main` that returns this error, and `unwrap`, write its Debug to the user.
impl fmt::Debug for InputsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

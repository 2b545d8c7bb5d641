//! Why inputs cannot be opened, told so that the user knows what to do.

use std::io;

use crate::source::SourceError;

/// Why inputs cannot be opened.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
#[non_exhaustive]
pub enum InputsError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("there is nothing to read; name a trace, an archive of traces, or several traces")]
    Nothing,
    /// Where temporary files go, there is no room or no right to write.
    #[error("cannot put aside what can be read only once: {0}")]
    PutAside(io::Error),
    #[error(
        "{first} and {second} have the same name, '{name}', by which a manifest and the tables know \
         a file; rename one of them, or import an archive in which they are in two directories"
    )]
    SameName {
        first: String,
        second: String,
        name: String,
    },
    #[error("standard input (-) is named twice, and can be read once")]
    StandardInputTwice,
    #[error(
        "{name} is {archive} itself, and archives are not read inside of others; import it alone, \
         or unpack it and import its files"
    )]
    ArchiveInside { name: String, archive: &'static str },
    #[error(
        "{name} is encrypted, and timebase cannot decrypt it; decrypt the archive first, or unpack \
         it and import its files"
    )]
    Encrypted { name: String },
    #[error(
        "{name} is compressed by {method}; of zip archives, members are read that are stored or \
         deflated: unpack the archive and import its files, or make it anew with `zip -r`"
    )]
    Method { name: String, method: String },
    #[error(
        "{name} is stored with holes (a sparse file), which timebase does not read; make the \
         archive without --sparse, or unpack it and import its files"
    )]
    Sparse { name: String },
    #[error("{archive} has more than {limit} entries; unpack it and import those that are traces")]
    TooMany { archive: String, limit: usize },
    #[error(
        "the names of the files in {archive} are longer than {limit} bytes together; unpack it and import those that are traces"
    )]
    NamesTooLong { archive: String, limit: usize },
    #[error(
        "in {archive}, what stands at byte {offset} before a file to say its name has {size} bytes, \
         and may have {limit}; unpack the archive and import its files"
    )]
    HeaderTooLong {
        archive: String,
        offset: u64,
        size: u64,
        limit: u64,
    },
}

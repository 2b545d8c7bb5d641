//! How to import.

use std::path::PathBuf;

use crate::subjects::Subject;

/// How to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether the packets' bytes are stored.
    pub keep_data: bool,
    /// Which of the events inside of packets become rows.
    pub subjects: Vec<Subject>,
    /// Files that extend the schema of packets, each a serialized
    /// `FileDescriptorSet`.
    pub descriptors: Vec<PathBuf>,
    /// Whether a trace that is cut or damaged anywhere is refused.
    pub strict: bool,
    /// Whether an existing database is replaced.
    pub overwrite: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            keep_data: true,
            subjects: Subject::ALL.to_vec(),
            descriptors: Vec::new(),
            strict: false,
            overwrite: false,
        }
    }
}

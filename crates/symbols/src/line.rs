//! A function at an address of a file.

/// A function at an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The name of the function as the file has it: mangled, if it is.
    pub function: Option<String>,
    /// The path of its source.
    pub file: Option<String>,
    /// The line in its source.
    pub line: Option<u32>,
}

//! How to import.

use std::path::PathBuf;

use crate::size::Size;
use crate::subjects::Subject;

/// How readings are brought to trace time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conversion {
    /// By the nearest snapshot of those that were seen until then (rules V, D1).
    #[default]
    Nearest,
    /// By a line through all snapshots of the trace, which is read twice.
    Linear,
}

impl Conversion {
    /// What it is called on the command line and in `metadata`.
    ///
    /// ```
    /// use timebase_import::Conversion;
    /// assert_eq!(Conversion::Linear.name(), "linear");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Conversion::Nearest => "nearest",
            Conversion::Linear => "linear",
        }
    }
}

/// Which views a database has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Views {
    /// All.
    #[default]
    All,
    /// Those of these names, in upper or lower case, and those that they read: for a database that is asked something known,
    /// and then removed. SQLite takes a third of a query of a small trace to read all.
    Named(Vec<String>),
}

impl Views {
    /// The statements that make them, and what else is made when all rows are in.
    pub(crate) fn sql(&self) -> String {
        match self {
            Views::All => timebase_schema::finish(),
            Views::Named(names) => {
                let of_summary = ["trace_bounds"];
                timebase_schema::finish_with(|view| {
                    let is_named = names.iter().any(|name| name.eq_ignore_ascii_case(view));
                    is_named || of_summary.contains(&view)
                })
            }
        }
    }
}

/// How to import.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How readings are brought to trace time.
    pub conversion: Conversion,
    /// A manifest that says how the files are related (rules X30 to X40), beside one that may be among
    /// them.
    pub manifest: Option<PathBuf>,
    /// Whether the packets' bytes are stored.
    pub keep_data: bool,
    /// Which of the events inside of packets become rows.
    pub subjects: Vec<Subject>,
    /// Which views the database has.
    pub views: Views,
    /// Files that extend the schema of packets, each a serialized
    /// `FileDescriptorSet`.
    pub descriptors: Vec<PathBuf>,
    /// Whether a trace that is cut or damaged anywhere is refused.
    pub strict: bool,
    /// Whether an existing database is replaced.
    pub overwrite: bool,
    /// What the database and the temporary files of the import may take together; as much as
    /// there is on the disk if this is `None`.
    pub max_size: Option<Size>,
    /// How much memory the import may take, beyond what the process has when it begins; as much
    /// as there is if this is `None`.
    pub max_memory: Option<Size>,
}

impl Options {
    /// What [`Options::max_memory`] is if nobody says otherwise. No recording comes near it.
    pub const MEMORY: Size = Size(4 << 30);
}

impl Default for Options {
    fn default() -> Self {
        Options {
            conversion: Conversion::default(),
            manifest: None,
            keep_data: true,
            subjects: Subject::ALL.to_vec(),
            views: Views::All,
            descriptors: Vec::new(),
            strict: false,
            overwrite: false,
            max_size: None,
            max_memory: Some(Options::MEMORY),
        }
    }
}

//! The options of an import.

use std::borrow::Cow;
use std::path::PathBuf;

use timebase_symbols::MappingFile;

use crate::manifest::{Align, Clock};
use crate::size::Size;
use crate::subjects::{StateOf, Subject};

/// The method of conversion to trace time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conversion {
    /// By the nearest snapshot, of the snapshots read so far (rules V, D1).
    #[default]
    Nearest,
    /// By a line through all snapshots of the trace, which is read twice.
    Linear,
}

impl Conversion {
    /// The name on the command line and in `metadata`.
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

/// The views of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Views {
    /// All views.
    #[default]
    All,
    /// Only the views with these names, in upper or lower case, and the views that they read. This
    /// is for a temporary database with known queries: SQLite takes a third of the time of a small
    /// trace's query to read all views.
    Named(Vec<String>),
}

impl Views {
    /// The statements that create the views, and everything else that is created after all rows.
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

/// The indexes of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Indexes {
    /// All indexes.
    #[default]
    All,
    /// Only the indexes with these names, of those that `schema/tables.sql` declares. This is for a temporary
    /// database with known queries: sorting and writing the entries of all rows takes a fifth of an import.
    Named(Vec<String>),
}

/// The options of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The method of conversion to trace time.
    pub conversion: Conversion,
    /// A manifest that says how the files are related (rules X30 to X40), in addition to a manifest
    /// among the files.
    pub manifest: Option<PathBuf>,
    /// Whether a file that consists of several recordings is several files (rule X45).
    pub split: bool,
    /// The clock of timestamps that name none and have no default (rule FP2), in files for which the manifest does not
    /// name it. Otherwise the snapshots of a file decide.
    pub default_clock: Option<Clock>,
    /// What the alignment of clocks by causality may change (rule AL20); `None`: what the manifest says, or else
    /// [`Align::Auto`].
    pub align: Option<Align>,
    /// Whether [`rewrite`](crate::rewrite()) makes one trace of several in Chrome's JSON format, and of one Perfetto trace
    /// if it is among them. Of an import, it has no effect.
    pub one_file: bool,
    /// Whether the packets' bytes are stored.
    pub keep_data: bool,
    /// Whether the packets' bytes are stored in compressed blocks, and packets and slices have no index by time. Then the
    /// database is smaller, `packet.data` is NULL, and only the SQL function `packet_data` returns the bytes.
    pub is_compact: bool,
    /// The kinds of events inside packets that become rows.
    pub subjects: Vec<Subject>,
    /// The window of a cut, if the import is only for the state at its begin.
    pub(crate) state_of: Option<StateOf>,
    /// The views of the database.
    pub views: Views,
    /// The indexes of the database.
    pub indexes: Indexes,
    /// Files that extend the schema of packets, each a serialized
    /// `FileDescriptorSet`.
    pub descriptors: Vec<PathBuf>,
    /// Directories and files with symbols: names for frames of native code (rules SB).
    pub symbols: Vec<PathBuf>,
    /// Mappings of R8 or ProGuard: names for Java frames and classes (rules DM).
    pub mappings: Vec<MappingFile>,
    /// Whether to refuse a trace that is cut or damaged anywhere.
    pub strict: bool,
    /// Whether to replace an existing database.
    pub overwrite: bool,
    /// Whether the database is on the disk when the import is done, so that it is complete after a crash of the system.
    /// A temporary one need not be.
    pub is_synced: bool,
    /// The size limit of the database and the temporary files together. `None` means no limit
    /// except the disk.
    pub max_size: Option<Size>,
    /// The limit of the memory that the import takes, in addition to the memory of the process when
    /// it starts. `None` means no limit except the machine.
    pub max_memory: Option<Size>,
}

impl Options {
    /// The default of [`Options::max_memory`]. No recording comes near it.
    pub const MEMORY: Size = Size(4 << 30);

    /// The statements that create the tables and their indexes.
    pub(crate) fn tables(&self) -> Cow<'static, str> {
        match &self.indexes {
            Indexes::All if self.is_compact => {
                let is_small = |index: &str| !matches!(index, "packet_ts" | "slice_record_ts");
                timebase_schema::tables_with(is_small).into()
            }
            Indexes::All => timebase_schema::TABLES.into(),
            Indexes::Named(names) => {
                let is_named = |index: &str| names.iter().any(|name| name == index);
                timebase_schema::tables_with(is_named).into()
            }
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            conversion: Conversion::default(),
            manifest: None,
            split: false,
            default_clock: None,
            align: None,
            one_file: false,
            keep_data: true,
            is_compact: false,
            subjects: Subject::ALL.to_vec(),
            state_of: None,
            views: Views::All,
            indexes: Indexes::All,
            descriptors: Vec::new(),
            symbols: Vec::new(),
            mappings: Vec::new(),
            strict: false,
            overwrite: false,
            is_synced: true,
            max_size: None,
            max_memory: Some(Options::MEMORY),
        }
    }
}

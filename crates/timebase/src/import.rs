//! An import, described step by step.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use timebase_import::{
    Conversion, Error, Monitor, Options, Reader, Size, Source, Subject, Summary, import,
    import_into,
};

/// An import of a trace: its input, its options, and its destination.
///
/// ```
/// use timebase::{Conversion, Import};
///
/// # let directory = tempfile::tempdir()?;
/// # let database = directory.path().join("trace.db");
/// let summary = Import::new("../../tests/data/multihop.pftrace")
///     .conversion(Conversion::Linear)
///     .into_file(&database)?;
/// assert!(summary.packets > 0 && database.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is imported before it is said where to"]
pub struct Import<'m> {
    sources: Vec<Source>,
    options: Options,
    monitor: Option<&'m Monitor>,
}

impl<'m> Import<'m> {
    /// Reads a file: a trace, compressed or not, or an archive of traces.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Import::from_sources([Source::File(path.into())])
    }

    /// Reads several files, and puts them on one timeline (rules X).
    pub fn from_files<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Import::from_sources(paths.into_iter().map(|path| Source::File(path.into())))
    }

    /// Reads from any reader: a socket, a pipe, bytes in memory.
    ///
    /// [`Conversion::Linear`] reads the input twice. If it can be read only once, the import copies
    /// it to a temporary file first.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Self {
        Import::from_sources([Source::Reader(Reader::new(reader))])
    }

    fn from_sources(sources: impl IntoIterator<Item = Source>) -> Self {
        Import {
            sources: sources.into_iter().collect(),
            options: Options::default(),
            monitor: None,
        }
    }

    /// The conversion of readings to trace time; the default is by the nearest snapshot.
    pub fn conversion(mut self, conversion: Conversion) -> Self {
        self.options.conversion = conversion;
        self
    }

    /// A manifest that relates several files (rules X30 to X40).
    pub fn manifest(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.manifest = Some(path.into());
        self
    }

    /// The events inside packets that become rows; the default is all.
    pub fn subjects(mut self, subjects: impl IntoIterator<Item = Subject>) -> Self {
        self.options.subjects = subjects.into_iter().collect();
        self
    }

    /// Leaves out the bytes of packets: `packet.data` is NULL, and `packet_json` has nothing to read.
    pub fn without_data(mut self) -> Self {
        self.options.keep_data = false;
        self
    }

    /// A serialized `FileDescriptorSet` that extends the schema of packets.
    pub fn descriptor(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.descriptors.push(path.into());
        self
    }

    /// Refuses a trace that is cut or damaged anywhere, instead of importing its readable part.
    pub fn strict(mut self) -> Self {
        self.options.strict = true;
        self
    }

    /// Replaces an existing database.
    pub fn overwrite(mut self) -> Self {
        self.options.overwrite = true;
        self
    }

    /// The limit for the database and the temporary files of its import together, in bytes.
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.options.max_size = Some(Size(bytes));
        self
    }

    /// The limit for the import's memory in bytes, in addition to the memory of the process at its
    /// start; the default is 4 GiB.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.options.max_memory = Some(Size(bytes));
        self
    }

    /// The receiver of the import's progress, which can end it from another thread.
    pub fn monitor(mut self, monitor: &'m Monitor) -> Self {
        self.monitor = Some(monitor);
        self
    }

    /// Imports into a new file, which appears when it is complete.
    ///
    /// # Errors
    ///
    /// [`Error`] names the file, the problem and its place. Damage inside a trace is an error only
    /// with [`Import::strict`]; otherwise it is in [`Summary::warnings`] and in the table
    /// `import_log`.
    pub fn into_file(self, path: impl AsRef<Path>) -> Result<Summary, Error> {
        let monitor = Monitor::default();
        let monitor = self.monitor.unwrap_or(&monitor);
        import(&self.sources, path.as_ref(), &self.options, monitor)
    }

    /// Imports into the main database of a connection, in memory or not, which must not have tables
    /// yet. The import is one transaction, or a part of the open one.
    ///
    /// [`Import::into_file`] is faster, because it writes pages instead of rows.
    ///
    /// # Errors
    ///
    /// Those of [`Import::into_file`], and if the database has tables. Nothing has changed then.
    pub fn into_connection(self, conn: &mut Connection) -> Result<Summary, Error> {
        let monitor = Monitor::default();
        let monitor = self.monitor.unwrap_or(&monitor);
        import_into(&self.sources, conn, &self.options, monitor)
    }
}

impl fmt::Debug for Import<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import")
            .field("sources", &self.sources)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

//! An import, described step by step.

use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use timebase_import::manifest::Align;
use timebase_import::{
    Error, MappingFile, Monitor, Options, Reader, Source, Subject, Summary, import, import_into,
};

use crate::steps::steps;

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

steps!(Import);

impl Import<'_> {
    /// Reads from any reader: a socket, a pipe, bytes in memory.
    ///
    /// [`Conversion::Linear`](timebase_import::Conversion::Linear) reads the input twice. If it can
    /// be read only once, the import copies it to a temporary file first.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Self {
        Import::from_sources([Source::Reader(Reader::new(reader))])
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

    /// Compresses the bytes of packets: `packet.data` is NULL, the SQL function `packet_data` returns them, and the database
    /// is smaller.
    ///
    /// ```
    /// use timebase::Import;
    ///
    /// let mut conn = rusqlite::Connection::open_in_memory()?;
    /// // A packet with a timestamp.
    /// Import::from_reader(&[0x0a, 3, 0x40, 0xd0, 0x08][..]).compact().into_connection(&mut conn)?;
    /// timebase::sql::register(&conn)?;
    /// let ask = "SELECT data, hex(packet_data(id)) FROM packet";
    /// let row = conn.query_row(ask, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    /// assert_eq!(row, (None::<Vec<u8>>, "40D008".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(mut self) -> Self {
        self.options.is_compact = true;
        self
    }

    /// What messages between machines may change, if nothing measured how their clocks relate. The default is what the
    /// manifest says, or else [`Align::Auto`]: files move whose place was only assumed, and is proven wrong.
    ///
    /// ```
    /// use timebase::{Align, Import};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let database = directory.path().join("talk.db");
    /// // The wall clocks of a client and a server disagree, but the files have their messages.
    /// let talk = || Import::new("../../tests/data/align/pair.tar").overwrite();
    /// let moved = talk().into_file(&database)?;
    /// let assumed = talk().align(Align::Off).into_file(&database)?;
    /// assert!(moved.placements[1].error.is_some() && assumed.placements[1].error.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn align(mut self, mode: Align) -> Self {
        self.options.align = Some(mode);
        self
    }

    /// A serialized `FileDescriptorSet` that extends the schema of packets.
    pub fn descriptor(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.descriptors.push(path.into());
        self
    }

    /// A directory with ELF files, or one such file, whose symbols name the functions of callstacks.
    ///
    /// ```
    /// use timebase::Import;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let database = directory.path().join("named.db");
    /// let summary = Import::new("../../tests/data/sdk.pftrace")
    ///     .symbols(directory.path())
    ///     .into_file(&database)?;
    /// assert_eq!(summary.unnamed.frames, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn symbols(mut self, directory: impl Into<PathBuf>) -> Self {
        self.options.symbols.push(directory.into());
        self
    }

    /// A mapping of R8 or ProGuard, which names obfuscated classes and methods of all packages, or of one.
    ///
    /// ```
    /// use timebase::{Import, MappingFile};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let (database, path) = (directory.path().join("named.db"), directory.path().join("mapping.txt"));
    /// std::fs::write(&path, "org.Good -> a.b:\n    void run() -> c\n")?;
    /// let mapping = MappingFile { path, package: Some("org.example".to_owned()) };
    /// Import::new("../../tests/data/sdk.pftrace").mapping(mapping).into_file(&database)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mapping(mut self, mapping: MappingFile) -> Self {
        self.options.mappings.push(mapping);
        self
    }

    /// Refuses a trace that is cut or damaged anywhere, instead of importing its readable part.
    pub fn strict(mut self) -> Self {
        self.options.strict = true;
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

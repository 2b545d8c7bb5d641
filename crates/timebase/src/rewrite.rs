//! Rewriting a trace, step by step.

use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use timebase_import::{
    Conversion, Monitor, Options, Reader, RewriteError, RewriteTo, Rewritten, Size, Source, rewrite,
};

/// Writes a trace again with every time on one clock, for tools that know fewer clocks (rules RW).
///
/// One trace becomes one trace; several files, or one with a manifest, become a zip.
///
/// ```
/// use timebase::{Conversion, Rewrite};
///
/// # let directory = tempfile::tempdir()?;
/// # let out = directory.path().join("out.pftrace");
/// let rewritten = Rewrite::new("../../tests/data/multihop.pftrace")
///     .conversion(Conversion::Linear)
///     .into_file(&out)?;
/// assert!(rewritten.written > 0 && out.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing happens before `into_file`, `into_writer` or `dry_run`"]
pub struct Rewrite<'m> {
    sources: Vec<Source>,
    options: Options,
    monitor: Option<&'m Monitor>,
}

impl<'m> Rewrite<'m> {
    /// Reads a file: a trace, compressed or not, or an archive of traces.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Rewrite::from_sources([Source::File(path.into())])
    }

    /// Reads several files, and puts them on one timeline (rules X).
    pub fn from_files<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Rewrite::from_sources(paths.into_iter().map(|path| Source::File(path.into())))
    }

    /// Reads from any reader. It is copied to a temporary file first, because it is read more than once.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Self {
        Rewrite::from_sources([Source::Reader(Reader::new(reader))])
    }

    fn from_sources(sources: impl IntoIterator<Item = Source>) -> Self {
        Rewrite {
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

    /// Replaces a file that is there already.
    pub fn overwrite(mut self) -> Self {
        self.options.overwrite = true;
        self
    }

    /// The most that the new trace and the temporary files may take, in bytes.
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.options.max_size = Some(Size(bytes));
        self
    }

    /// The most memory that it may take, in bytes, beyond what the process has when it begins; 4 GiB if
    /// nothing is said.
    pub fn max_memory(mut self, bytes: u64) -> Self {
        self.options.max_memory = Some(Size(bytes));
        self
    }

    /// Who is told how far it is, and can end it from another thread.
    pub fn monitor(mut self, monitor: &'m Monitor) -> Self {
        self.monitor = Some(monitor);
        self
    }

    /// Writes a new file, which appears when it is complete. A name that ends in `.gz` or `.zst` compresses
    /// it.
    ///
    /// # Errors
    ///
    /// [`RewriteError`] names the file, and what is wrong with it. Damage inside of a trace is no error: it is
    /// in [`Rewritten::left_out`] and [`Rewritten::warnings`].
    pub fn into_file(self, path: impl AsRef<Path>) -> Result<Rewritten, RewriteError> {
        self.to(RewriteTo::File(path.as_ref()))
    }

    /// Writes to somebody who gets all of it when it is complete.
    ///
    /// # Errors
    ///
    /// As those of [`Rewrite::into_file`].
    pub fn into_writer(self, writer: &mut dyn Write) -> Result<Rewritten, RewriteError> {
        self.to(RewriteTo::Writer(writer))
    }

    /// Writes nothing, and tells what would be done.
    ///
    /// # Errors
    ///
    /// As those of [`Rewrite::into_file`].
    pub fn dry_run(self) -> Result<Rewritten, RewriteError> {
        self.to(RewriteTo::Nowhere)
    }

    fn to(self, to: RewriteTo<'_>) -> Result<Rewritten, RewriteError> {
        let monitor = Monitor::default();
        let monitor = self.monitor.unwrap_or(&monitor);
        rewrite(&self.sources, to, &self.options, monitor)
    }
}

impl fmt::Debug for Rewrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewrite")
            .field("sources", &self.sources)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

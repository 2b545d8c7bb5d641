//! Rewriting a trace, step by step.

use std::io::{Read, Write};
use std::path::Path;

use timebase_import::{
    Monitor, Options, Reader, RewriteError, RewriteTo, Rewritten, Source, rewrite,
};

use crate::steps::steps;

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

steps!(Rewrite);

impl Rewrite<'_> {
    /// Reads from any reader. It is copied to a temporary file first, because it is read more than once.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Self {
        Rewrite::from_sources([Source::Reader(Reader::new(reader))])
    }

    /// Makes one trace of several JSON traces, with a machine for each that differs (rule CV2).
    pub fn one_file(mut self) -> Self {
        self.options.one_file = true;
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

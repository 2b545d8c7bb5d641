//! Rewriting a trace, step by step.

use std::fmt::Display;
use std::io::{Read, Write};
use std::path::Path;

use rusqlite::Connection;
use timebase_import::{
    FoundTracks, Monitor, Options, Reader, RewriteError, RewriteTo, Rewritten, Source, Window, cut,
    import, rewrite, rewrite_with,
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
    more: More,
}

/// The window that is cut out, and the tracks that are added.
#[derive(Debug, Default)]
struct More {
    window: Option<Window>,
    tracks: Vec<(String, String)>,
}

steps!(Rewrite, more: More::default());

impl Rewrite<'_> {
    /// Reads from any reader. It is copied to a temporary file first, because it is read more than once.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Self {
        Rewrite::from_sources([Source::Reader(Reader::new(reader))])
    }

    /// Makes one trace, not a zip, of several JSON traces, or of JSON traces and one Perfetto trace (rule CV2).
    pub fn one_file(mut self) -> Self {
        self.options.one_file = true;
        self
    }

    /// Cuts out what is from the one to before the other time, in nanoseconds of trace time (rules CT). The new trace has
    /// the state at its begin: names, open slices, running threads, last values.
    ///
    /// ```
    /// use timebase::Rewrite;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let out = directory.path().join("out.pftrace");
    /// let second = Rewrite::new("../../tests/data/desktop.pftrace")
    ///     .between(3_086_000_000_000, 3_087_000_000_000)
    ///     .into_file(&out)?;
    /// assert!(second.cut.is_some_and(|cut| cut.carried > 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn between(mut self, from: i64, to: i64) -> Self {
        self.more.window = Some(Window { from, to });
        self
    }

    /// Adds a track with the rows of a SELECT, which runs in a database of the trace, with all SQL functions (rules CN).
    /// With [`Rewrite::between`], the database has the window alone. The trace is read twice, so it has to be a file.
    ///
    /// ```
    /// use timebase::Rewrite;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let out = directory.path().join("out.pftrace");
    /// let shown = Rewrite::new("../../tests/data/late-frame.pftrace")
    ///     .track("waits", "SELECT ts, dur, utid FROM thread_state WHERE state = 'R' AND dur > 5e6")
    ///     .into_file(&out)?;
    /// assert_eq!(shown.tracks[0].rows, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn track(mut self, name: impl Into<String>, sql: impl Into<String>) -> Self {
        self.more.tracks.push((name.into(), sql.into()));
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
        let More { window, tracks } = &self.more;
        match window {
            None if tracks.is_empty() => rewrite(&self.sources, to, &self.options, monitor),
            None => with_tracks(&self.sources, to, &self.options, tracks, monitor),
            Some(window) if tracks.is_empty() => {
                cut(&self.sources, to, &self.options, *window, monitor)
            }
            Some(window) => {
                let place = tempfile::tempdir()
                    .map_err(|error| RewriteError::Write { path: std::env::temp_dir(), error })?;
                let part = place.path().join("part.pftrace");
                let of_part = RewriteTo::File(&part);
                let told = cut(&self.sources, of_part, &self.options, *window, monitor)?;
                // Its times are right already, and a manifest was for the whole trace.
                let mut options = Options::default();
                options.overwrite = self.options.overwrite;
                (options.max_size, options.max_memory) =
                    (self.options.max_size, self.options.max_memory);
                let part = [Source::File(part)];
                let added = with_tracks(&part, to, &options, tracks, monitor)?;
                let mut told = told;
                (told.written, told.written_bytes) = (added.written, added.written_bytes);
                told.tracks = added.tracks;
                Ok(told)
            }
        }
    }
}

/// Rewrites a trace with tracks of the rows of statements.
fn with_tracks(
    sources: &[Source],
    to: RewriteTo<'_>,
    options: &Options,
    tracks: &[(String, String)],
    monitor: &Monitor,
) -> Result<Rewritten, RewriteError> {
    let failed = |name: &str, why: &dyn Display| RewriteError::Track {
        name: name.to_owned(),
        why: why.to_string(),
    };
    let first = tracks.first().map_or("", |(name, _)| name);
    if !sources.iter().all(|source| matches!(source, Source::File(_))) {
        return Err(failed(first, &"the trace is read twice, so it has to be a file"));
    }
    let place = tempfile::tempdir().map_err(|error| failed(first, &error))?;
    let database = place.path().join("trace.db");
    let mut of_import = options.clone();
    of_import.overwrite = true;
    import(sources, &database, &of_import, monitor)?;
    let conn = Connection::open(&database).map_err(|error| failed(first, &error))?;
    crate::sql::register(&conn).map_err(|error| failed(first, &error))?;
    let mut found = FoundTracks::new(&conn).map_err(|error| failed(first, &error))?;
    for (name, sql) in tracks {
        add(&conn, name, sql, &mut found).map_err(|why| failed(name, &why))?;
    }
    let found = found.finish(place.path()).map_err(|error| failed(first, &error))?;
    rewrite_with(sources, to, options, Some(&found), monitor)
}

/// Adds the rows of a statement, or says why that is impossible.
fn add(
    conn: &Connection,
    name: &str,
    sql: &str,
    found: &mut FoundTracks<'_>,
) -> Result<(), String> {
    let text = |error: rusqlite::Error| error.to_string();
    let mut statement = conn.prepare(sql).map_err(text)?;
    if !statement.readonly() {
        return Err("the statement changes the database".to_owned());
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    found.begin(name, &names).map_err(|error| error.to_string())?;
    let mut rows = statement.query([]).map_err(text)?;
    while let Some(row) = rows.next().map_err(text)? {
        let values: Result<Vec<_>, _> =
            (0..names.len()).map(|column| row.get_ref(column)).collect();
        found.row(&values.map_err(text)?).map_err(|error| error.to_string())?;
    }
    Ok(())
}

//! A comparison of two groups of runs, step by step.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use timebase_compare::{
    Comparison, INDEXES, MeasureError, Measuring, Metric, Names, Settings, Side, Values, compare,
    measure,
};
use timebase_import::{FileKind, Indexes, Monitor, Options, Source, Views, file_kind, import};

/// The reason why there is no comparison.
#[derive(Debug)]
#[non_exhaustive]
pub enum CompareError {
    /// A run cannot be opened, or there is no place for its database.
    Open {
        /// The run.
        run: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// A trace cannot be imported.
    Import {
        /// The run.
        run: PathBuf,
        /// The reason.
        error: timebase_import::Error,
    },
    /// A run cannot be measured.
    Measure {
        /// The run.
        run: PathBuf,
        /// The reason.
        error: MeasureError,
    },
    /// The values cannot be compared.
    Compare(timebase_compare::Error),
}

impl std::fmt::Display for CompareError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CompareError::Open { run, error } => {
                write!(f, "cannot open {}: {error}", run.display())
            }
            // The error names the file.
            CompareError::Import { error, .. } => write!(f, "{error}"),
            CompareError::Measure { run, error } => write!(f, "{}: {error}", run.display()),
            CompareError::Compare(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for CompareError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CompareError::Open { error, .. } => Some(error),
            CompareError::Import { error, .. } => Some(error),
            CompareError::Measure { error, .. } => Some(error),
            CompareError::Compare(error) => Some(error),
        }
    }
}

impl From<timebase_compare::Error> for CompareError {
    fn from(error: timebase_compare::Error) -> Self {
        CompareError::Compare(error)
    }
}

/// A comparison of two groups of runs: traces or databases, of which each is a run (rules CM).
///
/// One run at a time is imported into a temporary database, measured, and dropped.
///
/// ```
/// use timebase::Compare;
///
/// # let runs = |side: &str| (0..3).map(|n| format!("../../tests/data/runs/{side}/{n}.json")).collect::<Vec<_>>();
/// let comparison = Compare::new(runs("before"), runs("after"))
///     .metric("longest frame", "SELECT max(dur) FROM slice WHERE name GLOB 'frame*'")
///     .run()?;
/// let layout = comparison.lines.iter().find(|line| line.line.name == "layout").unwrap();
/// let total = &comparison.rows[layout.rows.clone()][0];
/// assert_eq!(total.n, [3, 3]);
/// # Ok::<(), timebase::CompareError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is compared before `run`"]
pub struct Compare {
    runs: [Vec<PathBuf>; 2],
    settings: Settings,
    measuring: Measuring,
    options: Options,
}

impl Compare {
    /// Compares these runs, before and after.
    pub fn new<P: Into<PathBuf>>(
        before: impl IntoIterator<Item = P>,
        after: impl IntoIterator<Item = P>,
    ) -> Compare {
        let runs = [
            before.into_iter().map(Into::into).collect(),
            after.into_iter().map(Into::into).collect(),
        ];
        let measuring = Measuring { names: Names::default(), metrics: Vec::new(), details: false };
        let mut options = Options::default();
        options.keep_data = false;
        options.is_synced = false;
        Compare { runs, settings: Settings::default(), measuring, options }
    }

    /// The choices of the comparison.
    pub fn settings(mut self, settings: Settings) -> Compare {
        self.settings = settings;
        self
    }

    /// The replacements in names.
    pub fn names(mut self, names: Names) -> Compare {
        self.measuring.names = names;
        self
    }

    /// Adds a metric: a SELECT with one number, or with columns name and value (rule CM6).
    pub fn metric(mut self, name: impl Into<String>, sql: impl Into<String>) -> Compare {
        self.measuring.metrics.push(Metric { name: name.into(), sql: sql.into() });
        self
    }

    /// The conversion of readings to trace time; the default is by the nearest snapshot.
    pub fn conversion(mut self, conversion: timebase_import::Conversion) -> Compare {
        self.options.conversion = conversion;
        self
    }

    /// Measures all runs, and compares them.
    ///
    /// # Errors
    ///
    /// The first run that cannot be read or measured, and a run that is on both sides.
    pub fn run(mut self) -> Result<Comparison, CompareError> {
        if self.measuring.metrics.is_empty() {
            self.options.views = Views::Named(timebase_compare::views());
            self.options.indexes = Indexes::Named(INDEXES.map(str::to_owned).to_vec());
        }
        let mut values = Values::new();
        for (side, runs) in [Side::Before, Side::After].into_iter().zip(&self.runs) {
            for run in runs {
                self.measure(run, side, &mut values)?;
            }
        }
        Ok(compare(&values, &self.settings)?)
    }

    fn measure(&self, run: &Path, side: Side, values: &mut Values) -> Result<(), CompareError> {
        let open = |error| CompareError::Open { run: run.to_owned(), error };
        let failed = |error| CompareError::Measure { run: run.to_owned(), error };
        let place = tempfile::tempdir().map_err(open)?;
        let database = match file_kind(run).map_err(open)? {
            FileKind::Database => run.to_owned(),
            FileKind::Trace => {
                let path = place.path().join("run.db");
                let source = Source::File(run.to_owned());
                import(&[source], &path, &self.options, &Monitor::default())
                    .map_err(|error| CompareError::Import { run: run.to_owned(), error })?;
                path
            }
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(database, flags)
            .and_then(|conn| crate::sql::register(&conn).map(|()| conn))
            .map_err(|error| failed(error.into()))?;
        let measured = measure(&conn, &self.measuring, place.path()).map_err(failed)?;
        let name = run.to_string_lossy();
        let id = values.run(&name, side, measured.facts)?;
        for (line, stat, value) in &measured.values {
            values.add(id, line, *stat, *value)?;
        }
        for (line, parent, _) in &measured.parents {
            values.parent(line, parent)?;
        }
        Ok(())
    }
}

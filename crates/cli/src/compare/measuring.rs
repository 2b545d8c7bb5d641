//! Measuring one run, in a process of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use rusqlite::Connection;
use timebase_compare::{Measuring, Metric, Names, measure};
use timebase_import::{FileKind, Indexes, Monitor, Options, Source, Subject, Views};

use super::{run_file, tables};
use crate::database::{self, Access, Database};
use crate::flags::{CompareArguments, WindowArguments};
use crate::progress::Progress;
use crate::script::Script;
use crate::signals::Signals;
use crate::window::ByArguments;

/// Measures the run that the arguments name, into a file.
pub fn run(arguments: &CompareArguments, out: &Path, signals: &Signals) -> anyhow::Result<()> {
    let [given] = arguments.before.as_slice() else { bail!("--measure takes one run") };
    let given = Path::new(given);
    let measuring = Measuring {
        names: Names::new(&arguments.names, !arguments.keep_names)?,
        metrics: metrics(&arguments.metric)?,
        details: arguments.details,
    };
    let scratch = std::env::temp_dir();
    let database = match &arguments.trace_id {
        Some(trace_id) => of_tables(given, trace_id)?,
        None => open(given, arguments, &measuring, signals)?,
    };
    let measured = signals.during_query(database.get_interrupt_handle(), || {
        measure(&database, &measuring, &scratch)
    })?;
    run_file::write(out, &measured)
}

/// The metrics of `--metric`, each NAME=SQL, or a file with titles.
pub fn metrics(given: &[String]) -> anyhow::Result<Vec<Metric>> {
    let mut metrics: Vec<Metric> = Vec::new();
    for text in given {
        if let Some(path) = text.strip_prefix('@') {
            let sql = std::fs::read_to_string(path)
                .with_context(|| format!("--metric: cannot read {path}"))?;
            let script = Script::parse(&sql);
            for part in &script.statements {
                let name = part.title.as_deref().with_context(|| {
                    format!("--metric {path}: a statement has no name; write a line '-- # NAME' before it")
                })?;
                metrics.push(Metric { name: name.to_owned(), sql: part.sql.to_owned() });
            }
            continue;
        }
        match text.split_once('=') {
            Some((name, sql)) if !name.trim().is_empty() => {
                metrics.push(Metric { name: name.trim().to_owned(), sql: sql.to_owned() });
            }
            _ => bail!("--metric {text}: write NAME=SQL, or @FILE.sql"),
        }
    }
    for (index, metric) in metrics.iter().enumerate() {
        ensure!(
            metrics.iter().take(index).all(|other| other.name != metric.name),
            "--metric: {} is there twice",
            metric.name
        );
    }
    Ok(metrics)
}

/// Opens a database, or imports a trace or a part of it.
fn open(
    given: &Path,
    arguments: &CompareArguments,
    measuring: &Measuring,
    signals: &Signals,
) -> anyhow::Result<Database> {
    let is_cut = arguments.during.is_some() || arguments.from.is_some() || arguments.to.is_some();
    let conversion = arguments.conversion.map(Into::into);
    if database::kind(given)? == FileKind::Database {
        ensure!(
            !is_cut,
            "{} is a database, but --during, --from and --to cut a part out of a trace",
            given.display()
        );
        let access = Access { is_strict: arguments.strict, conversion, ..Access::ALL };
        return database::open_file(given, access);
    }
    let mut options = Options::default();
    options.conversion = conversion.unwrap_or_default();
    options.keep_data = false;
    options.strict = arguments.strict;
    options.subjects = Subject::ALL.to_vec();
    if measuring.metrics.is_empty() {
        options.views = Views::Named(timebase_compare::views());
        options.indexes = Indexes::Named(timebase_compare::INDEXES.map(str::to_owned).to_vec());
    }
    let source = Source::File(given.to_owned());
    if !is_cut {
        let opened = database::open_traces(given, &[source], &options, Progress::Never, signals);
        return opened.map(|(database, _)| database);
    }
    // It is removed when the part is imported.
    let place = tempfile::tempdir().context("cannot make a temporary directory")?;
    let part = cut(given, arguments, place.path())?;
    let opened =
        database::open_traces(given, &[Source::File(part)], &options, Progress::Never, signals);
    opened.map(|(database, _)| database)
}

/// Cuts the part out of the trace that the arguments name, and returns its path.
fn cut(given: &Path, arguments: &CompareArguments, directory: &Path) -> anyhow::Result<PathBuf> {
    let part = directory.join("part.pftrace");
    let chosen = WindowArguments {
        from: arguments.from.clone(),
        to: arguments.to.clone(),
        slice: None,
        during: arguments.during.clone(),
        margin: None,
    };
    let mut options = Options::default();
    options.conversion = arguments.conversion.map(Into::into).unwrap_or_default();
    let to = timebase_import::RewriteTo::File(&part);
    let source = Source::File(given.to_owned());
    timebase_import::cut(&[source], to, &options, ByArguments(&chosen), &Monitor::default())?;
    Ok(part)
}

/// The tables of a trace of a folder, as a database in memory that moves to the disk when it grows.
fn of_tables(folder: &Path, trace_id: &str) -> anyhow::Result<Database> {
    // A database without a name is SQLite's own temporary file.
    let conn = Connection::open("").context("cannot make a temporary database")?;
    timebase::sql::register(&conn)?;
    tables::load(folder, trace_id, &conn)?;
    Ok(Database::from(conn))
}

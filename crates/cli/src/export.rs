//! `timebase export`: the tables of a trace as Parquet, into a folder of many.
//!
//! # Design
//!
//! The wanted tables decide which events are imported: SQLite tells which tables a view reads, and the schema
//! tells which events a table has. So `--tables packet` follows no events. The bytes of packets are kept only
//! for tables that show them, and no other views are made. The alternative was to import everything, but that
//! takes several times as long if few tables of many traces are wanted.
//!
//! Without names, the tables are those that the reference lists for queries. The tables behind the views can
//! be named.

mod many;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use indicatif::{HumanBytes, HumanCount};
use timebase_export::{Folder, Monitor, Schema, Summary, Table};
use timebase_import::{FileKind, Source, Subject, Views};

use crate::database::{self, Access, Database};
use crate::flags::{ExportArguments, Label, wrong_usage};
use crate::guard;
use crate::reference::{SectionKind, reference};
use crate::signals::{Removal, Signals};
use crate::{hints, messages, progress, unrelated};

/// Tables that belong to no single subject, because they have rows about everything that an import finds.
const OF_ALL: [&str; 8] = [
    "event_group",
    "event_span",
    "ftrace_cpu",
    "import_log",
    "loss",
    "machine",
    "stats",
    "unsure_record",
];

/// Tables whose threads are known only if events are followed in the order of time.
const OF_THREADS: [&str; 2] = ["android_log_thread", "thread_emitting"];

/// Tables about how an import was made.
const FACTS: [&str; 2] = ["fact", "metadata"];

/// The width of a list of tables without a terminal.
const WIDTH: usize = 100;

pub fn run(
    arguments: &ExportArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let schema = match &arguments.tables {
        // Labels are checked against the columns of all tables.
        Some(names) if arguments.labels.is_empty() => Schema::of(names)?,
        _ => Schema::new()?,
    };
    let tables = asked(arguments.tables.as_deref(), &schema)?;
    if arguments.schema {
        let described = timebase_export::described(tables);
        return Ok(writeln!(out, "{described}")?);
    }
    let mut labels: Vec<(String, String)> = arguments
        .labels
        .iter()
        .map(|label| (label.name.clone(), label.value.clone().unwrap_or_default()))
        .collect();
    if let Err(error) = timebase_export::check_labels(&labels, &schema) {
        wrong_usage("export", &error.to_string());
    }
    let output = arguments.output.as_deref().unwrap_or(Path::new("-"));
    if output.as_os_str() == "-" {
        wrong_usage("export", "name the folder for the tables with -o DIR");
    }
    if arguments.traces.iter().any(|given| given.is_dir()) {
        return many::run(arguments, output, signals);
    }
    let kind = kind(arguments)?;
    let mut options = timebase_export::Options {
        tables,
        compression: arguments.compression.into(),
        labels: Vec::new(),
        overwrite: arguments.force,
    };
    let make = || {
        let folder = Folder::at(output)?;
        let remove: Removal = Box::new(folder.removal());
        Ok((folder, remove))
    };
    let begun = Instant::now();
    let summary = signals.during_file(make, |folder| {
        refuse_present(arguments, kind, &folder)?;
        let database = open(arguments, (kind, output), &options.tables, &schema, signals)?;
        fill(&mut labels, &arguments.labels, &database)?;
        options.labels = labels;
        let monitor = Arc::new(Monitor::default());
        let exported = signals.during_export(database.get_interrupt_handle(), &monitor, || {
            progress::shown_export(arguments.progress, &monitor, options.tables.len(), || {
                timebase_export::export(&database, &folder, &schema, &options, &monitor)
            })
        })?;
        database.warn_if_changed();
        exported.map_err(|error| told(error, &arguments.traces))
    })?;
    messages::say(screen(arguments, output, &summary, begun.elapsed()));
    Ok(())
}

/// Fills the values of labels that are given without one: the name of the trace's file, or the names of all of its
/// files.
fn fill(
    labels: &mut [(String, String)],
    given: &[Label],
    database: &Database,
) -> anyhow::Result<()> {
    if given.iter().all(|label| label.value.is_some()) {
        return Ok(());
    }
    let sql = "SELECT group_concat(name, ', ') FROM (
                 SELECT name FROM trace_file WHERE NOT is_container AND trace_type NOT IN ('perfetto_manifest', 'unknown') ORDER BY id)";
    let names: Option<String> = database
        .query_row(sql, [], |row| row.get(0))
        .context("cannot read the names of the trace's files")?;
    let names = names.unwrap_or_default();
    for ((_, value), given) in labels.iter_mut().zip(given) {
        if given.value.is_none() {
            value.clone_from(&names);
        }
    }
    Ok(())
}

/// The wanted tables, each once.
fn asked<'a>(names: Option<&[String]>, schema: &'a Schema) -> anyhow::Result<Vec<&'a Table>> {
    let Some(names) = names else {
        return Ok(for_queries(schema).collect());
    };
    let mut tables: Vec<&Table> = Vec::new();
    for name in names {
        let mut all = schema.tables();
        let Some(table) = all.find(|table| table.name.eq_ignore_ascii_case(name)) else {
            wrong_usage("export", &unknown(name, &Schema::new()?));
        };
        if tables.iter().all(|other| other.name != table.name) {
            tables.push(table);
        }
    }
    Ok(tables)
}

/// The message about an unknown table.
fn unknown(name: &str, schema: &Schema) -> String {
    let names: Vec<String> = schema.names().map(str::to_owned).collect();
    let meant = hints::meant(name, &names);
    let meant = meant.map_or_else(|| ".".to_owned(), |meant| format!("; did you mean {meant}?"));
    let all = for_queries(schema).map(|table| table.name.as_str());
    let all: Vec<&str> = all.collect();
    let width = crate::output::terminal_width().map_or(WIDTH, usize::from);
    let lines = textwrap::Options::new(width).initial_indent("  ").subsequent_indent("  ");
    format!(
        "there is no table '{name}'{meant} The tables are\n{}",
        textwrap::fill(&all.join(", "), lines)
    )
}

/// The tables and views that are meant for queries.
fn for_queries(schema: &Schema) -> impl Iterator<Item = &Table> {
    let sections = reference().sections.iter();
    let tables = sections.filter(|section| section.kind == SectionKind::Table);
    tables.filter_map(|section| schema.table(&section.name))
}

/// The kind of the arguments: a database, or traces.
fn kind(arguments: &ExportArguments) -> anyhow::Result<FileKind> {
    for given in &arguments.traces {
        if database::kind(given)? == FileKind::Trace {
            continue;
        }
        let given = given.display();
        if arguments.traces.len() > 1 {
            bail!(
                "{given} is a database, but several arguments must be traces that belong together; export databases one by one"
            );
        }
        let of_traces = [
            (arguments.settings.manifest.is_some(), "--manifest"),
            (!arguments.settings.descriptor.is_empty(), "--descriptor"),
            (arguments.settings.max_size.is_some(), "--max-size"),
            (arguments.settings.merge, "--merge"),
        ];
        if let Some((_, option)) = of_traces.iter().find(|(is_given, _)| *is_given) {
            bail!("{given} is a database, but {option} only applies to traces");
        }
        return Ok(FileKind::Database);
    }
    Ok(FileKind::Trace)
}

/// Refuses a trace that the folder already has, before the import.
fn refuse_present(
    arguments: &ExportArguments,
    kind: FileKind,
    folder: &Folder,
) -> anyhow::Result<()> {
    let (FileKind::Trace, [trace]) = (kind, arguments.traces.as_slice()) else {
        return Ok(());
    };
    // A pipe can be read only once.
    let is_known = trace.as_os_str() != "-" && trace.is_file();
    if arguments.force || !is_known || folder.is_empty() {
        return Ok(());
    }
    match timebase_import::trace_id(trace) {
        Ok(trace_id) if folder.has(&trace_id) => {
            let path = folder.path().to_owned();
            let present = timebase_export::Error::Exists { path, trace_id };
            Err(told(present, &arguments.traces))
        }
        // If it cannot be read, the import says why.
        _ => Ok(()),
    }
}

fn open(
    arguments: &ExportArguments,
    (kind, output): (FileKind, &Path),
    tables: &[&Table],
    schema: &Schema,
    signals: &Signals,
) -> anyhow::Result<Database> {
    let conversion = arguments.conversion.map(Into::into);
    if let (FileKind::Database, [given]) = (kind, arguments.traces.as_slice()) {
        let access = Access { is_strict: arguments.settings.strict, conversion, ..Access::ALL };
        return database::open_file(given, access);
    }
    let sources = arguments.traces.iter();
    let sources: Vec<Source> = sources.map(|trace| Source::from_arg(trace.as_os_str())).collect();
    let (subjects, keep_data) = needs(tables, schema)?;
    let mut options = arguments.settings.options();
    options.conversion = conversion.unwrap_or_default();
    options.keep_data = keep_data;
    options.subjects = subjects;
    options.views = Views::Named(tables.iter().map(|table| table.name.clone()).collect());
    let given = match arguments.traces.as_slice() {
        [trace] => trace,
        _ => Path::new("the temporary database"),
    };
    let (database, summary) =
        database::open_traces(given, &sources, &options, arguments.progress, signals)?;
    if !arguments.settings.merge
        && let Some(told) = unrelated::told("export", &arguments.traces, output, &summary.unrelated)
    {
        // The files of a single archive are probably meant to be together.
        match arguments.traces.as_slice() {
            [_] => messages::warning(told),
            _ => bail!(told),
        }
    }
    Ok(database)
}

/// The events that an import has to keep for tables, and whether it keeps the bytes of packets.
fn needs(tables: &[&Table], schema: &Schema) -> anyhow::Result<(Vec<Subject>, bool)> {
    let mut subjects = Vec::new();
    let mut keeps_data = false;
    for table in tables {
        let has_facts = FACTS.contains(&table.name.as_str());
        let reads = schema.reads(table)?;
        keeps_data |= reads.data() || has_facts;
        if has_facts || reads.tables().any(|name| OF_ALL.contains(&name)) {
            subjects = Subject::ALL.to_vec();
        }
        for read in reads.tables() {
            let threads = OF_THREADS.contains(&read).then_some(Subject::Threads);
            for subject in Subject::of_table(read).into_iter().chain(threads) {
                if !subjects.contains(&subject) {
                    subjects.push(subject);
                }
            }
        }
    }
    Ok((subjects, keeps_data))
}

/// The error, with advice.
fn told(error: timebase_export::Error, traces: &[PathBuf]) -> anyhow::Error {
    let advice = match &error {
        timebase_export::Error::Unreadable { error, .. } => guard::advice(error),
        _ => None,
    };
    let error = anyhow::Error::new(error);
    let error = match advice {
        Some(advice) => anyhow!("{error:#}; {advice}"),
        // The error keeps its type, so that an interruption is recognized.
        None => error,
    };
    match traces {
        [trace] => error.context(trace.display().to_string()),
        _ => error,
    }
}

/// The summary.
fn screen(
    arguments: &ExportArguments,
    output: &Path,
    summary: &Summary,
    elapsed: Duration,
) -> String {
    let source: Cow<'_, str> = match arguments.traces.as_slice() {
        [trace] if trace.as_os_str() == "-" => "standard input".into(),
        [trace] => trace.to_string_lossy(),
        traces => format!("{} files", traces.len()).into(),
    };
    let rows: u64 = summary.tables.iter().map(|(_, rows)| rows).sum();
    let filled = summary.tables.iter().filter(|(_, rows)| *rows > 0).count();
    let mut screen = format!("{source} → {}\n\n", output.display());
    let lines = [
        ("trace_id", summary.trace.id.clone()),
        ("tables", format!("{}, {filled} of them with rows", summary.tables.len())),
        ("rows", HumanCount(rows).to_string()),
        ("size", format!("{} of Parquet, in {elapsed:.1?}", HumanBytes(summary.bytes))),
    ];
    for (heading, text) in lines {
        let _ = writeln!(screen, "  {heading:<10}  {text}");
    }
    let largest = summary.tables.iter().max_by_key(|(_, rows)| *rows);
    let folder = output.to_string_lossy();
    // If the table or the folder would need quotation marks for a shell or SQL, there is no suggestion.
    if let (Some((table, _)), Cow::Borrowed(folder)) = (largest, crate::escape::quoted(&folder)) {
        let _ = write!(
            screen,
            "\nNext: duckdb -c \"SELECT trace_id, count(*) FROM '{folder}/{table}/*/*.parquet' GROUP BY trace_id\""
        );
    }
    screen
}

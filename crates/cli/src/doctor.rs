//! `timebase doctor`: problems with the clocks and the events of a trace, and remedies for its producer.
//!
//! # Design
//!
//! The findings are the view `finding` of the database, which is made of the checks in `schema/findings`.
//! This module only sorts and lays them out. So a query of the view, the program's output, and the groups
//! over a fleet of databases have the same findings.
//!
//! | question | where it is decided |
//! |---|---|
//! | the findings | `schema/findings` |
//! | the order of the findings | `doctor/findings.sql` |
//! | the numbers below them | `doctor/summary.sql` |
//! | names for the numbers of machines and files | `doctor/names.rs` |
//! | the layout | `doctor/page.rs` |
//!
//! A finding may fail the command. The findings are written in that case, too, because they are the result,
//! and the reason for the failure follows them. So this is no error of `run`, which would hold the result
//! back.

mod names;
mod page;

use std::io::Write;
use std::iter;

use anyhow::{Context, bail};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row};

use crate::database::{self, Access};
use crate::flags::{DoctorArguments, FailOn, Findings};
use crate::output::{self, Format, Results};
use crate::signals::Signals;
use crate::{hints, messages};
use names::Names;

const FINDINGS: &str = include_str!("doctor/findings.sql");
/// The columns of the output that are columns of the view.
const COLUMNS: [&str; 13] = [
    "check_name",
    "severity",
    "subject",
    "machine_id",
    "trace_file_id",
    "clock_id",
    "seq_id",
    "packet_id",
    "offset",
    "events",
    "worst_ns",
    "message",
    "advice",
];
const SUMMARY: &str = include_str!("doctor/summary.sql");

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Info,
    Warning,
    Error,
}

impl Severity {
    /// A word that the view does not have is from a database that was made up.
    fn of(word: &str) -> Severity {
        match word {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => Severity::Info,
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Severity::Error => "errors",
            Severity::Warning => "warnings",
            Severity::Info => "infos",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// A row of the view, as text that is safe for a terminal.
#[derive(Debug)]
struct Finding {
    /// All values of the row, as in the view.
    row: Vec<Value>,
    check: String,
    severity: Severity,
    subject: String,
    /// The file and the machine of the finding, if there are several.
    file: Option<String>,
    machine: Option<String>,
    packet: Option<i64>,
    offset: Option<i64>,
    events: Option<i64>,
    worst_ns: Option<i64>,
    message: String,
    advice: String,
}

impl Finding {
    fn of(row: &Row<'_>, names: &Names) -> rusqlite::Result<Finding> {
        let text = |name: &str| -> rusqlite::Result<String> {
            let text: Option<String> = row.get(name)?;
            let text = crate::escape::printable(&text.unwrap_or_default()).replace('\n', " ");
            Ok(names.in_text(&text))
        };
        let columns = 0..COLUMNS.len();
        Ok(Finding {
            row: columns.map(|index| row.get(index)).collect::<rusqlite::Result<_>>()?,
            check: text("check_name")?,
            severity: Severity::of(&text("severity")?),
            subject: text("subject")?,
            file: names.file(row.get("in_file")?),
            machine: names.machine(row.get("of_machine")?),
            packet: row.get("packet_id")?,
            offset: row.get("offset")?,
            events: row.get("events")?,
            worst_ns: row.get("worst_ns")?,
            message: text("message")?,
            advice: text("advice")?,
        })
    }
}

/// The clocks and the events of the trace in numbers.
#[derive(Debug)]
struct Summary {
    /// All values, as in the result.
    row: Vec<(String, Value)>,
    files: i64,
    machines: i64,
    clocks: i64,
    clocks_without_path: i64,
    snapshots: i64,
    span_ns: Option<i64>,
    largest_gap_ns: Option<i64>,
    on_trace_time: i64,
    unresolved: i64,
    kernel_events: i64,
    kernel_events_unresolved: i64,
    log_lines: i64,
    log_lines_unresolved: i64,
    events_dropped: i64,
    ends_misplaced: i64,
    drift: Option<(f64, String)>,
    worst_error_ns: Option<f64>,
    worst_error_nearest_ns: Option<f64>,
}

impl Summary {
    fn of(row: &Row<'_>, names: &Names) -> rusqlite::Result<Summary> {
        let drift: Option<f64> = row.get("largest_drift_ppm")?;
        let clocks: Option<String> = row.get("largest_drift_clocks")?;
        let columns = 0..row.as_ref().column_count();
        Ok(Summary {
            row: columns
                .map(|index| Ok((row.as_ref().column_name(index)?.to_owned(), row.get(index)?)))
                .collect::<rusqlite::Result<_>>()?,
            files: row.get("files")?,
            machines: row.get("machines")?,
            clocks: row.get("clocks")?,
            clocks_without_path: row.get("clocks_without_path")?,
            snapshots: row.get("snapshots")?,
            span_ns: row.get("snapshots_span_ns")?,
            largest_gap_ns: row.get("snapshots_largest_gap_ns")?,
            on_trace_time: row.get("packets_on_trace_time")?,
            unresolved: row.get("packets_unresolved")?,
            kernel_events: row.get("kernel_events")?,
            kernel_events_unresolved: row.get("kernel_events_unresolved")?,
            log_lines: row.get("log_lines")?,
            log_lines_unresolved: row.get("log_lines_unresolved")?,
            events_dropped: row.get("events_dropped")?,
            ends_misplaced: row.get("ends_misplaced")?,
            drift: drift
                .zip(clocks.map(|clocks| names.in_text(&crate::escape::printable(&clocks)))),
            worst_error_ns: row.get("worst_error_ns")?,
            worst_error_nearest_ns: row.get("worst_error_nearest_ns")?,
        })
    }
}

/// Writes the findings, and returns whether they let the command succeed.
pub fn run(
    arguments: &DoctorArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<anyhow::Result<()>> {
    let database = database::open(&arguments.source, Access::READINGS, signals)?;
    // A check cannot find anything in data that was left out.
    messages::warnings(&hints::left_out(&database, "ftrace_event android_logs flow"));
    let examined = signals.during_query(database.get_interrupt_handle(), || {
        let names =
            Names::read(&database).context("cannot read the tables of machines and files")?;
        let findings = findings(&database, &names).context("cannot read the view finding")?;
        let summary = summary(&database, &names).context("cannot read the tables of clocks")?;
        match arguments.format {
            Findings::Json => write_json(&findings, &summary, out)?,
            Findings::Table => page::write(&findings, &summary, output::terminal_width(), out)?,
            Findings::Markdown => page::write_markdown(&findings, &summary, out)?,
        }
        Ok::<_, anyhow::Error>(findings)
    });
    database.warn_if_changed();
    Ok(verdict(&examined?, arguments.fail_on))
}

fn findings(database: &Connection, names: &Names) -> rusqlite::Result<Vec<Finding>> {
    let mut statement = database.prepare(FINDINGS)?;
    let findings = statement.query_map([], |row| Finding::of(row, names))?;
    findings.collect()
}

fn summary(database: &Connection, names: &Names) -> rusqlite::Result<Summary> {
    database.query_row(SUMMARY, [], |row| Summary::of(row, names))
}

/// One document: `findings` has the rows of the view, `summary` has their numbers by severity and the numbers
/// about the clocks.
fn write_json(findings: &[Finding], summary: &Summary, out: &mut dyn Write) -> anyhow::Result<()> {
    out.write_all(b"{\"findings\":")?;
    let rows = findings.iter().map(|finding| &finding.row);
    json(COLUMNS.iter().copied(), rows, Format::Json, out)?;
    out.write_all(b",\"summary\":")?;
    let counts = [Severity::Error, Severity::Warning, Severity::Info].map(|severity| {
        let of = findings.iter().filter(|f| f.severity == severity);
        (severity.plural(), Value::Integer(of.count() as i64))
    });
    let numbers = summary.row.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let (names, row): (Vec<&str>, Vec<Value>) = counts.into_iter().chain(numbers).unzip();
    json(names.into_iter(), iter::once(&row), Format::Jsonl, out)?;
    Ok(out.write_all(b"}\n")?)
}

/// Rows as JSON, without the line feed that ends a document.
fn json<'a>(
    columns: impl Iterator<Item = &'a str>,
    rows: impl Iterator<Item = &'a Vec<Value>>,
    format: Format,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut text = Vec::new();
    let mut results = Results::new(format, output::Layout::Alone, None, &mut text);
    let mut sink = results.begin(None, columns.map(str::to_owned).collect())?;
    for row in rows {
        let row: Vec<ValueRef<'_>> = row.iter().map(ValueRef::from).collect();
        sink.row(&row)?;
    }
    sink.finish()?;
    drop(sink);
    results.finish()?;
    Ok(out.write_all(text.trim_ascii_end())?)
}

/// The reason why the command fails, if it does.
fn verdict(findings: &[Finding], fail_on: FailOn) -> anyhow::Result<()> {
    let least = match fail_on {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Never => return Ok(()),
    };
    let failing = findings.iter().filter(|f| f.severity >= least).count();
    let what = match (least, failing) {
        (_, 0) => return Ok(()),
        (Severity::Error, 1) => "is an error",
        (Severity::Error, _) => "are errors",
        (_, 1) => "is an error or a warning",
        (_, _) => "are errors or warnings",
    };
    let noun = if failing == 1 { "finding" } else { "findings" };
    bail!("{failing} {noun} {what} (--fail-on {})", least.word())
}

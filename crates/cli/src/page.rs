//! `timebase report`: a page about the clocks of a trace, for people to look at.
//!
//! # Design
//!
//! `timebase query --report NAME` runs a script and stays as it is; there was no command `report`
//! before. The page has the tables of all these scripts. Each script runs as in `query`, with the
//! defaults of its parameters and ten rows for each list.
//!
//! Without `-o` the page goes to a pipe, like any result, but not to a terminal, where nobody could
//! read it. The alternative was to write it beside the trace then, as `import` does with a
//! database. But nobody named that file, and it could not replace yesterday's without `--force`.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::anyhow;
use clap::ValueEnum;
use timebase_page::Table;

use crate::database::{self, Access, Database};
use crate::flags::{ReportArguments, wrong_usage};
use crate::guard;
use crate::output::file::{self, Existing};
use crate::parameters::{Parameter, Parameters};
use crate::progress::{Running, shown_running};
use crate::reports::Report;
use crate::script::Script;
use crate::signals::Signals;

/// The number of rows of a list, and the largest number of rows of any result.
const TOP: &str = "10";
const ROWS: usize = 20;

pub fn run(
    arguments: &ReportArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let output = arguments.output.as_deref();
    let file = output.filter(|path| path.as_os_str() != "-");
    let existing = Existing::forced(arguments.force);
    match file {
        Some(path) => {
            file::check(path, &arguments.source)?;
            existing.check(path)?;
        }
        None if output.is_none() && io::stdout().is_terminal() => wrong_usage(
            "report",
            "cannot show a page on a terminal; name a file with -o report.html",
        ),
        None => {}
    }
    let access = Access {
        to_data: false,
        conversion: arguments.conversion.map(Into::into),
        is_strict: arguments.strict,
        ..Access::ALL
    };
    let database = database::open(&arguments.source, access, signals)?;
    let page = signals.during_query(database.get_interrupt_handle(), || {
        shown_running(|running| page(&database, &name(&arguments.source), running))
    });
    database.warn_if_changed();
    let page = page?;
    match file {
        Some(path) => {
            file::write(path, existing, signals, |out| Ok(out.write_all(page.as_bytes())?))
        }
        None => Ok(out.write_all(page.as_bytes())?),
    }
}

/// The name of a trace or database on pages: its file name.
pub fn name(source: &Path) -> String {
    if source == OsStr::new("-") {
        return "standard input".to_owned();
    }
    let name = source.file_name().unwrap_or(source.as_os_str());
    name.to_string_lossy().into_owned()
}

fn page(database: &Database, name: &str, shown: &Running) -> anyhow::Result<String> {
    let mut reports = Vec::new();
    // The report about events without a time comes first; the others come at the end.
    let last = Report::value_variants().iter().filter(|report| **report != Report::Unplaced);
    for report in [Report::Unplaced].iter().chain(last) {
        if !has_subject(database, *report)? {
            continue;
        }
        shown.begin(format!("report {}", report.name()));
        let tables = tables(database, *report).map_err(|error| {
            let what = format!("cannot run the report {}", report.name());
            told(what, error)
        })?;
        if !tables.is_empty() {
            reports.push(timebase_page::Report {
                name: report.name(),
                title: report.about(),
                is_folded: *report != Report::Unplaced,
                tables,
            });
        }
    }
    shown.begin("clocks".to_owned());
    timebase_page::html(database, name, &reports).map_err(|error| match error {
        timebase_page::Error::Unreadable { what, error } => {
            told(format!("cannot read the {what} of {name}"), error.into())
        }
        other => other.into(),
    })
}

/// Whether the trace has the subject of a report. A report without its subject has rows that say
/// so, which are for users who asked for the report.
fn has_subject(database: &Database, report: Report) -> anyhow::Result<bool> {
    let table = match report {
        Report::ClockHealth | Report::Unplaced => return Ok(true),
        Report::TimeSpent | Report::SchedLatency => "sched_record",
        Report::Slices => "slice_record",
        Report::Flows => "flow",
        Report::Counters => "counter_record",
        Report::CpuProfile => "stack_sample_record",
        Report::HeapProfile => "heap_profile_allocation_record",
        Report::JavaHeap => "heap_graph_object_record",
    };
    let sql = format!("SELECT EXISTS (SELECT * FROM {table})");
    Ok(database.query_row(&sql, [], |row| row.get(0))?)
}

/// The error: its context, SQLite's message, and advice.
fn told(what: String, error: anyhow::Error) -> anyhow::Error {
    let advice = error.downcast_ref().and_then(guard::advice);
    match advice {
        Some(advice) => anyhow!("{what}: {error:#}; {advice}"),
        // The error keeps its type, so that an interruption is recognized.
        None => error.context(what),
    }
}

/// The results of a report that have rows.
fn tables(database: &Database, report: Report) -> anyhow::Result<Vec<Table>> {
    let script = Script::parse(report.sql());
    let takes_top = script.declared.iter().any(|declared| declared.name == "top");
    let top = takes_top.then(|| Parameter { name: "top".to_owned(), value: TOP.to_owned() });
    let mut parameters = Parameters::of(&script, top.as_slice())?;
    parameters.resolve(database)?;
    // The tables of a report are removed before the next report, which may use the same names.
    database.execute_batch("SAVEPOINT report")?;
    // If one report fails, there is no page, and no next report.
    let tables = results(database, &script, &parameters)?;
    database.execute_batch("ROLLBACK TO report; RELEASE report")?;
    Ok(tables)
}

fn results(
    database: &Database,
    script: &Script<'_>,
    parameters: &Parameters,
) -> anyhow::Result<Vec<Table>> {
    let mut tables = Vec::new();
    for part in &script.statements {
        let mut statement = database.prepare(part.sql)?;
        parameters.bind(&mut statement)?;
        let table = Table::read(&mut statement, part.title.as_deref(), ROWS)?;
        if table.rows() > 0 {
            tables.push(table);
        }
    }
    Ok(tables)
}

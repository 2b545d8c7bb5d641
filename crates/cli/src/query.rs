//! `timebase query`: runs statements, and writes their results.
//!
//! # Design
//!
//! The temporary database of a trace only has the views that the statements name. SQLite reads all views when it opens
//! a database: that takes a third of the time of a small trace's query, and a fleet has thousands of traces. The words
//! of the statements show which views they name, and an unnecessary word does no harm.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use timebase_import::Views;
use timebase_sql::perfetto::may_be_dialect;

use crate::database::{self, Access, Database};
use crate::flags::{QueryArguments, QueryFormat, wrong_usage};
use crate::output::file::Existing;
use crate::output::{self, Results, file, stream};
use crate::parameters::{Parameters, WrongDefault};
use crate::progress::Running;
use crate::reports::Report;
use crate::script::Script;
use crate::signals::Signals;
use crate::{dialect, hints, messages, progress, statements};

pub fn run(
    arguments: &QueryArguments,
    signals: &Signals,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    // Before a trace is imported, which may take a while.
    let sql = read_sql(arguments)?;
    let script = Script::parse(&sql);
    let parameters = named(arguments, Parameters::of(&script, &arguments.parameters));
    let mut parameters = match parameters {
        Err(error) if !error.is::<WrongDefault>() => wrong_usage("query", &format!("{error:#}")),
        parameters => parameters?,
    };
    let output = arguments.output.as_deref().filter(|path| path.as_os_str() != "-");
    if let Some(output) = output {
        file::check(output, &arguments.source)?;
    }
    let format = format(arguments, output.is_some());
    let access = Access {
        is_writing: arguments.write,
        is_strict: arguments.strict,
        conversion: arguments.conversion.map(Into::into),
        names: Some(&arguments.names),
        ..Access::ALL
    };
    let database = database::open_for(&arguments.source, access, || views(&sql), signals)?;
    named(arguments, parameters.resolve(&database))?;
    // A table lists the modules of the folders.
    if may_be_dialect(&sql) || !arguments.packages.folders.is_empty() {
        dialect::add_packages(&database, &arguments.packages.folders, arguments.file.as_deref())?;
    }
    let asked = Asked {
        arguments,
        script: &script,
        parameters: &parameters,
        format,
        database: &database,
        signals,
    };
    let written = progress::shown_running(|running| asked.write(output, running, out));
    database.warn_if_changed();
    written?;
    // If the import left something out, another message says so.
    let is_whole = hints::left_out(&database, &sql).is_empty();
    if let Some(report) = arguments.report.filter(|_| is_whole)
        && let Some(lacks) = report.lacks(&database)?
    {
        messages::warning(lacks);
    } else if let Some(report) = arguments.report
        && let Some(process) = report.unknown_process(&arguments.parameters, &database)?
    {
        messages::warning(format_args!(
            "--param process={process}: the trace has no such process; a name can be a pattern ('*'), or give its pid"
        ));
    }
    database.warn_of_pending_changes();
    database.leave();
    Ok(())
}

/// The statements that run, and the form of their results.
struct Asked<'a> {
    arguments: &'a QueryArguments,
    script: &'a Script<'a>,
    parameters: &'a Parameters,
    format: QueryFormat,
    database: &'a Database,
    signals: &'a Signals,
}

impl Asked<'_> {
    /// Runs the statements, and writes their results to a file, or to standard output.
    fn write(
        &self,
        output: Option<&Path>,
        running: &Running,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        running.begin(match self.arguments.report {
            Some(report) => format!("report {}", report.name()),
            None => "query".to_owned(),
        });
        let width = output::terminal_width();
        match output {
            Some(path) => file::write(path, Existing::Replace, self.signals, |out| {
                self.run(running, (None, false), out)
            }),
            None if streams(self.arguments, self.format) => {
                let handle = self.database.get_interrupt_handle();
                stream::during(running, &handle, |out| self.run(running, (width, true), out))
            }
            None if width.is_some() => self.run(running, (width, false), &mut running.before(out)),
            // It is held back until the end.
            None => self.run(running, (None, false), out),
        }
    }

    /// Runs the statements, for a terminal of this width if there is one; `is_streamed` if `out` shows each row.
    fn run(
        &self,
        running: &Running,
        (terminal, is_streamed): (Option<u16>, bool),
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let (database, script, parameters) = (self.database, self.script, self.parameters);
        let handle = database.get_interrupt_handle();
        let result = self.signals.during_query(handle, || match self.format {
            QueryFormat::Rows(format) => {
                let layout = statements::layout(script, format);
                let results = Results::new(format, layout, terminal, out).streamed(is_streamed);
                statements::run_script(database, script, parameters, results, running)
                    .map(|()| running.rows())
            }
            QueryFormat::Parquet => {
                statements::run_parquet(database, script, parameters, out, running)
            }
        });
        running.end();
        database.tell_changes();
        let rows = named(self.arguments, result)?;
        ensure!(
            rows > 0 || !self.arguments.fail_if_empty,
            "all results are empty (--fail-if-empty)"
        );
        Ok(())
    }
}

/// Whether rows go to standard output while more rows follow. If statements change the database, all of them have to
/// run, even if nobody reads the rows.
fn streams(arguments: &QueryArguments, format: QueryFormat) -> bool {
    let can_stream = matches!(format, QueryFormat::Rows(format) if format.can_stream());
    can_stream && !arguments.write && !output::is_to_file()
}

/// The format of results. Parquet is refused on a terminal.
fn format(arguments: &QueryArguments, to_file: bool) -> QueryFormat {
    let format = arguments.format();
    let format = format.unwrap_or_else(|message| wrong_usage("query", &message));
    if !to_file && format == QueryFormat::Parquet && io::stdout().is_terminal() {
        wrong_usage(
            "query",
            "cannot show Parquet on a terminal; name a file with -o result.parquet",
        );
    }
    format
}

/// The views of an import that statements can read: the views that they name, or all views if
/// they query names, or call a function, which may read any view.
fn views(sql: &str) -> anyhow::Result<Views> {
    if may_be_dialect(sql) {
        return Ok(Views::All);
    }
    let functions = database::functions()?;
    let words = hints::words(sql);
    let may_read_any = |word: &&str| {
        let word = word.to_ascii_lowercase();
        word.starts_with("sqlite_") || word.starts_with("pragma") || functions.contains(&word)
    };
    Ok(match words.iter().any(may_read_any) {
        true => Views::All,
        false => Views::Named(words.into_iter().map(str::to_owned).collect()),
    })
}

/// Adds the name of the file or report to an error, if there is one.
fn named<T>(arguments: &QueryArguments, result: anyhow::Result<T>) -> anyhow::Result<T> {
    let file = arguments.file.as_deref().filter(|file| file.as_os_str() != "-");
    let report = arguments.report.map(Report::name);
    match file.map(|file| file.display().to_string()).or(report) {
        Some(name) => result.context(name),
        None => result,
    }
}

fn read_sql(arguments: &QueryArguments) -> anyhow::Result<String> {
    let (file, text) = (arguments.file.as_deref(), arguments.sql.as_deref());
    if text == Some("-") || file == Some("-".as_ref()) {
        if arguments.source.as_os_str() == OsStr::new("-") {
            wrong_usage(
                "query",
                "the trace and the statements cannot both come from standard input",
            );
        }
        let mut sql = String::new();
        io::stdin()
            .read_to_string(&mut sql)
            .context("cannot read statements from standard input")?;
        return Ok(sql);
    }
    if let Some(report) = arguments.report {
        return Ok(report.sql().to_owned());
    }
    match file {
        Some(file) => fs::read_to_string(file)
            .with_context(|| format!("cannot read statements from {}", file.display())),
        None => Ok(text.unwrap_or_default().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_ask_for_names_or_call_functions_have_all_views() {
        for sql in [
            "SELECT name FROM sqlite_schema",
            "SELECT name FROM SQLITE_MASTER",
            "PRAGMA table_list",
            "SELECT * FROM pragma_table_info('slice')",
            "SELECT Extract_Arg(arg_set_id, 'a') FROM slice",
            "SELECT * FROM ancestor_slice(7)",
        ] {
            assert_eq!(views(sql).expect("SQLite tells"), Views::All, "{sql}");
        }
        let named = ["SELECT", "ts", "FROM", "Slice"].map(str::to_owned).to_vec();
        let views = views("SELECT ts FROM \"Slice\"").expect("SQLite tells");
        assert_eq!(views, Views::Named(named));
    }
}

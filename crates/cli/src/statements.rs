//! Runs the statements of a text in order.

use std::io::Write;

use anyhow::{anyhow, ensure};
use rusqlite::ErrorCode;
use rusqlite::types::ValueRef;

use crate::database::Database;
use crate::dialect::{self, Form};
use crate::output::{Format, Layout, Results};
use crate::parameters::Parameters;
use crate::progress::Running;
use crate::script::{self, Script};
use crate::{hints, messages};

const INTERRUPTED: ErrorCode = ErrorCode::OperationInterrupted;

/// Runs every statement of `text` and writes its rows, if it has any. Each result is written as if it was the
/// only one.
///
/// `terminal` is the width of the terminal for `out`, if it is a terminal.
pub fn run(
    database: &Database,
    text: &str,
    format: Format,
    terminal: Option<u16>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut results = Results::new(format, Layout::Alone, terminal, out);
    let (script, parameters) = (Script::parse(text), Parameters::default());
    let running = Running::default();
    run_all(database, &script, &parameters, &mut results, &running)
}

/// The layout of a script's results, which are parts of one document.
///
/// It follows from the script's text and not from the results of its statements, because a reader of the
/// document has to know its form. So a script is either one statement without a title, or anything else.
pub fn layout(script: &Script<'_>, format: Format) -> Layout {
    match script.statements.as_slice() {
        [] => Layout::Alone,
        [only] if only.title.is_none() => Layout::Alone,
        // A file of rows has no titles.
        [_] if format == Format::Csv => Layout::Alone,
        _ => Layout::Together,
    }
}

/// Runs the statements of a script. `running` counts the rows in all results.
pub fn run_script(
    database: &Database,
    script: &Script<'_>,
    parameters: &Parameters,
    mut results: Results<'_>,
    running: &Running,
) -> anyhow::Result<()> {
    run_all(database, script, parameters, &mut results, running)?;
    Ok(results.finish()?)
}

/// Runs the statements of a script of which one has a result, and writes this result as Parquet. Returns the number of
/// its rows.
pub fn run_parquet(
    database: &Database,
    script: &Script<'_>,
    parameters: &Parameters,
    out: &mut dyn Write,
    running: &Running,
) -> anyhow::Result<u64> {
    let several = script.statements.len() > 1;
    let mut written = None;
    for (index, part) in script.statements.iter().enumerate() {
        if several {
            running.step(index + 1, script.statements.len());
        }
        let place = match several {
            true => format!("{}: ", script::place(index, part.title.as_deref())),
            false => String::new(),
        };
        let sql = part.sql;
        let rows = database.during(|| {
            let form = dialect::form(database, sql, &place, parameters)?;
            let (sql, describe) = match &form {
                Form::Ran => return Ok(None),
                form => (form.text(sql), |error| failure(database, form, &error, sql, &place)),
            };
            let mut statement = database.prepare(sql).map_err(describe)?;
            parameters
                .bind(&mut statement)
                .map_err(|error| anyhow!("{place}{error:#}\n{}", excerpt(sql, None)))?;
            if statement.column_count() == 0 {
                let mut rows = statement.raw_query();
                while rows.next().map_err(describe)?.is_some() {}
                return Ok(None);
            }
            ensure!(
                written.is_none(),
                "{place}this is the second statement with a result, but a Parquet file can only hold one"
            );
            let types = timebase_export::declared_types(database, sql).map_err(describe)?;
            let rows = timebase_export::write_result(&mut statement, &types, out);
            rows.map(Some).map_err(|error| match error {
                timebase_export::Error::Unreadable { error, .. } => describe(error),
                other => other.into(),
            })
        })?;
        written = written.or(rows);
    }
    running.end();
    let asked: Vec<&str> = script.statements.iter().map(|part| part.sql).collect();
    messages::warnings(&hints::left_out(database, &asked.join("\n")));
    dialect::tell_notes(database, asked.last().copied().unwrap_or_default());
    written.ok_or_else(|| anyhow!("no statement has a result for the Parquet file"))
}

/// A step through the rows of a statement.
pub enum Step<'a> {
    /// The names of its columns.
    Columns(&'a [&'a str]),
    /// The values of a row.
    Row(&'a [ValueRef<'a>]),
}

/// Runs the statements of a script, and gives the rows of the last one to `each`.
pub fn rows_of(
    database: &Database,
    script: &Script<'_>,
    each: &mut dyn FnMut(Step<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let parameters = Parameters::default();
    let count = script.statements.len();
    for (index, part) in script.statements.iter().enumerate() {
        let place = match count {
            1 => String::new(),
            _ => format!("{}: ", script::place(index, part.title.as_deref())),
        };
        let part = Part { sql: part.sql, place: &place, title: None };
        let is_last = index + 1 == count;
        match is_last {
            true => step_through(database, part, &parameters, Rows::Needed(each))?,
            false => step_through(database, part, &parameters, Rows::Ignored)?,
        }
    }
    ensure!(count > 0, "there is no statement");
    Ok(())
}

/// Runs the statements of a script, and gives the rows of the tracks that its comments state to `each`, with their
/// names.
pub fn tracks_of(
    database: &Database,
    script: &Script<'_>,
    each: &mut dyn FnMut(&str, Step<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut parameters = Parameters::of(script, &[])?;
    parameters.resolve(database)?;
    // Another script may make tables of the same names.
    database.execute_batch("SAVEPOINT tracks")?;
    for (index, part) in script.statements.iter().enumerate() {
        for track in &part.tracks {
            let place = format!("the track {}: ", track.name);
            let part = Part { sql: track.sql, place: &place, title: None };
            let mut each = |step: Step<'_>| each(track.name, step);
            step_through(database, part, &parameters, Rows::Needed(&mut each))?;
        }
        let place = format!("{}: ", script::place(index, part.title.as_deref()));
        // The lists of a report are no tables that a track could read.
        if part.title.is_none() {
            let part = Part { sql: part.sql, place: &place, title: None };
            step_through(database, part, &parameters, Rows::Ignored)?;
        }
    }
    database.execute_batch("ROLLBACK TO tracks; RELEASE tracks")?;
    Ok(())
}

/// The receiver of a statement's rows.
enum Rows<'e> {
    Ignored,
    Needed(&'e mut dyn FnMut(Step<'_>) -> anyhow::Result<()>),
}

/// Runs a statement. One whose rows are needed, and that can have none, is refused before it runs.
fn step_through(
    database: &Database,
    Part { sql, place, .. }: Part<'_>,
    parameters: &Parameters,
    mut each: Rows<'_>,
) -> anyhow::Result<()> {
    let no_rows = || anyhow!("{place}the last statement has no rows");
    let form = dialect::form(database, sql, place, parameters)?;
    if matches!(form, Form::Ran) {
        return match each {
            Rows::Ignored => Ok(()),
            Rows::Needed(_) => Err(no_rows()),
        };
    }
    let describe = |error| failure(database, &form, &error, sql, place);
    let mut statement = database.prepare(form.text(sql)).map_err(describe)?;
    parameters
        .bind(&mut statement)
        .map_err(|error| anyhow!("{place}{error:#}\n{}", excerpt(sql, None)))?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    if let Rows::Needed(each) = &mut each {
        if columns.is_empty() {
            return Err(no_rows());
        }
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        each(Step::Columns(&columns))?;
    }
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(describe)? {
        if let Rows::Needed(each) = &mut each {
            let values = (0..columns.len())
                .map(|index| row.get_ref(index))
                .collect::<rusqlite::Result<Vec<_>>>()
                .map_err(describe)?;
            each(Step::Row(&values))?;
        }
    }
    Ok(())
}

fn run_all(
    database: &Database,
    script: &Script<'_>,
    parameters: &Parameters,
    results: &mut Results<'_>,
    running: &Running,
) -> anyhow::Result<()> {
    let count = script.statements.len();
    // If a statement has no result, the next one gets its title.
    let mut title = None;
    for (index, statement) in script.statements.iter().enumerate() {
        title = statement.title.as_deref().or(title);
        let place = if count > 1 {
            running.step(index + 1, count);
            format!("{}: ", script::place(index, title))
        } else {
            String::new()
        };
        let part = Part { sql: statement.sql, place: &place, title };
        let has_result =
            database.during(|| run_one(database, part, parameters, results, running))?;
        if has_result {
            title = None;
        }
    }
    let asked: Vec<&str> = script.statements.iter().map(|statement| statement.sql).collect();
    running.end();
    messages::warnings(&hints::left_out(database, &asked.join("\n")));
    dialect::tell_notes(database, asked.last().copied().unwrap_or_default());
    Ok(())
}

/// A statement among others.
struct Part<'s> {
    sql: &'s str,
    /// Its position in the script, for errors.
    place: &'s str,
    title: Option<&'s str>,
}

/// Returns whether the statement has a result.
fn run_one(
    database: &Database,
    Part { sql, place, title }: Part<'_>,
    parameters: &Parameters,
    results: &mut Results<'_>,
    running: &Running,
) -> anyhow::Result<bool> {
    let form = dialect::form(database, sql, place, parameters)?;
    if matches!(form, Form::Ran) {
        return Ok(false);
    }
    let describe = |error| failure(database, &form, &error, sql, place);
    let sql = form.text(sql);
    let mut statement = database.prepare(sql).map_err(describe)?;
    parameters
        .bind(&mut statement)
        .map_err(|error| anyhow!("{place}{error:#}\n{}", excerpt(sql, None)))?;
    let count = statement.column_count();
    let columns = (0..count)
        .map(|index| statement.column_name(index).map(str::to_owned))
        .collect::<rusqlite::Result<Vec<_>>>()
        .map_err(describe)?;
    let mut rows = statement.raw_query();
    if count == 0 {
        while rows.next().map_err(describe)?.is_some() {}
        return Ok(false);
    }
    let is_streamed = results.is_streamed();
    let mut sink = results.begin(title, columns)?;
    while let Some(row) = rows.next().map_err(describe)? {
        let values = (0..count)
            .map(|index| row.get_ref(index))
            .collect::<rusqlite::Result<Vec<_>>>()
            .map_err(describe)?;
        sink.row(&values)?;
        running.count_row();
        if is_streamed {
            sink.show()?;
        }
    }
    sink.finish()?;
    Ok(true)
}

/// The message about an error of SQLite. It shows the statement as it was written, even if macros changed it.
fn failure(
    database: &Database,
    form: &Form,
    error: &rusqlite::Error,
    sql: &str,
    place: &str,
) -> anyhow::Error {
    let advice = database.advice(error);
    let described = match form {
        Form::Other(translated) if error.sqlite_error_code() != Some(INTERRUPTED) => {
            anyhow!("{place}{}", translated.explain(error))
        }
        _ => describe(error, advice, sql, place),
    };
    hints::with_hint(database, described, sql)
}

/// SQLite's message, advice and, below it, the statement, with a mark at the place that SQLite names.
fn describe(
    error: &rusqlite::Error,
    advice: Option<String>,
    sql: &str,
    place: &str,
) -> anyhow::Error {
    use rusqlite::Error::{SqlInputError, SqliteFailure};

    let (message, offset) = match error {
        SqlInputError { msg, offset, .. } => (msg.clone(), usize::try_from(*offset).ok()),
        SqliteFailure(_, Some(message)) => (message.clone(), None),
        other => (other.to_string(), None),
    };
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return anyhow!("interrupted");
    }
    let advice = advice.map_or_else(String::new, |advice| format!(": {advice}"));
    anyhow!("{place}{message}{advice}\n{}", excerpt(sql, offset))
}

/// The line of the statement with `offset`, or the first line.
fn excerpt(sql: &str, offset: Option<usize>) -> String {
    /// The width that fits beside the indentation in a terminal of 80 columns.
    const WIDTH: usize = 76;

    let offset = offset.filter(|offset| sql.is_char_boundary(*offset));
    let start =
        offset.and_then(|offset| sql[..offset].rfind('\n')).map_or(0, |newline| newline + 1);
    let line = sql[start..].lines().next().unwrap_or_default();
    let column = offset.map(|offset| sql[start..offset].chars().count());
    let skipped = column.map_or(0, |column| column.saturating_sub(WIDTH - 20));
    let shown: String = line
        .chars()
        .skip(skipped)
        .take(WIDTH)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    match column {
        Some(column) => format!("  {shown}\n  {:>width$}", '^', width = column - skipped + 1),
        None => format!("  {shown}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn an_error_shows_where_it_is() {
        let database = Database::from(Connection::open_in_memory().expect("in memory"));
        let message = |sql| {
            let mut out = Vec::new();
            run(&database, sql, Format::Csv, None, &mut out).expect_err("is wrong").to_string()
        };
        assert_eq!(
            message("SELECT missing FROM sqlite_schema"),
            "no such column: missing\n  SELECT missing FROM sqlite_schema\n         ^"
        );
        assert_eq!(
            message("SELECT 1;\nSELECT 1,\n  x;"),
            "statement 2: no such column: x\n    x;\n    ^"
        );
    }
}

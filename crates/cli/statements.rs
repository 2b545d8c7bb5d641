//! Running the statements of a text in order.

use std::io::Write;

use anyhow::{Context, anyhow};
use rusqlite::{Connection, ErrorCode};

use crate::output::{Format, Layout, Results};
use crate::parameters::Parameters;
use crate::script::{self, Script};

const UNWRITABLE: &str = "cannot write the result";

/// Runs every statement of `text` and writes its rows, if it has any. Each result
/// is written as if it was the only one.
pub fn run(
    connection: &Connection,
    text: &str,
    format: Format,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut results = Results::new(format, Layout::Alone, out);
    run_all(
        connection,
        &Script::parse(text),
        &Parameters::default(),
        &mut results,
    )
}

/// Runs the statements of a script, whose results are parts of one document.
///
/// What that is follows from the script's text and not from what its statements
/// find: who reads the document has to know its shape. So a script is one
/// statement without a title, or anything else.
pub fn run_script(
    connection: &Connection,
    script: &Script<'_>,
    parameters: &Parameters,
    format: Format,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let layout = match script.statements.as_slice() {
        [] => Layout::Alone,
        [only] if only.title.is_none() => Layout::Alone,
        // A title is no part of a file of rows.
        [_] if format == Format::Csv => Layout::Alone,
        _ => Layout::Together,
    };
    let mut results = Results::new(format, layout, out);
    run_all(connection, script, parameters, &mut results)?;
    results.finish().context(UNWRITABLE)
}

fn run_all(
    connection: &Connection,
    script: &Script<'_>,
    parameters: &Parameters,
    results: &mut Results<'_>,
) -> anyhow::Result<()> {
    let several = script.statements.len() > 1;
    // A statement without a result leaves its title to the next one.
    let mut title = None;
    for (index, statement) in script.statements.iter().enumerate() {
        title = statement.title.as_deref().or(title);
        let place = if several {
            format!("{}: ", script::place(index, title))
        } else {
            String::new()
        };
        let has_result = run_one(
            connection,
            statement.sql,
            &place,
            title,
            parameters,
            results,
        )?;
        if has_result {
            title = None;
        }
    }
    Ok(())
}

/// Returns whether the statement has a result, be it without rows.
fn run_one(
    connection: &Connection,
    sql: &str,
    place: &str,
    title: Option<&str>,
    parameters: &Parameters,
    results: &mut Results<'_>,
) -> anyhow::Result<bool> {
    let describe = |error| describe(&error, sql, place);
    let mut statement = connection.prepare(sql).map_err(describe)?;
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
    let mut sink = results.begin(title, columns).context(UNWRITABLE)?;
    while let Some(row) = rows.next().map_err(describe)? {
        let values = (0..count)
            .map(|index| row.get_ref(index))
            .collect::<rusqlite::Result<Vec<_>>>()
            .map_err(describe)?;
        sink.row(&values).context(UNWRITABLE)?;
    }
    sink.finish().context(UNWRITABLE)?;
    Ok(true)
}

/// SQLite's message and, beneath it, the statement, with a mark at the place
/// that SQLite names.
fn describe(error: &rusqlite::Error, sql: &str, place: &str) -> anyhow::Error {
    use rusqlite::Error::{SqlInputError, SqliteFailure};

    let (message, offset) = match error {
        SqlInputError { msg, offset, .. } => (msg.clone(), usize::try_from(*offset).ok()),
        SqliteFailure(_, Some(message)) => (message.clone(), None),
        other => (other.to_string(), None),
    };
    if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
        return anyhow!("interrupted");
    }
    anyhow!("{place}{message}\n{}", excerpt(sql, offset))
}

/// The line of the statement that `offset` is on, or the first one.
fn excerpt(sql: &str, offset: Option<usize>) -> String {
    /// What fits beside the indentation in a terminal of 80 columns.
    const WIDTH: usize = 76;

    let offset = offset.filter(|offset| sql.is_char_boundary(*offset));
    let start = offset
        .and_then(|offset| sql[..offset].rfind('\n'))
        .map_or(0, |newline| newline + 1);
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

    #[test]
    fn an_error_shows_where_it_is() {
        let connection = Connection::open_in_memory().expect("in memory");
        let message = |sql| {
            let mut out = Vec::new();
            run(&connection, sql, Format::Csv, &mut out)
                .expect_err("is wrong")
                .to_string()
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

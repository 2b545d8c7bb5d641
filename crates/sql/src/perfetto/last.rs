//! Scripts: all statements run, and the last one with rows is what they return.

use std::sync::Arc;

use rusqlite::Connection;

use super::dialect::is_call;
use super::engine::{Engine, Step};
use super::expand::Sql;
use super::prepared::Bound;
use super::script::{Raw, Statements};
use super::source::Source;
use crate::error::{Error, Result};
use crate::query::quoted;

/// Tables with the rows of a statement that others follow: this name, and a number.
const KEPT: &str = "__timebase_result";

/// A script that has run up to its last statement with rows.
pub struct Finished {
    /// The number of its statements.
    pub statements: usize,
    /// The last one that has rows. It has not run yet.
    pub last: Option<Sql>,
}

/// Runs a script. A statement with rows that is not the last of them runs to its end, and nobody
/// sees the rows.
///
/// # Errors
///
/// Those of the statements. Statements before the wrong one have run.
pub fn run(engine: &Engine<'_>, conn: &Connection, script: &str) -> Result<Finished> {
    let source = Source::new(None, script);
    let raws: Vec<Raw> = Statements::of(script).collect();
    let later_query = raws.iter().rposition(|raw| raw.is_query && !is_call(&source, *raw));
    let mut finished = Finished { statements: raws.len(), last: None };
    for (index, raw) in raws.iter().enumerate() {
        let Step::Sql(sql) = engine.step(&source, *raw)? else {
            continue;
        };
        let is_end = index.checked_add(1) == Some(raws.len());
        let follows = later_query.is_some_and(|later| later > index);
        if let Some(last) = one(conn, sql, is_end, follows, &source)? {
            finished.last = Some(last);
        }
    }
    Ok(finished)
}

/// Runs one statement, unless it is the last one and has rows.
fn one(
    conn: &Connection,
    sql: Sql,
    is_end: bool,
    follows: bool,
    source: &Arc<Source>,
) -> Result<Option<Sql>> {
    let Some(mut prepared) = Bound::of(conn, &sql)? else {
        return Ok(None);
    };
    let fail = |error: Error| match error.is_interrupt() {
        true => error,
        false => sql.explain(error.message(), None),
    };
    let has_rows = prepared.column_count() > 0;
    if has_rows && is_end {
        return Ok(Some(sql));
    }
    if let Some(name) = prepared.parameters().first() {
        let name = name.as_deref().unwrap_or("?");
        return Err(sql.explain(
            &format!("{name} has no value: only a statement with rows at the end of a script can have parameters"),
            None,
        ));
    }
    if has_rows
        && !follows
        && prepared.is_read_only()
        && let Some(kept) = keep(conn, &sql)?
    {
        let kept = Source::new(source.name.clone(), &format!("SELECT * FROM temp.{kept}"));
        let pieces = super::expand::pieces(&kept, 0, kept.text.len());
        return Ok(Some(Sql::of(&pieces)));
    }
    while prepared.step().map_err(fail)? {}
    Ok(None)
}

/// Makes a table of the rows of a statement, because what follows may change what it reads. `None`
/// if no table can be made from it, as from a PRAGMA.
fn keep(conn: &Connection, sql: &Sql) -> Result<Option<String>> {
    let like = format!("{KEPT}*");
    let kept = "SELECT name FROM sqlite_temp_schema WHERE name GLOB ?1";
    let kept: Vec<String> = conn
        .prepare(kept)?
        .query_map([&like], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut number: usize = 0;
    for name in kept {
        let drop = format!("DROP TABLE temp.{}", quoted(&name));
        if conn.execute_batch(&drop).is_err() {
            // A client has not read all of it yet.
            let of_name = name.strip_prefix(KEPT).and_then(|end| end.parse().ok());
            number = number.max(of_name.unwrap_or(number));
        }
    }
    let name = quoted(&format!("{KEPT}{}", number.saturating_add(1)));
    let make = format!("CREATE TEMP TABLE {name} AS {}", sql.text);
    let Ok(mut make) = conn.prepare(&make) else {
        return Ok(None);
    };
    make.execute([]).map_err(|error| {
        let error = Error::from(error);
        match error.is_interrupt() {
            true => error,
            false => sql.explain(error.message(), None),
        }
    })?;
    Ok(Some(name))
}

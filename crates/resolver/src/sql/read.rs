//! Reads tables that anybody may have made: the limit for rows, and the errors for wrong ones.

use std::ops::ControlFlow;

use timebase_sql::{Database, Error, Result, Row};

/// The largest number of readings: those of six clocks every ten seconds for five months. They take
/// less than 2 GiB of memory, whatever they are.
pub(super) const MOST: usize = if cfg!(test) {
    1 << 15 // which a test reaches quickly
} else {
    1 << 23
};

/// The integer that a query returns; `None` without one.
pub(super) fn integer<D: Database + ?Sized>(database: &D, sql: &str) -> Result<Option<i64>> {
    let mut value = None;
    database.query(sql, |row| {
        value = Some(row.integer(0, "value")?);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(value)
}

/// The error for a row whose file does not exist.
pub(super) fn no_file(column: &str, file: Option<u32>) -> String {
    let file = file.unwrap_or_default();
    format!("{column} must be a file that trace_file has as read, not {file}")
}

/// Reads rows of a table that may not exist; returns whether it exists.
pub(super) fn each_row<D: Database + ?Sized>(
    database: &D,
    table: &str,
    sql: &str,
    mut each: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<bool> {
    let mut rows = 0;
    let read = database.query(sql, |row| {
        if rows == MOST {
            return Err(Error::new(format_args!("{table} has more than {MOST} rows")));
        }
        rows += 1;
        let wrong = |error: Error| Error::new(format_args!("{table}: {error}"));
        each(row).map_err(wrong).map(ControlFlow::Continue)
    });
    match read {
        Err(error) if error.message().starts_with("no such") => Ok(false),
        read => read.map(|()| true),
    }
}

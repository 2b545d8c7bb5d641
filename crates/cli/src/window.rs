//! The part of a trace that the arguments of a cut name.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use rusqlite::{Connection, OptionalExtension};
use timebase_import::{Choice, Window};

use crate::database::{self, Access};
use crate::escape::one_line;
use crate::flags::{TsArgument, WindowArguments};
use crate::{flamegraph, hints};

/// The choice that arguments make.
pub struct ByArguments<'a>(pub &'a WindowArguments);

impl Choice for ByArguments<'_> {
    fn known(&self) -> Option<Window> {
        let arguments = self.0;
        if arguments.slice.is_some() || arguments.during.is_some() {
            return None;
        }
        let time = |given: Option<&TsArgument>, missing: i64| match given {
            Some(TsArgument::Ticks(time)) => Some(*time),
            Some(TsArgument::Shown(..)) => None,
            None => Some(missing),
        };
        let margin = arguments.margin.unwrap_or(0);
        Some(Window {
            from: time(arguments.from.as_ref(), i64::MIN)?.saturating_sub(margin),
            to: time(arguments.to.as_ref(), i64::MAX)?.saturating_add(margin),
        })
    }

    fn choose(self, database: &Path) -> Result<Window, String> {
        chosen(database, self.0).map_err(|why| format!("{why:#}"))
    }
}

/// The window, by a database of the whole trace.
///
/// # Errors
///
/// If the arguments name nothing, or nothing of the trace.
fn chosen(database: &Path, arguments: &WindowArguments) -> anyhow::Result<Window> {
    let database = database::open_file(database, Access::CLOCKS)?;
    // A packet may be all that a trace has of a time, as after an earlier cut. The database has no rows of kernel events.
    let bounds = "SELECT min(ts), max(ts) FROM (
            SELECT start_ts AS ts FROM trace_bounds UNION ALL SELECT end_ts FROM trace_bounds
            UNION ALL SELECT min(ts) FROM packet_record UNION ALL SELECT max(ts) FROM packet_record
            UNION ALL SELECT first_ts FROM ftrace_cpu UNION ALL SELECT last_ts FROM ftrace_cpu)";
    let (start, end): (Option<i64>, Option<i64>) =
        database.query_row(bounds, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(start), Some(end)) = (start, end) else {
        bail!("the trace has no packet with a known time, so it has no window");
    };
    let (from, to) = if let Some(slice) = arguments.slice {
        of_slice(&database, slice, end)?
    } else if let Some(name) = &arguments.during {
        of_name(&database, name, end)?
    } else {
        let from = flamegraph::time(&database, "--from", arguments.from.as_ref())?;
        let to = flamegraph::time(&database, "--to", arguments.to.as_ref())?;
        (from.unwrap_or(start), to.unwrap_or(end.saturating_add(1)))
    };
    let margin = arguments.margin.unwrap_or(0);
    let (from, to) = (from.saturating_sub(margin), to.saturating_add(margin));
    let window = match (&arguments.from, &arguments.to) {
        (Some(_), None) => format!("the window from {from} on"),
        (None, Some(_)) => format!("the window before {to}"),
        _ => format!("the window from {from} to {to}"),
    };
    let is_of_both = arguments.from.is_some() == arguments.to.is_some();
    ensure!(from < to || !is_of_both, "{window} is empty; the trace lasts from {start} to {end}");
    ensure!(
        from < to && from <= end && to > start,
        "{window} is outside of the trace, which lasts from {start} to {end}"
    );
    Ok(Window { from, to })
}

fn of_slice(database: &Connection, slice: i64, end: i64) -> anyhow::Result<(i64, i64)> {
    let sql = "SELECT ts, iif(dur < 0, ?2 - ts, dur) FROM slice_record WHERE id = ?1";
    let found: Option<(i64, i64)> =
        database.query_row(sql, [slice, end], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some(found) = found {
        return Ok(span(found));
    }
    let sql = "SELECT max(id) FROM slice_record";
    let last: Option<i64> = database.query_row(sql, [], |row| row.get(0))?;
    match last {
        Some(last) => {
            bail!("--slice {slice}: the trace has no such slice; the ids go from 0 to {last}")
        }
        None => bail!("--slice {slice}: the trace has no slices"),
    }
}

fn of_name(database: &Connection, name: &str, end: i64) -> anyhow::Result<(i64, i64)> {
    let sql = "SELECT s.ts, iif(s.dur < 0, ?2 - s.ts, s.dur) FROM slice_record AS s
        WHERE s.name IN (SELECT id FROM string WHERE value = ?1 OR value GLOB ?1)
        ORDER BY s.ts, s.id LIMIT 1";
    let found: Option<(i64, i64)> =
        database.query_row(sql, (name, end), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some(found) = found {
        return Ok(span(found));
    }
    let sql = "SELECT DISTINCT (SELECT value FROM string WHERE id = name) FROM slice_record
        WHERE name IS NOT NULL";
    let mut statement = database.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>();
    let names = names.context("reading the names of slices")?;
    let meant = hints::meant(name, &names);
    let name = one_line(name);
    match meant {
        Some(meant) => bail!(
            "--during '{name}': no slice has this name; did you mean {meant}? A name can be a pattern ('*')"
        ),
        None => bail!("--during '{name}': no slice has this name; a name can be a pattern ('*')"),
    }
}

/// The time of a slice. That of an instant is one nanosecond.
fn span((ts, dur): (i64, i64)) -> (i64, i64) {
    (ts, ts.saturating_add(dur.max(1)))
}

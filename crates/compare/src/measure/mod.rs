//! The values of one run, from its database (rules CM4 to CM11).
//!
//! # Design
//!
//! The rows come from SQL over public tables. [`METRICS`] is one statement, for fleets: `lasting.sql` has a row for
//! each thing that lasts, `other.sql` one for each other value. Here the things that last are read from their tables
//! in one pass, and added up outside of SQL: SQLite's joins and window functions take several times as long, and would
//! read the slices once more for the time inside them, for the parents of lines, and for distributions. Memory stays bounded:
//! many durations go to a sorter on the disk (`durations.rs`).

mod durations;
mod lasting;
mod lines;
mod ranks;
mod slices;

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

use crate::line::{Family, Line, Stat};
use crate::pattern::Names;
use crate::run::Facts;
use crate::values::Value;
use lasting::Lasting;

/// All other values.
const OTHER: &str = include_str!("other.sql");

/// The tables and views that values come from.
pub const TABLES: [&str; 23] = [
    "actual_frame_timeline_slice",
    "android_logs",
    "clock_snapshot",
    "counter",
    "counter_track",
    "cpu_time_by_thread",
    "expected_frame_timeline_slice",
    "finding",
    "heap_profile_allocation",
    "loss",
    "process",
    "process_counter_track",
    "process_track",
    "slice",
    "stack_profile_callsite",
    "stack_profile_frame",
    "stack_profile_mapping",
    "stack_sample",
    "stack_sample_task_context",
    "thread",
    "thread_state",
    "thread_track",
    "trace_bounds",
];

/// The views and tables that [`measure()`] reads in a database: all but the findings, which it finds itself.
///
/// ```
/// assert!(!timebase_compare::views().contains(&"finding".to_owned()));
/// ```
pub fn views() -> Vec<String> {
    TABLES.iter().filter(|name| **name != "finding").map(|name| (*name).to_owned()).collect()
}

/// The indexes that help to read these tables.
pub const INDEXES: [&str; 9] = [
    "android_log_record_ts",
    "counter_record_track",
    "fact_name",
    "ftrace_record_ts",
    "heap_profile_allocation_record_ts",
    "packet_unresolved",
    "sched_record_utid",
    "slice_record_track",
    "stack_sample_record_ts",
];

/// One statement with the values of a run: `family`, `process`, `name`, `stat`, `value`, `value_all` (rule CM25).
///
/// It needs timebase's SQL functions. Rows of the family `run` are facts. It leaves out the errors of the doctor and
/// the parents of lines. Values are real numbers in all rows, because a column of Parquet has one type.
pub const METRICS: &str = concat!(
    "SELECT family, process, name, stat, CAST(value AS REAL) AS value, CAST(value_all AS REAL) AS value_all FROM (\n",
    "WITH shown AS MATERIALIZED (\n",
    include_str!("lasting.sql"),
    "),\nlasting AS MATERIALIZED (\n",
    "  SELECT family, pattern(process) AS process, pattern(name) AS name, dur, sure FROM shown\n",
    "  UNION ALL\n",
    "  SELECT 'self', pattern(process), pattern(name), self_dur, sure FROM shown WHERE self_dur IS NOT NULL\n",
    "),\n",
    include_str!("metrics.sql"),
    include_str!("other.sql"),
    ")\n",
);

/// The reason why a run has no values.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The database cannot be read.
    #[error("cannot read the values: {0}")]
    Database(#[from] rusqlite::Error),
    /// Durations do not fit the disk.
    #[error("cannot sort durations: {0}")]
    Sort(#[from] std::io::Error),
    /// A metric of the user fails, or gives something else than numbers.
    #[error("the metric {metric}: {reason}")]
    Metric {
        /// Its name.
        metric: String,
        /// The reason.
        reason: String,
    },
}

/// A metric of the user (rule CM6): a SELECT with a number, or with columns name and value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Metric {
    /// The name.
    pub name: String,
    /// The statement.
    pub sql: String,
}

/// The choices of a user.
#[derive(Clone, Debug)]
pub struct Measuring {
    /// The replacements in names.
    pub names: Names,
    /// The metrics of the user.
    pub metrics: Vec<Metric>,
    /// Whether to keep the distributions of durations and the callstacks, for a page.
    pub details: bool,
}

/// The values of one run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The facts.
    pub facts: Facts,
    /// The values, in the order of lines.
    pub values: Vec<(Line, Stat, Value)>,
    /// For lines on threads, how often each other name is around them.
    pub parents: Vec<(Line, String, u64)>,
    /// The numbers of durations in buckets of 2 %, by line (rule CM4).
    pub buckets: Vec<(Line, i32, u64)>,
    /// The weights of callstacks, outermost function first, of samples and of heap profiles.
    pub stacks: Vec<(Family, String, f64)>,
}

/// Measures a run in its database, which is open for reading and has timebase's SQL functions. Durations that do not
/// fit into memory go to files in `scratch`.
///
/// # Errors
///
/// If a table is missing or damaged, a metric fails, or the disk is full.
pub fn measure(
    conn: &Connection,
    measuring: &Measuring,
    scratch: &Path,
) -> Result<Measured, MeasureError> {
    let names = measuring.names.clone();
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    conn.create_scalar_function("pattern", 1, flags, move |call| {
        Ok(match call.get_raw(0) {
            ValueRef::Text(text) => {
                Some(names.pattern(&String::from_utf8_lossy(text)).into_owned())
            }
            _ => None,
        })
    })?;
    let mut measured = Measured::default();
    let mut lasting = Lasting::read(conn, measuring, scratch)?;
    slices::read(conn, &mut lasting)?;
    lasting.put(&mut measured, measuring.details)?;
    other(conn, &mut measured)?;
    for metric in &measuring.metrics {
        user(conn, metric, &mut measured)?;
    }
    if measuring.details {
        stacks(conn, &mut measured)?;
    }
    measured.values.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    Ok(measured)
}

/// Reads the values of `other.sql`.
fn other(conn: &Connection, measured: &mut Measured) -> Result<(), MeasureError> {
    let mut statement = conn.prepare(OTHER)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (family, process, name): (String, String, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let stat: String = row.get(3)?;
        let value: Option<f64> = row.get(4)?;
        match (Family::parse(&family), value) {
            (Some(family), _) => {
                let Some(stat) = Stat::parse(&stat) else { continue };
                let value = Value { sure: value, all: row.get(5)? };
                if value == Value::default() {
                    continue;
                }
                measured.values.push((Line { family, process, name }, stat, value));
            }
            (None, Some(_)) if name == "start" => measured.facts.start = row.get(4)?,
            (None, Some(value)) => measured.facts.put(&name, &stat, value),
            (None, None) => {}
        }
    }
    measured.facts.errors = u64::try_from(errors(conn)?).unwrap_or_default();
    Ok(())
}

/// The number of the doctor's errors.
fn errors(conn: &Connection) -> rusqlite::Result<i64> {
    let is_table =
        "SELECT EXISTS (SELECT * FROM sqlite_schema WHERE name = 'finding' AND type = 'table')";
    // The folder of a fleet has the findings themselves; a database has tables to find them in.
    let sql = match conn.query_row(is_table, [], |row| row.get(0))? {
        true => "SELECT count(*) FROM finding WHERE severity = 'error'".to_owned(),
        false => timebase_schema::count_of_errors(),
    };
    conn.query_row(&sql, [], |row| row.get(0))
}

/// Runs a metric of the user.
fn user(conn: &Connection, metric: &Metric, measured: &mut Measured) -> Result<(), MeasureError> {
    let wrong = |reason: String| MeasureError::Metric { metric: metric.name.clone(), reason };
    let failed = |error: rusqlite::Error| match error {
        rusqlite::Error::SqlInputError { msg, .. } => wrong(msg),
        rusqlite::Error::SqliteFailure(_, Some(text)) => wrong(text),
        error => wrong(error.to_string()),
    };
    let mut statement = conn.prepare(&metric.sql).map_err(failed)?;
    if !statement.readonly() {
        return Err(wrong("it would change the database; write a SELECT".to_owned()));
    }
    let columns: Vec<String> =
        statement.column_names().map(|name| name.to_ascii_lowercase()).collect();
    let place = |wanted: &str| columns.iter().position(|column| column == wanted);
    let (name_at, value_at) = match (columns.len(), place("name"), place("value")) {
        (1, ..) => (None, 0),
        (_, Some(name), Some(value)) => (Some(name), value),
        _ => {
            return Err(wrong("it must have one column, or the columns name and value".to_owned()));
        }
    };
    let mut found: BTreeMap<String, Option<f64>> = BTreeMap::new();
    let mut rows = statement.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let name = match name_at {
            None if !found.is_empty() => {
                return Err(wrong(
                    "it has several rows; give one number, or columns name and value".to_owned(),
                ));
            }
            None => String::new(),
            Some(at) => match row.get_ref(at).map_err(failed)? {
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                ValueRef::Integer(number) => number.to_string(),
                _ => return Err(wrong("a name must be a text".to_owned())),
            },
        };
        let value = match row.get_ref(value_at).map_err(failed)? {
            ValueRef::Null => None,
            ValueRef::Integer(value) => Some(value as f64),
            ValueRef::Real(value) if value.is_finite() => Some(value),
            ValueRef::Real(value) => return Err(wrong(format!("{value} is no finite number"))),
            ValueRef::Text(text) => {
                let text = String::from_utf8_lossy(text);
                return Err(wrong(format!("the text '{text}' is no number")));
            }
            ValueRef::Blob(_) => return Err(wrong("a blob is no number".to_owned())),
        };
        if found.insert(name.clone(), value).is_some() {
            return Err(wrong(format!("it gives '{name}' twice")));
        }
    }
    for (name, value) in found {
        let line = Line { family: Family::Metric, process: metric.name.clone(), name };
        measured.values.push((line, Stat::Value, Value { sure: value, all: value }));
    }
    Ok(())
}

/// Adds up callstacks of samples and heap profiles.
fn stacks(conn: &Connection, measured: &mut Measured) -> Result<(), MeasureError> {
    let of = [
        (
            Family::Sample,
            "SELECT callsite_id, count(*) FROM stack_sample WHERE callsite_id IS NOT NULL GROUP BY 1",
        ),
        (Family::Heap, "SELECT callsite_id, sum(size) FROM heap_profile_allocation GROUP BY 1"),
    ];
    for (family, sql) in of {
        let mut sums: HashMap<String, f64> = HashMap::new();
        let mut statement =
            conn.prepare(&format!("SELECT callstack(callsite_id), * FROM ({sql})"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let stack: Option<String> = row.get(0)?;
            let weight: f64 = row.get(2)?;
            let Some(stack) = stack else { continue };
            *sums.entry(stack).or_default() += weight;
        }
        let sums = sums.into_iter().filter(|(_, weight)| *weight > 0.0);
        measured.stacks.extend(sums.map(|(stack, weight)| (family, stack, weight)));
    }
    measured.stacks.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(())
}

//! Whether rows have the times that the generator knows to be true.

use std::path::Path;

use rusqlite::Connection;
use timebase_synth::{Expected, Truth};

use crate::Result;

/// The rows of which there are truths, in the order of their ids.
const TIMES: &[(&str, &str)] = &[
    ("packet", "SELECT id, ts FROM packet ORDER BY id"),
    (
        "ftrace_event",
        "SELECT id, ts FROM ftrace_record UNION ALL SELECT id, ts FROM ftrace_partial ORDER BY id",
    ),
    (
        "android_logs",
        "SELECT id, ts FROM android_logs ORDER BY id",
    ),
];

/// Fails if a row is not where it must be.
pub fn check(database: &Path, truths: &[Truth]) -> Result<()> {
    let conn = Connection::open(database)?;
    for (table, select) in TIMES {
        let mut truths: Vec<&Truth> = truths
            .iter()
            .filter(|truth| truth.row.table() == *table)
            .collect();
        truths.sort_unstable_by_key(|truth| truth.row);
        let mut statement = conn.prepare(select)?;
        let mut rows = statement.query([])?;
        for truth in truths {
            let id = i64::try_from(truth.row.id())?;
            let ts: Option<i64> = loop {
                let Some(row) = rows.next()? else {
                    return Err(format!("{table} has no row {id}").into());
                };
                if row.get::<_, i64>(0)? == id {
                    break row.get(1)?;
                }
            };
            let right = match (truth.expected, ts) {
                (Expected::Within(ns), Some(ts)) => (ts - truth.boottime).abs() <= ns,
                (Expected::Unresolved(_), None) => true,
                _ => false,
            };
            assert!(right, "row {id} of {table} is at {ts:?}: {truth:?}");
        }
    }
    Ok(())
}

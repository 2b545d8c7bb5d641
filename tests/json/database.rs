//! The rows of a database as text, and how they differ from others.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use rusqlite::Connection;
use rusqlite::types::Value;

use super::model::Tables;
use crate::support::{data, text};

/// The queries of tests/data/json/queries-json.sql, and their names.
fn queries() -> Vec<(String, String)> {
    let file = fs::read_to_string(data("json/queries-json.sql")).unwrap();
    let is_name = |line: &str| line.bytes().all(|byte| byte.is_ascii_lowercase());
    let mut queries: Vec<(String, String)> = Vec::new();
    for line in file.lines() {
        match (line.strip_prefix("-- "), queries.last_mut()) {
            (Some(name), _) if is_name(name) => queries.push((name.to_owned(), String::new())),
            (_, Some((_, query))) => *query += &format!("{line}\n"),
            (_, None) => {}
        }
    }
    assert!(queries.len() > 10, "{queries:?}");
    queries
}

/// The rows of each query, in order.
pub fn tables(conn: &Connection) -> Tables {
    let mut tables = Tables::new();
    for (name, query) in queries() {
        let mut statement = conn.prepare(&query).unwrap();
        let columns = statement.column_count();
        let rows =
            statement.query_map([], |row| (0..columns).map(|at| row.get(at).map(shown)).collect());
        let mut rows: Vec<Vec<String>> = rows.unwrap().map(Result::unwrap).collect();
        if name == "log" {
            // Counters have lines, too, and a check of the doctor.
            rows.retain(|row| {
                !matches!(&*row[0], "json_tokenizer_failure" | "json_parser_failure" | "json_unit")
            });
        }
        rows.sort();
        if !rows.is_empty() {
            tables.insert(name, rows);
        }
    }
    tables
}

fn shown(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        value => text(value),
    }
}

/// The first ten rows of each table that only one side has.
pub fn difference(ours: &Tables, expected: &Tables) -> Option<String> {
    let mut said = String::new();
    for table in ours.keys().chain(expected.keys()).collect::<BTreeSet<_>>() {
        let of = |tables: &Tables| tables.get(table).cloned().unwrap_or_default();
        let (ours, expected) = (of(ours), of(expected));
        for (what, rows, others) in [("missing", &expected, &ours), ("extra", &ours, &expected)] {
            for row in left_over(rows, others).iter().take(10) {
                writeln!(said, "{table}: {what} {row:?}").unwrap();
            }
        }
    }
    (!said.is_empty()).then_some(said)
}

/// The rows without those of another set, of which each counts once.
fn left_over(rows: &[Vec<String>], others: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut others = others.to_vec();
    let mut left = rows.to_vec();
    left.retain(|row| match others.iter().position(|other| other == row) {
        Some(place) => {
            others.swap_remove(place);
            false
        }
        None => true,
    });
    left
}

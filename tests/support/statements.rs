//! Statements of an SQL file, their rows, and the differences between rows.

use std::collections::BTreeMap;
use std::fs;

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::Value as Json;

use super::{Imported, data, expected_compressed, text};

pub type Row = Vec<Value>;

/// Rows by the name of their statement.
pub type Answers = BTreeMap<String, Vec<Row>>;

/// The statements of a file of tests/data by their names: each is below a line `-- name` or `--
/// name: description`, with an empty line between statements.
pub fn statements(file: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(data(file)).unwrap();
    let statements: Vec<_> = text.split("\n\n").filter_map(statement).collect();
    assert!(!statements.is_empty(), "{file}");
    statements
}

fn statement(paragraph: &str) -> Option<(String, String)> {
    let (comment, sql) = paragraph.strip_prefix("-- ")?.split_once('\n')?;
    let name = comment.split(':').next()?;
    (!sql.starts_with("--")).then(|| (name.to_owned(), sql.to_owned()))
}

/// The rows of a statement, or the reason why there are none.
pub fn answer(conn: &Connection, sql: &str) -> Result<Vec<Row>, String> {
    let read = || {
        let mut statement = conn.prepare(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|i| row.get(i)).collect())?;
        rows.collect::<rusqlite::Result<_>>()
    };
    read().map_err(|error| error.to_string())
}

/// The lines `{"table": …, "row": […]}` of a compressed file. A statement without rows is not in
/// it.
pub fn recorded(file: &str) -> Answers {
    let mut answers = Answers::new();
    for line in super::fixture(file) {
        let row = line["row"].as_array().unwrap();
        let table = line["table"].as_str().unwrap().to_owned();
        let row = row.iter().map(value).collect();
        answers.entry(table).or_default().push(row);
    }
    answers
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Integer(integer),
            None => Value::Real(number.as_f64().unwrap()),
        },
        other => panic!("no value of SQL: {other}"),
    }
}

/// Values as texts, the form in which they are compared.
pub fn as_text(rows: Vec<Row>) -> Vec<Row> {
    let row = |row: Row| row.into_iter().map(|value| Value::Text(text(value))).collect();
    rows.into_iter().map(row).collect()
}

/// The number of shown lines of a difference.
const TOLD: usize = 12;

/// The elements of one of two multisets of rows that the other lacks. Values are compared by type
/// and value.
pub fn difference(found: &[Row], expected: &[Row]) -> Option<String> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for row in found {
        *counts.entry(line(row)).or_default() += 1;
    }
    for row in expected {
        *counts.entry(line(row)).or_default() -= 1;
    }
    counts.retain(|_, count| *count != 0);
    let differing = counts.iter().take(TOLD).map(|(row, count)| {
        let sign = if *count > 0 { "not expected" } else { "missing" };
        format!("\n    {sign} {}×: {row}", count.abs())
    });
    let told: String = differing.collect();
    let more = counts.len().saturating_sub(TOLD);
    (!counts.is_empty()).then(|| format!("{told}\n    and {more} more"))
}

/// A row as text, which is the same only for equal rows.
fn line(row: &Row) -> String {
    let values = row.iter().map(|value| match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(integer) => integer.to_string(),
        // Both zeros are equal.
        Value::Real(real) => format!("{:?}", real + 0.0),
        Value::Text(text) => format!("{text:?}"),
        Value::Blob(bytes) => format!("x{bytes:02x?}"),
    });
    values.collect::<Vec<_>>().join(" | ")
}

/// The differences between a database's answers and the expected ones, statement by statement;
/// empty if there are none.
pub fn differences(conn: &Connection, file: &str, expected: &Answers) -> Answered {
    let unanswered = Vec::new();
    let statements = statements(file).into_iter();
    let differing = statements.filter_map(|(name, sql)| {
        let expected = expected.get(&name).unwrap_or(&unanswered);
        let why = match answer(conn, &sql) {
            Ok(rows) => difference(&rows, expected)?,
            Err(error) => error,
        };
        Some((name, why))
    });
    differing.collect()
}

/// The difference from the expected answer, or the error, by the statement's name.
pub type Answered = BTreeMap<String, String>;

/// Rows in the form of CSV, which only has text.
fn texts(rows: Vec<Vec<String>>) -> Vec<Row> {
    let as_row = |row: Vec<String>| row.into_iter().map(Value::Text).collect();
    rows.into_iter().map(as_row).collect()
}

fn as_printed(rows: Vec<Row>) -> Vec<Row> {
    texts(rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
}

/// The tables of a trace must give the recorded answers to these statements.
pub fn as_trace_processor_says(conn: &Connection, trace: &str, answers: &[&str]) {
    let statements: BTreeMap<_, _> = statements("expected/queries.sql").into_iter().collect();
    let mut wrong = String::new();
    for name in answers {
        let expected = expected_compressed(&format!("{trace}.{name}.csv.zst"));
        assert!(!expected.is_empty(), "{trace}.{name}");
        let why = match answer(conn, &statements[*name]) {
            Ok(rows) => difference(&as_printed(rows), &texts(expected)),
            Err(error) => Some(error),
        };
        wrong += &why.map_or(String::new(), |why| format!("\n{trace}, {name}: {why}"));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Imports of these traces of tests/data/more answer `asked` as trace processor does. Each statement has rows in one
/// of them, except `without_rows`.
pub fn answers_as_recorded(traces: &[&str], asked: &[&str], without_rows: &[&str]) {
    let mut statements = statements("more/queries-more.sql");
    statements.retain(|(name, _)| asked.contains(&&**name));
    assert_eq!(statements.len(), asked.len());
    let mut answered: Vec<&str> = without_rows.to_vec();
    let mut wrong = String::new();
    for trace in traces {
        let database = Imported::new(&format!("more/{trace}.pftrace"), &[]);
        let expected = recorded(&format!("more/{trace}.jsonl.zst"));
        for (name, sql) in &statements {
            let expected = as_text(expected.get(name).cloned().unwrap_or_default());
            answered.extend((!expected.is_empty()).then_some(&**name));
            let why = match answer(&database.conn, sql) {
                Ok(found) => difference(&as_text(found), &expected),
                Err(error) => Some(error),
            };
            wrong += &why.map_or(String::new(), |why| format!("\n{trace}, {name}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let silent: Vec<_> = asked.iter().filter(|name| !answered.contains(name)).collect();
    assert!(silent.is_empty(), "no trace has rows of {silent:?}");
}

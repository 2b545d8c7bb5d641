//! The tables with rows from track events, through the real program: random traces with known rows,
//! with or without kernel events, and recorded traces with the answers of Perfetto's trace
//! processor.

use std::collections::BTreeMap;
use std::fs;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::model::threads;
use crate::support::statements::{
    Answers, Row, answer, as_trace_processor_says, difference, recorded, statements,
};
use crate::support::{Imported, data, text};

const OF_SLICES: &str = "slices/queries-slices.sql";
const OF_THREADS: &str = "threads/queries-threads.sql";

/// Values as text, the form in which those of queries-slices.sql are compared: NULL is the empty
/// text.
fn as_text(rows: Vec<Row>) -> Vec<Row> {
    let value = |value| match value {
        Value::Null => Value::Text(String::new()),
        value => Value::Text(text(value)),
    };
    let row = |row: Row| row.into_iter().map(value).collect();
    rows.into_iter().map(row).collect()
}

/// The differences between the answers to the statements of queries-slices.sql and the expected
/// ones.
fn slices_differ(conn: &Connection, expected: &Answers, prefix: &str) -> Vec<(String, String)> {
    let text = |rows| as_text(rows);
    differ(conn, OF_SLICES, expected, prefix, text)
}

/// The same for queries-threads.sql.
fn threads_differ(conn: &Connection, expected: &Answers, prefix: &str) -> Vec<(String, String)> {
    differ(conn, OF_THREADS, expected, prefix, |rows| rows)
}

fn differ(
    conn: &Connection,
    file: &str,
    expected: &Answers,
    prefix: &str,
    as_compared: impl Fn(Vec<Row>) -> Vec<Row>,
) -> Vec<(String, String)> {
    let differing = statements(file).into_iter().filter_map(|(name, sql)| {
        let name = format!("{prefix}{name}");
        let expected = expected.get(&name).cloned().unwrap_or_default();
        let why = match answer(conn, &sql) {
            Ok(rows) => difference(&as_compared(rows), &as_compared(expected))?,
            Err(error) => error,
        };
        Some((name, why))
    });
    differing.collect()
}

/// For each statement the traces with a wrong answer, and the difference for the first of them.
#[derive(Default)]
struct Wrong(BTreeMap<String, (Vec<String>, String)>);

impl Wrong {
    fn add(&mut self, trace: &str, differences: Vec<(String, String)>) {
        for (name, why) in differences {
            let (traces, _) = self.0.entry(name).or_insert((Vec::new(), why));
            traces.push(trace.to_owned());
        }
    }

    fn assert_none(&self) {
        let told = self.0.iter().map(|(name, (traces, why))| {
            let (count, all) = (traces.len(), traces.join(" "));
            format!("\n{name}, {count} traces: {all}\n  the first: {why}")
        });
        assert!(self.0.is_empty(), "{}", told.collect::<String>());
    }
}

/// The random traces of tests/data/slices and tests/data/both.
fn generated(directory: &str, count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(move |number| format!("{directory}/{number:02}"))
}

/// Compares the tables of all of them with the known rows.
fn all_agree<T>(read: impl Fn(&str) -> T, tables: impl Fn(&T) -> &Connection) {
    let mut wrong = Wrong::default();
    for trace in generated("slices", 40) {
        let read = read(&trace);
        let conn = tables(&read);
        let expected = recorded(&format!("{trace}.jsonl.zst"));
        wrong.add(&trace, slices_differ(conn, &expected, ""));
    }
    for trace in generated("both", 30) {
        let read = read(&trace);
        let conn = tables(&read);
        let expected = recorded(&format!("{trace}.jsonl.zst"));
        wrong.add(&trace, slices_differ(conn, &expected, "slices."));
        wrong.add(&trace, threads_differ(conn, &expected, "threads."));
    }
    wrong.assert_none();
}

/// The model's result for a trace of tests/data.
fn model_of(trace: &str) -> Connection {
    let bytes = fs::read(data(&format!("{trace}.pftrace"))).unwrap();
    threads::tables(&bytes)
}

#[test]
fn the_model_gives_the_rows_of_track_events_that_are_known() {
    all_agree(model_of, |tables| tables);
}

#[test]
fn generated_track_events_give_the_rows_that_are_known() {
    let import = |trace: &str| Imported::new(&format!("{trace}.pftrace"), &[]);
    all_agree(import, |imported| &imported.conn);
}

const APP: [&str; 6] = ["processes", "threads", "slices", "counters", "flows", "tracks"];

const SDK: [&str; 4] = ["processes", "threads", "slices", "tracks"];

#[test]
fn the_model_says_of_app_and_sdk_what_trace_processor_says() {
    for (trace, answers) in [("app", &APP[..]), ("sdk", &SDK)] {
        as_trace_processor_says(&model_of(trace), trace, answers);
    }
}

#[test]
fn app_is_as_trace_processor_says() {
    let imported = Imported::new("app.pftrace", &[]);
    as_trace_processor_says(&imported.conn, "app", &APP);
}

#[test]
fn sdk_is_as_trace_processor_says() {
    let imported = Imported::new("sdk.pftrace", &[]);
    as_trace_processor_says(&imported.conn, "sdk", &SDK);
}

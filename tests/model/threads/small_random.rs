//! Random traces of small tables: an import must give the rows of the model.

use super::agreement::{all_agree, asked};
use super::small::{rounded, rows};
use super::small_generate;
use crate::support::statements::{Answered, Row, answer, as_text, difference, recorded};
use crate::support::{Imported, data, text};
use rusqlite::types::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use timebase_lab::encode::{Message, trace_of};

/// The statements of queries-rest.sql that the model answers.
const ASKED: [&str; 6] = ["rt_states", "an_hyp", "an_counters", "an_uids", "an_counts", "rt_diag"];

fn as_rows(rows: Vec<Vec<String>>) -> Vec<Row> {
    rows.into_iter().map(|row| row.into_iter().map(Value::Text).collect()).collect()
}

fn as_texts(rows: Vec<Row>) -> Vec<Vec<String>> {
    rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect()
}

/// The rows in the form in which they are compared.
fn compared(name: &str, rows: Vec<Row>) -> Vec<Row> {
    let mut rows = as_texts(rows);
    match name {
        "rt_diag" => rounded(&mut rows),
        "an_counts" => rows = summed(rows),
        _ => {}
    }
    as_rows(rows)
}

/// The counts of all machines together.
fn summed(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for row in rows {
        *sums.entry(row[0].clone()).or_default() += row[1].parse::<i64>().unwrap();
    }
    sums.into_iter().map(|(name, count)| vec![name, count.to_string()]).collect()
}

fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    let model = rows(&trace);
    let mut wrong = Answered::new();
    for (name, sql) in asked("rest/queries-rest.sql", &ASKED) {
        let expected = as_rows(model.get(&*name).cloned().unwrap_or_default());
        let why = match answer(&imported.conn, &sql) {
            Ok(found) => difference(&compared(&name, found), &expected),
            Err(error) => Some(error),
        };
        wrong.extend(why.map(|why| (name, why)));
    }
    wrong
}

#[test]
fn rt6_rt10_rt12_to_rt15_any_trace_gives_the_rows_of_the_model() {
    all_agree(128, small_generate::trace, wrong);
}

#[test]
fn rt6_rt10_rt12_to_rt15_the_model_gives_the_rows_that_are_known() {
    let asked = asked("rest/queries-rest.sql", &ASKED);
    for trace in (2..=60).filter(|trace| matches!(trace % 4, 2 | 3)) {
        let path = format!("rest/{trace:02}");
        let Ok(bytes) = fs::read(data(&format!("{path}.pftrace"))) else {
            continue;
        };
        let model = rows(&bytes);
        let recorded = recorded(&format!("{path}.jsonl.zst"));
        for (name, _) in &asked {
            // Each trace has the rows of its subject only.
            if name.starts_with("rt_") != (trace % 4 == 2) {
                continue;
            }
            let expected = as_text(recorded.get(name).cloned().unwrap_or_default());
            let found = as_rows(model.get(&**name).cloned().unwrap_or_default());
            assert_eq!(difference(&found, &compared(name, expected)), None, "{path}, {name}");
        }
    }
}

#[test]
fn the_random_traces_have_all_that_the_rules_of_small_tables_name() {
    let all: Vec<_> = (0..500).map(|seed| rows(&trace_of(&small_generate::trace(seed)))).collect();
    for name in ASKED {
        let traces = all.iter().filter(|rows| rows.get(name).is_some_and(|rows| !rows.is_empty()));
        assert!(traces.count() > 20, "{name}");
    }
    let mut diagnoses: Vec<&String> =
        all.iter().flat_map(|rows| rows["rt_diag"].iter().map(|row| &row[0])).collect();
    diagnoses.sort_unstable();
    diagnoses.dedup();
    assert_eq!(diagnoses.len(), 10, "{diagnoses:?}");
    let counts = all.iter().flat_map(|rows| rows["an_counts"].iter().map(|row| &row[0]));
    let counts: BTreeSet<_> = counts.collect();
    assert_eq!(counts.len(), 5, "{counts:?}");
}

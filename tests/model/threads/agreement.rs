//! Compares imports with a model: over random traces, and over traces with known rows.

use crate::support::data;
use crate::support::statements::{
    Answered, Row, answer, as_text, difference, recorded, statements,
};
use rusqlite::Connection;
use std::fs;
use timebase_lab::encode::{Message, trace_of};

/// The statements of a file with these names.
pub fn asked(file: &str, names: &[&str]) -> Vec<(String, String)> {
    let mut asked = statements(file);
    asked.retain(|(name, _)| names.contains(&&**name));
    assert_eq!(asked.len(), names.len());
    asked
}

/// The statements for which an import and the model give different rows, compared in this form.
pub fn differences(
    imported: &Connection,
    model: &Connection,
    statements: &[(String, String)],
    form: fn(Vec<Row>) -> Vec<Row>,
) -> Answered {
    let differing = statements.iter().filter_map(|(name, sql)| {
        let expected = answer(model, sql).unwrap();
        let why = match answer(imported, sql) {
            Ok(rows) => difference(&form(rows), &form(expected))?,
            Err(error) => error,
        };
        Some((name.clone(), why))
    });
    differing.collect()
}

/// Imports of the traces for some seeds must agree with the model; `wrong` returns the differences.
/// PROPTEST_CASES asks for more seeds. A failure shows the fewest packets for which an answer
/// differs.
pub fn all_agree(cases: u64, trace: fn(u64) -> Vec<Message>, wrong: fn(&[Message]) -> Answered) {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let cases = asked.and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    for seed in 0..cases {
        let mut packets = trace(seed);
        let mut found = wrong(&packets);
        let smaller = |packets: &[Message], found: &Answered| {
            (1..packets.len()).rev().find_map(|left_out| {
                let mut fewer = packets.to_vec();
                fewer.remove(left_out);
                let wrong = wrong(&fewer);
                let is_same = wrong.keys().any(|name| found.contains_key(name));
                is_same.then_some((fewer, wrong))
            })
        };
        while !found.is_empty()
            && let Some(fewer) = smaller(&packets, &found)
        {
            (packets, found) = fewer;
        }
        let trace = trace_of(&packets);
        let trace: String = trace.iter().map(|b| format!("{b:02x}")).collect();
        assert!(found.is_empty(), "{found:#?}\nseed {seed}, as hex: {trace}");
    }
}

/// The model's answers about traces in a folder of tests/data must be the recorded ones.
pub fn answers_as_recorded(
    folder: &str,
    traces: impl IntoIterator<Item = u32>,
    statements: &[(String, String)],
    model: fn(&[u8]) -> Connection,
) {
    for trace in traces {
        let path = format!("{folder}/{trace:02}");
        let model = model(&fs::read(data(&format!("{path}.pftrace"))).unwrap());
        let recorded = recorded(&format!("{path}.jsonl.zst"));
        for (name, sql) in statements {
            let expected = recorded.get(name).cloned().unwrap_or_default();
            let found = answer(&model, sql).unwrap();
            let why = difference(&as_text(found), &as_text(expected));
            assert_eq!(why, None, "{path}, {name}");
        }
    }
}

//! Random traces of profilers: an import must give the rows of the model.

use super::{profile_generate, profile_tables};
use crate::support::statements::{Answered, Row, answer, difference, recorded, statements};
use crate::support::{Imported, data, text};
use rusqlite::types::Value;
use std::fs;
use timebase_lab::encode::{Message, trace_of};

const STATEMENTS: &str = "profiles/queries-profiles.sql";

/// The counters that the rules name, of which no machine is asked.
const STATS: &str = "SELECT name, idx, total(value) FROM (SELECT name, idx + (ifnull(machine_id, 0) << 40) AS idx, value FROM stats) WHERE (name GLOB 'stackprofile_*' OR name GLOB 'perf_*'
    OR name GLOB 'heapprofd_*' OR name GLOB 'smaps_*' OR name GLOB 'streaming_*' OR name = 'interned_data_tokenizer_errors'
    OR name = 'trace_sorter_negative_timestamp_dropped' AND value > 0 OR name GLOB 'symbolization_*') AND name <> 'perf_sample'
    GROUP BY name, idx";

/// The differences between an import and the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    let model = profile_tables(&trace);
    let mut all = statements(STATEMENTS);
    all.push(("stats".to_owned(), STATS.to_owned()));
    let has_bounds = answer(&model, "SELECT 1 FROM trace_bounds").unwrap().len() == 1;
    let mut wrong = Answered::new();
    for (name, sql) in all {
        if name == "trace_bounds" && !has_bounds {
            continue;
        }
        let expected = answer(&model, &sql).unwrap();
        let why = match answer(&imported.conn, &sql) {
            Ok(rows) => difference(&rows, &expected),
            Err(error) => Some(error),
        };
        if let Some(why) = why {
            wrong.insert(name, why);
        }
    }
    wrong
}

/// The same with the fewest packets for which an answer differs.
fn smallest(mut packets: Vec<Message>, mut found: Answered) -> (Vec<Message>, Answered) {
    while let Some(smaller) = (1..packets.len()).rev().find_map(|left_out| {
        let mut fewer = packets.clone();
        fewer.remove(left_out);
        let wrong = wrong(&fewer);
        wrong
            .keys()
            .any(|name| found.contains_key(name))
            .then_some((fewer, wrong))
    }) {
        (packets, found) = smaller;
    }
    (packets, found)
}

/// PROPTEST_CASES asks for more of them.
fn cases() -> u64 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(128)
}

#[test]
fn any_trace_of_profilers_gives_the_rows_of_the_model() {
    for seed in 0..cases() {
        let packets = profile_generate::trace(seed);
        let found = wrong(&packets);
        if !found.is_empty() {
            let (packets, found) = smallest(packets, found);
            let trace: String = trace_of(&packets)
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            panic!("{found:#?}\nseed {seed}, as hex: {trace}");
        }
    }
}

#[test]
fn the_model_gives_the_rows_of_profilers_that_are_known() {
    for number in (1..=40).filter(|number| *number != 22) {
        let bytes = fs::read(data(&format!("profiles/{number:02}.pftrace"))).unwrap();
        let model = profile_tables(&bytes);
        let expected = recorded(&format!("profiles/{number:02}.jsonl.zst"));
        for (name, sql) in statements(STATEMENTS) {
            let as_text = |rows: Vec<Row>| {
                let row = |row: Row| {
                    let texts = row.into_iter().map(text);
                    texts.map(Value::Text).collect()
                };
                rows.into_iter().map(row).collect::<Vec<_>>()
            };
            let expected = expected.get(&name).cloned().unwrap_or_default();
            let found = answer(&model, &sql).unwrap();
            let why = difference(&as_text(found), &as_text(expected));
            assert_eq!(why, None, "{number}, {name}");
        }
    }
}

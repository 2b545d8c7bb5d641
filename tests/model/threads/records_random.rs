//! Random traces with records of the recording: an import must give the rows of the model.

use super::{records, records_generate};
use crate::records::is_own;
use crate::support::statements::{Answered, answer, as_text, difference, recorded, statements};
use crate::support::{Imported, data};
use std::fs;
use timebase_lab::encode::{Message, trace_of};

const STATEMENTS: &str = "more/queries-more.sql";

/// The statements about records.
fn asked() -> Vec<(String, String)> {
    let asked = ["metadata", "recorded", "triggers"];
    let mut all = statements(STATEMENTS);
    all.retain(|(name, _)| asked.contains(&name.as_str()));
    assert_eq!(all.len(), asked.len());
    all
}

/// The differences between an import and the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    let model = records::tables(&trace);
    let mut wrong = Answered::new();
    for (name, sql) in asked() {
        let mut found = answer(&imported.conn, &sql).unwrap();
        found.retain(|row| name != "metadata" || !is_own(row));
        let expected = answer(&model, &sql).unwrap();
        if let Some(why) = difference(&found, &expected) {
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
        let is_same = wrong.keys().any(|name| found.contains_key(name));
        is_same.then_some((fewer, wrong))
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
fn any_trace_of_records_gives_the_rows_of_the_model() {
    for seed in 0..cases() {
        let packets = records_generate::trace(seed);
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
fn md1_to_md16_the_model_gives_the_rows_that_are_known() {
    for trace in ["02", "09", "16", "23", "30", "37"] {
        let bytes = fs::read(data(&format!("more/{trace}.pftrace"))).unwrap();
        let model = records::tables(&bytes);
        let expected = recorded(&format!("more/{trace}.jsonl.zst"));
        for (name, sql) in asked() {
            let expected = expected.get(&name).cloned().unwrap_or_default();
            let found = answer(&model, &sql).unwrap();
            let why = difference(&as_text(found), &as_text(expected));
            assert_eq!(why, None, "{trace}, {name}");
        }
    }
}

//! Random traces: an import gives the rows of the model.

use super::{answers, generate};
use crate::support::encode::{Message, trace_of};
use crate::support::statements::{Answered, differences};
use rusqlite::Connection;
use std::env;
use timebase_import::{Monitor, Options, Source};

/// How an import differs from the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    let database = directory.path().join("database");
    std::fs::write(&file, &trace).unwrap();
    timebase_import::import(
        &Source::File(file),
        &database,
        &Options::default(),
        &Monitor::default(),
    )
    .unwrap();
    let connection = Connection::open(database).unwrap();
    differences(&connection, "threads/queries-threads.sql", &answers(&trace))
}

/// The same of a trace with fewer packets, if there is one that differs in one of these answers.
fn smaller(packets: &[Message], wrong_before: &Answered) -> Option<(Vec<Message>, Answered)> {
    let shorter = (1..packets.len()).rev().map(|left_out| {
        let mut packets = packets.to_vec();
        packets.remove(left_out);
        packets
    });
    shorter
        .map(|packets| {
            let wrong = wrong(&packets);
            (packets, wrong)
        })
        .find(|(_, wrong)| wrong.keys().any(|name| wrong_before.contains_key(name)))
}

/// PROPTEST_CASES asks for more of them.
fn cases() -> u64 {
    let asked = env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(128)
}

#[test]
fn any_trace_gives_the_rows_of_the_model() {
    for seed in 0..cases() {
        let mut packets = generate::trace(seed);
        let mut found = wrong(&packets);
        while let Some((shorter, wrong)) = smaller(&packets, &found).filter(|_| !found.is_empty()) {
            (packets, found) = (shorter, wrong);
        }
        let trace: String = trace_of(&packets)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert!(found.is_empty(), "{found:#?}\nseed {seed}, as hex: {trace}");
    }
}

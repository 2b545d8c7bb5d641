//! Random traces: an import must give the rows of the model.

use super::{answers, frame_random, generate, generate_events, tables};
use crate::support::statements::{Answered, differences};
use rusqlite::Connection;
use std::env;
use timebase_import::{Monitor, Options, Source};
use timebase_lab::encode::{Message, trace_of};

/// The differences between an import and the model.
fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    let database = directory.path().join("database");
    std::fs::write(&file, &trace).unwrap();
    timebase_import::import(
        &[Source::File(file)],
        &database,
        &Options::default(),
        &Monitor::default(),
    )
    .unwrap();
    let connection = Connection::open(database).unwrap();
    let model = tables(&trace);
    let mut wrong = frame_random::differences(&connection, &model);
    // The model's log has no lines of android_log, which these traces have.
    wrong.remove("track_event_logs");
    for file in [
        "threads/queries-threads.sql",
        "slices/queries-slices.sql",
        "doubt/queries-doubt.sql",
    ] {
        wrong.extend(differences(&connection, file, &answers(&model, file)));
    }
    wrong
}

/// A trace with fewer packets, if there is one that differs in one of these answers.
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

/// Imports of the traces for some seeds must agree with the model.
fn all_agree(trace: fn(u64) -> Vec<Message>) {
    for seed in 0..cases() {
        let mut packets = trace(seed);
        let mut found = wrong(&packets);
        while !found.is_empty()
            && let Some((shorter, wrong)) = smaller(&packets, &found)
        {
            (packets, found) = (shorter, wrong);
        }
        let trace: String = trace_of(&packets)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert!(found.is_empty(), "{found:#?}\nseed {seed}, as hex: {trace}");
    }
}

#[test]
fn any_trace_gives_the_rows_of_the_model() {
    all_agree(generate::trace);
}

#[test]
fn any_trace_of_track_events_gives_the_rows_of_the_model() {
    all_agree(generate_events::trace);
}

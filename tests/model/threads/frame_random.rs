//! Random traces of frames, states, log messages and energy: an import must give the rows of the
//! model.

use super::{frame_generate, tables};
use crate::support::statements::{Answered, Row, answer, difference, recorded, statements};
use crate::support::{Imported, data, text};
use rusqlite::Connection;
use rusqlite::types::Value;
use std::fs;
use timebase_lab::encode::{Message, trace_of};

/// The statements of queries-more.sql that ask for these.
const ASKED: [&str; 9] = [
    "expected_frames",
    "actual_frames",
    "frame_tracks",
    "frame_flows",
    "states",
    "state_tracks",
    "state_slices",
    "track_event_logs",
    "power_counters",
];

/// The counters that these rules name.
const STATS: &str =
    "SELECT name, sum(value) FROM stats WHERE value <> 0 AND (name GLOB 'frame_timeline_*'
    OR name GLOB 'energy_*' OR name GLOB 'entity_state_*') GROUP BY name";

/// All statements, by their names.
fn asked() -> Vec<(String, String)> {
    let mut asked = statements("more/queries-more.sql");
    asked.retain(|(name, _)| ASKED.contains(&&**name));
    assert_eq!(asked.len(), ASKED.len());
    asked.push(("stats".to_owned(), STATS.to_owned()));
    asked
}

/// The differences between the answers of an import and of the model.
pub fn differences(imported: &Connection, model: &Connection) -> Answered {
    let mut wrong = Answered::new();
    for (name, sql) in asked() {
        let expected = answer(model, &sql).unwrap();
        let why = match answer(imported, &sql) {
            Ok(rows) => difference(&rows, &expected),
            Err(error) => Some(error),
        };
        if let Some(why) = why {
            wrong.insert(name, why);
        }
    }
    wrong
}

fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    differences(&imported.conn, &tables(&trace))
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
fn any_trace_of_frames_and_states_gives_the_rows_of_the_model() {
    for seed in 0..cases() {
        let packets = frame_generate::trace(seed);
        let found = wrong(&packets);
        if !found.is_empty() {
            let (packets, found) = smallest(packets, found);
            let trace = trace_of(&packets);
            let trace: String = trace.iter().map(|b| format!("{b:02x}")).collect();
            panic!("{found:#?}\nseed {seed}, as hex: {trace}");
        }
    }
}

#[test]
fn the_model_gives_the_rows_of_frames_and_states_that_are_known() {
    let as_text = |rows: Vec<Row>| {
        let row = |row: Row| row.into_iter().map(text).map(Value::Text).collect();
        rows.into_iter().map(row).collect::<Vec<_>>()
    };
    for number in [1, 6, 7, 8, 13, 14, 15, 20, 21, 22, 27, 28, 29, 34, 35, 36] {
        let bytes = fs::read(data(&format!("more/{number:02}.pftrace"))).unwrap();
        let model = tables(&bytes);
        let expected = recorded(&format!("more/{number:02}.jsonl.zst"));
        for (name, sql) in asked() {
            if name == "stats" {
                continue;
            }
            let expected = expected.get(&name).cloned().unwrap_or_default();
            let found = answer(&model, &sql).unwrap();
            let why = difference(&as_text(found), &as_text(expected));
            assert_eq!(why, None, "{number}, {name}");
        }
    }
}

/// How often the rows of a statement stand in the model's tables of the first traces.
fn rows_of(sql: &str) -> i64 {
    let all = (0..128).map(|seed| {
        let model = tables(&trace_of(&frame_generate::trace(seed)));
        model
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    });
    all.sum()
}

#[test]
fn the_random_traces_have_all_that_the_rules_of_frames_and_states_name() {
    let all = [
        "SELECT count(*) FROM expected_frame_timeline_slice WHERE dur >= 0",
        "SELECT count(*) FROM actual_frame_timeline_slice WHERE depth > 0",
        "SELECT count(*) FROM actual_frame_timeline_slice WHERE layer_name IS NULL AND surface_frame_token >= 0",
        "SELECT count(*) FROM actual_frame_timeline_slice WHERE jank_tag = 'Dropped Frame'",
        "SELECT count(*) FROM actual_frame_timeline_slice WHERE jank_tag_experimental = 'Non-perceivable Jank'",
        "SELECT count(*) FROM flow",
        "SELECT count(*) FROM state WHERE dur > 0 AND arg_set_id IS NOT NULL",
        "SELECT count(*) FROM state JOIN thread_state_track AS t ON t.id = track_id WHERE value = ''",
        "SELECT count(*) FROM state JOIN process_state_track AS t ON t.id = track_id",
        "SELECT count(*) FROM slice JOIN state_track AS t ON t.id = track_id",
        "SELECT count(*) FROM android_logs WHERE tag IS NOT NULL AND prio = 0",
        "SELECT count(*) FROM counter JOIN counter_track AS t ON t.id = track_id WHERE type GLOB '*_per_uid'",
        "SELECT count(*) FROM counter JOIN counter_track AS t ON t.id = track_id WHERE type = 'entity_state'",
        "SELECT count(*) FROM stats WHERE name = 'frame_timeline_unpaired_end_event' AND value > 0",
        "SELECT count(*) FROM stats WHERE name = 'energy_uid_breakdown_missing_values' AND value > 0",
        "SELECT count(*) FROM stats WHERE name = 'entity_state_residency_lookup_failed' AND value > 0",
    ];
    for sql in all {
        assert!(rows_of(sql) > 0, "{sql}");
    }
}

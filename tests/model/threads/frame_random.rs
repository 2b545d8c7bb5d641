//! Random traces of frames, states, log messages and energy: an import must give the rows of the
//! model.

use super::agreement::{self, all_agree, answers_as_recorded, asked};
use super::{frame_generate, tables};
use crate::support::Imported;
use crate::support::statements::Answered;
use rusqlite::Connection;
use std::convert::identity;
use timebase_lab::encode::{Message, trace_of};

/// The statements of queries-more.sql about these tables.
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

/// The counters in these rules.
const STATS: &str =
    "SELECT name, sum(value) FROM stats WHERE value <> 0 AND (name GLOB 'frame_timeline_*'
    OR name GLOB 'energy_*' OR name GLOB 'entity_state_*') GROUP BY name";

/// The differences between the answers of an import and of the model.
pub fn differences(imported: &Connection, model: &Connection) -> Answered {
    let mut all = asked("more/queries-more.sql", &ASKED);
    all.push(("stats".to_owned(), STATS.to_owned()));
    agreement::differences(imported, model, &all, identity)
}

fn wrong(packets: &[Message]) -> Answered {
    let trace = trace_of(packets);
    let imported = Imported::of_bytes(&trace, &[]);
    differences(&imported.conn, &tables(&trace))
}

#[test]
fn any_trace_of_frames_and_states_gives_the_rows_of_the_model() {
    all_agree(128, frame_generate::trace, wrong);
}

#[test]
fn the_model_gives_the_rows_of_frames_and_states_that_are_known() {
    let traces = [1, 6, 7, 8, 13, 14, 15, 20, 21, 22, 27, 28, 29, 34, 35, 36];
    let asked = asked("more/queries-more.sql", &ASKED);
    answers_as_recorded("more", traces, &asked, tables);
}

/// The number of rows of a statement in the model's tables of the first traces.
fn rows_of(sql: &str) -> i64 {
    let all = (0..128).map(|seed| {
        let model = tables(&trace_of(&frame_generate::trace(seed)));
        model.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
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

//! The smallest traces on which tables once differed from those of Perfetto's trace processor, with
//! its rows: through the real program, and with the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::model::threads;
use crate::support::statements::{Row, answer, difference, statements};
use crate::support::{Imported, data, files, repository, text};

/// Rows by their statement, as text.
type Rows = BTreeMap<String, Vec<Vec<String>>>;

/// Intended differences: rows by their statement, next to trace processor's rows.
type Ours<'a> = &'a [(&'a str, &'a [&'a str])];

fn expected(trace: &str, ours: Ours<'_>) -> BTreeMap<String, Vec<Row>> {
    let json = fs::read(data(&format!("repro/{trace}.json"))).unwrap();
    let mut rows: Rows = serde_json::from_slice(&json).unwrap();
    if trace.contains("negative-pid") {
        one_process(&mut rows);
    }
    for (statement, row) in ours {
        let row = row.iter().map(|&value| value.to_owned()).collect();
        rows.get_mut(*statement).unwrap().push(row);
    }
    let as_row = |row: Vec<String>| row.into_iter().map(Value::Text).collect();
    rows.into_iter().map(|(name, rows)| (name, rows.into_iter().map(as_row).collect())).collect()
}

/// A process whose pid one field writes as int32 and another as uint32 is one process (rule FP3); trace
/// processor has two.
fn one_process(rows: &mut Rows) {
    for (name, rows) in rows.iter_mut() {
        if matches!(name.as_str(), "processes" | "threads") {
            rows.retain(|row| !["-7#1", "-7/-7#1#1", "6/-7#1#1"].contains(&row[0].as_str()));
            for row in rows.iter_mut().filter(|row| row[0] == "-6/-7#1#1") {
                row[0] = "-6/4294967289#1#1".to_owned();
            }
        }
    }
}

fn as_text(value: Value, null: &str) -> Value {
    Value::Text(match value {
        Value::Null => null.to_owned(),
        Value::Real(real) => format!("{real:.6}"),
        value => text(value),
    })
}

/// The differences of the rows of all statements from trace processor's and ours.
fn differences(conn: &Connection, trace: &str, ours: Ours<'_>) -> String {
    let (file, null) = match trace.ends_with(".threads") {
        true => ("threads/queries-threads.sql", "[NULL]"),
        false => ("slices/queries-slices.sql", ""),
    };
    let expected = expected(trace, ours);
    let statements = statements(file);
    let names: BTreeSet<&String> = statements.iter().map(|(name, _)| name).collect();
    assert_eq!(names, expected.keys().collect(), "{trace}");
    let differing = statements.iter().filter_map(|(name, sql)| {
        let rows = answer(conn, sql).unwrap().into_iter();
        let as_row = |row: Row| row.into_iter().map(|value| as_text(value, null)).collect();
        let rows: Vec<Row> = rows.map(as_row).collect();
        let why = difference(&rows, &expected[name])?;
        Some(format!("\n{name}: {why}"))
    });
    differing.collect()
}

fn agrees(trace: &str, ours: Ours<'_>) {
    let imported = Imported::new(&format!("repro/{trace}.pftrace"), &[]);
    let wrong = differences(&imported.conn, trace, ours);
    assert!(wrong.is_empty(), "{trace}, the program: {wrong}");
    let bytes = fs::read(data(&format!("repro/{trace}.pftrace"))).unwrap();
    let wrong = differences(&threads::tables(&bytes), trace, ours);
    assert!(wrong.is_empty(), "{trace}, the model: {wrong}");
}

#[test]
fn gp3_a_name_renames_no_lane_of_a_queue_that_has_one() {
    agrees("gp3-named-lane.threads", &[]);
}

#[test]
fn gp3_the_first_name_counts_for_the_gpu_of_its_packet() {
    agrees("gp3-other-gpu-first.threads", &[]);
}

#[test]
fn gp3_a_second_name_renames_nothing() {
    agrees("gp3-second-name.threads", &[]);
}

#[test]
fn gp5_without_a_context_the_process_is_that_of_pid_0() {
    agrees("gp5-no-context.threads", &[]);
}

#[test]
fn w6_p10_the_waker_of_a_clone_of_its_own_tid_is_the_older_thread() {
    agrees("w6-clone-of-own-tid.threads", &[]);
}

#[test]
fn o2_x25_what_waits_for_trace_time_counts_for_what_has_no_time() {
    agrees("o2-guest-waits.threads", &[]);
    agrees("o2-guest-waits-host-later.threads", &[]);
}

#[test]
fn o2_an_event_without_pid_counts_for_what_has_no_time() {
    agrees("o2-event-without-pid.threads", &[]);
}

#[test]
fn m5_p9_a_fork_that_takes_the_tid_of_an_owner_leaves_it_the_owner() {
    agrees("m5-owner-tid-forked.threads", &[]);
}

#[test]
fn l2_j2_overrides_have_no_sign() {
    agrees("l2-negative-overrides.slices", &[]);
}

#[test]
fn l2_j2_the_pid_of_a_sequence_has_no_sign_in_a_mention_of_its_thread() {
    agrees("l2-negative-pid.slices", &[]);
}

#[test]
fn a11_j2_pid_and_tid_of_a_sequence_have_no_sign_in_a_mention_beside_a_uuid() {
    agrees("a11-negative-pid.slices", &[]);
}

#[test]
fn e1_sequence_0_is_a_sequence_where_it_is_written() {
    agrees("e1-sequence-zero.slices", &[]);
}

#[test]
fn u7_a_state_has_a_type_of_track_of_its_own() {
    agrees("u7-state-type.slices", &[]);
}

#[test]
fn u6_u9_a_state_event_places_its_uuid() {
    agrees("u6-state-places-name.slices", &[]);
    agrees("u9-state-places-first-packet.slices", &[]);
}

#[test]
fn e7_e17_e18_a_state_event_without_uuid_counts_nothing() {
    agrees("e17-state-without-uuid.slices", &[]);
    agrees("e18-state-without-uuid.slices", &[]);
}

#[test]
fn j7_l2_the_tid_override_of_a_sandboxed_sequence_is_of_its_process() {
    agrees("j7-override-sandboxed.slices", &[]);
}

#[test]
fn j7_a_sandboxed_tid_is_joined_bit_by_bit() {
    agrees("j7-negative-tid.slices", &[]);
}

#[test]
fn e16_e15_a_dropped_event_adds_to_a_counter_that_is_described_later() {
    let track = [
        "g/c",
        "global_counter_track_event",
        "counter",
        "is_root_in_scope bool=0\u{1f}source string=descriptor\u{1f}trace_id int=9",
    ];
    let of_no_thread = "legacy_event.passthrough_utid (legacy_event.passthrough_utid) uint=0/0#1#1";
    for (trace, args) in [
        ("e16-held-sums-of-no-type.slices", ""),
        ("e16-held-sums-of-no-thread.slices", of_no_thread),
    ] {
        let counter = ["g/c", "", "30", "6", args];
        agrees(trace, &[("counters", &counter), ("tracks", &track)]);
    }
}

#[test]
fn e9_e12_overlap_is_looked_for_in_the_pass_that_settles() {
    agrees("e12-overlap-above-a-closed-slice.slices", &[]);
    agrees("e12-overlap-under-an-open-slice.slices", &[]);
}

#[test]
fn u6_an_event_that_is_dropped_before_it_has_a_track_names_none() {
    agrees("u6-flow-without-id.slices", &[]);
    agrees("u6-negative-complete.slices", &[]);
}

#[test]
fn every_trace_has_a_test() {
    let source = fs::read_to_string(repository().join("tests/repro.rs")).unwrap();
    for file in files("tests/data/repro", &["pftrace"]) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(source.contains(&format!("(\"{name}\", ")), "{name}");
    }
}

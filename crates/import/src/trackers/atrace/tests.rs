//! The rows of marks. Process 0 and thread 0 are always there.

use super::super::testing::{Bytes, Number, Trace, message};
use super::*;
use crate::definitions::Definitions;

#[test]
fn b6_the_worked_example_of_lanes() {
    let marks = [
        "S|10|x|1", "S|10|x|2", "S|10|x|1", "F|10|x|1", "S|10|x|3", "F|10|x|3", "F|10|x|2",
        "B|10|f", "I|10|i", "E|10",
    ];
    let trace =
        (1..).zip(marks).fold(Trace::default(), |trace, (ts, mark)| trace.print(ts, 10, mark));
    assert_eq!(
        trace.slices(),
        [
            "1+3 0 x, atrace_async_slice/x#0 upid1 cookie=1 \
             legacy_unnestable_begin_count=2 legacy_unnestable_last_begin_ts=3",
            "2+5 0 x, atrace_async_slice/x#1 upid1 cookie=2 \
             legacy_unnestable_begin_count=1 legacy_unnestable_last_begin_ts=2",
            "5+1 0 x, atrace_async_slice/x#0 upid1 cookie=3 \
             legacy_unnestable_begin_count=3 legacy_unnestable_last_begin_ts=5",
            "8+2 0 f, thread_execution/-#2 utid1",
            "9+0 1 i, thread_execution/-#2 utid1",
        ]
    );
}

#[test]
fn b3_marks_bind_the_thread_that_makes_them() {
    let trace = Trace::default()
        .print(1, 11, "B|10|a")
        .print(2, 11, "E")
        // Another process, so another thread with this tid.
        .print(3, 11, "B|20|b")
        .print(4, 11, "E|20")
        .print(5, 11, "E|10")
        .print(6, 0, "I|0|idle");
    let made = trace.follow(Definitions::default());
    assert_eq!(
        made.slices(),
        [
            "1+1 0 a, thread_execution/-#0 utid1",
            "3+1 0 b, thread_execution/-#1 utid4",
            "6+0 0 idle, thread_execution/-#2 utid0",
        ]
    );
}

#[test]
fn b4_b5_an_end_closes_the_topmost_and_instants_nest_in_each_other() {
    let trace = Trace::default()
        .print(1, 10, "E|10")
        .print(2, 10, "B|10|a")
        .print(2, 10, "I|10|i")
        .print(2, 10, "I|10|j")
        .print(2, 10, "B|10|b")
        .print(2, 10, "E|10")
        .print(3, 10, "B|10|")
        .print(4, 10, "E|10");
    let track = "thread_execution/-#0 utid1";
    assert_eq!(
        trace.slices(),
        [
            format!("2+-1 0 a, {track}"),
            format!("2+0 1 i, {track}"),
            format!("2+0 2 j, {track}"),
            format!("2+0 1 b, {track}"),
            format!("3+1 1 [empty slice name], {track}"),
        ]
    );
}

#[test]
fn b6_tracks_of_a_process_have_lanes_for_slices_and_one_for_instants() {
    let trace = Trace::default()
        .print(1, 10, "G|10|t|a|1")
        .print(2, 10, "G|10|t|b|2")
        .print(3, 10, "G|10|t|c|1")
        .print(4, 10, "N|10|t|n")
        .print(4, 10, "N|10|t|m")
        .print(5, 11, "H|10|t|1")
        .print(6, 11, "H|10|t|b|2");
    let lane = |number| format!("atrace_async_slice_for_track/t#{number} upid1");
    let made = trace.follow(Definitions::default());
    assert_eq!(
        made.slices(),
        [
            format!("1+-1 0 a, {} utid=1", lane(0)),
            format!("2+4 0 b, {} utid=1 end_utid=2", lane(1)),
            format!("3+2 1 c, {} utid=1 end_utid=2", lane(0)),
            format!("4+0 0 n, {} utid=1", lane(2)),
            format!("4+0 1 m, {} utid=1", lane(2)),
        ]
    );
    let groups = made.rows(&timebase_schema::tables::track_record::TABLE);
    assert!(groups.iter().all(|track| track[8] == "0"), "{groups:?}");
}

#[test]
fn b7_some_marks_are_special() {
    let state = message(&[(1, Bytes(b"debug.tracing.device_state")), (2, Bytes(b"OPEN"))]);
    let trace = Trace::default()
        .print(1, 5, "N|10|DeviceStateChanged|CLOSED")
        .print(2, 5, "C|10|kill_one_process|30")
        .print(3, 5, "C|10|kill_one_process|0")
        .print(4, 5, "B|10|lmk,40,2,-800,x")
        .print(5, 5, "B|10|lmk,40,2")
        .packet(6, SYSTEM_PROPERTIES, &message(&[(1, Bytes(&state))]));
    let made = trace.follow(Definitions::default());
    let device = "android_device_state/DeviceStateChanged#0";
    assert_eq!(
        made.slices(),
        [
            format!("1+0 0 CLOSED, {device}"),
            "2+0 0 mem.lmk, android_lmk/LMK#2 upid2".to_owned(),
            "4+-1 0 lmk,40,2,-800,x, thread_execution/-#3 utid1".to_owned(),
            "4+0 0 mem.lmk, android_lmk/LMK#5 upid3".to_owned(),
            "5+-1 1 lmk,40,2, thread_execution/-#3 utid1".to_owned(),
            format!("6+0 0 OPEN, {device}"),
        ]
    );
    assert_eq!(
        made.values(),
        [
            "2 30, atrace_counter/kill_one_process#1 upid1 utid=1",
            "3 0, atrace_counter/kill_one_process#1 upid1 utid=1",
            "4 -800, oom_score_adj/oom_score_adj#4 upid3",
        ]
    );
}

#[test]
fn m3_values_belong_to_the_process_that_is_named() {
    let trace = Trace::default()
        .print(1, 5, "C|10|x|7")
        .print(2, 6, "C|10|x|-9223372036854775809")
        .print(3, 5, "C|11|x|1")
        .print(4, 5, "C|10|ScreenState|2")
        .print(5, 5, "C|10|battery_stats.y|3");
    assert_eq!(
        trace.follow(Definitions::default()).values(),
        [
            "1 7, atrace_counter/x#0 upid1 utid=1",
            "2 -9223372036854776000, atrace_counter/x#0 upid1 utid=3",
            "3 1, atrace_counter/x#1 upid2 utid=1",
            "4 2, screen_state/ScreenState#2",
            "5 3, battery_stats/battery_stats.y#3",
        ]
    );
}

#[test]
fn b8_events_of_vendors_are_marks() {
    let trace = Trace::default()
        .ftrace(
            1,
            5,
            event::MALI_TRACING_MARK_WRITE,
            &[(1, Bytes(b"")), (2, Number(10)), (3, Number(66))],
        )
        .ftrace(2, 5, event::LWIS_TRACING_MARK_WRITE, &[(2, Number(69)), (3, Number(10))])
        .ftrace(3, 5, event::G2D_TRACING_MARK_WRITE, &[(5, Number(73))])
        .ftrace(4, 5, event::G2D_TRACING_MARK_WRITE, &[(5, Number(83)), (4, Bytes(b"S"))])
        .ftrace(
            5,
            5,
            event::DPU_TRACING_MARK_WRITE,
            &[(1, Number(20)), (4, Bytes(b"b")), (5, Number(66))],
        );
    let track = "thread_execution/-#0 utid1";
    assert_eq!(
        trace.slices(),
        [format!("1+1 0 , {track}"), format!("3+0 0 -, {track}"), format!("5+-1 0 b, {track}"),]
    );
}

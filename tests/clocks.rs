//! The clock of a packet, and its time by that clock: the rules one by one, each with the smallest
//! trace that shows it.

use crate::support::Imported;
use timebase_lab::encode::{
    self, ClockSnapshot, INCREMENTAL_STATE_CLEARED, NEEDS_INCREMENTAL_STATE, Packet, Reading,
};

const REALTIME: u32 = 1;
const MONOTONIC: u32 = 3;
const BOOTTIME: u32 = 6;

/// A snapshot of sequence 1. In pictures `6=100 3=1` is BOOTTIME 100 and MONOTONIC 1.
fn snapshot(readings: &[(u32, u64)]) -> Packet {
    let clocks =
        readings.iter().map(|&(id, timestamp)| Reading { id, timestamp, ..Reading::default() });
    Packet {
        seq: 1,
        clock_snapshot: Some(ClockSnapshot { clocks: clocks.collect(), primary: None }),
        ..Packet::default()
    }
}

fn with_primary(mut packet: Packet, clock: i32) -> Packet {
    if let Some(snapshot) = &mut packet.clock_snapshot {
        snapshot.primary = Some(clock);
    }
    packet
}

/// A `track_event` of sequence 2, on its default clock.
fn event(timestamp: u64) -> Packet {
    Packet {
        seq: 2,
        timestamp: Some(timestamp),
        payload: Some((11, Vec::new())),
        ..Packet::default()
    }
}

/// A `track_event` of sequence 2 on a clock.
fn event_on(clock: u32, timestamp: u64) -> Packet {
    Packet { timestamp_clock_id: Some(clock), ..event(timestamp) }
}

fn imported(packets: &[Packet]) -> Imported {
    let trace = Imported::of_bytes(&encode::trace(packets), &[]);
    timebase_resolver::sql::register(&trace.conn).unwrap();
    trace
}

/// For each packet except snapshots: its clock, and its time or the reason why it has none.
fn placed(packets: &[Packet]) -> Vec<String> {
    placed_in(&imported(packets))
}

fn placed_in(trace: &Imported) -> Vec<String> {
    let packets = "SELECT concat_ws(' ', ifnull(clock_id, '-'), coalesce(ts, unresolved, '-')) \
                   FROM packet WHERE type IS NOT 'clock_snapshot' ORDER BY id";
    trace.rows(packets).concat()
}

#[test]
fn c1_s5_a_clock_and_a_sequences_state_are_those_of_a_machine() {
    let host = Packet { flags: INCREMENTAL_STATE_CLEARED, defaults: Some(MONOTONIC), ..event(5) };
    let guest = Packet { machine_id: 7, ..event(5) };
    let packets = [
        snapshot(&[(BOOTTIME, 100), (MONOTONIC, 1)]),
        host,
        guest,
        Packet { machine_id: 7, ..event_on(MONOTONIC, 5) },
    ];
    // The guest's sequence 2 has no default, and its clocks are in no snapshot; its BOOTTIME is
    // assumed to be the host's.
    assert_eq!(placed(&packets), ["3 104", "6 5", "3 unknown_clock"]);
}

#[test]
fn x26_what_nobody_relates_to_the_host_is_assumed_to_read_the_same() {
    let of = |machine_id, packet: Packet| Packet { machine_id, ..packet };
    let host = snapshot(&[(BOOTTIME, 100), (REALTIME, 1000)]);
    // (e) BOOTTIME, although the guest's REALTIME is far off.
    let alone = of(7, snapshot(&[(MONOTONIC, 1), (BOOTTIME, 3)]));
    assert_eq!(placed(&[host.clone(), alone, of(7, event_on(MONOTONIC, 5))]), ["3 7"]);
    // (d) REALTIME, if both have it.
    let both = of(7, snapshot(&[(BOOTTIME, 3), (REALTIME, 1005)]));
    assert_eq!(placed(&[host.clone(), both, of(7, event(4)), of(8, event(4))]), ["6 106", "6 4"]);
    // The assumption is in clock_snapshot, with the source `assumed`.
    let bytes = encode::trace(&[host, of(8, event(4))]);
    let trace = Imported::of_bytes(&bytes, &[]);
    let assumed = "SELECT machine_id, clock_id, timestamp, packet_id FROM clock_snapshot
        WHERE source = 'assumed' ORDER BY machine_id";
    assert_eq!(trace.rows(assumed), [["0", "6", "0", "1"], ["1", "6", "0", "1"]]);
    // With another trace time there is no assumption.
    let monotonic = with_primary(snapshot(&[(MONOTONIC, 1)]), 3);
    assert_eq!(placed(&[monotonic, event(5), of(7, event(4))]), ["3 5", "3 unknown_clock"]);
}

#[test]
fn c2_one_number_is_a_clock_of_each_sequence_up_to_127_and_one_clock_from_128_on() {
    let of_writer = |seq, scoped| Packet { seq, ..snapshot(&[(64, 0), (BOOTTIME, scoped)]) };
    let on = |seq, clock| Packet { seq, ..event_on(clock, 5) };
    let packets = [
        of_writer(2, 100),
        of_writer(3, 200),
        snapshot(&[(128, 0), (BOOTTIME, 300)]),
        on(2, 64),
        on(3, 64),
        on(2, 128),
        on(3, 128),
    ];
    assert_eq!(placed(&packets), ["64 105", "64 205", "128 305", "128 305"]);
}

#[test]
fn c4_the_packets_own_clock_comes_before_the_sequences_and_that_before_the_traces() {
    let snapshot = snapshot(&[(BOOTTIME, 100), (MONOTONIC, 1), (REALTIME, 50)]);
    let defaults = Packet { defaults: Some(MONOTONIC), ..event(5) };
    let packets = [
        snapshot,
        event(105),
        defaults,
        event(5),
        event_on(REALTIME, 55),
        // 0 names no clock.
        event_on(0, 5),
    ];
    assert_eq!(placed(&packets), ["6 105", "3 104", "3 104", "1 105", "3 104"]);
}

#[test]
fn c5_a_clock_of_a_sequence_without_one_is_an_error_of_its_packet_alone() {
    let without_sequence = |packet| Packet { seq: 0, ..packet };
    let trace = imported(&[
        without_sequence(snapshot(&[(64, 0), (BOOTTIME, 100)])),
        without_sequence(event_on(64, 5)),
        snapshot(&[(BOOTTIME, 100)]),
        event(105),
    ]);
    assert_eq!(placed_in(&trace), ["64 no_sequence_id", "6 105"]);
    let log = "SELECT packet_id, severity, code FROM import_log WHERE code NOT LIKE 'track_event%'";
    assert_eq!(
        trace.rows(log),
        [["0", "warning", "snapshot_no_sequence_id"], ["1", "error", "no_sequence_id"]]
    );
}

#[test]
fn c6_chrome_is_on_monotonic_and_service_events_are_on_boottime() {
    let of_type = |field, packet| Packet { payload: Some((field, Vec::new())), ..packet };
    let (chrome_events, chrome_metadata, service_event) = (5, 51, 69);
    let defaults = Packet { seq: 3, defaults: Some(REALTIME), ..event(50) };
    let packets = [
        // There is no MONOTONIC yet, so the timestamp counts as trace time.
        of_type(chrome_events, event(77)),
        snapshot(&[(BOOTTIME, 100), (MONOTONIC, 1), (REALTIME, 50)]),
        of_type(chrome_events, event(5)),
        of_type(chrome_metadata, event_on(MONOTONIC, 5)),
        of_type(chrome_events, event_on(REALTIME, 55)),
        defaults,
        // On a sequence whose default is REALTIME
        of_type(service_event, Packet { seq: 3, ..event(105) }),
        of_type(chrome_events, Packet { seq: 3, ..event(55) }),
    ];
    assert_eq!(placed(&packets), ["6 77", "3 104", "3 104", "1 105", "1 100", "6 105", "1 105"]);
}

#[test]
fn s1_s2_defaults_hold_from_their_packet_on_until_others_come_or_the_state_is_cleared() {
    let snapshot = snapshot(&[(BOOTTIME, 100), (MONOTONIC, 1), (REALTIME, 50)]);
    let defaults = |clock| Packet { defaults: Some(clock), ..event(55) };
    let cleared = |packet| Packet { flags: INCREMENTAL_STATE_CLEARED, ..packet };
    let in_the_old_form = Packet { incremental_state_cleared: true, ..event(55) };
    let packets = [
        snapshot,
        defaults(MONOTONIC),
        event(55),
        defaults(REALTIME),
        event(55),
        cleared(event(55)),
        event(55),
        // Cleared first, then set.
        cleared(defaults(MONOTONIC)),
        event(55),
        in_the_old_form,
        // Defaults that name no clock replace defaults that do.
        defaults(MONOTONIC),
        defaults(0),
    ];
    let (boottime, monotonic, realtime) = ("6 55", "3 154", "1 105");
    assert_eq!(
        placed(&packets),
        [
            monotonic, monotonic, realtime, realtime, boottime, boottime, monotonic, monotonic,
            boottime, monotonic, boottime
        ]
    );
}

#[test]
fn s3_s4_packets_that_need_state_wait_for_it_to_be_cleared_after_a_loss() {
    let needs = |timestamp| Packet { flags: NEEDS_INCREMENTAL_STATE, ..event(timestamp) };
    let lost = |packet| Packet { previous_packet_dropped: 1, ..packet };
    let cleared = |packet| Packet { flags: INCREMENTAL_STATE_CLEARED, ..packet };
    let packets = [
        snapshot(&[(BOOTTIME, 100)]),
        needs(1), // a sequence starts invalid
        cleared(event(2)),
        needs(3),
        lost(event(4)), // which does not need it
        needs(5),
        lost(cleared(event(6))), // cleared by the packet that reports the loss
        needs(7),
    ];
    let without_state = "6 incremental_state_lost";
    assert_eq!(placed(&packets), [without_state, "6 2", "6 3", "6 4", without_state, "6 6", "6 7"]);
}

#[test]
fn s4_v5_deltas_add_up_from_the_last_snapshot_but_for_packets_that_lack_state() {
    let base = |value| {
        let mut packet = Packet { seq: 2, ..snapshot(&[(64, value), (BOOTTIME, 1000 + value)]) };
        if let Some(snapshot) = &mut packet.clock_snapshot {
            snapshot.clocks[0].incremental = true;
        }
        packet
    };
    let lacking = Packet { flags: NEEDS_INCREMENTAL_STATE, ..event_on(64, 7) };
    let packets = [
        event_on(64, 3), // no base
        base(10),
        event_on(64, 3),
        lacking,
        event_on(64, 4),
        base(100),
        event_on(64, 5),
    ];
    assert_eq!(
        placed(&packets),
        ["64 no_base", "64 1013", "64 incremental_state_lost", "64 1017", "64 1105"]
    );
}

#[test]
fn n1_n2_a_snapshot_of_which_one_reading_is_wrong_counts_for_none() {
    let of_unit = |unit| {
        let mut packet = snapshot(&[(MONOTONIC, 2), (BOOTTIME, 500)]);
        if let Some(snapshot) = &mut packet.clock_snapshot {
            snapshot.clocks[0].unit = unit;
        }
        packet
    };
    let trace = imported(&[
        snapshot(&[(MONOTONIC, 1), (BOOTTIME, 100)]),
        of_unit(2),                                                   // of another unit
        snapshot(&[(MONOTONIC, 2), (MONOTONIC, 3), (BOOTTIME, 500)]), // twice
        snapshot(&[(MONOTONIC, 2), (0, 3), (BOOTTIME, 500)]),         // no clock
        snapshot(&[(MONOTONIC, 2), (BOOTTIME, 99)]),                  // backwards
        snapshot(&[(MONOTONIC, 2), (REALTIME, 1 << 63), (BOOTTIME, 500)]), // too large
        event_on(MONOTONIC, 5),
    ]);
    assert_eq!(placed_in(&trace), ["3 104"]);
    assert_eq!(trace.count("SELECT count(*) FROM clock_snapshot"), 2);
    let log = "SELECT packet_id, code FROM import_log WHERE code NOT LIKE 'track_event%' ORDER BY packet_id";
    assert_eq!(
        trace.rows(log),
        [
            ["1", "snapshot_unit_changed"],
            ["2", "snapshot_duplicate_clock"],
            ["3", "snapshot_no_clock_id"],
            ["4", "snapshot_trace_time_backwards"],
            ["5", "snapshot_overflow"]
        ]
    );
    let rejected = "SELECT value FROM stats WHERE name = 'snapshots_rejected'";
    assert_eq!(trace.count(rejected), 5);
}

#[test]
fn n3_v4_values_are_timestamps_times_the_unit() {
    let mut counter = snapshot(&[(200, 10), (BOOTTIME, 5000)]);
    if let Some(snapshot) = &mut counter.clock_snapshot {
        snapshot.clocks[0].unit = 50;
    }
    let trace = imported(&[counter, event_on(200, 12)]);
    assert_eq!(placed_in(&trace), ["200 5100"]);
    let values =
        "SELECT timestamp, unit_multiplier_ns, clock_value FROM clock_snapshot ORDER BY id";
    assert_eq!(trace.rows(values), [["10", "50", "500"], ["5000", "1", "5000"]]);
}

#[test]
fn v1_a_clock_is_itself_also_where_no_snapshot_has_it() {
    let trace = imported(&[snapshot(&[(BOOTTIME, 100)])]);
    let same = "SELECT to_boottime('BOOTTIME', 0, 7), convert_clock('TSC', 0, 7, 'TSC', 0)";
    assert_eq!(trace.rows(same), [["7", "7"]]);
}

fn trace_time(trace: &Imported) -> i64 {
    trace.count("SELECT value FROM metadata WHERE name = 'trace_time_clock_id'")
}

#[test]
fn t1_the_primary_clock_of_a_snapshot_is_trace_time_if_it_comes_before_any_conversion() {
    let both = |boottime, realtime| snapshot(&[(BOOTTIME, boottime), (REALTIME, realtime)]);
    let primary = with_primary(both(100, 50), 1);

    let trace = imported(&[primary.clone(), event_on(BOOTTIME, 105), both(200, 150)]);
    assert_eq!(trace_time(&trace), 1);
    assert_eq!(placed_in(&trace), ["6 55"]);

    // Placing a snapshot is a conversion, too.
    let trace = imported(&[both(90, 40), primary.clone(), event_on(REALTIME, 55)]);
    assert_eq!(trace_time(&trace), 6);
    assert_eq!(placed_in(&trace), ["1 105"]);
    let log = "SELECT packet_id, code FROM import_log WHERE code NOT LIKE 'track_event%'";
    assert_eq!(trace.rows(log), [["1", "primary_clock_ignored"]]);

    let of_a_guest = Packet { machine_id: 7, ..primary };
    assert_eq!(trace_time(&imported(&[of_a_guest, both(200, 150)])), 6);
}

#[test]
fn t1_an_attempt_to_convert_settles_trace_time_and_what_is_no_conversion_does_not() {
    let primary = with_primary(snapshot(&[(BOOTTIME, 100), (REALTIME, 50)]), 1);
    let after = |packet| trace_time(&imported(&[packet, primary.clone()]));
    assert_eq!(after(event_on(MONOTONIC, 5)), 6, "an attempt that failed");
    assert_eq!(after(event(5)), 1, "taken as trace time");
    assert_eq!(after(snapshot(&[(MONOTONIC, 1)])), 1, "a snapshot that has no place");
    let log = imported(&[event_on(MONOTONIC, 5), primary]);
    let log = log.rows("SELECT packet_id, code FROM import_log WHERE code NOT LIKE 'track_event%'");
    assert_eq!(log, [["1", "primary_clock_ignored"]]);
}

/// An event of a bundle and a line of the log on unknown clocks: this counts as an attempt, even if
/// their rows are not wanted.
#[test]
fn t1_trace_time_is_the_same_with_and_without_events() {
    let event = encode::FtraceEvent { timestamp: Some(5), ..encode::FtraceEvent::default() };
    let bundle = Packet {
        seq: 2,
        ftrace_events: Some(encode::Bundle {
            clock: Some(4), // MONO_RAW
            events: vec![event],
            ..encode::Bundle::default()
        }),
        ..Packet::default()
    };
    let line = Packet { seq: 2, android_log: Some(vec![Some(5)]), ..Packet::default() };
    let empty = Packet { android_log: Some(vec![None]), ..line.clone() };
    let primary = with_primary(snapshot(&[(BOOTTIME, 100), (REALTIME, 50)]), 1);
    for (packet, expected) in [(bundle, 6), (line, 6), (empty, 1)] {
        let bytes = encode::trace(&[packet, primary.clone()]);
        for args in [&[][..], &["--no-events"]] {
            assert_eq!(trace_time(&Imported::of_bytes(&bytes, args)), expected, "{args:?}");
        }
    }
}

#[test]
fn t2_without_a_default_clock_a_timestamp_is_taken_as_trace_time() {
    let packets = [
        event(5), // no clock is known
        snapshot(&[(MONOTONIC, 1), (REALTIME, 50)]),
        event(5), // BOOTTIME still is not
        snapshot(&[(MONOTONIC, 1), (BOOTTIME, 100)]),
        event(5),
        with_primary(snapshot(&[(MONOTONIC, 2), (BOOTTIME, 101)]), 3),
        event(5), // too late for trace time, but the default from here on
    ];
    assert_eq!(placed(&packets), ["6 5", "6 5", "6 5", "3 104"]);
}

#[test]
fn i1_t2_a_pair_of_the_host_is_a_snapshot_that_holds_boottime() {
    let bundle = |machine_id| Packet {
        seq: 3,
        machine_id,
        ftrace_events: Some(encode::Bundle {
            clock: Some(2), // GLOBAL
            ftrace_timestamp: Some(10),
            boot_timestamp: Some(110),
            ..encode::Bundle::default()
        }),
        ..Packet::default()
    };
    // A packet of another machine shows it, because it uses the host's default (X17): without a
    // default, its timestamp is trace time, on a clock without a number.
    let host = Packet { seq: 3, ..snapshot(&[(REALTIME, 1000), (64, 10)]) };
    let guest = Packet { machine_id: 7, ..snapshot(&[(MONOTONIC, 5), (REALTIME, 1000)]) };
    let packet = Packet { machine_id: 7, ..event(105) };
    let place = |machine| {
        let packets = [host.clone(), guest.clone(), bundle(machine), packet.clone()];
        placed(&packets).last().cloned()
    };
    assert_eq!(place(0).as_deref(), Some("6 105"));
    assert_eq!(place(8).as_deref(), Some("- 105"));
}

#[test]
fn t3_ts_is_trace_time_and_to_boottime_is_boottime() {
    let trace = imported(&[
        with_primary(snapshot(&[(BOOTTIME, 100), (REALTIME, 50)]), 1),
        event_on(BOOTTIME, 105),
        event_on(REALTIME, 55),
    ]);
    let both =
        "SELECT ts, to_boottime(clock_id, seq_id, clock_ts) FROM packet WHERE type = 'track_event'";
    assert_eq!(trace.rows(both), [["55", "105"], ["55", "105"]]);
}

#[test]
fn d1_d5_a_later_snapshot_moves_no_packet_and_is_told_by_the_functions() {
    let trace = imported(&[
        snapshot(&[(MONOTONIC, 1), (BOOTTIME, 100)]),
        event_on(MONOTONIC, 9),
        snapshot(&[(MONOTONIC, 8), (BOOTTIME, 500)]),
    ]);
    assert_eq!(placed_in(&trace), ["3 108"]);
    let function = "SELECT to_boottime(clock_id, seq_id, clock_ts) FROM packet WHERE id = 1";
    assert_eq!(trace.count(function), 501);
    let view = "SELECT id, ts, resync_ts, difference FROM packet_resync";
    assert_eq!(trace.rows(view), [["1", "108", "501", "393"]]);
}

#[test]
fn d2_what_is_tried_again_keeps_its_clock_and_its_reading() {
    let defaults = |clock| Packet { defaults: Some(clock), ..event(5) };
    let packets = [
        defaults(MONOTONIC),
        defaults(REALTIME),
        snapshot(&[(MONOTONIC, 1), (BOOTTIME, 100), (REALTIME, 50)]),
    ];
    assert_eq!(placed(&packets), ["3 104", "1 55"]);
}

#[test]
fn d3_d4_a_packet_without_a_time_is_a_row_and_a_snapshots_packet_has_that_of_the_snapshot() {
    let untimed = Packet { timestamp: None, ..event(0) };
    let trace = imported(&[
        Packet { timestamp: Some(999), ..snapshot(&[(BOOTTIME, 100), (MONOTONIC, 1)]) },
        untimed,
        event_on(10, 5),
    ]);
    let packets = "SELECT id, ts, timestamp, unresolved FROM packet";
    let null = "[NULL]";
    assert_eq!(
        trace.rows(packets),
        [["0", "100", "999", null], ["1", null, null, null], ["2", null, "5", "unknown_clock"]]
    );
}

#[test]
fn i3_a_payload_without_a_time_of_its_own_has_that_of_its_packet() {
    // process_tree, track_event, battery, and an unknown one
    let fields = [2, 11, 38, 777];
    let packets = fields.map(|field| Packet {
        payload: Some((field, Vec::new())),
        ..event_on(MONOTONIC, u64::from(field))
    });
    let snapshot = snapshot(&[(BOOTTIME, 1000), (MONOTONIC, 0)]);
    let trace = imported(&[&[snapshot][..], &packets].concat());
    let types = "SELECT type, ts FROM packet WHERE id > 0 ORDER BY id";
    assert_eq!(
        trace.rows(types),
        [["process_tree", "1002"], ["track_event", "1011"], ["battery", "1038"], ["777", "1777"]]
    );
}

#[test]
fn f7_a_packet_with_a_damaged_payload_keeps_its_header_and_leaves_nothing_else() {
    // ftrace_events, clock_snapshot and android_log, each with a field that ends too early
    let packets = [1, 6, 39].map(|field| Packet {
        uid: Some(10),
        pid: Some(20),
        payload: Some((field, vec![0x0a, 0xff])),
        ..event_on(MONOTONIC, 5)
    });
    let good = snapshot(&[(BOOTTIME, 100), (MONOTONIC, 1)]);
    let bytes = encode::trace(&[&[good][..], &packets].concat());
    for args in [&[][..], &["--no-events"]] {
        let trace = Imported::of_bytes(&bytes, args);
        let columns = "ts, clock_id, clock_ts, seq_id, uid, pid, unresolved";
        let packets = format!("SELECT type, {columns} FROM packet WHERE id > 0 ORDER BY id");
        let header = ["104", "3", "5", "2", "10", "20", "[NULL]"];
        let expected = ["ftrace_events", "clock_snapshot", "android_log"];
        let expected = expected.map(|name| [&[name][..], &header].concat());
        assert_eq!(trace.rows(&packets), expected, "{args:?}");
        let log = "SELECT packet_id, code FROM import_log WHERE code NOT LIKE 'track_event%' ORDER BY packet_id";
        let code = "corrupt_payload";
        assert_eq!(trace.rows(log), [["1", code], ["2", code], ["3", code]]);
        for (table, rows) in [
            ("clock_snapshot", 2),
            ("ftrace_event", 0),
            ("ftrace_event_partial", 0),
            ("android_logs", 0),
        ] {
            let count = trace.count(&format!("SELECT count(*) FROM {table}"));
            assert_eq!(count, rows, "{table}, {args:?}");
        }
    }
}

/// A bundle with a good pair of clocks and a good event, and damage after them.
#[test]
fn f7_of_a_payload_that_is_damaged_half_way_nothing_is_left() {
    let bundle = encode::Bundle {
        cpu: Some(0),
        clock: Some(2), // GLOBAL
        ftrace_timestamp: Some(10),
        boot_timestamp: Some(110),
        events: vec![encode::FtraceEvent { timestamp: Some(12), ..encode::FtraceEvent::default() }],
        ..encode::Bundle::default()
    };
    let whole = Packet { seq: 3, ftrace_events: Some(bundle.clone()), ..Packet::default() };
    let damaged = Packet {
        seq: 3,
        payload: Some((1, [encode::bundle_bytes(&bundle), vec![0x5a, 0xff]].concat())),
        ..Packet::default()
    };
    for (packet, rows) in [(whole, ["2", "1", "0"]), (damaged, ["0", "0", "1"])] {
        let good = event(5);
        let bytes = encode::trace(&[packet, good]);
        let trace = Imported::of_bytes(&bytes, &[]);
        let counts = "SELECT (SELECT count(*) FROM clock_snapshot),
            (SELECT count(*) FROM ftrace_event), (SELECT count(*) FROM import_log WHERE code NOT LIKE 'track_event%')";
        assert_eq!(trace.rows(counts), [rows]);
    }
}

/// Feeds a trace to an import of standard input, and measures its memory in between.
#[cfg(target_os = "linux")]
#[test]
fn f5_memory_does_not_grow_with_the_file() {
    use crate::support::{PROGRAM, Place};
    use std::io::Write;
    use std::process::{Command, Stdio};

    let place = Place::new();
    let mut child = Command::new(PROGRAM)
        .args(["import", "-", "--no-data", "-o"])
        .arg(place.path("out.db"))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let packet = Packet {
        payload: Some((900, vec![0; 4000])), // for_testing
        ..event(1)
    };
    let megabyte = encode::trace(&vec![packet; 250]);
    // When it is written, all of it has been read except for the contents of the pipe.
    let mut peak_after = |megabytes| -> u64 {
        for _ in 0..megabytes {
            input.write_all(&megabyte).unwrap();
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.unwrap().trim().strip_suffix(" kB").unwrap();
        kilobytes.parse::<u64>().unwrap() / 1024
    };
    let (before, after) = (peak_after(16), peak_after(64));
    assert!(after < before + 16, "{before} MB after 16 MB, {after} MB after 80 MB");
    drop(input);
    assert!(child.wait().unwrap().success());
}

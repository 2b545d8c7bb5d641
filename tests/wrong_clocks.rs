//! Clocks that are not those that the trace names, times that nobody read, and what CPUs and files have twice or not
//! at all (rules FE5 to FE9, FP1, FP2, X44). Answers were looked up by hand in the events.

use crate::merge::archive::{self, File};
use crate::support::{Imported, Place, data, import, run};
use timebase_lab::encode::{self, ClockSnapshot, Message, Packet, Reading};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;
const HOUR: u64 = 3600 * S;

const REALTIME: u32 = 1;
const MONOTONIC: u32 = 3;
const MONOTONIC_RAW: u32 = 5;
const BOOTTIME: u32 = 6;
const PERF: u32 = 10;

/// Payloads: fields of `TracePacket`.
const FTRACE_EVENTS: u32 = 1;
const PROCESS_STATS: u32 = 9;
const TRACK_EVENT: u32 = 11;

/// 2026-11-27.
const NOW: u64 = 1_795_800_000 * S;

fn snapshot(clocks: &[(u32, u64)]) -> Packet {
    let clocks =
        clocks.iter().map(|&(id, timestamp)| Reading { id, timestamp, ..Reading::default() });
    Packet {
        seq: 1,
        clock_snapshot: Some(ClockSnapshot { clocks: clocks.collect(), primary: None }),
        ..Packet::default()
    }
}

/// A track event of a sequence, of type begin (1), end (2) or instant (3).
fn event(kind: u64, seq: u32, clock: Option<u32>, timestamp: u64) -> Packet {
    let event = Message::new().number(9, kind).number(11, seq.into());
    Packet {
        seq,
        timestamp: Some(timestamp),
        timestamp_clock_id: clock,
        payload: Some((TRACK_EVENT, event.text(23, "job").0)),
        ..Packet::default()
    }
}

/// Instants of a sequence, 100 ms apart.
fn instants(seq: u32, clock: u32, from: u64, count: u64) -> Vec<Packet> {
    let at = |n| event(3, seq, Some(clock), from + n * 100 * MS);
    (0..count).map(at).collect()
}

/// The kernel's print in a thread.
fn print(at: u64, tid: u64, text: &str) -> Message {
    let event = Message::new().number(1, at).number(2, tid);
    event.message(3, Message::new().text(2, text))
}

fn switch(at: u64, prev: u64, state: u64, next: u64) -> Message {
    let fields = Message::new().number(2, prev).number(4, state);
    let event = Message::new().number(1, at).number(2, prev);
    event.message(4, fields.number(6, next).number(7, 120))
}

/// A bundle of a CPU, with fields and events.
fn bundle(cpu: u64, fields: &[(u32, u64)], events: &[Message]) -> Packet {
    let bundle = Message::new().number(1, cpu);
    let bundle = fields.iter().fold(bundle, |bundle, &(field, value)| bundle.number(field, value));
    let bundle = events.iter().fold(bundle, |bundle, event| bundle.message(2, event.clone()));
    Packet { seq: 2, payload: Some((FTRACE_EVENTS, bundle.0)), ..Packet::default() }
}

fn imported(packets: &[Packet]) -> Imported {
    Imported::of_bytes(&encode::trace(packets), &[])
}

fn report(name: &str) -> Imported {
    Imported::of(&data(&format!("reports/{name}")), &[])
}

/// The names of the findings in a trace.
fn checks(trace: &Imported) -> Vec<String> {
    let rows = trace.rows("SELECT DISTINCT check_name FROM finding ORDER BY 1");
    rows.into_iter().flatten().collect()
}

/// The messages of a check.
fn said(trace: &Imported, check: &str) -> Vec<String> {
    let sql = format!(
        "SELECT message || ' | ' || advice FROM finding WHERE check_name = '{check}' ORDER BY 1"
    );
    trace.rows(&sql).into_iter().flatten().collect()
}

/// The findings about sequence 2, or about a kind of packets.
fn wrong_clocks(packets: &[Packet]) -> Vec<String> {
    let said = said(&imported(packets), "wrong_clock");
    let said = said.into_iter();
    said.filter(|said| !said.contains("of sequence 3 ")).collect()
}

/// The reading of each clock when BOOTTIME reads 20,000 s.
const READINGS: [(u32, u64); 5] = [
    (BOOTTIME, 20_000 * S),
    (MONOTONIC, 10_000 * S),
    (REALTIME, NOW),
    (MONOTONIC_RAW, 5_000 * S),
    (PERF, 30_000 * S),
];

/// Two snapshots, a second apart, with a writer of BOOTTIME between them, and more packets.
fn with_snapshots(more: &[Packet]) -> Vec<Packet> {
    let at = |after| READINGS.map(|(clock, value)| (clock, value + after));
    let mut packets = vec![snapshot(&at(0))];
    packets.extend(instants(9, BOOTTIME, 20_000 * S, 10));
    packets.extend_from_slice(more);
    packets.push(snapshot(&at(S)));
    packets
}

#[test]
fn fe5_monotonic_of_a_machine_that_slept_for_hours_is_named() {
    let trace = report("38b-mono-as-boot-5h.pftrace");
    assert_eq!(checks(&trace), ["wrong_clock"]);
    let found = trace.rows(
        "SELECT severity, subject, clock_id, seq_id, packet_id, events, worst_ns FROM finding",
    );
    // The first stamp of the sequence is 18,000 s - 0.5 ms before the first snapshot.
    let expected = ["warning", "sequence 2", "6", "2", "5", "10", "17999999500000"];
    assert_eq!(found, [expected]);
    let [said] = &said(&trace, "wrong_clock")[..] else {
        panic!();
    };
    assert!(said.contains("look like readings of MONOTONIC."), "{said}");
    assert!(said.contains("3 for MONOTONIC"), "{said}");
}

#[test]
fn fe5_each_clock_is_recognized_by_its_readings() {
    let names = ["BOOTTIME", "MONOTONIC", "REALTIME", "MONOTONIC_RAW", "PERF"];
    for ((read, from), name) in READINGS.into_iter().zip(names) {
        let named = if read == BOOTTIME { MONOTONIC } else { BOOTTIME };
        let found = wrong_clocks(&with_snapshots(&instants(2, named, from + 5 * MS, 5)));
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        let says = format!("look like readings of {name}.");
        assert!(found[0].contains(&says), "{}", found[0]);
        assert!(found[0].contains(&format!("{read} for {name}")));
    }
}

#[test]
fn fe5_of_several_clocks_the_first_counts() {
    // MONOTONIC and MONOTONIC_RAW read nearly the same.
    let at = |after| {
        [(BOOTTIME, 20_000 * S), (MONOTONIC_RAW, 9_999 * S), (MONOTONIC, 10_000 * S)]
            .map(|(clock, value)| (clock, value + after))
    };
    let mut packets = vec![snapshot(&at(0))];
    packets.extend(instants(2, BOOTTIME, 10_000 * S, 3));
    packets.push(snapshot(&at(S)));
    let found = wrong_clocks(&packets);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("readings of MONOTONIC."), "{}", found[0]);
}

#[test]
fn fe5_what_is_not_far_or_not_alone_has_no_finding() {
    // Between the clocks are 8 s.
    let near = |after| [(BOOTTIME, 20 * S + after), (MONOTONIC, 12 * S + after)];
    let mut packets = vec![snapshot(&near(0))];
    packets.extend(instants(2, BOOTTIME, 12 * S, 5));
    packets.push(snapshot(&near(S)));
    assert_eq!(wrong_clocks(&packets), [""; 0]);
    // Another writer is between the snapshots and the stamps.
    let mut packets = instants(2, BOOTTIME, 10_000 * S, 5);
    packets.push(event(3, 3, Some(BOOTTIME), 15_000 * S));
    assert_eq!(wrong_clocks(&with_snapshots(&packets)), [""; 0]);
    // It is near to an end of the gap.
    let mut packets = instants(2, BOOTTIME, 10_000 * S, 5);
    packets.push(event(3, 3, Some(BOOTTIME), 19_500 * S));
    assert_eq!(wrong_clocks(&with_snapshots(&packets)).len(), 1);
    // A kernel event is there.
    let mut packets = instants(2, BOOTTIME, 10_000 * S, 5);
    packets.push(bundle(0, &[], &[print(15_000 * S, 7, "x")]));
    assert_eq!(wrong_clocks(&with_snapshots(&packets)), [""; 0]);
    // Fewer than a third of the stamps are outside: two of seven, and then two of six.
    let rest = |count| instants(2, BOOTTIME, 20_000 * S, count);
    let some = instants(2, BOOTTIME, 15_500 * S, 2);
    assert_eq!(wrong_clocks(&with_snapshots(&[some, rest(5)].concat())), [""; 0]);
    // MONOTONIC begins there, but the writer goes on for longer than half of the distance.
    let long = [instants(2, BOOTTIME, 10_000 * S, 4), instants(2, BOOTTIME, 17_000 * S, 2)];
    assert_eq!(wrong_clocks(&with_snapshots(&long.concat())), [""; 0]);
    let short = [instants(2, BOOTTIME, 10_000 * S, 4), instants(2, BOOTTIME, 14_000 * S, 2)];
    assert_eq!(wrong_clocks(&with_snapshots(&short.concat())).len(), 1);
}

#[test]
fn fe5_a_third_of_the_stamps_has_to_be_outside() {
    // 8,000 s apart: the stamps may be up to 800 s around the snapshots. The writer lasts 3,900 s.
    let at = |after| [(BOOTTIME, 20_000 * S + after), (MONOTONIC, 12_000 * S + after)];
    let stamps = |inside: u64, outside: u64| {
        let mut packets = vec![snapshot(&at(0))];
        packets.extend(instants(2, BOOTTIME, 12_700 * S, outside));
        packets.extend(instants(2, BOOTTIME, 16_600 * S, inside));
        packets.push(snapshot(&at(5000 * S)));
        packets
    };
    assert_eq!(wrong_clocks(&stamps(2, 1)).len(), 1);
    // Snapshots that cover more of them.
    let late = |inside: u64, outside: u64| {
        let mut packets = vec![snapshot(&[(BOOTTIME, 16_000 * S), (MONOTONIC, 12_000 * S)])];
        packets.extend(instants(2, BOOTTIME, 12_000 * S, outside));
        packets.extend(instants(2, BOOTTIME, 15_700 * S, inside));
        packets.push(snapshot(&[(BOOTTIME, 20_000 * S), (MONOTONIC, 16_000 * S)]));
        packets
    };
    assert_eq!(wrong_clocks(&late(2, 1)).len(), 1);
    assert_eq!(wrong_clocks(&late(3, 1)), [""; 0]);
}

#[test]
fn fe5_without_a_known_clock_it_has_to_be_an_hour_before_or_a_day_after() {
    let only = |after| [(BOOTTIME, 100_000 * S + after)];
    let found = |from: u64, count: u64, other: &[Packet]| {
        let mut packets = vec![snapshot(&only(0))];
        packets.extend(instants(2, BOOTTIME, from, count));
        packets.extend_from_slice(other);
        packets.push(snapshot(&only(S)));
        wrong_clocks(&packets)
    };
    let before = found(100_000 * S - 2 * HOUR, 5, &[]);
    assert_eq!(before.len(), 1);
    assert!(before[0].contains("from all snapshots of BOOTTIME, their clock. |"), "{}", before[0]);
    assert!(!before[0].contains("Read as"), "{}", before[0]);
    // Another unit.
    let of_unit = found(100_000 * 1000, 1, &[]).remove(0);
    let text =
        "Read as milliseconds, the timestamps fit its readings. | Write nanoseconds of BOOTTIME";
    assert!(of_unit.contains(text), "{of_unit}");
    assert_eq!(found(100_000 * S - HOUR / 2, 5, &[]), [""; 0]);
    assert_eq!(found(100_000 * S + 23 * HOUR, 5, &[]), [""; 0]);
    assert_eq!(found(100_000 * S + 25 * HOUR, 5, &[]).len(), 1);
    // The writer lasts 20 minutes, more than a tenth of the gap.
    let long = [
        event(3, 2, Some(BOOTTIME), 100_000 * S - 2 * HOUR),
        event(3, 2, Some(BOOTTIME), 100_000 * S - 2 * HOUR + 1200 * S),
    ];
    assert_eq!(found(100_000 * S - 2 * HOUR, 1, &long), [""; 0]);
    // Somebody is between.
    let other = [event(3, 3, Some(BOOTTIME), 100_000 * S - HOUR)];
    assert_eq!(found(100_000 * S - 2 * HOUR, 5, &other), [""; 0]);
}

#[test]
fn fe5_packets_of_one_kind_are_one_writer_and_descriptors_are_none() {
    let of_kind = |field, seq, timestamp| Packet {
        seq,
        timestamp: Some(timestamp),
        payload: Some((field, Vec::new())),
        ..Packet::default()
    };
    let stats = [4, 5].map(|seq| of_kind(PROCESS_STATS, seq, 10_000 * S + 20 * MS));
    let trace = imported(&with_snapshots(&stats));
    let found = trace.rows("SELECT subject, events FROM finding WHERE check_name = 'wrong_clock'");
    assert_eq!(found, [["process_stats packets", "2"]]);
    // One of them is on time, so the kind begins with the wrong one and ends with the right one.
    let one = [of_kind(PROCESS_STATS, 4, 10_000 * S), of_kind(PROCESS_STATS, 5, 20_000 * S)];
    assert_eq!(wrong_clocks(&with_snapshots(&one)), [""; 0]);
    let descriptor = [of_kind(60, 4, 10_000 * S)];
    assert_eq!(wrong_clocks(&with_snapshots(&descriptor)), [""; 0]);
}

/// The bounds of a trace, and the typical ones.
fn bounds(trace: &Imported) -> [i64; 4] {
    let sql = "SELECT start_ts, end_ts, typical_start_ts, typical_end_ts FROM trace_bounds";
    let row = trace.rows(sql).remove(0);
    let row: Vec<i64> = row.iter().map(|value| value.parse().unwrap()).collect();
    row.try_into().unwrap()
}

#[test]
fn fe6_an_event_whose_time_was_forgotten_is_named_and_left_out_of_the_typical_time() {
    let trace = report("20-forgotten-ts.pftrace");
    // Another event has no time at all.
    assert_eq!(checks(&trace), ["events_dropped", "time_outlier"]);
    let found = trace.rows(
        "SELECT severity, packet_id, events, worst_ns FROM finding WHERE check_name = 'time_outlier'",
    );
    assert_eq!(found, [["warning", "4", "2", "3600000000010"]]);
    let said = said(&trace, "time_outlier");
    assert!(said[0].contains("the first at 0 ns: slice \"no time\""), "{said:?}");
    let hour = 3_600_000_000_000;
    assert_eq!(bounds(&trace), [0, hour + 20, hour + 10, hour + 20]);
}

#[test]
fn fe6_reports_draw_the_typical_time() {
    let trace = report("20-forgotten-ts.pftrace");
    let place = Place::new();
    let page = place.path("report.html");
    let page = page.to_str().unwrap();
    assert_eq!(run(&["report", trace.path(), "-o", page]).code, Some(0));
    let page = std::fs::read_to_string(page).unwrap();
    // From the snapshot at one hour to the end of the slice are 20 ns.
    assert!(page.contains("ns since the trace began"));
    assert!(!page.contains("min since the trace began"));
}

/// Outliers of instants at these times, with a snapshot at these times.
fn outliers(snapshots: &[u64], times: &[u64]) -> Vec<String> {
    let mut packets: Vec<Packet> =
        snapshots.iter().map(|&at| snapshot(&[(BOOTTIME, at)])).collect();
    // Several sequences, so that none of them is alone on a wrong clock.
    packets.extend((2..).zip(times).map(|(seq, &at)| event(3, seq % 2 + 2, Some(BOOTTIME), at)));
    let trace = imported(&packets);
    let sql = "SELECT start_ts || '-' || end_ts FROM time_outlier ORDER BY start_ts";
    trace.rows(sql).into_iter().flatten().collect()
}

#[test]
fn fe6_outliers_are_few_and_far_from_home() {
    let home = 100 * HOUR;
    // Before home: not more than home has.
    assert_eq!(outliers(&[home], &[5, home, home + 1]), ["5-5"]);
    assert_eq!(outliers(&[home], &[5, 6, home]), [""; 0]);
    // At least an hour, and ten times as long as home.
    let near = home - HOUR;
    assert_eq!(outliers(&[home], &[near, home, home + 1]), [""; 0]);
    assert_eq!(outliers(&[home], &[near - 1, home, home + 1]).len(), 1);
    let long = [home, home + HOUR / 2];
    assert_eq!(outliers(&[home], &[&[home - 5 * HOUR][..], &long].concat()), [""; 0]);
    assert_eq!(outliers(&[home], &[&[home - 6 * HOUR][..], &long].concat()).len(), 1);
    // After home: 3, or 1 % of home.
    let after = |count: u64| (0..count).map(|n| home + 50 * HOUR + n).collect::<Vec<_>>();
    assert_eq!(outliers(&[home], &[vec![home], after(3)].concat()).len(), 1);
    assert_eq!(outliers(&[home], &[vec![home], after(4)].concat()), [""; 0]);
    let many: Vec<u64> = (0..400).map(|n| home + n).collect();
    assert_eq!(outliers(&[home], &[many.clone(), after(4)].concat()).len(), 1);
    assert_eq!(outliers(&[home], &[many.clone(), after(5)].concat()), [""; 0]);
    // At most 100.
    let before = |count: u64| (1..=count).collect::<Vec<_>>();
    assert_eq!(outliers(&[home], &[many.clone(), before(100)].concat()).len(), 1);
    assert_eq!(outliers(&[home], &[many, before(101)].concat()), [""; 0]);
}

#[test]
fn fe6_home_is_near_the_snapshots_or_the_largest_group() {
    let [early, late] = [10 * HOUR, 100 * HOUR];
    assert_eq!(outliers(&[late], &[early, late]).len(), 1);
    // A snapshot in each group: both are home.
    assert_eq!(outliers(&[early, late], &[early, late]), [""; 0]);
    // Without snapshots the largest group is home.
    let some = [late, late + 1, late + 2];
    assert_eq!(outliers(&[], &[&[early][..], &some].concat()), [format!("{early}-{early}")]);
    // No home lies between two groups of home.
    assert_eq!(outliers(&[early, late], &[early, 50 * HOUR, late]), [""; 0]);
}

#[test]
fn fe6_starts_and_ends_values_and_runs_count_and_log_lines_do_not() {
    let now = 10 * HOUR;
    let snapshots = [snapshot(&[(BOOTTIME, now), (REALTIME, NOW)])];
    let with = |more: &[Packet]| {
        imported(&[&snapshots, &instants(2, BOOTTIME, now, 3)[..], more].concat())
    };
    // A slice that ends 5 hours later.
    let slice = [event(1, 3, Some(BOOTTIME), now), event(2, 3, Some(BOOTTIME), now + 5 * HOUR)];
    let trace = with(&slice);
    assert_eq!(said(&trace, "time_outlier").len(), 1);
    let [_, end, _, typical] = bounds(&trace);
    assert_eq!((end, typical), ((now + 5 * HOUR) as i64, (now + 200 * MS) as i64));
    // A switch at 7 ns.
    let trace = with(&[bundle(0, &[], &[switch(7, 0, 0, 10)])]);
    assert_eq!(said(&trace, "time_outlier").len(), 1);
    assert_eq!(bounds(&trace)[2], now as i64);
    // A line of the log, 5 hours old.
    let trace = with(&[Packet {
        seq: 4,
        android_log: Some(vec![Some(NOW - 5 * HOUR)]),
        ..Packet::default()
    }]);
    assert_eq!(said(&trace, "time_outlier"), [""; 0]);
    let [start, _, typical, _] = bounds(&trace);
    assert_eq!((start, typical), ((now - 5 * HOUR) as i64, (now - 5 * HOUR) as i64));
    // All is right.
    let trace = with(&[]);
    let [start, end, typical_start, typical_end] = bounds(&trace);
    assert_eq!((start, end), (typical_start, typical_end));
}

#[test]
fn fe6_what_has_another_clock_is_no_outlier() {
    let trace = imported(&with_snapshots(&instants(2, BOOTTIME, 10_000 * S, 5)));
    assert_eq!(checks(&trace), ["wrong_clock"]);
    assert_eq!(trace.count("SELECT count(*) FROM time_outlier"), 1);
}

#[test]
fn fe6_a_machine_is_judged_by_itself() {
    let now = 10 * HOUR;
    let guest = |packet| Packet { machine_id: 7, ..packet };
    let trace = imported(&[
        snapshot(&[(BOOTTIME, now), (REALTIME, NOW)]),
        event(3, 2, Some(BOOTTIME), now),
        guest(snapshot(&[(BOOTTIME, 5 * S), (REALTIME, NOW + 6 * HOUR)])),
        guest(event(3, 2, Some(BOOTTIME), 5 * S)),
        guest(event(3, 2, Some(BOOTTIME), 6 * S)),
    ]);
    assert_eq!(trace.count("SELECT count(*) FROM event_group"), 2);
    assert_eq!(trace.count("SELECT count(*) FROM time_outlier"), 0);
    let [start, end, typical_start, typical_end] = bounds(&trace);
    assert_eq!((start, end), (typical_start, typical_end));
}

#[test]
fn fe7_a_unit_of_trace_time_is_one_finding() {
    let trace = report("08-primary-unit.pftrace");
    assert_eq!(checks(&trace), ["unit_of_trace_time"]);
    let said_of = |trace: &Imported| said(trace, "unit_of_trace_time").remove(0);
    let found = trace.rows("SELECT severity, subject, packet_id, events FROM finding");
    assert_eq!(found, [["error", "REALTIME", "0", "2"]]);
    let text = said_of(&trace);
    assert!(text.contains("REALTIME, the clock of trace time, in units of 1,000 ns"), "{text}");
    assert!(text.contains("2 events could not be placed in time."), "{text}");

    let trace = report("08b-boottime-ms.pftrace");
    assert_eq!(checks(&trace), ["unit_of_trace_time"]);
    assert_eq!(trace.rows("SELECT dur FROM slice"), [["100"]]);
    let text = said_of(&trace);
    assert!(text.contains("wrong by the factor 1,000,000"), "{text}");
    assert!(text.contains("The timestamps of 2 events on BOOTTIME count as nanoseconds"), "{text}");
    assert_eq!(run(&["doctor", trace.path()]).code, Some(1));
}

#[test]
fn fe8_a_local_clock_of_the_kernel_has_its_own_advice() {
    let trace = report("09b-ftrace-local-nopair.pftrace");
    assert_eq!(checks(&trace), ["kernel_clock_local"]);
    let found = trace.rows("SELECT severity, packet_id, events FROM finding");
    assert_eq!(found, [["warning", "1", "2"]]);
    let text = said(&trace, "kernel_clock_local").remove(0);
    assert!(text.contains("local or global") && text.contains("preserve_ftrace_buffer"), "{text}");
    // Global, unknown, and local with a pair.
    let boottime = snapshot(&[(BOOTTIME, 100 * S)]);
    let of_clock = |fields: &[(u32, u64)]| {
        imported(&[boottime.clone(), bundle(0, fields, &[print(5000, 7, "x")])])
    };
    for clock in [1, 2] {
        assert_eq!(checks(&of_clock(&[(5, clock)])), ["kernel_clock_local"], "{clock}");
    }
    let paired = of_clock(&[(5, 3), (6, 4000), (7, 100 * S)]);
    assert_eq!(said(&paired, "kernel_clock_local"), [""; 0]);
    // A packet on clock 64 is a writer's.
    let packet = event(3, 2, Some(64), 5000);
    assert_eq!(checks(&imported(&[boottime, packet])), ["sequence_clock_undefined"]);
}

/// Names, times and doubt of slices.
fn slices(trace: &Imported) -> Vec<Vec<String>> {
    trace.rows("SELECT name, ts, dur, doubt FROM slice ORDER BY ts")
}

#[test]
fn fe9_a_slice_whose_end_another_cpu_lost_is_doubtful() {
    let trace = report("05-ring-wrap.pftrace");
    let expected = [
        ["foo", "10000", "-1", "cpus_missing"],
        ["bar", "13000", "1000", "[NULL]"],
        ["baz", "20000", "5000", "[NULL]"],
    ];
    assert_eq!(slices(&trace), expected);
    assert_eq!(checks(&trace), ["rows_doubtful", "trace_before_all_cpus"]);
    let found = trace.rows("SELECT DISTINCT severity FROM finding");
    assert_eq!(found, [["info"]]);
    let counted = "SELECT value FROM stats WHERE name = 'slices_doubtful'";
    assert_eq!(trace.rows(counted), [["1"]]);
    let text = said(&trace, "trace_before_all_cpus").remove(0);
    assert!(text.contains("1 slice."), "{text}");
}

#[test]
fn fe9_a_long_slice_is_not_doubtful_if_other_threads_come_first() {
    let trace = imported(&[
        bundle(0, &[], &[print(10_000, 1, "B|1|foo"), print(15_000, 1, "B|1|bar")]),
        bundle(1, &[], &[print(20_000, 2, "B|2|other"), print(25_000, 1, "E|1")]),
    ]);
    let doubtful = "SELECT count(*) FROM slice WHERE doubt IS NOT NULL";
    assert_eq!(trace.count(doubtful), 0);
    assert_eq!(said(&trace, "trace_before_all_cpus"), [""; 0]);
}

/// Two CPUs: CPU 0 begins at 10 µs, CPU 1 at 20 µs in thread `first`.
fn two_cpus(fields: &[(u32, u64)], first: u64) -> Vec<Packet> {
    let one = [print(10_000, 5, "B|5|early"), switch(11_000, 5, 1, 6), switch(12_000, 6, 1, 0)];
    let other = [
        print(20_000, first, "C|5|x|1"),
        print(30_000, 5, "B|5|late"),
        print(31_000, 5, "E|5"),
        switch(40_000, first, 1, 0),
    ];
    vec![bundle(0, &[], &one), bundle(1, fields, &other)]
}

#[test]
fn fe9_slices_and_states_that_begin_before_all_cpus_have_events_are_doubtful() {
    // CPU 1 lost events before its first bundle.
    let trace = imported(&two_cpus(&[(3, 1)], 7));
    let expected = [["early", "10000", "-1", "cpus_missing"], ["late", "30000", "1000", "[NULL]"]];
    assert_eq!(slices(&trace), expected);
    let states = "SELECT t.tid, s.ts, s.state, s.doubt FROM thread_state AS s JOIN thread AS t USING (utid) ORDER BY s.ts, t.tid";
    let expected = [
        ["5", "11000", "S", "cpus_missing"],
        ["6", "11000", "Running", "[NULL]"],
        ["6", "12000", "S", "cpus_missing"],
        ["7", "40000", "S", "[NULL]"],
    ];
    assert_eq!(trace.rows(states), expected);
    let found = trace
        .rows("SELECT severity, worst_ns FROM finding WHERE check_name = 'trace_before_all_cpus'");
    assert_eq!(found, [["info", "10000"]]);
    let cpus = trace
        .rows("SELECT ucpu, first_ts, last_ts, first_tid, is_first_idle, is_cut FROM ftrace_cpu");
    let expected = [["0", "10000", "12000", "5", "0", "0"], ["1", "20000", "40000", "7", "0", "1"]];
    assert_eq!(cpus, expected);
}

#[test]
fn fe9_without_evidence_cpus_may_begin_at_different_times() {
    let doubtful =
        "SELECT (SELECT count(doubt) FROM slice) + (SELECT count(doubt) FROM thread_state)";
    let finding = "trace_before_all_cpus";
    let trace = imported(&two_cpus(&[], 7));
    assert_eq!((trace.count(doubtful), said(&trace, finding).len()), (0, 0));
    // The CPU was idle, so it missed nothing.
    let trace = imported(&two_cpus(&[(3, 1)], 0));
    let missing = "SELECT count(*) FROM slice WHERE doubt = 'cpus_missing'";
    assert_eq!((trace.count(missing), said(&trace, finding).len()), (0, 0));
    // The buffer of CPU 1 says when it begins: at 15 µs. Nothing before that becomes a slice (rule O6).
    let trace = imported(&two_cpus(&[(10, 15_000)], 7));
    assert_eq!((trace.count(missing), said(&trace, finding).len()), (0, 1));
    assert_eq!(slices(&trace).len(), 1);
    // A buffer of the recorder wrapped.
    let wrapped = |chunks| {
        let buffer = Message::new().number(3, chunks);
        let stats = Packet {
            seq: 1,
            payload: Some((35, Message::new().message(1, buffer).0)),
            ..Packet::default()
        };
        imported(&[two_cpus(&[], 7), vec![stats]].concat())
    };
    let trace = wrapped(3);
    assert_eq!((trace.count(missing), said(&trace, finding).len()), (1, 1));
    let trace = wrapped(0);
    assert_eq!((trace.count(missing), said(&trace, finding).len()), (0, 0));
}

fn log(trace: &Imported) -> Vec<String> {
    let sql = "SELECT packet_id || ' ' || message FROM import_log WHERE code = 'snapshot_of_zeros'";
    trace.rows(sql).into_iter().flatten().collect()
}

#[test]
fn fp1_a_snapshot_that_nobody_read_is_named_and_is_no_evidence() {
    let zeros = [1, 2, 3, 4, 5, 6].map(|clock| (clock, 0));
    let trace = imported(&[snapshot(&zeros), event(3, 2, Some(REALTIME), NOW)]);
    assert_eq!(
        log(&trace),
        ["0 all 6 clocks of the snapshot read 0: its writer did not read them"]
    );
    assert_eq!(checks(&trace), ["snapshot_of_zeros"]);
    // It still converts.
    assert_eq!(trace.rows("SELECT ts FROM slice"), [[NOW.to_string()]]);
    // A later snapshot shows no drift against it.
    let read = snapshot(&[(REALTIME, NOW), (BOOTTIME, 500 * S)]);
    let trace = imported(&[snapshot(&zeros), event(3, 2, Some(REALTIME), NOW), read]);
    for check in ["drift", "far_from_snapshot", "wrong_clock"] {
        assert_eq!(said(&trace, check), [""; 0], "{check}");
    }
}

#[test]
fn fp1_a_simulation_may_begin_at_0() {
    let zeros = [(MONOTONIC, 0), (BOOTTIME, 0)];
    let at = |at| imported(&[snapshot(&zeros), event(3, 2, Some(MONOTONIC), at)]);
    assert_eq!(log(&at(5 * S)), [""; 0]);
    assert_eq!(log(&at(HOUR)), [""; 0]);
    assert_eq!(log(&at(HOUR + 1)).len(), 1);
    // One clock is no snapshot of several, and another reading is no zero.
    let one = imported(&[snapshot(&[(REALTIME, 0)]), event(3, 2, Some(REALTIME), NOW)]);
    assert_eq!(log(&one), [""; 0]);
    let some =
        imported(&[snapshot(&[(REALTIME, 0), (BOOTTIME, 1)]), event(3, 2, Some(REALTIME), NOW)]);
    assert_eq!(log(&some), [""; 0]);
}

/// A trace of Unix time, without a clock id and without a snapshot.
fn unix() -> Vec<Packet> {
    vec![event(1, 2, None, NOW), event(2, 2, None, NOW + S)]
}

#[test]
fn fp2_unix_time_without_a_clock_is_named() {
    let trace = imported(&unix());
    assert_eq!(checks(&trace), ["boottime_is_unix"]);
    let text = said(&trace, "boottime_is_unix").remove(0);
    assert!(text.contains("from 2026-11-27") || text.contains("2026-11-27"), "{text}");
    assert!(text.contains("--default-clock REALTIME"), "{text}");
    // An option would be for all files.
    let manifest = r#"{"perfetto_manifest": {"version": 1, "files": []}}"#;
    let both = together(&[("a.pftrace", phone()), ("b.pftrace", unix())], manifest);
    let text = said(&both, "boottime_is_unix").remove(0);
    assert!(text.contains("files[].default_clock"), "{text}");
    assert!(!text.contains("--default-clock"), "{text}");
    // A forgotten time is no evidence against it; another one is, and so is a snapshot.
    let with = |more: &[Packet]| {
        let trace = imported(&[&unix()[..], more].concat());
        said(&trace, "boottime_is_unix").len()
    };
    assert_eq!(with(&[event(3, 2, None, 0)]), 1);
    assert_eq!(with(&[event(3, 2, None, 5 * S)]), 0);
    assert_eq!(with(&[event(3, 2, None, 4_200_000_000 * S)]), 0);
    assert_eq!(with(&[snapshot(&[(BOOTTIME, 5 * S), (REALTIME, NOW)])]), 0);
    assert_eq!(with(&[snapshot(&[(BOOTTIME, 0), (REALTIME, 0)])]), 1);
    // Seconds after 2100 and before 2001.
    let at = |at| said(&imported(&[event(3, 2, None, at)]), "boottime_is_unix").len();
    assert_eq!((at(978_307_200 * S), at(978_307_200 * S - 1)), (1, 0));
    assert_eq!((at(4_102_444_800 * S), at(4_102_444_800 * S + 1)), (1, 0));
}

#[test]
fn fp2_a_given_default_clock_is_that_of_timestamps_without_one() {
    let trace = Imported::of_bytes(&encode::trace(&unix()), &["--default-clock", "realtime"]);
    assert_eq!(
        trace.rows("SELECT clock_id, ts FROM packet LIMIT 1"),
        [["1".to_owned(), NOW.to_string()]]
    );
    assert_eq!(trace.rows("SELECT dur FROM slice"), [[S.to_string()]]);
    assert_eq!(said(&trace, "boottime_is_unix"), [""; 0]);
    let clock = "SELECT value FROM metadata WHERE name = 'trace_time_clock_id'";
    assert_eq!(trace.rows(clock), [["1"]]);
    // Its own snapshots do not change it, but place it.
    let mut packets = vec![snapshot(&[(BOOTTIME, 500 * S), (REALTIME, NOW)])];
    packets.extend(unix());
    let trace = Imported::of_bytes(&encode::trace(&packets), &["--default-clock", "REALTIME"]);
    assert_eq!(trace.rows("SELECT ts FROM slice"), [[(500 * S).to_string()]]);
    let place = Place::new();
    let file = place.write("a.pftrace", &encode::trace(&unix()));
    let refused = import(&file, &place.path("a.db"), &["--default-clock", "UNIX"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("use one of REALTIME, "), "{}", refused.stderr);
}

/// A trace with snapshots, at the same time as [`unix`].
fn phone() -> Vec<Packet> {
    vec![
        snapshot(&[(BOOTTIME, 500 * S), (REALTIME, NOW)]),
        event(3, 3, Some(BOOTTIME), 500 * S + 5),
    ]
}

/// The times of slices in files of these packets, with a manifest.
fn together(files: &[(&str, Vec<Packet>)], manifest: &str) -> Imported {
    let traces = files.iter().map(|(name, packets)| File::new(name, encode::trace(packets)));
    let manifest = [File::new("manifest.json", manifest.as_bytes())];
    let bytes = archive::zip(&manifest.into_iter().chain(traces).collect::<Vec<_>>());
    let place = Place::new();
    Imported::of(&place.write("both.zip", &bytes), &[])
}

#[test]
fn fp2_a_manifest_gives_a_file_its_default_clock_on_one_timeline_with_others() {
    let times = "SELECT ts FROM slice ORDER BY ts";
    let named = |machines: [&str; 2]| {
        let entry = |name: &str, machine: &str, more: &str| {
            let machine = match machine {
                "" => String::new(),
                name => format!(r#", "machine": {{"name": "{name}"}}"#),
            };
            format!(r#"{{"path": "{name}"{machine}{more}}}"#)
        };
        format!(
            r#"{{"perfetto_manifest": {{"version": 1, "files": [{}, {}]}}}}"#,
            entry("a.pftrace", machines[0], ""),
            entry("b.pftrace", machines[1], r#", "default_clock": "REALTIME""#)
        )
    };
    let expected = [[(500 * S).to_string()], [(500 * S + 5).to_string()]];
    // Of one machine, and of two, whose wall clocks are assumed to agree.
    for machines in [["", ""], ["phone", "watch"]] {
        let files = [("a.pftrace", phone()), ("b.pftrace", unix())];
        let trace = together(&files, &named(machines));
        assert_eq!(trace.rows(times), expected, "{machines:?}");
    }
    // A file that is read first makes its clock that of the timeline.
    let files = [("b.pftrace", unix()), ("a.pftrace", phone())];
    let trace = together(&files, &named(["phone", "watch"]));
    assert_eq!(trace.rows("SELECT count(*) FROM slice"), [["2"]]);
    let distance = "SELECT max(ts) - min(ts) FROM slice";
    assert_eq!(trace.rows(distance), [["5"]]);
}

#[test]
fn fp2_a_pinned_file_has_no_default_clock() {
    let manifest = r#"{"perfetto_manifest": {"version": 1, "files": [
        {"path": "a.pftrace"},
        {"path": "b.pftrace", "default_clock": "REALTIME", "clocks": {"sync_to": {"file": "a.pftrace", "clock": "BOOTTIME"}}}]}}"#;
    let files = [("a.pftrace", phone()), ("b.pftrace", unix())];
    let traces = files.map(|(name, packets)| File::new(name, encode::trace(&packets)));
    let manifest = [File::new("manifest.json", manifest.as_bytes())];
    let bytes = archive::zip(&manifest.into_iter().chain(traces).collect::<Vec<_>>());
    let place = Place::new();
    let said = place.refuse(&place.write("both.zip", &bytes), &[]);
    assert!(
        said.contains("files[1].default_clock does not go with clocks without a clock"),
        "{said}"
    );
}

#[test]
fn x44_two_recordings_of_one_machine_that_overlap_are_named() {
    let trace = report("44-two-overlapping.zip");
    let found = trace.rows(
        "SELECT severity, subject, trace_file_id, worst_ns FROM finding WHERE check_name = 'recorded_twice'",
    );
    assert_eq!(found, [["warning", "files 1 and 2", "2", "2000000"]]);
    let said = said(&trace, "recorded_twice").remove(0);
    assert!(said.contains("from 2000000 to 4000000 ns"), "{said}");
    assert!(said.contains("a.pftrace and b.pftrace"), "{said}");
    assert!(said.contains("Import one of the two files"), "{said}");
    // Each file has its own CPUs: the other's switches are no evidence.
    let doubtful =
        "SELECT (SELECT count(doubt) FROM sched) + (SELECT count(doubt) FROM thread_state)";
    assert_eq!(trace.count(doubtful), 0);
    assert!(!checks(&trace).contains(&"switches_missed".to_owned()));
    let rows = trace.rows("SELECT ts, dur FROM sched ORDER BY ts, dur");
    assert_eq!(rows.len(), 9);
}

#[test]
fn x44_a_file_that_is_given_twice_is_named() {
    let found = |names: &[&str], second: Vec<Packet>| {
        let manifest = r#"{"perfetto_manifest": {"version": 1, "files": []}}"#;
        let files: Vec<_> = names.iter().map(|name| (*name, phone())).collect();
        let trace = together(&[&files[..], &[("z.pftrace", second)]].concat(), manifest);
        said(&trace, "recorded_twice")
    };
    let twice = found(&["a.pftrace"], phone()).remove(0);
    let text = "The files a.pftrace and z.pftrace hold the same bytes.";
    assert!(twice.contains(text), "{twice}");
    assert_eq!(found(&["a.pftrace", "b.pftrace"], phone()).len(), 2);
    let other = [phone(), vec![event(3, 3, Some(BOOTTIME), 501 * S)]].concat();
    assert_eq!(found(&["a.pftrace"], other), [""; 0]);
    // Kernel events of such files are no second finding.
    let kernel = || vec![bundle(0, &[], &[print(5 * S, 7, "x"), print(6 * S, 7, "x")])];
    let manifest = r#"{"perfetto_manifest": {"version": 1, "files": []}}"#;
    let trace = together(&[("a.pftrace", kernel()), ("b.pftrace", kernel())], manifest);
    assert_eq!(said(&trace, "recorded_twice").len(), 1);
}

#[test]
fn x44_files_that_touch_and_other_cpus_and_machines_are_no_copies() {
    let at = |cpu, from: u64, to: u64| {
        let wall = snapshot(&[(BOOTTIME, 5 * S), (REALTIME, NOW)]);
        vec![wall, bundle(cpu, &[], &[print(from, 7, "x"), print(to, 7, "x")])]
    };
    let found = |second: Vec<Packet>, machine: &str| {
        let manifest = format!(
            r#"{{"perfetto_manifest": {{"version": 1, "files": [{{"path": "a.pftrace"{machine}}}]}}}}"#
        );
        let files = [("a.pftrace", at(0, 5 * S, 6 * S)), ("b.pftrace", second)];
        said(&together(&files, &manifest), "recorded_twice").len()
    };
    assert_eq!(found(at(0, 6 * S - MS - 1, 7 * S), ""), 1);
    assert_eq!(found(at(0, 6 * S - MS, 7 * S), ""), 0);
    assert_eq!(found(at(1, 5 * S, 7 * S), ""), 0);
    let other = r#", "machine": {"name": "phone"}"#;
    assert_eq!(found(at(0, 5 * S, 7 * S), other), 0);
}

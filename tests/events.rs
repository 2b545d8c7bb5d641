//! Events inside packets and their times: events of the kernel (rule I1) and lines of Android's log
//! (rule I2), through the real program.
//!
//! tests/data/make_fixtures.py makes the fixtures; tests/data/synthetic.py
//! describes the small traces.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Imported, expected, fixture};

impl Imported {
    /// A text, a time and a reason for each row.
    fn placed(&self, sql: &str) -> Vec<(String, Option<i64>, Option<String>)> {
        let mut statement = self.conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// The only value of a query, which is JSON.
    fn json(&self, sql: &str) -> Value {
        let text: String = self.conn.query_row(sql, [], |row| row.get(0)).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// `text` is at `ts`.
fn at(text: &str, ts: i64) -> (String, Option<i64>, Option<String>) {
    (text.to_owned(), Some(ts), None)
}

/// `text` has no time, and the reason.
fn nowhere(text: &str, reason: &str) -> (String, Option<i64>, Option<String>) {
    (text.to_owned(), None, Some(reason.to_owned()))
}

// Real traces

const REAL: [&str; 2] = ["system", "system-compressed"];

#[test]
fn i1_ftrace_event_equals_trace_processors() {
    for name in REAL {
        let trace = Imported::new(&format!("{name}.pftrace"), &[]);
        let ours = trace.rows(
            "SELECT name, count(*), min(ts), max(ts), sum(ts % 1000003) FROM ftrace_event \
             GROUP BY name ORDER BY name",
        );
        assert_eq!(ours, expected(&format!("{name}.ftrace_event.csv")), "{name}");
    }
}

#[test]
fn i1_n6_the_pairs_of_bundles_are_snapshots_as_trace_processor_has_them() {
    let trace = Imported::new("system-compressed.pftrace", &[]);
    let ours = trace.rows(
        "SELECT ts, clock_id, clock_name, clock_value, snapshot_id, machine_id \
         FROM clock_snapshot ORDER BY id",
    );
    let theirs: Vec<_> = expected("system-compressed.clock_snapshot.csv")
        .into_iter()
        .map(|row| row[1..].to_vec())
        .collect();
    assert_eq!(ours, theirs);
}

/// An event as Perfetto's Python package reads it, or as timebase does. The table of partial events
/// has neither a `tid` nor a `timestamp`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    packet_id: i64,
    ts: i64,
    cpu: i64,
    name: String,
    /// Sorted by name.
    args: String,
    /// 0 if it has none.
    common_flags: i64,
    tid: Option<i64>,
    timestamp: i64,
}

fn sorted_args(args: BTreeMap<String, Value>) -> String {
    format!("{args:?}")
}

/// The events of a fixture: complete ones and partial ones. `to_boottime` places `timestamp` on
/// trace time: all snapshots of these traces come before all bundles.
fn recorded_events(name: &str, trace: &Imported, clock: u32) -> (Vec<Event>, Vec<Event>) {
    timebase_resolver::sql::register(&trace.conn).unwrap();
    let mut to_boottime = trace.conn.prepare("SELECT to_boottime(?1, 0, ?2)").unwrap();
    let (mut whole, mut partial) = (Vec::new(), Vec::new());
    for line in fixture(&format!("events/{name}.jsonl.zst")) {
        let is_partial = line["partial"] == true;
        let timestamp = line["timestamp"].as_i64().unwrap();
        let event = Event {
            packet_id: line["packet_id"].as_i64().unwrap(),
            ts: to_boottime.query_row((clock, timestamp), |row| row.get(0)).unwrap(),
            cpu: line["cpu"].as_i64().unwrap(),
            name: line["name"].as_str().unwrap().to_owned(),
            args: sorted_args(serde_json::from_value(line["args"].clone()).unwrap()),
            common_flags: line["common_flags"].as_i64().unwrap_or(0),
            tid: line["tid"].as_i64(),
            timestamp,
        };
        if is_partial {
            partial.push(event);
        } else {
            assert!(event.tid.is_some(), "{line}");
            whole.push(event);
        }
    }
    (whole, partial)
}

fn imported_events(trace: &Imported, sql: &str) -> Vec<Event> {
    let mut statement = trace.conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let args: String = row.get("args")?;
        Ok(Event {
            packet_id: row.get("packet_id")?,
            ts: row.get("ts")?,
            cpu: row.get("cpu")?,
            name: row.get("name")?,
            args: sorted_args(serde_json::from_str(&args).unwrap()),
            common_flags: row.get::<_, Option<_>>("common_flags")?.unwrap_or(0),
            tid: row.get("tid")?,
            timestamp: row.get("timestamp")?,
        })
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// The order of the rows is not specified. Only the first difference is shown, because all of them
/// would be a megabyte.
fn assert_same(what: &str, mut ours: Vec<Event>, mut theirs: Vec<Event>) {
    ours.sort();
    theirs.sort();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs, "{what}");
    }
    assert_eq!(ours.len(), theirs.len(), "{what}");
}

#[test]
fn i1_every_field_of_every_event_is_as_perfettos_python_package_reads_it() {
    // system has no ftrace_clock, so BOOTTIME; the other has MONO_RAW.
    for (name, clock) in [("system", 6), ("system-compressed", 5)] {
        let trace = Imported::new(&format!("{name}.pftrace"), &[]);
        let (whole, _) = recorded_events(name, &trace, clock);
        assert!(whole.len() > 15_000, "{name}");
        assert_same(name, imported_events(&trace, "SELECT * FROM ftrace_event"), whole);
        let unresolved = "SELECT count(*) FROM ftrace_event WHERE unresolved IS NOT NULL";
        assert_eq!(trace.count(unresolved), 0, "{name}");
    }
}

#[test]
fn i1_compact_events_before_the_first_switch_of_a_cpu_are_partial() {
    // The running thread of a CPU before its first switch is not recorded: neither the thread that
    // the first switch took off the CPU, nor the waker of another one before it. Trace processor
    // skips these events.
    for (name, clock, switches, wakings) in [("system", 6, 2, 1), ("system-compressed", 5, 2, 7)] {
        let trace = Imported::new(&format!("{name}.pftrace"), &[]);
        let (_, partial) = recorded_events(name, &trace, clock);
        let ours = imported_events(&trace, "SELECT * FROM ftrace_event_partial");
        let count = |name| ours.iter().filter(|event| event.name == name).count();
        assert_eq!((count("sched_switch"), count("sched_waking")), (switches, wakings), "{name}");
        assert_same(name, ours, partial);
    }
}

#[test]
fn tables_keeps_what_it_names_as_it_is_without_it() {
    let whole = Imported::new("system.pftrace", &[]);
    let some = Imported::new("system.pftrace", &["--tables", "sched,android_logs"]);
    for table in ["process", "thread", "sched", "thread_state", "machine", "cpu"] {
        let rows = format!("SELECT * FROM {table} ORDER BY 1, 2, 3");
        assert!(!some.rows(&rows).is_empty(), "{table}");
        assert_eq!(some.rows(&rows), whole.rows(&rows), "{table}");
    }
    for table in ["ftrace_event", "ftrace_args", "counter", "slice"] {
        assert_eq!(some.count(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    let raw = Imported::new("system.pftrace", &["--tables", "ftrace_event"]);
    assert_eq!(raw.count("SELECT count(*) FROM thread"), 0);
    let events = "SELECT id, ts, name, args FROM ftrace_event";
    assert_eq!(raw.rows(events), whole.rows(events));
}

#[test]
fn no_events_leaves_out_the_events_and_nothing_else() {
    let packets = "SELECT id, ts, type, offset, size, hex(data) FROM packet ORDER BY id";
    for (name, table) in [("system.pftrace", "ftrace_event"), ("logs.pftrace", "android_logs")] {
        let with = Imported::new(name, &[]);
        let without = Imported::new(name, &["--no-events"]);
        assert_eq!(without.rows(packets), with.rows(packets), "{name}");
        let rows = format!("SELECT count(*) FROM {table}");
        assert!(with.count(&rows) > 0, "{name}");
        for table in ["ftrace_event", "ftrace_event_partial", "android_logs"] {
            let rows = format!("SELECT count(*) FROM {table}");
            assert_eq!(without.count(&rows), 0, "{name}: {table}");
        }
    }
}

#[test]
fn no_data_leaves_the_events_there() {
    for (name, rows) in [
        (
            "system.pftrace",
            "SELECT id, ts, packet_id, cpu, tid, name, args FROM ftrace_event ORDER BY id",
        ),
        ("logs.pftrace", "SELECT id, ts, packet_id, tag, msg, args FROM android_logs ORDER BY id"),
    ] {
        let with = Imported::new(name, &[]);
        let without = Imported::new(name, &["--no-data"]);
        assert_eq!(without.count("SELECT count(data) FROM packet"), 0);
        assert!(!with.rows(rows).is_empty(), "{name}");
        assert!(without.rows(rows) == with.rows(rows), "{name}");
    }
}

// Clocks of ftrace bundles

/// The text of each event of a packet, and its time.
fn marks(trace: &Imported, packet_id: i64) -> Vec<(String, Option<i64>, Option<String>)> {
    trace.placed(&format!(
        "SELECT args ->> 'buf', ts, unresolved FROM ftrace_event \
         WHERE packet_id = {packet_id} AND name = 'print' ORDER BY id"
    ))
}

#[test]
fn i1_global_and_local_are_clocks_of_the_sequence_placed_by_the_pairs_of_its_bundles() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    // Sequence 2, pairs of 64 and BOOTTIME, with the packets that they are in:
    //
    //   64         1000           2000
    //   BOOTTIME  11000          12100
    //   packet        1              4
    assert_eq!(
        marks(&trace, 1),
        [
            at("global, before the pair", 10_900), // 11000 + (900 − 1000)
            at("global, at the pair", 11_000),
            at("global, after the pair", 11_500), // 11000 + (1500 − 1000)
        ]
    );
    // Packet 2 has a pair (1000, 99000). Its ftrace_timestamp equals that of the last pair, so it
    // does not count.
    assert_eq!(
        marks(&trace, 2),
        [
            at("global, the pair repeated", 11_600), // 11000 + (1600 − 1000)
            // The pair of packet 4 is nearer, but not known yet (rule D1).
            at("global, read before the second pair", 12_600), // 11000 + (2600 − 1000)
        ]
    );
    assert_eq!(
        marks(&trace, 4),
        [
            at("global, between the pairs", 11_999), // 11000 + (1999 − 1000)
            at("global, after the second pair", 12_700), // 12100 + (2600 − 2000)
        ]
    );
    // Sequence 3 has its own clock 64, with the pair (7000, 57000).
    assert_eq!(
        marks(&trace, 3),
        [
            at("local, before the pair", 56_500), // 57000 + (6500 − 7000)
            at("local, after the pair", 57_500),  // 57000 + (7500 − 7000)
        ]
    );
}

#[test]
fn i1_a_pair_is_one_snapshot_however_often_it_is_repeated() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    let pairs = trace.rows(
        "SELECT packet_id, clock_id, seq_id, clock_value, ts FROM clock_snapshot \
         WHERE packet_id > 0 ORDER BY id",
    );
    let expected = [
        [1, 64, 2, 1_000, 11_000],
        [1, 6, 0, 11_000, 11_000],
        // Packet 2 repeats the ftrace_timestamp.
        [3, 64, 3, 7_000, 57_000],
        [3, 6, 0, 57_000, 57_000],
        [4, 64, 2, 2_000, 12_100],
        [4, 6, 0, 12_100, 12_100],
        [6, 64, 6, 400, 20_400],
        [6, 6, 0, 20_400, 20_400],
        // The service's snapshot decides about MONOTONIC_RAW (rule V2): 1000000 + (600000 −
        // 500000).
        [7, 5, 0, 600_000, 1_100_000],
        [7, 6, 0, 1_100_007, 1_100_007],
        // Packet 9 has no sequence, so its pair is rejected (rule C5).
    ];
    let expected: Vec<Vec<String>> = expected
        .iter()
        .map(|row| row.iter().map(|value: &i64| value.to_string()).collect())
        .collect();
    assert_eq!(pairs, expected);
}

#[test]
fn i1_d2_events_before_the_first_pair_of_their_clock_are_placed_at_the_end() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    // Sequence 6: packet 5 has no pair, packet 6 has (400, 20400).
    assert_eq!(
        marks(&trace, 5),
        [at("global, no pair yet", 20_300)] // 20400 + (300 − 400)
    );
    assert_eq!(
        marks(&trace, 6),
        [at("global, the first pair", 20_450)] // 20400 + (450 − 400)
    );
}

#[test]
fn i1_v2_mono_raw_is_placed_by_the_services_snapshots_not_by_pairs() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    //                 service      pair of the bundle
    //   MONOTONIC_RAW  500000       600000
    //   BOOTTIME      1000000      1100007
    assert_eq!(
        marks(&trace, 7),
        [
            at("raw, at the snapshot", 1_000_000),
            at("raw, after the pair", 1_100_500), // 1000000 + (600500 − 500000)
        ]
    );
}

#[test]
fn i1_no_ftrace_clock_is_boottime() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    assert_eq!(
        marks(&trace, 11),
        [at("boottime", 2_000_000), at("after the corrupt one", 2_000_300),]
    );
    assert_eq!(marks(&trace, 14), [at("after a loss", 2_000_600)]);
}

#[test]
fn i1_d4_an_event_that_cannot_be_placed_is_a_row_with_its_reason() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    assert_eq!(marks(&trace, 8), [nowhere("unknown", "unknown_clock")]);
    assert_eq!(marks(&trace, 9), [nowhere("local, no sequence", "no_sequence_id")]);
    assert_eq!(marks(&trace, 10), [nowhere("global, never a pair", "unknown_clock")]);
    let kept = "SELECT packet_id, timestamp FROM ftrace_event WHERE unresolved IS NOT NULL \
                AND packet_id IN (8, 9, 10) ORDER BY packet_id";
    assert_eq!(trace.rows(kept), [["8", "1000500"], ["9", "55"], ["10", "1000500"]]);
}

// Events of all kinds

#[test]
fn i1_a_generic_event_has_the_name_and_the_fields_that_it_carries() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    let event = "FROM ftrace_event WHERE name = 'my_probe'";
    assert_eq!(
        trace.rows(&format!("SELECT packet_id, ts, cpu, tid, timestamp {event}")),
        [["11", "2000100", "3", "8", "2000100"]]
    );
    assert_eq!(
        trace.json(&format!("SELECT args {event}")),
        json!({"label": "a \"b\" π", "delta": -5, "mask": u64::MAX})
    );
}

#[test]
fn i1_f7_an_event_unknown_to_the_schema_has_its_number_for_a_name() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    let event = "FROM ftrace_event WHERE name = '1999'";
    assert_eq!(
        trace.rows(&format!("SELECT packet_id, ts, cpu, tid {event}")),
        [["11", "2000200", "3", "7"]]
    );
    assert_eq!(trace.json(&format!("SELECT args {event}")), json!({"1": 7, "2": 300}));
}

#[test]
fn i1_an_event_that_describes_itself_has_its_names_in_later_bundles_too() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    let event = |packet_id| {
        format!("FROM ftrace_event WHERE name = 'vendor_poke' AND packet_id = {packet_id}")
    };
    assert_eq!(trace.rows(&format!("SELECT ts, cpu, tid {}", event(12))), [["2000400", "2", "7"]]);
    assert_eq!(
        trace.json(&format!("SELECT args {}", event(12))),
        json!({"irq": -3, "mask": u64::MAX, "label": "first"})
    );
    // The descriptor was in packet 12.
    assert_eq!(trace.rows(&format!("SELECT ts, cpu, tid {}", event(13))), [["2000500", "1", "7"]]);
    assert_eq!(
        trace.json(&format!("SELECT args {}", event(13))),
        json!({"irq": 4, "mask": 5, "label": "second"})
    );
}

#[test]
fn i1_what_is_left_of_damaged_compact_events_is_kept_and_told() {
    let trace = Imported::new("ftrace-damaged.pftrace", &[]);
    assert_eq!(
        trace.rows("SELECT ts, args FROM ftrace_event"),
        [[
            "110",
            r#"{"prev_comm":"init","prev_pid":1,"prev_prio":120,"prev_state":1,"next_pid":2,"next_prio":120}"#
        ]]
    );
    assert_eq!(
        trace.rows("SELECT severity, code, packet_id, message FROM import_log"),
        [[
            "error",
            "compact_sched_damaged",
            "1",
            "the compact scheduler events are damaged: 1 lack values and are left out, 1 lack the \
             thread's name"
        ]]
    );
}

/// The events are equal byte by byte; their machine decides what they mean.
#[test]
fn i1_an_event_that_describes_itself_does_so_for_its_machine() {
    let trace = Imported::new("ftrace-machines.pftrace", &[]);
    let events = trace.rows("SELECT packet_id, name, args FROM ftrace_event ORDER BY packet_id");
    let host = r#"{"irq":5,"mask":6,"label":"x"}"#;
    assert_eq!(
        events,
        [
            ["1", "65536", r#"{"1":5,"2":6,"3":"eA=="}"#],
            ["2", "vendor_poke", host],
            ["3", "guest_exit", r#"{"reason":5,"2":6,"3":"eA=="}"#],
            ["4", "vendor_poke", host],
        ]
    );
}

#[test]
fn i1_f7_an_event_that_cannot_be_read_is_kept_and_its_bundle_too() {
    let trace = Imported::new("ftrace-clocks.pftrace", &[]);
    let corrupt = "FROM ftrace_event WHERE name = 'corrupt'";
    assert_eq!(
        trace.rows(&format!("SELECT packet_id, ts, cpu, tid, timestamp {corrupt}")),
        [["11", "[NULL]", "3", "[NULL]", "[NULL]"]]
    );
    // 08 FF: a varint that does not end
    assert_eq!(trace.json(&format!("SELECT args {corrupt}")), json!({"data": "CP8="}));
    let bundle = "SELECT name, ts FROM ftrace_event WHERE packet_id = 11 AND name <> 'corrupt' \
                  ORDER BY ts";
    assert_eq!(
        trace.rows(bundle),
        [["print", "2000000"], ["my_probe", "2000100"], ["1999", "2000200"], ["print", "2000300"]]
    );
    assert_eq!(trace.rows("SELECT type FROM packet WHERE id = 11"), [["ftrace_events"]]);
}

// Android logs

const S: i64 = 1_000_000_000;
/// REALTIME at boot in the traces of logs.
const BOOT: i64 = 1_700_000_000 * S;

/// The text of each line of a packet, and its time.
fn lines(trace: &Imported, packet_id: i64) -> Vec<(String, Option<i64>, Option<String>)> {
    trace.placed(&format!(
        "SELECT msg, ts, unresolved FROM android_logs WHERE packet_id = {packet_id} ORDER BY id"
    ))
}

// logs.pftrace, in seconds; REALTIME is counted from BOOT:
//
//   packet     1                 3                 5
//   BOOTTIME   100               401               402
//   MONOTONIC   80   (suspend)    81                82
//   REALTIME   100               401.000001        402.000003
//
// So REALTIME − BOOT is ahead of BOOTTIME by 0, 1000 and 3000 ns.

#[test]
fn i2_v2_a_line_is_placed_by_the_nearest_snapshot_seen_before_it() {
    let trace = Imported::new("logs.pftrace", &[]);
    assert_eq!(
        lines(&trace, 2),
        [
            at("before the first snapshot", 99 * S + S / 2),
            at("at the first snapshot", 100 * S),
            at("after the first snapshot", 100 * S + S / 4),
            // The snapshot of packet 3 is nearer, but not known yet (rule D1).
            at("after the suspend, read before its snapshot", 401 * S + S / 4),
        ]
    );
    // REALTIME is converted directly: over MONOTONIC, which stood still in the suspend, the first
    // line would have another time.
    assert_eq!(
        lines(&trace, 4),
        [
            at("in the suspend", 200 * S),
            at("just before the second snapshot", 401 * S + 999), // by the first
            at("at the second snapshot", 401 * S),
        ]
    );
    assert_eq!(
        lines(&trace, 6),
        [
            at("before the third snapshot", 401 * S + 3 * S / 4 - 1000), // by the second
            at("after the third snapshot", 402 * S + S / 2 - 3000),
        ]
    );
}

#[test]
fn i2_d2_lines_before_any_snapshot_are_placed_at_the_end_by_all_of_them() {
    let trace = Imported::new("logs.pftrace", &[]);
    assert_eq!(
        lines(&trace, 0),
        [
            at("early, of the suspend", 400 * S + S / 2), // by the first
            at("early, after the suspend", 401 * S + S / 2 - 1000), // by the second
        ]
    );
}

// logs-dst.pftrace, in seconds; REALTIME is counted from BOOT:
//
//   packet     1          3          5
//   BOOTTIME   100        200        300
//   REALTIME   100      −3400      −3300

#[test]
fn i2_n5_lines_read_after_realtime_went_back_are_unresolved_and_those_before_stay() {
    let trace = Imported::new("logs-dst.pftrace", &[]);
    assert_eq!(
        lines(&trace, 2),
        [at("before the first snapshot", 99 * S), at("after the first snapshot", 101 * S),]
    );
    assert_eq!(
        lines(&trace, 4),
        [
            nowhere("before the jump, read after it", "non_monotonic"),
            nowhere("after the jump", "non_monotonic"),
        ]
    );
    // The clock going forward again does not repair this.
    assert_eq!(lines(&trace, 6), [nowhere("it goes forward again", "non_monotonic")]);
    // When this was read there was no snapshot; at the end (rule D2) there is no path.
    assert_eq!(lines(&trace, 0), [nowhere("early", "non_monotonic")]);
    let recorded = "SELECT timestamp FROM android_logs WHERE msg = 'after the jump'";
    assert_eq!(trace.count(recorded), BOOT + 201 * S - 3600 * S);
}

#[test]
fn i2_every_field_of_a_line_is_there_and_none_that_it_does_not_have() {
    let trace = Imported::new("logs.pftrace", &[]);
    let ours = trace.rows(
        "SELECT tag, msg, pid, tid, uid, log_id, prio, args FROM android_logs \
         WHERE packet_id = 7 ORDER BY id",
    );
    let null = "[NULL]";
    assert_eq!(
        ours,
        [
            [
                "quotes",
                "it's a \"quote\", a \\ and a 'quote'",
                "100",
                "101",
                "1000",
                "0",
                "4",
                null
            ],
            ["newlines", "one line\nanother\tline\n", "100", "101", "1000", "0", "4", null],
            ["ünï", "größer als π, 日本語, 🕰", "100", "101", "1000", "0", "4", null],
            ["empty", "", "100", "101", "1000", "0", "4", null],
            ["no-uid", "no uid", "100", "101", null, "0", "4", null],
            ["root", "root", "100", "101", "0", "0", "4", null],
            ["no-prio", "no prio", "100", "101", "1000", "0", "4", null],
            ["fatal", "boom", "100", "101", "1000", "0", "7", null],
            ["crash", "crashed", "4000", "4001", "10123", "4", "4", null],
        ]
    );
    // All at BOOT + 403 s, so the third snapshot decides.
    let times = "SELECT DISTINCT timestamp, ts FROM android_logs WHERE packet_id = 7";
    let (timestamp, ts) = (BOOT + 403 * S, 403 * S - 3000);
    assert_eq!(trace.rows(times), [[timestamp.to_string(), ts.to_string()]]);
}

#[test]
fn i2_a_line_of_the_binary_log_has_its_values_by_name() {
    let trace = Imported::new("logs.pftrace", &[]);
    let of = |tag| format!("SELECT args FROM android_logs WHERE log_id = 2 AND tag = '{tag}'");
    assert_eq!(
        trace.json(&of("am_proc_start")),
        json!({
            "User": 10,
            "Bytes": 5_000_000_000_i64,
            "Delta": -1,
            "Load": 0.5,
            "Process Name": "com.example.\"π\"",
        })
    );
    // Two values with one name: none is lost, in either form.
    let values = "SELECT atom FROM android_logs, json_tree(args) \
                  WHERE tag = 'am_twice' AND atom IS NOT NULL ORDER BY json_tree.id";
    assert_eq!(trace.rows(values), [["1"], ["two"]]);
    // BOOT + 404 s, by the third snapshot
    let times = "SELECT DISTINCT ts FROM android_logs WHERE log_id = 2";
    assert_eq!(trace.rows(times), [[(404 * S - 3000).to_string()]]);
}

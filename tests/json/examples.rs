//! The worked examples of the rules, and single files for what no row of a random file shows.

use std::fmt::Display;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use crate::merge::archive::{File, zip};
use crate::support::{Imported, Place, answer, run};

/// An event of process 1 and thread 1.
fn event(phase: &str, name: &str, ts: impl Display, more: &str) -> String {
    format!(r#"{{"ph":"{phase}","name":"{name}","ts":{ts},"pid":1,"tid":1{more}}}"#)
}

fn complete(name: &str, ts: impl Display, dur: impl Display) -> String {
    event("X", name, ts, &format!(r#","dur":{dur}"#))
}

/// An event of an async slice of one category.
fn step(phase: &str, name: &str, id: u32, ts: u32) -> String {
    event(phase, name, ts, &format!(r#","cat":"c","id":{id}"#))
}

fn list(events: &[String]) -> String {
    format!("[{}]", events.join(","))
}

fn read(text: &str) -> Imported {
    Imported::of_bytes(text.as_bytes(), &[])
}

impl Imported {
    /// name(ts, dur, depth) of each slice.
    fn slices(&self) -> Vec<String> {
        self.lines("SELECT name || '(' || ts || ', ' || dur || ', ' || depth || ')' FROM slice ORDER BY id")
    }

    /// The cells of each row, with blanks between them.
    fn lines(&self, sql: &str) -> Vec<String> {
        self.rows(sql).into_iter().map(|row| row.join(" ")).collect()
    }

    fn stat(&self, name: &str) -> i64 {
        self.count(&format!("SELECT ifnull(sum(value), 0) FROM stats WHERE name = '{name}'"))
    }

    /// Codes and offsets of the lines of the log that are this format's, without counters.
    fn log(&self) -> Vec<String> {
        self.lines(
            "SELECT code || ifnull(' ' || offset, '') FROM import_log
             WHERE code GLOB 'json_*' AND code NOT GLOB '*_failure' ORDER BY id",
        )
    }

    fn clocks(&self) -> Vec<String> {
        self.lines("SELECT clock_id, clock_value, source FROM clock_snapshot ORDER BY snapshot_id, clock_id")
    }

    /// The one value of a query that needs the program's functions.
    fn asked(&self, sql: &str) -> String {
        answer(&["query", self.path(), sql, "--format", "csv"]).lines().nth(1).unwrap().to_owned()
    }
}

/// Two files in one import.
fn both(a: &str, b: &str) -> Imported {
    Imported::of_bytes(&zip(&[File::new("a.json", a), File::new("b.json", b)]), &[])
}

#[test]
fn js1_texts_that_are_traces() {
    let first = event("i", "a", 1, "");
    for text in [
        "[]".to_owned(),
        format!("\u{feff} \0\n[{first}]"),
        format!("[{{}},5,{first}]"),
        format!("{}[{first}", " ".repeat(500)),
        format!(r#"{{"a":{{"traceEvents":5}},"traceEvents":[{first}]}}"#),
        r#"{"traceEvents":[]}"#.to_owned(),
        format!("{first}\n{first}"),
    ] {
        let imported = read(&text);
        let kinds = imported.rows("SELECT DISTINCT trace_type FROM trace_file");
        assert_eq!(kinds, [["json"]], "{text}");
        assert_eq!(imported.slices().len(), text.matches("\"ph\"").count(), "{text}");
    }
}

#[test]
fn js1_texts_that_are_none() {
    let place = Place::new();
    for text in [
        "{}",
        "5",
        "[1, 2]",
        "[{}]",
        r#"[{"a":1},{"b":2}]"#,
        r#"{"meta":{},"traceEvents":[]}"#,
        r#"{"libs":[],"traceEvents":[]}"#,
        r#"{"nodes":[],"traceEvents":[]}"#,
        r#"{"a":[{"ph":"i","ts":1}]}"#,
        r#"{"ph":5,"ts":1}"#,
    ] {
        place.refuse(&place.write("trace", text.as_bytes()), &[]);
    }
}

#[test]
fn js1_js4_damage_that_leaves_no_event_refuses_the_file() {
    let place = Place::new();
    for text in [r#"[{"ph":"i","ts"#, r#"{"traceEvents":[{"ph":"X","#, r#"[{"ph" "X"}]"#] {
        let said = place.refuse(&place.write("trace", text.as_bytes()), &[]);
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn js2_js8_appended_lists_and_the_end_of_the_object() {
    let (a, b) = (event("i", "a", 1, ""), event("i", "b", 2, ""));
    let appended = read(&format!("[{a},\n[{b}\n]"));
    assert_eq!(appended.slices(), ["a(1000, 0, 0)", "b(2000, 0, 0)"]);

    let twice = read(&format!(r#"{{"traceEvents":[{a}],"x":1,"traceEvents":[{b}]}} [{a}]"#));
    assert_eq!(twice.slices(), ["a(1000, 0, 0)", "b(2000, 0, 0)"]);
    let rows = twice.lines(
        "SELECT type, clock_id, ifnull(clock_ts, ''), ifnull(ts, ''), seq_id FROM packet ORDER BY id",
    );
    let event = |ts| format!("json_event 11 {ts} {ts} 0");
    assert_eq!(rows[0], event(1000));
    assert!(rows[1].starts_with("json_member "), "{}", rows[1]);
    assert_eq!(rows[2], event(2000));
    assert!(twice.log()[0].starts_with("json_trailing_data"), "{:?}", twice.log());
    let spaces = read(&format!("{{\"traceEvents\":[{a}]}} \n\0"));
    assert!(spaces.log().is_empty());
}

#[test]
fn js4_worked_example_of_a_cut() {
    let text = r#"[{"ph":"i","ts":1,"pid":1,"tid":1},{"ph":"i","ts"#;
    let imported = read(text);
    assert_eq!(imported.slices(), ["[No name](1000, 0, 0)"]);
    assert_eq!(imported.log(), ["json_cut 35"]);
    let place = Place::new();
    place.refuse(&place.write("trace", text.as_bytes()), &["--strict"]);
}

#[test]
fn js8_the_text_of_a_row_and_a_database_without_it() {
    let text = list(&[complete("\\u0061", "007", ".5")]);
    let imported = read(&text);
    let object = imported.asked("SELECT packet_json(data) ->> '$.name' FROM packet");
    assert_eq!(object, "a");
    let without = Imported::of_bytes(text.as_bytes(), &["--no-data"]);
    assert_eq!(without.count("SELECT count(*) FROM packet WHERE data IS NOT NULL"), 0);
    assert_eq!(without.slices(), ["a(7000, 500, 0)"]);
}

#[test]
fn js9_worked_examples_of_times() {
    let times = [
        ("1750244461563845.123", "0.0005", "a(1750244461563845123, 1, 0)"),
        ("\"5.1\"", "1", "a(5100, 1000, 0)"),
        ("1e3", "1", "a(1000000, 1000, 0)"),
        ("-0.0005", "1", "a(-1, 1000, 0)"),
    ];
    for (ts, dur, slice) in times {
        assert_eq!(read(&list(&[complete("a", ts, dur)])).slices(), [slice]);
    }
}

#[test]
fn js13_worked_examples_of_ties() {
    let longer_first = read(&list(&[complete("c", 1, 5), complete("p", 1, 10)]));
    assert_eq!(longer_first.slices(), ["p(1000, 10000, 0)", "c(1000, 5000, 1)"]);
    let (begin, end) = (event("B", "z", 5, ""), r#"{"ph":"E","ts":5,"pid":1,"tid":1}"#.to_owned());
    let ends = read(&list(&[complete("x", 0, 1), begin, end]));
    assert_eq!(ends.slices(), ["x(0, 1000, 0)", "z(5000, 0, 0)"]);
}

#[test]
fn js19_worked_example_of_overlaps() {
    let imported =
        read(&list(&[complete("a", 100, 100), complete("b", 150, 100), complete("c", 160, 20)]));
    let rows = imported.lines(
        "SELECT slice.name, type, ifnull((SELECT name FROM slice AS p WHERE p.id = slice.parent_id), '–')
         FROM slice JOIN thread_track ON thread_track.id = track_id ORDER BY slice.id",
    );
    let expected = ["a thread_execution –", "b thread_overlapping_slice –", "c thread_execution a"];
    assert_eq!(rows, expected);
    assert_eq!(imported.stat("slice_spill_overlapping_complete_event"), 1);
}

#[test]
fn js21_worked_example_of_lanes() {
    let events =
        [step("b", "r", 1, 1), step("b", "s", 2, 2), step("e", "s", 2, 3), step("b", "s", 3, 4)];
    let imported = read(&list(&events));
    let rows = imported.lines(
        "SELECT slice.name, track.name, track_id = (SELECT track_id FROM slice WHERE ts = 2000)
         FROM slice JOIN track ON track.id = track_id ORDER BY slice.id",
    );
    assert_eq!(rows, ["r r 0", "s s 1", "s s 1"]);
}

#[test]
fn js25_worked_example_of_arguments() {
    let args = r#","args":{"a": [1, null, {"b": 2}], "c.d": "x"}"#;
    let imported = read(&list(&[event("i", "a", 1, args)]));
    let rows = imported.lines(
        "SELECT key, flat_key, value_type, display_value FROM slice JOIN args USING (arg_set_id) ORDER BY key",
    );
    let expected =
        ["args.a[0] args.a int 1", "args.a[1].b args.a.b int 2", "args.c.d args.c.d string x"];
    assert_eq!(rows, expected);
}

#[test]
fn js26_worked_example_of_a_counter() {
    let more = r#","id":"c1","args":{"x": "2.5", "y": true}"#;
    let imported = read(&list(&[event("C", "m", 1, more)]));
    let rows = imported.lines(
        "SELECT name, type, CAST(value AS TEXT) FROM counter JOIN counter_track ON counter_track.id = track_id",
    );
    assert_eq!(rows, ["m id: c1 x json_counter 2.5"]);
    assert_eq!(imported.stat("json_parser_failure"), 1);
}

#[test]
fn js27_states_have_their_cpu() {
    let more = r#","dur":5,"args":{"cpu":3}"#;
    let imported = read(&list(&[event("T", "Running", 1, more)]));
    assert_eq!(imported.lines("SELECT state, cpu FROM thread_state"), ["Running 3"]);
    assert_eq!(imported.lines("SELECT cpu, end_state, priority FROM sched"), ["3 [NULL] 0"]);
}

#[test]
fn js31_js32_worked_example_of_two_files() {
    let (a, b) = (complete("a", 10, 1), complete("b", 10, 1));
    let imported = both(
        &format!(r#"{{"traceEvents":[{a}],"beginningOfTime":1700000000000000}}"#),
        &format!(r#"{{"traceEvents":[{b}],"baseTimeNanoseconds":1700000000000005000}}"#),
    );
    assert_eq!(imported.slices(), ["a(10000, 1000, 0)", "b(15000, 1000, 0)"]);
    let real = imported.asked("SELECT to_realtime(ts) FROM slice WHERE name = 'a'");
    assert_eq!(real, "1700000000000010000");
}

#[test]
fn js31_js32_one_file_has_its_times_as_written() {
    let events = list(&[complete("a", 10, 1)]);
    let imported =
        read(&format!(r#"{{"traceEvents":{events},"beginningOfTime":1700000000000000}}"#));
    assert_eq!(imported.slices(), ["a(10000, 1000, 0)"]);
    assert_eq!(imported.clocks(), ["1 1700000000000000000 json", "11 0 json"]);
    let real = imported.asked("SELECT to_realtime(ts) FROM slice");
    assert_eq!(real, "1700000000000010000");
}

#[test]
fn js33_js34_values_that_are_no_anchors() {
    let of =
        |member: &str| read(&format!(r#"{{"traceEvents":[{}],{member}}}"#, complete("a", 10, 1)));
    for member in [
        r#""baseTimeNanoseconds":0"#,
        r#""baseTimeNanoseconds":1.5"#,
        r#""beginningOfTime":"soon""#,
        r#""beginningOfTime":17000000000000000000000"#,
        r#""metadata":{"clock-offset-since-epoch":1764263000000}"#,
    ] {
        let imported = of(member);
        assert!(imported.clocks().is_empty(), "{member}");
        assert!(
            imported.log()[0].starts_with("json_clock_invalid"),
            "{member}: {:?}",
            imported.log()
        );
        let key = member.trim_start_matches("\"metadata\":{").split('"').nth(1).unwrap();
        let said =
            imported.lines("SELECT message FROM import_log WHERE code = 'json_clock_invalid'");
        assert!(said[0].contains(key), "{member}: {said:?}");
    }
    for member in [r#""metadata":{"trace-capture-datetime":"x"}"#, r#""startTime":1700000000000"#] {
        assert!(of(member).clocks().is_empty() && of(member).log().is_empty(), "{member}");
    }
    let conflict =
        of(r#""baseTimeNanoseconds":1700000000000000000,"beginningOfTime":1700000002000000"#);
    assert_eq!(conflict.clocks(), ["1 1700000000000000000 json", "11 0 json"]);
    assert!(conflict.log()[0].starts_with("json_clock_conflict"), "{:?}", conflict.log());
}

#[test]
fn js36_markers_of_atrace_relate_monotonic_and_realtime() {
    let markers = "# tracer: nop\\n\
        <...>-1 [000] ...1 100.500000: tracing_mark_write: trace_event_clock_sync: parent_ts=100.5\\n\
        <...>-1 [000] ...1 100.500100: tracing_mark_write: trace_event_clock_sync: realtime_ts=1700000000000\\n";
    let a = complete("a", 10, 1);
    let imported = read(&format!(r#"{{"traceEvents":[{a}],"systemTraceEvents":"{markers}"}}"#));
    let clocks = imported.lines(
        "SELECT r.clock_value - m.clock_value FROM clock_snapshot r JOIN clock_snapshot m USING (snapshot_id)
         WHERE r.clock_id = 1 AND m.clock_id = 3",
    );
    assert_eq!(clocks, [(1_700_000_000_000_000_000i64 - 100_500_000_000).to_string()]);
}

#[test]
fn js37_without_anchors_files_begin_together() {
    let imported = both(&list(&[complete("a", 10, 1)]), &list(&[complete("b", 10, 1)]));
    assert_eq!(imported.slices(), ["a(10000, 1000, 0)", "b(10000, 1000, 0)"]);
    let hows = imported.lines("SELECT how FROM placement ORDER BY trace_file_id");
    assert_eq!(hows.last().map(String::as_str), Some("assumed"), "{hows:?}");
}

#[test]
fn js38_ranks_are_machines() {
    let rank = |rank: u32| {
        format!(
            r#"{{"distributedInfo":{{"rank":{rank}}},"traceEvents":[{}]}}"#,
            complete("a", rank, 1)
        )
    };
    let machines = both(&rank(0), &rank(8)).lines("SELECT name FROM machine ORDER BY id");
    assert!(machines.contains(&"rank 0".to_owned()), "{machines:?}");
    assert!(machines.contains(&"rank 8".to_owned()), "{machines:?}");
    let equal = both(&rank(3), &rank(3));
    assert_eq!(equal.count("SELECT count(*) FROM process WHERE pid = 1"), 1);
}

#[test]
fn js1_standard_input_is_read_like_a_file() {
    let place = Place::new();
    let out = place.path("out.db");
    let text = list(&[complete("a", 1, 2)]);
    let args = ["import", "-", "-o", out.to_str().unwrap()];
    let said = crate::support::run_with_input(&args, &text);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(run(&["query", out.to_str().unwrap(), "SELECT name FROM slice"]).code, Some(0));
}

#[test]
fn js4_f6_a_compressed_trace_that_is_cut_keeps_its_whole_events() {
    let events: Vec<String> = (0..40).map(|n| complete(&format!("event {n}"), n * 10, 5)).collect();
    let text = list(&events);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    // The text that a decompressor gets out of each beginning, and its whole events.
    for size in (20..gzip.len()).step_by(7) {
        let cut = &gzip[..size];
        let mut readable = Vec::new();
        GzDecoder::new(cut).read_to_end(&mut readable).unwrap_err();
        let whole = readable.iter().filter(|&&byte| byte == b'}').count();
        if whole == 0 {
            continue;
        }
        let imported = Imported::of_bytes(cut, &[]);
        assert_eq!(imported.count("SELECT count(*) FROM slice"), whole as i64, "{size}");
        assert_eq!(imported.count("SELECT count(*) FROM import_log WHERE code = 'json_cut'"), 1);
    }
}

#[test]
fn js4_f6_damage_of_a_compression_leaves_out_what_it_hides() {
    let member = |name: &str| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(list(&[complete(name, 1, 2)]).as_bytes()).unwrap();
        gzip.finish().unwrap()
    };
    let (first, mut broken, last) = (member("a"), member("b"), member("c"));
    let middle = broken.len() / 2;
    broken[middle] ^= 0x55;
    let imported = Imported::of_bytes(&[first, broken, last].concat(), &[]);
    let names = imported.lines("SELECT name FROM slice WHERE name IN ('a', 'c') ORDER BY name");
    assert_eq!(names, ["a", "c"]);
    assert!(imported.count("SELECT count(*) FROM import_log WHERE code GLOB 'json_*'") >= 1);
}

#[test]
fn js18_ends_that_name_no_open_slice_are_noted() {
    let event = |phase: &str, name: &str, ts: u32| event(phase, name, ts, "");
    let all = [
        event("E", "before", 1), // No slice is open.
        event("B", "a", 2),
        event("E", "a done", 3),
        event("E", "a finished", 4),
        event("E", "a", 5),
    ];
    let imported = read(&list(&all));
    let sql = "SELECT effect || ' ' || cause || ' ' || events || ' ' || name || ' ' || pid || ' ' || tid || ' ' || ts FROM event_fault";
    assert_eq!(imported.lines(sql), ["unmatched no_open_slice 2 a done 1 1 3000"]);
    assert_eq!(imported.slices().len(), 1);
}

#[test]
fn js17_a_thread_without_a_name_is_no_lost_event() {
    let named = r#"{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":""}}"#;
    let imported = read(&list(&[named.to_owned(), complete("a", 1, 2)]));
    assert_eq!(imported.stat("json_parser_failure"), 1);
    assert_eq!(imported.count("SELECT count(*) FROM event_fault"), 0);
}

#[test]
fn js31_js33_a_single_file_owns_its_clock_without_a_number() {
    let text = format!(
        r#"{{"traceEvents":[{}],"baseTimeNanoseconds":1700000000000000000}}"#,
        complete("a", 1, 2)
    );
    let imported = read(&text);
    let sql = "SELECT convert_clock('TRACE_FILE', 0, 5, 'REALTIME', 0)";
    assert_eq!(imported.asked(sql), "1700000000000000005");
    let statement = "SELECT DISTINCT CAST(data AS TEXT) FROM clock_snapshot AS s JOIN packet AS p ON p.id = s.packet_id";
    assert_eq!(imported.lines(statement), [r#""baseTimeNanoseconds":1700000000000000000"#]);
}

#[test]
fn js33_explain_shows_the_text_of_the_event_and_the_words_of_the_producer() {
    let text = format!(
        r#"{{"traceEvents":[{}],"baseTimeNanoseconds":1700000000000000000}}"#,
        complete("a", "1.5", 2)
    );
    let imported = read(&text);
    let said = answer(&["explain", imported.path(), "--slice", "0", "--to", "REALTIME"]);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines[1], r#"packet 0 has "ts": 1.5, microseconds of TRACE_FILE: 1500 ns"#);
    let words = r#"the producer says so in packet 1: "baseTimeNanoseconds":1700000000000000000"#;
    assert!(lines.contains(&words), "{said}");
    let result = "TRACE_FILE 1500 is REALTIME 1700000000000001500 ns";
    assert!(lines.last().unwrap().starts_with(result), "{said}");
}

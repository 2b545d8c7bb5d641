//! Rows of queries as tracks of the written trace (rules CN).

use crate::support::events::{
    BEGIN, END, INSTANT, clear, described, described_at, event, named, thread_named, unnamed,
};
use crate::support::random::Random;
use crate::support::{Imported, Place, Said, data, run, run_with_input};
use timebase_lab::encode::trace_of;

/// A trace whose thread 11 has a uuid: `work` of 1000 to 9000 with `step` inside from 3000 on, and `later`.
fn trace() -> Vec<u8> {
    trace_of(&[
        clear(),
        described(1, thread_named(10, 11, "worker")),
        event(1000, named(BEGIN, "work", 1)),
        event(3000, named(BEGIN, "step", 1)),
        event(4000, unnamed(END, 1)),
        event(9000, unnamed(END, 1)),
        event(9500, named(INSTANT, "later", 1)),
    ])
}

/// The program with a trace, tracks and an output; the output's name.
fn rewritten(place: &Place, trace: &[u8], tracks: &[&str]) -> (Said, std::path::PathBuf) {
    let source = place.write("s.pftrace", trace);
    let out = place.path("o.pftrace");
    let mut args = vec!["rewrite", source.to_str().unwrap(), "-o", out.to_str().unwrap()];
    for track in tracks {
        args.extend(["--track", track]);
    }
    (run(&args), out)
}

/// The import of a trace with tracks.
fn with(tracks: &[&str]) -> (Imported, String) {
    let place = Place::new();
    let (said, out) = rewritten(&place, &trace(), tracks);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    (Imported::of(&out, &[]), said.stderr)
}

const OTHERS: &str = "
    SELECT s.ts, s.dur, s.name, s.category, k.name, t.tid, parent.name FROM slice AS s JOIN track AS k ON k.id = s.track_id
    LEFT JOIN thread_track AS o ON o.id = k.id LEFT JOIN thread AS t USING (utid) LEFT JOIN track AS parent ON parent.id = k.parent_id
    WHERE k.name IS NOT NULL ORDER BY s.ts, s.dur DESC, s.name";

/// The rows as text, NULL as nothing.
fn text(rows: &[Vec<String>]) -> Vec<String> {
    rows.iter().map(|row| row.join("|").replace("[NULL]", "")).collect()
}

/// The statements see what is cut out: `work` has no end there, and `later` is not there.
#[test]
fn cn1_ct1_tracks_are_added_to_what_is_cut_out() {
    let place = Place::new();
    let source = place.write("s.pftrace", &trace());
    let out = place.path("o.pftrace");
    let said = run(&[
        "rewrite",
        source.to_str().unwrap(),
        "-o",
        out.to_str().unwrap(),
        "--from",
        "2000",
        "--to",
        "5000",
        "--track",
        "mine=SELECT ts, dur, name FROM slice",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("2 rows on 'mine'"), "{}", said.stderr);
    assert!(said.stderr.contains("from 2000 to 5000"), "{}", said.stderr);
    let found = text(&Imported::of(&out, &[]).rows(OTHERS));
    assert_eq!(found, ["1000|-1|work||mine||", "3000|1000|step||mine||"]);
}

#[test]
fn cn1_ts_dur_name_and_category() {
    let (b, _) = with(&["mine=SELECT column1 AS ts, column2 AS dur, column3 AS name, column4 AS category
                         FROM (VALUES (50, 20, 'b', 'c'), (10, 100, 'a', NULL), (30, NULL, 'open', NULL), (5, 0, 'i', NULL), (60, 90, 'x', NULL))"]);
    let found = text(&b.rows(OTHERS));
    let expected = [
        "5|0|i||mine||",
        "10|100|a||mine||",
        "30|-1|open||mine||",
        "50|20|b|c|mine||",
        "60|90|x||mine||",
    ];
    assert_eq!(found, expected);
}

#[test]
fn cn1_rows_without_a_time_are_told_on_one_line() {
    let (b, said) = with(&["two\nlines=SELECT column1 AS TS FROM (VALUES (-5), (NULL), (7))"]);
    assert_eq!(text(&b.rows(OTHERS)), ["7|0|||two\nlines||"]);
    let told =
        "1 row on 'two␊lines'; 2 left out, because they have no time, one before 0, or no value";
    assert!(said.contains(told), "{said}");
}

#[test]
fn cn1_a_thread_keeps_its_row_and_gets_the_track() {
    let track = "mine=SELECT ts + 1 AS ts, max(dur - 2, -1) AS dur, slice.name, utid FROM slice JOIN thread_track ON thread_track.id = track_id";
    let (b, _) = with(&[track]);
    assert_eq!(b.count("SELECT count(*) FROM thread WHERE tid = 11"), 1);
    let mine = "SELECT s.name, s.ts, s.dur, t.tid FROM slice AS s JOIN thread_track AS k ON k.id = s.track_id JOIN thread AS t USING (utid)
                WHERE k.name = 'mine' ORDER BY s.ts";
    let found = text(&b.rows(mine));
    assert_eq!(found, ["work|1001|7998|11", "step|3001|998|11", "later|9501|-1|11"]);
}

#[test]
fn cn1_a_process_without_a_uuid_is_described() {
    let place = Place::new();
    let (said, out) = rewritten(
        &place,
        &std::fs::read(data("system.pftrace")).unwrap(),
        &[
            "mine=SELECT start_ts AS ts, upid, pid AS number FROM process WHERE start_ts IS NOT NULL AND upid > 0",
        ],
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let a = Imported::new("system.pftrace", &[]);
    let b = Imported::of(&out, &[]);
    for table in ["process", "thread"] {
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!(a.count(&count), b.count(&count), "{table}");
    }
}

#[test]
fn cn1_values_are_counters() {
    let (b, said) = with(&[
        "load=SELECT column1 AS ts, column2 AS value FROM (VALUES (10, 1), (20, 2.5), (30, NULL), (NULL, 4))",
    ]);
    let found = b.rows("SELECT ts, printf('%.1f', value), t.name FROM counter JOIN track AS t ON t.id = track_id ORDER BY ts");
    assert_eq!(text(&found), ["10|1.0|load", "20|2.5|load"]);
    assert!(said.contains("2 rows on 'load'; 2 left out, because they have no time"), "{said}");
}

#[test]
fn cn1_a_track_for_each_text_and_arguments() {
    let (b, _) = with(&[
        "all=SELECT column1 AS ts, column2 AS track, column3 AS name, column4 AS size FROM (VALUES (10, 'z', 'a', 3), (20, 'y', 'b', 2.5), (30, 'z', 'c', 'big'))",
    ]);
    assert_eq!(text(&b.rows(OTHERS)), ["10|0|a||z||all", "20|0|b||y||all", "30|0|c||z||all"]);
    let ranks = "SELECT track.name, int_value FROM track JOIN args ON arg_set_id = source_arg_set_id WHERE key = 'sibling_order_rank' ORDER BY 2";
    assert_eq!(text(&b.rows(ranks)), ["z|1", "y|2"]);
    let args = "SELECT s.name, key, value_type, display_value FROM slice AS s JOIN args USING (arg_set_id) WHERE key GLOB 'debug.*' ORDER BY s.name";
    assert_eq!(
        text(&b.rows(args)),
        ["a|debug.size|int|3", "b|debug.size|real|2.5", "c|debug.size|string|big"]
    );
}

#[test]
fn cn1_flow_to_draws_arrows_forward() {
    let (b, said) = with(&[
        "mine=SELECT column1 AS ts, 10 AS dur, column2 AS name, (SELECT id FROM slice WHERE name = column3) AS flow_to
         FROM (VALUES (500, 'before', 'work'), (8000, 'after', 'step'), (1, 'none', NULL))",
    ]);
    let flows = "SELECT o.name, i.name FROM flow JOIN slice AS o ON o.id = slice_out JOIN slice AS i ON i.id = slice_in ORDER BY 1";
    assert_eq!(text(&b.rows(flows)), ["before|work", "step|after"], "{said}");
}

#[test]
fn cn1_a_wrong_type_names_its_place() {
    for (sql, why) in [
        ("SELECT 'x' AS ts", "track 'mine': row 1: ts is the text \"x\", and has to be an integer"),
        (
            "SELECT 1 AS ts, 2.5 AS dur",
            "row 1: dur is the real number 2.5, and has to be an integer",
        ),
        ("SELECT 1 AS ts, -7 AS dur", "dur is the integer -7, and has to be 0 or more, or -1"),
        ("SELECT 1 AS ts, 7 AS name", "name is the integer 7, and has to be a text"),
        ("SELECT 1 AS ts, 'v' AS value", "value is the text \"v\", and has to be a number"),
        ("SELECT 1 AS ts, x'00' AS blob", "blob is 1 bytes, and has to be a number or a text"),
        ("SELECT 1 AS ts, 99999 AS utid", "no thread has the utid 99999"),
        ("SELECT 1 AS ts, 99999 AS flow_to", "no slice has the id 99999"),
        ("SELECT 1 AS time", "it has no column ts"),
        ("SELECT nonesuch FROM slice", "no such column: nonesuch"),
        ("DELETE FROM slice_record RETURNING 1 AS ts", "it is the temporary database of a trace"),
        ("DELETE FROM slice_record", "the last statement has no rows"),
        ("", "there is no statement"),
    ] {
        let place = Place::new();
        let (said, out) = rewritten(&place, &trace(), &[&format!("mine={sql}")]);
        assert_eq!(said.code, Some(1), "{sql}");
        assert!(said.stderr.contains(why), "{sql}: {}", said.stderr);
        assert!(!out.exists(), "{sql}");
        assert_eq!(place.files(), ["s.pftrace"]);
    }
}

#[test]
fn cn1_statements_come_from_files_and_need_a_name() {
    let place = Place::new();
    let file = place.write("mine.sql", b"CREATE TEMP TABLE t AS SELECT 7 AS ts; SELECT ts FROM t;");
    let (said, out) = rewritten(&place, &trace(), &[&format!("mine=@{}", file.display())]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(Imported::of(&out, &[]).count("SELECT count(*) FROM slice WHERE ts = 7"), 1);
    let other = Place::new();
    let (said, out) = rewritten(&other, &trace(), &["=SELECT 1 AS ts"]);
    assert!(said.stderr.contains("has no name") && !out.exists(), "{}", said.stderr);
    let (said, _) = rewritten(&place, &trace(), &["mine=SELECT 1 AS ts"]);
    assert!(said.stderr.contains("exists"), "{}", said.stderr);
    let said = run_with_input(&["rewrite", "-", "-o", "-", "--track", "a=SELECT 1 AS ts"], "");
    assert!(said.stderr.contains("standard input does not allow"), "{}", said.stderr);
}

/// Everything else is as without the tracks, and to rewrite the trace again changes nothing.
#[test]
fn cn2_rw10_the_rest_is_as_without_and_rewriting_again_gives_the_same() {
    for name in
        ["system.pftrace", "desktop.pftrace", "app.pftrace", "sdk.pftrace", "ftrace-clocks.pftrace"]
    {
        let place = Place::new();
        let bytes = std::fs::read(data(name)).unwrap();
        let tracks = [
            "at threads=SELECT ts, dur, slice.name, utid FROM slice JOIN thread_track ON thread_track.id = track_id",
            "everywhere=SELECT ts, dur, name FROM slice",
            "running=SELECT ts, dur, utid FROM sched WHERE dur >= 0 LIMIT 500",
        ];
        let (said, out) = rewritten(&place, &bytes, &tracks);
        assert_eq!(said.code, Some(0), "{name}: {}", said.stderr);
        let again = place.path("again.pftrace");
        let said = run(&["rewrite", out.to_str().unwrap(), "-o", again.to_str().unwrap()]);
        assert_eq!(said.code, Some(0), "{name}: {}", said.stderr);
        assert!(std::fs::read(&out).unwrap() == std::fs::read(&again).unwrap(), "{name}: RW10");
        let plain = place.path("plain.pftrace");
        let said = run(&[
            "rewrite",
            place.path("s.pftrace").to_str().unwrap(),
            "-o",
            plain.to_str().unwrap(),
        ]);
        assert_eq!(said.code, Some(0), "{name}: {}", said.stderr);
        let (a, b) = (Imported::of(&plain, &[]), Imported::of(&out, &[]));
        for sql in [
            "SELECT tid, thread.name, process.pid, process.name FROM thread LEFT JOIN process USING (upid) ORDER BY 1, 2, 3, 4",
            "SELECT ts, dur, cpu, end_state, tid FROM sched JOIN thread USING (utid) ORDER BY ts, cpu",
            "SELECT ts, dur, state, tid FROM thread_state JOIN thread USING (utid) ORDER BY ts, tid, dur",
            "SELECT ts, dur, slice.name, depth, track.type FROM slice JOIN track ON track.id = track_id
             WHERE track.name IS NULL OR track.name NOT IN ('at threads', 'everywhere', 'running') ORDER BY 1, 2, 3, 4, 5",
            "SELECT ts, value, track.name FROM counter JOIN track ON track.id = track_id ORDER BY 1, 3, 2",
        ] {
            assert!(a.rows(sql) == b.rows(sql), "{name}: {sql}");
        }
        let all = "SELECT count(*) FROM slice JOIN track ON track.id = track_id WHERE track.name = 'everywhere'";
        assert_eq!(b.count(all), a.count("SELECT count(*) FROM slice"), "{name}");
    }
}

#[test]
fn cn2_a_row_before_its_thread_stands_behind_its_begin() {
    let place = Place::new();
    let packets = [
        clear(),
        described_at(2000, 1, thread_named(10, 11, "worker")),
        event(5000, named(INSTANT, "i", 1)),
    ];
    let tracks = ["mine=SELECT 100 AS ts, utid FROM thread WHERE tid = 11"];
    let (said, out) = rewritten(&place, &trace_of(&packets), &tracks);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let b = Imported::of(&out, &[]);
    assert_eq!(b.count("SELECT count(*) FROM thread WHERE tid = 11"), 1);
    assert_eq!(b.count("SELECT count(*) FROM slice JOIN thread_track AS k ON k.id = track_id WHERE k.name = 'mine'"), 1);
}

#[test]
fn cn3_marks_are_tracks() {
    let place = Place::new();
    let source = data("damaged.pftrace");
    let out = place.path("o.pftrace");
    let said = run(&["rewrite", source.to_str().unwrap(), "-o", out.to_str().unwrap(), "--marks"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for track in ["'losses'", "'may be wrong'", "'error (ns)'"] {
        assert!(said.stderr.contains(track), "{}", said.stderr);
    }
    let b = Imported::of(&out, &[]);
    let a = Imported::new("damaged.pftrace", &[]);
    let losses = a.count("SELECT count(*) FROM loss WHERE start_ts >= 0 AND end_ts >= start_ts");
    let marks =
        "SELECT count(*) FROM slice JOIN track ON track.id = track_id WHERE track.name = 'losses'";
    assert_eq!(b.count(marks), losses);
}

#[test]
fn cn1_a_json_trace_gets_tracks_too() {
    let place = Place::new();
    let json = br#"[{"ph":"X","name":"a","ts":1,"dur":5,"pid":1,"tid":2}]"#;
    let track = "mine=SELECT ts, dur, slice.name || '!' AS name, utid FROM slice JOIN thread_track ON thread_track.id = track_id";
    let (said, out) = rewritten(&place, json, &[track]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let b = Imported::of(&out, &[]);
    let found = b.rows("SELECT s.name, s.ts, s.dur, tid FROM slice AS s JOIN thread_track AS k ON k.id = s.track_id JOIN thread USING (utid) ORDER BY s.name");
    assert_eq!(text(&found), ["a|1000|5000|2", "a!|1000|5000|2"]);
    assert_eq!(b.count("SELECT count(*) FROM thread WHERE tid = 2"), 1);
}

/// Rows become packets, and packets the same rows: slices, instants and values with overlaps and equal times.
#[test]
fn cn1_any_rows_come_back() {
    for seed in 1..=60u64 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut values = Vec::new();
        let mut expected = Vec::new();
        for n in 0..80 {
            let ts = 1 + random.below(300);
            let dur = match random.below(8) {
                0 => None,
                1 => Some(-1),
                2 | 3 => Some(0),
                _ => Some(random.below(60) as i64),
            };
            let name = random.pick(&["a", "b", "größer"]);
            let track = random.pick(&["NULL", "'x'", "'y'"]);
            let shown = dur.map_or("NULL".to_owned(), |dur| dur.to_string());
            values.push(format!("({ts}, {shown}, '{name}', {track}, {n})"));
            let track = track.trim_matches('\'').replace("NULL", "mine");
            expected.push(format!("{ts}|{}|{name}|{track}|{n}", dur.unwrap_or(-1)));
        }
        let place = Place::new();
        let sql = format!(
            "SELECT column1 AS ts, column2 AS dur, column3 AS name, column4 AS track, column5 AS n FROM (VALUES {})",
            values.join(", ")
        );
        let (said, out) = rewritten(&place, &trace(), &[&format!("mine={sql}")]);
        assert_eq!(said.code, Some(0), "seed {seed}: {}", said.stderr);
        let found = "SELECT ts, dur, s.name, k.name, (SELECT int_value FROM args WHERE arg_set_id = s.arg_set_id AND key = 'debug.n')
                     FROM slice AS s JOIN track AS k ON k.id = track_id WHERE k.name IS NOT NULL";
        let mut found = text(&Imported::of(&out, &[]).rows(found));
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "seed {seed}");
    }
}

#[cfg(unix)]
#[test]
fn cn1_a_statement_without_an_end_is_interrupted_and_leaves_nothing() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let place = Place::new();
    let source = place.write("s.pftrace", &trace());
    let endless = "mine=WITH RECURSIVE n AS (SELECT 1 AS ts UNION ALL SELECT 1 FROM n) SELECT count(*) AS ts FROM n";
    let mut child = Command::new(crate::support::PROGRAM)
        .args(["rewrite", "--progress", "lines", "--track", endless, "-o"])
        .args([place.path("o.pftrace"), source])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // The import is over by the last of its lines, or soon after it.
    lines.next();
    std::thread::sleep(std::time::Duration::from_secs(1));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    assert!(lines.any(|line| line.unwrap().contains("interrupted")));
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(place.files(), ["s.pftrace"]);
}

#[test]
fn cn3_the_tracks_of_a_report_are_its_rows_with_a_time() {
    let place = Place::new();
    let (trace, out) = (data("desktop.pftrace"), place.path("o.pftrace"));
    let given = ["rewrite", trace.to_str().unwrap(), "-o", out.to_str().unwrap()];
    let said = run(&[&given[..], &["--report", "sched-latency", "--report", "slices"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let asked = ["query", trace.to_str().unwrap(), "--report", "sched-latency", "-F", "jsonl"];
    let report = run(&asked);
    let rows =
        report.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let waits: Vec<(i64, i64)> = rows
        .filter(|line| line["title"] == "Longest waits")
        .map(|line| {
            let ns = line["row"]["waited_us"].as_f64().unwrap() * 1000.0;
            (line["row"]["since"].as_i64().unwrap(), ns.round() as i64)
        })
        .collect();
    assert!(waits.len() >= 10, "{}", report.stdout);
    let b = Imported::of(&out, &[]);
    for (ts, ns) in waits {
        // The report rounds to 100 ns. A wait from the begin of its thread on stands 1 ns behind it.
        let sql = format!(
            "SELECT count(*) FROM thread_slice WHERE name GLOB 'wait *' AND ts - {ts} IN (0, 1) AND abs(dur - {ns}) <= 51"
        );
        assert_eq!(b.rows(&sql), [["1"]], "{ts}");
    }
    let slowest = "SELECT count(*) FROM slice JOIN track ON track.id = track_id WHERE track.name = 'slowest slices'";
    assert_ne!(b.rows(slowest), [["0"]]);
    let said = run(&[&given[..], &["-f", "--report", "counters"]].concat());
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("[possible values: sched-latency, slices]"), "{}", said.stderr);
}

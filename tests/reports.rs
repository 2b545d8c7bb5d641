//! Reports as users run them: scripts of several statements, and the built-in reports.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::events::{
    BEGIN, END, UUID, clear, described, event, loss, named, thread_named, unnamed,
};
use crate::support::{Imported, Place, Said, answer, repository, rows, run, run_with_input};
use timebase_lab::encode::{Message, trace_of};

const SYSTEM: &str = "tests/data/system-compressed.pftrace";
const PLAIN_SYSTEM: &str = "tests/data/system.pftrace";
const SDK: &str = "tests/data/sdk.pftrace";
const DST: &str = "tests/data/dst.pftrace";
const LOGS_DST: &str = "tests/data/logs-dst.pftrace";
const LATE_FRAME: &str = "tests/data/late-frame.pftrace";
const MULTIHOP: &str = "tests/data/multihop.pftrace";
const DESKTOP: &str = "tests/data/desktop.pftrace";
const APP: &str = "tests/data/app.pftrace";
const REPORTS: [&str; 10] = [
    "clock-health",
    "unplaced",
    "time-spent",
    "sched-latency",
    "slices",
    "flows",
    "counters",
    "cpu-profile",
    "heap-profile",
    "java-heap",
];
const ALL: [&str; 8] = [SYSTEM, SDK, DST, LOGS_DST, LATE_FRAME, MULTIHOP, DESKTOP, APP];

/// Runs a script from a file, with further arguments.
fn script(sql: &str, args: &[&str]) -> Said {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.sql");
    std::fs::write(&file, sql).unwrap();
    let command = ["query", MULTIHOP, "--file", file.to_str().unwrap()];
    run(&[&command, args].concat())
}

fn written(sql: &str, args: &[&str]) -> String {
    let said = script(sql, args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said.stdout
}

/// The results of a report by their titles.
fn report(source: &str, name: &str, args: &[&str]) -> BTreeMap<String, Vec<Value>> {
    let command = ["query", source, "--report", name, "--format", "json"];
    let json: Value = serde_json::from_str(&answer(&[&command, args].concat())).unwrap();
    let results = json.as_array().unwrap().iter();
    results
        .map(|result| {
            let title = result["title"].as_str().unwrap().to_owned();
            (title, result["rows"].as_array().unwrap().clone())
        })
        .collect()
}

/// A trace as a database, for queries without the program.
fn imported(trace: &str) -> Imported {
    Imported::of(&repository().join(trace), &[])
}

/// Whether a rounded value is this many nanoseconds.
fn is_near(shown: &Value, ns: i64, unit: f64) -> bool {
    let least_digit = if unit == 1e6 { 1e-3 } else { 1e-1 };
    (shown.as_f64().unwrap() - ns as f64 / unit).abs() <= 0.51 * least_digit
}

const TITLED: &str = "-- # First\nSELECT 1 AS a, 'x|y' AS b;\n\nSELECT 2 AS c;\n\
                      -- # None\nSELECT 3 AS d WHERE 0;";

#[test]
fn titles_are_headings_in_text() {
    assert_eq!(
        written(TITLED, &[]),
        "First\n a │ b   \n───┼─────\n 1 │ x|y \n\n c \n───\n 2 \n\nNone\n d \n───\n"
    );
    assert_eq!(
        written(TITLED, &["--format", "markdown"]),
        "## First\n\n| a | b |\n| ---: | --- |\n| 1 | x\\|y |\n\n| c |\n| ---: |\n| 2 |\n\n\
         ## None\n\n| d |\n| --- |\n"
    );
    assert_eq!(written(TITLED, &["--format", "csv"]), "# First\na,b\n1,x|y\n\nc\n2\n\n# None\nd\n");
}

#[test]
fn titles_are_keys_in_json() {
    let json: Value = serde_json::from_str(&written(TITLED, &["--format", "json"])).unwrap();
    assert_eq!(
        json,
        serde_json::json!([
            {"title": "First", "rows": [{"a": 1, "b": "x|y"}]},
            {"title": null, "rows": [{"c": 2}]},
            {"title": "None", "rows": []},
        ])
    );
    assert_eq!(
        written(TITLED, &["--format", "jsonl"]),
        "{\"title\":\"First\",\"row\":{\"a\":1,\"b\":\"x|y\"}}\n{\"title\":null,\"row\":{\"c\":2}}\n"
    );
}

#[test]
fn a_statement_alone_is_its_rows() {
    assert_eq!(written("SELECT 1 AS a", &["--format", "json"]), "[\n{\"a\":1}\n]\n");
    assert_eq!(written("-- # T\nSELECT 1 AS a", &["--format", "csv"]), "a\n1\n");
    let titled = written("-- # T\nSELECT 1 AS a", &["--format", "json"]);
    assert_eq!(titled, "[\n{\"title\":\"T\",\"rows\":[\n{\"a\":1}\n]}\n]\n");
    let nothing = "CREATE TEMP TABLE t (x); DROP TABLE t;";
    assert_eq!(written(nothing, &["--format", "json"]), "[]\n");
}

#[test]
fn a_title_waits_for_the_next_result() {
    let sql = "-- # Clocks\nCREATE TEMP VIEW v AS SELECT 1 AS a;\nSELECT * FROM v; SELECT 2 AS b;";
    assert_eq!(written(sql, &["--format", "csv"]), "# Clocks\na\n1\n\nb\n2\n");
}

#[test]
fn parameters_are_values_of_their_types() {
    let sql = "SELECT typeof(:a) AS a, typeof(@b) AS b, typeof($c) AS c, typeof(:d) AS d, :e AS e;";
    let args = [
        "--param",
        "a=20",
        "--param",
        "b=-1.5",
        "--param",
        "c='20'",
        "--param",
        "d=NULL",
        "--param",
        "e=x'); DROP TABLE packet; --",
        "--format",
        "csv",
    ];
    assert_eq!(
        written(sql, &args),
        "a,b,c,d,e\ninteger,real,text,null,x'); DROP TABLE packet; --\n"
    );
}

#[test]
fn a_default_is_for_what_is_not_given() {
    let sql = "-- param n = 2 : how many\nSELECT :n AS n; SELECT :n + 1 AS m;";
    assert_eq!(written(sql, &["--format", "csv"]), "n\n2\n\nm\n3\n");
    assert_eq!(written(sql, &["--format", "csv", "--param", "n=5"]), "n\n5\n\nm\n6\n");
}

#[test]
fn wrong_parameters_are_told_before_anything_runs() {
    let sql = "-- param n = 2 : how many\nSELECT :n AS n;\n-- # Tags\nSELECT :tag AS tag;";
    let message = |args: &[&str]| {
        let said = script(sql, args);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{}", said.stderr);
        said.stderr
    };
    let missing = message(&[]);
    assert!(missing.contains("report.sql: statement 2 (Tags): :tag has no value"), "{missing}");
    assert!(missing.contains("--param tag=VALUE") && missing.contains("n = 2: how many"));
    let unknown = message(&["--param", "tag=1", "--param", "m=1"]);
    assert!(unknown.contains("no statement uses :m"), "{unknown}");
    assert!(unknown.contains("tag, which needs a value"), "{unknown}");
    let twice = message(&["--param", "tag=1", "--param", "tag=2"]);
    assert!(twice.contains("--param tag is given twice"), "{twice}");
    let unnamed = script("SELECT ?1", &[]);
    assert!(unnamed.stderr.contains("write :name"), "{}", unnamed.stderr);
    assert_eq!(script(sql, &["--param", "tag"]).code, Some(2));
    // The user has not given this parameter.
    let default = script("-- param n integer = many\nSELECT :n", &[]);
    assert_eq!(default.code, Some(1), "{}", default.stderr);
}

#[test]
fn results_of_several_statements_as_csv_are_told_apart() {
    let sql = "SELECT 1 AS a, 'x\n\ny' AS b; CREATE TEMP TABLE t (n);\n\
               -- # Second\nSELECT NULL AS c UNION ALL SELECT 2; SELECT 3 AS d WHERE 0";
    let text = written(sql, &["--format", "csv"]);
    assert_eq!(text, "a,b\n1,\"x\n\ny\"\n\n# Second\nc\n\"\"\n2\n\nd\n");
    // As in the reference: outside of quotation marks, no row is an empty line.
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    let mut is_quoted = false;
    for line in text.lines() {
        if line.is_empty() && !is_quoted {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(line);
        }
        is_quoted ^= line.matches('"').count() % 2 == 1;
    }
    let rows: Vec<usize> = parts.iter().map(Vec::len).collect();
    assert_eq!(rows, [4, 4, 1]);
}

#[test]
fn an_error_names_the_file_and_the_statement() {
    let said = script("SELECT 1 AS a;\n-- # Second\nSELECT missing;", &[]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.stderr.contains("report.sql: statement 2 (Second): no such column: missing"),
        "{}",
        said.stderr
    );
    assert_eq!(said.stdout, "");
}

#[test]
fn the_shell_says_where_parameters_are_given() {
    let said = run_with_input(&["shell", MULTIHOP], "SELECT :n;\n");
    assert_eq!(said.code, Some(1));
    let said = said.stderr;
    assert!(said.contains(":n has no value") && said.contains("--param n=VALUE"), "{said}");
}

#[test]
fn an_unknown_report_lists_those_that_are() {
    let said = run(&["query", MULTIHOP, "--report", "clocks"]);
    assert_eq!(said.code, Some(2));
    for name in REPORTS {
        assert!(said.stderr.contains(name), "{}", said.stderr);
    }
}

#[test]
fn every_report_runs_on_every_trace_in_every_format() {
    for trace in ALL {
        let db = imported(trace);
        for name in REPORTS {
            assert!(!report(db.path(), name, &[]).is_empty());
            for format in ["table", "csv", "jsonl"] {
                answer(&["query", db.path(), "--report", name, "--format", format]);
            }
            let markdown = answer(&["query", db.path(), "--report", name, "--format", "markdown"]);
            assert_is_well_formed(&markdown);
        }
    }
}

/// Blocks with a heading or a table, whose lines all have the same number of cells.
fn assert_is_well_formed(markdown: &str) {
    for block in markdown.split("\n\n") {
        let lines: Vec<&str> = block.lines().collect();
        if lines[0].starts_with("## ") {
            assert_eq!(lines.len(), 1, "{block}");
            continue;
        }
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(lines.len() >= 2 && lines[1].starts_with("| --"), "{block}");
        for line in &lines {
            assert!(line.starts_with("| ") && line.ends_with('|'), "{line}");
            assert_eq!(cells(line), cells(lines[0]), "{block}");
        }
    }
}

#[test]
fn a_database_without_packets_data_or_events_has_reports_too() {
    let dir = tempfile::tempdir().unwrap();
    for flag in ["--no-data", "--no-events"] {
        let path = dir.path().join(flag).to_str().unwrap().to_owned();
        answer(&["import", SYSTEM, "-o", &path, flag]);
        for name in REPORTS {
            report(&path, name, &[]);
        }
    }
}

#[test]
fn clock_health_knows_the_clock_that_went_back() {
    let results = report(DST, "clock-health", &[]);
    let clocks = &results["Clocks"];
    assert_eq!(clocks[0]["clock"], "REALTIME");
    assert_eq!(clocks[0]["went_back"], "yes");
    assert_eq!(clocks[0]["path"], Value::Null);
    // REALTIME was at 10, 20, 40, 30 when BOOTTIME was at 10010, 10020, 30040, 40030.
    let steps = &results["Drift and steps against trace time"][0];
    assert_eq!(steps["steps_back"], 1);
    assert_eq!(steps["max_step_ns"], 20 - 20_020);
    assert_eq!(steps["drift_ppm"], -999_333.777); // 20 ns in 30020 ns
    assert_eq!(results["Coverage by snapshots"][0]["snapshots"], 4);
    assert!(results["Rejected snapshots"].is_empty());
}

#[test]
fn clock_health_names_the_clocks_that_are_not_to_be_trusted() {
    let doubtful = |trace: &str| -> Vec<(String, String)> {
        let results = report(trace, "clock-health", &[]);
        let rows = results["Not to be trusted"].iter();
        let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        rows.map(|row| (text(row, "clock"), text(row, "why"))).collect()
    };
    let of = |trace: &str, clock: &str| -> String {
        let found = doubtful(trace).into_iter().find(|(name, _)| name == clock);
        found.unwrap_or_else(|| panic!("{trace}: {clock}")).1
    };
    // All clocks of a Linux machine; these three are not suitable for conversions.
    let names: Vec<String> = doubtful(DESKTOP).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["REALTIME_COARSE", "MONOTONIC_COARSE", "TSC"]);
    assert!(of(DESKTOP, "MONOTONIC_COARSE").contains("2.683 ms"));
    assert!(of(DST, "REALTIME").contains("went back"));
    assert!(of(MULTIHOP, "64@3").contains("no chain of snapshots"));
    // 302 s later; the machine was suspended for 300 s of them.
    assert!(of("tests/data/logs.pftrace", "MONOTONIC").contains("300000.000 ms less"));
    assert_eq!(
        doubtful(LATE_FRAME),
        [("none".to_owned(), "all clocks kept to trace time".to_owned())]
    );
}

#[test]
fn clock_health_has_the_offsets_of_the_snapshots() {
    // MONOTONIC/BOOTTIME 1200/5200 and 4000/9000.
    let results = report(MULTIHOP, "clock-health", &[]);
    let steps = &results["Drift and steps against trace time"];
    let monotonic = steps.iter().find(|row| row["clock"] == "MONOTONIC").unwrap();
    assert_eq!(monotonic["readings"], 2);
    assert_eq!(monotonic["max_step_ns"], 2800 - 3800);
    let clocks = &results["Clocks"];
    let path = &clocks.iter().find(|row| row["clock"] == "64@2").unwrap()["path"];
    assert_eq!(path, "64@2 → MONOTONIC → BOOTTIME");
}

#[test]
fn unplaced_counts_what_the_import_counted() {
    for trace in ALL {
        let db = imported(trace);
        let results = report(db.path(), "unplaced", &[]);
        let tables =
            [("packet", "packets"), ("kernel event", "ftrace_event"), ("log line", "android_logs")];
        for (what, stat) in tables {
            let sql = format!(
                "SELECT coalesce(sum(value), 0) FROM stats WHERE name LIKE '{stat}_unresolved_%'"
            );
            let counted = db.count(&sql);
            let listed: i64 = results["What could not be placed"]
                .iter()
                .filter(|row| row["what"] == what)
                .map(|row| row["rows"].as_i64().unwrap())
                .sum();
            assert_eq!(listed, counted, "{trace} {what}");
            let mut summary = results["How much is on trace time"].iter();
            let row = summary.find(|row| row["what"] == what).unwrap();
            assert_eq!(row["unplaced"], counted, "{trace} {what}");
        }
        for row in &results["Why, and what to do"] {
            assert!(row["what_to_do"].is_string(), "{trace}: {row}");
        }
    }
    let logs = &report(LOGS_DST, "unplaced", &[])["What could not be placed"][0];
    assert_eq!((&logs["reason"], &logs["rows"]), (&"non_monotonic".into(), &4.into()));
    assert_eq!(logs["clock"], "REALTIME");
}

#[test]
fn time_spent_adds_up_on_every_cpu() {
    for trace in [SYSTEM, LATE_FRAME] {
        let db = imported(trace);
        let results = report(db.path(), "time-spent", &["--param", "top=1000000"]);
        let mut busy = 0.0;
        for row in &results["CPUs"] {
            let of_cpu =
                format!("FROM ftrace_event WHERE name = 'sched_switch' AND cpu = {}", row["cpu"]);
            let span = db.count(&format!("SELECT max(ts) - min(ts) {of_cpu}"));
            assert!(is_near(&row["seen_ms"], span, 1e6), "{trace} {row}");
            let switches = db.count(&format!("SELECT count(*) {of_cpu}"));
            assert_eq!(row["switches"], switches, "{trace}");
            busy += row["busy_ms"].as_f64().unwrap();
        }
        for title in ["Processes", "Threads"] {
            let sum: f64 =
                results[title].iter().map(|row| row["running_ms"].as_f64().unwrap()).sum();
            assert!(
                (sum - busy).abs() < 0.001 * results[title].len() as f64,
                "{title}: {sum} {busy}"
            );
        }
        for row in &results["Events"] {
            if row["kind"] == "kernel" {
                let sql = format!(
                    "SELECT count(*) FROM ftrace_event WHERE name = '{}' AND ts IS NOT NULL",
                    row["name"].as_str().unwrap()
                );
                assert_eq!(row["events"], db.count(&sql), "{trace} {row}");
            }
        }
    }
}

/// The states of threads, found in a loop over the events instead of in SQL.
#[derive(Default)]
struct Followed {
    /// The time that each thread ran.
    ran: BTreeMap<i64, i64>,
    /// The time that it waited after each wake-up.
    woken: BTreeMap<i64, Vec<i64>>,
    /// The time that it waited after each preemption.
    preempted: BTreeMap<i64, Vec<i64>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Running,
    Woken,
    Preempted,
    Sleeping,
}

/// Threads by their tids, without those whose tid was used twice.
fn follow(db: &Imported) -> Followed {
    let mut statement = db
        .conn
        .prepare(
            "SELECT ts, cpu, name, args ->> 'prev_pid', coalesce(args ->> 'next_pid', args ->> 'pid'),
                    args ->> 'prev_state'
             FROM ftrace_event WHERE name IN ('sched_switch', 'sched_waking', 'task_newtask') AND ts IS NOT NULL
             ORDER BY ts, id",
        )
        .unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut running: BTreeMap<i64, (i64, i64)> = BTreeMap::new(); // cpu: thread, since
    let mut doing: BTreeMap<i64, (Doing, i64)> = BTreeMap::new();
    let mut followed = Followed::default();
    while let Some(row) = rows.next().unwrap() {
        let (ts, cpu): (i64, i64) = (row.get(0).unwrap(), row.get(1).unwrap());
        let tid: i64 = row.get(4).unwrap();
        let state = doing.get(&tid).map(|(state, _)| *state);
        if row.get::<_, String>(2).unwrap() != "sched_switch" {
            if matches!(state, Some(Doing::Woken | Doing::Running)) {
                continue;
            }
            if let Some((Doing::Preempted, since)) = doing.insert(tid, (Doing::Woken, ts)) {
                followed.preempted.entry(tid).or_default().push(ts - since);
            }
            continue;
        }
        let before: i64 = row.get(3).unwrap();
        if let Some((known, since)) = running.insert(cpu, (tid, ts)) {
            assert_eq!(known, before);
            *followed.ran.entry(before).or_insert(0) += ts - since;
        }
        let left = match row.get::<_, i64>(5).unwrap() {
            // For kernels from 4.14 on.
            0x100 => Doing::Preempted,
            0 => Doing::Woken,
            _ => Doing::Sleeping,
        };
        // A thread that gave up its CPU was not woken, but also waits.
        let left_by_itself = left == Doing::Woken;
        doing.insert(before, (left, if left_by_itself { -ts } else { ts }));
        match doing.insert(tid, (Doing::Running, ts)) {
            Some((Doing::Woken, since)) if since > 0 => {
                followed.woken.entry(tid).or_default().push(ts - since);
            }
            Some((Doing::Preempted | Doing::Woken, since)) => {
                let since = since.abs();
                followed.preempted.entry(tid).or_default().push(ts - since);
            }
            _ => {}
        }
    }
    let twice = "SELECT tid FROM thread GROUP BY tid HAVING count(*) > 1 UNION SELECT 0";
    let mut twice = db.conn.prepare(twice).unwrap();
    for tid in twice.query_map([], |row| row.get(0)).unwrap() {
        let tid: i64 = tid.unwrap();
        followed.ran.remove(&tid);
        followed.woken.remove(&tid);
        followed.preempted.remove(&tid);
    }
    followed
}

#[test]
fn time_spent_is_what_a_loop_over_the_events_finds() {
    let db = imported(SYSTEM);
    let followed = follow(&db);
    let args = ["--param", "top=1000000", "--param", "doubtful=1"];
    let results = report(db.path(), "time-spent", &args);
    let mut found = 0;
    for row in &results["Threads"] {
        let tid = row["tid"].as_i64().unwrap();
        if let Some(&ran) = followed.ran.get(&tid) {
            assert!(is_near(&row["running_ms"], ran, 1e6), "{row}");
            let waits = [&followed.woken, &followed.preempted].map(|waits| waits.get(&tid));
            let waited: i64 = waits.into_iter().flatten().flatten().sum();
            assert!(is_near(&row["waited_ms"], waited, 1e6), "{row} {waited}");
            found += 1;
        }
    }
    assert!(found > 50 && found == followed.ran.len(), "{found}");
}

#[test]
fn sched_latency_is_what_a_loop_over_the_events_finds() {
    let db = imported(SYSTEM);
    let followed = follow(&db);
    let args = ["--param", "top=1000", "--param", "doubtful=1"];
    let results = report(db.path(), "sched-latency", &args);
    for (title, count, mut waits) in
        [("Wake-ups", "wakeups", followed.woken), ("Preempted", "times", followed.preempted)]
    {
        let mut found = 0;
        for row in &results[title] {
            let Some(of_thread) = waits.get_mut(&row["tid"].as_i64().unwrap()) else {
                continue;
            };
            found += 1;
            of_thread.sort_unstable();
            let percentile = |q: usize| of_thread[(q * of_thread.len()).div_ceil(100) - 1];
            assert_eq!(row[count], of_thread.len(), "{title} {row}");
            for (column, q) in [("p50_us", 50), ("p95_us", 95), ("p99_us", 99), ("max_us", 100)] {
                assert!(is_near(&row[column], percentile(q), 1e3), "{title} {row}");
            }
            assert!(is_near(&row["waited_ms"], of_thread.iter().sum(), 1e6), "{title} {row}");
        }
        assert!(found > 20 && found == waits.len(), "{title}: {found}");
    }
    let sum = |title: &str, column: &str| -> i64 {
        let rows = results[title].iter();
        rows.map(|row| row[column].as_i64().unwrap()).sum()
    };
    assert_eq!(sum("How long they waited", "wakeups"), sum("Wake-ups", "wakeups"));
    assert_eq!(sum("How long they waited", "preempted"), sum("Preempted", "times"));
    assert_eq!(results["Longest waits"].len(), 1000);
}

#[test]
fn sched_latency_knows_who_ran_instead() {
    let db = imported(SYSTEM);
    let results = report(db.path(), "sched-latency", &["--param", "top=50"]);
    assert_eq!(results["Longest waits"].len(), 50);
    for row in &results["Longest waits"] {
        // The slice with most of the CPU in that time, among all that overlap it.
        let since = row["since"].as_i64().unwrap();
        let until = format!("({since} + {})", 1e3 * row["waited_us"].as_f64().unwrap());
        let sql = format!(
            "SELECT CAST(max(ns) / 100 AS INTEGER) FROM (
               SELECT sum(min(ts_end, {until}) - max(ts, {since})) AS ns FROM sched
               WHERE ucpu = {} AND ts < {until} AND ts_end > {since} AND dur > 0 AND doubt IS NULL GROUP BY utid)",
            row["cpu"]
        );
        let instead = row["instead_us"].as_f64().unwrap_or_default();
        assert!((db.count(&sql) as f64 / 10.0 - instead).abs() < 0.3, "{row}");
    }
    let longest = &results["Longest waits"][0];
    let thread = longest["thread"].as_str().unwrap();
    let of_thread = report(db.path(), "sched-latency", &["--param", &format!("thread={thread}")]);
    assert_eq!(&of_thread["Longest waits"][0], longest);
    assert!(of_thread["Wake-ups"].iter().all(|row| row["thread"] == thread));
}

/// The kernel traces, which all lost events.
const KERNELS: [&str; 4] = [DESKTOP, "tests/data/desktop-compact.pftrace", PLAIN_SYSTEM, SYSTEM];

/// The sum of a column of numbers.
fn sum(rows: &[Value], column: &str) -> f64 {
    rows.iter().map(|row| row[column].as_f64().unwrap()).sum()
}

#[test]
fn dt3_dt4_dt5_dt6_waits_that_may_be_wrong_are_no_maximum_and_are_told() {
    const WAITS: &str = "FROM thread_state WHERE state IN ('R', 'R+') AND dur >= 0";
    for trace in KERNELS {
        let db = imported(trace);
        let latency = |doubtful: &str| {
            let args = ["--param", "top=1000000", "--param", doubtful];
            report(db.path(), "sched-latency", &args)
        };
        for (results, which) in
            [(latency("doubtful=0"), "AND doubt IS NULL"), (latency("doubtful=1"), "")]
        {
            let longest = db.count(&format!("SELECT max(dur) {WAITS} {which}"));
            let count = db.count(&format!("SELECT count(*) {WAITS} {which}"));
            let of_threads = [&results["Wake-ups"], &results["Preempted"]];
            let most = of_threads.into_iter().flatten().map(|row| row["max_us"].as_f64().unwrap());
            assert!(is_near(&most.fold(0.0, f64::max).into(), longest, 1e3), "{trace} {which}");
            assert!(
                is_near(&results["Longest waits"][0]["waited_us"], longest, 1e3),
                "{trace} {which}"
            );
            let (woken, preempted) =
                (sum(&results["Wake-ups"], "wakeups"), sum(&results["Preempted"], "times"));
            assert_eq!((woken + preempted) as i64, count, "{trace} {which}");
            assert_eq!(results["Longest waits"].len() as i64, count, "{trace} {which}");
            let doubted = results["Longest waits"].iter().filter(|row| !row["doubt"].is_null());
            let wrong = &results["May be wrong"];
            let in_list = if which.is_empty() { sum(wrong, "waits") } else { 0.0 };
            assert_eq!(doubted.count() as f64, in_list, "{trace} {which}");
            assert_eq!(sum(wrong, "left_out"), sum(wrong, "waits") - in_list, "{trace} {which}");
            for row in wrong {
                let of = format!("{WAITS} AND doubt = '{}'", row["doubt"].as_str().unwrap());
                assert_eq!(
                    row["waits"],
                    db.count(&format!("SELECT count(*) {of}")),
                    "{trace} {row}"
                );
                let waited = db.count(&format!("SELECT sum(dur) {of}"));
                assert!(is_near(&row["waited_ms"], waited, 1e6), "{trace} {row}");
            }
        }
        // The longest of all is left out.
        let (sure, all) = (latency("doubtful=0"), latency("doubtful=1"));
        let longest = |results: &BTreeMap<String, Vec<Value>>| {
            results["Longest waits"][0]["waited_us"].as_f64().unwrap()
        };
        assert!(longest(&all) > 10.0 * longest(&sure), "{trace}");
    }
}

#[test]
fn dt3_dt4_dt5_dt6_what_a_cpu_did_is_known_or_told_not_to_be_and_why() {
    for trace in KERNELS {
        let db = imported(trace);
        for doubtful in ["doubtful=0", "doubtful=1"] {
            let results = report(db.path(), "time-spent", &["--param", doubtful]);
            for cpu in &results["CPUs"] {
                let what = format!("cpu {}", cpu["cpu"]);
                let rows = results["Not known"].iter().filter(|row| row["what"] == *what);
                let left_out = rows.filter(|row| row["left_out"] != 0);
                let told: f64 = left_out.map(|row| row["ms"].as_f64().unwrap()).sum();
                // With doubtful = 1, slices with an end count although they are in the list.
                if doubtful == "doubtful=0" {
                    assert!(
                        (told - cpu["unknown_ms"].as_f64().unwrap()).abs() < 0.01,
                        "{trace} {cpu} {told}"
                    );
                }
                let which = if doubtful == "doubtful=0" { "AND doubt IS NULL" } else { "" };
                let busy = db.count(&format!(
                    "SELECT sum(dur) FROM sched JOIN thread USING (utid)
                     WHERE ucpu = {} AND dur > 0 AND NOT is_idle {which}",
                    cpu["cpu"]
                ));
                assert!(is_near(&cpu["busy_ms"], busy, 1e6), "{trace} {cpu}");
            }
            let waits = results["Not known"].iter().filter(|row| row["what"] == "waits");
            let waits: i64 = waits.map(|row| row["rows"].as_i64().unwrap()).sum();
            let sql = "SELECT count(*) FROM thread_state WHERE state IN ('R', 'R+') AND dur >= 0 AND doubt IS NOT NULL";
            assert_eq!(waits, db.count(sql), "{trace}");
            assert!(results["Not known"].iter().all(|row| row["why"].is_string()), "{trace}");
        }
    }
}

/// CPU 0 of `desktop` is Running for 8 s of a trace of 4.
#[test]
fn dt3_dt6_without_rows_that_may_be_wrong_no_cpu_runs_for_longer_than_the_trace() {
    let mut impossible = 0;
    for trace in KERNELS {
        let db = imported(trace);
        let longer = |which: &str| {
            db.count(&format!(
                "SELECT count(*) FROM (
                   SELECT sum(dur) AS ns FROM thread_state WHERE state = 'Running' AND dur > 0 {which} GROUP BY ucpu
                 ), trace_bounds WHERE ns > end_ts - start_ts"
            ))
        };
        impossible += longer("");
        assert_eq!(longer("AND doubt IS NULL"), 0, "{trace}");
    }
    assert!(impossible >= 1, "nothing has to be left out any more");
}

#[test]
fn dt3_cpu_time_is_what_is_known_and_the_rest_is_beside_it() {
    let mut doubtful = 0;
    for trace in KERNELS {
        let db = imported(trace);
        for view in ["cpu_time_by_thread", "cpu_time_by_process"] {
            let summed = format!(
                "SELECT sum(cpu_time), sum(doubtful_time), sum(slices), sum(doubtful_slices) FROM {view}"
            );
            let expected = "SELECT sum(iif(doubt IS NULL, max(dur, 0), 0)), sum(iif(doubt IS NULL, 0, max(dur, 0))),
                                   count(*), count(doubt) FROM sched JOIN thread USING (utid) WHERE NOT is_idle";
            assert_eq!(db.rows(&summed), db.rows(expected), "{trace} {view}");
        }
        doubtful += db.count("SELECT sum(doubtful_slices) FROM cpu_time_by_thread");
    }
    assert!(doubtful > 0);
}

/// A slice continues while packets of its writer are lost, and a flow starts at it.
#[test]
fn dt7_slices_that_may_be_wrong_are_no_maximum_and_are_told() {
    let flow = |field, event: Message| event.fixed64(field, 7);
    let events = [
        clear(),
        described(UUID, thread_named(10, 10, "main")),
        event(1000, named(BEGIN, "draw", UUID)),
        event(3000, unnamed(END, UUID)),
        event(4000, flow(47, named(BEGIN, "draw", UUID))),
        loss(),
        event(9_000_000, unnamed(END, UUID)),
        event(9_001_000, flow(48, named(BEGIN, "shown", UUID))),
        event(9_002_000, unnamed(END, UUID)),
    ];
    let place = Place::new();
    let trace = place.write("lost.pftrace", &trace_of(&events));
    let (conn, summary) = place.import(&trace, &[]);
    let doubted = rows(&conn, "SELECT name, dur, doubt FROM slice ORDER BY ts");
    let expected = [
        ["draw", "2000", "[NULL]"],
        ["draw", "8996000", "packets_lost"],
        ["shown", "1000", "[NULL]"],
    ];
    assert_eq!(doubted, expected);
    let line = summary.lines().find(|line| line.starts_with("  lost"));
    let line = line.unwrap_or_else(|| panic!("{summary}"));
    assert!(line.ends_with("packets of 1 writer in 1 place; 1 of 3 slices may be wrong"), "{line}");
    assert_eq!(rows(&conn, "SELECT value FROM stats WHERE name = 'slices_doubtful'"), [["1"]]);

    let trace = trace.to_str().unwrap();
    for (param, slowest, left_out) in [("doubtful=0", 2.0, 1), ("doubtful=1", 8996.0, 0)] {
        let results = report(trace, "slices", &["--param", param]);
        let of_name =
            |title: &str| results[title].iter().find(|row| row["name"] == "draw").unwrap();
        assert_eq!(of_name("Slices by name")["max_us"], slowest, "{param}");
        assert_eq!(of_name("Slowest of each name")["us"], slowest, "{param}");
        let wrong = &results["May be wrong"];
        assert_eq!(wrong.len(), 1, "{param}");
        assert_eq!(
            (&wrong[0]["doubt"], &wrong[0]["slices"], &wrong[0]["left_out"], &wrong[0]["max_us"]),
            (&"packets_lost".into(), &1.into(), &left_out.into(), &8996.0.into())
        );
        let results = report(trace, "flows", &["--param", param]);
        let flows = usize::from(left_out == 0);
        let shown = results["Flows by name"].iter().filter(|row| row["from"] == "draw");
        assert_eq!(shown.count(), flows, "{param}");
        assert_eq!(results["May be wrong"][0]["left_out"], left_out, "{param}");
        assert_eq!(results["May be wrong"][0]["flows"], 1, "{param}");
    }
}

#[test]
fn sched_latency_knows_which_thread_of_the_late_frame_waited() {
    let results = report(LATE_FRAME, "sched-latency", &[]);
    let mut waits = results["Wake-ups"].iter();
    let row = waits.find(|row| row["thread"] == "RenderThread").unwrap();
    assert_eq!(row["max_us"], 9080.0);
    let longest = &results["Longest waits"][0];
    assert_eq!(longest["thread"], "RenderThread");
    assert_eq!(longest["woken_by"], "example.app");
    assert_eq!(longest["ran_instead"], "HeapTaskDaemon");
}

#[test]
fn sched_latency_knows_the_waits_in_a_slice() {
    let db = imported(DESKTOP);
    let slice = "SELECT id FROM thread_slice WHERE name = 'composite 105'";
    let slice = format!("slice={}", db.count(slice));
    let results = report(db.path(), "sched-latency", &["--param", &slice]);
    let waits = &results["Longest waits"];
    assert_eq!(waits.len(), 1, "{waits:?}");
    // It ran for 93 us of its 4606 us before and after.
    assert_eq!(
        (&waits[0]["thread"], &waits[0]["waited_us"]),
        (&"compositor".into(), &4512.4.into())
    );
    assert_eq!(waits[0]["ran_instead"], "app-2");
    let unknown = ["query", db.path(), "--report", "sched-latency", "--param", "slice=1000000"];
    let said = run(&unknown);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("must be the id of a slice, not 1000000"), "{}", said.stderr);
}

/// The slices of a trace without instants: id, ts, dur, name, and the time of its inner slices.
fn slices_of(db: &Imported) -> Vec<(i64, i64, i64, String, i64)> {
    let mut statement = db
        .conn
        .prepare(
            "SELECT s.id, s.ts, s.dur, s.name, s.dur - d.self_dur
             FROM slice AS s JOIN slice_self_dur AS d USING (id) WHERE s.dur > 0",
        )
        .unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// The percentile of values.
fn percentile(sorted: &[i64], percent: usize) -> i64 {
    sorted[(percent * sorted.len()).div_ceil(100) - 1]
}

#[test]
fn slices_are_what_a_loop_over_them_finds() {
    for trace in [DESKTOP, APP] {
        let db = imported(trace);
        let args = ["--param", "top=1000000", "--param", "worst=1"];
        let results = report(db.path(), "slices", &args);
        let mut of_name: BTreeMap<String, Vec<(i64, i64, i64)>> = BTreeMap::new();
        for (id, _, dur, name, inside) in slices_of(&db) {
            of_name.entry(name).or_default().push((dur, -id, inside));
        }
        let shown = &results["Slices by name"];
        assert_eq!(shown.len(), of_name.len(), "{trace}");
        let slowest = results["Slowest of each name"].iter();
        let slowest: BTreeMap<&str, &Value> =
            slowest.map(|row| (row["name"].as_str().unwrap(), row)).collect();
        for row in shown {
            let name = row["name"].as_str().unwrap();
            let slices = of_name.get_mut(name).unwrap();
            slices.sort_unstable();
            let durs: Vec<i64> = slices.iter().map(|slice| slice.0).collect();
            let total: i64 = durs.iter().sum();
            let inside: i64 = slices.iter().map(|slice| slice.2).sum();
            let worst = -slices.last().unwrap().1;
            assert_eq!(row["slices"], durs.len(), "{trace} {row}");
            assert!(is_near(&row["total_ms"], total, 1e6), "{trace} {row}");
            assert!(is_near(&row["self_ms"], total - inside, 1e6), "{trace} {row}");
            for (column, percent) in
                [("p50_us", 50), ("p90_us", 90), ("p99_us", 99), ("max_us", 100)]
            {
                let expected = percentile(&durs, percent);
                assert!(is_near(&row[column], expected, 1e3), "{trace} {column} {row}");
            }
            assert_eq!((&row["slowest"], &slowest[name]["id"]), (&worst.into(), &worst.into()));
        }
        let open = results["Not ended"].iter();
        let open: i64 = open.map(|row| row["slices"].as_i64().unwrap()).sum();
        assert_eq!(open, db.count("SELECT count(*) FROM slice WHERE dur < 0"));
    }
}

#[test]
fn slices_are_chosen_by_name_process_and_time() {
    let db = imported(APP);
    let counted = |param: &str| -> i64 {
        let args = ["--param", "top=1000000", "--param", param];
        let results = report(db.path(), "slices", &args);
        let rows = results["Slices by name"].iter();
        rows.map(|row| row["slices"].as_i64().unwrap()).sum()
    };
    let all = counted("worst=1");
    assert_eq!(all, db.count("SELECT count(*) FROM slice WHERE dur > 0"));
    let tiles = "SELECT count(*) FROM slice WHERE dur > 0 AND name GLOB 'tile *'";
    assert_eq!(counted("name=tile *"), db.count(tiles));
    let of_process = "SELECT count(*) FROM thread_or_process_slice WHERE dur > 0 AND process_name = 'Map Viewer'";
    assert_eq!(counted("process=Map Viewer"), db.count(of_process));
    let middle = db.count("SELECT (start_ts + end_ts) / 2 FROM trace_bounds");
    let (from, to) = (counted(&format!("from={middle}")), counted(&format!("to={middle}")));
    assert!(from > 0 && to > 0);
    assert_eq!(from + to, all);
    let none = report(db.path(), "slices", &["--param", "name=no such name"]);
    assert_eq!(none["Slices by name"][0]["name"], "no slices");
}

#[test]
fn flows_have_the_delays_of_all_from_one_name_to_another() {
    let db = imported(APP);
    let results = report(db.path(), "flows", &["--param", "top=1000000"]);
    let mut of_names: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
    let mut statement = db
        .conn
        .prepare(
            "SELECT a.name, b.name, b.ts - a.ts - a.dur FROM flow
             JOIN slice AS a ON a.id = slice_out JOIN slice AS b ON b.id = slice_in WHERE a.dur >= 0",
        )
        .unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let names = (row.get(0).unwrap(), row.get(1).unwrap());
        of_names.entry(names).or_default().push(row.get(2).unwrap());
    }
    let shown = &results["Flows by name"];
    assert_eq!(shown.len(), of_names.len());
    for row in shown {
        let name = |column: &str| row[column].as_str().unwrap().to_owned();
        let delays = of_names.get_mut(&(name("from"), name("to"))).unwrap();
        delays.sort_unstable();
        assert_eq!(row["flows"], delays.len(), "{row}");
        for (column, percent) in [("p50_us", 50), ("p90_us", 90), ("p99_us", 99), ("max_us", 100)] {
            assert!(is_near(&row[column], percentile(delays, percent), 1e3), "{column} {row}");
        }
    }
}

/// The ids of the rows of a result.
fn ids(rows: &[Value], column: &str) -> Vec<i64> {
    let ids = rows.iter().map(|row| row[column].as_i64().unwrap());
    ids.collect()
}

#[test]
fn flows_tell_what_led_to_a_slice_of_the_map() {
    let db = imported(APP);
    // The main thread posts and requests a tile, the network's thread fetches it, and it is drawn.
    let layer = db.count("SELECT min(id) FROM slice WHERE name = 'layer 1'");
    let results = report(db.path(), "flows", &["--param", &format!("slice={layer}")]);
    let led = &results["What led to it"];
    let names: Vec<&str> = led.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["post job", "request", "fetch", "layer 1"]);
    assert_eq!(ids(led, "step"), [-3, -2, -1, 0]);
    assert!(led[3]["arrived_in"].as_str().unwrap().starts_with("tile "));
    assert_eq!(led[0]["delay_us"], Value::Null);
    let threads: Vec<&Value> = led.iter().map(|row| &row["thread_or_track"]).collect();
    assert_eq!(threads[..3], ["mapviewer", "Requests", "net"]);
    assert!(results["What it led to"].is_empty());

    let first = &led[0]["id"];
    let results = report(db.path(), "flows", &["--param", &format!("slice={first}")]);
    assert_eq!(results["What led to it"].len(), 1);
    let on = &results["What it led to"];
    assert_eq!(ids(on, "id")[..2], ids(led, "id")[1..3]);
    assert_eq!(ids(on, "from_id")[..2], ids(led, "id")[..2]);

    let said = run(&["query", db.path(), "--report", "flows", "--param", "slice=1000000"]);
    assert!(said.stderr.contains("must be the id of a slice, not 1000000"), "{}", said.stderr);
}

#[test]
fn a_chain_of_flows_is_no_longer_than_asked() {
    let db = imported(APP);
    let led = |top: &str| report(db.path(), "flows", &["--param", top])["What led to it"].len();
    // Without a slice, the one with the longest delay of a flow.
    let (all, two) = (led("top=1000"), led("top=2"));
    assert!(all > 2, "{all}");
    assert_eq!(two, 2);
}

#[test]
fn flows_says_so_where_a_trace_has_none() {
    let results = report(DESKTOP, "flows", &[]);
    assert_eq!(results["Flows by name"][0]["from"], "no flows");
    assert!(results["What led to it"].is_empty());
}

/// The report's results for a counter, computed from its values.
#[test]
fn counters_are_what_a_loop_over_the_values_finds() {
    let db = imported(PLAIN_SYSTEM);
    let results = report(db.path(), "counters", &["--param", "top=1000000"]);
    let end = db.count("SELECT end_ts + 1 FROM trace_bounds");
    let values = |name: &str, of: &str| -> Vec<(i64, f64)> {
        let sql = format!(
            "SELECT c.ts, c.value FROM counter AS c JOIN counter_track AS t ON t.id = c.track_id
             LEFT JOIN process_counter_track AS p ON p.id = t.id LEFT JOIN process USING (upid)
             WHERE t.name = '{name}' AND coalesce(process.name || ' ' || pid, '') = '{of}' ORDER BY c.ts"
        );
        let mut statement = db.conn.prepare(&sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    for (title, row) in [
        ("Memory of the system", &results["Memory of the system"][0]),
        ("Memory of processes", &results["Memory of processes"][0]),
    ] {
        let of = row["process"].as_str().unwrap_or_default();
        let values = values(row["counter"].as_str().unwrap(), of);
        let only = |(_, value): &(i64, f64)| value / 1_048_576.0;
        let mut area = 0.0;
        for (at, (ts, value)) in values.iter().enumerate() {
            let until = values.get(at + 1).map_or(end, |(ts, _)| *ts);
            area += value * (until - ts) as f64;
        }
        let average = area / (end - values[0].0) as f64 / 1_048_576.0;
        let least = values.iter().map(only).fold(f64::MAX, f64::min);
        let most = values.iter().map(only).fold(0.0, f64::max);
        for (column, expected) in [
            ("values", values.len() as f64),
            ("first_mib", only(&values[0])),
            ("min_mib", least),
            ("avg_mib", average),
            ("max_mib", most),
            ("last_mib", only(values.last().unwrap())),
        ] {
            let shown = row[column].as_f64().unwrap();
            assert!((shown - expected).abs() <= 0.006, "{title} {column} {row} {expected}");
        }
    }
    // All values are in one list or the other, and a state of a CPU lasts until the next.
    let kinds = results["Kinds of counters"].iter();
    let counted: i64 = kinds.map(|row| row["values"].as_i64().unwrap()).sum();
    assert_eq!(counted, db.count("SELECT count(*) FROM counter"));
    let idle = &results["CPU idle states"];
    let ms: f64 = idle.iter().map(|row| row["ms"].as_f64().unwrap()).sum();
    let first = "SELECT min(ts) FROM counter JOIN counter_track AS t ON t.id = track_id WHERE type = 'cpu_idle'";
    assert!((ms - (end - db.count(first)) as f64 / 1e6).abs() < 0.01, "{ms}");
}

#[test]
fn counters_says_so_where_a_trace_has_none() {
    let results = report(SDK, "counters", &[]);
    let kinds = &results["Kinds of counters"];
    assert_eq!(kinds.len(), 1);
    assert_eq!(kinds[0]["type"], "no counters in this trace");
    assert!(results["Memory of processes"].is_empty());
}

#[test]
fn a_stretch_of_time_is_cut_out_and_parts_add_up() {
    let db = imported(SYSTEM);
    let middle = db.count("SELECT (start_ts + end_ts) / 2 FROM trace_bounds").to_string();
    let (from, to) = (format!("from={middle}"), format!("to={middle}"));
    let busy = |args: &[&str]| -> (f64, i64) {
        let results = report(db.path(), "time-spent", args);
        let rows = results["CPUs"].iter();
        rows.fold((0.0, 0), |(busy, switches), row| {
            let ms = row["busy_ms"].as_f64().unwrap();
            (busy + ms, switches + row["switches"].as_i64().unwrap())
        })
    };
    let (first, second, all) = (busy(&["--param", &to]), busy(&["--param", &from]), busy(&[]));
    assert!((first.0 + second.0 - all.0).abs() < 0.01, "{first:?} {second:?} {all:?}");
    assert_eq!(first.1 + second.1, all.1);
}

/// The lines of an example are lines of its output, in this order; some are left out.
#[test]
fn the_documentation_shows_what_comes_out() {
    let docs = include_str!("../docs/reports.md");
    let mut examples = 0;
    let mut printed: Vec<String> = Vec::new();
    for line in docs.lines() {
        if let Some(command) = line.strip_prefix("    $ timebase ") {
            examples += 1;
            let args: Vec<&str> = command.split(' ').collect();
            let said = answer(&args);
            printed = said.lines().map(|line| line.trim_end().to_owned()).collect();
        } else if let (Some(shown), true) = (line.strip_prefix("    "), examples > 0) {
            let found = printed.iter().position(|line| line == shown.trim_end());
            assert!(found.is_some(), "{shown}");
            printed.drain(..=found.unwrap_or_default());
        }
    }
    assert_eq!(examples, 9);
    let sql = docs.split("```").nth(1).unwrap().strip_prefix("sql").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("threads.sql");
    std::fs::write(&file, sql).unwrap();
    let args = ["query", SYSTEM, "--file", file.to_str().unwrap(), "--param", "cpu=1"];
    assert!(answer(&args).starts_with("Busiest threads\n thread"));
}

#[test]
fn sched_latency_of_a_trace_without_scheduling_says_that_there_is_none() {
    let latency = |trace: &str, more: &[&str]| {
        let args = ["query", trace, "--report", "sched-latency", "-F", "jsonl"];
        run(&[&args, more].concat())
    };
    let app = "tests/data/app.pftrace";
    let said = latency(app, &[]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
    let warning = "timebase: warning: there is no scheduling in this trace, ";
    assert!(said.stderr.starts_with(warning), "{}", said.stderr);
    assert_eq!(latency(app, &["--fail-if-empty"]).code, Some(1));
    let system = "tests/data/system.pftrace";
    let said = latency(system, &[]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(said.stdout.contains("100 ms or more"), "{}", said.stdout);
    // Data that was left out is not reported as missing.
    let imported = Imported::new("system.pftrace", &["--tables", "slice"]);
    let said = latency(imported.path(), &[]);
    assert!(
        said.stderr.contains("sched_record is empty because the import left it out"),
        "{}",
        said.stderr
    );
    assert!(!said.stderr.contains("no scheduling"), "{}", said.stderr);
}

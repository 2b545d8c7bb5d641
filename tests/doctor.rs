//! `timebase doctor`: each check on a trace that triggers only this check, all checks on all
//! traces, and the form of the findings.

mod messages;
mod traces;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, thread};

use rusqlite::Connection;
use rusqlite::limits::Limit;
use serde_json::Value as Json;
use timebase_schema::{CHECKS, with_parts};

use crate::support::{Imported, Place, answer, data, files, import, repository, rows, run};
use timebase_lab::encode::{self, ClockSnapshot, Message, Packet, Reading};

/// Set this to write the traces and the expected findings again.
const WRITE: &str = "TIMEBASE_WRITE";

/// So many tables the view `finding` may have. If a check makes it more, let parts in `findings.sql` name each other less, before this grows
/// near to the thousand of SQLite.
const MOST_TABLES: i32 = 950;

/// The doctor's findings in a trace: a paragraph each.
fn findings(conn: &Connection) -> String {
    let found = rows(
        conn,
        "SELECT severity, check_name, subject, machine_id, trace_file_id, clock_id, seq_id, packet_id, offset, events, \
         worst_ns, message, advice FROM finding \
         ORDER BY check_name, severity, machine_id, trace_file_id, clock_id, seq_id, subject, message",
    );
    let mut text = String::new();
    for row in found {
        let [
            severity,
            check,
            subject,
            machine,
            file,
            clock,
            seq,
            packet,
            offset,
            events,
            worst,
            message,
            advice,
        ] = row.try_into().unwrap();
        writeln!(
            text,
            "{severity} {check}: {subject}\n  machine {machine}, file {file}, clock {clock}, sequence {seq}, packet {packet}, \
             offset {offset}, events {events}, worst {worst}\n  {message}\n  {advice}"
        )
        .unwrap();
    }
    text.replace("[NULL]", "-")
}

#[test]
fn each_check_has_a_trace_that_triggers_just_that() {
    let mut wrong = String::new();
    let mut named = BTreeSet::new();
    for check in CHECKS {
        let case = traces::of(check.name);
        let case = case.unwrap_or_else(|| panic!("no trace triggers {}", check.name));
        let file = data(&format!("doctor/{}.{}", check.name, case.extension));
        if env::var_os(WRITE).is_some() {
            fs::write(&file, &case.bytes).unwrap();
        }
        assert!(fs::read(&file).unwrap() == case.bytes, "{} is another trace", file.display());
        named.insert(file.clone());
        let imported = Imported::of(&file, &[]);
        let mut found = imported.rows("SELECT DISTINCT check_name FROM finding");
        let other = match check.name {
            // The doubtful rows after a missing switch or a misplaced end are a separate finding.
            "switches_missed" | "end_misplaced" => Some("rows_doubtful"),
            // The assumption that messages say little of is one, too.
            "alignment_one_sided" | "flow_undirected" => Some("wall_clock_only"),
            _ => None,
        };
        found.retain(|name| other.is_none_or(|other| name != &[other]));
        if found != [[check.name]] {
            writeln!(wrong, "{}:\n{}", check.name, findings(&imported.conn)).unwrap();
            continue;
        }
        // The check by itself finds the same.
        let sql = "SELECT count(*) FROM finding";
        let own = format!("{sql} WHERE check_name = '{}'", check.name);
        let follows =
            other.map_or(0, |other| imported.count(&format!("{sql} WHERE check_name = '{other}'")));
        assert_eq!(imported.count(sql), imported.count(&own) + follows);
    }
    assert!(wrong.is_empty(), "{wrong}");
    for file in files("tests/data/doctor", &["pftrace", "tar", "json"]) {
        assert!(named.contains(&file), "{} is of no check", file.display());
    }
}

/// The view takes the columns of a check by their places.
#[test]
fn all_checks_have_the_same_columns() {
    let conn = empty();
    for check in CHECKS {
        let sql = with_parts(&format!("SELECT * FROM ({})", check.sql));
        let statement = conn.prepare(&sql).unwrap();
        assert_eq!(
            statement.column_names().collect::<Vec<_>>().join(" "),
            "severity subject machine_id clock_id seq_id file packet_id events worst_ns message advice",
            "{}",
            check.name
        );
    }
}

/// SQLite refuses a statement of a thousand tables when it expands a part that is named in WITH. It takes the number from this limit.
#[test]
fn the_view_has_room_for_more_checks() {
    let conn = empty();
    conn.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, MOST_TABLES).unwrap();
    conn.prepare("SELECT * FROM finding").unwrap();
}

/// A database without rows.
fn empty() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(timebase_schema::TABLES).unwrap();
    conn.execute_batch(&timebase_schema::finish()).unwrap();
    conn
}

/// The findings in the trace of each check, and in all other traces of tests/data.
#[test]
fn the_findings_of_every_trace_are_those_that_were_read_and_found_right() {
    let mut traces = files("tests/data", &["pftrace"]);
    traces.extend(files("tests/data/doctor", &["tar", "json"]));
    let place = repository().join("tests/data");
    let half = traces.len().div_ceil(2);
    let found = thread::scope(|scope| {
        let parts = traces.chunks(half).map(|traces| {
            scope.spawn(|| traces.iter().map(|trace| of_trace(&place, trace)).collect::<String>())
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect::<String>()
    });
    let file = data("expected/findings.txt");
    if env::var_os(WRITE).is_some() {
        fs::write(&file, &found).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap();
    // The first trace that differs, instead of all of them.
    for (found, expected) in found.split("\n# ").zip(expected.split("\n# ")) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

fn of_trace(place: &Path, trace: &Path) -> String {
    let name = trace.strip_prefix(place).unwrap().to_str().unwrap();
    let imported = Imported::of(trace, &["--no-data"]);
    format!("# {}\n{}\n", name.replace('\\', "/"), findings(&imported.conn))
}

/// Rows that may be wrong, by trace and table, as the finding counts them and as `doubt` marks
/// them.
#[test]
fn dt3_dt4_dt5_dt6_the_doctor_tells_how_many_rows_may_be_wrong_and_how_much_of_the_time() {
    for trace in ["desktop", "desktop-compact", "system", "system-compressed"] {
        let imported = Imported::new(&format!("{trace}.pftrace"), &[]);
        let found =
            "SELECT severity, message, advice FROM finding WHERE check_name = 'rows_doubtful'";
        let found = imported.rows(found);
        let [severity, message, advice] = <[String; 3]>::try_from(found[0].clone()).unwrap();
        assert_eq!((found.len(), severity.as_str()), (1, "warning"), "{trace}");
        for (table, words) in [("sched", "slices of CPUs"), ("thread_state", "states of threads")] {
            let sql = format!(
                "SELECT printf('%,d {words} %,d', count(*), count(doubt)),
                        CAST(round(100.0 * sum(iif(doubt IS NULL, 0, max(dur, 0))) / sum(max(dur, 0))) AS INTEGER)
                 FROM {table}"
            );
            let [counted, percent] =
                <[String; 2]>::try_from(imported.rows(&sql)[0].clone()).unwrap();
            assert!(message.contains(&counted), "{trace}: {counted}: {message}");
            let share = format!("{counted} ({percent} % of their time)");
            let has_share = percent == "0" || message.contains(&share);
            assert!(has_share, "{trace}: {share}: {message}");
        }
        assert!(advice.contains("WHERE doubt IS NULL"), "{advice}");
        let said = run(&["doctor", imported.path(), "--fail-on", "never"]);
        let healthy = said.stdout.lines().any(|line| line.starts_with("healthy"));
        assert!(!healthy, "{trace}: {}", said.stdout);
    }
}

/// A preempted thread can be woken: this alone does not make a trace unhealthy.
#[test]
fn dt4_a_preempted_thread_that_is_woken_is_a_note() {
    let switch = |at, prev, state, next| {
        let fields = Message::new().number(2, prev).number(4, state).number(6, next);
        Message::new().number(1, at).number(2, prev).message(4, fields)
    };
    let waking = |at, wakee| {
        let fields = Message::new().number(2, wakee);
        Message::new().number(1, at).number(2, 0).message(20, fields)
    };
    // TASK_REPORT_MAX: preempted.
    let events = [
        switch(1000, 0, 0, 10),
        switch(2000, 10, 0x100, 0),
        waking(2500, 10),
        switch(3000, 0, 0, 10),
        switch(4000, 10, 1, 0),
    ];
    let system = Message::new().message(1, Message::new().text(1, "Linux").text(3, "6.1.0"));
    let events = events.into_iter();
    let bundle = events.fold(Message::new().number(1, 0), |bundle, event| bundle.message(2, event));
    let trace =
        encode::trace_of(&[Message::new().message(45, system), Message::new().message(1, bundle)]);
    let imported = Imported::of_bytes(&trace, &[]);
    let doubtful = imported.rows("SELECT state, doubt FROM thread_state WHERE doubt IS NOT NULL");
    assert_eq!(doubtful, [["R+", "woken_again"]]);
    let found = imported
        .rows("SELECT check_name, severity FROM finding WHERE check_name = 'rows_doubtful'");
    assert_eq!(found, [["rows_doubtful", "info"]]);
}

#[test]
fn a_recorded_trace_of_a_healthy_machine_is_healthy() {
    for trace in ["sdk", "app"] {
        let trace = data(&format!("{trace}.pftrace"));
        let said = run(&["doctor", trace.to_str().unwrap(), "--fail-on", "warning"]);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{}", said.stdout);
        let (first, numbers) = said.stdout.split_once('\n').unwrap();
        assert_eq!(first, "healthy: nothing is wrong with the clocks of this trace");
        for heading in ["clocks", "snapshots", "events"] {
            assert!(
                numbers.contains(&format!("\n  {heading} "))
                    || numbers.starts_with(&format!("  {heading} ")),
                "{numbers}"
            );
        }
    }
}

/// The table in docs/doctor.md has all checks, with the texts of their files.
#[test]
fn every_check_is_explained_as_its_file_says() {
    let page = fs::read_to_string(repository().join("docs/doctor.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut explained: Vec<(&str, String)> = Vec::new();
    for row in rows {
        let Some((name, rest)) = row.split_once("` | ") else {
            continue;
        };
        if CHECKS.iter().all(|check| check.name != name) {
            continue;
        }
        let (said, advice) = rest.rsplit_once(" | [trace](").unwrap();
        let extension = traces::of(name).unwrap().extension;
        assert_eq!(advice, format!("../tests/data/doctor/{name}.{extension}) |"));
        let (said, advice) = said.rsplit_once(" | ").unwrap();
        assert!(advice.ends_with('.'), "{name}: {advice}");
        explained.push((name, said.to_owned()));
    }
    explained.sort();
    let expected = CHECKS.iter().map(|check| {
        let severity = check.severity.trim_end_matches('.');
        (check.name, format!("{severity} | **{}.** {}", check.title, check.meaning))
    });
    let expected: Vec<_> = expected.collect();
    for (explained, expected) in explained.iter().zip(&expected) {
        assert_eq!(explained, expected);
    }
    assert_eq!(explained.len(), expected.len());
}

#[test]
fn the_page_shows_what_the_program_prints() {
    let page = fs::read_to_string(repository().join("docs/doctor.md")).unwrap();
    let mut blocks = page.split("\n    $ timebase doctor ").skip(1);
    let block = blocks.next().unwrap();
    let (trace, shown) = block.split_once('\n').unwrap();
    let shown: Vec<&str> = shown
        .lines()
        .map_while(|line| line.strip_prefix("    "))
        .take_while(|line| *line != "…")
        .collect();
    let said = run(&["doctor", trace]);
    assert!(said.stdout.starts_with(&(shown.join("\n") + "\n")), "{}", said.stdout);
    assert!(shown.len() >= 8 && blocks.next().is_none());
}

/// Problems that the import corrects are not reported any more.
#[test]
fn an_import_that_follows_the_drift_has_none() {
    let imported = Imported::new("doctor/drift.pftrace", &["--conversion", "linear"]);
    assert_eq!(findings(&imported.conn), "");
    let said = answer(&["doctor", imported.path(), "--format", "json"]);
    let json: Json = serde_json::from_str(&said).unwrap();
    assert_eq!(json["summary"]["conversion"], "linear");
}

/// Readings at the ends of 64 bits, where differences do not fit.
#[test]
fn extreme_times_are_found_and_do_no_harm() {
    let extremes = [0, 1, 1 << 62, i64::MAX.cast_unsigned(), 1 << 63, u64::MAX];
    let mut trace = Vec::new();
    for (seq, first) in (1..).zip(extremes) {
        for second in extremes {
            let reading =
                |id, timestamp, unit| Reading { id, timestamp, unit, ..Reading::default() };
            let clocks = vec![
                reading(64, first, u64::from(seq)),
                reading(6, second, 1),
                reading(1, first ^ second, 1),
            ];
            trace.push(Packet {
                seq,
                clock_snapshot: Some(ClockSnapshot { clocks, primary: None }),
                ..Packet::default()
            });
            for clock in [1, 6, 64, 65, 200] {
                trace.push(Packet {
                    seq,
                    timestamp: Some(second),
                    timestamp_clock_id: Some(clock),
                    android_log: Some(vec![Some(first)]),
                    ..Packet::default()
                });
            }
        }
    }
    let place = Place::new();
    for trace in [trace.clone(), trace.into_iter().rev().collect()] {
        let trace = place.write("trace", &encode::trace(&trace));
        for format in ["table", "json", "markdown"] {
            let args =
                ["doctor", trace.to_str().unwrap(), "--fail-on", "never", "--format", format];
            let said = run(&args);
            assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
            assert!(said.stdout.contains("clock_undefined"), "{}", said.stdout);
        }
    }
}

/// The number of SQLite's steps, in thousands, for all checks of a trace with this many clocks that
/// drift, and as many without a snapshot.
fn steps(clocks: u32) -> u64 {
    let mut trace = Vec::new();
    for seq in 2..clocks + 2 {
        for at in 1..4 {
            let reading = |id, timestamp| Reading { id, timestamp, ..Reading::default() };
            trace.push(Packet {
                seq,
                clock_snapshot: Some(ClockSnapshot {
                    clocks: vec![
                        // Round numbers would be those of coarse clocks.
                        reading(64, at * 1_000_000_000 + 77),
                        reading(6, at * 1_000_010_000 + u64::from(seq) * 1_000_000 + 123),
                    ],
                    primary: None,
                }),
                ..Packet::default()
            });
        }
        for (clock, timestamp) in [(64, 1_900_000_000), (65, 5)] {
            trace.push(Packet {
                seq,
                timestamp: Some(timestamp),
                timestamp_clock_id: Some(clock),
                ..Packet::default()
            });
        }
    }
    let mut imported = Imported::of_bytes(&encode::trace(&trace), &[]);
    let steps = Arc::new(AtomicU64::new(0));
    let counted = steps.clone();
    let count = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        false
    };
    imported.conn.progress_handler(1000, Some(count)).unwrap();
    let found = imported.rows("SELECT check_name, count(*) FROM finding GROUP BY 1");
    let clocks = clocks.to_string();
    for check in ["drift", "sequence_clock_undefined"] {
        assert!(found.contains(&vec![check.to_owned(), clocks.clone()]), "{found:?}");
    }
    steps.load(Ordering::Relaxed)
}

#[test]
fn the_checks_take_no_longer_for_each_clock_where_there_are_many() {
    let (few, many) = (steps(200), steps(800));
    assert!(many < few * 6, "{few} and {many}");
}

/// SQLite's own shell has no function of timebase.
#[test]
fn in_the_sqlite_shell_the_same_is_found() {
    let imported = Imported::new("doctor/flow_backwards.pftrace", &[]);
    let sql =
        "SELECT check_name, severity, count(*), sum(events) FROM finding GROUP BY 1, 2 ORDER BY 2";
    let shell =
        std::process::Command::new("sqlite3").args([imported.path(), sql]).output().unwrap();
    assert_eq!(
        String::from_utf8(shell.stdout).unwrap(),
        "flow_backwards|error|1|3\nflow_backwards|warning|1|1\n"
    );
}

fn doctor(check: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let trace = data(&format!("doctor/{check}.pftrace"));
    let said = run(&[&["doctor", trace.to_str().unwrap()], args].concat());
    (said.code, said.stdout, said.stderr)
}

#[test]
fn the_exit_code_says_whether_there_is_what_the_build_must_not_have() {
    let code = |check: &str, args: &[&str]| doctor(check, args).0;
    // An error, a warning, a note.
    for (check, codes) in
        [("sequence_missing", [1, 1, 0]), ("drift", [0, 1, 0]), ("no_snapshot", [0, 0, 0])]
    {
        assert_eq!(code(check, &[]), Some(codes[0]), "{check}");
        for (fail_on, expected) in ["error", "warning", "never"].into_iter().zip(codes) {
            assert_eq!(code(check, &["--fail-on", fail_on]), Some(expected), "{check} {fail_on}");
        }
    }
    let (code, stdout, stderr) = doctor("sequence_clock_shared", &[]);
    assert_eq!(code, Some(1));
    assert_eq!(stderr, "timebase: error: 2 findings are errors (--fail-on error)\n");
    assert!(stdout.contains("\n2 errors\n"), "{stdout}");
    let (_, _, stderr) = doctor("drift", &["--fail-on", "warning"]);
    assert_eq!(stderr, "timebase: error: 1 finding is an error or a warning (--fail-on warning)\n");
    let (code, _, stderr) = doctor("drift", &["--fail-on", "info"]);
    assert_eq!(code, Some(2), "{stderr}");
    let (code, _, stderr) = doctor("no_such", &[]);
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("timebase: error: cannot open "), "{stderr}");
}

#[test]
fn a_finding_is_a_paragraph() {
    let (_, stdout, _) = doctor("sequence_clock_undefined", &[]);
    assert_eq!(
        stdout,
        "\
error: 64@3 [sequence_clock_undefined]
  No snapshot on sequence 3 reads clock 64, so 2 events on it could not be placed in time.
  where  packet 1, at byte 30
  cost   2 events
  do     Write a ClockSnapshot with this clock and a builtin one (ClockSnapshot.Clock.clock_id 64
         and 6, BOOTTIME) on the same trusted_packet_sequence_id, before the first packet that names
         the clock in TracePacket.timestamp_clock_id or TracePacketDefaults.timestamp_clock_id.

1 error
  clocks     3 clocks, 1 without a way to trace time
  snapshots  1 snapshot
  events     2 of 4 packets on trace time
"
    );
}

/// Several files and machines, with their names; and the counts of these.
#[test]
fn a_finding_of_a_merge_names_its_files_and_machines() {
    let place = Place::new();
    let archive = data("doctor/clock_source_mixed.tar");
    let shown = |manifest: &str| {
        let manifest = place.write("manifest.json", manifest.as_bytes());
        let database = place.path("out.db");
        let args = ["--force", "--manifest", manifest.to_str().unwrap()];
        let said = import(&archive, &database, &args);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        answer(&["doctor", database.to_str().unwrap()])
    };
    let plain = shown(r#"{"perfetto_manifest": {"version": 1}}"#);
    assert!(
        plain.starts_with(
            "\
warning: machine 1 in b.pftrace [clock_source_mixed]
  1 event of b.pftrace got times by the snapshots of other files of machine 1, because the first
  snapshot of the file, packet 4, came later.
  where  packet 4, at byte 19 of b.pftrace (machine 1)
  cost   1 event
"
        ),
        "{plain}"
    );
    assert!(plain.contains("\n  inputs     2 machines in 2 files\n"), "{plain}");
    let machines = r#"[{"id": 0, "name": "desk"}, {"id": 7, "name": "phone"}]"#;
    let files = ["a", "b"]
        .map(|file| format!(r#"{{"path": "{file}.pftrace", "machines": {machines}}}"#))
        .join(", ");
    let named = shown(&format!(r#"{{"perfetto_manifest": {{"version": 1, "files": [{files}]}}}}"#));
    assert!(named.starts_with("warning: phone in b.pftrace [clock_source_mixed]\n"), "{named}");
    assert!(named.contains("of b.pftrace (phone)\n"), "{named}");
}

#[test]
fn json_is_one_document_with_the_rows_of_the_view() {
    let (code, stdout, _) = doctor("drift", &["--format", "json"]);
    assert_eq!(code, Some(0));
    let json: Json = serde_json::from_str(&stdout).unwrap();
    let [finding] = json["findings"].as_array().unwrap().as_slice() else {
        panic!("{stdout}");
    };
    assert_eq!(finding["check_name"], "drift");
    assert_eq!(finding["severity"], "warning");
    assert_eq!(finding["clock_id"], 2_468_715_150_u32);
    assert!(finding["worst_ns"].as_i64().is_some_and(|ns| ns > 100_000), "{stdout}");
    let imported = Imported::new("doctor/drift.pftrace", &[]);
    let columns = imported.rows("SELECT name FROM pragma_table_info('finding')");
    assert_eq!(finding.as_object().unwrap().len(), columns.len());
    for column in columns {
        assert!(finding.get(&column[0]).is_some(), "{column:?}");
    }
    let summary = &json["summary"];
    assert_eq!(
        (&summary["errors"], &summary["warnings"], &summary["infos"]),
        (&0.into(), &1.into(), &0.into())
    );
    assert_eq!(summary["conversion"], "nearest");
    assert!(summary["worst_error_nearest_ns"].as_f64() > summary["worst_error_ns"].as_f64());
    // A database says the same as its trace.
    assert_eq!(answer(&["doctor", imported.path(), "--format", "json"]), stdout);
    let (_, healthy, _) = doctor("../sdk", &["--format", "json"]);
    let healthy: Json = serde_json::from_str(&healthy).unwrap();
    assert_eq!(healthy["findings"], Json::Array(Vec::new()));
}

#[test]
fn markdown_is_a_table_behind_the_verdict() {
    let (_, stdout, _) = doctor("snapshot_repeated", &["--format", "markdown"]);
    assert!(stdout.starts_with("**1 warning, 1 note**\n\n- clocks: "), "{stdout}");
    let rows: Vec<&str> = stdout.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 4);
    assert!(
        rows[2].starts_with(
            "| warning | snapshot_repeated | 2468715150 → BOOTTIME, packet 4, at byte "
        ),
        "{stdout}"
    );
    let (_, healthy, _) = doctor("../sdk", &["--format", "markdown"]);
    assert!(!healthy.contains('|'), "{healthy}");
}

/// A trace in which a process has a name that would harm a terminal or a page.
fn hostile() -> Vec<u8> {
    let name = "\x1b[31m<script>|`[x](http://x)`";
    let on = |seq| Message::new().number(10, seq);
    let process = |uuid, pid| {
        let process = Message::new().number(1, pid).text(6, name);
        on(2).message(60, Message::new().number(1, uuid).message(3, process))
    };
    let slice = |ts, uuid, flow: Message| {
        let event = Message::new().number(9, 1).number(11, uuid).text(23, "call");
        on(2).number(58, 6).number(8, ts).message(11, event.and(&flow))
    };
    encode::trace_of(&[
        process(1, 10),
        process(2, 20),
        slice(1_000_000, 2, Message::new().fixed64(48, 1)),
        slice(2_000_000, 1, Message::new().fixed64(47, 1)),
    ])
}

#[test]
fn names_in_a_trace_do_nothing_to_a_terminal_or_a_page() {
    let place = Place::new();
    let trace = place.write("trace", &hostile());
    let shown = |format| {
        let said = run(&["doctor", trace.to_str().unwrap(), "--format", format]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(!said.stdout.contains('\x1b'), "{}", said.stdout);
        said.stdout
    };
    assert!(shown("table").contains("␛[31m<script>"));
    assert!(shown("markdown").contains("␛\\[31m&lt;script>\\|\\`\\[x\\]"));
    let json: Json = serde_json::from_str(&shown("json")).unwrap();
    assert!(json["findings"].to_string().contains("\\u001b[31m<script>"));
}

/// Many sequences with the same problem.
#[test]
fn of_many_findings_of_a_check_the_worst_are_shown() {
    let snapshot = Packet {
        seq: 1,
        clock_snapshot: Some(ClockSnapshot {
            clocks: vec![Reading { id: 6, timestamp: 1000, ..Reading::default() }],
            primary: None,
        }),
        ..Packet::default()
    };
    let mut trace = vec![snapshot];
    for seq in 2..12 {
        for timestamp in 0..u64::from(seq) {
            trace.push(Packet {
                seq,
                timestamp: Some(timestamp),
                timestamp_clock_id: Some(64),
                ..Packet::default()
            });
        }
    }
    let place = Place::new();
    let trace = place.write("trace", &encode::trace(&trace));
    let said = run(&["doctor", trace.to_str().unwrap()]);
    let shown: Vec<&str> = said.stdout.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(shown.len(), 5);
    assert_eq!(shown[0], "error: 64@11 [sequence_clock_undefined]");
    assert!(
        said.stdout.contains(
            "\n… and 5 more of sequence_clock_undefined; --format json has all of them\n"
        ),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("\n10 errors\n"), "{}", said.stdout);
}

//! Compares the statements of pages, notebooks and reports on the recorded traces with trace
//! processor's answers.
//!
//! `answers/pages.rs` finds every statement that is shown anywhere. The test runs each on every
//! recorded trace, with the program and on a second database that timebase did not make
//! (`answers/witness.rs`). So a new statement is compared, or the test says why not. Each result of
//! a report is compared with a statement on trace processor's tables (`answers/reports.sql`).
//!
//! Rejected: expected rows for each statement. They would only record the result at the time of
//! writing.

mod compare;
mod pages;
mod time_spent;
mod witness;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, Mutex};
use std::thread;

use compare::{Bounds, Compared, Outcome, Pair};
use pages::Shown;

use crate::support::{Imported, files};

/// A statement of a page, or a result of a report, on one trace.
struct Finding {
    trace: &'static str,
    place: String,
    compared: Compared,
}

/// The results of all comparisons.
#[derive(Default)]
struct Findings {
    statements: Vec<Finding>,
    results: Vec<Finding>,
}

/// The comparisons take half a minute, most of it for the witnesses, so they are made once for all
/// tests of this file that run together.
static FINDINGS: LazyLock<Findings> = LazyLock::new(|| {
    let imported: BTreeMap<&str, Mutex<Imported>> = witness::RECORDED
        .into_iter()
        .chain(["late-frame"])
        .map(|trace| (trace, Mutex::new(Imported::new(&format!("{trace}.pftrace"), &[]))))
        .collect();
    let bounds: Bounds = imported
        .iter()
        .map(|(trace, imported)| {
            let sql = "SELECT start_ts, end_ts FROM trace_bounds";
            let imported = imported.lock().unwrap();
            let bounds = imported.conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
            ((*trace).to_owned(), bounds.unwrap())
        })
        .collect();
    let (shown, expected) = (pages::all(), expected_of_reports());
    let found = thread::scope(|scope| {
        let compared: Vec<_> = witness::RECORDED
            .into_iter()
            .map(|trace| {
                let imported = &imported[trace];
                let (bounds, shown, expected) = (&bounds, &shown, &expected);
                scope.spawn(move || {
                    of_trace(trace, &imported.lock().unwrap(), bounds, shown, expected)
                })
            })
            .collect();
        compared.into_iter().map(|found| found.join().unwrap()).collect::<Vec<_>>()
    });
    let mut all = Findings::default();
    for found in found {
        all.statements.extend(found.statements);
        all.results.extend(found.results);
    }
    all
});

fn of_trace(
    trace: &'static str,
    imported: &Imported,
    bounds: &Bounds,
    shown: &[Shown],
    expected: &BTreeMap<String, String>,
) -> Findings {
    let witness = witness::of(trace, imported);
    let pair = Pair { database: imported.path(), witness: &witness, trace, bounds };
    let finding = |place: &str, compared| Finding { trace, place: place.to_owned(), compared };
    let mut found = Findings::default();
    for shown in shown {
        let compared = pair.compare(&shown.statements).into_iter();
        found.statements.extend(compared.map(|compared| finding(&shown.place, compared)));
    }
    for report in reports() {
        let compared = pair.compare_report(&report, expected).into_iter();
        found.results.extend(compared.map(|compared| finding(&report, compared)));
    }
    found
}

fn reports() -> Vec<String> {
    let files = files("crates/cli/reports", &["sql"]);
    let names = files.iter().map(|path| path.file_stem().unwrap().to_str().unwrap());
    names.map(str::to_owned).collect()
}

/// The statements in answers/reports.sql by `report: title`.
fn expected_of_reports() -> BTreeMap<String, String> {
    let parts = include_str!("answers/reports.sql").split("-- # ").skip(1);
    let named = parts.map(|part| {
        let (key, sql) = part.split_once('\n').unwrap();
        (key.to_owned(), sql.trim().trim_end_matches(';').to_owned())
    });
    named.collect()
}

/// The differences in all findings.
fn differences(findings: &[Finding]) -> String {
    let told = findings.iter().filter_map(|finding| {
        let Outcome::Differs(why) = &finding.compared.outcome else {
            return None;
        };
        let (trace, place, sql) = (finding.trace, &finding.place, &finding.compared.sql);
        Some(format!("\n{place}, of {trace}: {why}\n{sql}"))
    });
    told.collect()
}

/// The largest number of compared rows, and the tables that the witness does not know.
type Told<'a> = (Option<usize>, BTreeSet<&'a str>);

/// The outcome of each statement or result on all traces, by place and text.
fn compared(findings: &[Finding]) -> BTreeMap<(&str, &str), Told<'_>> {
    let mut compared: BTreeMap<_, Told<'_>> = BTreeMap::new();
    for finding in findings {
        let key = (finding.place.as_str(), finding.compared.sql.as_str());
        let (rows, untold) = compared.entry(key).or_default();
        match &finding.compared.outcome {
            Outcome::Same(count) => *rows = (*rows).max(Some(*count)),
            Outcome::Untold(name) => {
                untold.insert(name);
            }
            Outcome::Differs(_) => {}
        }
    }
    compared
}

#[test]
fn statements_are_found_wherever_a_reader_meets_them() {
    let shown = pages::all();
    for (page, at_least) in [
        ("README.md", 4),
        ("crates/python/README.md", 2),
        ("docs/coming-from-trace-processor.md", 8),
        ("docs/datasette.md", 1),
        ("docs/plain-sql.md", 10),
        ("docs/python.md", 6),
        ("docs/reference.md", 105),
        ("docs/reports.md", 1),
        ("docs/several.md", 9),
        ("docs/tasks.md", 4),
        ("docs/tour.md", 9),
        ("docs/notebooks/", 15),
    ] {
        let of_page = shown.iter().filter(|shown| shown.place.starts_with(page));
        let count: usize = of_page.map(|shown| shown.statements.len()).sum();
        assert!(count >= at_least, "{page}: {count}");
    }
}

#[test]
fn what_a_page_or_a_notebook_shows_is_what_trace_processors_tables_give() {
    let differences = differences(&FINDINGS.statements);
    assert!(differences.is_empty(), "{differences}");
    let compared = compared(&FINDINGS.statements);
    let with_rows = compared.values().filter(|(rows, _)| rows.is_some_and(|rows| rows > 0));
    assert!(with_rows.count() >= 70, "{compared:#?}");
}

#[test]
fn what_a_report_says_is_what_trace_processors_tables_give() {
    let differences = differences(&FINDINGS.results);
    assert!(differences.is_empty(), "{differences}");
    for ((report, title), (rows, _)) in compared(&FINDINGS.results) {
        let why = NOT_OF_TRACE_PROCESSORS.iter().find(|(name, _)| title.starts_with(name));
        match (rows, why) {
            (Some(rows), None) => assert!(rows > 0, "{title} is empty for all traces"),
            (None, Some((_, why))) => assert!(!why.is_empty()),
            _ => {
                panic!("{report}: answers/reports.sql says what {title} must be, or it is left out")
            }
        }
    }
}

/// Results of reports that are not compared, with the reason.
const NOT_OF_TRACE_PROCESSORS: [(&str, &str); 10] = [
    (
        "clock-health: ",
        "of clocks trace processor has the readings only; tests/reports.rs and tests/clocks.rs",
    ),
    ("unplaced: ", "what trace processor cannot place it drops and counts; tests/reports.rs"),
    (
        "time-spent: Events",
        "it counts packets; tests/events.rs compares kernel events, tests/reports.rs the counts",
    ),
    (
        "slices: May be wrong",
        "no recorded trace has lost packets of track events; tests/reports.rs has one that did",
    ),
    (
        "flows: May be wrong",
        "no recorded trace has lost packets of track events; tests/reports.rs has one that did",
    ),
    (
        "flows: What led to it",
        "it is of one slice; tests/reports.rs follows the flows that are compared here",
    ),
    (
        "flows: What it led to",
        "it is of one slice; tests/reports.rs follows the flows that are compared here",
    ),
    (
        "cpu-profile: ",
        "no recorded trace has samples; tests/profile_reports.rs has traces with samples",
    ),
    (
        "heap-profile: ",
        "no recorded trace has heap profiles; tests/profile_reports.rs has traces with them",
    ),
    (
        "java-heap: ",
        "no recorded trace has a Java heap; tests/model/java_heap compares random ones",
    ),
];

#[test]
fn a_statement_is_left_out_only_where_trace_processor_has_no_answer() {
    let mut wrong = String::new();
    for ((place, sql), (rows, untold)) in compared(&FINDINGS.statements) {
        let unexplained: Vec<_> =
            untold.iter().filter(|name| witness::untold(name).is_none()).collect();
        if !unexplained.is_empty() {
            wrong += &format!("\n{place}: the witness has no {unexplained:?}\n{sql}");
        }
        let is_silent =
            SILENT.iter().any(|(text, _)| sql.contains(text) || place.starts_with(text));
        if rows == Some(0) && !is_silent {
            wrong += &format!("\n{place}: no recorded trace has rows of it\n{sql}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Features in statements that no recorded trace has, and pages about such traces.
const SILENT: [(&str, &str); 12] = [
    ("docs/builds.md", "no recorded trace is of a build"),
    ("docs/pytorch.md", "no recorded trace is of PyTorch"),
    ("category = 'kernel'", "no recorded trace is of PyTorch"),
    ("clock_hop_reading", "no recorded machine slept, and all clocks were read together"),
    ("clock_turn", "no counter of a recorded machine wrapped"),
    ("RenderThread", "a thread of the made-up phone"),
    ("frame_timeline_slice", "no recorded trace has frames; tests/frames.rs compares them"),
    ("state_track", "no recorded trace has states; tests/frames.rs compares them"),
    ("gpu_slice", "no recorded machine has a GPU"),
    ("android_logs", "no recorded trace has an Android log"),
    ("gpu_track", "no recorded machine has a GPU"),
    ("slice_in IN (9, 13)", "ids of one trace"),
];

/// The README had `lead(ts)` over a thread's events: if a thread was woken while it still ran, this
/// was the time until it ran the next time.
const FAULT: &str = "
    SELECT thread, ts, (ran - ts) / 1000 AS waited_us
    FROM (SELECT name, ts, coalesce(args ->> 'comm', args ->> 'next_comm') AS thread,
                 lead(ts) OVER (PARTITION BY coalesce(args ->> 'pid', args ->> 'next_pid') ORDER BY ts) AS ran
          FROM ftrace_event WHERE name IN ('sched_waking', 'sched_switch'))
    WHERE name = 'sched_waking'
    ORDER BY waited_us DESC LIMIT 1";

#[test]
fn a_thread_that_was_woken_while_it_still_ran_did_not_wait() {
    let desktop = Imported::new("desktop.pftrace", &[]);
    assert_eq!(desktop.rows(FAULT), [["kworker/1:2", "3084376052614", "430920"]]);
    // It continued for 38 us, slept, and was woken again: then it waited for 8 us.
    let waited = "SELECT dur FROM thread_state JOIN thread USING (utid)
                  WHERE name = 'kworker/1:2' AND state = 'R' AND ts + dur = 3084376052614 + 430928930";
    assert_eq!(desktop.rows(waited), [["8192"]]);
    let shown = FINDINGS.statements.iter().chain(&FINDINGS.results);
    let of_desktop =
        shown.filter(|finding| finding.trace == "desktop" && !finding.compared.rows.is_empty());
    let mut looked_at = 0;
    for finding in of_desktop {
        for row in &finding.compared.rows {
            let row = row.to_string();
            let is_fault = ["430920", "430928", "430.92"].iter().any(|fault| row.contains(fault));
            assert!(!is_fault, "{}: {row}\n{}", finding.place, finding.compared.sql);
            looked_at += 1;
        }
    }
    assert!(looked_at > 10_000, "{looked_at}");
}

/// Wakings of threads that had a CPU, found by following the running threads in a loop over the
/// events.
fn woken_while_running(trace: &Imported) -> Vec<(i64, i64)> {
    let sql =
        "SELECT ts, cpu, name, coalesce(args ->> 'pid', args ->> 'next_pid') FROM ftrace_event
               WHERE name IN ('sched_waking', 'sched_switch') AND ts IS NOT NULL ORDER BY ts, id";
    let mut statement = trace.conn.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut running: BTreeMap<i64, i64> = BTreeMap::new();
    let mut woken = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let (ts, cpu, tid) = (row.get_unwrap(0), row.get_unwrap(1), row.get_unwrap(3));
        if row.get_unwrap::<_, String>(2) == "sched_switch" {
            running.insert(cpu, tid);
        } else if running.values().any(|running| *running == tid) {
            woken.push((tid, ts));
        }
    }
    woken
}

#[test]
fn no_wait_begins_while_a_thread_runs_in_any_trace_of_a_kernel() {
    for (trace, at_least) in
        [("desktop", 7), ("desktop-compact", 8), ("system", 6), ("system-compressed", 27)]
    {
        let imported = Imported::new(&format!("{trace}.pftrace"), &[]);
        let woken = woken_while_running(&imported);
        assert!(woken.len() >= at_least, "{trace}: {}", woken.len());
        let mut wait = imported
            .conn
            .prepare(
                "SELECT count(*) FROM thread_state JOIN thread USING (utid)
                 WHERE tid = ?1 AND thread_state.ts = ?2 AND state IN ('R', 'R+')",
            )
            .unwrap();
        for (tid, ts) in woken {
            let waits: i64 = wait.query_row((tid, ts), |row| row.get(0)).unwrap();
            assert_eq!(waits, 0, "{trace}: {tid} at {ts}");
        }
    }
}

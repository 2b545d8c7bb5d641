//! The CPU time of threads and processes, by the report and by trace processor's own files: two
//! processes may have the same pid, and a process may have had several names.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::support::{Imported, answer, expected_compressed};

const KERNELS: [&str; 4] = ["desktop", "desktop-compact", "system", "system-compressed"];

const NULL: &str = "[NULL]";

/// A thread or a process in the answers: its tid or pid, and its start, which distinguishes those
/// that had one number after another.
type Key = (String, String);

/// The sum of times in nanoseconds, and the number of slices.
type Time = (i64, i64);

/// The columns of `sched_summary` for each thread, with its name.
fn of_threads(trace: &str) -> BTreeMap<(Key, String), Time> {
    let mut times: BTreeMap<_, Time> = BTreeMap::new();
    // ucpu, tid, start_ts, name, end_state, n, first_ts, last_ts, checksum, dur, priority
    for row in expected_compressed(&format!("{trace}.sched_summary.csv.zst")) {
        let [_, tid, start, name, end, n, _, _, _, dur, _] = <[String; 11]>::try_from(row).unwrap();
        let (n, mut dur): (i64, i64) = (n.parse().unwrap(), dur.parse().unwrap());
        if end == NULL && dur < 0 {
            dur = 0; // -1 for a slice without an end
        }
        let (sum, slices) = times.entry(((tid, start), name)).or_default();
        *sum += dur;
        *slices += n;
    }
    times
}

struct Thread {
    process: Key,
    is_idle: bool,
}

/// The threads in the answers, with their processes.
fn threads(trace: &str) -> BTreeMap<(Key, String), Thread> {
    // machine_id, tid, name, pid, pstart, start_ts, end_ts, is_main_thread, is_idle
    let rows = expected_compressed(&format!("{trace}.thread.csv.zst"));
    let threads = rows.into_iter().map(|row| {
        let [_, tid, name, pid, begin, start, _, _, idle] = <[String; 9]>::try_from(row).unwrap();
        let thread = Thread { process: (pid, begin), is_idle: idle == "1" };
        (((tid, start), name), thread)
    });
    threads.collect()
}

/// The names of processes.
fn names(trace: &str) -> BTreeMap<Key, String> {
    // machine_id, pid, name, ppid, start_ts, end_ts, uid, cmdline
    let rows = expected_compressed(&format!("{trace}.process.csv.zst"));
    let count = rows.len();
    let named = rows.into_iter().map(|row| {
        let [_, pid, name, _, start, ..] = <[String; 8]>::try_from(row).unwrap();
        ((pid, start), name)
    });
    let named: BTreeMap<Key, String> = named.collect();
    assert_eq!(named.len(), count, "pid and start tell processes apart");
    named
}

/// A value of a row, in the form of the answers.
fn shown(value: &Json) -> String {
    match value {
        Json::Null => NULL.to_owned(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_near(shown: &Json, ns: i64) -> bool {
    (shown.as_f64().unwrap() - ns as f64 / 1e6).abs() <= 0.00051
}

/// The rows of a list, by the column with their numbers.
fn list(results: &Json, title: &str, number: &str) -> BTreeMap<String, Json> {
    let mut results = results.as_array().unwrap().iter();
    let list = results.find(|result| result["title"] == title).unwrap();
    let rows = list["rows"].as_array().unwrap();
    let numbered: BTreeMap<String, Json> =
        rows.iter().map(|row| (shown(&row[number]), row.clone())).collect();
    assert_eq!(numbered.len(), rows.len(), "{title}: a row has the {number} of another");
    numbered
}

fn start_of(imported: &Imported, table: &str, number: &str, value: &str) -> String {
    let value = if value == NULL { "NULL" } else { value };
    let sql = format!("SELECT start_ts FROM {table} WHERE {number} = {value}");
    imported.rows(&sql).first().map_or(NULL.to_owned(), |row| row[0].clone())
}

#[test]
fn time_spent_tells_processes_and_threads_apart_and_names_them_as_trace_processor_does() {
    let mut recycled = 0;
    for trace in KERNELS {
        let imported = Imported::new(&format!("{trace}.pftrace"), &[]);
        let args = [
            "query",
            imported.path(),
            "--report",
            "time-spent",
            "--format",
            "json",
            "--param",
            "doubtful=1",
        ];
        let results = answer(&[&args[..], &["--param", "top=100000"]].concat());
        let results: Json = serde_json::from_str(&results).unwrap();
        let (times, threads, names) = (of_threads(trace), threads(trace), names(trace));

        let mut of_processes: BTreeMap<Key, (Time, i64)> = BTreeMap::new();
        let mut of_threads = BTreeMap::new();
        for ((key, name), time) in &times {
            let thread = &threads[&(key.clone(), name.clone())];
            if thread.is_idle {
                continue;
            }
            of_threads.insert((key.clone(), name.clone()), *time);
            let (sum, count) = of_processes.entry(thread.process.clone()).or_default();
            *sum = (sum.0 + time.0, sum.1 + time.1);
            *count += 1;
        }

        let found = list(&results, "Processes", "upid");
        assert_eq!(found.len(), of_processes.len(), "{trace}");
        let mut of_pid: BTreeMap<String, usize> = BTreeMap::new();
        for (upid, row) in &found {
            let pid = shown(&row["pid"]);
            *of_pid.entry(pid.clone()).or_default() += 1;
            let key = (pid, start_of(&imported, "process", "upid", upid));
            let (time, count) =
                of_processes.remove(&key).unwrap_or_else(|| panic!("{trace}: {row}"));
            // Trace processor has no row for threads of unknown processes.
            let name = names.get(&key).map_or(NULL, String::as_str);
            assert_eq!(shown(&row["process"]), name, "{trace}: {row}");
            assert_eq!(
                (&row["threads"], &row["switches"]),
                (&count.into(), &time.1.into()),
                "{trace}: {row}"
            );
            assert!(is_near(&row["running_ms"], time.0), "{trace}: {row} {time:?}");
        }
        recycled += of_pid.values().filter(|count| **count > 1).count();

        let found = list(&results, "Threads", "utid");
        assert_eq!(found.len(), of_threads.len(), "{trace}");
        for (utid, row) in &found {
            let start = start_of(&imported, "thread", "utid", utid);
            let key = ((shown(&row["tid"]), start), shown(&row["thread"]));
            let time = of_threads.remove(&key).unwrap_or_else(|| panic!("{trace}: {row}"));
            let process = &threads[&key].process;
            let name = names.get(process).map_or(NULL, String::as_str);
            assert_eq!(
                (shown(&row["pid"]), shown(&row["process"])),
                (process.0.clone(), name.to_owned()),
                "{row}"
            );
            assert_eq!(row["switches"], time.1, "{trace}: {row}");
            assert!(is_near(&row["running_ms"], time.0), "{trace}: {row} {time:?}");
        }
    }
    assert!(recycled >= 3, "pids come again in these traces: {recycled}");
}

#[test]
fn cpu_time_by_process_is_the_sum_of_trace_processors_slices() {
    for trace in KERNELS {
        let imported = Imported::new(&format!("{trace}.pftrace"), &[]);
        let (times, threads) = (of_threads(trace), threads(trace));
        let mut expected: BTreeMap<Key, Time> = BTreeMap::new();
        for (thread, time) in &times {
            let Thread { process, is_idle } = &threads[thread];
            if !is_idle {
                let sum = expected.entry(process.clone()).or_default();
                *sum = (sum.0 + time.0, sum.1 + time.1);
            }
        }
        let sql = "SELECT c.pid, p.start_ts, c.cpu_time + c.doubtful_time, c.slices
                   FROM cpu_time_by_process AS c LEFT JOIN process AS p USING (upid)";
        let found = imported.rows(sql).into_iter().map(|row| {
            let [pid, start, time, slices] = <[String; 4]>::try_from(row).unwrap();
            ((pid, start), (time.parse().unwrap(), slices.parse().unwrap()))
        });
        assert_eq!(found.collect::<BTreeMap<Key, Time>>(), expected, "{trace}");
    }
}

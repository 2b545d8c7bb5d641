//! The reports `cpu-profile` and `heap-profile`: on a recording with known answers, and compared
//! with a loop over the samples of random traces.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::profiles::{SAMPLES, heap, packets, recording};
use crate::support::{Imported, Place, Said, answer, data, run};

/// The results of a report, by title.
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

/// Samples of a report that are not exactly known, as lists of values in the order of columns.
fn values(rows: &[Value], columns: &[&str]) -> Vec<Value> {
    let row = |row: &Value| columns.iter().map(|column| row[column].clone()).collect();
    rows.iter().map(row).collect()
}

#[test]
fn cpu_profile_counts_the_samples_of_threads_functions_and_stacks() {
    let place = Place::new();
    let trace = recording(&place, "a.pftrace", &packets(&SAMPLES));
    let results = report(trace.to_str().unwrap(), "cpu-profile", &[]);
    let threads = ["process", "pid", "tid", "samples", "pct", "no_stack"];
    assert_eq!(
        values(&results["Samples by thread"], &threads),
        [
            json!(["app", 10, 11, 7, 63.64, 1]),
            json!(["app", 10, 12, 2, 18.18, 0]),
            json!(["other", 20, 20, 2, 18.18, 0]),
        ]
    );
    let functions = ["function", "self", "self_pct", "total", "total_pct"];
    assert_eq!(
        values(&results["Functions"], &functions),
        [
            json!(["layout", 4, 40.0, 4, 40.0]),
            json!(["draw", 2, 20.0, 6, 60.0]),
            json!(["<wait & see>", 2, 20.0, 2, 20.0]),
            json!(["other_main", 2, 20.0, 2, 20.0]),
            json!(["main", 0, 0.0, 8, 80.0]),
        ]
    );
    assert_eq!(
        values(&results["Callstacks"], &["samples", "pct", "stack"]),
        [
            json!([4, 40.0, "main;draw;layout"]),
            json!([2, 20.0, "main;<wait & see>"]),
            json!([2, 20.0, "main;draw"]),
            json!([2, 20.0, "other_main"]),
        ]
    );
    assert!(results["Lost samples"].is_empty());
}

#[test]
fn cpu_profile_of_a_process_a_thread_or_a_time_counts_nothing_else() {
    let place = Place::new();
    let trace = recording(&place, "a.pftrace", &packets(&SAMPLES));
    let trace = trace.to_str().unwrap();
    let stacks = |params: &[&str]| {
        let args: Vec<&str> = params.iter().flat_map(|given| ["--param", given]).collect();
        let results = report(trace, "cpu-profile", &args);
        values(&results["Callstacks"], &["samples", "stack"])
    };
    assert_eq!(stacks(&["process=oth*"]), [json!([2, "other_main"])]);
    assert_eq!(stacks(&["process=20"]), [json!([2, "other_main"])]);
    let of_thread = [json!([1, "main;draw"]), json!([1, "main;draw;layout"])];
    assert_eq!(stacks(&["thread=12"]), of_thread);
    assert_eq!(stacks(&["from=2000", "to=4000"]), [json!([2, "main;draw;layout"])]);
    assert_eq!(stacks(&["top=1"]), [json!([4, "main;draw;layout"])]);
    assert!(stacks(&["process=nobody"]).is_empty());
    for (process, is_known) in [("nobody", false), ("oth*", true), ("20", true), ("NULL", true)] {
        let process = format!("process={process}");
        let said = run(&["query", trace, "--report", "cpu-profile", "--param", &process]);
        let warning = format!("--param {process}: the trace has no such process");
        assert_eq!(said.stderr.contains(&warning), !is_known, "{}", said.stderr);
    }
}

#[test]
fn heap_profile_counts_what_was_allocated_and_what_was_not_freed() {
    let place = Place::new();
    let mut all = packets(&SAMPLES[..1]);
    all.push(heap(5_000, &[(1, 300, 100), (2, 50, 50), (9, 7, 0)]));
    let trace = recording(&place, "heap.pftrace", &all);
    let results = report(trace.to_str().unwrap(), "heap-profile", &[]);
    let memory = ["process", "pid", "heap", "allocations", "allocated", "kept", "unreleased"];
    // Each of the three stacks allocated twice, and two of them freed once.
    assert_eq!(
        values(&results["Memory by process"], &memory),
        [json!(["app", 10, "malloc", 6, 357, 4, 207])]
    );
    let functions =
        ["function", "self_unreleased", "total_unreleased", "self_allocated", "total_allocated"];
    assert_eq!(
        values(&results["Functions"], &functions),
        [
            json!(["draw", 200, 200, 300, 350]),
            json!(["/lib/app.so+0x1f40", 7, 7, 7, 7]),
            json!(["main", 0, 207, 0, 357]),
            json!(["layout", 0, 0, 50, 50]),
        ]
    );
    assert_eq!(
        values(&results["Callstacks"], &["unreleased", "allocated", "stack"]),
        [
            json!([200, 300, "main;draw"]),
            json!([7, 7, "main;/lib/app.so+0x1f40"]),
            json!([0, 50, "main;draw;layout"]),
        ]
    );
    let of = |param: &str| {
        let results = report(trace.to_str().unwrap(), "heap-profile", &["--param", param]);
        results["Callstacks"].len()
    };
    assert_eq!([of("heap=malloc"), of("heap=art"), of("to=5000")], [3, 0, 0]);
}

/// For each function, how often it is innermost on stacks, and how often it is on stacks at all, by
/// a loop over weights of callsites.
fn functions(conn: &Connection, weights: &HashMap<i64, i64>) -> BTreeMap<String, (i64, i64)> {
    let mut found: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    let mut frames = conn.prepare("SELECT name FROM callstack_frame(?1)").unwrap();
    for (callsite, weight) in weights {
        let names = frames.query_map([callsite], |row| row.get(0)).unwrap();
        let names: Vec<String> = names.map(Result::unwrap).collect();
        for name in names.iter().collect::<BTreeSet<_>>() {
            found.entry(name.clone()).or_default().1 += weight;
        }
        found.entry(names[names.len() - 1].clone()).or_default().0 += weight;
    }
    found
}

fn weights(conn: &Connection, sql: &str) -> HashMap<i64, i64> {
    let mut weights = HashMap::new();
    let mut statement = conn.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        *weights.entry(row.get_unwrap(0)).or_default() += row.get_unwrap::<_, i64>(1);
    }
    weights
}

fn shown(rows: &[Value], columns: [&str; 2]) -> BTreeMap<String, (i64, i64)> {
    let number = |row: &Value, column: &str| row[column].as_i64().unwrap();
    let row = |row: &Value| {
        let name = row["function"].as_str().unwrap().to_owned();
        (name, (number(row, columns[0]), number(row, columns[1])))
    };
    rows.iter().map(row).collect()
}

#[test]
fn functions_of_random_traces_are_what_a_loop_over_their_samples_finds() {
    let mut compared = [0, 0];
    for number in [2, 3, 4, 5, 13, 18, 24, 30, 35, 40] {
        let trace = format!("profiles/{number:02}.pftrace");
        let imported = Imported::new(&trace, &[]);
        timebase::sql::register(&imported.conn).unwrap();
        let conn = &imported.conn;
        let whole = ["--param", "top=1000000"];
        let samples = weights(conn, "SELECT callsite_id, 1 FROM stack_sample");
        let results = report(imported.path(), "cpu-profile", &whole);
        let expected = functions(conn, &samples);
        assert_eq!(shown(&results["Functions"], ["self", "total"]), expected, "{trace}");
        compared[0] += expected.len();
        let sql = "SELECT callsite_id, size FROM heap_profile_allocation";
        let results = report(imported.path(), "heap-profile", &whole);
        let expected = functions(conn, &weights(conn, sql));
        let columns = ["self_unreleased", "total_unreleased"];
        assert_eq!(shown(&results["Functions"], columns), expected, "{trace}");
        compared[1] += expected.len();
    }
    assert!(compared.iter().all(|count| *count >= 10), "{compared:?}");
}

#[test]
fn losses_are_listed_beside_the_profile_that_lacks_them() {
    let trace = data("profiles/18.pftrace");
    let results = report(trace.to_str().unwrap(), "cpu-profile", &[]);
    assert_eq!(
        values(&results["Lost samples"], &["end_ts", "cpu", "lost"]),
        [json!([1_003_079, 0, 4]), json!([1_007_215, 3, 47]), json!([1_006_113, null, 1]),]
    );
    // It is unknown since when the first two were lost.
    let results = report(trace.to_str().unwrap(), "cpu-profile", &["-p", "to=1003000"]);
    assert_eq!(results["Lost samples"].len(), 2);
    let results = report(trace.to_str().unwrap(), "cpu-profile", &["-p", "from=1006113"]);
    assert_eq!(results["Lost samples"].len(), 2);
    let results = report(trace.to_str().unwrap(), "heap-profile", &["-p", "to=1002800"]);
    assert_eq!(
        values(&results["Incomplete profiles"], &["start_ts", "end_ts"]),
        [
            json!([1_001_877, 1_001_877]),
            json!([1_001_879, 1_001_879]),
            json!([1_001_881, 1_001_881]),
            json!([1_002_791, 1_003_101]),
        ]
    );
}

#[test]
fn a_trace_without_profiles_is_told_what_to_record() {
    let of = |name: &str, trace: &Path| -> Said {
        let trace = trace.to_str().unwrap();
        run(&["query", trace, "--report", name, "-F", "jsonl"])
    };
    for (name, warning) in [
        ("cpu-profile", "there are no samples of callstacks in this trace: record"),
        ("heap-profile", "there are no heap profiles in this trace: record"),
    ] {
        let said = of(name, &data("app.pftrace"));
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""));
        assert!(said.stderr.contains(warning), "{}", said.stderr);
        let said = of(name, &data("profiles/18.pftrace"));
        assert!(!said.stderr.contains(warning), "{}", said.stderr);
    }
}

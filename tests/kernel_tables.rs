//! The tables of processes, threads, scheduling, slices of atrace and the GPU, and counters,
//! through the real program: random traces with known rows, and recorded traces with the answers of
//! Perfetto's trace processor.

use std::collections::BTreeMap;
use std::fs;

use crate::model::threads;
use crate::support::statements::{as_trace_processor_says, difference, differences, recorded};
use crate::support::{Imported, data};

/// The random traces of tests/data/threads.
fn generated() -> impl Iterator<Item = String> {
    (1..=40).map(|number| format!("{number:02}"))
}

const STATEMENTS: &str = "threads/queries-threads.sql";

#[test]
fn generated_traces_give_the_rows_that_are_known() {
    // For each statement the traces with a wrong answer, and the difference for the first of them.
    let mut wrong: BTreeMap<String, (Vec<String>, String)> = BTreeMap::new();
    for trace in generated() {
        let database = Imported::new(&format!("threads/{trace}.pftrace"), &[]);
        let expected = recorded(&format!("threads/{trace}.jsonl.zst"));
        for (name, why) in differences(&database.conn, STATEMENTS, &expected) {
            let (traces, _) = wrong.entry(name).or_insert((Vec::new(), why));
            traces.push(trace.clone());
        }
    }
    let told = wrong.iter().map(|(name, (traces, why))| {
        let all = traces.join(" ");
        format!("\n{name}, {} of 40: {all}\n  the first: {why}", traces.len())
    });
    assert!(wrong.is_empty(), "{}", told.collect::<String>());
}

#[test]
fn the_model_gives_the_rows_that_are_known_too() {
    let mut wrong = String::new();
    for trace in generated() {
        let bytes = fs::read(data(&format!("threads/{trace}.pftrace"))).unwrap();
        let found = threads::answers(&threads::tables(&bytes), STATEMENTS);
        let expected = recorded(&format!("threads/{trace}.jsonl.zst"));
        for (name, rows) in found {
            let expected = expected.get(&name).map_or(&[][..], Vec::as_slice);
            if let Some(why) = difference(&rows, expected) {
                wrong += &format!("\n{trace}, {name}: {why}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn imported_as_trace_processor_says(trace: &str, answers: &[&str]) {
    let database = Imported::new(&format!("{trace}.pftrace"), &[]);
    as_trace_processor_says(&database.conn, trace, answers);
}

const SYSTEM: [&str; 6] = [
    "process",
    "thread",
    "sched_summary",
    "sched_head",
    "thread_state_summary",
    "thread_state_head",
];

const DESKTOP: [&str; 7] =
    ["cpu", "machine", "spurious", "counter_summary", "counter", "slice", "slice_summary"];

#[test]
fn system_is_as_trace_processor_says() {
    imported_as_trace_processor_says("system", &SYSTEM);
}

#[test]
fn system_compressed_is_as_trace_processor_says() {
    imported_as_trace_processor_says("system-compressed", &SYSTEM);
}

#[test]
fn desktop_is_as_trace_processor_says() {
    imported_as_trace_processor_says("desktop", &[&SYSTEM[..], &DESKTOP].concat());
}

#[test]
fn desktop_compact_is_as_trace_processor_says() {
    imported_as_trace_processor_says("desktop-compact", &[&SYSTEM[..], &DESKTOP].concat());
}

/// Modules of Perfetto's standard library use the state of a thread with the next id as its next
/// state.
#[test]
fn pq10_ids_of_a_threads_states_are_in_the_order_of_time() {
    let recorded = ["desktop", "desktop-compact", "system", "late-frame"].map(str::to_owned);
    let random = generated().map(|number| format!("threads/{number}"));
    for trace in recorded.into_iter().chain(random) {
        let database = Imported::new(&format!("{trace}.pftrace"), &[]);
        let sql = "SELECT count(*) FROM (
                SELECT ts, lag(ts) OVER (PARTITION BY utid ORDER BY id) AS before FROM thread_state
            ) WHERE ts < before";
        let back: i64 = database.conn.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(back, 0, "{trace}");
    }
}

//! An import that is cancelled after all rows were written.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use timebase_import::{Error, Monitor, Options, Source, import_into};

/// Imports a trace, and cancels it when a row of a table is inserted. Tells how many rows each
/// table had got when it ended.
fn cancelled_at(trace: &str, table: &'static str) -> (Result<u64, Error>, BTreeMap<String, u64>) {
    let mut conn = Connection::open_in_memory().unwrap();
    let monitor = Arc::new(Monitor::default());
    let rows = Arc::new(Mutex::new(BTreeMap::new()));
    let (seen, cancelled) = (Arc::clone(&rows), Arc::clone(&monitor));
    let hook = move |_, _: &str, name: &str, _| {
        *seen.lock().unwrap().entry(name.to_owned()).or_default() += 1;
        if name == table {
            cancelled.cancel.store(true, Ordering::Relaxed);
        }
    };
    conn.update_hook(Some(hook)).unwrap();
    let trace = Source::File(Path::new("../../tests/data").join(trace));
    let imported = import_into(&[trace], &mut conn, &Options::default(), &monitor);
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = conn.query_row(tables, [], |row| row.get(0)).unwrap();
    assert_eq!(tables == 0, imported.is_err(), "what was made is taken back");
    let rows = rows.lock().unwrap().clone();
    (imported.map(|summary| summary.packets), rows)
}

#[test]
fn a_step_after_all_rows_is_the_last_one_when_it_is_cancelled() {
    let (imported, all) = cancelled_at("nearest.pftrace", "no table");
    assert!(imported.unwrap() > 0);
    for table in ["packet_record", "trace_file", "stats", "fact"] {
        assert!(all.contains_key(table), "{table}");
    }
    // At a row of `trace_file`.
    let (imported, rows) = cancelled_at("nearest.pftrace", "trace_file");
    assert!(matches!(imported, Err(Error::Cancelled)), "{imported:?}");
    assert_eq!(rows.get("packet_record"), all.get("packet_record"));
    // Some facts are there from the beginning.
    assert!(!rows.contains_key("stats") && rows.get("fact") < all.get("fact"));
    // At a row of `stats`, the import's statistics.
    let (imported, rows) = cancelled_at("nearest.pftrace", "stats");
    assert!(matches!(imported, Err(Error::Cancelled)), "{imported:?}");
    assert_eq!(rows.get("packet_record"), all.get("packet_record"));
}

#[test]
fn the_solved_clock_graph_ends_between_two_clocks_when_it_is_cancelled() {
    let (imported, all) = cancelled_at("multihop.pftrace", "no table");
    assert!(imported.unwrap() > 0);
    assert!(all.get("clock_hop") > Some(&1), "{all:?}");
    let (imported, rows) = cancelled_at("multihop.pftrace", "clock_hop");
    assert!(matches!(imported, Err(Error::Cancelled)), "{imported:?}");
    assert!(rows.get("clock_hop") < all.get("clock_hop"), "{rows:?}");
    assert!(!rows.contains_key("trace_file"), "{rows:?}");
}

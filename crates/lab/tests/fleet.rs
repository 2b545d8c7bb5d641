//! Fleets: always the same bytes, the requested number of damaged and empty files, and databases
//! with the stated facts about devices and builds.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::io;

use rusqlite::Connection;
use timebase_import::{Monitor, Options, Source, import};
use timebase_lab::synth::{Error, Fleet, FleetFile, FleetState, FleetSummary, write_fleet};

use common::Memory;

fn written(fleet: &Fleet) -> (BTreeMap<String, Vec<u8>>, FleetSummary) {
    let mut files = BTreeMap::<String, Memory>::new();
    let create = |name: &str| Ok(files.entry(name.to_owned()).or_default().clone());
    let summary = write_fleet(fleet, create).unwrap();
    let files = files.into_iter().map(|(name, file)| (name, file.0.take()));
    (files.collect(), summary)
}

fn of_state(fleet: &Fleet, state: FleetState) -> Vec<FleetFile> {
    let mut files = fleet.files();
    files.retain(|file| file.state == state);
    files
}

/// The database of a trace in the fleet, if there can be one.
fn database(bytes: &[u8]) -> Option<(tempfile::TempDir, Connection)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.db");
    let trace = directory.path().join("trace.pftrace");
    std::fs::write(&trace, bytes).unwrap();
    import(&[Source::File(trace)], &path, &Options::default(), &Monitor::default()).ok()?;
    let database = Connection::open(path).unwrap();
    Some((directory, database))
}

fn number(database: &Connection, sql: &str) -> i64 {
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_files_and_another_seed_others() {
    let fleet = Fleet { traces: 20, records: 200, ..Fleet::default() };
    let (files, summary) = written(&fleet);
    assert_eq!((files.clone(), summary), written(&fleet));
    let bytes: usize = files.values().map(Vec::len).sum();
    assert_eq!((files.len(), bytes as u64), (20, summary.bytes));
    assert_ne!(files, written(&Fleet { seed: 2, ..fleet }).0);
}

#[test]
fn as_many_are_damaged_and_empty_as_is_said() {
    let fleet = Fleet { traces: 300, damaged_percent: 5, records: 50, ..Fleet::default() };
    let (files, summary) = written(&fleet);
    assert_eq!((summary.traces, summary.damaged, summary.empty, summary.lossy), (300, 15, 3, 30));
    assert_eq!(files.values().filter(|file| file.is_empty()).count(), 3);
    for state in [FleetState::Damaged, FleetState::Empty, FleetState::Lossy] {
        let few = Fleet { traces: 5, damaged_percent: 0, ..Fleet::default() };
        assert_eq!(of_state(&few, state), []);
    }
}

#[test]
fn what_is_damaged_cannot_be_read_as_a_whole() {
    let fleet = Fleet { traces: 60, damaged_percent: 10, ..Fleet::default() };
    let (files, _) = written(&fleet);
    let errors = of_state(&fleet, FleetState::Damaged)
        .into_iter()
        .map(|file| {
            let (_directory, database) = database(&files[&file.name])?;
            Some(number(
                &database,
                "SELECT count(*) FROM import_log WHERE code IN ('cut', 'damaged', 'corrupt_packet', 'corrupt_payload')",
            ))
        });
    let errors: Vec<Option<i64>> = errors.collect();
    assert_eq!(errors.len(), 6);
    // One third is no trace; for the others the damage is reported.
    assert_eq!(errors.iter().filter(|errors| errors.is_none()).count(), 2);
    assert!(errors.iter().flatten().all(|&errors| errors > 0), "{errors:?}");
}

#[test]
fn devices_and_builds_differ_as_is_said() {
    let fleet = Fleet { traces: 10, damaged_percent: 0, ..Fleet::default() };
    let (files, _) = written(&fleet);
    let mut frames = BTreeMap::new();
    for file in fleet.files() {
        let Some((_directory, database)) = database(&files[&file.name]) else {
            assert_eq!(file.state, FleetState::Empty);
            continue;
        };
        let took = "SELECT CAST(avg(dur) AS INTEGER) FROM slice WHERE name = 'frame' AND dur > 0";
        frames.insert((file.device, file.build), number(&database, took));
        let unhealthy = "SELECT count(*) FROM finding WHERE severity = 'error'";
        assert_eq!(number(&database, unhealthy) > 0, file.device == "elm", "{}", file.name);
        let lossy = "SELECT count(*) FROM finding WHERE check_name = 'data_lost'";
        assert_eq!(number(&database, lossy) > 0, file.state == FleetState::Lossy, "{}", file.name);
        let waited =
            "SELECT count(*) FROM thread_state WHERE state = 'R' AND waker_utid IS NOT NULL";
        assert!(number(&database, waited) > 100, "{}", file.name);
    }
    for device in ["aster", "cedar", "dahlia", "elm"] {
        let (Some(first), Some(second)) =
            (frames.get(&(device, "b1")), frames.get(&(device, "b2")))
        else {
            continue;
        };
        assert!((80..125).contains(&(100 * second / first)), "{device}: {first} {second}");
    }
    let (first, second) = (frames[&("birch", "b1")], frames[&("birch", "b2")]);
    assert!((135..185).contains(&(100 * second / first)), "{first} {second}");
}

#[test]
fn a_trace_is_as_large_as_was_asked_for() {
    let fleet = Fleet { traces: 1, damaged_percent: 0, records: 20_000, ..Fleet::default() };
    let (files, _) = written(&fleet);
    let (_directory, database) = database(files.values().next().unwrap()).unwrap();
    let records = "SELECT (SELECT count(*) FROM packet WHERE type <> 'ftrace_events') + (SELECT count(*) FROM ftrace_event)";
    assert!((20_000..20_400).contains(&(number(&database, records) + 400)));
}

#[test]
fn a_knob_that_is_out_of_range_is_named() {
    for (fleet, named) in [
        (Fleet { traces: 0, ..Fleet::default() }, "traces must be from 1 to 100,000"),
        (Fleet { damaged_percent: 91, ..Fleet::default() }, "damaged_percent must be at most 90"),
        (Fleet { records: 0, ..Fleet::default() }, "records must be from 1 to 100,000,000"),
    ] {
        let error = write_fleet(&fleet, |_| -> io::Result<Vec<u8>> { unreachable!() }).unwrap_err();
        assert!(matches!(error, Error::Settings { .. }));
        assert_eq!(error.to_string(), named);
    }
}

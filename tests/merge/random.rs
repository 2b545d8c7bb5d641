//! Random sets of files: the program must have the same result as the model, and the order of the
//! files must not matter.

use super::archive;
use super::database::{self, Database};
use super::generate::{self, Case};
use super::graph::{BOOTTIME, Clock};
use super::model::{self, Imported, SnapshotRows};
use crate::support::random::for_all;
use proptest::prelude::*;

#[test]
fn x10_to_x40_rows_of_any_set() {
    for_all(1, generate::case(), agree);
}

#[test]
fn x4_the_order_of_arguments_and_members_does_not_matter() {
    for_all(4, generate::case(), order_does_not_matter);
}

/// The tried sets include all kinds.
#[test]
fn random_sets_are_not_all_alike() {
    let count = std::cell::RefCell::new([0_usize; 6]);
    for_all(1, generate::case(), |case| {
        let mut count = count.borrow_mut();
        match model::import(&case.members()) {
            Err(_) => count[0] += 1,
            Ok(model) => {
                count[1] += usize::from(model.packets.iter().any(|p| p.ts.is_some()));
                count[2] += usize::from(model.packets.iter().any(|p| p.unresolved.is_some()));
                count[3] += usize::from(model.machines.len() > 1);
                count[4] += usize::from(!model.samples.is_empty());
                let assumed = |s: &SnapshotRows| s.source == "assumed";
                count[5] += usize::from(model.snapshots.iter().any(assumed));
            }
        }
        Ok(())
    });
    let count = count.into_inner();
    assert!(count.iter().all(|n| *n >= 20), "{count:?}");
}

fn agree(case: &Case) -> Result<(), TestCaseError> {
    let found = database::import(&case.files(), case.manifest().as_deref());
    let (database, model) = match (found, model::import(&case.members())) {
        (Err(_), Err(_)) => return Ok(()),
        (Ok(database), Ok(model)) => (database, model),
        (Err(why), Ok(_)) => return Err(TestCaseError::fail(format!("refused: {why}"))),
        (Ok(_), Err(why)) => return Err(TestCaseError::fail(format!("not refused: {why}"))),
    };
    machines_agree(&database, &model)?;
    packets_agree(&database, &model)?;
    snapshots_agree(&database, &model)?;
    samples_agree(&database, &model)?;
    functions_agree(&database, &model)
}

fn machines_agree(database: &Database, model: &Imported) -> Result<(), TestCaseError> {
    let sql = "SELECT raw_id, name FROM machine ORDER BY id";
    let found = database.rows(sql, |row| {
        let raw_id: i64 = row.get(0)?;
        Ok((raw_id.cast_unsigned(), row.get::<_, Option<String>>(1)?))
    });
    let machines = model.machines.iter();
    let expected: Vec<_> = machines.map(|m| (m.raw_id, m.name.clone())).collect();
    prop_assert_eq!(found, expected, "rows of machine");
    Ok(())
}

fn packets_agree(database: &Database, model: &Imported) -> Result<(), TestCaseError> {
    let packets = database.packets();
    prop_assert_eq!(packets.len(), model.packets.len(), "rows of packet");
    let several = model.files.len() > 1;
    let events = database.events();
    for (found, expected) in packets.iter().zip(&model.packets) {
        let at = format!("{} {}", expected.file, expected.number);
        if several {
            prop_assert_eq!(&found.file, &expected.file, "{}", at);
        }
        prop_assert_eq!(found.number, expected.number as i64, "{}", at);
        if expected.machine.is_some() {
            prop_assert_eq!(found.raw_id, expected.machine, "the machine of {}", at);
        }
        prop_assert_eq!(found.ts, expected.ts, "the time of {}", at);
        if found.kind.as_deref() != Some("clock_snapshot") {
            let reason = found.unresolved.as_deref();
            prop_assert_eq!(reason, expected.unresolved, "the reason of {}", at);
        }
        let times = events.get(&found.id).cloned().unwrap_or_default();
        prop_assert_eq!(&times, &expected.events, "the events of {}", at);
    }
    Ok(())
}

/// Each accepted snapshot in order, with its readings in any order.
fn snapshots_agree(database: &Database, model: &Imported) -> Result<(), TestCaseError> {
    let sql = "
        SELECT s.snapshot_id, s.source, f.name, m.raw_id, s.clock_id, s.seq_id, s.clock_value, s.ts
        FROM clock_snapshot AS s
        JOIN machine AS m ON m.id = s.machine_id
        LEFT JOIN trace_file AS f ON f.id = s.trace_file_id
        ORDER BY s.id";
    let several = model.files.len() > 1;
    let mut found: Vec<(i64, SnapshotRows)> = Vec::new();
    for (id, source, reading) in database.rows(sql, |row| {
        let file: Option<String> = row.get(2)?;
        let raw_id: i64 = row.get(3)?;
        let reading = model::ReadingRow {
            file: file.filter(|_| several),
            raw_id: raw_id.cast_unsigned(),
            clock_id: row.get(4)?,
            seq_id: row.get(5)?,
            value: row.get(6)?,
            ts: row.get(7)?,
        };
        Ok((row.get(0)?, row.get::<_, String>(1)?, reading))
    }) {
        match found.last_mut() {
            Some((last, rows)) if *last == id => rows.readings.push(reading),
            _ => {
                let readings = vec![reading];
                found.push((id, SnapshotRows { source, readings }));
            }
        }
    }
    let mut expected = model.snapshots.clone();
    expected.retain(|rows| !rows.readings.is_empty());
    let rows = found.iter_mut().map(|(_, rows)| rows);
    for rows in rows.chain(&mut expected) {
        if !several {
            rows.readings.iter_mut().for_each(|row| row.file = None);
        }
        rows.readings.sort();
    }
    for (n, ((_, found), expected)) in found.iter().zip(&expected).enumerate() {
        prop_assert_eq!(found, expected, "snapshot {}", n);
    }
    prop_assert_eq!(found.len(), expected.len(), "snapshots");
    Ok(())
}

/// X24
fn samples_agree(database: &Database, model: &Imported) -> Result<(), TestCaseError> {
    let sql = "
        SELECT s.packet_id, m.raw_id, s.clock_id, s.host_value, s.offset, s.half_round_trip
        FROM remote_clock_sync AS s JOIN machine AS m ON m.id = s.machine_id";
    let mut found = database.rows(sql, |row| {
        let raw_id: i64 = row.get(1)?;
        Ok(model::Sample {
            packet: row.get::<_, i64>(0)? as usize,
            machine: raw_id.cast_unsigned(),
            clock: row.get(2)?,
            host_value: row.get(3)?,
            offset: row.get(4)?,
            half_round_trip: row.get(5)?,
        })
    });
    let mut expected = model.samples.clone();
    found.sort();
    expected.sort();
    prop_assert_eq!(found, expected, "rows of remote_clock_sync");
    Ok(())
}

/// The functions use all snapshots, and a view lists the packets whose time differs (D5).
fn functions_agree(database: &Database, model: &Imported) -> Result<(), TestCaseError> {
    let Some(trace_time) = model.trace_time else {
        return Ok(());
    };
    let boottime = Clock::shared(BOOTTIME, trace_time.machine);
    let resync = database.resync();
    for (id, packet) in model.packets.iter().enumerate() {
        let Some((clock, reading)) = packet.clock else {
            continue;
        };
        let Ok(ticks) = i64::try_from(reading) else {
            continue;
        };
        let at = format!("{} {}", packet.file, packet.number);
        if database.machine(trace_time.machine).is_some() {
            let file = (clock.tag != 0).then(|| match model.files.len() {
                1 => 0, // the input itself
                _ => database.file(&packet.file),
            });
            let expected = model.graph.convert(clock, reading, boottime).ok();
            let found = database.to_boottime(clock, file, ticks);
            prop_assert_eq!(found, expected, "to_boottime of {}", at);
        }
        let last = model.graph.convert(clock, reading, trace_time).ok();
        let expected = (packet.ts.is_some() && packet.ts != last).then_some(last);
        let found = resync.get(&(id as i64)).copied();
        prop_assert_eq!(found, expected, "packet_resync of {}", at);
    }
    Ok(())
}

fn order_does_not_matter(case: &Case) -> Result<(), TestCaseError> {
    let manifest = case.manifest();
    let files = case.files();
    let as_arguments = database::import(&files, manifest.as_deref());
    let shuffled = database::import(&case.shuffled(files), manifest.as_deref());
    let members = case.shuffled(case.members());
    let archives = [("set.zip", archive::zip(&members)), ("set.tar", archive::tar(&members))];
    let archived = archives.map(|(name, bytes)| database::import_archive(name, &bytes));
    let Ok(first) = as_arguments else {
        prop_assert!(shuffled.is_err(), "refused in one order only");
        prop_assert!(archived.iter().all(Result::is_err), "refused as arguments");
        return Ok(());
    };
    same_content(&first, shuffled, "other arguments")?;
    // A single file is an input by itself, and its archive has one more.
    if members.len() > 1 {
        for archived in archived {
            same_content(&first, archived, "an archive")?;
        }
    }
    Ok(())
}

fn same_content(
    first: &Database,
    other: Result<Database, String>,
    what: &str,
) -> Result<(), TestCaseError> {
    let other = match other {
        Ok(other) => other,
        Err(why) => return Err(TestCaseError::fail(format!("{what}: refused: {why}"))),
    };
    let (first, other) = (first.content(), other.content());
    for (table, rows) in &first {
        prop_assert_eq!(other.get(table), Some(rows), "{} of {}", table, what);
    }
    prop_assert_eq!(other.len(), first.len(), "tables of {}", what);
    Ok(())
}

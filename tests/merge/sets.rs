//! The sets of files in tests/data/merge, for each event whose time and machine are known.

use super::archive::{File, members, zip};
use super::database::{self, Database};
use super::model::{self, Imported};
use crate::support::{Place, answer, data};
use std::collections::BTreeMap;
use std::fs;

/// The payload of the listed events: `track_event`.
const LISTED: u32 = 11;

/// The expected result of a set: a refusal, or its events.
#[derive(Debug, PartialEq)]
enum Expected {
    Refused,
    Events(BTreeMap<(String, usize), Event>),
}

#[derive(Debug, PartialEq)]
struct Event {
    /// None if it has no time.
    ts: Option<i64>,
    raw_id: u64,
    /// The name of its machine; empty without one.
    name: String,
}

fn expected() -> BTreeMap<String, Expected> {
    let mut sets: BTreeMap<String, Expected> = BTreeMap::new();
    let mut rows = csv::Reader::from_path(data("merge/expected.csv")).unwrap();
    for row in rows.records() {
        let row = row.unwrap();
        let set = row[0].to_owned();
        if &row[3] == "refused" {
            sets.insert(set, Expected::Refused);
            continue;
        }
        let of_set = sets.entry(set).or_insert_with(|| Expected::Events(BTreeMap::new()));
        let Expected::Events(events) = of_set else {
            panic!("{row:?} is of a refused set");
        };
        let event = Event {
            ts: (&row[3] != "unplaced").then(|| row[3].parse().unwrap()),
            raw_id: row[4].parse().unwrap(),
            name: row[5].to_owned(),
        };
        events.insert((row[1].to_owned(), row[2].parse().unwrap()), event);
    }
    assert_eq!(sets.len(), 40);
    sets
}

fn archive(set: &str) -> Vec<u8> {
    fs::read(data("merge").join(set)).unwrap()
}

/// The model's result for a set, in the form of the expected result.
fn by_model(imported: Imported) -> Expected {
    let listed = imported.packets.iter().filter(|p| p.payload == Some(LISTED));
    let event = |packet: &model::PacketRow| {
        let mut machines = imported.machines.iter();
        let machine = machines.find(|m| Some(m.raw_id) == packet.machine).unwrap();
        let event = Event {
            ts: packet.ts,
            raw_id: machine.raw_id,
            name: machine.name.clone().unwrap_or_default(),
        };
        ((packet.file.clone(), packet.number), event)
    };
    Expected::Events(listed.map(event).collect())
}

/// Reports the events of a set that differ from the expected ones.
fn assert_as_expected(set: &str, found: &Expected, expected: &Expected) {
    if let (Expected::Events(found), Expected::Events(expected)) = (found, expected) {
        for (place, event) in expected {
            assert_eq!(found.get(place), Some(event), "{set}: {place:?}");
        }
    }
    assert_eq!(found, expected, "{set}");
}

#[test]
fn the_model_makes_of_all_sets_what_is_expected() {
    for (set, expected) in expected() {
        let found = match model::import_archive(&archive(&set)) {
            Ok(imported) => by_model(imported),
            Err(_) => Expected::Refused,
        };
        assert_as_expected(&set, &found, &expected);
    }
}

/// The contents of a set's database, in the same form.
fn by_program(database: &Database) -> Expected {
    let packets = database.packets().into_iter();
    let listed = packets.filter(|packet| packet.kind.as_deref() == Some("track_event"));
    let event = |packet: database::PacketRow| {
        let event = Event {
            ts: packet.ts,
            raw_id: packet.raw_id.unwrap(),
            name: packet.machine_name.unwrap_or_default(),
        };
        ((packet.file, packet.number as usize), event)
    };
    Expected::Events(listed.map(event).collect())
}

#[test]
fn the_program_makes_of_all_sets_what_is_expected() {
    for (set, expected) in expected() {
        let found = match database::import_archive(&set, &archive(&set)) {
            Ok(database) => by_program(&database),
            Err(_) => Expected::Refused,
        };
        assert_as_expected(&set, &found, &expected);
    }
}

/// A set without its manifest, if it has one.
fn traces(set: &str) -> Vec<File> {
    let mut files = members(&archive(set));
    files.retain(|file| file.name != "m.json");
    files
}

#[test]
fn x10_the_manifest_that_is_printed_changes_nothing_in_any_set() {
    let mut compared = 0;
    for (set, _) in expected() {
        let zip = zip(&traces(&set));
        let place = Place::new();
        let path = place.write("set.zip", &zip);
        let manifest = answer(&["manifest", path.to_str().unwrap()]);
        let without = database::import_archive("set.zip", &zip);
        let with = database::import(&[File::new("set.zip", zip)], Some(&manifest));
        let (Ok(without), Ok(with)) = (&without, &with) else {
            assert_eq!(without.is_ok(), with.is_ok(), "{set}: {manifest}");
            continue;
        };
        // Names of machines are new, and so are their raw ids.
        let packets = |database: &Database| {
            let packets = database.packets().into_iter();
            let same = packets.map(|packet| database::PacketRow {
                raw_id: packet
                    .raw_id
                    .and_then(|raw_id| Some(database.machine(raw_id)?.cast_unsigned())),
                machine_name: None,
                ..packet
            });
            same.collect::<Vec<_>>()
        };
        assert_eq!(packets(with), packets(without), "{set}: {manifest}");
        compared += 1;
    }
    assert!(compared >= 30, "{compared}");
}

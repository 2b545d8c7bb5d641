//! X10 to X13: the machine of a packet.

use crate::merge::archive::File;
use crate::merge::notation::*;
use serde_json::json;
use timebase_lab::encode::{self, INCREMENTAL_STATE_CLEARED, NEEDS_INCREMENTAL_STATE, Packet};

fn b1() -> Item {
    snapshot(&[(B, s("1"))])
}

#[test]
fn x10_files_without_ids_are_one_machine() {
    let set =
        Set::new().file("a", [b1(), event("x", B, s("2"))]).file("b", [event("y", B, s("3"))]);
    set.assert("x 2, y 3");
    set.assert_machines(&[(0, "")]);
}

#[test]
fn x10_the_same_raw_id_in_two_files_is_one_machine() {
    let set = Set::new()
        .file("a", [b1(), event("x", B, s("2")).of(7)])
        .file("b", [event("y", B, s("3")).of(7)]);
    set.assert("x 2, y 3");
    let database = set.assert_machines(&[(0, ""), (7, "")]);
    let sql = "SELECT machine_id, count(*) FROM packet GROUP BY 1 ORDER BY 1";
    assert_eq!(database.lines(sql), ["0 1", "1 2"]);
}

#[test]
fn x11_named_machines_come_first_and_the_others_as_they_are_met() {
    let set = Set::new()
        .file("a", [event("x", B, s("2")).of(7), event("y", B, s("3")).of(5)])
        .file("b", [event("z", B, s("4"))])
        .file("c", [event("v", B, s("5")).of(5)]);
    let set = set.manifest(json!({"files": [
        {"path": "nobody", "machine": {"name": "none"}},
        {"path": "b", "machine": {"name": "phone"}},
        {"path": "c", "machines": [{"id": 5, "name": "watch"}, {"id": 0, "name": "phone"}]},
    ]}));
    let first = 1 << 32;
    set.assert_machines(&[
        (first, "none"),
        (first + 1, "phone"),
        (first + 2, "watch"),
        (7, ""),
        (5, ""),
    ]);
}

#[test]
fn x11_a_marker_makes_no_host() {
    let marker = Packet { is_marker: true, ..Packet::default() };
    let items = [Item::from(marker), b1().of(7), event("x", B, s("2")).of(7)];
    let set = Set::new().file("a", items);
    set.assert("x 2");
    set.assert_machines(&[(7, "")]);
}

#[test]
fn x11_a_machine_says_its_name_where_the_manifest_does_not() {
    let named = |name: &str| {
        Item::from(Packet { machine_name: Some(name.to_owned()), ..Packet::default() })
    };
    let set = Set::new()
        .file("a", [named("itself"), event("x", B, s("2"))])
        .file("b", [named("other"), event("y", B, s("2"))]);
    let set = set.manifest(json!({"files": [{"path": "b", "machine": {"name": "given"}}]}));
    set.assert_machines(&[(1 << 32, "given"), (0, "itself")]);
}

#[test]
fn x12_a_trace_of_one_stamped_machine_has_one_machine() {
    let set = Set::new().file("a", [b1().of(42), event("x", B, s("2")).of(42)]);
    let database = set.assert_machines(&[(42, "")]);
    assert_eq!(database.lines("SELECT id FROM machine"), ["0"]);
    set.assert("x 2");
}

#[test]
fn x12_a_stamped_file_and_one_without_ids_are_two_machines() {
    let set = Set::new()
        .file("a", [b1().of(42), event("x", B, s("2")).of(42)])
        .file("b", [b1(), event("y", B, s("3"))]);
    set.assert_machines(&[(42, ""), (0, "")]);
}

/// A packet that makes BOOTTIME its sequence's default, and its state valid.
fn defaults(clock: u32) -> Item {
    Item::from(Packet {
        seq: 2,
        flags: INCREMENTAL_STATE_CLEARED,
        defaults: Some(clock),
        ..Packet::default()
    })
}

fn needing(name: &'static str, timestamp: u64) -> Item {
    let mut item = plain(name, timestamp);
    item.packet.flags = NEEDS_INCREMENTAL_STATE;
    item
}

#[test]
fn x13_the_same_sequence_in_two_files_is_two() {
    let set = Set::new()
        .file("a", [snapshot(&[(B, s("1")), (R, r("0"))]), defaults(R), needing("x", r("2"))])
        .file("b", [plain("y", s("2")), needing("z", s("3"))]);
    let database = set.assert("x 3, y 2, z unplaced");
    let sql = "SELECT unresolved FROM packet WHERE ts IS NULL AND timestamp IS NOT NULL";
    assert_eq!(database.lines(sql), ["incremental_state_lost"]);
    let sql = "SELECT f.name, s.id, s.packets FROM sequence AS s
               JOIN trace_file AS f ON f.id = s.trace_file_id WHERE s.id = 2 ORDER BY f.name";
    assert_eq!(database.lines(sql), ["a 2 2", "b 2 2"]);
}

#[test]
fn x13_the_same_sequence_of_two_machines_of_a_file_is_two() {
    let set = Set::new().file(
        "a",
        [
            snapshot(&[(B, s("1")), (R, r("0"))]),
            defaults(R),
            plain("x", r("2")),
            needing("y", s("2")).of(7),
        ],
    );
    set.assert("x 3, y unplaced");
}

#[test]
fn x10_rows_of_a_file_are_numbered_by_themselves() {
    let items = [b1().packet, event("x", B, s("2")).packet];
    let set = Set::new().file("a", [b1(), event("y", B, s("2"))]).other("b", encode::trace(&items));
    let database = set.database();
    let sql = "SELECT p.id, f.name, p.number, p.offset FROM packet AS p
               JOIN trace_file AS f ON f.id = p.trace_file_id ORDER BY p.id";
    let of_a = database.lines(sql);
    let ends: Vec<_> = of_a.iter().map(|line| &line[2..]).collect();
    assert_eq!(&of_a[0][..6], "0 a 0 ");
    assert_eq!(&of_a[3][..6], "3 b 1 ");
    let offsets = |lines: &[&str]| lines.iter().map(|l| l[2..].to_owned()).collect::<Vec<_>>();
    assert_eq!(offsets(&ends[..2]), offsets(&ends[2..]));
    let files: Vec<File> = set.files();
    assert_eq!(files[0].bytes, files[1].bytes);
}

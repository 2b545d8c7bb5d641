//! X26 to X29, X40: parts without a snapshot that relates them to trace time.

use crate::merge::database::Database;
use crate::merge::notation::*;
use serde_json::json;

const M: u32 = 3;

fn both(boottime: &str, realtime: &str) -> Item {
    snapshot(&[(B, s(boottime)), (R, r(realtime))])
}

/// a: B1=R(r), x@B2
fn host() -> [Item; 2] {
    [both("1", "0"), event("x", B, s("2"))]
}

/// The clocks that the import assumes to be one: raw id, clock and file of each.
fn assumed(database: &Database) -> Vec<String> {
    let sql = "
        SELECT group_concat(reading, ' = ') FROM (
          SELECT s.snapshot_id, m.raw_id || ':' || s.clock_id || coalesce('@' || f.name, '') AS reading
          FROM clock_snapshot AS s JOIN machine AS m ON m.id = s.machine_id
          LEFT JOIN trace_file AS f ON f.id = s.trace_file_id
          WHERE s.source = 'assumed' ORDER BY s.snapshot_id, reading)
        GROUP BY snapshot_id ORDER BY snapshot_id";
    database.lines(sql)
}

/// The placement of a file's parts, by the raw ids of their machines.
fn how(database: &Database, file: &str) -> Vec<String> {
    let sql = format!(
        "SELECT m.raw_id, p.how FROM placement AS p
         JOIN trace_file AS f ON f.id = p.trace_file_id AND f.name = '{file}'
         JOIN machine AS m ON m.id = p.machine_id ORDER BY m.id"
    );
    database.lines(&sql)
}

#[test]
fn x26_a_what_reaches_trace_time_is_left_as_it_is() {
    let set = Set::new()
        .file(
            "a",
            [
                both("1", "0"),
                sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]),
                event("g", B, s("51")).of(7),
            ],
        )
        .file("b", [event("y", R, r("4"))]);
    let database = set.assert("g 2.999999, y 5");
    assert!(assumed(&database).is_empty());
    assert_eq!(how(&database, "a"), ["0 trace_time", "7 remote_sync"]);
}

#[test]
fn x26_b_files_of_one_machine_are_assumed_to_be_of_one_boot() {
    let set = Set::new().file("a", host());
    let set = set.file("b", [both("5", "3"), event("y", R, r("3.5"))]);
    let database = set.assert("x 2, y 5.5");
    assert_eq!(assumed(&database), ["0:6 = 0:6@b"]);
    assert_eq!(how(&database, "b"), ["0 same_clock"]);
}

#[test]
fn x26_c_the_machines_own_way_is_taken_before_realtime() {
    let set = Set::new()
        .file(
            "a",
            [
                both("1", "0"),
                sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]),
                event("g", B, s("51")).of(7),
            ],
        )
        .file("b", [both("60", "0").of(7), event("y", B, s("61")).of(7)]);
    // b's BOOTTIME is the guest's, for which the host was asked.
    let database = set.assert("g 2.999999, y 12.999999");
    assert_eq!(assumed(&database), ["7:6 = 7:6@b"]);
}

#[test]
fn x26_d_machines_meet_by_realtime() {
    let set = Set::new().file("a", host());
    let set = set.file("b", [both("60", "3").of(7), event("y", B, s("61")).of(7)]);
    let database = set.assert("x 2, y 5");
    assert_eq!(assumed(&database), ["0:1 = 7:1"]);
    assert_eq!(how(&database, "b"), ["7 realtime"]);
}

#[test]
fn x26_e_without_realtime_one_boottime_is_assumed() {
    let set = Set::new().file("a", host());
    let set = set.file("b", [snapshot(&[(B, s("60"))]).of(7), event("y", B, s("61")).of(7)]);
    let database = set.assert("x 2, y 61");
    assert_eq!(assumed(&database), ["0:6 = 7:6"]);
    assert_eq!(how(&database, "b"), ["7 same_clock"]);
}

#[test]
fn x26_f_what_nothing_relates_is_unplaced_and_told_once_a_part() {
    let set = Set::new()
        .file("a", [primary(&[(B, s("1")), (R, r("0"))], R), event("x", B, s("2"))])
        .file(
            "b",
            [
                snapshot(&[(B, s("60"))]).of(7),
                event("y", B, s("61")).of(7),
                event("z", B, s("62")).of(7),
            ],
        );
    let database = set.assert("x 1700000001, y unplaced, z unplaced");
    assert!(assumed(&database).is_empty());
    assert_eq!(database.logged("clock_sync_unrelatable_clock_domains"), 1);
    assert_eq!(how(&database, "b"), ["7 unplaced"]);
}

#[test]
fn x26_the_host_part_of_a_file_is_settled_before_its_guests() {
    let set = Set::new().file("a", host()).file(
        "b",
        [
            both("900", "8"),
            sync_boottime(&[("50", "900"), ("50.000002", "900.000002")]),
            event("g", B, s("50")).of(7),
            event("y", B, s("900")),
        ],
    );
    // The host part of b is of one boot with a, so there is a path for the guest.
    let database = set.assert("x 2, g 899.999999, y 900");
    assert_eq!(assumed(&database), ["0:6 = 0:6@b"]);
}

#[test]
fn x26_a_part_is_settled_again_when_it_has_clocks_of_its_own() {
    let set = Set::new().file("a", host()).file("b", [event("y", B, s("61")).of(7)]).file(
        "c",
        [
            event("u", B, s("62")).of(7),
            snapshot(&[(B, s("80"))]).of(7),
            event("v", B, s("81")).of(7),
        ],
    );
    let database = set.assert("x 2, y 61, u 62, v 81");
    assert_eq!(assumed(&database), ["0:6 = 7:6", "7:6 = 7:6@c"]);
}

#[test]
fn x26_a_x16_a_later_file_is_placed_by_the_realtime_of_the_first() {
    let set = Set::new()
        .file("a", host())
        .file(
            "b",
            [event("y", B, s("61")).of(7), both("60", "3").of(7), event("z", B, s("62")).of(7)],
        )
        .file("c", [both("80", "3").of(7), event("v", B, s("81")).of(7)]);
    // y: one BOOTTIME is assumed, because no clock of the guest was read. It is the BOOTTIME of b,
    // and c is related to it.
    // related to it.
    let database = set.assert("x 2, y 61, z 62, v 61");
    assert_eq!(assumed(&database), ["0:6 = 7:6"]);
}

#[test]
fn x27_only_boottime_is_bridged() {
    let set = Set::new().file("a", host());
    let of_guest = snapshot(&[(M, s("60")), (R, r("3"))]);
    let set = set.file("b", [of_guest.of(7), event("y", M, s("61")).of(7)]);
    set.assert("x 2, y unplaced");
}

#[test]
fn x27_what_is_assumed_is_in_the_graph_and_in_the_log() {
    let set = Set::new().file("a", host());
    let set = set.file("b", [both("60", "3").of(7), event("y", B, s("61")).of(7)]);
    let database = set.assert("x 2, y 5");
    let sql = "SELECT clock_value, timestamp FROM clock_snapshot WHERE source = 'assumed'";
    assert_eq!(database.lines(sql), ["0 0", "0 0"]);
    let of_part = |(_, file, machine): &(String, Option<String>, Option<i64>)| {
        file.as_deref() == Some("b") && *machine == Some(7)
    };
    assert!(database.log().iter().any(of_part), "{:?}", database.log());
}

/// Two files of the host, the second one read at B5 and this many seconds after r.
fn two_boots(realtime: &str) -> Set {
    let set = Set::new().file("a", [both("1", "0"), event("x", B, s("2"))]);
    set.file("b", [both("5", realtime), event("y", B, s("6"))])
}

#[test]
fn x28_two_boots_are_told_by_realtime() {
    let differ = |database: &Database| {
        let sql = "SELECT p.boots_differ FROM placement AS p
                   JOIN trace_file AS f ON f.id = p.trace_file_id AND f.name = 'b'";
        (database.lines(sql).join(" "), database.logged("boots_differ"))
    };
    let database = two_boots("1").assert("x 2, y 6");
    assert_eq!(differ(&database), ("-3000000000".to_owned(), 1));
    let sql = "SELECT message FROM import_log WHERE code = 'boots_differ'";
    let message = database.lines(sql).join(" ");
    assert!(message.contains("machine"), "the manifest that would fix it: {message}");
    // Off by a second or less: no difference.
    let database = two_boots("3").assert("x 2, y 6");
    assert_eq!(differ(&database), ("[NULL]".to_owned(), 0));
    let database = two_boots("4.5").assert("x 2, y 6");
    assert_eq!(differ(&database), ("[NULL]".to_owned(), 0));
}

#[test]
fn x29_the_second_try_is_at_the_end_of_the_file_and_the_third_of_the_import() {
    let set = Set::new()
        .file("a", [event("x", R, r("1")), event("y", M, s("8")), both("1", "0"), both("9", "0.5")])
        .file("b", [event("z", M, s("9"))]);
    // x: the snapshots of a are known at its end. MONOTONIC is in none.
    let database = set.assert("x 9.5, y unplaced, z unplaced");
    let sql = "SELECT DISTINCT unresolved FROM packet WHERE unresolved IS NOT NULL";
    assert_eq!(database.lines(sql), ["unknown_clock"]);
}

#[test]
fn x29_a_later_file_may_place_what_an_earlier_could_not() {
    let set = Set::new()
        .file("a", [event("x", B, s("2"))])
        .file("c", [snapshot(&[(B, s("1")), (M, s("5"))]), event("z", M, s("7"))]);
    let clocks = json!({
        "clock": "BOOTTIME",
        "sync_to": {"file": "c", "clock": "BOOTTIME"},
    });
    let set = set.manifest(json!({
        "files": [
            {"path": "a", "machine": {"name": "a"}, "clocks": clocks},
            {"path": "c", "machine": {"name": "c"}},
        ],
        "trace_time": {"clock": "MONOTONIC", "file": "c"},
    }));
    // There is no path to MONOTONIC of c until c is read.
    set.assert("x 6, z 7");
}

#[test]
fn x29_the_second_try_names_the_clock_of_the_tag_that_its_part_has_by_then() {
    let set = Set::new()
        .file("a", [snapshot(&[(B, s("1"))])])
        .file("b", [event("y", R, r("5")), both("3", "0"), event("z", R, r("5"))]);
    // No snapshot had REALTIME of the machine when y was read; one had that of b at the end.
    set.assert("y 8, z 8");
}

#[test]
fn x29_what_lands_before_0_keeps_its_time() {
    let set = Set::new().file("a", [both("1", "0"), event("x", R, s("1699999990"))]);
    set.assert("x -9");
}

#[test]
fn x29_readings_without_a_time_get_one_at_the_end() {
    let set = Set::new()
        .file("a", [snapshot(&[(M, s("5")), (R, r("4"))]), both("1", "0"), event("x", B, s("2"))]);
    let database = set.assert("x 2");
    let sql = "SELECT clock_id, ts / 1000000000 FROM clock_snapshot ORDER BY id";
    assert_eq!(database.lines(sql), ["3 5", "1 5", "6 1", "1 1"]);
    let sql = "SELECT ts / 1000000000 FROM packet WHERE type = 'clock_snapshot' ORDER BY id";
    assert_eq!(database.lines(sql), ["5", "1"]);
}

#[test]
fn x40_what_was_bridged_early_keeps_its_time_and_is_listed() {
    let set = Set::new()
        .file("a", [event("x", B, s("2"))])
        .file("c", [both("1", "0"), event("z", B, s("3"))])
        .file("d", [event("v", B, s("2"))]);
    // BOOTTIME of a and d is related to REALTIME of c, which is unknown when a is read.
    let clocks = json!({
        "clock": "BOOTTIME",
        "sync_to": {"file": "c", "clock": "REALTIME"},
        "offset_ns": r("5"),
    });
    let set = set.manifest(json!({
        "files": [
            {"path": "a", "machine": {"name": "a"}, "clocks": clocks},
            {"path": "c", "machine": {"name": "c"}},
            {"path": "d", "machine": {"name": "a"}},
        ],
        "trace_time": {"clock": "BOOTTIME", "file": "c"},
    }));
    let database = set.assert("x 2, z 3, v 8");
    let listed: Vec<_> = database.resync().into_iter().collect();
    assert_eq!(listed, [(0, Some(s("8").cast_signed()))]);
}

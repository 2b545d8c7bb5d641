//! The examples XE1 to XE8, exactly as in the specification.

use super::database::import_with;
use super::notation::*;
use serde_json::json;

/// a: B1=R(r), x@B1.1
fn a() -> [Item; 2] {
    [snapshot(&[(B, s("1")), (R, r("0"))]), event("x", B, s("1.1"))]
}

/// b: B5=R(r+1), y@B5.1
fn b() -> [Item; 2] {
    [snapshot(&[(B, s("5")), (R, r("1"))]), event("y", B, s("5.1"))]
}

fn b_without_realtime() -> [Item; 2] {
    [snapshot(&[(B, s("5"))]), event("y", B, s("5.1"))]
}

#[test]
fn xe1_two_machines_meet_by_realtime() {
    let set = Set::new().file("a", a()).file("b", b()).each_a_machine();
    set.assert("x 1.1, y 2.1");
}

#[test]
fn xe1_a_machine_without_realtime_has_the_same_boottime() {
    let set = Set::new().file("a", a()).file("b", b_without_realtime());
    set.each_a_machine().assert("x 1.1, y 5.1");
}

#[test]
fn xe1_files_of_one_machine_have_one_boottime_and_are_told_apart_by_boot() {
    let set = Set::new().file("a", a()).file("b", b());
    let database = set.assert("x 1.1, y 5.1");
    let sql = "SELECT f.name, p.boots_differ FROM placement AS p
               JOIN trace_file AS f ON f.id = p.trace_file_id ORDER BY f.name";
    assert_eq!(database.lines(sql), ["a [NULL]", "b -3000000000"]);
    assert_eq!(database.logged("boots_differ"), 1);
}

#[test]
fn xe1_without_realtime_nothing_leads_to_a_trace_time_that_is_realtime() {
    let set = Set::new().file("a", a()).file("b", b_without_realtime());
    let set = set.manifest(json!({
        "files": [
            {"path": "a", "machine": {"name": "a"}},
            {"path": "b", "machine": {"name": "b"}},
        ],
        "trace_time": {"clock": "REALTIME", "file": "a"},
    }));
    let database = set.assert("x 1700000000.1, y unplaced");
    assert_eq!(database.logged("clock_sync_unrelatable_clock_domains"), 1);
}

#[test]
fn xe2_a_stamped_file_is_another_machine() {
    let set = Set::new().file("a", a());
    let set = set.file("b", b().map(|item| item.of(42)));
    set.assert("x 1.1, y 2.1");
    set.assert_machines(&[(0, ""), (42, "")]);
}

#[test]
fn xe2_two_stamped_files_are_two_machines() {
    let set = Set::new().file("a", a().map(|item| item.of(7)));
    let set = set.file("b", b().map(|item| item.of(42)));
    set.assert("x 1.1, y 2.1");
    set.assert_machines(&[(7, ""), (42, "")]);
}

/// a on its own machine, with its BOOTTIME related to the BOOTTIME of b.
fn xe3(offset_ns: i64) -> serde_json::Value {
    let clocks = json!({
        "clock": "BOOTTIME",
        "sync_to": {"file": "b", "clock": "BOOTTIME"},
        "offset_ns": offset_ns,
    });
    json!({"files": [
        {"path": "a", "machine": {"name": "a"}, "clocks": clocks},
        {"path": "b"},
    ]})
}

#[test]
fn xe3_a_positive_offset_moves_the_other_file_back() {
    let set = Set::new().file("a", a()).file("b", b());
    set.manifest(xe3(500)).assert("x 1.1, y 5.0999995");
}

#[test]
fn xe3_a_negative_offset_moves_the_other_file_on() {
    let set = Set::new().file("a", a()).file("b", b());
    set.manifest(xe3(-500)).assert("x 1.1, y 5.1000005");
}

#[test]
fn xe3_a_positive_offset_moves_this_file_later_on_the_references_timeline() {
    let mut manifest = xe3(500);
    manifest["trace_time"] = json!({"clock": "BOOTTIME", "file": "b"});
    let set = Set::new().file("a", a()).file("b", b());
    set.manifest(manifest).assert("x 1.1000005, y 5.1");
}

/// The samples of a set of one file, in order: host's value, offset, half round trip.
fn samples(set: &Set) -> Vec<String> {
    let sql = "SELECT host_value, offset, half_round_trip FROM remote_clock_sync ORDER BY id";
    set.database().lines(sql)
}

#[test]
fn xe4_a_round_gives_two_offsets() {
    let items = [
        snapshot(&[(B, s("1"))]),
        sync_boottime(&[("50", "2.000001"), ("50.000003", "2.000004")]),
        event("g", B, s("50.1")).of(7),
    ];
    let set = Set::new().file("a", items);
    set.assert("g 2.0999995");
    let expected = ["2000001000 48000000500 1500", "2000002500 48000000500 1500"];
    assert_eq!(samples(&set), expected);
}

#[test]
fn xe4_a_false_round_between_two_is_wrong_by_half_the_gap() {
    let items = [
        snapshot(&[(B, s("1"))]),
        sync_boottime(&[
            ("50", "2"),
            ("50.000002", "2.000002"),
            ("60", "12"),
            ("60.000002", "12.000002"),
        ]),
        event("g", B, s("61")).of(7),
    ];
    Set::new().file("a", items).assert("g 11.333333");
}

#[test]
fn xe4_one_average_a_packet_loses_drift_and_samples_keep_it() {
    let items = [
        snapshot(&[(B, s("1"))]),
        sync_boottime(&[
            ("50", "2"),
            ("50.000002", "2.000002"),
            ("110.006", "62"),
            ("110.006002", "62.000002"),
        ]),
        event("g", B, s("110.006")).of(7),
    ];
    let set = Set::new().file("a", items);
    set.assert("g 62.002999");
    let samples = samples(&set);
    assert_eq!(samples[0], "2000000000 48000001000 1000");
    assert_eq!(samples[2], "62000000000 48006001000 1000");
    assert_eq!(samples.len(), 4);
}

#[test]
fn r9_xe4_by_rates_drift_is_followed_at_import_and_by_functions() {
    let items = [
        snapshot(&[(B, s("1"))]),
        sync_boottime(&[
            ("50", "2"),
            ("50.000002", "2.000002"),
            ("110.006", "62"),
            ("110.006002", "62.000002"),
        ]),
        event("g", B, s("110.006")).of(7),
    ];
    let set = Set::new().file("a", items);
    let used = "SELECT group_concat(used) FROM remote_clock_sync";
    let functions = "SELECT to_boottime_linear(6, 0, 110006000000, machine_id, 0),
                       boottime_error(6, 0, 110006000000, machine_id) FROM packet WHERE machine_id = 1 AND ts IS NOT NULL";
    let line =
        "SELECT error < 1001 FROM clock_mapping_linear WHERE machine_id = 1 AND kind = 'line'";
    for more in [&[][..], &["--conversion", "linear"]] {
        let database = import_with(&set.files(), None, more).unwrap();
        assert_eq!(database.lines(used), ["1,0,1,0"]);
        assert_eq!(database.lines(functions).last().unwrap(), "61999999000 1001");
        assert_eq!(database.lines(line).first().unwrap(), "1");
        let expected = if more.is_empty() { "62002999000" } else { "61999999000" };
        let event = "SELECT max(ts) FROM packet";
        assert_eq!(database.lines(event), [expected]);
    }
}

/// Client B50, B50.000002 = host B2, B2.000002
fn sync_of_50() -> Item {
    sync_boottime(&[("50", "2"), ("50.000002", "2.000002")])
}

#[test]
fn xe5_a_producer_on_a_guest_does_not_move_trace_time() {
    let items = [
        snapshot(&[(B, s("1"))]),
        sync_of_50(),
        event("h", B, s("11")),
        snapshot(&[(B, s("60")), (64, s("60"))]).of(7).on(5),
        event("h2", B, s("12")),
        event("g", B, s("61")).of(7),
    ];
    let set = Set::new().file("a", items);
    set.assert("h 11, h2 12, g 12.999999");
}

#[test]
fn xe6_a_guest_hangs_on_the_host_of_its_own_file() {
    let a = [snapshot(&[(B, s("1")), (R, r("0"))]), event("x", B, s("2"))];
    let b = [
        snapshot(&[(B, s("900")), (R, r("1"))]),
        sync_boottime(&[("50", "900"), ("50.000002", "900.000002")]),
        event("y", B, s("900")),
        event("v", B, s("50")).of(7),
    ];
    let set = Set::new().file("a", a).file("b", b).manifest(json!({"files": [
        {"path": "a", "machine": {"name": "A"}},
        {"path": "b", "machines": [{"id": 0, "name": "B"}, {"id": 7, "name": "vm"}]},
    ]}));
    set.assert("x 2, y 2, v 1.999999");
    set.assert_machines(&[(1 << 32, "A"), ((1 << 32) + 1, "B"), ((1 << 32) + 2, "vm")]);
}

#[test]
fn xe7_a_file_that_converts_before_its_first_snapshot_keeps_its_events() {
    let a = [snapshot(&[(B, s("1"))]), event("x", B, s("1.1"))];
    let b = [event("y", B, s("5")), snapshot(&[(B, s("5")), (R, r("0"))]), event("z", B, s("6"))];
    let set = Set::new().file("a", a).file("b", b);
    set.assert("x 1.1, y 5, z 6");
}

#[test]
fn xe8_a_file_without_clocks_is_pinned() {
    let set = Set::new().file("a", a()).file("b", [plain("n", s("2"))]);
    let clocks = json!({
        "sync_to": {"file": "a", "clock": "BOOTTIME"},
        "offset_ns": 500,
    });
    let set = set.manifest(json!({"files": [
        {"path": "a", "machine": {"name": "a"}},
        {"path": "b", "machine": {"name": "b"}, "clocks": clocks},
    ]}));
    set.assert("x 1.1, n 2.0000005");
}

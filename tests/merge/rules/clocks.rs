//! X14 to X18: the clock of a timestamp, and the snapshots that count.

use crate::merge::notation::*;
use serde_json::{Value as Json, json};
use timebase_lab::encode::{Bundle, Packet};

/// `B` of the service, read when REALTIME was this many seconds after r.
fn both(boottime: &str, realtime: &str) -> Item {
    snapshot(&[(B, s(boottime)), (R, r(realtime))])
}

const M: u32 = 3;

#[test]
fn x14_a_clock_of_a_sequence_is_its_files() {
    let of_sequence = |value: &str| snapshot(&[(B, s("1")), (64, s(value))]).on(5);
    let set = Set::new()
        .file("a", [of_sequence("10"), event("x", 64, s("11")).on(5)])
        .file("b", [of_sequence("20"), event("y", 64, s("21")).on(5)]);
    let database = set.assert("x 2, y 2");
    let sql = "SELECT f.name FROM clock AS c JOIN trace_file AS f ON f.id = c.trace_file_id
               WHERE c.clock_id = 64 ORDER BY f.name";
    assert_eq!(database.lines(sql), ["a", "b"]);
}

#[test]
fn x14_a_tie_of_two_files_goes_by_the_order_of_processing() {
    // BOOTTIME of a leads to BOOTTIME of c, through the private clock of n or of o.
    let to_c = |offset: &str| json!({"sync_to": {"file": "c", "clock": "BOOTTIME"}, "offset_ns": s(offset)});
    let to = |file: &str| json!({"clock": "BOOTTIME", "sync_to": {"file": file}});
    let entry = |path: &str, machine: &str, clocks: Json| json!({"path": path, "machine": {"name": machine}, "clocks": clocks});
    let manifest = json!({
        "files": [
            entry("o", "o", to_c("100")),
            entry("n", "n", to_c("10")),
            entry("a", "a", to("o")),
            entry("b", "a", to("n")),
            {"path": "c", "machine": {"name": "c"}},
        ],
        "trace_time": {"clock": "BOOTTIME", "file": "c"},
    });
    let files = [
        ("o", plain("o", s("1"))),
        ("n", plain("n", s("1"))),
        ("a", event("x", B, s("1"))),
        ("b", event("y", B, s("2"))),
        ("c", event("z", B, s("3"))),
    ];
    let expected = "n 11, o 101, x 11, y 12, z 3";
    let set = |files: &[(&str, Item)]| {
        let files = files.iter();
        let set = files.fold(Set::new(), |set, (name, item)| set.file(name, [item.clone()]));
        set.manifest(manifest.clone())
    };
    set(&files).assert(expected);
    let reversed: Vec<_> = files.into_iter().rev().collect();
    set(&reversed).assert(expected);
}

#[test]
fn x15_snapshots_of_a_later_file_do_not_change_conversions_of_the_first() {
    let set = Set::new()
        .file("a", [both("1", "0"), event("x", R, r("5"))])
        .file("b", [both("3", "0"), event("y", R, r("5"))])
        .file("c", [event("z", R, r("5"))]);
    let database = set.assert("x 6, y 8, z 6");
    assert!(database.resync().is_empty());
    let sql = "SELECT f.name, p.isolated FROM placement AS p
               JOIN trace_file AS f ON f.id = p.trace_file_id ORDER BY 1";
    assert_eq!(database.lines(sql), ["a 0", "b 1", "c 0"]);
}

#[test]
fn x15_a_part_reads_the_machines_clocks_until_it_brings_its_own() {
    let set = Set::new()
        .file("a", [both("1", "0")])
        .file("b", [event("x", R, r("5")), both("3", "0"), event("y", R, r("5"))]);
    let database = set.assert("x 6, y 8");
    assert_eq!(database.logged("mixed_clock_sources"), 1);
}

#[test]
fn x15_rejected_and_empty_snapshots_do_not_isolate() {
    let rejected = snapshot(&[(B, s("7")), (B, s("8"))]);
    let set = Set::new()
        .file("a", [both("1", "0")])
        .file("b", [rejected, event("x", R, r("5"))])
        .file("c", [snapshot(&[]), event("y", R, r("5"))]);
    let database = set.assert("x 6, y 6");
    assert_eq!(database.logged("mixed_clock_sources"), 0);
}

#[test]
fn x15_a_pair_of_kernel_events_isolates() {
    let bundle = Packet {
        seq: 2,
        ftrace_events: Some(Bundle {
            cpu: Some(0),
            clock: Some(4),
            ftrace_timestamp: Some(s("1").cast_signed()),
            boot_timestamp: Some(s("3").cast_signed()),
            ..Bundle::default()
        }),
        ..Packet::default()
    };
    let set = Set::new()
        .file("a", [both("1", "0")])
        .file("b", [bundle.into(), event("x", R, r("5")), event("y", 5, s("2"))]);
    // No snapshot reads REALTIME of b.
    set.assert("x unplaced, y 4");
}

#[test]
fn x16_realtime_of_an_isolated_guest_is_the_machines_too() {
    let set = Set::new()
        .file("a", [both("1", "0"), event("x", B, s("2")), snapshot(&[(M, s("40"))]).of(7)])
        .file("b", [both("50", "1").of(7), event("y", B, s("51")).of(7)]);
    // BOOTTIME of b reaches REALTIME of the guest, which is assumed to be the host's.
    let database = set.assert("x 2, y 3");
    let sql = "SELECT clock_id, trace_file_id IS NULL, count(*) FROM clock_snapshot
               WHERE machine_id = 1 AND source = 'service' GROUP BY 1, 2 ORDER BY 1, 2";
    assert_eq!(database.lines(sql), ["1 0 1", "1 1 1", "3 1 1", "6 0 1"]);
}

#[test]
fn x16_realtime_of_the_trace_time_machine_stays_its_files() {
    let set = Set::new()
        .file("a", [both("1", "0"), event("x", B, s("2"))])
        .file("b", [both("50", "1"), event("y", B, s("51"))]);
    let database = set.assert("x 2, y 51");
    let sql = "SELECT count(*) FROM clock_snapshot
               WHERE clock_id = 1 AND trace_file_id IS NULL AND source = 'service'";
    assert_eq!(database.lines(sql), ["1"]);
}

#[test]
fn x17_a_part_without_a_default_uses_the_host_parts_of_its_file() {
    let set = Set::new()
        .file("a", [primary(&[(B, s("1")), (R, r("0")), (M, s("100"))], M), plain("x", s("101"))])
        .file(
            "b",
            [
                primary(&[(B, s("1")), (R, r("0"))], R),
                snapshot(&[(B, s("1")), (R, r("0")), (M, s("5"))]).of(7),
                plain("y", s("2")).of(7),
                plain("z", r("2")),
            ],
        );
    // The guest's default is BOOTTIME, which its own snapshot holds.
    set.assert("x 101, y 101, z 102");
}

#[test]
fn x17_a_guest_reads_its_own_clock_of_the_hosts_default() {
    let set = Set::new().file(
        "a",
        [
            primary(&[(B, s("1")), (R, r("0"))], R),
            sync(&[
                (&[(B, s("50")), (R, r("0"))], &[(B, s("1")), (R, r("0"))]),
                (&[(B, s("51")), (R, r("1"))], &[(B, s("2")), (R, r("1"))]),
            ]),
            plain("g", r("9")).of(7),
        ],
    );
    // Half of the second between the two counts as the way there.
    set.assert("g 1700000008.5");
}

#[test]
fn x17_a_packet_without_any_default_is_taken_as_trace_time_and_converts_nothing() {
    let set = Set::new().file(
        "a",
        [plain("x", s("5")), primary(&[(B, s("1")), (R, r("0"))], R), event("y", B, s("2"))],
    );
    // Trace time could still be set.
    set.assert("x 5, y 1700000001");
}

#[test]
fn x18_the_manifest_comes_before_all_snapshots() {
    let set = Set::new().file("a", [both("1", "0"), event("x", R, r("5"))]);
    let relation = json!({
        "clock": "REALTIME",
        "sync_to": {"file": "a", "clock": "BOOTTIME"},
    });
    let set = set.manifest(json!({"files": [{"path": "a", "clocks": relation}]}));
    set.assert("x 1700000005");
}

#[test]
fn x18_clocks_of_a_client_come_before_snapshots_of_writers() {
    let set = Set::new().file(
        "a",
        [
            both("1", "0"),
            sync(&[(&[(B, s("50")), (M, s("10"))], &[(B, s("2"))])]),
            snapshot(&[(B, s("70")), (M, s("10"))]).of(7).on(5),
            event("g", M, s("11")).of(7),
        ],
    );
    // g is B51 of the guest, whose BOOTTIME is assumed to be the host's.
    set.assert("g 51");
}

#[test]
fn x18_the_manifest_comes_before_what_machines_asked_each_other() {
    let items = [
        both("1", "0"),
        sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]),
        event("g", B, s("51")).of(7),
    ];
    let clocks = json!({
        "clock": "BOOTTIME",
        "machine": "guest",
        "sync_to": {"file": "a", "clock": "BOOTTIME", "machine": "host"},
        "offset_ns": s("1"),
    });
    let machines = json!([{"id": 0, "name": "host"}, {"id": 7, "name": "guest"}]);
    let files = json!([{"path": "a", "machines": machines, "clocks": clocks}]);
    let set = Set::new().file("a", items.clone());
    set.assert("g 2.999999");
    set.manifest(json!({ "files": files })).assert("g 52");
}

#[test]
fn x18_what_is_assumed_leads_only_where_nothing_else_does() {
    let set = Set::new().file(
        "a",
        [
            both("1", "0"),
            event("x", B, s("5")).of(7),
            sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]),
            event("y", B, s("51")).of(7),
        ],
    );
    // x was before the guest asked the host, so one BOOTTIME was assumed.
    let database = set.assert("x 5, y 2.999999");
    let sql = "SELECT source, clock_value FROM clock_snapshot WHERE source = 'assumed'";
    assert_eq!(database.lines(sql), ["assumed 0", "assumed 0"]);
}

//! X25: the clock and the machine of trace time.

use crate::merge::database::Database;
use crate::merge::notation::*;
use serde_json::json;

const M: u32 = 3;

fn both(boottime: &str, realtime: &str) -> Item {
    snapshot(&[(B, s(boottime)), (R, r(realtime))])
}

/// The clock, and the raw id of the machine.
fn trace_time(database: &Database) -> String {
    let sql = "SELECT c.value, m.raw_id FROM metadata AS c, metadata AS i
               JOIN machine AS m ON m.id = i.value
               WHERE c.name = 'trace_time_clock_id' AND i.name = 'trace_time_machine_id'";
    database.lines(sql).join(" ")
}

#[test]
fn x25_1_the_manifest_is_heeded_before_all_claims() {
    let set =
        Set::new().file("a", [primary(&[(B, s("1")), (R, r("0"))], B), event("x", B, s("2"))]);
    let set = set.manifest(json!({"trace_time": {"clock": "REALTIME"}}));
    let database = set.assert("x 1700000001");
    assert_eq!(trace_time(&database), "1 0");
}

#[test]
fn x25_2_the_first_snapshot_that_claims_it_names_it() {
    let set = Set::new()
        .file("a", [snapshot(&[(R, r("0")), (M, s("7"))]).of(42), both("1", "0").of(7)])
        .file("b", [both("9", "0"), event("x", B, s("9"))]);
    // The host's claim in another file has no effect.
    let database = set.assert("x 1");
    assert_eq!(trace_time(&database), "6 7");
}

#[test]
fn x25_2_a_primary_trace_clock_is_a_claim_though_it_is_not_held() {
    let set = Set::new().file(
        "a",
        [
            primary(&[(B, s("1")), (R, r("0"))], M),
            snapshot(&[(B, s("1")), (M, s("8"))]),
            event("x", B, s("2")),
        ],
    );
    let database = set.assert("x 9");
    assert_eq!(trace_time(&database), "3 0");
}

#[test]
fn x25_2_a_snapshot_of_a_private_clock_claims_nothing() {
    let set = Set::new().file(
        "a",
        [
            snapshot(&[(B, s("1")), (11, s("5"))]).of(7),
            snapshot(&[(B, s("2"))]).of(42),
            event("x", B, s("3")).of(42),
        ],
    );
    let database = set.assert("x 3");
    assert_eq!(trace_time(&database), "6 42");
}

#[test]
fn x25_2_a_rejected_snapshot_claims_nothing() {
    let set = Set::new().file(
        "a",
        [primary(&[(R, r("0")), (R, r("1"))], R).of(7), both("1", "0"), event("x", B, s("2"))],
    );
    let database = set.assert("x 2");
    assert_eq!(trace_time(&database), "6 0");
}

#[test]
fn x25_the_host_replaces_a_guest_of_the_same_file() {
    let set = Set::new().file(
        "a",
        [
            both("50", "0").of(7),
            both("1", "0"),
            event("x", B, s("2")),
            event("g", B, s("51")).of(7),
        ],
    );
    // Both are already placed when the host makes its claim.
    let database = set.assert("x 2, g 2");
    assert_eq!(trace_time(&database), "6 0");
}

#[test]
fn x25_a_guest_replaces_nobody() {
    let set = Set::new().file(
        "a",
        [
            both("50", "0").of(42),
            both("20", "0").of(7),
            event("x", B, s("51")).of(42),
            event("g", B, s("21")).of(7),
        ],
    );
    let database = set.assert("x 51, g 51");
    assert_eq!(trace_time(&database), "6 42");
}

#[test]
fn x25_after_a_conversion_nothing_changes_trace_time() {
    let set = Set::new().file(
        "a",
        [
            both("50", "0").of(7),
            event("g", B, s("51")).of(7),
            both("1", "0"),
            event("x", B, s("2")),
        ],
    );
    let database = set.assert("g 51, x 51");
    assert_eq!(trace_time(&database), "6 7");
}

#[test]
fn x25_t1_the_same_machine_may_name_another_clock_until_something_is_placed() {
    let set = Set::new().file(
        "a",
        [
            // Nothing leads to the clock that it names.
            primary(&[(R, r("0"))], M),
            primary(&[(B, s("1")), (R, r("0"))], B),
            event("x", R, r("4")),
        ],
    );
    let database = set.assert("x 5");
    assert_eq!(trace_time(&database), "6 0");
    let placed = Set::new().file(
        "a",
        [both("1", "0"), primary(&[(B, s("1")), (R, r("0"))], R), event("x", R, r("4"))],
    );
    placed.assert("x 5");
}

#[test]
fn x25_3_the_first_conversion_of_a_host_part_makes_it_its_boottime() {
    let set = Set::new().file(
        "a",
        [event("x", B, s("2")), primary(&[(B, s("1")), (R, r("0"))], R), event("y", R, r("4"))],
    );
    let database = set.assert("x 2, y 5");
    assert_eq!(trace_time(&database), "6 0");
}

#[test]
fn x25_a_guests_packet_waits_for_the_end_of_its_file() {
    let set = Set::new().file(
        "a",
        [
            event("g", B, s("51")).of(7),
            both("50", "0").of(7),
            both("1", "0"),
            event("x", B, s("2")),
        ],
    );
    // Trace time is the host's by then, and the relation is known.
    let database = set.assert("g 2, x 2");
    assert_eq!(trace_time(&database), "6 0");
}

#[test]
fn x25_4_without_a_claim_it_is_boottime_of_the_first_machine_that_waits() {
    let set = Set::new()
        .file(
            "a",
            [
                snapshot(&[(R, r("0")), (M, s("7"))]).of(7),
                event("g", B, s("5")).of(42),
                event("h", B, s("6")).of(7),
            ],
        )
        .file("b", [both("1", "0"), event("x", B, s("2"))]);
    let database = set.assert("g 5, h 6, x 2");
    assert_eq!(trace_time(&database), "6 42");
}

#[test]
fn x25_2_t2_a_clock_of_a_sequence_is_no_primary_clock() {
    // Nothing is converted: only its claim places it.
    let set = Set::new().file("a", [primary(&[(B, s("1"))], 64)]);
    let model = set.by_model().unwrap();
    let database = set.database();
    assert_eq!(model.packets[0].ts, Some(s("1").cast_signed()));
    assert_eq!(database.packets()[0].ts, model.packets[0].ts);
}

#[test]
fn x25_3_x34_every_id_of_the_hosts_machine_is_of_the_host_part() {
    let set = Set::new().file(
        "a",
        [
            event("x", B, s("2")).of(7),
            snapshot(&[(B, s("1")), (R, r("0"))]).of(42),
            event("g", B, s("2")).of(42),
        ],
    );
    let machines = json!([
        {"id": 0, "name": "phone"},
        {"id": 7, "name": "phone"},
        {"id": 42, "name": "watch"},
    ]);
    let set = set.manifest(json!({"files": [{"path": "a", "machines": machines}]}));
    // x is the phone's, and does not wait.
    let database = set.assert("x 2, g 2");
    let phone = 1_u64 << 32;
    assert_eq!(trace_time(&database), format!("6 {phone}"));
}

//! X19 to X24: alternate readings of a machine and the host.

use crate::merge::notation::*;
use serde_json::{Value as Json, json};

fn b1() -> Item {
    snapshot(&[(B, s("1"))])
}

const M: u32 = 3;

#[test]
fn x19_client_clocks_are_a_snapshot_of_the_client() {
    let set = Set::new().file(
        "a",
        [
            b1(),
            sync(&[
                (&[(B, s("50")), (M, s("10"))], &[(B, s("2"))]),
                (&[(B, s("50.000002"))], &[(B, s("2.000002"))]),
            ]),
            event("g", M, s("11")).of(7),
        ],
    );
    let database = set.assert("g 2.999999");
    let sql = "SELECT clock_id, clock_value / 1000, source FROM clock_snapshot
               WHERE machine_id = 1 AND source <> 'remote_sync' ORDER BY id";
    let expected = ["6 50000000 service", "3 10000000 service", "6 50000002 service"];
    assert_eq!(database.lines(sql), expected);
}

#[test]
fn x19_client_clocks_name_no_default_and_no_trace_time() {
    let set = Set::new().file(
        "a",
        [
            sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]),
            plain("x", s("7")).of(7),
            b1(),
            event("h", B, s("3")),
            event("g", B, s("51")).of(7),
        ],
    );
    // x names no clock and finds no default, so it counts as trace time.
    set.assert("x 7, h 3, g 2.999999");
}

#[test]
fn x20_thirty_seconds_or_a_step_back_part_two_rounds() {
    let samples = |later: &str| {
        let items = [b1(), sync_boottime(&[("50", "2"), (later, "3")])];
        let set = Set::new().file("a", items);
        let by_model = set.by_model().unwrap().samples.len();
        let database = set.database();
        let rows = database.lines("SELECT id FROM remote_clock_sync").len();
        assert_eq!(rows, by_model, "{later}");
        rows
    };
    assert_eq!(samples("79.999999999"), 2);
    assert_eq!(samples("80"), 0);
    assert_eq!(samples("49.999999999"), 0);
    assert_eq!(samples("50"), 2);
}

#[test]
fn x20_a_clock_without_all_four_readings_is_left_out() {
    let items = [
        b1(),
        sync(&[
            (&[(B, s("50")), (M, s("10")), (R, 0)], &[(B, s("2")), (R, r("1"))]),
            (&[(B, s("51")), (M, s("11")), (R, r("2"))], &[(B, s("3")), (M, s("9")), (R, r("1"))]),
        ]),
    ];
    let database = Set::new().file("a", items).database();
    let sql = "SELECT DISTINCT clock_id FROM remote_clock_sync";
    assert_eq!(database.lines(sql), ["6"]);
}

#[test]
fn x20_x21_divisions_truncate_toward_zero() {
    let round = |c1: u64, h1: u64, c2: u64, h2: u64| {
        let (client, host) = ([(B, c1)], [(B, h1)]);
        let (client2, host2) = ([(B, c2)], [(B, h2)]);
        let items = [snapshot(&[(B, 1)]), sync(&[(&client, &host), (&client2, &host2)])];
        let set = Set::new().file("a", items);
        let database = set.database();
        let offsets = database.lines("SELECT offset FROM remote_clock_sync ORDER BY id");
        let pair = "SELECT clock_value FROM clock_snapshot WHERE source = 'remote_sync' ORDER BY 1";
        (offsets.join(" "), database.lines(pair).join(" "))
    };
    // (50 + 53) / 2 - 100 and 53 - (100 + 106) / 2; half of -99 is -49
    let expected = ("-49 -50".to_owned(), "57 106".to_owned());
    assert_eq!(round(50, 100, 53, 106), expected);
    // (10 + 13) / 2 - 100 and 13 - (100 + 101) / 2
    let expected = ("-89 -87".to_owned(), "13 101".to_owned());
    assert_eq!(round(10, 100, 13, 101), expected);
}

#[test]
fn x21_the_pair_is_at_the_last_host_reading_even_outside_of_a_round() {
    let items = [
        b1(),
        sync_boottime(&[("50", "2"), ("50.000002", "2.000002"), ("90", "42")]),
        event("g", B, s("51")).of(7),
    ];
    let database = Set::new().file("a", items).assert("g 2.999999");
    let sql =
        "SELECT clock_value / 1000 FROM clock_snapshot WHERE source = 'remote_sync' ORDER BY 1";
    assert_eq!(database.lines(sql), ["42000000", "90000001"]);
}

#[test]
fn x21_of_several_packets_the_nearest_counts() {
    let items = [
        b1(),
        sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]),
        sync_boottime(&[("70", "21"), ("70.000002", "21.000002")]),
        event("g", B, s("60")).of(7),
        event("h", B, s("71")).of(7),
    ];
    Set::new().file("a", items).assert("g 11.999999, h 21.999999");
}

#[test]
fn x22_a_host_without_packets_is_made() {
    let items =
        [sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]), event("g", B, s("51")).of(7)];
    let set = Set::new().file("a", items);
    // Nothing claims trace time, so it is the guest's.
    set.assert("g 51");
    set.assert_machines(&[(7, ""), (0, "")]);
}

#[test]
fn x22_the_clocks_are_those_that_both_parts_have_by_then() {
    let set =
        Set::new().file("a", [snapshot(&[(B, s("1")), (R, r("0"))]), event("x", B, s("2"))]).file(
            "b",
            [
                snapshot(&[(B, s("900")), (R, r("0"))]),
                sync_boottime(&[("50", "900"), ("50.000002", "900.000002")]),
                event("g", B, s("51")).of(7),
            ],
        );
    // The host's BOOTTIME of b is the BOOTTIME of a, because both are of one boot.
    let database = set.assert("x 2, g 900.999999");
    let sql =
        "SELECT f.name FROM clock_snapshot AS s LEFT JOIN trace_file AS f ON f.id = s.trace_file_id
               WHERE source = 'remote_sync' ORDER BY f.name";
    assert_eq!(database.lines(sql), ["[NULL]", "b"]);
}

#[test]
fn x23_without_a_machine_it_is_rejected_as_a_whole() {
    let round = sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]);
    let set = Set::new().file("a", [b1(), round.of(0), event("x", B, s("3"))]);
    let database = set.assert("x 3");
    assert_eq!(database.logged("remote_sync_same_machine"), 1);
    assert_eq!(database.lines("SELECT count(*) FROM clock_snapshot"), ["1"]);
    assert_eq!(database.lines("SELECT count(*) FROM remote_clock_sync"), ["0"]);
}

#[test]
fn x23_where_client_and_host_are_one_machine_the_pairs_are_rejected() {
    let set = Set::new().file(
        "a",
        [
            b1(),
            sync(&[
                (&[(B, s("50")), (M, s("10"))], &[(B, s("60"))]),
                (&[(B, s("51")), (M, s("11"))], &[(B, s("61"))]),
            ]),
            event("x", B, s("70")),
            event("y", M, s("12")).of(7),
        ],
    );
    let set = set.manifest(one_machine());
    let database = set.assert("x 70, y 52");
    assert_eq!(database.logged("remote_sync_same_machine"), 1);
    let sql = "SELECT count(*) FROM clock_snapshot WHERE source = 'remote_sync'";
    assert_eq!(database.lines(sql), ["0"]);
}

fn one_machine() -> Json {
    let machines = json!([{"id": 0, "name": "one"}, {"id": 7, "name": "one"}]);
    json!({"files": [{"path": "a", "machines": machines}]})
}

#[test]
fn x24_every_sample_is_kept_and_false_ones_are_not_used() {
    let items = [
        b1(),
        sync_boottime(&[
            ("50", "2"),
            ("50.000002", "2.000002"),
            ("60", "12"),
            ("60.000002", "12.000002"),
        ]),
    ];
    let database = Set::new().file("a", items).database();
    let sql = "SELECT machine_id, clock_id, host_value, ts, offset, half_round_trip
               FROM remote_clock_sync ORDER BY host_value, offset";
    let rows = database.lines(sql);
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0], "1 6 2000000000 2000000000 48000001000 1000");
    let machine = "SELECT raw_id FROM machine WHERE id = 1";
    assert_eq!(database.lines(machine), ["7"]);
}

#[test]
fn x24_a_negative_half_round_trip_is_left_out() {
    // The host's second reading is before its first.
    let items = [b1(), sync_boottime(&[("50", "2"), ("50.000002", "1.9")])];
    let database = Set::new().file("a", items).database();
    let sql = "SELECT half_round_trip < 0, used FROM remote_clock_sync ORDER BY 1, 2";
    let rows = database.lines(sql);
    assert!(rows.contains(&"1 0".to_owned()), "{rows:?}");
    assert!(!rows.contains(&"1 1".to_owned()), "{rows:?}");
}

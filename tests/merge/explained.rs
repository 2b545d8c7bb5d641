//! A database of several files explains how it was made: the section "Tables".

use super::database::Database;
use super::notation::*;
use serde_json::json;

const M: u32 = 3;

/// a: B1=R(r), x@B1.1; b: B5=R(r+1), y@B5.1
fn two() -> Set {
    Set::new()
        .file("a", [snapshot(&[(B, s("1")), (R, r("0"))]), event("x", B, s("1.1"))])
        .file("b", [snapshot(&[(B, s("5")), (R, r("1"))]), event("y", B, s("5.1"))])
}

/// File, machine, whether isolated, how, offset.
fn placement(database: &Database) -> Vec<String> {
    let sql = "SELECT f.name, m.raw_id, p.isolated, p.how, p.offset FROM placement AS p
               JOIN machine AS m ON m.id = p.machine_id
               JOIN trace_file AS f ON f.id = p.trace_file_id ORDER BY f.name, m.id";
    database.lines(sql)
}

#[test]
fn placement_has_a_row_a_part() {
    let database = two().assert("x 1.1, y 5.1");
    let expected = ["a 0 0 trace_time 0", "b 0 1 same_clock 0"];
    assert_eq!(placement(&database), expected);

    let database = two().each_a_machine().assert("x 1.1, y 2.1");
    let (a, b) = (1_u64 << 32, (1_u64 << 32) + 1);
    let expected = [format!("a {a} 0 trace_time 0"), format!("b {b} 0 realtime -3000000000")];
    assert_eq!(placement(&database), expected);

    let relation = json!({
        "clock": "BOOTTIME",
        "sync_to": {"file": "b", "clock": "BOOTTIME"},
        "offset_ns": 500,
    });
    let files = json!([
        {"path": "a", "machine": {"name": "a"}, "clocks": relation},
        {"path": "b", "machine": {"name": "b"}},
    ]);
    let set = two().manifest(json!({ "files": files }));
    let database = set.assert("x 1.1, y 5.0999995");
    let expected = [format!("a {a} 0 trace_time 0"), format!("b {b} 0 manifest -500")];
    assert_eq!(placement(&database), expected);

    let set = Set::new().file(
        "a",
        [
            primary(&[(B, s("1")), (M, s("3"))], M),
            event("x", B, s("2")),
            sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]),
            event("g", B, s("51")).of(7),
        ],
    );
    let database = set.assert("x 4, g 4.999999");
    let sql = "SELECT m.raw_id, p.isolated, p.how, p.offset FROM placement AS p
               JOIN machine AS m ON m.id = p.machine_id ORDER BY m.id";
    let expected = ["0 0 trace_time 2000000000", "7 0 remote_sync -46000001000"];
    assert_eq!(database.lines(sql), expected);
}

#[test]
fn the_summary_says_how_each_part_was_placed() {
    let database = two().each_a_machine().assert("x 1.1, y 2.1");
    let said = &database.summary;
    let of = |file: &str| {
        let line = said.lines().find(|line| line.contains(&format!("{file}, ")));
        line.unwrap_or_else(|| panic!("nothing of {file}: {said}"))
    };
    assert!(of("a").contains("trace time"), "{said}");
    assert!(of("b").contains("wall clocks"), "{said}");
}

#[test]
fn trace_file_tells_of_each_input() {
    let set = two().other("junk", "junk");
    let files = set.files();
    let database = set.assert("x 1.1, y 5.1");
    let sql = "SELECT name, size, packets, is_container, parent_id FROM trace_file
               WHERE id > 0 ORDER BY id";
    let expected = [
        format!("a {} 2 0 0", files[0].bytes.len()),
        format!("b {} 2 0 0", files[1].bytes.len()),
        "junk 4 0 0 0".to_owned(),
    ];
    assert_eq!(database.lines(sql), expected);
    let sql = "SELECT length(sha256) FROM trace_file WHERE trace_type = 'proto'";
    assert_eq!(database.lines(sql), ["64", "64"]);
    let sql = "SELECT name FROM trace_file WHERE id > 0 ORDER BY processing_order";
    assert_eq!(database.lines(sql), ["a", "b", "junk"]);
}

#[test]
fn machine_counts_its_packets_and_has_its_first_and_last_time() {
    let database = two().each_a_machine().assert("x 1.1, y 2.1");
    let sql = "SELECT id, name, packets, first_ts, last_ts FROM machine ORDER BY id";
    let expected = ["0 a 2 1000000000 1100000000", "1 b 2 2000000000 2100000000"];
    assert_eq!(database.lines(sql), expected);
}

#[test]
fn metadata_names_the_machine_of_trace_time() {
    let mut manifest = json!({"files": [
        {"path": "a", "machine": {"name": "a"}},
        {"path": "b", "machine": {"name": "b"}},
    ]});
    manifest["trace_time"] = json!({"clock": "REALTIME", "file": "b"});
    let database = two().manifest(manifest).assert("x 1700000000.1, y 1700000001.1");
    let sql = "SELECT name, value FROM metadata WHERE name LIKE 'trace_time%id' ORDER BY name";
    let expected = ["trace_time_clock_id 1", "trace_time_machine_id 1"];
    assert_eq!(database.lines(sql), expected);
}

#[test]
fn clock_mapping_tells_clocks_of_a_file_from_those_of_the_machine() {
    let database = two().assert("x 1.1, y 5.1");
    let sql = "SELECT f.name, c.offset FROM clock_mapping AS c
               LEFT JOIN trace_file AS f ON f.id = c.trace_file_id
               WHERE c.clock_id = 1 AND c.to_clock_id = 6 ORDER BY f.name";
    let expected = ["[NULL] -1699999999000000000", "b -1699999996000000000"];
    assert_eq!(database.lines(sql), expected);
}

#[test]
fn k1_reads_the_clocks_of_the_trace_time_machine_only() {
    let guest = [snapshot(&[(B, s("5")), (R, r("900"))]).of(7), event("g", B, s("5.1")).of(7)];
    let set = Set::new().file(
        "a",
        [snapshot(&[(B, s("1")), (R, r("0"))]), event("x", B, s("1.1"))]
            .into_iter()
            .chain([sync_boottime(&[("50", "2"), ("50.000002", "2.000002")])])
            .chain(guest),
    );
    let database = set.database();
    let sql = format!("SELECT to_realtime({})", s("9"));
    assert_eq!(database.lines(&sql), [r("8").to_string()]);
}

#[test]
fn functions_take_the_machine_and_the_file() {
    let database = two().assert("x 1.1, y 5.1");
    let file = database.file("b");
    let realtime = r("0");
    let sql = format!(
        "SELECT to_boottime(1, 0, {realtime}), to_boottime(1, 0, {realtime}, 0),
                to_boottime(1, 0, {realtime}, 0, NULL), to_boottime(1, 0, {realtime}, 0, {file})"
    );
    let second = s("1");
    let fourth = s("4");
    let expected = format!("{second} {second} {second} {fourth}");
    assert_eq!(database.lines(&sql), [expected]);
}

#[test]
fn one_plain_trace_has_nothing_new_but_columns() {
    let set = Set::new().file("a", [snapshot(&[(B, s("1")), (R, r("0"))]), event("x", R, r("3"))]);
    let database = set.assert("x 4");
    let sql = "SELECT id, machine_id, trace_file_id, number FROM packet ORDER BY id";
    assert_eq!(database.lines(sql), ["0 0 0 0", "1 0 0 1"]);
    let sql = "SELECT id, raw_id, name FROM machine";
    assert_eq!(database.lines(sql), ["0 0 [NULL]"]);
    let sql = "SELECT source, trace_file_id FROM clock_snapshot";
    assert_eq!(database.lines(sql), ["service [NULL]", "service [NULL]"]);
    assert_eq!(database.lines("SELECT count(*) FROM remote_clock_sync"), ["0"]);
}

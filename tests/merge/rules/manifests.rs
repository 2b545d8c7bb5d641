//! X30 to X39: the contents of a manifest, and errors in it.

use crate::merge::archive;
use crate::merge::database;
use crate::merge::notation::*;
use serde_json::{Value as Json, json};
use timebase_lab::encode;

const M: u32 = 3;

/// a: B1=R(r), x@B2; b: B5=R(r+1), y@B6. Both have all clocks of the relations.
fn two() -> Set {
    Set::new()
        .file("a", [snapshot(&[(B, s("1")), (R, r("0"))]), event("x", B, s("2"))])
        .file("b", [snapshot(&[(B, s("5")), (R, r("1"))]), event("y", B, s("6"))])
}

#[track_caller]
fn refused(fields: Json, told: &[&str]) {
    let told = [&["perfetto_manifest: "], told].concat();
    two().manifest(fields).refused(&told);
}

#[test]
fn x30_two_manifests_are_refused() {
    let manifest = "{\"perfetto_manifest\": {\"version\": 1}}";
    let set = two().other("m", manifest).other("n", manifest);
    set.refused(&["perfetto_manifest"]);
    // So is one in the archive and one as the option.
    two().other("m", manifest).manifest(json!({})).refused(&["perfetto_manifest"]);
}

#[test]
fn x30_a_manifest_alone_is_valid_and_does_nothing() {
    let manifest = "{\"perfetto_manifest\": {\"version\": 1}}";
    let database = database::import_archive("m.json", manifest.as_bytes()).unwrap();
    assert!(database.packets().is_empty());
    let sql = "SELECT trace_type FROM trace_file";
    assert_eq!(database.lines(sql), ["perfetto_manifest"]);
}

#[test]
fn x31_version_is_the_integer_1() {
    two().manifest_text("{\"perfetto_manifest\": {}}").refused(&["version"]);
    for version in [json!(1.0), json!("1"), json!(true), json!(2), Json::Null] {
        refused(json!({ "version": version }), &["version"]);
    }
}

#[test]
fn x31_files_is_an_array_and_attributes_an_object() {
    refused(json!({"files": {}}), &["files"]);
    refused(json!({"files": [7]}), &["files[0]"]);
    refused(json!({"attributes": []}), &["attributes"]);
    refused(json!({"attributes": {"": 1}}), &["attributes"]);
    for value in [json!(true), json!(1.5), json!([]), Json::Null] {
        refused(json!({"attributes": {"key": value}}), &["attributes"]);
    }
}

#[test]
fn x31_attributes_are_metadata() {
    let set = two().manifest(json!({"attributes": {"device": "phone", "run": 3}}));
    let database = set.assert("x 2, y 6");
    let sql = "SELECT name, value, typeof(value) FROM metadata
               WHERE name LIKE 'manifest_attribute.%' ORDER BY name";
    let expected = ["manifest_attribute.device phone text", "manifest_attribute.run 3 integer"];
    assert_eq!(database.lines(sql), expected);
}

#[test]
fn x31_clocks_have_their_names_in_exact_case() {
    for name in ["boottime", "TAI", ""] {
        refused(json!({"trace_time": {"clock": name}}), &["trace_time.clock"]);
    }
    let names = ["REALTIME", "REALTIME_COARSE", "MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW"];
    for (n, name) in (1..).zip(names) {
        let items = [snapshot(&[(B, s("1")), (n, s("10"))]), event("x", B, s("2"))];
        let set = Set::new().file("a", items);
        let set = set.manifest(json!({"trace_time": {"clock": name}}));
        set.assert("x 11");
    }
}

#[test]
fn x31_of_equal_keys_the_last_counts_and_unknown_fields_do_not() {
    let text =
        "{\"perfetto_manifest\": {\"version\": 2, \"version\": 1, \"more\": {}}, \"other\": 1}";
    two().manifest_text(text).assert("x 2, y 6");
}

#[test]
fn x31_json_is_strict() {
    for text in [
        "{\"perfetto_manifest\": {\"version\": 1,}}",
        "{\"perfetto_manifest\": {\"version\": 1}} more",
        "{\"perfetto_manifest\": {\"version\": 1}",
        "{\"perfetto_manifest\": 1}",
    ] {
        two().manifest_text(text).refused(&["perfetto_manifest"]);
    }
}

#[test]
fn x32_a_path_is_the_members_exact_name() {
    refused(json!({"files": [{}]}), &["files[0]", "path"]);
    refused(json!({"files": [{"path": 1}]}), &["files[0]", "path"]);
    let entry = |path: &str| json!({"files": [{"path": path, "machine": {"name": "phone"}}]});
    let named = |set: &Set| {
        let model = set.by_model().unwrap();
        let database = set.database();
        let sql = "SELECT DISTINCT p.machine_id FROM packet AS p
                   JOIN machine AS m ON m.id = p.machine_id AND m.name = 'phone'";
        assert_eq!(model.machines.len(), database.lines("SELECT id FROM machine").len());
        database.lines(sql).len()
    };
    assert_eq!(named(&two().manifest(entry("b"))), 1);
    for path in ["B", "./b", "b/", "nobody"] {
        assert_eq!(named(&two().manifest(entry(path))), 0, "{path}");
    }
}

#[test]
fn x32_of_two_entries_of_one_path_the_first_counts_and_it_is_logged() {
    let entry = |name: &str| json!({"path": "b", "machine": {"name": name}});
    let set = two().manifest(json!({"files": [entry("first"), entry("second")]}));
    let database = set.assert("x 2, y 3");
    let sql = "SELECT DISTINCT m.name FROM packet AS p JOIN machine AS m ON m.id = p.machine_id
               WHERE m.name IS NOT NULL";
    assert_eq!(database.lines(sql), ["first"]);
    let told = database.lines("SELECT message FROM import_log").join(" ");
    assert!(told.contains('b'), "{told}");
}

#[test]
fn x32_a_reference_without_a_clock_must_name_a_member() {
    let clocks = json!({"clock": "BOOTTIME", "sync_to": {"file": "nobody"}});
    let files = json!([{"path": "a", "clocks": clocks}, {"path": "nobody"}]);
    refused(json!({ "files": files }), &["files[0].clocks"]);
    // With a clock, it is the machine's.
    let clocks = json!({"clock": "REALTIME", "sync_to": {"file": "nobody", "clock": "BOOTTIME"}});
    let files =
        json!([{"path": "a", "clocks": clocks}, {"path": "nobody", "machine": {"name": "n"}}]);
    two().manifest(json!({ "files": files })).assert("x 2, y 6");
}

#[test]
fn x33_a_file_is_one_machine_by_its_name() {
    let set = two().each_a_machine();
    set.assert_machines(&[(1 << 32, "a"), ((1 << 32) + 1, "b")]);
    let one = |name: &str| json!({"path": name, "machine": {"name": "one"}});
    let set = two().manifest(json!({"files": [one("a"), one("b")]}));
    set.assert("x 2, y 6");
    set.assert_machines(&[(1 << 32, "one")]);
}

#[test]
fn x33_what_is_wrong_with_a_machine() {
    for machine in [json!("a"), json!({}), json!({"name": ""}), json!({"name": 1}), json!([])] {
        refused(json!({"files": [{"path": "a", "machine": machine}]}), &["files[0].machine"]);
    }
    let machines = json!([{"id": 7, "name": "b"}]);
    let both = json!({"path": "a", "machine": {"name": "a"}, "machines": machines});
    refused(json!({"files": [both]}), &["files[0]", "machines"]);
}

#[test]
fn x33_a_machine_id_in_such_a_file_is_refused() {
    let stamped = [snapshot(&[(B, s("1"))]).of(7), event("x", B, s("2")).of(7)];
    let set = Set::new().file("a", stamped).each_a_machine();
    set.refused(&["perfetto_manifest", "machine"]);
}

#[test]
fn x33_clocks_of_a_client_in_such_a_file_are_refused() {
    let round = sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]).of(0);
    let set = Set::new().file("a", [snapshot(&[(B, s("1"))]), round]);
    set.each_a_machine().refused(&["perfetto_manifest"]);
}

/// A file of the host and of two guests.
fn three() -> Set {
    let events =
        [event("x", B, s("2")), event("y", B, s("2")).of(7), event("z", B, s("2")).of(u32::MAX)];
    let items = [snapshot(&[(B, s("1"))])].into_iter().chain(events);
    Set::new().file("a", items)
}

fn machines(list: Json) -> Json {
    json!({"files": [{"path": "a", "machines": list}]})
}

#[test]
fn x34_raw_ids_are_named_machines() {
    let list = json!([{"id": 7, "name": "watch"}, {"id": 4294967295_u32, "name": "vm"}]);
    let set = three().manifest(machines(list));
    let first = 1 << 32;
    // The host is not listed, and remains the host.
    set.assert_machines(&[(first, "watch"), (first + 1, "vm"), (0, "")]);
}

#[test]
fn x34_an_id_that_is_not_listed_is_refused() {
    let list = json!([{"id": 0, "name": "phone"}, {"id": 7, "name": "watch"}]);
    three().manifest(machines(list)).refused(&["perfetto_manifest", "4294967295"]);
}

#[test]
fn x34_of_equal_ids_the_last_is_the_hosts_and_the_first_the_others() {
    let list = json!([
        {"id": 0, "name": "h1"}, {"id": 0, "name": "h2"},
        {"id": 7, "name": "g1"}, {"id": 7, "name": "g2"},
        {"id": 4294967295_u32, "name": "g2"},
    ]);
    let set = three().manifest(machines(list));
    let first = 1 << 32;
    let names = ["h1", "h2", "g1", "g2"];
    let expected: Vec<_> = (first..).zip(names).collect();
    let database = set.assert_machines(&expected);
    let sql = "SELECT m.name FROM packet AS p JOIN machine AS m ON m.id = p.machine_id
               WHERE type = 'track_event' ORDER BY p.id";
    assert_eq!(database.lines(sql), ["h2", "g1", "g2"]);
}

#[test]
fn x34_an_empty_list_is_as_none() {
    three().manifest(machines(json!([]))).assert_machines(&[
        (0, ""),
        (7, ""),
        (u32::MAX.into(), ""),
    ]);
}

#[test]
fn x34_what_is_wrong_with_machines() {
    for list in [
        json!({}),
        json!([1]),
        json!([{"id": -1, "name": "a"}]),
        json!([{"id": 4294967296_u64, "name": "a"}]),
        json!([{"id": "7", "name": "a"}]),
        json!([{"id": 7.0, "name": "a"}]),
        json!([{"name": "a"}]),
        json!([{"id": 7, "name": ""}]),
        json!([{"id": 7}]),
    ] {
        refused(machines(list), &["files[0].machines"]);
    }
}

/// a and b are machines, and a has these clocks.
fn related(clocks: Json) -> Json {
    json!({"files": [
        {"path": "a", "machine": {"name": "a"}, "clocks": clocks},
        {"path": "b", "machine": {"name": "b"}},
    ]})
}

fn to_b(offset: Json) -> Json {
    let sync_to = json!({"file": "b", "clock": "BOOTTIME"});
    related(json!({"clock": "BOOTTIME", "sync_to": sync_to, "offset_ns": offset}))
}

#[test]
fn x35_this_files_clock_reads_t_where_the_reference_reads_more() {
    two().manifest(to_b(json!(1_000_000_000))).assert("x 2, y 5");
    two().manifest(to_b(json!(-1_000_000_000))).assert("x 2, y 7");
    let database = two().manifest(to_b(json!(-5))).assert("x 2, y 6.000000005");
    let sql = "SELECT m.name, s.clock_id, s.clock_value FROM clock_snapshot AS s
               JOIN machine AS m ON m.id = s.machine_id
               WHERE source = 'manifest' ORDER BY m.name";
    assert_eq!(database.lines(sql), ["a 6 5", "b 6 0"]);
}

#[test]
fn x35_offset_ns_is_an_integer_of_64_bits_but_the_least() {
    for offset in [json!(i64::MIN), json!(1.0), json!("1"), json!(u64::MAX), json!(true)] {
        refused(to_b(offset), &["files[0].clocks.offset_ns"]);
    }
    two().manifest(to_b(json!(i64::MIN + 1))).database();
}

#[test]
fn x35_files_of_one_machine_cannot_be_moved_against_each_other() {
    let sync_to = json!({"file": "b", "clock": "BOOTTIME"});
    let clocks = json!({"clock": "BOOTTIME", "sync_to": sync_to, "offset_ns": 5});
    let files = json!([{"path": "a", "clocks": clocks}, {"path": "b"}]);
    refused(json!({ "files": files }), &["files[0].clocks"]);
}

#[test]
fn x35_two_clocks_of_one_machine_can_be_related() {
    let sync_to = json!({"file": "a", "clock": "BOOTTIME"});
    let clocks = json!({"clock": "MONOTONIC", "sync_to": sync_to, "offset_ns": 1_000_000_000});
    let set = Set::new().file("a", [event("x", B, s("2")), event("y", M, s("2"))]);
    let set = set.manifest(json!({"files": [{"path": "a", "clocks": clocks}]}));
    set.assert("x 2, y 3");
}

#[test]
fn x35_what_is_wrong_with_clocks() {
    refused(related(json!(1)), &["files[0].clocks"]);
    refused(related(json!({"clock": 6, "sync_to": {"file": "b"}})), &["files[0].clocks.clock"]);
    for sync_to in [json!(1), json!({}), json!({"file": 1}), json!({"clock": "BOOTTIME"})] {
        let clocks = json!({"clock": "BOOTTIME", "sync_to": sync_to});
        refused(related(clocks), &["files[0].clocks.sync_to"]);
    }
}

#[test]
fn x35_without_a_clock_the_reference_is_the_private_clock_of_that_file() {
    let set = Set::new()
        .file("a", [snapshot(&[(B, s("1"))]), event("x", B, s("2"))])
        .file("n", [plain("n", s("7"))]);
    let of_a = json!({"clock": "BOOTTIME", "sync_to": {"file": "n"}, "offset_ns": 1_000_000_000});
    let of_n = json!({"sync_to": {"file": "a", "clock": "MONOTONIC"}});
    let set = set.manifest(json!({"files": [
        {"path": "a", "machine": {"name": "a"}, "clocks": of_a},
        {"path": "n", "machine": {"name": "n"}, "clocks": of_n},
    ]}));
    // BOOTTIME of a reads 6 where n reads 7.
    set.assert("x 2, n 6");
}

#[test]
fn x36_trace_time_is_a_clock_of_the_machine_of_a_file() {
    let mut manifest = to_b(json!(1_000_000_000));
    manifest["trace_time"] = json!({"clock": "BOOTTIME", "file": "b"});
    two().manifest(manifest.clone()).assert("x 3, y 6");
    manifest["trace_time"] = json!({"clock": "REALTIME", "file": "b", "machine": "b"});
    // REALTIME of b is known only when b is read (X40): that of a placed x.
    let set = two().manifest(manifest);
    let database = set.assert("x 1700000001, y 1700000002");
    let listed: Vec<_> = database.resync().into_values().collect();
    assert_eq!(listed, [Some(s("1699999999").cast_signed())]);
}

#[test]
fn x36_without_a_file_it_is_the_first_machine_of_all() {
    let mut manifest = to_b(json!(1_000_000_000));
    manifest["trace_time"] = json!({"clock": "BOOTTIME"});
    two().manifest(manifest).assert("x 2, y 5");
    // The manifest names none, so it is the first machine, here a guest.
    let set = Set::new().file(
        "a",
        [
            snapshot(&[(B, s("50")), (R, r("0"))]).of(7),
            snapshot(&[(B, s("1")), (R, r("0"))]),
            event("x", B, s("2")),
        ],
    );
    let set = set.manifest(json!({"trace_time": {"clock": "BOOTTIME"}}));
    set.assert("x 51");
}

#[test]
fn x36_what_is_wrong_with_trace_time() {
    for trace_time in
        [json!(1), json!({}), json!({"clock": 6}), json!({"clock": "BOOTTIME", "file": 1})]
    {
        refused(json!({ "trace_time": trace_time }), &["trace_time"]);
    }
}

/// Pins b to BOOTTIME of a.
fn pin() -> Json {
    let clocks = json!({"sync_to": {"file": "a", "clock": "BOOTTIME"}, "offset_ns": 500});
    json!({"files": [
        {"path": "a", "machine": {"name": "a"}},
        {"path": "b", "machine": {"name": "b"}, "clocks": clocks},
    ]})
}

fn pinned(items: impl IntoIterator<Item = Item>) -> Set {
    let a = [snapshot(&[(B, s("1")), (R, r("0"))]), event("x", B, s("2"))];
    Set::new().file("a", a).file("b", items).manifest(pin())
}

#[test]
fn x37_only_the_pin_places_what_is_read_on_the_private_clock() {
    let set = pinned([plain("n", s("2")), event("y", B, s("3"))]);
    // The other rules place packets that name another clock: one BOOTTIME is assumed.
    let database = set.assert("x 2, n 2.0000005, y 3");
    let sql = "SELECT clock_id FROM packet WHERE ts = 2000000500";
    assert_eq!(database.lines(sql), ["11"]);
    let sql = "SELECT f.name FROM clock AS c JOIN trace_file AS f ON f.id = c.trace_file_id
               WHERE c.clock_id = 11";
    assert_eq!(database.lines(sql), ["b"]);
}

#[test]
fn x37_a_pinned_file_has_no_machine_ids_and_no_snapshots() {
    let bad = [
        plain("n", s("2")).of(7),
        snapshot(&[(B, s("1"))]),
        sync_boottime(&[("50", "2"), ("50.000002", "2.000002")]).of(0),
    ];
    for item in bad {
        pinned([plain("m", s("2")), item]).refused(&["perfetto_manifest"]);
    }
}

#[test]
fn x37_x26_no_bridge_is_built_for_a_private_clock() {
    let clocks = json!({"sync_to": {"file": "a", "clock": "MONOTONIC_RAW"}});
    let a = [snapshot(&[(B, s("1"))]), event("x", B, s("2"))];
    let set = Set::new().file("a", a).file("b", [plain("n", s("2"))]);
    let set = set.manifest(json!({"files": [
        {"path": "a"},
        {"path": "b", "machine": {"name": "b"}, "clocks": clocks},
    ]}));
    // No snapshot reads MONOTONIC_RAW of a.
    let database = set.assert("x 2, n unplaced");
    let sql = "SELECT count(*) FROM clock_snapshot WHERE source = 'assumed'";
    assert_eq!(database.lines(sql), ["0"]);
}

#[test]
fn x38_a_reference_names_a_file_that_has_an_entry() {
    let mut manifest = to_b(json!(0));
    manifest["files"].as_array_mut().unwrap().pop();
    refused(manifest, &["files[0].clocks.sync_to"]);
    refused(json!({"trace_time": {"clock": "BOOTTIME", "file": "b"}}), &["trace_time"]);
}

#[test]
fn x38_a_machine_needs_a_file() {
    let files = json!([{"path": "a", "machine": {"name": "a"}}]);
    let trace_time = json!({"clock": "BOOTTIME", "machine": "a"});
    refused(json!({"files": files, "trace_time": trace_time}), &["trace_time"]);
}

/// a has a list of machines, and b refers to a machine of it.
fn of_several(machine: Option<&str>) -> Json {
    let mut sync_to = json!({"file": "a", "clock": "BOOTTIME"});
    if let Some(machine) = machine {
        sync_to["machine"] = json!(machine);
    }
    let clocks = json!({"clock": "BOOTTIME", "sync_to": sync_to, "offset_ns": 500});
    json!({"files": [
        {"path": "a", "machines": [{"id": 0, "name": "phone"}, {"id": 7, "name": "watch"}]},
        {"path": "b", "machine": {"name": "server"}, "clocks": clocks},
    ]})
}

#[test]
fn x38_a_file_of_several_machines_needs_the_machines_name() {
    refused(of_several(None), &["files[1].clocks.sync_to"]);
    refused(of_several(Some("server")), &["files[1].clocks.sync_to"]);
    refused(of_several(Some("nobody")), &["files[1].clocks.sync_to"]);
    two().manifest(of_several(Some("phone"))).assert("x 2, y 6.0000005");
}

#[test]
fn x38_the_machine_of_this_side_is_one_of_its_own_entry() {
    let clocks = |machine: Option<&str>| {
        let sync_to = json!({"file": "b", "clock": "BOOTTIME"});
        let mut clocks = json!({"clock": "BOOTTIME", "sync_to": sync_to, "offset_ns": 500});
        if let Some(machine) = machine {
            clocks["machine"] = json!(machine);
        }
        json!({"files": [
            {"path": "a", "machines": [{"id": 0, "name": "phone"}], "clocks": clocks},
            {"path": "b", "machine": {"name": "server"}},
        ]})
    };
    refused(clocks(None), &["files[0].clocks"]);
    refused(clocks(Some("server")), &["files[0].clocks"]);
    two().manifest(clocks(Some("phone"))).assert("x 2, y 5.9999995");
}

#[test]
fn x39_overrides_for_what_is_no_trace_are_refused() {
    let clocks = json!({"clock": "BOOTTIME", "sync_to": {"file": "a", "clock": "REALTIME"}});
    for overrides in [
        json!({"machine": {"name": "m"}}),
        json!({"machines": [{"id": 0, "name": "m"}]}),
        json!({ "clocks": clocks }),
    ] {
        let mut entry = overrides;
        entry["path"] = json!("the.manifest");
        let manifest = json!({"files": [entry, {"path": "a"}]});
        two().manifest(manifest).refused(&["perfetto_manifest", "files[0]"]);
    }
    // This file is no manifest.
    let entry = json!({"path": "the.manifest", "machines": [{"id": 7, "name": "m"}]});
    two().manifest(json!({"files": [entry]})).assert("x 2, y 6");
}

#[test]
fn x39_overrides_apply_to_a_compressed_trace() {
    let items = [snapshot(&[(B, s("5"))]), event("y", B, s("6"))];
    let trace = encode::trace(&items.map(|item| item.packet));
    let set = Set::new()
        .file("a", [snapshot(&[(B, s("1"))]), event("x", B, s("2"))])
        .other("b", archive::gzip(&trace));
    let set = set.manifest(to_b(json!(1_000_000_000)));
    let database = set.assert("x 2");
    let sql = "SELECT p.ts / 1000000000 FROM packet AS p
               JOIN trace_file AS f ON f.id = p.trace_file_id AND f.name = 'b' ORDER BY p.id";
    assert_eq!(database.lines(sql), ["4", "5"]);
    set.assert_machines(&[(1 << 32, "a"), ((1 << 32) + 1, "b")]);
}

//! `packet_json` and `packet_field`: the contents of a packet, by Perfetto's names.
//!
//! tests/data/make_fixtures.py makes the fixtures, with Perfetto's own Python
//! package.

use serde_json::{Value, json};

use crate::support::{Imported, Place, Said, data, fixture, import, run};

impl Imported {
    fn query(&self, sql: &str) -> Said {
        run(&["query", self.path(), sql, "--format", "jsonl"])
    }

    /// The first column of each row.
    fn values(&self, sql: &str) -> Vec<Value> {
        let said = self.query(sql);
        assert_eq!(said.code, Some(0), "{sql}: {}", said.stderr);
        let rows = said.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|row| row.as_object().unwrap().values().next().unwrap().clone()).collect()
    }

    fn value(&self, sql: &str) -> Value {
        let values = self.values(sql);
        assert_eq!(values.len(), 1, "{sql}");
        values[0].clone()
    }

    /// `packet_json` of each packet.
    fn packets(&self) -> Vec<Value> {
        let rows = self.values("SELECT packet_json(data) AS j FROM packet ORDER BY id");
        rows.iter().map(parsed).collect()
    }

    /// `packet_field` of one packet.
    fn field(&self, id: i64, path: &str) -> Value {
        self.value(&format!("SELECT packet_field(data, '{path}') AS f FROM packet WHERE id = {id}"))
    }

    /// The error of a query that must fail.
    fn refused(&self, sql: &str) -> String {
        let said = self.query(sql);
        assert_eq!(said.code, Some(1), "{sql}: {}", said.stderr);
        said.stderr
    }
}

/// JSON that is text in a column.
fn parsed(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

/// The place and kind of the difference between two values. Numbers are compared as numbers: 1.0 is
/// 1.
fn difference(path: &str, ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let of_both = b.iter().find_map(|(key, theirs)| {
                let ours = a.get(key).unwrap_or(&Value::Null);
                difference(&format!("{path}.{key}"), ours, theirs)
            });
            of_both.or_else(|| {
                let more = a.keys().find(|key| !b.contains_key(*key));
                more.map(|key| format!("{path}.{key} is ours alone"))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(i, (a, b))| difference(&format!("{path}[{i}]"), a, b))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            (a.as_f64() != b.as_f64()).then(|| format!("{path}: {a}, not {b}"))
        }
        _ => (ours != theirs).then(|| format!("{path}: {ours}, not {theirs}")),
    }
}

#[test]
fn the_comparison_sees_every_kind_of_difference() {
    let same = |a, b| difference("", &a, &b).is_none();
    assert!(same(json!({"a": [1.0, "x"]}), json!({"a": [1, "x"]})));
    assert!(!same(json!({"a": 1}), json!({"a": 2})));
    assert!(!same(json!({"a": 1}), json!({"a": "1"})));
    assert!(!same(json!({"a": 1}), json!({})));
    assert!(!same(json!({}), json!({"a": 1})));
    assert!(!same(json!([1]), json!([1, 1])));
    assert!(!same(json!(i64::MAX), json!(i64::MAX - 1)));
    assert!(!same(json!(0.5), json!(0)));
}

#[test]
fn packet_json_of_every_packet_is_what_perfettos_python_package_reads() {
    for name in ["nearest", "multihop", "dst", "sdk", "system", "system-compressed"] {
        let theirs = fixture(&format!("json/{name}.jsonl.zst"));
        let ours = Imported::new(&format!("{name}.pftrace"), &[]).packets();
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (id, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let different = difference("", ours, theirs);
            assert_eq!(different, None, "{name}, packet {id}");
        }
    }
}

#[test]
fn packet_field_gives_one_value() {
    let trace = Imported::new("system.pftrace", &[]);
    let theirs = fixture("json/system.jsonl.zst");
    for (id, path, expected) in [
        // scalars
        (0, "trusted_packet_sequence_id", json!(1)),
        (0, "clock_snapshot.clocks[0].timestamp", json!(2_406_367_432_136_i64)),
        (0, "clock_snapshot.clocks[2].clock_id", json!(4)),
        (13, "trace_uuid.msb", theirs[13]["trace_uuid"]["msb"].clone()),
        (15, "system_info.utsname.sysname", json!("Linux")),
        (
            73,
            "ftrace_stats.cpu_stats[1].now_ts",
            theirs[73]["ftrace_stats"]["cpu_stats"][1]["now_ts"].clone(),
        ),
        // enums by name
        (0, "clock_snapshot.primary_trace_clock", json!("BUILTIN_CLOCK_BOOTTIME")),
        (73, "ftrace_stats.phase", json!("START_OF_TRACE")),
        (94, "sys_stats.meminfo[0].key", json!("MEMINFO_MEM_FREE")),
        // in a oneof, in a list, in packed integers
        (21, "ftrace_events.event[0].softirq_entry.vec", json!(7)),
        (21, "ftrace_events.compact_sched.switch_next_pid[1]", json!(31913)),
        (76, "process_tree.processes[0].cmdline[0]", json!("app-7")),
        // missing fields
        (0, "clock_snapshot.clocks[99].timestamp", Value::Null),
        (0, "track_event.name", Value::Null),
        (0, "timestamp", Value::Null),
    ] {
        let ours = trace.field(id, path);
        assert_eq!(difference(path, &ours, &expected), None, "packet {id}");
    }
}

#[test]
fn packet_field_gives_messages_and_lists_as_json() {
    let trace = Imported::new("system.pftrace", &[]);
    let theirs = fixture("json/system.jsonl.zst");
    for (id, path, pointer) in [
        (0, "clock_snapshot", "/clock_snapshot"),
        (0, "clock_snapshot.clocks", "/clock_snapshot/clocks"),
        (0, "clock_snapshot.clocks[3]", "/clock_snapshot/clocks/3"),
        (76, "process_tree.processes[0].cmdline", "/process_tree/processes/0/cmdline"),
        (
            21,
            "ftrace_events.compact_sched.intern_table",
            "/ftrace_events/compact_sched/intern_table",
        ),
        (
            21,
            "ftrace_events.compact_sched.switch_timestamp",
            "/ftrace_events/compact_sched/switch_timestamp",
        ),
    ] {
        let expected = theirs[id].pointer(pointer).unwrap();
        let ours = parsed(&trace.field(id as i64, path));
        assert_eq!(difference(path, &ours, expected), None, "packet {id}");
    }
}

#[test]
fn packet_field_selects_packets() {
    let trace = Imported::new("sdk.pftrace", &[]);
    let begins = trace.value(
        "SELECT count(*) AS n FROM packet \
         WHERE packet_field(data, 'track_event.type') = 'TYPE_SLICE_BEGIN'",
    );
    let theirs = fixture("json/sdk.jsonl.zst");
    let expected =
        theirs.iter().filter(|packet| packet["track_event"]["type"] == "TYPE_SLICE_BEGIN").count();
    assert!(expected > 100);
    assert_eq!(begins, json!(expected));
}

#[test]
fn a_path_that_the_schema_does_not_have_is_an_error_that_names_it() {
    let trace = Imported::new("nearest.pftrace", &[]);
    for (path, named) in [
        ("clokc_snapshot", "clokc_snapshot"),
        ("clock_snapshot.clokcs", "clokcs"),
        ("clock_snapshot.clocks[0].timestmap", "timestmap"),
    ] {
        let sql = format!("SELECT packet_field(data, '{path}') FROM packet");
        let said = trace.refused(&sql);
        assert!(said.contains(named), "{path}: {said}");
    }
    for path in ["", ".", "clock_snapshot.clocks[", "clock_snapshot.clocks[x]"] {
        let sql = format!("SELECT packet_field(data, '{path}') FROM packet");
        let said = trace.refused(&sql);
        assert!(said.contains("packet_field"), "{path:?}: {said}");
    }
}

#[test]
fn wrong_arguments_are_errors_that_name_the_function() {
    let trace = Imported::new("nearest.pftrace", &[]);
    for call in ["packet_json()", "packet_json(1)", "packet_json(data, 1)"] {
        let said = trace.refused(&format!("SELECT {call} FROM packet"));
        assert!(said.contains("packet_json"), "{call}: {said}");
    }
    for call in ["packet_field(data)", "packet_field(1, 'timestamp')", "packet_field(data, 1)"] {
        let said = trace.refused(&format!("SELECT {call} FROM packet"));
        assert!(said.contains("packet_field"), "{call}: {said}");
    }
}

#[test]
fn without_data_there_is_nothing_to_say() {
    // As after import --no-data.
    let trace = Imported::new("nearest.pftrace", &[]);
    assert_eq!(trace.value("SELECT packet_json(NULL) AS j"), Value::Null);
    let field = "SELECT packet_field(NULL, 'timestamp') AS f";
    assert_eq!(trace.value(field), Value::Null);
}

#[test]
fn no_bytes_end_the_process() {
    let trace = Imported::new("nearest.pftrace", &[]);
    // A group, a length beyond the end, a varint that does not end, field 0,
    // and messages in messages.
    let absurd = [
        "0BFF",
        "0A7F00",
        "40FFFFFFFFFFFFFFFFFFFFFF",
        "00",
        &"0A".repeat(39),
        &"5A02".repeat(5000),
    ];
    for bytes in absurd {
        for call in ["packet_json(x'BYTES')", "packet_field(x'BYTES', 'ftrace_events.cpu')"] {
            let sql = format!("SELECT {}", call.replace("BYTES", bytes));
            let said = trace.query(&sql);
            // A value or an SQL error, but neither a panic (101) nor a signal.
            assert!(matches!(said.code, Some(0 | 1)), "{sql}: {}", said.stderr);
        }
    }
}

// Extensions of the schema: TrackEvent has three more fields, from a .proto in
// tests/data/synthetic.py.

/// The field of an extension: by its name, or by its full name in brackets as in protobuf's JSON.
fn extension<'a>(event: &'a Value, name: &str) -> &'a Value {
    let bracketed = format!("[example.ExampleTrackEvent.{name}]");
    event.get(name).unwrap_or(&event[&bracketed])
}

#[track_caller]
fn assert_extended(trace: &Imported) {
    let packets = trace.packets();
    let event = &packets.last().unwrap()["track_event"];
    assert_eq!(event["name"], "request", "{event}");
    assert_eq!(*extension(event, "latency_ns"), json!(1_234_567_890_123_i64), "{event}");
    assert_eq!(
        *extension(event, "request"),
        json!({"url": "https://example.org/π", "phase": "PHASE_SEND", "bytes": 1_u64 << 63}),
        "{event}"
    );
    assert_eq!(*extension(event, "labels"), json!(["slow", "retried"]), "{event}");
    assert_eq!(event.get("9901"), None, "{event}");
}

#[test]
fn a_trace_can_carry_an_extension_of_the_schema() {
    assert_extended(&Imported::new("extension.pftrace", &[]));
}

#[test]
fn a_trace_can_carry_an_extension_of_the_schema_compressed() {
    assert_extended(&Imported::new("extension-gzip.pftrace", &[]));
}

#[test]
fn import_takes_an_extension_of_the_schema_from_a_file() {
    let descriptor = data("extension.descriptor");
    assert_extended(&Imported::new(
        "extension-undescribed.pftrace",
        &["--descriptor", descriptor.to_str().unwrap()],
    ));
}

#[test]
fn f7_a_field_unknown_to_the_schema_has_its_number_for_a_name() {
    let trace = Imported::new("extension-undescribed.pftrace", &[]);
    let packets = trace.packets();
    let event = &packets.last().unwrap()["track_event"];
    assert_eq!(event["9901"], json!(1_234_567_890_123_i64), "{event}");
    assert!(event.get("9902").is_some(), "{event}");
    assert_eq!(event["9903"].as_array().map(Vec::len), Some(2), "{event}");
}

#[test]
fn a_file_that_is_no_descriptor_is_refused_by_name() {
    let place = Place::new();
    place.write("notes.txt", b"These are notes, not a descriptor.");
    for name in ["notes.txt", "missing.descriptor"] {
        let (trace, database) = (data("extension-undescribed.pftrace"), place.path("out.db"));
        let descriptor = place.path(name);
        let args = ["--descriptor", descriptor.to_str().unwrap()];
        let said = import(&trace, &database, &args);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        assert!(said.stderr.contains(name), "{}", said.stderr);
        assert!(!database.exists());
    }
}

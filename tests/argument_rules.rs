//! The rules of the arguments of track events, one by one, on small traces made by hand. The
//! program and the model must agree.

use std::collections::BTreeMap;
use std::fs;

use rusqlite::Connection;
use serde_json::{Map, Value};

use crate::support::events::*;
use crate::support::kernel::{self, bundle, new};
use crate::support::{Imported, data, fixture};
use timebase_lab::encode::Message;

/// An annotation with a name.
fn annotation(name: &str, value: Message) -> Message {
    new().text(10, name).and(&value)
}

fn int(value: i64) -> Message {
    new().signed(4, value)
}

fn text(value: &str) -> Message {
    new().text(6, value)
}

fn json(text: &str) -> Message {
    new().text(9, text)
}

fn list(entries: &[Message]) -> Message {
    entries.iter().fold(new(), |list, entry| list.message(12, entry.clone()))
}

fn dict(entries: &[Message]) -> Message {
    entries.iter().fold(new(), |dict, entry| dict.message(11, entry.clone()))
}

fn proto(kind: &str, value: Message) -> Message {
    new().message(14, value).text(16, kind)
}

/// A nested_value with these fields.
fn nested(fields: Message) -> Message {
    new().message(8, fields)
}

/// An event with annotations.
fn annotated(event: Message, annotations: &[Message]) -> Message {
    annotations.iter().fold(event, |event, annotation| event.message(4, annotation.clone()))
}

/// An instant with annotations, on a thread.
fn telling(annotations: &[Message]) -> Told {
    told(&[
        described(UUID, thread(10, 10)),
        event(10, annotated(named(INSTANT, "i", UUID), annotations)),
    ])
}

/// The same with fields of `TrackEvent`, and with preceding entries of interned data.
fn telling_of(fields: &Message, interned: &Message) -> Told {
    told(&[
        described(UUID, thread(10, 10)),
        clear().message(12, interned.clone()),
        event(10, named(INSTANT, "i", UUID).and(fields)),
    ])
}

/// Arguments of the only slice: key, type and value.
const SAID: &str = "SELECT key, value_type, coalesce(string_value, int_value, real_value) \
     FROM args AS a JOIN slice AS s ON s.arg_set_id = a.arg_set_id ORDER BY key";

/// The same with the flat key instead of the type.
const KEYS: &str = "SELECT key, flat_key, coalesce(string_value, int_value, real_value) \
     FROM args AS a JOIN slice AS s ON s.arg_set_id = a.arg_set_id ORDER BY key";

#[test]
fn a1_a_key_that_is_there_gets_the_new_value() {
    let trace = told(&[
        described(UUID, thread(10, 10)),
        event(
            10,
            annotated(
                named(BEGIN, "a", UUID),
                &[annotation("x", int(1)), annotation("x", text("two")), annotation("y", int(3))],
            ),
        ),
        event(
            20,
            annotated(unnamed(END, UUID), &[annotation("y", int(4)), annotation("z", int(5))]),
        ),
    ]);
    let said = ["debug.x string two", "debug.y int 4", "debug.z int 5"];
    trace.gives(SAID, &said);
}

#[test]
fn a1_e11_h6_arguments_of_an_end_go_to_a_slice_that_was_printed() {
    let prints = [kernel::print(10, 10, "B|10|printed"), kernel::print(30, 10, "S|10|async|7")];
    let trace = told(&[
        described(UUID, thread(10, 10)),
        bundle(0, &prints),
        event(20, annotated(unnamed(END, UUID), &[annotation("x", int(1))])),
        event(40, annotated(unnamed(END, UUID), &[annotation("y", int(1))])),
    ]);
    trace.gives(ARGS, &["printed debug.x int 1", "async cookie int 7"]);
}

#[test]
fn a1_e15_arguments_of_a_counter_are_its_values() {
    let counts = unnamed(COUNTER, 2).signed(30, 5).text(53, "corr");
    let trace = told(&[
        described(2, new().message(8, new()).text(2, "c")),
        event(10, annotated(counts, &[annotation("x", int(1))])),
    ]);
    trace.gives(
        "SELECT key, coalesce(string_value, int_value) FROM counter AS c \
         JOIN args AS a ON a.arg_set_id = c.arg_set_id ORDER BY key",
        &["correlation_id corr", "debug.x 1"],
    );
}

#[test]
fn a2_a4_values_of_all_types() {
    let trace = telling(&[
        annotation("bool", new().number(2, 1)),
        annotation("double", new().double(5, 0.5)),
        annotation("int", int(-5)),
        annotation("pointer", new().number(7, u64::MAX)),
        annotation("text", text("a\\b")),
        annotation("uint", new().number(3, u64::MAX)),
        annotation("none", new()),
        annotation("several", int(1).and(&new().number(2, 1)).and(&text("s"))),
    ]);
    trace.gives(
        SAID,
        &[
            "debug.bool bool 1",
            "debug.double real 0.5",
            "debug.int int -5",
            "debug.pointer pointer -1",
            "debug.several bool 1",
            "debug.text string a\\b",
            "debug.uint uint -1",
        ],
    );
    kernel::gives(
        &trace.program,
        "SELECT display_value FROM args AS a JOIN slice AS s ON s.arg_set_id = a.arg_set_id \
         ORDER BY key",
        &["true", "0.5", "-5", "0xffffffffffffffff", "true", "a\\b", "18446744073709551615"],
    );
}

#[test]
fn a3_a4_keys_of_lists_and_dicts() {
    let entry = dict(&[annotation("c", int(1))]);
    let trace = telling(&[
        annotation("a", dict(&[annotation("b", list(&[entry.clone(), int(2)]))])),
        annotation("x.y[0]", int(3)),
    ]);
    trace.gives(
        KEYS,
        &[
            "debug.a.b[0].c debug.a.b.c 1",
            "debug.a.b[1] debug.a.b 2",
            "debug.x_y_0_ debug.x_y_0_ 3",
        ],
    );
}

#[test]
fn a4_interned_names_and_texts() {
    let interned = new()
        .message(3, new().number(1, 1).text(2, "interned"))
        .message(3, new().number(1, 2))
        .message(29, new().number(1, 1).text(2, "text"))
        .message(29, new().number(1, 2));
    let by_iid = |iid| new().number(1, iid);
    let annotations = annotated(
        new(),
        &[
            by_iid(1).number(17, 1),
            by_iid(2).number(17, 2),
            by_iid(0).text(10, "said").number(17, 1),
        ],
    );
    telling_of(&annotations, &interned)
        .gives(SAID, &["debug. string ", "debug.interned string text", "debug.said string text"]);
}

#[test]
fn a4_a_fault_ends_its_annotation_and_no_other() {
    let nameless = int(1);
    let unknown = new().number(1, 9).and(&int(1));
    let trace = telling(&[
        annotation(
            "a",
            dict(&[
                annotation("b", int(1)),
                annotation("c", list(&[int(2), dict(&[nameless]), int(3)])),
                annotation("d", int(4)),
            ]),
        ),
        unknown,
        annotation("e", new().number(17, 9)),
        annotation("f", int(5)),
    ]);
    let said = ["debug.a.b int 1", "debug.a.c[0] int 2", "debug.f int 5"];
    trace.gives(SAID, &said);
    trace.counted("track_event_parser_errors", 3);
}

#[test]
fn a5_a6_worked_example_of_lists() {
    let json = json(r#"{"b.c": [1, null, {"d": true}]}"#);
    let trace = told(&[
        described(UUID, thread(10, 10)),
        event(
            10,
            annotated(
                named(BEGIN, "a", UUID),
                &[annotation("l.x", list(&[int(5), new(), list(&[int(6), int(7)])]))],
            ),
        ),
        event(
            20,
            annotated(
                unnamed(END, UUID),
                &[annotation("l.x", list(&[text("e")])), annotation("j", json)],
            ),
        ),
    ]);
    trace.gives(
        KEYS,
        &[
            "debug.j.b.c[0] debug.j.b.c 1",
            "debug.j.b.c[1].d debug.j.b.c.d 1",
            "debug.l_x[0] debug.l_x 5",
            "debug.l_x[1][0] debug.l_x 6",
            "debug.l_x[1][1] debug.l_x 7",
            "debug.l_x[2] debug.l_x e",
        ],
    );
    trace.gives(
        "SELECT value_type FROM args WHERE key LIKE 'debug.j%' ORDER BY key",
        &["int", "bool"],
    );
}

#[test]
fn a5_entries_that_count_though_they_add_nothing() {
    let empty = ".perfetto.protos.DebugAnnotation";
    let trace = telling(&[
        annotation("a", list(&[dict(&[annotation("x", new())]), int(1)])),
        annotation("b", list(&[json("null"), int(1)])),
        annotation("c", list(&[list(&[]), int(1)])),
        annotation("d", list(&[list(&[new()]), int(1)])),
        annotation("e", list(&[proto(empty, annotation("x", new())), int(1)])),
        annotation("f", list(&[int(1)])),
        annotation("f", list(&[int(2), int(3)])),
    ]);
    trace.gives(
        KEYS,
        &[
            "debug.a[1] debug.a 1",
            "debug.b[1] debug.b 1",
            "debug.c[0] debug.c 1",
            "debug.d[0] debug.d 1",
            "debug.e[1] debug.e 1",
            "debug.f[0] debug.f 1",
            "debug.f[1] debug.f 2",
            "debug.f[2] debug.f 3",
        ],
    );
}

#[test]
fn a6_numbers_and_texts_of_json() {
    let trace = telling(&[
        annotation("bool", json("true")),
        annotation("exponent", json(" 1.5e3 ")),
        annotation("least", json("-9223372036854775808")),
        annotation("list", json(r#"[[], {}, null, "x"]"#)),
        annotation("number", json("7")),
        annotation("text", json(r#""\u00fc\n""#)),
        annotation("twice", json(r#"{"k": 1, "k": 2}"#)),
    ]);
    trace.gives(
        SAID,
        &[
            "debug.bool bool 1",
            "debug.exponent real 1500",
            "debug.least int -9223372036854775808",
            "debug.list[2] string x",
            "debug.number int 7",
            "debug.text string ü\n",
            "debug.twice.k int 2",
        ],
    );
}

#[test]
fn a6_text_that_is_no_json_adds_nothing() {
    let trace = telling(&[
        annotation("broken", json(r#"{"first": 1, "second""#)),
        annotation("more", json("[1] 2")),
        annotation("empty", json("")),
        annotation("null", json("null")),
        annotation("last", int(1)),
    ]);
    trace.gives(SAID, &["debug.last int 1"]);
}

#[test]
fn a7_a10_messages_as_values() {
    let place = || new().text(2, "f.cc").number(4, 3).number(99, 1);
    let interned = new().message(27, new().number(1, 1).text(2, ".perfetto.protos.SourceLocation"));
    let of_iid = new().message(14, place()).number(13, 1);
    let own_name = proto(".perfetto.protos.DebugAnnotation", annotation("own", int(1)));
    let annotations = annotated(
        new(),
        &[
            annotation("a", proto(".perfetto.protos.SourceLocation", place())),
            annotation("b", of_iid),
            annotation("c", own_name),
            annotation("d", proto(".perfetto.protos.SourceLocation", new())),
            annotation("e", proto("perfetto.protos.SourceLocation", place())),
            annotation("f", new().message(14, place())),
            annotation("g", new().message(14, place()).number(13, 9)),
        ],
    );
    let trace = telling_of(&annotations, &interned);
    trace.gives(
        SAID,
        &[
            "debug.a.file_name string f.cc",
            "debug.a.line_number uint 3",
            "debug.b.file_name string f.cc",
            "debug.b.line_number uint 3",
            "debug.c.own int 1",
            "debug.d null -",
        ],
    );
    trace.counted("track_event_parser_errors", 3);
    trace.counted("unknown_extension_fields", 0);
}

#[test]
fn a7_nested_values() {
    let number = |value| new().signed(5, value);
    let values = new().number(1, 2).message(4, number(1)).message(4, new());
    let values = values.message(4, number(2));
    let dict_of = new().number(1, 1).text(2, "a.b").message(3, values);
    let differing = new().number(1, 1).text(2, "k").text(2, "no value");
    let trace = telling(&[
        annotation("bool", nested(new().number(7, 1).signed(5, 3))),
        annotation("dict", nested(dict_of)),
        annotation("double", nested(new().double(6, 0.5))),
        annotation("fault", nested(differing.message(3, number(1)))),
        annotation("text", nested(new().text(8, "nv"))),
    ]);
    trace.gives(
        SAID,
        &[
            "debug.bool bool 1",
            "debug.dict.a_b[0] int 1",
            "debug.dict.a_b[1] int 2",
            "debug.double real 0.5",
            "debug.text string nv",
        ],
    );
    trace.counted("track_event_parser_errors", 1);
}

/// A source location in interned data, and one without a name.
fn locations() -> Message {
    let named = new().number(1, 1).text(2, "dir\\a.cc");
    new().message(4, named.text(3, "fn").number(4, 7)).message(4, new().number(1, 2))
}

#[test]
fn a8_places_in_the_code() {
    let source = new().number(34, 1);
    telling_of(&source, &locations()).gives(
        SAID,
        &[
            "source.file_name string dir/a.cc",
            "source.function_name string fn",
            "source.line_number uint 7",
            "source_location_iid uint 1",
        ],
    );
    let posted = new().message(5, new().number(1, 2));
    telling_of(&posted, &locations()).gives(
        SAID,
        &[
            "task.posted_from.file_name string ",
            "task.posted_from.function_name string -",
            "task.posted_from.line_number uint 0",
        ],
    );
    let unknown = new().number(34, 9).message(5, new().number(1, 0));
    let trace = telling_of(&unknown, &locations());
    trace.gives(SAID, &["source_location_iid uint 9"]);
    trace.counted("track_event_parser_errors", 2);
}

#[test]
fn a8_log_messages() {
    let interned = locations().message(20, new().number(1, 1).text(2, "body"));
    let log = |iid, prio| {
        let log = new().number(1, iid).number(2, 1);
        new().message(21, log.number(3, prio))
    };
    telling_of(&log(1, 4), &interned).gives(
        SAID,
        &[
            "track_event.log_message.file_name string dir\\a.cc",
            "track_event.log_message.function_name string fn",
            "track_event.log_message.line_number int 7",
            "track_event.log_message.message string body",
            "track_event.priority int 4",
        ],
    );
    let cut = telling_of(&log(9, 4), &interned);
    cut.gives(SAID, &["track_event.log_message.message string body"]);
    let of_nobody =
        told(&[clear().message(12, interned), event(10, named(INSTANT, "i", 5).and(&log(1, 99)))]);
    of_nobody.gives(SAID, &[]);
    of_nobody.counted("track_event_parser_errors", 1);
}

#[test]
fn a8_an_unknown_priority_is_0() {
    let interned = new().message(20, new().number(1, 1).text(2, "body"));
    let log = new().message(21, new().number(2, 1).number(3, 99));
    telling_of(&log, &interned).gives(
        SAID,
        &["track_event.log_message.message string body", "track_event.priority int 0"],
    );
}

#[test]
fn a8_correlation_ids_and_names_of_histograms() {
    let interned = new()
        .message(43, new().number(1, 1).text(2, "interned"))
        .message(25, new().number(1, 1).text(2, "Histogram"));
    let id = |fields: Message, said: &str| {
        let expected = format!("correlation_id string {said}");
        telling_of(&fields, &interned).gives(SAID, &[&expected]);
    };
    id(new().number(52, 7), "tp:#7");
    id(new().text(53, "said"), "said");
    id(new().number(54, 1), "interned");
    let sample = |sample: Message| new().message(28, sample);
    telling_of(&sample(new().number(4, 1)), &interned).gives(
        SAID,
        &[
            "chrome_histogram_sample.name string Histogram",
            "chrome_histogram_sample.name_iid uint 1",
        ],
    );
    telling_of(&sample(new().text(2, "said").number(4, 1)), &interned).gives(
        SAID,
        &["chrome_histogram_sample.name string said", "chrome_histogram_sample.name_iid uint 1"],
    );
}

#[test]
fn a9_a10_fields_by_the_schema() {
    let component = new().number(1, 1).number(2, 5);
    let latency = new().signed(1, -1).number(2, 99);
    let latency = latency.message(4, component).message(4, new()).number(5, 1);
    let fields = new()
        .message(29, latency)
        .message(25, new().text(1, "first"))
        .message(25, new().text(1, "second"))
        .message(33, new().text(2, "a\\b.cc"));
    telling_of(&fields, &new()).gives(
        "SELECT key, flat_key, coalesce(string_value, int_value) \
         FROM args AS a JOIN slice AS s ON s.arg_set_id = a.arg_set_id \
         WHERE key NOT LIKE '%component_type' ORDER BY key",
        &[
            "chrome_latency_info.component_info[0].time_us \
             chrome_latency_info.component_info.time_us 5",
            "chrome_latency_info.component_info[1] chrome_latency_info.component_info -",
            "chrome_latency_info.is_coalesced chrome_latency_info.is_coalesced 1",
            "chrome_latency_info.step chrome_latency_info.step 99",
            "chrome_latency_info.trace_id chrome_latency_info.trace_id -1",
            "chrome_user_event.action chrome_user_event.action second",
            "source_location.file_name source_location.file_name a\\b.cc",
        ],
    );
}

#[test]
fn a9_extensions_may_be_described_anywhere_in_the_trace() {
    let request = new().text(1, "π").number(2, 1).number(77, 1);
    let extended = named(INSTANT, "i", 5)
        .signed(9901, -5)
        .message(9902, request)
        .text(9903, "a")
        .text(9903, "b")
        .number(9999, 1);
    let set = fs::read(data("extension.descriptor")).unwrap();
    let descriptor = new().bytes(1, &set);
    let trace = told(&[event(10, extended), new().number(10, 1).message(72, descriptor)]);
    trace.gives(
        SAID,
        &[
            "labels[0] string a",
            "labels[1] string b",
            "latency_ns int -5",
            "request.phase string PHASE_SEND",
            "request.url string π",
        ],
    );
    trace.counted("unknown_extension_fields", 2);
}

#[test]
fn a10_repeated_numbers_packed_or_not_and_annotations_inside() {
    let inner = annotation("size", int(9));
    let of_track_event =
        new().number(3, 1).packed(3, &[2, 3]).message(4, inner).number(9, 2).double(46, 0.5);
    let value = proto(".perfetto.protos.TrackEvent", of_track_event);
    telling(&[annotation("k", value)]).gives(
        KEYS,
        &[
            "debug.k.category_iids[0] debug.k.category_iids 1",
            "debug.k.category_iids[1] debug.k.category_iids 2",
            "debug.k.category_iids[2] debug.k.category_iids 3",
            "debug.k.extra_double_counter_values[0] debug.k.extra_double_counter_values 0.5",
            "debug.k.size debug.k.size 9",
            "debug.k.type debug.k.type TYPE_SLICE_END",
        ],
    );
}

/// The thread in the argument, by tid, of each slice.
const PASSED_ON: &str = "SELECT s.name, (SELECT tid FROM args AS a JOIN thread ON utid = int_value \
     WHERE a.arg_set_id = s.arg_set_id AND key = 'legacy_event.passthrough_utid') \
     FROM slice AS s ORDER BY s.id";

#[test]
fn a11_the_thread_of_the_sequence_is_told_where_no_other_is() {
    let trace = told(&[
        described(1, process(10, "p")),
        described(2, process(20, "other")),
        described(3, thread(10, 12)),
        described(4, new().text(2, "of nobody")),
        clear(),
        references(10, 11, [0, 0, 0]),
        event(10, named(INSTANT, "of its process", 1)),
        event(20, named(INSTANT, "of another", 2)),
        event(30, named(INSTANT, "of a thread", 3)),
        event(40, named(INSTANT, "of nobody", 4)),
        event(50, named(INSTANT, "uuid 0", 0)),
    ]);
    trace.gives(
        PASSED_ON,
        &["of its process 11", "of another -", "of a thread -", "of nobody 11", "uuid 0 -"],
    );
}

#[test]
fn a11_l5_l7_legacy_events_on_other_tracks_tell_of_their_own_thread() {
    let phase = |time, phase, name, uuid, fields: Message| {
        let event_of = legacy(phase, fields).and(&named(0, name, uuid));
        event(time, event_of)
    };
    let id = || new().number(6, 1);
    let trace = told(&[
        described(1, process(10, "p")),
        described(3, thread(10, 12)),
        clear(),
        references(10, 11, [0, 0, 0]),
        phase(10, 'n', "async of a thread", 3, id()),
        phase(20, 'n', "async of a process", 1, id()),
        phase(30, 'i', "global", 3, new().number(14, 1)),
        phase(40, 'i', "of the process", 1, new().number(14, 2)),
    ]);
    trace.gives(
        PASSED_ON,
        &["async of a thread 12", "async of a process -", "global 12", "of the process -"],
    );
}

#[test]
fn a11_j7_the_tid_that_is_told_is_the_one_written() {
    let sandboxed = thread(10, 11).message(7, new().number(3, 1));
    let trace = told(&[
        described(4, new().text(2, "of nobody")),
        clear(),
        described(1, sandboxed),
        event(10, named(INSTANT, "i", 4)),
        event(20, new().number(9, INSTANT).text(23, "uuid 0")),
    ]);
    trace.gives(PASSED_ON, &["i 11", "uuid 0 -"]);
    let tid = (10_i64 << 32) + 11;
    trace.gives(
        "SELECT tid FROM slice JOIN thread_track AS k ON k.id = track_id JOIN thread USING (utid)",
        &[&tid.to_string()],
    );
}

/// Slices by the packets that began them, with their arguments as JSON.
const BEGUN: &str = "SELECT packet_id, args FROM slice WHERE args IS NOT NULL";

/// Packets that began slices, by the packets that ended them at the same time.
const ENDED: &str = "SELECT p.id, s.packet_id FROM slice AS s JOIN packet AS p ON p.ts = s.ts + s.dur \
     WHERE p.type = 'track_event' AND p.id != s.packet_id";

fn pairs<T: rusqlite::types::FromSql>(conn: &Connection, sql: &str) -> Vec<(i64, T)> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// The annotations of slices, by the packet that began each: Perfetto's Python package reads them
/// in that packet and in the one that ended it.
fn expected(trace: &str, ended: &[(i64, i64)]) -> BTreeMap<i64, Map<String, Value>> {
    let mut slices: BTreeMap<i64, Map<String, Value>> = BTreeMap::new();
    for event in fixture(&format!("args/{trace}.jsonl.zst")) {
        let packet = event["packet_id"].as_i64().unwrap();
        let begun: Vec<i64> = match event["type"].as_str().unwrap() {
            "end" => {
                ended.iter().filter(|(end, _)| *end == packet).map(|(_, begin)| *begin).collect()
            }
            _ => vec![packet],
        };
        assert!(begun.len() <= 1, "{trace}: several slices end at packet {packet}");
        for slice in begun {
            let args = event["args"].as_object().unwrap().clone();
            slices.entry(slice).or_default().extend(args);
        }
    }
    slices
}

#[test]
fn a1_a3_a4_a5_a6_annotations_are_what_perfettos_python_package_reads() {
    for trace in ["app", "sdk"] {
        let imported = Imported::new(&format!("{trace}.pftrace"), &[]);
        let ended = pairs(&imported.conn, ENDED);
        let mut found = BTreeMap::new();
        for (packet, args) in pairs::<String>(&imported.conn, BEGUN) {
            let mut args: Map<String, Value> = serde_json::from_str(&args).unwrap();
            args.retain(|key, _| key.starts_with("debug."));
            if !args.is_empty() {
                found.insert(packet, args);
            }
        }
        let expected = expected(trace, &ended);
        assert!(expected.len() > 500, "{trace}: {}", expected.len());
        for (packet, args) in &expected {
            assert_eq!(found.get(packet), Some(args), "{trace}, packet {packet}");
        }
        assert_eq!(found.len(), expected.len(), "{trace}");
    }
}

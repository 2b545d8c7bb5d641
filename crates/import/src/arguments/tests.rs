use proptest::collection::vec;
use proptest::prelude::*;
use timebase_descriptor::Pool;

use super::testing::listed;
use super::*;
use crate::definitions::Names;

/// The keys of arguments.
fn keys(args: &[u8], names: &Names) -> Vec<String> {
    let args = Args::new(args).filter(|arg| arg.what != EntryContent::Count);
    let key = |arg: set::Arg<'_>| {
        let mut key = String::new();
        arg.key.write(names.texts(), &mut key);
        key
    };
    args.map(key).collect()
}

#[test]
fn a2_what_is_written_is_read() {
    let mut names = Names::default();
    let long = "k".repeat(2000);
    let values = [
        ("i", ArgValue::Int(i64::MIN)),
        ("", ArgValue::Uint(u64::MAX)),
        ("p", ArgValue::Pointer(u64::MAX)),
        ("b", ArgValue::Bool(true)),
        ("b", ArgValue::Bool(false)),
        (&long, ArgValue::Real(-0.5)),
        ("ü.t", ArgValue::Text("text")),
        ("t", ArgValue::NoText),
        ("n", ArgValue::Null),
    ];
    let mut args = ArgBuf::default();
    for (key, value) in values {
        args.push(key, value, &mut names);
    }
    let read = Args::new(args.as_bytes());
    let read: Vec<_> = read.map(|arg| (arg.key.flat(names.texts()), arg.what)).collect();
    assert_eq!(read, values.map(|(key, value)| (key, EntryContent::Value(value))));
    let cut = &args.as_bytes()[..args.as_bytes().len() - 2];
    assert_eq!(Args::new(cut).count(), values.len() - 1);
}

#[test]
fn a3_a_flat_key_has_no_positions() {
    let mut names = Names::default();
    let args = listed(&["debug.a.b[0].c[11][2!]", "a"], &mut names);
    assert_eq!(keys(&args, &names), ["debug.a.b[0].c[11][2]", "a"]);
    let flat: Vec<_> =
        Args::new(&args).map(|arg| (arg.key.flat(names.texts()), arg.key.is_flat())).collect();
    assert_eq!(flat, [("debug.a.b.c", false), ("a", true)]);
}

#[test]
fn a5_lists_go_on_where_those_of_the_same_key_stopped() {
    let mut names = Names::default();
    let mut merged = |begin: &[&str], end: &[&str]| {
        let mut args = listed(begin, &mut names);
        let more = listed(end, &mut names);
        merge(&mut args, &more, &names);
        keys(&args, &names).split_off(begin.iter().filter(|key| !key.starts_with('+')).count())
    };
    assert_eq!(merged(&["a[0]", "a[1]"], &["b", "a[0]", "b[0]"]), ["b", "a[2]", "b[0]"]);
    // A list of another key, which begins alike.
    assert_eq!(merged(&["a.b[0]"], &["a[0]", "a[0].b[0]"]), ["a[0]", "a[0].b[0]"]);
    // Lists in a new entry are new.
    assert_eq!(
        merged(&["a[0][0]", "a[0][1]"], &["a[0][0]", "a[1].c[0]"]),
        ["a[1][0]", "a[2].c[0]"]
    );
    // A list whose last entries have no arguments.
    assert_eq!(merged(&["a[0].x", "+a[2]"], &["a[0].x", "+a[1]"]), ["a[2].x"]);
    assert_eq!(merged(&["+a[2]", "a[2]"], &["a[0]"]), ["a[3]"]);
    // In a message, entries have fixed places; a list inside an entry continues.
    assert_eq!(
        merged(&["m[0!]", "m[0!].l[4]"], &["m[0!]", "m[0!].l[0]", "m[1!].l[0]"]),
        ["m[0]", "m[0].l[5]", "m[1].l[0]"]
    );
}

#[test]
fn a5_where_a_list_goes_on_is_remembered_by_the_next() {
    let mut names = Names::default();
    let mut args = listed(&["a[0]"], &mut names);
    for (more, expected) in [("a[0]", "a[1]"), ("+a[3]", "a[1]"), ("a[0]", "a[5]")] {
        let more = listed(&[more], &mut names);
        merge(&mut args, &more, &names);
        assert_eq!(keys(&args, &names).last().unwrap(), expected);
    }
}

/// Interned data: field, number, text. A source location has its three parts with a `|` between.
struct Texts(Vec<(u32, u64, Vec<u8>)>);

impl Texts {
    fn new(texts: &[(u32, u64, &str)]) -> Self {
        let entry = |(field, iid, text): &(u32, u64, &str)| {
            let mut entry = number(1, *iid);
            for (part, text) in (2..).zip(text.split('|')) {
                match (part, text) {
                    (_, "-") => {}
                    (4, line) => entry.extend(number(4, line.parse().unwrap())),
                    _ => entry.extend(bytes(part, text)),
                }
            }
            (*field, *iid, entry)
        };
        Texts(texts.iter().map(entry).collect())
    }
}

impl Interning for Texts {
    fn entry(&self, field: u32, iid: u64) -> Option<&[u8]> {
        let mut entries = self.0.iter();
        let entry = entries.find(|(of, number, _)| (*of, *number) == (field, iid));
        entry.map(|(_, _, entry)| entry.as_slice())
    }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn number(field: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(field) << 3), varint(value)].concat()
}

fn real(field: u32, value: f64) -> Vec<u8> {
    [varint(u64::from(field) << 3 | 1), value.to_le_bytes().to_vec()].concat()
}

fn bytes(field: u32, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    let head = [varint(u64::from(field) << 3 | 2), varint(value.len() as u64)];
    [head.concat(), value.to_vec()].concat()
}

/// An annotation of an event.
fn annotation(name: &str, value: &[Vec<u8>]) -> Vec<u8> {
    bytes(4, entry(name, value))
}

/// An entry of a dictionary.
fn entry(name: &str, value: &[Vec<u8>]) -> Vec<u8> {
    [bytes(10, name), value.concat()].concat()
}

fn list(entries: &[Vec<u8>]) -> Vec<u8> {
    entries.iter().flat_map(|entry| bytes(12, entry)).collect()
}

fn json(text: &str) -> Vec<u8> {
    bytes(9, text)
}

/// `key=value type`, in the order of the keys.
fn shown(args: &[u8], names: &Names) -> Vec<String> {
    let mut shown = std::collections::BTreeMap::new();
    for arg in Args::new(args) {
        let EntryContent::Value(value) = arg.what else {
            continue;
        };
        let value = match value {
            ArgValue::Int(value) => format!("{value} int"),
            ArgValue::Uint(value) => format!("{value} uint"),
            ArgValue::Pointer(value) => format!("{value:#x} pointer"),
            ArgValue::Bool(value) => format!("{value} bool"),
            ArgValue::Real(value) => format!("{value} real"),
            ArgValue::Text(value) => value.to_owned(),
            ArgValue::NoText => "no text".to_owned(),
            ArgValue::Null => "null".to_owned(),
        };
        let mut key = String::new();
        arg.key.write(names.texts(), &mut key);
        shown.insert(key, value);
    }
    shown.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// Decodes events with interned data and the schema.
struct Decoding {
    texts: Texts,
    pool: Pool,
    names: Names,
    args: EventArgs,
}

impl Decoding {
    fn new(texts: &[(u32, u64, &str)]) -> Self {
        Decoding {
            texts: Texts::new(texts),
            pool: Pool::perfetto(),
            names: Names::default(),
            args: EventArgs::default(),
        }
    }

    fn decode(&mut self, event: &[Vec<u8>]) -> Vec<String> {
        let event = event.concat();
        decode(&event, &self.texts, &self.pool, &mut self.names, &mut self.args);
        shown(self.args.main.as_bytes(), &self.names)
    }

    fn log(&self) -> Vec<String> {
        shown(self.args.log.as_bytes(), &self.names)
    }
}

#[test]
fn a4_an_annotation_is_the_first_value_that_is_there() {
    let mut decoding = Decoding::new(&[(3, 7, "interned.name"), (29, 5, "text"), (29, 6, "-")]);
    let values = [
        (vec![number(2, 1)], "true bool"),
        (vec![number(3, u64::MAX)], "18446744073709551615 uint"),
        (vec![number(4, u64::MAX)], "-1 int"),
        (vec![real(5, 1.5)], "1.5 real"),
        (vec![bytes(6, b"a\xffb")], "a\u{fffd}b"),
        (vec![number(17, 5)], "text"),
        (vec![number(17, 6)], ""),
        (vec![number(7, 16)], "0x10 pointer"),
        (vec![json("7"), bytes(6, "first")], "first"),
        // Of equal fields, the last counts.
        (vec![number(4, 1), number(4, 2), number(3, 3)], "3 uint"),
        (vec![number(2, 1), number(2, 0)], "false bool"),
    ];
    for (value, expected) in values {
        let args = decoding.decode(&[annotation("a", &value)]);
        assert_eq!(args, [format!("debug.a={expected}")]);
    }
    assert!(decoding.decode(&[annotation("a", &[])]).is_empty());
    let one = [number(4, 1)].concat();
    let named = |name: Vec<u8>| bytes(4, [name, one.clone()].concat());
    let args = decoding.decode(&[named([number(1, 7), bytes(10, "other")].concat())]);
    assert_eq!(args, ["debug.interned_name=1 int"]);
    let args = decoding.decode(&[named([number(1, 0), bytes(10, "[a].b")].concat())]);
    assert_eq!(args, ["debug._a__b=1 int"]);
    assert_eq!(decoding.decode(&[annotation("", &[one])]), ["debug.=1 int"]);
    assert_eq!(decoding.args.errors, 0);
}

#[test]
fn a4_a_fault_ends_an_annotation_and_what_it_added_stays() {
    let mut decoding = Decoding::new(&[]);
    let one = [number(4, 1)];
    let dict = [
        bytes(11, entry("b", &one)),
        bytes(11, entry("c", &[number(17, 9)])),
        bytes(11, entry("d", &one)),
    ];
    let event = [
        annotation("a", &[list(&[dict.concat()])]),
        bytes(4, number(4, 1)),
        annotation("e", &one),
        bytes(4, [number(1, 3), number(4, 1)].concat()),
        annotation("p", &[bytes(14, ""), bytes(16, "perfetto.protos.TraceUuid")]),
        annotation("q", &[bytes(14, "")]),
    ];
    let args = decoding.decode(&event);
    assert_eq!(args, ["debug.a[0].b=1 int", "debug.e=1 int"]);
    assert_eq!((decoding.args.errors, decoding.args.missing_iids), (5, 2));
    assert!(decoding.args.needs_schema);
    // The entry with the fault does not count.
    let event = [event[0].clone(), annotation("a", &[list(&[one.concat()])])];
    let args = decoding.decode(&event);
    assert_eq!(args, ["debug.a[0]=1 int", "debug.a[0].b=1 int"]);
}

#[test]
fn a4_what_is_nested_deeply_is_a_fault() {
    let mut value = number(4, 1);
    for _ in 0..90 {
        value = list(&[value]);
    }
    let mut decoding = Decoding::new(&[]);
    assert_eq!(decoding.decode(&[annotation("a", &[value.clone()])]).len(), 1);
    for _ in 0..300 {
        value = list(&[value]);
    }
    assert!(decoding.decode(&[annotation("a", &[value])]).is_empty());
    assert_eq!(decoding.args.errors, 1);
    let deep = "[".repeat(120) + &"]".repeat(120);
    assert!(decoding.decode(&[annotation("a", &[json(&deep)])]).is_empty());
}

#[test]
fn a4_few_bytes_cannot_become_many() {
    let text = "t".repeat(1 << 20);
    let mut decoding = Decoding::new(&[(29, 5, &text), (3, 5, &text)]);
    let one = annotation("a", &[number(17, 5)]);
    decoding.decode(&vec![one; 100]);
    assert!(decoding.args.main.as_bytes().len() < 20 << 20);
    assert!(decoding.args.errors > 0);
    // A key that is too long is also a fault.
    let named = bytes(4, [number(1, 5), number(4, 1)].concat());
    assert!(decoding.decode(&[named]).is_empty());
    assert_eq!(decoding.args.errors, 1);
}

#[test]
fn a5_lists_of_begin_and_end() {
    let mut decoding = Decoding::new(&[]);
    let (five, six, seven) = (number(4, 5), number(4, 6), number(4, 7));
    let begin = annotation("l.x", &[list(&[five, vec![], list(&[six, seven])])]);
    let end = [
        annotation("l.x", &[list(&[bytes(6, "e")])]),
        annotation("j", &[json(r#"{"b.c": [1, null, {"d": true}]}"#)]),
    ];
    decoding.decode(&[begin]);
    let mut slice = decoding.args.main.as_bytes().to_vec();
    decoding.decode(&end);
    merge(&mut slice, decoding.args.main.as_bytes(), &decoding.names);
    assert_eq!(
        shown(&slice, &decoding.names),
        [
            "debug.j.b.c[0]=1 int",
            "debug.j.b.c[1].d=true bool",
            "debug.l_x[0]=5 int",
            "debug.l_x[1][0]=6 int",
            "debug.l_x[1][1]=7 int",
            "debug.l_x[2]=e",
        ]
    );
    let flat: Vec<_> = Args::new(&slice).map(|arg| arg.key.flat(decoding.names.texts())).collect();
    let lists = ["debug.l_x"; 4];
    assert_eq!(flat, [&lists[..], &["debug.j.b.c", "debug.j.b.c.d"]].concat());
}

#[test]
fn a5_an_entry_counts_if_it_added_something() {
    let mut decoding = Decoding::new(&[]);
    let one = number(4, 1);
    let proto = [bytes(14, ""), bytes(16, ".perfetto.protos.TraceUuid")].concat();
    let entries = [
        list(&[]),
        list(&[list(&[])]),
        bytes(11, entry("d", &[])),
        json("null"),
        json("no JSON"),
        proto,
        one.clone(),
    ];
    let args = decoding.decode(&[
        annotation("a", &[list(&entries)]),
        annotation("a", &[list(std::slice::from_ref(&one))]),
    ]);
    assert_eq!(args, ["debug.a[3]=null", "debug.a[4]=1 int", "debug.a[5]=1 int"]);
    // No key tells that there were entries, but the end continues after them.
    decoding.decode(&[annotation("a", &[list(&entries[2..4])])]);
    let mut slice = decoding.args.main.as_bytes().to_vec();
    decoding.decode(&[annotation("a", &[list(&[one])])]);
    merge(&mut slice, decoding.args.main.as_bytes(), &decoding.names);
    assert_eq!(shown(&slice, &decoding.names), ["debug.a[2]=1 int"]);
}

#[test]
fn a6_json_becomes_arguments() {
    let mut decoding = Decoding::new(&[]);
    let mut decoded = |text: &str| decoding.decode(&[annotation("j", &[json(text)])]);
    assert_eq!(
        decoded(
            r#" {"a.b": {"c": [[], {}, null, 1]}, "": "t\u00fc", "n": null,
                "min": -9223372036854775808, "max": 9223372036854775807,
                "more": 9223372036854775808, "x": 0.1, "y": 1e2, "t": true} "#
        ),
        [
            "debug.j.=tü",
            "debug.j.a.b.c[2]=1 int",
            "debug.j.max=9223372036854775807 int",
            "debug.j.min=-9223372036854775808 int",
            "debug.j.more=9223372036854776000 real",
            "debug.j.t=true bool",
            "debug.j.x=0.1 real",
            "debug.j.y=100 real",
        ]
    );
    assert_eq!(decoded("5"), ["debug.j=5 int"]);
    assert_eq!(
        decoded(r#"{"a": 1, "b": 2, "a": [3], "a": [4]}"#),
        ["debug.j.a=1 int", "debug.j.a[0]=3 int", "debug.j.a[1]=4 int", "debug.j.b=2 int"]
    );
    assert_eq!(decoded(r#"{"a": 1, "a": 2}"#), ["debug.j.a=2 int"]);
    for text in ["", "null", "{\"a\": 1", "[1, 2] 3", "{'a': 1}", "[1,]", "NaN"] {
        assert!(decoded(text).is_empty(), "{text}");
    }
    assert_eq!(decoding.args.errors, 0);
}

#[test]
fn a7_messages_and_nested_values_are_annotations() {
    let mut decoding = Decoding::new(&[(27, 1, ".perfetto.protos.DebugAnnotation")]);
    let location = [bytes(2, "f.cc"), number(4, 3), number(99, 1)].concat();
    let typed = [bytes(14, &location), bytes(16, ".perfetto.protos.SourceLocation")];
    let args = decoding.decode(&[annotation("k", &typed)]);
    assert_eq!(args, ["debug.k.file_name=f.cc", "debug.k.line_number=3 uint"]);
    assert_eq!((decoding.args.unknown, decoding.args.needs_schema), (0, true));
    let inner = entry("a.b", &[number(4, 1)]);
    let args = decoding.decode(&[annotation("k", &[bytes(14, inner), number(13, 1)])]);
    assert_eq!(args, ["debug.k.a_b=1 int"]);

    let leaf = |value: Vec<u8>| value;
    let nested_list = |entries: &[Vec<u8>]| {
        let entries = entries.iter().flat_map(|entry| bytes(4, entry));
        [number(1, 2), entries.collect()].concat()
    };
    let nested_dict = |entries: &[(&str, Vec<u8>)]| {
        let keys = entries.iter().flat_map(|(key, _)| bytes(2, key));
        let values = entries.iter().flat_map(|(_, value)| bytes(3, value));
        [number(1, 1), keys.collect(), values.collect()].concat()
    };
    let value = nested_dict(&[
        ("a.b", leaf([number(5, 7), number(7, 1)].concat())),
        ("l", nested_list(&[real(6, 0.5), vec![], nested_dict(&[]), bytes(8, "t")])),
    ]);
    let args = decoding.decode(&[annotation("n", &[bytes(8, value)])]);
    assert_eq!(args, ["debug.n.a_b=true bool", "debug.n.l[0]=0.5 real", "debug.n.l[2]=t"]);
    let uneven = [nested_dict(&[("a", number(5, 1))]), bytes(2, "b")].concat();
    assert!(decoding.decode(&[annotation("n", &[bytes(8, uneven)])]).is_empty());
    assert_eq!(decoding.args.errors, 1);
}

#[test]
fn a8_what_an_event_says_itself() {
    let mut decoding = Decoding::new(&[
        (4, 1, "dir\\a.cc|main|12"),
        (4, 2, "-"),
        (20, 1, "said"),
        (25, 1, "Histogram"),
        (43, 1, "interned"),
    ]);
    let args = decoding.decode(&[number(34, 1), bytes(5, number(1, 2))]);
    assert_eq!(
        args,
        [
            "source.file_name=dir/a.cc",
            "source.function_name=main",
            "source.line_number=12 uint",
            "source_location_iid=1 uint",
            "task.posted_from.file_name=",
            "task.posted_from.function_name=no text",
            "task.posted_from.line_number=0 uint",
        ]
    );
    // Numbers without an entry.
    let args = decoding.decode(&[number(34, 0), bytes(5, number(1, 7)), bytes(5, "")]);
    assert_eq!(args, ["source_location_iid=0 uint"]);
    assert_eq!((decoding.args.errors, decoding.args.missing_iids), (2, 0));

    let ids = [number(52, 7), bytes(53, "text"), number(54, 1)];
    assert_eq!(decoding.decode(&ids), ["correlation_id=interned"]);
    assert_eq!(decoding.decode(&ids[..2]), ["correlation_id=text"]);
    assert_eq!(decoding.decode(&ids[..1]), ["correlation_id=tp:#7"]);

    let sample = |sample: &[Vec<u8>]| [bytes(28, sample.concat())];
    let args = decoding.decode(&sample(&[number(4, 1)]));
    let name = "chrome_histogram_sample.name";
    assert_eq!(args, [format!("{name}=Histogram"), format!("{name}_iid=1 uint")]);
    let args = decoding.decode(&sample(&[number(4, 1), bytes(2, "own")]));
    assert_eq!(args, [format!("{name}=own"), format!("{name}_iid=1 uint")]);
}

#[test]
fn a8_a_log_message_is_apart() {
    let mut decoding = Decoding::new(&[(4, 1, "dir\\a.cc|-|12"), (20, 1, "said"), (20, 2, "-")]);
    let message = |fields: &[Vec<u8>]| [bytes(21, fields.concat())];
    let mut decoded = |fields: &[Vec<u8>]| {
        assert!(decoding.decode(&message(fields)).is_empty());
        assert!(decoding.args.has_log);
        (decoding.log(), decoding.args.log_errors)
    };
    let (args, errors) = decoded(&[number(1, 1), number(2, 1), number(3, 5)]);
    let log = |key: &str| format!("track_event.log_message.{key}");
    assert_eq!(
        args,
        [
            log("file_name=dir\\a.cc"),
            log("function_name=no text"),
            log("line_number=12 int"),
            log("message=said"),
            "track_event.priority=5 int".to_owned(),
        ]
    );
    assert_eq!(errors, 0);
    let (args, errors) = decoded(&[number(2, 2), number(3, 8)]);
    assert_eq!(args, [log("message=no text"), "track_event.priority=0 int".to_owned()]);
    assert_eq!(errors, 0);
    let (args, errors) = decoded(&[number(2, 1), number(1, 9), number(3, 5)]);
    assert_eq!((args, errors), (vec![log("message=said")], 1));
    assert_eq!(decoded(&[number(3, 5)]), (vec![], 1));
}

#[test]
fn a9_fields_that_the_schema_knows_are_arguments() {
    let mut decoding = Decoding::new(&[]);
    let event = [
        number(9, 1),
        bytes(23, "name"),
        number(30, 5),
        bytes(25, bytes(1, "click")),
        bytes(33, [bytes(2, "a.cc"), number(77, 1)].concat()),
        number(9901, 7),
        number(37, 1),
    ];
    let args = decoding.decode(&event);
    assert_eq!(args, ["chrome_user_event.action=click", "source_location.file_name=a.cc"]);
    assert_eq!((decoding.args.unknown, decoding.args.needs_schema), (3, true));

    // extend TrackEvent { repeated int32 sizes = 9901; }
    let extension = [
        bytes(1, "sizes"),
        bytes(2, ".perfetto.protos.TrackEvent"),
        number(3, 9901),
        number(4, 3),
        number(5, 5),
    ];
    let file = [bytes(1, "e.proto"), bytes(7, extension.concat())].concat();
    decoding.pool.extend(&bytes(1, file)).unwrap();
    let args = decoding.decode(&[number(9901, 7), bytes(9901, [8, 9]), number(9, 1)]);
    assert_eq!(args, ["sizes[0]=7 int", "sizes[1]=8 int", "sizes[2]=9 int"]);
    assert_eq!((decoding.args.unknown, decoding.args.needs_schema), (0, false));
    // A value of the wrong type is unknown.
    assert!(decoding.decode(&[real(9901, 1.0)]).is_empty());
    assert_eq!(decoding.args.unknown, 1);
}

#[test]
fn a9_a_fault_ends_what_the_schema_tells_of() {
    let mut decoding = Decoding::new(&[]);
    let nameless = bytes(4, number(4, 1));
    let extension = [
        bytes(1, "inner"),
        bytes(2, ".perfetto.protos.TrackEvent"),
        number(3, 9901),
        number(4, 1),
        number(5, 11),
        bytes(6, ".perfetto.protos.TrackEvent"),
    ];
    let file = [bytes(1, "e.proto"), bytes(7, extension.concat())].concat();
    decoding.pool.extend(&bytes(1, file)).unwrap();
    let user = bytes(25, bytes(1, "a"));
    let event = [annotation("z", &[number(4, 1)]), user.clone(), bytes(9901, nameless), user];
    let args = decoding.decode(&event);
    assert_eq!(args, ["chrome_user_event.action=a", "debug.z=1 int"]);
    assert_eq!(decoding.args.errors, 1);
}

#[test]
fn a10_values_of_messages_have_the_types_of_the_schema() {
    let mut decoding = Decoding::new(&[]);
    let typed = |message: &[Vec<u8>]| {
        let name = bytes(16, ".perfetto.protos.TrackEvent");
        [annotation("k", &[bytes(14, message.concat()), name])]
    };
    let args = decoding.decode(&typed(&[
        number(1, u64::MAX),
        number(3, 8),
        bytes(3, [9]),
        number(9, 1),
        real(44, 0.5),
        bytes(46, 1.5f64.to_le_bytes()),
        bytes(47, u64::MAX.to_le_bytes()),
        bytes(50, bytes(1, b"\xff\xfe")),
        bytes(25, ""),
        annotation("size", &[number(2, 1)]),
    ]));
    assert_eq!(
        args,
        [
            "debug.k.category_iids[0]=8 uint",
            "debug.k.category_iids[1]=9 uint",
            "debug.k.chrome_user_event=null",
            "debug.k.double_counter_value=0.5 real",
            "debug.k.extra_double_counter_values[0]=1.5 real",
            "debug.k.flow_ids[0]=18446744073709551615 uint",
            "debug.k.screenshot.jpg_image=//4=",
            "debug.k.size=true bool",
            "debug.k.timestamp_delta_us=-1 int",
            "debug.k.type=TYPE_SLICE_BEGIN",
        ]
    );
    assert!(!decoding.args.needs_schema);
    assert_eq!(decoding.decode(&typed(&[number(9, 77)])), ["debug.k.type=77"]);
    assert!(decoding.args.needs_schema);
    assert_eq!(decoding.decode(&typed(&[])), ["debug.k=null"]);
}

proptest! {
    #[test]
    fn a5_an_end_goes_on_as_if_it_were_of_the_same_event(
        begin in vec(annotations(), 0..4),
        end in vec(annotations(), 0..4),
    ) {
        let mut decoding = Decoding::new(&[]);
        decoding.decode(&begin);
        let mut slice = decoding.args.main.as_bytes().to_vec();
        decoding.decode(&end);
        merge(&mut slice, decoding.args.main.as_bytes(), &decoding.names);
        let together = decoding.decode(&[begin, end].concat());
        prop_assert_eq!(shown(&slice, &decoding.names), together);
    }

    #[test]
    fn a4_any_bytes_are_read_without_panic(event in vec(any::<u8>(), 0..200)) {
        let mut decoding = Decoding::new(&[]);
        decoding.decode(&[bytes(4, [bytes(10, "a"), event.clone()].concat())]);
        decoding.decode(std::slice::from_ref(&event));
        merge(&mut event.clone(), &event, &decoding.names);
    }
}

/// Annotations of two names that have lists and dictionaries of each other, and faults.
fn annotations() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        Just(Vec::new()),
        Just(number(17, 9)),
        any::<i8>().prop_map(|value| number(4, i64::from(value) as u64)),
        Just(json(r#"{"b": [1, null, [2]]}"#)),
        Just(json("null")),
        Just([bytes(14, bytes(22, "c")), bytes(16, ".perfetto.protos.TrackEvent")].concat()),
    ];
    let value = leaf.prop_recursive(4, 20, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|entries| list(&entries)),
            vec((name(), inner), 0..3).prop_map(|entries| {
                let entries = entries.iter();
                entries
                    .flat_map(|(name, value)| bytes(11, entry(name, std::slice::from_ref(value))))
                    .collect()
            }),
        ]
    });
    (name(), value).prop_map(|(name, value)| annotation(name, &[value]))
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("b")]
}

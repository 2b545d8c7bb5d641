use prost::Message;
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto};

use super::everything::{bytes, enumeration, field, file, message, repeated, set, typed};
use crate::{DescriptorError, FieldValue, Kind, MessageId, Path, Pool, TRACE_PACKET};

fn extension(extendee: &str, field: FieldDescriptorProto) -> FieldDescriptorProto {
    FieldDescriptorProto { extendee: Some(extendee.into()), ..field }
}

fn json(pool: &Pool, message: MessageId, bytes: impl AsRef<[u8]>) -> String {
    let mut out = String::new();
    pool.write_json(message, bytes.as_ref(), &mut out).unwrap();
    out
}

fn track_event(pool: &Pool) -> MessageId {
    pool.message("perfetto.protos.TrackEvent").unwrap()
}

/// As in browsers: a message whose extensions are declared inside another message.
fn browser() -> FileDescriptorProto {
    let click = typed(9900, "click", Type::Message, "Click");
    let clicks = repeated(field(9901, "clicks", Type::Uint32));
    let wrapper = DescriptorProto {
        extension: vec![
            extension(".perfetto.protos.TrackEvent", click),
            extension("perfetto.protos.TrackEvent", clicks),
            extension(".somewhere.Else", field(1, "lost", Type::Bool)),
        ],
        nested_type: vec![message("Click", vec![field(1, "x", Type::Sint32)])],
        ..message("Wrapper", vec![])
    };
    FileDescriptorProto {
        dependency: vec!["not/there.proto".into()],
        ..file("browser", vec![wrapper])
    }
}

#[test]
fn an_extension_is_a_field_of_the_message_that_it_extends() {
    let mut pool = Pool::perfetto();
    pool.extend(&set(browser())).unwrap();
    let event = bytes().bytes(9900, bytes().varint(1, 3)).varint(9901, 1).bytes(9901, [2]);
    assert_eq!(json(&pool, track_event(&pool), &event), r#"{"click":{"x":-2},"clicks":[1,2]}"#);

    let packet = bytes().bytes(11, &event);
    let root = pool.message(TRACE_PACKET).unwrap();
    for path in ["track_event.click.x", "track_event.[browser.Wrapper.click].x"] {
        let path = Path::parse(&pool, root, path).unwrap();
        assert_eq!(path.get(&pool, &packet.0).unwrap(), Some(FieldValue::Integer(-2)));
    }
}

#[test]
fn a_clone_does_not_see_what_another_is_extended_by() {
    let mut pool = Pool::perfetto();
    let before = pool.clone();
    pool.extend(&set(browser())).unwrap();
    assert!(pool.field(track_event(&pool), 9900).is_some());
    assert!(before.field(track_event(&before), 9900).is_none());
    assert!(Pool::perfetto().message("browser.Wrapper").is_none());
}

#[test]
fn an_extension_has_its_full_name_where_the_short_one_is_taken() {
    let mut pool = Pool::perfetto();
    let extensions = vec![
        extension(".perfetto.protos.TrackEvent", field(9902, "type", Type::Bool)),
        extension(".perfetto.protos.TrackEvent", field(9903, "own", Type::Bool)),
    ];
    let mut with = file("other", vec![]);
    with.extension = extensions;
    pool.extend(&set(with)).unwrap();
    let event = bytes().varint(9902, 1).varint(9, 1).varint(9903, 0);
    assert_eq!(
        json(&pool, track_event(&pool), event),
        r#"{"[other.type]":true,"type":"TYPE_SLICE_BEGIN","own":false}"#
    );
    let field = |name| pool.field_by_name(track_event(&pool), name).unwrap().number;
    assert_eq!((field("type"), field("[other.type]"), field("[other.own]")), (9, 9902, 9903));
}

#[test]
fn of_two_definitions_of_a_field_the_first_counts() {
    let mut pool = Pool::default();
    let mut first = file("p", vec![message("M", vec![field(1, "a", Type::Int32)])]);
    first.enum_type.push(enumeration("E", &[("ONE", 1)]));
    let mut second = file(
        "p",
        vec![message(
            "M",
            vec![
                field(1, "renamed", Type::String),
                field(2, "a", Type::String),
                typed(3, "e", Type::Enum, "E"),
                typed(1, "unresolved", Type::Message, "Nowhere"),
            ],
        )],
    );
    second.enum_type.push(enumeration("E", &[("EINS", 1), ("TWO", 2)]));
    pool.extend(&set(first)).unwrap();
    let before = pool.message("p.M").unwrap();
    pool.extend(&set(second.clone())).unwrap();
    pool.extend(&set(second)).unwrap();
    assert_eq!(pool.message("p.M"), Some(before));
    let message = |e| bytes().varint(1, 5).bytes(2, "x").varint(3, e);
    assert_eq!(json(&pool, before, message(1)), r#"{"a":5,"2":"eA==","e":"ONE"}"#);
    assert_eq!(json(&pool, before, message(2)), r#"{"a":5,"2":"eA==","e":"TWO"}"#);
}

#[test]
fn a_type_that_is_not_known_is_an_error_and_changes_nothing() {
    let mut pool = Pool::perfetto();
    let good = message("Good", vec![field(1, "a", Type::Int32)]);
    let bad = message("Bad", vec![typed(1, "b", Type::Message, ".p.Missing")]);
    let error = pool.extend(&set(file("p", vec![good, bad]))).unwrap_err();
    assert_eq!(
        error,
        DescriptorError::UnknownType { field: "p.Bad.b".into(), type_name: ".p.Missing".into() }
    );
    assert_eq!(error.to_string(), "field p.Bad.b has the unknown type '.p.Missing'");
    assert!(pool.message("p.Good").is_none());
}

#[test]
fn a_relative_name_means_the_innermost() {
    let mut outer = message("Outer", vec![typed(1, "inner", Type::Message, "T")]);
    outer.nested_type = vec![message("T", vec![])];
    let user = message("User", vec![typed(1, "outer", Type::Message, "T")]);
    let mut pool = Pool::default();
    pool.extend(&set(file("a.b", vec![outer, user, message("T", vec![])]))).unwrap();
    let kind = |of: &str| pool.field(pool.message(of).unwrap(), 1).unwrap().kind;
    assert_eq!(kind("a.b.Outer"), Kind::Message(pool.message("a.b.Outer.T").unwrap()));
    assert_eq!(kind("a.b.User"), Kind::Message(pool.message("a.b.T").unwrap()));
}

#[test]
fn what_cannot_be_a_field_is_skipped() {
    let mut pool = Pool::default();
    let untyped = FieldDescriptorProto { r#type: None, ..field(3, "untyped", Type::Bool) };
    let named = FieldDescriptorProto { r#type: None, ..typed(4, "named", Type::Bool, "M") };
    let fields =
        vec![typed(1, "group", Type::Group, "G"), field(-1, "minus", Type::Bool), untyped, named];
    pool.extend(&set(file("", vec![message("M", fields)]))).unwrap();
    let id = pool.message("M").unwrap();
    assert!([1, 3].iter().all(|&number| pool.field(id, number).is_none()));
    assert_eq!(pool.field(id, 4).unwrap().kind, Kind::Message(id));
}

#[test]
fn names_have_an_end_and_a_meaning() {
    let mut pool = Pool::perfetto();
    let long = file(&"p".repeat(999), vec![message("Mm", vec![])]);
    assert!(matches!(pool.extend(&set(long)), Err(DescriptorError::LongName { .. })));
    let mut both = file("p", vec![message("M", vec![])]);
    both.enum_type.push(enumeration("M", &[]));
    assert_eq!(
        pool.extend(&set(both)).unwrap_err().to_string(),
        "'p.M' is both a message and an enum"
    );
    let nested = (0..200).fold(message("M", vec![]), |inner, _| DescriptorProto {
        nested_type: vec![inner],
        ..message("M", vec![])
    });
    assert!(matches!(
        pool.extend(&set(file("p", vec![nested]))),
        Err(DescriptorError::Undecodable(_))
    ));
}

#[test]
fn a_message_that_describes_itself_has_no_name_in_the_pool() {
    let mut pool = Pool::perfetto();
    let describe = |kind| message("FtraceEvent", vec![field(1, "cpu", kind)]).encode_to_vec();
    let first = pool.add_message(&describe(Type::Int32)).unwrap();
    let second = pool.add_message(&describe(Type::String)).unwrap();
    assert_ne!(first, second);
    assert_eq!(pool.message("FtraceEvent"), None);
    assert_eq!(json(&pool, first, bytes().varint(1, 3)), r#"{"cpu":3}"#);
    assert_eq!(json(&pool, second, bytes().bytes(1, "three")), r#"{"cpu":"three"}"#);
}

#[test]
fn a_message_that_describes_itself_has_its_own_nested_types() {
    let mut pool = Pool::perfetto();
    let mut own = message(
        "Own",
        vec![
            typed(1, "state", Type::Enum, ".Own.State"),
            typed(2, "inner", Type::Message, "Inner"),
            typed(3, "event", Type::Message, "perfetto.protos.TrackEvent"),
        ],
    );
    own.enum_type = vec![enumeration("State", &[("IDLE", 0)])];
    own.nested_type = vec![message("Inner", vec![field(1, "x", Type::Bool)])];
    let id = pool.add_message(&own.encode_to_vec()).unwrap();
    let message = bytes().varint(1, 0).bytes(2, [8, 1]).bytes(3, [0x48, 1]);
    assert_eq!(
        json(&pool, id, message),
        r#"{"state":"IDLE","inner":{"x":true},"event":{"type":"TYPE_SLICE_BEGIN"}}"#
    );
    own.field.push(typed(4, "missing", Type::Enum, "Missing"));
    assert!(pool.add_message(&own.encode_to_vec()).is_err());
    let next = pool.add_message(&message_of_one()).unwrap();
    assert_eq!(json(&pool, next, [8, 1]), r#"{"a":1}"#);
}

fn message_of_one() -> Vec<u8> {
    message("One", vec![field(1, "a", Type::Int32)]).encode_to_vec()
}

#[test]
fn an_id_of_another_pool_is_a_message_of_which_nothing_is_known() {
    let id = Pool::perfetto().message(TRACE_PACKET).unwrap();
    let empty = Pool::default();
    assert_eq!(json(&empty, id, [8, 1]), r#"{"1":1}"#);
    assert_eq!(empty.message_name(id), "");
}

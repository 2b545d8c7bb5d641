use super::everything::{Bytes, bytes, pool};
use crate::{FieldValue, Path};

fn get(path: &str, message: &Bytes) -> Option<String> {
    let (pool, id) = pool();
    let path = Path::parse(&pool, id, path).unwrap();
    let value = path.get(&pool, &message.0).unwrap();
    value.map(|value| format!("{value:?}"))
}

#[track_caller]
fn is(path: &str, message: &Bytes, value: FieldValue<'_>) {
    assert_eq!(get(path, message), Some(format!("{value:?}")), "{path}");
}

#[track_caller]
fn error(path: &str) -> String {
    let (pool, id) = pool();
    Path::parse(&pool, id, path).unwrap_err().to_string()
}

#[test]
fn values_are_those_of_sql() {
    let message = bytes()
        .varint(3, u64::MAX)
        .varint(6, u64::MAX)
        .varint(13, 1)
        .fixed32(2, 0.5f32.to_bits())
        .bytes(14, b"a\xff")
        .bytes(15, b"\xff")
        .varint(16, 1);
    is("int32", &message, FieldValue::Integer(-1));
    is("uint64", &message, FieldValue::Real(18_446_744_073_709_551_615.0));
    is("bool", &message, FieldValue::Integer(1));
    is("float", &message, FieldValue::Real(0.5));
    is("string", &message, FieldValue::Text("a\u{fffd}".into()));
    is("bytes", &message, FieldValue::Bytes(b"\xff"));
    is("color", &message, FieldValue::Text("GREEN".into()));
    is("color", &bytes().varint(16, 9), FieldValue::Integer(9));
}

#[test]
fn what_is_not_set_is_nothing() {
    for path in ["int32", "inner", "inner.inner.int32", "list", "list[0].int32", "by_name.x", "77"]
    {
        assert_eq!(get(path, &bytes()), None, "{path}");
    }
    let message = bytes().bytes(18, [1, 2]);
    for path in ["numbers[2]", "numbers[99999999999999999999999]"] {
        assert_eq!(get(path, &message), None, "{path}");
    }
}

#[test]
fn an_index_selects_of_a_list() {
    let inner = |value| bytes().varint(3, value);
    let message = bytes().bytes(21, inner(5)).varint(18, 1).bytes(21, inner(6)).bytes(18, [2, 3]);
    is("list[0].int32", &message, FieldValue::Integer(5));
    is("list[1]", &message, FieldValue::Json(r#"{"int32":6}"#.into()));
    is("list", &message, FieldValue::Json(r#"[{"int32":5},{"int32":6}]"#.into()));
    is("numbers[2]", &message, FieldValue::Integer(3));
    is("numbers", &message, FieldValue::Json("[1,2,3]".into()));
}

#[test]
fn a_key_selects_of_a_map() {
    let entry = |key: &str, value: u64| bytes().bytes(1, key).bytes(2, bytes().varint(3, value));
    let message = bytes()
        .bytes(22, entry("a", 1))
        .bytes(22, entry("b.c['d']", 2))
        .bytes(22, entry("a", 3))
        .bytes(22, bytes().bytes(1, "none"))
        .bytes(23, bytes().varint(1, 3).varint(2, 1))
        .bytes(23, []);
    is("by_name.a.int32", &message, FieldValue::Integer(3));
    is("by_name['a']", &message, FieldValue::Json(r#"{"int32":3}"#.into()));
    is("by_name[\"b.c['d']\"].int32", &message, FieldValue::Integer(2));
    is("by_name.none", &message, FieldValue::Json("{}".into()));
    is("colors.-2", &message, FieldValue::Text("GREEN".into()));
    is("colors[0]", &message, FieldValue::Text("RED".into()));
    is("colors", &message, FieldValue::Json(r#"{"-2":"GREEN","0":"RED"}"#.into()));
    assert_eq!(get("by_name.x.int32", &message), None);
}

#[test]
fn a_number_selects_a_field_that_the_schema_does_not_know() {
    let message = bytes().varint(99, 7).bytes(98, b"x").varint(98, 1).varint(3, 4);
    is("99", &message, FieldValue::Integer(7));
    is("99[0]", &message, FieldValue::Integer(7));
    is("98", &message, FieldValue::Json(r#"["eA==",1]"#.into()));
    is("98[0]", &message, FieldValue::Bytes(b"x"));
    is("3", &message, FieldValue::Integer(4));
}

#[test]
fn pieces_and_oneofs_are_as_in_json() {
    let message = bytes()
        .bytes(17, bytes().varint(3, 1).varint(4, 1))
        .bytes(17, bytes().varint(3, 2))
        .varint(24, 1)
        .bytes(25, "x");
    is("inner.int32", &message, FieldValue::Integer(2));
    is("inner.int64", &message, FieldValue::Integer(1));
    is("text", &message, FieldValue::Text("x".into()));
    assert_eq!(get("number", &message), None);
}

#[test]
fn what_is_not_on_the_path_is_not_read() {
    let message = bytes().bytes(26, [0x0b]).bytes(17, bytes().varint(3, 1));
    is("inner.int32", &message, FieldValue::Integer(1));
}

#[test]
fn a_message_on_the_path_that_cannot_be_read_is_named() {
    let (pool, id) = pool();
    let path = Path::parse(&pool, id, "list[1].inner.int32").unwrap();
    let message = bytes().bytes(21, []).bytes(21, bytes().bytes(17, [0x18]));
    assert_eq!(
        path.get(&pool, &message.0).unwrap_err().to_string(),
        "list[1].inner: the message ends inside a field that starts at byte 0"
    );
    let path = Path::parse(&pool, id, "list[1]").unwrap();
    assert_eq!(
        path.get(&pool, &message.0).unwrap_err().to_string(),
        "list[1].inner: the message ends inside a field that starts at byte 0"
    );
    let path = Path::parse(&pool, id, "inner.numbers").unwrap();
    let message = bytes().bytes(17, bytes().bytes(18, [0x80]));
    assert_eq!(
        path.get(&pool, &message.0).unwrap_err().to_string(),
        "inner.numbers[0]: the list ends inside an element that starts at byte 0"
    );
}

#[test]
fn an_unknown_name_is_corrected() {
    assert_eq!(error("strng"), "Everything has no field 'strng'; did you mean 'string'?");
    assert_eq!(error("inner.bol"), "Everything has no field 'bol'; did you mean 'bool'?");
    assert_eq!(error("wholly_different"), "Everything has no field 'wholly_different'");
    assert_eq!(error("[a.b]"), "Everything has no field '[a.b]'");
    assert_eq!(error("0"), "Everything has no field '0'");
}

#[test]
fn a_wrong_step_is_told_what_to_write() {
    assert_eq!(error("int32.x"), "'int32' is not a message, so '.x' cannot follow it");
    assert_eq!(error("numbers[0].x"), "'numbers' is not a message, so '.x' cannot follow it");
    assert_eq!(error("99.x"), "'99' is not a message, so '.x' cannot follow it");
    assert_eq!(
        error("list.int32"),
        "'list' is a list; write 'list[0].int32' for its first element"
    );
    assert_eq!(error("inner[0].int32"), "'inner' is not a list; write 'inner', without '[0]'");
    assert_eq!(
        error("list[-1]"),
        "'list' is a list; write 'list[0]' for its first element, not 'list[-1]'"
    );
    assert_eq!(
        error("list['a']"),
        "'list' is a list; write 'list[0]' for its first element, not 'list['a']'"
    );
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(error(""), "the path '' lacks the name of a field at character 1");
    assert_eq!(error("inner."), "the path 'inner.' lacks the name of a field at character 7");
    assert_eq!(
        error("inner..int32"),
        "the path 'inner..int32' lacks the name of a field at character 7"
    );
    assert_eq!(
        error("list[0"),
        "the path 'list[0' lacks a closing bracket after this at character 6"
    );
    assert_eq!(error("list[0]x"), "the path 'list[0]x' lacks a '.' at character 8");
    assert_eq!(
        error("by_name['a]"),
        "the path 'by_name['a]' lacks the end of a quoted key at character 10"
    );
    assert_eq!(error("by_name."), "the path 'by_name.' lacks a key at character 9");
}

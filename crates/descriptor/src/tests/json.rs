use super::everything::{Bytes, bytes, pool};

fn json(message: Bytes) -> String {
    let (pool, id) = pool();
    let mut out = String::new();
    pool.write_json(id, &message.0, &mut out).unwrap();
    out
}

fn error(message: Bytes) -> String {
    let (pool, id) = pool();
    let mut out = "before".to_owned();
    let error = pool.write_json(id, &message.0, &mut out).unwrap_err();
    assert_eq!(out, "before");
    error.to_string()
}

#[test]
fn only_what_is_on_the_wire_is_there_in_the_order_of_the_wire() {
    assert_eq!(json(bytes()), "{}");
    let message = bytes().varint(4, 0).varint(13, 0).varint(3, 7);
    assert_eq!(json(message), r#"{"int64":0,"bool":false,"int32":7}"#);
}

#[test]
fn integers_are_numbers_of_their_size_and_sign() {
    let all = u64::MAX;
    let message = bytes().varint(3, all).varint(4, all).varint(5, all).varint(6, all);
    assert_eq!(
        json(message),
        r#"{"int32":-1,"int64":-1,"uint32":4294967295,"uint64":18446744073709551615}"#
    );
    let message = bytes().varint(7, 3).varint(8, all).varint(3, 1 << 32 | 5);
    assert_eq!(json(message), r#"{"sint32":-2,"sint64":-9223372036854775808,"int32":5}"#);
    let message =
        bytes().fixed32(9, u32::MAX).fixed64(10, all).fixed32(11, u32::MAX).fixed64(12, all);
    assert_eq!(
        json(message),
        r#"{"fixed32":4294967295,"fixed64":18446744073709551615,"sfixed32":-1,"sfixed64":-1}"#
    );
    assert_eq!(json(bytes().varint(13, 1 << 40)), r#"{"bool":true}"#);
}

#[test]
fn floats_are_the_shortest_that_read_back_the_same() {
    let message = bytes().fixed32(2, 0.1f32.to_bits()).fixed64(1, 0.1f64.to_bits());
    assert_eq!(json(message), r#"{"float":0.1,"double":0.1}"#);
    let message = bytes().fixed32(2, 16_777_216f32.to_bits()).fixed64(1, 1e300f64.to_bits());
    assert_eq!(json(message), r#"{"float":16777216.0,"double":1e300}"#);
    let message = bytes().fixed32(2, f32::NAN.to_bits()).fixed64(1, f64::NEG_INFINITY.to_bits());
    assert_eq!(json(message), r#"{"float":"NaN","double":"-Infinity"}"#);
    let message = bytes().fixed32(2, f32::INFINITY.to_bits()).fixed64(1, (-0f64).to_bits());
    assert_eq!(json(message), r#"{"float":"Infinity","double":-0.0}"#);
}

#[test]
fn texts_are_escaped_and_repaired_and_bytes_are_base64() {
    let message = bytes().bytes(14, "ü\"\\\n\r\t\u{1}\u{7f}");
    assert_eq!(json(message), "{\"string\":\"ü\\\"\\\\\\n\\r\\t\\u0001\u{7f}\"}");
    let message = bytes().bytes(14, b"a\xffb\xe2\x82").bytes(15, b"\0\xff\xfe!");
    assert_eq!(json(message), "{\"string\":\"a\u{fffd}b\u{fffd}\",\"bytes\":\"AP/+IQ==\"}");
}

#[test]
fn enums_are_names_and_numbers_without_one_are_numbers() {
    assert_eq!(json(bytes().varint(16, 1)), r#"{"color":"GREEN"}"#);
    assert_eq!(json(bytes().varint(16, u64::MAX)), r#"{"color":"NONE"}"#);
    assert_eq!(json(bytes().varint(16, 77)), r#"{"color":77}"#);
    assert_eq!(json(bytes().varint(27, 0).bytes(27, [1, 9])), r#"{"palette":["RED","GREEN",9]}"#);
}

#[test]
fn the_last_value_of_a_scalar_counts() {
    let message = bytes().varint(3, 1).varint(4, 2).varint(3, 5);
    assert_eq!(json(message), r#"{"int32":5,"int64":2}"#);
}

#[test]
fn the_pieces_of_a_message_are_one() {
    let first = bytes().varint(3, 1).varint(18, 1).bytes(17, bytes().varint(5, 5));
    let second = bytes().varint(3, 2).varint(18, 2).bytes(17, bytes().varint(6, 6));
    let message = bytes().bytes(17, first).varint(13, 1).bytes(17, second);
    let inner = r#"{"int32":2,"numbers":[1,2],"inner":{"uint32":5,"uint64":6}}"#;
    assert_eq!(json(message), format!(r#"{{"inner":{inner},"bool":true}}"#));
}

#[test]
fn each_piece_of_a_message_is_read_for_itself() {
    // Concatenated, they would be a string of two bytes.
    let message = bytes().bytes(17, [0x72, 0x02]).bytes(17, b"hi");
    assert_eq!(error(message), "inner: the message ends inside a field that starts at byte 0");
}

#[test]
fn lists_may_be_packed_or_not_or_mixed() {
    let message = bytes().varint(18, 1).bytes(18, [2, 3]).varint(3, 9).bytes(18, []).varint(18, 4);
    assert_eq!(json(message), r#"{"numbers":[1,2,3,4],"int32":9}"#);
    let halves = [0.5f32.to_le_bytes(), 1.5f32.to_le_bytes()].concat();
    assert_eq!(json(bytes().bytes(19, halves)), r#"{"floats":[0.5,1.5]}"#);
    assert_eq!(json(bytes().bytes(20, "a").bytes(20, "")), r#"{"strings":["a",""]}"#);
    assert_eq!(json(bytes().bytes(18, [])), "{}");
}

#[test]
fn a_member_of_a_oneof_clears_the_others() {
    let text = bytes().varint(24, 1).bytes(25, "x").varint(3, 1);
    assert_eq!(json(text), r#"{"text":"x","int32":1}"#);
    let inner = |number| bytes().varint(number, 1);
    let message = bytes().bytes(26, inner(3)).varint(24, 1).bytes(26, inner(4)).bytes(26, inner(5));
    assert_eq!(json(message), r#"{"message":{"int64":1,"uint32":1}}"#);
    // If a value does not fit the type of its member, it does not clear the other members.
    assert_eq!(json(bytes().varint(24, 1).varint(25, 2)), r#"{"number":1,"25":2}"#);
}

#[test]
fn the_last_entry_of_a_maps_key_counts() {
    let entry = |key: &str, value: Bytes| bytes().bytes(1, key).bytes(2, value);
    let message = bytes()
        .bytes(22, entry("a", bytes().varint(3, 1)))
        .bytes(22, entry("b", bytes()))
        .bytes(22, entry("a", bytes().varint(4, 2)));
    assert_eq!(json(message), r#"{"by_name":{"a":{"int64":2},"b":{}}}"#);
}

#[test]
fn what_an_entry_of_a_map_lacks_is_the_default() {
    let message = bytes().bytes(22, []).bytes(23, []).bytes(23, bytes().varint(2, 1).varint(1, 3));
    assert_eq!(json(message), r#"{"by_name":{"":{}},"colors":{"0":"RED","-2":"GREEN"}}"#);
}

#[test]
fn fields_that_the_schema_does_not_know_are_under_their_numbers() {
    let message = bytes().varint(99, u64::MAX).fixed32(98, 5).fixed64(97, 6).bytes(96, b"hi");
    assert_eq!(json(message), r#"{"99":18446744073709551615,"98":5,"97":6,"96":"aGk="}"#);
    let message = bytes().varint(99, 1).varint(3, 2).bytes(99, b"hi").fixed32(99, 3);
    assert_eq!(json(message), r#"{"99":[1,"aGk=",3],"int32":2}"#);
}

#[test]
fn a_value_that_the_type_does_not_allow_is_one_of_an_unknown_field() {
    let message = bytes().bytes(3, [1]).varint(14, 2).fixed32(1, 3).varint(3, 4);
    assert_eq!(json(message), r#"{"3":"AQ==","14":2,"1":3,"int32":4}"#);
    assert_eq!(json(bytes().fixed32(18, 7).varint(18, 8)), r#"{"18":7,"numbers":[8]}"#);
}

#[test]
fn a_message_of_many_fields_is_like_one_of_few() {
    let numbers = || (100..1100u32).chain(100..1100);
    let message = numbers().fold(bytes(), |message, number| message.varint(number, 1));
    let fields: Vec<String> = (100..1100).map(|number| format!("\"{number}\":[1,1]")).collect();
    assert_eq!(json(message), format!("{{{}}}", fields.join(",")));
}

#[test]
fn an_error_says_where() {
    assert_eq!(
        error(bytes().bytes(18, [1, 0x80])),
        "numbers[1]: the list ends inside an element that starts at byte 1"
    );
    assert_eq!(
        error(bytes().bytes(18, [0xff; 11])),
        "numbers[0]: a number at byte 0 of the list has more than 64 bits"
    );
    let list = bytes().bytes(21, []).bytes(21, bytes().bytes(17, [0x08]));
    assert_eq!(error(list), "list[1].inner: the message ends inside a field that starts at byte 0");
    let map = bytes().bytes(22, bytes().bytes(1, "k").bytes(2, [0x0b]));
    assert_eq!(error(map), "by_name['k']: byte 0 starts no protobuf field");
    assert_eq!(
        error(bytes().bytes(22, []).bytes(22, [0x0b])),
        "by_name[1]: byte 0 starts no protobuf field"
    );
    assert_eq!(error(Bytes(vec![0x0b])), "byte 0 starts no protobuf field");
}

//! Examples of each rule.

use super::{line, lines};
use crate::json::{
    Integer, JsonPieces, Kind, NoTime, Number, Piece, Recognized, Token, Value, integer,
    nanoseconds, recognizes,
};

fn value(text: &str) -> Value<'_> {
    Value::parsed(text.as_bytes())
}

fn pieces(text: &str) -> Vec<String> {
    lines(text.as_bytes())
}

#[test]
fn js1_a_trace_is_recognized_by_its_first_bytes() {
    let yes = [
        "[{\"ph\":\"X\"}",
        "[]",
        "[",
        " \n[ ]",
        "\u{feff} \0{\"traceEvents\":[",
        "{\"schemaVersion\":1,\"traceEvents\" : [{}]}",
        "{\"ph\":\"X\"}\n{\"ph\":\"X\",",
        "[,{\"name\":1},{\"ph\":1}",
        "{\"a\":nul,\"traceEvents\":[{\"ph\":\"i\"}]}",
    ];
    for text in yes {
        assert_eq!(recognizes(text.as_bytes()), Recognized::Yes, "{text}");
    }
    let no = [
        "{}",
        "[1]",
        "[{}]",
        "[{\"a\":1},{\"b\":2}]\n",
        "{\"traceEvents\":{}}",
        "{\"ph\":1}",
        "{\"meta\":{},\"traceEvents\":[{\"ph\":\"i\"}]}",
        "{ \"nodes\":[]}",
        "[2024-01-01 12:00]",
        "text",
        "\u{feff}\u{feff}[]",
    ];
    for text in no {
        assert_eq!(recognizes(text.as_bytes()), Recognized::No, "{text}");
    }
    let ten = "{},".repeat(10);
    assert_eq!(recognizes(format!("[{ten}{{\"ph\":\"X\"}}").as_bytes()), Recognized::No);
    for text in ["", " \0", "{", "{\"ph\":\"X\"", "{\"a\":[{}", "[{\"ph\":\"X\"", "[{\"a\":1},"] {
        assert_eq!(recognizes(text.as_bytes()), Recognized::Maybe, "{text}");
    }
}

#[test]
fn js1_objects_one_after_the_other_are_events() {
    let expected = ["0 event {\"ph\":\"i\"}", "11 event {\"a\":1}", "array true events true"];
    assert_eq!(pieces("{\"ph\":\"i\"}\n{\"a\":1}"), expected);
}

#[test]
fn js2_appended_files_are_one() {
    let expected = ["1 event {}", "6 event {}", "9 no event 5", "array true events true"];
    assert_eq!(pieces("[{},\n[{}]5]"), expected);
}

#[test]
fn js2_every_list_under_trace_events_has_events_and_nothing_counts_after_the_end() {
    let text =
        "{\"traceEvents\":[{}],\"a\":1,\"trace\\u0045vents\":[{}],\"traceEvents\":2}\n\0 x \n";
    let expected = [
        "16 event {}",
        "20 member 5 \"a\" 1",
        "46 event {}",
        "50 member 15 \"traceEvents\" 2",
        "69 trailing 3",
        "array false events true",
    ];
    assert_eq!(pieces(text), expected);
    assert_eq!(pieces("{} \0\n"), ["array false events false"]);
}

#[test]
fn js3_odd_values_are_tolerated() {
    let items =
        "NaN,Infinity,-Infinity,007,+1,.5,5.,-.5e+07,123456789012345678901234567890,\"\t\n\"";
    let text = format!("[{{\"a\":[{items},],}},,,{{}} {{}}");
    let last = text.len() as u64;
    let event = format!("1 event {{\"a\":[{items},],}}");
    let second = format!("{} event {{}}", last - 5);
    let third = format!("{} event {{}}", last - 2);
    assert_eq!(pieces(&text), [event, second, third, "array true events true".into()]);
}

#[test]
fn js3_other_faults_are_damage() {
    let faults = [
        "[,]",
        "[1,,2]",
        "{,}",
        "{\"a\"}",
        "{a:1}",
        "[1 2]",
        "+Infinity",
        "-NaN",
        "nan",
        ".",
        "1e",
        "0x10",
        "tru",
        "'a'",
        "[1}",
        "{\"a\":1]",
        "1.2.3",
        "--1",
    ];
    for fault in faults {
        let text = format!("[{{\"a\":{fault}}},{{\"ph\":\"i\"}}]");
        assert_eq!(pieces(&text)[0], format!("1 damage {}", fault.len() + 7), "{text}");
    }
}

#[test]
fn js3_a_text_is_one_value_or_none() {
    for text in ["5", " {} ", "\"a\"", "[1,]\n", "NaN"] {
        let found = Value::parse(text.as_bytes()).unwrap();
        assert_eq!(found.text(), text.trim().as_bytes());
    }
    for text in ["", " ", "{", "1 2", "1,", "1e", "\"", "{}}"] {
        assert_eq!(Value::parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn js4_a_cut_event_is_a_region() {
    let text = "[{\"ph\":\"i\",\"ts\":1,\"pid\":1,\"tid\":1},{\"ph\":\"i\",\"ts\"";
    let found = pieces(text);
    assert_eq!(found[1..], ["35 cut 14", "array true events true"]);
    assert_eq!(found.len(), 3);
}

#[test]
fn js4_a_missing_end_of_the_outer_object_is_a_cut() {
    for text in
        ["{\"traceEvents\":[{}],", "{\"traceEvents\":[{}]", "{\"traceEvents\":[{}", "{\"a\":1 "]
    {
        let found = pieces(text);
        assert_eq!(found[1], format!("{} cut 0", text.len()), "{text}");
    }
    assert_eq!(pieces("{\"traceEvents\":[],\"abc\":[{}")[0], "18 cut 9");
}

#[test]
fn js4_reading_goes_on_at_the_next_object_with_a_phase() {
    let text = "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"broken,\"pid\":1},{\"ph\":1},{\"ph\":\"X\"}],\"x\":1}";
    let expected = [
        "16 damage 43",
        "59 event {\"ph\":\"X\"}",
        "71 member 5 \"x\" 1",
        "array false events true",
    ];
    assert_eq!(pieces(text), expected);
}

#[test]
fn js4_the_next_event_may_be_inside_a_string_or_the_damaged_event() {
    let expected = ["1 damage 5", "6 event {\"ph\":\"\"}", "15 damage 3"];
    assert_eq!(pieces("[{\"a\":{\"ph\":\"\"}:x]")[..3], expected);
    assert_eq!(pieces("[{\"{\"ph\":\"\"}")[..2], ["1 damage 2", "3 event {\"ph\":\"\"}"]);
}

#[test]
fn js4_a_damaged_member_is_a_region() {
    let text = "{\"a\":1,\"b\":x,\"traceEvents\":[{\"ph\":\"i\"}],\"c\":2}";
    let expected = [
        "1 member 5 \"a\" 1",
        "7 damage 21",
        "28 event {\"ph\":\"i\"}",
        "40 member 5 \"c\" 2",
        "array false events true",
    ];
    assert_eq!(pieces(text), expected);
}

#[test]
fn js4_what_is_too_large_is_damage_unless_it_is_a_member() {
    let large = "x".repeat(50);
    let text =
        format!("{{\"a\":\"{large}\",\"traceEvents\":[{{\"a\":\"{large}\"}},{{\"ph\":\"i\"}}]}}");
    let mut pieces = JsonPieces::with_limit(text.as_bytes(), 40);
    let member = pieces.next().unwrap().unwrap();
    assert_eq!(line(&member), "1 member 56 \"a\" large");
    let Some(Piece::Damage { offset, size, is_cut, why }) = pieces.next().unwrap() else {
        panic!()
    };
    assert_eq!((offset, size, is_cut, why), (73, 59, false, "is larger than 32 MiB"));
    assert_eq!(line(&pieces.next().unwrap().unwrap()), "132 event {\"ph\":\"i\"}");
}

#[test]
fn js5_numbers_are_integers_if_they_look_so_and_fit() {
    for (text, expected) in [
        ("0", 0),
        ("007", 7),
        ("+1", 1),
        ("-0", 0),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        assert_eq!(value(text).number(), Some(Number::Int(expected)), "{text}");
    }
    for (text, expected) in [
        ("9223372036854775808", 9_223_372_036_854_775_808.0),
        ("1e3", 1000.0),
        ("5.", 5.0),
        (".5", 0.5),
        ("-.5e-1", -0.05),
        ("1e999", f64::INFINITY),
        ("-Infinity", f64::NEG_INFINITY),
    ] {
        assert_eq!(value(text).number(), Some(Number::Real(expected)), "{text}");
    }
    assert!(matches!(value("NaN").number(), Some(Number::Real(nan)) if nan.is_nan()));
    assert_eq!(value("\"1\"").number(), None);
}

#[test]
fn js6_escapes_are_characters() {
    for (text, expected) in [
        (r#""""#, ""),
        (r#""\"\\\/\b\f\n\r\t\u0041""#, "\"\\/\u{8}\u{c}\n\r\tA"),
        (r#""\ud83d\ude00""#, "😀"),
        (r#""\ud83d!\ude00""#, "\u{fffd}!\u{fffd}"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud83d\n""#, "\u{fffd}\n"),
        (r#""C:\dir\x\u12\u+123""#, r"C:\dir\x\u12\u+123"),
        ("\"\\é\"", "\\é"),
        (r#""\u0000""#, "\0"),
    ] {
        assert_eq!(value(text).string().unwrap(), expected, "{text}");
    }
    let invalid = Value::parsed(b"\"\xff\xc3(\\n\xe2\x82\"");
    assert_eq!(invalid.string().unwrap(), "\u{fffd}\u{fffd}(\n\u{fffd}");
    assert_eq!(value("1").string(), None);
}

#[test]
fn js6_keys_are_compared_after_unescaping() {
    let object = value(r#"{"ph":1,"\u0070h":2,"p\h":3,"phx":4}"#);
    let is: Vec<bool> = object.members().map(|(key, _)| key.is("ph")).collect();
    assert_eq!(is, [true, true, false, false]);
    let text: Vec<_> = object.members().map(|(key, _)| key.text().into_owned()).collect();
    assert_eq!(text, ["ph", "ph", r"p\h", "phx"]);
}

#[test]
fn js9_times_are_exact() {
    for (text, expected) in [
        ("1750244461563845.123", 1_750_244_461_563_845_123),
        ("0.0005", 1),
        ("0.00049999", 0),
        ("\"5.1\"", 5100),
        ("1e3", 1_000_000),
        ("1.0e-3", 1),
        ("-0.0005", -1),
        ("-0.0004", 0),
        ("8786.925000071526", 8_786_925),
        ("00012", 12_000),
        ("\"\\u0031\"", 1000),
        ("9223372036854775.807", i64::MAX),
        ("9223372036854775.80749", i64::MAX),
        ("-9223372036854775.808", i64::MIN),
        ("-9223372036854775.8084", i64::MIN),
        ("0e999999999999999999999", 0),
        ("1e-999999999999999999999", 0),
        ("0.5e-3", 1),
        ("0.05e-3", 0),
        ("00.00e5", 0),
    ] {
        assert_eq!(nanoseconds(value(text)), Ok(expected), "{text}");
    }
    for text in ["9223372036854775.8075", "-9223372036854775.8085", "1e300", "1e999999999999999999"]
    {
        assert_eq!(nanoseconds(value(text)), Err(NoTime::Overflow), "{text}");
    }
    for text in
        ["NaN", "-Infinity", "null", "\"\"", "\" 1\"", "\"1x\"", "\"NaN\"", "\"-\"", "[1]", "true"]
    {
        assert_eq!(nanoseconds(value(text)), Err(NoTime::Unusable), "{text}");
    }
}

#[test]
fn js14_ids_are_integers_without_their_fraction() {
    for (text, expected) in [
        ("2.9", 2),
        ("-2.9", -2),
        ("1e3", 1000),
        ("140245123456789", 140_245_123_456_789),
        ("9007199254740993.0", 9_007_199_254_740_993),
        ("\"12\"", 12),
        ("\"-12\"", -12),
        ("\"007\"", 7),
    ] {
        assert_eq!(integer(value(text)), Some(Integer::Number(expected)), "{text}");
    }
    for text in ["null", "[1]", "true", "{}"] {
        assert_eq!(integer(value(text)), None, "{text}");
    }
}

#[test]
fn js15_other_strings_and_numbers_are_texts() {
    for (text, expected) in [
        ("\"Spans\"", "Spans"),
        ("\"\"", ""),
        ("\"+1\"", "+1"),
        ("\"1.5\"", "1.5"),
        ("\"-\"", "-"),
        ("\"9223372036854775808\"", "9223372036854775808"),
        ("1e30", "1e30"),
        ("NaN", "NaN"),
    ] {
        assert_eq!(integer(value(text)), Some(Integer::Text(expected.into())), "{text}");
    }
}

#[test]
fn js25_a_walk_shows_all_parts_in_order() {
    let text = r#"{ "a" : [1, null,{"b":"x",},[ ],"y"] , "c.d":{}}"#;
    let mut shown = String::new();
    for token in value(text).walk() {
        shown += &match token {
            Token::BeginObject => "{ ".to_owned(),
            Token::EndObject => "} ".to_owned(),
            Token::BeginArray => "[ ".to_owned(),
            Token::EndArray => "] ".to_owned(),
            Token::Key(key) => format!("{}= ", key.text()),
            Token::Scalar(value) => format!("{} ", String::from_utf8_lossy(value.text())),
        };
    }
    assert_eq!(shown, "{ a= [ 1 null { b= \"x\" } [ ] \"y\" ] c.d= { } } ");
    let list = value(text).members().next().unwrap().1;
    let items: Vec<_> = list.items().map(|item| (item.kind(), item.text().len())).collect();
    let expected = [
        (Kind::Number, 1),
        (Kind::Null, 4),
        (Kind::Object, 10),
        (Kind::Array, 3),
        (Kind::String, 3),
    ];
    assert_eq!(items, expected);
    assert_eq!(list.members().count() + value("{\"a\":1}").items().count(), 0);
}

//! Sets of arguments as JSON.

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Map, Value};

use super::super::testing::{connection, error, rows};

fn with_args(arguments: &[(&str, &str, &str)]) -> Connection {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE args (id INTEGER PRIMARY KEY, arg_set_id, key, int_value, string_value, real_value, value_type)",
    )
    .unwrap();
    for (key, kind, value) in arguments {
        let column = match *kind {
            "string" | "json" => "string_value",
            "real" => "real_value",
            _ => "int_value",
        };
        let sql = format!(
            "INSERT INTO args (arg_set_id, key, value_type, {column}) VALUES (7, ?1, ?2, {value})"
        );
        conn.execute(&sql, [key, kind]).unwrap();
    }
    conn
}

fn json(arguments: &[(&str, &str, &str)]) -> String {
    rows(&with_args(arguments), "SELECT __intrinsic_arg_set_to_json(7)").remove(0)
}

#[test]
fn pq15_a_set_of_arguments_is_an_object() {
    let arguments =
        [("debug.a[0]", "int", "1"), ("debug.a[1]", "int", "2"), ("debug.p", "pointer", "100")];
    assert_eq!(json(&arguments), r#"{"debug":{"a":[1,2],"p":"0x64"}}"#);
    let conn = with_args(&arguments);
    assert_eq!(rows(&conn, "SELECT __intrinsic_arg_set_to_json(8)"), ["{}"]);
    assert_eq!(rows(&conn, "SELECT __intrinsic_arg_set_to_json(NULL)"), ["NULL"]);
    assert_eq!(
        error(&conn, "SELECT __intrinsic_arg_set_to_json('7')"),
        "__intrinsic_arg_set_to_json(): argument 1 (arg_set_id) must be an integer, not the text '7'"
    );
}

#[test]
fn pq15_values_of_all_types_are_json() {
    let arguments = [
        ("i", "int", "-5"),
        ("u", "uint", "-1"),
        ("b", "bool", "1"),
        ("c", "bool", "0"),
        ("r", "real", "3.5"),
        ("third", "real", "1.0 / 3"),
        ("whole", "real", "4.0"),
        ("up", "real", "9e999"),
        ("down", "real", "-9e999"),
        ("nan", "real", "NULL"),
        ("s", "string", "'\"x\"' || char(10, 1)"),
        ("n", "null", "NULL"),
        ("j", "json", "'{}'"),
    ];
    let expected = concat!(
        r#"{"i":-5,"u":18446744073709551615,"b":true,"c":false,"r":3.5,"third":0.3333333333333333,"whole":4,"#,
        r#""up":"Infinity","down":"-Infinity","nan":"NaN","s":"\"x\"\n\u0001","n":null,"j":"{}"}"#
    );
    assert_eq!(json(&arguments), expected);
}

#[test]
fn pq15_lists_may_have_gaps_and_lists_inside() {
    let arguments = [
        ("a[2].b", "int", "1"),
        ("a[0][1]", "int", "2"),
        ("c.d.e", "int", "3"),
        ("a[2].c", "int", "4"),
    ];
    assert_eq!(json(&arguments), r#"{"a":[[null,2],null,{"b":1,"c":4}],"c":{"d":{"e":3}}}"#);
    // The last value of a key counts; NULL may become a container.
    let arguments =
        [("a", "int", "1"), ("a", "int", "2"), ("n", "null", "NULL"), ("n.x", "int", "3")];
    assert_eq!(json(&arguments), r#"{"a":2,"n":{"x":3}}"#);
}

#[test]
fn pq15_a_key_that_is_a_value_and_a_container_is_an_error() {
    for (one, other) in
        [("a", "a.b"), ("a.b", "a"), ("a[0]", "a.b"), ("a.b", "a[0]"), ("a", "a[0]")]
    {
        let conn = with_args(&[(one, "int", "1"), (other, "int", "2")]);
        let message = error(&conn, "SELECT __intrinsic_arg_set_to_json(7)");
        assert_eq!(
            message,
            format!(
                "__intrinsic_arg_set_to_json(): the key {other} is both a value and a container of other keys; read such a set from args"
            )
        );
    }
}

#[test]
fn pq13_a_key_cannot_take_all_memory() {
    for (key, expected) in [
        ("a[4000000000]", "its data needs more than 2 GiB of memory"),
        ("a[x]", "the key a[x] has an index that is no number"),
        ("a[0", ""),
        (&*"a.".repeat(100_000), "a key has more than 500 parts"),
        (&*format!("a{}", "[0]".repeat(501)), "a key has more than 500 parts"),
    ] {
        let conn = with_args(&[(key, "int", "1")]);
        if expected.is_empty() {
            assert_eq!(rows(&conn, "SELECT __intrinsic_arg_set_to_json(7)"), [r#"{"a":[1]}"#]);
            continue;
        }
        let message = error(&conn, "SELECT __intrinsic_arg_set_to_json(7)");
        assert!(message.contains(expected), "{message}");
    }
}

/// The naive model: walks a JSON value for each key. `None` if a key is a value and a container.
fn model(arguments: &[(Vec<Part>, i64)]) -> Option<Value> {
    let mut root = Value::Object(Map::new());
    for (path, number) in arguments {
        let mut at = &mut root;
        for part in path {
            match part {
                Part::Name(name) => {
                    if at.is_null() {
                        *at = Value::Object(Map::new());
                    }
                    at = at.as_object_mut()?.entry(name.clone()).or_insert(Value::Null);
                }
                Part::Index(index) => {
                    if at.is_null() {
                        *at = Value::Array(Vec::new());
                    }
                    let list = at.as_array_mut()?;
                    list.resize(list.len().max(index + 1), Value::Null);
                    at = &mut list[*index];
                }
            }
        }
        if at.is_object() || at.is_array() {
            return None;
        }
        *at = Value::from(*number);
    }
    Some(root)
}

#[derive(Debug, Clone)]
enum Part {
    Name(String),
    Index(usize),
}

fn path() -> impl Strategy<Value = Vec<Part>> {
    let part = prop_oneof!["[ab]".prop_map(Part::Name), (0usize..3).prop_map(Part::Index)];
    ("[abc]", prop::collection::vec(part, 0..3)).prop_map(|(first, rest)| {
        let mut path = vec![Part::Name(first)];
        path.extend(rest);
        path
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn pq15_a_random_set_is_what_the_model_says(
        arguments in prop::collection::vec((path(), -9i64..9), 0..6)
    ) {
        let keys: Vec<(String, String)> = arguments.iter().map(|(path, number)| {
            let mut key = String::new();
            for part in path {
                match part {
                    Part::Name(name) if key.is_empty() => key += name,
                    Part::Name(name) => key += &format!(".{name}"),
                    Part::Index(index) => key += &format!("[{index}]"),
                }
            }
            (key, number.to_string())
        }).collect();
        let given: Vec<(&str, &str, &str)> =
            keys.iter().map(|(key, number)| (key.as_str(), "int", number.as_str())).collect();
        let conn = with_args(&given);
        match model(&arguments) {
            Some(expected) => {
                let json = rows(&conn, "SELECT __intrinsic_arg_set_to_json(7)").remove(0);
                prop_assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected);
            }
            None => {
                let message = error(&conn, "SELECT __intrinsic_arg_set_to_json(7)");
                prop_assert!(message.contains("is both a value and a container"), "{}", message);
            }
        }
    }
}

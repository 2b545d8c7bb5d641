//! Values to SQLite and back.

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::Functions;
use crate::fixture::Same;

fn connect() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    (&conn).add("same", 1, Same).unwrap();
    conn
}

#[test]
fn every_value_comes_back_as_it_was() {
    let conn = connect();
    for value in [
        Value::Null,
        Value::Integer(i64::MIN),
        Value::Integer(i64::MAX),
        Value::Real(-0.5),
        Value::Real(f64::INFINITY),
        Value::Text(String::new()),
        Value::Text("a\0ä".into()),
        Value::Blob(vec![]),
        Value::Blob(vec![0, 255, 0]),
    ] {
        let same: Value = conn.query_row("SELECT same(?)", [&value], |row| row.get(0)).unwrap();
        assert_eq!(same, value);
    }
}

#[test]
fn json_nests_and_a_text_does_not() {
    let conn = connect();
    let sql = r#"SELECT json_array(same('{"a":1}'), same('a'))"#;
    let json: String = conn.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(json, r#"[{"a":1},"a"]"#);
}

#[test]
fn a_text_that_is_no_utf_8_is_told() {
    let sql = "SELECT same(CAST(x'61ff' AS TEXT))";
    let got = connect().query_row(sql, [], |row| row.get::<_, Value>(0));
    assert_eq!(
        got.unwrap_err().to_string(),
        "same(): argument 1 (value) must be UTF-8, not the text 'a\u{fffd}'"
    );
}

use proptest::prelude::*;
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};
use rusqlite::types::{FromSql, Value};
use rusqlite::{Connection, params};

/// A timestamp, and a track_event with a type and the field 9900.
const PACKET: &str = "x'40d0085a06 4801e0ea0407'";

fn connect() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    conn
}

fn get<T: FromSql>(conn: &Connection, expression: &str) -> T {
    let select = format!("SELECT {expression}").replace("PACKET", &PACKET.replace(' ', ""));
    conn.query_row(&select, [], |row| row.get(0)).unwrap()
}

fn error(conn: &Connection, expression: &str) -> String {
    let select = format!("SELECT {expression}").replace("PACKET", &PACKET.replace(' ', ""));
    let got = conn.query_row(&select, [], |row| row.get::<_, Value>(0));
    got.unwrap_err().to_string()
}

/// A set that extends TrackEvent by a number.
fn extension(number: i32, name: &str) -> Vec<u8> {
    let field = FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(Type::Int32.into()),
        extendee: Some(".perfetto.protos.TrackEvent".into()),
        ..Default::default()
    };
    let file = FileDescriptorProto { extension: vec![field], ..Default::default() };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

fn with_descriptors(descriptors: &[&[u8]]) -> Connection {
    let conn = connect();
    conn.execute_batch(
        "CREATE TABLE descriptor (id INTEGER PRIMARY KEY, source TEXT, packet_id INTEGER, data BLOB)",
    )
    .unwrap();
    for data in descriptors {
        add(&conn, data);
    }
    conn
}

fn add(conn: &Connection, data: &[u8]) {
    conn.execute("INSERT INTO descriptor (data) VALUES (?)", [data]).unwrap();
}

#[test]
fn a_packet_is_json_that_nests() {
    let conn = connect();
    let json = r#"{"timestamp":1104,"track_event":{"type":"TYPE_SLICE_BEGIN","9900":7}}"#;
    assert_eq!(get::<String>(&conn, "packet_json(PACKET)"), json);
    assert_eq!(
        get::<String>(&conn, "json_object('p', packet_json(PACKET))"),
        format!(r#"{{"p":{json}}}"#)
    );
    assert_eq!(
        get::<String>(&conn, "json_array(packet_field(PACKET, 'track_event'))"),
        r#"[{"type":"TYPE_SLICE_BEGIN","9900":7}]"#
    );
    assert_eq!(
        get::<String>(&conn, "json_array(packet_field(PACKET, 'track_event.type'))"),
        r#"["TYPE_SLICE_BEGIN"]"#
    );
}

#[test]
fn a_field_has_the_type_that_sql_has_for_it() {
    let conn = connect();
    assert_eq!(get::<i64>(&conn, "packet_field(PACKET, 'timestamp')"), 1104);
    assert_eq!(get::<i64>(&conn, "packet_field(PACKET, 'track_event.9900')"), 7);
    assert_eq!(get::<Option<i64>>(&conn, "packet_field(PACKET, 'trusted_uid')"), None);
    let blob: Vec<u8> = get(&conn, "packet_field(x'920302dead', 'compressed_packets')");
    assert_eq!(blob, [0xde, 0xad]);
}

#[test]
fn null_is_null() {
    let conn = connect();
    for call in [
        "packet_json(NULL)",
        "packet_field(NULL, 'timestamp')",
        "packet_field(PACKET, NULL)",
        "packet_field(NULL, NULL)",
    ] {
        assert_eq!(get::<Value>(&conn, call), Value::Null, "{call}");
    }
}

#[test]
fn a_wrong_argument_is_an_error_that_names_it() {
    let conn = connect();
    for (call, expected) in [
        ("packet_json('x')", "packet_json(): argument 1 (data) must be a blob, not the text 'x'"),
        ("packet_json(5)", "packet_json(): argument 1 (data) must be a blob, not 5"),
        (
            "packet_field(1.5, '')",
            "packet_field(): argument 1 (data) must be a blob, not the real number 1.5",
        ),
        ("packet_field(PACKET, 3)", "packet_field(): argument 2 (path) must be a text, not 3"),
        (
            "packet_field(PACKET, x'00')",
            "packet_field(): argument 2 (path) must be a text, not a blob",
        ),
        (
            "packet_field(PACKET, 'trak_event')",
            "packet_field(): argument 2 (path) is no path: \
             TracePacket has no field 'trak_event'; did you mean 'track_event'?",
        ),
        (
            "packet_json(x'5a0148')",
            "packet_json(): argument 1 (data) cannot be read: \
             track_event: the message ends inside a field that starts at byte 0",
        ),
    ] {
        assert_eq!(error(&conn, call), expected, "{call}");
    }
    assert!(error(&conn, "packet_json()").starts_with("wrong number of arguments"));
    let long = error(&conn, "packet_json(printf('%.*c', 100, 'x'))");
    assert!(long.ends_with("xx…'") && long.len() < 150, "{long}");
}

#[test]
fn the_path_may_differ_from_row_to_row() {
    let conn = connect();
    let select = format!(
        "SELECT packet_field({}, column1) FROM (VALUES ('timestamp'), ('trusted_uid'), ('timestamp'))",
        PACKET.replace(' ', "")
    );
    let mut statement = conn.prepare(&select).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    let values: Vec<Option<i64>> = rows.map(Result::unwrap).collect();
    assert_eq!(values, [Some(1104), None, Some(1104)]);
}

#[test]
fn the_descriptors_of_the_database_extend_the_schema() {
    let conn = with_descriptors(&[&extension(9900, "clicks"), &extension(9900, "later")]);
    assert_eq!(get::<i64>(&conn, "packet_field(PACKET, 'track_event.clicks')"), 7);
    assert_eq!(
        get::<String>(&conn, "packet_json(PACKET)"),
        r#"{"timestamp":1104,"track_event":{"type":"TYPE_SLICE_BEGIN","clicks":7}}"#
    );
}

#[test]
fn the_next_statement_sees_a_change() {
    let conn = with_descriptors(&[]);
    assert!(
        error(&conn, "packet_field(PACKET, 'track_event.clicks')").contains("no field 'clicks'")
    );
    add(&conn, &extension(9900, "clicks"));
    assert_eq!(get::<i64>(&conn, "packet_field(PACKET, 'track_event.clicks')"), 7);
    conn.execute_batch("DELETE FROM descriptor").unwrap();
    assert!(
        error(&conn, "packet_field(PACKET, 'track_event.clicks')").contains("no field 'clicks'")
    );
    conn.execute_batch("DROP TABLE descriptor").unwrap();
    assert_eq!(get::<i64>(&conn, "packet_field(PACKET, 'timestamp')"), 1104);
}

#[test]
fn a_statement_that_is_run_again_sees_a_change() {
    let conn = with_descriptors(&[]);
    let select = format!("SELECT packet_json({})", PACKET.replace(' ', ""));
    let mut statement = conn.prepare(&select).unwrap();
    let mut run = || statement.query_row([], |row| row.get::<_, String>(0)).unwrap();
    assert!(run().contains("\"9900\":7"));
    add(&conn, &extension(9900, "clicks"));
    assert!(run().contains("\"clicks\":7"));
}

#[test]
fn an_unusable_descriptor_is_an_error_that_names_it() {
    let conn = with_descriptors(&[&extension(9900, "clicks"), b"\xff"]);
    let why = error(&conn, "packet_json(PACKET)");
    assert!(
        why.starts_with(
            "packet_json(): descriptor 2 cannot be used: this is not a protobuf descriptor"
        ),
        "{why}"
    );
    conn.execute_batch("DELETE FROM descriptor WHERE id = 2").unwrap();
    assert_eq!(get::<i64>(&conn, "packet_field(PACKET, 'track_event.clicks')"), 7);
    conn.execute_batch("INSERT INTO descriptor (data) VALUES (NULL)").unwrap();
    assert!(error(&conn, "packet_json(PACKET)").contains("descriptor 2 cannot be used"));
}

#[test]
fn another_programs_table_extends_nothing() {
    let conn = connect();
    conn.execute_batch("CREATE TABLE descriptor (name TEXT)").unwrap();
    assert_eq!(get::<i64>(&conn, "packet_field(PACKET, 'timestamp')"), 1104);
    let conn = connect();
    conn.execute_batch(
        "CREATE VIEW descriptor AS SELECT 1 AS id, packet_field(x'4001', 'timestamp') AS data",
    )
    .unwrap();
    assert!(error(&conn, "packet_json(PACKET)").contains("descriptor 1 cannot be used"));
}

#[test]
fn an_index_may_be_on_a_field() {
    let conn = connect();
    conn.execute_batch(
        "CREATE TABLE packet (data BLOB);
         CREATE INDEX by_time ON packet (packet_field(data, 'timestamp'));",
    )
    .unwrap();
    let packet = get::<Vec<u8>>(&conn, "PACKET");
    conn.execute("INSERT INTO packet VALUES (?)", params![packet]).unwrap();
    let count = "(SELECT count(*) FROM packet WHERE packet_field(data, 'timestamp') = 1104)";
    assert_eq!(get::<i64>(&conn, count), 1);
}

proptest! {
    #[test]
    fn no_arguments_do_harm(data in prop::collection::vec(any::<u8>(), 0..32), path in "[a-z_.0-9\\[\\]']{0,12}") {
        let conn = connect();
        let _ = conn.query_row("SELECT packet_json(?)", params![data], |row| row.get::<_, String>(0));
        let _ = conn.query_row("SELECT packet_field(?, ?)", params![data, path], |row| row.get::<_, Value>(0));
    }
}

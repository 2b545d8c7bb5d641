//! The version of a table that a statement sees, with calls by SQLite.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;

use super::Session;
use crate::fixture::{Panics, PlusSum, Sum, database};
use crate::mark::Key;
use crate::{Functions, Result, Table};

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8;

fn connect() -> (Connection, Session<Sum>) {
    let conn = database();
    let session = Session::default();
    let mut functions = &conn;
    functions.add("plus_sum", 1, PlusSum(session.clone())).unwrap();
    functions.add("panics", 0, Panics).unwrap();
    (conn, session)
}

fn ask(conn: &Connection, sql: &str) -> Value {
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn refusal(conn: &Connection, sql: &str) -> String {
    let got = conn.query_row(sql, [], |row| row.get::<_, Value>(0));
    got.unwrap_err().to_string()
}

#[test]
fn statements_that_run_by_turns_see_one_version_each_and_what_none_sees_goes() {
    let (conn, session) = connect();
    let versions = || session.0.lock().unwrap().0.len();
    let sql = "SELECT plus_sum(value) FROM json_each('[0,0,0,0,0]')";
    let mut first = conn.prepare(sql).unwrap();
    let mut second = conn.prepare(sql).unwrap();
    let mut first = first.query([]).unwrap();
    assert_eq!(first.next().unwrap().unwrap().get(0), Ok(3));
    conn.execute_batch("INSERT INTO numbers VALUES (4)").unwrap();
    let mut second = second.query([]).unwrap();
    for _again in 0..4 {
        assert_eq!(second.next().unwrap().unwrap().get(0), Ok(7));
        assert_eq!(first.next().unwrap().unwrap().get(0), Ok(3));
        conn.execute_batch("UPDATE numbers_version SET version = version + 1").unwrap();
        assert_eq!(ask(&conn, "SELECT plus_sum(1)"), Value::Integer(8));
        assert_eq!(versions(), 3);
    }
    drop((first, second));
    conn.execute_batch("DELETE FROM numbers").unwrap();
    assert_eq!(ask(&conn, "SELECT plus_sum(1)"), Value::Integer(1));
    assert_eq!(versions(), 1);
}

#[test]
fn a_version_that_is_not_told_is_only_for_the_statement_that_asks() {
    let (conn, session) = connect();
    conn.execute_batch("DROP TABLE numbers_version").unwrap();
    for _again in 0..3 {
        assert_eq!(ask(&conn, "SELECT plus_sum(1) + plus_sum(2)"), Value::Integer(9));
        assert_eq!(session.0.lock().unwrap().0.len(), 1);
    }
}

#[test]
fn a_panic_is_an_error_and_the_next_call_begins_anew() {
    let (conn, session) = connect();
    assert_eq!(refusal(&conn, "SELECT panics()"), "unwinding panic");
    assert_eq!(ask(&conn, "SELECT plus_sum(0)"), Value::Integer(3));
    conn.execute_batch("INSERT INTO numbers VALUES (13)").unwrap();
    assert_eq!(refusal(&conn, "SELECT plus_sum(0)"), "unwinding panic");
    assert!(session.0.is_poisoned());
    conn.execute_batch("DELETE FROM numbers WHERE number = 13").unwrap();
    assert_eq!(ask(&conn, "SELECT plus_sum(0)"), Value::Integer(3));
    assert!(!session.0.is_poisoned());
    assert_eq!(session.0.lock().unwrap().0.len(), 1);
}

#[test]
fn a_table_that_needs_what_is_made_of_it_is_told() {
    let (conn, _) = connect();
    conn.execute_batch(
        "ALTER TABLE numbers RENAME TO stored;
         CREATE VIEW numbers AS SELECT plus_sum(number) AS number FROM stored",
    )
    .unwrap();
    let expected = "plus_sum(): plus_sum(): numbers is defined by a call that reads numbers; define it without the call";
    for _again in 0..2 {
        assert_eq!(refusal(&conn, "SELECT plus_sum(0)"), expected);
    }
}

/// A table for which a call during reading gets an empty version.
struct Lenient;

impl Table for Lenient {
    const NAME: &'static str = "lenient";
    type Version = ();

    fn version<D: crate::Database + ?Sized>(_: &D) -> Result<Option<()>> {
        Ok(None)
    }

    fn load<D: crate::Database + ?Sized>(_: &str, _: &D) -> Result<Self> {
        Ok(Lenient)
    }

    fn while_loading() -> Option<Self> {
        Some(Lenient)
    }
}

#[test]
fn or_gets_what_the_table_has_for_that() {
    let session = Session::<Lenient>::default();
    let _held = session.0.lock().unwrap();
    assert!(session.now("f", &database(), |_| ()).is_ok());
}

#[test]
fn what_another_function_keeps_in_a_statement_is_not_taken_for_a_mark() {
    let (conn, _) = connect();
    let Key(key) = Key::of(Sum::NAME);
    assert!(key < 0);
    conn.create_scalar_function("other", 0, FLAGS, move |ctx| {
        ctx.set_aux(key, String::from("not a mark"))?;
        Ok(1)
    })
    .unwrap();
    let sql = "SELECT sum(other() + plus_sum(value) + other()) FROM json_each('[1,1,1]')";
    assert_eq!(ask(&conn, sql), Value::Integer(3 * 6));
    // The same holds the other way round.
    conn.create_scalar_function("kept", 1, FLAGS, move |ctx| {
        let kept = ctx.get_aux::<String>(key);
        Ok(kept.err().map(|error| error.to_string()))
    })
    .unwrap();
    let message = rusqlite::Error::GetAuxWrongType.to_string();
    assert_eq!(ask(&conn, "SELECT kept(plus_sum(1))"), Value::Text(message));
}

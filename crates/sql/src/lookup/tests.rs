//! Queries of functions, called by SQLite.

use rusqlite::types::Value;
use rusqlite::{Connection, ffi};

use super::Lookup;
use crate::{Answer, Arguments, Call, Function, Functions, Result, ValueRef};

/// `named(id)`: the name for an id.
struct Named(Lookup);

impl Function for Named {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let id = Arguments::new("named", call).get(0).unwrap_or(ValueRef::Null);
        self.0.value("named", call, &[id])
    }
}

fn connect() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    let lookup = Lookup::new("SELECT name FROM main.names WHERE id IS ?1");
    (&conn).add("named", 1, Named(lookup)).unwrap();
    conn.execute_batch(
        "CREATE TABLE names (id, name);
         INSERT INTO names VALUES (1, 'one'), (1, 'again'), (2, 2), (3.5, -0.5), (x'00ff', x'ff00'),
           ('ä' || char(0), 'ö' || char(0)), (NULL, 'none'), (7, NULL);",
    )
    .unwrap();
    conn
}

fn ask(conn: &Connection, sql: &str) -> Value {
    conn.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn refusal(conn: &Connection, sql: &str) -> String {
    let got = conn.query_row(sql, [], |row| row.get::<_, Value>(0));
    got.unwrap_err().to_string()
}

/// The number of prepared statements in a connection.
fn prepared(conn: &Connection) -> usize {
    let (mut count, mut statement) = (0, std::ptr::null_mut());
    loop {
        // SAFETY: the connection is open, and nothing prepares or drops a statement meanwhile.
        statement = unsafe { ffi::sqlite3_next_stmt(conn.handle(), statement) };
        if statement.is_null() {
            return count;
        }
        count += 1;
    }
}

#[test]
fn values_of_every_kind_are_asked_for_and_answered() {
    let conn = connect();
    for (id, name) in [
        ("1", Value::Text("one".into())),
        ("2", Value::Integer(2)),
        ("3.5", Value::Real(-0.5)),
        ("x'00ff'", Value::Blob(vec![0xff, 0])),
        ("'ä' || char(0)", Value::Text("ö\0".into())),
        ("NULL", Value::Text("none".into())),
        ("7", Value::Null),
        ("8", Value::Null),
    ] {
        assert_eq!(ask(&conn, &format!("SELECT named({id})")), name, "{id}");
    }
}

#[test]
fn a_statement_prepares_the_query_once_for_others_too_and_takes_it_along() {
    let conn = connect();
    let mut first = conn.prepare("SELECT named(id) FROM names").unwrap();
    let mut second = conn.prepare("SELECT named(1), named(2)").unwrap();
    assert_eq!(prepared(&conn), 2);
    {
        let mut rows = first.query([]).unwrap();
        let row = rows.next().unwrap().unwrap();
        assert_eq!(row.get(0), Ok(String::from("one")));
        assert_eq!(prepared(&conn), 3);
        rows.next().unwrap().unwrap();
        assert_eq!(prepared(&conn), 3);
        let mut others = second.query([]).unwrap();
        others.next().unwrap().unwrap();
        assert_eq!(prepared(&conn), 3);
        drop(others);
        assert_eq!(prepared(&conn), 3);
        rows.next().unwrap().unwrap();
    }
    assert_eq!(prepared(&conn), 2);
    drop((first, second));
    assert!(conn.close().is_ok());
}

#[test]
fn a_statement_that_is_cut_short_does_not_keep_the_connection_open() {
    let conn = connect();
    assert_eq!(ask(&conn, "SELECT named(id) FROM names"), Value::Text("one".into()));
    refusal(&conn, "SELECT named(id), abs(-9223372036854775808) FROM names");
    assert_eq!(prepared(&conn), 0);
    assert!(conn.close().is_ok());
}

#[test]
fn what_sqlite_says_is_told() {
    let conn = connect();
    conn.execute_batch("ALTER TABLE names RENAME TO stored").unwrap();
    let no_table = "no such table: main.names";
    assert_eq!(refusal(&conn, "SELECT named(1)"), no_table);
    conn.execute_batch(
        "CREATE VIEW names AS SELECT id, abs('-9223372036854775808' + 0) AS name FROM stored",
    )
    .unwrap();
    assert_eq!(refusal(&conn, "SELECT named(1)"), "integer overflow");
    conn.execute_batch("DROP VIEW names; ALTER TABLE stored RENAME TO names").unwrap();
    assert_eq!(ask(&conn, "SELECT named(1)"), Value::Text("one".into()));
}

#[test]
fn a_table_that_is_made_of_the_answers_is_told() {
    let conn = connect();
    conn.execute_batch(
        "ALTER TABLE names RENAME TO stored;
         CREATE VIEW names AS SELECT id, named(id) AS name FROM stored",
    )
    .unwrap();
    let expected =
        "named(): a table that it reads is a view that calls it; define the view without the call";
    for _again in 0..2 {
        assert_eq!(refusal(&conn, "SELECT named(1)"), expected);
    }
}

#[test]
fn a_table_may_change_while_a_statement_runs() {
    let conn = connect();
    let mut statement = conn.prepare("SELECT named(value) FROM json_each('[1,1,1]')").unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut next = || rows.next().unwrap().unwrap().get::<_, Value>(0).unwrap();
    assert_eq!(next(), Value::Text("one".into()));
    conn.execute_batch("UPDATE names SET name = 'uno' WHERE name = 'one'").unwrap();
    assert_eq!(next(), Value::Text("uno".into()));
    conn.execute_batch("CREATE INDEX by_id ON names (id)").unwrap();
    assert_eq!(next(), Value::Text("uno".into()));
}

#[test]
fn what_another_function_keeps_in_a_statement_is_not_taken_for_a_query() {
    use rusqlite::functions::FunctionFlags;

    let conn = connect();
    let crate::Key(key) = crate::Key::of("SELECT name FROM main.names WHERE id IS ?1");
    conn.create_scalar_function("other", 0, FunctionFlags::SQLITE_UTF8, move |ctx| {
        ctx.set_aux(key, String::from("no query"))?;
        Ok(1)
    })
    .unwrap();
    let sql = "SELECT group_concat(other() || named(value) || other()) FROM json_each('[1,1]')";
    assert_eq!(ask(&conn, sql), Value::Text("1one1,1one1".into()));
    conn.create_scalar_function("kept", 1, FunctionFlags::SQLITE_UTF8, move |ctx| {
        let kept = ctx.get_aux::<String>(key);
        Ok(kept.err().map(|error| error.to_string()))
    })
    .unwrap();
    let message = rusqlite::Error::GetAuxWrongType.to_string();
    assert_eq!(ask(&conn, "SELECT kept(named(1))"), Value::Text(message));
}

#[test]
fn the_first_query_is_asked_that_the_database_has_the_tables_for() {
    let conn = Connection::open_in_memory().unwrap();
    let lookup = Lookup::new("SELECT name FROM quick WHERE id = ?1")
        .or("SELECT name FROM slow WHERE id = ?1");
    (&conn).add("named", 1, Named(lookup)).unwrap();
    assert_eq!(refusal(&conn, "SELECT named(1)"), "no such table: slow");
    conn.execute_batch("CREATE TABLE slow (id, name); INSERT INTO slow VALUES (1, 'slow')")
        .unwrap();
    assert_eq!(ask(&conn, "SELECT named(1)"), Value::Text("slow".into()));
    conn.execute_batch("CREATE TABLE quick (id, name); INSERT INTO quick VALUES (1, 'quick')")
        .unwrap();
    assert_eq!(ask(&conn, "SELECT named(1)"), Value::Text("quick".into()));
}

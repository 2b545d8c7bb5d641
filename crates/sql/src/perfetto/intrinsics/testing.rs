//! Queries for the tests of intrinsics.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// A connection with all intrinsics.
pub fn connection() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    crate::standard::register(&conn).unwrap();
    conn
}

/// The rows of a query, with blanks between the columns.
pub fn rows(conn: &Connection, sql: &str) -> Vec<String> {
    match try_rows(conn, sql) {
        Ok(rows) => rows,
        Err(error) => panic!("{sql}: {error}"),
    }
}

pub fn try_rows(conn: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare(sql)?;
    let count = statement.column_count();
    let rows = statement.query_map([], |row| {
        let columns = (0..count).map(|column| {
            Ok(match row.get_ref(column)? {
                ValueRef::Null => "NULL".to_owned(),
                ValueRef::Integer(value) => value.to_string(),
                ValueRef::Real(value) => format!("{value:?}"),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                ValueRef::Blob(blob) => format!("{blob:?}"),
            })
        });
        Ok(columns.collect::<rusqlite::Result<Vec<String>>>()?.join(" "))
    })?;
    rows.collect()
}

/// The message of a query that must fail.
pub fn error(conn: &Connection, sql: &str) -> String {
    match try_rows(conn, sql) {
        Ok(rows) => panic!("{sql}: {rows:?}"),
        // rusqlite adds the statement and a place in it.
        Err(error) => match error {
            rusqlite::Error::SqliteFailure(_, Some(message)) => message,
            rusqlite::Error::SqlInputError { msg, .. } => msg,
            other => other.to_string(),
        },
    }
}

/// A query for columns of a table that an intrinsic makes.
pub fn table_query(table: &str, columns: &[&str]) -> String {
    let places = (0..columns.len()).map(|place| format!("c{place}"));
    let binds = columns.iter().enumerate();
    let binds = binds.map(|(at, name)| format!("__intrinsic_table_ptr_bind(c{at}, '{name}')"));
    format!(
        "SELECT {} FROM __intrinsic_table_ptr({table}) WHERE {}",
        places.collect::<Vec<_>>().join(", "),
        binds.collect::<Vec<_>>().join(" AND ")
    )
}

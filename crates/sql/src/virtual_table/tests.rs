//! Queries that stay prepared.

use std::ops::ControlFlow;

use rusqlite::Connection;

use super::{KEPT, Queries, caught};
use crate::{Error, Result, ValueRef};

fn database() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch("CREATE TABLE t (x, y); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)")
        .unwrap();
    conn
}

/// Queries that are dropped before the connection.
fn queries(conn: &Connection) -> Queries {
    // SAFETY: as above.
    unsafe { Queries::new(conn.handle()) }
}

/// The sum of the values of `x` above a number. It can stop at the row where `x` is 2.
fn sum(queries: &mut Queries, above: i64, until_2: bool) -> Result<i64> {
    let mut sum = 0;
    let sql = "SELECT x FROM t WHERE x > ?1 ORDER BY x";
    queries.each(sql, &[ValueRef::Integer(above)], |row| {
        sum += row.integer(0, "x")?;
        let is_last = until_2 && row.integer(0, "x")? == 2;
        Ok(match is_last {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(sum)
}

#[test]
fn a_query_is_asked_again_with_other_parameters() {
    let conn = database();
    let mut queries = queries(&conn);
    assert_eq!(sum(&mut queries, 0, false), Ok(6));
    assert_eq!(sum(&mut queries, 0, true), Ok(3));
    assert_eq!(sum(&mut queries, 1, false), Ok(5));
    assert_eq!(format!("{queries:?}").matches("SELECT").count(), 1);
    conn.execute_batch("INSERT INTO t VALUES (4, 'd')").unwrap();
    assert_eq!(sum(&mut queries, 3, false), Ok(4));
    // The query has ended, and holds nothing back.
    conn.execute_batch("DROP TABLE t").unwrap();
    let error = sum(&mut queries, 0, false).unwrap_err();
    assert_eq!(error.to_string(), "no such table: t");
}

#[test]
fn an_error_ends_the_query_and_not_the_next() {
    let conn = database();
    let mut queries = queries(&conn);
    let sql = "SELECT y FROM t";
    let failed = queries.each(sql, &[], |row| Err(row.integer(0, "y").unwrap_err()));
    let expected = Error::new("y must be an integer, not the text 'a'");
    assert_eq!(failed, Err(expected));
    let mut rows = 0;
    let read = queries.each(sql, &[], |_| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!((read, rows), (Ok(()), 3));
    assert!(queries.each("SELECT", &[], |_| panic!()).is_err());
}

#[test]
fn the_oldest_go_when_there_are_many() {
    let conn = database();
    let mut queries = queries(&conn);
    for limit in 0..2 * KEPT {
        let sql = format!("SELECT x FROM t LIMIT {limit}");
        queries.each(&sql, &[], |_| Ok(ControlFlow::Continue(()))).unwrap();
    }
    assert_eq!(queries.prepared.len(), KEPT);
    assert_eq!(sum(&mut queries, 0, false), Ok(6));
}

#[test]
fn a_panic_is_an_error() {
    let error = caught(|| -> rusqlite::Result<()> { panic!("on purpose") }).unwrap_err();
    assert_eq!(error.to_string(), "unwinding panic");
}

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::functions::FunctionFlags;

use super::super::pointer::Pointer;
use super::super::testing::{connection, error, rows, try_rows};
use super::*;

/// `squares(n)`: a table with the columns `n` and `square`; returns how often it was called.
fn with_squares(conn: &Connection) -> Arc<AtomicUsize> {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    conn.create_scalar_function("squares", 1, flags, move |ctx| {
        counted.fetch_add(1, Ordering::Relaxed);
        let count: i64 = ctx.get(0)?;
        let row = |n: i64| vec![Cell::Integer(n), Cell::Integer(n * n)];
        Ok(Pointer::to(Table::of_rows(&["n", "square"], (1..=count).map(row).collect())))
    })
    .unwrap();
    calls
}

#[test]
fn pq9_a_table_pointer_gives_the_rows_of_a_table() {
    let conn = connection();
    with_squares(&conn);
    let sql = "SELECT c0, c1 FROM __intrinsic_table_ptr(squares(3))
        WHERE __intrinsic_table_ptr_bind(c0, 'square') AND __intrinsic_table_ptr_bind(c1, 'n')";
    assert_eq!(rows(&conn, sql), ["1 1", "4 2", "9 3"]);
    let filtered = format!("{sql} AND c1 >= 2 AND c0 < 9");
    assert_eq!(rows(&conn, &filtered), ["4 2"]);
    // Names of functions have no case; an alias, a subquery and a star are the same table.
    let sql = "SELECT s.square FROM (SELECT t.c0 AS square FROM __intrinsic_table_ptr(squares(2)) t
        WHERE __INTRINSIC_TABLE_PTR_BIND(t.c0, 'square')) s ORDER BY 1 DESC";
    assert_eq!(rows(&conn, sql), ["4", "1"]);
    assert_eq!(rows(&conn, &sql.replace("squares(2)", "squares(0)")), [""; 0]);
}

#[test]
fn pq9_a_pointer_comes_through_a_scalar_subquery() {
    let conn = connection();
    with_squares(&conn);
    let sql = "SELECT c0 FROM __intrinsic_table_ptr((SELECT squares(n) FROM (SELECT 2 AS n)))
        WHERE __intrinsic_table_ptr_bind(c0, 'n')";
    assert_eq!(rows(&conn, sql), ["1", "2"]);
}

#[test]
fn pq12_a_join_makes_the_table_once() {
    let conn = connection();
    let calls = with_squares(&conn);
    conn.execute_batch(
        "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2), (3), (2);
         CREATE INDEX t_n ON t (n)",
    )
    .unwrap();
    let sql = "SELECT sum(square) FROM t JOIN (SELECT c0 AS n, c1 AS square
        FROM __intrinsic_table_ptr(squares(3)) WHERE __intrinsic_table_ptr_bind(c0, 'n')
        AND __intrinsic_table_ptr_bind(c1, 'square')) USING (n)";
    assert_eq!(rows(&conn, sql), ["18"]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[test]
fn pq11_binds_beyond_the_sixteenth_hold() {
    let conn = connection();
    conn.create_scalar_function("wide", 0, FunctionFlags::SQLITE_UTF8, |_| {
        let names: Vec<String> = (0..32).map(|column| format!("n{column}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // Zeros: a bind that were checked as a value would leave the row out.
        Ok(Pointer::to(Table::of_rows(&names, vec![vec![Cell::Integer(0); 32]])))
    })
    .unwrap();
    let columns: Vec<String> = (0..32).map(|column| format!("c{column}")).collect();
    let binds = columns.iter().rev().enumerate();
    let binds = binds.map(|(at, column)| format!("__intrinsic_table_ptr_bind({column}, 'n{at}')"));
    let binds: Vec<String> = binds.collect();
    let sql = format!(
        "SELECT {} FROM __intrinsic_table_ptr(wide()) WHERE {}",
        columns.join(" + "),
        binds.join(" AND ")
    );
    assert_eq!(rows(&conn, &sql), ["0"]);
}

#[test]
fn pq9_a_view_of_a_stranger_may_read_a_pointer() {
    let conn = connection();
    with_squares(&conn);
    conn.execute_batch(
        "PRAGMA trusted_schema = OFF;
         CREATE VIEW v AS SELECT c0 FROM __intrinsic_table_ptr(squares(2))
             WHERE __intrinsic_table_ptr_bind(c0, 'square')",
    )
    .unwrap();
    assert_eq!(rows(&conn, "SELECT * FROM v"), ["1", "4"]);
}

#[test]
fn pq9_two_cursors_read_one_table() {
    let conn = connection();
    with_squares(&conn);
    let sql = "WITH s AS (SELECT c0 AS n FROM __intrinsic_table_ptr(squares(3))
            WHERE __intrinsic_table_ptr_bind(c0, 'n'))
        SELECT a.n, b.n FROM s a JOIN s b ON a.n < b.n ORDER BY 1, 2";
    assert_eq!(rows(&conn, sql), ["1 2", "1 3", "2 3"]);
}

#[test]
fn pq9_errors_say_what_to_bind() {
    let conn = connection();
    with_squares(&conn);
    let message = |what: &str| error(&conn, &format!("SELECT {what}"));
    let of = "FROM __intrinsic_table_ptr(squares(1)) WHERE";
    assert_eq!(
        message(&format!("c0 {of} __intrinsic_table_ptr_bind(c0, 'cube')")),
        "__intrinsic_table_ptr(): the table has no column 'cube'; it has n, square"
    );
    assert_eq!(
        message(&format!("c1 {of} __intrinsic_table_ptr_bind(c0, 'n')")),
        "__intrinsic_table_ptr(): c1 is not bound; add WHERE __intrinsic_table_ptr_bind(c1, 'name \
         of a column')"
    );
    assert_eq!(
        message(&format!(
            "c0 {of} __intrinsic_table_ptr_bind(c0, 'n') AND __intrinsic_table_ptr_bind(c0, 'n')"
        )),
        "__intrinsic_table_ptr(): c0 is bound twice; bind it once"
    );
    assert_eq!(
        message(&format!("c0 {of} __intrinsic_table_ptr_bind(c0, 5)")),
        "__intrinsic_table_ptr(): the name for c0 (argument 1) must be a text"
    );
    assert_eq!(
        message("c0 FROM __intrinsic_table_ptr(squares(1))"),
        "__intrinsic_table_ptr(): no column is bound; add WHERE __intrinsic_table_ptr_bind(c0, \
         'name of a column')"
    );
    assert_eq!(
        message("c0 FROM __intrinsic_table_ptr WHERE __intrinsic_table_ptr_bind(c0, 'n')"),
        "__intrinsic_table_ptr(): it needs a table as its argument, which another intrinsic makes"
    );
    assert_eq!(
        message("__intrinsic_table_ptr_bind(1, 'n')"),
        "__intrinsic_table_ptr_bind(): argument 1 must be a column of __intrinsic_table_ptr(), in \
         a WHERE clause of its query"
    );
}

#[test]
fn pq9_what_is_no_table_is_an_error() {
    let conn = connection();
    for value in ["NULL", "5", "'squares'", "x'00'", "(SELECT 1 WHERE 0)"] {
        let sql = format!(
            "SELECT c0 FROM __intrinsic_table_ptr({value}) WHERE __intrinsic_table_ptr_bind(c0, 'n')"
        );
        let message = error(&conn, &sql);
        assert!(message.contains("must be a table from another intrinsic"), "{message}");
    }
}

#[test]
fn pq9_a_pointer_is_null_to_everybody_else() {
    let conn = connection();
    with_squares(&conn);
    assert_eq!(rows(&conn, "SELECT squares(1), typeof(squares(1))"), ["NULL null"]);
    conn.execute_batch("CREATE TABLE kept AS SELECT squares(3) AS s").unwrap();
    let sql =
        "SELECT c0 FROM kept, __intrinsic_table_ptr(s) WHERE __intrinsic_table_ptr_bind(c0, 'n')";
    assert!(try_rows(&conn, sql).is_err());
}

#[test]
fn pq9_a_table_pointer_joins_from_the_left_and_in_subqueries() {
    let conn = connection();
    with_squares(&conn);
    let squares = "(SELECT c0 AS n, c1 AS square FROM __intrinsic_table_ptr(squares(2))
        WHERE __intrinsic_table_ptr_bind(c0, 'n') AND __intrinsic_table_ptr_bind(c1, 'square'))";
    conn.execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2), (3)").unwrap();
    let sql =
        format!("SELECT t.n, s.square FROM t LEFT JOIN {squares} AS s ON s.n = t.n ORDER BY 1");
    assert_eq!(rows(&conn, &sql), ["1 1", "2 4", "3 NULL"]);
    let sql = format!("SELECT n FROM t WHERE n IN (SELECT square FROM {squares})");
    assert_eq!(rows(&conn, &sql), ["1"]);
    let sql =
        format!("SELECT n FROM t WHERE EXISTS (SELECT 1 FROM {squares} AS s WHERE s.n = t.n)");
    assert_eq!(rows(&conn, &sql), ["1", "2"]);
    let sql = format!("SELECT n FROM {squares} UNION ALL SELECT square FROM {squares}");
    assert_eq!(rows(&conn, &sql), ["1", "2", "1", "4"]);
}

#[test]
fn pq9_an_argument_from_another_table_gives_its_own_rows() {
    let conn = connection();
    with_squares(&conn);
    conn.execute_batch("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2)").unwrap();
    let sql = "SELECT n, c0 FROM t, __intrinsic_table_ptr(squares(t.n))
        WHERE __intrinsic_table_ptr_bind(c0, 'square')";
    assert_eq!(rows(&conn, sql), ["1 1", "2 1", "2 4"]);
}

//! Functions with one value, and with rows.

use std::thread;

use rusqlite::{Connection, ffi};

use super::{connect, refusal, rows};

#[test]
fn pq5_a_function_without_a_row_is_null_and_with_two_an_error() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS SELECT 1 AS k, 'a' AS v UNION ALL SELECT 2, 'b' UNION ALL SELECT 2, 'c';
        CREATE PERFETTO FUNCTION v_of(k LONG) RETURNS STRING AS SELECT v FROM t WHERE k = $k;
        SELECT v_of(1), v_of(9), v_of(NULL)";
    assert_eq!(rows(&conn, script), "a NULL NULL");
    let error = refusal(&conn, "SELECT v_of(2)");
    assert!(
        error.starts_with(
            "v_of(): its SELECT found more than one row; add LIMIT 1, or an aggregate"
        ),
        "{error}"
    );
    // The statement of the function is not left at its row.
    assert_eq!(rows(&conn, "DROP PERFETTO TABLE t; SELECT 1"), "1");
}

#[test]
fn pq5_types_of_arguments_are_checked() {
    let conn = connect();
    let script =
        "CREATE PERFETTO FUNCTION f(l LONG, s STRING, d DOUBLE, b BYTES, a ANY) RETURNS STRING AS
        SELECT concat_ws('|', $l, $s, $d, length($b), $a);
        SELECT f(1, 'x', 1.5, x'0000', 7), f(NULL, NULL, NULL, NULL, NULL)";
    let script = script.replace(
        "concat_ws('|', $l, $s, $d, length($b), $a)",
        "coalesce($l || $s || $d || length($b) || $a, 'none')",
    );
    assert_eq!(rows(&conn, &script), "1x1.527 none");
    for (arguments, expected) in [
        ("'1', 'x', 1.5, x'', 7", "f(): argument 1 (l) must be LONG, not a text"),
        ("1, 2, 1.5, x'', 7", "f(): argument 2 (s) must be STRING, not an integer"),
        ("1, 'x', 1, x'', 7", "f(): argument 3 (d) must be DOUBLE, not an integer"),
        ("1, 'x', 1.5, 2.5, 7", "f(): argument 4 (b) must be BYTES, not a real number"),
    ] {
        assert_eq!(refusal(&conn, &format!("SELECT f({arguments})")), expected);
    }
}

#[test]
fn pq5_a_wrong_body_is_an_error_at_its_place_and_leaves_nothing() {
    let conn = connect();
    for (body, expected) in [
        (
            "SELECT $b",
            "f(): $b is no argument; an argument is written as $ and its name\n  line 2, column 8: SELECT $b",
        ),
        (
            "SELECT :a",
            "f(): :a is no argument; an argument is written as $ and its name\n  line 2, column 8: SELECT :a",
        ),
        (
            "SELECT 1, 2",
            "f(): its SELECT must have one column, not 2\n  line 2, column 1: SELECT 1, 2",
        ),
        ("SELECT x", "no such column: x\n  line 2, column 8: SELECT x"),
        (
            "SELECT 1 FROM missing",
            "no such table: missing\n  line 2, column 1: SELECT 1 FROM missing",
        ),
    ] {
        let script = format!("CREATE PERFETTO FUNCTION f(a LONG) RETURNS LONG AS\n{body}");
        assert_eq!(refusal(&conn, &script), expected);
    }
    assert!(refusal(&conn, "SELECT f(1)").starts_with("no such function: f"));
    let script = "CREATE PERFETTO FUNCTION f(a LONG) RETURNS LONG AS SELECT $a; SELECT f(3)";
    assert_eq!(rows(&conn, script), "3");
    assert!(refusal(&conn, script).starts_with("CREATE PERFETTO FUNCTION: f exists already"));
    // The name may have another number of arguments.
    rows(&conn, "CREATE PERFETTO FUNCTION f(a LONG, b LONG) RETURNS LONG AS SELECT $a + $b");
    assert_eq!(rows(&conn, "SELECT f(3), f(3, 4)"), "3 7");
}

#[test]
fn pq5_a_function_calls_itself_a_thousand_deep() {
    // The stack of a thread is smaller than that of the program.
    let deep = thread::Builder::new().stack_size(4 << 20).spawn(|| {
        let conn = connect();
        let script = "CREATE PERFETTO FUNCTION sum_to(n LONG) RETURNS LONG AS
            SELECT iif($n = 0, 0, $n + sum_to($n - 1));
            SELECT sum_to(999)";
        assert_eq!(rows(&conn, script), "499500");
        let error = refusal(&conn, "SELECT sum_to(1000)");
        assert!(
            error.contains("sum_to(): functions call each other more than 1000 deep"),
            "{error}"
        );
        // It can be called again.
        assert_eq!(rows(&conn, "SELECT sum_to(999)"), "499500");
    });
    deep.unwrap().join().unwrap();
}

#[test]
fn pq5_functions_that_call_each_other_keep_their_statements() {
    let conn = connect();
    let script = "CREATE PERFETTO FUNCTION inner_of(a LONG) RETURNS LONG AS SELECT $a * 2;
        CREATE PERFETTO FUNCTION outer_of(a LONG) RETURNS LONG AS SELECT inner_of($a) + inner_of($a + 1)";
    rows(&conn, script);
    let sql = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
        SELECT sum(outer_of(x)) FROM n";
    assert_eq!(rows(&conn, sql), "800080000");
    // The number of runs, for each prepared statement of the connection.
    let mut runs = Vec::new();
    // SAFETY: the connection is open, and no statement ends meanwhile.
    unsafe {
        let mut statement = ffi::sqlite3_next_stmt(conn.handle(), std::ptr::null_mut());
        while !statement.is_null() {
            let run = ffi::sqlite3_stmt_status(statement, ffi::SQLITE_STMTSTATUS_RUN, 0);
            runs.push(run);
            statement = ffi::sqlite3_next_stmt(conn.handle(), statement);
        }
    }
    runs.sort_unstable();
    assert_eq!(runs, [20000, 40000]);
}

#[test]
fn pq11_a_connection_with_functions_closes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let conn = Connection::open(&path).unwrap();
    super::register(&conn).unwrap();
    let script = "CREATE PERFETTO FUNCTION f(a LONG) RETURNS LONG AS SELECT $a;
        CREATE PERFETTO FUNCTION g(a LONG) RETURNS TABLE(x LONG) AS SELECT f($a) AS x;
        SELECT f(1), x FROM g(2)";
    assert_eq!(rows(&conn, script), "1 2");
    // SQLite refuses it while a statement is prepared.
    conn.close().unwrap();
}

#[test]
fn pq5_a_function_is_replaced_while_others_use_it() {
    let conn = connect();
    let script = "CREATE PERFETTO FUNCTION f() RETURNS LONG AS SELECT 1;
        CREATE PERFETTO FUNCTION g() RETURNS LONG AS SELECT f() + 10;
        CREATE PERFETTO VIEW v AS SELECT g() AS x;
        CREATE OR REPLACE PERFETTO FUNCTION f() RETURNS LONG AS SELECT 2;
        SELECT x FROM v";
    assert_eq!(rows(&conn, script), "12");
    // A circle has an end.
    let script = "CREATE OR REPLACE PERFETTO FUNCTION f() RETURNS LONG AS SELECT g()";
    rows(&conn, script);
    let deep = thread::scope(|scope| {
        let big = thread::Builder::new().stack_size(16 << 20);
        let (send, conn) = (Send(&conn), ());
        let () = conn;
        big.spawn_scoped(scope, move || {
            let send = send;
            refusal(send.0, "SELECT f()")
        })
        .unwrap()
        .join()
        .unwrap()
    });
    assert!(deep.contains("functions call each other more than 1000 deep"), "{deep}");
}

/// A connection that another thread uses while this one waits.
struct Send<'c>(&'c Connection);

// SAFETY: one thread uses it at a time, and SQLite is built for several.
unsafe impl std::marker::Send for Send<'_> {}

#[test]
fn pq6_a_function_with_rows_is_stepped_lazily() {
    let conn = connect();
    let script =
        "CREATE PERFETTO FUNCTION up_from(start LONG) RETURNS TABLE(n LONG, name STRING) AS
        WITH RECURSIVE n(n) AS (SELECT $start UNION ALL SELECT n + 1 FROM n)
        SELECT n, 'number ' || n AS name FROM n;
        SELECT name FROM up_from(5) LIMIT 2";
    assert_eq!(rows(&conn, script), "number 5\nnumber 6");
    assert_eq!(rows(&conn, "SELECT * FROM up_from(1) LIMIT 1"), "1 number 1");
    for (sql, expected) in [
        ("SELECT * FROM up_from", "up_from() takes 1 arguments; argument 1 (start) is missing"),
        ("SELECT * FROM up_from('a')", "up_from(): argument 1 (start) must be LONG, not a text"),
        ("SELECT * FROM up_from(1, 2)", "too many arguments on up_from() - max 1"),
    ] {
        let error = refusal(&conn, sql);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn pq6_a_function_with_rows_joins_and_runs_in_subqueries() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3;
        CREATE PERFETTO FUNCTION below(limit_of LONG, step LONG) RETURNS TABLE(a LONG, module LONG) AS
        SELECT a, a * $step AS module FROM t WHERE a < $limit_of;
        SELECT t.a, b.a, b.module FROM t, below(t.a, 10) AS b";
    assert_eq!(rows(&conn, script), "2 1 10\n3 1 10\n3 2 20");
    assert_eq!(
        rows(&conn, "SELECT a, (SELECT sum(module) FROM below(t.a, 1)) FROM t"),
        "1 NULL\n2 1\n3 3"
    );
    assert_eq!(
        rows(&conn, "SELECT count(*) FROM below(3, 1) AS x JOIN below(4, 1) AS y USING (a)"),
        "2"
    );
    assert_eq!(
        rows(
            &conn,
            "CREATE PERFETTO FUNCTION none() RETURNS TABLE(x LONG) AS SELECT 4 AS x; SELECT x FROM none()"
        ),
        "4"
    );
}

#[test]
fn pq10_the_schema_of_a_function_with_rows_is_in_order() {
    let conn = connect();
    let error = refusal(
        &conn,
        "CREATE PERFETTO FUNCTION f() RETURNS TABLE(a LONG, b LONG) AS SELECT 1 AS b, 2 AS a",
    );
    assert!(error.starts_with("f(): RETURNS TABLE has the columns a, b, but its SELECT has b, a; they must be the same, in this order"), "{error}");
    let error = refusal(
        &conn,
        "CREATE PERFETTO FUNCTION f(x LONG) RETURNS TABLE(a LONG) AS SELECT $y AS a",
    );
    assert!(error.starts_with("f(): $y is no argument"), "{error}");
    assert_eq!(rows(&conn, "SELECT count(*) FROM sqlite_temp_schema"), "0");
}

#[test]
fn pq10_from_a_table_with_empty_parentheses() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS SELECT 4 AS x; CREATE PERFETTO VIEW v AS SELECT x + 1 AS x FROM t ( );
        CREATE PERFETTO FUNCTION f() RETURNS LONG AS SELECT t.x + v.x FROM t() JOIN v() AS v;
        CREATE PERFETTO TABLE u AS SELECT 1 IS DISTINCT FROM f() AS y, f() AS z FROM t();
        SELECT y, z FROM u";
    assert_eq!(rows(&conn, script), "1 9");
}

#[test]
fn pq6_a_function_delegates() {
    let conn = connect();
    let script = "CREATE PERFETTO FUNCTION size_of(x ANY) RETURNS LONG DELEGATES TO length;
        SELECT size_of('abc'), size_of(x'00')";
    assert_eq!(rows(&conn, script), "3 1");
    let error =
        refusal(&conn, "CREATE PERFETTO FUNCTION f(x ANY) RETURNS LONG DELEGATES TO missing");
    assert!(error.starts_with("f(): no such function: missing"), "{error}");
    // A function that only trace processor has fails in the call alone.
    rows(&conn, "CREATE PERFETTO FUNCTION f(x ANY) RETURNS LONG DELEGATES TO __intrinsic_missing");
    assert!(refusal(&conn, "SELECT f(1)").starts_with("no such function: f"));
    // SQLite's own function is the one that trace processor calls so.
    let script = "CREATE PERFETTO FUNCTION abs(x ANY) RETURNS LONG DELEGATES TO __intrinsic_abs; SELECT abs(-1)";
    assert_eq!(rows(&conn, script), "1");
}

#[test]
fn pq10_a_memoized_function_runs_once_for_each_argument() {
    let conn = connect();
    let script = "CREATE PERFETTO FUNCTION fib(n LONG) RETURNS LONG AS
        SELECT iif($n < 2, $n, fib($n - 1) + fib($n - 2));
        SELECT experimental_memoize('fib')";
    rows(&conn, script);
    // Without it, this makes 10^18 calls.
    assert_eq!(rows(&conn, "SELECT fib(80)"), "23416728348467685");
    let error = refusal(&conn, "SELECT experimental_memoize('missing')");
    assert!(error.starts_with("experimental_memoize(): missing must be a function"), "{error}");
}

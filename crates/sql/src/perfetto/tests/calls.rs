//! The older forms of the dialect's statements: `create_function` and its like.

use std::thread;

use rusqlite::Connection;

use super::{connect, folder, refusal, rows, try_rows};

#[test]
fn pq14_create_function_makes_a_function() {
    let conn = connect();
    let make = "SELECT create_function('f(x INT)', 'INT', 'SELECT $x + 1')";
    assert_eq!(rows(&conn, &format!("{make}; SELECT f(1), f(NULL)")), "2 NULL");
    assert_eq!(refusal(&conn, "SELECT f('a')"), "f(): argument 1 (x) must be LONG, not a text");
    // A function replaces the one before it, with a semicolon or a name after the call.
    let again = "SELECT create_function('f(x INT)', 'STRING', 'SELECT $x || ''!'';') AS made";
    assert_eq!(rows(&conn, &format!("{again}; SELECT f(1)")), "1!");
    // A statement with such a call has no rows.
    assert_eq!(rows(&conn, make), "nothing");
    let after = "SELECT 7; SELECT create_function('g()', 'INT', 'SELECT 1 WHERE 0')";
    assert_eq!(rows(&conn, after), "7");
    assert_eq!(rows(&conn, "SELECT g()"), "NULL");
    let two = "SELECT create_function('two()', 'INT', 'SELECT 1 UNION ALL SELECT 2'); SELECT two()";
    assert!(refusal(&conn, two).starts_with("two(): its SELECT found more than one row"));
    let fibonacci = "SELECT create_function('fib(n INT)', 'INT',
        'SELECT CASE WHEN $n <= 1 THEN $n ELSE fib($n - 1) + fib($n - 2) END'); SELECT fib(15)";
    assert_eq!(rows(&conn, fibonacci), "610");
}

#[test]
fn pq14_a_call_in_any_other_place_is_one_too() {
    let conn = connect();
    let nested = "SELECT typeof(create_function('f(x INT)', 'INT', 'SELECT 2 * $x'))";
    assert_eq!(rows(&conn, nested), "null");
    let beside = "SELECT f(4), create_function('g()', 'INT', 'SELECT 1') IS NULL";
    assert_eq!(rows(&conn, beside), "8 1");
    assert_eq!(rows(&conn, "SELECT g()"), "1");
    let joined =
        "SELECT create_function('f' || '(x INT)', 'INT', 'SELECT ' || '3 * $x'); SELECT f(4)";
    assert_eq!(rows(&conn, joined), "12");
}

#[test]
fn pq14_wrong_calls_say_what_is_wrong() {
    let conn = connect();
    for (call, expected) in [
        (
            "create_function('f(x INT)', 'INT')",
            "create_function() takes the arguments (prototype, type, sql), not 2 of them",
        ),
        (
            "create_function(NULL, 'INT', 'SELECT 1')",
            "create_function(): argument 1 (prototype) must be a text, not NULL",
        ),
        ("create_function('f', 'INT', 'SELECT 1')", "near \"RETURNS\": expected ("),
        ("create_function('f(x WHAT)', 'INT', 'SELECT 1')", "near \"WHAT\": expected one of the"),
        ("create_function('f()', 'WHAT', 'SELECT 1')", "near \"WHAT\": expected one of the types"),
        ("create_function('f()', 'INT', 'SELECT x')", "no such column: x"),
        (
            "create_function('f()', 'INT', 'SELECT 1, 2')",
            "f(): its SELECT must have one column, not 2",
        ),
        ("import('no.such')", "no such module: no.such"),
        ("import(5)", "import(): argument 1 (module) must be a text, not 5"),
        (
            "experimental_memoize('none')",
            "experimental_memoize(): none must be a function with one argument, an integer, made with CREATE PERFETTO FUNCTION or create_function()",
        ),
    ] {
        for statement in [format!("SELECT {call}"), format!("SELECT 1, {call}")] {
            let message = refusal(&conn, &statement);
            let is_count = message.contains("wrong number of arguments");
            assert!(message.contains(expected) || is_count, "{statement}: {message}");
        }
    }
}

#[test]
fn pq14_create_view_function_makes_a_function_with_rows() {
    let conn = connect();
    let make = "SELECT create_view_function('v(n INT)', 'x INT, y STRING',
        'SELECT $n AS x, ''a'' AS y UNION ALL SELECT 5, 6')";
    assert_eq!(rows(&conn, &format!("{make}; SELECT * FROM v(3)")), "3 a\n5 6");
    let again = "SELECT create_view_function('v(n INT)', 'x INT', 'SELECT $n + 1 AS x')";
    assert_eq!(rows(&conn, &format!("{again}; SELECT * FROM v(3)")), "4");
    let other =
        "SELECT create_view_function('w(n INT)', 'x INT, y STRING', 'SELECT $n AS x, 1 AS z')";
    let expected = "w(): RETURNS TABLE has the columns x, y, but its SELECT has x, z";
    assert!(refusal(&conn, other).contains(expected));
}

#[test]
fn pq14_a_memoized_function_calls_itself_to_any_depth() {
    let deep = thread::Builder::new().stack_size(4 << 20).spawn(|| {
        let conn = connect();
        let script = "SELECT create_function('sum_to(n INT)', 'INT',
                'SELECT iif($n = 0, 0, $n + sum_to($n - 1))');
            SELECT experimental_memoize('sum_to'); SELECT sum_to(50000), sum_to(3)";
        assert_eq!(rows(&conn, script), "1250025000 6");
        let fibonacci = "SELECT create_function('fib(n INT)', 'INT',
                'SELECT CASE WHEN $n <= 1 THEN $n ELSE fib($n - 1) + fib($n - 2) END');
            SELECT experimental_memoize('fib'); SELECT fib(90)";
        assert_eq!(rows(&conn, fibonacci), "2880067194370816120");
    });
    deep.unwrap().join().unwrap();
}

#[test]
fn pq14_memoized_functions_may_call_each_other() {
    let conn = connect();
    let script = "SELECT create_function('odd(n INT)', 'INT', 'SELECT 0');
        SELECT create_function('even(n INT)', 'INT', 'SELECT iif($n = 0, 1, odd($n - 1))');
        SELECT create_function('odd(n INT)', 'INT', 'SELECT iif($n = 0, 0, even($n - 1))');
        SELECT experimental_memoize('odd'); SELECT experimental_memoize('even');
        SELECT odd(7), even(7), odd(8), even(8), even(40)";
    assert_eq!(rows(&conn, script), "1 0 0 1 1");
}

#[test]
fn pq14_a_result_that_depends_on_itself_is_an_error() {
    let conn = connect();
    let script = "SELECT create_function('f(n INT)', 'INT', 'SELECT f($n % 3 + 1)');
        SELECT experimental_memoize('f'); SELECT f(1)";
    assert!(refusal(&conn, script).contains("f(): the result for 1 depends on itself"));
    // The function can be called again, and be replaced.
    let script = "SELECT create_function('f(n INT)', 'INT', 'SELECT $n'); SELECT f(5)";
    assert_eq!(rows(&conn, script), "5");
}

#[test]
fn pq14_null_is_not_kept() {
    let conn = connect();
    let script = "CREATE TEMP TABLE t(k, v); INSERT INTO t VALUES (1, 10);
        SELECT create_function('v_of(k INT)', 'INT', 'SELECT v FROM t WHERE k = $k');
        SELECT experimental_memoize('v_of'); SELECT v_of(1), v_of(2)";
    assert_eq!(rows(&conn, script), "10 NULL");
    assert_eq!(rows(&conn, "UPDATE t SET k = k + 1; SELECT v_of(1), v_of(2)"), "10 10");
}

#[test]
fn pq14_import_includes_a_module_any_number_of_times() {
    let (_folder, packages) = folder(&[
        ("own.a", "SELECT import('own.b'); CREATE PERFETTO TABLE a AS SELECT x + 1 AS x FROM b;"),
        ("own.b", "CREATE PERFETTO TABLE b AS SELECT 1 AS x;"),
        ("own.made", "SELECT create_function('made()', 'INT', 'SELECT 4');"),
        ("own.reads", "SELECT create_function('reads()', 'BYTES', 'SELECT readfile(''x'')');"),
        (
            "own.hidden",
            "CREATE PERFETTO TABLE t AS SELECT create_function('f()', 'INT', 'SELECT 1') AS x;",
        ),
        ("own.circle", "SELECT import('own.circle');"),
    ]);
    let conn = connect();
    let run = |script: &str| try_rows(&conn, script, &packages);
    let twice = "SELECT import('own.a'); SELECT import('own.a'); SELECT x FROM a";
    assert_eq!(run(twice).unwrap(), "2");
    assert_eq!(run("INCLUDE PERFETTO MODULE own.made; SELECT made()").unwrap(), "4");
    for (module, expected) in [
        ("reads", "a module must not use readfile"),
        ("hidden", "a module must not use create_function"),
        ("circle", "the module own.circle includes itself"),
    ] {
        let message = run(&format!("SELECT import('own.{module}')")).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn pq6_a_function_of_any_number_of_arguments_passes_them_on() {
    let conn = connect();
    let script = "CREATE PERFETTO FUNCTION h(args ANY...) RETURNS LONG DELEGATES TO hash;
        SELECT h(1), h(1) = hash(1), h('a', 2) = hash('a', 2), h() = hash()";
    assert_eq!(rows(&conn, script), "-8517097267634966620 1 1 1");
}

#[test]
fn pq6_a_function_with_rows_takes_any_number_for_a_number() {
    let conn = connect();
    let script = "CREATE PERFETTO FUNCTION v(d DOUBLE, l LONG) RETURNS TABLE(x DOUBLE, y DOUBLE) AS
        SELECT $d / 2 AS x, $l AS y; SELECT * FROM v(5.0, 1.5) UNION ALL SELECT * FROM v(4, 2)";
    assert_eq!(rows(&conn, script), "2.5 1.5\n2 2");
    let message = refusal(&conn, "SELECT * FROM v('a', 1)");
    assert_eq!(message, "v(): argument 1 (d) must be DOUBLE, not a text");
}

#[test]
fn pq7_casts_need_no_module() {
    let conn = connect();
    let casts = "SELECT cast_int!('5'), cast_string!(7) || 'x', cast_double!('2.5') * 2";
    assert_eq!(rows(&conn, casts), "5 7x 5.0");
    // A macro with the name comes first.
    let own = "CREATE PERFETTO MACRO cast_int(x Expr) RETURNS Expr AS $x;
        SELECT typeof(cast_int!('5'))";
    assert_eq!(rows(&conn, own), "text");
}

#[test]
fn pq1_a_script_has_plain_tables_of_its_own() {
    // Where the database cannot be written, they are in the temp schema.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE kept(a)").unwrap();
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = Connection::open_with_flags(&path, flags).unwrap();
    super::register(&conn).unwrap();
    let script = "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 2), (3, 4);
        UPDATE t SET b = 7 WHERE a = 1; DELETE FROM t WHERE a = 3;
        CREATE VIEW v AS SELECT a + b AS c FROM t; SELECT a, b, c FROM t, v";
    assert_eq!(rows(&conn, script), "1 7 8");
    let again = "DROP VIEW v; DROP TABLE t; CREATE TABLE t AS SELECT 5 AS a; SELECT * FROM t";
    assert_eq!(rows(&conn, again), "5");
    assert!(refusal(&conn, "INSERT INTO kept VALUES (1)").contains("readonly"));
}

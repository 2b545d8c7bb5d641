//! Scripts, and the dialect as functions of SQL.

use rusqlite::Connection;

use super::{connect, folder, refusal, rows, try_rows};
use crate::perfetto::{Packages, run, step};

#[test]
fn pq1_a_script_returns_its_last_statement_with_rows() {
    let conn = connect();
    for (script, expected) in [
        ("SELECT 1; SELECT 2", "2"),
        (
            "SELECT 1; CREATE PERFETTO TABLE t AS SELECT 5 AS x; SELECT x FROM t; DROP PERFETTO TABLE t",
            "5",
        ),
        ("CREATE PERFETTO MACRO m() RETURNS Expr AS SELECT 7; m!()", "7"),
        ("-- nothing", "nothing"),
        ("CREATE TEMP TABLE plain (x)", "nothing"),
        ("INSERT INTO plain VALUES (1), (2); SELECT count(*) FROM plain; DELETE FROM plain", "2"),
    ] {
        assert_eq!(rows(&conn, script), expected, "{script}");
    }
}

#[test]
fn pq1_an_error_of_sqlite_has_its_place() {
    let conn = connect();
    let script = "CREATE PERFETTO MACRO m(c ColumnName) RETURNS Expr AS\n  max($c,\n  missing);\nCREATE PERFETTO TABLE t AS SELECT 1 AS x;\nSELECT 1,\n  m!(x) FROM t";
    let error = refusal(&conn, script);
    assert_eq!(
        error,
        "no such column: missing\n  line 3, column 3: missing);\n  through the macro m!, called at line 6, column 3"
    );
    let error = refusal(&conn, "SELECT 1;\nSELECT FROM;");
    assert!(
        error.starts_with("near \"FROM\": syntax error\n  line 2, column 8: SELECT FROM;"),
        "{error}"
    );
}

#[test]
fn pq1_a_script_of_10_mb_runs() {
    let conn = connect();
    let one = "CREATE OR REPLACE PERFETTO MACRO m() RETURNS Expr AS (SELECT 'a long text in the body');\n";
    let script = one.repeat((10 << 20) / one.len());
    assert_eq!(rows(&conn, &format!("{script} SELECT m!()")), "a long text in the body");
}

#[test]
fn pq1_the_form_for_sqlite_of_each_statement_can_be_asked_for() {
    let conn = connect();
    assert!(step(&conn, "CREATE PERFETTO MACRO m(x Expr) RETURNS Expr AS ($x)").unwrap().is_none());
    let translated = step(&conn, "SELECT m!(1), wrong").unwrap().unwrap();
    assert_eq!(translated.text(), "SELECT (1), wrong");
    assert!(!translated.is_same());
    let error = conn.prepare(translated.text()).unwrap_err();
    let expected = "no such column: wrong\n  line 1, column 15: SELECT m!(1), wrong";
    assert_eq!(translated.explain(&error).to_string(), expected);
    assert!(step(&conn, "SELECT 1; SELECT 2").is_err());
    let translated = step(&conn, "CREATE TABLE t (x)").unwrap().unwrap();
    assert_eq!(translated.text(), "CREATE TABLE t (x)");
    assert!(translated.is_same());
}

#[test]
fn pq3_parameters_of_a_table_have_values() {
    use crate::ValueRef;
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS SELECT :n + 1 AS x, $s AS s";
    let values = [("n", ValueRef::Integer(4)), ("s", ValueRef::Text(b"text"))];
    assert!(crate::perfetto::step_with(&conn, script, &values).unwrap().is_none());
    assert_eq!(rows(&conn, "SELECT x, s FROM t"), "5 text");
    let error = refusal(&conn, "CREATE PERFETTO TABLE u AS\nSELECT :n AS x");
    assert_eq!(
        error,
        "CREATE PERFETTO TABLE u: :n has no value\n  line 2, column 8: SELECT :n AS x"
    );
}

#[test]
fn pq11_select_perfetto_sql_runs_a_script_inside_of_a_statement() {
    let (folder, _) = folder(&[(
        "a.m",
        "CREATE PERFETTO TABLE m AS SELECT 3 AS x; CREATE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT $x + 1",
    )]);
    let conn = Connection::open_in_memory().unwrap();
    super::register(&conn).unwrap();
    let ask = |sql: &str| {
        conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(|error| error.to_string())
    };
    let folder = folder.path().display();
    let sql = format!("SELECT perfetto_sql('INCLUDE PERFETTO MODULE a.m; CREATE PERFETTO VIEW v AS SELECT f(x) AS y FROM m;
        CREATE PERFETTO FUNCTION rows_of(n LONG) RETURNS TABLE(z LONG) AS SELECT y + $n AS z FROM v; SELECT 1', '{folder}')");
    assert_eq!(ask(&sql), Ok(4));
    assert_eq!(ask("SELECT z + f(1) FROM rows_of(10)"), Ok(16));
    // Older versions of SQLite drop no table while a statement reads.
    let replaced =
        ask("SELECT perfetto_sql('CREATE OR REPLACE PERFETTO TABLE m AS SELECT 3 AS x') FROM m");
    if let Err(error) = replaced {
        let expected = "CREATE OR REPLACE PERFETTO TABLE m: the old table cannot be replaced while a statement of this connection runs";
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(ask("SELECT x FROM m"), Ok(3));
    let again =
        "SELECT perfetto_sql('CREATE OR REPLACE PERFETTO TABLE m AS SELECT x + 0 AS x FROM m')";
    assert_eq!(ask(again), Ok(1));
    assert_eq!(
        ask("SELECT perfetto_sql('CREATE OR REPLACE PERFETTO VIEW v AS SELECT 7 AS y')"),
        Ok(1)
    );
    assert_eq!(
        ask(
            "SELECT perfetto_sql('CREATE OR REPLACE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT 100')"
        ),
        Ok(1)
    );
    assert_eq!(ask("SELECT z + f(1) FROM rows_of(0)"), Ok(107));
    let error = ask("SELECT perfetto_sql('INCLUDE PERFETTO MODULE a.missing')").unwrap_err();
    assert!(error.starts_with("no such module: a.missing"), "{error}");
    assert!(conn.is_autocommit());
    assert_eq!(
        ask("SELECT perfetto_sql(1)").unwrap_err(),
        "perfetto_sql(): argument 1 (script) must be a text, not 1"
    );
    // A view cannot call it.
    conn.execute_batch("CREATE VIEW hostile AS SELECT perfetto_sql('SELECT 1')").unwrap();
    assert!(ask("SELECT * FROM hostile").unwrap_err().starts_with("unsafe use of perfetto_sql()"));
}

#[test]
fn pq11_a_function_of_sqlite_is_not_replaced_while_a_statement_runs() {
    let conn = connect();
    crate::slices::register(&conn).unwrap();
    let (folder, _) = folder(&[(
        "a.m",
        "CREATE PERFETTO FUNCTION slice_is_ancestor(a LONG, b LONG) RETURNS BOOL AS SELECT 7;
        CREATE PERFETTO FUNCTION sqrt(x ANY) RETURNS LONG DELEGATES TO sign;
        CREATE PERFETTO FUNCTION abs(x ANY) RETURNS LONG DELEGATES TO length",
    )]);
    let sql = format!(
        "SELECT perfetto_sql('INCLUDE PERFETTO MODULE a.m', '{}')",
        folder.path().display()
    );
    assert_eq!(rows(&conn, &sql), "1");
    assert_eq!(rows(&conn, "SELECT abs(-5)"), "5");
    let notes = crate::perfetto::take_notes(&conn).unwrap();
    assert!(
        notes.len() == 1
            && notes[0].starts_with("abs() stays SQLite's own function because a statement runs"),
        "{notes:?}"
    );
    let error = refusal(
        &conn,
        "SELECT perfetto_sql('CREATE PERFETTO FUNCTION hex(x ANY) RETURNS LONG AS SELECT 1')",
    );
    assert!(error.starts_with("CREATE PERFETTO FUNCTION: hex() cannot be declared: "), "{error}");
    // Without a running statement, both are replaced.
    let script = "CREATE PERFETTO FUNCTION hex(x ANY) RETURNS LONG AS SELECT 1; SELECT hex('a')";
    assert_eq!(rows(&conn, script), "1");
}

#[test]
fn pq11_perfetto_query_gives_the_last_statement_with_rows() {
    let (folder, _) =
        folder(&[("a.m", "CREATE PERFETTO MACRO twice(x Expr) RETURNS Expr AS 2 * $x")]);
    let conn = connect();
    let ask = |script: &str| {
        let sql = "SELECT perfetto_query(?1, ?2)";
        let folder = folder.path().to_str().unwrap();
        conn.query_row(sql, [script, folder], |row| row.get::<_, Option<String>>(0))
            .map_err(|error| error.to_string())
    };
    let script = "INCLUDE PERFETTO MODULE a.m; CREATE PERFETTO TABLE t AS SELECT 4 AS x;\nSELECT twice!(x) AS y, :n FROM t";
    let sql = ask(script).unwrap().unwrap();
    assert_eq!(sql, "SELECT 2 * x AS y, :n FROM t");
    let mut statement = conn.prepare(&sql).unwrap();
    let row = statement.query_row([7], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(row.unwrap(), (8, 7));
    // There is no such statement.
    for script in ["", "-- nothing", "CREATE PERFETTO VIEW v AS SELECT 1 AS x"] {
        assert_eq!(ask(script), Ok(None), "{script}");
    }
    // It is compiled, so that an error has its place.
    assert_eq!(
        ask("SELECT 1;\nSELECT missing FROM t").unwrap_err(),
        "no such column: missing\n  line 2, column 8: SELECT missing FROM t"
    );
    assert_eq!(
        ask("SELECT :n;\nCREATE TEMP TABLE u (x)").unwrap_err(),
        ":n has no value: only a statement with rows at the end of a script can have parameters\n  line 1, column 1: SELECT :n;"
    );
    let one = "SELECT perfetto_query('SELECT 1 AS x')";
    assert_eq!(rows(&conn, one), "SELECT 1 AS x");
    assert_eq!(
        refusal(&conn, "SELECT perfetto_query('', 1)"),
        "perfetto_query(): argument 2 (folders) must be a text, not 1"
    );
}

#[test]
fn pq11_the_rows_of_an_earlier_script_stay_while_they_are_read() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS SELECT 1 AS x UNION ALL SELECT 2;
        SELECT x FROM t; DROP PERFETTO TABLE t";
    let packages = Packages::default();
    let mut first = run(&conn, script, &packages).unwrap().unwrap();
    let mut first = first.raw_query();
    let next = |rows: &mut rusqlite::Rows<'_>| {
        let row = rows.next().unwrap();
        row.map(|row| row.get::<_, i64>(0).unwrap())
    };
    assert_eq!(next(&mut first), Some(1));
    let other = "SELECT 5 AS x; CREATE OR REPLACE PERFETTO VIEW v AS SELECT 1 AS y";
    assert_eq!(rows(&conn, other), "5");
    assert_eq!((next(&mut first), next(&mut first)), (Some(2), None));
    drop(first);
    assert_eq!(rows(&conn, other), "5");
    // No more than those of the last script stay.
    let kept = "SELECT count(*) FROM sqlite_temp_schema WHERE name GLOB '__timebase_result*'";
    assert_eq!(rows(&conn, kept), "1");
}

#[test]
fn pq11_perfetto_notes_gives_what_the_user_should_know() {
    let (_folder, packages) = folder(&[
        ("prelude.p", "CREATE PERFETTO VIEW heap AS SELECT * FROM __intrinsic_jit_code"),
        ("a.m", "CREATE PERFETTO TABLE made AS SELECT * FROM heap"),
    ]);
    let conn = connect();
    conn.execute_batch("CREATE TABLE other (ts)").unwrap();
    let script = "INCLUDE PERFETTO MODULE a.m; CREATE PERFETTO INDEX i ON other(ts)";
    assert!(run(&conn, script, &packages).unwrap().is_none());
    assert_eq!(
        rows(&conn, "SELECT perfetto_notes()"),
        "CREATE PERFETTO INDEX i was left out: other is part of the database, which has its own indexes"
    );
    assert_eq!(rows(&conn, "SELECT perfetto_notes()"), "NULL");
    let lacks = "the result may lack rows: timebase does not fill __intrinsic_jit_code yet";
    rows(&conn, "SELECT * FROM heap");
    assert_eq!(rows(&conn, "SELECT perfetto_notes()"), lacks);
    let of_made = "SELECT perfetto_notes('SELECT * FROM made')";
    assert_eq!(rows(&conn, of_made), lacks);
    assert_eq!(
        refusal(&conn, "SELECT perfetto_notes(1)"),
        "perfetto_notes(): argument 1 (statement) must be a text, not 1"
    );
}

#[test]
fn pq11_perfetto_rows_gives_json() {
    let conn = connect();
    let script =
        "SELECT row FROM perfetto_rows('CREATE PERFETTO TABLE t AS SELECT 1 AS a, 2.5 AS b, ''it\"s
'' AS c, NULL AS d, x''00ff'' AS e UNION ALL SELECT 2, 1e300, ''é'', 1, NULL; SELECT * FROM t')";
    assert_eq!(
        rows(&conn, script),
        "{\"a\":1,\"b\":2.5,\"c\":\"it\\\"s\\n\",\"d\":null,\"e\":\"00FF\"}\n{\"a\":2,\"b\":1e300,\"c\":\"é\",\"d\":1,\"e\":null}"
    );
    assert_eq!(rows(&conn, "SELECT sum(row ->> 'a') FROM perfetto_rows('SELECT a FROM t')"), "3");
    assert_eq!(
        rows(
            &conn,
            "SELECT count(*) FROM perfetto_rows('CREATE PERFETTO VIEW w AS SELECT 1 AS x')"
        ),
        "0"
    );
    assert!(
        refusal(&conn, "SELECT * FROM perfetto_rows")
            .contains("perfetto_rows() needs the argument (script)")
    );
}

#[test]
fn pq11_perfetto_result_has_the_columns_of_a_select() {
    let conn = connect();
    let script = "CREATE PERFETTO MACRO twice(x Expr) RETURNS Expr AS 2 * $x;
        CREATE PERFETTO TABLE t AS SELECT 1 AS a UNION ALL SELECT 2;
        CREATE VIRTUAL TABLE temp.r USING perfetto_result('SELECT a, twice!(a) AS b, a FROM t WHERE a <> ''x''');
        SELECT * FROM r";
    assert_eq!(rows(&conn, script), "1 2 1\n2 4 2");
    assert_eq!(rows(&conn, "SELECT group_concat(name) FROM pragma_table_info('r')"), "a,b,a:2");
    // The table is as it was made, whatever becomes of the macro.
    let script =
        "DROP PERFETTO MACRO twice; CREATE TEMP TABLE other (x); SELECT sum(b) FROM r WHERE a > 1";
    assert_eq!(rows(&conn, script), "4");
    for text in ["INCLUDE PERFETTO MODULE a", "SELECT 1; SELECT 2", "DELETE FROM t", ""] {
        let error =
            refusal(&conn, &format!("CREATE VIRTUAL TABLE temp.q USING perfetto_result('{text}')"));
        assert!(error.starts_with("perfetto_result takes one SELECT"), "{error}");
    }
}

#[test]
fn pq11_two_threads_use_one_connection_in_turn() {
    use std::sync::{Arc, Mutex};
    let conn = connect();
    rows(&conn, "CREATE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT $x + 1");
    let conn = Arc::new(Mutex::new(conn));
    let threads: Vec<_> = (0..2)
        .map(|number| {
            let conn = Arc::clone(&conn);
            std::thread::spawn(move || {
                for round in 0..200 {
                    let conn = conn.lock().unwrap();
                    let script = format!("CREATE OR REPLACE PERFETTO TABLE t{number} AS SELECT f({round}) AS x; SELECT x FROM t{number}");
                    assert_eq!(rows(&conn, &script), (round + 1).to_string());
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn pq13_a_script_can_be_interrupted() {
    let (_folder, packages) = folder(&[("a.m", "CREATE PERFETTO TABLE before AS SELECT 1 AS x;
        CREATE PERFETTO TABLE t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(x) AS x FROM n")]);
    let conn = connect();
    let handle = conn.get_interrupt_handle();
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        handle.interrupt();
    });
    let error = run(&conn, "INCLUDE PERFETTO MODULE a.m", &packages).unwrap_err();
    stop.join().unwrap();
    assert!(error.is_interrupt(), "{error}");
    assert!(conn.is_autocommit());
    // The same inside of a statement, where SQLite ends no savepoint before that statement ends.
    let handle = conn.get_interrupt_handle();
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        handle.interrupt();
    });
    let sql = "SELECT perfetto_sql('INCLUDE PERFETTO MODULE a.m')";
    assert_eq!(refusal(&conn, sql), "interrupted");
    stop.join().unwrap();
    assert_eq!(rows(&conn, "SELECT 1"), "1");
    assert!(conn.is_autocommit());
    assert_eq!(rows(&conn, "SELECT count(*) FROM sqlite_temp_schema"), "0");
    // An interrupted module has not failed.
    let error = try_rows(&conn, "SELECT * FROM before", &Packages::default()).unwrap_err();
    assert_eq!(error.lines().next(), Some("no such table: before"));
}

//! Tables, views, indexes and macros.

use super::{connect, refusal, rows};

/// The declared types of a table's columns.
fn types(conn: &rusqlite::Connection, table: &str) -> String {
    let sql = format!(
        "SELECT group_concat(name || ' ' || type || iif(pk, ' key', ''), ', ') FROM pragma_table_info('{table}')"
    );
    rows(conn, &sql)
}

#[test]
fn pq3_a_table_has_the_types_of_its_schema() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t(
            id ID, ts TIMESTAMP, utid JOINID(thread.id), name STRING, value DOUBLE, is_x BOOL) AS
        SELECT 'a' AS name, 3 AS id, 10 AS ts, 1 AS utid, 2 AS value, TRUE AS is_x
        UNION ALL SELECT NULL, 7, 20, 2, 2.5, 0;
        SELECT id, typeof(value), value, * FROM t";
    assert_eq!(rows(&conn, script), "3 real 2.0 a 3 10 1 2.0 1\n7 real 2.5 NULL 7 20 2 2.5 0");
    // The columns are in the order of the SELECT, as in trace processor.
    let expected = "name TEXT, id INTEGER key, ts INTEGER, utid INTEGER, value REAL, is_x INTEGER";
    assert_eq!(types(&conn, "t"), expected);
    let schema = "SELECT group_concat(name) FROM sqlite_schema";
    assert_eq!(rows(&conn, schema), "NULL");
}

#[test]
fn pq10_a_column_without_a_type_takes_that_of_its_values_and_int_and_real_is_real() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS
        SELECT 1 AS i, 1 AS mixed, NULL AS late, 'x' AS s, NULL AS n, 1.5 AS r, x'00' AS b, 1 AS any
        UNION ALL SELECT 2, 2.5, 7, 'y', NULL, NULL, NULL, 'text';
        SELECT mixed, late, any FROM t";
    assert_eq!(rows(&conn, script), "1.0 NULL 1\n2.5 7 text");
    let expected = "i INTEGER, mixed REAL, late INTEGER, s TEXT, n BLOB, r REAL, b BLOB, any BLOB";
    assert_eq!(types(&conn, "t"), expected);
}

#[test]
fn pq10_types_that_change_after_many_rows_are_seen() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t(id ID, value ANY, other LONG) AS
        WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
        SELECT iif(x = 19000, 5, x) AS id, x AS value, x AS other FROM n;
        SELECT count(*), sum(other), count(DISTINCT id), min(rowid), max(rowid) FROM t";
    assert_eq!(rows(&conn, script), "20001 200010000 20000 0 20000");
    assert_eq!(types(&conn, "t"), "id INTEGER, value BLOB, other INTEGER");
    let script = "CREATE PERFETTO TABLE u AS
        WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
        SELECT iif(x = 19000, 0.5, x) AS a, iif(x > 18000, 'text', NULL) AS b FROM n;
        SELECT typeof(a), typeof(b), count(*), min(rowid), max(rowid) FROM u GROUP BY 1, 2";
    assert_eq!(rows(&conn, script), "real null 18001 0 18000\nreal text 2000 18001 20000");
    assert_eq!(types(&conn, "u"), "a REAL, b TEXT");
    let left = "SELECT group_concat(name, ', ') FROM sqlite_temp_schema WHERE type = 'table'";
    assert_eq!(rows(&conn, left), "t, u");
}

/// SQLite opens the tables of such a subquery for each row, and refuses after a change of the schema.
#[test]
fn pq3_a_select_with_a_subquery_for_each_row_may_have_any_number_of_rows() {
    let conn = connect();
    conn.execute_batch(
        "CREATE TABLE name (id INTEGER PRIMARY KEY, name TEXT);
         INSERT INTO name VALUES (0, 'even'), (1, 'odd')",
    )
    .unwrap();
    for replacing in ["", "OR REPLACE ", "OR REPLACE "] {
        let script = format!(
            "CREATE {replacing}PERFETTO TABLE t AS
             WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 49999)
             SELECT x AS id, (SELECT name FROM name WHERE name.id = x % 2) AS name FROM n;
             SELECT name, count(*), min(id), max(id) FROM t GROUP BY name"
        );
        assert_eq!(rows(&conn, &script), "even 25000 0 49998\nodd 25000 1 49999");
    }
}

#[test]
fn pq10_a_real_number_makes_a_column_of_integers_real() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t(a LONG, b LONG) AS SELECT 1 AS a, 1 AS b UNION ALL SELECT 2.5, NULL;
        SELECT a, b FROM t";
    assert_eq!(rows(&conn, script), "1.0 1\n2.5 NULL");
    assert_eq!(types(&conn, "t"), "a REAL, b INTEGER");
}

#[test]
fn pq3_an_id_is_the_key_where_its_values_ascend() {
    let conn = connect();
    for (values, is_key) in
        [("(1), (2), (9)", true), ("(2), (1)", false), ("(1), (1)", false), ("(1), (NULL)", false)]
    {
        let script = format!(
            "CREATE OR REPLACE PERFETTO TABLE t(id ID) AS SELECT column1 AS id FROM (VALUES {values});
             SELECT group_concat(coalesce(id, 'NULL')) FROM t"
        );
        let expected = values.replace(['(', ')', ' '], "");
        assert_eq!(rows(&conn, &script), expected);
        assert_eq!(types(&conn, "t").ends_with("key"), is_key, "{values}");
    }
}

#[test]
fn pq10_auto_id_counts_rows_from_0_and_is_hidden() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS SELECT 'b' AS x UNION ALL SELECT 'a';
        CREATE PERFETTO TABLE u AS SELECT _auto_id AS id, t._auto_id + 1 AS next, x FROM t ORDER BY x;
        SELECT id, next, x, _auto_id FROM u";
    assert_eq!(rows(&conn, script), "1 2 a 0\n0 1 b 1");
    assert_eq!(rows(&conn, "SELECT * FROM t"), "b\na");
}

#[test]
fn pq10_a_schema_is_a_set_of_names_and_a_difference_is_named() {
    let conn = connect();
    for kind in ["TABLE", "VIEW"] {
        let error = refusal(
            &conn,
            &format!("CREATE PERFETTO {kind} t(a LONG, b LONG, c LONG) AS\nSELECT 1 AS b, 2 AS d"),
        );
        assert_eq!(
            error,
            format!(
                "CREATE PERFETTO {kind} t: the SELECT does not have the columns of the schema: a, c; the schema does not have the columns of the SELECT: d\n  line 2, column 1: SELECT 1 AS b, 2 AS d"
            )
        );
        let name = kind.to_lowercase();
        rows(
            &conn,
            &format!(
                "CREATE PERFETTO {kind} {name}_of_set(b LONG, a LONG) AS SELECT 1 AS a, 2 AS b"
            ),
        );
        assert_eq!(rows(&conn, &format!("SELECT * FROM {name}_of_set")), "1 2");
    }
    let error = refusal(&conn, "CREATE PERFETTO TABLE t AS SELECT 1 AS a, 2 AS A");
    assert!(
        error.starts_with("CREATE PERFETTO TABLE t: two columns are called a; rename one with AS"),
        "{error}"
    );
    let error =
        refusal(&conn, "CREATE PERFETTO TABLE t(a LONG) AS SELECT 1 AS a UNION ALL SELECT 'x'");
    assert!(
        error.starts_with(
            "CREATE PERFETTO TABLE t: the column a is LONG by the schema, but row 2 has a text"
        ),
        "{error}"
    );
    // Nothing stays of them.
    assert_eq!(rows(&conn, "SELECT count(*) FROM sqlite_temp_schema WHERE name = 't'"), "0");
}

#[test]
fn pq3_a_table_is_replaced_even_by_its_own_rows_and_under_a_view() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS SELECT 1 AS x;
        CREATE PERFETTO VIEW v AS SELECT x * 10 AS y FROM t;
        CREATE OR REPLACE PERFETTO TABLE t AS SELECT x + 1 AS x FROM t UNION ALL SELECT 7;
        SELECT y FROM v";
    assert_eq!(rows(&conn, script), "20\n70");
    assert_eq!(
        rows(&conn, "CREATE OR REPLACE PERFETTO VIEW t AS SELECT 5 AS x; SELECT y FROM v"),
        "50"
    );
    let error = refusal(&conn, "CREATE PERFETTO TABLE t AS SELECT 1 AS x");
    assert!(error.starts_with("CREATE PERFETTO TABLE: t exists already; use CREATE OR REPLACE PERFETTO TABLE, or another name"), "{error}");
    let error = refusal(&conn, "CREATE PERFETTO VIEW t AS SELECT 1 AS x");
    assert!(error.starts_with("CREATE PERFETTO VIEW: t exists already"), "{error}");
}

#[test]
fn pq12_tables_have_indexes_that_do_not_change_the_order_of_rows() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t(ts LONG, id LONG) AS
        WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 999)
        SELECT (x * 7919) % 1000 AS ts, 999 - x AS id FROM n;
        SELECT group_concat(ts) FROM (SELECT ts FROM t LIMIT 4)";
    assert_eq!(rows(&conn, script), "0,919,838,757");
    let plan = |sql: &str| rows(&conn, &format!("EXPLAIN QUERY PLAN {sql}"));
    assert!(plan("SELECT ts FROM t").ends_with("SCAN t"));
    assert!(plan("SELECT * FROM t WHERE ts = 5").contains("USING INDEX t (ts) (ts=?)"));
    assert!(
        plan("SELECT * FROM t WHERE ts BETWEEN 5 AND 6")
            .contains("USING INDEX t (ts) (ts>? AND ts<?)")
    );
    assert!(
        plan("SELECT * FROM t AS a CROSS JOIN t AS b ON b.id = a.ts")
            .contains("USING INDEX t (id) (id=?)")
    );
    assert!(
        plan("SELECT * FROM t AS a LEFT JOIN t AS b ON b.id = a.ts")
            .contains("USING INDEX t (id) (id=?)")
    );
}

#[test]
fn pq4_an_index_is_made_on_a_table_and_left_out_on_the_database() {
    let conn = connect();
    conn.execute_batch("CREATE TABLE ours (x); CREATE VIEW also_ours AS SELECT x FROM ours")
        .unwrap();
    let script = "CREATE PERFETTO TABLE t AS SELECT 1 AS a, 2 AS b;
        CREATE PERFETTO INDEX t ON t(a, b)";
    rows(&conn, script);
    let plan = rows(&conn, "EXPLAIN QUERY PLAN SELECT * FROM t WHERE a = 1 AND b = 2");
    assert!(plan.contains("INDEX t (index) (a=? AND b=?)"), "{plan}");
    let error = refusal(&conn, "CREATE PERFETTO INDEX t ON t(b)");
    assert!(error.starts_with("CREATE PERFETTO INDEX: t exists already"), "{error}");
    rows(&conn, "CREATE OR REPLACE PERFETTO INDEX t ON t(b); DROP PERFETTO INDEX t ON t");
    let error = refusal(&conn, "DROP PERFETTO INDEX t ON t");
    assert!(error.starts_with("DROP PERFETTO INDEX: no such index: t"), "{error}");
    let error = refusal(&conn, "CREATE PERFETTO INDEX i ON missing(b)");
    assert!(error.starts_with("CREATE PERFETTO INDEX: no such table: missing"), "{error}");
    assert_eq!(crate::perfetto::take_notes(&conn).unwrap(), [""; 0]);
    rows(&conn, "CREATE PERFETTO INDEX i ON ours(x); CREATE PERFETTO INDEX j ON also_ours(x)");
    let notes = crate::perfetto::take_notes(&conn).unwrap();
    assert_eq!(notes.len(), 2);
    assert!(
        notes[0].starts_with("CREATE PERFETTO INDEX i was left out: ours is part of the database")
    );
}

#[test]
fn pq4_everything_can_be_dropped() {
    let conn = connect();
    let script = "CREATE PERFETTO TABLE t AS SELECT 1 AS a; CREATE PERFETTO VIEW v AS SELECT 1 AS a;
        CREATE PERFETTO MACRO m() RETURNS Expr AS 1; CREATE PERFETTO FUNCTION f() RETURNS LONG AS SELECT 1;
        CREATE PERFETTO FUNCTION g() RETURNS TABLE(a LONG) AS SELECT 1 AS a";
    rows(&conn, script);
    let dropped = "DROP PERFETTO TABLE t; DROP PERFETTO VIEW v; DROP PERFETTO MACRO m;
        DROP PERFETTO FUNCTION f; DROP PERFETTO FUNCTION g";
    rows(&conn, dropped);
    for (sql, expected) in [
        ("SELECT * FROM t", "no such table: t"),
        ("SELECT * FROM v", "no such table: v"),
        ("SELECT m!()", "no such macro: m!"),
        ("SELECT f()", "no such function: f"),
        ("SELECT * FROM g()", "no such table: g"),
        ("DROP PERFETTO TABLE t", "DROP PERFETTO TABLE: no such table: t"),
        ("DROP PERFETTO FUNCTION f", "DROP PERFETTO FUNCTION: no such function: f"),
        ("DROP PERFETTO MACRO m", "DROP PERFETTO MACRO: no such macro: m"),
    ] {
        let error = refusal(&conn, sql);
        assert!(error.starts_with(expected), "{error}");
    }
    // All names are free again.
    rows(&conn, script);
}

#[test]
fn pq7_macros_are_expanded_when_an_object_is_made() {
    let conn = connect();
    let script = "CREATE PERFETTO MACRO one() RETURNS Expr AS 1;
        CREATE PERFETTO MACRO plus_one(x Expr) RETURNS Expr AS $x + one!();
        CREATE PERFETTO FUNCTION f(a LONG) RETURNS LONG AS SELECT plus_one!($a);
        CREATE PERFETTO VIEW v AS SELECT plus_one!(5) AS x;
        CREATE PERFETTO TABLE t AS SELECT plus_one!(plus_one!(5)) AS x;
        CREATE OR REPLACE PERFETTO MACRO one() RETURNS Expr AS 100;
        SELECT f(1), (SELECT x FROM v), (SELECT x FROM t), plus_one!(0)";
    assert_eq!(rows(&conn, script), "2 6 7 100");
    let error = refusal(&conn, "CREATE PERFETTO MACRO one() RETURNS Expr AS 1");
    assert!(error.starts_with("CREATE PERFETTO MACRO: one! exists already"), "{error}");
}

#[test]
fn pq10_a_text_in_double_quotes_is_a_text() {
    let conn = connect();
    let script =
        "CREATE PERFETTO VIEW v AS SELECT \"text\" AS x; SELECT x FROM v WHERE x = \"text\"";
    assert_eq!(rows(&conn, script), "text");
}

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::testing::{connection, error, rows};
use rusqlite::Connection;

/// A connection with the tables `a (ts, dur, p, x)` and `b (ts, dur, p, y)`; the values are rows of
/// `VALUES`.
fn with_tables(a: &str, b: &str) -> Connection {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE a (ts INTEGER, dur INTEGER, p INTEGER, x TEXT);
         CREATE TABLE b (ts INTEGER, dur INTEGER, p INTEGER, y TEXT);",
    )
    .unwrap();
    for (table, values) in [("a", a), ("b", b)] {
        if !values.is_empty() {
            conn.execute_batch(&format!("INSERT INTO {table} VALUES {values}")).unwrap();
        }
    }
    // Without partitions, both tables would pass on their column `p`.
    conn.execute_batch(
        "CREATE VIEW a_all AS SELECT ts, dur, x FROM a;
         CREATE VIEW b_all AS SELECT ts, dur, y FROM b;",
    )
    .unwrap();
    conn
}

fn join(conn: &Connection, kind: &str, tables: &str) -> Vec<String> {
    let sql = format!("DROP TABLE IF EXISTS j; CREATE VIRTUAL TABLE temp.j USING {kind}({tables})");
    conn.execute_batch(&sql).unwrap();
    rows(conn, "SELECT * FROM j")
}

const ALL: &str = "a_all, b_all";
const SAME: &str = "a PARTITIONED p, b PARTITIONED p";

#[test]
fn pq8_a_row_is_an_overlap_of_two_spans() {
    // a:  x1 [0,     10)         x2 [20,  25)
    // b:        y1 [5,    15) y2 [15,      40)
    let conn =
        with_tables("(0, 10, 1, 'x1'), (20, 5, 1, 'x2')", "(15, 25, 1, 'y2'), (5, 10, 1, 'y1')");
    assert_eq!(join(&conn, "SPAN_JOIN", ALL), ["5 5 x1 y1", "20 5 x2 y2"]);
    assert_eq!(join(&conn, "SPAN_LEFT_JOIN", ALL), ["0 5 x1 NULL", "5 5 x1 y1", "20 5 x2 y2"]);
    assert_eq!(
        join(&conn, "span_outer_join", ALL),
        ["0 5 x1 NULL", "5 5 x1 y1", "10 5 NULL y1", "15 5 NULL y2", "20 5 x2 y2", "25 15 NULL y2"]
    );
}

#[test]
fn pq8_partitions_are_joined_by_themselves() {
    let conn = with_tables(
        "(0, 10, 1, 'x1'), (0, 10, 2, 'x2'), (0, 10, 4, 'x4')",
        "(5, 10, 2, 'y2'), (0, 5, 3, 'y3'), (2, 3, 1, 'y1')",
    );
    assert_eq!(join(&conn, "SPAN_JOIN", SAME), ["2 3 1 x1 y1", "5 5 2 x2 y2"]);
    assert_eq!(
        join(&conn, "SPAN_LEFT_JOIN", SAME),
        [
            "0 2 1 x1 NULL",
            "2 3 1 x1 y1",
            "5 5 1 x1 NULL",
            "0 5 2 x2 NULL",
            "5 5 2 x2 y2",
            "0 10 4 x4 NULL"
        ]
    );
    let outer = join(&conn, "SPAN_OUTER_JOIN", SAME);
    assert!(outer.contains(&"0 5 3 NULL y3".to_owned()), "{outer:?}");
    assert_eq!(outer.len(), 8);
}

#[test]
fn pq8_the_partitions_of_one_table_are_joined_with_the_whole_other() {
    let a = "(0, 10, 1, 'x1'), (5, 10, 2, 'x2')";
    let conn = with_tables(a, "(8, 4, 0, 'y')");
    let tables = "a PARTITIONED p, b_all";
    assert_eq!(join(&conn, "SPAN_JOIN", tables), ["8 2 1 x1 y", "8 4 2 x2 y"]);
    assert_eq!(
        join(&conn, "SPAN_LEFT_JOIN", tables),
        ["0 8 1 x1 NULL", "8 2 1 x1 y", "5 3 2 x2 NULL", "8 4 2 x2 y", "12 3 2 x2 NULL"]
    );
    // The other way round: what only b has, it has in each partition of a.
    assert_eq!(
        join(&conn, "SPAN_LEFT_JOIN", "b_all, a PARTITIONED p"),
        ["8 2 1 y x1", "10 2 1 y NULL", "8 4 2 y x2"]
    );
    // Without partitions, nothing says in which one a span of b would be.
    conn.execute_batch("DELETE FROM a").unwrap();
    assert_eq!(join(&conn, "SPAN_LEFT_JOIN", "b_all, a PARTITIONED p"), [""; 0]);
    assert_eq!(join(&conn, "SPAN_OUTER_JOIN", tables), [""; 0]);
}

#[test]
fn pq8_an_empty_table_is_one_gap() {
    let conn = with_tables("(0, 10, 1, 'x1'), (20, 5, 2, 'x2')", "");
    assert_eq!(join(&conn, "SPAN_JOIN", ALL), [""; 0]);
    for kind in ["SPAN_LEFT_JOIN", "SPAN_OUTER_JOIN"] {
        assert_eq!(join(&conn, kind, ALL), ["0 10 x1 NULL", "20 5 x2 NULL"]);
        assert_eq!(join(&conn, kind, SAME), ["0 10 1 x1 NULL", "20 5 2 x2 NULL"]);
        assert_eq!(
            join(&conn, kind, "a PARTITIONED p, b_all"),
            ["0 10 1 x1 NULL", "20 5 2 x2 NULL"]
        );
    }
    assert_eq!(join(&conn, "SPAN_LEFT_JOIN", "b_all, a_all"), [""; 0]);
    assert_eq!(join(&conn, "SPAN_OUTER_JOIN", "b_all, a_all"), ["0 10 NULL x1", "20 5 NULL x2"]);
}

#[test]
fn pq10_an_instant_overlaps_what_contains_it_and_what_begins_with_it() {
    let conn = with_tables(
        "(0, 0, 1, 'begin'), (5, 0, 1, 'inside'), (10, 0, 1, 'end'), (20, NULL, 1, 'both')",
        "(0, 10, 1, 'span'), (20, 0, 1, 'instant')",
    );
    assert_eq!(
        join(&conn, "SPAN_JOIN", ALL),
        ["0 0 begin span", "5 0 inside span", "20 0 both instant"]
    );
    let left = join(&conn, "SPAN_LEFT_JOIN", ALL);
    assert!(left.contains(&"10 0 end NULL".to_owned()), "{left:?}");
}

#[test]
fn pq10_an_unfinished_span_is_an_instant_with_the_duration_minus_1() {
    let conn = with_tables("(0, 10, 1, 'x1'), (10, -1, 1, 'x2')", "(5, 20, 1, 'y')");
    assert_eq!(join(&conn, "SPAN_JOIN", ALL), ["5 5 x1 y", "10 -1 x2 y"]);
    assert_eq!(join(&conn, "SPAN_LEFT_JOIN", ALL), ["0 5 x1 NULL", "5 5 x1 y", "10 -1 x2 y"]);
}

#[test]
fn pq10_rows_without_a_partition_are_left_out() {
    let conn = with_tables(
        "(0, 10, NULL, 'x0'), (0, 100, NULL, 'x0'), (0, 10, 1, 'x1')",
        "(0, 10, NULL, 'y0'), (0, 5, 1, 'y1')",
    );
    assert_eq!(join(&conn, "SPAN_JOIN", SAME), ["0 5 1 x1 y1"]);
}

#[test]
fn pq8_partitions_may_be_any_integer() {
    let (least, greatest) = (i64::MIN, i64::MAX);
    let conn = with_tables(
        &format!("(0, 10, {least}, 'x0'), (0, 10, {greatest}, 'x1')"),
        &format!("(5, 10, {greatest}, 'y1'), (5, 10, -1, 'y0')"),
    );
    assert_eq!(join(&conn, "SPAN_JOIN", SAME), [format!("5 5 {greatest} x1 y1")]);
    assert_eq!(join(&conn, "SPAN_OUTER_JOIN", SAME).len(), 5);
    conn.execute_batch("UPDATE b SET p = 'core'; CREATE TABLE c AS SELECT * FROM b").unwrap();
    conn.execute_batch(
        "CREATE VIRTUAL TABLE temp.k USING SPAN_JOIN(a PARTITIONED p, b PARTITIONED p)",
    )
    .unwrap();
    assert_eq!(
        error(&conn, "SELECT * FROM k"),
        "span_join: b: a partition must be an integer, not the text 'core'; hash() makes one of a \
         text"
    );
}

#[test]
fn pq8_overlaps_of_one_table_are_an_error_that_names_the_rows() {
    let conn =
        with_tables("(0, 10, 7, 'x1'), (9, 10, 7, 'x2'), (0, 10, 8, 'x3')", "(0, 100, 7, 'y')");
    conn.execute_batch(&format!("CREATE VIRTUAL TABLE temp.j USING SPAN_JOIN({SAME})")).unwrap();
    assert_eq!(
        error(&conn, "SELECT * FROM j"),
        "span_join: spans of a overlap (partition 7): the one at ts 0 with dur 10 has not ended \
         when the one at ts 9 with dur 10 begins; join them by a partition without overlaps, or \
         flatten them first"
    );
    // Another partition has none; and spans may begin together if the first is an instant.
    assert_eq!(rows(&conn, "SELECT count(*) FROM j WHERE p = 8"), ["0"]);
    conn.execute_batch("DELETE FROM a; INSERT INTO a VALUES (0, 0, 7, 'x1'), (0, 5, 7, 'x2')")
        .unwrap();
    assert_eq!(rows(&conn, "SELECT * FROM j"), ["0 0 7 x1 y", "0 5 7 x2 y"]);
}

#[test]
fn pq8_columns_are_those_of_both_tables_in_their_order() {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE a (x TEXT, dur INTEGER, cpu INTEGER, ts INTEGER, [the end] REAL);
         CREATE TABLE b (ts INTEGER, y, cpu INTEGER);
         INSERT INTO a VALUES ('x', 10, 1, 0, 1.5); INSERT INTO b VALUES (5, x'01', 1);
         CREATE VIRTUAL TABLE temp.j USING span_join(main.a PARTITIONED cpu, \"b\" partitioned [cpu]);",
    )
    .unwrap();
    let columns = "SELECT group_concat(name || ' ' || type) FROM pragma_table_info('j')";
    let expected = "ts INTEGER,dur INTEGER,cpu INTEGER,x TEXT,the end REAL,y ";
    assert_eq!(rows(&conn, columns), [expected]);
    // Without `dur`, the spans of b are instants.
    assert_eq!(rows(&conn, "SELECT * FROM j"), ["5 0 1 x 1.5 [1]"]);
    assert_eq!(rows(&conn, "SELECT y FROM j WHERE [the end] = 1.5"), ["[1]"]);
    assert_eq!(rows(&conn, "SELECT count(*) FROM j"), ["1"]);
}

#[test]
fn pq8_a_wrong_definition_is_an_error_that_says_what_to_write() {
    let conn = with_tables("", "");
    conn.execute_batch("CREATE TABLE no_ts (dur); CREATE TABLE no_dur (ts, p)").unwrap();
    let message = |tables: &str| {
        let sql = format!("CREATE VIRTUAL TABLE temp.k USING SPAN_JOIN({tables})");
        conn.execute_batch(&sql).unwrap_err().to_string()
    };
    let cases = [
        (
            "a_all",
            "span_join: it joins two tables, not 1: USING span_join(a PARTITIONED p, b PARTITIONED p)",
        ),
        ("a_all, b_all, a_all", "span_join: it joins two tables, not 3"),
        ("a_all, .x", "span_join: the name of a table is missing"),
        ("a_all, nothing", "span_join: there is no table or view nothing"),
        ("a_all, no_ts", "span_join: no_ts has no column ts"),
        ("no_dur, no_dur", "span_join: neither no_dur nor no_dur has the column dur"),
        ("a PARTITIONED q, b_all", "span_join: a has no column q to partition it by"),
        ("a PARTITIONED ts, b_all", "span_join: a cannot be partitioned by ts"),
        (
            "a BY p, b_all",
            "span_join: 'a BY p' is not a table; write 'table', or 'table PARTITIONED column'",
        ),
        (
            "a PARTITIONED p, b PARTITIONED y",
            "span_join: a is partitioned by p, but b by y; both need the same name",
        ),
        (
            "a PARTITIONED p, b",
            "span_join: the column p of b is also one of the join; rename one of them, for example in a view",
        ),
        (
            "a_all, a_all",
            "span_join: the column x of a_all is also one of a_all; rename one of them",
        ),
    ];
    for (tables, expected) in cases {
        let message = message(tables);
        assert!(message.contains(expected), "{tables}: {message}");
    }
}

#[test]
fn pq8_a_span_join_of_span_joins() {
    let conn = with_tables("(0, 10, 1, 'x')", "(2, 4, 1, 'y')");
    conn.execute_batch(&format!(
        "CREATE VIRTUAL TABLE temp.j USING SPAN_LEFT_JOIN({SAME});
         CREATE TABLE c (ts INTEGER, dur INTEGER, p INTEGER, z TEXT);
         INSERT INTO c VALUES (1, 3, 1, 'z');
         CREATE VIRTUAL TABLE temp.k USING SPAN_OUTER_JOIN(j PARTITIONED p, c PARTITIONED p);"
    ))
    .unwrap();
    assert_eq!(
        rows(&conn, "SELECT * FROM k"),
        [
            "0 1 1 x NULL NULL",
            "1 1 1 x NULL z",
            "2 2 1 x y z",
            "4 2 1 x y NULL",
            "6 4 1 x NULL NULL"
        ]
    );
}

#[test]
fn pq13_a_span_join_of_its_own_rows_is_an_error() {
    let conn = with_tables("(0, 10, 1, 'x')", "(2, 4, 1, 'y')");
    conn.execute_batch(
        "CREATE VIRTUAL TABLE j USING SPAN_JOIN(a_all, b_all);
         DROP VIEW a_all; CREATE VIEW a_all AS SELECT ts, dur, x FROM j",
    )
    .unwrap();
    let expected =
        "span_join: a_all: span_join: a_all and b_all cannot be made of this join's own rows";
    assert_eq!(error(&conn, "SELECT * FROM j"), expected);
    // The join itself stays usable, also twice in one query.
    conn.execute_batch("DROP VIEW a_all; CREATE VIEW a_all AS SELECT ts, dur, x FROM a").unwrap();
    assert_eq!(rows(&conn, "SELECT q.x, r.y FROM j AS q JOIN j AS r ON q.ts = r.ts"), ["x y"]);
}

#[test]
fn pq8_constraints_on_ts_and_partition_reach_the_tables() {
    let conn =
        with_tables("(0, 10, 1, 'x1'), (20, 10, 2, 'x2')", "(0, 30, 1, 'y1'), (0, 30, 2, 'y2')");
    // An index on the partition is of use only if the constraint is in the table's own query.
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let read = std::sync::Arc::clone(&seen);
    conn.create_scalar_function(
        "seen",
        1,
        rusqlite::functions::FunctionFlags::SQLITE_UTF8,
        move |ctx| {
            let name: String = ctx.get(0)?;
            read.lock().unwrap().push(name.clone());
            Ok(name)
        },
    )
    .unwrap();
    conn.execute_batch(
        "CREATE VIEW va AS SELECT ts, dur, p, seen(x) AS x FROM a;
         CREATE VIEW vb AS SELECT ts, dur, p, seen(y) AS y FROM b;
         CREATE VIRTUAL TABLE temp.j USING SPAN_JOIN(va PARTITIONED p, vb PARTITIONED p);
         CREATE VIRTUAL TABLE temp.o USING SPAN_OUTER_JOIN(va PARTITIONED p, vb PARTITIONED p);",
    )
    .unwrap();
    let reads = |sql: &str| {
        seen.lock().unwrap().clear();
        let found = rows(&conn, sql);
        let mut read = std::mem::take(&mut *seen.lock().unwrap());
        read.sort();
        read.dedup();
        (found, read.join(" "))
    };
    let (found, read) = reads("SELECT * FROM j WHERE p = 2");
    assert_eq!((found.len(), read.as_str()), (1, "x2 y2"));
    let (found, read) = reads("SELECT * FROM o WHERE p = 1");
    assert_eq!((found.len(), read.as_str()), (2, "x1 y1"));
    // A span that began after the time, and one that ended before it.
    let (found, read) = reads("SELECT * FROM j WHERE ts < 15");
    assert_eq!((found.len(), read.as_str()), (1, "x1 y1 y2"));
    let (found, read) = reads("SELECT * FROM j WHERE ts >= 15");
    assert_eq!((found.len(), read.as_str()), (1, "x2 y1 y2"));
    // Columns that the query does not need are not read.
    let (found, read) = reads("SELECT x FROM j WHERE p = 2");
    assert_eq!((found.len(), read.as_str()), (1, "x2"));
}

#[test]
fn pq8_rows_come_in_order_without_a_sorter() {
    let conn = with_tables(
        "(20, 5, 1, 'x'), (0, 10, 2, 'x'), (0, 10, 1, 'x')",
        "(0, 50, 1, 'y'), (0, 50, 2, 'y')",
    );
    conn.execute_batch(&format!("CREATE VIRTUAL TABLE temp.j USING SPAN_JOIN({SAME})")).unwrap();
    let plan = |by: &str| {
        let plan = rows(&conn, &format!("EXPLAIN QUERY PLAN SELECT * FROM j ORDER BY {by}"));
        plan.join(" ").contains("TEMP B-TREE")
    };
    assert_eq!(
        [plan("p"), plan("p, ts"), plan("ts"), plan("p DESC"), plan("p, ts, dur")],
        [false, false, true, true, true]
    );
    assert_eq!(rows(&conn, "SELECT p, ts FROM j ORDER BY p, ts"), ["1 0", "1 20", "2 0"]);
    assert_eq!(
        rows(&conn, "SELECT p, ts FROM j WHERE p IN (2, 1) ORDER BY p, ts"),
        ["1 0", "1 20", "2 0"]
    );
}

#[test]
fn pq12_a_join_with_a_table_reads_the_spans_once() {
    let conn = with_tables("(0, 10, 1, 'x')", "(0, 10, 1, 'y')");
    conn.execute_batch(&format!(
        "CREATE VIRTUAL TABLE temp.j USING SPAN_JOIN({SAME});
         CREATE TABLE names (p INTEGER PRIMARY KEY, name TEXT); INSERT INTO names VALUES (1, 'n')"
    ))
    .unwrap();
    let plan = rows(&conn, "EXPLAIN QUERY PLAN SELECT * FROM names JOIN j USING (p)");
    assert!(plan[0].contains("SCAN j VIRTUAL TABLE"), "{plan:?}");
    assert_eq!(rows(&conn, "SELECT name FROM names JOIN j USING (p)"), ["n"]);
}

/// Spans without overlaps in a partition: `(ts, dur, partition)`.
fn spans(durations: impl Strategy<Value = i64>) -> impl Strategy<Value = Vec<(i64, i64, i64)>> {
    let gap = prop_oneof![Just(0), 0..6_i64];
    vec((gap, durations, 0..3_i64), 0..20).prop_map(|steps| {
        let mut ends = [0; 3];
        let spans = steps.into_iter().map(|(gap, dur, p)| {
            let end = &mut ends[p as usize];
            let ts = *end + gap;
            *end = ts + dur;
            (ts, dur, p)
        });
        spans.collect()
    })
}

fn constraint() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["ts >= 12", "ts < 12", "ts = 12", "ts > 6 AND ts <= 20"])
}

/// The rows by the rule: all pairs of spans, and of spans with gaps, that overlap.
fn naive(
    a: &[(i64, i64, i64)],
    b: &[(i64, i64, i64)],
    gaps: [bool; 2],
    key: [bool; 2],
) -> Vec<String> {
    let pieces = |spans: &[(i64, i64, i64)], has_gaps: bool, p: Option<i64>| {
        let mut spans: Vec<_> = spans.iter().filter(|span| p.is_none_or(|p| p == span.2)).collect();
        spans.sort();
        let mut pieces = Vec::new();
        let mut end = i64::MIN;
        for &&(ts, dur, _) in &spans {
            if has_gaps && end < ts {
                pieces.push((end, ts, None));
            }
            pieces.push((ts, ts + dur, Some(ts)));
            end = ts + dur;
        }
        if has_gaps {
            pieces.push((end, i64::MAX, None));
        }
        pieces
    };
    let of = |spans: &[(i64, i64, i64)], is_keyed: bool| -> Vec<i64> {
        spans.iter().map(|span| span.2).filter(|_| is_keyed).collect()
    };
    let mut partitions = [of(a, key[0]), of(b, key[1])].concat();
    partitions.sort();
    partitions.dedup();
    if key == [false; 2] {
        partitions = vec![0];
    }
    let mut found = Vec::new();
    for p in partitions {
        for (ts_a, end_a, x) in pieces(a, gaps[0], key[0].then_some(p)) {
            for (ts_b, end_b, y) in pieces(b, gaps[1], key[1].then_some(p)) {
                let (ts, end) = (ts_a.max(ts_b), end_a.min(end_b));
                let has_instant = (x.is_some() && ts_a == end_a) || (y.is_some() && ts_b == end_b);
                // An instant of b is passed before a gap of a that begins with it.
                let is_passed = x.is_none() && y.is_some() && ts_b == end_b && ts_a == ts_b;
                let is_in = ts < end
                    || (ts == end
                        && has_instant
                        && !is_passed
                        && (ts_a == end_a || ts < end_a)
                        && (ts_b == end_b || ts < end_b));
                if is_in && (x.is_some() || y.is_some()) {
                    let told = |x: Option<i64>| x.map_or("NULL".to_owned(), |x| x.to_string());
                    let p = if key == [false; 2] { String::new() } else { format!("{p} ") };
                    found.push(format!("{ts} {} {p}{} {}", end - ts, told(x), told(y)));
                }
            }
        }
    }
    found.sort();
    found
}

/// Compares the three kinds of joins, with each partitioning that the spans allow.
fn compare(
    a: &[(i64, i64, i64)],
    b: &[(i64, i64, i64)],
    constraint: &str,
) -> Result<(), TestCaseError> {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE a (ts INTEGER, dur INTEGER, p INTEGER); CREATE TABLE b AS SELECT * FROM a;",
    )
    .unwrap();
    for (table, spans) in [("a", a), ("b", b)] {
        let mut insert = conn.prepare(&format!("INSERT INTO {table} VALUES (?, ?, ?)")).unwrap();
        for span in spans {
            insert.execute(*span).unwrap();
        }
    }
    conn.execute_batch(
        "CREATE VIEW ka AS SELECT *, ts AS x FROM a; CREATE VIEW kb AS SELECT *, ts AS y FROM b;
         CREATE VIEW na AS SELECT ts, dur, ts AS x FROM a WHERE p = 1;
         CREATE VIEW nb AS SELECT ts, dur, ts AS y FROM b WHERE p = 1;",
    )
    .unwrap();
    let only = |spans: &[(i64, i64, i64)]| -> Vec<_> {
        spans.iter().copied().filter(|span| span.2 == 1).collect()
    };
    let (only_a, only_b) = (only(a), only(b));
    for (kind, gaps) in [
        ("span_join", [false, false]),
        ("span_left_join", [false, true]),
        ("span_outer_join", [true, true]),
    ] {
        for (tables, a, b, key) in [
            ("na, nb", &only_a[..], &only_b[..], [false, false]),
            ("ka PARTITIONED p, kb PARTITIONED p", a, b, [true, true]),
            ("ka PARTITIONED p, nb", a, &only_b, [true, false]),
            ("na, kb PARTITIONED p", &only_a, b, [false, true]),
        ] {
            let mut found = join(&conn, kind, tables);
            let ordered = found.clone();
            found.sort();
            let expected = naive(a, b, gaps, key);
            prop_assert_eq!(&found, &expected, "{} of {}", kind, tables);
            // A constraint that is pushed down changes nothing but the number of rows.
            let sql = format!("SELECT * FROM j WHERE {constraint}");
            let without = format!("SELECT * FROM j WHERE {}", constraint.replace("ts", "+ts"));
            prop_assert_eq!(rows(&conn, &sql), rows(&conn, &without), "{} {}", kind, constraint);
            if key != [false; 2] {
                let sql = "SELECT * FROM j WHERE p = 1 AND ts > 3";
                let without = "SELECT * FROM j WHERE +p = 1 AND +ts > 3";
                prop_assert_eq!(rows(&conn, sql), rows(&conn, without));
                let sorted = rows(&conn, "SELECT * FROM j ORDER BY +p, +ts");
                let key = |row: &String| {
                    row.splitn(4, ' ').take(3).map(str::to_owned).collect::<Vec<_>>()
                };
                let keys = |rows: &[String]| -> Vec<(String, String)> {
                    rows.iter().map(key).map(|k| (k[2].clone(), k[0].clone())).collect()
                };
                prop_assert_eq!(keys(&ordered), keys(&sorted));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pq8_spans_are_joined_as_by_a_double_loop(
        a in spans(1..8_i64),
        b in spans(1..8_i64),
        constraint in constraint(),
    ) {
        compare(&a, &b, constraint)?;
    }

    #[test]
    fn pq8_instants_are_joined_as_by_a_double_loop(
        a in spans(prop_oneof![Just(0), 1..8_i64]),
        b in spans(prop_oneof![Just(0), 1..8_i64]),
        constraint in constraint(),
    ) {
        // Instants are at odd times and the others at even ones, so that none is at a boundary.
        let apart = |spans: Vec<(i64, i64, i64)>| -> Vec<(i64, i64, i64)> {
            let mut spans: Vec<_> = spans
                .into_iter()
                .map(|(ts, dur, p)| if dur == 0 { (ts * 2 + 1, 0, p) } else { (ts * 2, dur * 2, p) })
                .collect();
            spans.sort_by_key(|&(ts, dur, p)| (p, ts, dur));
            // A span that begins where an instant was must not contain that.
            spans.dedup_by(|next, before| before.2 == next.2 && next.0 < before.0 + before.1);
            spans.dedup_by(|next, before| before.2 == next.2 && next.0 == before.0);
            spans
        };
        compare(&apart(a), &apart(b), constraint)?;
    }
}

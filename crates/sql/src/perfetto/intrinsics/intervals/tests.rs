use proptest::collection::vec;
use proptest::prelude::*;

use super::super::testing::{connection, error, rows, table_query};
use super::overlap::overlaps;
use super::*;

/// A table with the columns `id`, `ts`, `dur` and `p`.
fn with_table(conn: &Connection, name: &str, spans: &[(i64, i64, i64, i64)]) {
    conn.execute_batch(&format!(
        "DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (id INT, ts INT, dur INT, p)"
    ))
    .unwrap();
    let mut insert = conn.prepare(&format!("INSERT INTO {name} VALUES (?, ?, ?, ?)")).unwrap();
    for span in spans {
        insert.execute(*span).unwrap();
    }
}

/// The query that the standard library makes of `_interval_intersect!`.
fn query(tables: &[&str], partition: &[&str]) -> String {
    let columns: String = partition.iter().map(|name| format!(", '{name}', {name}")).collect();
    let tables: String = tables
        .iter()
        .map(|table| {
            format!(
                "(SELECT __intrinsic_interval_tree_intervals_agg(id, ts, dur{columns})
                  FROM (SELECT * FROM {table} ORDER BY ts)), "
            )
        })
        .collect();
    let list = partition.join(", ");
    let table = format!("__intrinsic_interval_intersect({tables}'({list})')");
    let names: Vec<String> = (0..15).map(|index| format!("id_{index}")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.splice(0..0, ["ts", "dur"]);
    names.extend(partition);
    table_query(&table, &names)
}

/// The columns that are not NULL.
fn intersect(conn: &Connection, tables: &[&str], partition: &[&str]) -> Vec<String> {
    let rows = rows(conn, &query(tables, partition));
    rows.iter().map(|row| row.replace(" NULL", "")).collect()
}

#[test]
fn pq9_intervals_overlap_where_all_tables_have_one() {
    let conn = connection();
    // a: 1 [0, 10)    2 [20, 30)
    // b:       7 [5,       25)
    // c: 4 [0,             22)
    with_table(&conn, "a", &[(1, 0, 10, 0), (2, 20, 10, 0)]);
    with_table(&conn, "b", &[(7, 5, 20, 0)]);
    with_table(&conn, "c", &[(4, 0, 22, 0)]);
    assert_eq!(intersect(&conn, &["a", "b"], &[]), ["5 5 1 7", "20 5 2 7"]);
    assert_eq!(intersect(&conn, &["b", "a"], &[]), ["5 5 7 1", "20 5 7 2"]);
    assert_eq!(intersect(&conn, &["a", "b", "c"], &[]), ["5 5 1 7 4", "20 2 2 7 4"]);
    assert_eq!(intersect(&conn, &["a"], &[]), ["0 10 1", "20 10 2"]);
}

#[test]
fn pq10_an_interval_does_not_contain_its_end() {
    let conn = connection();
    with_table(&conn, "a", &[(1, 0, 10, 0), (2, 10, 10, 0)]);
    with_table(&conn, "b", &[(3, 10, 5, 0)]);
    assert_eq!(intersect(&conn, &["a", "b"], &[]), ["10 5 2 3"]);
}

#[test]
fn pq10_instants_overlap_what_contains_them_and_each_other() {
    let conn = connection();
    with_table(&conn, "a", &[(1, 0, 10, 0), (2, 5, 0, 0), (3, 10, 0, 0)]);
    with_table(&conn, "b", &[(4, 0, 0, 0), (5, 5, 0, 0), (6, 10, 0, 0)]);
    let mut found = intersect(&conn, &["a", "b"], &[]);
    found.sort();
    assert_eq!(found, ["0 0 1 4", "10 0 3 6", "5 0 1 5", "5 0 2 5"]);
}

#[test]
fn pq9_partitions_are_intersected_by_themselves() {
    let conn = connection();
    with_table(&conn, "a", &[(1, 0, 10, 1), (2, 0, 10, 2), (3, 0, 10, 3)]);
    with_table(&conn, "b", &[(4, 5, 10, 2), (5, 6, 10, 1), (6, 7, 1, 9)]);
    assert_eq!(intersect(&conn, &["a", "b"], &["p"]), ["6 4 1 5 1", "5 5 2 4 2"]);
    // The type counts: the text '1' is another value than 1.
    conn.execute_batch(
        "UPDATE a SET p = '1' WHERE id = 1; UPDATE a SET p = NULL WHERE id = 2;
        UPDATE b SET p = NULL WHERE id = 4",
    )
    .unwrap();
    let sql = query(&["a", "b"], &["p"]);
    assert_eq!(rows(&conn, &format!("SELECT c0, c1, c2, c3, c17 FROM ({sql})")), ["5 5 2 4 NULL"]);
}

#[test]
fn pq9_an_intersection_with_nothing_is_empty() {
    let conn = connection();
    with_table(&conn, "a", &[(1, 0, 10, 1)]);
    with_table(&conn, "b", &[]);
    assert_eq!(intersect(&conn, &["a", "b"], &[]), [""; 0]);
    assert_eq!(intersect(&conn, &["a", "b"], &["p"]), [""; 0]);
}

#[test]
fn pq12_a_join_of_two_intersections_has_the_rows_of_both() {
    let conn = connection();
    // The second one is asked for again for each row of the first one.
    let spans =
        |count: i64, dur: i64| -> Vec<_> { (0..count).map(|id| (id, id * dur, dur, 0)).collect() };
    with_table(&conn, "a", &spans(100, 1));
    with_table(&conn, "b", &spans(10, 10));
    let (one, other) = (query(&["a"], &[]), query(&["a", "b"], &[]));
    let sql = format!(
        "SELECT count(*), sum(q.c0 = r.c0), sum(r.c3) FROM ({one}) AS q CROSS JOIN ({other}) AS r"
    );
    assert_eq!(rows(&conn, &sql), ["10000 100 45000"]);
}

#[test]
fn pq10_ids_are_cut_to_32_bits() {
    let conn = connection();
    with_table(&conn, "a", &[((1 << 32) + 3, 0, 10, 1)]);
    with_table(&conn, "b", &[(-1, 0, 10, 1)]);
    assert_eq!(intersect(&conn, &["a", "b"], &[]), ["0 10 3 4294967295"]);
}

#[test]
fn pq9_fifteen_tables_and_four_columns_are_the_most() {
    let conn = connection();
    with_table(&conn, "a", &[(1, 0, 10, 1)]);
    let ids = ["1"; 15].join(" ");
    assert_eq!(intersect(&conn, &["a"; 15], &[]), [format!("0 10 {ids}")]);
    let four = ["p", "id", "ts", "dur"];
    assert_eq!(intersect(&conn, &["a"; 15], &four), [format!("0 10 {ids} 1 1 0 10")]);
    let message = error(&conn, &query(&["a"; 16], &[]));
    assert!(message.contains("at most 15 tables, not 16"), "{message}");
    let message = error(&conn, &query(&["a"], &["p", "id", "ts", "dur", "p"]));
    assert!(message.contains("at most 4 partition columns, not 5"), "{message}");
}

#[test]
fn pq10_a_wrong_interval_is_an_error_that_names_it() {
    let conn = connection();
    let gather = |rows: &str| {
        let sql = "SELECT __intrinsic_interval_tree_intervals_agg(column1, column2, column3) FROM";
        error(&conn, &format!("{sql} (VALUES {rows})"))
    };
    assert_eq!(
        gather("(1, 5, 1), (2, 6, -1)"),
        "__intrinsic_interval_tree_intervals_agg(): the interval 2 at 6 has the negative dur -1; \
         replace it, for example with the time to the end of the trace"
    );
    assert_eq!(
        gather("(1, -5, 1)"),
        "__intrinsic_interval_tree_intervals_agg(): the interval 1 has the negative ts -5"
    );
    assert_eq!(
        gather("(1, 5, 1), (2, 4, 1)"),
        "__intrinsic_interval_tree_intervals_agg(): intervals must be in the order of ts, but 2 \
         at 4 comes after one at 5"
    );
    assert_eq!(
        gather("(1, 'soon', 1)"),
        "__intrinsic_interval_tree_intervals_agg(): argument 2 (ts) must be a number, not the \
         text 'soon'"
    );
}

#[test]
fn pq9_the_columns_of_tables_and_list_must_agree() {
    let conn = connection();
    with_table(&conn, "a", &[(1, 0, 10, 1)]);
    let sql = query(&["a", "a"], &["p"]).replace("'(p)'", "'(p, id)'");
    assert_eq!(
        error(&conn, &sql),
        "__intrinsic_interval_intersect(): argument 1 (intervals) has 1 partition columns, but \
         the list has 2"
    );
}

#[test]
fn pq13_an_intersection_that_explodes_is_an_error() {
    // 1000 × 1000 overlaps, with space for fewer.
    let spans: Vec<Span> = (0..1000).map(|id| Span { start: 0, end: 10, id }).collect();
    let conn = connection();
    let mut budget = Budget::of("f", 1_000_000);
    let found = Overlaps::of(&spans).with(&spans, &mut Watch::new(&conn), &mut budget);
    assert_eq!(
        found.unwrap_err().message(),
        "f(): its data needs more than 2 GiB of memory; give it fewer rows, for example those of \
         a shorter time"
    );
}

#[test]
fn pq13_an_intersection_can_be_interrupted() {
    let conn = connection();
    with_table(&conn, "a", &(0..20_000).map(|id| (id, 0, 10, 0)).collect::<Vec<_>>());
    let handle = conn.get_interrupt_handle();
    let interrupter = std::thread::spawn(move || {
        for _ in 0..200 {
            std::thread::sleep(std::time::Duration::from_millis(10));
            handle.interrupt();
        }
    });
    let failure = super::super::testing::try_rows(&conn, &query(&["a", "a"], &[])).unwrap_err();
    assert_eq!(failure.sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
    interrupter.join().unwrap();
}

fn spans() -> impl Strategy<Value = Vec<(i64, i64, i64, i64)>> {
    // Short times, so that much of it touches; mostly short, and some as long as all.
    let dur = prop_oneof![4 => 0..6_i64, 1 => 0..60_i64];
    vec((0..50_i64, dur, 0..3_i64), 0..40).prop_map(|mut spans| {
        spans.sort();
        let numbered = (0..).zip(spans);
        numbered.map(|(id, (ts, dur, p))| (id, ts, dur, p)).collect()
    })
}

/// All pairs, by the rule in the documentation.
fn naive(
    a: &[(i64, i64, i64, i64)],
    b: &[(i64, i64, i64, i64)],
    by_partition: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for &(id_a, ts_a, dur_a, p_a) in a {
        for &(id_b, ts_b, dur_b, p_b) in b {
            let (ts, end) = (ts_a.max(ts_b), (ts_a + dur_a).min(ts_b + dur_b));
            // Instants are in what begins with them, and not in what ends with them.
            let is_in = ts < end
                || (ts == end
                    && (dur_a == 0 || dur_b == 0)
                    && (dur_a == 0 || ts < ts_a + dur_a)
                    && (dur_b == 0 || ts < ts_b + dur_b));
            if is_in && (!by_partition || p_a == p_b) {
                let p = if by_partition { format!(" {p_a}") } else { String::new() };
                found.push(format!("{ts} {} {id_a} {id_b}{p}", end - ts));
            }
        }
    }
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pq9_an_intersection_is_that_of_a_double_loop(a in spans(), b in spans()) {
        let conn = connection();
        with_table(&conn, "a", &a);
        with_table(&conn, "b", &b);
        for by_partition in [false, true] {
            let partition: &[&str] = if by_partition { &["p"] } else { &[] };
            let mut found = intersect(&conn, &["a", "b"], partition);
            found.sort();
            prop_assert_eq!(found, naive(&a, &b, by_partition));
        }
    }

    #[test]
    fn pq9_many_overlaps_are_those_of_a_double_loop(
        a in vec((0..1000_i64, 0..30_i64), 0..50),
        b in vec((0..1000_i64, prop_oneof![9 => 0..30_i64, 1 => 0..1000_i64]), 0..200),
    ) {
        let spans = |mut times: Vec<(i64, i64)>| -> Vec<Span> {
            times.sort();
            let numbered = (0..).zip(times);
            numbered.map(|(id, (start, dur))| Span { start, end: start + dur, id }).collect()
        };
        let (a, b) = (spans(a), spans(b));
        let conn = connection();
        let found = Overlaps::of(&a)
            .with(&b, &mut Watch::new(&conn), &mut Budget::new("f"))
            .unwrap();
        let found: Vec<(u32, u32)> = found.iter().map(|(_, _, ids)| (ids[0], ids[1])).collect();
        let mut expected = Vec::new();
        for span in &a {
            let fit = b.iter().filter(|other| overlaps(span.start, span.end, other));
            expected.extend(fit.map(|other| (span.id, other.id)));
        }
        prop_assert_eq!(found, expected);
    }
}

use super::super::testing::{connection, error, rows, table_query};
use super::*;

/// Spans as rows of `id, utid, ts, dur, idle_dur, waker_id, prev_id`.
fn query(spans: &str, roots: &str) -> String {
    let table = format!(
        "__intrinsic_critical_path_walk(
            (SELECT __intrinsic_wakeup_graph_agg(column1, column2, column3, column4, column5,
                column6, column7) FROM (VALUES {spans})),
            (SELECT __intrinsic_array_agg(column1) FROM (VALUES {roots})))"
    );
    table_query(&table, &COLUMNS)
}

fn walk(spans: &str, roots: &str) -> Vec<String> {
    rows(&connection(), &query(spans, roots))
}

#[test]
fn pq9_a_span_answers_for_its_own_run() {
    assert_eq!(walk("(1, 7, 100, 50, NULL, NULL, NULL)", "(1)"), ["1 0 100 50 1 7 1"]);
    assert_eq!(walk("(1, 7, 100, 50, NULL, NULL, NULL)", "(1), (2), (1)").len(), 2);
}

#[test]
fn pq9_a_sleep_is_the_time_of_the_span_that_ended_it() {
    // thread 7:            sleeps [60, 100)  runs [100, 150)
    // thread 8:   runs [50,              100)
    let spans = "(1, 7, 100, 50, 40, 2, NULL), (2, 8, 50, 50, NULL, NULL, NULL)";
    assert_eq!(walk(spans, "(1)"), ["1 0 100 50 1 7 1", "1 1 60 40 2 8 1"]);
}

#[test]
fn pq9_what_an_interrupt_ended_is_the_span_itself() {
    let spans = "(1, 7, 100, 50, 40, NULL, 2), (2, 7, 50, 10, NULL, NULL, NULL)";
    assert_eq!(walk(spans, "(1)"), ["1 0 60 40 1 7 1", "1 0 100 50 1 7 1"]);
    // Without a span before it, nobody answers for the sleep.
    let spans = "(1, 7, 100, 50, 40, NULL, NULL)";
    assert_eq!(walk(spans, "(1)"), ["1 0 100 50 1 7 1"]);
}

#[test]
fn pq9_what_lies_before_a_sleep_goes_to_the_span_before_it() {
    // thread 7: sleeps [0, 100), runs [100, 150)
    // thread 8: sleeps [40, 60), runs [60, 100); woken by 9; before that it ran [0, 40)
    // thread 9: runs [30, 70)
    let spans = "(1, 7, 100, 50, 100, 2, NULL), (2, 8, 60, 40, 20, 4, 3),
        (3, 8, 0, 40, NULL, NULL, NULL), (4, 9, 30, 40, NULL, NULL, NULL)";
    let mut found = walk(spans, "(1)");
    found.sort();
    assert_eq!(found, ["1 0 100 50 1 7 1", "1 1 0 40 3 8 1", "1 1 60 40 2 8 1", "1 2 40 20 4 9 1"]);
}

#[test]
fn pq13_spans_that_wake_each_other_are_an_error() {
    let conn = connection();
    let circle = "(1, 7, 100, 50, 60, NULL, 1)";
    // It cannot answer for what lies before its own sleep.
    assert_eq!(rows(&conn, &query(circle, "(1)")), ["1 0 40 60 1 7 1", "1 0 100 50 1 7 1"]);
    let circle = "(1, 7, 100, 50, 60, 2, NULL), (2, 8, 100, 50, 70, 1, NULL)";
    assert_eq!(
        error(&conn, &query(circle, "(1)")),
        "__intrinsic_critical_path_walk(): the span 2 was woken by itself, through others; \
         waker_id and prev_id must name earlier spans"
    );
}

#[test]
fn pq9_no_spans_or_no_roots_are_no_rows() {
    let conn = connection();
    let table = "__intrinsic_critical_path_walk(NULL, (SELECT __intrinsic_array_agg(1)))";
    assert_eq!(rows(&conn, &table_query(table, &COLUMNS)), [""; 0]);
}

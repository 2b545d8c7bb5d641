use super::super::testing::{connection, error, rows, table_query};

fn intervals(values: &str) -> Vec<String> {
    let table = format!(
        "__intrinsic_counter_intervals('leading', 100, (SELECT __intrinsic_counter_per_track_agg(
            column1, column2, column3, column4) FROM (VALUES {values})))"
    );
    let columns = ["id", "ts", "dur", "track_id", "value", "next_value", "delta_value"];
    rows(&connection(), &table_query(&table, &columns))
}

#[test]
fn pq9_an_interval_lasts_until_the_next_value_of_its_track() {
    let values = "(1, 0, 7, 10), (2, 5, 8, 1.5), (3, 20, 7, 30)";
    assert_eq!(
        intervals(values),
        ["1 0 20 7 10.0 30.0 NULL", "3 20 80 7 30.0 NULL 20.0", "2 5 95 8 1.5 NULL NULL"]
    );
}

#[test]
fn pq10_the_third_and_later_equal_values_are_left_out() {
    // Of a run, the first two and the last one stay; the last run has no end.
    let values = "(1, 0, 7, 5), (2, 10, 7, 5), (3, 20, 7, 5), (4, 30, 7, 5), (5, 40, 7, 6),
        (6, 50, 7, 6), (7, 60, 7, 6)";
    let found = intervals(values);
    let starts: Vec<&str> = found.iter().filter_map(|row| row.split(' ').next()).collect();
    assert_eq!(starts, ["1", "2", "4", "5", "6"]);
    assert_eq!(found[1], "2 10 20 7 5.0 5.0 0.0");
    assert_eq!(found[4], "6 50 50 7 6.0 NULL 0.0");
}

#[test]
fn pq9_a_run_that_ends_at_the_time_0_keeps_its_last_value() {
    let values = "(1, -20, 7, 5), (2, -10, 7, 5), (3, 0, 7, 5), (4, 10, 7, 6)";
    let found = intervals(values);
    let starts: Vec<&str> = found.iter().filter_map(|row| row.split(' ').next()).collect();
    assert_eq!(starts, ["1", "2", "3", "4"]);
}

#[test]
fn pq9_no_counter_has_no_intervals() {
    let conn = connection();
    let table = "__intrinsic_counter_intervals('LEADING', 100, NULL)";
    assert_eq!(rows(&conn, &table_query(table, &["id"])), [""; 0]);
    assert_eq!(
        error(&conn, "SELECT __intrinsic_counter_intervals('lagging', 100, NULL)"),
        "__intrinsic_counter_intervals(): argument 1 (mode) must be 'leading', not the text 'lagging'"
    );
    assert_eq!(
        error(&conn, "SELECT __intrinsic_counter_intervals('leading', 100, 5)"),
        "__intrinsic_counter_intervals(): argument 3 (counters) must be the result of another \
         intrinsic, not 5"
    );
}

use super::super::testing::{connection, error, rows, table_query};

fn created(starts: &str, ends: &str) -> Vec<String> {
    let times = |values: &str| {
        format!("(SELECT __intrinsic_timestamp_set_agg(column1) FROM (VALUES {values}))")
    };
    let table = format!("__intrinsic_interval_create({}, {})", times(starts), times(ends));
    rows(&connection(), &table_query(&table, &["ts", "dur"]))
}

#[test]
fn pq9_an_interval_goes_to_the_first_end_after_its_start() {
    // starts  1 2     5   9
    // ends      2   4   7
    assert_eq!(created("(1), (2), (5), (9)", "(2), (4), (7)"), ["1 1", "2 2", "5 2"]);
    assert_eq!(created("(1), (1)", "(0), (1), (3)"), ["1 2", "1 2"]);
}

#[test]
fn pq9_without_starts_or_ends_there_are_no_intervals() {
    let conn = connection();
    let nothing = "(SELECT __intrinsic_timestamp_set_agg(1) WHERE 0)";
    let one = "(SELECT __intrinsic_timestamp_set_agg(1))";
    for (starts, ends) in [(nothing, one), (one, nothing), (one, one)] {
        let table = format!("__intrinsic_interval_create({starts}, {ends})");
        assert_eq!(rows(&conn, &table_query(&table, &["ts", "dur"])), [""; 0]);
    }
    let unordered = "SELECT __intrinsic_timestamp_set_agg(column1) FROM (VALUES (3), (2))";
    assert_eq!(
        error(&conn, unordered),
        "__intrinsic_timestamp_set_agg(): times must be in their order, but 2 comes after 3"
    );
}

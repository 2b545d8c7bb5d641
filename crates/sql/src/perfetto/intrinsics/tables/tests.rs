use super::super::testing::{connection, error, rows};

#[test]
fn pq9_metadata_of_a_trace_and_of_a_machine() {
    let conn = connection();
    assert!(
        error(&conn, "SELECT extract_metadata_for_trace(0, 'a')")
            .contains("no such table: metadata")
    );
    conn.execute_batch(
        "CREATE TABLE metadata (name, int_value, str_value, trace_id, machine_id);
         INSERT INTO metadata VALUES ('size', 7, NULL, 0, NULL), ('type', NULL, 'proto', 1, 3)",
    )
    .unwrap();
    let sql = "SELECT extract_metadata_for_trace(0, 'size'), extract_metadata_for_trace(1, 'size'),
        extract_metadata_for_machine(3, 'type'), extract_metadata_for_machine(NULL, 'type')";
    assert_eq!(rows(&conn, sql), ["7 NULL proto NULL"]);
}

#[test]
fn pq9_a_database_of_timebase_names_traces_by_their_files() {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE metadata (name, int_value, str_value, trace_file_id, machine_id);
         INSERT INTO metadata VALUES ('size', 7, NULL, 0, NULL);",
    )
    .unwrap();
    assert_eq!(rows(&conn, "SELECT extract_metadata_for_trace(0, 'size')"), ["7"]);
    // A table of the prelude comes first.
    conn.execute_batch(
        "CREATE TEMP TABLE metadata (name, int_value, str_value, trace_id, machine_id)",
    )
    .unwrap();
    assert_eq!(rows(&conn, "SELECT extract_metadata_for_trace(0, 'size')"), ["NULL"]);
}

#[test]
fn pq9_the_counter_of_a_sample() {
    let conn = connection();
    conn.execute_batch(
        "CREATE TABLE __intrinsic_profiler_sample (id, counter_set_id);
         CREATE TABLE __intrinsic_profiler_counter_set (id, counter_set_id, counter_id);
         CREATE TABLE counter (id, track_id, value); CREATE TABLE track (id, name);
         INSERT INTO track VALUES (1, 'cycles'), (2, 'faults');
         INSERT INTO counter VALUES (10, 1, 1.5), (11, 2, 2.5);
         INSERT INTO __intrinsic_profiler_counter_set VALUES (0, 5, 10), (1, 5, 11);
         INSERT INTO __intrinsic_profiler_sample VALUES (100, 5), (101, NULL);",
    )
    .unwrap();
    let sql = "SELECT __intrinsic_perf_counter_for_sample(100, 'faults'),
        __intrinsic_perf_counter_for_sample(100, 'other'),
        __intrinsic_perf_counter_for_sample(101, 'faults')";
    assert_eq!(rows(&conn, sql), ["2.5 NULL NULL"]);
}

use super::super::testing::{connection, error, rows, table_query};
use super::*;

/// A scan over `edges (source, dest)`, from rows of `id, value` in the table `init`.
fn query(function: &str, step: &str) -> String {
    let step = step.replace('\'', "''");
    let table = format!(
        "{function}((SELECT __intrinsic_graph_agg(source, dest) FROM edges),
            (SELECT __intrinsic_row_dataframe_agg('id', id, 'value', value) FROM init),
            '{step}', '(value)')"
    );
    table_query(&table, &["id", "value"])
}

fn with_graph(edges: &str, init: &str) -> Connection {
    let conn = connection();
    conn.execute_batch("CREATE TABLE edges (source, dest); CREATE TABLE init (id, value)").unwrap();
    for (table, values) in [("edges", edges), ("init", init)] {
        if !values.is_empty() {
            conn.execute_batch(&format!("INSERT INTO {table} VALUES {values}")).unwrap();
        }
    }
    conn
}

#[test]
fn pq9_a_scan_goes_along_edges_until_a_step_has_no_rows() {
    // 1 -> 2 -> 3 -> 1: a circle, which the step leaves.
    let conn = with_graph("(1, 2), (2, 3), (3, 1)", "(1, 0)");
    let step = "(SELECT id, value + 1 AS value FROM $table WHERE value < 4)";
    assert_eq!(rows(&conn, &query(SCAN, step)), ["1 0", "2 1", "3 2", "1 3", "2 4"]);
    // Texts and NULL pass, and a node may have several rows.
    conn.execute_batch(
        "DELETE FROM edges; INSERT INTO edges VALUES (1, 3), (2, 3);
        DELETE FROM init; INSERT INTO init VALUES (1, 'a'), (2, NULL), (9, 1.5)",
    )
    .unwrap();
    let step = "SELECT t.id, value || '!' AS value FROM $table AS t";
    assert_eq!(rows(&conn, &query(SCAN, step)), ["1 a", "2 NULL", "9 1.5", "3 a!", "3 NULL"]);
}

#[test]
fn pq9_an_aggregating_scan_waits_for_all_edges_to_a_node() {
    // Leaves 1, 2, 3; 1 -> 4, 2 -> 4, 4 -> 5, 3 -> 5.
    let conn = with_graph("(1, 4), (2, 4), (4, 5), (3, 5)", "(1, 10), (2, 20), (3, 30)");
    let step = "(WITH sums AS (SELECT id, sum(value) AS value FROM $table GROUP BY id)
        SELECT id, value + 1 AS value FROM sums)";
    assert_eq!(rows(&conn, &query(AGGREGATE, step)), ["1 10", "2 20", "3 30", "4 31", "5 62"]);
    // A plain scan would have sent two rows to 5.
    let plain = rows(&conn, &query(SCAN, step));
    assert_eq!(plain, ["1 10", "2 20", "3 30", "4 31", "5 31", "5 32"]);
}

#[test]
fn pq9_a_scan_without_a_start_or_a_graph() {
    let conn = with_graph("(1, 2)", "");
    let step = "(SELECT id, value FROM $table)";
    for function in [SCAN, AGGREGATE] {
        assert_eq!(rows(&conn, &query(function, step)), [""; 0]);
    }
    let conn = with_graph("", "(1, 5), (4294967297, 6)");
    for function in [SCAN, AGGREGATE] {
        assert_eq!(rows(&conn, &query(function, step)), ["1 5", "1 6"]);
    }
}

#[test]
fn pq9_a_wrong_query_is_an_error_that_says_why() {
    let conn = with_graph("(1, 2)", "(1, 0)");
    let message = |function: &str, step: &str| {
        error(&conn, &query(function, step)).replace(&format!("{function}(): "), "")
    };
    for function in [SCAN, AGGREGATE] {
        assert_eq!(
            message(function, "SELECT id, 1 FROM $table"),
            "the query: it returns the columns id, 1, but must return id, value"
        );
        assert_eq!(
            message(function, "SELECT 1 AS id, 2 AS value"),
            "the query: it must read FROM $table, and have no other parameters"
        );
        assert!(message(function, "SELECT id, value FROM $tables").starts_with("the query: "));
        assert!(message(function, "SELECT").starts_with("the query: "));
        assert!(message(function, "DELETE FROM init").starts_with("the query: "));
    }
    let sql = query(SCAN, "SELECT id, value FROM $table").replace("'(value)'", "'(name)'");
    assert_eq!(
        error(&conn, &sql),
        "__intrinsic_graph_scan(): init has the columns id, value, but the list has id, name"
    );
    conn.execute_batch("UPDATE init SET id = 'one'").unwrap();
    let sql = query(SCAN, "SELECT id, value FROM $table");
    assert_eq!(error(&conn, &sql), "__intrinsic_graph_scan(): an id must be an integer");
}

#[test]
fn pq13_a_circle_ends_an_aggregating_scan_with_an_error() {
    let conn = with_graph("(1, 2), (2, 3), (3, 2)", "(1, 0)");
    assert_eq!(
        error(&conn, &query(AGGREGATE, "SELECT id, value FROM $table")),
        "__intrinsic_graph_aggregating_scan(): the graph has a circle, in which every node would \
         wait for the others"
    );
    let conn = with_graph("(1, 2), (2, 3)", "(1, 0)");
    assert_eq!(
        error(&conn, &query(AGGREGATE, "SELECT 1 AS id, value FROM $table")),
        "__intrinsic_graph_aggregating_scan(): the query returned an id that is not in its $table"
    );
}

#[test]
fn pq13_a_view_of_a_stranger_cannot_run_a_text() {
    let conn = with_graph("(1, 2)", "(1, 0)");
    let sql = query(SCAN, "SELECT id, value FROM $table");
    assert_eq!(rows(&conn, &sql).len(), 2);
    conn.execute_batch(&format!("CREATE VIEW v AS {sql}")).unwrap();
    assert!(error(&conn, "SELECT * FROM v").contains("unsafe use of __intrinsic_graph_scan()"));
}

#[test]
fn pq13_a_scan_in_a_circle_can_be_interrupted() {
    let conn = with_graph("(1, 2), (2, 1)", "(1, 0)");
    let handle = conn.get_interrupt_handle();
    let interrupter = std::thread::spawn(move || {
        for _ in 0..100 {
            std::thread::sleep(std::time::Duration::from_millis(10));
            handle.interrupt();
        }
    });
    let sql = query(SCAN, "SELECT id, value FROM $table");
    let failure = super::super::testing::try_rows(&conn, &sql).unwrap_err();
    assert_eq!(failure.sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
    interrupter.join().unwrap();
}

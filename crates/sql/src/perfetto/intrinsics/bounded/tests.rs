use super::super::testing::{connection, error, rows};

fn query(edges: &str, roots: &str, is_floor: i32) -> String {
    let column =
        |values: &str, n: i32| format!("(SELECT repeatedfield(column{n}) FROM (VALUES {values}))");
    format!(
        "SELECT root_node_id, node_id, parent_node_id FROM __intrinsic_dfs_weight_bounded({}, {},
            {}, {}, {}, {is_floor})",
        column(edges, 1),
        column(edges, 2),
        column(edges, 3),
        column(roots, 1),
        column(roots, 2)
    )
}

#[test]
fn pq9_a_bounded_search_ends_at_a_weight() {
    let conn = connection();
    // 1 -2-> 2 -2-> 3 -2-> 4, and 1 -1-> 5.
    let edges = "(1, 2, 2), (2, 3, 2), (1, 5, 1), (3, 4, 2)";
    assert_eq!(rows(&conn, &query(edges, "(1, 3)", 0)), ["1 1 NULL", "1 2 1"]);
    assert_eq!(rows(&conn, &query(edges, "(1, 3)", 1)), ["1 1 NULL", "1 2 1", "1 3 2"]);
    assert_eq!(
        rows(&conn, &query(edges, "(1, 100), (3, 0), (7, 5)", 0)),
        ["1 1 NULL", "1 2 1", "1 3 2", "1 4 3", "1 5 1", "3 3 NULL", "7 7 NULL"]
    );
}

#[test]
fn pq9_a_bounded_search_needs_edges_and_roots() {
    let conn = connection();
    let all = "SELECT count(*) FROM __intrinsic_dfs_weight_bounded";
    assert_eq!(rows(&conn, &format!("{all}(NULL, NULL, NULL, NULL, NULL, 0)")), ["0"]);
    let one = "(SELECT repeatedfield(1))";
    assert_eq!(rows(&conn, &format!("{all}({one}, {one}, {one}, NULL, NULL, 0)")), ["0"]);
    assert!(
        error(&conn, &format!("{all}({one}, {one}, NULL, {one}, {one}, 0)"))
            .contains("NULL or none")
    );
    let two = "(SELECT repeatedfield(column1) FROM (VALUES (1), (2)))";
    assert!(
        error(&conn, &format!("{all}({one}, {two}, {one}, {one}, {one}, 0)"))
            .contains("edges must have one length")
    );
    assert!(
        error(&conn, &format!("{all}({one}, {one}, {one}, {one}, {two}, 0)"))
            .contains("roots must have one length")
    );
    assert!(error(&conn, &format!("{all}({one})")).contains("needs (source_node_ids"));
}

use super::super::testing::{connection, error, rows, table_query};

fn tree(values: &str) -> String {
    format!(
        "(SELECT __intrinsic_tree_from_table('id', column1, 'parent_id', column2, 'name', column3)
            FROM (VALUES {values}))"
    )
}

fn to_table(values: &str) -> String {
    let table = format!("__intrinsic_tree_to_table({})", tree(values));
    table_query(&table, &["_tree_id", "_tree_parent_id", "id", "parent_id", "name"])
}

#[test]
fn pq9_a_tree_has_parents_before_their_children() {
    let conn = connection();
    let ordered = "(10, NULL, 'root'), (20, 10, 'leaf'), (30, NULL, 'other')";
    assert_eq!(
        rows(&conn, &to_table(ordered)),
        ["0 NULL 10 NULL root", "1 0 20 10 leaf", "2 NULL 30 NULL other"]
    );
    let unordered = "(30, 20, 'leaf'), (5, 10, 'twig'), (20, 10, NULL), (10, NULL, 'root')";
    assert_eq!(
        rows(&conn, &to_table(unordered)),
        ["0 NULL 10 NULL root", "1 0 20 10 NULL", "2 1 30 20 leaf", "3 0 5 10 twig"]
    );
}

#[test]
fn pq9_a_wrong_tree_is_an_error_that_names_the_row() {
    let conn = connection();
    let message = |values: &str| {
        error(&conn, &to_table(values)).replace("__intrinsic_tree_from_table(): ", "")
    };
    assert_eq!(message("(1, NULL, ''), (1, NULL, '')"), "two rows have the id 1");
    assert_eq!(message("(1, 2, '')"), "no row has the id 2, which is a parent");
    assert_eq!(
        message("(1, 2, ''), (2, 1, '')"),
        "the parents of a node go in a circle; a tree has a root"
    );
    assert_eq!(message("(1, 1, '')"), "the parents of a node go in a circle; a tree has a root");
    assert_eq!(message("('a', NULL, '')"), "an id must be an integer");
    let few = error(&conn, "SELECT __intrinsic_tree_from_table('id', 1)");
    assert!(few.contains("it takes 'id' and the id"), "{few}");
    assert_eq!(
        error(&conn, &table_query("__intrinsic_tree_to_table(7)", &["id"])),
        "__intrinsic_tree_to_table(): argument 1 (tree) must be the result of another intrinsic, \
         not 7"
    );
}

#[test]
fn pq9_a_summary_adds_up_each_subtree() {
    let conn = connection();
    let columns = [
        "id",
        "idom_id",
        "dominated_obj_count",
        "dominated_size_bytes",
        "dominated_native_size_bytes",
        "depth",
    ];
    // 3 -> 2 -> 1, and 4 beside.
    let values = "(1, 2, 10, 1), (2, 3, 20, NULL), (3, NULL, 30, 3), (4, NULL, 40, 4)";
    let table = format!(
        "(SELECT __intrinsic_tree_dominator_summary(__intrinsic_tree_from_table('id', column1,
            'parent_id', column2, 'self_size', column3, 'native_size', column4, 'self_count', 1))
            FROM (VALUES {values}))"
    );
    let sql = format!("{} ORDER BY c0", table_query(&table, &columns));
    assert_eq!(
        rows(&conn, &sql),
        ["1 2 1 10 1 3", "2 3 2 30 1 2", "3 NULL 3 60 4 1", "4 NULL 1 40 4 1"]
    );
    let nothing = table.replace(
        "FROM (VALUES",
        "FROM (SELECT 1 AS column1, 1 AS column2, 1 AS column3, 1 AS column4 WHERE 0) -- (",
    );
    assert_eq!(rows(&conn, &table_query(&format!("{nothing}\n)"), &columns)), [""; 0]);
    let summary = format!("__intrinsic_tree_dominator_summary({})", tree("(1, NULL, '')"));
    assert!(error(&conn, &table_query(&summary, &["id"])).contains("the tree needs the columns"));
}

use proptest::prelude::*;

use super::super::testing::{connection, error, rows, table_query};
use super::*;

fn query(rows: &str) -> String {
    let table = format!(
        "(SELECT __intrinsic_structural_tree_partition(column1, column2, column3)
            FROM (VALUES {rows}))"
    );
    table_query(&table, &COLUMNS)
}

fn divided(tree: &str) -> Vec<String> {
    let mut found = rows(&connection(), &query(tree));
    found.sort();
    found
}

#[test]
fn pq9_the_parent_is_the_next_ancestor_of_the_same_group() {
    //      1a
    //     /  \
    //    2b   3a
    //   /  \    \
    //  4a   5b   6b
    let tree = "(1, NULL, 10), (2, 1, 20), (3, 1, 10), (4, 2, 10), (5, 2, 20), (6, 3, 20)";
    assert_eq!(
        divided(tree),
        ["1 NULL 10", "2 NULL 20", "3 1 10", "4 1 10", "5 2 20", "6 NULL 20"]
    );
}

#[test]
fn pq9_a_tree_has_one_root_and_no_circle() {
    let conn = connection();
    let of = "__intrinsic_structural_tree_partition(): ";
    let message = |rows: &str| error(&conn, &query(rows)).replace(of, "");
    assert_eq!(
        message("(1, NULL, 1), (2, NULL, 1)"),
        "1 and 2 have no parent, but a tree has one root"
    );
    assert_eq!(message("(1, 2, 1)"), "every node has a parent, but the root of a tree has none");
    assert_eq!(
        message("(1, NULL, 1), (2, 1, 1), (1, 2, 1)"),
        "the node 2 is in a circle, or has two rows; each node of a tree has one parent"
    );
    // A circle that the root does not reach has no rows.
    assert_eq!(divided("(1, NULL, 1), (2, 3, 1), (3, 2, 1)"), ["1 NULL 1"]);
    let nothing = "(SELECT __intrinsic_structural_tree_partition(1, NULL, 1) WHERE 0)";
    assert_eq!(rows(&conn, &table_query(nothing, &COLUMNS)), [""; 0]);
}

proptest! {
    #[test]
    fn pq9_a_partition_is_that_of_walks_to_the_root(
        nodes in proptest::collection::vec((any::<prop::sample::Index>(), 0..3_u32), 1..20),
    ) {
        // The parent of each node is one of those before it.
        let parents: Vec<Option<usize>> = nodes
            .iter()
            .enumerate()
            .map(|(node, (parent, _))| (node > 0).then(|| parent.index(node.max(1))))
            .collect();
        let told = |parent: Option<usize>| parent.map_or("NULL".to_owned(), |p| p.to_string());
        let values = nodes.iter().enumerate().map(|(node, (_, group))| {
            format!("({node}, {}, {group})", told(parents[node]))
        });
        let values: Vec<String> = values.collect();
        let mut expected: Vec<String> = nodes
            .iter()
            .enumerate()
            .map(|(node, (_, group))| {
                let mut above = parents[node];
                while let Some(at) = above.filter(|&at| nodes[at].1 != *group) {
                    above = parents[at];
                }
                format!("{node} {} {group}", told(above))
            })
            .collect();
        expected.sort();
        prop_assert_eq!(divided(&values.join(", ")), expected);
    }
}

use std::collections::HashSet;

use proptest::prelude::*;

use super::super::testing::{connection, error, rows, table_query};
use super::*;

fn query(edges: &str, root: u32) -> String {
    let table = format!(
        "(SELECT __intrinsic_dominator_tree(column1, column2, {root}) FROM (VALUES {edges}))"
    );
    table_query(&table, &COLUMNS)
}

fn dominators(edges: &str, root: u32) -> Vec<String> {
    let mut found = rows(&connection(), &query(edges, root));
    found.sort();
    found
}

#[test]
fn pq9_a_dominator_is_on_all_ways_from_the_root() {
    // 1 -> 2 -> 4 -> 5
    //  \-> 3 -/
    let edges = "(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)";
    assert_eq!(dominators(edges, 1), ["1 NULL", "2 1", "3 1", "4 1", "5 4"]);
    // The nodes that the root does not reach count neither as nodes nor as ways.
    assert_eq!(dominators(&format!("{edges}, (9, 5), (8, 9)"), 2), ["2 NULL", "4 2", "5 4"]);
}

#[test]
fn pq9_the_example_of_lengauer_and_tarjan() {
    // Figure 1 of the paper, with the letters R, A … L as 0, 1 … 12.
    let edges = "(0, 1), (0, 2), (0, 3), (1, 4), (2, 1), (2, 4), (2, 5), (3, 6), (3, 7), (4, 12),
        (5, 8), (6, 9), (7, 9), (7, 10), (8, 5), (8, 11), (9, 11), (10, 9), (11, 9), (11, 0), (12, 8)";
    assert_eq!(
        dominators(edges, 0),
        [
            "0 NULL", "1 0", "10 7", "11 0", "12 4", "2 0", "3 0", "4 0", "5 0", "6 3", "7 3",
            "8 0", "9 0"
        ]
    );
}

#[test]
fn pq9_without_edges_there_is_no_tree_and_no_error() {
    let conn = connection();
    let table = "(SELECT __intrinsic_dominator_tree(1, 2, 3) WHERE 0)";
    assert_eq!(rows(&conn, &table_query(table, &COLUMNS)), [""; 0]);
    assert_eq!(
        error(&conn, &query("(1, 2)", 3)),
        "__intrinsic_dominator_tree(): the root 3 is no node of the graph"
    );
    assert_eq!(dominators("(1, 2)", 2), ["2 NULL"]);
    assert_eq!(dominators("(1, 1)", 1), ["1 NULL"]);
}

#[test]
fn pq13_a_deep_graph_needs_no_deep_stack() {
    let conn = connection();
    let table = "(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
        SELECT __intrinsic_dominator_tree(i, i + 1, 0) FROM n)";
    let sql = format!("SELECT count(*), sum(c0 - c1) FROM ({})", table_query(table, &COLUMNS));
    assert_eq!(rows(&conn, &sql), ["200002 200001"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pq9_dominators_are_those_that_cut_off_a_node(
        edges in proptest::collection::vec((0..10_u32, 0..10_u32), 1..30),
    ) {
        let root = edges[0].0;
        let reached_without = |without: Option<u32>| {
            let mut reached = HashSet::new();
            if Some(root) != without {
                reached.insert(root);
            }
            while let Some(&(_, dest)) = edges.iter().find(|&&(source, dest)| {
                Some(dest) != without && reached.contains(&source) && !reached.contains(&dest)
            }) {
                reached.insert(dest);
            }
            reached
        };
        let all = reached_without(None);
        // A node dominates those that nobody reaches without it.
        let dominated = |by: u32| -> HashSet<u32> {
            all.difference(&reached_without(Some(by))).copied().collect()
        };
        let mut expected: Vec<String> = all
            .iter()
            .map(|&node| {
                // The next one is the dominator that all others dominate.
                let others = all.iter().filter(|&&other| other != node);
                let above = others.filter(|&&other| dominated(other).contains(&node));
                match above.min_by_key(|&&other| dominated(other).len()) {
                    Some(above) => format!("{node} {above}"),
                    None => format!("{node} NULL"),
                }
            })
            .collect();
        expected.sort();
        let values: Vec<String> = edges.iter().map(|edge| format!("{edge:?}")).collect();
        prop_assert_eq!(dominators(&values.join(", "), root), expected);
    }
}

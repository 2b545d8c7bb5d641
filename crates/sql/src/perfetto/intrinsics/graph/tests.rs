use proptest::prelude::*;

use super::super::testing::{connection, error, rows, table_query};
use super::*;

const NODES: [&str; 2] = ["node_id", "parent_node_id"];

fn search(function: &str, edges: &str, starts: &str) -> Vec<String> {
    let table = format!(
        "{function}((SELECT __intrinsic_graph_agg(column1, column2) FROM (VALUES {edges})),
            (SELECT __intrinsic_array_agg(column1) FROM (VALUES {starts})))"
    );
    rows(&connection(), &table_query(&table, &NODES))
}

#[test]
fn pq9_a_search_in_depth_follows_the_first_edge_first() {
    // 1 -> 2 -> 4, 1 -> 3 -> 4 -> 1
    let edges = "(1, 2), (1, 3), (2, 4), (3, 4), (4, 1)";
    assert_eq!(search(DFS, edges, "(1)"), ["1 NULL", "2 1", "4 2", "3 1"]);
    assert_eq!(search(DFS, edges, "(3)"), ["3 NULL", "4 3", "1 4", "2 1"]);
    // The last start comes first, and the others keep what is left.
    assert_eq!(search(DFS, edges, "(1), (3)"), ["3 NULL", "4 3", "1 4", "2 1"]);
    assert_eq!(search(DFS, "(1, 2), (3, 4)", "(1), (3)"), ["3 NULL", "4 3", "1 NULL", "2 1"]);
}

#[test]
fn pq9_a_search_in_breadth_goes_level_by_level() {
    let edges = "(1, 2), (1, 3), (2, 4), (3, 4), (4, 1)";
    assert_eq!(search(BFS, edges, "(1)"), ["1 NULL", "2 1", "3 1", "4 2"]);
    assert_eq!(search(BFS, edges, "(3), (1), (3)"), ["3 NULL", "1 NULL", "4 3", "2 1"]);
}

#[test]
fn pq9_nodes_without_edges_reach_themselves() {
    for function in [DFS, BFS] {
        assert_eq!(search(function, "(1, 2), (7, NULL)", "(7)"), ["7 NULL"]);
        assert_eq!(search(function, "(1, 2)", "(99), (99)"), ["99 NULL"]);
        // A row without a destination is no edge to the node 0.
        assert_eq!(search(function, "(7, NULL), (0, 1)", "(7)"), ["7 NULL"]);
    }
}

#[test]
fn pq13_a_high_id_takes_no_more_memory_than_a_low_one() {
    assert_eq!(
        search(DFS, "(4294967295, 4294967294)", "(4294967295)"),
        ["4294967295 NULL", "4294967294 4294967295"]
    );
    // Ids have 32 bits.
    assert_eq!(search(BFS, "(4294967297, 2)", "(1)"), ["1 NULL", "2 1"]);
}

#[test]
fn pq9_no_graph_or_no_starts_is_no_row() {
    let conn = connection();
    for function in [DFS, BFS] {
        let nothing = "(SELECT __intrinsic_array_agg(1) WHERE 0)";
        let graph = "(SELECT __intrinsic_graph_agg(1, 2))";
        for table in [format!("{function}({graph}, {nothing})"), format!("{function}(NULL, NULL)")]
        {
            assert_eq!(rows(&conn, &table_query(&table, &NODES)), [""; 0]);
        }
        let table = format!("{function}({graph}, (SELECT __intrinsic_array_agg('one')))");
        assert_eq!(
            error(&conn, &table_query(&table, &NODES)),
            format!("{function}(): argument 2 (start_node_ids) must be an array of integers")
        );
    }
}

#[test]
fn pq9_an_array_has_values_of_one_type() {
    let conn = connection();
    let gather = |values: &str| {
        error(&conn, &format!("SELECT __intrinsic_array_agg(column1) FROM (VALUES {values})"))
    };
    assert_eq!(
        gather("(1), (NULL)"),
        "__intrinsic_array_agg(): a value is NULL; leave it out with WHERE … IS NOT NULL"
    );
    assert_eq!(
        gather("(1), ('x')"),
        "__intrinsic_array_agg(): all values must have one type, but there are Integer and Text; \
         use CAST"
    );
    assert!(gather("(x'00')").contains("not a blob"));
}

proptest! {
    #[test]
    fn pq9_both_searches_reach_what_edges_reach(
        edges in proptest::collection::vec((0..12_u32, 0..12_u32), 1..30),
        start in 0..12_u32,
    ) {
        let mut reached = HashSet::from([start]);
        while let Some(&(_, dest)) = edges.iter().find(|(source, dest)| {
            reached.contains(source) && !reached.contains(dest)
        }) {
            reached.insert(dest);
        }
        let values: Vec<String> = edges.iter().map(|edge| format!("{edge:?}")).collect();
        let values = values.join(", ");
        for function in [DFS, BFS] {
            let found = search(function, &values, &format!("({start})"));
            let mut nodes: Vec<(u32, Option<u32>)> = Vec::new();
            for row in &found {
                let (node, parent) = row.split_once(' ').unwrap();
                let (node, parent) = (node.parse().unwrap(), parent.parse().ok());
                // A parent was reached before, and has an edge.
                if let Some(parent) = parent {
                    prop_assert!(nodes.iter().any(|&(before, _)| before == parent));
                    prop_assert!(edges.contains(&(parent, node)));
                }
                nodes.push((node, parent));
            }
            let found: HashSet<u32> = nodes.iter().map(|&(node, _)| node).collect();
            prop_assert_eq!(nodes.len(), found.len());
            prop_assert_eq!(&found, &reached);
        }
    }
}

//! Searches in depth that end at a weight.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_dfs_weight_bounded(source_node_ids, dest_node_ids, edge_weights, root_node_ids, root_max_weights, is_target_weight_floor)` | a virtual table with `root_node_id`, `node_id` and `parent_node_id`: a search for each root by itself |
//!
//! The first five arguments are arrays: the first three have a value for each edge, the other two
//! one for each root. The search of a root ends when the weights of the edges that it took are
//! together more than the root's weight. The node at the end of the last edge is a row if
//! `is_target_weight_floor` is not 0.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use crate::table_function::{self, TableFunction};
use crate::{Error, Result};

use super::arrays::{Array, gathered};
use super::graph::{Edges, Graph};
use super::limits::{Budget, Watch};
use super::pointer;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gathered(conn, "repeatedfield")?;
    table_function::register::<Search>(conn)
}

/// The search on a connection.
struct Search(*mut ffi::sqlite3);

/// A row: the ids of the root, the node and its parent.
type Row = (u32, u32, Option<u32>);

impl TableFunction for Search {
    const NAME: &'static str = "__intrinsic_dfs_weight_bounded";
    const COLUMNS: &'static [&'static str] = &["root_node_id", "node_id", "parent_node_id"];
    const ARGUMENTS: &'static [&'static str] = &[
        "source_node_ids",
        "dest_node_ids",
        "edge_weights",
        "root_node_ids",
        "root_max_weights",
        "is_target_weight_floor",
    ];
    const ESTIMATE: Option<(f64, i64)> = None;
    type Row = Row;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Search {
        Search(conn)
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Row>> {
        let arrays = [0, 1, 2, 3, 4].map(|index| pointer::filter::<Array>(args, index));
        let [Some(sources), Some(dests), Some(weights), Some(roots), Some(bounds)] = &arrays else {
            return match is_empty(&arrays) {
                true => Ok(Vec::new()),
                false => Err(wrong(
                    "the arrays of edges must all be NULL or none, and so those of roots",
                )),
            };
        };
        let ids = |array: &Array| array.ids().ok_or_else(|| wrong("an array must be of integers"));
        let (sources, dests, weights) = (ids(sources)?, ids(dests)?, ids(weights)?);
        let (roots, bounds) = (ids(roots)?, ids(bounds)?);
        if sources.len() != dests.len() || sources.len() != weights.len() {
            return Err(wrong("the arrays of edges must have one length"));
        }
        if roots.len() != bounds.len() {
            return Err(wrong("the arrays of roots must have one length"));
        }
        let is_floor =
            !matches!(args.iter().nth(5), None | Some(ValueRef::Null | ValueRef::Integer(0)));
        let mut budget = Budget::new(Self::NAME);
        budget.take(sources.len().saturating_mul(2 * Edges::NODE + 2 * Edges::EDGE))?;
        let weighted = Weighted::new(&sources, &dests, weights);
        // SAFETY: the connection is open during this call, and the reference stays in it.
        let conn = unsafe { Connection::from_handle(self.0) }?;
        let mut watch = Watch::new(&conn);
        let mut rows = Vec::new();
        for (root, bound) in roots.into_iter().zip(bounds) {
            weighted.search(root, bound, is_floor, &mut |row| {
                watch.step()?;
                budget.take(size_of::<Row>())?;
                rows.push(row);
                Ok(())
            })?;
        }
        Ok(rows)
    }

    fn column(&(root, node, parent): &Row, column: usize) -> Option<i64> {
        match column {
            0 => Some(root.into()),
            1 => Some(node.into()),
            2 => parent.map(i64::from),
            _ => None,
        }
    }
}

/// Without edges or without roots there is nothing to search.
fn is_empty(arrays: &[Option<Arc<Array>>; 5]) -> bool {
    let [sources, dests, weights, roots, bounds] = arrays;
    (sources.is_none() && dests.is_none() && weights.is_none())
        || (roots.is_none() && bounds.is_none())
}

fn wrong(what: &str) -> Error {
    Error::new(format_args!("{}(): {what}", Search::NAME))
}

/// A graph whose edges have weights.
struct Weighted {
    graph: Graph,
    /// The weight of each edge, in the order of [`Graph::edges_at`].
    weights: Vec<u32>,
}

impl Weighted {
    fn new(sources: &[u32], dests: &[u32], weights: Vec<u32>) -> Weighted {
        let mut edges = Edges::default();
        let mut by_source = Vec::with_capacity(sources.len());
        for ((&source, &dest), weight) in sources.iter().zip(dests).zip(weights) {
            let (source, dest) = (edges.node(source), edges.node(dest));
            edges.add(source, dest);
            by_source.push((source, weight));
        }
        // The graph has the edges of a node together, in their order.
        by_source.sort_by_key(|&(source, _)| source);
        Weighted {
            graph: edges.graph(),
            weights: by_source.into_iter().map(|(_, weight)| weight).collect(),
        }
    }

    fn search(
        &self,
        root: u32,
        bound: u32,
        is_floor: bool,
        each: &mut impl FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let Some(start) = self.graph.index(root) else {
            return each((root, root, None));
        };
        let mut seen = HashSet::new();
        let mut total = 0_u64;
        let mut stack = vec![(start, 0, None)];
        while let Some((node, weight, parent)) = stack.pop() {
            if !seen.insert(node) {
                continue;
            }
            total = total.saturating_add(u64::from(weight));
            let is_over = total > bound.into();
            if is_over && !is_floor {
                break;
            }
            each((root, self.graph.id(node), parent))?;
            if is_over {
                break;
            }
            let id = self.graph.id(node);
            let range = self.graph.edges_at(node);
            let weights = self.weights.get(range).unwrap_or_default();
            let edges = self.graph.edges(node).iter().zip(weights).rev();
            stack.extend(edges.map(|(&dest, &weight)| (dest, weight, Some(id))));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::super::testing::{connection, error, rows};

    fn query(edges: &str, roots: &str, is_floor: i32) -> String {
        let column = |values: &str, n: i32| {
            format!("(SELECT repeatedfield(column{n}) FROM (VALUES {values}))")
        };
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
}

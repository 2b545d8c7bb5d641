//! The tree of dominators of a graph: a node's parent is the last node that all ways from the root
//! to it go through.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_dominator_tree(source_node_id, dest_node_id, root_node_id)` | a table with `node_id` and `dominator_node_id`, NULL for the root, of the nodes that the root reaches |
//!
//! The algorithm is that of T. Lengauer and R. E. Tarjan, A Fast Algorithm for Finding Dominators in
//! a Flowgraph (1979), with the simple version of `link` and `eval`: O(edges × log nodes), without
//! recursion.

use std::ffi::c_int;

use rusqlite::Connection;

use crate::Result;

use super::call::{Call, Gather, gather};
use super::graph::{Edges, Graph};
use super::limits::{Budget, Watch, connection};
use super::table::{Cell, Column, Table};

const COLUMNS: [&str; 2] = ["node_id", "dominator_node_id"];

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)
}

struct Gathered {
    edges: Edges,
    root: Option<u32>,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_dominator_tree";
    const COUNT: c_int = 3;
    type Output = Table;

    fn start() -> Gathered {
        Gathered { edges: Edges::default(), root: None, budget: Budget::new(Self::NAME) }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        // The edges are followed in both directions, and a node has eight numbers.
        self.budget.take(3 * Edges::EDGE + 2 * Edges::NODE)?;
        if self.root.is_none() {
            self.root = Some(call.id(2, "root_node_id")?);
        }
        let source = self.edges.node(call.id(0, "source_node_id")?);
        let dest = self.edges.node(call.id(1, "dest_node_id")?);
        self.edges.add(source, dest);
        Ok(())
    }

    fn end(self, call: Call<'_, '_>) -> Result<Table> {
        let root_id = self.root.unwrap_or_default();
        let graph = self.edges.graph();
        let Some(root) = graph.index(root_id) else {
            return Err(call.error(format_args!("the root {root_id} is no node of the graph")));
        };
        let conn = connection(call.context())?;
        let mut watch = Watch::new(&conn);
        let tree = Tree::reached(&graph, root, &mut watch)?;
        let dominators = Solver::new(&tree).dominators(&mut watch)?;
        let id = |number: usize| {
            let node = tree.nodes.get(number).copied().unwrap_or_default();
            i64::from(graph.id(node))
        };
        let nodes: Vec<i64> = (0..tree.nodes.len()).map(id).collect();
        let above = dominators.iter().enumerate().map(|(number, &above)| match number {
            0 => Cell::Null,
            _ => Cell::Integer(id(above)),
        });
        let columns =
            [(COLUMNS[0], Column::Integers(nodes)), (COLUMNS[1], Column::Cells(above.collect()))];
        Ok(Table::new(tree.nodes.len(), columns))
    }

    fn nothing() -> Option<Table> {
        Some(Table::empty(&COLUMNS))
    }
}

/// The ids of the nodes that the root reaches, each with its dominator's, which comes before it. The root is not among
/// them.
///
/// # Errors
///
/// If the statement was interrupted.
pub fn dominators(graph: &Graph, root: u32, watch: &mut Watch<'_>) -> Result<Vec<(u32, u32)>> {
    let Some(root) = graph.index(root) else {
        return Ok(Vec::new());
    };
    let tree = Tree::reached(graph, root, watch)?;
    let dominators = Solver::new(&tree).dominators(watch)?;
    let id = |number: usize| graph.id(tree.nodes.get(number).copied().unwrap_or_default());
    let nodes = dominators.iter().enumerate().skip(1);
    Ok(nodes.map(|(number, &above)| (id(number), id(above))).collect())
}

/// The nodes that the root reaches, numbered in the order of a search in depth.
struct Tree {
    /// The node of each number.
    nodes: Vec<u32>,
    /// The number of each node's parent in the search; 0 for the root.
    parents: Vec<usize>,
    /// The numbers of the nodes with an edge to each number: where they begin, and all of them.
    starts: Vec<usize>,
    sources: Vec<usize>,
}

impl Tree {
    fn reached(graph: &Graph, root: u32, watch: &mut Watch<'_>) -> Result<Tree> {
        let mut numbers: Vec<Option<usize>> = vec![None; graph.len()];
        let (mut nodes, mut parents) = (Vec::new(), Vec::new());
        let mut stack = vec![(root, 0)];
        while let Some((node, parent)) = stack.pop() {
            watch.step()?;
            let Some(number) = numbers.get_mut(node as usize).filter(|known| known.is_none())
            else {
                continue;
            };
            let this = nodes.len();
            *number = Some(this);
            nodes.push(node);
            parents.push(parent);
            stack.extend(graph.edges(node).iter().rev().map(|&dest| (dest, this)));
        }
        let number = |node: u32| numbers.get(node as usize).copied().flatten();
        let mut starts = vec![0; nodes.len() + 1];
        for &node in &nodes {
            for dest in graph.edges(node).iter().filter_map(|&dest| number(dest)) {
                watch.step()?;
                starts[dest + 1] += 1;
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut sources = vec![0; starts.last().copied().unwrap_or_default()];
        for (source, &node) in nodes.iter().enumerate() {
            for dest in graph.edges(node).iter().filter_map(|&dest| number(dest)) {
                watch.step()?;
                sources[next[dest]] = source;
                next[dest] += 1;
            }
        }
        Ok(Tree { nodes, parents, starts, sources })
    }
}

/// The state of the algorithm; all nodes are numbers of the search in depth.
struct Solver<'t> {
    tree: &'t Tree,
    semi: Vec<usize>,
    /// The next node towards the root in the forest of those that are linked.
    ancestor: Vec<Option<usize>>,
    /// The node with the least semidominator on the way to that.
    least: Vec<usize>,
}

impl<'t> Solver<'t> {
    fn new(tree: &'t Tree) -> Solver<'t> {
        let count = tree.nodes.len();
        Solver {
            tree,
            semi: (0..count).collect(),
            ancestor: vec![None; count],
            least: (0..count).collect(),
        }
    }

    /// The number of the dominator of each number; 0 for the root.
    fn dominators(mut self, watch: &mut Watch<'_>) -> Result<Vec<usize>> {
        let count = self.tree.nodes.len();
        let mut dominators = vec![0; count];
        // The nodes with a semidominator, as lists: the first one, and the next of each.
        let (mut first, mut next) = (vec![None; count], vec![None; count]);
        let mut way = Vec::new();
        for node in (1..count).rev() {
            let parent = self.tree.parents[node];
            for source in self.tree.starts[node]..self.tree.starts[node + 1] {
                let least = self.eval(self.tree.sources[source], &mut way, watch)?;
                self.semi[node] = self.semi[node].min(self.semi[least]);
            }
            let semi = self.semi[node];
            next[node] = first[semi].replace(node);
            self.ancestor[node] = Some(parent);
            let mut of_parent = first[parent].take();
            while let Some(below) = of_parent {
                of_parent = next[below];
                let least = self.eval(below, &mut way, watch)?;
                let is_deeper = self.semi[least] < self.semi[below];
                dominators[below] = if is_deeper { least } else { parent };
            }
        }
        for node in 1..count {
            if dominators[node] != self.semi[node] {
                dominators[node] = dominators[dominators[node]];
            }
        }
        Ok(dominators)
    }

    /// The node with the least semidominator on the way from a node to the root of its tree in the
    /// forest, without that root. The way is made shorter for the next time.
    fn eval(&mut self, node: usize, way: &mut Vec<usize>, watch: &mut Watch<'_>) -> Result<usize> {
        way.clear();
        let mut at = node;
        while let Some(above) = self.ancestor[at] {
            watch.step()?;
            way.push(at);
            at = above;
        }
        // The last of the way is directly below the root, and has nothing to learn.
        let Some(mut above) = way.pop() else {
            return Ok(node);
        };
        while let Some(below) = way.pop() {
            if self.semi[self.least[above]] < self.semi[self.least[below]] {
                self.least[below] = self.least[above];
            }
            self.ancestor[below] = self.ancestor[above];
            above = below;
        }
        Ok(self.least[node])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

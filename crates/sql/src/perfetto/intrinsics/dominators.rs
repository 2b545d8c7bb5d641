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
        let id = |number: u32| {
            let node = tree.nodes.get(number as usize).copied().unwrap_or_default();
            i64::from(graph.id(node))
        };
        let nodes: Vec<i64> = (0..).take(tree.nodes.len()).map(id).collect();
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

/// A directed graph whose nodes are the numbers below a count.
pub trait Successors {
    /// The number of nodes.
    fn count(&self) -> usize;

    /// The nodes to which a node has edges, in order.
    fn of(&self, node: u32) -> &[u32];
}

impl Successors for Graph {
    fn count(&self) -> usize {
        self.len()
    }

    fn of(&self, node: u32) -> &[u32] {
        self.edges(node)
    }
}

/// The nodes that the root reaches, each with its dominator, which comes before it. The root is not among them.
///
/// # Errors
///
/// If the statement was interrupted.
pub fn dominators(
    graph: &impl Successors,
    root: u32,
    watch: &mut Watch<'_>,
) -> Result<Vec<(u32, u32)>> {
    let tree = Tree::reached(graph, root, watch)?;
    let dominators = Solver::new(&tree).dominators(watch)?;
    let node = |number: u32| tree.nodes.get(number as usize).copied().unwrap_or_default();
    let nodes = tree.nodes.iter().zip(dominators).skip(1);
    Ok(nodes.map(|(&own, above)| (own, node(above))).collect())
}

/// No number.
const NONE: u32 = u32::MAX;

/// The nodes that the root reaches, numbered in the order of a search in depth. A graph has fewer than 2³² nodes, so that
/// numbers have 32 bits.
struct Tree {
    /// The node of each number.
    nodes: Vec<u32>,
    /// The number of each node's parent in the search; 0 for the root.
    parents: Vec<u32>,
    /// The numbers of the nodes with an edge to each number: where they begin, and all of them.
    starts: Vec<usize>,
    sources: Vec<u32>,
}

impl Tree {
    fn reached(graph: &impl Successors, root: u32, watch: &mut Watch<'_>) -> Result<Tree> {
        let mut numbers = vec![NONE; graph.count()];
        let (mut nodes, mut parents) = (Vec::new(), Vec::new());
        // The way to the current node, with the number of edges of each node that were followed.
        let mut way: Vec<(u32, u32)> = Vec::new();
        let (mut at, mut parent) = (Some(root), 0);
        loop {
            watch.step()?;
            if let Some(node) = at
                && let Some(number) = numbers.get_mut(node as usize).filter(|known| **known == NONE)
            {
                *number = nodes.len() as u32;
                nodes.push(node);
                parents.push(parent);
                way.push((node, 0));
            }
            let Some((node, followed)) = way.last_mut() else { break };
            at = graph.of(*node).get(*followed as usize).copied();
            match at {
                Some(_) => {
                    *followed += 1;
                    parent = numbers[*node as usize];
                }
                None => _ = way.pop(),
            }
        }
        drop(way);
        let number = |node: u32| {
            let number = numbers.get(node as usize).copied();
            number.filter(|number| *number != NONE).map(|number| number as usize)
        };
        let mut starts = vec![0; nodes.len() + 1];
        for &node in &nodes {
            for dest in graph.of(node).iter().filter_map(|&dest| number(dest)) {
                watch.step()?;
                starts[dest + 1] += 1;
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut sources = vec![0; starts.last().copied().unwrap_or_default()];
        // Each start moves to the start of the next node, and then back.
        for (source, &node) in (0..).zip(&nodes) {
            for dest in graph.of(node).iter().filter_map(|&dest| number(dest)) {
                watch.step()?;
                sources[starts[dest]] = source;
                starts[dest] += 1;
            }
        }
        starts.rotate_right(1);
        starts[0] = 0;
        Ok(Tree { nodes, parents, starts, sources })
    }
}

/// The state of the algorithm; all nodes are numbers of the search in depth.
struct Solver<'t> {
    tree: &'t Tree,
    semi: Vec<u32>,
    /// The next node towards the root in the forest of those that are linked, or [`NONE`].
    ancestor: Vec<u32>,
    /// The node with the least semidominator on the way to that.
    least: Vec<u32>,
}

impl<'t> Solver<'t> {
    fn new(tree: &'t Tree) -> Solver<'t> {
        let count = tree.nodes.len();
        let own: Vec<u32> = (0..).take(count).collect();
        Solver { tree, semi: own.clone(), ancestor: vec![NONE; count], least: own }
    }

    /// The number of the dominator of each number; 0 for the root.
    fn dominators(mut self, watch: &mut Watch<'_>) -> Result<Vec<u32>> {
        let count = self.tree.nodes.len();
        let mut dominators = vec![0; count];
        // The nodes with a semidominator, as lists: the first one, and the next of each.
        let (mut first, mut next) = (vec![NONE; count], vec![NONE; count]);
        let mut way = Vec::new();
        for node in (1..count).rev() {
            let parent = self.tree.parents[node];
            for source in self.tree.starts[node]..self.tree.starts[node + 1] {
                let least = self.eval(self.tree.sources[source], &mut way, watch)?;
                self.semi[node] = self.semi[node].min(self.semi[least as usize]);
            }
            let semi = self.semi[node] as usize;
            next[node] = std::mem::replace(&mut first[semi], node as u32);
            self.ancestor[node] = parent;
            let mut of_parent = std::mem::replace(&mut first[parent as usize], NONE);
            while of_parent != NONE {
                let below = of_parent as usize;
                of_parent = next[below];
                let least = self.eval(below as u32, &mut way, watch)?;
                let is_deeper = self.semi[least as usize] < self.semi[below];
                dominators[below] = if is_deeper { least } else { parent };
            }
        }
        for node in 1..count {
            if dominators[node] != self.semi[node] {
                dominators[node] = dominators[dominators[node] as usize];
            }
        }
        Ok(dominators)
    }

    /// The node with the least semidominator on the way from a node to the root of its tree in the
    /// forest, without that root. The way is made shorter for the next time.
    fn eval(&mut self, node: u32, way: &mut Vec<u32>, watch: &mut Watch<'_>) -> Result<u32> {
        way.clear();
        let mut at = node;
        while self.ancestor[at as usize] != NONE {
            watch.step()?;
            way.push(at);
            at = self.ancestor[at as usize];
        }
        // The last of the way is directly below the root, and has nothing to learn.
        let Some(mut above) = way.pop() else {
            return Ok(node);
        };
        while let Some(below) = way.pop() {
            let (least, own) = (self.least[above as usize], self.least[below as usize]);
            if self.semi[least as usize] < self.semi[own as usize] {
                self.least[below as usize] = least;
            }
            self.ancestor[below as usize] = self.ancestor[above as usize];
            above = below;
        }
        Ok(self.least[node as usize])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

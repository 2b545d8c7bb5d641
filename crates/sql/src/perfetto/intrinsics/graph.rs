//! Graphs of nodes with ids of 32 bits, and the nodes that are reachable in them.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_graph_agg(source_node_id, dest_node_id)` | the graph with these edges; a row without a destination is a node alone |
//! | `__intrinsic_dfs(graph, start_node_ids)` | a table with `node_id` and `parent_node_id`, in the order of a search in depth |
//! | `__intrinsic_bfs(graph, start_node_ids)` | the same in the order of a search in breadth |
//!
//! `start_node_ids` is an array; its nodes have no parent. A search in depth begins with the last
//! one, as in trace processor.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::c_int;
use std::ops::Range;

use rusqlite::Connection;

use crate::Result;

use super::arrays::Array;
use super::call::{Call, Gather, PURE, gather, scalar};
use super::limits::{Budget, Watch, connection};
use super::pointer::{Handed, Pointer, kind};
use super::table::{Cell, Column, Table};

const DFS: &str = "__intrinsic_dfs";
const BFS: &str = "__intrinsic_bfs";
const COLUMNS: [&str; 2] = ["node_id", "parent_node_id"];

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)?;
    scalar(conn, DFS, 2, PURE, |call| search(call, DFS, depth_first))?;
    scalar(conn, BFS, 2, PURE, |call| search(call, BFS, breadth_first))
}

/// A graph while edges are added.
#[derive(Debug, Default)]
pub struct Edges {
    ids: Vec<u32>,
    by_id: HashMap<u32, u32>,
    edges: Vec<(u32, u32)>,
}

impl Edges {
    /// The bytes of a node and of an edge, for a budget.
    pub const NODE: usize = 32;
    pub const EDGE: usize = 20;

    /// The index of a node.
    pub fn node(&mut self, id: u32) -> u32 {
        let ids = &mut self.ids;
        *self.by_id.entry(id).or_insert_with(|| {
            ids.push(id);
            // There are not more indexes than ids.
            (ids.len() - 1) as u32
        })
    }

    /// Adds an edge between indexes.
    pub fn add(&mut self, source: u32, dest: u32) {
        self.edges.push((source, dest));
    }

    pub fn graph(self) -> Graph {
        let mut starts = vec![0_usize; self.ids.len() + 1];
        for &(source, _) in &self.edges {
            if let Some(count) = starts.get_mut(source as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        // The edges of a node stay in their order.
        let mut next = starts.clone();
        let mut dests = vec![0; self.edges.len()];
        for (source, dest) in self.edges {
            if let Some(place) = next.get_mut(source as usize) {
                if let Some(slot) = dests.get_mut(*place) {
                    *slot = dest;
                }
                *place += 1;
            }
        }
        Graph { ids: self.ids, by_id: self.by_id, starts, dests }
    }
}

/// A directed graph. Its nodes have indexes, in the order in which the rows named them.
#[derive(Debug, Default)]
pub struct Graph {
    ids: Vec<u32>,
    by_id: HashMap<u32, u32>,
    /// The start of each node's edges in `dests`, and the end of the last ones.
    starts: Vec<usize>,
    dests: Vec<u32>,
}

impl Handed for Graph {
    const KIND: &'static std::ffi::CStr = kind!("graph");
}

impl Graph {
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn index(&self, id: u32) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    pub fn id(&self, index: u32) -> u32 {
        self.ids.get(index as usize).copied().unwrap_or_default()
    }

    /// The indexes of the nodes to which a node has edges, in the order of the rows.
    pub fn edges(&self, index: u32) -> &[u32] {
        self.dests.get(self.edges_at(index)).unwrap_or_default()
    }

    /// The places of a node's edges among all edges, sorted by source.
    pub fn edges_at(&self, index: u32) -> Range<usize> {
        let index = index as usize;
        match (self.starts.get(index), self.starts.get(index + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }
}

struct Gathered {
    edges: Edges,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_graph_agg";
    const COUNT: c_int = 2;
    type Output = Graph;

    fn start() -> Gathered {
        Gathered { edges: Edges::default(), budget: Budget::new(Self::NAME) }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        self.budget.take(Edges::NODE + Edges::EDGE)?;
        let source = self.edges.node(call.id(0, "source_node_id")?);
        if let Some(dest) = call.optional_id(1, "dest_node_id")? {
            let dest = self.edges.node(dest);
            self.edges.add(source, dest);
        }
        Ok(())
    }

    fn end(self, _call: Call<'_, '_>) -> Result<Graph> {
        Ok(self.edges.graph())
    }
}

/// The nodes that a search reached, with the indexes of their parents.
#[derive(Debug, Default)]
struct Reached {
    nodes: Vec<(u32, Option<u32>)>,
}

type Search = fn(&Graph, &[u32], &mut Watch<'_>) -> Result<Reached>;

fn search(call: Call<'_, '_>, name: &'static str, search: Search) -> Result<Pointer<Table>> {
    let graph = call.pointer::<Graph>(0, "graph")?;
    let starts = call.pointer::<Array>(1, "start_node_ids")?;
    let (Some(graph), Some(starts)) = (graph, starts) else {
        return Ok(Pointer::to(Table::empty(&COLUMNS)));
    };
    let Some(starts) = starts.ids() else {
        return Err(call.arguments().wrong(1, "start_node_ids", "must be an array of integers"));
    };
    let mut budget = Budget::new(name);
    // Each edge is taken up once, and each node is a row.
    let row = size_of::<i64>() + size_of::<Cell>() + size_of::<(u32, Option<u32>)>();
    budget.take((graph.len() + starts.len()).saturating_mul(row))?;
    budget.take(graph.dests.len().saturating_mul(16))?;
    let conn = connection(call.context())?;
    let mut watch = Watch::new(&conn);
    let (known, strange) = by_index(&graph, &starts);
    let reached = search(&graph, &known, &mut watch)?;
    let id = |index: u32| i64::from(graph.id(index));
    let parent = |parent: Option<u32>| parent.map_or(Cell::Null, |index| Cell::Integer(id(index)));
    let mut ids: Vec<i64> = reached.nodes.iter().map(|&(node, _)| id(node)).collect();
    let mut parents: Vec<Cell> = reached.nodes.iter().map(|&(_, of)| parent(of)).collect();
    ids.extend(strange.iter().map(|&id| i64::from(id)));
    parents.extend(strange.iter().map(|_| Cell::Null));
    let columns = [(COLUMNS[0], Column::Integers(ids)), (COLUMNS[1], Column::Cells(parents))];
    let count = reached.nodes.len() + strange.len();
    Ok(Pointer::to(Table::new(count, columns)))
}

/// The start nodes of the graph, and those outside of it, which reach only themselves.
fn by_index(graph: &Graph, starts: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut strange = Vec::new();
    let mut seen = HashSet::new();
    let known = starts.iter().filter_map(|&id| {
        let index = graph.index(id);
        if index.is_none() && seen.insert(id) {
            strange.push(id);
        }
        index
    });
    (known.collect(), strange)
}

fn depth_first(graph: &Graph, starts: &[u32], watch: &mut Watch<'_>) -> Result<Reached> {
    let mut reached = Reached::default();
    let mut is_reached = vec![false; graph.len()];
    let mut stack: Vec<(u32, Option<u32>)> = starts.iter().map(|&start| (start, None)).collect();
    while let Some((node, parent)) = stack.pop() {
        watch.step()?;
        if is_reached.get(node as usize).copied().unwrap_or(true) {
            continue;
        }
        is_reached[node as usize] = true;
        reached.nodes.push((node, parent));
        stack.extend(graph.edges(node).iter().rev().map(|&dest| (dest, Some(node))));
    }
    Ok(reached)
}

fn breadth_first(graph: &Graph, starts: &[u32], watch: &mut Watch<'_>) -> Result<Reached> {
    let mut reached = Reached::default();
    let mut is_reached = vec![false; graph.len()];
    let mut queue = VecDeque::new();
    let mut reach = |node: u32, parent, queue: &mut VecDeque<_>| {
        if let Some(is_reached) = is_reached.get_mut(node as usize)
            && !std::mem::replace(is_reached, true)
        {
            queue.push_back((node, parent));
        }
    };
    for &start in starts {
        reach(start, None, &mut queue);
    }
    while let Some((node, parent)) = queue.pop_front() {
        reached.nodes.push((node, parent));
        for &dest in graph.edges(node) {
            watch.step()?;
            reach(dest, Some(node), &mut queue);
        }
    }
    Ok(reached)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

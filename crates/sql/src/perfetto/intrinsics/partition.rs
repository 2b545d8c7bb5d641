//! A tree, divided into trees whose nodes have the same group.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_structural_tree_partition(node_id, parent_node_id, group_key)` | a table with these columns, in which a node's parent is its next ancestor of the same group; NULL if there is none |
//!
//! Exactly one row, the root, has no parent. Nodes that the root does not reach have no row.

use std::collections::HashMap;
use std::ffi::c_int;

use rusqlite::Connection;

use crate::Result;

use super::call::{Call, Gather, gather};
use super::limits::{Budget, Watch, connection};
use super::table::{Cell, Column, Table};

const COLUMNS: [&str; 3] = ["node_id", "parent_node_id", "group_key"];

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)
}

#[derive(Debug, Clone, Copy)]
struct Node {
    id: u32,
    parent: u32,
    group: u32,
}

struct Gathered {
    root: Option<Node>,
    nodes: Vec<Node>,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_structural_tree_partition";
    const COUNT: c_int = 3;
    type Output = Table;

    fn start() -> Gathered {
        Gathered { root: None, nodes: Vec::new(), budget: Budget::new(Self::NAME) }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        // A node, its row, and its place on the stack.
        self.budget.take(128)?;
        let id = call.id(0, "node_id")?;
        let group = call.id(2, "group_key")?;
        match (call.optional_id(1, "parent_node_id")?, self.root) {
            (Some(parent), _) => self.nodes.push(Node { id, parent, group }),
            (None, None) => self.root = Some(Node { id, parent: 0, group }),
            (None, Some(root)) => {
                return Err(call.error(format_args!(
                    "{} and {id} have no parent, but a tree has one root",
                    root.id
                )));
            }
        }
        Ok(())
    }

    fn end(mut self, call: Call<'_, '_>) -> Result<Table> {
        let Some(root) = self.root else {
            return Err(call.error("every node has a parent, but the root of a tree has none"));
        };
        // The children of a node stay in their order.
        self.nodes.sort_by_key(|node| node.parent);
        let conn = connection(call.context())?;
        let mut watch = Watch::new(&conn);
        match divide(root, &self.nodes, &mut watch)? {
            Ok(table) => Ok(table),
            Err(id) => Err(call.error(format_args!(
                "the node {id} is in a circle, or has two rows; each node of a tree has one parent"
            ))),
        }
    }

    fn nothing() -> Option<Table> {
        Some(Table::empty(&COLUMNS))
    }
}

/// A step of a walk through the tree.
enum Step {
    Enter(Node),
    /// Restores a group's ancestor after the node's descendants.
    Leave {
        group: u32,
        ancestor: Option<u32>,
    },
}

/// The table, or the id of a node that is reached twice.
fn divide(root: Node, nodes: &[Node], watch: &mut Watch<'_>) -> Result<Result<Table, u32>> {
    let (mut ids, mut parents, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    let mut ancestors: HashMap<u32, Option<u32>> = HashMap::new();
    let mut stack = vec![Step::Enter(root)];
    while let Some(step) = stack.pop() {
        watch.step()?;
        let node = match step {
            Step::Enter(node) => node,
            Step::Leave { group, ancestor } => {
                ancestors.insert(group, ancestor);
                continue;
            }
        };
        // The root and each row are entered once, unless one of them is among its own descendants.
        if ids.len() > nodes.len() {
            return Ok(Err(node.id));
        }
        let ancestor = ancestors.insert(node.group, Some(node.id)).flatten();
        ids.push(node.id.into());
        parents.push(ancestor.map_or(Cell::Null, |id| Cell::Integer(id.into())));
        groups.push(node.group.into());
        stack.push(Step::Leave { group: node.group, ancestor });
        let first = nodes.partition_point(|other| other.parent < node.id);
        let children = nodes.get(first..).unwrap_or_default().iter();
        let children = children.take_while(|child| child.parent == node.id);
        stack.extend(children.map(|&child| Step::Enter(child)));
    }
    let count = ids.len();
    let columns = [Column::Integers(ids), Column::Cells(parents), Column::Integers(groups)];
    let columns = COLUMNS.into_iter().zip(columns);
    Ok(Ok(Table::new(count, columns)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

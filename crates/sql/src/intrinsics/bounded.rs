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

use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection,
    VTabCursor,
};
use rusqlite::{Connection, ffi};

use crate::{Error, Result, caught};

use super::arrays::{Array, gathered};
use super::graph::{Edges, Graph};
use super::limits::{Budget, Watch};
use super::pointer;

const NAME: &str = "__intrinsic_dfs_weight_bounded";

const ARGUMENTS: [&str; 6] = [
    "source_node_ids",
    "dest_node_ids",
    "edge_weights",
    "root_node_ids",
    "root_max_weights",
    "is_target_weight_floor",
];

/// The columns before the arguments.
const COLUMNS: usize = 3;

const DECLARATION: &CStr = c"CREATE TABLE x (root_node_id INTEGER, node_id INTEGER,
    parent_node_id INTEGER, source_node_ids HIDDEN, dest_node_ids HIDDEN, edge_weights HIDDEN,
    root_node_ids HIDDEN, root_max_weights HIDDEN, is_target_weight_floor HIDDEN)";

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    const MODULE: Module<'_, Search> = Module::eponymous_only_module();
    gathered(conn, "repeatedfield")?;
    conn.create_module(NAME, &MODULE, None)
}

#[repr(C)]
struct Search {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    conn: *mut ffi::sqlite3,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab> VTab<'vtab> for Search {
    type Aux = ();
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        _aux: Option<&()>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        _args: &[&[u8]],
    ) -> rusqlite::Result<(Cow<'static, CStr>, Self)> {
        db.config(VTabConfig::Innocuous)?;
        let base = ffi::sqlite3_vtab::default();
        // SAFETY: SQLite disconnects a virtual table before it closes the connection.
        let conn = unsafe { db.handle() };
        Ok((Cow::Borrowed(DECLARATION), Search { base, conn }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        let mut given = 0;
        for (constraint, mut usage) in info.constraints_and_usages() {
            let column = usize::try_from(constraint.column()).unwrap_or_default();
            let argument = column.checked_sub(COLUMNS);
            let is_equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            if let Some(argument) = argument.filter(|_| is_equal) {
                if !constraint.is_usable() {
                    return Ok(false);
                }
                usage.set_argv_index(argument as c_int + 1);
                usage.set_omit(true);
                given += 1;
            }
        }
        match given == ARGUMENTS.len() {
            true => Ok(true),
            false => {
                let arguments = ARGUMENTS.join(", ");
                Err(Error::new(format_args!("{NAME}() needs the arguments {arguments}")).into())
            }
        }
    }

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            conn: self.conn,
            rows: Vec::new(),
            at: 0,
            phantom: PhantomData,
        })
    }
}

/// A row: the ids of the root, the node and its parent.
type Row = (u32, u32, Option<u32>);

#[repr(C)]
struct Cursor<'vtab> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    conn: *mut ffi::sqlite3,
    rows: Vec<Row>,
    at: usize,
    phantom: PhantomData<&'vtab Search>,
}

impl Cursor<'_> {
    fn find(&mut self, args: &Filters<'_>) -> Result<()> {
        (self.rows, self.at) = (Vec::new(), 0);
        let arrays = [0, 1, 2, 3, 4].map(|index| pointer::filter::<Array>(args, index));
        let [
            Some(sources),
            Some(dests),
            Some(weights),
            Some(roots),
            Some(bounds),
        ] = &arrays
        else {
            return match is_empty(&arrays) {
                true => Ok(()),
                false => Err(wrong(
                    "the arrays of edges must all be NULL or none, and so those of roots",
                )),
            };
        };
        let ids = |array: &Array| {
            array
                .ids()
                .ok_or_else(|| wrong("an array must be of integers"))
        };
        let (sources, dests, weights) = (ids(sources)?, ids(dests)?, ids(weights)?);
        let (roots, bounds) = (ids(roots)?, ids(bounds)?);
        if sources.len() != dests.len() || sources.len() != weights.len() {
            return Err(wrong("the arrays of edges must have one length"));
        }
        if roots.len() != bounds.len() {
            return Err(wrong("the arrays of roots must have one length"));
        }
        let is_floor = !matches!(
            args.iter().nth(5),
            None | Some(ValueRef::Null | ValueRef::Integer(0))
        );
        let mut budget = Budget::new(NAME);
        budget.take(
            sources
                .len()
                .saturating_mul(2 * Edges::NODE + 2 * Edges::EDGE),
        )?;
        let weighted = Weighted::new(&sources, &dests, weights);
        // SAFETY: the connection is open during this call, and the reference stays in it.
        let conn = unsafe { Connection::from_handle(self.conn) }?;
        let mut watch = Watch::new(&conn);
        for (root, bound) in roots.into_iter().zip(bounds) {
            weighted.search(root, bound, is_floor, &mut |row| {
                watch.step()?;
                budget.take(size_of::<Row>())?;
                self.rows.push(row);
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Without edges or without roots there is nothing to search.
fn is_empty(arrays: &[Option<Arc<Array>>; 5]) -> bool {
    let [sources, dests, weights, roots, bounds] = arrays;
    (sources.is_none() && dests.is_none() && weights.is_none())
        || (roots.is_none() && bounds.is_none())
}

fn wrong(what: &str) -> Error {
    Error::new(format_args!("{NAME}(): {what}"))
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

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(
        &mut self,
        _number: c_int,
        _plan: Option<&str>,
        args: &Filters<'_>,
    ) -> rusqlite::Result<()> {
        caught(|| Ok(self.find(args)?))
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.at = self.at.saturating_add(1);
        Ok(())
    }

    fn eof(&self) -> bool {
        self.at >= self.rows.len()
    }

    fn column(&self, ctx: &mut Context, column: c_int) -> rusqlite::Result<()> {
        let value = self
            .rows
            .get(self.at)
            .and_then(|&(root, node, parent)| match column {
                0 => Some(root),
                1 => Some(node),
                2 => parent,
                _ => None,
            });
        ctx.set_result(value)
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok(i64::try_from(self.at).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

//! What keeps an object alive alone, and what an object keeps alive.

use std::cell::RefCell;

use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use super::heap::Heap;
use crate::perfetto::intrinsics::{Budget, Successors, Watch, dominators};
use crate::table_function::{TableFunction, argument};
use crate::{Arguments, Error, Queries, Result, ValueRef};

pub struct Dominators {
    conn: *mut ffi::sqlite3,
    queries: RefCell<Queries>,
}

/// The bytes that the search takes for a node and for an edge.
const NODE: usize = 64;
const EDGE: usize = 12;

/// An object that is alive.
#[derive(Debug, Clone, Copy)]
pub struct Dominated {
    object: i64,
    /// The object through which all ways from roots go; `None` if there are several ways.
    dominator: Option<i64>,
    depth: u32,
    count: u32,
    size: i64,
    native_size: i64,
}

impl TableFunction for Dominators {
    const NAME: &'static str = "heap_graph_dominator";
    const COLUMNS: &'static [&'static str] = &[
        "object_id",
        "dominator_id",
        "depth",
        "dominated_obj_count",
        "dominated_size_bytes",
        "dominated_native_size_bytes",
    ];
    const ARGUMENTS: &'static [&'static str] = &["upid", "ts"];
    const ESTIMATE: Option<(f64, i64)> = None;
    type Row = Dominated;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Dominators {
        // SAFETY: by the contract of this function.
        Dominators { conn, queries: RefCell::new(unsafe { Queries::new(conn) }) }
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Dominated>> {
        let given = [argument::<Self>(args, 0)?, argument::<Self>(args, 1)?];
        let values = given.each_ref().map(ValueRef::from);
        let arguments = Arguments::new(Self::NAME, &values[..]);
        let upid = arguments.integer(0, "upid")?;
        let (Some(upid), Some(ts)) = (upid, arguments.integer(1, "ts")?) else {
            return Ok(Vec::new());
        };
        let Ok(mut queries) = self.queries.try_borrow_mut() else {
            return Err(Error::new(format_args!(
                "{}() reads the tables of Java heaps, so a view of these must not call it",
                Self::NAME
            )));
        };
        let mut budget = Budget::new(Self::NAME);
        let heap = Heap::read(&mut queries, (upid, ts), &mut budget)?;
        // SAFETY: the connection is open during this call, and the reference stays in it.
        let conn = unsafe { Connection::from_handle(self.conn) }?;
        of_heap(heap, &mut budget, &mut Watch::new(&conn))
    }

    fn column(row: &Dominated, column: usize) -> Option<i64> {
        match column {
            0 => Some(row.object),
            1 => row.dominator,
            2 => Some(row.depth.into()),
            3 => Some(row.count.into()),
            4 => Some(row.size),
            5 => Some(row.native_size),
            _ => None,
        }
    }
}

/// A heap as a graph whose nodes are the places of its objects, and a last one that leads to all roots.
struct Rooted {
    heap: Heap,
    roots: Vec<u32>,
}

impl Successors for Rooted {
    fn count(&self) -> usize {
        self.heap.objects.len().saturating_add(1)
    }

    fn of(&self, node: u32) -> &[u32] {
        match node as usize {
            place if place < self.heap.objects.len() => self.heap.children(place),
            _ => &self.roots,
        }
    }
}

/// The objects of a heap, a dominator before those that it dominates.
fn of_heap(heap: Heap, budget: &mut Budget, watch: &mut Watch<'_>) -> Result<Vec<Dominated>> {
    let places = (0..).zip(&heap.objects);
    let roots = places.filter(|(_, object)| object.root_type.is_some());
    let graph = Rooted { roots: roots.map(|(place, _)| place).collect(), heap };
    let nodes = graph.count();
    budget.take(nodes.saturating_mul(NODE + size_of::<Dominated>()))?;
    budget.take(graph.heap.count_of_references().saturating_mul(EDGE))?;
    let root = u32::try_from(graph.heap.objects.len()).unwrap_or(u32::MAX);
    let tree = dominators(&graph, root, watch)?;
    let objects = graph.heap.objects;
    let mut rows: Vec<Dominated> = Vec::with_capacity(tree.len());
    // The row of each node above, and of each row's dominator: a dominator comes before those that it dominates.
    let mut row_of = vec![u32::MAX; nodes];
    let mut above = Vec::with_capacity(tree.len());
    for (node, dominator) in tree {
        let Some(object) = objects.get(node as usize) else { continue };
        let dominator = row_of.get(dominator as usize).copied().unwrap_or(u32::MAX);
        let over = rows.get(dominator as usize);
        let row = Dominated {
            object: object.id,
            dominator: over.map(|over| over.object),
            depth: over.map_or(0, |over| over.depth.saturating_add(1)),
            count: 1,
            size: object.self_size,
            native_size: object.native_size,
        };
        if let Some(own) = row_of.get_mut(node as usize) {
            *own = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        }
        above.push(dominator);
        rows.push(row);
    }
    for (row, over) in above.into_iter().enumerate().rev() {
        let Some(own) = rows.get(row).copied() else { continue };
        if let Some(over) = rows.get_mut(over as usize) {
            over.count = over.count.saturating_add(own.count);
            over.size = over.size.saturating_add(own.size);
            over.native_size = over.native_size.saturating_add(own.native_size);
        }
    }
    Ok(rows)
}

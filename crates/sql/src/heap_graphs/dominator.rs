//! What keeps an object alive alone, and what an object keeps alive.

use std::cell::RefCell;

use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use super::heap::Heap;
use crate::perfetto::intrinsics::{Budget, Edges, Watch, dominators};
use crate::table_function::{TableFunction, argument};
use crate::{Arguments, Error, Queries, Result, ValueRef};

pub struct Dominators {
    conn: *mut ffi::sqlite3,
    queries: RefCell<Queries>,
}

/// An object that is alive.
#[derive(Debug, Clone, Copy)]
pub struct Dominated {
    object: i64,
    /// The object through which all ways from roots go; `None` if there are several ways.
    dominator: Option<i64>,
    depth: i64,
    count: i64,
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
        of_heap(&heap, &mut budget, &mut Watch::new(&conn))
    }

    fn column(row: &Dominated, column: usize) -> Option<i64> {
        match column {
            0 => Some(row.object),
            1 => row.dominator,
            2 => Some(row.depth),
            3 => Some(row.count),
            4 => Some(row.size),
            5 => Some(row.native_size),
            _ => None,
        }
    }
}

/// The objects of a heap, a dominator before those that it dominates.
fn of_heap(heap: &Heap, budget: &mut Budget, watch: &mut Watch<'_>) -> Result<Vec<Dominated>> {
    let (nodes, references) = (heap.objects.len().saturating_add(1), heap.references().len());
    budget.take(nodes.saturating_mul(4 * Edges::NODE + size_of::<Dominated>()))?;
    budget.take(references.saturating_add(nodes).saturating_mul(3 * Edges::EDGE))?;
    // Node 0 leads to all roots; an object is the node after its place.
    let mut edges = Edges::default();
    for node in (0..).take(nodes) {
        edges.node(node);
    }
    for (place, object) in (1..).zip(&heap.objects) {
        if object.root_type.is_some() {
            edges.add(0, place);
        }
    }
    for &(owner, owned) in heap.references() {
        edges.add(owner.saturating_add(1), owned.saturating_add(1));
    }
    let tree = dominators(&edges.graph(), 0, watch)?;
    let mut rows: Vec<Dominated> = Vec::with_capacity(tree.len());
    // The node of each row above, by the row: a dominator comes before those that it dominates.
    let mut row_of = vec![usize::MAX; nodes];
    let mut above = Vec::with_capacity(tree.len());
    for (node, dominator) in tree {
        let place = (node as usize).checked_sub(1);
        let Some(object) = place.and_then(|place| heap.objects.get(place)) else { continue };
        let dominator = row_of.get(dominator as usize).copied().filter(|row| *row < rows.len());
        let over = dominator.and_then(|row| rows.get(row));
        let row = Dominated {
            object: object.id,
            dominator: over.map(|over| over.object),
            depth: over.map_or(0, |over| over.depth.saturating_add(1)),
            count: 1,
            size: object.self_size,
            native_size: object.native_size,
        };
        if let Some(own) = row_of.get_mut(node as usize) {
            *own = rows.len();
        }
        above.push(dominator);
        rows.push(row);
    }
    for (row, over) in above.into_iter().enumerate().rev() {
        let Some(own) = rows.get(row).copied() else { continue };
        if let Some(over) = over.and_then(|over| rows.get_mut(over)) {
            over.count = over.count.saturating_add(own.count);
            over.size = over.size.saturating_add(own.size);
            over.native_size = over.native_size.saturating_add(own.native_size);
        }
    }
    Ok(rows)
}

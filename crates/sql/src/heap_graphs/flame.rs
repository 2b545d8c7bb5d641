//! A dump as a tree of classes along shortest paths from roots, as trace processor makes it (rule HG13).

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use rusqlite::types::ValueRef as Given;
use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use super::heap::{Heap, Object};
use super::root_type;
use crate::perfetto::intrinsics::{Budget, Watch};
use crate::table_function::TableFunction;
use crate::{Error, Queries, Result, ValueRef};

pub struct Flamegraph {
    conn: *mut ffi::sqlite3,
    queries: RefCell<Queries>,
}

/// A node of the tree.
#[derive(Debug, Clone, Default)]
pub struct Node {
    of: (i64, i64),
    id: i64,
    depth: i64,
    name: Option<String>,
    parent: Option<usize>,
    count: i64,
    size: i64,
    sum_count: i64,
    sum_size: i64,
}

/// The function, and the kind of its data.
const KIND: &str = "graph";
const MAPPING: &str = "JAVA";
const INCOMPLETE: &str = "ERROR: INCOMPLETE GRAPH (try increasing buffer size)";
const TRUNCATED: &str =
    "SELECT 1 FROM heap_graph WHERE upid = ?1 AND ts = ?2 AND truncated LIMIT 1";

impl TableFunction for Flamegraph {
    const NAME: &'static str = "experimental_flamegraph";
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "profile_type",
        "ts",
        "upid",
        "depth",
        "name",
        "map_name",
        "count",
        "cumulative_count",
        "size",
        "cumulative_size",
        "alloc_count",
        "cumulative_alloc_count",
        "alloc_size",
        "cumulative_alloc_size",
        "parent_id",
        "source_file",
        "line_number",
    ];
    const TEXTS: &'static [&'static str] = &["profile_type", "name", "map_name", "source_file"];
    const ARGUMENTS: &'static [&'static str] =
        &["profile_type_in", "ts_in", "ts_constraint", "upid_in", "upid_group", "focus_str"];
    const ESTIMATE: Option<(f64, i64)> = None;
    type Row = Node;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Flamegraph {
        // SAFETY: by the contract of this function.
        Flamegraph { conn, queries: RefCell::new(unsafe { Queries::new(conn) }) }
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Node>> {
        let given: Vec<Given<'_>> = args.iter().collect();
        let wrong = |what: &str| Error::new(format_args!("{}(): {what}", Self::NAME));
        match given.first() {
            Some(Given::Text(kind)) if *kind == KIND.as_bytes() => {}
            _ => {
                return Err(wrong(
                    "argument 1 (profile_type) must be 'graph'; callstacks have the table function callstack_frame",
                ));
            }
        }
        let (Some(Given::Integer(ts)), Some(Given::Integer(upid))) = (given.get(1), given.get(3))
        else {
            return Err(wrong(
                "arguments 2 (ts) and 4 (upid) must be those of a row of heap_graph",
            ));
        };
        let of = (*upid, *ts);
        let focus = match given.get(5) {
            Some(Given::Text(focus)) => Some(String::from_utf8_lossy(focus).to_lowercase()),
            _ => None,
        };
        let Ok(mut queries) = self.queries.try_borrow_mut() else {
            return Err(wrong(
                "it reads the tables of Java heaps, so a view of these must not call it",
            ));
        };
        let mut budget = Budget::new(Self::NAME);
        let heap = Heap::read(&mut queries, of, &mut budget)?;
        if heap.objects.is_empty() {
            return match is_truncated(&mut queries, of)? {
                true => Ok(vec![incomplete(of)]),
                false => Err(wrong("this process has no dump with roots at this time")),
            };
        }
        // SAFETY: the connection is open during this call, and the reference stays in it.
        let conn = unsafe { Connection::from_handle(self.conn) }?;
        let nodes = Tree::new(of, budget).of_heap(&heap, &mut Watch::new(&conn))?;
        Ok(match focus {
            Some(focus) if !focus.is_empty() => summed(focused(nodes, &focus)),
            _ => summed(nodes),
        })
    }

    fn column(row: &Node, column: usize) -> Option<i64> {
        match column {
            0 => Some(row.id),
            2 => Some(row.of.1),
            3 => Some(row.of.0),
            4 => Some(row.depth),
            7 => Some(row.count),
            8 => Some(row.sum_count),
            9 => Some(row.size),
            10 => Some(row.sum_size),
            11..=14 => Some(0),
            15 => row.parent.map(signed),
            _ => None,
        }
    }

    fn text(row: &Node, column: usize) -> Option<&str> {
        match column {
            1 => Some(KIND),
            5 => row.name.as_deref(),
            6 => Some(MAPPING),
            _ => None,
        }
    }
}

fn signed(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}

fn is_truncated(queries: &mut Queries, (upid, ts): (i64, i64)) -> Result<bool> {
    let mut found = false;
    queries.each(TRUNCATED, &[ValueRef::Integer(upid), ValueRef::Integer(ts)], |_| {
        found = true;
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

fn incomplete(of: (i64, i64)) -> Node {
    let name = Some(INCOMPLETE.to_owned());
    Node { of, name, count: 1, size: 1, sum_count: 1, sum_size: 1, ..Node::default() }
}

/// A tree while objects are added.
struct Tree {
    of: (i64, i64),
    nodes: Vec<Node>,
    by_name: HashMap<(Option<usize>, Option<String>), usize>,
    budget: Budget,
}

impl Tree {
    fn new(of: (i64, i64), budget: Budget) -> Tree {
        Tree { of, nodes: Vec::new(), by_name: HashMap::new(), budget }
    }

    /// The nodes of all objects: roots by the name of their class, then by id, each with all below it.
    fn of_heap(mut self, heap: &Heap, watch: &mut Watch<'_>) -> Result<Vec<Node>> {
        let name = |object: &Object| heap.class(object).and_then(|class| class.name.as_deref());
        let mut roots: Vec<usize> = (0..heap.objects.len()).collect();
        roots.retain(|&place| {
            heap.objects.get(place).is_some_and(|object| object.root_type.is_some())
        });
        roots.sort_by_key(|&place| heap.objects.get(place).map(name));
        let mut is_taken = vec![false; heap.objects.len()];
        for root in roots {
            let mut stack = vec![(root, None)];
            while let Some((place, parent)) = stack.pop() {
                watch.step()?;
                let Some(object) = heap.objects.get(place) else { continue };
                let is_root = parent.is_none();
                if !is_root && std::mem::replace(&mut is_taken[place], true) {
                    continue;
                }
                let node = self.add(heap, object, parent)?;
                let below = object.distance.saturating_add(1);
                let children = heap.children(place).iter().rev().map(|&child| child as usize);
                let children = children.filter(|&child| {
                    heap.objects.get(child).is_some_and(|child| child.distance == below)
                });
                stack.extend(children.map(|child| (child, Some(node))));
            }
        }
        Ok(self.nodes)
    }

    /// Adds an object below a node.
    fn add(&mut self, heap: &Heap, object: &Object, parent: Option<usize>) -> Result<usize> {
        let name = heap.class(object).and_then(|class| class.shown());
        let root = object.root_type.and_then(|number| root_type(number.into()));
        let name = match root {
            Some(root) => Some(format!("{} [{root}]", name.unwrap_or_default())),
            None => name.map(str::to_owned),
        };
        let native = (object.native_size != 0)
            .then(|| format!("[native] {}", name.as_deref().unwrap_or_default()));
        let node = self.node(parent, name)?;
        self.count(node, object.self_size);
        if let Some(name) = native {
            let native = self.node(Some(node), Some(name))?;
            self.count(native, object.native_size);
        }
        Ok(node)
    }

    fn count(&mut self, node: usize, size: i64) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.count = node.count.saturating_add(1);
            node.size = node.size.saturating_add(size);
        }
    }

    /// The node with a name below another one.
    fn node(&mut self, parent: Option<usize>, name: Option<String>) -> Result<usize> {
        let key = (parent, name);
        if let Some(&node) = self.by_name.get(&key) {
            return Ok(node);
        }
        let bytes = key.1.as_ref().map_or(0, String::len);
        self.budget.take(2 * bytes + 2 * size_of::<Node>())?;
        let node = self.nodes.len();
        let above = parent.and_then(|parent| self.nodes.get(parent));
        self.nodes.push(Node {
            of: self.of,
            id: signed(node),
            depth: above.map_or(0, |above| above.depth.saturating_add(1)),
            name: key.1.clone(),
            parent,
            ..Node::default()
        });
        self.by_name.insert(key, node);
        Ok(node)
    }
}

/// The sums of nodes with all below them. A parent comes before its children.
fn summed(mut nodes: Vec<Node>) -> Vec<Node> {
    for place in (0..nodes.len()).rev() {
        let Some(node) = nodes.get_mut(place) else { continue };
        node.sum_count = node.sum_count.saturating_add(node.count);
        node.sum_size = node.sum_size.saturating_add(node.size);
        let (parent, count, size) = (node.parent, node.sum_count, node.sum_size);
        if let Some(parent) = parent.and_then(|parent| nodes.get_mut(parent)) {
            parent.sum_count = parent.sum_count.saturating_add(count);
            parent.sum_size = parent.sum_size.saturating_add(size);
        }
    }
    nodes
}

/// The nodes whose name contains a text, those above them, and those below them.
fn focused(nodes: Vec<Node>, focus: &str) -> Vec<Node> {
    let mut is_below = vec![false; nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        let has = node.name.as_ref().is_some_and(|name| name.to_lowercase().contains(focus));
        is_below[place] = has || node.parent.is_some_and(|parent| is_below[parent]);
    }
    let mut is_kept = is_below;
    for (place, node) in nodes.iter().enumerate().rev() {
        if let (true, Some(parent)) = (is_kept[place], node.parent) {
            is_kept[parent] = true;
        }
    }
    let mut places = vec![None; nodes.len()];
    let mut kept = Vec::new();
    for (place, mut node) in nodes.into_iter().enumerate() {
        if is_kept[place] {
            node.id = signed(kept.len());
            node.parent = node.parent.and_then(|parent| places[parent]);
            places[place] = Some(kept.len());
            kept.push(node);
        }
    }
    kept
}

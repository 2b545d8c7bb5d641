//! Trees with values.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_tree_from_table('id', id, 'parent_id', parent_id, [name, value] …)` | a tree; a row without a parent is a root |
//! | `__intrinsic_tree_to_table(tree)` | a table with `_tree_id`, `_tree_parent_id` (numbers of rows, parents first) and the columns of the tree |
//! | `__intrinsic_tree_dominator_summary(tree)` | for a tree with `self_size`, `native_size` (bytes) and `self_count`: a table with `id`, `idom_id`, the sums over each node and its descendants `dominated_obj_count`, `dominated_size_bytes`, `dominated_native_size_bytes`, and `depth`, 1 for a root |

use std::collections::HashMap;
use std::ffi::c_int;

use rusqlite::Connection;

use crate::{Error, Result};

use super::call::{Call, Gather, PURE, gather, scalar};
use super::limits::{Budget, Watch, connection};
use super::pointer::{Handed, Pointer, kind};
use super::table::{Cell, Column, Table};

const TO_TABLE: &str = "__intrinsic_tree_to_table";
const SUMMARY: &str = "__intrinsic_tree_dominator_summary";

const SUMMARY_COLUMNS: [&str; 6] = [
    "id",
    "idom_id",
    "dominated_obj_count",
    "dominated_size_bytes",
    "dominated_native_size_bytes",
    "depth",
];

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)?;
    scalar(conn, TO_TABLE, 1, PURE, to_table)?;
    scalar(conn, SUMMARY, 1, PURE, summary)
}

/// A tree, or several, in an order in which parents come before their children.
#[derive(Debug)]
struct Tree {
    names: Vec<String>,
    columns: Vec<Vec<Cell>>,
    /// The place of each node's parent.
    parents: Vec<Option<usize>>,
}

impl Handed for Tree {
    const KIND: &'static std::ffi::CStr = kind!("tree");
}

struct Gathered {
    names: Vec<String>,
    columns: Vec<Vec<Cell>>,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_tree_from_table";
    const COUNT: c_int = -1;
    type Output = Tree;

    fn start() -> Gathered {
        Gathered { names: Vec::new(), columns: Vec::new(), budget: Budget::new(Self::NAME) }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        let count = call.count();
        if count < 4 || !count.is_multiple_of(2) {
            return Err(call.error(
                "it takes 'id' and the id, 'parent_id' and that id, then a name and a value for \
                 each column",
            ));
        }
        if self.names.is_empty() {
            let names = (0..count).step_by(2).map(|index| call.text(index, "name"));
            self.names = names.map(|name| name.map(str::to_owned)).collect::<Result<_>>()?;
            self.columns = vec![Vec::new(); self.names.len()];
        }
        for (column, index) in self.columns.iter_mut().zip((1..count).step_by(2)) {
            let value = Cell::of(call.value(index), Self::NAME)?;
            // A node's place in the order, its parent and its id.
            self.budget.take(value.size() + 48)?;
            column.push(value);
        }
        Ok(())
    }

    fn end(self, call: Call<'_, '_>) -> Result<Tree> {
        let conn = connection(call.context())?;
        let mut watch = Watch::new(&conn);
        let parents = parents(&self.columns, &mut watch).map_err(|error| told(call, error))?;
        let order = order(&parents, &mut watch)?
            .ok_or_else(|| call.error("the parents of a node go in a circle; a tree has a root"))?;
        let mut places = vec![0; order.len()];
        for (place, &row) in order.iter().enumerate() {
            places[row] = place;
        }
        let sorted = |column: Vec<Cell>| -> Vec<Cell> {
            order.iter().filter_map(|&row| column.get(row).cloned()).collect()
        };
        let parents = order.iter().map(|&row| {
            let parent = parents.get(row).copied().flatten();
            parent.and_then(|parent| places.get(parent).copied())
        });
        Ok(Tree {
            parents: parents.collect(),
            columns: self.columns.into_iter().map(sorted).collect(),
            names: self.names,
        })
    }
}

/// Adds the function to an error.
fn told(call: Call<'_, '_>, error: Error) -> Error {
    match error.is_interrupt() {
        true => error,
        false => call.error(error),
    }
}

/// The row of each row's parent.
fn parents(columns: &[Vec<Cell>], watch: &mut Watch<'_>) -> Result<Vec<Option<usize>>> {
    let [ids, parent_ids, ..] = columns else {
        return Ok(Vec::new());
    };
    let mut rows: HashMap<i64, usize> = HashMap::with_capacity(ids.len());
    for (row, id) in ids.iter().enumerate() {
        watch.step()?;
        let Cell::Integer(id) = *id else {
            return Err(Error::new("an id must be an integer"));
        };
        if rows.insert(id, row).is_some() {
            return Err(Error::new(format_args!("two rows have the id {id}")));
        }
    }
    let parent = |parent: &Cell| match parent {
        Cell::Null => Ok(None),
        Cell::Integer(id) => match rows.get(id) {
            Some(&row) => Ok(Some(row)),
            None => Err(Error::new(format_args!("no row has the id {id}, which is a parent"))),
        },
        _ => Err(Error::new("a parent_id must be an integer")),
    };
    parent_ids.iter().map(parent).collect()
}

/// The rows in an order with parents first; the given one if it is one. `None` for a circle.
fn order(parents: &[Option<usize>], watch: &mut Watch<'_>) -> Result<Option<Vec<usize>>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnTheWay,
        Done,
    }
    let mut states = vec![State::New; parents.len()];
    let mut order = Vec::with_capacity(parents.len());
    let mut way = Vec::new();
    for row in 0..parents.len() {
        let mut next = Some(row);
        // To the root, or to what has its place, and back.
        while let Some(at) = next {
            watch.step()?;
            match states[at] {
                State::Done => break,
                State::OnTheWay => return Ok(None),
                State::New => {}
            }
            states[at] = State::OnTheWay;
            way.push(at);
            next = parents[at];
        }
        while let Some(at) = way.pop() {
            states[at] = State::Done;
            order.push(at);
        }
    }
    Ok(Some(order))
}

fn to_table(call: Call<'_, '_>) -> Result<Pointer<Table>> {
    let Some(tree) = call.pointer::<Tree>(0, "tree")? else {
        return Err(call.arguments().must_be(0, "tree", "a tree"));
    };
    let count = tree.parents.len();
    let cells = tree.columns.len().saturating_add(2).saturating_mul(count);
    Budget::new(TO_TABLE).take(cells.saturating_mul(size_of::<Cell>()))?;
    let places = 0..i64::try_from(count).unwrap_or(i64::MAX);
    let parents = tree.parents.iter().map(|parent| match parent {
        Some(place) => Cell::Integer(i64::try_from(*place).unwrap_or(i64::MAX)),
        None => Cell::Null,
    });
    let mut columns = vec![
        ("_tree_id".to_owned(), Column::Integers(places.collect())),
        ("_tree_parent_id".to_owned(), Column::Cells(parents.collect())),
    ];
    let values = tree.columns.iter().map(|column| Column::Cells(column.clone()));
    columns.extend(tree.names.iter().cloned().zip(values));
    Ok(Pointer::to(Table::new(count, columns)))
}

fn summary(call: Call<'_, '_>) -> Result<Pointer<Table>> {
    let Some(tree) = call.pointer::<Tree>(0, "tree")? else {
        return Ok(Pointer::to(Table::empty(&SUMMARY_COLUMNS)));
    };
    let [ids, _, sizes, native_sizes, counts] = tree.columns.as_slice() else {
        return Err(call.error(
            "the tree needs the columns id, parent_id, self_size, native_size and self_count",
        ));
    };
    let count = tree.parents.len();
    Budget::new(SUMMARY).take(count.saturating_mul(8 * size_of::<Cell>()))?;
    let sum = |values: &[Cell]| -> Result<Vec<i64>> {
        let mut sums = Vec::with_capacity(values.len());
        for value in values {
            sums.push(match value {
                Cell::Null => 0,
                Cell::Integer(value) => *value,
                _ => return Err(call.error("sizes and counts must be integers")),
            });
        }
        // Children come after their parents, so that their own sums are complete.
        for (node, parent) in tree.parents.iter().enumerate().rev() {
            if let Some(parent) = *parent {
                sums[parent] = sums[parent].saturating_add(sums[node]);
            }
        }
        Ok(sums)
    };
    let mut depths = vec![1_i64; count];
    for (node, parent) in tree.parents.iter().enumerate() {
        if let Some(parent) = *parent {
            depths[node] = depths[parent].saturating_add(1);
        }
    }
    let above = tree.parents.iter().map(|parent| match parent {
        Some(parent) => ids.get(*parent).cloned().unwrap_or(Cell::Null),
        None => Cell::Null,
    });
    let columns = [
        Column::Cells(ids.clone()),
        Column::Cells(above.collect()),
        Column::Integers(sum(counts)?),
        Column::Integers(sum(sizes)?),
        Column::Integers(sum(native_sizes)?),
        Column::Integers(depths),
    ];
    let columns = SUMMARY_COLUMNS.into_iter().zip(columns);
    Ok(Pointer::to(Table::new(count, columns)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

//! SQL functions that go from a slice to the slices around it, and along its flows, as in
//! Perfetto's trace processor.
//!
//! | function | rows |
//! |---|---|
//! | `ancestor_slice(start_id)` | the slices around a slice, the outermost first |
//! | `descendant_slice(start_id)` | the slices inside it, in the order of time |
//! | `following_flow(start_id)` | the flows from it or from its inner slices, and so on from their targets |
//! | `preceding_flow(start_id)` | the flows to it or to the slices around it, and so on from their origins |
//! | `directly_connected_flow(start_id)` | the same in both directions, but only from the slices themselves |
//!
//! The first two have the columns of `slice`, the others those of `flow`.
//! `slice_is_ancestor(ancestor_id, descendant_id)` is a scalar function.
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! conn.execute_batch(
//!     "CREATE TABLE slice (
//!        id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, track_id INTEGER, name TEXT,
//!        depth INTEGER, parent_id INTEGER);
//!      INSERT INTO slice VALUES
//!        (0, 10, 90, 1, 'frame', 0, NULL),
//!        (1, 20, 30, 1, 'layout', 1, 0),
//!        (2, 25, 10, 1, 'box', 2, 1),
//!        (3, 60, 20, 1, 'draw', 1, 0);",
//! )?;
//! timebase_sql::slices::register(&conn)?;
//!
//! let names = |sql| conn.query_row(sql, [], |row| row.get::<_, String>(0));
//! let above = names("SELECT group_concat(name) FROM ancestor_slice(2)")?;
//! assert_eq!(above, "frame,layout");
//! let below = names("SELECT group_concat(name) FROM descendant_slice(0)")?;
//! assert_eq!(below, "layout,box,draw");
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! | question | decided in |
//! |---|---|
//! | which slices or flows a function finds | `walk.rs` |
//! | how they become rows | `table.rs` |
//!
//! # Design
//!
//! A function finds ids; its rows come from the view `slice` or `flow`. So it has exactly the
//! columns of that view, and a query that counts slices does not look up their names or make JSON
//! from their arguments.
//!
//! One pass over a slice's track, from its begin to its end, finds the slices inside it: parents
//! come before their children, so it is enough to know which ids were found. The alternative was a
//! recursive query; plain SQL has views for that. It reads that part of the track again for each
//! slice in it, and for a slice with a million others inside, it takes as many times longer as they
//! are deep.
//!
//! Another alternative was to use time alone, as trace processor once did: every deeper slice on
//! the track in that time. But if one slice begins as its neighbour ends, that finds the children
//! of the neighbour.

mod table;
mod walk;

use std::collections::HashSet;

use crate::{Answer, Arguments, Call, Error, Function, Functions, Lookup, Result, ValueRef};
use rusqlite::Connection;

use table::Relation;

/// Has a row if the slice exists, whatever its parent is.
/// The module that makes one of these functions with some of its columns.
pub(crate) const NARROW: &str = "__timebase_slices";

const IS_SLICE: &str = "SELECT 1 FROM main.slice WHERE id = ?1";
const PARENT: &str = "SELECT parent_id FROM main.slice WHERE id = ?1";

/// Registers all functions on a connection.
///
/// They read the tables or views `slice` and `flow` of the main database, which may be created
/// later. `slice` needs the columns `id`, `ts`, `dur`, `track_id` and `parent_id`, `flow` needs
/// `id`, `slice_out` and `slice_in`.
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    add(&mut &*conn)?;
    for relation in Relation::ALL {
        table::register(conn, relation)?;
    }
    table::register_narrow(conn, NARROW)
}

/// Adds `slice_is_ancestor`, the only scalar function, to a connection or a list of functions.
///
/// ```
/// use timebase_sql::plain::List;
///
/// let mut list = List::default();
/// timebase_sql::slices::add(&mut list)?;
/// assert_eq!(list.get(0).unwrap().name(), "slice_is_ancestor");
/// # Ok::<(), timebase_sql::Error>(())
/// ```
///
/// # Errors
///
/// If SQLite refuses the function.
pub fn add(to: &mut impl Functions) -> Result<()> {
    let function = IsAncestor { is_slice: Lookup::new(IS_SLICE), parent: Lookup::new(PARENT) };
    to.add(IsAncestor::NAME, 2, function)
}

/// `slice_is_ancestor`. It goes from parent to parent, and stops when it finds the ancestor; a
/// recursive query would write down all parents first.
struct IsAncestor {
    is_slice: Lookup,
    parent: Lookup,
}

impl IsAncestor {
    const NAME: &str = "slice_is_ancestor";

    fn is_slice<C: Call>(&self, call: &C, id: i64) -> Result<bool> {
        let found = self.is_slice.value(Self::NAME, call, &[ValueRef::Integer(id)])?;
        Ok(found != Answer::Null)
    }

    fn is_ancestor<C: Call>(&self, call: &C, ancestor: i64, descendant: i64) -> Result<bool> {
        let (mut id, mut known) = (descendant, HashSet::new());
        while known.insert(id) {
            match self.parent.value(Self::NAME, call, &[ValueRef::Integer(id)])? {
                Answer::Integer(parent) if parent == ancestor => return Ok(true),
                Answer::Integer(parent) => {
                    walk::check(known.len())?;
                    id = parent;
                }
                _ => break,
            }
        }
        Ok(false)
    }

    fn answer<C: Call>(&self, call: &C, ancestor: i64, descendant: i64) -> Result<Answer> {
        if !self.is_slice(call, ancestor)? || !self.is_slice(call, descendant)? {
            return Ok(Answer::Null);
        }
        let is_ancestor = self.is_ancestor(call, ancestor, descendant)?;
        Ok(Answer::Integer(is_ancestor.into()))
    }
}

impl Function for IsAncestor {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new(Self::NAME, call);
        let ancestor = arguments.integer(0, "ancestor_id")?;
        let descendant = arguments.integer(1, "descendant_id")?;
        let (Some(ancestor), Some(descendant)) = (ancestor, descendant) else {
            return Ok(Answer::Null);
        };
        let answer = self.answer(call, ancestor, descendant);
        answer.map_err(|error| explain(Self::NAME, "slice", &error))
    }
}

/// The error of a function that cannot read its table.
#[cold]
fn explain(function: &str, table: &str, error: &Error) -> Error {
    let message = error.message();
    if message.starts_with(function) || error.is_interrupt() {
        return error.clone();
    }
    if message.starts_with("no such table") {
        return Error::new(format_args!(
            "{function}(): this database has no table {table} ({message}); make one with `timebase import`"
        ));
    }
    Error::new(format_args!("{function}(): {table} cannot be used: {message}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

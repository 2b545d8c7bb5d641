//! SQL functions that go from a slice to those around it, and along its flows, as in
//! Perfetto's trace processor.
//!
//! | function | rows |
//! |---|---|
//! | `ancestor_slice(start_id)` | the slices that a slice lies in, the outermost first |
//! | `descendant_slice(start_id)` | the slices that lie in it, in the order of time |
//! | `following_flow(start_id)` | the flows from it or from what lies in it, and so on from where they lead |
//! | `preceding_flow(start_id)` | the flows to it or to what it lies in, and so on from where they come |
//! | `directly_connected_flow(start_id)` | the same both ways, but from the slices themselves only |
//!
//! The first two have the columns of `slice`, the others those of `flow`.
//! `slice_is_ancestor(ancestor_id, descendant_id)` is a function of one value.
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
//! | question | where it is decided |
//! |---|---|
//! | which slices or flows a function finds | `walk.rs` |
//! | how they become rows | `table.rs` |
//!
//! # Design
//!
//! A function finds ids; its rows are what the view `slice` or `flow` says of them. So it
//! has the columns that the view has, whatever they are, and a query that counts slices
//! does not look up what they are called or make JSON of their arguments.
//!
//! The slices in a slice are found in one pass over its track, from its begin to its end:
//! parents come before their children there, so it is enough to know which ids were
//! found. A recursive query was the alternative, for which plain SQL has views. It goes
//! through that stretch again for each slice in it, and of a slice with a million others
//! in it takes as many times longer as they are deep.
//!
//! Time alone, as trace processor once had it, was another: whatever is deeper on the
//! track meanwhile. That takes the children of a neighbour for its own, where one
//! begins as the other ends.

mod table;
mod walk;

use std::collections::HashSet;

use crate::{Answer, Arguments, Call, Error, Function, Functions, Lookup, Result, ValueRef};
use rusqlite::Connection;

use table::Relation;

/// A slice is one: whatever its parent is.
const IS_SLICE: &str = "SELECT 1 FROM main.slice WHERE id = ?1";
const PARENT: &str = "SELECT parent_id FROM main.slice WHERE id = ?1";

/// Registers all functions on a connection.
///
/// They answer from the tables or views `slice` and `flow` of its main database, which
/// need not be there yet. Of `slice` they need the columns `id`, `ts`, `dur`, `track_id`
/// and `parent_id`, of `flow` `id`, `slice_out` and `slice_in`.
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    add(&mut &*conn)?;
    for relation in Relation::ALL {
        table::register(conn, relation)?;
    }
    Ok(())
}

/// Adds `slice_is_ancestor`, which is the one that is not a table, to a connection or a
/// list of functions.
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
    let function = IsAncestor {
        is_slice: Lookup::new(IS_SLICE),
        parent: Lookup::new(PARENT),
    };
    to.add(IsAncestor::NAME, 2, function)
}

/// `slice_is_ancestor`. It goes from parent to parent, and ends where it finds what it
/// looks for; a recursive query would write down all parents first.
struct IsAncestor {
    is_slice: Lookup,
    parent: Lookup,
}

impl IsAncestor {
    const NAME: &str = "slice_is_ancestor";

    fn is_slice<C: Call>(&self, call: &C, id: i64) -> Result<bool> {
        let found = self
            .is_slice
            .value(Self::NAME, call, &[ValueRef::Integer(id)])?;
        Ok(found != Answer::Null)
    }

    fn is_ancestor<C: Call>(&self, call: &C, ancestor: i64, descendant: i64) -> Result<bool> {
        let (mut id, mut known) = (descendant, HashSet::new());
        while known.insert(id) {
            match self
                .parent
                .value(Self::NAME, call, &[ValueRef::Integer(id)])?
            {
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

/// What a function says that cannot read its table.
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
    Error::new(format_args!(
        "{function}(): {table} cannot be used: {message}"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

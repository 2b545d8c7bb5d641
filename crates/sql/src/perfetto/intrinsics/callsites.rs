//! The frames that called a frame.
//!
//! | function | rows |
//! |---|---|
//! | `experimental_ancestor_stack_profile_callsite(start_id)` | `id`, `depth`, `parent_id`, `frame_id`: the rows of `stack_profile_callsite` above one of them, the outermost first |

use std::cell::RefCell;
use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use crate::table_function::{self, TableFunction};
use crate::{Arguments, Error, Queries, Result, ValueRef};

const ROW: &str = "SELECT depth, parent_id, frame_id FROM stack_profile_callsite WHERE id = ?1";

/// The deepest stack. Unwinders stop at some hundred frames.
const DEEPEST: usize = 1 << 20;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    table_function::register::<Callsites>(conn)
}

struct Callsites(RefCell<Queries>);

#[derive(Debug, Clone, Copy)]
struct Callsite {
    id: i64,
    depth: Option<i64>,
    parent: Option<i64>,
    frame: Option<i64>,
}

impl TableFunction for Callsites {
    const NAME: &'static str = "experimental_ancestor_stack_profile_callsite";
    const COLUMNS: &'static [&'static str] = &["id", "depth", "parent_id", "frame_id"];
    const ARGUMENTS: &'static [&'static str] = &["start_id"];
    const ESTIMATE: Option<(f64, i64)> = Some((100.0, 25));
    type Row = Callsite;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Callsites {
        // SAFETY: by the contract of this function.
        Callsites(RefCell::new(unsafe { Queries::new(conn) }))
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Callsite>> {
        let start: Value = args.get(0)?;
        let values = [ValueRef::from(&start)];
        let arguments = Arguments::new(Self::NAME, &values[..]);
        let Some(start) = arguments.integer(0, "start_id")? else {
            return Ok(Vec::new());
        };
        let Some(start) = self.read(start)? else {
            return Err(arguments.must_be(0, "start_id", "the id of a callsite"));
        };
        let mut rows = Vec::new();
        let mut next = start.parent;
        while let Some(id) = next {
            let Some(callsite) = self.read(id)? else {
                break;
            };
            if rows.len() == DEEPEST {
                return Err(Error::new(format_args!(
                    "{}(): the callers of {} go in a circle",
                    Self::NAME,
                    start.id
                )));
            }
            rows.push(callsite);
            next = callsite.parent;
        }
        rows.reverse();
        Ok(rows)
    }

    fn column(row: &Callsite, column: usize) -> Option<i64> {
        match column {
            0 => Some(row.id),
            1 => row.depth,
            2 => row.parent,
            3 => row.frame,
            _ => None,
        }
    }
}

impl Callsites {
    fn read(&self, id: i64) -> Result<Option<Callsite>> {
        // A view of callsites that calls this function would read itself.
        let Ok(mut queries) = self.0.try_borrow_mut() else {
            return Err(Error::new(format_args!(
                "{}() reads stack_profile_callsite, so this view must not call it",
                Self::NAME
            )));
        };
        let mut found = None;
        queries.each(ROW, &[ValueRef::Integer(id)], |row| {
            found = Some(Callsite {
                id,
                depth: row.optional_integer(0, "depth")?,
                parent: row.optional_integer(1, "parent_id")?,
                frame: row.optional_integer(2, "frame_id")?,
            });
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

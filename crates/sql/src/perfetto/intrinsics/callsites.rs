//! The frames that called a frame.
//!
//! | function | rows |
//! |---|---|
//! | `experimental_ancestor_stack_profile_callsite(start_id)` | `id`, `depth`, `parent_id`, `frame_id`: the rows of `stack_profile_callsite` above one of them, the outermost first |

use std::cell::RefCell;
use std::ops::ControlFlow;

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
        let start = table_function::argument::<Self>(args, 0)?;
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
mod tests {
    use super::super::testing::{connection, error, rows};

    #[test]
    fn pq9_the_callers_of_a_frame_are_the_outermost_first() {
        let conn = connection();
        assert!(
            error(&conn, "SELECT * FROM experimental_ancestor_stack_profile_callsite(1)")
                .contains("no such table: stack_profile_callsite")
        );
        conn.execute_batch(
            "CREATE TABLE stack_profile_callsite (id, depth, parent_id, frame_id);
             INSERT INTO stack_profile_callsite VALUES (0, 0, NULL, 70), (1, 1, 0, 71), (2, 2, 1, 72),
                (3, 1, 0, 73);",
        )
        .unwrap();
        let of = |id: &str| {
            rows(
                &conn,
                &format!("SELECT * FROM experimental_ancestor_stack_profile_callsite({id})"),
            )
        };
        assert_eq!(of("2"), ["0 0 NULL 70", "1 1 0 71"]);
        assert_eq!(of("0"), [""; 0]);
        assert_eq!(of("NULL"), [""; 0]);
        let joined = "SELECT c.id, frame_id FROM (SELECT 2 AS id UNION ALL SELECT 3) AS c,
            experimental_ancestor_stack_profile_callsite(c.id)";
        assert_eq!(rows(&conn, joined), ["2 70", "2 71", "3 70"]);
        assert_eq!(
            error(
                &conn,
                "SELECT * FROM experimental_ancestor_stack_profile_callsite(CAST(x'ff' AS TEXT))"
            ),
            "experimental_ancestor_stack_profile_callsite(): argument 1 (start_id) must be UTF-8"
        );
        assert_eq!(
            error(&conn, "SELECT * FROM experimental_ancestor_stack_profile_callsite(9)"),
            "experimental_ancestor_stack_profile_callsite(): argument 1 (start_id) must be the id of a \
             callsite, not 9"
        );
        assert!(
            error(&conn, "SELECT * FROM experimental_ancestor_stack_profile_callsite")
                .contains("needs (start_id)")
        );
    }

    #[test]
    fn pq13_callers_in_a_circle_are_an_error() {
        let conn = connection();
        conn.execute_batch(
            "CREATE TABLE stack_profile_callsite (id INTEGER PRIMARY KEY, depth, parent_id, frame_id);
             INSERT INTO stack_profile_callsite VALUES (0, 0, 1, 70), (1, 1, 0, 71);",
        )
        .unwrap();
        assert_eq!(
            error(&conn, "SELECT * FROM experimental_ancestor_stack_profile_callsite(1)"),
            "experimental_ancestor_stack_profile_callsite(): the callers of 1 go in a circle"
        );
    }
}

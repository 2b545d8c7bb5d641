//! The frames that called a frame.
//!
//! | function | rows |
//! |---|---|
//! | `experimental_ancestor_stack_profile_callsite(start_id)` | `id`, `depth`, `parent_id`, `frame_id`: the rows of `stack_profile_callsite` above one of them, the outermost first |

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::rc::Rc;

use rusqlite::types::Value;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection,
    VTabCursor,
};
use rusqlite::{Connection, ffi};

use crate::{Arguments, Error, Queries, Result, ValueRef, caught};

const NAME: &str = "experimental_ancestor_stack_profile_callsite";

const DECLARATION: &CStr = c"CREATE TABLE x (id INTEGER, depth INTEGER, parent_id INTEGER,
    frame_id INTEGER, start_id HIDDEN)";

/// The hidden column with the argument.
const START: c_int = 4;

const ROW: &str = "SELECT depth, parent_id, frame_id FROM stack_profile_callsite WHERE id = ?1";

/// The deepest stack. Unwinders stop at some hundred frames.
const DEEPEST: usize = 1 << 20;

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    const MODULE: Module<'_, Callsites> = Module::eponymous_only_module();
    conn.create_module(NAME, &MODULE, None)
}

#[repr(C)]
struct Callsites {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    queries: Rc<RefCell<Queries>>,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab> VTab<'vtab> for Callsites {
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
        // SAFETY: a virtual table never outlives its connection, and only calls of that connection
        // run its queries.
        let queries = unsafe { Queries::new(db.handle()) };
        let table = Callsites {
            base: ffi::sqlite3_vtab::default(),
            queries: Rc::new(RefCell::new(queries)),
        };
        Ok((Cow::Borrowed(DECLARATION), table))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        let mut is_given = false;
        for (constraint, mut usage) in info.constraints_and_usages() {
            let is_equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            if constraint.column() == START && is_equal {
                if !constraint.is_usable() {
                    return Ok(false);
                }
                usage.set_argv_index(1);
                usage.set_omit(true);
                is_given = true;
            }
        }
        if !is_given {
            return Err(Error::new(format_args!("{NAME}() needs the argument (start_id)")).into());
        }
        info.set_estimated_cost(100.0);
        info.set_estimated_rows(25);
        Ok(true)
    }

    fn open(&'vtab mut self) -> rusqlite::Result<Cursor<'vtab>> {
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            queries: Rc::clone(&self.queries),
            rows: Vec::new(),
            at: 0,
            phantom: PhantomData,
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct Callsite {
    id: i64,
    depth: Option<i64>,
    parent: Option<i64>,
    frame: Option<i64>,
}

#[repr(C)]
struct Cursor<'vtab> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    queries: Rc<RefCell<Queries>>,
    rows: Vec<Callsite>,
    at: usize,
    phantom: PhantomData<&'vtab Callsites>,
}

impl Cursor<'_> {
    fn find(&mut self, args: &Filters<'_>) -> Result<()> {
        (self.rows, self.at) = (Vec::new(), 0);
        let start: Value = args.get(0)?;
        let values = [ValueRef::from(&start)];
        let arguments = Arguments::new(NAME, &values[..]);
        let Some(start) = arguments.integer(0, "start_id")? else {
            return Ok(());
        };
        let Some(start) = self.read(start)? else {
            return Err(arguments.must_be(0, "start_id", "the id of a callsite"));
        };
        let mut next = start.parent;
        while let Some(id) = next {
            let Some(callsite) = self.read(id)? else {
                break;
            };
            if self.rows.len() == DEEPEST {
                return Err(Error::new(format_args!(
                    "{NAME}(): the callers of {} go in a circle",
                    start.id
                )));
            }
            self.rows.push(callsite);
            next = callsite.parent;
        }
        self.rows.reverse();
        Ok(())
    }

    fn read(&self, id: i64) -> Result<Option<Callsite>> {
        // A view of callsites that calls this function would read itself.
        let Ok(mut queries) = self.queries.try_borrow_mut() else {
            return Err(Error::new(format_args!(
                "{NAME}(): stack_profile_callsite cannot be made of what it answers"
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
        let value = self.rows.get(self.at).and_then(|callsite| match column {
            0 => Some(callsite.id),
            1 => callsite.depth,
            2 => callsite.parent,
            3 => callsite.frame,
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

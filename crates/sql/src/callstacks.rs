//! SQL functions that show the callstacks of samples and allocations.
//!
//! | function | result |
//! |---|---|
//! | `callstack(callsite_id)` | the stack as text: the functions from the outermost to the innermost, with `;` between them |
//! | `callstack_frame(callsite_id)` | its frames, the outermost first: `depth`, `name`, `mapping`, `source`, `line` |
//!
//! The text is the folded form that tools for flame graphs read. A function without a name is the name of
//! its mapping and the offset in it: `libc.so+0x1f40`. A name that a mapping of R8 gives is before the obfuscated one. A `;` in a name is `:` in the text. A frame into
//! which the compiler inlined functions has a row for each function, all of one depth.
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! conn.execute_batch(
//!     "CREATE TABLE stack_profile_mapping (id INTEGER PRIMARY KEY, name);
//!      CREATE TABLE stack_profile_frame (id INTEGER PRIMARY KEY, name, mapping, rel_pc, symbol_set_id, deobfuscated_name);
//!      CREATE TABLE stack_profile_symbol (id INTEGER PRIMARY KEY, symbol_set_id, name, source_file, line_number);
//!      CREATE TABLE stack_profile_callsite (id INTEGER PRIMARY KEY, depth, parent_id, frame_id);
//!      INSERT INTO stack_profile_mapping VALUES (0, '/bin/app');
//!      INSERT INTO stack_profile_frame VALUES (0, 'main', 0, 16, NULL, NULL), (1, NULL, 0, 255, NULL, NULL);
//!      INSERT INTO stack_profile_callsite VALUES (0, 0, NULL, 0), (1, 1, 0, 1);",
//! )?;
//! timebase_sql::callstacks::register(&conn)?;
//!
//! let stack = conn.query_row("SELECT callstack(1)", [], |row| row.get::<_, String>(0))?;
//! assert_eq!(stack, "main;/bin/app+0xff");
//! let frames = "SELECT group_concat(depth || ' ' || name, ', ') FROM callstack_frame(1)";
//! let frames = conn.query_row(frames, [], |row| row.get::<_, String>(0))?;
//! assert_eq!(frames, "0 main, 1 /bin/app+0xff");
//! # Ok::<(), rusqlite::Error>(())
//! ```

use std::cell::RefCell;
use std::ops::ControlFlow;

use rusqlite::vtab::Filters;
use rusqlite::{Connection, ffi};

use crate::table_function::{self, TableFunction};
use crate::{
    Answer, Arguments, Call, Error, Function, Functions, Lookup, Queries, Result, ValueRef, Values,
};

/// The frames of a callsite, the innermost function last. A circle of parents ends because UNION
/// adds no row twice.
macro_rules! frames {
    () => {
        "WITH RECURSIVE up (id, parent_id, frame_id, depth) AS (
           SELECT id, parent_id, frame_id, depth FROM stack_profile_callsite WHERE id = ?1
           UNION
           SELECT c.id, c.parent_id, c.frame_id, c.depth
           FROM up JOIN stack_profile_callsite AS c ON c.id = up.parent_id
         ),
         frame (depth, name, mapping, source, line) AS (
           SELECT up.depth,
                  coalesce(nullif(iif(s.name IS f.name, coalesce(f.deobfuscated_name, s.name), s.name), ''),
                           nullif(f.deobfuscated_name, ''), nullif(f.name, ''),
                           coalesce(nullif(m.name, ''), '[unknown]') || '+0x' || printf('%llx', f.rel_pc)),
                  m.name, s.source_file, s.line_number
           FROM up
           JOIN stack_profile_frame AS f ON f.id = up.frame_id
           LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping
           LEFT JOIN stack_profile_symbol AS s ON s.symbol_set_id = f.symbol_set_id
           ORDER BY up.depth, s.id DESC
         )"
    };
}

const FOLDED: &str =
    concat!(frames!(), " SELECT group_concat(replace(name, ';', ':'), ';') FROM frame");
const FRAMES: &str = concat!(frames!(), " SELECT depth, name, mapping, source, line FROM frame");

const NAME: &str = "callstack";

/// Registers both functions on a connection.
///
/// They read the tables `stack_profile_callsite`, `stack_profile_frame`, `stack_profile_mapping` and
/// `stack_profile_symbol`, which may be created later.
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    add(&mut &*conn)?;
    table_function::register::<Frames>(conn)
}

/// Adds `callstack`, the scalar function, to a connection or a list of functions.
///
/// # Errors
///
/// If SQLite refuses the function.
pub fn add(to: &mut impl Functions) -> Result<()> {
    to.add(NAME, 1, Folded(Lookup::new(FOLDED)))
}

struct Folded(Lookup);

impl Function for Folded {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        match Arguments::new(NAME, call).integer(0, "callsite_id")? {
            None => Ok(Answer::Null),
            Some(id) => self.0.value(NAME, call, &[ValueRef::Integer(id)]),
        }
    }
}

struct Frames(RefCell<Queries>);

struct Frame {
    depth: Option<i64>,
    line: Option<i64>,
    /// The name, the mapping, and the source.
    texts: [Option<String>; 3],
}

impl TableFunction for Frames {
    const NAME: &'static str = "callstack_frame";
    const COLUMNS: &'static [&'static str] = &["depth", "name", "mapping", "source", "line"];
    const TEXTS: &'static [&'static str] = &["name", "mapping", "source"];
    const ARGUMENTS: &'static [&'static str] = &["callsite_id"];
    const ESTIMATE: Option<(f64, i64)> = Some((100.0, 25));
    type Row = Frame;

    unsafe fn new(conn: *mut ffi::sqlite3) -> Frames {
        // SAFETY: by the contract of this function.
        Frames(RefCell::new(unsafe { Queries::new(conn) }))
    }

    fn rows(&self, args: &Filters<'_>) -> Result<Vec<Frame>> {
        let start = table_function::argument::<Self>(args, 0)?;
        let values = [ValueRef::from(&start)];
        let arguments = Arguments::new(Self::NAME, &values[..]);
        let Some(start) = arguments.integer(0, "callsite_id")? else {
            return Ok(Vec::new());
        };
        let Ok(mut queries) = self.0.try_borrow_mut() else {
            return Err(Error::new(format_args!(
                "{}() reads the tables of callstacks, so a view of these must not call it",
                Self::NAME
            )));
        };
        let mut frames = Vec::new();
        queries.each(FRAMES, &[ValueRef::Integer(start)], |row| {
            let text = |column| match row.value(column) {
                Some(ValueRef::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
                _ => None,
            };
            frames.push(Frame {
                depth: row.optional_integer(0, "depth")?,
                line: row.optional_integer(4, "line_number")?,
                texts: [1, 2, 3].map(text),
            });
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(frames)
    }

    fn column(row: &Frame, column: usize) -> Option<i64> {
        match column {
            0 => row.depth,
            4 => row.line,
            _ => None,
        }
    }

    fn text(row: &Frame, column: usize) -> Option<&str> {
        row.texts.get(column.checked_sub(1)?)?.as_deref()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

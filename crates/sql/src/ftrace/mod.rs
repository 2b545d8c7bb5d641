//! Kernel events as lines of text (SF9).
//!
//! | function | result |
//! |---|---|
//! | `to_ftrace(id)` | the event of `ftrace_event` as a line of the kernel's text format, as trace processor writes it; NULL if there is no such event, or if its time or its kind is not known |
//!
//! | file | decides |
//! |---|---|
//! | `line.rs` | what stands before the arguments |
//! | `arguments.rs` | which arguments the line has, in which form |
//! | `flags.rs` | numbers whose meaning depends on the kernel |
//! | `json.rs` | how the arguments are read |
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! conn.execute_batch(
//!     "CREATE TABLE ftrace_event (id INTEGER PRIMARY KEY, ts, cpu, tid, utid, name, args);
//!      CREATE TABLE thread (utid, name, upid);
//!      CREATE TABLE process (upid, pid);
//!      CREATE TABLE metadata (name, value);
//!      INSERT INTO thread VALUES (7, 'render', 1);
//!      INSERT INTO process VALUES (1, 412);
//!      INSERT INTO ftrace_event VALUES
//!        (3, 5000206130000, 1, 415, 7, 'cpu_frequency', '{\"state\":1800000,\"cpu_id\":1}')",
//! )?;
//! timebase_sql::ftrace::register(&conn)?;
//! let line = conn.query_row("SELECT to_ftrace(3)", [], |row| row.get::<_, String>(0))?;
//! let expected =
//!     "          render-415   (  412) [001] .... 5000.206130: cpu_frequency: state=1800000 cpu_id=1";
//! assert_eq!(line, expected);
//! # Ok::<(), rusqlite::Error>(())
//! ```

mod arguments;
mod flags;
mod json;
mod line;

use rusqlite::Connection;

use crate::{Answer, Arguments, Call, Function, Functions, Lookup, Result, ValueRef};

const NAME: &str = "to_ftrace";

/// An array, because a [`Lookup`] has one value.
const EVENT: &str = "SELECT json_array(e.ts, e.cpu, e.tid, t.name, p.pid, e.name, e.args,
         (SELECT value FROM main.metadata WHERE name = 'system_release'))
     FROM main.ftrace_event AS e
     LEFT JOIN main.thread AS t ON t.utid = e.utid
     LEFT JOIN main.process AS p ON p.upid = t.upid
     WHERE e.id = ?1";

/// Registers the function on a connection.
///
/// # Errors
///
/// If SQLite refuses it.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    add(&mut &*conn)?;
    Ok(())
}

/// Adds the function to a connection or a list.
///
/// # Errors
///
/// If SQLite refuses it.
pub fn add(to: &mut impl Functions) -> Result<()> {
    to.add(NAME, 1, ToFtrace(Lookup::new(EVENT)))
}

struct ToFtrace(Lookup);

impl Function for ToFtrace {
    fn call<C: Call>(&self, call: &C) -> Result<Answer> {
        let arguments = Arguments::new(NAME, call);
        let Some(id) = arguments.integer(0, "id")? else {
            return Err(arguments.must_be(0, "id", "an integer"));
        };
        match self.0.value(NAME, call, &[ValueRef::Integer(id)])? {
            Answer::Text(event) => Ok(line::of(&event).into()),
            _ => Ok(Answer::Null),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

//! The SQL functions, backed by the clock graph of a connection's database.
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! conn.execute_batch(
//!     "CREATE TABLE clock_snapshot (
//!        id INTEGER PRIMARY KEY, ts INTEGER, clock_id INTEGER, clock_value INTEGER,
//!        snapshot_id INTEGER, machine_id INTEGER DEFAULT 0, seq_id INTEGER DEFAULT 0,
//!        unit_multiplier_ns INTEGER DEFAULT 1, is_incremental INTEGER DEFAULT 0,
//!        source INTEGER DEFAULT 0);
//!      INSERT INTO clock_snapshot (snapshot_id, clock_id, clock_value)
//!      VALUES (0, 3, 1100), (0, 6, 2100), (1, 3, 1200), (1, 6, 2200);",
//! )?;
//! timebase_resolver::sql::register(&conn)?;
//!
//! let boottime: i64 = conn.query_row("SELECT to_boottime(3, 0, 1104)", [], |row| row.get(0))?;
//! assert_eq!(boottime, 2104);
//! let why: String =
//!     conn.query_row("SELECT why_unresolved('REALTIME', 0, 5)", [], |row| row.get(0))?;
//! assert_eq!(why, "unknown_clock");
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! # Design
//!
//! The graph is read from `clock_snapshot` when a statement first calls one of
//! the functions, and kept with the connection. Each statement looks once at
//! `clock_snapshot_version` in `metadata`, which triggers renew with every
//! change. So rows that are added, rolled back or come from another connection
//! are seen by the next statement, and a statement sees one graph from beginning
//! to end, whatever is written while it runs. Looking in every call was the
//! alternative; a statement of a million calls would pay for it a million times.
//!
//! | question | where it is decided |
//! |---|---|
//! | how SQLite calls a function | `call.rs` |
//! | which graph a statement sees | `session.rs` |
//! | what a wrong argument is told | `arguments.rs` |

mod arguments;
mod call;
mod clock_path;
mod perfetto_time;
mod session;

use std::ops::RangeInclusive;

use rusqlite::{Connection, Error, Result};

use crate::clock::{Clock, ClockId, builtin_name};
use crate::unresolved::Unresolved;
use arguments::Arguments;
use call::Answer;
use session::{SharedSession, with_loaded};

/// Registers all SQL functions on a connection.
///
/// They answer from the table `clock_snapshot` of its main database, which need
/// not be there yet. It may be any database with a table of the columns that the
/// example above has, but of those that timebase made only one of this
/// [`timebase_schema::VERSION`].
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn register(conn: &Connection) -> Result<()> {
    let session = SharedSession::default();
    conversion(conn, &session, "to_boottime", 3..=4, Result::ok)?;
    conversion(conn, &session, "convert_clock", 5..=6, Result::ok)?;
    conversion(conn, &session, "why_unresolved", 3..=6, |result| {
        result.err().map(Unresolved::code)
    })?;
    pure(conn, "clock_id", |arguments| {
        Ok(arguments
            .text(0, "name")?
            .map(|name| i64::from(ClockId::from_name(name).get())))
    })?;
    pure(conn, "clock_name", |arguments| {
        Ok(arguments
            .clock_id(0, "id")?
            .and_then(|id| builtin_name(id.get())))
    })?;
    perfetto_time::register(conn, &session)?;
    clock_path::register(conn, &session)
}

/// A function of one argument that needs no graph.
fn pure<T: Into<Answer> + 'static>(
    conn: &Connection,
    name: &'static str,
    function: fn(&Arguments<'_, '_>) -> Result<Option<T>>,
) -> Result<()> {
    call::register(conn, name, 1, move |call| {
        Ok(function(&Arguments::new(name, call))?.into())
    })
}

/// A function of `(clock_id, seq_id, ts)`, perhaps `(to_clock_id, to_seq_id)`,
/// and perhaps a machine. It is NULL if any of them is.
fn conversion<T: Into<Answer>>(
    conn: &Connection,
    session: &SharedSession,
    name: &'static str,
    arguments: RangeInclusive<i32>,
    answer: impl Fn(std::result::Result<i64, Unresolved>) -> Option<T> + Copy + Send + 'static,
) -> Result<()> {
    for count in arguments {
        let session = session.clone();
        call::register(conn, name, count, move |call| {
            let arguments = Arguments::new(name, call);
            let (from, to) = if count < 5 {
                (arguments.reading(3)?, Some(Clock::BOOTTIME))
            } else {
                let to = arguments.clock(3, ["to_clock_id", "to_seq_id"], 5)?;
                (arguments.reading(5)?, to)
            };
            let (Some((from, ticks)), Some(to)) = (from, to) else {
                return Ok(Answer::Null);
            };
            with_loaded(name, call, &session, |loaded| {
                answer(loaded.convert(from, ticks, to)).into()
            })
        })?;
    }
    Ok(())
}

/// An error as SQL has it. SQLite's messages end at a zero byte, and rusqlite, in
/// `clock_path`, drops one that has any.
fn sql_error(message: &str) -> Error {
    Error::UserFunctionError(message.replace('\0', "\\0").into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

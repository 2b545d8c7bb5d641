//! The SQL functions. They use the clock graph of a connection's database.
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
//!        source TEXT DEFAULT 'service');
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
//! The functions use `timebase-sql`, so the same code answers SQLite and callers with plain values.
//! Only SQLite can call table-valued functions.
//!
//! | question | decided in |
//! |---|---|
//! | what a function does | `conversions.rs`, `perfetto_time.rs`, `tables.rs` |
//! | the data from `clock_snapshot` | `snapshots.rs`, `trace_time.rs` |
//! | the owner of a clock, among the files of an import | `files.rs` |
//! | the data from `remote_clock_sync` | `samples.rs` |
//! | the data from `clock_alignment` | `alignments.rs` |
//! | the error for a wrong clock | `arguments.rs` |
//! | the largest number of rows that are read of a table | `read.rs` |
//!
//! A call does not change the data from a version of `clock_snapshot`. The session owns the memory
//! of conversions, so it locks its own memory, not the clock graph.

mod alignments;
mod arguments;
mod conversions;
mod files;
mod perfetto_time;
mod read;
mod samples;
mod snapshots;
mod tables;
mod trace_time;

use rusqlite::Connection;
use timebase_sql::{Functions, Session};

use snapshots::Loaded;

/// Registers all SQL functions on a connection.
///
/// They read the table `clock_snapshot` of the main database, which may be created later. Any
/// database is suitable that has a table with the columns of the example above. But a database of
/// timebase must have the version [`timebase_schema::VERSION`].
///
/// All clocks belong to one file, unless there is a column `clock_snapshot.trace_file_id`, and to
/// the machine of trace time, which is 0 unless `metadata` has another one. The functions also read
/// the tables `trace_file`, `part`, `machine` and `remote_clock_sync`, if they exist, in the form
/// of an import.
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let session = Session::default();
    add_functions(&mut &*conn, &session)?;
    tables::register(conn, &session)
}

/// Adds all SQL functions that are not tables to a connection or a list of functions.
///
/// ```
/// use timebase_sql::plain::List;
///
/// let mut list = List::default();
/// timebase_resolver::sql::add(&mut list)?;
/// assert_eq!(list.get(0).unwrap().name(), "to_boottime");
/// # Ok::<(), timebase_sql::Error>(())
/// ```
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn add(to: &mut impl Functions) -> timebase_sql::Result<()> {
    add_functions(to, &Session::default())
}

/// Adds the conversions of trace time with the names to which the prelude of Perfetto's library
/// delegates: `__intrinsic_to_realtime`, `__intrinsic_to_monotonic` and `__intrinsic_abs_time_str`
/// (PQ9). Each takes a trace time in nanoseconds, and returns what the function without the prefix
/// does. The other intrinsics are in [`timebase_sql::perfetto`].
///
/// ```
/// let conn = rusqlite::Connection::open_in_memory()?;
/// timebase_resolver::sql::add_intrinsics(&mut &conn)?;
/// conn.execute_batch(
///     "CREATE TABLE clock_snapshot (
///        id INTEGER PRIMARY KEY, ts INTEGER, clock_id INTEGER, clock_value INTEGER,
///        snapshot_id INTEGER, machine_id INTEGER DEFAULT 0, seq_id INTEGER DEFAULT 0,
///        unit_multiplier_ns INTEGER DEFAULT 1, is_incremental INTEGER DEFAULT 0,
///        source TEXT DEFAULT 'service');
///      INSERT INTO clock_snapshot (ts, snapshot_id, clock_id, clock_value)
///      VALUES (100, 0, 6, 100), (100, 0, 1, 1000);",
/// )?;
/// let sql = "SELECT __intrinsic_to_realtime(150)";
/// assert_eq!(conn.query_row(sql, [], |row| row.get::<_, i64>(0))?, 1050);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If SQLite refuses a function.
pub fn add_intrinsics(to: &mut impl Functions) -> timebase_sql::Result<()> {
    perfetto_time::add_intrinsics(to, &Session::default())
}

fn add_functions(to: &mut impl Functions, session: &Session<Loaded>) -> timebase_sql::Result<()> {
    conversions::add(to, session)?;
    perfetto_time::add(to, session)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

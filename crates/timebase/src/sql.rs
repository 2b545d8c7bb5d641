//! The SQL functions of timebase: `to_boottime`, `extract_arg`, `packet_json`, `ancestor_slice` and
//! all others in the reference.

use rusqlite::Connection;
use timebase_sql::Functions;

pub use timebase_sql::perfetto;

/// Registers all functions on a connection.
///
/// They read the tables of its main database: a database from an import, or one with tables of the
/// same names.
///
/// # Errors
///
/// If SQLite refuses one of them, for example while a statement runs.
///
/// ```
/// let conn = rusqlite::Connection::open_in_memory()?;
/// timebase::sql::register(&conn)?;
/// // track_event { type: TYPE_SLICE_BEGIN }
/// let json: String = conn.query_row("SELECT packet_json(x'5a024801')", [], |row| row.get(0))?;
/// assert_eq!(json, r#"{"track_event":{"type":"TYPE_SLICE_BEGIN"}}"#);
/// # Ok::<(), rusqlite::Error>(())
/// ```
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    timebase_resolver::sql::register(conn)?;
    timebase_sql::packets::register(conn)?;
    timebase_sql::args::register(conn)?;
    timebase_sql::slices::register(conn)?;
    timebase_sql::callstacks::register(conn)?;
    timebase_sql::heap_graphs::register(conn)?;
    timebase_sql::ftrace::register(conn)?;
    timebase_sql::standard::register(conn)?;
    timebase_resolver::sql::add_intrinsics(&mut &*conn)?;
    timebase_sql::perfetto::register(conn)
}

/// Adds all functions that can be called with plain values, for a caller that is not a connection.
///
/// # Errors
///
/// If one of them is refused.
pub fn add(to: &mut impl Functions) -> timebase_sql::Result<()> {
    timebase_resolver::sql::add(to)?;
    timebase_sql::packets::add(to)?;
    timebase_sql::args::add(to)?;
    timebase_sql::slices::add(to)?;
    timebase_sql::callstacks::add(to)?;
    timebase_sql::ftrace::add(to)?;
    timebase_sql::standard::add(to, |_| false)
}

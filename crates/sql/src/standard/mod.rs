//! Functions that trace processor has without a module, and modules that everybody includes (SF).
//!
//! | functions | decided in |
//! |---|---|
//! | the bounds of the trace, and units of time | `time.rs` |
//! | names without their numbers | `pattern.rs` |
//! | percentiles and the median, texts, regular expressions, base64, symbols, numbers | `perfetto/intrinsics`, whose functions these are under their public names |
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! timebase_sql::standard::register(&conn)?;
//! let ask = |sql| conn.query_row(sql, [], |row| row.get::<_, Option<String>>(0));
//! assert_eq!(ask("SELECT regexp_extract('binder:412_3', ':([0-9]+)')")?, Some("412".into()));
//! assert_eq!(ask("SELECT base64_encode(x'00ff')")?, Some("AP8=".into()));
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! # Design
//!
//! **A function of SQLite's own stays** if it does the same: `ln`, `exp` and `sqrt` of a SQLite with mathematical
//! functions, and the percentiles of one with those (SF2). A client may call them from an index or a view of its own, and
//! to replace them could only slow it down.

mod pattern;
mod time;

use std::collections::HashSet;

use rusqlite::Connection;

use crate::perfetto::intrinsics;
use crate::{Functions, Result};

pub use pattern::pattern;

/// Registers all functions on a connection.
///
/// # Errors
///
/// If SQLite refuses one.
pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    let known = known(conn)?;
    let has = |name: &str| known.contains(name);
    add(&mut &*conn, has)?;
    intrinsics::add_mathematics(&mut &*conn, has)?;
    intrinsics::register_aggregates(conn, has)
}

/// Adds the functions without aggregates to a connection or a list. `has` tells which of those that are
/// SQLite's in many builds are there already.
///
/// # Errors
///
/// If SQLite refuses one.
pub fn add(to: &mut impl Functions, has: impl Fn(&str) -> bool) -> Result<()> {
    time::add(to)?;
    pattern::add(to)?;
    intrinsics::add(to, has)
}

/// The names of all functions of a connection.
fn known(conn: &Connection) -> rusqlite::Result<HashSet<String>> {
    // Not as a table: a statement would read the schema, which may be damaged.
    let mut names = conn.prepare("PRAGMA function_list")?;
    let names = names.query_map([], |row| {
        let name: String = row.get(0)?;
        Ok(name.to_ascii_lowercase())
    })?;
    names.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

//! Functions and virtual tables that Perfetto's standard library builds on, in any SQLite: span
//! joins (PQ8), and the functions whose names begin with `__intrinsic_` (PQ9).
//!
//! ```
//! use rusqlite::Connection;
//!
//! let conn = Connection::open_in_memory()?;
//! timebase_sql::perfetto::register(&conn)?;
//! conn.execute_batch(
//!     "CREATE TABLE a (id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);
//!      CREATE TABLE b (id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);
//!      INSERT INTO a VALUES (1, 0, 10), (2, 20, 10);
//!      INSERT INTO b VALUES (7, 5, 20);",
//! )?;
//! // What the module `intervals.intersect` makes of `_interval_intersect!((a, b), ())`.
//! let sql = "SELECT group_concat(c0 || '+' || c1 || ' ' || c2 || ' ' || c3, ', ')
//!     FROM __intrinsic_table_ptr(__intrinsic_interval_intersect(
//!         (SELECT __intrinsic_interval_tree_intervals_agg(id, ts, dur) FROM a),
//!         (SELECT __intrinsic_interval_tree_intervals_agg(id, ts, dur) FROM b), '()'))
//!     WHERE __intrinsic_table_ptr_bind(c0, 'ts') AND __intrinsic_table_ptr_bind(c1, 'dur')
//!         AND __intrinsic_table_ptr_bind(c2, 'id_0') AND __intrinsic_table_ptr_bind(c3, 'id_1')";
//! let overlaps: String = conn.query_row(sql, [], |row| row.get(0))?;
//! assert_eq!(overlaps, "5+5 1 7, 20+5 2 7");
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! | question | decided in |
//! |---|---|
//! | how one intrinsic hands a value to another | `pointer.rs` |
//! | what a table among those values is, and how a query reads it | `table.rs`, `table_pointer.rs` |
//! | how SQLite calls an intrinsic | `call.rs` |
//! | when an intrinsic ends early, and when it has nothing to do | `limits.rs`, `again.rs` |
//! | what overlaps | `intervals.rs` |
//! | which intervals a counter has | `counters.rs` |
//! | how starts and ends make intervals | `created.rs` |
//! | lists of values, and of rows | `arrays.rs`, `rows.rs` |
//! | graphs, and searches in them | `graph.rs`, `bounded.rs` |
//! | how a query is run along a graph | `scan.rs` |
//! | which node all ways to a node go through | `dominators.rs` |
//! | how a tree is divided by groups | `partition.rs` |
//! | who was to blame for a wait | `critical_path.rs` |
//! | trees with values | `trees.rs` |
//! | texts, regular expressions, numbers, names of symbols | `text.rs`, `patterns.rs`, `numbers.rs`, `symbols.rs` |
//! | percentiles, and last values | `percentile.rs`, `last.rs` |
//! | values, packages and callers from the tables of a trace | `tables.rs`, `packages.rs`, `callsites.rs` |
//! | a set of arguments as JSON | `arg_json.rs` |
//! | how slices are drawn without overlaps | `slice_layout.rs` |
//! | how frames of Android's runtime ran | `annotated.rs` |
//! | compressed texts and blobs | `compress.rs` |
//! | how stacks become a profile | `profile.rs`, `wire.rs` |
//! | layers and payloads of window tracing | `winscope.rs` |
//! | which spans a span join joins, and how | `span_join/` |
//!
//! # Design
//!
//! **A table pointer's binds are a constraint by a function** (PQ11). SQLite asks a virtual table
//! whether `__intrinsic_table_ptr_bind(c0, 'ts')` is its own function, by `xFindFunction`. rusqlite
//! has no method for that, but its module is a `repr(transparent)` of SQLite's, and takes the one
//! function pointer. The alternative was one hidden column with all names, `binds = 'ts,dur'`. That
//! needs no unsafe code; but then somebody has to rewrite the text of each query, which also fails
//! for the queries that other programs send.
//!
//! **Values are shared, not lent.** A pointer of SQLite holds a reference count, and a cursor takes
//! its own. Trace processor's cursors read what the register of the statement owns; SQLite may
//! release that while the cursor is open.
//!
//! **A node is an index, an id is a key.** Trace processor's graphs are arrays by id, so one row
//! with the id 4,000,000,000 takes 100 GB. Here ids are mapped to indexes first.

mod again;
mod annotated;
mod arg_json;
mod arrays;
mod bounded;
mod call;
mod callsites;
mod compress;
mod counters;
mod created;
mod critical_path;
mod dominators;
mod graph;
mod intervals;
mod last;
mod limits;
mod numbers;
mod packages;
mod partition;
mod patterns;
mod percentile;
mod pointer;
mod profile;
mod rows;
mod scan;
mod slice_layout;
mod span_join;
pub(crate) mod symbols;
mod table;
mod table_pointer;
mod tables;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
pub(crate) mod testing;
mod text;
mod trees;
mod winscope;
mod wire;

pub(crate) use dominators::{Successors, dominators};
pub(crate) use limits::{Budget, Watch};

use rusqlite::Connection;

use crate::{Functions, Result};

pub(super) use limits::BYTES;

/// Adds the functions that Perfetto's library declares under other names than `__intrinsic_…` (SF): of
/// texts, patterns, numbers and symbols. `has` tells which functions SQLite has itself.
pub(crate) fn add(to: &mut impl Functions, has: impl Fn(&str) -> bool) -> Result<()> {
    text::add(to)?;
    patterns::add(to)?;
    numbers::add(to, has)?;
    symbols::add(to)
}

/// Adds the mathematical functions that are SQLite's in some builds; `has` tells.
pub(crate) fn add_mathematics(to: &mut impl Functions, has: impl Fn(&str) -> bool) -> Result<()> {
    numbers::add_mathematics(to, has)
}

/// Registers aggregates that are functions of SQLite in some builds; `has` tells.
pub(crate) fn register_aggregates(
    conn: &Connection,
    has: impl Fn(&str) -> bool,
) -> rusqlite::Result<()> {
    percentile::register(conn, has)
}

/// Registers all intrinsics on a connection.
///
/// # Errors
///
/// If SQLite refuses one of them, for example while a statement runs.
pub(super) fn register(conn: &Connection) -> rusqlite::Result<()> {
    table_pointer::register(conn)?;
    arrays::register(conn)?;
    intervals::register(conn)?;
    counters::register(conn)?;
    created::register(conn)?;
    graph::register(conn)?;
    dominators::register(conn)?;
    partition::register(conn)?;
    critical_path::register(conn)?;
    trees::register(conn)?;
    rows::register(conn)?;
    scan::register(conn)?;
    bounded::register(conn)?;
    text::register(conn)?;
    patterns::register(conn)?;
    numbers::register(conn)?;
    symbols::register(conn)?;
    tables::register(conn)?;
    callsites::register(conn)?;
    annotated::register(conn)?;
    packages::register(conn)?;
    arg_json::register(conn)?;
    slice_layout::register(conn)?;
    compress::register(conn)?;
    last::register(conn)?;
    profile::register(conn)?;
    winscope::register(conn)?;
    span_join::register(conn)
}

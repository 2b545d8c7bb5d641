//! Builds tables and indexes of a SQLite database in bulk, page by page.
//!
//! SQLite makes a b-tree by searching and inserting row by row. If all rows are in order, the place
//! of each row is known: the next free place on the last page. This crate writes those pages, in
//! SQLite's [file format], into a database that SQLite made and that no other program has open.
//! SQLite does the rest: the schema, all other tables, and every later operation.
//!
//! ```
//! use rusqlite::Connection;
//! use timebase_store::btree::{Database, IndexBuilder, TableBuilder, Value};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("bulk.db");
//! let conn = Connection::open(&path)?;
//! conn.execute_batch(
//!     "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b); CREATE INDEX t_a ON t (a);",
//! )?;
//! let root = |name: &str| -> rusqlite::Result<u32> {
//!     let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
//!     conn.query_row(sql, [name], |row| row.get(0))
//! };
//! let (table_root, index_root) = (root("t")?, root("t_a")?);
//! conn.close().map_err(|(_, error)| error)?;
//!
//! let mut database = Database::open(&path)?;
//! let mut table = TableBuilder::new(&mut database, table_root)?;
//! let mut index = IndexBuilder::new(dir.path());
//! for i in 0..100_000 {
//!     // The first column is the rowid's alias, which a row has as NULL.
//!     table.push(&mut database, i, &[Value::Null, Value::Integer(i % 1000), Value::Text("b")])?;
//!     index.push([Some(i % 1000)], i)?;
//! }
//! table.finish(&mut database)?;
//! index.write(&mut database, index_root)?;
//! database.finish()?;
//!
//! let conn = Connection::open(&path)?;
//! let check: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
//! assert_eq!(check, "ok");
//! let found: i64 = conn.query_row("SELECT count(*) FROM t WHERE a = 7", [], |row| row.get(0))?;
//! assert_eq!(found, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Design
//!
//! * **Every page is written once, in its place.** Rows of several tables may come in turns: a leaf
//!   goes to the end of the file when it is full, and so do the pages above it. The alternative is
//!   to let SQLite insert. For 2,000,000 packets of 30 bytes that takes 1.15 s, with a bind and a
//!   step for every row, and 0.3 s here. For the 7.1 million kernel events of a 7 s trace it took
//!   2.9 s, or 2.1 s from a virtual table with `INSERT … SELECT`, and 1.2 to 1.9 s more for the
//!   index on time. An earlier version wrote leaves to a separate file, and appended them when
//!   SQLite was done with the other tables; it moved every page twice.
//! * **An index is sorted outside of memory**, by [`sort`](crate::sort), so memory does not grow
//!   with it. Sorting has its own thread while further entries come, and merging has its own thread
//!   while the result is written. For the 7.1 million kernel events of a 7 s trace, this shortens
//!   an import from 1.6 s to 1.4 s on two cores. Stretches that follow each other are one run; with
//!   this, the import takes 0.9 of its former processor time, and 20 MiB instead of 29.
//! * **The index on (b, a) comes from the sorted entries of the index on (a, b)** if b has few
//!   values, as the names of events do: those of each b are in order, so they fill leaves of their
//!   own, and nothing is sorted again. Of the 7.1 million kernel events, and with two more columns
//!   in the index of slices by thread, this takes a twentieth of the import's processor time.
//! * **No collations.** Rows have values of all kinds, with overflow pages for large ones, but the
//!   keys of an index are NULLs and integers.
//!
//! [file format]: https://www.sqlite.org/fileformat2.html

mod database;
mod entry;
mod error;
mod index;
mod late;
mod leaves;
mod page;
mod record;
mod table;
mod tree;
mod turned;

pub use crate::sort::{Quota, Scratch};
pub use database::Database;
pub use error::Error;
pub use index::{ClusteredTableBuilder, IndexBuilder, KeyedTableBuilder};
pub use late::LateTableBuilder;
pub use record::Value;
pub use table::TableBuilder;
pub use turned::TurnedIndex;

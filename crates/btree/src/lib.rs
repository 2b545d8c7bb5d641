//! Builds tables and indexes of a SQLite database in bulk, page by page.
//!
//! SQLite makes a b-tree by searching and inserting row by row. Who has all rows
//! in order knows where each belongs: in the next free place of the last page.
//! This crate writes those pages, in SQLite's [file format], into a database
//! that SQLite made and that nobody has open. The rest stays SQLite's: the
//! schema, all other tables, and everything that happens afterwards.
//!
//! ```
//! use rusqlite::Connection;
//! use timebase_btree::{Database, IndexBuilder, TableBuilder, Value};
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
//! let mut table = TableBuilder::new(database.page_size(), dir.path())?;
//! let mut index = IndexBuilder::new(dir.path())?;
//! for i in 0..100_000 {
//!     // The first column is the rowid's alias, which a row has as NULL.
//!     table.push(i, &[Value::Null, Value::Integer(i % 1000), Value::Real(0.5)])?;
//!     index.push([Some(i % 1000)], i)?;
//! }
//! database.table(table_root, table)?;
//! database.index(index_root, index)?;
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
//! * **Leaves first, in a file of their own.** While rows come, SQLite writes
//!   other tables into the database, so page numbers are not known. Leaves of a
//!   table mention none, so they are written aside and appended when SQLite is
//!   done; the pages above them are made then. The alternative is to let SQLite
//!   insert: for the 7.1 million kernel events of a 7 s trace that took 2.9 s
//!   with a bind and a step for every row, 2.1 s from a virtual table with
//!   `INSERT … SELECT`, and 1.2 to 1.9 s more for the index on time.
//! * **An index is sorted outside of memory.** Entries are sorted a stretch at a
//!   time, written aside as differences, and merged at the end, so that memory
//!   does not grow with them.
//! * **Only numbers.** Rows are NULLs, integers and reals, and keys are NULLs and
//!   integers. So no row needs overflow pages, and no key a collation.
//!
//! [file format]: https://www.sqlite.org/fileformat2.html

mod database;
mod index;
mod page;
mod record;
mod table;
mod tree;

pub use database::{Database, Error};
pub use index::IndexBuilder;
pub use page::PageSize;
pub use record::Value;
pub use table::TableBuilder;

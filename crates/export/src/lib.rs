//! Writes rows of a SQLite database as Parquet: the tables of a trace into a folder of many traces, and the
//! result of any statement into a file.
//!
//! ```
//! use timebase_export::{Compression, Folder, Monitor, Options, Schema, export};
//!
//! # let database = rusqlite::Connection::open_in_memory()?;
//! # database.execute_batch(timebase_schema::TABLES)?;
//! # database.execute_batch(&timebase_schema::finish())?;
//! # database.execute_batch("INSERT INTO fact (name, value) VALUES ('trace_id', '00112233445566778899aabbccddeeff')")?;
//! # let place = tempfile::tempdir()?;
//! # let path = place.path().join("traces");
//! let schema = Schema::new()?;
//! let options = Options {
//!     tables: schema.table("sched").into_iter().collect(),
//!     compression: Compression::Zstd,
//!     labels: vec![("build".to_owned(), "1234".to_owned())],
//!     overwrite: false,
//! };
//! let folder = Folder::at(&path)?;
//! let summary = export(&database, &folder, &schema, &options, &Monitor::default())?;
//! assert_eq!(summary.tables, [("sched".to_owned(), 0)]);
//! assert!(path.join("sched/trace_id=00112233445566778899aabbccddeeff/part-0.parquet").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Design
//!
//! | file | |
//! |---|---|
//! | `columns.rs` | the tables and views, and the type of each column |
//! | `chunk.rs`, `rows.rs` | rows from SQLite's C interface, as columns: the contents of a row group |
//! | `file.rs` | a Parquet file, and how each column is encoded |
//! | `prepared.rs` | a statement with SQLite's C interface |
//! | `folder.rs` | a folder of many traces, and how a trace gets there completely |
//! | `export.rs` | tables of a database into a folder, with two threads |
//! | `result.rs` | any statement into a file |
//!
//! **The column writers of the crate `parquet`, without Arrow.** SQLite returns values one by one, but the writer needs
//! a column of a whole row group. So there is a vector for each column, with at most 128 Ki rows or 12 MB; nothing has
//! the size of a table. There are two sets of vectors: one thread steps through the statement and fills one set, while
//! the other set is encoded and compressed.
//!
//! The alternatives were:
//!
//! * **The Arrow crates**, with a builder for each column and `ArrowWriter`. They would copy the
//!   values once more, and their kernels take most of the time to compile, although writing numbers
//!   and texts needs none of them.
//! * **Arrow IPC files.** They are faster to write, but several times as large, and Spark reads no
//!   folder of them.
//! * **A writer of our own.** Pages with one encoding are a few hundred lines. Statistics, page
//!   indexes and the expectations of other readers are the hard part, which others maintain well.
//! * **A row group for the rows of a time interval** would let the second thread begin earlier. But
//!   files with the same rows would differ from run to run.
//!
//! **Types come from the database's SQL**: `columns.rs` makes an empty database with the requested
//! tables and those that their views name, and asks SQLite. So the columns of a table do not depend
//! on the trace, and a new column without a type fails a test. A value of another type is an error,
//! never a converted value.

mod chunk;
mod columns;
mod error;
mod export;
mod file;
mod folder;
mod labels;
mod prepared;
mod read;
mod result;
mod rows;
mod trace;

pub use columns::{Column, Reads, Schema, Table, Type, described};
pub use error::Error;
pub use export::{Monitor, Options, Summary, export};
pub use file::Compression;
pub use folder::Folder;
pub use labels::check_labels;
pub use read::{ParquetTable, ReadError};
pub use result::{declared_types, write_result};
pub use trace::Trace;

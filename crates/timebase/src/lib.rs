//! Turns a Perfetto trace into a SQLite database in which every event stands on one clock.
//!
//! ```
//! use rusqlite::Connection;
//! use timebase::Import;
//!
//! let mut conn = Connection::open_in_memory()?;
//! Import::new("../../tests/data/app.pftrace").into_connection(&mut conn)?;
//! timebase::sql::register(&conn)?;
//!
//! let longest = "SELECT name, dur FROM slice ORDER BY dur DESC LIMIT 1";
//! let (name, ns): (String, i64) = conn.query_row(longest, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
//! assert!(!name.is_empty() && ns > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Import`] says what is read, how, and where it goes: into a file, which is fastest, or into any connection of
//! rusqlite. [`sql::register`] gives a connection the SQL functions. Which tables there are, and what the functions
//! do, is in the [reference]. Who needs conversions alone, without a database, takes `timebase-resolver`.
//!
//! # Design
//!
//! This is the front door, and nothing is done here: [`timebase_import`] makes rows of packets,
//! [`timebase_resolver`] converts, [`timebase_sql`] has functions that need no clocks. One package for all of
//! it was the alternative; the loadable extension for SQLite would then be built with all of the import.
//!
//! [reference]: https://github.com/timebase/timebase/blob/main/docs/reference.md

#[cfg(feature = "import")]
mod import;
pub mod sql;

#[cfg(feature = "import")]
pub use import::Import;
#[cfg(feature = "import")]
pub use timebase_import::{
    ClockFault, Conversion, Doubtful, Error, Events, HowFar, Lost, Monitor, Placement, Subject,
    Summary,
};

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
//! [`Import`] says what to read, how, and where to write it: into a file, which is fastest, or into
//! any connection of rusqlite. [`Rewrite`] writes the trace again, with every time on that clock.
//! [`Compare`] says what changed between two groups of traces.
//! [`sql::register`] adds the SQL functions to a connection. The
//! [reference] describes the tables and the functions. If you only need conversions, without a
//! database, use `timebase-resolver`.
//!
//! # Design
//!
//! This crate is the front door, and does nothing itself: [`timebase_import`] makes rows from
//! packets, [`timebase_resolver`] converts, and [`timebase_sql`] has the functions that need no
//! clocks. The alternative was one package for all of it; then a build of the loadable extension
//! for SQLite would include the whole import.
//!
//! [reference]: https://github.com/timebase/timebase/blob/main/docs/reference.md

#[cfg(feature = "import")]
mod compare;
#[cfg(feature = "import")]
mod import;
#[cfg(feature = "import")]
mod rewrite;
pub mod sql;
#[cfg(feature = "import")]
mod steps;

#[cfg(feature = "import")]
pub use compare::{Compare, CompareError};
#[cfg(feature = "import")]
pub use import::Import;
#[cfg(feature = "import")]
pub use rewrite::Rewrite;
#[cfg(feature = "import")]
pub use timebase_compare as comparing;
#[cfg(feature = "import")]
pub use timebase_import::manifest::Align;
#[cfg(feature = "import")]
pub use timebase_import::{
    CausalCheck, ClockCheck, ClockFault, Conversion, Cut, Doubtful, Error, Events, FoundTrack,
    HowFar, InputsError, LeftOut, LossKind, Lost, MappingError, MappingFile, Monitor, Moved,
    OtherFile, Placement, Remedy, RewriteError, Rewritten, SourceError, Subject, Summary,
    SymbolError, Unlike, Unmet, Unnamed,
};

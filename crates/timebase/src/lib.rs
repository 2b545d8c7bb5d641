//! Turns a Perfetto trace into a SQLite database in which every event stands on one clock.

#[cfg(feature = "import")]
pub use timebase_import as import;

pub mod sql;

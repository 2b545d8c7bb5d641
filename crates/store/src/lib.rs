//! What a database is written with.
//!
//! | module | what it is |
//! |---|---|
//! | [`btree`] | tables and indexes of SQLite, built page by page |
//! | [`sort`] | records sorted outside of memory; temporary files, and how much of the disk they may take |
//! | [`files`] | files that are whole or not there, and what killed processes left |
//!
//! Nothing is known here of traces, or of which tables there are.

pub mod btree;
pub mod files;
pub mod sort;

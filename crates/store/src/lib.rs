//! Writes databases.
//!
//! | module | what it is |
//! |---|---|
//! | [`btree`] | tables and indexes of SQLite, built page by page |
//! | [`sort`] | records sorted outside of memory; temporary files, and how much of the disk they may take |
//! | [`files`] | files that are complete or absent, and the removal of what killed processes left |
//!
//! This crate knows nothing of traces, or of specific tables.

pub mod btree;
pub mod files;
pub mod sort;

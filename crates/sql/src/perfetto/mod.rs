//! PerfettoSQL on SQLite.

mod dialect;
mod expand;
mod script;
mod source;
mod token;
mod types;

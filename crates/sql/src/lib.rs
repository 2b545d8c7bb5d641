//! SQL functions, written once: each is a [`Function`], which knows neither
//! SQLite's C interface nor that of any other caller.
//!
//! The functions that need no clocks are here: for arguments ([`args`]), slices and flows
//! ([`slices`]), callstacks ([`callstacks`]), dumps of Java heaps ([`heap_graphs`]), packets ([`packets`]), kernel events as text ([`ftrace`]), and what trace processor
//! has without a module ([`standard`]). The functions for clocks are in `timebase-resolver`.
//!
//! ```
//! use rusqlite::Connection;
//! use timebase_sql::{Answer, Arguments, Call, Function, Functions, Result};
//!
//! struct Half;
//!
//! impl Function for Half {
//!     fn call<C: Call>(&self, call: &C) -> Result<Answer> {
//!         let arguments = Arguments::new("half", call);
//!         match arguments.integer(0, "number")? {
//!             None => Ok(Answer::Null),
//!             Some(number) if number % 2 == 0 => Ok(Answer::Integer(number / 2)),
//!             Some(_) => Err(arguments.must_be(0, "number", "even")),
//!         }
//!     }
//! }
//!
//! let conn = Connection::open_in_memory()?;
//! (&conn).add("half", 1, Half).unwrap();
//! let half = |sql| conn.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
//! assert_eq!(half("SELECT half(8)")?, Some(4));
//! assert_eq!(half("SELECT half(NULL)")?, None);
//! assert_eq!(
//!     half("SELECT half(7)").unwrap_err().to_string(),
//!     "half(): argument 1 (number) must be even, not 7"
//! );
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! | question | decided in |
//! |---|---|
//! | what a function is, and who calls it | `function.rs` |
//! | how SQLite calls one | `sqlite.rs` |
//! | how to call one with plain values | `plain.rs` |
//! | which version of a table a statement sees | `session.rs` |
//! | how a function looks up one of many rows in every call | `lookup.rs`, `held_marks.rs` |
//! | how a table-valued function queries, and where its panics end | `virtual_table.rs` |
//! | how SQLite calls a virtual table | `module.rs` |
//! | how SQLite calls one that makes all rows of a call at once | `table_function.rs` |
//! | what a token of SQL is | `token.rs` |
//! | the error for a wrong argument | `arguments.rs` |
//! | how rows of a table are read | `database.rs` |
//! | the form of an error in SQL | `error.rs` |
//!
//! # Design
//!
//! A function is generic over its [`Call`], so the compiler makes one version for each of the two
//! callers, without code for the other. The alternative was a call with a branch for each; then
//! SQLite's version would pay for the other one in every argument.
//!
//! A function can keep data for an argument that is the same in every row, such as a parsed path.
//! It keeps this with the version of the table on which the data depends. The alternative was
//! SQLite's auxiliary data for an argument. That ends with the statement, has to be cast from a
//! pointer that anybody may have put there, and does not exist if another caller than SQLite calls.

mod answer;
pub mod args;
mod arguments;
pub mod callstacks;
mod database;
mod error;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod fixture;
pub mod ftrace;
mod function;
pub mod heap_graphs;
mod held_marks;
mod lookup;
mod mark;
pub mod module;
pub mod packets;
pub mod perfetto;
pub mod plain;
mod query;
mod session;
pub mod slices;
mod sqlite;
pub mod standard;
mod table_function;
pub mod token;
mod value;
mod virtual_table;

pub use answer::Answer;
pub use arguments::Arguments;
pub use database::{Database, Row};
pub use error::{Error, Result, unless_interrupted};
pub use function::{Call, Function, Functions};
pub use lookup::Lookup;
pub use mark::{Key, Mark, Prepared};
pub use perfetto::intrinsics::symbols::demangled;
pub use session::{Session, Table};
pub use value::{ValueRef, Values};
pub use virtual_table::{Queries, caught};

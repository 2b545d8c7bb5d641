//! SQL functions, written once: each is a [`Function`], which knows neither
//! SQLite's C interface nor that of any other caller.
//!
//! Those that need no clocks are here: of arguments ([`args`]), of slices and flows
//! ([`slices`]), and of packets ([`packets`]). Those of clocks are in
//! `timebase-resolver`.
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
//! | question | where it is decided |
//! |---|---|
//! | what a function is, and what calls it | `function.rs` |
//! | how SQLite calls one | `sqlite.rs` |
//! | how one is called with plain values | `plain.rs` |
//! | which version of a table a statement sees | `session.rs` |
//! | how one row of many is asked for in every call | `lookup.rs` |
//! | what a table-valued function asks, and what becomes of its panics | `virtual_table.rs` |
//! | what a wrong argument is told | `arguments.rs` |
//! | what is read from a table | `database.rs` |
//! | how an error looks in SQL | `error.rs` |
//!
//! # Design
//!
//! A function is generic over its [`Call`], so that for each of the two callers
//! the compiler makes one that has nothing of the other in it. A call with a
//! branch for each was the alternative, of which SQLite's would pay for the other
//! in every argument.
//!
//! What a function would keep for an argument that is the same in every row, such
//! as a parsed path, it keeps with the version of the table that it depends on.
//! SQLite's auxiliary data of an argument was the alternative. It is gone with the
//! statement, has to be cast from what anybody may have put there, and there is
//! none where SQLite does not call.

mod answer;
pub mod args;
mod arguments;
mod database;
mod error;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod fixture;
mod function;
mod lookup;
mod mark;
pub mod packets;
pub mod plain;
mod query;
mod session;
pub mod slices;
mod sqlite;
mod value;
mod virtual_table;

pub use answer::Answer;
pub use arguments::Arguments;
pub use database::{Database, Row};
pub use error::{Error, Result, unless_interrupted};
pub use function::{Call, Function, Functions};
pub use lookup::Lookup;
pub use mark::{Key, Mark, Prepared};
pub use session::{Session, Table};
pub use value::{ValueRef, Values};
pub use virtual_table::{Queries, caught};

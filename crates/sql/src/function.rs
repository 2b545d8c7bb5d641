//! A function, its calls, and the receiver to which it is added.

use std::sync::Arc;

use crate::answer::Answer;
use crate::database::Database;
use crate::error::Result;
use crate::mark::{Key, Mark, Prepared};
use crate::value::{ValueRef, Values};

/// A function of SQL. Its answer may depend on its arguments and, within one
/// statement, on one version of its tables (see [`Session`](crate::Session)).
pub trait Function: Send + Sync + 'static {
    /// Whether it may return [`Answer::Json`]. SQLite must know this, because it does not keep JSON
    /// values in an index.
    const JSON: bool = false;

    /// Computes the answer of a call.
    ///
    /// # Errors
    ///
    /// The message for the user.
    fn call<C: Call>(&self, call: &C) -> Result<Answer>;
}

/// A call of a function: its arguments, the calling statement and the database.
pub trait Call: Values {
    /// The database of the call.
    type Database: Database + ?Sized;

    /// The data that the statement keeps under a key; null if there is none. Only compare it, do
    /// not dereference it: any other function may have put its own data there.
    fn mark(&self, key: Key) -> *const Mark;

    /// Marks the statement until it ends or begins again.
    fn set_mark(&self, key: Key, mark: Arc<Mark>);

    /// Gives the database to `function`.
    ///
    /// # Errors
    ///
    /// If the database is not available, and the errors of `function`.
    fn with_database<T>(&self, function: impl FnOnce(&Self::Database) -> Result<T>) -> Result<T>;

    /// Looks up one value for a [`Lookup`](crate::Lookup): the first column of a query's first row;
    /// NULL if there is no row. It uses the first query whose tables the database has.
    ///
    /// # Errors
    ///
    /// The error of SQLite.
    fn look_up(
        &self,
        queries: &[&'static str],
        prepared: &mut Prepared,
        parameters: &[ValueRef<'_>],
    ) -> Result<Answer>;
}

/// The receiver of functions: a connection, or a list for [plain values](crate::plain).
pub trait Functions {
    /// Adds a function with `count` arguments. One name may have several functions, with different
    /// counts.
    ///
    /// # Errors
    ///
    /// If SQLite refuses it.
    fn add(&mut self, name: &'static str, count: u8, function: impl Function) -> Result<()>;
}

//! What a function is, what calls it, and where it is added.

use std::sync::Arc;

use crate::answer::Answer;
use crate::database::Database;
use crate::error::Result;
use crate::mark::{Key, Mark, Prepared};
use crate::value::{ValueRef, Values};

/// A function of SQL. Its answer may depend on its arguments and, within one
/// statement, on one version of its tables (see [`Session`](crate::Session)).
pub trait Function: Send + Sync + 'static {
    /// Whether it may answer [`Answer::Json`]. SQLite must know, because it does
    /// not keep what is JSON in an index.
    const JSON: bool = false;

    /// Answers a call.
    ///
    /// # Errors
    ///
    /// What the user is told.
    fn call<C: Call>(&self, call: &C) -> Result<Answer>;
}

/// A call of a function, while it lasts: its arguments, the statement that calls
/// and the database.
pub trait Call: Values {
    /// The database that is asked.
    type Database: Database + ?Sized;

    /// What the statement keeps under a key; null if nothing. It is to be compared
    /// and not to be looked at: anybody's function may have put there what it likes.
    fn mark(&self, key: Key) -> *const Mark;

    /// Marks the statement until it ends or begins again.
    fn set_mark(&self, key: Key, mark: Arc<Mark>);

    /// Hands over the database.
    ///
    /// # Errors
    ///
    /// If it cannot be had, and those of `function`.
    fn with_database<T>(&self, function: impl FnOnce(&Self::Database) -> Result<T>) -> Result<T>;

    /// Asks for one value, as a [`Lookup`](crate::Lookup) does: what the first row of
    /// a query has in its first column; NULL if there is no row. The query is the
    /// first one that the database has the tables for.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    fn look_up(
        &self,
        queries: &[&'static str],
        prepared: &mut Prepared,
        parameters: &[ValueRef<'_>],
    ) -> Result<Answer>;
}

/// Where functions are added: a connection, or a list for
/// [plain values](crate::plain).
pub trait Functions {
    /// Adds a function of `count` arguments. One name may have several, with
    /// different counts.
    ///
    /// # Errors
    ///
    /// If SQLite refuses it.
    fn add(&mut self, name: &'static str, count: u8, function: impl Function) -> Result<()>;
}

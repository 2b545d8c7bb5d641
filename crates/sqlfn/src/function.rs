//! What a function is, what calls it, and where it is added.

use std::any::Any;
use std::ffi::c_int;
use std::sync::Arc;

use crate::answer::Answer;
use crate::database::Database;
use crate::error::Result;
use crate::value::Values;

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

/// What a statement keeps a mark under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub(crate) c_int);

impl Key {
    /// The key for a table: negative, as SQLite has it for auxiliary data that
    /// belongs to the statement and no argument, and hardly anybody else's.
    pub const fn of(table: &str) -> Key {
        let bytes = table.as_bytes();
        let (mut hash, mut at) = (0x811c_9dc5u32, 0);
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
            at += 1;
        }
        Key((hash | 0x8000_0000) as c_int)
    }
}

/// What marks a statement, by its address.
#[derive(Debug)]
#[repr(C)]
pub struct Mark {
    /// rusqlite takes whatever a statement keeps for one of these, and its
    /// `Context::get_aux`, which is safe, may be called with our key: it shall find
    /// that this is not what its caller keeps.
    _of_another_type: Arc<dyn Any + Send + Sync>,
}

impl Mark {
    pub(crate) fn new() -> Arc<Mark> {
        struct Marked;
        Arc::new(Mark {
            _of_another_type: Arc::new(Marked),
        })
    }
}

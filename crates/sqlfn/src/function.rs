//! What a function is, what calls it, and where it is added.

use std::any::Any;
use std::ffi::c_int;
use std::sync::Arc;

use crate::answer::Answer;
use crate::database::Database;
use crate::error::Result;
use crate::lookup::Prepared;
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
    /// a query has in its first column; NULL if there is no row.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    fn look_up(
        &self,
        sql: &'static str,
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

/// What a statement keeps something under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub(crate) c_int);

impl Key {
    /// The key for a table or a query: negative, as SQLite has it for auxiliary data
    /// that belongs to the statement and no argument, and hardly anybody else's.
    pub const fn of(name: &str) -> Key {
        let bytes = name.as_bytes();
        let (mut hash, mut at) = (0x811c_9dc5u32, 0);
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
            at += 1;
        }
        Key((hash | 0x8000_0000) as c_int)
    }
}

/// What marks a statement, by its address, and may bear what goes with the statement.
#[derive(Debug)]
#[repr(C)]
pub struct Mark {
    /// rusqlite takes whatever a statement keeps for one of these, and its
    /// `Context::get_aux`, which is safe, may be called with our key: it shall find
    /// that this is not what its caller keeps.
    borne: Arc<dyn Any + Send + Sync>,
}

impl Mark {
    pub(crate) fn new() -> Arc<Mark> {
        struct Marked;
        Mark::bearing(Marked)
    }

    /// A mark with which something goes when the statement ends.
    pub(crate) fn bearing(borne: impl Any + Send + Sync) -> Arc<Mark> {
        Arc::new(Mark {
            borne: Arc::new(borne),
        })
    }

    /// What it bears, if it is of this type.
    pub(crate) fn borne<T: Any>(&self) -> Option<&T> {
        self.borne.downcast_ref()
    }
}

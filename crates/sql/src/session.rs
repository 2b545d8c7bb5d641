//! Data that is loaded from a table, version by version: each statement sees one version, from its
//! beginning to its end.
//!
//! # Design
//!
//! At its first call, a statement looks up the current version of the table, loads it if the
//! session does not have it, and keeps a [`Mark`] as SQLite's auxiliary data. Each further call
//! compares the mark's address with those of the versions in the session. There is more than one
//! version only while statements run alternately, with changes between them. SQLite drops the mark
//! when the statement ends or begins again. The next load drops each version that no statement has
//! marked and that is not current.
//!
//! The alternative was to look up the version in every call; a statement with a million calls would
//! pay for that a million times.
//!
//! These were tried, with the section `sql` of the benchmark:
//!
//! * A lock without poisoning instead of the [`Mutex`], or only a flag for a running call: no
//!   difference beyond the spread of the measurement.
//! * The loaded data itself as auxiliary data: this needs no comparison, but a call would follow a
//!   pointer that any other function may have put there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::function::Call;
use crate::mark::{Key, Mark};

/// Data that is loaded from a table of the database.
pub trait Table: Sized + Send + 'static {
    /// The table.
    const NAME: &'static str;

    /// The value that differs between two versions of the table.
    type Version: PartialEq + Send;

    /// The current version of the table; `None` if it is unknown, so the data is only for the
    /// calling statement.
    ///
    /// # Errors
    ///
    /// If the query for it [is interrupted](Error::is_interrupt); there is no other error.
    fn version<D: Database + ?Sized>(database: &D) -> Result<Option<Self::Version>>;

    /// Reads the table for a function with this name.
    ///
    /// # Errors
    ///
    /// If loading fails; the message names the function.
    fn load<D: Database + ?Sized>(function: &str, database: &D) -> Result<Self>;

    /// The data for a call that reading the table makes, because the table is a view that calls the
    /// function. `None` makes the call an error.
    fn while_loading() -> Option<Self> {
        None
    }
}

/// The shared data of the functions of one connection: the current version of the table, and the
/// versions of statements that began earlier.
///
/// ```
/// use std::ops::ControlFlow;
/// use rusqlite::Connection;
/// use timebase_sql::{Answer, Call, Database, Function, Functions, Result, Session, Table};
///
/// /// The sum of a table's numbers, of which none is ever changed.
/// struct Sum(i64);
///
/// impl Table for Sum {
///     const NAME: &'static str = "numbers";
///     type Version = i64;
///
///     fn version<D: Database + ?Sized>(database: &D) -> Result<Option<i64>> {
///         let mut count = None;
///         let read = database.query("SELECT count(*) FROM numbers", |row| {
///             count = Some(row.integer(0, "count")?);
///             Ok(ControlFlow::Continue(()))
///         });
///         Ok(timebase_sql::unless_interrupted(read)?.and(count))
///     }
///
///     fn load<D: Database + ?Sized>(_function: &str, database: &D) -> Result<Self> {
///         let mut sum = 0;
///         database.query("SELECT number FROM numbers", |row| {
///             sum += row.integer(0, "number")?;
///             Ok(ControlFlow::Continue(()))
///         })?;
///         Ok(Sum(sum))
///     }
/// }
///
/// struct SumOfNumbers(Session<Sum>);
///
/// impl Function for SumOfNumbers {
///     fn call<C: Call>(&self, call: &C) -> Result<Answer> {
///         self.0.with("sum_of_numbers", call, |sum| sum.0.into())
///     }
/// }
///
/// let conn = Connection::open_in_memory()?;
/// conn.execute_batch("CREATE TABLE numbers (number); INSERT INTO numbers VALUES (1), (2)")?;
/// (&conn).add("sum_of_numbers", 0, SumOfNumbers(Session::default())).unwrap();
/// let ask = || conn.query_row("SELECT sum_of_numbers()", [], |row| row.get::<_, i64>(0));
/// assert_eq!(ask()?, 3);
/// conn.execute_batch("INSERT INTO numbers VALUES (5)")?;
/// assert_eq!(ask()?, 8);
/// # Ok::<(), rusqlite::Error>(())
/// ```
pub struct Session<T: Table>(Arc<Mutex<Versions<T>>>);

impl<T: Table> Default for Session<T> {
    fn default() -> Self {
        Session(Arc::default())
    }
}

impl<T: Table> Clone for Session<T> {
    fn clone(&self) -> Self {
        Session(Arc::clone(&self.0))
    }
}

impl<T: Table> fmt::Debug for Session<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Session").field(&T::NAME).finish()
    }
}

struct Versions<T: Table>(Vec<Loaded<T>>);

impl<T: Table> Default for Versions<T> {
    fn default() -> Self {
        Versions(Vec::new())
    }
}

/// One version of the table.
struct Loaded<T: Table> {
    /// Statements that see this version have it, too.
    mark: Arc<Mark>,
    version: Option<T::Version>,
    table: T,
}

impl<T: Table> Session<T> {
    const KEY: Key = Key::of(T::NAME);

    /// Calls `answer` with the calling statement's version of the table.
    ///
    /// # Errors
    ///
    /// If loading the table fails, or if loading it makes this call.
    #[inline]
    pub fn with<C: Call, R>(
        &self,
        function: &str,
        call: &C,
        answer: impl FnOnce(&mut T) -> R,
    ) -> Result<R> {
        let Some(mut versions) = self.lock() else {
            return while_loading(function, answer);
        };
        let mark = call.mark(Self::KEY);
        let is_seen = |loaded: &Loaded<T>| Arc::as_ptr(&loaded.mark) == mark;
        let loaded = match versions.0.iter().position(is_seen) {
            Some(seen) => &mut versions.0[seen],
            None => versions.begin(function, call)?,
        };
        Ok(answer(&mut loaded.table))
    }

    /// Calls `answer` with the current version of the table.
    ///
    /// # Errors
    ///
    /// As for [`with`](Session::with).
    pub fn now<D: Database + ?Sized, R>(
        &self,
        function: &str,
        database: &D,
        answer: impl FnOnce(&mut T) -> R,
    ) -> Result<R> {
        let Some(mut versions) = self.lock() else {
            return while_loading(function, answer);
        };
        Ok(answer(&mut versions.now(function, database)?.table))
    }

    /// The versions, for one call. SQLite only runs one call at a time in a connection, so if
    /// another call has them, it is reading the table now: `None`.
    fn lock(&self) -> Option<MutexGuard<'_, Versions<T>>> {
        match self.0.try_lock() {
            Ok(versions) => Some(versions),
            Err(TryLockError::Poisoned(poisoned)) => {
                // A call panicked, and may have left half of a change.
                let mut half = poisoned.into_inner();
                *half = Versions::default();
                self.0.clear_poison();
                Some(half)
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cold]
fn while_loading<T: Table, R>(function: &str, answer: impl FnOnce(&mut T) -> R) -> Result<R> {
    let table = T::NAME;
    let message = format_args!(
        "{function}(): {table} is defined by a call that reads {table}; define it without the call"
    );
    let mut loaded = T::while_loading().ok_or_else(|| Error::new(message))?;
    Ok(answer(&mut loaded))
}

impl<T: Table> Versions<T> {
    /// The version for a statement at its first call.
    #[cold]
    fn begin<C: Call>(&mut self, function: &str, call: &C) -> Result<&mut Loaded<T>> {
        let loaded = call.with_database(|database| self.now(function, database))?;
        call.set_mark(Session::<T>::KEY, Arc::clone(&loaded.mark));
        Ok(loaded)
    }

    fn now<D: Database + ?Sized>(
        &mut self,
        function: &str,
        database: &D,
    ) -> Result<&mut Loaded<T>> {
        let version = T::version(database)?;
        let is_now = |loaded: &Loaded<T>| version.is_some() && loaded.version == version;
        // If a mark has other owners, a statement still sees the version.
        self.0.retain(|loaded| is_now(loaded) || Arc::strong_count(&loaded.mark) > 1);
        let now = match self.0.iter().position(is_now) {
            Some(now) => now,
            None => {
                let table = T::load(function, database)?;
                self.0.push(Loaded { mark: Mark::new(), version, table });
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[now])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

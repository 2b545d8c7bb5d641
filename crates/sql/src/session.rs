//! What is made of a table, version by version: each statement sees one, from
//! its beginning to its end.
//!
//! # Design
//!
//! A statement that asks for the first time looks up which version the table has
//! now, loads it if the session does not have it, and keeps a [`Mark`] as auxiliary
//! data of SQLite's. Each further call compares the mark's address with those of the
//! versions in the session, of which there is more than one only while statements
//! run by turns with changes between them. SQLite drops the mark when the statement
//! ends or begins again; a version that no statement has the mark of, and that is
//! not of now, goes with the next load.
//!
//! Looking up the version in every call was the alternative; a statement of a
//! million calls would pay for it a million times.
//!
//! What was tried, with the section `sql` of the benchmark:
//!
//! * Instead of the [`Mutex`] a lock without poison, or nothing but a note that a
//!   call is under way: no difference beyond the spread of the measurement.
//! * The auxiliary data being what was loaded itself: no comparison, but a call
//!   would follow a pointer that anybody's function may have put there.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::function::Call;
use crate::mark::{Key, Mark};

/// What is made of a table of the database.
pub trait Table: Sized + Send + 'static {
    /// The table.
    const NAME: &'static str;

    /// What differs between two versions of the table.
    type Version: PartialEq + Send;

    /// Which version the table has now; `None` if it does not tell, so that what
    /// is made of it is only for the statement that asks.
    ///
    /// # Errors
    ///
    /// If the query for it [is interrupted](Error::is_interrupt), and for no other reason.
    fn version<D: Database + ?Sized>(database: &D) -> Result<Option<Self::Version>>;

    /// Reads the table for a function of this name.
    ///
    /// # Errors
    ///
    /// If nothing can be made of it; the message names the function.
    fn load<D: Database + ?Sized>(function: &str, database: &D) -> Result<Self>;

    /// What a call gets that reading the table makes: the table is a view that
    /// calls the function. `None`: an error.
    fn while_loading() -> Option<Self> {
        None
    }
}

/// What the functions of one connection share: the version of the table that is
/// now, and those of statements that began before.
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
    /// Statements that see this version have it too.
    mark: Arc<Mark>,
    version: Option<T::Version>,
    table: T,
}

impl<T: Table> Session<T> {
    const KEY: Key = Key::of(T::NAME);

    /// Calls `answer` with what the statement that calls sees of the table.
    ///
    /// # Errors
    ///
    /// If the table cannot be loaded, or this call is made by loading it.
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

    /// Calls `answer` with what the table is now.
    ///
    /// # Errors
    ///
    /// As of [`with`](Session::with).
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

    /// The versions, for one call. SQLite lets one call at a time into a connection,
    /// so one that has them already is what reads the table now: `None`.
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
    let message = format_args!("{function}(): {table} cannot be made of what is read from it");
    let mut loaded = T::while_loading().ok_or_else(|| Error::new(message))?;
    Ok(answer(&mut loaded))
}

impl<T: Table> Versions<T> {
    /// What a statement sees that asks for the first time.
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
        // A mark that statements have is in the hands of others.
        self.0
            .retain(|loaded| is_now(loaded) || Arc::strong_count(&loaded.mark) > 1);
        let now = match self.0.iter().position(is_now) {
            Some(now) => now,
            None => {
                let table = T::load(function, database)?;
                self.0.push(Loaded {
                    mark: Mark::new(),
                    version,
                    table,
                });
                self.0.len() - 1
            }
        };
        Ok(&mut self.0[now])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

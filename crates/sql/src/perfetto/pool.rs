//! Prepared statements that functions keep between their calls.
//!
//! # Design
//!
//! A function that is called a million times needs its statement prepared. SQLite's auxiliary data
//! ends with the calling statement, and the body of another function is such a statement: a
//! function inside of a function would be prepared again for each call, at 20 µs instead of 1 µs.
//! A function must not keep the statement itself, because SQLite refuses to close a connection that
//! has one. So a virtual table is connected first. SQLite disconnects it before it looks for
//! statements, and then the pool is emptied.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rusqlite::ffi;

use super::expand::Sql;
use super::prepared::Prepared;
use crate::error::{Error, Result};

/// The depth of functions that call functions (PQ5).
const DEPTH: usize = 1000;

/// The state that all functions of a connection share.
#[derive(Default)]
pub struct Pools {
    /// Whether statements can be kept now.
    is_open: AtomicBool,
    depth: AtomicUsize,
    /// The number of results so far that were handed out as NULL because they were not known yet.
    provisional: AtomicUsize,
    pools: Mutex<Vec<Weak<Pool>>>,
}

/// The statements of one function: one for each call that runs at the same time.
pub struct Pool {
    sql: Sql,
    shared: Arc<Pools>,
    free: Mutex<Vec<Prepared>>,
}

/// Locks, even if a panic came in between: every change is whole.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pools {
    pub fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// Drops all statements that no call is using. Those in use follow when the call ends.
    pub fn close(&self) {
        self.is_open.store(false, Ordering::Relaxed);
        let pools: Vec<Weak<Pool>> = std::mem::take(&mut *locked(&self.pools));
        for pool in pools.iter().filter_map(Weak::upgrade) {
            let free = std::mem::take(&mut *locked(&pool.free));
            drop(free);
            locked(&self.pools).push(Arc::downgrade(&pool));
        }
    }

    pub fn add(self: &Arc<Pools>, sql: Sql) -> Arc<Pool> {
        let pool = Arc::new(Pool { sql, shared: Arc::clone(self), free: Mutex::default() });
        let mut pools = locked(&self.pools);
        // Those of functions that were replaced.
        if pools.len() == pools.capacity() {
            pools.retain(|pool| pool.strong_count() > 0);
        }
        pools.push(Arc::downgrade(&pool));
        pool
    }

    /// Says that a function hands out a result that it does not know yet.
    pub fn hand_out_provisional(&self) {
        self.provisional.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of such results: if it stays the same, what was computed meanwhile is right.
    pub fn provisional(&self) -> usize {
        self.provisional.load(Ordering::Relaxed)
    }

    /// One call deeper, until the result is dropped.
    ///
    /// # Errors
    ///
    /// If that is too deep.
    pub fn enter(self: &Arc<Pools>, function: &str) -> Result<Deeper> {
        let depth = self.depth.fetch_add(1, Ordering::Relaxed);
        let deeper = Deeper(Arc::clone(self));
        if depth >= DEPTH {
            return Err(Error::new(format_args!(
                "{function}(): functions call each other more than {DEPTH} deep"
            )));
        }
        Ok(deeper)
    }
}

/// A call that is running.
pub struct Deeper(Arc<Pools>);

impl Drop for Deeper {
    fn drop(&mut self) {
        self.0.depth.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    /// The statement that it prepares.
    pub fn sql(&self) -> &Sql {
        &self.sql
    }

    /// A statement that no other call uses.
    ///
    /// # Safety
    ///
    /// `conn` is the connection of all statements of this pool, and open for as long as the result
    /// lives.
    ///
    /// # Errors
    ///
    /// If SQLite cannot prepare it.
    pub unsafe fn take(self: &Arc<Pool>, conn: *mut ffi::sqlite3) -> Result<Taken> {
        let kept = locked(&self.free).pop();
        let statement = match kept {
            Some(kept) => kept,
            None => {
                // SAFETY: by the contract of this function. A kept statement ends before the
                // connection, as the module says.
                let prepared = unsafe { Prepared::new(conn, &self.sql.text, true) };
                let prepared = prepared.map_err(|failure| failure.explained(&self.sql))?;
                prepared.ok_or_else(|| self.sql.explain("there is no statement", None))?
            }
        };
        Ok(Taken { statement: Some(statement), pool: Arc::clone(self) })
    }
}

/// A statement in use. Dropping this gives it back.
pub struct Taken {
    /// `None` only while it is dropped.
    statement: Option<Prepared>,
    pool: Arc<Pool>,
}

impl Deref for Taken {
    type Target = Prepared;

    #[allow(clippy::unreachable)]
    fn deref(&self) -> &Prepared {
        match &self.statement {
            Some(statement) => statement,
            None => unreachable!("it is given back when this is dropped"),
        }
    }
}

impl DerefMut for Taken {
    #[allow(clippy::unreachable)]
    fn deref_mut(&mut self) -> &mut Prepared {
        match &mut self.statement {
            Some(statement) => statement,
            None => unreachable!("it is given back when this is dropped"),
        }
    }
}

impl AsRef<Prepared> for Taken {
    fn as_ref(&self) -> &Prepared {
        self
    }
}

impl AsMut<Prepared> for Taken {
    fn as_mut(&mut self) -> &mut Prepared {
        self
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(mut statement) = self.statement.take() {
            statement.reset();
            if self.pool.shared.is_open.load(Ordering::Relaxed) {
                locked(&self.pool.free).push(statement);
            }
        }
    }
}

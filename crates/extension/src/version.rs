//! `timebase_version()`, and the connections that have the functions.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use timebase_sql::{Answer, Call, Function, Functions, Result};

/// Returns the version of timebase.
struct Version {
    /// The connection that has the functions, until it closes; `None` if no SQLite has loaded the
    /// library.
    _loaded: Option<Loaded>,
}

impl Function for Version {
    fn call<C: Call>(&self, _: &C) -> Result<Answer> {
        Ok(env!("CARGO_PKG_VERSION").into())
    }
}

/// Adds it to a connection, which then counts as having the functions, or to a list.
pub fn add(to: &mut impl Functions, loaded: Option<Loaded>) -> Result<()> {
    to.add("timebase_version", 0, Version { _loaded: loaded })
}

/// The addresses of the connections that have the functions.
static CONNECTIONS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn connections() -> MutexGuard<'static, BTreeSet<usize>> {
    CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records that a connection has the functions. One of the functions owns this, so it is dropped
/// when the connection closes, before another connection can have the same address.
pub struct Loaded(usize);

impl Loaded {
    /// `None` if the connection already has the functions.
    pub fn new(conn: &Connection) -> Option<Loaded> {
        // SAFETY: only the address is used.
        let address = unsafe { conn.handle() }.addr();
        let is_new = connections().insert(address);
        is_new.then(|| Loaded(address))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        connections().remove(&self.0);
    }
}

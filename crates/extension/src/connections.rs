//! The connections that have the functions.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

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

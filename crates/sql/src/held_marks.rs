//! Prepared queries that outlive the statement for which they were prepared.
//!
//! # Design
//!
//! A function keeps its query in the calling statement (`lookup.rs`). If the body of a function of
//! PerfettoSQL calls it, that statement ends with each call, and the query would be prepared again
//! for each row: for `chrome.tasks` this was nine tenths of the time. A connection with such bodies
//! has a virtual table that SQLite disconnects before it closes the connection. So the query may live
//! until then, and this list knows which connections have one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::ffi;

use crate::mark::Mark;

/// The marks of a connection, by the address of the connection.
struct Held {
    conn: usize,
    marks: Vec<Arc<Mark>>,
}

/// The connections that hold marks.
static CONNECTIONS: Mutex<Vec<Held>> = Mutex::new(Vec::new());

fn connections() -> MutexGuard<'static, Vec<Held>> {
    CONNECTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a connection hold marks, until [`end`].
pub fn begin(conn: *mut ffi::sqlite3) {
    let conn = conn.addr();
    let mut connections = connections();
    if !connections.iter().any(|held| held.conn == conn) {
        let marks = Vec::new();
        connections.push(Held { conn, marks });
    }
}

/// Drops the marks of a connection, before it closes.
pub fn end(conn: *mut ffi::sqlite3) {
    let conn = conn.addr();
    let mut all = connections();
    let place = all.iter().position(|held| held.conn == conn);
    let ended = place.map(|place| all.swap_remove(place));
    drop(all);
    // Ends their queries, after the lock.
    drop(ended);
}

/// Holds a mark, if its connection can.
pub fn hold(conn: *mut ffi::sqlite3, mark: &Arc<Mark>) {
    let conn = conn.addr();
    let mut connections = connections();
    if let Some(held) = connections.iter_mut().find(|held| held.conn == conn)
        && !held.marks.iter().any(|known| Arc::ptr_eq(known, mark))
    {
        held.marks.push(Arc::clone(mark));
    }
}

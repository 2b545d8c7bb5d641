//! The schema of a connection, kept in step with its table `descriptor`.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, TryLockError};

use rusqlite::functions::Context;
use rusqlite::{Connection, Result};

use super::sql_error;
use crate::pool::Pool;

const VERSION: &str = "SELECT count(*), max(id) FROM main.descriptor";
const DESCRIPTORS: &str = "SELECT id, data FROM main.descriptor ORDER BY id";

/// The key of what a statement as a whole keeps: negative, as SQLite has it for
/// auxiliary data that belongs to no argument, and our own.
const STATEMENT: c_int = -1_684_369_251;

/// The session that the functions of one connection share.
pub(super) type SharedSession = Arc<Mutex<Session>>;

/// How many rows the table has, and the last; `None` without a table.
type Version = Option<(i64, Option<i64>)>;

/// The schema that was last used, and what it was made from.
#[derive(Debug, Default)]
pub(super) struct Session {
    loaded: Option<(Version, Pool)>,
}

/// The schema that a statement uses.
pub(super) fn statement_pool(
    function: &'static str,
    ctx: &Context<'_>,
    session: &SharedSession,
) -> Result<Arc<Pool>> {
    if let Some(pool) = ctx.get_aux::<Pool>(STATEMENT)? {
        return Ok(pool);
    }
    // SAFETY: the connection that calls a function is open while it does, and
    // the reference does not leave this function.
    let conn = unsafe { ctx.get_connection() }?;
    let pool = match session.try_lock() {
        Ok(mut session) => session.up_to_date(function, &conn)?,
        Err(TryLockError::Poisoned(session)) => session.into_inner().up_to_date(function, &conn)?,
        // SQLite lets one thread at a time use a connection, so the lock is our
        // own: `descriptor` is a view that calls this function.
        Err(TryLockError::WouldBlock) => Pool::perfetto(),
    };
    ctx.set_aux(STATEMENT, pool)
}

impl Session {
    fn up_to_date(&mut self, function: &str, conn: &Connection) -> Result<Pool> {
        let version: Version = conn
            .query_row(VERSION, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .ok();
        if let Some((loaded, pool)) = &self.loaded
            && *loaded == version
        {
            return Ok(pool.clone());
        }
        let mut pool = Pool::perfetto();
        if version.is_some() {
            extend(&mut pool, function, conn)?;
        }
        self.loaded = Some((version, pool.clone()));
        Ok(pool)
    }
}

fn extend(pool: &mut Pool, function: &str, conn: &Connection) -> Result<()> {
    // Some other program's table of this name extends nothing.
    let Ok(mut statement) = conn.prepare(DESCRIPTORS) else {
        return Ok(());
    };
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let unusable = |why: &dyn std::fmt::Display| {
            sql_error(format!(
                "{function}(): descriptor {id} cannot be used: {why}"
            ))
        };
        let data = row.get_ref(1)?.as_blob().map_err(|why| unusable(&why))?;
        pool.extend(data).map_err(|why| unusable(&why))?;
    }
    Ok(())
}

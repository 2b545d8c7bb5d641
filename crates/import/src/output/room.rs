//! The room that SQLite has for writing if the size of the database is limited.

use rusqlite::Connection;
use timebase_store::sort::Quota;

use crate::error::WriteError;

/// The largest size of an index entry with two integers and the number of the row, including its
/// header in SQLite's temporary files.
const ENTRY: u64 = 40;

/// SQLite merges sorted entries from one temporary file to another, and then into the index.
const COPIES: u64 = 3;

/// The pages that SQLite adds to a database, counted.
pub(crate) struct Room<'q> {
    quota: &'q Quota,
    /// The number of pages that are counted.
    pages: u64,
    page_size: u64,
}

impl<'q> Room<'q> {
    /// The room of a database whose bytes are counted.
    pub fn new(conn: &Connection, quota: &'q Quota) -> rusqlite::Result<Self> {
        let room = Room {
            quota,
            pages: pragma(conn, "page_count")?,
            page_size: pragma(conn, "page_size")?,
        };
        room.tell(conn)?;
        Ok(room)
    }

    /// Sets SQLite's limit on pages.
    fn tell(&self, conn: &Connection) -> rusqlite::Result<()> {
        if let Some(left) = self.quota.left() {
            // 0 would change nothing.
            let most = (self.pages + left / self.page_size.max(1)).max(1);
            pragma(conn, &format!("max_page_count = {most}"))?;
        }
        Ok(())
    }

    /// Counts the pages that were added.
    fn count(&mut self, conn: &Connection) -> Result<(), WriteError> {
        let pages = pragma(conn, "page_count")?;
        let added = pages.saturating_sub(self.pages);
        self.quota.take(added * self.page_size)?;
        self.pages = pages;
        Ok(())
    }

    /// Runs work for which SQLite has to sort this number of entries.
    pub fn sorting<T>(
        &mut self,
        conn: &Connection,
        entries: u64,
        work: impl FnOnce() -> rusqlite::Result<T>,
    ) -> Result<T, WriteError> {
        self.count(conn)?;
        let aside = entries.saturating_mul(ENTRY * COPIES);
        self.quota.take(aside)?;
        self.tell(conn)?;
        let done = work();
        self.quota.give_back(aside);
        self.tell(conn)?;
        Ok(done?)
    }

    /// Whether a database has reached its limit on pages.
    pub fn is_full(conn: &Connection) -> bool {
        let is_full = || -> rusqlite::Result<bool> {
            Ok(pragma(conn, "page_count")? >= pragma(conn, "max_page_count")?)
        };
        is_full().unwrap_or(false)
    }
}

fn pragma(conn: &Connection, pragma: &str) -> rusqlite::Result<u64> {
    let value: i64 = conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?;
    Ok(value.unsigned_abs())
}

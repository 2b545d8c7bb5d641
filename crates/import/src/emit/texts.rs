//! The texts of a database, by their numbers in `string`.

use rusqlite::{Connection, OptionalExtension, Statement};

/// So many texts stay in memory, because names repeat.
const KEPT: usize = 4096;

/// Reads texts, and keeps those that were read last.
pub(crate) struct Texts<'c> {
    statement: Statement<'c>,
    kept: std::collections::HashMap<i64, Box<str>>,
}

impl<'c> Texts<'c> {
    /// # Errors
    ///
    /// If the database has no texts.
    pub fn new(conn: &'c Connection) -> rusqlite::Result<Texts<'c>> {
        let statement = conn.prepare("SELECT value FROM string WHERE id = ?1")?;
        Ok(Texts { statement, kept: std::collections::HashMap::new() })
    }

    /// The text of a number.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn get(&mut self, id: Option<i64>) -> rusqlite::Result<Option<&str>> {
        let Some(id) = id else { return Ok(None) };
        if !self.kept.contains_key(&id) {
            if self.kept.len() >= KEPT {
                self.kept.clear();
            }
            let text: Option<String> =
                self.statement.query_row([id], |row| row.get(0)).optional()?;
            let Some(text) = text else { return Ok(None) };
            self.kept.insert(id, text.into());
        }
        Ok(self.kept.get(&id).map(AsRef::as_ref))
    }
}

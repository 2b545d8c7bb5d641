//! Rows out of SQLite, in chunks.

use rusqlite::Statement;

use crate::chunk::Chunk;
use crate::columns::Column;
use crate::error::Error;

/// A statement that is asked, and what it is called in errors.
pub(crate) struct Source<'a> {
    pub table: &'a str,
    pub columns: &'a [Column],
    /// What can be done about a value of a wrong type.
    pub advice: &'static str,
}

impl Source<'_> {
    /// Steps through all rows, and hands over each chunk that is full, and the last one if it has any. Tells
    /// how many there were.
    pub fn read(
        &self,
        statement: &mut Statement<'_>,
        mut take: impl FnMut(Chunk) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let unreadable = |error| self.unreadable(error);
        let mut rows = statement.raw_query();
        let mut before = 0;
        let mut chunk = Chunk::new(self.columns, before);
        while let Some(row) = rows.next().map_err(unreadable)? {
            let pushed = chunk.push(self.columns, |index| row.get_ref(index));
            if let Err(misfit) = pushed.map_err(unreadable)? {
                let row = before + chunk.rows as u64 + 1;
                return Err(self.misfit(misfit.column, row, misfit.found));
            }
            if chunk.is_full() {
                before += chunk.rows as u64;
                let next = Chunk::new(self.columns, before);
                take(std::mem::replace(&mut chunk, next))?;
            }
        }
        before += chunk.rows as u64;
        if chunk.rows > 0 {
            take(chunk)?;
        }
        Ok(before)
    }

    fn unreadable(&self, error: rusqlite::Error) -> Error {
        Error::Unreadable {
            table: self.table.to_owned(),
            error,
        }
    }

    fn misfit(&self, column: usize, row: u64, found: &'static str) -> Error {
        let column = self.columns.get(column);
        Error::Misfit {
            table: self.table.to_owned(),
            column: column.map_or_else(String::new, |column| column.name.clone()),
            row,
            found,
            expected: column.map_or("", |column| column.kind.name()),
            advice: self.advice.to_owned(),
        }
    }
}

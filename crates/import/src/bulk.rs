//! Tables that are built page by page. What that gains is in the crate
//! `timebase-btree`.

use std::path::Path;

use timebase_btree::{Database, IndexBuilder, TableBuilder, Value};

use crate::error::WriteError;
use crate::rows::{Index, On, Rows, Table};
use crate::writer::Roots;

/// A table that is being filled, with its indexes.
pub(crate) struct BulkTable {
    table: TableBuilder,
    indexes: Vec<BulkIndex>,
    rows: u64,
}

struct BulkIndex {
    index: &'static Index,
    root: u32,
    entries: Entries,
    /// How many rows may get another value (rule D2).
    waiting: u64,
}

enum Entries {
    One(IndexBuilder<1>),
    Two(IndexBuilder<2>),
}

impl BulkTable {
    /// A table that the database has, and that is empty there. What has to be
    /// sorted is kept in `directory`.
    pub fn new(
        database: &mut Database,
        roots: &Roots,
        table: &Table,
        directory: &Path,
    ) -> Result<Self, WriteError> {
        let mut indexes = Vec::new();
        for index in table.indexes {
            indexes.push(BulkIndex {
                index,
                root: roots.of(index.name),
                entries: match index.on {
                    On::One(_) => Entries::One(IndexBuilder::new(directory)),
                    On::Two(..) => Entries::Two(IndexBuilder::new(directory)),
                },
                waiting: 0,
            });
        }
        Ok(BulkTable {
            table: TableBuilder::new(database, roots.of(table.name))?,
            indexes,
            rows: 0,
        })
    }

    /// Adds a row. The first of `values`, which is the rowid's column, is NULL.
    #[inline]
    pub fn push(
        &mut self,
        database: &mut Database,
        rowid: i64,
        values: &[Value<'_>],
    ) -> Result<(), WriteError> {
        self.table.push(database, rowid, values)?;
        self.rows += 1;
        for index in &mut self.indexes {
            index.push(rowid, values)?;
        }
        Ok(())
    }

    /// Writes what is left, and tells which indexes are still empty: those of
    /// tables that will change so much that SQLite makes them faster afterwards
    /// than it would change them.
    pub fn finish(self, database: &mut Database) -> Result<Vec<&'static str>, WriteError> {
        self.table.finish(database)?;
        let mut postponed = Vec::new();
        for index in self.indexes {
            // Changing an entry takes about as long as making eight.
            if index.waiting > self.rows / 8 {
                postponed.push(index.index.name);
                continue;
            }
            match index.entries {
                Entries::One(entries) => entries.write(database, index.root)?,
                Entries::Two(entries) => entries.write(database, index.root)?,
            }
        }
        Ok(postponed)
    }
}

impl BulkIndex {
    #[inline]
    fn push(&mut self, rowid: i64, values: &[Value<'_>]) -> Result<(), WriteError> {
        let number = |column: usize| match values.get(column) {
            _ if column == 0 => Some(rowid),
            Some(Value::Integer(value)) => Some(*value),
            _ => None,
        };
        let is_null = |column: usize| matches!(values.get(column), None | Some(Value::Null));
        let (On::One(first) | On::Two(first, _)) = self.index.on;
        match self.index.rows {
            Rows::With(column) if is_null(column) => return Ok(()),
            Rows::With(_) => {}
            Rows::All { waiting } => {
                self.waiting += u64::from(is_null(first) && !is_null(waiting));
            }
        }
        match (&mut self.entries, self.index.on) {
            (Entries::One(entries), _) => entries.push([number(first)], rowid)?,
            (Entries::Two(entries), On::Two(_, second)) => {
                entries.push([number(first), number(second)], rowid)?;
            }
            (Entries::Two(_), On::One(_)) => {}
        }
        Ok(())
    }
}

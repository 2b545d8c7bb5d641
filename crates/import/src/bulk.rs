//! Tables of numbers that are built page by page, beside SQLite, and become part
//! of the database when all rows are there. What that gains is in the crate
//! `timebase-btree`.

use std::path::Path;

use rusqlite::Connection;
use timebase_btree::{Database, IndexBuilder, PageSize, TableBuilder, Value};

use crate::error::WriteError;
use crate::rows::{Bulk, Cell, Table};

/// One such table.
pub(crate) struct BulkTable {
    table: TableBuilder,
    root: u32,
    index: IndexBuilder<2>,
    index_root: u32,
    indexed: [usize; 2],
    columns: usize,
    values: Vec<Value>,
}

impl BulkTable {
    /// A table that the database has, and that is empty there.
    pub fn new(
        conn: &Connection,
        table: &Table,
        bulk: &Bulk,
        directory: &Path,
    ) -> Result<Self, WriteError> {
        let page_size = conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let root = |name: &str| {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
            conn.query_row(sql, [name], |row| row.get(0))
        };
        Ok(BulkTable {
            table: TableBuilder::new(PageSize::new(page_size)?, directory)?,
            root: root(table.name)?,
            index: IndexBuilder::new(directory)?,
            index_root: root(bulk.index)?,
            indexed: bulk.indexed,
            columns: table.columns.len(),
            values: Vec::new(),
        })
    }

    /// Adds rows.
    pub fn add(&mut self, cells: &[Cell]) -> Result<(), WriteError> {
        for row in cells.chunks_exact(self.columns) {
            let rowid = integer(row[0]).unwrap_or_default();
            self.values.clear();
            // The rowid stands outside of the record.
            self.values.push(Value::Null);
            self.values.extend(row[1..].iter().map(|cell| match *cell {
                Cell::Integer(value) => Value::Integer(value),
                Cell::Real(value) => Value::Real(value),
                Cell::Null | Cell::Text { .. } | Cell::Blob { .. } => Value::Null,
            }));
            self.table.push(rowid, &self.values)?;
            let key = self.indexed.map(|column| integer(row[column]));
            self.index.push(key, rowid)?;
        }
        Ok(())
    }
}

fn integer(cell: Cell) -> Option<i64> {
    match cell {
        Cell::Integer(value) => Some(value),
        _ => None,
    }
}

/// Makes the tables part of the database, which nobody has open.
pub(crate) fn build(path: &Path, tables: Vec<BulkTable>) -> Result<(), WriteError> {
    let mut database = Database::open(path)?;
    for bulk in tables {
        database.table(bulk.root, bulk.table)?;
        database.index(bulk.index_root, bulk.index)?;
    }
    Ok(database.finish()?)
}

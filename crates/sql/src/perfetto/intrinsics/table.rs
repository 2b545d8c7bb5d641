//! A table that an intrinsic hands to `__intrinsic_table_ptr`.

use std::sync::Arc;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use crate::{Error, Result};

use super::pointer::{Handed, kind};

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Arc<str>),
}

impl Cell {
    /// A copy of an argument.
    ///
    /// # Errors
    ///
    /// For a blob, as in trace processor.
    pub fn of(value: ValueRef<'_>, function: &str) -> Result<Cell> {
        Ok(match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(value) => Cell::Integer(value),
            ValueRef::Real(value) => Cell::Real(value),
            ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into()),
            ValueRef::Blob(_) => {
                return Err(Error::new(format_args!(
                    "{function}(): a value must be a number, a text or NULL, not a blob; convert \
                     it with hex() or CAST"
                )));
            }
        })
    }

    /// The bytes that it takes, for a budget.
    pub fn size(&self) -> usize {
        match self {
            Cell::Text(text) => size_of::<Cell>().saturating_add(text.len()).saturating_add(16),
            _ => size_of::<Cell>(),
        }
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Integer(value) => ValueRef::Integer(*value),
            Cell::Real(value) => ValueRef::Real(*value),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// The values of a column.
#[derive(Debug)]
pub enum Column {
    /// All NULL.
    Nulls,
    Integers(Vec<i64>),
    Cells(Vec<Cell>),
}

/// Named columns of equal length.
#[derive(Debug)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
}

impl Handed for Table {
    const KIND: &'static std::ffi::CStr = kind!("table");
}

impl Table {
    /// A table of columns that all have `rows` values.
    pub fn new<N: Into<String>>(
        rows: usize,
        columns: impl IntoIterator<Item = (N, Column)>,
    ) -> Table {
        let columns = columns.into_iter();
        let (names, columns) = columns.map(|(name, column)| (name.into(), column)).unzip();
        Table { names, columns, rows }
    }

    /// A table of rows, of which each has a value for each name.
    pub fn of_rows(names: &[&str], rows: Vec<Vec<Cell>>) -> Table {
        let count = rows.len();
        let mut columns: Vec<Vec<Cell>> = names.iter().map(|_| Vec::with_capacity(count)).collect();
        for row in rows {
            let mut row = row.into_iter();
            for column in &mut columns {
                column.push(row.next().unwrap_or(Cell::Null));
            }
        }
        let columns = columns.into_iter().map(Column::Cells);
        Table::new(count, names.iter().copied().zip(columns))
    }

    /// A table without rows.
    pub fn empty(names: &[&str]) -> Table {
        Table::of_rows(names, Vec::new())
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The place of a column, by its exact name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// A value; NULL outside of the table.
    pub fn cell(&self, row: usize, column: usize) -> Cell {
        match self.columns.get(column) {
            Some(Column::Integers(values)) => {
                values.get(row).copied().map_or(Cell::Null, Cell::Integer)
            }
            Some(Column::Cells(cells)) => cells.get(row).cloned().unwrap_or(Cell::Null),
            Some(Column::Nulls) | None => Cell::Null,
        }
    }
}

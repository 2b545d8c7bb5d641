//! Lists of rows.
//!
//! | function | result |
//! |---|---|
//! | `__intrinsic_row_dataframe_agg(name, value, [name, value] …)` | the rows with these columns, in their order |

use std::ffi::c_int;

use rusqlite::Connection;

use crate::Result;

use super::call::{Call, Gather, gather};
use super::limits::Budget;
use super::pointer::{Handed, kind};
use super::table::{Cell, Column, Table};

pub fn register(conn: &Connection) -> rusqlite::Result<()> {
    gather::<Gathered>(conn)
}

/// Rows with names of columns.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    names: Vec<String>,
    /// Row after row.
    cells: Vec<Cell>,
}

impl Handed for Rows {
    const KIND: &'static std::ffi::CStr = kind!("rows");
}

impl Rows {
    /// No rows yet.
    pub fn new(names: Vec<String>) -> Rows {
        Rows { names, cells: Vec::new() }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Adds a row, which has a value for each name.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let end = self.cells.len().saturating_add(self.names.len());
        self.cells.extend(row);
        self.cells.resize(end, Cell::Null);
    }

    pub fn iter(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunks_exact(self.names.len().max(1))
    }

    pub fn table(self) -> Table {
        let width = self.names.len().max(1);
        let count = self.cells.len() / width;
        let mut columns = vec![Vec::with_capacity(count); self.names.len()];
        for (index, cell) in self.cells.into_iter().enumerate() {
            if let Some(column) = columns.get_mut(index % width) {
                column.push(cell);
            }
        }
        let columns = columns.into_iter().map(Column::Cells);
        Table::new(count, self.names.into_iter().zip(columns))
    }
}

struct Gathered {
    rows: Rows,
    budget: Budget,
}

impl Gather for Gathered {
    const NAME: &'static str = "__intrinsic_row_dataframe_agg";
    const COUNT: c_int = -1;
    type Output = Rows;

    fn start() -> Gathered {
        Gathered { rows: Rows::default(), budget: Budget::new(Self::NAME) }
    }

    fn add(&mut self, call: Call<'_, '_>) -> Result<()> {
        let count = call.count();
        if count < 2 || !count.is_multiple_of(2) {
            return Err(call.error("it takes a name and a value for each column"));
        }
        if self.rows.names.is_empty() {
            let names = (0..count).step_by(2).map(|index| call.text(index, "name"));
            self.rows.names = names.map(|name| name.map(str::to_owned)).collect::<Result<_>>()?;
        }
        let mut row = Vec::with_capacity(count / 2);
        for index in (1..count).step_by(2) {
            let cell = Cell::of(call.value(index), Self::NAME)?;
            self.budget.take(cell.size())?;
            row.push(cell);
        }
        self.rows.push(row);
        Ok(())
    }

    fn end(self, _call: Call<'_, '_>) -> Result<Rows> {
        Ok(self.rows)
    }
}

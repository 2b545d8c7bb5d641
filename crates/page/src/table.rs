//! Rows of a result, as many as a page can show.

use maud::{Markup, html};
use rusqlite::types::ValueRef;
use rusqlite::{Rows, Statement};

use crate::text::{count, counted, shown};

/// Up to this many further rows are counted.
const COUNTED: u64 = 100_000;

/// The number of bytes that are read of a text; the page shows fewer.
const BYTES: usize = 1024;

/// A value on the page.
#[derive(Debug)]
enum Cell {
    Null,
    Number(String),
    Text(String),
}

/// The result of a query: its first rows, and the number of further rows.
///
/// ```
/// use rusqlite::Connection;
/// use timebase_page::Table;
///
/// let database = Connection::open_in_memory()?;
/// let mut statement = database.prepare("SELECT value AS number FROM json_each('[1, 2, 3]')")?;
/// let table = Table::read(&mut statement, Some("Numbers"), 2)?;
/// assert_eq!((table.rows(), table.more()), (2, 1));
/// # Ok::<(), rusqlite::Error>(())
/// ```
#[derive(Debug)]
pub struct Table {
    title: Option<String>,
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
    more: u64,
}

impl Table {
    /// Reads the rows of a statement with bound parameters. Rows after the first `most` are only
    /// counted, up to a limit.
    ///
    /// # Errors
    ///
    /// If SQLite cannot run the statement.
    pub fn read(
        statement: &mut Statement<'_>,
        title: Option<&str>,
        most: usize,
    ) -> rusqlite::Result<Table> {
        let columns = statement.column_names().map(shown).collect();
        let mut table = Table { title: title.map(shown), columns, rows: Vec::new(), more: 0 };
        table.fill(statement.raw_query(), most)?;
        Ok(table)
    }

    fn fill(&mut self, mut rows: Rows<'_>, most: usize) -> rusqlite::Result<()> {
        while let Some(row) = rows.next()? {
            if self.rows.len() == most {
                self.more += 1;
                if self.more > COUNTED {
                    break;
                }
                continue;
            }
            let values = (0..self.columns.len()).map(|index| Ok(Cell::of(row.get_ref(index)?)));
            self.rows.push(values.collect::<rusqlite::Result<_>>()?);
        }
        Ok(())
    }

    /// The number of rows on the page.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The number of further rows, up to 100,001.
    pub fn more(&self) -> u64 {
        self.more
    }

    pub(crate) fn html(&self) -> Markup {
        html! {
            @if let Some(title) = &self.title { h4 { (title) } }
            @if self.rows.is_empty() {
                p.none { "Nothing." }
            } @else {
                div.wide { table {
                    thead { tr { @for column in &self.columns { th { (column) } } } }
                    tbody { @for row in &self.rows {
                        tr { @for cell in row { (cell.html()) } }
                    } }
                } }
            }
            @if self.more > COUNTED {
                p.none { "… and more than " (count(COUNTED)) " more." }
            } @else if self.more > 0 {
                p.none { "… and " (count(self.more)) " more." }
            }
        }
    }
}

impl Cell {
    fn of(value: ValueRef<'_>) -> Cell {
        match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Number(number.to_string()),
            ValueRef::Real(number) => Cell::Number(number.to_string()),
            ValueRef::Text(bytes) => {
                let start = bytes.get(..BYTES).unwrap_or(bytes);
                Cell::Text(shown(&String::from_utf8_lossy(start)))
            }
            ValueRef::Blob(bytes) => Cell::Text(counted(bytes.len() as u64, "byte", "bytes")),
        }
    }

    fn html(&self) -> Markup {
        match self {
            Cell::Null => html! { td.null { "–" } },
            Cell::Number(number) => html! { td.number { (number) } },
            Cell::Text(text) => html! { td { (text) } },
        }
    }
}

//! A table for a person to read.

use std::io::{self, Write};
use std::mem;

use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle,
    LineStyle, TableStyle, Width,
};
use rusqlite::types::ValueRef;

use super::{Sink, text};
use crate::escape::printable;

/// The number of rows that are laid out together. Only rows in memory determine the widths, and a
/// repeated header does no harm.
const BLOCK: usize = 1000;

/// The limit on bytes of text that are laid out together, if rows are long.
const BLOCK_BYTES: usize = 16 << 20;

/// Longer texts are abbreviated, with their length: nobody reads them in a table.
const TEXT: usize = 1 << 20;

/// Blobs longer than this are abbreviated ...
const BLOB: usize = 16;
/// ... to this many bytes, and their length.
const BLOB_START: usize = 12;

/// Wider rows are written upright, because widths of columns are numbers of 16 bits.
const WIDEST: usize = 60_000;

/// In a narrow terminal, the least width to which text is wrapped.
const LEAST_TEXT: u16 = 12;

/// ```text
///  a │ b
/// ───┼───
///  1 │ x
/// ```
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction('│'))
    .header_separator(LineStyle::none().fill('─').junction('┼'))
    .content_lines(ContentLineStyle::none().junction('│'));

pub struct Table<'out> {
    columns: Vec<String>,
    out: &'out mut dyn Write,
    /// The columns of the terminal, if it is one.
    terminal: Option<u16>,
    /// Whether rows are written upright even if they would fit.
    is_upright: bool,
    rows: Vec<Vec<Held>>,
    /// The number of bytes of `rows`.
    held: usize,
    /// The number of rows that were written before them.
    written: usize,
}

/// A value of a row that is not laid out yet.
enum Held {
    Null,
    Number(String),
    Text(String),
}

impl Held {
    /// The length of its longest line, in bytes.
    fn width(&self) -> usize {
        match self {
            Held::Null => 4,
            Held::Number(text) => text.len(),
            Held::Text(text) => text.split('\n').map(str::len).max().unwrap_or_default(),
        }
    }

    fn size(&self) -> usize {
        match self {
            Held::Null => 0,
            Held::Number(text) | Held::Text(text) => text.len(),
        }
    }
}

impl<'out> Table<'out> {
    pub fn new(
        columns: Vec<String>,
        terminal: Option<u16>,
        out: &'out mut dyn Write,
    ) -> Table<'out> {
        Table { columns, out, terminal, is_upright: false, rows: Vec::new(), held: 0, written: 0 }
    }

    /// A table that writes a line for each value.
    pub fn upright(columns: Vec<String>, out: &'out mut dyn Write) -> Table<'out> {
        Table { is_upright: true, ..Table::new(columns, None, out) }
    }

    fn write_block(&mut self) -> io::Result<()> {
        let rows = mem::take(&mut self.rows);
        self.held = 0;
        let before = self.written;
        self.written += rows.len();
        if self.is_upright || self.width(&rows) > WIDEST {
            return self.write_upright(&rows, before);
        }
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE).force_no_tty();
        if let Some(width) = self.terminal {
            table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width)
                .enforce_styling();
        }
        let is_numeric: Vec<bool> =
            (0..self.columns.len()).map(|index| is_numeric(&rows, index)).collect();
        let header = self.columns.iter().zip(&is_numeric);
        table.set_header(header.map(|(column, numeric)| cell(printable(column), *numeric)));
        for row in &rows {
            let values = row.iter().zip(&is_numeric);
            table.add_row(values.map(|(value, numeric)| match value {
                Held::Null => cell("NULL".to_owned(), *numeric).add_attribute(Attribute::Dim),
                Held::Number(number) => cell(number.clone(), true),
                Held::Text(text) => cell(text.clone(), false),
            }));
        }
        let contents = table.column_max_content_widths();
        let mut needed = 0;
        for ((column, numeric), content) in table.column_iter_mut().zip(is_numeric).zip(contents) {
            // A number on two lines cannot be read.
            let least = if numeric { content } else { content.min(LEAST_TEXT) };
            // The width includes the space on both sides of the column, and a line.
            needed += usize::from(least) + 3;
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least + 2)));
        }
        match self.terminal {
            Some(width) if needed > usize::from(width) + 1 && !rows.is_empty() => {
                self.write_upright(&rows, before)
            }
            _ => writeln!(self.out, "{table}"),
        }
    }

    /// The largest width of rows: a character has at least as many bytes as columns.
    fn width(&self, rows: &[Vec<Held>]) -> usize {
        let columns = self.columns.iter().enumerate();
        let widths = columns.map(|(index, name)| {
            let values = rows.iter().filter_map(|row| row.get(index));
            let widest = values.map(Held::width).max().unwrap_or_default();
            widest.max(name.len()) + 3
        });
        widths.sum()
    }

    /// Writes a line for each value, for rows that do not fit the terminal.
    fn write_upright(&mut self, rows: &[Vec<Held>], before: usize) -> io::Result<()> {
        let names: Vec<String> = self.columns.iter().map(|name| printable(name)).collect();
        let width = names.iter().map(|name| name.chars().count()).max();
        let width = width.unwrap_or_default();
        for (index, row) in rows.iter().enumerate() {
            writeln!(self.out, "── row {} ──", before + index + 1)?;
            for (name, value) in names.iter().zip(row) {
                let value = match value {
                    Held::Null => "NULL",
                    Held::Number(text) | Held::Text(text) => text,
                };
                let mut name = name.as_str();
                for line in value.split('\n') {
                    writeln!(self.out, "{name:>width$} │ {line}")?;
                    name = "";
                }
            }
        }
        Ok(())
    }
}

impl Sink for Table<'_> {
    fn row(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        if self.rows.len() == BLOCK || self.held >= BLOCK_BYTES {
            self.write_block()?;
        }
        let row: Vec<Held> = values.iter().copied().map(hold).collect();
        self.held += row.iter().map(Held::size).sum::<usize>();
        self.rows.push(row);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.rows.is_empty() && self.written > 0 {
            return Ok(());
        }
        self.write_block()
    }
}

fn hold(value: ValueRef<'_>) -> Held {
    match value {
        ValueRef::Null => Held::Null,
        ValueRef::Blob(bytes) if bytes.len() > BLOB => {
            Held::Text(format!("x'{}'… {} bytes", text::hex(&bytes[..BLOB_START]), bytes.len()))
        }
        value if text::is_number(value) => Held::Number(text::plain(value).into_owned()),
        // NULL is shown for a missing value.
        ValueRef::Text(b"NULL") => Held::Text("'NULL'".to_owned()),
        ValueRef::Text(bytes) if bytes.len() > TEXT => {
            let start = printable(&String::from_utf8_lossy(&bytes[..TEXT]));
            Held::Text(format!("{start}… {} bytes", bytes.len()))
        }
        value => Held::Text(printable(&text::plain(value))),
    }
}

/// Whether a column has only numbers and NULL.
fn is_numeric(rows: &[Vec<Held>], index: usize) -> bool {
    let mut values = rows.iter().filter_map(|row| row.get(index));
    values.clone().any(|value| matches!(value, Held::Number(_)))
        && values.all(|value| !matches!(value, Held::Text(_)))
}

fn cell(content: String, is_right: bool) -> Cell {
    let alignment = if is_right { CellAlignment::Right } else { CellAlignment::Left };
    Cell::new_owned(content).set_alignment(alignment)
}

//! A Markdown table, as GitHub reads it.

use std::io::{self, Write};

use rusqlite::types::ValueRef;

use super::{Sink, text};

pub struct Markdown<'out> {
    columns: Vec<String>,
    out: &'out mut dyn Write,
    has_header: bool,
}

impl<'out> Markdown<'out> {
    pub fn new(columns: Vec<String>, out: &'out mut dyn Write) -> Markdown<'out> {
        Markdown { columns, out, has_header: false }
    }

    /// Writes the header. The first row decides which columns are numbers, because the header has
    /// to say it before other rows are seen.
    fn header(&mut self, first: &[ValueRef<'_>]) -> io::Result<()> {
        self.has_header = true;
        for column in &self.columns {
            write!(self.out, "| {} ", escaped(column))?;
        }
        self.out.write_all(b"|\n")?;
        for index in 0..self.columns.len() {
            let is_number = first.get(index).is_some_and(|value| text::is_number(*value));
            write!(self.out, "| {} ", if is_number { "---:" } else { "---" })?;
        }
        self.out.write_all(b"|\n")
    }
}

impl Sink for Markdown<'_> {
    fn row(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        if !self.has_header {
            self.header(values)?;
        }
        for value in values {
            match value {
                ValueRef::Null => write!(self.out, "| NULL ")?,
                ValueRef::Text(b"NULL") => write!(self.out, "| 'NULL' ")?,
                value => write!(self.out, "| {} ", escaped(&text::plain(*value)))?,
            }
        }
        self.out.write_all(b"|\n")
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.has_header { Ok(()) } else { self.header(&[]) }
    }
}

/// A cell is one line, and a bar would end it.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace("\r\n", "<br>").replace('\n', "<br>")
}

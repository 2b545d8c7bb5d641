//! JSON: an array of objects, or an object a line.

use std::io::{self, Write};

use rusqlite::types::ValueRef;

use super::{Sink, text};

pub struct Json<'out> {
    /// The columns' names as JSON strings.
    keys: Vec<String>,
    out: &'out mut dyn Write,
    is_array: bool,
    is_empty: bool,
}

impl<'out> Json<'out> {
    pub fn array(columns: Vec<String>, out: &'out mut dyn Write) -> io::Result<Json<'out>> {
        out.write_all(b"[")?;
        Json::new(columns, out, true)
    }

    pub fn lines(columns: Vec<String>, out: &'out mut dyn Write) -> io::Result<Json<'out>> {
        Json::new(columns, out, false)
    }

    fn new(
        columns: Vec<String>,
        out: &'out mut dyn Write,
        is_array: bool,
    ) -> io::Result<Json<'out>> {
        let keys = distinct(columns)
            .iter()
            .map(|column| Ok(serde_json::to_string(column)?))
            .collect::<io::Result<_>>()?;
        Ok(Json {
            keys,
            out,
            is_array,
            is_empty: true,
        })
    }
}

impl Sink for Json<'_> {
    fn row(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        if self.is_array {
            let separator: &[u8] = if self.is_empty { b"\n" } else { b",\n" };
            self.out.write_all(separator)?;
        }
        self.is_empty = false;
        let mut separator = '{';
        for (key, value) in self.keys.iter().zip(values) {
            write!(self.out, "{separator}{key}:")?;
            write_value(*value, self.out)?;
            separator = ',';
        }
        self.out.write_all(b"}")?;
        if !self.is_array {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        match (self.is_array, self.is_empty) {
            (true, true) => self.out.write_all(b"]\n"),
            (true, false) => self.out.write_all(b"\n]\n"),
            (false, _) => Ok(()),
        }
    }
}

fn write_value(value: ValueRef<'_>, out: &mut dyn Write) -> io::Result<()> {
    match value {
        ValueRef::Null => out.write_all(b"null"),
        ValueRef::Integer(number) => write!(out, "{number}"),
        // JSON's grammar has no infinity, but readers make one of this.
        ValueRef::Real(number) if number == f64::INFINITY => out.write_all(b"1e999"),
        ValueRef::Real(number) if number == f64::NEG_INFINITY => out.write_all(b"-1e999"),
        ValueRef::Real(number) => Ok(serde_json::to_writer(out, &number)?),
        ValueRef::Text(bytes) => Ok(serde_json::to_writer(out, &String::from_utf8_lossy(bytes))?),
        ValueRef::Blob(bytes) => write!(out, "\"{}\"", text::hex(bytes)),
    }
}

/// A second `id` becomes `id:1`, as SQLite names the columns of a subquery:
/// of equal keys in an object most readers keep only one.
fn distinct(columns: Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for column in columns {
        let mut name = column.clone();
        let mut number = 0;
        while names.contains(&name) {
            number += 1;
            name = format!("{column}:{number}");
        }
        names.push(name);
    }
    names
}

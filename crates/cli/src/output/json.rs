//! JSON: an array of objects, or an object on each line.

use std::io::{self, Write};

use rusqlite::types::ValueRef;

use super::{Sink, text};

pub struct Json<'out> {
    /// The columns' names as JSON strings.
    keys: Vec<String>,
    out: &'out mut dyn Write,
    /// The text before the object of a row.
    before_row: String,
    /// The text between rows.
    between_rows: &'static str,
    after_row: &'static str,
    /// The end of a result with rows, and of a result without.
    end: [&'static str; 2],
    is_empty: bool,
}

impl<'out> Json<'out> {
    /// An array of rows.
    pub fn array(columns: Vec<String>, out: &'out mut dyn Write) -> io::Result<Json<'out>> {
        out.write_all(b"[")?;
        Ok(Json {
            before_row: "\n".to_owned(),
            between_rows: ",",
            after_row: "",
            end: ["\n]\n", "]\n"],
            ..Json::lines(columns, out)?
        })
    }

    /// An array of rows in an object that also has the title.
    pub fn titled_array(
        title: Option<&str>,
        columns: Vec<String>,
        out: &'out mut dyn Write,
    ) -> io::Result<Json<'out>> {
        let title = serde_json::to_string(&title)?;
        write!(out, "{{\"title\":{title},\"rows\":")?;
        Ok(Json { end: ["\n]}", "]}"], ..Json::array(columns, out)? })
    }

    /// A row on each line.
    pub fn lines(columns: Vec<String>, out: &'out mut dyn Write) -> io::Result<Json<'out>> {
        let keys = distinct(columns)
            .iter()
            .map(|column| Ok(serde_json::to_string(column)?))
            .collect::<io::Result<_>>()?;
        Ok(Json {
            keys,
            out,
            before_row: String::new(),
            between_rows: "",
            after_row: "\n",
            end: ["", ""],
            is_empty: true,
        })
    }

    /// A row on each line, with the title in each.
    pub fn titled_lines(
        title: Option<&str>,
        columns: Vec<String>,
        out: &'out mut dyn Write,
    ) -> io::Result<Json<'out>> {
        let title = serde_json::to_string(&title)?;
        Ok(Json {
            before_row: format!("{{\"title\":{title},\"row\":"),
            after_row: "}\n",
            ..Json::lines(columns, out)?
        })
    }
}

impl Sink for Json<'_> {
    fn row(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        if !self.is_empty {
            self.out.write_all(self.between_rows.as_bytes())?;
        }
        self.is_empty = false;
        self.out.write_all(self.before_row.as_bytes())?;
        let mut separator = '{';
        for (key, value) in self.keys.iter().zip(values) {
            write!(self.out, "{separator}{key}:")?;
            write_value(*value, self.out)?;
            separator = ',';
        }
        self.out.write_all(b"}")?;
        self.out.write_all(self.after_row.as_bytes())
    }

    fn show(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        let [with_rows, without] = self.end;
        let end = if self.is_empty { without } else { with_rows };
        self.out.write_all(end.as_bytes())
    }
}

fn write_value(value: ValueRef<'_>, out: &mut dyn Write) -> io::Result<()> {
    match value {
        ValueRef::Null => out.write_all(b"null"),
        ValueRef::Integer(number) => write!(out, "{number}"),
        // JSON's grammar has no infinity, but readers convert this number to infinity.
        ValueRef::Real(number) if number == f64::INFINITY => out.write_all(b"1e999"),
        ValueRef::Real(number) if number == f64::NEG_INFINITY => out.write_all(b"-1e999"),
        ValueRef::Real(number) => Ok(serde_json::to_writer(out, &number)?),
        ValueRef::Text(bytes) => Ok(serde_json::to_writer(out, &String::from_utf8_lossy(bytes))?),
        ValueRef::Blob(bytes) => write!(out, "\"{}\"", text::hex(bytes)),
    }
}

/// Makes names different: a second `id` becomes `id:1`, as SQLite names the columns of a subquery.
/// Most readers keep only one of equal keys in an object.
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

//! CSV (RFC 4180, with line feeds).

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use rusqlite::types::ValueRef;

use super::{Sink, text};

pub struct Csv<'out> {
    writer: csv::Writer<&'out mut dyn Write>,
    /// The digits of an integer; kept, because most values are integers.
    digits: String,
}

impl<'out> Csv<'out> {
    pub fn new(columns: &[String], out: &'out mut dyn Write) -> io::Result<Csv<'out>> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(columns).map_err(io_error)?;
        let digits = String::new();
        Ok(Csv { writer, digits })
    }
}

impl Sink for Csv<'_> {
    fn row(&mut self, values: &[ValueRef<'_>]) -> io::Result<()> {
        for value in values {
            let field = match value {
                ValueRef::Integer(number) => {
                    self.digits.clear();
                    // Writing to a String cannot fail.
                    let _ = fmt::Write::write_fmt(&mut self.digits, format_args!("{number}"));
                    Cow::Borrowed(self.digits.as_str())
                }
                // A blob is written as in JSON.
                ValueRef::Blob(bytes) => Cow::Owned(text::hex(bytes)),
                value => text::plain(*value),
            };
            self.writer.write_field(field.as_bytes()).map_err(io_error)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(io_error)
    }

    fn show(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The error of writing, with its kind: a broken pipe has to be recognized.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

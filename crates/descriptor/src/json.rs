//! A message as JSON.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use crate::field::Value;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::contents::{Contents, Slot, Values};
use crate::scalar::{Scalar, scalar, unknown_scalar};
use crate::schema::{Field, MessageId, Schema};
use crate::unreadable::{MAX_DEPTH, MOST_JSON, Reason, Unreadable};

/// Writes messages to a text.
pub(crate) struct Writer<'p, 'b, 'o> {
    pub schema: &'p Schema,
    pub contents: Contents<'p, 'b>,
    out: &'o mut String,
}

impl<'p, 'b, 'o> Writer<'p, 'b, 'o> {
    pub fn new(schema: &'p Schema, out: &'o mut String) -> Self {
        Writer { schema, contents: Contents::default(), out }
    }

    /// Writes a message that is inside `depth` others.
    pub fn message(
        &mut self,
        message: MessageId,
        pieces: Values<'b>,
        depth: usize,
    ) -> Result<(), Unreadable> {
        if depth > MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        let mark = self.contents.mark();
        self.contents.read(self.schema, message, pieces)?;
        self.out.push('{');
        for at in mark.slots.. {
            let Some(slot) = self.contents.slot(at) else {
                break;
            };
            if at > mark.slots {
                self.out.push(',');
            }
            match slot.field {
                Some(field) => self.out.push_str(&field.key),
                None => {
                    let _ = write!(self.out, "\"{}\":", slot.number);
                }
            }
            self.slot(&slot, depth)?;
            self.check_length()?;
        }
        self.out.push('}');
        self.contents.release(mark);
        Ok(())
    }

    /// Writes the contents of a field of a message at `depth`.
    pub fn slot(&mut self, slot: &Slot<'p, 'b>, depth: usize) -> Result<(), Unreadable> {
        match slot.field {
            Some(field) if field.repeated => match self.schema.map_entry(field) {
                Some((key, value)) => self.map(slot, field, key, value, depth),
                None => self.list(slot, depth),
            },
            None if slot.values.next.is_some() => self.list(slot, depth),
            Some(field) => {
                let written = self.value(Some(field), slot.values, depth);
                written.map_err(|error| error.inside(field.step()))
            }
            None => self.value(None, slot.values, depth),
        }
    }

    fn check_length(&self) -> Result<(), Unreadable> {
        match self.out.len() > MOST_JSON {
            true => Err(Reason::TooLong.into()),
            false => Ok(()),
        }
    }

    fn list(&mut self, slot: &Slot<'p, 'b>, depth: usize) -> Result<(), Unreadable> {
        let mut elements = self.contents.elements(slot);
        let mut index = 0usize;
        self.out.push('[');
        loop {
            let element = elements.next(&self.contents).map_err(Unreadable::from);
            let written = match element {
                Ok(None) => break,
                Err(error) => Err(error),
                Ok(Some(value)) => {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.value(slot.field, Values::one(value), depth)
                }
            };
            let written = written.and_then(|()| self.check_length());
            written.map_err(|error| error.inside(&element_step(slot.field, index)))?;
            index += 1;
        }
        self.out.push(']');
        Ok(())
    }

    /// The last entry with a key counts, and has the position of the first.
    fn map(
        &mut self,
        slot: &Slot<'p, 'b>,
        field: &'p Field,
        key: &'p Field,
        value: &'p Field,
        depth: usize,
    ) -> Result<(), Unreadable> {
        let entries = self.entries(slot, field, key)?;
        self.out.push('{');
        for (at, (key, entry)) in entries.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            quote(key.as_bytes(), self.out);
            self.out.push(':');
            let mark = self.contents.mark();
            self.entry_value(field, value, *entry)
                .and_then(|values| self.value(Some(value), values, depth + 1))
                .map_err(|error| error.inside(&format!("{}['{key}']", field.step())))?;
            self.contents.release(mark);
        }
        self.out.push('}');
        Ok(())
    }

    fn entries(
        &mut self,
        slot: &Slot<'p, 'b>,
        field: &'p Field,
        key: &'p Field,
    ) -> Result<Vec<(Cow<'b, str>, Value<'b>)>, Unreadable> {
        let mut entries: Vec<(Cow<'b, str>, Value<'b>)> = Vec::new();
        let mut places = HashMap::new();
        let mut elements = self.contents.elements(slot);
        let mut index = 0usize;
        while let Some(entry) = elements.next(&self.contents)? {
            let key = self
                .entry_key(field, key, entry)
                .map_err(|error| error.inside(&element_step(Some(field), index)))?;
            index += 1;
            let place = *places.entry(key.clone()).or_insert(entries.len());
            match entries.get_mut(place) {
                Some(known) => known.1 = entry,
                None => entries.push((key, entry)),
            }
        }
        Ok(entries)
    }

    /// The key of an entry of a map, as text.
    pub fn entry_key(
        &mut self,
        field: &'p Field,
        key: &'p Field,
        entry: Value<'b>,
    ) -> Result<Cow<'b, str>, Unreadable> {
        let mark = self.contents.mark();
        let values = self.entry_value(field, key, entry)?;
        self.contents.release(mark);
        Ok(match scalar(key.kind, values.first) {
            Some(Scalar::Text(text)) => String::from_utf8_lossy(text),
            Some(Scalar::Signed(number)) => number.to_string().into(),
            Some(Scalar::Unsigned(number)) => number.to_string().into(),
            Some(Scalar::Bool(value)) => value.to_string().into(),
            _ => Cow::Borrowed(""),
        })
    }

    /// The key or the value of an entry of a map.
    pub fn entry_value(
        &mut self,
        field: &'p Field,
        part: &'p Field,
        entry: Value<'b>,
    ) -> Result<Values<'b>, Unreadable> {
        let mark = self.contents.mark();
        if let Some(Scalar::Message(id)) = scalar(field.kind, entry) {
            self.contents.read(self.schema, id, Values::one(entry))?;
        }
        let found = self.contents.find(mark, part.number, true);
        let default = || Values::one(self.schema.default_value(part.kind));
        Ok(found.map_or_else(default, |slot| slot.values))
    }

    /// Writes one value of a field, which the schema may not know.
    #[inline]
    pub fn value(
        &mut self,
        field: Option<&'p Field>,
        values: Values<'b>,
        depth: usize,
    ) -> Result<(), Unreadable> {
        let value = match field {
            Some(field) => scalar(field.kind, values.first),
            None => Some(unknown_scalar(values.first)),
        };
        match value {
            Some(Scalar::Message(id)) => return self.message(id, values, depth + 1),
            Some(value) => self.scalar(value),
            None => self.out.push_str("null"),
        }
        Ok(())
    }

    fn scalar(&mut self, value: Scalar<'b>) {
        // Writing to a String does not fail.
        let _ = match value {
            Scalar::Signed(value) => write!(self.out, "{value}"),
            Scalar::Unsigned(value) => write!(self.out, "{value}"),
            Scalar::Bool(value) => write!(self.out, "{value}"),
            Scalar::Float(value) if value.is_finite() => write!(self.out, "{value:?}"),
            Scalar::Double(value) if value.is_finite() => write!(self.out, "{value:?}"),
            Scalar::Float(value) => self.out.write_str(not_finite(value.into())),
            Scalar::Double(value) => self.out.write_str(not_finite(value)),
            Scalar::Text(text) => {
                quote(text, self.out);
                Ok(())
            }
            Scalar::Bytes(bytes) => {
                self.out.push('"');
                STANDARD.encode_string(bytes, self.out);
                self.out.push('"');
                Ok(())
            }
            Scalar::Enum(id, number) => match self.schema.enum_name(id, number) {
                Some(name) => {
                    quote(name.as_bytes(), self.out);
                    Ok(())
                }
                None => write!(self.out, "{number}"),
            },
            // `value` writes these.
            Scalar::Message(_) => Ok(()),
        };
    }
}

fn element_step(field: Option<&Field>, index: usize) -> String {
    format!("{}[{index}]", field.map_or("", Field::step))
}

fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "\"NaN\""
    } else if value > 0.0 {
        "\"Infinity\""
    } else {
        "\"-Infinity\""
    }
}

/// Appends a text as a JSON string. Invalid UTF-8 is replaced.
///
/// ```
/// let mut json = String::new();
/// timebase_descriptor::quote(b"a \"b\"\n", &mut json);
/// assert_eq!(json, r#""a \"b\"\n""#);
/// ```
pub fn quote(text: &[u8], out: &mut String) {
    out.push('"');
    let text = String::from_utf8_lossy(text);
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(text.get(plain..at).unwrap_or_default());
        plain = at + 1;
        escape(byte, out);
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

fn escape(byte: u8, out: &mut String) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        _ => {
            let _ = write!(out, "\\u{byte:04x}");
        }
    }
}

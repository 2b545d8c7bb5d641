//! A message in protobuf's text format.
//!
//! Fields are in the order of the wire, and as often as they occur: unlike JSON, the text shows the
//! written values, not their meaning.

use std::fmt::Write as _;

use crate::field::{Fields, Value};
use crate::scalar::Scalar;
use crate::schema::{Field, MessageId, Schema};
use crate::unreadable::{MAX_DEPTH, MOST_TEXT, Reason, Unreadable};

/// Writes messages to a text.
pub(crate) struct TextWriter<'p, 'o> {
    pub schema: &'p Schema,
    pub out: &'o mut String,
    /// The length of the text before the message.
    pub start: usize,
}

impl TextWriter<'_, '_> {
    /// Writes the fields of a message that is inside `depth` others.
    pub fn message(
        &mut self,
        message: MessageId,
        bytes: &[u8],
        depth: usize,
    ) -> Result<(), Unreadable> {
        if depth > MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        let mut fields = Fields::new(bytes);
        while let Some((number, value)) = fields.next()? {
            let field = self.schema.field(message, number);
            self.field(field, number, value, depth).map_err(|error| match field {
                Some(field) => error.inside(field.step()),
                None => error,
            })?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: Option<&Field>,
        number: u32,
        value: Value<'_>,
        depth: usize,
    ) -> Result<(), Unreadable> {
        let scalars = field.and_then(|field| Some((field, field.scalars(value)?)));
        let Some((field, scalars)) = scalars else {
            self.line(depth)?;
            self.unknown(number, value);
            return Ok(());
        };
        for scalar in scalars {
            self.line(depth)?;
            match (scalar, value) {
                (Scalar::Message(id), Value::Bytes(bytes)) => {
                    match &field.extension {
                        Some(name) => self.write(format_args!("[{name}] {{")),
                        None => self.write(format_args!("{} {{", field.name)),
                    }
                    self.message(id, bytes, depth + 1)?;
                    self.line(depth)?;
                    self.out.push('}');
                }
                (scalar, _) => self.scalar(field, scalar),
            }
        }
        Ok(())
    }

    /// Begins a line.
    fn line(&mut self, depth: usize) -> Result<(), Unreadable> {
        let length = self.out.len().saturating_sub(self.start);
        if length > MOST_TEXT {
            return Err(Reason::TooLongAsText.into());
        }
        if length > 0 {
            self.out.push('\n');
        }
        for _ in 0..depth {
            self.out.push_str("  ");
        }
        Ok(())
    }

    fn write(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.out.write_fmt(arguments);
    }

    fn scalar(&mut self, field: &Field, value: Scalar<'_>) {
        let name = &field.name;
        match value {
            Scalar::Signed(value) => self.write(format_args!("{name}: {value}")),
            Scalar::Unsigned(value) => self.write(format_args!("{name}: {value}")),
            Scalar::Bool(value) => self.write(format_args!("{name}: {value}")),
            Scalar::Float(value) => self.real(name, value.into()),
            Scalar::Double(value) => self.real(name, value),
            Scalar::Text(bytes) | Scalar::Bytes(bytes) => {
                self.write(format_args!("{name}: "));
                self.quoted(bytes);
            }
            Scalar::Enum(id, value) => match self.schema.enum_name(id, value) {
                Some(word) => {
                    let _ = write!(self.out, "{name}: {word}");
                }
                None => self.write(format_args!("{}: {value}", field.number)),
            },
            // `field` writes these.
            Scalar::Message(_) => {}
        }
    }

    /// With six decimals, like C's `%f`.
    fn real(&mut self, name: &str, value: f64) {
        match (value.is_nan(), value.is_sign_negative()) {
            (true, true) => self.write(format_args!("{name}: -nan")),
            (true, false) => self.write(format_args!("{name}: nan")),
            _ => self.write(format_args!("{name}: {value:.6}")),
        }
    }

    fn unknown(&mut self, number: u32, value: Value<'_>) {
        match value {
            Value::Varint(value) => {
                let value = value.cast_signed();
                self.write(format_args!("{number}: {value}"));
            }
            Value::Fixed32(value) => self.write(format_args!("{number}: {value:#010x}")),
            Value::Fixed64(value) => self.write(format_args!("{number}: {value:#018x}")),
            Value::Bytes(bytes) => {
                self.write(format_args!("{number}: "));
                self.quoted(bytes);
            }
        }
    }

    fn quoted(&mut self, bytes: &[u8]) {
        self.out.push('"');
        for &byte in bytes {
            match byte {
                b'"' | b'\'' | b'\\' => {
                    self.out.push('\\');
                    self.out.push(char::from(byte));
                }
                b'\n' => self.out.push_str("\\n"),
                b'\r' => self.out.push_str("\\r"),
                b'\t' => self.out.push_str("\\t"),
                0x0b => self.out.push_str("\\v"),
                0x07 => self.out.push_str("\\a"),
                0x08 => self.out.push_str("\\b"),
                0x0c => self.out.push_str("\\f"),
                0x20..=0x7e => self.out.push(char::from(byte)),
                _ => self.write(format_args!("\\{byte:03o}")),
            }
        }
        self.out.push('"');
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::Pool;

    const CONFIG: &str = "perfetto.protos.TraceConfig";
    const TRIGGER: &str = "perfetto.protos.TraceConfig.TriggerConfig.Trigger";

    fn text(bytes: &[u8]) -> String {
        let pool = Pool::perfetto();
        let mut text = String::new();
        pool.write_text(pool.message(CONFIG).unwrap(), bytes, &mut text).unwrap();
        text
    }

    #[test]
    fn md8_fields_stand_in_the_order_of_the_wire() {
        // duration_ms 5; buffers { size_kb 8, fill_policy DISCARD }, duration_ms 6, buffers {}.
        let bytes = [0x18, 5, 0x0a, 4, 0x08, 8, 0x20, 2, 0x18, 6, 0x0a, 0];
        assert_eq!(
            text(&bytes),
            "duration_ms: 5\nbuffers {\n  size_kb: 8\n  fill_policy: DISCARD\n}\nduration_ms: 6\nbuffers {\n}"
        );
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn md8_what_the_schema_does_not_know_has_its_number() {
        // An enum's value, and four wire types of field 900 and of a known field.
        let mut bytes = vec![0x0a, 2, 0x20, 9];
        bytes.extend([0xa0, 0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        bytes.extend([0xa5, 0x38, 0x0f, 0, 0, 0]);
        bytes.extend([0xa1, 0x38, 0x0f, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0xa2, 0x38, 1, b'x']);
        bytes.extend([0x1d, 1, 0, 0, 0]);
        assert_eq!(
            text(&bytes),
            "buffers {\n  4: 9\n}\n900: -1\n900: 0x0000000f\n900: 0x000000000000000f\n900: \"x\"\n3: 0x00000001"
        );
    }

    #[test]
    fn md8_texts_are_quoted_byte_by_byte() {
        let texts = b"\"'\\\n\r\t\x0b\x07\x08\x0c ~\x00\x7f\xc3\xbc";
        let mut bytes = vec![0xb2, 1, texts.len() as u8];
        bytes.extend(texts);
        assert_eq!(
            text(&bytes),
            "unique_session_name: \"\\\"\\'\\\\\\n\\r\\t\\v\\a\\b\\f ~\\000\\177\\303\\274\""
        );
    }

    #[test]
    fn md8_real_numbers_have_six_decimals() {
        let pool = Pool::perfetto();
        let message = pool.message(TRIGGER).unwrap();
        for (value, expected) in [
            (0.25, "0.250000"),
            (-1e10, "-10000000000.000000"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-f64::NAN, "-nan"),
        ] {
            let mut bytes = vec![0x29];
            bytes.extend(value.to_le_bytes());
            let mut text = String::new();
            pool.write_text(message, &bytes, &mut text).unwrap();
            assert_eq!(text, format!("skip_probability: {expected}"));
        }
    }

    #[test]
    fn a_message_that_is_damaged_leaves_no_text() {
        let pool = Pool::perfetto();
        let config = pool.message(CONFIG).unwrap();
        let mut out = "before".to_owned();
        let error = pool.write_text(config, &[0x0a, 2, 0x08], &mut out);
        assert!(error.is_err());
        let error = pool.write_text(config, &[0x0a, 1, 0x08], &mut out);
        assert_eq!(
            error.unwrap_err().to_string(),
            "buffers: the message ends inside a field that starts at byte 0"
        );
        assert_eq!(out, "before");
    }
}

//! A message of protobuf that is written field by field.

use crate::readers::{put_bytes, put_number};

/// The wire type of a number of 64 bits.
const FIXED64: u32 = 1;

/// The bytes of a message.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub fn new() -> Message {
        Message::default()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds fields that are written already.
    pub fn extend(&mut self, fields: &[u8]) {
        self.0.extend_from_slice(fields);
    }

    pub fn number(&mut self, field: u32, value: u64) -> &mut Message {
        put_number(&mut self.0, field, value);
        self
    }

    /// A negative number has ten bytes, as in protobuf's `int32` and `int64`.
    pub fn signed(&mut self, field: u32, value: i64) -> &mut Message {
        self.number(field, value.cast_unsigned())
    }

    /// A `fixed64`.
    pub fn fixed(&mut self, field: u32, value: u64) -> &mut Message {
        let mut key = Vec::new();
        put_number(&mut key, field, 0);
        // The key of a number is that of a varint, whose wire type is 0; its value is the last byte.
        key.pop();
        if let Some(first) = key.first_mut() {
            *first |= FIXED64 as u8;
        }
        self.0.extend_from_slice(&key);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub fn double(&mut self, field: u32, value: f64) -> &mut Message {
        self.fixed(field, value.to_bits())
    }

    pub fn text(&mut self, field: u32, text: &str) -> &mut Message {
        self.bytes(field, text.as_bytes())
    }

    pub fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Message {
        put_bytes(&mut self.0, field, bytes);
        self
    }

    pub fn message(&mut self, field: u32, message: &Message) -> &mut Message {
        self.bytes(field, &message.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_their_wire_types() {
        let mut message = Message::new();
        message.number(1, 300).fixed(47, 1).text(2, "a").signed(3, -1);
        let expected = [
            &[0x08, 0xac, 0x02][..],
            &[0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0],
            &[0x12, 1, b'a'],
            &[0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
        ];
        assert_eq!(message.as_bytes(), expected.concat());
    }
}

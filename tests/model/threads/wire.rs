//! A protobuf message as a plain list of its fields.

use timebase_lab::decode::{self, Value, take, varint};

/// The fields of a message in their order.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<(u32, Field)>);

#[derive(Clone, Debug)]
pub enum Field {
    /// A varint, or the bits of a fixed32 or fixed64.
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    /// `None` if the bytes are no message.
    pub fn parse(bytes: &[u8]) -> Option<Message> {
        let field = |field: decode::Field<'_>| {
            let value = match field.value {
                Value::Number(value) => Field::Number(value),
                Value::Fixed(bits) => Field::Number(fixed(bits)),
                Value::Bytes(bytes) => Field::Bytes(bytes.to_vec()),
            };
            (field.number, value)
        };
        Some(Message(decode::fields(bytes)?.into_iter().map(field).collect()))
    }

    /// The numbers of the fields, in their order.
    pub fn fields(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(number, _)| *number)
    }

    /// The fields with their values, in their order.
    pub fn values(&self) -> impl Iterator<Item = (u32, &Field)> {
        self.0.iter().map(|(number, value)| (*number, value))
    }

    pub fn has(&self, field: u32) -> bool {
        self.fields().any(|number| number == field)
    }

    /// For a repeated number, the last value.
    pub fn number(&self, field: u32) -> Option<u64> {
        self.0.iter().rev().find_map(|(number, value)| match value {
            Field::Number(value) if *number == field => Some(*value),
            _ => None,
        })
    }

    /// An unsigned number; 0 if missing.
    pub fn unsigned(&self, field: u32) -> u64 {
        self.number(field).unwrap_or(0)
    }

    /// A signed number of 64 bits; 0 if missing.
    pub fn signed(&self, field: u32) -> i64 {
        self.unsigned(field).cast_signed()
    }

    /// A number of 32 bits without a sign, such as a pid; 0 if missing.
    pub fn id(&self, field: u32) -> i64 {
        i64::from(self.unsigned(field) as u32)
    }

    pub fn bytes(&self, field: u32) -> Option<&[u8]> {
        self.all_bytes(field).last()
    }

    fn all_bytes(&self, field: u32) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.iter().filter_map(move |(number, value)| match value {
            Field::Bytes(bytes) if *number == field => Some(bytes.as_slice()),
            _ => None,
        })
    }

    pub fn text(&self, field: u32) -> Option<String> {
        self.bytes(field).map(text)
    }

    pub fn texts(&self, field: u32) -> Vec<String> {
        self.all_bytes(field).map(text).collect()
    }

    pub fn message(&self, field: u32) -> Option<Message> {
        self.bytes(field).and_then(Message::parse)
    }

    pub fn messages(&self, field: u32) -> Vec<Message> {
        self.all_bytes(field).filter_map(Message::parse).collect()
    }

    /// A repeated number, packed or not.
    pub fn numbers(&self, field: u32) -> Vec<u64> {
        self.unpacked(field, Packed::Varints)
    }

    /// The same for fixed numbers of 64 bits, including doubles.
    pub fn fixed64s(&self, field: u32) -> Vec<u64> {
        self.unpacked(field, Packed::Fixed64s)
    }

    fn unpacked(&self, field: u32, packed: Packed) -> Vec<u64> {
        let values = self.0.iter().filter(|(number, _)| *number == field);
        let numbers = values.flat_map(|(_, value)| match value {
            Field::Number(value) => vec![*value],
            Field::Bytes(bytes) => packed.read(bytes),
        });
        numbers.collect()
    }
}

/// The encoding of the numbers in a packed list.
#[derive(Clone, Copy, Debug)]
pub enum Packed {
    Varints,
    Fixed32s,
    Fixed64s,
}

impl Packed {
    pub fn read(self, mut bytes: &[u8]) -> Vec<u64> {
        let next = || match self {
            Packed::Varints => varint(&mut bytes),
            Packed::Fixed32s => take(&mut bytes, 4).map(fixed),
            Packed::Fixed64s => take(&mut bytes, 8).map(fixed),
        };
        std::iter::from_fn(next).collect()
    }
}

/// The bits of a fixed32 or fixed64.
fn fixed(bits: &[u8]) -> u64 {
    bits.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

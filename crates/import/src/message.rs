//! Fields of a protobuf message by their numbers, for messages of a few fields.

use std::borrow::Cow;

use timebase_descriptor::field::{Fields, Value, varint};

/// A text; bytes that are not UTF-8 are replaced. If there is nothing to replace, this check sees
/// many bytes at a time, which `from_utf8_lossy` does not.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// A text that is a number of 32 bits, as in trace processor: white space, an optional sign, digits
/// (rule M13).
pub(crate) fn integer(text: &[u8]) -> Option<i32> {
    let text = std::str::from_utf8(text).ok()?;
    let is_space = |c| matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r');
    text.trim_start_matches(is_space).parse().ok()
}

/// A message. If it cannot be read to its end, it has the fields before the damage.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Message<'a>(pub &'a [u8]);

impl<'a> Message<'a> {
    /// All fields, in their order in the message.
    pub fn fields(self) -> impl Iterator<Item = (u32, Value<'a>)> {
        let mut fields = Fields::new(self.0);
        std::iter::from_fn(move || fields.next().ok().flatten())
    }

    /// A number: the last one of its field.
    pub fn number(self, field: u32) -> Option<u64> {
        let numbers = self.fields().filter_map(|(number, value)| match value {
            Value::Varint(value) if number == field => Some(value),
            _ => None,
        });
        numbers.last()
    }

    /// A number of any layout without a sign: the last one of its field.
    pub fn natural(self, field: u32) -> Option<u64> {
        let numbers = self.fields().filter_map(|(number, value)| match value {
            Value::Varint(value) | Value::Fixed64(value) if number == field => Some(value),
            Value::Fixed32(value) if number == field => Some(value.into()),
            _ => None,
        });
        numbers.last()
    }

    /// All numbers of a field, packed or not.
    pub fn numbers(self, field: u32) -> impl Iterator<Item = u64> {
        let values = self.fields().filter(move |(number, _)| *number == field);
        values.flat_map(|(_, value)| {
            let (one, mut packed) = match value {
                Value::Varint(value) => (Some(value), &[][..]),
                Value::Bytes(bytes) => (None, bytes),
                Value::Fixed32(_) | Value::Fixed64(_) => (None, &[][..]),
            };
            let rest = std::iter::from_fn(move || {
                let (value, size) = varint(packed).ok().flatten()?;
                packed = packed.get(size..)?;
                Some(value)
            });
            one.into_iter().chain(rest)
        })
    }

    /// A number of 32 bits.
    pub fn small(self, field: u32) -> Option<u32> {
        self.number(field).map(|value| value as u32)
    }

    /// Whether a flag is set.
    pub fn flag(self, field: u32) -> bool {
        self.number(field).is_some_and(|value| value != 0)
    }

    /// A number with a fraction: the last one of its field.
    pub fn float(self, field: u32) -> Option<f64> {
        let numbers = self.fields().filter_map(|(number, value)| match value {
            Value::Fixed32(bits) if number == field => Some(f32::from_bits(bits).into()),
            Value::Fixed64(bits) if number == field => Some(f64::from_bits(bits)),
            _ => None,
        });
        numbers.last()
    }

    /// All numbers of a field that have 64 bits each, packed or not.
    pub fn fixed(self, field: u32) -> impl Iterator<Item = u64> {
        const SIZE: usize = 8;
        let values = self.fields().filter(move |(number, _)| *number == field);
        values.flat_map(|(_, value)| {
            let (one, packed) = match value {
                Value::Fixed64(value) => (Some(value), &[][..]),
                Value::Bytes(bytes) => (None, bytes),
                Value::Varint(_) | Value::Fixed32(_) => (None, &[][..]),
            };
            let words = packed.chunks_exact(SIZE);
            let packed = words.filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
            one.into_iter().chain(packed)
        })
    }

    /// All values of a field of bytes: texts, messages.
    pub fn each(self, field: u32) -> impl Iterator<Item = &'a [u8]> {
        self.fields().filter_map(move |(number, value)| match value {
            Value::Bytes(bytes) if number == field => Some(bytes),
            _ => None,
        })
    }

    /// The last bytes of a field.
    pub fn bytes(self, field: u32) -> Option<&'a [u8]> {
        self.each(field).last()
    }

    /// A text.
    pub fn text(self, field: u32) -> Option<Cow<'a, str>> {
        self.bytes(field).map(text)
    }

    /// The messages of a field.
    pub fn messages(self, field: u32) -> impl Iterator<Item = Message<'a>> {
        self.each(field).map(Message)
    }
}

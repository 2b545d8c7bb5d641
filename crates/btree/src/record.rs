//! The record format: what a row is in a cell.

/// A value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL's NULL; also what the column of a rowid's alias has.
    Null,
    /// A signed integer of 64 bits.
    Integer(i64),
    /// A floating-point number; not NaN, which SQLite has no value for.
    Real(f64),
    /// A text, in a database whose encoding is UTF-8.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Integer(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, T::into)
    }
}

/// Appends a number as SQLite's varint: seven bits a byte, the highest first,
/// and all eight bits of a ninth.
pub(crate) fn push_varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
        return;
    }
    if value >= 1 << 56 {
        for byte in 0..8 {
            out.push((value >> (8 + 7 * (7 - byte))) as u8 | 0x80);
        }
        out.push(value as u8);
        return;
    }
    let bytes = (64 - value.leading_zeros()).div_ceil(7);
    for byte in (1..bytes).rev() {
        out.push((value >> (7 * byte)) as u8 | 0x80);
    }
    out.push(value as u8 & 0x7f);
}

/// Reads a varint; tells how many bytes it has.
pub(crate) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().enumerate().take(9) {
        if i == 8 {
            return Some((value << 8 | u64::from(byte), 9));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

/// The serial type of an integer, and how many bytes it takes.
#[inline]
fn integer_type(value: i64) -> (u8, usize) {
    // What is left when the sign is taken out of the way.
    let magnitude = if value < 0 { !value } else { value };
    match magnitude {
        _ if value == 0 => (8, 0),
        _ if value == 1 => (9, 0),
        0..0x80 => (1, 1),
        0x80..0x8000 => (2, 2),
        0x8000..0x80_0000 => (3, 3),
        0x80_0000..0x8000_0000 => (4, 4),
        0x8000_0000..0x8000_0000_0000 => (5, 6),
        _ => (6, 8),
    }
}

/// The serial type of text and blobs: twice their size, and what they are.
#[inline]
fn sized_type(size: usize, kind: u64) -> u64 {
    (size as u64).saturating_mul(2).saturating_add(kind)
}

/// The widest header of a record, whose size is one byte then.
const HEADER: usize = 0x7f;

/// Appends a record; tells whether it could be written, which it cannot with so
/// many values that its header has more than 127 bytes.
#[inline]
pub(crate) fn push_record(out: &mut Vec<u8>, values: &[Value<'_>]) -> bool {
    let start = out.len();
    out.push(0);
    for value in values {
        match *value {
            Value::Null => out.push(0),
            Value::Integer(value) => out.push(integer_type(value).0),
            Value::Real(_) => out.push(7),
            Value::Text(text) => push_varint(out, sized_type(text.len(), 13)),
            Value::Blob(bytes) => push_varint(out, sized_type(bytes.len(), 12)),
        }
    }
    let header = out.len() - start;
    out[start] = header as u8;
    for value in values {
        match *value {
            Value::Null => {}
            Value::Integer(value) => {
                let (_, size) = integer_type(value);
                out.extend_from_slice(&value.to_be_bytes()[8 - size..]);
            }
            Value::Real(value) => out.extend_from_slice(&value.to_be_bytes()),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            Value::Blob(bytes) => out.extend_from_slice(bytes),
        }
    }
    header <= HEADER
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_varint_is_read_as_it_was_written(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            push_varint(&mut bytes, value);
            prop_assert_eq!(varint(&bytes), Some((value, bytes.len())));
            prop_assert_eq!(varint(&bytes[..bytes.len() - 1]), None);
        }
    }
}

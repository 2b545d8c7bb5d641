//! The record format: the form of a row in a cell.

/// A value of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Value<'a> {
    /// SQL's NULL; also the value in the column of a rowid's alias.
    #[default]
    Null,
    /// A signed integer of 64 bits.
    Integer(i64),
    /// A floating-point number. NaN is not allowed, because SQLite has no value for it.
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

/// A row without the NULLs at its end: if a record lacks a column, SQLite uses the column's
/// default, which is NULL.
#[inline]
pub(crate) fn trimmed<'r, 'v>(values: &'r [Value<'v>]) -> &'r [Value<'v>] {
    let last = (values.iter()).rposition(|value| !matches!(value, Value::Null));
    &values[..last.map_or(values.len().min(1), |last| last + 1)]
}

/// Writes a number at the start of `bytes` as SQLite's varint: seven bits in each byte, the highest
/// first, and all eight bits of a ninth byte. Returns its length.
#[inline]
pub(crate) fn put_varint(bytes: &mut [u8], value: u64) -> usize {
    if value < 0x80 {
        bytes[0] = value as u8;
        return 1;
    }
    let size = varint_size(value);
    let mut rest = value;
    for (i, byte) in bytes[..size].iter_mut().enumerate().rev() {
        if i == 8 {
            *byte = rest as u8;
            rest >>= 8;
        } else {
            *byte = rest as u8 | 0x80;
            rest >>= 7;
        }
    }
    if size < 9 {
        bytes[size - 1] &= 0x7f;
    }
    size
}

/// The length of a varint.
#[inline]
fn varint_size(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7).min(LONGEST_VARINT)
}

/// The length of the longest varint.
pub(crate) const LONGEST_VARINT: usize = 9;

/// Appends a varint.
pub(crate) fn push_varint(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; LONGEST_VARINT];
    let size = put_varint(&mut bytes, value);
    out.extend_from_slice(&bytes[..size]);
}

/// Reads a varint; returns its length.
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

/// The serial type of an integer, and its length.
#[inline]
fn integer_type(value: i64) -> (u8, usize) {
    // By the number of bits without the sign.
    const TYPES: [(u8, u8); 65] = {
        let mut types = [(6, 8); 65];
        let mut bits = 0;
        while bits < 48 {
            types[bits] = match bits {
                0..8 => (1, 1),
                8..16 => (2, 2),
                16..24 => (3, 3),
                24..32 => (4, 4),
                _ => (5, 6),
            };
            bits += 1;
        }
        types
    };
    if value == 0 || value == 1 {
        return (8 + value as u8, 0);
    }
    let magnitude = if value < 0 { !value } else { value };
    let (serial_type, size) = TYPES[64 - magnitude.leading_zeros() as usize];
    (serial_type, size.into())
}

/// The serial type of text and blobs: twice their size, plus the kind.
#[inline]
fn sized_type(size: usize, kind: u64) -> u64 {
    (size as u64).saturating_mul(2).saturating_add(kind)
}

/// The longest header of a record here, so that its size fits one byte.
const HEADER: usize = 0x7f;

/// The bytes before the record in a cell: its size and the rowid.
const FRONT: usize = 2 * LONGEST_VARINT;

/// The least rowid whose varint has five bytes.
const SHORT: i64 = 1 << 28;

/// So many numbers fit into any buffer.
const FEW: usize = 64;

/// A cell that is being made. The next cell overwrites its buffer.
#[derive(Debug)]
pub(crate) struct Cell {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Cell {
    pub fn new() -> Self {
        Cell { buffer: vec![0; 1024], start: FRONT, end: FRONT }
    }

    /// Writes the record; returns its length. `None` means that the record needs a wider header
    /// than this crate writes.
    #[inline]
    pub fn record(&mut self, values: &[Value<'_>]) -> Option<usize> {
        // Most rows are numbers, which one pass finds out and writes.
        if values.len() <= FEW
            && let Some(size) = self.numbers(values)
        {
            return Some(size);
        }
        self.mixed(values)
    }

    /// Writes a record of any values.
    fn mixed(&mut self, values: &[Value<'_>]) -> Option<usize> {
        // Integers are stored eight bytes at a time, and the next value overwrites the surplus.
        // Copying the exact number of bytes is a call of memcpy for each, and took a third of the
        // time.
        let mut room = FRONT + 1 + (LONGEST_VARINT + 8) * values.len() + 8;
        for value in values {
            room += match value {
                Value::Text(text) => text.len(),
                Value::Blob(bytes) => bytes.len(),
                _ => 0,
            };
        }
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let bytes = self.buffer.as_mut_slice();
        let mut at = FRONT + 1;
        for value in values {
            match *value {
                Value::Null => {
                    bytes[at] = 0;
                    at += 1;
                }
                Value::Integer(value) => {
                    bytes[at] = integer_type(value).0;
                    at += 1;
                }
                Value::Real(_) => {
                    bytes[at] = 7;
                    at += 1;
                }
                Value::Text(text) => {
                    at += put_varint(&mut bytes[at..], sized_type(text.len(), 13));
                }
                Value::Blob(blob) => {
                    at += put_varint(&mut bytes[at..], sized_type(blob.len(), 12));
                }
            }
        }
        let header = at - FRONT;
        if header > HEADER {
            return None;
        }
        bytes[FRONT] = header as u8;
        for value in values {
            match *value {
                Value::Null => {}
                Value::Integer(value) => {
                    let (_, size) = integer_type(value);
                    let first = (value as u64).wrapping_shl(64 - 8 * size as u32);
                    bytes[at..at + 8].copy_from_slice(&first.to_be_bytes());
                    at += size;
                }
                Value::Real(value) => {
                    bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
                    at += 8;
                }
                Value::Text(text) => {
                    bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
                    at += text.len();
                }
                Value::Blob(blob) => {
                    bytes[at..at + blob.len()].copy_from_slice(blob);
                    at += blob.len();
                }
            }
        }
        self.start = FRONT;
        self.end = at;
        Some(at - FRONT)
    }

    /// Writes a record of few numbers and NULLs. Its header has one byte for each, so the place of
    /// the values is known in advance, and one pass is enough. `None` means that there are others.
    #[inline]
    fn numbers(&mut self, values: &[Value<'_>]) -> Option<usize> {
        let header = 1 + values.len();
        let (head, body) = self.buffer[FRONT..].split_at_mut(header);
        head[0] = header as u8;
        let mut at = 0;
        for (serial_type, value) in head[1..].iter_mut().zip(values) {
            let (size, first) = match *value {
                Value::Integer(value) => {
                    let (integer_type, size) = integer_type(value);
                    *serial_type = integer_type;
                    (size, (value as u64).wrapping_shl(64 - 8 * size as u32))
                }
                Value::Real(value) => {
                    *serial_type = 7;
                    (8, value.to_bits())
                }
                Value::Null => {
                    *serial_type = 0;
                    continue;
                }
                Value::Text(_) | Value::Blob(_) => return None,
            };
            body[at..at + 8].copy_from_slice(&first.to_be_bytes());
            at += size;
        }
        self.start = FRONT;
        self.end = FRONT + header + at;
        Some(header + at)
    }

    /// Writes the whole cell of an entry of an index: at most nine numbers and NULLs, so one byte
    /// has its size.
    #[inline]
    pub fn entry(&mut self, numbers: &[Value<'_>]) {
        let payload = self.numbers(numbers).unwrap_or_default();
        self.start = FRONT - 1;
        self.buffer[self.start] = payload as u8;
    }

    /// Takes over a record that another cell has written.
    pub fn take(&mut self, record: &[u8]) {
        self.start = FRONT;
        self.end = FRONT + record.len();
        if self.buffer.len() < self.end {
            self.buffer.resize(self.end, 0);
        }
        self.buffer[FRONT..self.end].copy_from_slice(record);
    }

    /// The record.
    pub fn payload(&self) -> &[u8] {
        &self.buffer[FRONT..self.end]
    }

    /// Replaces all of the record except its first bytes by the number of the page with the rest.
    pub fn overflow(&mut self, local: usize, page: u32) {
        let link = FRONT + local;
        self.buffer[link..link + 4].copy_from_slice(&page.to_be_bytes());
        self.end = link + 4;
    }

    /// Writes the bytes before the record: its size, and for a table the rowid.
    #[inline]
    pub fn head(&mut self, payload: usize, rowid: Option<i64>) {
        if let (Some(rowid @ 0..SHORT), 0..0x80) = (rowid, payload) {
            // All four bytes of the rowid are written, and the size over the surplus.
            let rowid = rowid as u32;
            let spread = rowid & 0x7f
                | (rowid & 0x3f80) << 1
                | (rowid & 0x1f_c000) << 2
                | (rowid & 0xfe0_0000) << 3
                | 0x8080_8000;
            self.buffer[FRONT - 4..FRONT].copy_from_slice(&spread.to_be_bytes());
            self.start = FRONT - 1 - varint_size(rowid.into());
            self.buffer[self.start] = payload as u8;
            return;
        }
        let payload = payload as u64;
        let rowid = rowid.map(|rowid| rowid as u64);
        let size = varint_size(payload) + rowid.map_or(0, varint_size);
        self.start = FRONT - size;
        let first = put_varint(&mut self.buffer[self.start..], payload);
        if let Some(rowid) = rowid {
            put_varint(&mut self.buffer[self.start + first..], rowid);
        }
    }

    /// The whole cell.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Frees the memory of a huge row.
    pub fn shrink(&mut self) {
        const KEPT: usize = 1 << 20;
        if self.buffer.len() > KEPT {
            self.buffer.truncate(KEPT);
            self.buffer.shrink_to_fit();
        }
    }
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

        #[test]
        fn a_cell_begins_with_its_size_and_its_rowid(rowid: i64, shift in 0u32..64, values in 0usize..80) {
            let rowid = rowid >> shift;
            let values = vec![Value::Integer(i64::MAX); values];
            let mut cell = Cell::new();
            let payload = cell.record(&values).unwrap_or_default();
            cell.head(payload, Some(rowid));
            let mut front = Vec::new();
            push_varint(&mut front, payload as u64);
            push_varint(&mut front, rowid as u64);
            prop_assert_eq!(cell.bytes(), [&front, cell.payload()].concat());
        }
    }
}

//! Rows as columns: the contents of a row group.

use rusqlite::types::ValueRef;

use crate::columns::{Column, Type};

/// The largest number of rows in a row group: a good piece of work for one thread of a reader.
const ROWS: usize = 128 << 10;

/// The largest size of a row group's values in bytes, before its last row.
const BYTES: usize = 12 << 20;

/// Values of a column, without those that are NULL.
#[derive(Debug)]
pub(crate) enum Values {
    Int64(Vec<i64>),
    Double(Vec<f64>),
    /// Concatenated, with the end of each.
    Bytes {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
}

impl Values {
    /// No texts, or no blobs.
    pub fn texts() -> Values {
        Values::Bytes { bytes: Vec::new(), ends: Vec::new() }
    }
}

/// A column of a chunk.
#[derive(Debug)]
pub(crate) struct Part {
    pub values: Values,
    /// Parquet's definition levels: 1 for a value, 0 for NULL. Only for a column that may be NULL.
    pub levels: Option<Vec<i16>>,
}

/// Rows that become a row group.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub parts: Vec<Part>,
    pub rows: usize,
    /// The number of rows of the table before this chunk.
    pub before: u64,
    bytes: usize,
}

/// A value that does not have the type of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub column: usize,
    pub found: &'static str,
}

impl Chunk {
    /// An empty chunk.
    pub fn new(columns: &[Column], before: u64) -> Chunk {
        let part = |column: &Column| Part {
            values: match column.kind {
                Type::Int64 => Values::Int64(Vec::new()),
                Type::Double => Values::Double(Vec::new()),
                Type::String | Type::Binary => Values::texts(),
            },
            levels: column.is_nullable.then(Vec::new),
        };
        Chunk { parts: columns.iter().map(part).collect(), rows: 0, before, bytes: 0 }
    }

    /// Whether the chunk is full.
    pub fn is_full(&self) -> bool {
        self.rows >= ROWS || self.bytes >= BYTES
    }

    /// Takes the next row: a value for each column. After an error the chunk is unusable.
    #[inline]
    pub fn push<'a>(
        &mut self,
        columns: &[Column],
        mut value: impl FnMut(usize) -> rusqlite::Result<ValueRef<'a>>,
    ) -> rusqlite::Result<Result<(), Misfit>> {
        for (index, (part, column)) in self.parts.iter_mut().zip(columns).enumerate() {
            let value = value(index)?;
            let is_null = match (&value, &mut part.values, column.kind) {
                (ValueRef::Integer(number), Values::Int64(values), _) => {
                    values.push(*number);
                    self.bytes += 8;
                    false
                }
                (ValueRef::Real(number), Values::Double(values), _) => {
                    values.push(*number);
                    self.bytes += 8;
                    false
                }
                (ValueRef::Text(value), Values::Bytes { bytes, ends }, Type::String)
                | (ValueRef::Blob(value), Values::Bytes { bytes, ends }, Type::Binary) => {
                    bytes.extend_from_slice(value);
                    ends.push(bytes.len());
                    self.bytes += value.len() + 8;
                    false
                }
                (ValueRef::Null, _, _) if part.levels.is_some() => true,
                (other, _, _) => {
                    return Ok(Err(Misfit { column: index, found: called(other) }));
                }
            };
            if let Some(levels) = &mut part.levels {
                levels.push(i16::from(!is_null));
            }
        }
        self.rows += 1;
        Ok(Ok(()))
    }
}

/// The type of a value, in words.
pub(crate) fn called(value: &ValueRef<'_>) -> &'static str {
    match value {
        ValueRef::Null => "NULL",
        ValueRef::Integer(_) => "an integer",
        ValueRef::Real(_) => "a real number",
        ValueRef::Text(_) => "text",
        ValueRef::Blob(_) => "a blob",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn columns(kinds: &[(Type, bool)]) -> Vec<Column> {
        let column = |&(kind, is_nullable): &(Type, bool)| Column {
            name: "x".to_owned(),
            kind,
            is_nullable,
        };
        kinds.iter().map(column).collect()
    }

    #[test]
    fn a_value_of_another_type_is_told_and_not_changed() {
        for (kind, value, found) in [
            (Type::Int64, ValueRef::Real(1.0), "a real number"),
            (Type::Int64, ValueRef::Text(b"1"), "text"),
            (Type::Double, ValueRef::Integer(1), "an integer"),
            (Type::String, ValueRef::Blob(b"1"), "a blob"),
            (Type::Binary, ValueRef::Text(b"1"), "text"),
            (Type::Binary, ValueRef::Null, "NULL"),
        ] {
            let columns = columns(&[(Type::Int64, true), (kind, false)]);
            let row = [ValueRef::Null, value];
            let pushed = Chunk::new(&columns, 0).push(&columns, |index| Ok(row[index]));
            assert_eq!(pushed.unwrap(), Err(Misfit { column: 1, found }));
        }
    }

    #[test]
    fn a_chunk_is_full_by_rows_or_by_bytes() {
        let one = columns(&[(Type::Int64, true)]);
        let mut chunk = Chunk::new(&one, 0);
        while !chunk.is_full() {
            chunk.push(&one, |_| Ok(ValueRef::Null)).unwrap().unwrap();
        }
        assert_eq!(chunk.rows, ROWS);

        let text = columns(&[(Type::String, false)]);
        let mut chunk = Chunk::new(&text, 0);
        let long = "x".repeat(1 << 20);
        while !chunk.is_full() {
            chunk.push(&text, |_| Ok(ValueRef::Text(long.as_bytes()))).unwrap().unwrap();
        }
        assert_eq!(chunk.rows, BYTES >> 20);
    }
}

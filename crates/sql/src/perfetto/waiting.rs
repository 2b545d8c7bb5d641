//! The rows of a SELECT until it ends: in memory, and more of them in a temporary database.
//!
//! # Design
//!
//! A table must not be made while the SELECT for it runs: a change of the temp schema ends every
//! statement that opens another table later, as a subquery for each row does. So all rows wait in a
//! buffer of bytes; that takes a tenth of the time of the table's own INSERT. A full buffer goes to a
//! database without a name: SQLite keeps it in a file of its own, which nobody sees. A temporary table
//! of the connection would be a change of the temp schema, too, and stay there.

use rusqlite::Connection;

use crate::error::{Error, Result};
use crate::value::ValueRef;

/// The bytes of rows in memory.
const IN_MEMORY: usize = 8 << 20;

/// Rows with the same number of values.
pub struct Waiting {
    width: usize,
    rows: i64,
    bytes: Vec<u8>,
    on_disk: Option<Connection>,
}

/// The type of a value, which stands before its bytes.
mod tag {
    pub const NULL: u8 = 0;
    pub const INTEGER: u8 = 1;
    pub const REAL: u8 = 2;
    pub const TEXT: u8 = 3;
    pub const BLOB: u8 = 4;
}

impl Waiting {
    /// No rows yet, of `width` values.
    pub fn new(width: usize) -> Waiting {
        Waiting { width, rows: 0, bytes: Vec::new(), on_disk: None }
    }

    pub fn rows(&self) -> i64 {
        self.rows
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// If there is no room for it on disk.
    #[inline]
    pub fn push<'r>(&mut self, row: impl Iterator<Item = ValueRef<'r>>) -> Result<()> {
        for value in row {
            write(&mut self.bytes, value);
        }
        self.rows = self.rows.saturating_add(1);
        match self.bytes.len() < IN_MEMORY {
            true => Ok(()),
            false => self.spill(),
        }
    }

    #[cold]
    fn spill(&mut self) -> Result<()> {
        let conn = match self.on_disk.take() {
            Some(conn) => conn,
            None => {
                let conn = Connection::open("")?;
                conn.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; CREATE TABLE rows (bytes BLOB); BEGIN")?;
                conn
            }
        };
        let mut insert = conn.prepare("INSERT INTO rows VALUES (?1)")?;
        insert.execute([&self.bytes])?;
        drop(insert);
        self.bytes.clear();
        self.on_disk = Some(conn);
        Ok(())
    }

    /// Takes all rows, in their order.
    ///
    /// # Errors
    ///
    /// If `take` fails, or the rows on disk cannot be read.
    pub fn take(self, mut take: impl FnMut(&[ValueRef<'_>]) -> Result<()>) -> Result<()> {
        if let Some(conn) = &self.on_disk {
            let mut select = conn.prepare("SELECT bytes FROM rows ORDER BY rowid")?;
            let mut buffers = select.query([])?;
            while let Some(buffer) = buffers.next()? {
                let bytes = buffer.get_ref(0)?.as_blob().map_err(Error::new)?;
                each(bytes, self.width, &mut take)?;
            }
        }
        each(&self.bytes, self.width, &mut take)
    }
}

fn each(
    bytes: &[u8],
    width: usize,
    take: &mut impl FnMut(&[ValueRef<'_>]) -> Result<()>,
) -> Result<()> {
    let mut rest = bytes;
    let mut row = Vec::with_capacity(width);
    while !rest.is_empty() {
        row.clear();
        for _ in 0..width {
            let value = read(&mut rest);
            row.push(value.ok_or_else(|| Error::new("the rows on disk are damaged"))?);
        }
        take(&row)?;
    }
    Ok(())
}

#[inline]
fn write(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => bytes.push(tag::NULL),
        ValueRef::Integer(value) => {
            bytes.push(tag::INTEGER);
            // Small numbers of either sign are short.
            write_number(bytes, ((value << 1) ^ (value >> 63)) as u64);
        }
        ValueRef::Real(value) => {
            bytes.push(tag::REAL);
            bytes.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        ValueRef::Text(text) => write_bytes(bytes, tag::TEXT, text),
        ValueRef::Blob(blob) => write_bytes(bytes, tag::BLOB, blob),
    }
}

fn write_bytes(bytes: &mut Vec<u8>, tag: u8, content: &[u8]) {
    bytes.push(tag);
    write_number(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
#[inline]
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[inline]
fn read<'b>(rest: &mut &'b [u8]) -> Option<ValueRef<'b>> {
    let (&tag, after) = rest.split_first()?;
    *rest = after;
    Some(match tag {
        tag::NULL => ValueRef::Null,
        tag::INTEGER => {
            let number = read_number(rest)?;
            ValueRef::Integer((number >> 1) as i64 ^ -((number & 1) as i64))
        }
        tag::REAL => {
            let (bits, after) = rest.split_first_chunk()?;
            *rest = after;
            ValueRef::Real(f64::from_bits(u64::from_le_bytes(*bits)))
        }
        tag::TEXT => ValueRef::Text(read_bytes(rest)?),
        tag::BLOB => ValueRef::Blob(read_bytes(rest)?),
        _ => return None,
    })
}

fn read_bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let size = usize::try_from(read_number(rest)?).ok()?;
    let (content, after) = rest.split_at_checked(size)?;
    *rest = after;
    Some(content)
}

#[inline]
fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rusqlite::types::Value;

    use super::*;

    fn taken(waiting: Waiting) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        let take = |row: &[ValueRef<'_>]| {
            rows.push(row.iter().map(|&value| value.try_into().unwrap()).collect());
            Ok(())
        };
        waiting.take(take).unwrap();
        rows
    }

    #[test]
    fn pq3_a_waiting_row_keeps_every_value() {
        let mut values = vec![
            Value::Null,
            Value::Text(String::new()),
            Value::Text("zero \0 and ü".into()),
            Value::Blob(vec![0, 255, 128]),
            Value::Blob(vec![7; 300]),
            Value::Real(-0.0),
            Value::Real(f64::MIN_POSITIVE),
            Value::Real(f64::INFINITY),
        ];
        for shift in 0..64 {
            let value = 1i64 << shift;
            let near = [value.wrapping_sub(1), value, value.wrapping_neg(), !value];
            values.extend(near.map(Value::Integer));
        }
        let mut waiting = Waiting::new(values.len());
        waiting.push(values.iter().map(ValueRef::from)).unwrap();
        assert_eq!(taken(waiting), [values]);
    }

    #[test]
    fn pq3_rows_on_disk_keep_their_order() {
        let mut waiting = Waiting::new(2);
        let text = "x".repeat(1000);
        let count = 3 * IN_MEMORY as i64 / 1000 + 1;
        for row in 0..count {
            let values = [ValueRef::Integer(row), ValueRef::Text(text.as_bytes())];
            waiting.push(values.into_iter()).unwrap();
        }
        assert!(waiting.on_disk.is_some() && waiting.bytes.len() < IN_MEMORY);
        assert_eq!(waiting.rows(), count);
        let rows = taken(waiting);
        assert_eq!(rows.len() as i64, count);
        for (row, number) in rows.into_iter().zip(0..) {
            assert_eq!(row, [Value::Integer(number), Value::Text(text.clone())]);
        }
    }

    #[test]
    fn pq3_damaged_bytes_are_an_error() {
        let mut bytes = Vec::new();
        for value in [ValueRef::Integer(i64::MIN), ValueRef::Text(b"abc"), ValueRef::Real(1.5)] {
            write(&mut bytes, value);
        }
        assert!(each(&bytes, 3, &mut |_| Ok(())).is_ok());
        for end in 1..bytes.len() {
            assert!(each(&bytes[..end], 3, &mut |_| Ok(())).is_err(), "{end}");
        }
        assert!(each(&[9], 1, &mut |_| Ok(())).is_err());
        assert!(each(&[tag::TEXT; 12], 1, &mut |_| Ok(())).is_err());
    }
}

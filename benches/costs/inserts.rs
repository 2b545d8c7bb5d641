//! The yardstick of imports: the same rows, inserted from memory with plain prepared statements.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::types::{Null, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};

use timebase_schema::TABLES;

use crate::Result;
use crate::imports::remove;

/// The value for NULL. No reading of a clock comes near it.
const NULL: i64 = i64::MIN;

/// The rows of a table, in as few bytes as can be read without delay: time that the yardstick
/// spends on anything but inserts would make the import look good.
pub struct Rows {
    table: &'static str,
    columns: Vec<Column>,
    /// A number for each value: the integer, the index of the text, the size of the blob.
    numbers: Vec<i64>,
    /// The different texts, and their indexes.
    texts: Vec<String>,
    known_texts: HashMap<String, i64>,
    /// The blobs, one after the other.
    blobs: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Integer,
    Real,
    Text,
    Blob,
}

impl Rows {
    /// Reads all rows of a table, in the order of their ids.
    pub fn read(database: &Path, table: &'static str) -> Result<Rows> {
        let conn = Connection::open(database)?;
        let mut columns = Vec::new();
        let mut types = conn.prepare("SELECT type FROM pragma_table_info(?1)")?;
        for column in types.query_map([table], |row| row.get::<_, String>(0))? {
            columns.push(match column?.as_str() {
                "TEXT" => Column::Text,
                "BLOB" => Column::Blob,
                "REAL" => Column::Real,
                _ => Column::Integer,
            });
        }
        let mut rows = Rows {
            table,
            columns,
            numbers: Vec::new(),
            texts: Vec::new(),
            known_texts: HashMap::new(),
            blobs: Vec::new(),
        };
        let mut select = conn.prepare(&format!("SELECT * FROM {table} ORDER BY id"))?;
        let mut found = select.query([])?;
        while let Some(row) = found.next()? {
            for index in 0..rows.columns.len() {
                let number = rows.number(index, row.get_ref(index)?)?;
                rows.numbers.push(number);
            }
        }
        rows.known_texts = HashMap::new();
        Ok(rows)
    }

    pub fn len(&self) -> usize {
        self.numbers.len() / self.columns.len()
    }

    fn number(&mut self, index: usize, value: ValueRef<'_>) -> Result<i64> {
        Ok(match (self.columns[index], value) {
            (_, ValueRef::Null) => NULL,
            (Column::Integer, ValueRef::Integer(value)) if value != NULL => value,
            (Column::Real, ValueRef::Real(value)) => (value + 0.0).to_bits() as i64,
            (Column::Text, ValueRef::Text(text)) => {
                let text = String::from_utf8_lossy(text);
                match self.known_texts.get(&*text) {
                    Some(&place) => place,
                    None => {
                        let place = self.texts.len() as i64;
                        self.known_texts.insert(text.to_string(), place);
                        self.texts.push(text.into_owned());
                        place
                    }
                }
            }
            (Column::Blob, ValueRef::Blob(bytes)) => {
                self.blobs.extend_from_slice(bytes);
                bytes.len() as i64
            }
            (column, value) => {
                return Err(format!("{}: {value:?} in a column of {column:?}", self.table).into());
            }
        })
    }

    /// Inserts them into a new database, and returns the time.
    pub fn insert(&self, database: &Path) -> Result<Duration> {
        Rows::insert_all(std::slice::from_ref(self), database)
    }

    /// Inserts rows of several tables into a new database, and returns the time.
    pub fn insert_all(all: &[Rows], database: &Path) -> Result<Duration> {
        remove(database)?;
        let conn = Connection::open(database)?;
        conn.execute_batch(
            "PRAGMA page_size = 8192;
             PRAGMA locking_mode = EXCLUSIVE;
             PRAGMA journal_mode = OFF;
             PRAGMA synchronous = OFF;",
        )?;
        conn.execute_batch(TABLES)?;
        for rows in all {
            drop_indexes(&conn, rows.table)?;
        }
        let begun = Instant::now();
        conn.execute_batch("BEGIN")?;
        for rows in all {
            rows.insert_into(&conn)?;
        }
        conn.execute_batch("COMMIT")?;
        let time = begun.elapsed();
        for rows in all {
            let count = format!("SELECT count(*) FROM {}", rows.table);
            let count: i64 = conn.query_row(&count, [], |row| row.get(0))?;
            assert_eq!(count, rows.len() as i64, "rows that were inserted");
        }
        Ok(time)
    }

    fn insert_into(&self, conn: &Connection) -> Result<()> {
        let places = vec!["?"; self.columns.len()].join(", ");
        let insert = format!("INSERT INTO {} VALUES ({places})", self.table);
        let mut insert = conn.prepare(&insert)?;
        let mut blobs = self.blobs.as_slice();
        for row in self.numbers.chunks_exact(self.columns.len()) {
            self.bind(&mut insert, row, &mut blobs)?;
            insert.raw_execute()?;
        }
        Ok(())
    }

    #[inline]
    fn bind(&self, insert: &mut Statement<'_>, row: &[i64], blobs: &mut &[u8]) -> Result<()> {
        for (place, (&number, column)) in (1..).zip(row.iter().zip(&self.columns)) {
            if number == NULL {
                insert.raw_bind_parameter(place, Null)?;
                continue;
            }
            let value = match column {
                Column::Integer => ValueRef::Integer(number),
                Column::Real => ValueRef::Real(f64::from_bits(number as u64)),
                Column::Text => ValueRef::Text(self.texts[number as usize].as_bytes()),
                Column::Blob => {
                    let (blob, rest) = blobs.split_at(number as usize);
                    *blobs = rest;
                    ValueRef::Blob(blob)
                }
            };
            insert.raw_bind_parameter(place, ToSqlOutput::Borrowed(value))?;
        }
        Ok(())
    }
}

fn drop_indexes(conn: &Connection, table: &str) -> Result<()> {
    let mut select = conn.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql NOT NULL",
    )?;
    let names = select.query_map([table], |row| row.get::<_, String>(0))?;
    for name in names.collect::<rusqlite::Result<Vec<_>>>()? {
        conn.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    Ok(())
}

/// Fails if two databases do not have the same rows in a table.
pub fn same_rows(ours: &Path, yardstick: &Path, table: &str) -> Result<()> {
    let conn = Connection::open(ours)?;
    let yardstick = yardstick.to_string_lossy();
    conn.execute("ATTACH ?1 AS yardstick", [&yardstick])?;
    let rows = |of: &str| -> rusqlite::Result<Statement<'_>> {
        conn.prepare(&format!("SELECT * FROM {of}.{table} ORDER BY id"))
    };
    let (mut ours, mut theirs) = (rows("main")?, rows("yardstick")?);
    let columns = ours.column_count();
    let (mut ours, mut theirs) = (ours.query([])?, theirs.query([])?);
    loop {
        match (ours.next()?, theirs.next()?) {
            (Some(ours), Some(theirs)) => {
                for column in 0..columns {
                    assert_eq!(ours.get_ref(column)?, theirs.get_ref(column)?, "{table}");
                }
            }
            (None, None) => return Ok(()),
            _ => return Err(format!("{table} has not as many rows as the yardstick").into()),
        }
    }
}

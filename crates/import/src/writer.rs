//! Rows go into the database, page by page.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::Connection;
use timebase_btree::{Database, KeyedTableBuilder, Value};
use timebase_resolver::{ClockId, builtin_name};
use timebase_schema::TABLES;

use crate::bulk::BulkTable;
use crate::error::WriteError;
use crate::payload;
use crate::rows::{
    Batch, Cell, Index, LogRow, MOST_COLUMNS, On, PacketRow, ReadingRow, RowType, Rows, Table,
    TableRows,
};

static PACKETS: Table = Table {
    name: "packet",
    columns: &[
        "id",
        "ts",
        "timestamp",
        "clock_id",
        "clock_ts",
        "seq_id",
        "machine_id",
        "type",
        "uid",
        "pid",
        "unresolved",
        "offset",
        "size",
        "data",
    ],
    indexes: &[
        Index {
            name: "packet_ts",
            on: On::One(1),
            rows: Rows::All { waiting: 2 },
        },
        Index {
            name: "packet_unresolved",
            on: On::One(0),
            rows: Rows::With(10),
        },
    ],
};

static READINGS: Table = Table {
    name: "clock_snapshot",
    columns: &[
        "id",
        "ts",
        "clock_id",
        "clock_name",
        "clock_value",
        "snapshot_id",
        "machine_id",
        "packet_id",
        "seq_id",
        "timestamp",
        "unit_multiplier_ns",
        "is_incremental",
        "source",
    ],
    indexes: &[],
};

static LOG: Table = Table {
    name: "import_log",
    columns: &["id", "severity", "code", "packet_id", "offset", "message"],
    indexes: &[],
};

const INSERT_LOG: &str = "INSERT INTO import_log (severity, code, packet_id, offset, message) \
     VALUES (?1, ?2, ?3, ?4, ?5)";

/// Where the tables and indexes of an empty database begin.
pub(crate) struct Roots(HashMap<String, u32>);

impl Roots {
    /// The root page; of what there is not, no page.
    pub fn of(&self, name: &str) -> u32 {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// Makes the tables of an empty database.
pub(crate) fn create(conn: &Connection) -> rusqlite::Result<Roots> {
    conn.execute_batch("PRAGMA page_size = 8192")?;
    prepare(conn)?;
    conn.execute_batch(TABLES)?;
    let mut statement = conn.prepare("SELECT name, rootpage FROM sqlite_schema")?;
    let roots = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Roots(roots.collect::<rusqlite::Result<_>>()?))
}

/// Begins a transaction in a database that [`create`] made.
pub(crate) fn resume(conn: &Connection) -> rusqlite::Result<()> {
    prepare(conn)?;
    conn.execute_batch("BEGIN")
}

/// The database is built beside its destination and nobody else sees it, so it
/// needs neither a journal nor syncs of its own.
fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA journal_mode = OFF;
         PRAGMA synchronous = OFF;
         PRAGMA cache_size = -2000;",
    )
}

/// Writes batches of rows, in order, into a database that SQLite has closed.
pub(crate) struct Writer {
    database: Database,
    packets: BulkTable,
    readings: BulkTable,
    log: BulkTable,
    /// Those of importers.
    tables: Vec<(&'static Table, BulkTable)>,
    steps_root: u32,
    next_packet: i64,
    next_reading: i64,
    next_log: i64,
}

/// Writes the steps of the clocks' mappings, when all other rows are written and
/// what they needed is free.
pub(crate) struct StepWriter {
    database: Database,
    rows: KeyedTableBuilder<7>,
}

/// A row of `clock_step`.
pub(crate) type StepRow = [Option<i64>; 7];

impl StepWriter {
    /// Adds a row. They come in the order of the table's key.
    pub fn push(&mut self, row: StepRow) -> Result<(), WriteError> {
        Ok(self.rows.push(&mut self.database, row)?)
    }

    /// Ends the work: SQLite can open the database again.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.rows.finish(&mut self.database)?;
        Ok(self.database.finish()?)
    }
}

impl Writer {
    /// A writer of the database at `path`. What has to be sorted is kept in
    /// `directory`.
    pub fn new(path: &Path, roots: &Roots, directory: &Path) -> Result<Self, WriteError> {
        let mut database = Database::open(path)?;
        let mut begin = |table| BulkTable::new(&mut database, roots, table, directory);
        Ok(Writer {
            packets: begin(&PACKETS)?,
            readings: begin(&READINGS)?,
            log: begin(&LOG)?,
            tables: payload::tables()
                .map(|table| Ok((table, begin(table)?)))
                .collect::<Result<_, WriteError>>()?,
            steps_root: roots.of("clock_step"),
            database,
            next_packet: 0,
            next_reading: 0,
            next_log: 1,
        })
    }

    pub fn write(&mut self, batch: &Batch) -> Result<(), WriteError> {
        for row in &batch.packets {
            self.packet(row, &batch.bytes)?;
        }
        for row in &batch.readings {
            self.reading(row)?;
        }
        for row in &batch.log {
            self.log(row)?;
        }
        for rows in batch.tables.iter().filter(|rows| !rows.cells.is_empty()) {
            self.rows(rows, batch)?;
        }
        Ok(())
    }

    /// Writes what is left, and tells which indexes SQLite has to make, when
    /// what waits has been tried once more.
    pub fn finish(mut self) -> Result<(StepWriter, Vec<&'static str>), WriteError> {
        let mut postponed = Vec::new();
        let importers = self.tables.into_iter().map(|(_, table)| table);
        for table in [self.packets, self.readings, self.log]
            .into_iter()
            .chain(importers)
        {
            postponed.extend(table.finish(&mut self.database)?);
        }
        let rows = KeyedTableBuilder::new(&mut self.database, self.steps_root)?;
        let steps = StepWriter {
            database: self.database,
            rows,
        };
        Ok((steps, postponed))
    }

    /// Writes rows of an importer's table.
    fn rows(&mut self, rows: &TableRows, batch: &Batch) -> Result<(), WriteError> {
        let columns = rows.table.columns.len();
        let mut tables = self.tables.iter_mut();
        let Some((_, bulk)) = tables.find(|(table, _)| std::ptr::eq(*table, rows.table)) else {
            return Err(WriteError::Unnamed(rows.table.name));
        };
        let mut values = [Value::Null; MOST_COLUMNS];
        for row in rows.cells.chunks_exact(columns) {
            // The rowid stands outside of the record.
            for (value, cell) in values.iter_mut().zip(row).skip(1) {
                *value = value_of(cell, batch);
            }
            let rowid = match row[0] {
                Cell::Integer(rowid) => rowid,
                _ => 0,
            };
            bulk.push(&mut self.database, rowid, &values[..columns])?;
        }
        Ok(())
    }

    fn packet(&mut self, row: &PacketRow, bytes: &[u8]) -> Result<(), WriteError> {
        let placement = &row.placement;
        let unnamed;
        let row_type = match row.row_type {
            RowType::None => Value::Null,
            RowType::Corrupt => Value::Text("corrupt"),
            RowType::Payload(kind) => match kind.name() {
                Some(name) => Value::Text(name),
                None => {
                    unnamed = kind.0.to_string();
                    Value::Text(&unnamed)
                }
            },
        };
        let data = bytes.get(row.data.clone());
        let values = [
            Value::Null,
            placement.ts.into(),
            row.timestamp.map_or(Value::Null, timestamp),
            placement.clock_id.map(i64::from).into(),
            placement.clock_ts.into(),
            Value::Integer(row.seq_id.into()),
            Value::Integer(row.machine_id.into()),
            row_type,
            row.uid.map(i64::from).into(),
            row.pid.map(i64::from).into(),
            placement.unresolved.map(|reason| reason.code()).into(),
            Value::Integer(row.offset as i64),
            Value::Integer(row.size as i64),
            match data {
                Some(data) if data.len() as u64 == row.size => Value::Blob(data),
                _ => Value::Null,
            },
        ];
        self.packets
            .push(&mut self.database, self.next_packet, &values)?;
        self.next_packet += 1;
        Ok(())
    }

    fn reading(&mut self, row: &ReadingRow) -> Result<(), WriteError> {
        let reading = &row.reading;
        let values = [
            Value::Null,
            row.ts.into(),
            Value::Integer(reading.clock.id.get().into()),
            snapshot_clock_name(reading.clock.id).into(),
            Value::Integer(reading.value),
            Value::Integer(row.snapshot.0.into()),
            Value::Integer(reading.clock.machine.0.into()),
            Value::Integer(row.packet_id as i64),
            Value::Integer(reading.clock.seq.0.into()),
            Value::Integer(row.timestamp),
            Value::Integer(reading.unit),
            Value::Integer(reading.incremental.into()),
            Value::Integer((row.source as u8).into()),
        ];
        self.readings
            .push(&mut self.database, self.next_reading, &values)?;
        self.next_reading += 1;
        Ok(())
    }

    fn log(&mut self, row: &LogRow) -> Result<(), WriteError> {
        let values = [
            Value::Null,
            Value::Text(row.severity.name()),
            Value::Text(row.code),
            row.packet_id.map(|id| id as i64).into(),
            row.offset.map(|offset| offset as i64).into(),
            Value::Text(&row.message),
        ];
        self.log.push(&mut self.database, self.next_log, &values)?;
        self.next_log += 1;
        Ok(())
    }
}

/// A timestamp as recorded. SQLite has no integer for one of 2⁶³ or more; the
/// nearest number says most.
fn timestamp(value: u64) -> Value<'static> {
    i64::try_from(value).map_or(Value::Real(value as f64), Value::Integer)
}

fn value_of<'a>(cell: &Cell, batch: &'a Batch) -> Value<'a> {
    match *cell {
        Cell::Null => Value::Null,
        Cell::Integer(value) => Value::Integer(value),
        Cell::Real(value) => Value::Real(value),
        Cell::Blob { start, size } => Value::Blob(batch.kept(start, size)),
        // What was put there was text.
        Cell::Text { start, size } => {
            Value::Text(std::str::from_utf8(batch.kept(start, size)).unwrap_or_default())
        }
    }
}

/// Writes a row of the import log, outside of a batch.
pub(crate) fn log(conn: &Connection, row: &LogRow) -> rusqlite::Result<()> {
    conn.execute(
        INSERT_LOG,
        rusqlite::params![
            row.severity.name(),
            row.code,
            row.packet_id.map(|id| id as i64),
            row.offset.map(|offset| offset as i64),
            row.message,
        ],
    )?;
    Ok(())
}

/// The name that trace processor gives a clock in `clock_snapshot`: only the
/// clocks of the kernel's `clock_gettime` have one.
fn snapshot_clock_name(id: ClockId) -> Option<&'static str> {
    builtin_name(id.get()).filter(|_| id <= ClockId::BOOTTIME)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Rows are written by place, without SQLite looking at the names.
    #[test]
    fn tables_are_those_of_the_schema() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(TABLES).unwrap();
        let names = |sql: &str, of: &str| -> Vec<String> {
            let mut statement = conn.prepare(sql).unwrap();
            let names = statement.query_map([of], |row| row.get(0)).unwrap();
            names.map(Result::unwrap).collect()
        };
        for table in [&PACKETS, &READINGS, &LOG]
            .into_iter()
            .chain(payload::tables())
        {
            let columns = names("SELECT name FROM pragma_table_info(?1)", table.name);
            assert_eq!(columns, table.columns, "{}", table.name);
            assert!(columns.len() <= MOST_COLUMNS);
            let indexes = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 \
                           ORDER BY rootpage";
            let declared: Vec<&str> = table.indexes.iter().map(|index| index.name).collect();
            assert_eq!(names(indexes, table.name), declared, "{}", table.name);
            for index in table.indexes {
                let columns = match index.on {
                    On::One(first) => vec![table.columns[first]],
                    On::Two(first, second) => vec![table.columns[first], table.columns[second]],
                };
                let sql = "SELECT name FROM pragma_index_info(?1)";
                assert_eq!(names(sql, index.name), columns, "{}", index.name);
            }
        }
    }
}

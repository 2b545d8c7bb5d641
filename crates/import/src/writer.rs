//! Rows go into the database: prepared statements, one transaction.

use std::path::Path;

use rusqlite::types::Null;
use rusqlite::{Connection, Statement};
use timebase_resolver::{ClockId, builtin_name};

use crate::bulk::BulkTable;
use crate::error::WriteError;
use crate::rows::{Batch, Cell, LogRow, PacketRow, ReadingRow, RowType, Table, TableRows};

const TABLES: &str = include_str!("../../../schema/tables.sql");

const INSERT_PACKET: &str = "INSERT INTO packet (id, ts, timestamp, clock_id, clock_ts, seq_id, \
     machine_id, type, uid, pid, unresolved, offset, size, data) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";

const INSERT_READING: &str = "INSERT INTO clock_snapshot (ts, clock_id, clock_name, clock_value, \
     snapshot_id, machine_id, packet_id, seq_id, timestamp, unit_multiplier_ns, is_incremental, \
     source, id) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

const INSERT_LOG: &str = "INSERT INTO import_log (severity, code, packet_id, offset, message) \
     VALUES (?1, ?2, ?3, ?4, ?5)";

/// Makes the tables of an empty database, and begins the transaction.
pub(crate) fn create(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("PRAGMA page_size = 8192")?;
    prepare(conn)?;
    conn.execute_batch(TABLES)?;
    conn.execute_batch("BEGIN")
}

/// Begins another transaction in a database that [`create`] made.
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
         PRAGMA cache_size = -16000;",
    )
}

/// Writes batches of rows, in order.
pub(crate) struct Writer<'c> {
    conn: &'c Connection,
    packet: Statement<'c>,
    reading: Statement<'c>,
    log: Statement<'c>,
    tables: Vec<(&'static Table, Sink<'c>)>,
    /// Where files are kept until they are part of the database.
    directory: &'c Path,
    packets: i64,
    readings: i64,
}

/// Where the rows of an importer's table go.
enum Sink<'c> {
    Sqlite(Statement<'c>),
    Bulk(Box<BulkTable>),
}

impl<'c> Writer<'c> {
    pub fn new(conn: &'c Connection, directory: &'c Path) -> rusqlite::Result<Self> {
        Ok(Writer {
            conn,
            packet: conn.prepare(INSERT_PACKET)?,
            reading: conn.prepare(INSERT_READING)?,
            log: conn.prepare(INSERT_LOG)?,
            tables: Vec::new(),
            directory,
            packets: 0,
            readings: 0,
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
            insert_log(&mut self.log, row)?;
        }
        for rows in batch.tables.iter().filter(|rows| !rows.cells.is_empty()) {
            match self.sink(rows.table)? {
                Sink::Bulk(table) => table.add(&rows.cells)?,
                Sink::Sqlite(statement) => insert(statement, rows, batch)?,
            }
        }
        Ok(())
    }

    /// The tables that are not in the database yet.
    pub fn finish(self) -> Vec<BulkTable> {
        let sinks = self.tables.into_iter();
        sinks
            .filter_map(|(_, sink)| match sink {
                Sink::Bulk(table) => Some(*table),
                Sink::Sqlite(_) => None,
            })
            .collect()
    }

    fn sink(&mut self, table: &'static Table) -> Result<&mut Sink<'c>, WriteError> {
        let known = |(other, _): &(&Table, Sink<'_>)| std::ptr::eq(*other, table);
        let index = match self.tables.iter().position(known) {
            Some(index) => index,
            None => {
                let sink = match &table.bulk {
                    Some(bulk) => Sink::Bulk(Box::new(BulkTable::new(
                        self.conn,
                        table,
                        bulk,
                        self.directory,
                    )?)),
                    None => Sink::Sqlite(self.conn.prepare(&insert_sql(table))?),
                };
                self.tables.push((table, sink));
                self.tables.len() - 1
            }
        };
        Ok(&mut self.tables[index].1)
    }

    fn packet(&mut self, row: &PacketRow, bytes: &[u8]) -> rusqlite::Result<()> {
        let statement = &mut self.packet;
        let placement = &row.placement;
        statement.raw_bind_parameter(1, self.packets)?;
        statement.raw_bind_parameter(2, placement.ts)?;
        match row.timestamp.map(i64::try_from) {
            Some(Ok(timestamp)) => statement.raw_bind_parameter(3, timestamp)?,
            // SQLite has no integer for it; the nearest number says most.
            Some(Err(_)) => statement.raw_bind_parameter(3, row.timestamp.map(|t| t as f64))?,
            None => statement.raw_bind_parameter(3, Null)?,
        }
        statement.raw_bind_parameter(4, placement.clock_id)?;
        statement.raw_bind_parameter(5, placement.clock_ts)?;
        statement.raw_bind_parameter(6, row.seq_id)?;
        statement.raw_bind_parameter(7, row.machine_id)?;
        match row.row_type {
            RowType::None => statement.raw_bind_parameter(8, Null)?,
            RowType::Corrupt => statement.raw_bind_parameter(8, "corrupt")?,
            RowType::Payload(kind) => match kind.name() {
                Some(name) => statement.raw_bind_parameter(8, name)?,
                None => statement.raw_bind_parameter(8, kind.0.to_string())?,
            },
        }
        statement.raw_bind_parameter(9, row.uid)?;
        statement.raw_bind_parameter(10, row.pid)?;
        statement.raw_bind_parameter(11, placement.unresolved.map(|reason| reason.code()))?;
        statement.raw_bind_parameter(12, row.offset as i64)?;
        statement.raw_bind_parameter(13, row.size as i64)?;
        match bytes.get(row.data.clone()) {
            Some(data) if data.len() as u64 == row.size => {
                statement.raw_bind_parameter(14, data)?
            }
            _ => statement.raw_bind_parameter(14, Null)?,
        }
        statement.raw_execute()?;
        self.packets += 1;
        Ok(())
    }

    fn reading(&mut self, row: &ReadingRow) -> rusqlite::Result<()> {
        let reading = &row.reading;
        self.reading.execute(rusqlite::params![
            row.ts,
            reading.clock.id.get(),
            snapshot_clock_name(reading.clock.id),
            reading.value,
            row.snapshot.0,
            reading.clock.machine.0,
            row.packet_id as i64,
            reading.clock.seq.0,
            row.timestamp,
            reading.unit,
            reading.incremental,
            row.source as u8,
            self.readings,
        ])?;
        self.readings += 1;
        Ok(())
    }
}

fn insert_sql(table: &Table) -> String {
    let places: Vec<&str> = table.columns.iter().map(|_| "?").collect();
    format!(
        "INSERT INTO {} ({}) VALUES ({})",
        table.name,
        table.columns.join(", "),
        places.join(", ")
    )
}

/// Writes rows of an importer's table.
fn insert(statement: &mut Statement<'_>, rows: &TableRows, batch: &Batch) -> rusqlite::Result<()> {
    for row in rows.cells.chunks_exact(rows.table.columns.len()) {
        for (place, cell) in (1..).zip(row) {
            match *cell {
                Cell::Null => statement.raw_bind_parameter(place, Null)?,
                Cell::Integer(value) => statement.raw_bind_parameter(place, value)?,
                Cell::Real(value) => statement.raw_bind_parameter(place, value)?,
                Cell::Blob { start, size } => {
                    statement.raw_bind_parameter(place, batch.kept(start, size))?;
                }
                Cell::Text { start, size } => {
                    let text = String::from_utf8_lossy(batch.kept(start, size));
                    statement.raw_bind_parameter(place, text)?;
                }
            }
        }
        statement.raw_execute()?;
    }
    Ok(())
}

/// Writes a row of the import log.
fn insert_log(statement: &mut Statement<'_>, row: &LogRow) -> rusqlite::Result<()> {
    statement.execute(rusqlite::params![
        row.severity.name(),
        row.code,
        row.packet_id.map(|id| id as i64),
        row.offset.map(|offset| offset as i64),
        row.message,
    ])?;
    Ok(())
}

/// Logs something outside of a batch.
pub(crate) fn log(conn: &Connection, row: &LogRow) -> rusqlite::Result<()> {
    insert_log(&mut conn.prepare(INSERT_LOG)?, row)
}

/// The name that trace processor gives a clock in `clock_snapshot`: only the
/// clocks of the kernel's `clock_gettime` have one.
fn snapshot_clock_name(id: ClockId) -> Option<&'static str> {
    builtin_name(id.get()).filter(|_| id <= ClockId::BOOTTIME)
}

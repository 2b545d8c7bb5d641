//! Rows go into the database: prepared statements, one transaction.

use rusqlite::types::Null;
use rusqlite::{Connection, Statement};
use timebase_resolver::{ClockId, builtin_name};

use crate::rows::{Batch, LogRow, PacketRow, ReadingRow, RowType};

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
///
/// The database is built beside its destination and nobody else sees it, so it
/// needs neither a journal nor syncs of its own.
pub(crate) fn create(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "PRAGMA page_size = 8192;
         PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA journal_mode = OFF;
         PRAGMA synchronous = OFF;
         PRAGMA cache_size = -16000;",
    )?;
    conn.execute_batch(TABLES)?;
    conn.execute_batch("BEGIN")
}

/// Writes batches of rows, in order.
pub(crate) struct Writer<'c> {
    packet: Statement<'c>,
    reading: Statement<'c>,
    log: Statement<'c>,
    packets: i64,
    readings: i64,
}

impl<'c> Writer<'c> {
    pub fn new(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Writer {
            packet: conn.prepare(INSERT_PACKET)?,
            reading: conn.prepare(INSERT_READING)?,
            log: conn.prepare(INSERT_LOG)?,
            packets: 0,
            readings: 0,
        })
    }

    pub fn write(&mut self, batch: &Batch) -> rusqlite::Result<()> {
        for row in &batch.packets {
            self.packet(row, &batch.bytes)?;
        }
        for row in &batch.readings {
            self.reading(row)?;
        }
        for row in &batch.log {
            insert_log(&mut self.log, row)?;
        }
        Ok(())
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

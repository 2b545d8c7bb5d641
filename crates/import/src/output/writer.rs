//! Rows go into the database, page by page.

use std::path::Path;

use rusqlite::Connection;
use timebase_resolver::Ticks;
use timebase_schema::{Order, Row, TABLES, Table, tables};
use timebase_store::btree::{Database, KeyedTableBuilder, Value};
use timebase_store::sort::{Quota, Scratch};

use super::batch::{Batch, Cell, PacketRow, RowType};
use super::doubt::{LateDoubt, Tallies};
use super::room::Room;
use super::table::{BulkTable, Roots};
use crate::error::WriteError;
use crate::place::TraceTime;

/// Makes the tables of an empty database.
pub(crate) fn create(conn: &Connection, quota: &Quota) -> rusqlite::Result<Roots> {
    conn.execute_batch("PRAGMA page_size = 8192")?;
    prepare(conn)?;
    Room::new(conn, quota)?;
    conn.execute_batch(TABLES)?;
    Roots::read(conn)
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
    roots: Roots,
    /// Where is put aside what has to be sorted.
    scratch: Scratch,
    /// Those that have got a row and get more, by their numbers.
    tables: Vec<Option<BulkTable>>,
    /// Indexes that SQLite has to make.
    postponed: Vec<&'static str>,
    /// Rows of tables with keys that do not come in their order, which are few and
    /// SQLite's to insert.
    keyed: Vec<KeyedRow>,
    /// Doubts of rows that are written, which are few, too.
    doubts: Vec<LateDoubt>,
    tallies: Tallies,
}

/// A row that has to be inserted.
pub(crate) struct KeyedRow {
    table: &'static Table,
    values: Vec<rusqlite::types::Value>,
}

impl KeyedRow {
    /// Inserts rows, when SQLite has the database again.
    pub fn insert_all(rows: &[KeyedRow], conn: &Connection) -> rusqlite::Result<()> {
        for row in rows {
            let values = rusqlite::params_from_iter(&row.values);
            conn.execute(&row.table.insert(), values)?;
        }
        Ok(())
    }
}

/// What is left when all rows are written that come row by row.
pub(crate) struct Rest {
    /// Indexes that SQLite has to make, when what waits has got its time.
    pub postponed: Vec<&'static str>,
    pub keyed: Vec<KeyedRow>,
    pub doubts: Vec<LateDoubt>,
    /// How many rows may be wrong, but for these.
    pub tallies: Tallies,
}

/// Writes what is solved of the clocks, when all other rows are written and what they
/// needed is free. All rows come in the order of their tables.
pub(crate) struct SolvedWriter {
    database: Database,
    steps: KeyedTableBuilder<8>,
    routes: KeyedTableBuilder<6>,
    lines: BulkTable,
    hops: BulkTable,
    readings: BulkTable,
}

/// A row of `clock_step`.
pub(crate) type StepRow = tables::clock_step::Row<Option<i64>>;

impl SolvedWriter {
    pub fn step(&mut self, row: StepRow) -> Result<(), WriteError> {
        let row = Row::<Option<i64>>::cells(row);
        Ok(self.steps.push(&mut self.database, row)?)
    }

    pub fn route(&mut self, row: tables::clock_route::Row<Option<i64>>) -> Result<(), WriteError> {
        let row = Row::<Option<i64>>::cells(row);
        Ok(self.routes.push(&mut self.database, row)?)
    }

    pub fn line(&mut self, row: tables::clock_line::Row<Value<'_>>) -> Result<(), WriteError> {
        self.lines.push_row(&mut self.database, 0, row).map(drop)
    }

    /// A hop, whose number is given apart.
    pub fn hop(
        &mut self,
        id: i64,
        row: tables::clock_hop::Row<Value<'_>>,
    ) -> Result<(), WriteError> {
        self.hops.push_row(&mut self.database, id, row).map(drop)
    }

    /// A reading of a hop, whose number is given apart.
    pub fn reading(
        &mut self,
        id: i64,
        row: tables::clock_hop_reading::Row<Value<'_>>,
    ) -> Result<(), WriteError> {
        let database = &mut self.database;
        self.readings.push_row(database, id, row).map(drop)
    }

    /// Ends the work: SQLite can open the database again.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.steps.finish(&mut self.database)?;
        self.routes.finish(&mut self.database)?;
        for table in [self.lines, self.hops, self.readings] {
            table.finish(&mut self.database, 0)?;
        }
        Ok(self.database.finish()?)
    }
}

impl Writer {
    /// A writer of the database at `path`. What has to be sorted is kept in
    /// `directory`.
    pub fn new(path: &Path, roots: Roots, scratch: &Scratch) -> Result<Self, WriteError> {
        let database = Database::open_counted(path, scratch.quota())?;
        Ok(Writer {
            tables: tables::ALL.iter().map(|_| None).collect(),
            postponed: Vec::new(),
            keyed: Vec::new(),
            doubts: Vec::new(),
            tallies: Tallies::default(),
            database,
            roots,
            scratch: scratch.clone(),
        })
    }

    /// Writes the rows of a batch.
    pub fn write(&mut self, batch: &Batch) -> Result<(), WriteError> {
        for row in &batch.packets {
            self.packet(row, &batch.bytes)?;
        }
        for declared in tables::ALL {
            for row in batch.rows(declared) {
                let values = row.iter().map(|cell| value_of(cell, batch));
                let mut is_written = false;
                if declared.order != Order::None {
                    let (table, database) = self.table(declared)?;
                    is_written = table.push_values(database, values.clone())?;
                }
                if !is_written {
                    self.keyed.push(KeyedRow {
                        table: declared,
                        values: values.map(owned).collect(),
                    });
                }
            }
        }
        self.doubts.extend_from_slice(&batch.doubts);
        self.tallies.states.add(batch.tallies.states);
        self.tallies.slices.add(batch.tallies.slices);
        for complete in &batch.complete {
            self.complete(complete.table, complete.waiting)?;
        }
        Ok(())
    }

    /// A table that is being filled, and the database that it is in.
    #[inline]
    fn table(
        &mut self,
        declared: &'static Table,
    ) -> Result<(&mut BulkTable, &mut Database), WriteError> {
        let database = &mut self.database;
        let place = &mut self.tables[declared.number];
        let table = match place {
            Some(table) => table,
            none => none.insert(BulkTable::new(
                database,
                &self.roots,
                declared,
                &self.scratch,
            )?),
        };
        Ok((table, database))
    }

    /// Writes what is left of a table, so many rows of which wait for their time.
    fn complete(&mut self, declared: &Table, waiting: u64) -> Result<(), WriteError> {
        if let Some(table) = self.tables[declared.number].take() {
            let postponed = table.finish(&mut self.database, waiting)?;
            self.postponed.extend(postponed);
        }
        Ok(())
    }

    /// Writes what is left. `waiting` is how many rows of each table wait for their
    /// time, by its number.
    pub fn finish(mut self, waiting: &[u64]) -> Result<(SolvedWriter, Rest), WriteError> {
        for declared in tables::ALL {
            let waiting = waiting.get(declared.number).copied().unwrap_or(0);
            self.complete(declared, waiting)?;
        }
        let (database, roots) = (&mut self.database, &self.roots);
        let steps = KeyedTableBuilder::new(database, roots.of(tables::clock_step::TABLE.name))?;
        let routes = KeyedTableBuilder::new(database, roots.of(tables::clock_route::TABLE.name))?;
        let mut table = |declared| BulkTable::new(database, roots, declared, &self.scratch);
        let (lines, hops, readings) = (
            table(&tables::clock_line::TABLE)?,
            table(&tables::clock_hop::TABLE)?,
            table(&tables::clock_hop_reading::TABLE)?,
        );
        let solved = SolvedWriter {
            database: self.database,
            steps,
            routes,
            lines,
            hops,
            readings,
        };
        let rest = Rest {
            postponed: self.postponed,
            keyed: self.keyed,
            doubts: self.doubts,
            tallies: self.tallies,
        };
        Ok((solved, rest))
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
        let values = tables::packet::Row {
            id: Value::Null,
            ts: placement.ts.map(|TraceTime(ts)| ts).into(),
            timestamp: row.timestamp.map_or(Value::Null, timestamp),
            clock_id: placement.clock_id.map(i64::from).into(),
            clock_ts: placement.clock_ts.map(|Ticks(ticks)| ticks).into(),
            seq_id: Value::Integer(row.seq_id.into()),
            machine_id: Value::Integer(row.machine.into()),
            r#type: row_type,
            uid: row.uid.map(i64::from).into(),
            pid: row.pid.map(i64::from).into(),
            unresolved: placement.unresolved.map(|reason| reason.code()).into(),
            trace_file_id: Value::Integer(row.file.into()),
            number: Value::Integer(row.number),
            offset: Value::Integer(row.offset as i64),
            size: Value::Integer(row.size as i64),
            data: match data {
                Some(data) if data.len() as u64 == row.size => Value::Blob(data),
                _ => Value::Null,
            },
        };
        let (packets, database) = self.table(&tables::packet::TABLE)?;
        packets.push_row(database, row.id, values).map(drop)
    }
}

/// A timestamp as recorded. SQLite has no integer for one of 2⁶³ or more; the
/// nearest number says most.
fn timestamp(value: u64) -> Value<'static> {
    i64::try_from(value).map_or(Value::Real(value as f64), Value::Integer)
}

pub(super) fn owned(value: Value<'_>) -> rusqlite::types::Value {
    use rusqlite::types::Value as Owned;
    match value {
        Value::Null => Owned::Null,
        Value::Integer(value) => Owned::Integer(value),
        Value::Real(value) => Owned::Real(value),
        Value::Text(text) => Owned::Text(text.to_owned()),
        Value::Blob(bytes) => Owned::Blob(bytes.to_vec()),
    }
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

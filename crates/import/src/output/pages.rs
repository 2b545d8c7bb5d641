//! Writes rows as pages of a new file, which SQLite has closed.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use timebase_schema::{Row, Table, tables};
use timebase_store::btree::{Database, KeyedTableBuilder, Value};
use timebase_store::sort::{Quota, Scratch};

use super::room::Room;
use super::sink::{RouteRow, Sink, SolvedSink, StepRow};
use super::table::{BulkTable, Roots};
use crate::error::WriteError;

/// The largest size of a small trace.
const SMALL: u64 = 64 << 10;

/// The size of a page. Large pages are faster to write and to read. But each table has one page, and most
/// tables of a small trace are empty: 74 pages of 428 bytes.
fn page_size(trace: Option<u64>) -> u32 {
    match trace {
        Some(bytes) if bytes <= SMALL => 1024,
        _ => 8192,
    }
}

/// Makes the tables of an empty database, by these statements.
fn create(
    conn: &Connection,
    page_size: u32,
    tables: &str,
    quota: &Quota,
) -> rusqlite::Result<Roots> {
    conn.execute_batch(&format!("PRAGMA page_size = {page_size}"))?;
    prepare(conn)?;
    Room::new(conn, quota)?;
    // This is one transaction. Otherwise each table would write the first page and the schema's pages again.
    conn.execute_batch(&format!("BEGIN; {tables} COMMIT"))?;
    Roots::read(conn)
}

/// Begins a transaction in a database that [`create`] made.
pub(crate) fn resume(conn: &Connection) -> rusqlite::Result<()> {
    prepare(conn)?;
    conn.execute_batch("BEGIN")
}

/// The database is built beside its destination and nobody else sees it, so it needs neither a journal nor
/// syncs.
fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA journal_mode = OFF;
         PRAGMA synchronous = OFF;
         PRAGMA cache_size = -2000;",
    )
}

/// The pages of a database.
pub(crate) struct Pages {
    database: Database,
    roots: Roots,
    /// The storage for records that have to be sorted.
    scratch: Scratch,
    /// The tables that have rows and get more, by their numbers.
    tables: Vec<Option<BulkTable>>,
    /// Indexes that SQLite has to make.
    postponed: Vec<&'static str>,
}

impl Pages {
    /// Creates the pages of a new database at `path`, where there is an empty file. Records that have to be
    /// sorted are stored in `scratch`. `trace` is the trace's size in bytes, if it is known; the statements `tables` create the tables.
    pub fn create(
        path: &Path,
        trace: Option<u64>,
        tables: &str,
        scratch: &Scratch,
    ) -> Result<Self, WriteError> {
        // On disk, SQLite would write each page separately.
        let mut conn = Connection::open_in_memory()?;
        let roots = create(&conn, page_size(trace), tables, scratch.quota()).map_err(|error| {
            let error = WriteError::from(error);
            if error.is_disk_full() && Room::is_full(&conn) {
                scratch.quota().exceed();
            }
            error
        })?;
        fs::write(path, &*conn.serialize(c"main")?)?;
        let database = Database::open_counted(path, scratch.quota())?;
        Ok(Pages {
            tables: tables::ALL.iter().map(|_| None).collect(),
            postponed: Vec::new(),
            database,
            roots,
            scratch: scratch.clone(),
        })
    }

    /// A table that is being filled, and its database.
    #[inline]
    fn table(
        &mut self,
        declared: &'static Table,
    ) -> Result<(&mut BulkTable, &mut Database), WriteError> {
        let database = &mut self.database;
        let place = &mut self.tables[declared.number];
        let table = match place {
            Some(table) => table,
            none => none.insert(BulkTable::new(database, &self.roots, declared, &self.scratch)?),
        };
        Ok((table, database))
    }
}

impl Sink for Pages {
    type Solved = SolvedPages;

    #[inline]
    fn row<'v>(
        &mut self,
        table: &'static Table,
        values: impl Iterator<Item = Value<'v>>,
    ) -> Result<bool, WriteError> {
        let (table, database) = self.table(table)?;
        table.push_values(database, values)
    }

    #[inline]
    fn packet(
        &mut self,
        id: i64,
        row: tables::packet_record::Row<Value<'_>>,
    ) -> Result<(), WriteError> {
        let (packets, database) = self.table(&tables::packet_record::TABLE)?;
        packets.push_row(database, id, row).map(drop)
    }

    fn complete(&mut self, table: &'static Table, waiting: u64) -> Result<(), WriteError> {
        if let Some(table) = self.tables[table.number].take() {
            let postponed = table.finish(&mut self.database, waiting)?;
            self.postponed.extend(postponed);
        }
        Ok(())
    }

    fn solved(mut self) -> Result<(SolvedPages, Vec<&'static str>), WriteError> {
        let (database, roots) = (&mut self.database, &self.roots);
        let steps = KeyedTableBuilder::new(database, roots.of(tables::clock_step::TABLE.name))?;
        let routes = KeyedTableBuilder::new(database, roots.of(tables::clock_route::TABLE.name))?;
        let mut table = |declared| BulkTable::new(database, roots, declared, &self.scratch);
        let (lines, hops, readings) = (
            table(&tables::clock_line::TABLE)?,
            table(&tables::clock_hop::TABLE)?,
            table(&tables::clock_hop_reading::TABLE)?,
        );
        let solved = SolvedPages { database: self.database, steps, routes, lines, hops, readings };
        Ok((solved, self.postponed))
    }
}

/// The pages of the solved clock graph. They are written last, after the memory of all other rows is free.
pub(crate) struct SolvedPages {
    database: Database,
    steps: KeyedTableBuilder<8>,
    routes: KeyedTableBuilder<6>,
    lines: BulkTable,
    hops: BulkTable,
    readings: BulkTable,
}

impl SolvedSink for SolvedPages {
    fn step(&mut self, row: StepRow) -> Result<(), WriteError> {
        let row = Row::<Option<i64>>::cells(row);
        Ok(self.steps.push(&mut self.database, row)?)
    }

    fn route(&mut self, row: RouteRow) -> Result<(), WriteError> {
        let row = Row::<Option<i64>>::cells(row);
        Ok(self.routes.push(&mut self.database, row)?)
    }

    fn line(&mut self, row: tables::clock_line::Row<Value<'_>>) -> Result<(), WriteError> {
        self.lines.push_row(&mut self.database, 0, row).map(drop)
    }

    fn hop(&mut self, id: i64, row: tables::clock_hop::Row<Value<'_>>) -> Result<(), WriteError> {
        self.hops.push_row(&mut self.database, id, row).map(drop)
    }

    fn reading(
        &mut self,
        id: i64,
        row: tables::clock_hop_reading::Row<Value<'_>>,
    ) -> Result<(), WriteError> {
        let database = &mut self.database;
        self.readings.push_row(database, id, row).map(drop)
    }

    fn finish(mut self) -> Result<(), WriteError> {
        self.steps.finish(&mut self.database)?;
        self.routes.finish(&mut self.database)?;
        for table in [self.lines, self.hops, self.readings] {
            table.finish(&mut self.database, 0)?;
        }
        Ok(self.database.finish()?)
    }
}

//! Inserts rows into the tables of a connection.

use rusqlite::types::Value as Owned;
use rusqlite::{Connection, Statement, params_from_iter};
use timebase_schema::{Row, Table, tables};
use timebase_store::btree::Value;

use super::sink::{RouteRow, Sink, SolvedSink, StepRow};
use super::writer::owned;
use crate::error::WriteError;

/// The tables of a connection, with a statement for each.
pub(crate) struct Statements<'c> {
    conn: &'c Connection,
    /// The statements by the tables' numbers, each prepared with the table's first row.
    inserts: Vec<Option<Statement<'c>>>,
}

impl<'c> Statements<'c> {
    /// Makes the tables by these statements, in the caller's transaction.
    pub fn create(conn: &'c Connection, tables: &str) -> rusqlite::Result<Self> {
        conn.execute_batch(tables)?;
        Ok(Statements { conn, inserts: tables::ALL.iter().map(|_| None).collect() })
    }

    fn insert(
        &mut self,
        table: &'static Table,
        values: impl Iterator<Item = Owned>,
    ) -> Result<(), WriteError> {
        let place = &mut self.inserts[table.number];
        let insert = match place {
            Some(insert) => insert,
            none => none.insert(self.conn.prepare(&table.insert())?),
        };
        insert.execute(params_from_iter(values))?;
        Ok(())
    }

    /// Inserts a row whose first column is `number`.
    fn numbered<'v>(
        &mut self,
        table: &'static Table,
        number: i64,
        row: impl Row<Value<'v>>,
    ) -> Result<(), WriteError> {
        let cells = row.cells();
        let rest = cells.as_ref().iter().skip(1).copied().map(owned);
        self.insert(table, std::iter::once(Owned::Integer(number)).chain(rest))
    }

    fn integers(
        &mut self,
        table: &'static Table,
        row: impl Row<Option<i64>>,
    ) -> Result<(), WriteError> {
        let cells = row.cells();
        self.insert(table, cells.as_ref().iter().copied().map(Owned::from))
    }
}

impl Sink for Statements<'_> {
    type Solved = Self;

    fn row<'v>(
        &mut self,
        table: &'static Table,
        values: impl Iterator<Item = Value<'v>>,
    ) -> Result<bool, WriteError> {
        self.insert(table, values.map(owned)).map(|()| true)
    }

    fn packet(
        &mut self,
        id: i64,
        row: tables::packet_record::Row<Value<'_>>,
    ) -> Result<(), WriteError> {
        self.numbered(&tables::packet_record::TABLE, id, row)
    }

    fn complete(&mut self, table: &'static Table, _: u64) -> Result<(), WriteError> {
        self.inserts[table.number] = None;
        Ok(())
    }

    fn solved(self) -> Result<(Self, Vec<&'static str>), WriteError> {
        Ok((self, Vec::new()))
    }
}

impl SolvedSink for Statements<'_> {
    fn step(&mut self, row: StepRow) -> Result<(), WriteError> {
        self.integers(&tables::clock_step::TABLE, row)
    }

    fn route(&mut self, row: RouteRow) -> Result<(), WriteError> {
        self.integers(&tables::clock_route::TABLE, row)
    }

    fn line(&mut self, row: tables::clock_line::Row<Value<'_>>) -> Result<(), WriteError> {
        let cells = row.cells();
        let values = cells.as_ref().iter().copied().map(owned);
        self.insert(&tables::clock_line::TABLE, values)
    }

    fn hop(&mut self, id: i64, row: tables::clock_hop::Row<Value<'_>>) -> Result<(), WriteError> {
        self.numbered(&tables::clock_hop::TABLE, id, row)
    }

    fn reading(
        &mut self,
        id: i64,
        row: tables::clock_hop_reading::Row<Value<'_>>,
    ) -> Result<(), WriteError> {
        self.numbered(&tables::clock_hop_reading::TABLE, id, row)
    }

    fn finish(self) -> Result<(), WriteError> {
        Ok(())
    }
}

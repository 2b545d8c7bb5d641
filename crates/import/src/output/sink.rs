//! The destination of an import's rows: pages of a new file (`pages.rs`), or tables of a connection
//! (`statements.rs`).
//!
//! # Design
//!
//! The writer calls a sink for every row, so it is generic over the sink, and a sink gets the values of a row
//! as an iterator. The alternative was a trait object, but it would need each row in a buffer first.

use timebase_schema::{Table, tables};
use timebase_store::btree::Value;

use crate::error::WriteError;

/// A row of `clock_step`.
pub(crate) type StepRow = tables::clock_step::Row<Option<i64>>;

/// A row of `clock_route`.
pub(crate) type RouteRow = tables::clock_route::Row<Option<i64>>;

/// Takes the rows that come one by one, and then the rows of the solved clock graph.
pub(crate) trait Sink {
    /// The sink for the rows of the solved clock graph.
    type Solved: SolvedSink;

    /// Takes a row, with its number among its values. Returns whether it was written: a row of a table with a
    /// key may come too late for its place.
    fn row<'v>(
        &mut self,
        table: &'static Table,
        values: impl Iterator<Item = Value<'v>>,
    ) -> Result<bool, WriteError>;

    /// Takes a row of `packet_record`, with its number as `id`.
    fn packet(
        &mut self,
        id: i64,
        row: tables::packet_record::Row<Value<'_>>,
    ) -> Result<(), WriteError>;

    /// Ends a table; `waiting` of its rows wait for their time.
    fn complete(&mut self, table: &'static Table, waiting: u64) -> Result<(), WriteError>;

    /// Ends all tables. Returns the indexes that SQLite has to make.
    fn solved(self) -> Result<(Self::Solved, Vec<&'static str>), WriteError>;
}

/// Takes the rows of the solved clock graph, in the order of their tables.
pub(crate) trait SolvedSink {
    fn step(&mut self, row: StepRow) -> Result<(), WriteError>;

    fn route(&mut self, row: RouteRow) -> Result<(), WriteError>;

    fn line(&mut self, row: tables::clock_line::Row<Value<'_>>) -> Result<(), WriteError>;

    /// Takes a hop, with its number as `id`.
    fn hop(&mut self, id: i64, row: tables::clock_hop::Row<Value<'_>>) -> Result<(), WriteError>;

    /// Takes a reading of a hop, with its number as `id`.
    fn reading(
        &mut self,
        id: i64,
        row: tables::clock_hop_reading::Row<Value<'_>>,
    ) -> Result<(), WriteError>;

    /// Ends the rows, so that SQLite can read them.
    fn finish(self) -> Result<(), WriteError>;
}

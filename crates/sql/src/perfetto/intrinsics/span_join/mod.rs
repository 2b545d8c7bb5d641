//! Span joins (PQ8): where the spans of two tables overlap.
//!
//! ```sql
//! CREATE VIRTUAL TABLE temp.x USING SPAN_JOIN(a PARTITIONED cpu, b PARTITIONED cpu);
//! ```
//!
//! A span is a row with `ts` and `dur`, in nanoseconds; one of the tables may lack `dur`, then its
//! spans are instants. The rows are `ts`, `dur`, the partition if there is one, and all other
//! columns of `a` and of `b`. `SPAN_LEFT_JOIN` also has a row for each time in which only `a` has a
//! span, `SPAN_OUTER_JOIN` for each in which only one of both has one; the other's columns are NULL.
//!
//! | rule | as in trace processor |
//! |---|---|
//! | a span is half-open | it overlaps neither what begins at its end nor what ended at its start |
//! | `dur` 0 or NULL | an instant overlaps the spans that contain it, and what begins at the same `ts` |
//! | an instant of `b` where a span of `a` ends | it is passed first, and does not meet what begins in `a` at that time |
//! | `dur` −1 | an unfinished span: it is an instant, and the rows with it have the `dur` −1 |
//! | one table has a partition | its partitions are joined with the whole other table, one by one |
//! | a row whose partition is NULL | is left out |
//! | a partition that is no integer | is an error |
//! | partitions without any row | have no rows in a left or outer join whose partitioned table is empty |
//! | order | by partition, then by `ts`; the inputs may have any order |
//!
//! Unlike trace processor, spans of one table and partition that overlap are an error that names
//! them; there the rows would be wrong.
//!
//! | question | decided in |
//! |---|---|
//! | what the arguments mean, and which columns there are | `definition.rs` |
//! | which constraints reach the tables | `plan.rs` |
//! | which spans and gaps a table has | `input.rs` |
//! | which of them overlap | `merge.rs` |
//! | how SQLite asks | this file |
//!
//! # Design
//!
//! The partitions are joined one after the other, and in each one both tables are a series of
//! pieces without overlaps: spans, and gaps where the join asks for them. Two pointers go through
//! the series. Trace processor does it in one series over all partitions, in which gaps of time
//! and gaps of partitions alternate; that takes twice as many states, and gives the same rows.

mod definition;
mod input;
mod merge;
mod plan;

use std::cell::Cell;
use std::ffi::c_int;

use rusqlite::types::ToSqlOutput;
use rusqlite::vtab::{Context, Filters, IndexInfo};
use rusqlite::{Connection, Result, ffi};

use crate::module::{self, Connecting, VirtualTable};
use crate::value::Values;
use crate::{Error, Queries, ValueRef};

use definition::{Definition, Kind, Place};
use merge::Merge;
use plan::Plan;

pub fn register(conn: &Connection) -> Result<()> {
    for kind in Kind::ALL {
        module::register_table::<Table>(conn, kind.name(), Some(kind))?;
    }
    Ok(())
}

struct Table {
    definition: Definition,
    /// Whether a cursor reads the two tables just now.
    is_busy: Cell<bool>,
    conn: *mut ffi::sqlite3,
}

impl Table {
    /// Reads the tables. If one of them was made a view of this join, reading it would read the
    /// join again without end; this prevents it.
    fn read(
        &self,
        merge: &mut Merge,
        read: impl FnOnce(&mut Merge) -> crate::Result<()>,
    ) -> crate::Result<()> {
        if self.is_busy.replace(true) {
            let [a, b] = &self.definition.inputs;
            return Err(Error::new(format_args!(
                "{}: {} and {} cannot be made of this join's own rows",
                self.definition.kind.name(),
                a.name,
                b.name
            )));
        }
        let done = read(merge);
        self.is_busy.set(false);
        done
    }
}

impl VirtualTable for Table {
    type Aux = Kind;
    type Cursor = Merge;

    /// It reads tables that it names, and nothing else.
    fn connect(call: &Connecting<'_, Kind>) -> Result<(String, Table)> {
        let kind = call.aux.copied().unwrap_or(Kind::Inner);
        // SAFETY: the connection is open during this call.
        let mut queries = unsafe { Queries::new(call.conn) };
        let definition = Definition::read(kind, call.args, &mut queries)?;
        let declaration = definition.declaration();
        Ok((declaration, Table { definition, is_busy: Cell::default(), conn: call.conn }))
    }

    fn plan(&self, info: &mut IndexInfo) -> Result<bool> {
        plan::choose(info, &self.definition);
        Ok(true)
    }

    fn open(&self) -> Merge {
        // SAFETY: SQLite closes the cursors of a connection before the connection, and only
        // calls of the connection use them.
        unsafe { Merge::new(&self.definition, self.conn) }
    }

    fn begin(
        &self,
        merge: &mut Merge,
        _number: c_int,
        plan: &str,
        args: &Filters<'_>,
    ) -> Result<()> {
        let values: Vec<ValueRef<'_>> = args.iter().collect();
        let plan = Plan::parse(plan, &values);
        let queries = [0, 1].map(|table| plan.query(&self.definition, table));
        Ok(self.read(merge, |merge| merge.begin(queries))?)
    }

    fn next(&self, merge: &mut Merge, _at: usize) -> Result<()> {
        Ok(self.read(merge, Merge::next)?)
    }

    fn is_end(&self, merge: &Merge, _at: usize) -> bool {
        merge.is_done()
    }

    fn column(&self, merge: &Merge, _at: usize, column: usize, ctx: &mut Context) -> Result<()> {
        let value = match self.definition.place(column) {
            Place::Ts => Some(ValueRef::Integer(merge.ts())),
            Place::Dur => Some(ValueRef::Integer(merge.dur())),
            Place::Partition => Some(ValueRef::Integer(merge.partition())),
            Place::Of(table, column) => match merge.row(table) {
                Some(row) => return ctx.set_result(owned(row.value(column))),
                None => None,
            },
        };
        ctx.set_result(owned(value))
    }
}

/// SQLite copies the value at once, but a row cannot be borrowed for so long.
fn owned(value: Option<ValueRef<'_>>) -> ToSqlOutput<'static> {
    ToSqlOutput::Owned(match value {
        None | Some(ValueRef::Null) => rusqlite::types::Value::Null,
        Some(ValueRef::Integer(value)) => value.into(),
        Some(ValueRef::Real(value)) => value.into(),
        Some(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned().into(),
        Some(ValueRef::Blob(blob)) => blob.to_vec().into(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

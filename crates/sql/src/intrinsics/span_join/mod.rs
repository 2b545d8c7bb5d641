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

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::rc::Rc;

use rusqlite::types::ToSqlOutput;
use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
    VTabKind,
};
use rusqlite::{Connection, Result, ffi};

use crate::value::Values;
use crate::{Error, Queries, ValueRef, caught};

use definition::{Definition, Kind, Place};
use merge::Merge;
use plan::Plan;

pub fn register(conn: &Connection) -> Result<()> {
    const MODULE: Module<'_, Table> = Module::read_only_module();
    for kind in Kind::ALL {
        conn.create_module(kind.name(), &MODULE, Some(kind))?;
    }
    Ok(())
}

#[repr(C)]
struct Table {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab,
    definition: Rc<Definition>,
    /// Whether a cursor reads the two tables just now.
    is_busy: Rc<Cell<bool>>,
    conn: *mut ffi::sqlite3,
}

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab`, as SQLite requires.
unsafe impl<'vtab> VTab<'vtab> for Table {
    type Aux = Kind;
    type Cursor = Cursor<'vtab>;

    fn connect(
        db: &mut VTabConnection,
        kind: Option<&Kind>,
        _module_name: &[u8],
        _database_name: &[u8],
        _table_name: &[u8],
        args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        // It reads tables that it names, and nothing else.
        db.config(VTabConfig::Innocuous)?;
        let kind = kind.copied().unwrap_or(Kind::Inner);
        // SAFETY: SQLite disconnects a virtual table before it closes the connection.
        let conn = unsafe { db.handle() };
        caught(|| {
            // SAFETY: the connection is open during this call.
            let mut queries = unsafe { Queries::new(conn) };
            let definition = Definition::read(kind, args, &mut queries)?;
            let declaration = CString::new(definition.declaration()).map_err(Error::new)?;
            let table = Table {
                base: ffi::sqlite3_vtab::default(),
                definition: Rc::new(definition),
                is_busy: Rc::default(),
                conn,
            };
            Ok((Cow::Owned(declaration), table))
        })
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        caught(|| {
            plan::choose(info, &self.definition);
            Ok(true)
        })
    }

    fn open(&'vtab mut self) -> Result<Cursor<'vtab>> {
        let definition = Rc::clone(&self.definition);
        Ok(Cursor {
            base: ffi::sqlite3_vtab_cursor::default(),
            // SAFETY: SQLite closes the cursors of a connection before the connection, and only
            // calls of the connection use them.
            merge: unsafe { Merge::new(&definition, self.conn) },
            definition,
            is_busy: Rc::clone(&self.is_busy),
            at: 0,
            phantom: PhantomData,
        })
    }
}

impl CreateVTab<'_> for Table {
    const KIND: VTabKind = VTabKind::Default;
}

#[repr(C)]
struct Cursor<'vtab> {
    /// SQLite's part; it must come first.
    base: ffi::sqlite3_vtab_cursor,
    definition: Rc<Definition>,
    is_busy: Rc<Cell<bool>>,
    merge: Merge,
    at: i64,
    phantom: PhantomData<&'vtab Table>,
}

impl Cursor<'_> {
    fn begin(&mut self, plan: &str, args: &Filters<'_>) -> crate::Result<()> {
        let values: Vec<ValueRef<'_>> = args.iter().collect();
        let plan = Plan::parse(plan, &values);
        self.at = 0;
        let queries = [0, 1].map(|table| plan.query(&self.definition, table));
        self.read(|merge| merge.begin(queries))
    }

    /// Reads the tables. If one of them was made a view of this join, reading it would read the
    /// join again without end; this prevents it.
    fn read(&mut self, read: impl FnOnce(&mut Merge) -> crate::Result<()>) -> crate::Result<()> {
        if self.is_busy.replace(true) {
            let [a, b] = &self.definition.inputs;
            return Err(Error::new(format_args!(
                "{}: {} and {} cannot be made of this join's own rows",
                self.definition.kind.name(),
                a.name,
                b.name
            )));
        }
        let done = read(&mut self.merge);
        self.is_busy.set(false);
        done
    }

    fn value(&self, column: usize) -> ToSqlOutput<'_> {
        let value = match self.definition.place(column) {
            Place::Ts => ValueRef::Integer(self.merge.ts()),
            Place::Dur => ValueRef::Integer(self.merge.dur()),
            Place::Partition => ValueRef::Integer(self.merge.partition()),
            Place::Of(table, column) => match self.merge.row(table) {
                Some(row) => return owned(row.value(column)),
                None => ValueRef::Null,
            },
        };
        owned(Some(value))
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

// SAFETY: the struct is `repr(C)` and begins with `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for Cursor<'_> {
    fn filter(&mut self, _number: c_int, plan: Option<&str>, args: &Filters<'_>) -> Result<()> {
        caught(|| Ok(self.begin(plan.unwrap_or_default(), args)?))
    }

    fn next(&mut self) -> Result<()> {
        self.at = self.at.saturating_add(1);
        caught(|| Ok(self.read(Merge::next)?))
    }

    fn eof(&self) -> bool {
        self.merge.is_done()
    }

    fn column(&self, ctx: &mut Context, column: c_int) -> Result<()> {
        caught(|| ctx.set_result(self.value(usize::try_from(column).unwrap_or(usize::MAX))))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.at)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

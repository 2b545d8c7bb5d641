//! Why events could not be placed, when all snapshots are known.
//!
//! Events of a bundle mostly share their fate, so a row of `ftrace_unresolved`
//! tells it for a stretch of them, with the clock that they were read from.

use rusqlite::{Connection, Statement, ToSql, params};
use timebase_resolver::{Clock, Unresolved};
use timebase_schema::{Table, tables};

use crate::output::{Inserts, Settler};
use crate::place::{SettledEvent, Ticks, TraceTime};

/// Events one after the other that could not be placed for the same reason.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    first: i64,
    last: i64,
    reason: Unresolved,
    /// `None` if it is not known which clock it was.
    clock: Option<Clock>,
    /// What tells its bundle from the next one.
    bundle: u8,
}

/// Changes the rows of events that got their time late, and writes down the
/// stretches of those that have none.
pub(crate) struct Stretches<'c> {
    /// Of `ftrace_record` and of `ftrace_partial`.
    updates: [Statement<'c>; 2],
    inserts: Inserts<'c>,
    current: Option<Stretch>,
}

static TABLES: [&Table; 2] = [
    &tables::ftrace_record::TABLE,
    &tables::ftrace_partial::TABLE,
];

impl<'c> Stretches<'c> {
    pub fn new(conn: &'c Connection) -> rusqlite::Result<Self> {
        let update = |table: &Table| {
            let name = table.name;
            conn.prepare(&format!(
                "UPDATE {name} SET ts = ?2, timestamp = ?3 WHERE id = ?1"
            ))
        };
        Ok(Stretches {
            updates: [update(TABLES[0])?, update(TABLES[1])?],
            inserts: Inserts::into(conn, &tables::ftrace_unresolved::TABLE)?,
            current: None,
        })
    }

    fn write(&mut self) -> rusqlite::Result<()> {
        let Some(stretch) = self.current.take() else {
            return Ok(());
        };
        self.inserts
            .push(tables::ftrace_unresolved::Row::<&dyn ToSql> {
                first_id: &stretch.first,
                last_id: &stretch.last,
                reason: &stretch.reason.code(),
                machine_id: &stretch.clock.map(|clock| clock.machine.0),
                clock_id: &stretch.clock.map(|clock| clock.id.get()),
                seq_id: &stretch.clock.map(|clock| clock.seq.0),
            })
    }
}

impl Settler for Stretches<'_> {
    fn tables(&self) -> &'static [&'static Table] {
        &TABLES
    }

    fn settle(&mut self, event: &SettledEvent<'_>) -> rusqlite::Result<()> {
        let id = event.row.id;
        match event.result {
            Ok(TraceTime(ts)) => {
                let recorded = event.ticks.map(|Ticks(ticks)| ticks);
                let recorded = recorded.filter(|&ticks| ticks != ts);
                let partial = event.row.table.number == tables::ftrace_partial::TABLE.number;
                self.updates[usize::from(partial)].execute(params![id, ts, recorded])?;
            }
            Err(reason) => {
                let (clock, bundle) = (event.clock, event.row.mark);
                match &mut self.current {
                    Some(stretch)
                        if stretch.last.checked_add(1) == Some(id)
                            && stretch.reason == reason
                            && stretch.clock == clock
                            && stretch.bundle == bundle =>
                    {
                        stretch.last = id;
                    }
                    _ => {
                        self.write()?;
                        self.current = Some(Stretch {
                            first: id,
                            last: id,
                            reason,
                            clock,
                            bundle,
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn end(&mut self) -> rusqlite::Result<()> {
        self.write()
    }
}

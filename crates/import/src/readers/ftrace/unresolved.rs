//! Why events could not be placed, when all snapshots are known.
//!
//! Events of a bundle mostly share their fate, so a row of `ftrace_unresolved`
//! tells it for a stretch of them, with the clock that they were read from.

use timebase_resolver::{Clock, Unresolved};
use timebase_schema::tables::ftrace_unresolved;

use crate::output::{Cell, Rows};
use crate::place::SettledEvent;

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

/// The stretch that is going on.
#[derive(Debug, Default)]
pub(super) struct Stretches(Option<Stretch>);

impl Stretches {
    /// Takes in an event that waited.
    pub fn settled(&mut self, event: &SettledEvent<'_>, rows: &mut Rows<'_>) {
        let Err(reason) = event.result else { return };
        let (id, bundle) = (event.row.id, event.row.mark);
        match &mut self.0 {
            Some(stretch)
                if stretch.last.checked_add(1) == Some(id)
                    && stretch.reason == reason
                    && stretch.clock == event.clock
                    && stretch.bundle == bundle =>
            {
                stretch.last = id;
            }
            _ => {
                self.end(rows);
                self.0 = Some(Stretch {
                    first: id,
                    last: id,
                    reason,
                    clock: event.clock,
                    bundle,
                });
            }
        }
    }

    /// Writes down what is going on.
    pub fn end(&mut self, rows: &mut Rows<'_>) {
        let Some(stretch) = self.0.take() else { return };
        let reason = rows.text(stretch.reason.code());
        rows.push(ftrace_unresolved::Row {
            first_id: Cell::from(stretch.first),
            last_id: Cell::from(stretch.last),
            reason,
            machine_id: Cell::or_null(stretch.clock.map(|clock| clock.machine.0)),
            clock_id: Cell::or_null(stretch.clock.map(|clock| clock.id.get())),
            seq_id: Cell::or_null(stretch.clock.map(|clock| clock.seq.0)),
        });
    }
}

//! The reasons why events have no time, when all snapshots are known.
//!
//! Events of a bundle mostly have the same reason. So a row of `ftrace_unresolved` has the reason
//! for a stretch of events, with the clock that they were read from.

use timebase_resolver::{Clock, Unresolved};
use timebase_schema::tables::ftrace_unresolved;

use crate::output::{Cell, Rows};
use crate::place::SettledEvent;

/// Consecutive events without a time, for the same reason.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    first: i64,
    last: i64,
    reason: Unresolved,
    /// `None` if the clock is unknown.
    clock: Option<Clock>,
    /// A mark that distinguishes the bundle from the next one.
    bundle: u8,
}

/// The current stretch.
#[derive(Debug, Default)]
pub(super) struct Stretches(Option<Stretch>);

impl Stretches {
    /// Adds an event that waited.
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
                self.0 = Some(Stretch { first: id, last: id, reason, clock: event.clock, bundle });
            }
        }
    }

    /// Writes the current stretch as a row.
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

//! Rows of `thread_state` in which a thread does not run.

use timebase_schema::tables::thread_state_record;

use super::end_state::OffCpu;
use super::numbers::first_number;
use super::slices::{SchedSliceId, SchedSlices, Woken};
use crate::output::{Cell, Doubt, RowPart, Rows};
use crate::world::Utid;

/// The number of a row of `thread_state`: the first number of its slice, plus the kind of row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateId {
    /// The thread's state after the slice.
    After(SchedSliceId),
    /// The thread was woken after the slice.
    Woken(SchedSliceId),
    /// The row belongs to no slice, and takes the number that this slice left (`numbers.rs`).
    Alone(SchedSliceId),
}

impl StateId {
    /// The first slice whose free number is greater.
    pub fn next(self) -> SchedSliceId {
        match self {
            StateId::After(id) | StateId::Woken(id) => id,
            StateId::Alone(SchedSliceId(id)) => SchedSliceId(id.saturating_add(1)),
        }
    }

    pub fn number(self) -> i64 {
        let (slice, part) = match self {
            StateId::After(slice) => (slice, 1),
            StateId::Woken(slice) => (slice, 2),
            StateId::Alone(slice) => (slice, 3),
        };
        first_number(slice).saturating_add(part)
    }
}

/// The number of the row that a slice is in `thread_state`, while its thread runs.
pub(super) fn running_id(slice: SchedSliceId) -> i64 {
    first_number(slice)
}

/// The waker of a thread, and whether it woke the thread in an interrupt, if that is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wakeup {
    pub waker: Utid,
    pub irq_context: Option<bool>,
}

/// A row in which the thread does not run.
#[derive(Debug, Clone, Copy)]
pub(super) struct OffCpuRow {
    pub id: StateId,
    pub ts: i64,
    pub dur: i64,
    pub state: Option<i64>,
    pub off_cpu: OffCpu,
    /// If a compact switch opened the row: the begin of the slice before it.
    pub taken_off: Option<i64>,
    pub doubt: Option<Doubt>,
    pub wakeup: Option<Wakeup>,
    pub waker_slice: Option<SchedSliceId>,
    pub io_wait: Option<bool>,
    pub blocked_function: Option<i64>,
}

impl OffCpuRow {
    pub fn is_runnable(&self) -> bool {
        self.off_cpu == OffCpu::Runnable
    }

    /// The slice that ended when a compact switch took the thread off its CPU, and the slice's
    /// begin.
    pub fn taken_off(&self) -> Option<(SchedSliceId, i64)> {
        match self.id {
            StateId::After(slice) => self.taken_off.map(|began| (slice, began)),
            StateId::Woken(_) | StateId::Alone(_) => None,
        }
    }

    pub fn end(&self) -> Option<i64> {
        (self.dur >= 0).then(|| self.ts.saturating_add(self.dur))
    }

    pub fn doubt(&mut self, doubt: Doubt) {
        self.doubt = Doubt::first(self.doubt, Some(doubt));
    }
}

/// Writes a row: as a part of its slice's row, or as a row of its own.
pub(super) fn flush(utid: Utid, row: &OffCpuRow, slices: &mut SchedSlices, rows: &mut Rows<'_>) {
    let is_plain = row.io_wait.is_none() && row.blocked_function.is_none();
    match row.id {
        StateId::After(slice) if is_plain => {
            if let Some(slice) = slices.get(slice)
                && slice.is_state
            {
                slice.after = Some(row.dur);
                if let Some(doubt) = row.doubt {
                    slice.doubts.mark(RowPart::After, doubt);
                }
                return;
            }
        }
        StateId::Woken(slice) => {
            if let Some(slice) = slices.get(slice)
                && slice.after.is_some_and(|after| after >= 0)
                && let Some(wakeup) = row.wakeup
            {
                slice.runnable = Some(Woken {
                    dur: row.dur,
                    waker: wakeup.waker,
                    waker_slice: row.waker_slice,
                    irq_context: wakeup.irq_context,
                });
                if let Some(doubt) = row.doubt {
                    slice.doubts.mark(RowPart::Runnable, doubt);
                }
                return;
            }
        }
        StateId::After(_) | StateId::Alone(_) => {}
    }
    let wakeup = row.wakeup;
    let irq_context = wakeup.and_then(|wakeup| wakeup.irq_context);
    rows.count_states(1, u64::from(row.doubt.is_some()));
    rows.push(thread_state_record::Row {
        id: Cell::from(row.id.number()),
        ts: Cell::from(row.ts),
        dur: Cell::from(row.dur),
        ucpu: Cell::Null,
        utid: Cell::from(utid.0),
        state: Cell::or_null(row.state),
        io_wait: Cell::or_null(row.io_wait.map(i64::from)),
        blocked_function: Cell::or_null(row.blocked_function),
        waker_utid: Cell::or_null(wakeup.map(|wakeup| wakeup.waker.0)),
        waker_id: Cell::or_null(row.waker_slice.map(running_id)),
        irq_context: Cell::or_null(irq_context.map(i64::from)),
        doubt: Cell::or_null(row.doubt.map(Doubt::number)),
    });
}

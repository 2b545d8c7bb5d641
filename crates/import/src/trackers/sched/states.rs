//! What threads do: rows of `thread_state` (rules W), those of `sched_record` and
//! the others.

use timebase_schema::tables::{spurious_sched_wakeup, thread_state_record};

use super::end_state::EndState;
use super::slices::{SliceId, Slices, Woken};
use crate::output::{Cell, Rows};
use crate::world::{Utid, strings};

/// How a row of `thread_state` is numbered: four times the slice that it belongs to,
/// and what it is of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// What the thread did behind the slice.
    After(SliceId),
    /// That it was woken then.
    Woken(SliceId),
    /// Of no slice: the n-th of those.
    Alone(i64),
}

impl Place {
    fn id(self) -> i64 {
        let (number, part) = match self {
            Place::After(SliceId(id)) => (id, 1),
            Place::Woken(SliceId(id)) => (id, 2),
            Place::Alone(number) => (number, 3),
        };
        number.saturating_mul(4).saturating_add(part)
    }
}

/// The number of the row that a slice is while its thread runs.
fn running_id(SliceId(id): SliceId) -> i64 {
    id.saturating_mul(4)
}

/// Who wakes a thread, and in an interrupt or not if that is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wakeup {
    pub waker: Utid,
    pub irq_context: Option<bool>,
}

/// A row in which the thread does not run.
#[derive(Debug, Clone, Copy)]
struct Row {
    place: Place,
    ts: i64,
    dur: i64,
    state: Option<i64>,
    is_runnable: bool,
    wakeup: Option<(Wakeup, Option<SliceId>)>,
    io_wait: Option<bool>,
    blocked_function: Option<i64>,
}

/// What a thread does.
#[derive(Debug, Default, Clone, Copy)]
struct State {
    /// The slice that it runs in.
    running: Option<(SliceId, i64, u32)>,
    /// Its last row, if it does not run.
    last: Option<Row>,
    /// The newest row that is neither `R` nor running, if it has not run since and
    /// that is not the last one.
    before: Option<Row>,
}

/// What all threads do.
#[derive(Debug, Default)]
pub(super) struct States {
    threads: Vec<State>,
    alone: i64,
    /// From when to when they are known.
    pub span: Option<(i64, i64)>,
}

impl States {
    #[inline]
    fn of(&mut self, Utid(utid): Utid) -> &mut State {
        let place = utid as usize;
        if self.threads.len() <= place {
            self.threads.resize(place + 1, State::default());
        }
        &mut self.threads[place]
    }

    #[inline]
    fn seen(&mut self, ts: i64) {
        let (start, _) = self.span.unwrap_or((ts, ts));
        self.span = Some((start, ts));
    }

    /// A switch takes a thread off its CPU (rule W2). `closed` is the slice that ends.
    pub fn leaves(
        &mut self,
        ts: i64,
        utid: Utid,
        closed: Option<SliceId>,
        end_state: EndState,
        slices: &mut Slices,
        rows: &mut Rows<'_>,
    ) {
        self.seen(ts);
        let state = self.of(utid);
        let running = state.running.take();
        let place = match (running, closed) {
            (Some((slice, ..)), Some(closed)) if slice == closed => {
                if let Some(known) = slices.get(slice) {
                    known.runs = false;
                }
                slices.settle(slice, rows);
                Some(Place::After(slice))
            }
            _ => None,
        };
        if place.is_none()
            && let Some(running) = running
        {
            stray(Some(ts), utid, running, slices, rows);
        }
        let place = place.unwrap_or_else(|| self.alone());
        let row = Row {
            place,
            ts,
            dur: -1,
            state: end_state.name,
            is_runnable: end_state.is_runnable,
            wakeup: None,
            io_wait: None,
            blocked_function: None,
        };
        self.opens(utid, row, slices, rows);
    }

    /// A row that no slice stands for.
    fn alone(&mut self) -> Place {
        let number = self.alone;
        self.alone += 1;
        Place::Alone(number)
    }

    /// A row is opened behind the last one, which keeps what it has.
    fn opens(&mut self, utid: Utid, row: Row, slices: &mut Slices, rows: &mut Rows<'_>) {
        let state = self.of(utid);
        let last = state.last.replace(row);
        if row.is_runnable {
            match last {
                Some(last) if !last.is_runnable => {
                    let before = state.before.replace(last);
                    flush(utid, before, slices, rows);
                }
                last => flush(utid, last, slices, rows),
            }
        } else {
            let before = state.before.take();
            flush(utid, before, slices, rows);
            flush(utid, last, slices, rows);
        }
    }

    /// A thread begins to run (rule W2).
    pub fn runs(
        &mut self,
        ts: i64,
        utid: Utid,
        slice: SliceId,
        ucpu: u32,
        slices: &mut Slices,
        rows: &mut Rows<'_>,
    ) {
        self.seen(ts);
        let state = self.of(utid);
        if let Some(running) = state.running.replace((slice, ts, ucpu)) {
            stray(Some(ts), utid, running, slices, rows);
        }
        let state = self.of(utid);
        let (before, mut last) = (state.before.take(), state.last.take());
        if let Some(last) = &mut last {
            last.dur = ts.saturating_sub(last.ts);
        }
        flush(utid, before, slices, rows);
        flush(utid, last, slices, rows);
    }

    /// A thread is woken (rules W3, W5, W6).
    pub fn wakes(
        &mut self,
        ts: i64,
        utid: Utid,
        wakeup: Wakeup,
        slices: &mut Slices,
        rows: &mut Rows<'_>,
    ) {
        let waker_slice = self.of(wakeup.waker).running.map(|(slice, ..)| slice);
        let state = self.of(utid);
        let busy = match (&state.running, &state.last) {
            (Some((slice, ..)), _) => Some(running_id(*slice)),
            (None, Some(last)) if last.is_runnable => Some(last.place.id()),
            _ => None,
        };
        if let Some(id) = busy {
            let row = rows.count(&spurious_sched_wakeup::TABLE);
            rows.push(spurious_sched_wakeup::Row {
                id: Cell::from(row),
                ts: Cell::from(ts),
                thread_state_id: Cell::from(id),
                irq_context: Cell::or_null(wakeup.irq_context.map(i64::from)),
                utid: Cell::from(utid.0),
                waker_utid: Cell::from(wakeup.waker.0),
            });
            return;
        }
        let mut place = None;
        if let Some(last) = &mut state.last {
            last.dur = ts.saturating_sub(last.ts);
            if let Place::After(slice) = last.place {
                place = Some(Place::Woken(slice));
            }
        }
        let row = Row {
            place: place.unwrap_or_else(|| self.alone()),
            ts,
            dur: -1,
            state: Some(strings::RUNNABLE),
            is_runnable: true,
            wakeup: Some((wakeup, waker_slice)),
            io_wait: None,
            blocked_function: None,
        };
        self.seen(ts);
        self.opens(utid, row, slices, rows);
    }

    /// Why a thread is blocked, or was (rule W4).
    pub fn blocked(&mut self, utid: Utid, io_wait: bool, function: Option<i64>) {
        let state = self.of(utid);
        let last = state.last.as_mut().filter(|last| !last.is_runnable);
        if let Some(row) = last.or(state.before.as_mut()) {
            row.io_wait = Some(io_wait);
            row.blocked_function = function.or(row.blocked_function);
        }
    }

    /// What a CPU ran was lost: nobody will tell its end (rule Q5).
    pub fn lost(&mut self, slice: SliceId, slices: &mut Slices) {
        if let Some(slice) = slices.get(slice) {
            slice.is_lost = true;
        }
    }

    /// What is open stays open (rule W1).
    pub fn end(&mut self, slices: &mut Slices, rows: &mut Rows<'_>) {
        for (utid, state) in (0..).zip(std::mem::take(&mut self.threads)) {
            flush(Utid(utid), state.before, slices, rows);
            flush(Utid(utid), state.last, slices, rows);
            if let Some(running) = state.running
                && let (slice, ..) = running
                && slices.get(slice).is_some_and(|slice| slice.dur >= 0)
            {
                stray(None, Utid(utid), running, slices, rows);
            }
        }
    }
}

/// A thread's running ends where its slice does not; or not at all.
fn stray(
    ts: Option<i64>,
    utid: Utid,
    (slice, began, ucpu): (SliceId, i64, u32),
    slices: &mut Slices,
    rows: &mut Rows<'_>,
) {
    if let Some(known) = slices.get(slice) {
        known.is_state = false;
        known.runs = false;
    }
    slices.settle(slice, rows);
    rows.push(thread_state_record::Row {
        id: Cell::from(running_id(slice)),
        ts: Cell::from(began),
        dur: Cell::from(ts.map_or(-1, |ts| ts.saturating_sub(began))),
        ucpu: Cell::from(ucpu),
        utid: Cell::from(utid.0),
        state: Cell::from(strings::RUNNING),
        io_wait: Cell::Null,
        blocked_function: Cell::Null,
        waker_utid: Cell::Null,
        waker_id: Cell::Null,
        irq_context: Cell::Null,
    });
}

/// A row is complete: it is a part of its slice's, or a row of its own.
fn flush(utid: Utid, row: Option<Row>, slices: &mut Slices, rows: &mut Rows<'_>) {
    let Some(row) = row else { return };
    let is_plain = row.io_wait.is_none() && row.blocked_function.is_none();
    match row.place {
        Place::After(slice) if is_plain => {
            if let Some(slice) = slices.get(slice)
                && slice.is_state
            {
                slice.after = Some(row.dur);
                return;
            }
        }
        Place::Woken(slice) => {
            if let Some(slice) = slices.get(slice)
                && slice.after.is_some_and(|after| after >= 0)
                && let Some((wakeup, waker_slice)) = row.wakeup
            {
                slice.runnable = Some(Woken {
                    dur: row.dur,
                    waker: wakeup.waker,
                    waker_slice,
                    irq_context: wakeup.irq_context,
                });
                return;
            }
        }
        Place::After(_) | Place::Alone(_) => {}
    }
    let (wakeup, waker_slice) = row.wakeup.unzip();
    let waker_slice = waker_slice.flatten();
    let irq_context = wakeup.and_then(|wakeup| wakeup.irq_context);
    rows.push(thread_state_record::Row {
        id: Cell::from(row.place.id()),
        ts: Cell::from(row.ts),
        dur: Cell::from(row.dur),
        ucpu: Cell::Null,
        utid: Cell::from(utid.0),
        state: Cell::or_null(row.state),
        io_wait: Cell::or_null(row.io_wait.map(i64::from)),
        blocked_function: Cell::or_null(row.blocked_function),
        waker_utid: Cell::or_null(wakeup.map(|wakeup| wakeup.waker.0)),
        waker_id: Cell::or_null(waker_slice.map(running_id)),
        irq_context: Cell::or_null(irq_context.map(i64::from)),
    });
}

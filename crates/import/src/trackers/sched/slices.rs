//! Slices of `sched` until they become rows.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use timebase_schema::tables::sched_record;

use super::numbers::FreeNumbers;
pub(super) use super::numbers::SchedSliceId;
use crate::output::{Cell, Doubt, Doubts, LateDoubt, RowPart, Rows};
use crate::world::Utid;

/// The number of slices that wait for the states after them.
const RING: usize = 1 << 14;

/// A slice, with the states of its thread after it that are known so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchedSlice {
    pub ts: i64,
    pub dur: i64,
    pub ucpu: u32,
    pub utid: Utid,
    pub priority: i32,
    pub end_state: Option<i64>,
    /// Whether the slice is also a row of `thread_state`, because the thread ran exactly as long.
    pub is_state: bool,
    /// Whether that row is open, which keeps the slice in memory.
    pub runs: bool,
    /// Whether no event will close the slice, because a switch was lost (rule Q5).
    pub is_lost: bool,
    pub after: Option<i64>,
    pub runnable: Option<Woken>,
    pub doubts: Doubts,
}

/// The time in which a thread was runnable after a wakeup.
#[derive(Debug, Clone, Copy)]
pub(super) struct Woken {
    pub dur: i64,
    pub waker: Utid,
    pub waker_slice: Option<SchedSliceId>,
    pub irq_context: Option<bool>,
}

impl SchedSlice {
    pub fn new(ts: i64, ucpu: u32, utid: Utid, priority: i32, is_state: bool) -> Self {
        SchedSlice {
            ts,
            dur: -1,
            ucpu,
            utid,
            priority,
            end_state: None,
            is_state,
            runs: is_state,
            is_lost: false,
            after: None,
            runnable: None,
            doubts: Doubts::default(),
        }
    }

    /// Whether the slice can become a row, even if the states after it are not known.
    fn is_complete(&self) -> bool {
        (self.dur >= 0 || self.is_lost) && !self.runs
    }

    /// Whether the slice and the states after it have ended before a time. If the state after it is a row of
    /// `thread_state_record`, only the slice knows the CPU that the thread left, so it is not over.
    fn is_over(&self, ts: i64) -> bool {
        let after = match (self.after, self.is_state && self.end_state.is_some()) {
            (None, true) => return false,
            (after, _) => after.unwrap_or(0),
        };
        let durations = [self.dur, after, self.runnable.map_or(0, |woken| woken.dur)];
        let end = durations.iter().fold(self.ts, |end, dur| end.saturating_add(*dur));
        durations.iter().all(|dur| *dur >= 0) && end < ts
    }
}

/// The rows of a CPU's slice, in `sched` and in `thread_state`.
pub(super) const BOTH: &[RowPart] = &[RowPart::Sched, RowPart::Running];

/// The slices that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct SchedSlices {
    ring: VecDeque<SchedSlice>,
    /// The number of the first slice in the ring.
    first: i64,
    /// The slices that are still open although the ring has no room for them: one for each CPU, and
    /// the lost ones.
    long: FxHashMap<SchedSliceId, SchedSlice>,
    /// The numbers that slices leave to states of no slice.
    pub(super) numbers: FreeNumbers,
    /// The threads that have had a row, if only the state at the begin of a window is wanted.
    ran: FxHashSet<Utid>,
    /// Whether slices stay although they are over: the events of a kernel that is not Linux are found by the slice before.
    pub(super) keeps_all: bool,
    /// The threads that were used behind that begin, and the first use of each.
    used: FxHashSet<Utid>,
    uses: Vec<(i64, Utid)>,
    /// The time from the first slice to the last.
    pub span: Option<(i64, i64)>,
}

impl SchedSlices {
    /// Takes a slice that begins.
    pub(super) fn open(&mut self, slice: SchedSlice, rows: &mut Rows<'_>) -> SchedSliceId {
        if self.ring.len() >= RING {
            self.leave(rows);
        }
        let (start, _) = self.span.unwrap_or((slice.ts, slice.ts));
        self.span = Some((start, slice.ts));
        let id = self.first.saturating_add(self.ring.len() as i64);
        self.ring.push_back(slice);
        self.numbers.begins(SchedSliceId(id));
        SchedSliceId(id)
    }

    /// Moves the oldest slice out of the ring.
    fn leave(&mut self, rows: &mut Rows<'_>) {
        let id = SchedSliceId(self.first);
        if let Some(slice) = self.ring.pop_front() {
            self.first += 1;
            if slice.is_complete() {
                self.push(id, &slice, rows);
            } else {
                self.long.insert(id, slice);
            }
        }
    }

    /// A slice that is not written yet.
    #[inline]
    pub(super) fn get(&mut self, id: SchedSliceId) -> Option<&mut SchedSlice> {
        let place = id.0.checked_sub(self.first)?;
        match usize::try_from(place) {
            Ok(place) => self.ring.get_mut(place),
            Err(_) => self.long.get_mut(&id),
        }
    }

    /// Marks rows of a slice as doubtful. They may have been written since the slice began at `ts`.
    pub(super) fn doubt(
        &mut self,
        (id, ts): (SchedSliceId, i64),
        parts: &[RowPart],
        doubt: Doubt,
        rows: &mut Rows<'_>,
    ) {
        let mut late = Doubts::default();
        let slice = self.get(id);
        let doubts = slice.map_or(&mut late, |slice| &mut slice.doubts);
        for &part in parts {
            doubts.mark(part, doubt);
        }
        if late.number().is_some() {
            rows.doubt(LateDoubt { ts, id: id.0, doubts: late });
        }
    }

    /// Marks rows of an open slice as doubtful. An open slice is not written yet.
    pub(super) fn doubt_open(&mut self, id: SchedSliceId, parts: &[RowPart], doubt: Doubt) {
        if let Some(slice) = self.get(id) {
            for &part in parts {
                slice.doubts.mark(part, doubt);
            }
        }
    }

    /// Closes a slice.
    pub(super) fn close(
        &mut self,
        ts: i64,
        id: SchedSliceId,
        end_state: Option<i64>,
        rows: &mut Rows<'_>,
    ) {
        if let Some(slice) = self.get(id) {
            slice.dur = ts.saturating_sub(slice.ts);
            slice.end_state = end_state;
            self.settle(id, rows);
        }
    }

    /// Writes a slice that is out of the ring, if it is complete now.
    pub(super) fn settle(&mut self, id: SchedSliceId, rows: &mut Rows<'_>) {
        if id.0 < self.first
            && let Some(slice) = self.long.get(&id).copied()
            && slice.is_complete()
        {
            self.push(id, &slice, rows);
            self.long.remove(&id);
        }
    }

    /// Writes a slice, unless it tells nothing of the only moment that is wanted.
    fn push(&mut self, id: SchedSliceId, slice: &SchedSlice, rows: &mut Rows<'_>) {
        if let Some(of) = rows.state_of()
            && !self.ran.insert(slice.utid)
            && !self.keeps_all
            && slice.is_over(of.from)
        {
            return;
        }
        push(id, slice, rows);
    }

    /// Notes that a thread was used behind the only moment that is wanted. The first use of a thread becomes a row,
    /// which tells that it was there.
    pub(super) fn uses(&mut self, ts: i64, utid: Utid) {
        if self.used.insert(utid) {
            self.uses.push((ts, utid));
        }
    }

    /// Writes all slices.
    pub fn end(&mut self, rows: &mut Rows<'_>) {
        let next = self.first.saturating_add(self.ring.len() as i64);
        for (id, slice) in (self.first..).zip(std::mem::take(&mut self.ring)) {
            self.push(SchedSliceId(id), &slice, rows);
        }
        for (id, slice) in std::mem::take(&mut self.long) {
            self.push(id, &slice, rows);
        }
        for (id, (ts, utid)) in (next..).zip(std::mem::take(&mut self.uses)) {
            push(SchedSliceId(id), &SchedSlice::new(ts, 0, utid, 0, false), rows);
        }
    }
}

fn push(SchedSliceId(id): SchedSliceId, slice: &SchedSlice, rows: &mut Rows<'_>) {
    let woken = slice.runnable;
    let waker_slice = woken.and_then(|woken| woken.waker_slice);
    let irq_context = woken.and_then(|woken| woken.irq_context);
    let are_states = [slice.is_state, slice.after.is_some(), woken.is_some()];
    let states = are_states.into_iter().map(u64::from).sum();
    rows.count_states(states, slice.doubts.states(are_states));
    rows.push(sched_record::Row {
        ts: Cell::from(slice.ts),
        id: Cell::from(id),
        dur: Cell::from(slice.dur),
        ucpu: Cell::from(slice.ucpu),
        utid: Cell::from(slice.utid.0),
        priority: Cell::from(slice.priority),
        end_state: Cell::or_null(slice.end_state),
        is_state: Cell::from(i64::from(slice.is_state)),
        after: Cell::or_null(slice.after),
        runnable: Cell::or_null(woken.map(|woken| woken.dur)),
        waker_utid: Cell::or_null(woken.map(|woken| woken.waker.0)),
        waker_slice: Cell::or_null(waker_slice.map(|SchedSliceId(waker)| id.saturating_sub(waker))),
        irq_context: Cell::or_null(irq_context.map(i64::from)),
        doubt: Cell::or_null(slice.doubts.number()),
    });
}

//! The states of threads: the rows of `thread_state` (rules W) in `sched_record` and in
//! `thread_state_record`.

use std::cmp::Ordering;

use timebase_schema::tables::{spurious_sched_wakeup, thread_state_record};

use super::cpus::{Cpus, machine_cpu};
use super::end_state::{EndState, OffCpu};
use super::gaps::MachineCpu;
use super::numbers::FIRST;
use super::row::{OffCpuRow, StateId, Wakeup, flush, running_id};
use super::slices::{BOTH, SchedSliceId, SchedSlices};
use crate::output::{Cell, Doubt, RowPart, Rows};
use crate::world::{Numbered, Utid, strings};

/// The effect of a switch on the thread that it takes off its CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaves {
    /// The slice that ends.
    pub closed: Option<SchedSliceId>,
    pub end_state: EndState,
    pub is_compact: bool,
    /// The reason why the row that the switch opens may be wrong.
    pub doubt: Option<Doubt>,
}

/// The context for a change of a thread's state.
pub(super) struct StateContext<'a, 'o> {
    pub slices: &'a mut SchedSlices,
    pub cpus: &'a mut Cpus,
    pub rows: &'a mut Rows<'o>,
    /// The reason why rows that begin with the current event may be wrong (rule FE9).
    pub doubt: Option<Doubt>,
}

/// The state of a thread.
#[derive(Debug, Default, Clone, Copy)]
struct State {
    /// The slice in which the thread runs.
    running: Option<RunningSlice>,
    /// The last row of the thread, if it does not run.
    last: Option<OffCpuRow>,
    /// The newest row that is neither `R` nor running, unless this is `last` or the thread has run since.
    before: Option<OffCpuRow>,
    /// The CPU where the thread ran last, and until when.
    ran: Option<OnCpu>,
}

/// A thread runs in a slice since `began`.
#[derive(Debug, Clone, Copy)]
struct RunningSlice {
    slice: SchedSliceId,
    began: i64,
    ucpu: u32,
}

/// A thread was on a CPU at a time.
#[derive(Debug, Clone, Copy)]
struct OnCpu {
    on: MachineCpu,
    ts: i64,
}

/// The states of all threads.
#[derive(Debug, Default)]
pub(super) struct States {
    threads: Numbered<State>,
    /// The time from the first state to the last.
    pub span: Option<(i64, i64)>,
}

impl States {
    #[inline]
    fn of(&mut self, Utid(utid): Utid) -> &mut State {
        self.threads.of(utid)
    }

    #[inline]
    fn seen(&mut self, ts: i64) {
        let (start, _) = self.span.unwrap_or((ts, ts));
        self.span = Some((start, ts));
    }

    /// Whether a thread does anything but run in this slice (rule W2).
    pub fn is_elsewhere(&mut self, utid: Utid, slice: Option<SchedSliceId>) -> bool {
        let state = self.of(utid);
        match (&state.running, &state.last) {
            (Some(running), _) => Some(running.slice) != slice,
            (None, last) => last.is_some(),
        }
    }

    /// Marks a thread's state as doubtful (rule DT3); if `with_cpu` and the thread runs, also the CPU's
    /// slice.
    pub fn doubt(&mut self, utid: Utid, with_cpu: bool, slices: &mut SchedSlices, cpus: &Cpus) {
        let state = self.of(utid);
        match (&state.running, &mut state.last) {
            (&Some(RunningSlice { slice, ucpu, .. }), _) => {
                let cpu = cpus.find(machine_cpu(ucpu)).filter(|_| with_cpu);
                let is_open = cpu.is_some_and(|cpu| cpu.runs(slice));
                let parts = if is_open { BOTH } else { &[RowPart::Running] };
                slices.doubt_open(slice, parts, Doubt::SwitchMissed);
            }
            (None, Some(last)) => last.doubt(Doubt::SwitchMissed),
            (None, None) => {}
        }
    }

    /// Takes a thread off its CPU, by a switch (rule W2).
    pub fn leaves(&mut self, ts: i64, utid: Utid, leaves: Leaves, with: &mut StateContext<'_, '_>) {
        let Leaves { closed, .. } = leaves;
        self.seen(ts);
        let state = self.of(utid);
        let running = state.running.take();
        if let Some(RunningSlice { ucpu, .. }) = running {
            state.ran = Some(OnCpu { on: machine_cpu(ucpu), ts });
        }
        let began = match (running, closed) {
            (Some(RunningSlice { slice, began, .. }), Some(closed)) if slice == closed => {
                if let Some(known) = with.slices.get(slice) {
                    known.runs = false;
                }
                with.slices.settle(slice, with.rows);
                Some((slice, began))
            }
            _ => None,
        };
        if began.is_none()
            && let Some(running) = running
        {
            stray(Some(ts), utid, running, with.slices, with.rows);
        }
        let id = match began {
            Some((slice, _)) => StateId::After(slice),
            None => alone(running, state.last, with.slices),
        };
        let row = OffCpuRow {
            id,
            ts,
            dur: -1,
            state: leaves.end_state.name,
            off_cpu: leaves.end_state.off_cpu,
            taken_off: began.filter(|_| leaves.is_compact).map(|(_, began)| began),
            doubt: Doubt::first(leaves.doubt, with.doubt),
            wakeup: None,
            waker_slice: None,
            io_wait: None,
            blocked_function: None,
        };
        self.opens(utid, row, with);
    }

    /// Opens a row after the last one, which keeps its values.
    fn opens(&mut self, utid: Utid, row: OffCpuRow, with: &mut StateContext<'_, '_>) {
        let state = self.of(utid);
        let is_woken = row.is_runnable() && state.last.is_some_and(|last| !last.is_runnable());
        if is_woken || !row.is_runnable() {
            if let Some(before) = &mut state.before {
                complete(utid, before, [state.ran, None], with);
            }
            state.before = None;
        }
        if is_woken {
            state.before = state.last;
        } else if let Some(last) = &mut state.last {
            complete(utid, last, [state.ran, None], with);
        }
        state.last = Some(row);
    }

    /// Puts a thread on a CPU (rule W2).
    pub fn runs(
        &mut self,
        ts: i64,
        utid: Utid,
        slice: SchedSliceId,
        ucpu: u32,
        with: &mut StateContext<'_, '_>,
    ) {
        self.seen(ts);
        let state = self.of(utid);
        let running = RunningSlice { slice, began: ts, ucpu };
        let before = state.running.replace(running);
        if let Some(running) = before {
            let on = machine_cpu(running.ucpu);
            state.ran = Some(OnCpu { on, ts });
            // DT3 d: the switch is to a thread that already runs.
            let cpu = with.cpus.get(on);
            let is_open = cpu.runs(running.slice);
            cpu.blurs |= is_open;
            let parts = if is_open { BOTH } else { &[RowPart::Running] };
            with.slices.doubt_open(running.slice, parts, Doubt::SwitchMissed);
            stray(Some(ts), utid, running, with.slices, with.rows);
        }
        let state = self.of(utid);
        let ran = [state.ran, Some(OnCpu { on: machine_cpu(ucpu), ts })];
        if let Some(last) = &mut state.last {
            last.dur = ts.saturating_sub(last.ts);
            if last.off_cpu == OffCpu::Sleeping && with.cpus.has_wakings {
                slept_to_run(last, ts, with);
            }
        }
        if let Some(before) = &mut state.before {
            complete(utid, before, ran, with);
        }
        if let Some(last) = &mut state.last {
            complete(utid, last, ran, with);
        }
        (state.before, state.last) = (None, None);
    }

    /// Wakes a thread, by an event of a CPU (rules W3, W5, W6).
    pub fn wakes(
        &mut self,
        ts: i64,
        utid: Utid,
        wakeup: Wakeup,
        by: MachineCpu,
        with: &mut StateContext<'_, '_>,
    ) {
        let waker_slice = self.of(wakeup.waker).running.map(|running| running.slice);
        let state = self.of(utid);
        let busy = match (&state.running, &mut state.last) {
            (&Some(RunningSlice { slice, ucpu, .. }), _) => {
                // DT4: if only compact switches say that the thread runs.
                let cpu = with.cpus.find(machine_cpu(ucpu)).filter(|_| by != machine_cpu(ucpu));
                if cpu.is_some_and(|cpu| cpu.is_compact && cpu.runs(slice)) {
                    with.slices.doubt_open(slice, BOTH, Doubt::WokenAgain);
                }
                Some(running_id(slice))
            }
            (None, Some(last)) if last.is_runnable() => {
                last.doubt(Doubt::WokenAgain);
                if let Some(slice) = last.taken_off() {
                    with.slices.doubt(slice, BOTH, Doubt::WokenAgain, with.rows);
                }
                Some(last.id.number())
            }
            _ => None,
        };
        if let Some(id) = busy {
            let rows = &mut *with.rows;
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
        let mut id = None;
        if let Some(last) = &mut state.last {
            last.dur = ts.saturating_sub(last.ts);
            if last.off_cpu == OffCpu::Preempted {
                last.doubt(Doubt::WokenAgain);
            }
            if let StateId::After(slice) = last.id {
                id = Some(StateId::Woken(slice));
            }
        }
        let row = OffCpuRow {
            id: id.unwrap_or_else(|| alone(None, state.last, with.slices)),
            ts,
            dur: -1,
            state: Some(strings::RUNNABLE),
            off_cpu: OffCpu::Runnable,
            taken_off: None,
            doubt: with.doubt,
            wakeup: Some(wakeup),
            waker_slice,
            io_wait: None,
            blocked_function: None,
        };
        self.seen(ts);
        self.opens(utid, row, with);
    }

    /// Notes the reason why a thread is or was blocked (rule W4).
    pub fn blocked(&mut self, utid: Utid, io_wait: bool, function: Option<i64>) {
        let state = self.of(utid);
        let last = state.last.as_mut().filter(|last| !last.is_runnable());
        if let Some(row) = last.or(state.before.as_mut()) {
            row.io_wait = Some(io_wait);
            row.blocked_function = function.or(row.blocked_function);
        }
    }

    /// Marks a slice as lost: no event will end it (rule Q5).
    pub fn lost(&mut self, slice: SchedSliceId, slices: &mut SchedSlices) {
        if let Some(slice) = slices.get(slice) {
            slice.is_lost = true;
        }
    }

    /// Writes open rows without an end (rule W1).
    pub fn end(&mut self, with: &mut StateContext<'_, '_>) {
        let threads = std::mem::take(&mut self.threads).into_values();
        for (utid, state) in threads {
            for mut row in [state.before, state.last].into_iter().flatten() {
                complete(Utid(utid), &mut row, [state.ran, None], with);
            }
            if let Some(running) = state.running
                && let RunningSlice { slice, began, ucpu } = running
                && with.slices.get(slice).is_some_and(|slice| slice.dur >= 0)
            {
                if with.cpus.loses_on(machine_cpu(ucpu), began, None) {
                    with.slices.doubt_open(slice, &[RowPart::Running], Doubt::Lost);
                }
                stray(None, Utid(utid), running, with.slices, with.rows);
            }
        }
    }
}

/// The number of a row that is no part of a slice, after the thread's other numbers.
fn alone(
    running: Option<RunningSlice>,
    last: Option<OffCpuRow>,
    slices: &mut SchedSlices,
) -> StateId {
    let ran = running.map(|running| running.slice);
    let next = ran.max(last.map(|last| last.id.next()));
    StateId::Alone(slices.numbers.take(next.unwrap_or(FIRST)))
}

/// Marks the row of a sleeping thread that runs without a wakeup (rule DT5).
fn slept_to_run(row: &mut OffCpuRow, ts: i64, with: &mut StateContext<'_, '_>) {
    row.doubt(Doubt::WakeupMissed);
    if let Some(slice) = row.taken_off()
        && !with.cpus.loses_in(row.ts, Some(ts))
    {
        with.slices.doubt(slice, BOTH, Doubt::WakeupMissed, with.rows);
    }
}

/// Writes a row that is complete or stays open. `ran` has the CPU where the thread ran last and until when,
/// and the CPU where it runs next and from when on.
fn complete(
    utid: Utid,
    row: &mut OffCpuRow,
    ran: [Option<OnCpu>; 2],
    with: &mut StateContext<'_, '_>,
) {
    if row.doubt.is_none_or(|doubt| doubt > Doubt::Lost) {
        match lost_in(row, ran, with.cpus) {
            Lost::No => {}
            Lost::Yes => row.doubt(Doubt::Lost),
            Lost::ByNextEventOf(on) => return with.cpus.hold(on, utid, *row),
        }
    }
    flush(utid, row, with.slices, with.rows);
}

/// Whether a row is doubtful because events are missing in its time.
enum Lost {
    No,
    Yes,
    /// Yes, if the next event of this CPU shows that a switch before it is missing.
    ByNextEventOf(MachineCpu),
}

/// Decides about a row in which a thread does not run (rule DT6).
fn lost_in(row: &OffCpuRow, [before, after]: [Option<OnCpu>; 2], cpus: &Cpus) -> Lost {
    let end = row.end();
    let is_open = end.is_none();
    // (3): a gap lies within the row.
    let within = cpus.gaps.of_all().zip(end);
    if within.is_some_and(|(gaps, end)| gaps.lie_within(row.ts, end)) {
        return Lost::Yes;
    }
    // (2): the row waits for a CPU to the end, and a gap ends after its begin.
    let waits = matches!(row.off_cpu, OffCpu::Runnable | OffCpu::Preempted);
    if waits && is_open && cpus.lacks_after(row.ts) {
        return Lost::Yes;
    }
    // (1): a gap on the nearest CPU overlaps the row.
    let Some((nearest, other)) = nearest(row.ts, end, before, after) else {
        return Lost::No;
    };
    match (lost_on(nearest, row, cpus), other) {
        (Lost::Yes, _) => Lost::Yes,
        (lost, None) => lost,
        (lost, Some(other)) => match lost_on(other, row, cpus) {
            Lost::No => lost,
            other => other,
        },
    }
}

/// The CPUs on which the thread was seen nearest to a row: one CPU, or one before the row and another one
/// after it.
#[inline]
fn nearest(
    start: i64,
    end: Option<i64>,
    before: Option<OnCpu>,
    after: Option<OnCpu>,
) -> Option<(MachineCpu, Option<MachineCpu>)> {
    let Some((next, end)) = after.zip(end) else {
        return before.map(|before| (before.on, None));
    };
    let Some(before) = before else {
        return Some((next.on, None));
    };
    let (gap_before, gap_after) = (start.saturating_sub(before.ts), next.ts.saturating_sub(end));
    match gap_before.cmp(&gap_after) {
        Ordering::Less => Some((before.on, None)),
        Ordering::Equal => Some((before.on, Some(next.on))),
        Ordering::Greater => Some((next.on, None)),
    }
}

/// Decides by one CPU (rule DT6 (1)).
#[inline]
fn lost_on(on: MachineCpu, row: &OffCpuRow, cpus: &Cpus) -> Lost {
    let end = row.end();
    if cpus.loses_on(on, row.ts, end) {
        return Lost::Yes;
    }
    if end.is_none() && row.off_cpu == OffCpu::Sleeping {
        return Lost::No;
    }
    let Some(cpu) = cpus.find(on) else {
        return Lost::No;
    };
    if cpu.misses(row.ts, end) {
        return Lost::Yes;
    }
    match end.is_some_and(|end| cpu.may_miss(end)) {
        true => Lost::ByNextEventOf(on),
        false => Lost::No,
    }
}

/// Writes the running state of a thread that ends at another time than its slice, or never.
fn stray(
    ts: Option<i64>,
    utid: Utid,
    running: RunningSlice,
    slices: &mut SchedSlices,
    rows: &mut Rows<'_>,
) {
    let RunningSlice { slice, began, ucpu } = running;
    let mut doubt = None;
    if let Some(known) = slices.get(slice) {
        known.is_state = false;
        known.runs = false;
        doubt = known.doubts.of(RowPart::Running);
    }
    slices.settle(slice, rows);
    rows.count_states(1, u64::from(doubt.is_some()));
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
        doubt: Cell::or_null(doubt.map(Doubt::number)),
    });
}

//! The states of threads of a kernel that is not Linux: rows of `sched_record` and of
//! `thread_state_record` (rules GK1 to GK4).
//!
//! # Design
//!
//! Such a kernel reports one thread at a time with its new state, and no switches. So a CPU's slice
//! may end before the reason is known: then the slice hangs until time goes on. The state with the
//! reason may also belong to a thread whose state is open elsewhere. Therefore a thread's states do
//! not follow from slices as on Linux (`states.rs`), and each state has its own row. The rows have
//! the numbers of the parts of slices on Linux, so that the ids of a thread's rows are in the order
//! of time (rule PQ10).

use rustc_hash::FxHashMap;
use timebase_schema::fields::generic_kernel_task_state_event as event;
use timebase_schema::tables::thread_state_record;

use super::numbers::FIRST;
use super::row::{StateId, running_id};
use super::slices::{SchedSlice, SchedSliceId, SchedSlices};
use crate::message::Message;
use crate::output::{Cell, Counter, Fault, Rows};
use crate::timeline::PacketEvent;
use crate::trackers::tracker::TrackerContext;
use crate::world::{CPUS, TimeOf, Utid, ucpu};

/// A state that cannot follow the previous one.
pub(in super::super) const INVALID_ORDER: Fault = Fault::new(
    Counter::error(
        "generic_task_state_invalid_order",
        "a state of a thread does not follow from its state before, or two \
     states have the same time",
    )
    .drops_nothing(),
);

/// An event without a state, or with an unknown state.
pub(in super::super) const INVALID_STATE: Fault = Fault::new(
    Counter::error(
        "task_state_invalid",
        "an event tells no state of a thread, or an unknown one, and is \
     left out",
    )
    .drops_nothing(),
);

/// A new state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskState {
    Created,
    Running,
    Dead,
    Destroyed,
    /// Any other state, by its letter.
    Waiting(&'static str),
}

impl TaskState {
    fn read(message: Message<'_>) -> Option<TaskState> {
        Some(match message.small(event::STATE)? {
            1 => TaskState::Created,
            2 => TaskState::Waiting("R"),
            3 => TaskState::Running,
            4 => TaskState::Waiting("S"),
            5 => TaskState::Waiting("D"),
            6 => TaskState::Waiting("T"),
            7 => TaskState::Dead,
            8 => TaskState::Destroyed,
            _ => return None,
        })
    }

    fn text(self) -> &'static str {
        match self {
            TaskState::Created => "Created",
            TaskState::Running => "Running",
            TaskState::Dead => "Z",
            TaskState::Destroyed => "X",
            TaskState::Waiting(letter) => letter,
        }
    }
}

/// The open slice of a CPU.
#[derive(Debug, Clone, Copy)]
struct OpenSlice {
    slice: SchedSliceId,
    tid: i64,
    utid: Utid,
}

/// The number of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowId {
    /// The thread runs in this slice.
    Running(SchedSliceId),
    OffCpu(StateId),
}

impl RowId {
    /// The number of a row in which the thread does not run, after the thread's last row.
    fn off_cpu(last: Option<RowId>, slices: &mut SchedSlices) -> RowId {
        RowId::OffCpu(match last {
            Some(RowId::Running(slice)) => StateId::After(slice),
            Some(RowId::OffCpu(StateId::After(slice))) => StateId::Woken(slice),
            Some(RowId::OffCpu(last)) => StateId::Alone(slices.numbers.take(last.next())),
            None => StateId::Alone(slices.numbers.take(FIRST)),
        })
    }

    fn number(self) -> i64 {
        match self {
            RowId::Running(slice) => running_id(slice),
            RowId::OffCpu(state) => state.number(),
        }
    }
}

/// The last row of a thread, which is open.
#[derive(Debug, Clone, Copy)]
struct LastRow {
    id: RowId,
    ts: i64,
    ucpu: Option<u32>,
    state: Option<TaskState>,
}

/// A new state of a thread; `None` is unknown.
#[derive(Debug, Clone, Copy)]
struct NewState {
    ts: i64,
    state: Option<TaskState>,
    /// The slice in which the thread runs, and the CPU.
    runs: Option<(SchedSliceId, u32)>,
}

/// The effect of an event on `sched`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The event only opens its state.
    None,
    /// The event begins a slice, and ends the slice of this thread, if there was one.
    Begins(SchedSliceId, Option<Utid>),
    /// The event gives the reason why a slice has ended at this time.
    Settles,
}

/// An event with a state.
#[derive(Clone, Copy)]
struct StateEvent<'a> {
    ts: i64,
    machine: u32,
    tid: i64,
    state: TaskState,
    message: Message<'a>,
}

/// The thread and the CPU of an event.
#[derive(Debug, Clone, Copy)]
struct ThreadOnCpu {
    utid: Utid,
    ucpu: u32,
}

/// The slices that are not written yet, and the rest that an event affects.
type SchedContext<'s, 'a, 'o> = (&'s mut SchedSlices, &'s mut TrackerContext<'a, 'o>);

/// Follows threads.
#[derive(Debug, Default)]
pub(super) struct Generic {
    /// The open slices of CPUs, by ucpu.
    open: FxHashMap<u32, OpenSlice>,
    /// The slices that have ended at `now` without a known reason.
    hanging: FxHashMap<Utid, SchedSliceId>,
    now: i64,
    last: FxHashMap<Utid, LastRow>,
    /// The time from the first state to the last.
    pub span: Option<(i64, i64)>,
}

impl Generic {
    /// Takes an event with a new state of a thread.
    pub fn event(
        &mut self,
        ts: i64,
        packet: &PacketEvent<'_>,
        slices: &mut SchedSlices,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(packet.payload);
        let Some(state) = TaskState::read(message) else {
            at.world.faults.add(INVALID_STATE, None);
            return;
        };
        let event = StateEvent {
            ts,
            machine: packet.machine,
            tid: message.number(event::TID).unwrap_or(0) as i64,
            state,
            message,
        };
        let Some(utid) = self.thread(event, at) else {
            at.world.faults.add(INVALID_ORDER, None);
            return;
        };
        let Some(ucpu) = ucpu(event.machine, message.small(event::CPU).unwrap_or(0)) else {
            return;
        };
        let of = ThreadOnCpu { utid, ucpu };
        self.passes(ts, slices, at.rows);
        let effect = self.sched(event, of, slices, at);
        self.state(event, of, effect, &mut (slices, at));
    }

    /// The thread of an event; `None` if its state cannot follow the previous one (rule GK2).
    fn thread(&self, event: StateEvent<'_>, at: &mut TrackerContext<'_, '_>) -> Option<Utid> {
        let StateEvent { ts, machine, tid, state, message } = event;
        let threads = &mut at.world.threads;
        let live = threads.live(machine, tid);
        let utid = match (state, live) {
            (TaskState::Created, Some(_)) => return None,
            (TaskState::Created, None) => threads.begins(ts, machine, tid),
            (TaskState::Destroyed, Some(utid)) => {
                threads.ends(ts, utid);
                return Some(utid);
            }
            (_, Some(utid)) => {
                let last = self.last.get(&utid).and_then(|last| last.state);
                let repeats = state == TaskState::Running && last == Some(state);
                if repeats || last == Some(TaskState::Dead) {
                    return None;
                }
                utid
            }
            (_, None) => threads.thread(machine, tid),
        };
        if let Some(name) = message.bytes(event::COMM) {
            let name = at.world.definitions.names.number(name);
            threads.name_thread(utid, name);
        }
        if state == TaskState::Destroyed {
            threads.ends(ts, utid);
        }
        Some(utid)
    }

    /// Time goes on: no event can now give the reason why slices have ended.
    fn passes(&mut self, ts: i64, slices: &mut SchedSlices, rows: &mut Rows<'_>) {
        if ts == self.now {
            return;
        }
        self.now = ts;
        for (_, slice) in self.hanging.drain() {
            release(slice, slices, rows);
        }
    }

    /// Opens and closes the CPU's slices (rule GK3).
    fn sched(
        &mut self,
        event: StateEvent<'_>,
        of: ThreadOnCpu,
        slices: &mut SchedSlices,
        at: &mut TrackerContext<'_, '_>,
    ) -> Effect {
        let (ts, ThreadOnCpu { utid, ucpu }) = (event.ts, of);
        if event.state == TaskState::Running {
            at.world.cpus.see(ucpu);
            let before = self.open.remove(&ucpu);
            if let Some(before) = before {
                if let Some(slice) = slices.get(before.slice) {
                    slice.runs = true;
                }
                slices.close(ts, before.slice, None, at.rows);
                at.world.groups.see(TimeOf::Run, ucpu / CPUS, ts);
                if let Some(older) = self.hanging.insert(before.utid, before.slice) {
                    release(older, slices, at.rows);
                }
            }
            let priority = event.message.small(event::PRIO).unwrap_or(0) as i32;
            let slice = SchedSlice::new(ts, ucpu, utid, priority, false);
            let slice = slices.open(slice, at.rows);
            at.world.groups.see(TimeOf::Run, ucpu / CPUS, ts);
            let tid = event.tid;
            self.open.insert(ucpu, OpenSlice { slice, tid, utid });
            return Effect::Begins(slice, before.map(|before| before.utid));
        }
        let state = at.world.strings.number(event.state.text(), at.rows);
        let is_own = |open: &&OpenSlice| open.tid == event.tid;
        if let Some(&open) = self.open.get(&ucpu).filter(is_own) {
            self.open.remove(&ucpu);
            slices.close(ts, open.slice, Some(state), at.rows);
            at.world.groups.see(TimeOf::Run, ucpu / CPUS, ts);
            return Effect::None;
        }
        let Some(hanging) = self.hanging.remove(&utid) else {
            return Effect::None;
        };
        if let Some(slice) = slices.get(hanging) {
            slice.end_state = Some(state);
        }
        release(hanging, slices, at.rows);
        Effect::Settles
    }

    /// Opens the states of threads (rule GK4).
    fn state(
        &mut self,
        event: StateEvent<'_>,
        of: ThreadOnCpu,
        effect: Effect,
        with: &mut SchedContext<'_, '_, '_>,
    ) {
        let (ts, utid) = (event.ts, of.utid);
        let new = |state, slice: Option<SchedSliceId>| NewState {
            ts,
            state,
            runs: slice.map(|slice| (slice, of.ucpu)),
        };
        match effect {
            Effect::Settles => {
                if let Some(last) = self.last.get_mut(&utid) {
                    last.state = Some(event.state);
                }
            }
            Effect::None => self.opens(utid, new(Some(event.state), None), with),
            Effect::Begins(slice, before) => {
                if let Some(before) = before {
                    self.opens(before, new(None, None), with);
                }
                self.opens(utid, new(Some(event.state), Some(slice)), with);
            }
        }
    }

    /// Opens a row of a thread, and closes its last row.
    fn opens(&mut self, utid: Utid, new: NewState, (slices, at): &mut SchedContext<'_, '_, '_>) {
        if at.world.threads.is_idle(utid) {
            return;
        }
        let NewState { ts, state, runs } = new;
        let last = self.last.get(&utid).copied();
        let (id, ucpu) = match runs {
            Some((slice, ucpu)) => (RowId::Running(slice), Some(ucpu)),
            None => (RowId::off_cpu(last.map(|last| last.id), slices), None),
        };
        if let Some(last) = last {
            if last.ts == ts {
                at.world.faults.add(INVALID_ORDER, None);
            }
            push(utid, &last, ts.saturating_sub(last.ts), at);
        }
        let (start, _) = self.span.unwrap_or((ts, ts));
        self.span = Some((start, ts));
        let row = LastRow { id, ts, ucpu, state };
        self.last.insert(utid, row);
    }

    /// Writes the open rows without an end.
    pub fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        let mut last: Vec<_> = self.last.drain().collect();
        last.sort_unstable_by_key(|(_, row)| row.id.number());
        for (utid, row) in last {
            push(utid, &row, -1, at);
        }
    }
}

/// Releases a slice, because no further event is about it.
fn release(slice: SchedSliceId, slices: &mut SchedSlices, rows: &mut Rows<'_>) {
    if let Some(slice) = slices.get(slice) {
        slice.runs = false;
    }
    slices.settle(slice, rows);
}

fn push(utid: Utid, row: &LastRow, dur: i64, at: &mut TrackerContext<'_, '_>) {
    let state = row.state.map(TaskState::text);
    let state = state.map(|state| at.world.strings.number(state, at.rows));
    at.rows.count_states(1, 0);
    at.rows.push(thread_state_record::Row {
        id: Cell::from(row.id.number()),
        ts: Cell::from(row.ts),
        dur: Cell::from(dur),
        ucpu: Cell::or_null(row.ucpu),
        utid: Cell::from(utid.0),
        state: Cell::or_null(state),
        io_wait: Cell::Null,
        blocked_function: Cell::Null,
        waker_utid: Cell::Null,
        waker_id: Cell::Null,
        irq_context: Cell::Null,
        doubt: Cell::Null,
    });
}

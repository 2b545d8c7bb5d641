//! Who ran where, and what threads did meanwhile: `sched` and `thread_state` (rules
//! Q and W).
//!
//! # Design
//!
//! Nearly every row of `thread_state` follows from the slices of `sched`: a thread
//! runs for a slice, then it is off the CPU, then somebody wakes it, then it runs
//! again. So a row of `sched_record` has what comes after the slice with it, and
//! `thread_state` is a view; what does not go into that is in
//! `thread_state_record`. A table of its own for `thread_state` was the alternative:
//! of a trace of 7 s with 4.6 million switches it takes 430 MB, and 202 MB for its
//! index by thread; `sched_record` takes 151 and 78.
//!
//! A slice waits in a ring of a fixed size (`slices.rs`) for what comes after it, so
//! that rows come in the order of time and memory is bounded. What is known
//! when a slice has left the ring goes to `thread_state_record`.
//!
//! | question | where it is decided |
//! |---|---|
//! | what runs on a CPU (rules Q1 to Q3, Q5) | `mod.rs` |
//! | what a thread does (rules W) | `states.rs` |
//! | what `prev_state` means (rule Q4) | `end_state.rs` |
//! | when a slice is a row | `slices.rs` |

mod end_state;
mod slices;
mod states;

use rustc_hash::FxHashMap;
use timebase_schema::tables::{sched_record, thread_state_record};

use self::end_state::EndStates;
use self::slices::{Slice, SliceId, Slices};
use self::states::{States, Wakeup};
use super::tracker::{At, Tracker};
use crate::message::Message;
use crate::output::{Counter, Fault, Loss, LossKind, Rows};
use crate::timeline::{Ftrace, Switch, Waker, Waking};
use crate::world::{Utid, ucpu};

/// Fields of `FtraceEvent`.
mod event {
    pub const SCHED_BLOCKED_REASON: u32 = 18;
    pub const TASK_NEWTASK: u32 = 235;
}

/// The field of `InternedData`.
pub(crate) const KERNEL_SYMBOLS: u32 = 26;

/// What a CPU runs.
#[derive(Debug, Default, Clone, Copy)]
struct Cpu {
    /// Whom the last switch was to, of either encoding.
    running: Option<Utid>,
    /// The pid that it has.
    pid: u32,
    /// The row that is open, and the pid that it was opened with.
    open: Option<(SliceId, u32)>,
    /// When its last event was.
    last: Option<i64>,
    /// Whether an event since the last switch told that one is missing.
    is_told: bool,
}

impl Cpu {
    /// An event of it says that a switch before it is missing (rule DT1).
    fn misses_switch(&self, ts: i64, machine: u32, cpu: u32, rows: &mut Rows<'_>) {
        let loss = Loss {
            start: self.last,
            end: Some(ts),
            machine: Some(machine),
            ucpu: ucpu(machine, cpu),
            ..Loss::new(LossKind::Switch)
        };
        loss.push(rows);
    }
}

/// Of a switch from another thread than the one that its CPU was running.
const MISMATCHED: Fault = Fault::new(
    Counter::error("mismatched_sched_switch_tids"),
    "a switch is from another thread than the one that its CPU was running: a switch before it is missing",
);

/// Follows the scheduler.
#[derive(Debug, Default)]
pub(crate) struct Sched {
    cpus: FxHashMap<(u32, u32), Cpu>,
    slices: Slices,
    states: States,
    end_states: EndStates,
}

impl Tracker for Sched {
    fn switch(&mut self, ts: i64, switch: &Switch, is_begun: bool, at: &mut At<'_, '_>) {
        match switch.prev {
            Some(_) if !is_begun => {
                let cpu = self.cpus.entry((switch.machine, switch.cpu)).or_default();
                cpu.last = Some(ts);
            }
            Some(prev) => {
                let machine = switch.machine;
                let world = &mut *at.world;
                let next = world.threads.thread(machine, switch.next_pid.into());
                if let Some(name) = switch.next_comm {
                    world.threads.name_thread(next, name);
                }
                let cpu = self.cpus.entry((machine, switch.cpu)).or_default();
                let open = cpu.open.take();
                let closed = open.filter(|&(_, pid)| pid == prev.pid);
                let utid = world.threads.thread(machine, prev.pid.into());
                world.threads.emits(ts, machine, prev.pid.into(), utid);
                if let Some(name) = prev.comm {
                    world.threads.name_thread(utid, name);
                }
                // Q5: what the CPU ran has no end.
                if let (Some((lost, _)), None) = (open, closed) {
                    world.faults.add(MISMATCHED, None);
                    cpu.misses_switch(ts, machine, switch.cpu, at.rows);
                    self.states.lost(lost, &mut self.slices);
                }
                let closed = closed.map(|(slice, _)| slice);
                self.switched(ts, switch, utid, next, closed, at);
            }
            None => self.compact_switch(ts, switch, is_begun, at),
        }
    }

    fn waking(&mut self, ts: i64, waking: &Waking, is_begun: bool, at: &mut At<'_, '_>) {
        let machine = waking.machine;
        let world = &mut *at.world;
        let (waker, irq_context) = match waking.waker {
            Waker::Tid(tid) => {
                let waker = world.threads.emitter(ts, machine, tid.into());
                (Some(waker), None)
            }
            Waker::Running { in_interrupt } => {
                let cpu = self.cpus.get(&(machine, waking.cpu));
                let waker = cpu.and_then(|cpu| cpu.running);
                (waker, Some(in_interrupt))
            }
        };
        let Some(waker) = waker else { return };
        let is_plain = irq_context.is_none();
        if (is_begun || is_plain)
            && let Some(ucpu) = ucpu(machine, waking.cpu)
        {
            world.cpus.see(ucpu);
        }
        if !is_begun {
            return;
        }
        if !is_plain {
            world.threads.emits_running(ts, waker);
        }
        let utid = world.threads.thread(machine, waking.pid.into());
        if let Some(name) = waking.comm {
            world.threads.name_thread(utid, name);
        }
        if !world.threads.is_idle(utid) {
            let wakeup = Wakeup { waker, irq_context };
            self.states
                .wakes(ts, utid, wakeup, &mut self.slices, at.rows);
        }
    }

    fn ftrace(&mut self, ts: i64, event: &Ftrace<'_>, emitter: Utid, at: &mut At<'_, '_>) {
        let message = Message(event.message);
        let pid = message.small(1).unwrap_or(0);
        match event.field {
            event::TASK_NEWTASK if pid != 0 => {
                if let Some(utid) = at.world.threads.live(event.machine, pid.into()) {
                    // A fork that takes the tid of its maker replaces it (P9); a clone does not.
                    let waker = match at.world.threads.is_live(emitter) {
                        true => emitter,
                        false => at.world.threads.thread(event.machine, event.tid.into()),
                    };
                    let wakeup = Wakeup {
                        waker,
                        irq_context: Some(false),
                    };
                    self.states
                        .wakes(ts, utid, wakeup, &mut self.slices, at.rows);
                }
            }
            event::SCHED_BLOCKED_REASON => {
                let utid = at.world.threads.thread(event.machine, pid.into());
                let caller = message.small(2).map(u64::from);
                let symbol = caller.and_then(|caller| {
                    let interned = &at.world.interned;
                    let entry = interned.get(event.interval, KERNEL_SYMBOLS, caller)?;
                    Message(entry).text(2)
                });
                let function = symbol.map(|symbol| at.world.strings.number(&symbol, at.rows));
                self.states.blocked(utid, message.flag(3), function);
            }
            _ => {}
        }
    }

    fn end(&mut self, at: &mut At<'_, '_>) {
        self.states.end(&mut self.slices, at.rows);
        self.slices.end(at.rows);
        for (table, span) in [
            (&sched_record::TABLE, self.slices.span),
            (&thread_state_record::TABLE, self.states.span),
        ] {
            if let Some((start, end)) = span {
                at.world.spans(table, start, end.saturating_sub(start));
            }
        }
    }
}

impl Sched {
    /// An event of a CPU that is no switch: of which thread, if it says so.
    #[inline]
    pub fn sees(
        &mut self,
        ts: i64,
        (machine, on): (u32, u32),
        pid: Option<u32>,
        is_begun: bool,
        rows: &mut Rows<'_>,
    ) {
        let cpu = self.cpus.entry((machine, on)).or_default();
        let is_other = cpu.running.is_some() && pid.is_some_and(|pid| pid != cpu.pid);
        if is_other && is_begun && !cpu.is_told {
            cpu.is_told = true;
            cpu.misses_switch(ts, machine, on, rows);
        }
        cpu.last = Some(ts);
    }

    /// Rule Q3.
    fn compact_switch(&mut self, ts: i64, switch: &Switch, is_begun: bool, at: &mut At<'_, '_>) {
        let machine = switch.machine;
        let world = &mut *at.world;
        let next = world.threads.thread(machine, switch.next_pid.into());
        if let Some(name) = switch.next_comm {
            world.threads.name_thread(next, name);
        }
        let cpu = self.cpus.entry((machine, switch.cpu)).or_default();
        let before = cpu.running.replace(next);
        (cpu.pid, cpu.last, cpu.is_told) = (switch.next_pid, Some(ts), false);
        let Some(prev) = before else { return };
        world.threads.emits_running(ts, prev);
        if is_begun {
            let closed = cpu.open.take().map(|(slice, _)| slice);
            self.switched(ts, switch, prev, next, closed, at);
        } else {
            if let Some(ucpu) = ucpu(machine, switch.cpu) {
                world.cpus.see(ucpu);
            }
        }
    }

    /// The CPU's row is closed and another one opened, and the threads' states with
    /// them.
    fn switched(
        &mut self,
        ts: i64,
        switch: &Switch,
        prev: Utid,
        next: Utid,
        closed: Option<SliceId>,
        at: &mut At<'_, '_>,
    ) {
        let world = &mut *at.world;
        let Some(ucpu) = ucpu(switch.machine, switch.cpu) else {
            return;
        };
        world.cpus.see(ucpu);
        let machine = switch.machine;
        let end_state = self
            .end_states
            .of(machine, switch.prev_state, world, at.rows);
        if let Some(slice) = closed {
            self.slices.close(ts, slice, end_state.name, at.rows);
        }
        let is_state = !world.threads.is_idle(prev);
        if is_state {
            self.states
                .leaves(ts, prev, closed, end_state, &mut self.slices, at.rows);
        }
        let is_state = !world.threads.is_idle(next);
        let slice = self.slices.open(
            Slice::new(ts, ucpu, next, switch.next_prio, is_state),
            at.rows,
        );
        if is_state {
            self.states
                .runs(ts, next, slice, ucpu, &mut self.slices, at.rows);
        }
        let cpu = self.cpus.entry((machine, switch.cpu)).or_default();
        *cpu = Cpu {
            running: Some(next),
            pid: switch.next_pid,
            open: Some((slice, switch.next_pid)),
            last: Some(ts),
            is_told: false,
        };
    }
}

//! The slices of CPUs and the states of threads: `sched` and `thread_state` (rules Q and W).
//!
//! # Design
//!
//! Nearly every row of `thread_state` follows from the slices of `sched`: a thread runs for a slice, then it
//! is off the CPU, then another thread wakes it, then it runs again. So a row of `sched_record` also has the
//! states after its slice, and `thread_state` is a view. The states that do not fit into such a row are in
//! `thread_state_record`. The alternative was a table for `thread_state`. For a trace of 7 s with 4.6 million
//! switches, this table takes 430 MB, and its index by thread takes 202 MB. `sched_record` takes 151 MB and
//! 96 MB, and the columns of its index are enough for the CPU time of threads.
//!
//! A slice waits in a ring of a fixed size (`slices.rs`) for the states after it, so that rows come in the
//! order of time and memory is bounded. States that become known after the slice has left the ring go to
//! `thread_state_record`.
//!
//! | question | where it is decided |
//! |---|---|
//! | what a CPU runs (rules Q1 to Q3, Q5), and the events that contradict it (rule DT3) | `mod.rs` |
//! | the states of a thread (rules W), and the evidence against them (rules DT4 to DT6) | `states.rs` |
//! | the meaning of `prev_state` (rule Q4) | `end_state.rs` |
//! | when a slice becomes a row | `slices.rs` |
//! | the number and the form of a row in which a thread does not run | `row.rs` |
//! | the thread on a CPU, and since when a switch may be missing | `cpus.rs` |
//! | the times in which events are missing, as bundles say | `gaps.rs` |
//! | all of this for kernels that are not Linux (rules GK1 to GK4) | `generic.rs` |
//! | complete states in JSON traces (rule JS27) | `json.rs` |
//!
//! # Doubt
//!
//! Evidence nearly always contradicts open rows, which are in memory. Three kinds of evidence come later:
//!
//! * Gaps that bundles report are known before the first event is followed.
//! * A gap that a switch shows ends with the switch, and begins with the event before it on its CPU. Rows
//!   that ended meanwhile are held until that CPU's next event: one or two for each thread that ran there
//!   last.
//! * A slice may already be written when the wait after it turns out to be none. The slice's key is kept, and
//!   its row is changed at the end, because few waits last for 16,384 slices.
//!
//! The alternative was to mark rows by SQL after the import. It looks at each thread for each gap, and there
//! are thousands of both.

mod cpus;
mod end_state;
mod gaps;
mod generic;
mod json;
mod numbers;
mod row;
mod slices;
mod states;

use timebase_schema::fields::{
    ftrace_event as event, interned_data as interned, interned_string as symbol,
    sched_blocked_reason_ftrace_event as blocked, trace_packet::GENERIC_KERNEL_TASK_STATE_EVENT,
};
use timebase_schema::tables::thread_state_record;

use self::cpus::Cpus;
use self::end_state::{EndStates, OffCpu};
use self::gaps::{Gaps, MachineCpu};
use self::generic::Generic;
pub(super) use self::generic::{INVALID_ORDER, INVALID_STATE};
pub(super) use self::json::JsonStates;
use self::row::Wakeup;
pub(super) use self::slices::SchedSlices;
use self::slices::{BOTH, SchedSlice, SchedSliceId};
use self::states::{Leaves, StateContext, States};
use super::events::Events;
use super::tracker::{Tracker, TrackerContext};
use crate::message::Message;
use crate::output::{Counter, Doubt, Fault, RowPart, Rows};
use crate::timeline::{FtraceEvent, PacketEvent, Switch, Waker, Waking};
use crate::world::{TimeOf, Utid, ucpu};

/// A switch from another thread than the thread that its CPU was running.
const MISMATCHED: Fault = Fault::new(
    Counter::error(
        "mismatched_sched_switch_tids",
        "a switch starts from a thread that its CPU did not run: an earlier \
     switch is missing",
    )
    .drops_nothing(),
);

/// A switch of a CPU from one thread to another.
struct Handover {
    prev: Utid,
    next: Utid,
    /// The slice that ends.
    closed: Option<SchedSliceId>,
    /// Whether the switch is the first compact switch after a gap.
    passes_gap: bool,
}

/// Follows the scheduler.
#[derive(Debug, Default)]
pub(crate) struct Sched {
    cpus: Cpus,
    /// The slices of all parts, which have one numbering: the sched of the current part has them.
    pub slices: SchedSlices,
    states: States,
    end_states: EndStates,
    generic: Generic,
}

impl Sched {
    /// The kernel events that it takes.
    pub const EVENTS: Events = Events::new(&[event::SCHED_BLOCKED_REASON, event::TASK_NEWTASK]);
}

impl Tracker for Sched {
    fn begin(&mut self, at: &mut TrackerContext<'_, '_>) {
        let gaps = at.world.statements().map(|of_part| &of_part.gaps[..]);
        self.cpus.gaps = Gaps::new(gaps.unwrap_or_default());
    }

    fn ftrace(
        &mut self,
        ts: i64,
        event: &FtraceEvent<'_>,
        emitter: Utid,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let message = Message(event.message);
        let pid = message.small(1).unwrap_or(0);
        match event.field {
            event::TASK_NEWTASK if pid != 0 => {
                if let Some(utid) = at.world.threads.live(event.machine, pid.into()) {
                    // A fork that takes the tid of its creator replaces it (P9); a clone does not.
                    let waker = match at.world.threads.is_live(emitter) {
                        true => emitter,
                        false => at.world.threads.thread(event.machine, event.tid.into()),
                    };
                    let wakeup = Wakeup { waker, irq_context: Some(false) };
                    self.wakes(ts, utid, wakeup, (event.machine, event.cpu), at);
                }
            }
            event::SCHED_BLOCKED_REASON => {
                let utid = at.world.threads.thread(event.machine, pid.into());
                let caller = message.small(blocked::CALLER).map(u64::from);
                let symbol = caller.and_then(|caller| {
                    let interned = &at.world.interned;
                    let entry = interned.get(event.interval, interned::KERNEL_SYMBOLS, caller)?;
                    Message(entry).text(symbol::STR)
                });
                let function = symbol.map(|symbol| at.world.strings.number(&symbol, at.rows));
                self.states.blocked(utid, message.flag(blocked::IO_WAIT), function);
            }
            _ => {}
        }
    }

    fn packet(&mut self, ts: i64, packet: &PacketEvent<'_>, at: &mut TrackerContext<'_, '_>) {
        if packet.field == GENERIC_KERNEL_TASK_STATE_EVENT {
            self.slices.keeps_all = true;
            self.generic.event(ts, packet, &mut self.slices, at);
        }
    }

    fn end(&mut self, at: &mut TrackerContext<'_, '_>) {
        for (on, slice) in self.cpus.open(at.world.part.machine) {
            let began = self.slices.get(slice).map(|slice| slice.ts);
            if began.is_some_and(|began| self.cpus.loses_on(on, began, None)) {
                self.slices.doubt_open(slice, BOTH, Doubt::Lost);
            }
        }
        self.states.end(&mut StateContext {
            slices: &mut self.slices,
            cpus: &mut self.cpus,
            rows: at.rows,
            doubt: None,
        });
        self.cpus.end(&mut self.slices, at.rows);
        self.generic.end(at);
        for (table, span) in [
            (&thread_state_record::TABLE, self.states.span),
            (&thread_state_record::TABLE, self.generic.span),
        ] {
            if let Some((start, end)) = span {
                at.world.spans(table, start, end.saturating_sub(start));
            }
        }
    }
}

impl Sched {
    /// A CPU switches. `is_begun` is false before rule O6 lets it count.
    pub fn switch(
        &mut self,
        ts: i64,
        switch: &Switch,
        is_begun: bool,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let on = (switch.machine, switch.cpu);
        if at.rows.state_of().is_some_and(|of| ts >= of.from) {
            return self.names(ts, switch, is_begun, at);
        }
        match switch.prev {
            Some(_) if !is_begun => self.arrives(ts, on, false, at.rows),
            Some(prev) => {
                let machine = switch.machine;
                let world = &mut *at.world;
                let next = world.threads.thread(machine, switch.next_pid.into());
                if let Some(name) = switch.next_comm {
                    world.threads.name_thread(next, name);
                }
                let open = self.cpus.get(on).open.take();
                let closed = open.filter(|&(_, pid)| pid == prev.pid);
                let utid = world.threads.thread(machine, prev.pid.into());
                world.threads.emits(ts, machine, prev.pid.into(), utid);
                if let Some(name) = prev.comm {
                    world.threads.name_thread(utid, name);
                }
                // Q5: the open row of the CPU never gets an end.
                let lost = open.filter(|_| closed.is_none());
                self.arrives(ts, on, lost.is_some(), at.rows);
                if let Some((lost, _)) = lost {
                    world.faults.add(MISMATCHED, None);
                    self.slices.doubt_open(lost, BOTH, Doubt::SwitchMissed);
                    self.states.lost(lost, &mut self.slices);
                }
                let handover = Handover {
                    prev: utid,
                    next,
                    closed: closed.map(|(slice, _)| slice),
                    passes_gap: false,
                };
                self.switched(ts, switch, handover, at);
            }
            None => self.compact_switch(ts, switch, is_begun, at),
        }
    }

    /// Takes of a switch behind the only moment that is wanted what it says of threads.
    fn names(&mut self, ts: i64, switch: &Switch, is_begun: bool, at: &mut TrackerContext<'_, '_>) {
        if switch.prev.is_some() && !is_begun {
            return;
        }
        let (machine, threads) = (switch.machine, &mut at.world.threads);
        let next = threads.thread(machine, switch.next_pid.into());
        if let Some(name) = switch.next_comm {
            threads.name_thread(next, name);
        }
        self.slices.uses(ts, next);
        match switch.prev {
            Some(prev) => {
                let utid = threads.thread(machine, prev.pid.into());
                if let Some(name) = prev.comm {
                    threads.name_thread(utid, name);
                }
            }
            None => self.cpus.get((machine, switch.cpu)).running = Some(next),
        }
    }

    /// A thread wakes another one.
    pub fn waking(
        &mut self,
        ts: i64,
        waking: &Waking,
        is_begun: bool,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let machine = waking.machine;
        let world = &mut *at.world;
        let (waker, irq_context) = match waking.waker {
            Waker::Tid(tid) => {
                let waker = world.threads.emitter(ts, machine, tid.into());
                (Some(waker), None)
            }
            Waker::Running { in_interrupt } => {
                let cpu = self.cpus.find((machine, waking.cpu));
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
        if at.rows.state_of().is_some_and(|of| ts >= of.from) {
            return self.slices.uses(ts, utid);
        }
        self.cpus.has_wakings = true;
        if !world.threads.is_idle(utid) {
            let wakeup = Wakeup { waker, irq_context };
            self.wakes(ts, utid, wakeup, (machine, waking.cpu), at);
        }
    }

    /// Takes an event of a CPU that is no switch, with its pid if it has one.
    #[inline]
    pub fn sees(
        &mut self,
        ts: i64,
        on: MachineCpu,
        pid: Option<u32>,
        is_begun: bool,
        at: &mut TrackerContext<'_, '_>,
    ) {
        if at.rows.state_of().is_some_and(|of| ts >= of.from) {
            return;
        }
        let cpu = self.cpus.get(on);
        let other = pid.filter(|&pid| is_begun && cpu.running.is_some() && pid != cpu.pid);
        match other {
            None => self.arrives(ts, on, false, at.rows),
            Some(other) => self.sees_another(ts, on, other, at),
        }
    }

    /// Takes an event of another thread than the thread that its CPU runs (rule DT3 b).
    #[cold]
    fn sees_another(
        &mut self,
        ts: i64,
        on: MachineCpu,
        other: u32,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let cpu = self.cpus.get(on);
        cpu.blurs = true;
        let is_first = !std::mem::replace(&mut cpu.is_told, true);
        let open = cpu.open;
        self.arrives(ts, on, is_first, at.rows);
        if let Some((slice, _)) = open {
            self.slices.doubt_open(slice, BOTH, Doubt::SwitchMissed);
        }
        let other = at.world.threads.emitter(ts, on.0, other.into());
        self.states.doubt(other, true, &mut self.slices, &self.cpus);
    }

    /// Takes an event of a CPU, which may show that a switch before it is missing.
    #[inline]
    fn arrives(&mut self, ts: i64, on: MachineCpu, misses: bool, rows: &mut Rows<'_>) {
        self.cpus.arrives(ts, on, misses, &mut self.slices, rows);
    }

    fn wakes(
        &mut self,
        ts: i64,
        utid: Utid,
        wakeup: Wakeup,
        by: MachineCpu,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let mut with = StateContext {
            slices: &mut self.slices,
            cpus: &mut self.cpus,
            rows: at.rows,
            doubt: at.world.doubt,
        };
        self.states.wakes(ts, utid, wakeup, by, &mut with);
    }

    /// Takes a compact switch (rule Q3).
    fn compact_switch(
        &mut self,
        ts: i64,
        switch: &Switch,
        is_begun: bool,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let on = (switch.machine, switch.cpu);
        let world = &mut *at.world;
        let next = world.threads.thread(switch.machine, switch.next_pid.into());
        if let Some(name) = switch.next_comm {
            world.threads.name_thread(next, name);
        }
        self.arrives(ts, on, false, at.rows);
        let passes_gap = self.cpus.passes_gap(ts, on);
        let cpu = self.cpus.get(on);
        let before = cpu.running.replace(next);
        (cpu.pid, cpu.is_told, cpu.is_compact) = (switch.next_pid, false, true);
        let Some(prev) = before else { return };
        world.threads.emits_running(ts, prev);
        if is_begun {
            let handover = Handover {
                prev,
                next,
                closed: cpu.open.take().map(|(slice, _)| slice),
                passes_gap,
            };
            self.switched(ts, switch, handover, at);
        } else {
            if let Some(ucpu) = ucpu(switch.machine, switch.cpu) {
                world.cpus.see(ucpu);
            }
        }
    }

    /// Closes the CPU's row and opens another one, and does the same for the states of both threads.
    fn switched(
        &mut self,
        ts: i64,
        switch: &Switch,
        handover: Handover,
        at: &mut TrackerContext<'_, '_>,
    ) {
        let Handover { prev, next, closed, passes_gap } = handover;
        let world = &mut *at.world;
        let Some(ucpu) = ucpu(switch.machine, switch.cpu) else {
            return;
        };
        world.cpus.see(ucpu);
        let on = (switch.machine, switch.cpu);
        let end_state = self.end_states.of(on.0, switch.prev_state, world, at.rows);
        let is_compact = switch.prev.is_none();
        let is_idle = world.threads.is_idle(prev);
        let is_ready = matches!(end_state.off_cpu, OffCpu::Runnable | OffCpu::Preempted);
        // DT3 c: the thread is switched to itself, or the idle thread leaves in another state than
        // `R` and `R+`.
        // DT3 e: the thread's last row is not the slice that the switch closes.
        let is_odd = is_compact && (prev == next || is_idle && !is_ready);
        let is_elsewhere = !is_idle && self.states.is_elsewhere(prev, closed);
        if is_elsewhere {
            self.states.doubt(prev, false, &mut self.slices, &self.cpus);
        }
        let mut doubt = None;
        if is_compact {
            let parts = if is_odd { BOTH } else { &[RowPart::Sched] };
            let is_missed = is_odd || is_elsewhere;
            if let Some(slice) = closed.filter(|_| is_missed) {
                self.slices.doubt_open(slice, parts, Doubt::SwitchMissed);
            }
            let blurs = self.cpus.get(on).blurs;
            doubt = passes_gap.then_some(Doubt::Lost);
            if is_missed || blurs {
                doubt = Some(Doubt::SwitchMissed);
            }
        }
        if let Some(slice) = closed {
            if let Some(gaps) = self.cpus.gaps.of_cpu(on)
                && let Some(began) = self.slices.get(slice).map(|slice| slice.ts)
                && gaps.overlap(began, Some(ts))
            {
                self.slices.doubt_open(slice, BOTH, Doubt::Lost);
            }
            self.slices.close(ts, slice, end_state.name, at.rows);
            world.groups.see(TimeOf::Run, on.0, ts);
        }
        world.groups.see(TimeOf::Run, on.0, ts);
        let mut with = StateContext {
            slices: &mut self.slices,
            cpus: &mut self.cpus,
            rows: at.rows,
            doubt: world.doubt,
        };
        if !is_idle {
            let leaves = Leaves { closed, end_state, is_compact, doubt };
            self.states.leaves(ts, prev, leaves, &mut with);
        }
        let is_state = !world.threads.is_idle(next);
        let slice = with
            .slices
            .open(SchedSlice::new(ts, ucpu, next, switch.next_prio, is_state), with.rows);
        if is_state {
            self.states.runs(ts, next, slice, ucpu, &mut with);
        }
        let cpu = self.cpus.get(on);
        cpu.running = Some(next);
        cpu.pid = switch.next_pid;
        cpu.is_compact = is_compact;
        cpu.open = Some((slice, switch.next_pid));
        (cpu.is_told, cpu.blurs) = (false, false);
    }
}

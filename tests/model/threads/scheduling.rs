//! The running threads, and the states of all other threads (Q, W).

use super::doubt::Doubts;
use super::machines::Machine;
use super::processes::{Processes, Utid, rank};
use std::collections::BTreeMap;

/// A row of `sched_slice`.
#[derive(Debug)]
pub struct Slice {
    pub time: i64,
    pub duration: i64,
    pub cpu: Cpu,
    pub thread: Utid,
    pub end_state: Option<String>,
    pub priority: i64,
}

/// A row of `thread_state`.
#[derive(Debug)]
pub struct State {
    pub time: i64,
    pub duration: i64,
    pub cpu: Option<Cpu>,
    pub thread: Utid,
    pub state: Option<String>,
    pub io_wait: Option<bool>,
    pub blocked_function: Option<String>,
    pub woken: Option<Woken>,
}

/// The waker of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Woken {
    pub waker: Utid,
    /// The row of `thread_state` in which the waker was.
    pub waker_state: Option<usize>,
    pub irq_context: Option<i64>,
}

/// A row of `spurious_sched_wakeup`.
#[derive(Debug)]
pub struct Spurious {
    pub time: i64,
    pub state: usize,
    pub thread: Utid,
    pub woken: Woken,
}

/// A cpu of a machine.
pub type Cpu = (Machine, u32);

/// The state of a cpu.
#[derive(Debug, Default)]
pub struct Doing {
    /// The open row, and the pid with which it was opened.
    pub open: Option<(usize, i64)>,
    /// The thread to which the last switch switched.
    running: Option<Utid>,
}

#[derive(Debug, Default)]
pub struct Scheduling {
    pub slices: Vec<Slice>,
    pub states: Vec<State>,
    pub spurious: Vec<Spurious>,
    pub cpus: BTreeMap<Cpu, Doing>,
    /// The last of `states` for each thread.
    last: BTreeMap<Utid, usize>,
    pub doubts: Doubts,
}

/// A switch, to a thread with its priority and its name.
#[derive(Debug)]
pub struct Switch<'a> {
    pub cpu: Cpu,
    pub time: i64,
    pub prev_state: i64,
    /// The kernel's version.
    pub kernel: (u32, u32),
    pub next_pid: i64,
    pub next_prio: i64,
    pub next_comm: Option<&'a str>,
}

pub const RUNNING: &str = "Running";
pub const RUNNABLE: &str = "R";

/// Q4
pub fn state(prev_state: i64, kernel: (u32, u32)) -> Option<String> {
    const COMMON: [(i64, char); 6] =
        [(0x1, 'S'), (0x2, 'D'), (0x4, 'T'), (0x8, 't'), (0x10, 'X'), (0x20, 'Z')];
    const NEW: [(i64, char); 2] = [(0x40, 'P'), (0x80, 'I')];
    const OLD: [(i64, char); 5] =
        [(0x200, 'P'), (0x40, 'x'), (0x80, 'K'), (0x100, 'W'), (0x400, 'N')];
    const UNINTERRUPTIBLE_NO_LOAD: i64 = 0x402;
    let state = prev_state & 0xffff;
    let is_new = kernel >= (4, 14);
    if is_new && state & 0xfe00 != 0 {
        return None;
    }
    let preempted = match kernel {
        _ if is_new => 0x100,
        _ if kernel >= (4, 8) => 0x1000,
        _ => 0x800,
    };
    let known = COMMON.iter().chain(if is_new { &NEW[..] } else { &OLD[..] });
    let set: Vec<(i64, char)> = known.filter(|(bit, _)| state & bit != 0).copied().collect();
    let bits: i64 = set.iter().map(|(bit, _)| bit).sum();
    if !is_new && bits == UNINTERRUPTIBLE_NO_LOAD {
        return Some("I".to_owned());
    }
    let letters: String = set.iter().map(|(_, letter)| letter).take(3).collect();
    Some(match (letters.is_empty(), state & preempted != 0) {
        (true, true) => "R+".to_owned(),
        (true, false) => RUNNABLE.to_owned(),
        (false, _) => letters,
    })
}

impl Scheduling {
    /// Q2
    pub fn switch(
        &mut self,
        processes: &mut Processes,
        switch: &Switch<'_>,
        prev_pid: i64,
        prev_comm: Option<&str>,
    ) {
        let machine = switch.cpu.0;
        let next = processes.thread(machine, switch.next_pid);
        processes.name_thread(next, switch.next_comm, rank::KERNEL);
        let open = self.cpus.entry(switch.cpu).or_default().open;
        let closed = open.filter(|(_, pid)| *pid == prev_pid);
        let prev = processes.thread(machine, prev_pid);
        processes.name_thread(prev, prev_comm, rank::KERNEL);
        let closed = closed.map(|(row, _)| row);
        self.switch_comes(processes, switch, (prev, closed), false);
        if let Some(row) = closed {
            self.close_slice(row, switch);
        }
        self.open_slice(processes, prev, next, switch);
    }

    /// Q3
    pub fn compact_switch(
        &mut self,
        processes: &mut Processes,
        switch: &Switch<'_>,
        is_partial: bool,
    ) {
        let next = processes.thread(switch.cpu.0, switch.next_pid);
        processes.name_thread(next, switch.next_comm, rank::KERNEL);
        let cpu = self.cpus.entry(switch.cpu).or_default();
        let prev = cpu.running.replace(next);
        let open = cpu.open;
        let Some(prev) = prev.filter(|_| !is_partial) else {
            self.switch_is_remembered(switch);
            return;
        };
        let closed = open.map(|(row, _)| row);
        self.switch_comes(processes, switch, (prev, closed), true);
        if let Some((row, _)) = open {
            self.close_slice(row, switch);
        }
        self.open_slice(processes, prev, next, switch);
    }

    /// Whether there was a switch on a cpu.
    pub fn has_switched(&self, cpu: Cpu) -> bool {
        self.cpus.get(&cpu).is_some_and(|cpu| cpu.running.is_some())
    }

    fn close_slice(&mut self, row: usize, switch: &Switch<'_>) {
        let slice = &mut self.slices[row];
        slice.duration = switch.time - slice.time;
        slice.end_state = state(switch.prev_state, switch.kernel);
    }

    fn open_slice(&mut self, processes: &Processes, prev: Utid, next: Utid, switch: &Switch<'_>) {
        self.slices.push(Slice {
            time: switch.time,
            duration: -1,
            cpu: switch.cpu,
            thread: next,
            end_state: None,
            priority: switch.next_prio,
        });
        let row = self.slices.len() - 1;
        let cpu = self.cpus.entry(switch.cpu).or_default();
        cpu.open = Some((row, switch.next_pid));
        cpu.running = Some(next);
        // W2
        if self.last_is(prev, RUNNING) {
            self.close_state(prev, switch.time);
        }
        let prev_state = state(switch.prev_state, switch.kernel);
        self.open_state(processes, switch.time, prev, prev_state, None, None);
        self.runs(next, switch.cpu);
        self.close_state(next, switch.time);
        let running = Some(RUNNING.to_owned());
        self.open_state(processes, switch.time, next, running, Some(switch.cpu), None);
        if !processes.threads[next].is_idle {
            self.is_run_by(self.states.len() - 1);
        }
    }

    pub fn last(&self, thread: Utid) -> Option<usize> {
        self.last.get(&thread).copied()
    }

    fn last_is(&self, thread: Utid, state: &str) -> bool {
        let last = self.last(thread).map(|row| &self.states[row]);
        last.is_some_and(|last| last.state.as_deref() == Some(state))
    }

    /// W1
    fn open_state(
        &mut self,
        processes: &Processes,
        time: i64,
        thread: Utid,
        state: Option<String>,
        cpu: Option<Cpu>,
        woken: Option<Woken>,
    ) {
        if processes.threads[thread].is_idle {
            return;
        }
        self.last.insert(thread, self.states.len());
        self.states.push(State {
            time,
            duration: -1,
            cpu,
            thread,
            state,
            io_wait: None,
            blocked_function: None,
            woken,
        });
    }

    /// W1
    fn close_state(&mut self, thread: Utid, time: i64) {
        if let Some(row) = self.last(thread) {
            self.states[row].duration = time - self.states[row].time;
        }
    }

    fn woken(&self, waker: Utid, irq_context: Option<i64>) -> Woken {
        let running = self.last_is(waker, RUNNING);
        Woken { waker, waker_state: self.last(waker).filter(|_| running), irq_context }
    }

    /// W3
    pub fn waking(
        &mut self,
        processes: &Processes,
        (cpu, time): (Cpu, i64),
        thread: Utid,
        waker: Utid,
        irq_context: Option<i64>,
    ) {
        self.is_woken(thread, cpu);
        let woken = self.woken(waker, irq_context);
        match self.last(thread) {
            Some(state) if self.last_is(thread, RUNNABLE) || self.last_is(thread, RUNNING) => {
                self.spurious.push(Spurious { time, state, thread, woken });
            }
            _ => {
                self.close_state(thread, time);
                let runnable = Some(RUNNABLE.to_owned());
                self.open_state(processes, time, thread, runnable, None, Some(woken));
            }
        }
    }

    /// W5
    pub fn compact_waking(
        &mut self,
        processes: &mut Processes,
        (cpu, time): (Cpu, i64),
        pid: i64,
        irq_context: i64,
    ) {
        if let Some(waker) = self.cpus.get(&cpu).and_then(|cpu| cpu.running) {
            let thread = processes.thread(cpu.0, pid);
            self.waking(processes, (cpu, time), thread, waker, Some(irq_context));
        }
    }

    /// W6
    pub fn new_task(&mut self, processes: &Processes, time: i64, thread: Utid, maker: Utid) {
        let woken = self.woken(maker, Some(0));
        let runnable = Some(RUNNABLE.to_owned());
        self.open_state(processes, time, thread, runnable, None, Some(woken));
    }

    /// W4
    pub fn blocked(&mut self, thread: Utid, io_wait: bool, function: Option<String>) {
        let rows = self.states.iter_mut().rev();
        let of_thread = rows.filter(|state| state.thread == thread);
        let mut not_runnable = of_thread.filter(|state| state.state.as_deref() != Some(RUNNABLE));
        let newest = not_runnable.next();
        if let Some(state) = newest.filter(|state| state.state.as_deref() != Some(RUNNING)) {
            state.io_wait = Some(io_wait);
            state.blocked_function = function.or(state.blocked_function.take());
        }
    }
}

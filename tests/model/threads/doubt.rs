//! Missing events, and the rows of `sched` and `thread_state` that they make doubtful (DT1, DT3 to
//! DT6). Nothing is forgotten: rules that need later events look at all rows at the end.

use super::machines::Machine;
use super::packets::{Packets, Read};
use super::processes::{Processes, Utid};
use super::scheduling::{Cpu, RUNNABLE, RUNNING, Scheduling, Switch};
use std::collections::{BTreeMap, BTreeSet};

/// The words of `doubt`; the first that applies counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    SwitchMissed,
    WokenAgain,
    WakeupMissed,
    Lost,
}

impl Word {
    pub fn text(self) -> &'static str {
        match self {
            Word::SwitchMissed => "switch_missed",
            Word::WokenAgain => "woken_again",
            Word::WakeupMissed => "wakeup_missed",
            Word::Lost => "lost",
        }
    }
}

/// The events of a cpu between which some are missing.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    pub cpu: Cpu,
    pub start: i64,
    pub end: i64,
    /// `kernel_events`; otherwise `switch`.
    pub by_bundle: bool,
}

impl Gap {
    fn overlaps(&self, start: i64, duration: i64) -> bool {
        let end = if duration < 0 { i64::MAX } else { start + duration };
        start < self.end && end > self.start
    }
}

#[derive(Debug, Default)]
struct Seen {
    last: Option<i64>,
    /// Since the last switch.
    told: bool,
    blurs: bool,
    /// Whether the last switch was a compact one.
    compact: bool,
    pid: i64,
}

/// The state of doubt, by the indices of rows.
#[derive(Debug, Default)]
pub struct Doubts {
    pub slices: BTreeMap<usize, Word>,
    pub states: BTreeMap<usize, Word>,
    pub gaps: Vec<Gap>,
    cpus: BTreeMap<Cpu, Seen>,
    woken: BTreeSet<Machine>,
    /// The Running row of a slice.
    running: BTreeMap<usize, usize>,
    /// Rows that compact switches opened, and the slice that each closed.
    by_compact: BTreeMap<usize, usize>,
    /// Compact switches: time and place, and the row that each opened.
    switches: Vec<(Cpu, i64, Option<usize>)>,
    /// Rows of DT5 that compact switches opened.
    slept: Vec<usize>,
}

/// The gaps `kernel_events` with a beginning (DT1), from bundles in the order of the file.
pub fn gaps_of_bundles(packets: &Packets, machine_of: impl Fn(u32) -> Machine) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut last: BTreeMap<Cpu, i64> = BTreeMap::new();
    for (index, packet) in packets.all.iter().enumerate() {
        let Some((Read::FTRACE, bundle)) = &packet.payload else {
            continue;
        };
        if super::order::is_left_out(bundle) {
            continue;
        }
        let cpu = (machine_of(packet.machine), bundle.id(1) as u32);
        let times = super::order::timestamps(bundle).into_iter();
        let times = times.filter_map(|timestamp| packets.time_of_bundle(index, timestamp));
        // A waiting event has no time yet (D2, X25).
        let times: Vec<i64> = times
            .filter(|(_, late)| !late && !packets.waits(index))
            .map(|(time, _)| time)
            .collect();
        let (first, until) = (times.iter().min(), times.iter().max());
        if bundle.unsigned(3) != 0
            && let (Some(&start), Some(&end)) = (last.get(&cpu), first)
        {
            gaps.push(Gap { cpu, start: start.min(end), end, by_bundle: true });
        }
        let until = until.max(last.get(&cpu)).copied();
        last.extend(until.map(|until| (cpu, until)));
    }
    gaps
}

impl Scheduling {
    fn doubt_slice(&mut self, row: usize, word: Word) {
        let known = self.doubts.slices.entry(row).or_insert(word);
        *known = word.min(*known);
    }

    fn doubt_state(&mut self, row: usize, word: Word) {
        let known = self.doubts.states.entry(row).or_insert(word);
        *known = word.min(*known);
    }

    /// *Both rows* of a slice (DT3).
    fn doubt_both(&mut self, slice: usize, word: Word) {
        self.doubt_slice(slice, word);
        if let Some(&state) = self.doubts.running.get(&slice) {
            self.doubt_state(state, word);
        }
    }

    fn open_of(&self, cpu: Cpu) -> Option<usize> {
        self.cpus.get(&cpu)?.open.map(|(row, _)| row)
    }

    /// The cpu whose open slice has a Running row.
    fn cpu_of(&self, state: usize) -> Option<Cpu> {
        let cpu = self.states[state].cpu?;
        let open = self.open_of(cpu)?;
        (self.doubts.running.get(&open) == Some(&state)).then_some(cpu)
    }

    fn is_running(&self, state: usize) -> bool {
        self.states[state].state.as_deref() == Some(RUNNING)
    }

    /// An event of a cpu that is left out of everything else.
    pub fn passes(&mut self, cpu: Cpu, time: i64) {
        self.doubts.cpus.entry(cpu).or_default().last = Some(time);
    }

    /// An event of a cpu other than a switch, with the pid and the thread in it.
    pub fn sees(&mut self, (cpu, time): (Cpu, i64), of: Option<(i64, Utid)>, partial: bool) {
        let is_known = self.has_switched(cpu);
        let open = self.open_of(cpu);
        let seen = self.doubts.cpus.entry(cpu).or_default();
        let before = seen.last.replace(time);
        let Some((_, thread)) = of.filter(|(pid, _)| !partial && is_known && *pid != seen.pid)
        else {
            return;
        };
        // DT3 b
        seen.blurs = true;
        if !std::mem::replace(&mut seen.told, true) {
            self.missing(cpu, before, time);
        }
        if let Some(open) = open {
            self.doubt_both(open, Word::SwitchMissed);
        }
        let Some(last) = self.last(thread) else {
            return;
        };
        self.doubt_state(last, Word::SwitchMissed);
        if self.is_running(last)
            && let Some(cpu) = self.cpu_of(last)
            && let Some(open) = self.open_of(cpu)
        {
            self.doubt_both(open, Word::SwitchMissed);
        }
    }

    fn missing(&mut self, cpu: Cpu, before: Option<i64>, end: i64) {
        if let Some(start) = before {
            self.doubts.gaps.push(Gap { cpu, start, end, by_bundle: false });
        }
    }

    /// Handles a switch before it takes effect. `closed` is the slice that it closes, `prev` the
    /// thread that it takes off.
    pub fn switch_comes(
        &mut self,
        processes: &Processes,
        switch: &Switch<'_>,
        (prev, closed): (Utid, Option<usize>),
        is_compact: bool,
    ) {
        let Switch { cpu, time, .. } = *switch;
        let open = self.open_of(cpu);
        let next = processes.newest(cpu.0, switch.next_pid);
        if let (Some(open), None, false) = (open, closed, is_compact) {
            let before = self.doubts.cpus.get(&cpu).and_then(|seen| seen.last);
            self.missing(cpu, before, time);
            self.doubt_both(open, Word::SwitchMissed);
        }
        self.passes(cpu, time);
        let mut is_missed = false;
        let state = super::scheduling::state(switch.prev_state, switch.kernel);
        let is_idle = processes.threads[prev].is_idle;
        let is_ready = matches!(state.as_deref(), Some("R" | "R+"));
        if is_compact && (next == Some(prev) || is_idle && !is_ready) {
            is_missed = true;
            if let Some(closed) = closed {
                self.doubt_both(closed, Word::SwitchMissed);
            }
        }
        if let Some(last) = self.last(prev) {
            let running = closed.and_then(|closed| self.doubts.running.get(&closed));
            if running != Some(&last) {
                is_missed = true;
                self.doubt_state(last, Word::SwitchMissed);
                if let Some(closed) = closed.filter(|_| is_compact) {
                    self.doubt_slice(closed, Word::SwitchMissed);
                }
            }
        }
        let seen = self.doubts.cpus.entry(cpu).or_default();
        seen.pid = switch.next_pid;
        seen.told = false;
        let blurs = std::mem::take(&mut seen.blurs);
        seen.compact = is_compact;
        let opened = (!is_idle).then_some(self.states.len());
        if is_compact {
            self.doubts.switches.push((cpu, time, opened));
            if let Some(opened) = opened {
                if is_missed || blurs {
                    self.doubt_state(opened, Word::SwitchMissed);
                }
                let running = closed.and_then(|closed| self.doubts.running.get(&closed));
                if let (Some(closed), Some(last)) = (closed, self.last(prev))
                    && running == Some(&last)
                {
                    self.doubts.by_compact.insert(opened, closed);
                }
            }
        }
    }

    /// A compact switch whose thread is the only remembered part.
    pub fn switch_is_remembered(&mut self, switch: &Switch<'_>) {
        self.passes(switch.cpu, switch.time);
        let seen = self.doubts.cpus.entry(switch.cpu).or_default();
        (seen.pid, seen.told, seen.compact) = (switch.next_pid, false, true);
        self.doubts.switches.push((switch.cpu, switch.time, None));
    }

    /// A thread begins to run; its last row is not closed yet.
    pub fn runs(&mut self, next: Utid, cpu: Cpu) {
        let Some(last) = self.last(next) else {
            return;
        };
        if self.is_running(last) {
            // DT3 d
            self.doubt_state(last, Word::SwitchMissed);
            if let Some(other) = self.cpu_of(last).filter(|other| *other != cpu)
                && let Some(open) = self.open_of(other)
            {
                self.doubt_both(open, Word::SwitchMissed);
                self.doubts.cpus.entry(other).or_default().blurs = true;
            }
        } else if self.sleeps(last) && self.doubts.woken.contains(&cpu.0) {
            // DT5
            self.doubt_state(last, Word::WakeupMissed);
            self.doubts.slept.push(last);
        }
    }

    fn sleeps(&self, row: usize) -> bool {
        let state = self.states[row].state.as_deref();
        state.is_some_and(|state| !matches!(state, "R" | "R+" | RUNNING))
    }

    /// The slice that has just begun is this Running row.
    pub fn is_run_by(&mut self, state: usize) {
        self.doubts.running.insert(self.slices.len() - 1, state);
    }

    /// An event of a cpu wakes a thread (DT4).
    pub fn is_woken(&mut self, thread: Utid, by: Cpu) {
        self.doubts.woken.insert(by.0);
        let Some(last) = self.last(thread) else {
            return;
        };
        match self.states[last].state.as_deref() {
            Some(RUNNABLE) => {
                self.doubt_state(last, Word::WokenAgain);
                if let Some(&slice) = self.doubts.by_compact.get(&last) {
                    self.doubt_both(slice, Word::WokenAgain);
                }
            }
            Some("R+") => self.doubt_state(last, Word::WokenAgain),
            Some(RUNNING) => {
                if let Some(cpu) = self.cpu_of(last).filter(|cpu| *cpu != by)
                    && self.doubts.cpus.get(&cpu).is_some_and(|seen| seen.compact)
                    && let Some(open) = self.open_of(cpu)
                {
                    self.doubt_both(open, Word::WokenAgain);
                }
            }
            _ => {}
        }
    }

    /// The effect of the gaps on the rows, at the end.
    pub fn settle_doubts(&mut self, processes: &Processes) {
        let gaps = self.doubts.gaps.clone();
        // DT5
        for row in std::mem::take(&mut self.doubts.slept) {
            let state = &self.states[row];
            let machine = processes.threads[state.thread].machine;
            let (start, duration) = (state.time, state.duration);
            let mut of_bundles = gaps.iter().filter(|gap| gap.by_bundle && gap.cpu.0 == machine);
            let is_in_gap = of_bundles.any(|gap| gap.overlaps(start, duration));
            if let Some(&slice) = self.doubts.by_compact.get(&row)
                && !is_in_gap
            {
                self.doubt_both(slice, Word::WakeupMissed);
            }
        }
        // DT6
        let mut of_threads: BTreeMap<Utid, Vec<usize>> = BTreeMap::new();
        for (row, state) in self.states.iter().enumerate() {
            of_threads.entry(state.thread).or_default().push(row);
        }
        let switches = std::mem::take(&mut self.doubts.switches);
        for gap in &gaps {
            if gap.by_bundle {
                for row in 0..self.slices.len() {
                    let slice = &self.slices[row];
                    if slice.cpu == gap.cpu && gap.overlaps(slice.time, slice.duration) {
                        self.doubt_slice(row, Word::Lost);
                    }
                }
                let mut after = switches.iter();
                let first = after.find(|(cpu, time, _)| *cpu == gap.cpu && *time >= gap.end);
                if let Some((.., Some(opened))) = first {
                    self.doubt_state(*opened, Word::Lost);
                }
            }
            for (thread, rows) in &of_threads {
                let is_of_machine = processes.threads[*thread].machine == gap.cpu.0;
                for place in (0..rows.len()).filter(|_| is_of_machine) {
                    if self.is_lost_in(gap, rows, place) {
                        self.doubt_state(rows[place], Word::Lost);
                    }
                }
            }
        }
    }

    /// Whether a gap makes a row of a thread doubtful; these are the indices of all rows of the
    /// thread.
    fn is_lost_in(&self, gap: &Gap, rows: &[usize], place: usize) -> bool {
        let row = rows[place];
        let state = &self.states[row];
        if !gap.overlaps(state.time, state.duration) {
            return false;
        }
        if self.is_running(row) {
            return gap.by_bundle && state.cpu == Some(gap.cpu);
        }
        let is_open = state.duration < 0;
        let end = state.time + state.duration;
        if gap.by_bundle && !is_open && state.time < gap.start && gap.end < end {
            return true;
        }
        if is_open && matches!(state.state.as_deref(), Some("R" | "R+")) {
            return true;
        }
        if is_open && self.sleeps(row) && !gap.by_bundle {
            return false;
        }
        let mut before = rows[..place].iter().rev();
        let before = before.find(|row| self.is_running(**row)).map(|&row| {
            let ran = &self.states[row];
            (state.time - (ran.time + ran.duration), ran.cpu)
        });
        // Immediately, or with only waits for a CPU in between.
        let is = |place: usize, what: &str| {
            let row = rows.get(place).map(|row| &self.states[*row]);
            row.is_some_and(|row| row.state.as_deref() == Some(what))
        };
        let mut next = place + 1;
        while !is(place, RUNNABLE) && is(next, RUNNABLE) {
            next += 1;
        }
        let after = is(next, RUNNING).then_some(next);
        let after = after.filter(|_| !is_open).map(|place| {
            let runs = &self.states[rows[place]];
            (runs.time - end, runs.cpu)
        });
        let far = [before, after].into_iter().flatten();
        let nearest = far.clone().map(|(far, _)| far).min();
        far.filter(|(far, _)| Some(*far) == nearest).any(|(_, cpu)| cpu == Some(gap.cpu))
    }
}

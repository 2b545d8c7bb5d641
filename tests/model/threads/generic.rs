//! Kernels that are not Linux (GK).

use super::machines::Machine;
use super::processes::{Utid, rank};
use super::scheduling::{Cpu, RUNNING, Slice, State};
use super::tracks::TrackOwner;
use super::wire::Message;
use super::world::World;
use std::collections::BTreeMap;

const INVALID_ORDER: &str = "generic_task_state_invalid_order";
const INVALID_STATE: &str = "task_state_invalid";

/// GK1
const STATES: [&str; 8] = ["Created", "R", RUNNING, "S", "D", "T", "Z", "X"];

#[derive(Debug, Default)]
pub struct Generic {
    /// The open slice of each cpu, and the tid of its event.
    open: BTreeMap<Cpu, (usize, i64)>,
    /// The slice of each thread that ended for no known reason.
    hanging: BTreeMap<Utid, usize>,
    /// The last state of each thread.
    last: BTreeMap<Utid, usize>,
}

impl World<'_> {
    /// GK1 to GK4
    pub fn generic_state(&mut self, machine: Machine, time: i64, event: &Message) {
        let number = i64::from(event.unsigned(4) as i32);
        if !(1..=8).contains(&number) {
            return self.count(INVALID_STATE);
        }
        let state = STATES[number as usize - 1];
        let tid = event.signed(3);
        let Some(thread) = self.generic_thread(machine, time, tid, state, event.text(2)) else {
            return self.count(INVALID_ORDER);
        };
        let number = event.unsigned(1) as u32;
        if i64::from(number) >= super::world::CPUS {
            return;
        }
        let cpu = (machine, number);
        let open = self.generic.open.get(&cpu).copied();
        // GK3
        if state == RUNNING {
            self.cpus.insert(cpu);
            if let Some((slice, _)) = open {
                let row = &mut self.scheduling.slices[slice];
                row.duration = time - row.time;
                let before = row.thread;
                self.generic.hanging.insert(before, slice);
                self.generic_open(before, time, None, None);
            }
            let priority = i64::from(event.unsigned(5) as i32);
            self.scheduling.slices.push(Slice {
                time,
                duration: -1,
                cpu,
                thread,
                end_state: None,
                priority,
            });
            let slice = self.scheduling.slices.len() - 1;
            self.generic.open.insert(cpu, (slice, tid));
            return self.generic_open(thread, time, Some(state), Some(cpu));
        }
        if let Some((slice, _)) = open.filter(|(_, of)| *of == tid) {
            let row = &mut self.scheduling.slices[slice];
            row.duration = time - row.time;
            row.end_state = Some(state.to_owned());
            self.generic.open.remove(&cpu);
        } else if let Some(&slice) = self.generic.hanging.get(&thread) {
            let row = &mut self.scheduling.slices[slice];
            if row.time + row.duration == time {
                row.end_state = Some(state.to_owned());
                self.generic.hanging.remove(&thread);
                if let Some(&last) = self.generic.last.get(&thread) {
                    self.scheduling.states[last].state = Some(state.to_owned());
                }
                return;
            }
        }
        self.generic_open(thread, time, Some(state), None);
    }

    /// GK2
    fn generic_thread(
        &mut self,
        machine: Machine,
        time: i64,
        tid: i64,
        state: &str,
        name: Option<String>,
    ) -> Option<Utid> {
        let live = self.processes.newest(machine, tid);
        if state == "Created" && live.is_some() {
            return None;
        }
        if state != "Created"
            && state != "X"
            && let Some(utid) = live
            && let Some(&last) = self.generic.last.get(&utid)
        {
            let last = self.scheduling.states[last].state.as_deref();
            if last == Some("Z") || state == RUNNING && last == Some(RUNNING) {
                return None;
            }
        }
        let start = (state == "Created").then_some(time);
        let utid = live.unwrap_or_else(|| self.processes.new_thread(machine, tid, start));
        if state != "X" || live.is_none() {
            self.processes.name_thread(utid, name.as_deref(), rank::KERNEL);
        }
        if state == "X" {
            self.processes.free(machine, tid, time);
        }
        Some(utid)
    }

    /// GK4
    fn generic_open(&mut self, thread: Utid, time: i64, state: Option<&str>, cpu: Option<Cpu>) {
        if self.processes.is_swapper(thread) {
            return;
        }
        if let Some(&last) = self.generic.last.get(&thread) {
            let row = &mut self.scheduling.states[last];
            row.duration = time - row.time;
            if row.duration == 0 {
                self.count(INVALID_ORDER);
            }
        }
        self.scheduling.states.push(State {
            time,
            duration: -1,
            cpu,
            thread,
            state: state.map(str::to_owned),
            io_wait: None,
            blocked_function: None,
            woken: None,
        });
        let last = self.scheduling.states.len() - 1;
        self.generic.last.insert(thread, last);
    }

    /// GK5
    pub fn generic_tree(&mut self, machine: Machine, tree: &Message) {
        let processes = &mut self.processes;
        for process in tree.messages(1) {
            let Some(cmdline) = process.text(3) else {
                continue;
            };
            let parent = processes.process_alone(machine, process.signed(2));
            let upid = processes.process_alone(machine, process.signed(1));
            let row = &mut processes.processes[upid];
            row.parent.get_or_insert(parent);
            row.cmdline = Some(cmdline.clone());
            let name = cmdline.split(' ').next();
            processes.name_process(upid, name, rank::PROCESS);
        }
        for thread in tree.messages(2) {
            let upid = processes.process_alone(machine, thread.signed(2));
            let utid = processes.bind_to(machine, thread.signed(1), upid);
            let row = &mut processes.threads[utid];
            row.is_main = Some(thread.unsigned(4) != 0);
            row.is_idle = thread.unsigned(5) != 0;
            processes.name_thread(utid, thread.text(3).as_deref(), rank::TREE);
        }
    }

    /// GK6
    pub fn generic_frequency(&mut self, machine: Machine, time: i64, field: u32, of: &Message) {
        if field == 129 {
            let value = f64::from(of.unsigned(2) as u32);
            let gpu = TrackOwner::Gpu(machine, i64::from(of.unsigned(1) as u32));
            self.at(time).with_unit(gpu, "gpu_frequency", "gpufreq", "kHz", value);
            return;
        }
        let cpu = i64::from(of.unsigned(1) as u32);
        if self.cpu(machine, cpu) {
            let value = of.signed(2) as f64 / 1000.0;
            self.at(time).push(
                TrackOwner::Cpu(machine, cpu as u32),
                "cpu_frequency",
                "cpufreq",
                value,
            );
        }
    }
}

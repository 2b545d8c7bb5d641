//! The rows that the statements of queries-threads.sql give.

use super::machines;
use super::processes::Utid;
use super::scheduling::{Cpu, Woken};
use super::slices::Of;
use super::world::{CPUS, World};
use crate::support::statements::{Answers, Row};
use rusqlite::types::Value;

fn integer(value: impl Into<i64>) -> Value {
    Value::Integer(value.into())
}

fn number(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::Integer)
}

fn flag(value: Option<bool>) -> Value {
    number(value.map(i64::from))
}

fn text(value: Option<&str>) -> Value {
    value.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}

/// H2
fn ucpu((machine, cpu): Cpu) -> i64 {
    machine as i64 * CPUS + i64::from(cpu)
}

impl World<'_> {
    pub fn answers(&self) -> Answers {
        let answers = [
            ("machine", self.machine_rows()),
            ("cpu", self.cpu_rows()),
            ("process", self.process_rows()),
            ("thread", self.thread_rows()),
            ("sched", self.sched_rows()),
            ("thread_state", self.state_rows()),
            ("spurious", self.spurious_rows()),
            ("counter", self.counter_rows()),
            ("gpu_slice", self.stage_rows()),
            ("slice", self.slice_rows()),
        ];
        let named = answers
            .into_iter()
            .map(|(name, rows)| (name.to_owned(), rows));
        named.collect()
    }

    fn machine_rows(&self) -> Vec<Row> {
        let rows = (0..).zip(&self.machines).map(|(id, machine)| {
            let name = machine.utsname().unwrap_or_default();
            let cpus = machine.system_info.number(8);
            vec![
                Value::Integer(id),
                integer(machine.raw_id),
                text(name.text(1).as_deref()),
                text(name.text(3).as_deref()),
                text(name.text(4).as_deref()),
                number(cpus.map(|cpus| i64::from(cpus as u32))),
            ]
        });
        rows.collect()
    }

    fn cpu_rows(&self) -> Vec<Row> {
        let rows = self.cpus.iter().map(|&(machine, number)| {
            let cpus = &self.machines[machine].cpus;
            let cpu = cpus.get(number as usize);
            let processor = cpu.and_then(|cpu| cpu.text(1)).filter(|p| !p.is_empty());
            let capacity = cpu.and_then(|cpu| cpu.number(3));
            vec![
                Value::Integer(ucpu((machine, number))),
                integer(number),
                integer(machine as u32),
                Value::Integer(machines::cluster(cpus, number as usize)),
                text(processor.as_deref()),
                capacity.map_or(Value::Null, |capacity| integer(capacity as u32)),
            ]
        });
        rows.collect()
    }

    fn pid(&self, process: usize) -> Value {
        Value::Integer(self.processes.processes[process].pid)
    }

    fn tid(&self, thread: Utid) -> Value {
        Value::Integer(self.processes.threads[thread].tid)
    }

    fn process_rows(&self) -> Vec<Row> {
        let rows = self.processes.processes.iter().map(|process| {
            vec![
                integer(process.machine as u32),
                Value::Integer(process.pid),
                text(process.name.as_deref()),
                process
                    .parent
                    .map_or(Value::Null, |parent| self.pid(parent)),
                number(process.start),
                number(process.end),
                number(process.uid),
                text(process.cmdline.as_deref()),
            ]
        });
        rows.collect()
    }

    fn thread_rows(&self) -> Vec<Row> {
        let rows = self.processes.threads.iter().map(|thread| {
            let process = thread.process;
            let start = process.and_then(|upid| self.processes.processes[upid].start);
            vec![
                integer(thread.machine as u32),
                Value::Integer(thread.tid),
                text(thread.name.as_deref()),
                process.map_or(Value::Null, |upid| self.pid(upid)),
                number(start),
                number(thread.start),
                number(thread.end),
                flag(thread.is_main),
                flag(Some(thread.is_idle)),
            ]
        });
        rows.collect()
    }

    fn sched_rows(&self) -> Vec<Row> {
        let rows = self.scheduling.slices.iter().map(|slice| {
            let thread = &self.processes.threads[slice.thread];
            vec![
                Value::Integer(slice.time),
                Value::Integer(slice.duration),
                Value::Integer(ucpu(slice.cpu)),
                Value::Integer(thread.tid),
                text(thread.name.as_deref()),
                number(thread.start),
                text(slice.end_state.as_deref()),
                Value::Integer(slice.priority),
            ]
        });
        rows.collect()
    }

    fn state_rows(&self) -> Vec<Row> {
        let rows = self.scheduling.states.iter().map(|state| {
            let thread = &self.processes.threads[state.thread];
            let waker = state.woken.as_ref();
            vec![
                Value::Integer(state.time),
                Value::Integer(state.duration),
                number(state.cpu.map(ucpu)),
                Value::Integer(thread.tid),
                number(thread.start),
                text(state.state.as_deref()),
                flag(state.io_wait),
                text(state.blocked_function.as_deref()),
                waker.map_or(Value::Null, |woken| self.tid(woken.waker)),
                waker.map_or(Value::Null, |woken| self.waker_time(woken)),
                number(waker.and_then(|woken| woken.irq_context)),
            ]
        });
        rows.collect()
    }

    fn waker_time(&self, woken: &Woken) -> Value {
        let time = |row: usize| self.scheduling.states[row].time;
        number(woken.waker_state.map(time))
    }

    fn spurious_rows(&self) -> Vec<Row> {
        let rows = self.scheduling.spurious.iter().map(|spurious| {
            vec![
                Value::Integer(spurious.time),
                self.tid(spurious.thread),
                self.tid(spurious.woken.waker),
                number(spurious.woken.irq_context),
                Value::Integer(self.scheduling.states[spurious.state].time),
            ]
        });
        rows.collect()
    }

    /// What a track is of: the machine, the GPU, the cpu, the pid, the tid.
    fn of(&self, of: Of) -> [Value; 5] {
        let null = || Value::Null;
        let (process, thread) = (&self.processes.processes, &self.processes.threads);
        let machine = |machine: usize| integer(machine as u32);
        match of {
            Of::Machine(m) => [machine(m), null(), null(), null(), null()],
            Of::Cpu(m, cpu) => [machine(m), null(), integer(cpu), null(), null()],
            Of::Gpu(m, gpu) => [machine(m), Value::Integer(gpu), null(), null(), null()],
            Of::Process(upid) => {
                let machine = machine(process[upid].machine);
                [machine, null(), null(), self.pid(upid), null()]
            }
            Of::ProcessOnGpu(upid, gpu) => {
                let machine = machine(process[upid].machine);
                [machine, Value::Integer(gpu), null(), self.pid(upid), null()]
            }
            Of::Thread(utid) => {
                let machine = machine(thread[utid].machine);
                [machine, null(), null(), null(), self.tid(utid)]
            }
        }
    }

    fn counter_rows(&self) -> Vec<Row> {
        let rows = self.counters.0.iter().map(|counter| {
            let (kind, of) = counter.owner(&self.processes);
            let [machine, gpu, cpu, pid, tid] = self.of(of);
            vec![
                machine,
                Value::Text(kind),
                Value::Text(counter.name.clone()),
                text(counter.unit.as_deref()),
                gpu,
                cpu,
                pid,
                tid,
                Value::Integer(counter.time),
                Value::Real(counter.value),
            ]
        });
        rows.collect()
    }

    fn stage_rows(&self) -> Vec<Row> {
        let rows = self.stages.all.iter().map(|stage| {
            let slice = &self.slices.all[stage.slice];
            vec![
                Value::Integer(slice.time),
                Value::Integer(slice.duration),
                text(self.stages.name_of(&slice.track).as_deref()),
                text(slice.name.as_deref()),
                Value::Integer(stage.context),
                Value::Integer(stage.render_target),
                Value::Integer(stage.render_pass),
                Value::Integer(stage.command_buffer),
                Value::Integer(stage.submission),
                Value::Integer(stage.queue),
                self.pid(stage.process),
                text(stage.subpasses.as_deref()),
                number(stage.category),
            ]
        });
        rows.collect()
    }

    fn slice_rows(&self) -> Vec<Row> {
        let rows = self.slices.all.iter().map(|slice| {
            let [_, _, cpu, pid, tid] = self.of(slice.track.of);
            let parent = slice.parent.map(|parent| &self.slices.all[parent]);
            vec![
                Value::Integer(slice.time),
                Value::Integer(slice.duration),
                text(Some(slice.track.kind)),
                text(self.stages.name_of(&slice.track).as_deref()),
                cpu,
                pid,
                tid,
                text(slice.name.as_deref()),
                text(slice.category),
                integer(slice.depth as u32),
                number(parent.map(|parent| parent.time)),
                text(parent.and_then(|parent| parent.name.as_deref())),
            ]
        });
        rows.collect()
    }
}

//! The thread that runs on each CPU, as far as the switches until now tell.

use rustc_hash::FxHashMap;
use timebase_descriptor::field::{Fields, Value};
use timebase_schema::fields::{
    sched_switch_ftrace_event as switch, task_rename_ftrace_event as rename,
};

/// A thread, with the fields of `sched_switch`. Numbers are varints as on the wire, with negative
/// numbers in 64 bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Thread {
    pub pid: u64,
    pub prio: u64,
    pub comm: Vec<u8>,
}

/// The thread that runs on each CPU of each machine.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// The thread on the CPU of the current bundle.
    pub here: Option<Thread>,
    cpu: (u32, u32),
    others: FxHashMap<(u32, u32), Thread>,
}

impl Running {
    /// Begins a bundle of a CPU.
    pub fn begin(&mut self, machine: u32, cpu: u32) {
        if self.cpu != (machine, cpu) {
            if let Some(thread) = self.here.take() {
                self.others.insert(self.cpu, thread);
            }
            self.cpu = (machine, cpu);
            self.here = self.others.remove(&self.cpu);
        }
    }

    /// Notes that the CPU switches to a thread, from the compact encoding.
    pub fn switch(&mut self, pid: u64, prio: u64, comm: &[u8]) {
        let here = self.here.get_or_insert_default();
        (here.pid, here.prio) = (pid, prio);
        here.comm.clear();
        here.comm.extend_from_slice(comm);
    }

    /// Notes that the CPU switches to a thread, from a `SchedSwitchFtraceEvent`.
    pub fn switch_message(&mut self, message: &[u8]) {
        let mut next = Thread::default();
        let mut fields = Fields::new(message);
        while let Ok(Some((number, value))) = fields.next() {
            match (number, value) {
                (switch::NEXT_COMM, Value::Bytes(comm)) => next.comm = comm.to_vec(),
                (switch::NEXT_PID, Value::Varint(pid)) => next.pid = pid,
                (switch::NEXT_PRIO, Value::Varint(prio)) => next.prio = prio,
                _ => {}
            }
        }
        self.here = Some(next);
    }

    /// Notes the new name of a thread, from a `TaskRenameFtraceEvent`. If the thread is running,
    /// the next switch has this name.
    pub fn rename_message(&mut self, message: &[u8]) {
        let (mut pid, mut new_comm) = (0, None);
        let mut fields = Fields::new(message);
        while let Ok(Some((number, value))) = fields.next() {
            match (number, value) {
                (rename::PID, Value::Varint(v)) => pid = v,
                (rename::NEWCOMM, Value::Bytes(v)) => new_comm = Some(v),
                _ => {}
            }
        }
        let Some(new_comm) = new_comm else { return };
        let (machine, _) = self.cpu;
        let others = self.others.iter_mut();
        let others = others.filter(|((other, _), _)| *other == machine);
        let threads = others.map(|(_, thread)| thread).chain(self.here.as_mut());
        for thread in threads.filter(|thread| thread.pid == pid) {
            thread.comm = new_comm.to_vec();
        }
    }
}

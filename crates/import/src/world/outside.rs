//! The processes and threads of writers in pid namespaces (rule J11).

use super::World;
use super::threads::Utid;
use crate::definitions::{Namespaces, Writer, sandboxed};

/// The numbers that a writer has for a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadNumbers {
    pub machine: u32,
    /// The pid of the writer outside of its namespace; 0 if the trace does not say.
    pub trusted_pid: u32,
    pub pid: i64,
    pub tid: i64,
}

impl ThreadNumbers {
    pub fn of(machine: u32, writer: Writer) -> Self {
        let Writer { pid, trusted_pid, tid } = writer;
        ThreadNumbers { machine, trusted_pid, pid: pid.into(), tid }
    }
}

impl World {
    /// The statements about namespaces so far, and then those of the whole trace: a process may be listed
    /// after its first event.
    fn namespaces(&self) -> [&Namespaces; 2] {
        [&self.namespaces, &self.definitions.namespaces]
    }

    /// The pid outside of the writer's namespace.
    pub fn process_outside(&self, machine: u32, trusted_pid: u32, pid: i64) -> i64 {
        let outside = i64::from(trusted_pid);
        let is_own = |known: &Namespaces| known.is_own(machine, outside, pid);
        match self.namespaces().into_iter().any(is_own) {
            true => outside,
            false => pid,
        }
    }

    /// The pid and the tid outside of the writer's namespace. What is not known there stays.
    #[inline]
    pub fn thread_outside(&self, numbers: ThreadNumbers) -> (i64, i64) {
        match numbers.trusted_pid == 0 || self.definitions.namespaces.is_empty() {
            true => (numbers.pid, numbers.tid),
            false => self.found_outside(numbers),
        }
    }

    /// The thread that a writer means.
    #[inline]
    pub fn bind_writer(&mut self, machine: u32, writer: Writer) -> Utid {
        let (pid, tid) = self.thread_outside(ThreadNumbers {
            machine,
            trusted_pid: writer.trusted_pid,
            pid: writer.pid.into(),
            tid: writer.tid,
        });
        self.threads.bind(machine, tid, pid)
    }

    #[cold]
    fn found_outside(&self, numbers: ThreadNumbers) -> (i64, i64) {
        let ThreadNumbers { machine, trusted_pid, pid, tid } = numbers;
        // The tid of a sandbox has the pid in its upper half (rule J7).
        let upper = tid >> 32;
        let is_combined = upper != 0 && upper == i64::from(pid as i32);
        let number = match is_combined {
            true => i64::from(tid as u32),
            false => tid,
        };
        let outside = i64::from(trusted_pid);
        let tid_of = |known: &Namespaces| known.tid(machine, outside, number);
        if let Some(tid) = self.namespaces().into_iter().find_map(tid_of) {
            return (outside, tid);
        }
        let pid = self.process_outside(machine, trusted_pid, pid);
        match is_combined {
            true => (pid, sandboxed(pid, number)),
            false => (pid, tid),
        }
    }
}

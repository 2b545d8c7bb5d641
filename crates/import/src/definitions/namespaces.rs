//! The numbers of processes and threads in their pid namespaces (rule J11).

use rustc_hash::FxHashMap;
use timebase_schema::fields::{
    process_tree as tree, process_tree_process as process, process_tree_thread as thread,
};

use crate::message::Message;

/// The numbers that the process lists of a trace state.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    /// By machine and pid.
    processes: FxHashMap<(u32, i64), Namespaced>,
}

/// A process in a pid namespace.
#[derive(Debug, Default)]
struct Namespaced {
    /// Its numbers, from the outermost namespace to its own.
    numbers: Vec<i64>,
    /// The tid of each number of a thread in the process's namespace, and the other way round.
    tids: FxHashMap<i64, i64>,
    by_tid: FxHashMap<i64, i64>,
}

impl Namespaced {
    /// A thread states its numbers. A number may have been that of an older thread.
    fn thread(&mut self, tid: i64, numbers: &[i64]) {
        let depth = self.numbers.len().saturating_sub(1);
        let Some(&number) = numbers.get(depth) else {
            return;
        };
        if let Some(former) = self.by_tid.insert(tid, number)
            && self.tids.get(&former) == Some(&tid)
        {
            self.tids.remove(&former);
        }
        self.tids.insert(number, tid);
    }
}

/// A list of pids. They are read as uint32.
fn pids(message: Message<'_>, field: u32) -> Vec<i64> {
    let numbers = message.numbers(field);
    numbers.map(|number| i64::from(number as u32)).collect()
}

impl Namespaces {
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Adds the statements of a `ProcessTree`. A process without a command line is not read (rule P14).
    pub fn read(&mut self, machine: u32, tree: Message<'_>) {
        let number = |of: Message<'_>, field| i64::from(of.small(field).unwrap_or(0));
        for process in tree.messages(tree::PROCESSES) {
            let numbers = pids(process, process::NSPID);
            if numbers.is_empty() || process.bytes(process::CMDLINE).is_none() {
                continue;
            }
            let known = self.processes.entry((machine, number(process, process::PID)));
            let known = known.or_default();
            if known.numbers != numbers {
                *known = Namespaced { numbers, ..Namespaced::default() };
            }
        }
        for thread in tree.messages(tree::THREADS) {
            let numbers = pids(thread, thread::NSTID);
            let process = (machine, number(thread, thread::TGID));
            if let Some(process) = self.processes.get_mut(&process) {
                process.thread(number(thread, thread::TID), &numbers);
            }
        }
    }

    /// Whether a number is that of a process in its own namespace.
    pub fn is_own(&self, machine: u32, pid: i64, number: i64) -> bool {
        let process = self.processes.get(&(machine, pid));
        process.is_some_and(|process| process.numbers.last() == Some(&number))
    }

    /// The tid of a process's thread that has a number in the process's namespace.
    pub fn tid(&self, machine: u32, pid: i64, number: i64) -> Option<i64> {
        if self.is_own(machine, pid, number) {
            return Some(pid);
        }
        let process = self.processes.get(&(machine, pid))?;
        process.tids.get(&number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::Put;

    /// A message with fields of a number, and fields of bytes.
    fn message(numbers: &[(u32, u64)], texts: &[(u32, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = Put(&mut out);
        for (field, number) in numbers {
            put.natural(u64::from(*field) << 3).natural(*number);
        }
        for (field, bytes) in texts {
            put.natural(u64::from(*field) << 3 | 2).bytes(bytes);
        }
        out
    }

    fn process(pid: u64, numbers: &[u64]) -> Vec<u8> {
        let mut fields = vec![(1, pid)];
        fields.extend(numbers.iter().map(|number| (6, *number)));
        message(&[], &[(1, &message(&fields, &[(3, b"/bin/app")]))])
    }

    fn thread(pid: u64, tid: u64, numbers: &[u64]) -> Vec<u8> {
        let mut fields = vec![(1, tid), (3, pid)];
        fields.extend(numbers.iter().map(|number| (4, *number)));
        message(&[], &[(2, &message(&fields, &[]))])
    }

    fn namespaces(trees: &[Vec<u8>]) -> Namespaces {
        let mut namespaces = Namespaces::default();
        for tree in trees {
            namespaces.read(0, Message(tree));
        }
        namespaces
    }

    /// The numbers of trace processor's own test.
    #[test]
    fn j11_numbers_are_looked_up_at_the_depth_of_the_process() {
        let namespaces = namespaces(&[
            process(1001, &[1001, 190, 1]),
            thread(1001, 1002, &[1002, 192, 2]),
            thread(1001, 1003, &[1003, 193, 3]),
            process(1023, &[1023, 201, 21]),
            thread(1023, 1026, &[1026, 196, 26]),
            process(1024, &[1024, 202, 22]),
            thread(1024, 1028, &[1028, 198, 28]),
        ]);
        let tid = |pid, number| namespaces.tid(0, pid, number);
        assert_eq!(tid(2001, 2002), None);
        assert_eq!((tid(1001, 1), tid(1023, 21)), (Some(1001), Some(1023)));
        assert_eq!((tid(1001, 2), tid(1001, 3)), (Some(1002), Some(1003)));
        assert_eq!((tid(1023, 26), tid(1024, 28)), (Some(1026), Some(1028)));
        // The number of another process's thread, of another depth, of another machine.
        assert_eq!((tid(1023, 2), tid(1001, 192)), (None, None));
        assert_eq!(namespaces.tid(1, 1001, 1), None);
    }

    #[test]
    fn j11_the_latest_statement_of_a_thread_or_a_process_counts() {
        let first = [process(500, &[7]), thread(500, 501, &[8])];
        assert_eq!(namespaces(&first).tid(0, 500, 8), Some(501));
        let again = |tree| namespaces(&[first.as_slice(), &[tree]].concat());
        // The same process keeps its threads, another one with its pid does not.
        assert_eq!(again(process(500, &[7])).tid(0, 500, 8), Some(501));
        assert_eq!(again(process(500, &[9])).tid(0, 500, 8), None);
        // A number that is used again, and a thread that has another number.
        assert_eq!(again(thread(500, 502, &[8])).tid(0, 500, 8), Some(502));
        let renumbered = again(thread(500, 501, &[9]));
        assert_eq!(renumbered.tid(0, 500, 8), None);
        assert_eq!(renumbered.tid(0, 500, 9), Some(501));
        // Threads without numbers, or of a process without them.
        assert_eq!(again(thread(500, 501, &[])).tid(0, 500, 8), Some(501));
        assert_eq!(namespaces(&[thread(500, 501, &[8])]).tid(0, 500, 8), None);
    }
}

//! The numbers of threads in pid namespaces (J11).

use super::described::Described;
use super::machines::Machine;
use super::packets::Packets;
use super::wire::Message;
use super::world::World;

/// The process trees that the events have come to, and all of the trace, in file order.
#[derive(Debug, Default)]
pub struct Namespaces {
    pub until_now: Vec<(Machine, Message)>,
    all: Vec<(Machine, Message)>,
}

/// A process in its namespace: its numbers, and the threads by their numbers.
#[derive(Debug, Default)]
struct Inside {
    numbers: Vec<i64>,
    threads: Vec<(i64, i64)>,
}

/// The statements of process trees about one process.
fn inside(trees: &[(Machine, Message)], machine: Machine, pid: i64) -> Option<Inside> {
    let mut known: Option<Inside> = None;
    let signless = |numbers: Vec<u64>| -> Vec<i64> {
        let numbers = numbers.into_iter();
        numbers.map(|number| i64::from(number as u32)).collect()
    };
    for (_, tree) in trees.iter().filter(|(of, _)| *of == machine) {
        for process in tree.messages(1) {
            let numbers = signless(process.numbers(6));
            let counts = process.id(1) == pid && process.has(3) && !numbers.is_empty();
            if counts && known.as_ref().is_none_or(|known| known.numbers != numbers) {
                known = Some(Inside { numbers, threads: Vec::new() });
            }
        }
        let Some(known) = &mut known else { continue };
        for thread in tree.messages(2) {
            let (tid, numbers) = (thread.id(1), signless(thread.numbers(4)));
            let number = numbers.get(known.numbers.len() - 1);
            if let Some(number) = number.filter(|_| thread.id(3) == pid) {
                known.threads.retain(|(other, of)| of != &tid && other != number);
                known.threads.push((*number, tid));
            }
        }
    }
    known
}

impl Namespaces {
    pub fn of(packets: &Packets, machine_of: impl Fn(u32) -> Machine) -> Namespaces {
        let trees = packets.trusted(2);
        Namespaces {
            until_now: Vec::new(),
            all: trees.map(|(raw_id, _, tree)| (machine_of(raw_id), tree.clone())).collect(),
        }
    }
}

impl World<'_> {
    fn find_outside<T>(
        &self,
        machine: Machine,
        trusted: i64,
        found: impl Fn(&Inside) -> Option<T>,
    ) -> Option<T> {
        let Namespaces { until_now, all } = &self.namespaces;
        let mut known =
            [until_now, all].into_iter().filter_map(|trees| inside(trees, machine, trusted));
        known.find_map(|known| found(&known))
    }

    /// The pid of a process outside of the writer's namespace.
    pub fn pid_outside(&self, machine: Machine, trusted: i64, pid: i64) -> i64 {
        let is_own = |process: &Inside| (process.numbers.last() == Some(&pid)).then_some(trusted);
        self.find_outside(machine, trusted, is_own).unwrap_or(pid)
    }

    /// The pid and tid of a thread outside of the writer's namespace.
    pub fn outside(&self, machine: Machine, trusted: i64, (pid, tid): (i64, i64)) -> (i64, i64) {
        let is_combined = tid >> 32 != 0 && tid >> 32 == i64::from(pid as i32);
        let number = match is_combined {
            true => i64::from(tid as u32),
            false => tid,
        };
        let thread = |process: &Inside| {
            if process.numbers.last() == Some(&number) {
                return Some(trusted);
            }
            let thread = process.threads.iter().find(|(of, _)| *of == number);
            thread.map(|(_, tid)| *tid)
        };
        if let Some(tid) = self.find_outside(machine, trusted, thread) {
            return (trusted, tid);
        }
        let pid = self.pid_outside(machine, trusted, pid);
        match is_combined {
            true => (pid, Described::sandboxed(pid, number)),
            false => (pid, tid),
        }
    }
}

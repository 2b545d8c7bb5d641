//! P16, U1 to U4: what descriptors of tracks say of processes and threads.

use super::machines::Machine;
use super::packets::Packets;
use super::processes::{Processes, Upid, Utid, rank};
use super::wire::Message;

pub const TRACK: u32 = 60;
pub const THREAD: u32 = 44;
pub const PROCESS: u32 = 43;

/// How many parents a uuid may have.
const PARENTS: usize = 98;

/// What a uuid stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    Thread(Utid),
    Process(Upid),
    Nobody,
}

/// The uuids that were met, of each machine.
#[derive(Debug, Default)]
pub struct Descriptors(Vec<(Machine, u64, Owner)>);

/// A signed number of 32 bits, which does not lose its sign (J2).
fn pid(message: &Message) -> i64 {
    i64::from(message.unsigned(1) as i32)
}

/// What U2 and U4 leave.
fn uuid(descriptor: &Message) -> Option<u64> {
    let uuid = descriptor.number(1)?;
    let thread = descriptor.message(4);
    let process = descriptor.message(3);
    let ignored = match (&thread, &process) {
        (Some(thread), _) => !thread.has(1) || !thread.has(2),
        (None, Some(process)) => !process.has(1),
        _ => false,
    };
    (!ignored && descriptor.unsigned(11) <= 3).then_some(uuid)
}

/// U1: what the file says first of a uuid.
fn first(packets: &Packets, raw_id: u32, wanted: u64) -> Option<Message> {
    let of_machine = packets.trusted(TRACK).filter(|p| p.0 == raw_id);
    let mut descriptors = of_machine.map(|(.., descriptor)| descriptor);
    descriptors
        .find(|d| uuid(d) == Some(wanted) && (wanted != 0 || !d.has(5)))
        .cloned()
}

/// A uuid and its parents, the uuid first; `None` if U4 denies it a track.
fn chain(packets: &Packets, raw_id: u32, uuid: u64) -> Option<Vec<(u64, Message)>> {
    let mut chain = vec![(uuid, first(packets, raw_id, uuid)?)];
    while let Some(parent) = chain.last().and_then(|(_, d)| d.number(5)) {
        if chain.iter().any(|(uuid, _)| *uuid == parent) || chain.len() > PARENTS {
            return None;
        }
        chain.push((parent, first(packets, raw_id, parent)?));
    }
    Some(chain)
}

impl Descriptors {
    /// P16: a packet of a machine.
    pub fn track(
        &mut self,
        processes: &mut Processes,
        packets: &Packets,
        (machine, raw_id): (Machine, u32),
        descriptor: &Message,
    ) {
        let Some(chain) = uuid(descriptor).and_then(|uuid| chain(packets, raw_id, uuid)) else {
            return;
        };
        for (uuid, descriptor) in chain.iter().rev() {
            let is_met = |(m, u, _): &(Machine, u64, Owner)| (m, u) == (&machine, uuid);
            if !self.0.iter().any(is_met) {
                let owner = self.settle(processes, machine, descriptor);
                self.0.push((machine, *uuid, owner));
            }
        }
        if let Some(thread) = descriptor.message(4) {
            Self::thread(processes, machine, &thread);
        } else if let Some(process) = descriptor.message(3) {
            Self::process(processes, machine, &process);
        }
    }

    /// U3, J3, J4: what a uuid stands for that is met for the first time.
    fn settle(&self, processes: &mut Processes, machine: Machine, descriptor: &Message) -> Owner {
        let is_taken = |owner| self.0.iter().any(|(.., other)| *other == owner);
        if let Some(thread) = descriptor.message(4) {
            let (tid, pid) = (thread.signed(2), pid(&thread));
            let mut utid = processes.bind(machine, tid, pid);
            if is_taken(Owner::Thread(utid)) {
                processes.new_thread(machine, tid, None);
                utid = processes.bind(machine, tid, pid);
            }
            return Owner::Thread(utid);
        }
        if let Some(process) = descriptor.message(3) {
            let pid = process.id(1);
            let mut upid = processes.process(machine, pid);
            if is_taken(Owner::Process(upid)) {
                processes.fork(machine, None, pid, None);
                upid = processes.process(machine, pid);
            }
            return Owner::Process(upid);
        }
        Owner::Nobody
    }

    /// What a descriptor of a thread says each time.
    pub fn thread(processes: &mut Processes, machine: Machine, thread: &Message) {
        let utid = processes.bind(machine, thread.signed(2), pid(thread));
        let name = thread.text(5).filter(|name| !name.is_empty());
        processes.name_thread(utid, name.as_deref(), rank::THREAD_DESCRIPTOR);
    }

    /// What a descriptor of a process says each time.
    pub fn process(processes: &mut Processes, machine: Machine, process: &Message) {
        let upid = processes.process(machine, process.id(1));
        let name = process.text(6).filter(|name| !name.is_empty());
        processes.name_process(upid, name.as_deref(), rank::PROCESS_DESCRIPTOR);
        let start = Some(process.signed(7)).filter(|start| *start > 0);
        let row = &mut processes.processes[upid];
        row.start = row.start.or(start);
    }
}

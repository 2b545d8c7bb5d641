//! Machines and their cpus (H).

use super::packets::Packets;
use super::wire::Message;
use std::collections::BTreeSet;

/// `machine.id`
pub type Machine = usize;

/// Facts about a machine from the whole trace (O4).
#[derive(Debug)]
pub struct MachineFacts {
    pub raw_id: u32,
    pub system_info: Message,
    /// Its cpus, if it lists them.
    pub cpus: Vec<Message>,
}

const SYSTEM_INFO: u32 = 45;
const CPU_INFO: u32 = 67;

/// H1
pub fn machines(packets: &Packets) -> Vec<MachineFacts> {
    let mut raw_ids = Vec::new();
    let first = packets.all.iter().find(|packet| !packet.marker);
    if first.is_none_or(|packet| packet.machine == 0) {
        raw_ids.push(0);
    }
    for packet in packets.all.iter().filter(|packet| !packet.marker) {
        if !raw_ids.contains(&packet.machine) {
            raw_ids.push(packet.machine);
        }
    }
    let facts = raw_ids.into_iter().map(|raw_id| MachineFacts {
        raw_id,
        system_info: last(packets, SYSTEM_INFO, raw_id),
        cpus: last(packets, CPU_INFO, raw_id).messages(1),
    });
    facts.collect()
}

/// Of several, the last counts (O4).
fn last(packets: &Packets, field: u32, raw_id: u32) -> Message {
    let of_machine = packets.trusted(field).filter(|packet| packet.0 == raw_id);
    let last = of_machine.last();
    last.map(|(.., message)| message.clone()).unwrap_or_default()
}

impl MachineFacts {
    pub fn utsname(&self) -> Option<Message> {
        self.system_info.message(1)
    }

    /// The major and minor version of the kernel (Q4).
    pub fn kernel(&self) -> (u32, u32) {
        let name = self.utsname().unwrap_or_default();
        let is_linux = name.text(1).as_deref() == Some("Linux");
        let version = || {
            let release = name.text(3)?;
            let mut parts = release.split('.');
            Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
        };
        version().filter(|_| is_linux).unwrap_or((4, 4))
    }

    /// M7
    pub fn page_size(&self) -> u64 {
        match self.system_info.id(6) {
            0 => 4096,
            size => size as u64,
        }
    }
}

/// `cluster_id` of a cpu in cpu_info (H3).
pub fn cluster(cpus: &[Message], cpu: usize) -> i64 {
    let capacity = |cpu: &Message| Some(cpu.unsigned(3)).filter(|capacity| *capacity > 0);
    let greatest = |cpu: &Message| cpu.numbers(2).into_iter().max();
    rank(cpus, cpu, capacity).or_else(|| rank(cpus, cpu, greatest)).unwrap_or(0)
}

/// The rank of a cpu's value among the different ones, if all cpus have one.
fn rank(cpus: &[Message], cpu: usize, value: impl Fn(&Message) -> Option<u64>) -> Option<i64> {
    let values: Vec<u64> = cpus.iter().map(value).collect::<Option<_>>()?;
    let different: BTreeSet<u64> = values.iter().copied().collect();
    let own = values.get(cpu)?;
    different.iter().position(|v| v == own).map(|n| n as i64)
}

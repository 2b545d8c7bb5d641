//! Reads the trace's statements about its machines: one pass over the headers of its packets, in memory that
//! does not grow with the trace.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use anyhow::bail;
use timebase_descriptor::field::{Fields, Value};
use timebase_trace::wire::packet::PacketType;
use timebase_trace::{Found, Input, Monitor, Packet, Packets, Payload};

use crate::advice;

/// The largest number of machines. A relay does not have more, and a person does not name more.
const MOST_MACHINES: usize = 1000;

const REMOTE_CLOCK_SYNC: PacketType = PacketType(107);
/// `SystemInfo.machine_name`
const MACHINE_NAME: u32 = 17;

/// The files with a name, which is nearly always one file, and their machines.
#[derive(Debug, Default)]
pub struct Scanned {
    pub name: String,
    /// The machines in the order of their first packets.
    pub machines: Vec<Machine>,
    pub has_snapshots: bool,
    /// Whether it is in JSON.
    pub is_json: bool,
    /// Its rank in a training job.
    pub rank: Option<i64>,
}

/// One machine in a file.
#[derive(Debug, Default)]
pub struct Machine {
    /// The machine id of its packets; 0 is the host.
    pub raw_id: u32,
    /// Its own name.
    pub name: Option<String>,
    /// Whether a RemoteClockSync relates its clocks to the host's clocks.
    pub is_synchronized: bool,
}

impl Scanned {
    /// A machine by its raw id, old or new. `None` if there are too many machines.
    fn machine(&mut self, raw_id: u32) -> Option<&mut Machine> {
        let known = self.machines.iter().position(|machine| machine.raw_id == raw_id);
        let index = known.unwrap_or(self.machines.len());
        if known.is_none() {
            if index == MOST_MACHINES {
                return None;
            }
            self.machines.push(Machine { raw_id, ..Machine::default() });
        }
        self.machines.get_mut(index)
    }

    /// Notes a packet. `None` if there are too many machines.
    fn packet(&mut self, packet: &Packet<'_>) -> Option<()> {
        let raw_id = packet.header.machine_id;
        let Some((kind, payload)) = packet.header.payload else {
            return self.machine(raw_id).map(|_| ());
        };
        if kind == PacketType::SYNCHRONIZATION_MARKER && raw_id == 0 {
            return Some(()); // the service's own, which makes no host (rule X11)
        }
        let machine = self.machine(raw_id)?;
        match kind {
            PacketType::CLOCK_SNAPSHOT => self.has_snapshots = true,
            PacketType::SYSTEM_INFO if machine.name.is_none() => {
                machine.name = machine_name(payload)
            }
            // The other side of the synchronization is the host (rule X22).
            REMOTE_CLOCK_SYNC if raw_id != 0 => {
                machine.is_synchronized = true;
                self.machine(0)?;
            }
            _ => {}
        }
        Some(())
    }
}

fn machine_name(system_info: &[u8]) -> Option<String> {
    let mut name = None;
    let mut fields = Fields::new(system_info);
    while let Ok(Some((number, value))) = fields.next() {
        if let (MACHINE_NAME, Value::Bytes(bytes)) = (number, value) {
            name = std::str::from_utf8(bytes).ok();
        }
    }
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Notes a file in JSON, all of whose events are the host's.
///
/// # Errors
///
/// If the file cannot be read.
pub fn json(input: &mut Input<'_>, scanned: &mut Scanned) -> anyhow::Result<()> {
    scanned.is_json = true;
    scanned.machine(0);
    // The import reports damage.
    scanned.rank = timebase_import::rank(&mut input.reader).unwrap_or_default();
    match input.failed() {
        Some(failure) => Err(failure.into()),
        None => Ok(()),
    }
}

/// Leaves out the machines of ranks, to which the import gives names (rule JS38).
pub fn leave_ranks(files: &mut [Scanned]) {
    let ranks: BTreeSet<i64> = files.iter().filter_map(|file| file.rank).collect();
    if ranks.len() > 1 {
        for file in files.iter_mut().filter(|file| file.rank.is_some()) {
            file.machines.clear();
        }
    }
}

/// Reads a file, and adds its data to the file's name; if the file is no trace, returns its type.
///
/// # Errors
///
/// If the file cannot be read, or has too many machines.
pub fn scan(
    input: &mut Input<'_>,
    scanned: &mut Scanned,
    monitor: &Monitor,
) -> anyhow::Result<Result<(), String>> {
    let mut packets = 0u64;
    let mut has_too_many = false;
    let mut is_damaged_at_begin = false;
    Packets::new(&mut input.reader).for_each(|found| {
        match found {
            Found::Packet(packet) => {
                packets = packets.saturating_add(1);
                monitor.packets.fetch_add(1, Ordering::Relaxed);
                has_too_many = scanned.packet(packet).is_none();
            }
            Found::Region { region, carrier } => {
                is_damaged_at_begin |= region.offset == 0 && carrier.is_none();
            }
            Found::Unreadable(..) | Found::Nested { .. } => {}
        }
        match has_too_many {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(Payload::Sound),
        }
    });
    if let Some(failure) = input.failed() {
        return Err(failure.into());
    }
    if has_too_many {
        bail!(
            "{} has packets of more than {MOST_MACHINES} machines, too many to name",
            input.name()
        );
    }
    let other = (packets == 0 || is_damaged_at_begin).then(|| input.recognize());
    Ok(match other.flatten() {
        Some(other) => Err(format!(
            "is not a trace but {other}{}",
            advice::remedy(other.remedy, advice::Output::Database)
        )),
        None if packets == 0 => Err("is not a trace: it has no packets".to_owned()),
        None => Ok(()),
    })
}

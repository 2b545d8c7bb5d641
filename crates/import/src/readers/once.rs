//! Packets that are said once and count for the whole trace, wherever they stand
//! (rule O4).

use timebase_schema::{Table, tables};
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::corrupt::Corrupt;
use super::observed::well_formed;
use super::packet::PlacedPacket;
use super::reader::Reader;
use super::retiming::Times;
use crate::definitions::{Architecture, CPUS, CpuInfo, Machine, SystemInfo};
use crate::message::Message;
use crate::output::{Journal, Rows};

/// The row of the host in `machine`.
const HOST: u32 = 0;

/// Reads what a type of packets says of its machine.
#[derive(Debug, Default)]
pub(crate) struct Once<const TYPE: u32>;

impl<const TYPE: u32> Reader for Once<TYPE> {
    type Payload<'a> = Message<'a>;

    const TABLES: &'static [&'static Table] = &[&tables::thread_record::TABLE];

    const TIMES: Times = Times::OfPacket;

    fn parse(payload: &[u8]) -> Result<Message<'_>, Corrupt> {
        well_formed(payload)?;
        Ok(Message(payload))
    }

    fn read(
        &mut self,
        message: Message<'_>,
        packet: &PlacedPacket<'_>,
        context: &mut ImportContext,
        _rows: &mut Rows<'_>,
    ) {
        let Some(machine) = context.definitions.machines.get_mut(packet.machine) else {
            return;
        };
        if packet.is_lost() {
            return;
        }
        match PacketType(TYPE) {
            PacketType::SYSTEM_INFO => {
                let before = machine.system.architecture;
                machine.system = system_info(message);
                machine.system.architecture = machine.system.architecture.or(before);
                if packet.machine == HOST {
                    state(&machine.system, &mut context.journal);
                }
            }
            PacketType::CPU_INFO => {
                let room = (CPUS as usize).saturating_sub(machine.cpus.len());
                machine.cpus.extend(message.messages(1).take(room).map(cpu));
            }
            PacketType::SERVICE_EVENT => service_event(message, packet, machine),
            _ => {}
        }
    }
}

/// Facts of the trace that trace processor has as metadata: those of its host.
fn state(system: &SystemInfo, journal: &mut Journal) {
    for (name, text) in [
        ("system_name", &system.sysname),
        ("system_release", &system.release),
        ("system_version", &system.version),
        ("system_machine", &system.machine),
        (
            "android_build_fingerprint",
            &system.android_build_fingerprint,
        ),
        (
            "android_device_manufacturer",
            &system.android_device_manufacturer,
        ),
    ] {
        if let Some(text) = text {
            journal.state(name, text.clone());
        }
    }
    if let Some(version) = system.android_sdk_version {
        journal.state("android_sdk_version", version);
    }
}

fn system_info(message: Message<'_>) -> SystemInfo {
    let utsname = Message(message.bytes(1).unwrap_or_default());
    let text = |message: Message<'_>, field| message.text(field).map(String::from);
    SystemInfo {
        name: text(message, 17),
        sysname: text(utsname, 1),
        version: text(utsname, 2),
        release: text(utsname, 3),
        architecture: text(utsname, 4).and_then(|machine| Architecture::of_machine(&machine)),
        machine: text(utsname, 4),
        num_cpus: message.small(8),
        page_size: message.small(6),
        android_build_fingerprint: text(message, 2),
        android_device_manufacturer: text(message, 14),
        android_sdk_version: message.number(5).map(|version| version as i64),
        system_ram_bytes: message.number(16).map(|bytes| bytes as i64),
    }
}

fn cpu(message: Message<'_>) -> CpuInfo {
    CpuInfo {
        processor: message.text(1).map(String::from),
        capacity: message.small(3),
        frequencies: message
            .numbers(2)
            .map(|frequency| frequency as u32)
            .collect(),
    }
}

/// Rule O5: the last one counts, by its timestamp as recorded.
fn service_event(message: Message<'_>, packet: &PlacedPacket<'_>, machine: &mut Machine) {
    const TRACING_STARTED: u32 = 2;
    if message.number(TRACING_STARTED).is_some() {
        let started = packet.header.timestamp;
        machine.tracing_started = started.or(machine.tracing_started);
    }
}

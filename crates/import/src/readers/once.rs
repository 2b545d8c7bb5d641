//! Packets whose statements hold for the whole trace, wherever the packets are (rule O4), and the
//! facts that they state (rules MD7, MD14).

use timebase_schema::fields::{
    cpu_info as info, cpu_info_arm_cpu_identifier as arm, cpu_info_cpu as cpu,
    system_info as system, tracing_service_event as service,
    tracing_service_event_data_sources as sources,
    tracing_service_event_data_sources_data_source as source, utsname,
};

use super::context::ImportContext;
use super::packet::PlacedPacket;
use super::reader::message_readers;
use super::records::of;
use crate::definitions::{Architecture, CPUS, CpuInfo, SystemInfo};
use crate::message::Message;
use crate::output::{About, Counter, Facts, Journal};
use crate::place::CountsFor;

static CLONE_STARTED: Counter = Counter::info(
    "traced_clone_started_timestamp_ns",
    "when the recorder began to clone a recording, by its own \
     timestamp; 0 if it did not",
)
.recorded();
static CLONE_DONE: Counter = Counter::info(
    "traced_buf_clone_done_timestamp_ns",
    "when buffer idx was cloned, by the recorder's own timestamp",
)
.recorded();

/// The counters that every machine of a file has, even if nothing was counted.
pub(super) fn counters() -> impl Iterator<Item = &'static Counter> {
    std::iter::once(&CLONE_STARTED)
}

message_readers! {
    /// Reads `system_info`.
    SystemInfos => machine_system;
    /// Reads `cpu_info`.
    CpuInfos => machine_cpus;
    /// Reads `service_event`.
    ServiceEvents => service_event, {
        const COUNTS_FOR: CountsFor = CountsFor::Nothing;
    };
}

fn machine_system(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    let machine = context.definitions.machines.get_mut(packet.machine);
    let Some(machine) = machine.filter(|_| !packet.is_lost()) else {
        return;
    };
    let before = machine.system.architecture;
    machine.system = system_info(message);
    machine.system.architecture = machine.system.architecture.or(before);
    let about = About::machine(packet.machine);
    system_facts(message, about, &mut context.journal.facts);
}

fn machine_cpus(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    let machine = context.definitions.machines.get_mut(packet.machine);
    if let Some(machine) = machine.filter(|_| !packet.is_lost()) {
        let listed = message.messages(info::CPUS).take(CPUS as usize);
        machine.cpus = listed.map(cpu).collect();
    }
}

fn service_event(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    lifecycle(message, packet, of(packet, context), &mut context.journal);
    if !packet.is_lost() {
        tracing_started(message, packet, context);
    }
}

/// Facts about a machine (rule MD14).
fn system_facts(message: Message<'_>, about: About, facts: &mut Facts) {
    if let Some(utsname) = message.bytes(system::UTSNAME).map(Message) {
        for (field, name) in [
            (utsname::SYSNAME, "system_name"),
            (utsname::VERSION, "system_version"),
            (utsname::RELEASE, "system_release"),
            (utsname::MACHINE, "system_machine"),
        ] {
            facts.set_text(name, about, utsname.text(field));
        }
    }
    for (field, name) in [
        (system::ANDROID_BUILD_FINGERPRINT, "android_build_fingerprint"),
        (system::TRACING_SERVICE_VERSION, "tracing_service_version"),
        (system::ANDROID_SOC_MODEL, "android_soc_model"),
        (system::ANDROID_HARDWARE_REVISION, "android_hardware_revision"),
        (system::ANDROID_STORAGE_MODEL, "android_storage_model"),
        (system::ANDROID_RAM_MODEL, "android_ram_model"),
        (system::ANDROID_GUEST_SOC_MODEL, "android_guest_soc_model"),
        (system::ANDROID_DEVICE_MANUFACTURER, "android_device_manufacturer"),
        (system::ANDROID_SERIAL_CONSOLE, "android_serial_console"),
    ] {
        if let Some(text) = message.text(field) {
            facts.set(name, about, text.into_owned());
        }
    }
    if let Some(minutes) = message.small(system::TIMEZONE_OFF_MINS) {
        let minutes = i64::from(minutes.cast_signed());
        facts.set("timezone_off_mins", about, minutes);
    }
    if let Some(bytes) = message.number(system::SYSTEM_RAM_BYTES) {
        facts.set("system_ram_bytes", about, bytes.cast_signed());
        facts.set("system_ram_gb", about, gigabytes(bytes));
    }
    let fingerprint = message.text(system::ANDROID_BUILD_FINGERPRINT);
    let parts = fingerprint.as_deref().and_then(fingerprint_parts);
    if let Some((_, incremental)) = parts {
        let name = "android_incremental_build";
        facts.set(name, about, incremental.to_owned());
    }
    if let Some(version) = android_sdk_version(message) {
        facts.set("android_sdk_version", about, version);
    }
}

/// The API level of a machine's Android: the stated level, or else the level of the version in its
/// fingerprint (rule MD14).
fn android_sdk_version(message: Message<'_>) -> Option<i64> {
    let by_fingerprint = || {
        let fingerprint = message.text(system::ANDROID_BUILD_FINGERPRINT)?;
        let (version, _) = fingerprint_parts(&fingerprint)?;
        sdk_version(version)
    };
    let said = message.number(system::ANDROID_SDK_VERSION).map(u64::cast_signed);
    said.or_else(by_fingerprint)
}

/// A number of bytes in gigabytes, rounded.
fn gigabytes(bytes: u64) -> i64 {
    const GIGABYTE: u64 = 1_000_000_000;
    let rounded = bytes / GIGABYTE + u64::from(bytes % GIGABYTE >= GIGABYTE / 2);
    rounded.cast_signed()
}

/// The version of Android and the number of the build in a fingerprint: 12 and 7679548 in
/// `google/coral/coral:12/SP1A/7679548:user/keys`.
fn fingerprint_parts(fingerprint: &str) -> Option<(&str, &str)> {
    let (_, rest) = fingerprint.split_once(':')?;
    let (version, rest) = rest.split_once('/')?;
    let (_, rest) = rest.split_once('/')?;
    let (incremental, _) = rest.split_once(':')?;
    Some((version, incremental))
}

/// The API level of a version of Android.
fn sdk_version(version: &str) -> Option<i64> {
    Some(match version {
        "12" => 31,
        "11" => 30,
        "10" => 29,
        "9" => 28,
        "8.1" => 27,
        "8.0" => 26,
        "7.1" => 25,
        "7.0" => 24,
        "6.0" => 23,
        "5.1" | "5.1.1" => 22,
        "5.0" | "5.0.1" | "5.0.2" => 21,
        // Preliminary versions.
        _ if version.starts_with(['S', 'T']) => 31,
        _ => return None,
    })
}

/// The stages of the recording, with the times that the recorder reports (rule MD7).
fn lifecycle(
    message: Message<'_>,
    packet: &PlacedPacket<'_>,
    (file, machine): (u32, u32),
    journal: &mut Journal,
) {
    let about = About::both(file, machine);
    let ts = packet.header.timestamp.unwrap_or(0).cast_signed();
    for (field, name) in [
        (service::ALL_DATA_SOURCES_STARTED, "all_data_source_started_ns"),
        (service::TRACING_STARTED, "tracing_started_ns"),
        (service::TRACING_DISABLED, "tracing_disabled_ns"),
    ] {
        if message.flag(field) {
            journal.facts.set(name, about, ts);
        }
    }
    if message.flag(service::ALL_DATA_SOURCES_FLUSHED) {
        let name = "all_data_source_flushed_ns";
        journal.facts.add(name, about, true, ts);
    }
    if let Some(slow) = message.bytes(service::SLOW_STARTING_DATA_SOURCES).map(Message) {
        for source in slow.messages(sources::DATA_SOURCE) {
            let part = |field| source.text(field).unwrap_or_default();
            let text =
                format!("{} {}", part(source::PRODUCER_NAME), part(source::DATA_SOURCE_NAME));
            let name = "slow_start_data_source";
            journal.facts.add(name, about, true, text);
        }
    }
    if message.number(service::CLONE_STARTED).is_some() {
        journal.set(&CLONE_STARTED, (file, machine), None, ts);
    }
    if let Some(buffer) = message.number(service::BUFFER_CLONED) {
        // An int32, like trace processor's indexes of counters.
        let buffer = i64::from(buffer as i32);
        journal.set_at(&CLONE_DONE, (file, machine), Some(buffer), ts);
    }
}

fn system_info(message: Message<'_>) -> SystemInfo {
    let utsname = Message(message.bytes(system::UTSNAME).unwrap_or_default());
    let text = |message: Message<'_>, field| message.text(field).map(String::from);
    SystemInfo {
        name: text(message, system::MACHINE_NAME),
        sysname: text(utsname, utsname::SYSNAME),
        version: text(utsname, utsname::VERSION),
        release: text(utsname, utsname::RELEASE),
        architecture: text(utsname, utsname::MACHINE)
            .and_then(|machine| Architecture::of_machine(&machine)),
        machine: text(utsname, utsname::MACHINE),
        num_cpus: message.small(system::NUM_CPUS),
        page_size: message.small(system::PAGE_SIZE),
        android_build_fingerprint: text(message, system::ANDROID_BUILD_FINGERPRINT),
        android_device_manufacturer: text(message, system::ANDROID_DEVICE_MANUFACTURER),
        android_sdk_version: android_sdk_version(message),
        system_ram_bytes: message.number(system::SYSTEM_RAM_BYTES).map(|bytes| bytes as i64),
    }
}

fn cpu(message: Message<'_>) -> CpuInfo {
    CpuInfo {
        processor: message.text(cpu::PROCESSOR).map(String::from),
        capacity: message.small(cpu::CAPACITY),
        frequencies: message.numbers(cpu::FREQUENCIES).map(|frequency| frequency as u32).collect(),
        arm: message.bytes(cpu::ARM_IDENTIFIER).map(|arm| {
            let number = |field| Message(arm).small(field).unwrap_or(0);
            [arm::IMPLEMENTER, arm::ARCHITECTURE, arm::VARIANT, arm::PART, arm::REVISION]
                .map(number)
        }),
        features: message.number(cpu::FEATURES).unwrap_or(0),
    }
}

/// The last event counts, by its timestamp as recorded (rule O5).
fn tracing_started(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    if message.number(service::TRACING_STARTED).is_some() {
        let started = packet.header.timestamp;
        let of_part = context.definitions.parts.of(packet.part);
        of_part.tracing_started = started.or(of_part.tracing_started);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md14_the_parts_of_a_fingerprint_are_between_colons_and_slashes() {
        for (fingerprint, expected) in [
            ("google/coral/coral:12/SP1A.1/7679548:userdebug/dev-keys", Some(("12", "7679548"))),
            ("g/p/d:Tiramisu/ID/INC:user/keys", Some(("Tiramisu", "INC"))),
            (":///:", Some(("", "/"))),
            ("a:b", None),
            ("a:b/c", None),
            ("a:b/c/d", None),
            ("nonsense", None),
        ] {
            assert_eq!(fingerprint_parts(fingerprint), expected, "{fingerprint}");
        }
    }

    #[test]
    fn md14_versions_of_android_have_api_levels() {
        for (version, level) in [
            ("12", Some(31)),
            ("11", Some(30)),
            ("10", Some(29)),
            ("9", Some(28)),
            ("8.1", Some(27)),
            ("8.0", Some(26)),
            ("7.1", Some(25)),
            ("7.0", Some(24)),
            ("6.0", Some(23)),
            ("5.1.1", Some(22)),
            ("5.0.2", Some(21)),
            ("S", Some(31)),
            ("Tiramisu", Some(31)),
            ("13", None),
            ("5.0.3", None),
            ("s", None),
            ("", None),
        ] {
            assert_eq!(sdk_version(version), level, "{version}");
        }
    }

    #[test]
    fn md14_memory_is_rounded_to_gigabytes() {
        for (bytes, expected) in [
            (0, 0),
            (499_999_999, 0),
            (500_000_000, 1),
            (8_589_934_592, 9),
            (u64::MAX, 18_446_744_074),
        ] {
            assert_eq!(gigabytes(bytes), expected, "{bytes}");
        }
    }
}

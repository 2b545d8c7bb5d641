//! `gpu_counter_event`: samples of the counters of GPUs, and the descriptions of these counters
//! (rules M11, M14).
//!
//! # Design
//!
//! This reader collects the descriptions in file order, because they hold for samples at any time
//! (rule O4). Samples go to the timeline unchanged. The alternative was to look up interned numbers
//! when samples are followed. But a description that no packet refers to once it is known does not
//! count, and only the file order tells.

use timebase_schema::fields::{
    gpu_counter_descriptor as descriptor, gpu_counter_descriptor_gpu_counter_group_spec as group,
    gpu_counter_descriptor_gpu_counter_spec as spec, gpu_counter_event as event, interned_data,
    interned_gpu_counter_descriptor as interned,
};
use timebase_schema::{Table, tables};
use timebase_trace::Kept;
use timebase_trace::wire::packet::PacketType;

use super::context::ImportContext;
use super::observed::observe;
use super::packet::PlacedPacket;
use super::reader::message_readers;
use crate::definitions::{CounterGroup, DescribedCounter, GpuCounter, GroupCalled};
use crate::message::Message;

/// `VALUE_DIRECTION_FORWARDS_LOOKING`
const FORWARDS: u64 = 2;

message_readers! {
    /// Reads samples of counters of GPUs.
    GpuCounterEvents => gpu_counter_event, {
        const TABLES: &'static [&'static Table] = &[&tables::counter_record::TABLE];
        const INTERNED: &'static [(u32, Kept)] = &[(interned_data::GPU_COUNTER_DESCRIPTORS, Kept::Interval)];
    };
}

fn gpu_counter_event(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    if packet.is_lost() {
        return;
    }
    match message.number(event::COUNTER_DESCRIPTOR_IID) {
        Some(iid) => declare(iid, packet, context),
        None => describe(message, packet, context),
    }
    let has_samples = message.messages(event::COUNTERS).next().is_some();
    if has_samples && packet.header.timestamp.is_some() {
        observe(PacketType::GPU_COUNTER_EVENT, message, packet, context);
    }
}

/// Stores the description of counters whose numbers hold for the whole part.
fn describe(message: Message<'_>, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    let gpu = message.small(event::GPU_ID).unwrap_or(0);
    if let Some(descriptor) = message.bytes(event::COUNTER_DESCRIPTOR).map(Message) {
        let counters = counters(descriptor, gpu);
        let known = &mut context.definitions.parts.of(packet.part).gpu_counters;
        known.describe(counters, groups(descriptor));
    }
}

/// Stores the counters of an interned number, if its entry is known now and was not stored before.
fn declare(iid: u64, packet: &PlacedPacket<'_>, context: &mut ImportContext) {
    let interval = packet.generation.interval;
    let known = &mut context.definitions.parts.of(packet.part).gpu_counters;
    if known.knows(interval, iid) {
        return;
    }
    let Some(entry) =
        context.place.interned.get(interval, interned_data::GPU_COUNTER_DESCRIPTORS, iid)
    else {
        return;
    };
    let interned = Message(entry);
    if let Some(descriptor) = interned.bytes(interned::COUNTER_DESCRIPTOR) {
        let gpu = interned.small(interned::GPU_ID).unwrap_or(0);
        known.intern(interval, iid, entry, || {
            let descriptor = Message(descriptor);
            (counters(descriptor, gpu), groups(descriptor))
        });
    }
}

/// The counters of a `GpuCounterDescriptor` that have a number and a name.
fn counters(descriptor: Message<'_>, gpu: u32) -> Vec<DescribedCounter> {
    let counters = descriptor.messages(descriptor::SPECS).filter_map(|spec| {
        let counter = GpuCounter {
            gpu,
            name: spec.text(spec::NAME)?.into(),
            unit: unit(spec).map(Into::into),
            description: spec.text(spec::DESCRIPTION).map(Into::into),
            is_forwards: spec.number(spec::VALUE_DIRECTION) == Some(FORWARDS),
        };
        Some(DescribedCounter {
            number: spec.small(spec::COUNTER_ID)?,
            counter,
            groups: spec.numbers(spec::GROUPS).map(|group| group as i32).collect(),
        })
    });
    counters.collect()
}

/// The groups of a `GpuCounterDescriptor` that have a number.
fn groups(descriptor: Message<'_>) -> Vec<CounterGroup> {
    let groups = descriptor.messages(descriptor::COUNTER_GROUPS).filter_map(|group| {
        Some(CounterGroup {
            group: group.small(group::GROUP_ID)? as i32,
            called: GroupCalled {
                name: group.text(group::NAME).map(Into::into),
                description: group.text(group::DESCRIPTION).map(Into::into),
            },
            counters: group.numbers(group::COUNTER_IDS).map(|number| number as u32).collect(),
        })
    });
    groups.collect()
}

/// The unit of a `GpuCounterSpec`; `None` without units.
fn unit(spec: Message<'_>) -> Option<String> {
    let mut numerators = spec.numbers(spec::NUMERATOR_UNITS).map(unit_name).peekable();
    let mut denominators = spec.numbers(spec::DENOMINATOR_UNITS).map(unit_name).peekable();
    numerators.peek().or(denominators.peek())?;
    let mut unit = String::new();
    for name in numerators {
        if !unit.is_empty() {
            unit.push(':');
        }
        unit.push_str(name);
    }
    let mut separator = '/';
    for name in denominators.filter(|name| !name.is_empty()) {
        unit.push(separator);
        unit.push_str(name);
        separator = ':';
    }
    Some(unit)
}

/// The list U of rule M11.
const UNITS: &[&str] = &[
    "",
    "bit",
    "Kb",
    "Mb",
    "Gb",
    "Tb",
    "Pb",
    "B",
    "KB",
    "MB",
    "GB",
    "TB",
    "PB",
    "Hz",
    "KHz",
    "MHz",
    "GHz",
    "THz",
    "PHz",
    "ns",
    "us",
    "ms",
    "s",
    "min",
    "h",
    "Vertex",
    "Pixel",
    "Triangle",
    "mW",
    "W",
    "kW",
    "J",
    "V",
    "A",
    "C",
    "F",
    "K",
    "%",
    "Primitive",
    "Fragment",
    "Instruction",
];

/// The name of a `MeasureUnit`.
fn unit_name(unit: u64) -> &'static str {
    let name = usize::try_from(unit).ok().and_then(|unit| UNITS.get(unit));
    name.copied().unwrap_or("Unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m11_units_are_joined() {
        let unit = |spec: &[u8]| unit(Message(spec));
        assert_eq!(unit(&[]), None);
        assert_eq!(unit(&[0x38, 0]).as_deref(), Some(""));
        assert_eq!(unit(&[0x38, 37]).as_deref(), Some("%"));
        assert_eq!(unit(&[0x38, 7, 0x40, 22]).as_deref(), Some("B/s"));
        // Packed fields with two units each; a denominator without a name is skipped.
        let many = unit(&[0x3a, 2, 25, 40, 0x42, 3, 22, 0, 99]);
        assert_eq!(many.as_deref(), Some("Vertex:Instruction/s:Unknown"));
        assert_eq!(unit(&[0x40, 0]).as_deref(), Some(""));
        assert_eq!(unit(&[0x40, 22]).as_deref(), Some("/s"));
    }

    #[test]
    fn m11_a_counter_has_a_number_and_a_name() {
        let spec = |bytes: &[u8]| [&[0x0a, bytes.len() as u8], bytes].concat();
        let descriptor = [
            spec(&[0x12, 1, b'a']),
            spec(&[0x08, 1]),
            spec(&[0x08, 2, 0x12, 1, b'b', 0x1a, 0, 0x58, 2]),
        ]
        .concat();
        let found = counters(Message(&descriptor), 4);
        let found = found.into_iter().map(|found| (found.number, found.counter));
        let counter = GpuCounter {
            gpu: 4,
            name: "b".into(),
            unit: None,
            description: Some("".into()),
            is_forwards: true,
        };
        assert_eq!(found.collect::<Vec<_>>(), [(2, counter)]);
    }
}

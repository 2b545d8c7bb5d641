//! Checks whether bytes have the shape of a `TracePacket`: fields to the end, with the wire types
//! of Perfetto's schema, also in the messages inside (rule Z2).
//!
//! # Design
//!
//! The schema comes from `schema/perfetto.descriptor`, and is reduced to numbers and wire types at
//! the first damage, so a trace without damage does not pay for it. If a build script made it,
//! every program would contain it, and would save some milliseconds at that moment.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::wire::packet::PacketType;
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FileDescriptorSet};
use timebase_descriptor::field::{Fields, Malformed, Value, WireType, split_tag, varint};
use timebase_schema::PERFETTO_DESCRIPTOR;

use crate::carried::begins_to_inflate;

/// Nested messages are checked to this depth.
const DEEPEST: u32 = 24;

/// Decompressing a little costs as much as checking this many fields.
const INFLATING: u64 = 2000;

/// The contents of `synchronization_marker`, which the service writes from time to time so that
/// readers can find the packets of a stream.
const MARKER: [u8; 16] = [
    0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba, 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79,
];

/// The layout of a field's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Bool,
    Uint32,
    Varint,
    Fixed64,
    Fixed32,
    Bytes,
    Message(usize),
}

#[derive(Debug, Clone, Copy)]
struct Field {
    layout: Layout,
    repeated: bool,
}

#[derive(Debug, Default)]
struct Shapes {
    messages: Vec<HashMap<u32, Field>>,
    packet: usize,
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(Shapes::perfetto);

/// The evidence that bytes are a packet, if nothing contradicts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// The number of fields that the schema knows, in the packet and the messages inside.
    pub known: u32,
    /// Whether the packet has a field that the service or the writer adds to every packet, or
    /// recognizable contents: a mark, or compressed data.
    pub identified: bool,
    /// Whether it has contents that do not occur by chance.
    pub marked: bool,
}

impl Shapes {
    fn perfetto() -> Shapes {
        // The build has read the descriptor with the same library; without a descriptor, nothing
        // has the shape.
        let set = FileDescriptorSet::decode(PERFETTO_DESCRIPTOR).unwrap_or_default();
        let mut names = HashMap::new();
        let mut found = Vec::new();
        for file in &set.file {
            let scope = match file.package() {
                "" => String::new(),
                package => format!(".{package}"),
            };
            for message in &file.message_type {
                collect(message, &scope, &mut names, &mut found);
            }
        }
        let layout = |field: &prost_types::FieldDescriptorProto| match field.r#type() {
            Type::Bool => Layout::Bool,
            Type::Uint32 => Layout::Uint32,
            Type::Double | Type::Fixed64 | Type::Sfixed64 => Layout::Fixed64,
            Type::Float | Type::Fixed32 | Type::Sfixed32 => Layout::Fixed32,
            Type::String | Type::Bytes => Layout::Bytes,
            Type::Message => match names.get(field.type_name()) {
                Some(&message) => Layout::Message(message),
                None => Layout::Bytes,
            },
            _ => Layout::Varint,
        };
        let messages = found.iter().map(|message| {
            let fields = message.field.iter().map(|field| {
                let number = field.number().unsigned_abs();
                let repeated = field.label() == Label::Repeated;
                let layout = layout(field);
                (number, Field { layout, repeated })
            });
            fields.collect()
        });
        Shapes {
            messages: messages.collect(),
            packet: names.get(".perfetto.protos.TracePacket").copied().unwrap_or(usize::MAX),
        }
    }

    /// Walks through a message; returns the numbers of known and unknown fields, or `None` if it
    /// contradicts the schema.
    fn message(
        &self,
        message: usize,
        bytes: &[u8],
        depth: u32,
        look: &mut Look<'_>,
    ) -> Option<(u32, u32)> {
        let shape = self.messages.get(message)?;
        let (mut known, mut unknown) = (0, 0);
        let mut fields = Fields::new(bytes);
        loop {
            look.spend()?;
            let (number, value) = match fields.next() {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(Malformed::Cut { at }) if !look.whole => {
                    self.cut(shape, bytes.get(at..)?, depth, look)?;
                    break;
                }
                Err(_) => return None,
            };
            let Some(field) = shape.get(&number) else {
                unknown += 1;
                continue;
            };
            known += 1;
            self.value(*field, value, depth, look)?;
            if depth == 0 {
                look.top(number, value);
            }
        }
        look.known = look.known.saturating_add(known);
        Some((known, unknown))
    }

    /// A message that is cut inside a field: its existing part.
    fn cut(
        &self,
        shape: &HashMap<u32, Field>,
        rest: &[u8],
        depth: u32,
        look: &mut Look<'_>,
    ) -> Option<()> {
        let Ok(Some((tag, head))) = varint(rest) else {
            return Some(());
        };
        let (number, wire_type) = split_tag(tag)?;
        let rest = rest.get(head..)?;
        let Some(field) = shape.get(&number) else {
            return Some(());
        };
        match (field.layout, wire_type) {
            (Layout::Message(inner), WireType::Bytes) if depth < DEEPEST => {
                let Ok(Some((_, head))) = varint(rest) else {
                    return Some(());
                };
                self.message(inner, rest.get(head..)?, depth + 1, look)?;
                Some(())
            }
            _ => field.takes(wire_type).then_some(()),
        }
    }

    fn value(&self, field: Field, value: Value<'_>, depth: u32, look: &mut Look<'_>) -> Option<()> {
        let fits = match (field.layout, value) {
            (Layout::Bool, Value::Varint(value)) => value <= 1,
            (Layout::Uint32, Value::Varint(value)) => u32::try_from(value).is_ok(),
            (Layout::Varint, Value::Varint(_))
            | (Layout::Fixed64, Value::Fixed64(_))
            | (Layout::Fixed32, Value::Fixed32(_))
            | (Layout::Bytes, Value::Bytes(_)) => true,
            (Layout::Message(_), Value::Bytes(_)) if depth >= DEEPEST => true,
            (Layout::Message(inner), Value::Bytes(bytes)) => {
                // An inner message is complete, even if the outer one is cut.
                let whole = std::mem::replace(&mut look.whole, true);
                let found = self.message(inner, bytes, depth + 1, look);
                look.whole = whole;
                found.is_some()
            }
            (_, Value::Bytes(bytes)) if field.repeated => packed(field.layout, bytes),
            _ => false,
        };
        fits.then_some(())
    }
}

impl Field {
    fn takes(self, wire_type: WireType) -> bool {
        let own = match self.layout {
            Layout::Bool | Layout::Uint32 | Layout::Varint => WireType::Varint,
            Layout::Fixed64 => WireType::Fixed64,
            Layout::Fixed32 => WireType::Fixed32,
            Layout::Bytes | Layout::Message(_) => WireType::Bytes,
        };
        own == wire_type || (self.repeated && wire_type == WireType::Bytes)
    }
}

/// The messages of a scope and their inner messages.
fn collect<'a>(
    message: &'a DescriptorProto,
    scope: &str,
    names: &mut HashMap<String, usize>,
    found: &mut Vec<&'a DescriptorProto>,
) {
    let name = format!("{scope}.{}", message.name());
    for inner in &message.nested_type {
        collect(inner, &name, names, found);
    }
    names.insert(name, found.len());
    found.push(message);
}

/// Whether a packed list contains whole values.
fn packed(layout: Layout, mut bytes: &[u8]) -> bool {
    match layout {
        Layout::Fixed64 => bytes.len().is_multiple_of(8),
        Layout::Fixed32 => bytes.len().is_multiple_of(4),
        _ => loop {
            if bytes.is_empty() {
                return true;
            }
            match varint(bytes) {
                Ok(Some((_, size))) => bytes = bytes.get(size..).unwrap_or_default(),
                _ => return false,
            }
        },
    }
}

/// A check of bytes.
struct Look<'w> {
    /// Whether they are complete, or only the beginning.
    whole: bool,
    known: u32,
    identified: bool,
    marked: bool,
    /// The number of fields that may still be checked.
    work: &'w mut u64,
}

impl Look<'_> {
    fn spend(&mut self) -> Option<()> {
        *self.work = self.work.checked_sub(1)?;
        Some(())
    }

    /// A field of the packet itself.
    fn top(&mut self, number: u32, value: Value<'_>) {
        match (PacketType(number), value) {
            // trusted_uid, timestamp, trusted_packet_sequence_id
            (PacketType(3 | 8 | 10), Value::Varint(_)) => self.identified = true,
            (PacketType::SYNCHRONIZATION_MARKER, Value::Bytes(bytes)) => {
                self.marked |= bytes == MARKER;
            }
            (
                kind @ (PacketType::COMPRESSED_PACKETS | PacketType::ZSTD_COMPRESSED_PACKETS),
                Value::Bytes(bytes),
            ) => {
                if let Some(rest) = self.work.checked_sub(INFLATING) {
                    *self.work = rest;
                    self.marked |= begins_to_inflate(kind, bytes);
                }
            }
            _ => {}
        }
    }
}

/// The evidence that `bytes` are a packet, or its beginning if they are not the `whole` packet;
/// `None` if something contradicts it. `work` is the number of fields that may be checked; the
/// check subtracts from it.
pub(crate) fn packet(bytes: &[u8], whole: bool, work: &mut u64) -> Option<Evidence> {
    let shapes = &*SHAPES;
    let mut look = Look { whole, known: 0, identified: false, marked: false, work };
    let (known, unknown) = shapes.message(shapes.packet, bytes, 0, &mut look)?;
    // A newer Perfetto has fields that are unknown here, but most are known.
    if unknown > known {
        return None;
    }
    Some(Evidence {
        known: look.known,
        identified: look.identified || look.marked,
        marked: look.marked,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Option<Evidence> {
        packet(bytes, true, &mut 1000)
    }

    fn beginning(bytes: &[u8]) -> bool {
        packet(bytes, false, &mut 1000).is_some()
    }

    #[test]
    fn z2_fields_have_the_wire_types_of_the_schema() {
        // timestamp, trusted_packet_sequence_id, and an empty track_event
        let evidence = whole(&[0x40, 1, 0x50, 2, 0x5a, 0]).unwrap();
        assert_eq!(evidence.known, 3);
        assert!(evidence.identified && !evidence.marked);
        assert_eq!(whole(&[0x41, 1, 2, 3, 4, 5, 6, 7, 8]), None, "a fixed64");
        assert_eq!(whole(&[0x40, 1, 0x50]), None, "cut");
        let too_many_bits = [0x50, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(whole(&too_many_bits), None, "a uint32 of 35 bits");
        assert_eq!(whole(&[0xb8, 0x05, 2]), None, "a bool that is 2");
    }

    #[test]
    fn z2_messages_inside_count_as_well() {
        // clock_snapshot { clocks { clock_id: 6, timestamp: 9 } }
        let snapshot = [0x32, 6, 0x0a, 4, 0x08, 6, 0x10, 9];
        assert_eq!(whole(&snapshot).unwrap().known, 4);
        // its clock_id as bytes
        assert_eq!(whole(&[0x32, 6, 0x0a, 4, 0x0a, 2, 0x10, 9]), None);
    }

    #[test]
    fn z2_a_packet_of_unknown_fields_is_none() {
        let unknown = [0x8a, 0x61, 0];
        assert_eq!(whole(&unknown), None);
        let one_of_two = [&[0x40, 1][..], &unknown].concat();
        assert!(whole(&one_of_two).is_some());
    }

    #[test]
    fn z2_a_beginning_is_looked_at_as_far_as_it_goes() {
        let bytes = [0x40, 1, 0x32, 6, 0x0a, 4, 0x08, 6, 0x10, 9];
        for cut in 0..=bytes.len() {
            assert!(beginning(&bytes[..cut]), "{cut}");
        }
        // The same with a clock_id as bytes: the contradiction shows at its tag.
        let bad = [0x40, 1, 0x32, 6, 0x0a, 4, 0x0a, 2, 0x10, 9];
        for cut in 0..=bad.len() {
            assert_eq!(beginning(&bad[..cut]), cut < 7, "{cut}");
        }
    }

    #[test]
    fn z2_looking_ends_where_the_work_does() {
        let mut work = 2;
        assert_eq!(packet(&[0x40, 1, 0x50, 2], true, &mut work), None);
        assert_eq!(work, 0);
    }

    #[test]
    fn z2_the_mark_of_the_service_is_known() {
        let marker = [&[0xa2, 0x02, 16][..], &MARKER].concat();
        assert!(whole(&marker).unwrap().marked);
    }
}

//! The schema's facts about messages, fields and enums.

use std::collections::HashMap;
use std::sync::Arc;

use crate::field::{Value, WireType};

/// A message type of a [`Pool`](crate::Pool), and of its later clones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId(pub(crate) usize);

impl MessageId {
    /// A type that no pool knows: its fields only have numbers.
    pub const UNKNOWN: MessageId = MessageId(usize::MAX);
}

/// An enum of a [`Pool`](crate::Pool), and of its later clones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EnumId(pub(crate) usize);

/// The type of a field, by its name in the protobuf language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // their names explain them
pub enum Kind {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    Enum(EnumId),
    Message(MessageId),
}

impl Kind {
    /// The layout of one value of the type.
    #[inline]
    pub(crate) fn wire_type(self) -> WireType {
        match self {
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => WireType::Fixed64,
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => WireType::Fixed32,
            Kind::String | Kind::Bytes | Kind::Message(_) => WireType::Bytes,
            Kind::Int32
            | Kind::Int64
            | Kind::Uint32
            | Kind::Uint64
            | Kind::Sint32
            | Kind::Sint64
            | Kind::Bool
            | Kind::Enum(_) => WireType::Varint,
        }
    }

    /// Whether the type is allowed for the key of a map.
    pub(crate) fn is_map_key(self) -> bool {
        !matches!(self, Kind::Double | Kind::Float | Kind::Bytes | Kind::Enum(_) | Kind::Message(_))
    }
}

/// A field of a message.
///
/// ```
/// use timebase_descriptor::{Kind, Pool, TRACE_PACKET};
///
/// let pool = Pool::perfetto();
/// let packet = pool.message(TRACE_PACKET).unwrap();
/// let field = pool.field(packet, 8).unwrap();
/// assert_eq!((field.name.as_str(), field.kind), ("timestamp", Kind::Uint64));
/// assert!(!field.repeated);
/// ```
#[derive(Debug, Clone)]
pub struct Field {
    /// The number in the wire format.
    pub number: u32,
    /// The name without its scope: `track_event`.
    pub name: String,
    /// The type; for a repeated field, the type of one element.
    pub kind: Kind,
    /// Whether it may occur several times. A map is a repeated message.
    pub repeated: bool,
    /// The full name of an extension, `None` for a field of the message itself.
    pub extension: Option<String>,
    /// The oneof of the message to which it belongs, if any.
    pub oneof: Option<usize>,
    /// Its key in a JSON object, in quotes and with the colon.
    pub(crate) key: String,
}

impl Field {
    /// Whether the wire format allows the value for this field.
    #[inline]
    pub(crate) fn takes(&self, value: Value<'_>) -> bool {
        wire_type(value) == self.kind.wire_type() || self.is_packed(value)
    }

    /// Whether the value is a list of elements.
    #[inline]
    pub(crate) fn is_packed(&self, value: Value<'_>) -> bool {
        self.repeated
            && matches!(value, Value::Bytes(_))
            && self.kind.wire_type() != WireType::Bytes
    }

    /// The name of the field in a path.
    pub(crate) fn step(&self) -> &str {
        self.key.trim_end_matches(':').trim_matches('"')
    }
}

#[inline]
fn wire_type(value: Value<'_>) -> WireType {
    match value {
        Value::Varint(_) => WireType::Varint,
        Value::Fixed64(_) => WireType::Fixed64,
        Value::Bytes(_) => WireType::Bytes,
        Value::Fixed32(_) => WireType::Fixed32,
    }
}

/// A message type.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    /// The full name.
    pub name: String,
    /// Its fields by number.
    pub fields: Vec<Field>,
    /// The oneofs by name.
    pub oneofs: HashMap<String, usize>,
    /// Whether it describes the entries of a map.
    pub map_entry: bool,
}

impl Message {
    #[inline]
    pub fn field(&self, number: u32) -> Option<&Field> {
        // Most messages number their fields from 1 without a gap.
        let guess = usize::try_from(number).ok()?.checked_sub(1)?;
        match self.fields.get(guess) {
            Some(field) if field.number == number => Some(field),
            _ => self.search(number),
        }
    }

    fn search(&self, number: u32) -> Option<&Field> {
        let at = self.fields.binary_search_by_key(&number, |field| field.number);
        self.fields.get(at.ok()?)
    }
}

/// An enum.
#[derive(Debug, Clone, Default)]
pub(crate) struct Enumeration {
    /// The names by number.
    pub names: HashMap<i32, String>,
    /// The first value in the definition.
    pub default: i32,
}

/// The meaning of a full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Definition {
    Message(MessageId),
    Enum(EnumId),
}

/// All definitions. The copies of a schema share messages, so a copy that is going to be extended
/// costs little.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schema {
    pub messages: Vec<Arc<Message>>,
    pub enums: Vec<Arc<Enumeration>>,
    pub names: HashMap<String, Definition>,
}

impl Schema {
    #[inline]
    pub fn message(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(id.0).map(Arc::as_ref)
    }

    #[inline]
    pub fn field(&self, message: MessageId, number: u32) -> Option<&Field> {
        self.message(message)?.field(number)
    }

    #[inline]
    pub fn enum_name(&self, id: EnumId, number: i32) -> Option<&str> {
        self.enums.get(id.0)?.names.get(&number).map(String::as_str)
    }

    /// The key and the value of a field's entries, if it is a map.
    pub fn map_entry(&self, field: &Field) -> Option<(&Field, &Field)> {
        let Kind::Message(id) = field.kind else {
            return None;
        };
        let entry = self.message(id)?;
        let (key, value) = (entry.field(1)?, entry.field(2)?);
        let plain = !key.repeated && !value.repeated && key.kind.is_map_key();
        (field.repeated && entry.map_entry && plain).then_some((key, value))
    }

    /// The value of a field that is not set.
    pub fn default_value(&self, kind: Kind) -> Value<'static> {
        match (kind, kind.wire_type()) {
            (Kind::Enum(id), _) => {
                let first = self.enums.get(id.0).map_or(0, |entry| entry.default);
                Value::Varint(i64::from(first).cast_unsigned())
            }
            (_, WireType::Varint) => Value::Varint(0),
            (_, WireType::Fixed64) => Value::Fixed64(0),
            (_, WireType::Fixed32) => Value::Fixed32(0),
            (_, WireType::Bytes) => Value::Bytes(&[]),
        }
    }
}

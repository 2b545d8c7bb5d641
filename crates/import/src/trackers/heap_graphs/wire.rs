//! The numbers and texts in the messages of a heap graph, as trace processor reads them.

use timebase_descriptor::field::{Value, varint};

use crate::definitions::Names;
use crate::message::{Message, text};
use crate::timeline::Name;

/// A number that a message repeats: packed, or not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Repeated<'a> {
    #[default]
    None,
    /// The last field of the message, if it is packed. It alone counts.
    Packed(&'a [u8]),
    /// All fields of the message count.
    Single,
}

/// A packed field ends inside a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

impl<'a> Repeated<'a> {
    /// The form of a field whose last value is this.
    pub fn of(last: Value<'a>) -> Repeated<'a> {
        match last {
            Value::Bytes(packed) => Repeated::Packed(packed),
            Value::Varint(_) | Value::Fixed32(_) | Value::Fixed64(_) => Repeated::Single,
        }
    }

    /// Reads the numbers of `field` of the message.
    pub fn read(
        self,
        message: Message<'a>,
        field: u32,
        numbers: &mut Vec<u64>,
    ) -> Result<(), Broken> {
        numbers.clear();
        match self {
            Repeated::None => {}
            Repeated::Single => {
                numbers.extend(message.fields().filter_map(|(number, value)| match value {
                    Value::Varint(value) if number == field => Some(value),
                    _ => None,
                }));
            }
            Repeated::Packed(mut packed) => {
                while !packed.is_empty() {
                    let (value, size) = varint(packed).ok().flatten().ok_or(Broken)?;
                    packed = packed.get(size..).ok_or(Broken)?;
                    numbers.push(value);
                }
            }
        }
        Ok(())
    }
}

/// The numbers of a field.
pub(super) fn repeated(
    message: Message<'_>,
    field: u32,
    numbers: &mut Vec<u64>,
) -> Result<(), Broken> {
    let last = message.fields().filter(|(number, _)| *number == field).last();
    let form = last.map_or(Repeated::None, |(_, value)| Repeated::of(value));
    form.read(message, field, numbers)
}

/// The number of a text; `None` without a text.
pub(super) fn name(message: Message<'_>, field: u32, names: &mut Names) -> Option<Name> {
    message.bytes(field).map(|bytes| names.number(text(bytes).as_bytes()))
}

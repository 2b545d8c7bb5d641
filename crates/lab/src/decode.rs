//! Reads the bytes of a trace by hand. It uses none of the product's crates, so the same misreading of the wire format
//! cannot be in both.

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<'a> {
    pub number: u32,
    pub value: Value<'a>,
    /// All of its bytes, with its number.
    pub all: &'a [u8],
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Number(u64),
    /// A fixed32 or fixed64.
    Fixed(&'a [u8]),
    /// Bytes with a length.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The varint; 0 for bytes.
    pub fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Fixed(_) | Value::Bytes(_) => 0,
        }
    }

    /// The bytes; none for a varint.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Number(_) => &[],
            Value::Fixed(bytes) | Value::Bytes(bytes) => bytes,
        }
    }
}

/// The fields of a message, in their order; `None` if the bytes are no message.
pub fn fields(mut bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        fields.push(field(&mut bytes)?);
    }
    Some(fields)
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<Field<'a>> {
    let before = *bytes;
    let tag = varint(bytes)?;
    let value = match tag & 7 {
        0 => Value::Number(varint(bytes)?),
        1 => Value::Fixed(take(bytes, 8)?),
        2 => {
            let length = varint(bytes)?;
            Value::Bytes(take(bytes, length)?)
        }
        5 => Value::Fixed(take(bytes, 4)?),
        _ => return None,
    };
    let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0)?;
    Some(Field { number, value, all: before.get(..before.len() - bytes.len())? })
}

/// Takes the varint at the front.
pub fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let byte = *bytes.split_off_first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes so many bytes from the front.
pub fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    bytes.split_off(..usize::try_from(length).ok()?)
}

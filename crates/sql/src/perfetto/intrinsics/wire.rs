//! The wire format of protobuf: what `cat_stacks` writes and a profile needs.

/// Appends a number: seven bits in each byte, the lowest first.
fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// A message while fields are added.
#[derive(Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// Adds a number.
    pub fn number(mut self, field: u64, number: u64) -> Message {
        put_number(&mut self.0, field << 3);
        put_number(&mut self.0, number);
        self
    }

    /// Adds numbers as one field.
    pub fn packed(mut self, field: u64, numbers: impl IntoIterator<Item = u64>) -> Message {
        let mut packed = Vec::new();
        for number in numbers {
            put_number(&mut packed, number);
        }
        self.bytes(field, &packed);
        self
    }

    /// Adds a message.
    pub fn with(mut self, field: u64, message: Message) -> Message {
        self.message(field, message);
        self
    }

    pub fn message(&mut self, field: u64, message: Message) {
        self.bytes(field, &message.0);
    }

    pub fn bytes(&mut self, field: u64, bytes: &[u8]) {
        put_number(&mut self.0, field << 3 | 2);
        put_number(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Adds the fields of another message.
    pub fn append(&mut self, fields: &[u8]) {
        self.0.extend_from_slice(fields);
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'m> {
    /// A number, with that of its field; its value is not needed.
    Number(u64),
    Bytes(u64, &'m [u8]),
}

/// The fields of a message. Ends with `None` at a damaged field, or one of another wire type.
pub fn fields(message: &[u8]) -> impl Iterator<Item = Option<Field<'_>>> {
    let mut rest = Some(message);
    std::iter::from_fn(move || {
        let message = rest.filter(|rest| !rest.is_empty())?;
        let parsed = field(message);
        rest = parsed.map(|(_, after)| after);
        Some(parsed.map(|(field, _)| field))
    })
}

fn field(message: &[u8]) -> Option<(Field<'_>, &[u8])> {
    let (tag, rest) = number(message)?;
    match tag & 7 {
        0 => number(rest).map(|(_, after)| (Field::Number(tag >> 3), after)),
        2 => {
            let (size, rest) = number(rest)?;
            let (bytes, after) = rest.split_at_checked(usize::try_from(size).ok()?)?;
            Some((Field::Bytes(tag >> 3, bytes), after))
        }
        _ => None,
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (index, &byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(7 * index as u32).unwrap_or(0);
        if byte < 0x80 {
            return Some((number, bytes.get(index + 1..)?));
        }
    }
    None
}

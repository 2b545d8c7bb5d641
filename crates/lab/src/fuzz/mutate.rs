//! Changes of a trace that keep it a trace: they change fields of messages, by Perfetto's schema.

use timebase_descriptor::field::{Fields, Value};
use timebase_descriptor::{Kind, MessageId, Pool, TRACE_PACKET};

/// The largest depth of a change.
const DEEP: u32 = 12;

/// Changes one field somewhere in a trace, or adds, removes, doubles or moves one, and updates the
/// sizes of all messages around it. Returns whether it could: bytes that are not a trace do not
/// change.
///
/// `leaf` changes plain bytes, up to this size.
///
/// ```
/// let trace = [0x0a, 4, 0x40, 1, 0x58, 2];
/// let mut seen = std::collections::HashSet::new();
/// for seed in 0..100 {
///     let mut changed = trace.to_vec();
///     assert!(timebase_lab::fuzz::mutate::trace(&mut changed, 100, seed, &mut |bytes, _| bytes.push(7)));
///     assert!(changed.len() <= 100);
///     seen.insert(changed);
/// }
/// assert!(seen.len() > 20);
/// ```
pub fn trace(
    bytes: &mut Vec<u8>,
    most: usize,
    seed: u32,
    leaf: &mut dyn FnMut(&mut Vec<u8>, usize),
) -> bool {
    let pool = Pool::perfetto();
    let mut change = Change { pool: &pool, random: Random(seed.max(1)), most, leaf };
    let Some(mut fields) = split(bytes) else {
        return false;
    };
    for _ in 0..=change.random.below(3) {
        change.message(&mut fields, Type::Trace, 0);
    }
    let changed = join(&fields);
    if changed.len() > most {
        return false;
    }
    *bytes = changed;
    true
}

/// In the form for libFuzzer: `data` has room for `most` bytes, of which `size` are used, and
/// `plain` changes plain bytes. Every second change is a plain one.
///
/// ```
/// let mut data = [0x0a, 2, 0x40, 1, 0, 0, 0, 0];
/// let size = timebase_lab::fuzz::mutate::in_place(&mut data, 4, 8, 1, |_, size, _| size);
/// assert!(size <= 8);
/// ```
pub fn in_place(
    data: &mut [u8],
    size: usize,
    most: usize,
    seed: u32,
    plain: impl Fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    if seed.is_multiple_of(2) {
        return plain(data, size, most);
    }
    let mut bytes = data[..size].to_vec();
    let is_changed = trace(&mut bytes, most, seed, &mut |bytes, most| {
        let size = bytes.len();
        bytes.resize(most.max(size), 0);
        let size = plain(bytes, size, most);
        bytes.truncate(size);
    });
    if !is_changed {
        return plain(data, size, most);
    }
    data[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
}

/// The kind of a message.
#[derive(Clone, Copy)]
enum Type {
    Trace,
    Of(MessageId),
    Unknown,
}

#[derive(Clone)]
struct Field {
    number: u32,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(Vec<u8>),
}

fn split(bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let mut reader = Fields::new(bytes);
    while let Some((number, value)) = reader.next().ok()? {
        let content = match value {
            Value::Varint(value) => Content::Varint(value),
            Value::Fixed64(value) => Content::Fixed64(value),
            Value::Fixed32(value) => Content::Fixed32(value),
            Value::Bytes(bytes) => Content::Bytes(bytes.to_vec()),
        };
        fields.push(Field { number, content });
    }
    Some(fields)
}

fn join(fields: &[Field]) -> Vec<u8> {
    use prost::encoding::encode_varint;
    let mut bytes = Vec::new();
    for field in fields {
        let tag = u64::from(field.number) << 3;
        match &field.content {
            Content::Varint(value) => {
                encode_varint(tag, &mut bytes);
                encode_varint(*value, &mut bytes);
            }
            Content::Fixed64(value) => {
                encode_varint(tag | 1, &mut bytes);
                bytes.extend(value.to_le_bytes());
            }
            Content::Bytes(inside) => {
                encode_varint(tag | 2, &mut bytes);
                encode_varint(inside.len() as u64, &mut bytes);
                bytes.extend(inside);
            }
            Content::Fixed32(value) => {
                encode_varint(tag | 5, &mut bytes);
                bytes.extend(value.to_le_bytes());
            }
        }
    }
    bytes
}

/// A pseudorandom sequence of numbers.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// A number below this one, which must not be 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 3) as usize % end.max(1)
    }
}

struct Change<'a> {
    pool: &'a Pool,
    random: Random,
    most: usize,
    leaf: &'a mut dyn FnMut(&mut Vec<u8>, usize),
}

impl Change<'_> {
    fn message(&mut self, fields: &mut Vec<Field>, of: Type, depth: u32) {
        if fields.is_empty() || depth > 0 && self.random.below(8) == 0 {
            return self.insert(fields, of, depth);
        }
        let index = self.random.below(fields.len());
        // Nearly always a field in a packet.
        let is_inside = depth == 0 && self.random.below(8) != 0 || self.random.below(3) != 0;
        if is_inside && self.inside(&mut fields[index], of, depth) {
            return;
        }
        match self.random.below(9) {
            0 if fields.len() > 1 => drop(fields.remove(index)),
            1 => {
                let other = self.random.below(fields.len() + 1);
                fields.insert(other, fields[index].clone());
            }
            2 => {
                let other = self.random.below(fields.len());
                fields.swap(index, other);
            }
            3 => {
                // The contents of another field of the same kind.
                let other = self.random.below(fields.len());
                if fields[other].number == fields[index].number || self.random.below(8) == 0 {
                    fields[index].content = fields[other].content.clone();
                }
            }
            4 if depth > 0 => self.insert(fields, of, depth),
            5 if depth > 0 && self.random.below(4) == 0 => {
                fields[index].number = self.number(of);
            }
            _ => self.content(&mut fields[index].content),
        }
    }

    /// Changes the contents of the message in a field; returns whether the field has a message.
    fn inside(&mut self, field: &mut Field, of: Type, depth: u32) -> bool {
        let Content::Bytes(bytes) = &mut field.content else {
            return false;
        };
        let inner = self.type_of(of, field.number);
        // An unknown field may be a message, too.
        let is_message = match inner {
            Some(Type::Unknown) => bytes.len() > 2,
            Some(_) => true,
            None => false,
        };
        if depth > DEEP || !is_message {
            return false;
        }
        let Some(mut fields) = split(bytes) else {
            return false;
        };
        self.message(&mut fields, inner.unwrap_or(Type::Unknown), depth + 1);
        *bytes = join(&fields);
        true
    }

    /// The kind of a field, if it is a message or unknown.
    fn type_of(&self, of: Type, number: u32) -> Option<Type> {
        match of {
            Type::Trace => self.pool.message(TRACE_PACKET).map(Type::Of),
            Type::Unknown => Some(Type::Unknown),
            Type::Of(message) => match self.pool.field(message, number).map(|field| field.kind) {
                None => Some(Type::Unknown),
                Some(Kind::Message(id)) => Some(Type::Of(id)),
                Some(_) => None,
            },
        }
    }

    /// The number of a possible field of a message.
    fn number(&mut self, of: Type) -> u32 {
        let Type::Of(message) = of else {
            return self.random.below(20) as u32 + 1;
        };
        let ends = [8, 16, 64, 150, 600];
        for _ in 0..20 {
            let end = ends[self.random.below(ends.len())];
            let number = self.random.below(end) as u32 + 1;
            if self.pool.field(message, number).is_some() {
                return number;
            }
        }
        1
    }

    fn insert(&mut self, fields: &mut Vec<Field>, of: Type, depth: u32) {
        let number = if let Type::Trace = of { 1 } else { self.number(of) };
        let kind = match of {
            Type::Of(message) => self.pool.field(message, number).map(|field| field.kind),
            Type::Trace => self.pool.message(TRACE_PACKET).map(Kind::Message),
            Type::Unknown => None,
        };
        let content = match kind {
            Some(Kind::Message(id)) => {
                let mut inside = Vec::new();
                for _ in 0..self.random.below(4) {
                    if depth < DEEP {
                        self.insert(&mut inside, Type::Of(id), depth + 1);
                    }
                }
                Content::Bytes(join(&inside))
            }
            Some(Kind::String | Kind::Bytes) => {
                let texts: [&[u8]; 6] = [b"", b"a", b"B|1|x", b"E|1", b"C|1|x|2", b"\xff\0"];
                Content::Bytes(texts[self.random.below(texts.len())].to_vec())
            }
            Some(Kind::Double | Kind::Fixed64 | Kind::Sfixed64) => Content::Fixed64(self.value()),
            Some(Kind::Float | Kind::Fixed32 | Kind::Sfixed32) => {
                Content::Fixed32(self.value() as u32)
            }
            _ => Content::Varint(self.value()),
        };
        let at = self.random.below(fields.len() + 1);
        fields.insert(at, Field { number, content });
    }

    fn value(&mut self) -> u64 {
        let known = [
            0,
            1,
            2,
            3,
            4,
            6,
            7,
            64,
            127,
            128,
            1000,
            u64::MAX,
            1 << 63,
            (1 << 63) - 1,
            1 << 32,
            (1 << 31) - 1,
        ];
        match self.random.below(4) {
            0 => u64::from(self.random.next()) << self.random.below(33),
            1 => self.random.below(10) as u64,
            _ => known[self.random.below(known.len())],
        }
    }

    fn content(&mut self, content: &mut Content) {
        let near = self.random.below(3) as u64;
        let other = self.value();
        let is_near = self.random.below(2) == 0;
        let number = |value: u64| match is_near {
            true => value.wrapping_add(near).wrapping_sub(1),
            false => other,
        };
        match content {
            Content::Varint(value) | Content::Fixed64(value) => *value = number(*value),
            Content::Fixed32(value) => *value = number(u64::from(*value)) as u32,
            Content::Bytes(bytes) => {
                let most = bytes.len().saturating_mul(2).clamp(8, self.most);
                (self.leaf)(bytes, most);
            }
        }
    }
}

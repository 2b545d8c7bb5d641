//! The meaning of a wire value in a field of a given type.

use crate::field::{Value, WireType, varint};

use crate::schema::{EnumId, Field, Kind, MessageId};
use crate::unreadable::Reason;

/// One value of a field, by the field's type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    /// For types with signed numbers.
    Signed(i64),
    /// For types with unsigned numbers.
    Unsigned(u64),
    /// Any number except 0 is true.
    Bool(bool),
    /// A float of 32 bits.
    Float(f32),
    /// A float of 64 bits.
    Double(f64),
    /// It should be UTF-8.
    Text(&'a [u8]),
    /// Bytes without a meaning here.
    Bytes(&'a [u8]),
    /// A number, for which the enum may have a name.
    Enum(EnumId, i32),
    /// A message or a piece of one, with its type. The bytes are those of the value.
    Message(MessageId),
}

impl Field {
    /// The values in a wire value: the elements of a packed list, or a single value. `None` if the
    /// wire format does not allow it for this field.
    ///
    /// ```
    /// use timebase_descriptor::{Pool, Scalar};
    /// use timebase_descriptor::field::Value;
    ///
    /// let pool = Pool::perfetto();
    /// let event = pool.message("perfetto.protos.TrackEvent").unwrap();
    /// let iids = pool.field(event, 3).unwrap();
    /// assert_eq!(iids.name, "category_iids");
    /// let one: Vec<_> = iids.scalars(Value::Varint(7)).unwrap().collect();
    /// assert_eq!(one, [Scalar::Unsigned(7)]);
    /// let packed: Vec<_> = iids.scalars(Value::Bytes(&[7, 8])).unwrap().collect();
    /// assert_eq!(packed, [Scalar::Unsigned(7), Scalar::Unsigned(8)]);
    /// assert!(iids.scalars(Value::Fixed64(7)).is_none());
    /// ```
    #[inline]
    pub fn scalars<'a>(&self, value: Value<'a>) -> Option<Scalars<'a>> {
        self.takes(value).then(|| Scalars::new(self, value))
    }
}

/// The values in one wire value: the elements of a packed list, or the value itself.
#[derive(Debug, Clone)]
pub struct Scalars<'a> {
    kind: Kind,
    one: Option<Value<'a>>,
    packed: Option<Packed<'a>>,
}

impl<'a> Scalars<'a> {
    pub(crate) fn new(field: &Field, value: Value<'a>) -> Self {
        let packed = match value {
            Value::Bytes(list) if field.is_packed(value) => Some(Packed::new(list, field.kind)),
            _ => None,
        };
        Scalars { kind: field.kind, one: packed.is_none().then_some(value), packed }
    }
}

/// Ends before an element that cannot be read.
impl<'a> Iterator for Scalars<'a> {
    type Item = Scalar<'a>;

    #[inline]
    fn next(&mut self) -> Option<Scalar<'a>> {
        let value = match &mut self.packed {
            Some(packed) => packed.next().ok().flatten()?,
            None => self.one.take()?,
        };
        scalar(self.kind, value)
    }
}

/// Interprets a value; `None` if the type has another layout.
///
/// 32-bit numbers take the low bits, as in protobuf.
#[inline]
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn scalar(kind: Kind, value: Value<'_>) -> Option<Scalar<'_>> {
    Some(match (kind, value) {
        (Kind::Int64, Value::Varint(v)) => Scalar::Signed(v.cast_signed()),
        (Kind::Int32, Value::Varint(v)) => Scalar::Signed((v as i32).into()),
        (Kind::Uint64, Value::Varint(v)) => Scalar::Unsigned(v),
        (Kind::Uint32, Value::Varint(v)) => Scalar::Unsigned((v as u32).into()),
        (Kind::Sint64, Value::Varint(v)) => Scalar::Signed(zigzag(v)),
        (Kind::Sint32, Value::Varint(v)) => Scalar::Signed(zigzag((v as u32).into())),
        (Kind::Bool, Value::Varint(v)) => Scalar::Bool(v != 0),
        (Kind::Enum(id), Value::Varint(v)) => Scalar::Enum(id, v as i32),
        (Kind::Double, Value::Fixed64(v)) => Scalar::Double(f64::from_bits(v)),
        (Kind::Fixed64, Value::Fixed64(v)) => Scalar::Unsigned(v),
        (Kind::Sfixed64, Value::Fixed64(v)) => Scalar::Signed(v.cast_signed()),
        (Kind::Float, Value::Fixed32(v)) => Scalar::Float(f32::from_bits(v)),
        (Kind::Fixed32, Value::Fixed32(v)) => Scalar::Unsigned(v.into()),
        (Kind::Sfixed32, Value::Fixed32(v)) => Scalar::Signed(v.cast_signed().into()),
        (Kind::String, Value::Bytes(v)) => Scalar::Text(v),
        (Kind::Bytes, Value::Bytes(v)) => Scalar::Bytes(v),
        (Kind::Message(id), Value::Bytes(_)) => Scalar::Message(id),
        _ => return None,
    })
}

/// A value of a field that the schema does not know.
#[inline]
pub(crate) fn unknown_scalar(value: Value<'_>) -> Scalar<'_> {
    match value {
        Value::Varint(v) | Value::Fixed64(v) => Scalar::Unsigned(v),
        Value::Fixed32(v) => Scalar::Unsigned(v.into()),
        Value::Bytes(v) => Scalar::Bytes(v),
    }
}

fn zigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// The elements of a packed list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'a> {
    list: &'a [u8],
    at: usize,
    wire_type: WireType,
}

impl<'a> Packed<'a> {
    pub fn new(list: &'a [u8], kind: Kind) -> Self {
        Packed { list, at: 0, wire_type: kind.wire_type() }
    }

    /// The next element; `None` after the last.
    pub fn next(&mut self) -> Result<Option<Value<'static>>, Reason> {
        let rest = self.list.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let (value, size) = self.element(rest)?;
        self.at += size;
        Ok(Some(value))
    }

    fn element(&self, rest: &[u8]) -> Result<(Value<'static>, usize), Reason> {
        let cut = Reason::CutList { at: self.at };
        match self.wire_type {
            WireType::Fixed64 => {
                let bytes = rest.first_chunk().ok_or(cut)?;
                Ok((Value::Fixed64(u64::from_le_bytes(*bytes)), 8))
            }
            WireType::Fixed32 => {
                let bytes = rest.first_chunk().ok_or(cut)?;
                Ok((Value::Fixed32(u32::from_le_bytes(*bytes)), 4))
            }
            WireType::Varint | WireType::Bytes => match varint(rest) {
                Ok(Some((value, size))) => Ok((Value::Varint(value), size)),
                Ok(None) => Err(cut),
                Err(()) => Err(Reason::LongNumber { at: self.at }),
            },
        }
    }
}

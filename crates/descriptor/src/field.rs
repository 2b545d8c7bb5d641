//! The fields of a protobuf message, borrowed from its bytes (rule F1).
//!
//! ```
//! use timebase_descriptor::field::{Fields, Value};
//!
//! let mut fields = Fields::new(&[0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i']);
//! assert_eq!(fields.next()?, Some((1, Value::Varint(150))));
//! assert_eq!(fields.next()?, Some((2, Value::Bytes(b"hi"))));
//! assert_eq!(fields.next()?, None);
//! # Ok::<(), timebase_descriptor::field::Malformed>(())
//! ```

/// The reason why bytes are not a protobuf message. The offset counts from the start of the
/// message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The message ends inside a field.
    #[error("the message ends inside a field that starts at byte {at}")]
    Cut {
        /// The offset of the field.
        at: usize,
    },
    /// A varint of more than ten bytes, or of more than 64 bits.
    #[error("a number at byte {at} has more than 64 bits")]
    Overlong {
        /// The offset of the number.
        at: usize,
    },
    /// A wire type other than 0, 1, 2 and 5, or a field number that is 0 or larger than 2²⁹ − 1.
    #[error("byte {at} starts no protobuf field")]
    BadTag {
        /// The offset of the tag.
        at: usize,
    },
}

/// The value of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2: a string, bytes or a message.
    Bytes(&'a [u8]),
    /// Wire type 5.
    Fixed32(u32),
}

/// The layout of a field's value; the low three bits of its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireType {
    /// 0
    Varint,
    /// 1
    Fixed64,
    /// 2
    Bytes,
    /// 5
    Fixed32,
}

/// Splits a tag into field number and wire type; `None` if it is not a valid tag.
///
/// ```
/// use timebase_descriptor::field::{split_tag, WireType};
/// assert_eq!(split_tag(0x0a), Some((1, WireType::Bytes)));
/// assert_eq!(split_tag(0x0b), None); // wire type 3, a group
/// ```
pub fn split_tag(tag: u64) -> Option<(u32, WireType)> {
    let number = u32::try_from(tag >> 3).ok()?;
    if number == 0 || number > 0x1fff_ffff {
        return None;
    }
    let wire_type = match tag & 7 {
        0 => WireType::Varint,
        1 => WireType::Fixed64,
        2 => WireType::Bytes,
        5 => WireType::Fixed32,
        _ => return None,
    };
    Some((number, wire_type))
}

/// Reads a varint from the start of `bytes`.
///
/// `Ok(None)` means that the bytes end inside the varint, `Err(())` that it has more than 64 bits.
///
/// ```
/// use timebase_descriptor::field::varint;
/// assert_eq!(varint(&[0x96, 0x01, 0xff]), Ok(Some((150, 2))));
/// assert_eq!(varint(&[0x96]), Ok(None));
/// assert_eq!(varint(&[0xff; 11]), Err(()));
/// ```
#[inline]
#[allow(clippy::result_unit_err)]
pub fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, ()> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok(Some((byte.into(), 1))),
        _ => match bytes.first_chunk() {
            Some(&chunk) => short_varint(u64::from_le_bytes(chunk))
                .map_or_else(|| long_varint(bytes), |read| Ok(Some(read))),
            None => long_varint(bytes),
        },
    }
}

/// A varint of at most eight bytes, the first of which is the lowest byte of `chunk`. There is no
/// loop, because the processor would have to guess its end.
#[inline]
fn short_varint(chunk: u64) -> Option<(u64, usize)> {
    let ends = !chunk & 0x8080_8080_8080_8080;
    if ends == 0 {
        return None;
    }
    // All bits up to the end of the first byte without a continuation bit.
    let used = ends ^ (ends - 1);
    let bits = chunk & used & 0x7f7f_7f7f_7f7f_7f7f;
    let bits = (bits & 0x7f00_7f00_7f00_7f00) >> 1 | bits & 0x007f_007f_007f_007f;
    let bits = (bits & 0x3fff_0000_3fff_0000) >> 2 | bits & 0x0000_3fff_0000_3fff;
    let bits = (bits & 0x0fff_ffff_0000_0000) >> 4 | bits & 0x0000_0000_0fff_ffff;
    Some((bits, ends.trailing_zeros() as usize / 8 + 1))
}

/// A varint of any size.
fn long_varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, ()> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().enumerate().take(10) {
        if i == 9 && byte > 1 {
            return Err(());
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok(Some((value, i + 1)));
        }
    }
    if bytes.len() < 10 { Ok(None) } else { Err(()) }
}

/// An iterator over the fields of one message.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// The fields of a serialized message.
    pub fn new(message: &'a [u8]) -> Self {
        Fields { message, at: 0 }
    }

    /// The offset of the next field in the message.
    ///
    /// ```
    /// use timebase_descriptor::field::Fields;
    /// let mut fields = Fields::new(&[0x08, 0x96, 0x01, 0x10, 0x02]);
    /// fields.next()?;
    /// assert_eq!(fields.at(), 3);
    /// # Ok::<(), timebase_descriptor::field::Malformed>(())
    /// ```
    pub fn at(&self) -> usize {
        self.at
    }

    /// The number and the value of the next field; `None` after the last.
    #[allow(clippy::should_implement_trait)] // it can fail; then the iteration ends
    #[inline]
    pub fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, Malformed> {
        let start = self.at;
        if start == self.message.len() {
            return Ok(None);
        }
        let tag = self.varint(start)?;
        let (number, wire_type) = split_tag(tag).ok_or(Malformed::BadTag { at: start })?;
        let value = match wire_type {
            WireType::Varint => Value::Varint(self.varint(start)?),
            WireType::Bytes => {
                let size = self.varint(start)?;
                let size = usize::try_from(size).map_err(|_| Malformed::Cut { at: start })?;
                Value::Bytes(self.take(size, start)?)
            }
            WireType::Fixed64 => Value::Fixed64(u64::from_le_bytes(self.array(start)?)),
            WireType::Fixed32 => Value::Fixed32(u32::from_le_bytes(self.array(start)?)),
        };
        Ok(Some((number, value)))
    }

    #[inline]
    fn varint(&mut self, field: usize) -> Result<u64, Malformed> {
        let rest = self.message.get(self.at..).unwrap_or_default();
        match varint(rest) {
            Ok(Some((value, size))) => {
                self.at += size;
                Ok(value)
            }
            Ok(None) => Err(Malformed::Cut { at: field }),
            Err(()) => Err(Malformed::Overlong { at: self.at }),
        }
    }

    #[inline]
    fn take(&mut self, size: usize, field: usize) -> Result<&'a [u8], Malformed> {
        let rest = self.message.get(self.at..).unwrap_or_default();
        let bytes = rest.get(..size).ok_or(Malformed::Cut { at: field })?;
        self.at += size;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, field: usize) -> Result<[u8; N], Malformed> {
        let bytes = self.take(N, field)?;
        bytes.try_into().map_err(|_| Malformed::Cut { at: field })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn f1_skips_every_wire_type_and_refuses_groups() {
        let bytes = [0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0x15, 2, 0, 0, 0, 0x1b];
        let mut fields = Fields::new(&bytes);
        assert_eq!(fields.next(), Ok(Some((1, Value::Fixed64(1)))));
        assert_eq!(fields.next(), Ok(Some((2, Value::Fixed32(2)))));
        assert_eq!(fields.next(), Err(Malformed::BadTag { at: 14 }));
    }

    #[test]
    fn f1_a_length_beyond_the_message_is_a_cut() {
        assert_eq!(
            Fields::new(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).next(),
            Err(Malformed::Cut { at: 0 })
        );
    }

    proptest! {
        #[test]
        fn f7_any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut fields = Fields::new(&bytes);
            while let Ok(Some(_)) = fields.next() {}
        }

        #[test]
        fn varints_round_trip(value: u64, unused in 0_u32..64, after in prop::collection::vec(any::<u8>(), 0..10)) {
            let value = value >> unused;
            let mut bytes = Vec::new();
            prost::encoding::encode_varint(value, &mut bytes);
            let size = bytes.len();
            bytes.extend(after);
            prop_assert_eq!(varint(&bytes), Ok(Some((value, size))));
        }

        /// Numbers with more bytes than they need, cut and overlong ones.
        #[test]
        fn a_varint_without_a_loop_is_that_of_the_loop(
            mut bytes in prop::collection::vec(any::<u8>(), 0..14),
            continued in 0_usize..14,
        ) {
            for byte in bytes.iter_mut().take(continued) {
                *byte |= 0x80;
            }
            prop_assert_eq!(varint(&bytes), long_varint(&bytes));
        }
    }
}

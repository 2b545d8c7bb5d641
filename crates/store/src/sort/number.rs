//! Numbers in as few bytes as possible.
//!
//! The number of zero bits at the low end of the first byte tells the length, so a number is read
//! and written at once, not byte by byte.

/// The largest length of a number.
pub const LONGEST_NUMBER: usize = 9;

/// Writes a number at the start of `bytes`, which has at least [`LONGEST_NUMBER`] bytes; returns
/// its length.
#[inline]
pub(crate) fn put_number(bytes: &mut [u8], value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    if bits > 56 {
        bytes[0] = 0;
        bytes[1..9].copy_from_slice(&value.to_le_bytes());
        return LONGEST_NUMBER;
    }
    let size = bits.div_ceil(7);
    let coded = (value << 1 | 1) << (size - 1);
    bytes[..8].copy_from_slice(&coded.to_le_bytes());
    size
}

/// Reads a number; returns its length. `None` means that it is longer than `bytes`.
#[inline]
pub(crate) fn take_number(bytes: &[u8]) -> Option<(u64, usize)> {
    let size = bytes.first()?.trailing_zeros() as usize + 1;
    if size == LONGEST_NUMBER {
        let value = bytes.get(1..)?.first_chunk()?;
        return Some((u64::from_le_bytes(*value), size));
    }
    let coded = match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        // The last numbers of a stretch.
        None => {
            let mut word = [0; 8];
            let present = bytes.get(..size)?;
            word.iter_mut().zip(present).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        }
    };
    let value = coded >> size & u64::MAX >> (64 - 7 * size);
    Some((value, size))
}

/// Writes the difference from `from` to `to` in as few bytes as possible at the start of `bytes`,
/// which has at least [`LONGEST_NUMBER`] bytes; returns its length.
///
/// ```
/// use timebase_store::sort::{LONGEST_NUMBER, put_difference, take_difference};
///
/// let mut bytes = [0; LONGEST_NUMBER];
/// let size = put_difference(1_000_000, 1_000_050, &mut bytes);
/// assert_eq!(size, 1);
/// assert_eq!(take_difference(1_000_000, &bytes[..size]), Some((1_000_050, 1)));
/// ```
#[inline]
pub fn put_difference(from: i64, to: i64, bytes: &mut [u8]) -> usize {
    let difference = to.wrapping_sub(from);
    put_number(bytes, (difference << 1 ^ difference >> 63) as u64)
}

/// Reads a number that [`put_difference`] wrote, and its length. `None` means that it is longer
/// than `bytes`.
#[inline]
pub fn take_difference(from: i64, bytes: &[u8]) -> Option<(i64, usize)> {
    let (number, size) = take_number(bytes)?;
    let difference = (number >> 1) as i64 ^ -((number & 1) as i64);
    Some((from.wrapping_add(difference), size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_read_as_it_was_written(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut bytes = [0xff; LONGEST_NUMBER];
            let size = put_number(&mut bytes, value);
            prop_assert_eq!(take_number(&bytes), Some((value, size)));
            prop_assert_eq!(take_number(&bytes[..size]), Some((value, size)));
            prop_assert_eq!(take_number(&bytes[..size - 1]), None);
        }

        #[test]
        fn a_difference_may_go_around(from: i64, to: i64) {
            let mut bytes = [0; LONGEST_NUMBER];
            let size = put_difference(from, to, &mut bytes);
            prop_assert_eq!(take_difference(from, &bytes), Some((to, size)));
        }
    }
}

//! Numbers and bytes, written one after the other in as few bytes as they need. They are stored
//! temporarily and read back within one import.

use std::io;

use timebase_trace::Interval;

/// Writes.
pub(crate) struct Put<'a>(pub &'a mut Vec<u8>);

impl Put<'_> {
    /// A number that is usually small.
    #[inline]
    pub fn natural(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    /// A number of either sign that is usually near zero.
    #[inline]
    pub fn integer(&mut self, value: i64) -> &mut Self {
        self.natural((value << 1 ^ value >> 63) as u64)
    }

    /// A number, or none.
    pub fn optional(&mut self, value: Option<i64>) -> &mut Self {
        match value {
            None => self.natural(0),
            Some(value) => self.natural(1).integer(value),
        }
    }

    /// Bytes that other values follow.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.natural(bytes.len() as u64).rest(bytes);
        self
    }

    /// All bytes that are left.
    #[inline]
    pub fn rest(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Reads back the bytes that [`Put`] wrote. Other bytes are an error.
pub(crate) struct Take<'a>(pub &'a [u8]);

impl<'a> Take<'a> {
    #[inline]
    pub fn natural(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or_else(cut)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(cut())
    }

    #[inline]
    pub fn integer(&mut self) -> io::Result<i64> {
        let value = self.natural()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number of 32 bits.
    pub fn small(&mut self) -> io::Result<u32> {
        u32::try_from(self.natural()?).map_err(|_| cut())
    }

    pub fn optional(&mut self) -> io::Result<Option<i64>> {
        match self.natural()? {
            0 => Ok(None),
            _ => self.integer().map(Some),
        }
    }

    #[inline]
    pub fn bytes(&mut self) -> io::Result<&'a [u8]> {
        let size = usize::try_from(self.natural()?).map_err(|_| cut())?;
        let (bytes, rest) = self.0.split_at_checked(size).ok_or_else(cut)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    /// Whether all bytes are read. To find that out by an error would make the error.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A value with a compact form.
pub(crate) trait Compact<'a>: Sized {
    fn put(&self, put: &mut Put<'_>);

    /// # Errors
    ///
    /// If the bytes have another form, because the temporary file is damaged.
    fn take(take: &mut Take<'a>) -> io::Result<Self>;
}

/// Gives structs a compact form: that of their fields, in the order of the list. Bytes come last.
macro_rules! records {
    ($($record:ty { $($field:tt),* })*) => {$(
        impl<'a> $crate::compact::Compact<'a> for $record {
            #[inline]
            fn put(&self, put: &mut $crate::compact::Put<'_>) {
                $($crate::compact::Compact::put(&self.$field, put);)*
            }

            #[inline]
            fn take(take: &mut $crate::compact::Take<'a>) -> std::io::Result<Self> {
                Ok(Self { $($field: $crate::compact::Compact::take(take)?),* })
            }
        }
    )*};
}

pub(crate) use records;

/// Gives numbers the form for numbers without or with a sign.
macro_rules! numbers {
    ($($number:ty: $form:ident,)*) => {$(
        impl Compact<'_> for $number {
            #[inline]
            fn put(&self, put: &mut Put<'_>) {
                put.$form((*self).into());
            }

            #[inline]
            fn take(take: &mut Take<'_>) -> io::Result<Self> {
                <$number>::try_from(take.$form()?).map_err(|_| cut())
            }
        }
    )*};
}

numbers! {
    u8: natural,
    u32: natural,
    u64: natural,
    i32: integer,
    i64: integer,
}

impl Compact<'_> for bool {
    #[inline]
    fn put(&self, put: &mut Put<'_>) {
        put.natural((*self).into());
    }

    #[inline]
    fn take(take: &mut Take<'_>) -> io::Result<Self> {
        Ok(take.natural()? != 0)
    }
}

impl<'a, T: Compact<'a>> Compact<'a> for Option<T> {
    fn put(&self, put: &mut Put<'_>) {
        self.is_some().put(put);
        if let Some(value) = self {
            value.put(put);
        }
    }

    fn take(take: &mut Take<'a>) -> io::Result<Self> {
        bool::take(take)?.then(|| T::take(take)).transpose()
    }
}

/// All bytes that are left.
impl<'a> Compact<'a> for &'a [u8] {
    #[inline]
    fn put(&self, put: &mut Put<'_>) {
        put.rest(self);
    }

    #[inline]
    fn take(take: &mut Take<'a>) -> io::Result<Self> {
        Ok(std::mem::take(&mut take.0))
    }
}

records! {
    Interval { sequence, cleared }
}

/// The error if stored bytes are not as they were written.
#[cold]
pub(crate) fn cut() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "what was put aside in a temporary file cannot be read back",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_that_are_written_are_read(natural: u64, integer: i64, optional: Option<i64>, small: u32) {
            let mut written = Vec::new();
            Put(&mut written).natural(natural).integer(integer).optional(optional).natural(small.into());
            let mut take = Take(&written);
            prop_assert_eq!(take.natural().unwrap(), natural);
            prop_assert_eq!(take.integer().unwrap(), integer);
            prop_assert_eq!(take.optional().unwrap(), optional);
            prop_assert_eq!(take.small().unwrap(), small);
            prop_assert!(take.rest().is_empty());
        }

        #[test]
        fn bytes_that_are_written_are_read(natural: u64, some: Vec<u8>, rest: Vec<u8>) {
            let mut written = Vec::new();
            Put(&mut written).natural(natural).bytes(&some).rest(&rest);
            let mut take = Take(&written);
            prop_assert_eq!(take.natural().unwrap(), natural);
            prop_assert_eq!(take.bytes().unwrap(), &some[..]);
            prop_assert_eq!(take.rest(), &rest[..]);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let mut take = Take(&bytes);
            while take.optional().is_ok() && take.bytes().is_ok() {}
        }
    }
}

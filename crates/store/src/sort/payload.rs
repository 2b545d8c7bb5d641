//! The payload of a key.

/// The payload of a key: bytes, `[u8]`, or nothing, `()`.
///
/// Records without a payload need no memory for its place.
pub trait Payload: sealed::Kept {}

impl Payload for [u8] {}
impl Payload for () {}

pub(crate) mod sealed {
    use std::fmt::Debug;

    /// The place of a payload, which is stored with its key.
    pub trait Kept: 'static {
        const HAS_BYTES: bool;
        /// The place of its bytes.
        type Place: Copy + Debug + Send + 'static;
        fn place(at: usize) -> Self::Place;
        fn at(place: Self::Place) -> usize;
        fn bytes(&self) -> &[u8];
        fn of(bytes: &[u8]) -> &Self;
    }

    impl Kept for [u8] {
        const HAS_BYTES: bool = true;
        type Place = u32;

        /// A stretch is far smaller than 4 GiB, and a record that is larger than a stretch is
        /// alone.
        #[inline]
        fn place(at: usize) -> u32 {
            at as u32
        }

        #[inline]
        fn at(place: u32) -> usize {
            place as usize
        }

        #[inline]
        fn bytes(&self) -> &[u8] {
            self
        }

        #[inline]
        fn of(bytes: &[u8]) -> &Self {
            bytes
        }
    }

    impl Kept for () {
        const HAS_BYTES: bool = false;
        type Place = ();

        #[inline]
        fn place(_: usize) {}

        #[inline]
        fn at((): ()) -> usize {
            0
        }

        #[inline]
        fn bytes(&self) -> &[u8] {
            &[]
        }

        #[inline]
        fn of(_: &[u8]) -> &Self {
            &()
        }
    }
}

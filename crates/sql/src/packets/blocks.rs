//! The bytes of packets in compressed blocks: rows of `packet_block`.
//!
//! A row has the bytes of some thousand packets that follow each other, as one frame of Zstandard. In it stand, as varints, the number of
//! the first packet, the number of packets, and for each of them the length of its bytes plus one, or zero if they are not there;
//! then all bytes.
//!
//! # Design
//!
//! A packet of thirty bytes alone compresses to no less, so packets share a block. Larger blocks hardly compress better (`docs/benchmarks.md`),
//! and reading one packet decompresses its block. SQLite gives a row that is larger than a page whole pages, so a block should fill
//! them: the size of the next block comes from how well the last one compressed. With blocks of 64 KiB, a fifth of the space in
//! their pages was empty. The alternative was a dictionary made from the trace, with a frame for each packet: but a frame has about ten bytes of its own, and the trace would be read before its first row is written.

use std::collections::VecDeque;
use std::io;

use timebase_descriptor::field::varint;

/// The least and the largest size of a block before compression, in bytes, unless its last packet is larger.
const SIZES: std::ops::RangeInclusive<usize> = 64 << 10..=128 << 10;

/// The bytes of a page that a block may fill. Those of the database's pages are 8,192; the rest is for the frame of the page, and for
/// blocks that compress worse than the one before.
const PAGE: usize = 7950;

/// The largest block that is read: a packet has at most 256 MiB.
const LARGEST: usize = 257 << 20;

/// The largest number of packets in a block.
const MOST: usize = 1 << 14;

/// Collects the bytes of packets, and compresses them when they fill a block.
///
/// ```
/// use timebase_sql::packets::{Packer, Unpacked};
///
/// let mut packer = Packer::new()?;
/// packer.add(7, Some(b"seven"));
/// packer.add(8, None);
/// assert!(packer.has_room_for(9) && !packer.has_room_for(10));
/// let (first, block) = packer.take()?.unwrap();
/// assert_eq!(first, 7);
/// let unpacked = Unpacked::new(&block).unwrap();
/// assert_eq!(unpacked.packet(7), Some(&b"seven"[..]));
/// assert_eq!(unpacked.packet(8), None);
/// assert!(packer.take()?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    first: i64,
    packets: u64,
    sizes: Vec<u8>,
    bytes: Vec<u8>,
    /// The size at which the block is full.
    full: usize,
}

impl Packer {
    /// A packer without packets.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn new() -> io::Result<Packer> {
        let compressor = zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
        let full = *SIZES.start();
        Ok(Packer { compressor, first: 0, packets: 0, sizes: Vec::new(), bytes: Vec::new(), full })
    }

    /// Whether the packet with this number may be added before the block is [taken](Packer::take).
    pub fn has_room_for(&self, packet: i64) -> bool {
        let next = self.first.checked_add_unsigned(self.packets);
        self.packets == 0
            || next == Some(packet) && self.bytes.len() < self.full && self.packets < MOST as u64
    }

    /// Adds a packet, with its bytes if it has some.
    pub fn add(&mut self, packet: i64, data: Option<&[u8]>) {
        if self.packets == 0 {
            self.first = packet;
        }
        self.packets += 1;
        put(&mut self.sizes, data.map_or(0, |data| data.len() as u64 + 1));
        self.bytes.extend_from_slice(data.unwrap_or_default());
    }

    /// The number of the first packet and the compressed block; `None` without packets. The packer is empty afterwards.
    ///
    /// # Errors
    ///
    /// If compression fails.
    pub fn take(&mut self) -> io::Result<Option<(i64, Vec<u8>)>> {
        if self.packets == 0 {
            return Ok(None);
        }
        let size = self.bytes.len();
        let mut plain = Vec::with_capacity(20 + self.sizes.len() + size);
        put(&mut plain, self.first as u64);
        put(&mut plain, self.packets);
        plain.append(&mut self.sizes);
        plain.append(&mut self.bytes);
        self.bytes.shrink_to(2 * SIZES.end());
        self.packets = 0;
        let block = self.compressor.compress(&plain)?;
        self.full = full(size, block.len());
        Ok(Some((self.first, block)))
    }
}

/// The size of a block that fills its pages, if it compresses like one with `plain` bytes of packets, which became `packed`.
fn full(plain: usize, packed: usize) -> usize {
    let least = SIZES.start().saturating_mul(packed) / plain.max(1);
    let pages = least.div_ceil(PAGE).max(1);
    let full = pages.saturating_mul(PAGE).saturating_mul(plain) / packed.max(1);
    full.clamp(*SIZES.start(), *SIZES.end())
}

/// A block that is decompressed.
pub struct Unpacked {
    first: i64,
    /// For each packet the range of its bytes.
    places: Vec<Option<(usize, usize)>>,
    plain: Vec<u8>,
}

impl Unpacked {
    /// Decompresses a block.
    ///
    /// # Errors
    ///
    /// The reason why these bytes are no block.
    pub fn new(block: &[u8]) -> Result<Unpacked, String> {
        let size = match zstd::zstd_safe::get_frame_content_size(block) {
            Ok(Some(size)) => usize::try_from(size).unwrap_or(usize::MAX),
            Ok(None) | Err(_) => return Err("it is no frame of Zstandard with a size".to_owned()),
        };
        if size > LARGEST {
            return Err(format!("it claims to have {size} bytes, more than {LARGEST}"));
        }
        let plain = zstd::bulk::decompress(block, size).map_err(|error| error.to_string())?;
        let cut = || "it ends early".to_owned();
        let mut rest = plain.as_slice();
        let first = take(&mut rest).ok_or_else(cut)? as i64;
        let packets = take(&mut rest).ok_or_else(cut)?;
        // Each packet takes a byte at least.
        let packets = usize::try_from(packets).ok().filter(|count| *count <= rest.len());
        let mut sizes = Vec::with_capacity(packets.ok_or_else(cut)?);
        for _ in 0..sizes.capacity() {
            sizes.push(take(&mut rest).ok_or_else(cut)?);
        }
        let mut at = plain.len() - rest.len();
        let mut places = Vec::with_capacity(sizes.len());
        for size in sizes {
            places.push(match size.checked_sub(1) {
                None => None,
                Some(size) => {
                    let end = usize::try_from(size).ok().and_then(|size| at.checked_add(size));
                    let end = end.filter(|end| *end <= plain.len()).ok_or_else(cut)?;
                    Some((std::mem::replace(&mut at, end), end))
                }
            });
        }
        Ok(Unpacked { first, places, plain })
    }

    /// Whether the block has this packet, with or without bytes.
    fn holds(&self, packet: i64) -> bool {
        self.place(packet).is_some()
    }

    fn place(&self, packet: i64) -> Option<&Option<(usize, usize)>> {
        let number = usize::try_from(packet.checked_sub(self.first)?).ok()?;
        self.places.get(number)
    }

    /// The bytes of a packet.
    pub fn packet(&self, packet: i64) -> Option<&[u8]> {
        let (start, end) = (*self.place(packet)?)?;
        self.plain.get(start..end)
    }
}

/// The blocks that were read last.
#[derive(Default)]
pub(super) struct Recent(VecDeque<Unpacked>);

impl Recent {
    /// So many blocks are kept.
    const KEPT: usize = 4;

    /// The block of a packet, if it is there.
    pub fn of(&self, packet: i64) -> Option<&Unpacked> {
        self.0.iter().find(|block| block.holds(packet))
    }

    pub fn add(&mut self, block: Unpacked) {
        self.0.truncate(Self::KEPT - 1);
        self.0.push_front(block);
    }
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a varint from the start of `bytes`.
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (value, size) = varint(bytes).ok()??;
    *bytes = bytes.get(size..)?;
    Some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_are_read_as_they_were_added(
            first in 0i64..i64::MAX - 100_000,
            packets in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..3000)), 1..200),
        ) {
            let mut packer = Packer::new().unwrap();
            let mut blocks = Vec::new();
            let mut numbers = Vec::new();
            for (number, packet) in (first..).zip(&packets) {
                if !packer.has_room_for(number) {
                    blocks.push(packer.take().unwrap().unwrap());
                }
                packer.add(number, packet.as_deref());
                numbers.push(number);
            }
            blocks.extend(packer.take().unwrap());
            prop_assert!(packer.take().unwrap().is_none());
            let blocks: Vec<_> =
                blocks.iter().map(|(first, block)| (first, Unpacked::new(block).unwrap())).collect();
            for (number, packet) in (first..).zip(&packets) {
                let (_, block) = blocks.iter().rfind(|(first, _)| **first <= number).unwrap();
                prop_assert!(block.holds(number));
                prop_assert_eq!(block.packet(number), packet.as_deref());
            }
            let (_, last) = blocks.last().unwrap();
            prop_assert!(!last.holds(first + packets.len() as i64) && !last.holds(first - 1));
        }

        #[test]
        fn damaged_blocks_are_refused_or_read(flips in prop::collection::vec((0usize..400, any::<u8>()), 1..4), end in 0usize..400) {
            let mut packer = Packer::new().unwrap();
            for number in 0..20 {
                packer.add(number, Some(&[number as u8; 17]));
            }
            let (_, mut block) = packer.take().unwrap().unwrap();
            for (place, byte) in flips {
                let length = block.len();
                block[place % length] ^= byte;
            }
            block.truncate(end.max(1));
            if let Ok(unpacked) = Unpacked::new(&block) {
                for number in 0..20 {
                    unpacked.packet(number);
                }
            }
            // The same without the checks of the frame.
            let mut plain = vec![0, 2, 9, 255, 255, 255, 127];
            plain.extend_from_slice(&block);
            let frame = zstd::bulk::compress(&plain, 1).unwrap();
            // One packet of eight bytes, and one of many more than there are.
            let error = Unpacked::new(&frame).err();
            prop_assert_eq!(error.as_deref(), Some("it ends early"));
        }
    }

    #[test]
    fn a_block_that_claims_to_be_huge_is_refused() {
        let huge = zstd::bulk::compress(&vec![0; LARGEST + 1], 1).unwrap();
        assert!(Unpacked::new(&huge).err().unwrap().contains("claims to have"));
    }
}

//! What a packet holds that holds compressed ones, and where it cannot be decompressed.
//!
//! # Design
//!
//! Who goes through packets, who looks for them behind damage and who asks whether bytes have the
//! shape of one all want to know something of what is compressed; here it is known, and nothing of
//! them. Where it stood with the first of these, each of the three knew the others.

use std::io::{self, Read};

use crate::wire::packet::PacketType;
use flate2::bufread::ZlibDecoder;
use timebase_descriptor::field::{WireType, split_tag, varint};

/// What a compressed packet holds is looked at as a whole up to this size. Perfetto's service
/// compresses what makes some hundred kilobytes.
pub(crate) const LARGEST_CHECKED: u64 = 16 << 20;

/// How much is decompressed at a time, and how much near damage.
const LARGE_STEP: usize = 32 << 10;
const SMALL_STEP: usize = 64;

/// What a zstd frame may ask for of memory, as a power of two: 128 MiB, as of `zstd -d`. Recorders and
/// `zstd` without `--long` stay below.
pub(crate) const LARGEST_WINDOW: u32 = 27;

/// Whether a packet of this type holds compressed ones.
pub(crate) fn is_compressed(kind: PacketType) -> bool {
    matches!(
        kind,
        PacketType::COMPRESSED_PACKETS | PacketType::ZSTD_COMPRESSED_PACKETS
    )
}

/// What a packet holds that holds compressed ones, be it the beginning of one.
pub(crate) struct Carried<'a> {
    pub kind: PacketType,
    pub inside: &'a [u8],
}

impl<'a> Carried<'a> {
    /// By its first field: it has no other.
    pub fn of(packet: &'a [u8]) -> Option<Carried<'a>> {
        let (tag, head) = varint(packet).ok()??;
        let (number, WireType::Bytes) = split_tag(tag)? else {
            return None;
        };
        let kind = PacketType(number);
        if !is_compressed(kind) {
            return None;
        }
        let packet = packet.get(head..)?;
        let (size, head) = varint(packet).ok()??;
        let rest = packet.get(head..)?;
        let size = usize::try_from(size).unwrap_or(rest.len());
        let inside = rest.get(..size).unwrap_or(rest);
        Some(Carried { kind, inside })
    }

    /// Decompresses, up to the size that is looked at: as much at a time as `step` says, which gets what
    /// was made. Tells behind how many bytes that could not go on, if it could not.
    fn inflate(&self, mut step: impl FnMut(&[u8]) -> usize) -> Option<usize> {
        let Ok(inflated) = inflate(self.kind, self.inside) else {
            return Some(0);
        };
        let mut inflated = inflated.take(LARGEST_CHECKED);
        let mut made = [0; LARGE_STEP];
        let mut next = step(&[]);
        loop {
            match inflated.read(made.get_mut(..next).unwrap_or_default()) {
                Ok(0) => return None,
                Ok(size) => next = step(made.get(..size).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Some(self.inside.len() - inflated.get_ref().left()),
            }
        }
    }

    /// Where it cannot be decompressed.
    fn damage(&self) -> Option<usize> {
        self.inflate(|_| LARGE_STEP)
    }

    /// All that can be decompressed. A decompressor that meets damage drops what it made since it
    /// was called: so it is called once more, and where it did, for little at a time.
    pub fn inflate_all(&self, room: &mut Vec<u8>) {
        let mut sure = 0;
        self.inflate(|made| {
            sure += made.len();
            LARGE_STEP
        });
        room.clear();
        self.inflate(|made| {
            room.extend_from_slice(made);
            match room.len() < sure {
                true => LARGE_STEP,
                false => SMALL_STEP,
            }
        });
    }
}

/// From where on the contents of a packet, or the beginning of them, may be those of another:
/// compressed packets from where they cannot be decompressed, if there is such a place; others
/// anywhere.
pub(crate) fn doubtful(contents: &[u8]) -> Option<usize> {
    match Carried::of(contents) {
        Some(carried) => {
            let at = carried.damage()?;
            Some(contents.len() - carried.inside.len() + at)
        }
        None => Some(0),
    }
}

/// Whether a packet is one that holds compressed ones, which cannot be decompressed to the end.
pub(crate) fn is_broken(packet: &[u8]) -> bool {
    Carried::of(packet).is_some_and(|carried| carried.damage().is_some())
}

/// What decompresses a packet.
pub(crate) enum Inflated<'a> {
    Zlib(ZlibDecoder<&'a [u8]>),
    Zstd(zstd::stream::read::Decoder<'static, &'a [u8]>),
}

impl Inflated<'_> {
    /// How many bytes it has not looked at.
    fn left(&self) -> usize {
        match self {
            Inflated::Zlib(decoder) => decoder.get_ref().len(),
            Inflated::Zstd(decoder) => decoder.get_ref().len(),
        }
    }
}

impl Read for Inflated<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Inflated::Zlib(decoder) => decoder.read(buf),
            Inflated::Zstd(decoder) => decoder.read(buf),
        }
    }
}

/// Begins to decompress what a packet of this type holds.
pub(crate) fn inflate(kind: PacketType, bytes: &[u8]) -> io::Result<Inflated<'_>> {
    Ok(match kind {
        PacketType::COMPRESSED_PACKETS => Inflated::Zlib(ZlibDecoder::new(bytes)),
        _ => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
            decoder.window_log_max(LARGEST_WINDOW)?;
            Inflated::Zstd(decoder)
        }
    })
}

/// Whether bytes begin as compressed packets do, and can be decompressed for a while.
pub(crate) fn begins_to_inflate(kind: PacketType, bytes: &[u8]) -> bool {
    const ENOUGH: usize = 1 << 10;
    let mut beginning = [0; ENOUGH];
    let mut there = 0;
    let Ok(mut inflated) = inflate(kind, bytes) else {
        return false;
    };
    while there < ENOUGH {
        match inflated.read(beginning.get_mut(there..).unwrap_or_default()) {
            // It is whole, and its sum right.
            Ok(0) => return there > 0,
            Ok(size) => there += size,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

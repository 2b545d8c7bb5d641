//! The contents of a packet that carries compressed packets, and the place where they cannot be
//! decompressed.
//!
//! # Design
//!
//! Three parts of the crate need facts about compressed contents: the code that walks packets, the
//! code that searches for packets behind damage, and the code that checks the shape of bytes. This
//! module has these facts, and knows none of the three. When it was part of the first, each of the
//! three depended on the others.

use std::io::{self, Read};

use crate::wire::packet::PacketType;
use flate2::bufread::ZlibDecoder;
use timebase_descriptor::field::{WireType, split_tag, varint};

/// The contents of a compressed packet are checked as a whole up to this size. Perfetto's service
/// compresses pieces of some hundred kilobytes.
pub(crate) const LARGEST_CHECKED: u64 = 16 << 20;

/// The number of bytes to decompress at once, and the number near damage.
const LARGE_STEP: usize = 32 << 10;
const SMALL_STEP: usize = 64;

/// The largest window of a zstd frame, as a power of two: 128 MiB, like `zstd -d`. Recorders, and
/// `zstd` without `--long`, use smaller ones.
pub(crate) const LARGEST_WINDOW: u32 = 27;

/// Whether a packet of this type carries compressed packets.
pub(crate) fn is_compressed(kind: PacketType) -> bool {
    matches!(kind, PacketType::COMPRESSED_PACKETS | PacketType::ZSTD_COMPRESSED_PACKETS)
}

/// The compressed contents of a packet, which may be only its beginning.
pub(crate) struct Carried<'a> {
    pub kind: PacketType,
    pub inside: &'a [u8],
}

impl<'a> Carried<'a> {
    /// It looks at the first field, because such a packet has no other.
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

    /// Decompresses, up to the size that is checked, as much at a time as `step` says; `step` gets
    /// the output. If decompression stops, returns the number of input bytes before that.
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

    /// The place where it cannot be decompressed.
    fn damage(&self) -> Option<usize> {
        self.inflate(|_| LARGE_STEP)
    }

    /// Everything that can be decompressed. A decompressor that meets damage drops its output since
    /// the last call. So it is called once more, with small steps near the damage.
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

/// From this place on, the contents of a packet, or the beginning of them, may belong to another
/// packet. For compressed packets it is the place where they cannot be decompressed, if there is
/// one; for others it is anywhere.
pub(crate) fn doubtful(contents: &[u8]) -> Option<usize> {
    match Carried::of(contents) {
        Some(carried) => {
            let at = carried.damage()?;
            Some(contents.len() - carried.inside.len() + at)
        }
        None => Some(0),
    }
}

/// Whether a packet carries compressed packets that cannot be decompressed to the end.
pub(crate) fn is_broken(packet: &[u8]) -> bool {
    Carried::of(packet).is_some_and(|carried| carried.damage().is_some())
}

/// The decompressor of a packet.
pub(crate) enum Inflated<'a> {
    Zlib(ZlibDecoder<&'a [u8]>),
    Zstd(zstd::stream::read::Decoder<'static, &'a [u8]>),
}

impl Inflated<'_> {
    /// The number of bytes that it has not read.
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

/// Begins to decompress the contents of a packet of this type.
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

/// Whether bytes begin like compressed packets, and can be decompressed for a while.
pub(crate) fn begins_to_inflate(kind: PacketType, bytes: &[u8]) -> bool {
    const ENOUGH: usize = 1 << 10;
    let mut beginning = [0; ENOUGH];
    let mut there = 0;
    let Ok(mut inflated) = inflate(kind, bytes) else {
        return false;
    };
    while there < ENOUGH {
        match inflated.read(beginning.get_mut(there..).unwrap_or_default()) {
            // It is complete, and its checksum is right.
            Ok(0) => return there > 0,
            Ok(size) => there += size,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

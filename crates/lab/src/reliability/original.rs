//! The packets of a trace, which are found by their framing alone.

use std::io::Read;
use std::ops::Range;

use crate::decode;
use crate::reliability::error::Error;

/// An undamaged trace.
///
/// ```
/// use timebase_lab::reliability::Original;
///
/// let original = Original::read("a packet", vec![0x0a, 2, 0x58, 1])?;
/// assert_eq!((original.packets[0].start, original.packets[0].data.clone()), (0, 2..4));
/// # Ok::<(), timebase_lab::reliability::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Original {
    /// Its name.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// Its packets that are not empty, in file order.
    pub packets: Vec<OriginalPacket>,
}

/// A packet of the file.
#[derive(Debug, Clone)]
pub struct OriginalPacket {
    /// The position of its tag.
    pub start: usize,
    /// The bytes after the tag and the length.
    pub data: Range<usize>,
    /// The packets in it, if it is a compressed packet.
    pub inside: Option<Vec<Inner>>,
    /// The type of its payload in an import of the undamaged trace.
    pub kind: Option<String>,
}

/// A packet inside a compressed one.
#[derive(Debug, Clone)]
pub struct Inner {
    /// The end of the previous packet, in the contents of the compressed packet.
    pub start: usize,
    /// The position of its own bytes there.
    pub data: Range<usize>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The type of its payload in an import of the undamaged trace.
    pub kind: Option<String>,
}

/// `TracePacket.compressed_packets`.
const ZLIB: u64 = 50;
/// `TracePacket.zstd_compressed_packets`.
const ZSTD: u64 = 133;

impl Original {
    /// Finds the packets of a trace.
    ///
    /// # Errors
    ///
    /// If it is not a complete trace that only consists of packets.
    pub fn read(name: impl Into<String>, bytes: Vec<u8>) -> Result<Original, Error> {
        let name = name.into();
        if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return Err(Error::CompressedFile { name });
        }
        let framed = match fields(&bytes) {
            Ok(fields) => fields,
            Err(offset) => return Err(Error::Framing { name, offset }),
        };
        let mut packets = Vec::new();
        for field in framed.iter().filter(|field| field.is_packet()) {
            let data = bytes.get(field.data.clone()).unwrap_or_default();
            let inside = inside(data).map_err(|why| Error::Compressed {
                name: name.clone(),
                offset: field.start,
                why,
            })?;
            packets.push(OriginalPacket {
                start: field.start,
                data: field.data.clone(),
                inside,
                kind: None,
            });
        }
        if packets.is_empty() {
            return Err(Error::Empty { name });
        }
        Ok(Original { name, bytes, packets })
    }

    /// The packet whose tag, or whose first byte after its length, is at this position.
    pub(crate) fn starting_at(&self, at: Start) -> Option<&OriginalPacket> {
        let key = |packet: &OriginalPacket| match at {
            Start::Tag(_) => packet.start,
            Start::Data(_) => packet.data.start,
        };
        let (Start::Tag(at) | Start::Data(at)) = at;
        let index = self.packets.binary_search_by_key(&at, key).ok()?;
        self.packets.get(index)
    }
}

/// Two ways to name the start of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    Tag(usize),
    Data(usize),
}

/// The contents of the compressed packet `data`; `None` if it is another packet.
fn inside(data: &[u8]) -> Result<Option<Vec<Inner>>, String> {
    let Some(inflated) = compressed(data)? else {
        return Ok(None);
    };
    let fields = fields(&inflated)
        .map_err(|at| format!("byte {at} after decompression starts no packet"))?;
    let mut packets = Vec::new();
    let mut end = 0;
    for field in fields.iter().filter(|field| field.is_packet()) {
        let bytes = inflated.get(field.data.clone()).unwrap_or_default();
        // The rules let an import skip contents that are compressed twice.
        if !matches!(compressed(bytes), Ok(None)) {
            continue;
        }
        packets.push(Inner {
            start: end,
            data: field.data.clone(),
            bytes: bytes.to_vec(),
            kind: None,
        });
        end = field.data.end;
    }
    Ok(Some(packets))
}

/// The contents of a compressed packet.
fn compressed(packet: &[u8]) -> Result<Option<Vec<u8>>, String> {
    // A packet whose bytes are no message is corrupt, not compressed.
    let Ok(fields) = fields(packet) else {
        return Ok(None);
    };
    let compressed = |field: &&Field| matches!(field.number, ZLIB | ZSTD) && field.is_bytes;
    let Some(field) = fields.iter().rfind(compressed) else {
        return Ok(None);
    };
    let bytes = packet.get(field.data.clone()).unwrap_or_default();
    let mut inflated = Vec::new();
    let read = match field.number {
        ZLIB => flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut inflated),
        _ => zstd::Decoder::new(bytes).and_then(|mut zstd| zstd.read_to_end(&mut inflated)),
    };
    read.map_err(|error| error.to_string())?;
    Ok(Some(inflated))
}

/// A field of a message.
struct Field {
    number: u64,
    /// The position of its tag.
    start: usize,
    /// Its contents.
    data: Range<usize>,
    /// Whether these are bytes with a length.
    is_bytes: bool,
}

impl Field {
    /// For a field of a trace, whether it is a packet that is not empty.
    fn is_packet(&self) -> bool {
        self.number == 1 && self.is_bytes && !self.data.is_empty()
    }
}

/// The fields of a message, or the position where they end too early.
fn fields(bytes: &[u8]) -> Result<Vec<Field>, usize> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let field = || -> Option<Field> {
            let (tag, from) = varint(bytes, start)?;
            let (from, to) = match tag & 7 {
                0 => (from, varint(bytes, from)?.1),
                1 => (from, from.checked_add(8)?),
                2 => {
                    let (length, from) = varint(bytes, from)?;
                    (from, from.checked_add(usize::try_from(length).ok()?)?)
                }
                5 => (from, from.checked_add(4)?),
                _ => return None,
            };
            let number = tag >> 3;
            (number > 0 && to <= bytes.len()).then_some(Field {
                number,
                start,
                data: from..to,
                is_bytes: tag & 7 == 2,
            })
        };
        let field = field().ok_or(start)?;
        at = field.data.end;
        fields.push(field);
    }
    Ok(fields)
}

/// The varint at `at`, and its end.
pub(crate) fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut rest = bytes.get(at..)?;
    let value = decode::varint(&mut rest)?;
    Some((value, bytes.len() - rest.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn packets_are_found_with_their_tags() {
        let trace = [
            &[0x12, 2, 9, 9][..],      // another field
            &[0x0a, 0],                // an empty packet
            &[0x0a, 0x82, 0, 0x58, 1], // a length in two bytes
            &[0x0a, 2, 0x58, 2],
        ]
        .concat();
        let original = Original::read("x", trace).unwrap();
        let places = original.packets.iter().map(|p| (p.start, p.data.clone()));
        let places: Vec<_> = places.collect();
        assert_eq!(places, [(6, 9..11), (11, 13..15)]);
        assert!(original.packets.iter().all(|packet| packet.inside.is_none()));
        assert!(original.starting_at(Start::Tag(11)).is_some());
        assert!(original.starting_at(Start::Data(9)).is_some());
        assert!(original.starting_at(Start::Tag(9)).is_none());
    }

    /// A packet whose single field is this many of `bytes`.
    fn packet(tag: &[u8], bytes: &[u8]) -> Vec<u8> {
        let field = [tag, &[bytes.len() as u8], bytes].concat();
        [&[0x0a, field.len() as u8][..], &field].concat()
    }

    #[test]
    fn packets_inside_of_both_compressions_are_found() {
        let inner = [0x0a, 2, 0x58, 1, 0x0a, 0, 0x0a, 2, 0x58, 2];
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(&inner).unwrap();
        let zlib = packet(&[0x92, 3], &zlib.finish().unwrap());
        let zstd = packet(&[0xaa, 8], &zstd::encode_all(&inner[..], 1).unwrap());
        let original = Original::read("x", [zlib, zstd].concat()).unwrap();
        for packet in &original.packets {
            let inside = packet.inside.as_ref().unwrap();
            let found: Vec<_> = inside.iter().map(|i| (i.start, i.bytes.clone())).collect();
            assert_eq!(found, [(0, vec![0x58, 1]), (4, vec![0x58, 2])]);
        }
    }

    #[test]
    fn what_is_damaged_already_is_refused_with_the_place() {
        let refused = |bytes: &[u8]| Original::read("x", bytes.to_vec()).unwrap_err().to_string();
        assert!(refused(&[0x0a, 2, 0x58, 1, 0x0a, 9]).starts_with("x: byte 4 "));
        assert!(refused(&[0x0a, 2, 0x58, 1, 0x0b]).starts_with("x: byte 4 "));
        assert!(refused(&packet(&[0x92, 3], b"no zlib")).contains("at byte 0 cannot be read"));
        assert!(refused(&[0x1f, 0x8b, 8]).contains("decompress it first"));
        assert!(refused(&[]).contains("no packets"));
    }
}
